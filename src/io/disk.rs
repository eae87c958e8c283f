//! Files and folders, real or simulated, behind one pair of types: [`Disk`] and [`File`].
//!
//! All calls are synchronous. A write is all or an error; what an error leaves in the file is not defined, so the
//! caller cuts back to what it knows. Nothing is on stable storage before a sync: the content of a file by
//! [`File::sync_data`], its name by [`Disk::sync_dir`] of the folder it is in.

use crate::base::Timestamp;
#[cfg(feature = "sim")]
use crate::io::sim::SimDisk;
#[cfg(feature = "sim")]
use crate::io::sim::SimFile;
use crate::io::std_disk;
use crate::io::std_disk::StdDisk;
use crate::io::std_disk::StdFile;
use bytes::Bytes;
use std::ffi::OsString;
use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::path::Path;

/// A place for files: the machine's file systems, or the simulation's.
#[derive(Clone, Debug)]
pub enum Disk {
    /// The file systems of this machine.
    Std(StdDisk),
    /// A disk in memory that loses, tears and fails on demand.
    #[cfg(feature = "sim")]
    Sim(SimDisk),
}

/// How a file is opened. None of them empties a file that exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Open {
    /// For reading; the file must exist.
    Read,
    /// For reading and writing; the file must exist.
    ReadWrite,
    /// For reading and writing; made when it does not exist.
    Create,
    /// For reading and writing; `AlreadyExists` when it exists.
    CreateNew,
}

/// One name in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The name, without the folder.
    pub name: OsString,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// Bytes of a file; 0 for a folder.
    pub length: u64,
}

/// What is known of a path without opening it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Bytes of a file; 0 for a folder.
    pub length: u64,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// When the content changed last.
    pub modified: Timestamp,
}

/// Bytes of the file system a path is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Space {
    /// All of it.
    pub total: u64,
    /// What this process may still fill.
    pub usable: u64,
}

/// Holds a folder against other processes until it is dropped.
#[derive(Debug)]
pub struct DirLock {
    #[expect(dead_code, reason = "held for its drop")]
    arm: LockArm,
}

#[derive(Debug)]
#[expect(dead_code, reason = "held for their drop")]
enum LockArm {
    Std(std::fs::File),
    #[cfg(feature = "sim")]
    Sim(crate::io::sim::SimLock),
}

/// The file that is locked within a folder; Apache Kafka's name for it.
pub(in crate::io) const LOCK_FILE: &str = ".lock";

impl Disk {
    /// The file systems of this machine.
    pub fn system() -> Disk {
        Disk::Std(StdDisk)
    }

    /// Opens a file. Errors: `NotFound`, `AlreadyExists`, `PermissionDenied` and what the device reports.
    pub fn open(&self, path: &Path, how: Open) -> io::Result<File> {
        match self {
            Disk::Std(_) => std_disk::open(path, how).map(|file| File { arm: Arm::Std(file) }),
            #[cfg(feature = "sim")]
            Disk::Sim(disk) => disk.open(path, how).map(|file| File { arm: Arm::Sim(file) }),
        }
    }

    /// Makes a folder and those above it that are missing; no error when it exists. Not durable: see
    /// [`crate::io::durable::create_dir`].
    pub fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        match self {
            Disk::Std(_) => std::fs::create_dir_all(path),
            #[cfg(feature = "sim")]
            Disk::Sim(disk) => disk.create_dir_all(path),
        }
    }

    /// The names in a folder, in ascending order. A file that goes while the folder is read is left out.
    pub fn list(&self, path: &Path) -> io::Result<Vec<Entry>> {
        match self {
            Disk::Std(_) => std_disk::list(path),
            #[cfg(feature = "sim")]
            Disk::Sim(disk) => disk.list(path),
        }
    }

    /// What a path is; `None` when nothing is there.
    pub fn stat(&self, path: &Path) -> io::Result<Option<Stat>> {
        match self {
            Disk::Std(_) => std_disk::stat(path),
            #[cfg(feature = "sim")]
            Disk::Sim(disk) => disk.stat(path),
        }
    }

    /// Gives a file or folder another name, replacing a file of that name. Not durable: see
    /// [`crate::io::durable::rename`].
    pub fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        match self {
            Disk::Std(_) => std::fs::rename(from, to),
            #[cfg(feature = "sim")]
            Disk::Sim(disk) => disk.rename(from, to),
        }
    }

    /// Removes a file; `NotFound` when there is none. Not durable: see [`crate::io::durable::remove`].
    pub fn remove_file(&self, path: &Path) -> io::Result<()> {
        match self {
            Disk::Std(_) => std::fs::remove_file(path),
            #[cfg(feature = "sim")]
            Disk::Sim(disk) => disk.remove_file(path),
        }
    }

    /// Removes a folder with all that is in it; `NotFound` when there is none.
    pub fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        match self {
            Disk::Std(_) => std::fs::remove_dir_all(path),
            #[cfg(feature = "sim")]
            Disk::Sim(disk) => disk.remove_dir_all(path),
        }
    }

    /// Puts the names in a folder on stable storage: files made, renamed and removed in it.
    pub fn sync_dir(&self, path: &Path) -> io::Result<()> {
        match self {
            Disk::Std(_) => std_disk::sync_dir(path),
            #[cfg(feature = "sim")]
            Disk::Sim(disk) => disk.sync_dir(path),
        }
    }

    /// A whole file. `InvalidData` when it is longer than `max_len` bytes, before anything of that size is reserved.
    pub fn read(&self, path: &Path, max_len: u64) -> io::Result<Vec<u8>> {
        if matches!(self, Disk::Std(_)) {
            std_disk::refuse_pipe(path)?;
        }
        let file = self.open(path, Open::Read)?;
        let length = file.len()?;
        if length > max_len {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("{} has {length} bytes, more than the {max_len} allowed", path.display()),
            ));
        }
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut content = vec![0; length];
        file.read_exact_at(&mut content, 0)?;
        Ok(content)
    }

    /// Size and free space of the file system that holds `path`.
    pub fn space(&self, path: &Path) -> io::Result<Space> {
        match self {
            Disk::Std(_) => std_disk::space(path),
            #[cfg(feature = "sim")]
            Disk::Sim(disk) => disk.space(),
        }
    }

    /// Holds a folder against other processes (and other holders in this one) with the lock file Apache Kafka uses;
    /// `None` when somebody else has it.
    pub fn lock(&self, folder: &Path) -> io::Result<Option<DirLock>> {
        let arm = match self {
            Disk::Std(_) => std_disk::lock(&folder.join(LOCK_FILE))?.map(LockArm::Std),
            #[cfg(feature = "sim")]
            Disk::Sim(disk) => disk.lock(folder)?.map(LockArm::Sim),
        };
        Ok(arm.map(|arm| DirLock { arm }))
    }
}

/// An open file. Cheap to clone; closed when the last clone goes. A file that is removed or renamed meanwhile stays
/// readable.
#[derive(Clone, Debug)]
pub struct File {
    arm: Arm,
}

#[derive(Clone, Debug)]
enum Arm {
    Std(StdFile),
    #[cfg(feature = "sim")]
    Sim(SimFile),
}

impl File {
    /// Reads up to `buffer.len()` bytes at `position`; 0 at the end of the file. May return fewer bytes than asked
    /// for only at the end of the file.
    pub fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        match &self.arm {
            Arm::Std(file) => file.read_at(buffer, position),
            #[cfg(feature = "sim")]
            Arm::Sim(file) => file.read_at(buffer, position),
        }
    }

    /// Fills the buffer from `position`; `UnexpectedEof` when the file ends before.
    pub fn read_exact_at(&self, buffer: &mut [u8], position: u64) -> io::Result<()> {
        let wanted = buffer.len();
        let read = self.read_at(buffer, position)?;
        if read == wanted { Ok(()) } else { Err(short_read(position, read, wanted)) }
    }

    /// Writes all bytes at `position`, or fails; a gap after the former end reads as zeros.
    pub fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        match &self.arm {
            Arm::Std(file) => file.write_at(bytes, position),
            #[cfg(feature = "sim")]
            Arm::Sim(file) => file.write_at(&[bytes], position),
        }
    }

    /// Writes the parts one after the other from `position`, in as few system calls as can be; all or an error.
    pub fn write_vectored_at(&self, parts: &[Bytes], position: u64) -> io::Result<()> {
        match &self.arm {
            Arm::Std(file) => file.write_vectored_at(parts, position),
            #[cfg(feature = "sim")]
            Arm::Sim(file) => {
                let parts: Vec<&[u8]> = parts.iter().map(Bytes::as_ref).collect();
                file.write_at(&parts, position)
            }
        }
    }

    /// Puts the content (and the length) on stable storage. After an error nothing written since the last good
    /// sync can be trusted, and a later sync that succeeds does not change that.
    pub fn sync_data(&self) -> io::Result<()> {
        match &self.arm {
            Arm::Std(file) => file.sync_data(),
            #[cfg(feature = "sim")]
            Arm::Sim(file) => file.sync(),
        }
    }

    /// Lets the device begin to write a range, so that a later sync has less to do. Nothing is safe by it, and what goes
    /// wrong is told by that sync.
    pub fn write_back(&self, range: Range<u64>) {
        match &self.arm {
            Arm::Std(file) => file.write_back(range),
            #[cfg(feature = "sim")]
            Arm::Sim(_) => {}
        }
    }

    /// As [`File::sync_data`], with the times and permissions too.
    pub fn sync_all(&self) -> io::Result<()> {
        match &self.arm {
            Arm::Std(file) => file.sync_all(),
            #[cfg(feature = "sim")]
            Arm::Sim(file) => file.sync(),
        }
    }

    /// The length in bytes.
    #[expect(
        clippy::len_without_is_empty,
        reason = "asks the kernel and may fail; emptiness is no separate question"
    )]
    pub fn len(&self) -> io::Result<u64> {
        match &self.arm {
            Arm::Std(file) => file.len(),
            #[cfg(feature = "sim")]
            Arm::Sim(file) => file.len(),
        }
    }

    /// Cuts the file, or extends it with zeros.
    pub fn set_len(&self, length: u64) -> io::Result<()> {
        match &self.arm {
            Arm::Std(file) => file.set_len(length),
            #[cfg(feature = "sim")]
            Arm::Sim(file) => file.set_len(length),
        }
    }

    /// The descriptor of a real file; `None` for a simulated one.
    pub(in crate::io) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.arm {
            Arm::Std(file) => Some(file.descriptor()),
            #[cfg(feature = "sim")]
            Arm::Sim(_) => None,
        }
    }
}

/// The error of a file that ends before what it should hold.
pub(in crate::io) fn short_read(position: u64, read: usize, wanted: usize) -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        format!("file ends after {read} of {wanted} bytes from position {position}"),
    )
}

#[cfg(test)]
mod tests;
