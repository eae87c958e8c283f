//! The leader's append: may it be written, what is promised, and when the promise holds.

use crate::base::Instant;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::Timestamp;
use crate::config::FlushAcks;
use crate::log;
use crate::log::Appended;
use crate::record;
use crate::record::CheckedBatch;
use crate::record::Policy;
use crate::replica::error::Error;
use crate::replica::partition::Leader;
use crate::replica::partition::Partition;
use crate::replica::waiters::Wait;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

pub use crate::log::Entry;
pub use crate::log::FirstBatch;
pub use crate::log::Guard;
pub use crate::log::Origin;
pub use crate::log::Proof;

/// A local write is waited for at least this long, whatever time-out the client has for the replicas: Kafka's own
/// local write is not subject to it at all.
const LOCAL_WAIT_MIN: Duration = Duration::from_secs(10);

/// How long from `now` on this node's own disk is waited for, for a client that waits until `deadline`.
pub fn disk_patience(deadline: Instant, now: Instant) -> Duration {
    deadline.since(now).max(LOCAL_WAIT_MIN)
}

/// Which replicas must have the records before an append counts (`acks`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Acks {
    /// 0: nobody waits.
    None,
    /// 1: this node.
    Leader,
    /// -1: all in sync.
    All,
}

impl Acks {
    /// Kafka's number; `None` for numbers that mean nothing (INVALID_REQUIRED_ACKS).
    pub fn from_number(acks: i16) -> Option<Acks> {
        match acks {
            0 => Some(Acks::None),
            1 => Some(Acks::Leader),
            -1 => Some(Acks::All),
            _ => None,
        }
    }
}

/// Where a batch went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AppendInfo {
    /// The offset of its first record.
    pub base_offset: Offset,
    /// The offset after its last record.
    pub end_offset: Offset,
    /// The broker's time in its records; -1 where records keep the producer's.
    pub append_time: Timestamp,
    /// Where the log begins.
    pub log_start_offset: Offset,
    /// The epoch it was appended in.
    pub leader_epoch: LeaderEpoch,
}

/// An append whose place is fixed, and whose promise may not hold yet.
#[derive(Debug)]
#[must_use = "the promise holds only when it was waited for"]
pub struct PendingAppend {
    partition: Arc<Partition>,
    appended: Appended,
    epoch: LeaderEpoch,
    acks: Acks,
    sync: bool,
}

impl Partition {
    /// Checks and appends what a client sent for this partition: exactly one batch. The order of appends is the
    /// order of these calls.
    ///
    /// # Errors
    /// NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS, what is wrong with the batch or its producer, storage errors.
    pub fn append(
        self: &Arc<Self>,
        records: Bytes,
        acks: Acks,
        origin: Origin,
        proof: Proof,
    ) -> Result<PendingAppend, Error> {
        self.append_or_hold(records, acks, (origin, proof), false)
    }

    /// As [`Partition::append`] for a client whose next request is here already: the batch gets its place, and
    /// [`Partition::write_held`] must be called before anything is waited for.
    ///
    /// # Errors
    /// As [`Partition::append`].
    pub fn append_held(
        self: &Arc<Self>,
        records: Bytes,
        acks: Acks,
        proof: Proof,
    ) -> Result<PendingAppend, Error> {
        self.append_or_hold(records, acks, (Origin::Client, proof), true)
    }

    /// Writes what [`Partition::append_held`] left.
    pub fn write_held(&self) {
        self.log.write_held();
        self.written();
    }

    fn append_or_hold(
        self: &Arc<Self>,
        records: Bytes,
        acks: Acks,
        (origin, proof): (Origin, Proof),
        hold: bool,
    ) -> Result<PendingAppend, Error> {
        self.traffic.batch_came();
        let bytes = records.len();
        let outcome = self.check(records, origin).and_then(|batch| {
            let count = batch.header().record_count;
            Ok((self.append_checked(batch, acks, (origin, proof, hold), None)?, count))
        });
        self.count(bytes, outcome)
    }

    /// Proves that the bytes are one whole batch that the topic takes. Who does not lead need not look at them.
    fn check(&self, records: Bytes, origin: Origin) -> Result<CheckedBatch, Error> {
        let config = self.log.config();
        let policy = Policy {
            max_message_bytes: config.max_message_bytes,
            max_decompressed_bytes: config.max_decompressed_message_bytes,
            keys_required: config.cleanup.compact,
            timestamp_type: config.timestamp_type,
            before_max_ms: config.timestamp_before_max_ms,
            after_max_ms: config.timestamp_after_max_ms,
            compression: config.compression,
            now: self.shared.clock.wall(),
            client: origin == Origin::Client,
        };
        drop(self.lead(None)?);
        Ok(record::check(records, &policy)?)
    }

    /// Counts what became of a batch of so many bytes, and, where it was appended, so many records.
    fn count(
        &self,
        bytes: usize,
        outcome: Result<(PendingAppend, i32), Error>,
    ) -> Result<PendingAppend, Error> {
        match outcome {
            Ok((pending, records)) => {
                self.traffic.appended(bytes, records);
                Ok(pending)
            }
            Err(error) => {
                if is_unexpected(&error) {
                    self.traffic.append_failed();
                }
                Err(error)
            }
        }
    }

    /// Appends a batch that was checked or made here. With `epoch` it is refused (NOT_LEADER_OR_FOLLOWER) unless
    /// that is still the epoch in force: a coordinator's write must not slip into another leadership.
    ///
    /// # Errors
    /// As [`Partition::append`].
    pub fn append_batch(
        self: &Arc<Self>,
        batch: CheckedBatch,
        acks: Acks,
        (origin, proof): (Origin, Proof),
        epoch: Option<LeaderEpoch>,
    ) -> Result<PendingAppend, Error> {
        self.traffic.batch_came();
        let (bytes, records) = (batch.bytes().len(), batch.header().record_count);
        let outcome = self.append_checked(batch, acks, (origin, proof, false), epoch);
        self.count(bytes, outcome.map(|pending| (pending, records)))
    }

    fn append_checked(
        self: &Arc<Self>,
        batch: CheckedBatch,
        acks: Acks,
        (origin, proof, hold): (Origin, Proof, bool),
        epoch: Option<LeaderEpoch>,
    ) -> Result<PendingAppend, Error> {
        let leader = self.lead(None)?;
        if epoch.is_some_and(|expected| expected != leader.epoch) {
            return Err(Error::NotLeaderOrFollower);
        }
        if acks == Acks::All {
            let (in_sync, min_isr) = (leader.isr_size(), leader.min_isr(&self.log));
            if in_sync < min_isr {
                return Err(Error::NotEnoughReplicas { in_sync, min_isr });
            }
        }
        let sync = acks == Acks::All && self.syncs(&leader);
        let how = log::Append { epoch: leader.epoch, sync, origin, proof, hold };
        let appended = self.log.append(batch, how)?;
        self.grown(&leader);
        let epoch = leader.epoch;
        drop(leader);
        Ok(PendingAppend { partition: Arc::clone(self), appended, epoch, acks, sync })
    }

    /// Begins to verify a producer's transaction before its first batch is appended; `None` when it is open here, so
    /// that the coordinator need not be asked (`Partition.maybeStartTransactionVerification`).
    ///
    /// # Errors
    /// NOT_LEADER_OR_FOLLOWER, storage errors.
    pub fn verify(&self, first: FirstBatch) -> Result<Option<Guard>, Error> {
        drop(self.lead(None)?);
        Ok(self.log.verify(first)?)
    }

    /// Whether a write with acks=all must be on stable storage here before it counts (`log.flush.acks`).
    fn syncs(&self, leader: &Leader) -> bool {
        match self.shared.flush_acks {
            FlushAcks::Always => true,
            FlushAcks::Replicated => leader.isr_size() <= 1,
            FlushAcks::Never => false,
        }
    }
}

impl Partition {
    /// Waits until everything before `end` is committed: the high watermark has passed it.
    ///
    /// # Errors
    /// REQUEST_TIMED_OUT after `deadline`; NOT_LEADER_OR_FOLLOWER when this node has not led without a break since `epoch`.
    pub async fn committed(
        self: &Arc<Self>,
        end: Offset,
        epoch: LeaderEpoch,
        deadline: Instant,
    ) -> Result<(), Error> {
        let clock = &self.shared.clock;
        let wait = Wait::on(std::iter::once(Arc::clone(self)));
        let mut places = Vec::new();
        loop {
            if self.moved_with(end, epoch) {
                return Ok(());
            }
            if !self.lead(None)?.has_led_since(epoch) {
                return Err(Error::NotLeaderOrFollower);
            }
            if self.high_watermark() >= end {
                return Ok(());
            }
            let left = deadline.since(clock.now());
            if clock.timeout(left, wait.progress(&mut places)).await.is_none() {
                return Err(Error::RequestTimedOut);
            }
        }
    }
}

/// Whether Kafka counts the error as a failure of the broker (`ReplicaManager.appendRecordsToLeader`): what clients
/// cause or can get over is not one, though a refused record or producer is.
fn is_unexpected(error: &Error) -> bool {
    match error {
        Error::UnknownTopicOrPartition
        | Error::UnknownTopicId
        | Error::NotLeaderOrFollower
        | Error::Offline
        | Error::FencedLeaderEpoch { .. }
        | Error::UnknownLeaderEpoch { .. } => false,
        Error::Batch(batch) => batch.is_of_content(),
        Error::Log(log) => matches!(log, log::Error::Producer(_)),
        Error::NotEnoughReplicas { .. }
        | Error::NotEnoughReplicasAfterAppend
        | Error::RequestTimedOut
        | Error::OffsetOutOfRange { .. }
        | Error::OffsetNotAvailable
        | Error::UnknownDirectory
        | Error::Cordoned
        | Error::NotDeletable => true,
    }
}

impl PendingAppend {
    /// Where the batch went.
    pub fn info(&self) -> AppendInfo {
        AppendInfo {
            base_offset: self.appended.base_offset,
            end_offset: self.appended.end_offset,
            append_time: self.appended.append_time,
            log_start_offset: self.appended.log_start_offset,
            leader_epoch: self.epoch,
        }
    }

    /// The partition it went to.
    pub fn partition(&self) -> &Arc<Partition> {
        &self.partition
    }

    /// Whether the promise holds already, so that nothing needs to be waited for.
    pub fn is_done(&self) -> bool {
        let end = self.appended.end_offset;
        let promised = match self.acks {
            Acks::None | Acks::Leader => true,
            Acks::All => !self.sync && self.partition.high_watermark() >= end,
        };
        promised && self.partition.log.is_written(&self.appended)
    }

    /// Waits until the promise holds.
    ///
    /// # Errors
    /// REQUEST_TIMED_OUT after `deadline`, NOT_ENOUGH_REPLICAS_AFTER_APPEND, NOT_LEADER_OR_FOLLOWER when the
    /// leadership went meanwhile, and KAFKA_STORAGE_ERROR.
    pub async fn done(&self, deadline: Instant) -> Result<AppendInfo, Error> {
        let now = self.partition.shared.clock.now();
        self.done_by(deadline, now.plus(disk_patience(deadline, now))).await
    }

    /// As [`PendingAppend::done`], with the end of this node's own disk's time: for several appends that are waited
    /// for one after the other, and run out together.
    ///
    /// # Errors
    /// As [`PendingAppend::done`].
    pub async fn done_by(&self, deadline: Instant, disk_deadline: Instant) -> Result<AppendInfo, Error> {
        let clock = &self.partition.shared.clock;
        let log = &self.partition.log;
        let local = async {
            if self.sync { log.synced(&self.appended).await } else { log.written(&self.appended).await }
        };
        match clock.timeout(disk_deadline.since(clock.now()), local).await {
            Some(outcome) => outcome?,
            None => return Err(Error::RequestTimedOut),
        }
        // Also without acks=all: what is written now may be what others wait for.
        self.partition.written();
        if self.acks == Acks::All && self.partition.high_watermark() < self.appended.end_offset {
            self.partition.committed(self.appended.end_offset, self.epoch, deadline).await?;
        }
        if self.acks == Acks::All && !self.partition.moved_with(self.appended.end_offset, self.epoch) {
            let leader = self.still_led()?;
            if leader.isr_size() < leader.min_isr(log) {
                return Err(Error::NotEnoughReplicasAfterAppend);
            }
        }
        Ok(self.info())
    }

    fn still_led(&self) -> Result<crate::replica::partition::Led<'_>, Error> {
        let leader = self.partition.lead(None)?;
        if leader.has_led_since(self.epoch) { Ok(leader) } else { Err(Error::NotLeaderOrFollower) }
    }
}
