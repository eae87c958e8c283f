//! What is known of one transactional id (class `TransactionMetadata`).

use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::base::Timestamp;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The epoch of an id that no producer has yet; also "no epoch".
pub(crate) const NO_EPOCH: ProducerEpoch = ProducerEpoch(-1);

/// From this epoch on a producer id is used up: one epoch is left, to fence with.
const EPOCH_LAST: i16 = i16::MAX - 1;

/// The version of transactions in which each end gives a new epoch (KIP-890).
pub(crate) const EPOCH_GROWS_FROM: i16 = 2;

/// How far a transaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// There was none yet in this epoch.
    Empty,
    /// Records are written.
    Ongoing,
    /// It is decided that they count; markers are being written.
    PrepareCommit,
    /// It is decided that they do not; markers are being written.
    PrepareAbort,
    /// All markers are written.
    CompleteCommit,
    /// All markers are written.
    CompleteAbort,
}

impl State {
    /// All states.
    pub const ALL: [State; 6] = [
        State::Empty,
        State::Ongoing,
        State::PrepareCommit,
        State::PrepareAbort,
        State::CompleteCommit,
        State::CompleteAbort,
    ];

    /// Kafka's number of it in records.
    pub(crate) fn number(self) -> i8 {
        match self {
            State::Empty => 0,
            State::Ongoing => 1,
            State::PrepareCommit => 2,
            State::PrepareAbort => 3,
            State::CompleteCommit => 4,
            State::CompleteAbort => 5,
        }
    }

    /// Kafka's name of it.
    pub fn name(self) -> &'static str {
        match self {
            State::Empty => "Empty",
            State::Ongoing => "Ongoing",
            State::PrepareCommit => "PrepareCommit",
            State::PrepareAbort => "PrepareAbort",
            State::CompleteCommit => "CompleteCommit",
            State::CompleteAbort => "CompleteAbort",
        }
    }

    /// Whether the end is decided and markers are to be written.
    pub(crate) fn is_prepared(self) -> bool {
        matches!(self, State::PrepareCommit | State::PrepareAbort)
    }
}

/// Partitions by topic.
pub type Partitions = BTreeMap<Arc<str>, BTreeSet<i32>>;

/// A transactional id with its producer and its latest transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The producer id in use.
    pub producer: ProducerId,
    /// The one in use before the latest change; mostly the same.
    pub previous_producer: ProducerId,
    /// The one that takes over when the markers are written, because this one's epochs are used up.
    pub next_producer: ProducerId,
    /// The epoch in use.
    pub epoch: ProducerEpoch,
    /// The epoch before it, as far as a repeated request may still name it. Not kept in the log.
    pub last_epoch: ProducerEpoch,
    /// How long a transaction may take; milliseconds.
    pub timeout_ms: i32,
    /// How far the transaction is.
    pub state: State,
    /// What the transaction touches.
    pub partitions: Partitions,
    /// When the transaction began; [`Timestamp::NONE`] before the first.
    pub started: Timestamp,
    /// When anything changed.
    pub updated: Timestamp,
    /// The version of transactions that the client follows: 2 where each end gives a new epoch.
    pub client_version: i16,
}

impl Transaction {
    /// An id that no producer has yet.
    pub(crate) fn new(producer: ProducerId, timeout_ms: i32, now: Timestamp) -> Transaction {
        Transaction {
            producer,
            previous_producer: ProducerId::NONE,
            next_producer: ProducerId::NONE,
            epoch: NO_EPOCH,
            last_epoch: NO_EPOCH,
            timeout_ms,
            state: State::Empty,
            partitions: Partitions::new(),
            started: Timestamp::NONE,
            updated: now,
            client_version: 0,
        }
    }

    /// Whether no further epoch can be given to a client.
    pub(crate) fn is_used_up(&self) -> bool {
        is_last(self.epoch)
    }

    /// Whether the client follows the rules of version 2.
    pub(crate) fn epoch_grows(&self) -> bool {
        self.client_version >= EPOCH_GROWS_FROM
    }

    /// How long an open transaction may still take; `None` for one that takes part in a two-phase commit led elsewhere,
    /// which only its leader ends (KIP-939: no other transaction has this limit).
    pub(crate) fn left(&self, now: Timestamp) -> Option<Duration> {
        if self.timeout_ms == i32::MAX {
            return None;
        }
        let age_ms = now.0.saturating_sub(self.started.0).max(0);
        let left_ms = i64::from(self.timeout_ms).saturating_sub(age_ms);
        Some(Duration::from_millis(u64::try_from(left_ms).unwrap_or(0)))
    }

    /// Whether all these partitions are in the transaction.
    pub(crate) fn has_all(&self, partitions: &Partitions) -> bool {
        partitions
            .iter()
            .all(|(topic, wanted)| self.partitions.get(topic).is_some_and(|own| wanted.is_subset(own)))
    }

    /// Whether this partition is in the transaction.
    pub(crate) fn has(&self, topic: &str, partition: i32) -> bool {
        self.partitions.get(topic).is_some_and(|own| own.contains(&partition))
    }
}

/// Whether a client can have no higher epoch than this.
pub(crate) fn is_last(epoch: ProducerEpoch) -> bool {
    epoch.0 >= EPOCH_LAST
}

/// The epoch after this one.
pub(crate) fn after(epoch: ProducerEpoch) -> ProducerEpoch {
    ProducerEpoch(epoch.0.saturating_add(1))
}
