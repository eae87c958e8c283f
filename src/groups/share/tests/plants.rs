//! Faults planted around the machine of share groups: each changes what comes out, as a fault of the code would.

use super::*;
use crate::groups::share::record::Fact;

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plant {
    /// A group's epoch goes back.
    EpochBack,
    /// A member is given a topic that it does not read.
    ForeignTopic,
    /// An assignment leaves a partition out.
    LeftOut,
    /// That share-partitions were made is not written down.
    StatesNotKept,
    /// Silent members stay.
    SessionsNeverEnd,
    /// Members that a new coordinator reads have no deadlines.
    NoSessionsAfterLoad,
}

impl Plant {
    pub(super) const ALL: [Plant; 6] = [
        Plant::EpochBack,
        Plant::ForeignTopic,
        Plant::LeftOut,
        Plant::StatesNotKept,
        Plant::SessionsNeverEnd,
        Plant::NoSessionsAfterLoad,
    ];

    /// Changes what was decided on its way out.
    pub(super) fn outcome(self, outcome: &mut Outcome<Groups>, image: &Image) {
        for record in &mut outcome.records {
            let Record::Share(record) = record else { continue };
            match (self, &mut record.fact) {
                (Plant::EpochBack, Fact::Epoch(Some(value))) if value.epoch > 4 => value.epoch -= 3,
                (Plant::ForeignTopic, Fact::Current(_, Some(value))) => {
                    let all = image.topics().map(|topic| (topic.id, BTreeSet::from([0])));
                    value.assigned.extend(all);
                }
                (Plant::LeftOut, Fact::Target(_, Some(target))) => {
                    for partitions in target.values_mut().filter(|partitions| partitions.len() > 1) {
                        partitions.pop_last();
                    }
                }
                _ => {}
            }
        }
        if self == Plant::StatesNotKept {
            outcome.records.retain(|record| {
                !matches!(record, Record::Share(record) if matches!(record.fact, Fact::States(Some(_))))
            });
        }
        if self == Plant::SessionsNeverEnd {
            self.drop_sessions(outcome);
        }
    }

    /// Changes what a new coordinator sets in motion.
    pub(super) fn loaded(self, outcome: &mut Outcome<Groups>) {
        if self == Plant::NoSessionsAfterLoad {
            self.drop_sessions(outcome);
        }
    }

    fn drop_sessions(self, outcome: &mut Outcome<Groups>) {
        outcome.timers.retain(|change| !matches!(change, TimerChange::Set(Timer::Session(..), _)));
    }
}
