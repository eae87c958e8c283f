//! What a decision brings about: records to write, changes to make, timers to set, answers to give.

use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::coordinator::machine::Machine;
use crate::replica::Proof;
use std::time::Duration;

/// Stands for one waiting asker within a partition's task; never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What to do with a named timer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimerChange<T> {
    /// Fire once after this time; replaces an earlier deadline of the same name.
    Set(T, Duration),
    /// Do not fire any more.
    Cancel(T),
}

/// In whose transaction records are written. Their batch is refused, and the command with it, when the producer is
/// fenced or its transaction is not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// The producer.
    pub producer: ProducerId,
    /// Its epoch.
    pub epoch: ProducerEpoch,
    /// What says that its transaction is open.
    pub proof: Proof,
}

/// The end of a transaction on an internal partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The producer.
    pub producer: ProducerId,
    /// Its epoch.
    pub epoch: ProducerEpoch,
    /// Whether its records count.
    pub committed: bool,
    /// The epoch of the transaction coordinator that says so.
    pub coordinator_epoch: i32,
    /// Whether the epoch grew with this end.
    pub proof: Proof,
}

/// The result of a decision. Records are applied first, in order, then the changes are installed, then the
/// timers are set; the answers go out when everything appended so far is committed.
pub struct Outcome<M: Machine> {
    /// Facts to append.
    pub records: Vec<M::Record>,
    /// The transaction they belong to.
    pub transaction: Option<Transaction>,
    /// Changes of what is not kept in the log.
    pub changes: Vec<M::Change>,
    /// Timers to set or cancel, in order.
    pub timers: Vec<TimerChange<M::Timer>>,
    /// Who gets which answer.
    pub answers: Vec<(Ticket, M::Answer)>,
}

impl<M: Machine> Outcome<M> {
    /// An outcome without effect.
    pub fn nothing() -> Outcome<M> {
        Outcome {
            records: Vec::new(),
            transaction: None,
            changes: Vec::new(),
            timers: Vec::new(),
            answers: Vec::new(),
        }
    }

    /// Only an answer.
    pub fn answer(ticket: Ticket, answer: M::Answer) -> Outcome<M> {
        let mut outcome = Outcome::nothing();
        outcome.answers.push((ticket, answer));
        outcome
    }
}
