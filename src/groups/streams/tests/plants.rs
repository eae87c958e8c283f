//! Faults planted around the rules of streams groups: each changes what is written, as a fault of the code would.

use super::*;
use crate::groups::streams::member::MemberState;
use crate::groups::streams::tasks::Held;

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plant {
    /// A member is given an active task that another one has.
    TwoOwners,
    /// Tasks that are to be given back count as given back.
    NotWaitedFor,
    /// A group's epoch goes back.
    EpochBack,
    /// A standby is put beside its active task.
    StandbyBesideActive,
    /// An assignment leaves a task out.
    LeftOut,
    /// What a member was told is not written down.
    CurrentNotKept,
    /// Silent members stay.
    SessionsNeverEnd,
    /// Members that a new coordinator reads have no deadlines.
    NoSessionsAfterLoad,
}

impl Plant {
    pub(super) const ALL: [Plant; 8] = [
        Plant::TwoOwners,
        Plant::NotWaitedFor,
        Plant::EpochBack,
        Plant::StandbyBesideActive,
        Plant::LeftOut,
        Plant::CurrentNotKept,
        Plant::SessionsNeverEnd,
        Plant::NoSessionsAfterLoad,
    ];

    /// Changes what is written.
    pub(super) fn record(self, record: &mut StreamsRecord, group: Option<&Group>) {
        match (self, record) {
            (Plant::TwoOwners, StreamsRecord::Current(_, id, Some(current))) => {
                let Some(group) = group else { return };
                let Some(other) = group.members().find(|member| member.id != *id) else { return };
                current.assigned.active.extend(other.current.assigned.active.clone());
            }
            (Plant::NotWaitedFor, StreamsRecord::Current(_, _, Some(current)))
                if current.state == MemberState::UnrevokedTasks =>
            {
                (current.state, current.revoking) = (MemberState::Stable, Held::default());
            }
            (Plant::EpochBack, StreamsRecord::Metadata(_, Some(metadata))) if metadata.epoch > 4 => {
                metadata.epoch -= 3;
            }
            (Plant::StandbyBesideActive, StreamsRecord::Current(_, _, Some(current))) => {
                let active = current.assigned.active_role();
                current.assigned.standby.extend(active);
            }
            (Plant::LeftOut, StreamsRecord::Target(_, _, Some(target))) => {
                for partitions in target.active.values_mut().filter(|partitions| partitions.len() > 1) {
                    partitions.pop_last();
                }
            }
            _ => {}
        }
    }

    /// Whether it is written at all.
    pub(super) fn keeps(self, record: &StreamsRecord) -> bool {
        self != Plant::CurrentNotKept || !matches!(record, StreamsRecord::Current(_, _, Some(_)))
    }
}
