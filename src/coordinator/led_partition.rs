//! The log of a partition that this broker leads, as a coordinator's journal.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::coordinator::error::Error;
use crate::coordinator::journal::Appended;
use crate::coordinator::journal::Committing;
use crate::coordinator::journal::Journal;
use crate::io::Clock;
use crate::io::task;
use crate::log;
use crate::log::ProducerError;
use crate::record::CheckedBatch;
use crate::replica;
use crate::replica::Acks;
use crate::replica::Origin;
use crate::replica::Partition;
use crate::replica::Proof;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// A partition in one leader epoch.
pub struct LedPartition {
    partition: Arc<Partition>,
    epoch: LeaderEpoch,
    clock: Clock,
    commit_timeout: Duration,
}

impl LedPartition {
    /// The partition as led in `epoch`; a commit may take `commit_timeout` (`offsets.commit.timeout.ms`).
    pub fn new(
        partition: Arc<Partition>,
        epoch: LeaderEpoch,
        clock: Clock,
        commit_timeout: Duration,
    ) -> LedPartition {
        LedPartition { partition, epoch, clock, commit_timeout }
    }
}

impl Journal for LedPartition {
    fn start(&self) -> Offset {
        self.partition.confirm_end();
        self.partition.log_start_offset()
    }

    async fn settled(&self) -> Result<Offset, Error> {
        let partition = self.partition.name();
        match self.clock.timeout(self.commit_timeout, self.partition.log().settled()).await {
            Some(Ok(end)) => Ok(end),
            Some(Err(error)) => {
                tracing::error!(%partition, %error, "coordinator cannot read");
                Err(Error::NotAvailable)
            }
            None => {
                tracing::warn!(%partition, "earlier appends are still not written, the coordinator waits for them");
                Err(Error::NotAvailable)
            }
        }
    }

    fn batch_bytes_max(&self) -> usize {
        usize::try_from(self.partition.log().config().max_message_bytes).unwrap_or(0)
    }

    async fn read(&self, from: Offset, bytes_max: usize) -> Result<Bytes, Error> {
        let log = Arc::clone(self.partition.log());
        let read = task::run_blocking(move || log.read_bytes(from, log.log_end_offset(), bytes_max)).await;
        read.map_err(|error| {
            tracing::error!(partition = %self.partition.name(), offset = %from, %error, "coordinator cannot read");
            Error::NotAvailable
        })
    }

    fn committed(&self, end: Offset) -> Committing {
        let partition = Arc::clone(&self.partition);
        let (epoch, deadline) = (self.epoch, self.clock.now().plus(self.commit_timeout));
        Box::pin(async move { partition.committed(end, epoch, deadline).await.map_err(error_of) })
    }

    fn append(&self, batch: CheckedBatch, proof: Proof) -> Result<Appended, Error> {
        let by = (Origin::Coordinator, proof);
        let pending = self.partition.append_batch(batch, Acks::All, by, Some(self.epoch));
        let pending = pending.map_err(error_of)?;
        let base = pending.info().base_offset;
        let deadline = self.clock.now().plus(self.commit_timeout);
        let committed = Box::pin(async move { pending.done(deadline).await.map(|_| ()).map_err(error_of) });
        Ok(Appended { base, committed })
    }
}

/// What a failed write means for a coordinator's clients (`CoordinatorOperationExceptionHelper`): look for the
/// coordinator again, or try again here.
fn error_of(error: replica::Error) -> Error {
    match error {
        replica::Error::Log(log::Error::Producer(refused)) => match refused {
            ProducerError::InvalidEpoch { .. } => Error::InvalidProducerEpoch,
            ProducerError::CoordinatorFenced { .. } => Error::CoordinatorFenced,
            ProducerError::InvalidTransactionState { .. }
            | ProducerError::Unverified { .. }
            | ProducerError::OutOfOrderSequence { .. } => Error::InvalidTransactionState,
        },
        replica::Error::NotLeaderOrFollower
        | replica::Error::FencedLeaderEpoch { .. }
        | replica::Error::UnknownLeaderEpoch { .. }
        | replica::Error::Offline
        | replica::Error::Log(_) => Error::NotCoordinator,
        other => {
            tracing::warn!(error = %other, "coordinator cannot commit");
            Error::NotAvailable
        }
    }
}
