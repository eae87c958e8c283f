//! The log of one partition as a coordinator needs it.

use crate::base::Offset;
use crate::coordinator::error::Error;
use crate::record::CheckedBatch;
use crate::replica::Proof;
use bytes::Bytes;
use std::future::Future;
use std::pin::Pin;

/// Resolves when an appended batch is committed, or will not be.
pub type Committing = Pin<Box<dyn Future<Output = Result<(), Error>> + Send>>;

/// An append whose place is fixed.
pub struct Appended {
    /// The offset of the batch's first record.
    pub base: Offset,
    /// Resolves when the batch is committed. Has a deadline.
    pub committed: Committing,
}

/// A partition that this broker leads, for one leader epoch: with the epoch gone, appends fail.
pub trait Journal: Send + Sync + 'static {
    /// The first offset that can be read.
    fn start(&self) -> Offset;

    /// The offset behind the last record, once everything that was appended before is written or was taken back:
    /// unless somebody else appends, the next append goes there. Has a deadline.
    fn settled(&self) -> impl Future<Output = Result<Offset, Error>> + Send;

    /// The largest batch that will be taken, in bytes.
    fn batch_bytes_max(&self) -> usize;

    /// Whole batches from the one that holds `from` on, about `bytes_max` of them but at least one.
    fn read(&self, from: Offset, bytes_max: usize) -> impl Future<Output = Result<Bytes, Error>> + Send;

    /// Resolves when everything before `end` is committed. Has a deadline.
    fn committed(&self, end: Offset) -> Committing;

    /// Appends; offsets are given in the order of calls. The promise is that of acks=all. `proof` speaks for a batch
    /// of a transaction.
    fn append(&self, batch: CheckedBatch, proof: Proof) -> Result<Appended, Error>;
}
