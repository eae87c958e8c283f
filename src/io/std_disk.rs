//! The machine's own files: `pread`, `pwritev`, `fdatasync` and friends, with interrupted and short calls finished.

use crate::base::Timestamp;
use crate::io::disk::Entry;
use crate::io::disk::Open;
use crate::io::disk::Space;
use crate::io::disk::Stat;
use bytes::Bytes;
use rustix::io::Errno;
use std::fs;
use std::io;
use std::io::IoSlice;
use std::ops::Range;
use std::os::fd::AsFd;
use std::os::fd::AsRawFd;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::FileExt;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// The file systems of this machine; holds nothing.
#[derive(Clone, Debug)]
pub struct StdDisk;

/// An open file of this machine.
#[derive(Clone, Debug)]
pub(in crate::io) struct StdFile(Arc<fs::File>);

/// Most pieces that one `pwritev` takes (`IOV_MAX` on Linux).
pub(in crate::io) const PIECES_MAX: usize = 1024;

pub(in crate::io) fn open(path: &Path, how: Open) -> io::Result<StdFile> {
    let mut options = fs::OpenOptions::new();
    options.read(true);
    match how {
        Open::Read => {}
        Open::ReadWrite => {
            options.write(true);
        }
        Open::Create => {
            options.write(true).create(true);
        }
        Open::CreateNew => {
            options.write(true).create_new(true);
        }
    }
    options.open(path).map(|file| StdFile(Arc::new(file)))
}

pub(in crate::io) fn list(path: &Path) -> io::Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let is_dir = metadata.is_dir();
        let length = if is_dir { 0 } else { metadata.len() };
        entries.push(Entry { name: entry.file_name(), is_dir, length });
    }
    entries.sort_by(|left, right| left.name.cmp(&right.name));
    Ok(entries)
}

/// Fails for a pipe, which would hold up who opens it.
pub(in crate::io) fn refuse_pipe(path: &Path) -> io::Result<()> {
    let is_pipe = fs::metadata(path)?.file_type().is_fifo();
    if is_pipe {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe and no file"))
    } else {
        Ok(())
    }
}

pub(in crate::io) fn stat(path: &Path) -> io::Result<Option<Stat>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_dir = metadata.is_dir();
    let length = if is_dir { 0 } else { metadata.len() };
    let since_1970 = metadata.modified()?.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let modified = Timestamp(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX));
    Ok(Some(Stat { length, is_dir, modified }))
}

pub(in crate::io) fn sync_dir(path: &Path) -> io::Result<()> {
    fs::File::open(path)?.sync_all()
}

pub(in crate::io) fn space(path: &Path) -> io::Result<Space> {
    let figures = rustix::fs::statvfs(path)?;
    Ok(Space {
        total: figures.f_blocks.saturating_mul(figures.f_frsize),
        usable: figures.f_bavail.saturating_mul(figures.f_frsize),
    })
}

/// Locks the file; `None` when somebody else holds it.
pub(in crate::io) fn lock(path: &Path) -> io::Result<Option<fs::File>> {
    let file = fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
    if lock_open_description(&file)? { Ok(Some(file)) } else { Ok(None) }
}

/// Takes an exclusive lock of the open file description: it conflicts with the POSIX record lock that Java's
/// `FileChannel.tryLock` takes, and with other holders in this process, and goes when the file is closed.
#[allow(unsafe_code, reason = "rustix has no open file description locks")]
fn lock_open_description(file: &fs::File) -> io::Result<bool> {
    let request = libc::flock {
        l_type: i16::try_from(libc::F_WRLCK).map_err(io::Error::other)?,
        l_whence: i16::try_from(libc::SEEK_SET).map_err(io::Error::other)?,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    // SAFETY: the descriptor is open for the whole call, and the kernel only reads the request, which outlives it.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw const request) };
    if answer == 0 {
        return Ok(true);
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EAGAIN | libc::EACCES) => Ok(false),
        _ => Err(error),
    }
}

impl StdFile {
    pub(in crate::io) fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let mut read = 0;
        while let Some(rest) = buffer.get_mut(read..).filter(|rest| !rest.is_empty()) {
            match self.0.read_at(rest, advance(position, read)?) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }

    pub(in crate::io) fn write_at(&self, bytes: &[u8], position: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, position)
    }

    pub(in crate::io) fn write_vectored_at(&self, parts: &[Bytes], position: u64) -> io::Result<()> {
        let mut pieces: Vec<IoSlice<'_>> = parts.iter().map(|part| IoSlice::new(part)).collect();
        let mut rest = pieces.as_mut_slice();
        IoSlice::advance_slices(&mut rest, 0);
        let mut position = position;
        while !rest.is_empty() {
            let batch = rest.get(..PIECES_MAX).unwrap_or(rest);
            match rustix::io::pwritev(&*self.0, batch, position) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => {
                    position = advance(position, written)?;
                    IoSlice::advance_slices(&mut rest, written);
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    pub(in crate::io) fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    #[allow(unsafe_code, reason = "no package offers this call")]
    pub(in crate::io) fn write_back(&self, range: Range<u64>) {
        let (Ok(start), Ok(length)) =
            (i64::try_from(range.start), i64::try_from(range.end.saturating_sub(range.start)))
        else {
            return;
        };
        // SAFETY: the descriptor is open for the whole call, and no memory is passed.
        unsafe { libc::sync_file_range(self.0.as_raw_fd(), start, length, libc::SYNC_FILE_RANGE_WRITE) };
    }

    pub(in crate::io) fn sync_all(&self) -> io::Result<()> {
        self.0.sync_all()
    }

    pub(in crate::io) fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    pub(in crate::io) fn set_len(&self, length: u64) -> io::Result<()> {
        self.0.set_len(length)
    }

    pub(in crate::io) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// The position `count` bytes further on.
pub(in crate::io) fn advance(position: u64, count: usize) -> io::Result<u64> {
    u64::try_from(count)
        .ok()
        .and_then(|count| position.checked_add(count))
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "position past the largest file"))
}
