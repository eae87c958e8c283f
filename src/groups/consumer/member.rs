//! A member of a consumer group (`ConsumerGroupMember` in Kafka).

use crate::base::TopicId;
use crate::groups::consumer::record::ClassicValue;
use crate::groups::consumer::record::CurrentValue;
use crate::groups::consumer::record::MemberValue;
use crate::groups::consumer::record::Owned;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The epoch of one that has left: what a member's current assignment says when its record is deleted.
pub(crate) const LEFT: i32 = -1;
/// The epoch of a static member that has left and is to come back.
pub(crate) const LEFT_STATIC: i32 = -2;

/// How far a member has come with what it is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberState {
    /// It has what it is to have at its epoch.
    Stable,
    /// It must give up partitions before its epoch grows.
    UnrevokedPartitions,
    /// It waits for partitions that others have not given up yet.
    UnreleasedPartitions,
    /// A state of a later Kafka.
    Unknown,
}

impl MemberState {
    /// The number in records.
    pub(crate) fn code(self) -> i8 {
        match self {
            MemberState::Stable => 0,
            MemberState::UnrevokedPartitions => 1,
            MemberState::UnreleasedPartitions => 2,
            MemberState::Unknown => 127,
        }
    }

    fn from_code(code: i8) -> MemberState {
        match code {
            0 => MemberState::Stable,
            1 => MemberState::UnrevokedPartitions,
            2 => MemberState::UnreleasedPartitions,
            _ => MemberState::Unknown,
        }
    }
}

/// A member: what it said of itself, and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) id: Arc<str>,
    pub(crate) epoch: i32,
    pub(crate) previous_epoch: i32,
    pub(crate) state: MemberState,
    pub(crate) instance_id: Option<Arc<str>>,
    pub(crate) rack_id: Option<Arc<str>>,
    pub(crate) client_id: Arc<str>,
    pub(crate) client_host: Arc<str>,
    pub(crate) topics: Arc<BTreeSet<Arc<str>>>,
    pub(crate) pattern: Option<Arc<str>>,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) assignor: Option<Arc<str>>,
    pub(crate) assigned: Arc<Owned>,
    pub(crate) pending_revocation: Arc<Owned>,
    pub(crate) classic: Option<ClassicValue>,
}

/// What a member takes beside its texts and partitions, about.
const MEMBER_BYTES: usize = 768;

impl Member {
    /// Whether it has to give up partitions in time. One that left for a while has given up everything.
    pub(crate) fn has_to_revoke(&self) -> bool {
        self.state == MemberState::UnrevokedPartitions && self.epoch != LEFT_STATIC
    }

    /// A member of which nothing is known yet.
    pub(crate) fn new(id: Arc<str>) -> Member {
        Member {
            id,
            epoch: 0,
            previous_epoch: -1,
            state: MemberState::Stable,
            instance_id: None,
            rack_id: None,
            client_id: Arc::from(""),
            client_host: Arc::from(""),
            topics: Arc::default(),
            pattern: Some(Arc::from("")),
            rebalance_timeout_ms: -1,
            assignor: None,
            assigned: Arc::default(),
            pending_revocation: Arc::default(),
            classic: None,
        }
    }

    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let optional = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
        let texts = self.id.len() + self.client_id.len() + self.client_host.len();
        let optional = optional(&self.instance_id)
            + optional(&self.rack_id)
            + optional(&self.pattern)
            + optional(&self.assignor);
        let topics: usize = self.topics.iter().map(|topic| 64 + topic.len()).sum();
        let classic = self.classic.iter().flat_map(|classic| classic.protocols.iter());
        let classic: usize = classic.map(|(name, metadata)| 64 + name.len() + metadata.len()).sum();
        MEMBER_BYTES + texts + optional + topics + classic + owned_bytes(&self.assigned)
    }

    /// Whether it has arrived at this target.
    pub(crate) fn is_reconciled_to(&self, target_epoch: i32) -> bool {
        self.state == MemberState::Stable && self.epoch == target_epoch
    }

    /// The pattern it subscribes to; an empty one stands for none.
    pub(crate) fn pattern(&self) -> Option<&Arc<str>> {
        self.pattern.as_ref().filter(|pattern| !pattern.is_empty())
    }

    /// Whether it speaks the classic protocol.
    pub(crate) fn is_classic(&self) -> bool {
        self.classic.is_some()
    }

    /// The epoch at which it was given a partition that it still has or is giving up.
    pub(crate) fn partition_epoch(&self, topic: TopicId, partition: i32) -> Option<i32> {
        let of = |owned: &Owned| owned.get(&topic)?.get(&partition).copied();
        of(&self.assigned).or_else(|| of(&self.pending_revocation))
    }

    /// Comes to an epoch, also when it is in it already.
    pub(crate) fn enter(&mut self, epoch: i32) {
        self.previous_epoch = self.epoch;
        self.epoch = epoch;
    }

    /// As its subscription record tells.
    pub(crate) fn with_value(&self, value: &MemberValue) -> Member {
        Member {
            instance_id: value.instance_id.clone(),
            rack_id: value.rack_id.clone(),
            client_id: value.client_id.clone(),
            client_host: value.client_host.clone(),
            topics: Arc::new(value.topics.clone()),
            pattern: value.pattern.clone(),
            rebalance_timeout_ms: value.rebalance_timeout_ms,
            assignor: value.assignor.clone(),
            classic: value.classic.clone(),
            ..self.clone()
        }
    }

    /// As the record of what it has tells.
    pub(crate) fn with_current(&self, value: &CurrentValue) -> Member {
        Member {
            epoch: value.epoch,
            previous_epoch: value.previous_epoch,
            state: MemberState::from_code(value.state),
            assigned: Arc::new(value.assigned.clone()),
            pending_revocation: Arc::new(value.pending_revocation.clone()),
            ..self.clone()
        }
    }

    /// As when that record is deleted: it has nothing any more.
    pub(crate) fn without_current(&self) -> Member {
        Member {
            epoch: LEFT,
            previous_epoch: LEFT,
            assigned: Arc::default(),
            pending_revocation: Arc::default(),
            ..self.clone()
        }
    }

    /// The value of its subscription record.
    pub(crate) fn to_value(&self) -> MemberValue {
        MemberValue {
            instance_id: self.instance_id.clone(),
            rack_id: self.rack_id.clone(),
            client_id: self.client_id.clone(),
            client_host: self.client_host.clone(),
            topics: (*self.topics).clone(),
            pattern: self.pattern.clone(),
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            assignor: self.assignor.clone(),
            classic: self.classic.clone(),
        }
    }

    /// The value of the record of what it has.
    pub(crate) fn to_current(&self) -> CurrentValue {
        CurrentValue {
            epoch: self.epoch,
            previous_epoch: self.previous_epoch,
            state: self.state.code(),
            assigned: (*self.assigned).clone(),
            pending_revocation: (*self.pending_revocation).clone(),
        }
    }
}

fn owned_bytes(owned: &Owned) -> usize {
    owned.values().map(|partitions| 64 + 16 * partitions.len()).sum()
}
