//! Many writes and syncs as one act: what a disk thread hands to the kernel at a time.

use crate::io::disk::Disk;
use crate::io::disk::File;
use crate::io::pool::Pool;
#[cfg(feature = "sim")]
use crate::io::sim::SimDisk;
use crate::io::uring::Uring;
use bytes::Bytes;
use std::io;
use tracing::info;

/// One gathered write, or a sync, or a write with the sync that makes it durable.
#[derive(Clone, Debug)]
pub struct WriteOp {
    /// Where to.
    pub file: File,
    /// Where the first part goes, in bytes.
    pub position: u64,
    /// Written one after the other; may be empty, then this is only a sync.
    pub parts: Vec<Bytes>,
    /// Whether the content must be on stable storage (`fdatasync`) before the operation counts as done.
    pub sync: bool,
}

/// A blocking batch engine, owned by one disk thread per log directory.
#[derive(Debug)]
pub enum Ring {
    /// io_uring: one submission for a whole batch.
    Uring(Box<Uring>),
    /// `pwritev` and `fdatasync` on a few threads, where io_uring is forbidden.
    Pool(Pool),
    /// The simulated disk; the order within a batch is drawn from its seed.
    #[cfg(feature = "sim")]
    Sim(SimDisk),
}

impl Ring {
    /// The best engine there is for this disk: io_uring when it is allowed by the caller, the kernel and the
    /// sandbox (container profiles answer EPERM, old kernels ENOSYS), else the pool. Says in the log which and why.
    pub fn probe(disk: &Disk, allow_uring: bool) -> Ring {
        match disk {
            Disk::Std(_) => {}
            #[cfg(feature = "sim")]
            Disk::Sim(disk) => return Ring::Sim(disk.clone()),
        }
        if !allow_uring {
            info!(engine = "pool", "io_uring is switched off, writing with pwritev and fdatasync");
            return Ring::Pool(Pool::new());
        }
        match Uring::probe() {
            Ok(ring) => {
                info!(engine = "io_uring", "writing with io_uring");
                Ring::Uring(Box::new(ring))
            }
            Err(error) => {
                info!(engine = "pool", %error, "io_uring is not to be had, writing with pwritev and fdatasync");
                Ring::Pool(Pool::new())
            }
        }
    }

    /// Does all of it and returns one outcome per operation, in the order given. Operations of one batch are
    /// independent: none waits for another, also not for one on the same file; within an operation the sync comes
    /// after the whole write. Short writes are finished. An operation that fails leaves an unknown part of its
    /// bytes in the file, and after a failed sync the file is not to be trusted.
    pub fn run(&mut self, ops: Vec<WriteOp>) -> Vec<io::Result<()>> {
        match self {
            Ring::Uring(ring) => ring.run(ops),
            Ring::Pool(pool) => pool.run(ops),
            #[cfg(feature = "sim")]
            Ring::Sim(disk) => run_shuffled(disk, &ops),
        }
    }

    /// The engine's name for logs and metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Ring::Uring(_) => "io_uring",
            Ring::Pool(_) => "pool",
            #[cfg(feature = "sim")]
            Ring::Sim(_) => "sim",
        }
    }
}

impl WriteOp {
    /// Bytes to write.
    pub fn length(&self) -> usize {
        self.parts.iter().map(Bytes::len).sum()
    }

    /// Does it here and now, on the calling thread.
    pub(in crate::io) fn run_inline(&self) -> io::Result<()> {
        if !self.parts.is_empty() {
            self.file.write_vectored_at(&self.parts, self.position)?;
        }
        if self.sync {
            self.file.sync_data().map_err(sync_failure)?;
        }
        Ok(())
    }
}

/// Marks an operation's error as the sync's, not the write's.
#[derive(Debug, thiserror::Error)]
#[error("sync failed: {0}")]
struct SyncFailure(#[source] io::Error);

/// The error of an operation whose write went through and whose sync did not.
pub(in crate::io) fn sync_failure(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), SyncFailure(error))
}

/// Whether an operation failed in its sync: then its file is not to be trusted, whatever the reason.
pub fn failed_in_sync(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<SyncFailure>())
}

#[cfg(feature = "sim")]
fn run_shuffled(disk: &SimDisk, ops: &[WriteOp]) -> Vec<io::Result<()>> {
    let mut outcomes: Vec<io::Result<()>> = ops.iter().map(|_| Ok(())).collect();
    for index in disk.shuffled(ops.len()) {
        if let (Some(op), Some(outcome)) = (ops.get(index), outcomes.get_mut(index)) {
            *outcome = op.run_inline();
        }
    }
    outcomes
}

#[cfg(test)]
mod tests;
