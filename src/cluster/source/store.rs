//! Where the local source keeps its batches: the metadata partition's log, or memory in tests.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::cluster::Error;
use crate::log;
use crate::log::Append;
use crate::log::Log;
use crate::log::Origin;
use crate::log::Proof;
use crate::record::CheckedBatch;
use bytes::Bytes;
use std::sync::Arc;

/// Batches in order. They are durable once [`Store::append`] has returned.
#[derive(Clone, Debug)]
pub(super) enum Store {
    /// The log of `__cluster_metadata-0`.
    Log(Arc<Log>),
    /// Memory, shared with whoever opens it again: what a test restarts from.
    #[cfg(test)]
    Memory(Arc<parking_lot::Mutex<Memory>>),
}

/// A log in memory.
#[cfg(test)]
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// All batches that were not trimmed, with their heads.
    pub(super) bytes: Vec<u8>,
    /// The offset of the first record.
    pub(super) start: i64,
    /// The offset after the last record.
    pub(super) end: i64,
    /// When set, appends fail for good.
    pub(super) broken: bool,
    /// When set, appends fail until it is not.
    pub(super) full: bool,
}

impl Store {
    /// The offset of the first record that is there.
    pub(super) fn start(&self) -> Offset {
        match self {
            Store::Log(log) => {
                log.confirm_end();
                log.log_start_offset()
            }
            #[cfg(test)]
            Store::Memory(memory) => Offset(memory.lock().start),
        }
    }

    /// The offset the next record gets.
    pub(super) fn end(&self) -> Offset {
        match self {
            Store::Log(log) => log.log_end_offset(),
            #[cfg(test)]
            Store::Memory(memory) => Offset(memory.lock().end),
        }
    }

    /// Whole batches from the one that holds `from`, at least one, about `bytes_max`; empty at the end.
    pub(super) fn read(&self, from: Offset, bytes_max: usize) -> Result<Bytes, Error> {
        match self {
            Store::Log(log) => log.read_bytes(from, log.log_end_offset(), bytes_max).map_err(failed),
            #[cfg(test)]
            Store::Memory(memory) => Ok(memory.lock().read(from.0, bytes_max)),
        }
    }

    /// Adds batches in this order and makes them durable; the new end.
    ///
    /// # Errors
    /// The log failed; some of the batches may be there after the next start.
    pub(super) async fn append(
        &self,
        batches: Vec<CheckedBatch>,
        epoch: LeaderEpoch,
    ) -> Result<Offset, Error> {
        match self {
            Store::Log(log) => append(log, batches, epoch).await.map_err(failed),
            #[cfg(test)]
            Store::Memory(memory) => memory.lock().append(&batches, epoch),
        }
    }

    /// Whether appends can still succeed: a full device may get room again, a failed one stays failed.
    pub(super) fn is_online(&self) -> bool {
        match self {
            Store::Log(log) => log.is_online(),
            #[cfg(test)]
            Store::Memory(memory) => !memory.lock().broken,
        }
    }

    /// How many bytes the log has.
    pub(super) fn size_bytes(&self) -> u64 {
        match self {
            Store::Log(log) => log.size_bytes(),
            #[cfg(test)]
            Store::Memory(memory) => u64::try_from(memory.lock().bytes.len()).unwrap_or(u64::MAX),
        }
    }

    /// Lets go of what lies before `offset`, where whole segments allow it.
    pub(super) fn trim(&self, offset: Offset) -> Result<(), Error> {
        match self {
            Store::Log(log) => log.delete_records(offset).map(drop).map_err(failed),
            #[cfg(test)]
            Store::Memory(memory) => {
                memory.lock().trim(offset.0);
                Ok(())
            }
        }
    }
}

fn failed(error: log::Error) -> Error {
    Error::Log(error.to_string())
}

/// Queues all batches, then waits once: they share a sync.
async fn append(log: &Log, batches: Vec<CheckedBatch>, epoch: LeaderEpoch) -> Result<Offset, log::Error> {
    let mut last = None;
    for batch in batches {
        last = Some(log.append(
            batch,
            Append { epoch, sync: true, origin: Origin::Coordinator, proof: Proof::None, hold: false },
        )?);
    }
    if let Some(last) = last {
        log.synced(&last).await?;
        // This node is the whole quorum: what it has synced is committed.
        log.set_high_watermark(last.end_offset);
    }
    Ok(log.log_end_offset())
}

#[cfg(test)]
impl Memory {
    fn append(&mut self, batches: &[CheckedBatch], epoch: LeaderEpoch) -> Result<Offset, Error> {
        if self.broken || self.full {
            return Err(Error::Log("broken for a test".to_owned()));
        }
        for batch in batches {
            self.bytes.extend_from_slice(&batch.head(Offset(self.end), epoch));
            self.bytes.extend_from_slice(&batch.rest());
            self.end += i64::from(batch.header().record_count);
        }
        Ok(Offset(self.end))
    }

    fn read(&self, from: i64, bytes_max: usize) -> Bytes {
        let batches = crate::record::walk(&self.bytes).filter_map(Result::ok);
        let mut read = Vec::new();
        for (position, header) in batches.filter(|(_, header)| header.last_offset() >= from) {
            if !read.is_empty() && read.len() + header.total_size() > bytes_max {
                break;
            }
            read.extend_from_slice(
                self.bytes.get(position..position + header.total_size()).unwrap_or_default(),
            );
        }
        Bytes::from(read)
    }

    fn trim(&mut self, offset: i64) {
        let keep = crate::record::walk(&self.bytes)
            .filter_map(Result::ok)
            .find(|(_, header)| header.last_offset() >= offset)
            .map(|(position, header)| (position, header.base_offset));
        let (position, start) = keep.unwrap_or((self.bytes.len(), self.end));
        self.bytes.drain(..position);
        self.start = start;
    }
}
