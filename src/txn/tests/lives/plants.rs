//! Faults planted around the machine: each changes what goes in or comes out, as a fault of the code would.

use crate::txn::machine::Change;
use crate::txn::record::Record;
use crate::txn::tests::*;

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plant {
    /// Whoever speaks for an id is believed.
    AnyEpoch,
    /// A decided commit is answered and not written down.
    CommitNotRecorded,
    /// Answers go out before their records are committed.
    AnsweredEarly,
    /// A new leader does not announce what is decided.
    SilentLeader,
    /// A new leader sets no deadlines.
    NoDeadlines,
    /// A new leader takes a decided commit for an abort.
    Flipped,
    /// A new leader forgets a partition of an open transaction.
    PartitionForgotten,
    /// One partition gets no marker.
    MarkerLeftOut,
    /// The markers count as written before the last is.
    CompletedEarly,
    /// A producer that begins gets the epoch of the one before.
    EpochAgain,
    /// An id with a decided end is forgotten like an idle one.
    DecidedExpires,
    /// Writes are not verified.
    Unverified,
    /// A transaction whose time is up is committed.
    TimedOutCommits,
}

impl Plant {
    pub(super) const ALL: [Plant; 13] = [
        Plant::AnyEpoch,
        Plant::CommitNotRecorded,
        Plant::AnsweredEarly,
        Plant::SilentLeader,
        Plant::NoDeadlines,
        Plant::Flipped,
        Plant::PartitionForgotten,
        Plant::MarkerLeftOut,
        Plant::CompletedEarly,
        Plant::EpochAgain,
        Plant::DecidedExpires,
        Plant::Unverified,
        Plant::TimedOutCommits,
    ];

    /// Changes a command on its way in.
    pub(super) fn command(self, command: &mut Command, current: Option<Producer>) {
        let Some(current) = current.filter(|_| self == Plant::AnyEpoch) else { return };
        match command {
            Command::Add(add) | Command::Verify(add) => add.producer = current,
            Command::End(end) => end.producer = current,
            _ => {}
        }
    }

    /// Changes what was decided on its way out.
    pub(super) fn outcome(self, outcome: &mut Outcome<Transactions>, before: Option<Producer>) {
        let decided =
            |record: &Record, state| record.value.as_ref().is_some_and(|value| value.state == state);
        match self {
            Plant::CommitNotRecorded => {
                outcome.records.retain(|record| !decided(record, State::PrepareCommit));
            }
            Plant::EpochAgain => {
                let Some(before) = before else { return };
                for record in &mut outcome.records {
                    if decided(record, State::Empty)
                        && let Some(value) = &mut record.value
                        && value.producer == before.id
                    {
                        value.epoch = before.epoch;
                        for (_, answer) in &mut outcome.answers {
                            *answer = Answer::Producer(Ok(before));
                        }
                    }
                }
            }
            _ => {}
        }
    }

    /// Changes what follows from a deadline.
    pub(super) fn expired(self, outcome: &mut Outcome<Transactions>) {
        if self == Plant::TimedOutCommits {
            for value in outcome.records.iter_mut().filter_map(|record| record.value.as_mut()) {
                value.state = State::PrepareCommit;
            }
        }
    }

    /// Changes what a new leader reads; whether it takes it at all.
    pub(super) fn read(self, record: &mut Record) -> bool {
        let Some(value) = &mut record.value else { return true };
        match (self, value.state) {
            (Plant::Flipped, State::PrepareCommit) => value.state = State::PrepareAbort,
            (Plant::PartitionForgotten, State::Ongoing) => {
                for of_topic in value.partitions.values_mut() {
                    of_topic.pop_first();
                }
            }
            (Plant::DecidedExpires, State::PrepareCommit | State::PrepareAbort) => record.value = None,
            _ => {}
        }
        true
    }

    /// Changes what a new leader sets in motion.
    pub(super) fn loaded(self, outcome: &mut Outcome<Transactions>) {
        match self {
            Plant::SilentLeader => outcome.changes.retain(|change| !matches!(change, Change::Announce(_))),
            Plant::NoDeadlines => {
                outcome.timers.retain(|change| !matches!(change, TimerChange::Set(Timer::End(_), _)));
            }
            _ => {}
        }
    }
}
