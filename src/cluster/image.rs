//! An immutable snapshot of everything the cluster has agreed on, and how one record changes it.
//!
//! Every part lies behind an `Arc`: cloning an image is a few counters, and a changed image shares what did not
//! change. A turn that changes topics copies the map of topics once (about 30 ns a topic), not once a command.

mod apply;
mod brokers;
mod configs;
mod records;
mod security;
mod topics;

pub use apply::ApplyError;
pub use brokers::Broker;
pub use configs::ConfigResource;
pub use configs::Configs;
pub use configs::ResourceType;
pub use security::Security;
pub use topics::Partition;
pub use topics::Topic;
pub use topics::Topics;
pub use topics::is_internal;

use super::records::METADATA_VERSION_MINIMUM;
use super::records::RegisterControllerRecord;
use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::ProducerId;
use crate::base::TopicId;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The feature whose level says which records may be written.
pub const METADATA_VERSION: &str = "metadata.version";

/// What the cluster has agreed on at one offset of the metadata log.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// The end (exclusive) of the metadata log that this image contains.
    pub offset: Offset,
    /// The epoch of the controller that wrote last.
    pub epoch: LeaderEpoch,
    /// The cluster's id, as in `meta.properties`.
    pub cluster_id: Arc<str>,
    topics: Arc<Topics>,
    configs: Arc<Configs>,
    brokers: Arc<BTreeMap<BrokerId, Arc<Broker>>>,
    controllers: Arc<BTreeMap<BrokerId, RegisterControllerRecord>>,
    features: Arc<BTreeMap<String, i16>>,
    security: Arc<Security>,
    next_producer_id: ProducerId,
}

impl Image {
    /// The image before the first record.
    pub fn empty(cluster_id: &str) -> Image {
        Image {
            offset: Offset::ZERO,
            epoch: LeaderEpoch(0),
            cluster_id: Arc::from(cluster_id),
            topics: Arc::default(),
            configs: Arc::default(),
            brokers: Arc::default(),
            controllers: Arc::default(),
            features: Arc::default(),
            security: Arc::default(),
            next_producer_id: ProducerId(0),
        }
    }

    /// The topic with this name.
    pub fn topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.by_name(name)
    }

    /// The topic with this id.
    pub fn topic_by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.topics.by_id(id)
    }

    /// All topics, sorted by name.
    pub fn topics(&self) -> impl ExactSizeIterator<Item = &Arc<Topic>> {
        self.topics.iter()
    }

    /// All topics whose name is `first` or sorts after it, sorted by name.
    pub fn topics_from(&self, first: &str) -> impl Iterator<Item = &Arc<Topic>> {
        self.topics.iter_from(first)
    }

    /// How many topics there are.
    pub fn topic_count(&self) -> usize {
        self.topics.iter().len()
    }

    /// The partition, when it exists.
    pub fn partition(&self, topic: &str, index: PartitionIndex) -> Option<&Partition> {
        self.topic(topic)?.partition(index)
    }

    /// An existing topic whose name differs from this one only in `.` against `_`.
    pub fn colliding_topic(&self, name: &str) -> Option<&Arc<Topic>> {
        self.topics.colliding(name)
    }

    /// A topic's own settings; empty when it has none.
    pub fn topic_configs(&self, topic: &str) -> &BTreeMap<String, String> {
        self.configs.get(ResourceType::Topic, topic)
    }

    /// One broker's dynamic settings, or with `None` those of all brokers.
    pub fn broker_configs(&self, broker: Option<BrokerId>) -> &BTreeMap<String, String> {
        match broker {
            Some(broker) => self.configs.get(ResourceType::Broker, &broker.to_string()),
            None => self.configs.get(ResourceType::Broker, ""),
        }
    }

    /// What a broker's setting was changed to while brokers run, as it was written: for this broker, or for all.
    pub fn broker_setting(&self, broker: BrokerId, name: &str) -> Option<&str> {
        let own = self.broker_configs(Some(broker)).get(name);
        own.or_else(|| self.broker_configs(None).get(name)).map(String::as_str)
    }

    /// A group's own settings; empty when it has none.
    pub fn group_configs(&self, group: &str) -> &BTreeMap<String, String> {
        self.configs.get(ResourceType::Group, group)
    }

    /// The settings of every resource that has some.
    pub fn configs(&self) -> &Configs {
        &self.configs
    }

    /// The broker, when it is registered.
    pub fn broker(&self, id: BrokerId) -> Option<&Arc<Broker>> {
        self.brokers.get(&id)
    }

    /// All registered brokers, sorted by id.
    pub fn brokers(&self) -> impl ExactSizeIterator<Item = &Arc<Broker>> {
        self.brokers.values()
    }

    /// Brokers that may lead: registered, not fenced, not shutting down.
    pub fn is_active(&self, id: BrokerId) -> bool {
        self.broker(id).is_some_and(|broker| !broker.fenced && !broker.in_controlled_shutdown)
    }

    /// Registered controllers, sorted by id.
    pub fn controllers(&self) -> impl Iterator<Item = &RegisterControllerRecord> {
        self.controllers.values()
    }

    /// The finalized level of each feature, sorted by name.
    pub fn features(&self) -> &BTreeMap<String, i16> {
        &self.features
    }

    /// The level of `metadata.version`; the lowest when none is finalized yet.
    pub fn metadata_version(&self) -> i16 {
        self.features.get(METADATA_VERSION).copied().unwrap_or(METADATA_VERSION_MINIMUM)
    }

    /// ACLs, credentials, tokens and quotas.
    pub fn security(&self) -> &Security {
        &self.security
    }

    /// The first producer id that no block contains yet.
    pub fn next_producer_id(&self) -> ProducerId {
        self.next_producer_id
    }

    /// Whether neither ACLs, credentials, tokens nor quotas changed between the two.
    pub fn same_security(&self, other: &Image) -> bool {
        Arc::ptr_eq(&self.security, &other.security)
    }

    pub(super) fn same_topics(&self, other: &Image) -> bool {
        Arc::ptr_eq(&self.topics, &other.topics)
    }

    /// Whether no setting changed between the two.
    pub fn same_configs(&self, other: &Image) -> bool {
        Arc::ptr_eq(&self.configs, &other.configs)
    }
}

#[cfg(test)]
mod tests;
