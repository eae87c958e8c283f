//! A partition that this broker leads, as the log of a coordinator, for one leader epoch.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::coordinator::error::Error;
use crate::coordinator::journal::Appended;
use crate::coordinator::journal::Committing;
use crate::coordinator::journal::Journal;
use crate::io::Clock;
use crate::io::FileSlice;
use crate::io::task;
use crate::record::CheckedBatch;
use crate::replica;
use crate::replica::Acks;
use crate::replica::Origin;
use crate::replica::Partition;
use bytes::Bytes;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

/// The log of a partition, as long as it is led in this epoch.
#[derive(Clone, Debug)]
pub struct LedPartition {
    partition: Arc<Partition>,
    epoch: LeaderEpoch,
    clock: Clock,
    commit_timeout: Duration,
}

impl LedPartition {
    /// Wraps a partition; appends fail once another epoch is in force. `commit_timeout` is how long a batch may take
    /// to be committed.
    pub fn new(
        partition: Arc<Partition>,
        epoch: LeaderEpoch,
        clock: Clock,
        commit_timeout: Duration,
    ) -> LedPartition {
        LedPartition { partition, epoch, clock, commit_timeout }
    }

    fn fail(&self, error: &replica::Error) -> Error {
        let told = translate(error);
        if told == Error::NotAvailable {
            warn!(partition = %self.partition.name(), %error, "the coordinator's log refuses");
        }
        told
    }
}

impl Journal for LedPartition {
    fn start(&self) -> Offset {
        self.partition.log_start_offset()
    }

    fn end(&self) -> Offset {
        self.partition.log_end_offset()
    }

    fn batch_bytes_max(&self) -> usize {
        usize::try_from(self.partition.log().config().max_message_bytes).unwrap_or(0)
    }

    async fn read(&self, from: Offset, bytes_max: usize) -> Result<Bytes, Error> {
        let log = self.partition.log();
        let found = log.read(from, log.log_end_offset(), bytes_max, true);
        let slices = found.map_err(|error| self.fail(&replica::Error::from(error)))?.slices;
        let read = task::run_blocking(move || read_slices(&slices)).await;
        read.map_err(|error| {
            warn!(partition = %self.partition.name(), %error, "the coordinator's log cannot be read");
            Error::NotAvailable
        })
    }

    fn committed(&self, end: Offset) -> Committing {
        let this = self.clone();
        let deadline = self.clock.now().plus(self.commit_timeout);
        Box::pin(async move {
            let waited = this.partition.committed(end, this.epoch, deadline).await;
            waited.map_err(|error| this.fail(&error))
        })
    }

    fn append(&self, batch: CheckedBatch) -> Result<Appended, Error> {
        let pending = self
            .partition
            .append_batch(batch, Acks::All, Origin::Coordinator, Some(self.epoch))
            .map_err(|error| self.fail(&error))?;
        let this = self.clone();
        let deadline = self.clock.now().plus(self.commit_timeout);
        Ok(Appended {
            base: pending.info().base_offset,
            committed: Box::pin(async move {
                pending.done(deadline).await.map(|_| ()).map_err(|error| this.fail(&error))
            }),
        })
    }
}

fn read_slices(slices: &[FileSlice]) -> io::Result<Bytes> {
    let mut read = Vec::new();
    for slice in slices {
        let from = read.len();
        let length = usize::try_from(slice.length).map_err(io::Error::other)?;
        read.resize(from + length, 0);
        let room = read.get_mut(from..).unwrap_or_default();
        slice.file.read_exact_at(room, slice.position)?;
    }
    Ok(Bytes::from(read))
}

/// What a coordinator makes of an error below it (`CoordinatorRuntime` and `GroupCoordinatorService` of Kafka).
fn translate(error: &replica::Error) -> Error {
    match error {
        replica::Error::NotLeaderOrFollower
        | replica::Error::UnknownTopicOrPartition
        | replica::Error::UnknownTopicId
        | replica::Error::Offline
        | replica::Error::FencedLeaderEpoch { .. }
        | replica::Error::UnknownLeaderEpoch { .. } => Error::NotCoordinator,
        _ => Error::NotAvailable,
    }
}
