//! A member of a streams group.

use crate::groups::streams::command::TaskOffsets;
use crate::groups::streams::tasks::Held;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where the state of an application's instance can be asked for (interactive queries).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host name or address.
    pub host: Arc<str>,
    /// Port.
    pub port: u16,
}

/// How far a member is on its way to what it shall have (`MemberState`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It has what it shall have.
    Stable,
    /// It must give tasks back first.
    UnrevokedTasks,
    /// It waits for tasks that others have.
    UnreleasedTasks,
    /// A state of a later version of Kafka.
    Unknown,
}

impl MemberState {
    pub(crate) fn code(self) -> i8 {
        match self {
            MemberState::Stable => 1,
            MemberState::UnrevokedTasks => 2,
            MemberState::UnreleasedTasks => 3,
            MemberState::Unknown => 127,
        }
    }

    pub(crate) fn from_code(code: i8) -> MemberState {
        match code {
            1 => MemberState::Stable,
            2 => MemberState::UnrevokedTasks,
            3 => MemberState::UnreleasedTasks,
            _ => MemberState::Unknown,
        }
    }
}

/// The epoch of a static member that has left for a while.
pub(crate) const LEFT_FOR_A_WHILE: i32 = -2;
/// The epoch of a member that is gone, or not yet there.
pub(crate) const GONE: i32 = -1;

/// What a member says of itself (`StreamsGroupMemberMetadataValue`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// Its rack.
    pub rack_id: Option<Arc<str>>,
    /// The client id of its requests.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
    /// How long the group waits for it to give tasks back; milliseconds.
    pub rebalance_timeout_ms: i32,
    /// The epoch of its topology.
    pub topology_epoch: i32,
    /// The process it is part of.
    pub process_id: Arc<str>,
    /// Where its state can be asked for.
    pub endpoint: Option<Endpoint>,
    /// Where it runs.
    pub client_tags: BTreeMap<Arc<str>, Arc<str>>,
}

/// What a member has (`StreamsGroupCurrentMemberAssignmentValue`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Current {
    /// The epoch it has reached.
    pub epoch: i32,
    /// The one before, which it may still tell when an answer was lost.
    pub previous_epoch: i32,
    /// How far it is.
    pub state: MemberState,
    /// Its tasks.
    pub assigned: Held,
    /// The tasks it must give back.
    pub revoking: Held,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) id: Arc<str>,
    pub(crate) profile: Profile,
    pub(crate) current: Current,
}

/// What a member takes beside its texts and tasks, about: itself, its places in the group, its timers.
pub(crate) const MEMBER_BYTES: usize = 768;

impl Member {
    /// Whether it has to give up tasks in time. One that left for a while has given up everything.
    pub(crate) fn has_to_revoke(&self) -> bool {
        self.current.state == MemberState::UnrevokedTasks && self.current.epoch != LEFT_FOR_A_WHILE
    }

    /// A member that has only an id.
    pub(crate) fn new(id: Arc<str>) -> Member {
        let profile = Profile {
            instance_id: None,
            rack_id: None,
            client_id: Arc::from(""),
            client_host: Arc::from(""),
            rebalance_timeout_ms: -1,
            topology_epoch: -1,
            process_id: Arc::from(""),
            endpoint: None,
            client_tags: BTreeMap::new(),
        };
        Member { id, profile, current: Current::none() }
    }

    /// Whether it has reached an epoch and waits for nothing.
    pub(crate) fn is_reconciled_to(&self, epoch: i32) -> bool {
        self.current.state == MemberState::Stable && self.current.epoch == epoch
    }

    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        MEMBER_BYTES
            + self.id.len()
            + self.profile.bytes()
            + self.current.assigned.bytes()
            + self.current.revoking.bytes()
    }
}

impl Profile {
    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let optional = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
        let tags = self.client_tags.iter().map(|(name, value)| 64 + name.len() + value.len());
        optional(&self.instance_id)
            + optional(&self.rack_id)
            + self.client_id.len()
            + self.client_host.len()
            + self.process_id.len()
            + self.endpoint.as_ref().map_or(0, |endpoint| endpoint.host.len())
            + tags.sum::<usize>()
    }

    /// Whether the other differs in what an assignment depends on.
    pub(crate) fn needs_new_assignment(&self, other: &Profile) -> bool {
        self.topology_epoch != other.topology_epoch
            || self.rack_id != other.rack_id
            || self.client_tags != other.client_tags
            || self.process_id != other.process_id
    }
}

impl Current {
    /// Of a member that has nothing yet.
    pub(crate) fn none() -> Current {
        Current {
            epoch: 0,
            previous_epoch: 0,
            state: MemberState::Stable,
            assigned: Held::default(),
            revoking: Held::default(),
        }
    }

    /// Comes to an epoch, and remembers the one before.
    pub(crate) fn reach(&mut self, epoch: i32) {
        self.previous_epoch = self.epoch;
        self.epoch = epoch;
    }
}

/// The changelog offsets that a member has told; not kept in the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// How far its tasks are.
    pub(crate) offsets: TaskOffsets,
    /// How far they could be.
    pub(crate) end_offsets: TaskOffsets,
}

impl Progress {
    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let one = |offsets: &TaskOffsets| {
            offsets.iter().map(|(id, partitions)| 64 + id.len() + partitions.len() * 24).sum::<usize>()
        };
        one(&self.offsets) + one(&self.end_offsets)
    }
}
