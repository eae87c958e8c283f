//! The kinds of groups: one id has one kind at a time. What all kinds have in common is asked here.

use crate::base::ErrorCode;
use crate::cluster::Image;
use crate::groups::classic::group::Group as ClassicGroup;
use crate::groups::classic::group::State as ClassicState;
use crate::groups::classic::requests;
use crate::groups::command::Commit;
use crate::groups::command::Fetch;
use crate::groups::consumer::commits;
use crate::groups::consumer::group::Group as ConsumerGroup;
use crate::groups::consumer::group::PROTOCOL_TYPE;
use crate::groups::consumer::group::State as ConsumerState;
use crate::groups::offsets;
use crate::groups::record::Record;
use crate::groups::share;
use crate::groups::streams::group as streams;
use std::sync::Arc;

/// What a group of any kind takes beside its texts and members, about.
pub(crate) const GROUP_BYTES: usize = 512;

/// A group of some kind.
#[derive(Clone, Debug)]
pub(crate) enum Kind {
    /// Its members agree on an assignment among themselves; also a group that only keeps offsets.
    Classic(Arc<ClassicGroup>),
    /// The coordinator assigns (KIP-848).
    Consumer(Arc<ConsumerGroup>),
    /// Members share partitions (KIP-932).
    Share(Arc<share::group::Group>),
    /// The coordinator gives out the tasks of a Kafka Streams application (KIP-1071).
    Streams(Arc<streams::Group>),
}

impl From<ClassicGroup> for Kind {
    fn from(group: ClassicGroup) -> Kind {
        Kind::Classic(Arc::new(group))
    }
}

impl From<ConsumerGroup> for Kind {
    fn from(group: ConsumerGroup) -> Kind {
        Kind::Consumer(Arc::new(group))
    }
}

impl From<share::group::Group> for Kind {
    fn from(group: share::group::Group) -> Kind {
        Kind::Share(Arc::new(group))
    }
}

impl Kind {
    /// The group's id.
    pub(crate) fn id(&self) -> &Arc<str> {
        match self {
            Kind::Classic(group) => &group.id,
            Kind::Consumer(group) => &group.id,
            Kind::Share(group) => &group.id,
            Kind::Streams(group) => &group.id,
        }
    }

    /// Kafka's name of the kind (`Group.GroupType`).
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Kind::Classic(_) => "classic",
            Kind::Consumer(_) => "consumer",
            Kind::Share(_) => "share",
            Kind::Streams(_) => "streams",
        }
    }

    /// Kafka's name of the state the group is in.
    pub(crate) fn state_name(&self) -> &'static str {
        match self {
            Kind::Classic(group) => group.state.name(),
            Kind::Consumer(group) => group.state().name(),
            Kind::Share(group) => group.state_name(),
            Kind::Streams(group) => group.state().name(),
        }
    }

    /// What its members speak; empty for a group that only keeps offsets.
    pub(crate) fn protocol_type(&self) -> Arc<str> {
        match self {
            Kind::Classic(group) => group.protocol_type.clone().unwrap_or_else(|| Arc::from("")),
            Kind::Consumer(_) => Arc::from(PROTOCOL_TYPE),
            Kind::Share(_) => Arc::from(share::group::PROTOCOL_TYPE),
            Kind::Streams(_) => Arc::from(streams::PROTOCOL_TYPE),
        }
    }

    /// Whether it has no members.
    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Kind::Classic(group) => group.state == ClassicState::Empty,
            Kind::Consumer(group) => group.state() == ConsumerState::Empty,
            Kind::Share(group) => group.is_empty(),
            Kind::Streams(group) => group.is_empty(),
        }
    }

    /// Whether a member reads this topic, as far as is known.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        match self {
            Kind::Classic(group) => group.is_subscribed(topic),
            Kind::Consumer(group) => group.is_subscribed(topic),
            Kind::Share(group) => group.is_subscribed(topic),
            Kind::Streams(group) => group.is_subscribed(topic),
        }
    }

    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Kind::Classic(group) => group.bytes(),
            Kind::Consumer(group) => group.bytes(),
            Kind::Share(group) => group.bytes(),
            Kind::Streams(group) => group.bytes(),
        }
    }

    /// Whether this commit may be stored, where its metadata may be `metadata_max` long.
    ///
    /// # Errors
    /// Of the whole request.
    pub(crate) fn validate_commit(
        &self,
        request: &Commit,
        image: &Image,
        metadata_max: usize,
    ) -> Result<(), ErrorCode> {
        match self {
            Kind::Classic(group) => requests::validate_commit(group, request),
            Kind::Consumer(group) => commits::validate_commit(group, request, image, metadata_max),
            Kind::Share(_) => Err(ErrorCode::GroupIdNotFound),
            Kind::Streams(group) => validate_streams_commit(group, request, metadata_max),
        }
    }

    /// Whether whoever asks may read the offsets.
    ///
    /// # Errors
    /// Of the whole request.
    pub(crate) fn validate_fetch(&self, request: &Fetch) -> Result<(), ErrorCode> {
        match self {
            // Members of other kinds read like anybody.
            Kind::Classic(_) => Ok(()),
            Kind::Consumer(group) => commits::validate_fetch(group, request),
            // It has none, as a group that nobody knows.
            Kind::Share(_) => Ok(()),
            Kind::Streams(group) => group.validate_fetch(request.member_id.as_deref(), request.member_epoch),
        }
    }

    /// Whether offsets of topics that nobody reads may be deleted.
    ///
    /// # Errors
    /// NON_EMPTY_GROUP: its members may read anything.
    pub(crate) fn validate_delete_offsets(&self) -> Result<(), ErrorCode> {
        match self {
            Kind::Classic(group) if group.state != ClassicState::Empty && !group.is_consumer() => {
                Err(ErrorCode::NonEmptyGroup)
            }
            Kind::Classic(_) | Kind::Consumer(_) | Kind::Streams(_) => Ok(()),
            Kind::Share(_) => Err(ErrorCode::GroupIdNotFound),
        }
    }

    /// The records that delete all that the log has of the group, its offsets excepted.
    pub(crate) fn tombstones(&self) -> Vec<Record> {
        match self {
            Kind::Classic(group) => vec![Record::Group(group.id.clone(), None)],
            Kind::Consumer(group) => group.tombstones().into_iter().map(Record::Consumer).collect(),
            Kind::Share(group) => group.tombstones().into_iter().map(Record::Share).collect(),
            Kind::Streams(group) => group.tombstones().into_iter().map(Record::Streams).collect(),
        }
    }
}

fn validate_streams_commit(
    group: &streams::Group,
    request: &Commit,
    metadata_max: usize,
) -> Result<(), ErrorCode> {
    let partitions =
        offsets::storable(request, metadata_max).map(|(topic, one)| (&*topic.name, one.partition));
    let validated = group.validate_commit(&streams::Committer {
        member_id: &request.member_id,
        instance_id: request.instance_id.as_deref(),
        epoch: request.generation,
        is_transactional: request.transaction.is_some(),
        knows_member_epochs: request.knows_group_id_not_found,
        partitions: partitions.collect(),
    });
    match validated {
        // Producers know the older word for it only.
        Err(ErrorCode::StaleMemberEpoch) if request.transaction.is_some() => {
            Err(ErrorCode::IllegalGeneration)
        }
        other => other,
    }
}
