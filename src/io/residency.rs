//! What of a file is in memory: asking, bringing in on a lane of its own, and giving back.
//!
//! A worker that touches a page which is not in memory waits for the disk, and everybody on that worker with it. So
//! ranges are asked about first; cold ones are read by a few threads for that purpose.

use crate::io::file_slice::FileSlice;
use crate::io::lane;
use rustix::fs::Advice;
use rustix::io::Errno;
use rustix::io::ReadWriteFlags;
use std::io;
use std::io::IoSliceMut;
use std::num::NonZero;
use std::os::fd::AsRawFd;
use std::os::fd::BorrowedFd;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

/// Bytes read at a time on the lane.
const LANE_STEP: usize = 256 * 1024;
/// Distance of the bytes tried where the system cannot be asked about a range.
const PROBE_STEP: u64 = 64 * 1024;

/// Whether the whole range is in memory. May be wrong a moment later. `true` also where it cannot be told.
pub fn is_cached(slice: &FileSlice) -> bool {
    let Some(file) = slice.file.descriptor() else { return true };
    if slice.length == 0 {
        return true;
    }
    cached_by_count(file, slice).unwrap_or_else(|| cached_by_probe(file, slice))
}

/// Fills the buffer from `slice.position` if that needs no disk; `false` when it does (or when the file ends before).
pub fn read_if_cached(slice: &FileSlice, buffer: &mut [u8]) -> io::Result<bool> {
    let Some(file) = slice.file.descriptor() else {
        return slice.file.read_exact_at(buffer, slice.position).map(|()| true);
    };
    match rustix::io::preadv2(file, &mut [IoSliceMut::new(buffer)], slice.position, ReadWriteFlags::NOWAIT) {
        Ok(read) => Ok(read == buffer.len()),
        Err(Errno::AGAIN | Errno::INTR) => Ok(false),
        // A file system that cannot be asked.
        Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL | Errno::PERM) => {
            slice.file.read_exact_at(buffer, slice.position).map(|()| true)
        }
        Err(errno) => Err(errno.into()),
    }
}

/// Reads the range into memory on the cold lane, which takes a few at a time: others wait here. Errors: what the
/// disk reports; `UnexpectedEof` when the file ends before.
pub async fn bring_in(slice: &FileSlice) -> io::Result<()> {
    if slice.file.descriptor().is_none() {
        return Ok(());
    }
    let range = slice.clone();
    lane::run(move || read_through(&range)).await
}

/// Reads the bytes of the range on the cold lane.
pub async fn read_cold(slice: &FileSlice) -> io::Result<Vec<u8>> {
    let length = usize::try_from(slice.length).map_err(io::Error::other)?;
    let range = slice.clone();
    lane::run(move || {
        let mut content = vec![0; length];
        range.file.read_exact_at(&mut content, range.position).map(|()| content)
    })
    .await
}

/// Gives the range's memory back to the system, as far as it is clean. A reader that catches up calls this behind
/// it, so that it evicts nobody's tail.
pub fn release(slice: &FileSlice) {
    if let Some(file) = slice.file.descriptor()
        && let Some(length) = NonZero::new(slice.length)
    {
        // Advice that is refused changes nothing for anybody.
        rustix::fs::fadvise(file, slice.position, Some(length), Advice::DontNeed).ok();
    }
}

fn read_through(slice: &FileSlice) -> io::Result<()> {
    if let Some(file) = slice.file.descriptor() {
        rustix::fs::fadvise(file, slice.position, NonZero::new(slice.length), Advice::WillNeed).ok();
    }
    let mut piece = vec![0; LANE_STEP];
    let mut position = slice.position;
    while position < slice.end() {
        let wanted = usize::try_from(slice.end() - position).unwrap_or(usize::MAX).min(piece.len());
        slice.file.read_exact_at(piece.get_mut(..wanted).unwrap_or_default(), position)?;
        position += u64::try_from(wanted).map_err(io::Error::other)?;
    }
    Ok(())
}

/// The system's own count of the range's pages in memory (Linux 6.5, `cachestat`); `None` where there is none.
fn cached_by_count(file: BorrowedFd<'_>, slice: &FileSlice) -> Option<bool> {
    static MISSING: AtomicBool = AtomicBool::new(false);
    if MISSING.load(Ordering::Relaxed) {
        return None;
    }
    match count_pages(file, slice.position, slice.length) {
        Ok(in_memory) => {
            let page = u64::try_from(rustix::param::page_size()).ok()?;
            let pages = slice.end().div_ceil(page) - slice.position / page;
            Some(in_memory >= pages)
        }
        Err(error) => {
            if matches!(error.raw_os_error(), Some(libc::ENOSYS)) {
                MISSING.store(true, Ordering::Relaxed);
            }
            None
        }
    }
}

#[repr(C)]
struct CachestatRange {
    offset: u64,
    length: u64,
}

#[repr(C)]
#[derive(Default)]
struct Cachestat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Pages of the range that are in memory.
#[allow(unsafe_code, reason = "no package offers this call")]
fn count_pages(file: BorrowedFd<'_>, offset: u64, length: u64) -> io::Result<u64> {
    // The same number on every architecture.
    const CACHESTAT: libc::c_long = 451;
    let range = CachestatRange { offset, length };
    let mut figures = Cachestat::default();
    // SAFETY: both structs have the layout of the kernel's, live for the whole call, and only `figures` is written;
    // the descriptor is open as long as it is borrowed.
    let answer = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut figures, 0 as libc::c_uint)
    };
    if answer == 0 { Ok(figures.cached) } else { Err(io::Error::last_os_error()) }
}

/// Tries single bytes along the range.
fn cached_by_probe(file: BorrowedFd<'_>, slice: &FileSlice) -> bool {
    let mut position = slice.position;
    let last = slice.end() - 1;
    loop {
        let mut byte = [0];
        let tried =
            rustix::io::preadv2(file, &mut [IoSliceMut::new(&mut byte)], position, ReadWriteFlags::NOWAIT);
        // Otherwise it was read, is past the end (the sender will notice), or cannot be told.
        if tried == Err(Errno::AGAIN) {
            return false;
        }
        if position == last {
            return true;
        }
        position = position.saturating_add(PROBE_STEP).min(last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::disk::Disk;
    use crate::io::disk::Open;

    /// A synced file of 1 MiB in a fresh folder.
    fn slice() -> (tempfile::TempDir, FileSlice) {
        // Under the target folder: the folder for temporary files may be in memory, where nothing is ever cold.
        let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR").to_owned() + "/target").unwrap();
        let file = Disk::system().open(&folder.path().join("file"), Open::Create).unwrap();
        let content: Vec<u8> = (0..1_048_576u32).map(|number| number.to_le_bytes()[1]).collect();
        file.write_at(&content, 0).unwrap();
        file.sync_all().unwrap();
        (folder, FileSlice { file, position: 5000, length: 900_000 })
    }

    #[tokio::test]
    async fn a_released_range_is_cold_until_it_is_brought_in() {
        let (_folder, slice) = slice();
        let file = slice.file.clone();
        let mut buffer = [0; 100];
        assert!(is_cached(&slice));
        assert!(cached_by_probe(file.descriptor().unwrap(), &slice));
        assert!(read_if_cached(&slice, &mut buffer).unwrap());
        release(&FileSlice { file: file.clone(), position: 0, length: 1_048_576 });
        assert!(!is_cached(&slice));
        assert!(!cached_by_probe(file.descriptor().unwrap(), &slice));
        assert!(!read_if_cached(&slice, &mut buffer).unwrap());
        bring_in(&slice).await.unwrap();
        assert!(is_cached(&slice));
        assert!(cached_by_probe(file.descriptor().unwrap(), &slice));
        assert!(read_if_cached(&slice, &mut buffer).unwrap());
        assert_eq!(buffer[..4], [19, 19, 19, 19]);
    }

    #[tokio::test]
    async fn a_range_past_the_end_is_an_error_not_a_hang() {
        let (_folder, mut slice) = slice();
        slice.length = 2_000_000;
        assert_eq!(bring_in(&slice).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        assert_eq!(read_cold(&slice).await.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
        slice.length = 900_000;
        assert_eq!(read_cold(&slice).await.unwrap().len(), 900_000);
    }
}
