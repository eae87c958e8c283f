//! Names and small files that survive a power cut: every act ends with the sync that makes it so.

use crate::io::disk::Disk;
use crate::io::disk::Open;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::path::PathBuf;

/// Replaces a file's content so that a crash leaves the old one or the new one, never a mixture: writes
/// `<path>.tmp`, syncs it, renames it over `path`, syncs the folder.
pub fn write_atomically(disk: &Disk, path: &Path, content: &[u8]) -> io::Result<()> {
    let temporary = with_suffix(path, ".tmp");
    let file = disk.open(&temporary, Open::Create)?;
    file.set_len(0)?;
    file.write_at(content, 0)?;
    file.sync_all()?;
    rename(disk, &temporary, path)
}

/// Renames a file or folder and syncs the folder or folders whose names changed.
pub fn rename(disk: &Disk, from: &Path, to: &Path) -> io::Result<()> {
    disk.rename(from, to)?;
    let (source, target) = (folder_of(from), folder_of(to));
    disk.sync_dir(target)?;
    if source != target {
        disk.sync_dir(source)?;
    }
    Ok(())
}

/// Makes a folder and those above it that are missing, each name synced in the folder above. A folder that exists
/// is synced too: whoever made it may have stopped before its sync.
pub fn create_dir(disk: &Disk, path: &Path) -> io::Result<()> {
    let mut made = vec![path];
    let mut above = folder_of(path);
    while disk.stat(above)?.is_none() {
        made.push(above);
        above = folder_of(above);
    }
    disk.create_dir_all(path)?;
    for folder in made.into_iter().rev() {
        disk.sync_dir(folder_of(folder))?;
    }
    Ok(())
}

/// Removes a file, if it is there, so that it does not come back after a power cut.
pub fn remove(disk: &Disk, path: &Path) -> io::Result<()> {
    match disk.remove_file(path) {
        Ok(()) => disk.sync_dir(folder_of(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

/// The folder a path is in; `.` for a bare name, and the root is in itself.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}
