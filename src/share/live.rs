//! A share-partition at work: its memory, the log it delivers from, and who waits for it.

use crate::base::ErrorCode;
use crate::base::Instant;
use crate::base::LeaderEpoch;
use crate::base::Timestamp;
use crate::config::OffsetReset as Reset;
use crate::replica;
use crate::replica::Found as FoundOffset;
use crate::replica::Spot;
use crate::replica::View;
use crate::replica::Waitable;
use crate::replica::Waiters;
use crate::share::Failure;
use crate::share::Key;
use crate::share::partition::Change;
use crate::share::partition::Dead;
use crate::share::partition::Partition;
use crate::share::rules;
use crate::share::slots::Entry;
use crate::share::state;
use crate::share::state::command::Write;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

/// See the module.
#[derive(Debug)]
pub(super) struct Live {
    pub(super) key: Key,
    /// The log.
    pub(super) log: Arc<replica::Partition>,
    /// The epoch in which this broker leads it.
    pub(super) leader_epoch: LeaderEpoch,
    state_epoch: i32,
    memory: Mutex<Partition>,
    waiters: Waiters,
    /// It was let go of. Set with the memory locked.
    ended: AtomicBool,
}

impl Waitable for Live {
    fn waiters(&self) -> &Waiters {
        &self.waiters
    }
}

impl Entry for Live {
    fn end(&self) {
        let memory = self.memory.lock();
        self.ended.store(true, Ordering::Relaxed);
        drop(memory);
        self.wake();
    }
}

impl Live {
    /// Reads what is kept of a share-partition. Gives also what was on its way to the dead-letter topic.
    pub(super) async fn load(
        states: &state::Service,
        key: Key,
        log: Arc<replica::Partition>,
        (reset, now): (Reset, Timestamp),
    ) -> Result<(Live, Vec<Dead>), Failure> {
        if !log.is_leader() {
            return Err(ErrorCode::NotLeaderOrFollower.into());
        }
        let leader_epoch = log.leader_epoch();
        let found = states.read(&key, leader_epoch.0).await.map_err(for_client)?;
        let start = if found.start >= 0 { found.start } else { begin(&log, leader_epoch, (reset, now))? };
        let (memory, dead) = Partition::load(start, &found.batches).inspect_err(|failure| {
            tracing::error!(%key, ?failure, batches = ?found.batches, start, "state is not valid");
        })?;
        tracing::debug!(%key, start, end = memory.end(), "share-partition is loaded");
        let (state_epoch, memory) = (found.state_epoch, Mutex::new(memory));
        let (waiters, ended) = (Waiters::default(), AtomicBool::new(false));
        Ok((Live { key, log, leader_epoch, state_epoch, memory, waiters, ended }, dead))
    }

    /// Works on the memory; never for long.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut Partition) -> T) -> T {
        work(&mut self.memory.lock())
    }

    /// Works on the memory as long as this is the one that counts: the state may be loaded again after that.
    pub(super) fn with_current<T>(&self, work: impl FnOnce(&mut Partition) -> T) -> Option<T> {
        let mut memory = self.memory.lock();
        (!self.ended.load(Ordering::Relaxed)).then(|| work(&mut memory))
    }

    /// Whether this broker leads the partition as it did when this began, and has not let go of this.
    pub(super) fn is_led(&self) -> bool {
        let ended = self.ended.load(Ordering::Relaxed);
        !ended && self.log.is_leader() && self.log.leader_epoch() == self.leader_epoch
    }

    /// Whether nothing is under way here, so that it can be forgotten and read again.
    pub(super) fn is_quiet(&self) -> bool {
        self.memory.lock().is_quiet()
    }

    /// Those who wait look again.
    pub(super) fn wake(&self) {
        self.waiters.wake();
    }

    /// What is to be written for a change.
    pub(super) fn to_write(&self, change: &Change) -> Write {
        let (start, complete) = self.with(|memory| (memory.start(), memory.complete_count()));
        Write {
            key: self.key.clone(),
            state_epoch: self.state_epoch,
            leader_epoch: self.leader_epoch.0,
            start,
            complete,
            batches: change.batches.clone(),
            known: true,
        }
    }

    /// When a lock may end.
    pub(super) fn next_lock(&self) -> Option<Instant> {
        self.memory.lock().next_lock()
    }
}

/// Where a group begins that has no offset yet (`SharePartition.startOffsetDuringInitialization`).
fn begin(
    log: &replica::Partition,
    epoch: LeaderEpoch,
    (reset, now): (Reset, Timestamp),
) -> Result<i64, Failure> {
    let spot = match (reset, rules::since(reset, now)) {
        (_, Some(time)) => Spot::At(time),
        (Reset::Earliest, _) => Spot::Earliest,
        (Reset::Latest | Reset::Since(_), None) => Spot::Latest,
    };
    let found = log.list_offset(spot, View::Consumer, Some(epoch)).map_err(|error| of_replica(&error))?;
    let offset = |found: FoundOffset| found.offset.0;
    // Nothing is that young.
    let latest = || log.high_watermark().0;
    Ok(found.map_or_else(latest, offset))
}

/// Why a log cannot be read, in Kafka's codes.
pub(super) fn of_replica(error: &replica::Error) -> Failure {
    let code = match error {
        replica::Error::UnknownTopicOrPartition => ErrorCode::UnknownTopicOrPartition,
        replica::Error::UnknownTopicId => ErrorCode::UnknownTopicId,
        replica::Error::NotLeaderOrFollower | replica::Error::UnknownLeaderEpoch { .. } => {
            ErrorCode::NotLeaderOrFollower
        }
        replica::Error::FencedLeaderEpoch { .. } => ErrorCode::FencedLeaderEpoch,
        replica::Error::OffsetNotAvailable => ErrorCode::OffsetNotAvailable,
        replica::Error::OffsetOutOfRange { .. } => ErrorCode::OffsetOutOfRange,
        replica::Error::Offline | replica::Error::Log(_) => ErrorCode::KafkaStorageError,
        replica::Error::NotEnoughReplicas { .. }
        | replica::Error::NotEnoughReplicasAfterAppend
        | replica::Error::RequestTimedOut
        | replica::Error::NotDeletable
        | replica::Error::UnknownDirectory
        | replica::Error::Cordoned
        | replica::Error::Batch(_) => ErrorCode::UnknownServerError,
    };
    code.into()
}

/// What the share coordinator says, in the codes that consumers get (`SharePartition.fetchPersisterError`).
pub(super) fn for_client(failure: Failure) -> Failure {
    let code = match failure.code {
        ErrorCode::NotCoordinator
        | ErrorCode::CoordinatorNotAvailable
        | ErrorCode::CoordinatorLoadInProgress => ErrorCode::CoordinatorNotAvailable,
        ErrorCode::FencedLeaderEpoch | ErrorCode::FencedStateEpoch => ErrorCode::NotLeaderOrFollower,
        code @ (ErrorCode::GroupIdNotFound | ErrorCode::UnknownTopicOrPartition) => code,
        _ => ErrorCode::UnknownServerError,
    };
    Failure { code, message: failure.message }
}
