//! Faults planted around the machine of classic and consumer groups: each changes what goes in or comes out, as a fault
//! of the code would.

use super::*;
use crate::coordinator::Outcome;
use crate::coordinator::TimerChange;
use crate::groups::consumer::record::{Fact, Owned};
use crate::groups::kind::Kind;
use crate::groups::machine::{Change, Timer};
use trial::text;

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plant {
    /// A generation goes back.
    GenerationBack,
    /// An assignment is answered and the group not written down.
    GroupNotKept,
    /// A member gets what another one was given.
    SomebodyElsesPart,
    /// The join phase of a group never ends.
    JoinNeverEnds,
    /// A member of an older generation may commit.
    StaleCommits,
    /// A commit is answered and not written down.
    OffsetNotKept,
    /// Silent members stay.
    SessionsNeverEnd,
    /// Members that a new coordinator reads have no deadlines.
    NoSessionsAfterLoad,
    /// A member is given a partition that another one has.
    TwoOwners,
    /// A group's epoch goes back.
    EpochBack,
    /// Partitions that are to be given up count as given up.
    NotWaitedFor,
    /// What a member was told is not written down.
    CurrentNotKept,
    /// An assignment leaves a partition out.
    LeftOut,
}

impl Plant {
    pub(super) const OF_CLASSIC: [Plant; 8] = [
        Plant::GenerationBack,
        Plant::GroupNotKept,
        Plant::SomebodyElsesPart,
        Plant::JoinNeverEnds,
        Plant::StaleCommits,
        Plant::OffsetNotKept,
        Plant::SessionsNeverEnd,
        Plant::NoSessionsAfterLoad,
    ];

    pub(super) const OF_CONSUMER: [Plant; 7] = [
        Plant::TwoOwners,
        Plant::EpochBack,
        Plant::NotWaitedFor,
        Plant::CurrentNotKept,
        Plant::LeftOut,
        Plant::SessionsNeverEnd,
        Plant::NoSessionsAfterLoad,
    ];

    /// Changes a command on its way in.
    pub(super) fn command(self, command: &mut Command, machine: &Groups) {
        if let (Plant::StaleCommits, Command::Commit(commit)) = (self, command)
            && commit.generation >= 0
            && let Some(group) = machine.classic(GROUP)
        {
            commit.generation = group.generation;
        }
    }

    /// Changes what was decided on its way out.
    pub(super) fn outcome(self, outcome: &mut Outcome<Groups>, machine: &Groups) {
        match self {
            Plant::GroupNotKept => {
                outcome.records.retain(|record| !matches!(record, Record::Group(_, Some(_))));
            }
            Plant::OffsetNotKept => outcome.records.retain(|record| !matches!(record, Record::Offset(..))),
            Plant::SomebodyElsesPart => {
                for (_, answer) in &mut outcome.answers {
                    if let (Answer::Sync(synced), Some(group)) = (answer, machine.classic(GROUP)) {
                        let others = group.members().map(|member| member.assignment.clone());
                        let mut others = others.filter(|other| !other.is_empty());
                        synced.assignment =
                            others.find(|other| *other != synced.assignment).unwrap_or_default();
                    }
                }
            }
            Plant::JoinNeverEnds => {
                outcome.timers.retain(|change| !matches!(change, TimerChange::Set(Timer::Join(_), _)));
            }
            Plant::SessionsNeverEnd => {
                outcome.timers.retain(|change| !matches!(change, TimerChange::Set(Timer::Session(..), _)));
            }
            _ => {
                for record in &mut outcome.records {
                    if let Record::Consumer(record) = record {
                        self.fact(&mut record.fact, machine);
                    }
                }
                if self == Plant::CurrentNotKept {
                    outcome.records.retain(|record| {
                        !matches!(record, Record::Consumer(record) if matches!(record.fact, Fact::Current(_, Some(_))))
                    });
                }
            }
        }
    }

    fn fact(self, fact: &mut Fact, machine: &Groups) {
        match (self, fact) {
            (Plant::EpochBack, Fact::Epoch(Some(value))) if value.epoch > 4 => value.epoch -= 3,
            (Plant::NotWaitedFor, Fact::Current(_, Some(value))) => {
                (value.pending_revocation, value.state) = (Owned::new(), 0);
            }
            (Plant::LeftOut, Fact::Target(_, Some(target))) => {
                for partitions in target.values_mut().filter(|partitions| partitions.len() > 1) {
                    partitions.pop_last();
                }
            }
            (Plant::TwoOwners, Fact::Current(id, Some(value))) => {
                let Some(Kind::Consumer(group)) = machine.kind(GROUP) else { return };
                let Some(other) = group.members().find(|member| member.id != *id) else { return };
                for (topic, partitions) in other.assigned.iter() {
                    value.assigned.entry(*topic).or_default().extend(partitions.clone());
                }
            }
            _ => {}
        }
    }

    /// Changes what a new coordinator sets in motion.
    pub(super) fn loaded(self, outcome: &mut Outcome<Groups>) {
        if self == Plant::NoSessionsAfterLoad {
            outcome.timers.retain(|change| !matches!(change, TimerChange::Set(Timer::Session(..), _)));
        }
    }

    /// Changes the machine after it has moved on.
    pub(super) fn after(self, machine: &mut Groups) {
        let Some(group) = machine.classic(&text(GROUP)).filter(|_| self == Plant::GenerationBack) else {
            return;
        };
        if group.generation > 3 {
            let mut group = (**group).clone();
            group.generation = 2;
            machine.install(Change::put(group));
        }
    }
}
