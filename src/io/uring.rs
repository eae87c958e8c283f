//! The ring: a whole batch of writes and syncs in one system call.
//!
//! Each operation is a `Writev` linked to an `Fsync(DATASYNC)`: the kernel starts the sync when the write is whole,
//! and cancels it when the write failed or was short. A short write goes on in the next round with its sync. [`Uring::run`] returns
//! only when the kernel has reported every entry, so that buffers outlive their operations without counting; if the
//! ring itself breaks, the buffers of entries in flight are leaked rather than freed under the kernel's hands.

use crate::io::ring::WriteOp;
use crate::io::ring::sync_failure;
use crate::io::std_disk::PIECES_MAX;
use crate::io::std_disk::advance;
use io_uring::IoUring;
use io_uring::Probe;
use io_uring::opcode;
use io_uring::squeue;
use io_uring::types;
use std::io;
use std::os::fd::AsRawFd;
use std::os::fd::RawFd;
use tracing::error;

/// Entries of the submission queue; an operation takes up to two.
const ENTRIES: u32 = 256;
/// Operations in flight at a time.
const OPS_MAX: usize = 128;
/// How often an operation may be told "again" by the kernel without getting on.
const RETRIES_MAX: u32 = 1000;

/// An io_uring with nothing in flight between calls.
pub struct Uring {
    ring: IoUring,
    broken: bool,
}

impl std::fmt::Debug for Uring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Uring").field("broken", &self.broken).finish_non_exhaustive()
    }
}

impl Uring {
    /// Sets up a ring and tries it. Errors: `PermissionDenied` in sandboxes, `Unsupported` on kernels without it or
    /// without the operations needed here.
    pub(in crate::io) fn probe() -> io::Result<Uring> {
        let ring: IoUring = IoUring::new(ENTRIES)?;
        let mut known = Probe::new();
        ring.submitter().register_probe(&mut known)?;
        if !(known.is_supported(opcode::Writev::CODE) && known.is_supported(opcode::Fsync::CODE)) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mut uring = Uring { ring, broken: false };
        // A sandbox may allow the set-up and forbid the use.
        push(&mut uring.ring, &opcode::Nop::new().build())?;
        uring.ring.submit_and_wait(1)?;
        let answer = uring.ring.completion().next().map(|completion| completion.result());
        if answer == Some(0) { Ok(uring) } else { Err(io::ErrorKind::Unsupported.into()) }
    }

    /// See [`crate::io::ring::Ring::run`].
    pub(in crate::io) fn run(&mut self, ops: Vec<WriteOp>) -> Vec<io::Result<()>> {
        let mut flights: Vec<Flight> = ops.into_iter().map(Flight::new).collect();
        loop {
            if self.broken {
                return flights
                    .into_iter()
                    .map(|flight| flight.outcome.unwrap_or_else(|| Err(broken())))
                    .collect();
            }
            match self.round(&mut flights) {
                Ok(0) => break,
                Ok(_) => {}
                Err(cause) => {
                    error!(error = %cause, "io_uring broke, nothing more is written through it");
                    self.broken = true;
                    let outcomes = flights
                        .iter_mut()
                        .map(|flight| flight.outcome.take().unwrap_or_else(|| Err(broken())));
                    let outcomes = outcomes.collect();
                    // The kernel may still read from these buffers.
                    std::mem::forget(flights);
                    return outcomes;
                }
            }
        }
        flights.into_iter().map(|flight| flight.outcome.unwrap_or_else(|| Err(broken()))).collect()
    }

    /// Brings every unfinished flight (as many as fit) one step on; how many it took on board.
    fn round(&mut self, flights: &mut [Flight]) -> io::Result<usize> {
        let mut boarded = 0;
        let mut entries = 0;
        let unfinished = flights.iter_mut().enumerate().filter(|(_, flight)| flight.outcome.is_none());
        for (index, flight) in unfinished.take(OPS_MAX) {
            entries += flight.board(index, &mut self.ring)?;
            boarded += 1;
        }
        self.wait_for(entries, flights)?;
        for flight in flights.iter_mut().filter(|flight| flight.aboard) {
            flight.land();
        }
        Ok(boarded)
    }

    /// Submits what was pushed and notes the results until all `entries` have come.
    fn wait_for(&mut self, entries: usize, flights: &mut [Flight]) -> io::Result<()> {
        let mut outstanding = entries;
        while outstanding > 0 {
            match self.ring.submit_and_wait(outstanding) {
                Ok(_) => {}
                // Interrupted, or short of memory or queue space: take what has come and ask again.
                Err(error)
                    if matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY)) => {}
                Err(error) => return Err(error),
            }
            for completion in self.ring.completion() {
                outstanding = outstanding.saturating_sub(1);
                let tag = Tag::from_user_data(completion.user_data());
                let Some(flight) = flights.get_mut(tag.index) else { continue };
                let slot = if tag.sync { &mut flight.sync_result } else { &mut flight.write_result };
                *slot = Some(completion.result());
            }
        }
        Ok(())
    }
}

/// Which flight, and which of its two entries, a completion belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tag {
    index: usize,
    sync: bool,
}

impl Tag {
    fn user_data(self) -> u64 {
        u64::try_from(self.index).unwrap_or(u64::MAX >> 1) << 1 | u64::from(self.sync)
    }

    fn from_user_data(data: u64) -> Tag {
        Tag { index: usize::try_from(data >> 1).unwrap_or(usize::MAX), sync: data & 1 == 1 }
    }
}

/// One operation on its way.
struct Flight {
    /// Owns the file and the buffers that `vectors` point into.
    op: WriteOp,
    vectors: Vec<libc::iovec>,
    /// The first vector that is not written whole.
    first: usize,
    /// Where that vector goes in the file.
    position: u64,
    aboard: bool,
    write_result: Option<i32>,
    sync_result: Option<i32>,
    retries: u32,
    outcome: Option<io::Result<()>>,
}

impl Flight {
    fn new(op: WriteOp) -> Flight {
        let pieces = op.parts.iter().filter(|part| !part.is_empty());
        let vectors: Vec<libc::iovec> = pieces
            .map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() })
            .collect();
        let outcome = match op.file.descriptor() {
            Some(_) if vectors.is_empty() && !op.sync => Some(Ok(())),
            Some(_) => None,
            None => Some(op.run_inline()),
        };
        let position = op.position;
        Flight {
            op,
            vectors,
            first: 0,
            position,
            aboard: false,
            write_result: None,
            sync_result: None,
            retries: 0,
            outcome,
        }
    }

    /// Pushes the next write, the sync, or both linked; how many entries that took.
    fn board(&mut self, index: usize, ring: &mut IoUring) -> io::Result<usize> {
        let descriptor: RawFd = match self.op.file.descriptor() {
            Some(descriptor) => descriptor.as_raw_fd(),
            None => return Err(io::ErrorKind::Unsupported.into()),
        };
        self.aboard = true;
        self.write_result = None;
        self.sync_result = None;
        let waiting = self.vectors.get(self.first..).unwrap_or_default();
        let batch = waiting.get(..PIECES_MAX).unwrap_or(waiting);
        let sync_now = self.op.sync && batch.len() == waiting.len();
        let mut entries = 0;
        if !batch.is_empty() {
            let count = u32::try_from(batch.len()).map_err(io::Error::other)?;
            let write = opcode::Writev::new(types::Fd(descriptor), batch.as_ptr(), count)
                .offset(self.position)
                .build()
                .user_data(Tag { index, sync: false }.user_data());
            push(ring, &if sync_now { write.flags(squeue::Flags::IO_LINK) } else { write })?;
            entries += 1;
        }
        if sync_now {
            let sync = opcode::Fsync::new(types::Fd(descriptor))
                .flags(types::FsyncFlags::DATASYNC)
                .build()
                .user_data(Tag { index, sync: true }.user_data());
            push(ring, &sync)?;
            entries += 1;
        }
        Ok(entries)
    }

    /// Draws the conclusion from the results of a round: done, failed, or one more round.
    fn land(&mut self) {
        self.aboard = false;
        if let Some(written) = self.write_result
            && let Err(error) = self.written(written)
        {
            self.outcome = Some(Err(error));
            return;
        }
        self.outcome = if self.first < self.vectors.len() {
            // It goes on in the next round; a sync that was linked to a short write was cancelled and says nothing.
            None
        } else if !self.op.sync {
            Some(Ok(()))
        } else {
            // A failed sync is never tried again: the kernel may have marked the pages clean.
            self.sync_result.map(|result| check(result).map(|_| ()).map_err(sync_failure))
        };
    }

    /// Takes note of how far a write got.
    fn written(&mut self, result: i32) -> io::Result<()> {
        let written = match check(result) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => written,
            Err(error) => {
                let again = matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN));
                self.retries += 1;
                return if again && self.retries < RETRIES_MAX { Ok(()) } else { Err(error) };
            }
        };
        self.retries = 0;
        self.position = advance(self.position, written)?;
        let mut left = written;
        while let Some(vector) = self.vectors.get_mut(self.first) {
            if left < vector.iov_len {
                vector.iov_base = vector.iov_base.wrapping_byte_add(left);
                vector.iov_len -= left;
                break;
            }
            left -= vector.iov_len;
            self.first += 1;
        }
        Ok(())
    }
}

/// Puts one entry into the submission queue.
#[allow(unsafe_code, reason = "the kernel reads what the entry points to")]
fn push(ring: &mut IoUring, entry: &squeue::Entry) -> io::Result<()> {
    let mut queue = ring.submission();
    // SAFETY: the descriptor, vectors and buffers belong to a `Flight` that `Uring::run` keeps until the entry's
    // completion has come, or leaks if it never comes.
    let pushed = unsafe { queue.push(entry) };
    pushed.map_err(io::Error::other)
}

/// A completion's result as Rust has it.
fn check(result: i32) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::from_raw_os_error(result.saturating_neg()))
}

fn broken() -> io::Error {
    io::Error::other("io_uring is broken")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::disk::Disk;
    use crate::io::disk::Open;
    use crate::io::ring::failed_in_sync;
    use bytes::Bytes;

    fn flight(parts: &[&'static [u8]], sync: bool) -> Flight {
        let file = Disk::system().open(std::path::Path::new("/dev/null"), Open::ReadWrite).unwrap();
        let parts = parts.iter().map(|part| Bytes::from_static(part)).collect();
        Flight::new(WriteOp { file, position: 100, parts, sync })
    }

    /// Plays the kernel: the write returns `written`, a sync linked to it is cancelled when that is short.
    fn play(flight: &mut Flight, written: i32) {
        let asked: usize = flight.vectors[flight.first..].iter().map(|vector| vector.iov_len).sum();
        flight.write_result = Some(written);
        let whole = usize::try_from(written) == Ok(asked);
        flight.sync_result = flight.op.sync.then_some(if whole { 0 } else { -libc::ECANCELED });
        flight.land();
    }

    #[test]
    fn a_short_write_goes_on_where_it_stopped_and_syncs_only_at_the_end() {
        let mut flight = flight(&[b"abc", b"", b"defg"], true);
        play(&mut flight, 4);
        assert!(flight.outcome.is_none(), "a cancelled sync of a short write is no error");
        assert_eq!((flight.first, flight.position, flight.vectors[1].iov_len), (1, 104, 3));
        play(&mut flight, -libc::EINTR);
        assert!(flight.outcome.is_none());
        play(&mut flight, 3);
        assert!(matches!(flight.outcome, Some(Ok(()))));
    }

    #[test]
    fn a_failed_sync_is_final() {
        let mut flight = flight(&[b"abc"], true);
        flight.write_result = Some(3);
        flight.sync_result = Some(-libc::EIO);
        flight.land();
        assert!(failed_in_sync(&flight.outcome.unwrap().unwrap_err()));
    }

    #[test]
    fn a_write_that_writes_nothing_or_is_put_off_for_ever_fails() {
        let mut nothing = flight(&[b"abc"], false);
        play(&mut nothing, 0);
        assert_eq!(nothing.outcome.unwrap().unwrap_err().kind(), io::ErrorKind::WriteZero);
        let mut put_off = flight(&[b"abc"], false);
        for _ in 0..RETRIES_MAX {
            play(&mut put_off, -libc::EAGAIN);
        }
        assert_eq!(put_off.outcome.unwrap().unwrap_err().raw_os_error(), Some(libc::EAGAIN));
    }

    #[test]
    fn tags_come_back_as_they_went() {
        for index in [0, 1, 699] {
            for sync in [false, true] {
                let tag = Tag { index, sync };
                assert_eq!(Tag::from_user_data(tag.user_data()), tag);
            }
        }
    }
}
