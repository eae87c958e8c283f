//! What can be asked of a controller, free of protocol versions.

pub use super::allowance::Allowance;
pub use super::allowance::Permit;

use super::Refusal;
use crate::base::BrokerId;
use crate::base::PartitionIndex;
use crate::base::ProducerId;
use crate::base::TopicId;
use crate::cluster::effective::ConfigEntry;
use crate::cluster::records::Endpoint;
use crate::cluster::records::SupportedFeature;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Topics to create.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTopics {
    /// The topics, as asked.
    pub topics: Vec<NewTopic>,
    /// Whether only to answer what would happen.
    pub validate_only: bool,
}

/// A topic to create.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTopic {
    /// Its name.
    pub name: String,
    /// How many partitions; -1 for the broker's default or when `assignments` says it.
    pub num_partitions: i32,
    /// How many replicas; -1 for the broker's default or when `assignments` says it.
    pub replication_factor: i16,
    /// Where each partition goes; empty to leave it to the controller.
    pub assignments: Vec<(PartitionIndex, Vec<BrokerId>)>,
    /// The topic's own settings.
    pub configs: Vec<(String, Option<String>)>,
}

/// What became of one topic to create.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicCreation {
    /// The name as asked.
    pub name: String,
    /// The topic, or why not.
    pub result: Result<CreatedTopic, Refusal>,
}

/// A topic that was created.
#[derive(Clone, Debug, PartialEq)]
pub struct CreatedTopic {
    /// Its id.
    pub id: TopicId,
    /// How many partitions it got.
    pub num_partitions: i32,
    /// How many replicas each got.
    pub replication_factor: i16,
    /// All settings that count for it, sorted by name.
    pub configs: Vec<ConfigEntry>,
}

/// A topic to delete, by name or by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicToDelete {
    /// Its name.
    pub name: Option<String>,
    /// Its id, or [`TopicId::ZERO`].
    pub id: TopicId,
}

/// What became of one topic to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicDeletion {
    /// Its name, where it is known.
    pub name: Option<String>,
    /// Its id, or [`TopicId::ZERO`].
    pub id: TopicId,
    /// Why it was not deleted.
    pub result: Result<(), Refusal>,
}

/// Partitions to add to topics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatePartitions {
    /// The topics, as asked.
    pub topics: Vec<MorePartitions>,
    /// Whether only to answer what would happen.
    pub validate_only: bool,
}

/// Partitions to add to one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MorePartitions {
    /// The topic.
    pub name: String,
    /// How many partitions it has afterwards.
    pub count: i32,
    /// Where each new partition goes; `None` to leave it to the controller.
    pub assignments: Option<Vec<Vec<BrokerId>>>,
}

/// Settings to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterConfigs {
    /// The resources, as asked.
    pub resources: Vec<AlterResource>,
    /// Whether only to answer what would happen.
    pub validate_only: bool,
}

/// Settings of one resource to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlterResource {
    /// Kafka's number of the resource's type.
    pub resource_type: i8,
    /// The resource's name.
    pub name: String,
    /// What to do.
    pub change: ConfigChange,
}

/// How settings change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigChange {
    /// The resource has exactly these settings afterwards (AlterConfigs).
    Replace(Vec<(String, Option<String>)>),
    /// Only the named settings change (IncrementalAlterConfigs).
    Each(Vec<ConfigOperation>),
}

/// What to do with one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigOperation {
    /// The setting.
    pub key: String,
    /// Kafka's number: 0 set, 1 delete, 2 append, 3 subtract.
    pub operation: i8,
    /// The value to set, append or subtract.
    pub value: Option<String>,
}

/// What became of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigAlteration {
    /// Kafka's number of the resource's type.
    pub resource_type: i8,
    /// The resource's name.
    pub name: String,
    /// Why nothing of it was changed.
    pub result: Result<(), Refusal>,
}

/// Whom a quota limits: names by type (`user`, `client-id`, `ip`); `None` is the default of all without their own.
pub type QuotaEntityName = BTreeMap<String, Option<String>>;

/// Quotas to change.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterQuotas {
    /// The entities, as asked.
    pub alterations: Vec<QuotaAlteration>,
    /// Whether only to answer what would happen.
    pub validate_only: bool,
}

/// Quotas of one entity to change.
#[derive(Clone, Debug, PartialEq)]
pub struct QuotaAlteration {
    /// Whom they limit.
    pub entity: QuotaEntityName,
    /// The quotas with their new values; `None` removes one.
    pub changes: Vec<(String, Option<f64>)>,
}

/// Levels of features to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpdateFeatures {
    /// The features, as asked.
    pub updates: Vec<FeatureUpdate>,
    /// Whether only to answer what would happen.
    pub validate_only: bool,
}

/// A feature's level to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeatureUpdate {
    /// The feature.
    pub name: String,
    /// Its new level; 0 for none.
    pub level: i16,
    /// What may be done, as Kafka's number; see [`super::features::Upgrade`].
    pub upgrade: i8,
}

/// Which replica shall lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Election {
    /// The first one, where it is in sync.
    Preferred,
    /// Any, where there is no leader; even one that may lack records.
    Unclean,
}

/// Leaders to elect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElectLeaders {
    /// Which replicas.
    pub election: Election,
    /// The partitions; `None` for all.
    pub partitions: Option<Vec<(String, PartitionIndex)>>,
}

/// What became of one partition's election.
pub type ElectionResult = (String, PartitionIndex, Result<(), Refusal>);

/// Partitions to move to other brokers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassignments {
    /// The partitions, as asked.
    pub reassignments: Vec<Reassignment>,
    /// Whether a partition may get another number of replicas.
    pub allow_factor_change: bool,
}

/// A partition to move.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reassignment {
    /// Its topic.
    pub topic: String,
    /// Its number.
    pub partition: PartitionIndex,
    /// Where it shall be; `None` takes back a move that goes on.
    pub replicas: Option<Vec<BrokerId>>,
}

/// What became of one partition's move.
pub type ReassignmentResult = (String, PartitionIndex, Result<(), Refusal>);

/// Where a broker's replica of a partition lies now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AssignDirectory {
    /// The topic.
    pub topic: TopicId,
    /// The partition's number.
    pub partition: PartitionIndex,
    /// The directory.
    pub directory: Uuid,
}

/// A broker that announces itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterBroker {
    /// Its id.
    pub id: BrokerId,
    /// Its process.
    pub incarnation_id: Uuid,
    /// Where it is reached.
    pub endpoints: Vec<Endpoint>,
    /// What it can do.
    pub features: Vec<SupportedFeature>,
    /// Its rack.
    pub rack: Option<String>,
    /// Its log directories.
    pub log_dirs: Vec<Uuid>,
}

/// A block of producer ids that nobody else gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerIds {
    /// The first id.
    pub first: ProducerId,
    /// How many.
    pub count: i32,
}
