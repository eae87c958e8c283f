//! What can be asked of a streams group and what it answers, free of protocol versions.

use crate::base::ErrorCode;
use crate::cluster::Image;
use crate::groups::streams::member::Endpoint;
use crate::groups::streams::settings::Settings;
use crate::groups::streams::tasks::Role;
use crate::groups::streams::tasks::Tasks;
use crate::groups::streams::topics::InternalTopic;
use crate::groups::streams::topology::Topology;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Changelog offsets of tasks: by subtopology and partition.
pub type TaskOffsets = BTreeMap<Arc<str>, BTreeMap<i32, i64>>;

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The code.
    pub error: ErrorCode,
    /// What is wrong; `None` for the code's own words.
    pub message: Option<String>,
}

impl Refusal {
    /// A refusal with a message.
    pub fn new(error: ErrorCode, message: impl Into<String>) -> Refusal {
        Refusal { error, message: Some(message.into()) }
    }
}

impl From<ErrorCode> for Refusal {
    fn from(error: ErrorCode) -> Refusal {
        Refusal { error, message: None }
    }
}

/// A member's sign of life: it joins (epoch 0), stays, leaves (-1), or leaves for a while as a static one (-2).
#[derive(Clone, Debug)]
pub struct StreamsHeartbeat {
    /// The group.
    pub group: Arc<str>,
    /// The member's id, which it made itself.
    pub member_id: Arc<str>,
    /// The epoch it knows.
    pub member_epoch: i32,
    /// The epoch of the endpoints it knows.
    pub endpoint_epoch: i32,
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// Its rack; `None` when unchanged.
    pub rack_id: Option<Arc<str>>,
    /// How long the group waits for it to give tasks back; `None` when unchanged.
    pub rebalance_timeout_ms: Option<i32>,
    /// The client id of the request.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
    /// The application's topology, when joining.
    pub topology: Option<Topology>,
    /// The tasks it runs; `None` when unchanged.
    pub owned: Option<Tasks>,
    /// The process it is part of; `None` when unchanged.
    pub process_id: Option<Arc<str>>,
    /// Where its state can be asked for; `None` when unchanged, or without one when joining.
    pub endpoint: Option<Endpoint>,
    /// Where it runs; `None` when unchanged.
    pub client_tags: Option<BTreeMap<Arc<str>, Arc<str>>>,
    /// How far its tasks are; `None` when unchanged.
    pub task_offsets: Option<TaskOffsets>,
    /// How far they could be; `None` when unchanged.
    pub task_end_offsets: Option<TaskOffsets>,
    /// The whole application shall stop.
    pub shutdown: bool,
    /// The client understands that tags are missing (version 1 on).
    pub knows_missing_tags: bool,
    /// What the cluster has.
    pub image: Arc<Image>,
    /// What holds for the group.
    pub settings: Settings,
}

/// The answer to a heartbeat that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alive {
    /// The member.
    pub member_id: Arc<str>,
    /// Its epoch now.
    pub member_epoch: i32,
    /// How often it shall speak.
    pub heartbeat_interval_ms: i32,
    /// How often it shall tell offsets.
    pub task_offset_interval_ms: i32,
    /// How far behind counts as caught up.
    pub acceptable_recovery_lag: i64,
    /// What it should know of the group.
    pub statuses: Vec<Status>,
    /// Its tasks; `None` when unchanged.
    pub tasks: Option<Tasks>,
    /// The epoch of the endpoints.
    pub endpoint_epoch: i32,
    /// Which partitions can be asked for where; `None` when unchanged.
    pub endpoints: Option<Vec<EndpointPartitions>>,
    /// The internal topics that must be made first.
    pub missing_topics: Vec<InternalTopic>,
}

/// The partitions whose state a member has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointPartitions {
    /// Where to ask.
    pub endpoint: Endpoint,
    /// Those of its active tasks.
    pub active: Vec<(Arc<str>, Vec<i32>)>,
    /// Those of its other tasks.
    pub standby: Vec<(Arc<str>, Vec<i32>)>,
}

/// Something a member should know of its group (`StreamsGroupHeartbeatResponse.Status`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// Its topology is older than the group's.
    StaleTopology(String),
    /// Topics that the application reads do not exist.
    MissingSourceTopics(String),
    /// Topics have numbers of partitions that do not fit.
    IncorrectlyPartitionedTopics(String),
    /// Internal topics are not there yet.
    MissingInternalTopics(String),
    /// Some member wants the whole application to stop.
    ShutdownApplication(String),
    /// Tasks are given out a little later.
    AssignmentDelayed(String),
    /// The member lacks tags that keep standby tasks apart.
    MissingClientTags(String),
}

impl Status {
    /// Its number on the wire.
    pub fn code(&self) -> i8 {
        match self {
            Status::StaleTopology(_) => 0,
            Status::MissingSourceTopics(_) => 1,
            Status::IncorrectlyPartitionedTopics(_) => 2,
            Status::MissingInternalTopics(_) => 3,
            Status::ShutdownApplication(_) => 4,
            Status::AssignmentDelayed(_) => 5,
            Status::MissingClientTags(_) => 6,
        }
    }

    /// Its words.
    pub fn detail(&self) -> &str {
        match self {
            Status::StaleTopology(detail)
            | Status::MissingSourceTopics(detail)
            | Status::IncorrectlyPartitionedTopics(detail)
            | Status::MissingInternalTopics(detail)
            | Status::ShutdownApplication(detail)
            | Status::AssignmentDelayed(detail)
            | Status::MissingClientTags(detail) => detail,
        }
    }
}

/// A streams group in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamsDescribed {
    /// The name of its state.
    pub state: &'static str,
    /// Its epoch.
    pub epoch: i32,
    /// The epoch of the assignment.
    pub assignment_epoch: i32,
    /// The topology, with the numbers that were worked out where they are.
    pub topology: Option<DescribedTopology>,
    /// The members.
    pub members: Vec<StreamsDescribedMember>,
}

/// A topology in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedTopology {
    /// Its epoch.
    pub epoch: i32,
    /// Its parts, by id.
    pub subtopologies: Vec<DescribedSubtopology>,
}

/// A part of a topology in full; all lists are sorted by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedSubtopology {
    /// Its id.
    pub id: Arc<str>,
    /// The user's topics that it reads.
    pub source_topics: Vec<Arc<str>>,
    /// The internal topics that it writes for others.
    pub repartition_sink_topics: Vec<Arc<str>>,
    /// The topics that keep its state.
    pub state_changelog_topics: Vec<InternalTopic>,
    /// The internal topics that it reads.
    pub repartition_source_topics: Vec<InternalTopic>,
}

/// A member in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamsDescribedMember {
    /// Its id.
    pub id: Arc<str>,
    /// Its epoch.
    pub epoch: i32,
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// Its rack.
    pub rack_id: Option<Arc<str>>,
    /// The client id of its requests.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
    /// The epoch of its topology.
    pub topology_epoch: i32,
    /// The process it is part of.
    pub process_id: Arc<str>,
    /// Where its state can be asked for.
    pub endpoint: Option<Endpoint>,
    /// Where it runs.
    pub client_tags: BTreeMap<Arc<str>, Arc<str>>,
    /// How far its tasks are.
    pub task_offsets: TaskOffsets,
    /// How far they could be.
    pub task_end_offsets: TaskOffsets,
    /// What it has.
    pub assignment: Tasks,
    /// What it shall have.
    pub target: Tasks,
}

/// The partitions of tasks as lists, sorted.
pub fn lists(role: &Role) -> impl Iterator<Item = (&Arc<str>, Vec<i32>)> {
    role.iter().map(|(subtopology, partitions)| (subtopology, partitions.iter().copied().collect()))
}
