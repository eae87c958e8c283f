//! How one record changes an image: the only way an image ever changes.

use super::Broker;
use super::ConfigResource;
use super::Image;
use super::Partition;
use super::ResourceType;
use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::ProducerId;
use crate::base::TopicId;
use crate::cluster::records::ConfigRecord;
use crate::cluster::records::Record;
use std::sync::Arc;

/// A record that does not fit the image it is applied to: the log is damaged or was written by a wrong controller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// A topic's name or id is taken already.
    #[error("topic {0} with id {1} exists already")]
    TopicExists(String, TopicId),
    /// No topic has this id.
    #[error("no topic with id {0}")]
    NoTopic(TopicId),
    /// The topic has no such partition.
    #[error("topic with id {0} has no partition {1}")]
    NoPartition(TopicId, PartitionIndex),
    /// The broker is not registered with this epoch.
    #[error("broker {0} is not registered with epoch {1}")]
    NoBroker(BrokerId, i64),
    /// The settings of such a resource are never in the log.
    #[error("settings of resource type {0} are not kept in the metadata log")]
    ResourceType(i8),
}

/// A change of one registration.
type Change<'a> = &'a dyn Fn(&mut Broker);

impl Image {
    /// Applies one record. Transaction records are the business of whoever replays a log; here they change nothing.
    ///
    /// # Errors
    /// The record names something that is not there, or makes something that is; the image is unchanged then.
    pub fn apply(&mut self, record: &Record) -> Result<(), ApplyError> {
        match record {
            Record::Topic(_) | Record::RemoveTopic(_) | Record::Partition(_) | Record::PartitionChange(_) => {
                self.apply_topics(record)?;
            }
            Record::RegisterBroker(_)
            | Record::UnregisterBroker(_)
            | Record::FenceBroker(_)
            | Record::UnfenceBroker(_)
            | Record::BrokerRegistrationChange(_) => self.apply_brokers(record)?,
            Record::Config(record) => self.apply_config(record)?,
            Record::FeatureLevel(record) => {
                let features = Arc::make_mut(&mut self.features);
                if record.feature_level == 0 {
                    features.remove(&record.name);
                } else {
                    features.insert(record.name.clone(), record.feature_level);
                }
            }
            Record::ProducerIds(record) => self.next_producer_id = ProducerId(record.next_producer_id),
            Record::RegisterController(record) => {
                Arc::make_mut(&mut self.controllers).insert(record.controller_id, record.clone());
            }
            Record::UnregisterController(record) => {
                Arc::make_mut(&mut self.controllers).remove(&record.controller_id);
            }
            Record::ClearElr(record) => self.clear_elr(&record.topic_name),
            Record::AccessControlEntry(_)
            | Record::RemoveAccessControlEntry(_)
            | Record::UserScramCredential(_)
            | Record::RemoveUserScramCredential(_)
            | Record::DelegationToken(_)
            | Record::RemoveDelegationToken(_)
            | Record::ClientQuota(_) => self.apply_security(record),
            Record::NoOp(_)
            | Record::ZkMigrationState(_)
            | Record::BeginTransaction(_)
            | Record::EndTransaction(_)
            | Record::AbortTransaction(_) => {}
        }
        Ok(())
    }

    /// Notes that the log up to `end` (exclusive), last written in `epoch`, has been applied.
    pub fn advance(&mut self, end: Offset, epoch: LeaderEpoch) {
        self.offset = end;
        self.epoch = epoch;
    }

    fn apply_topics(&mut self, record: &Record) -> Result<(), ApplyError> {
        match record {
            Record::Topic(record) => {
                let taken = || ApplyError::TopicExists(record.name.clone(), record.topic_id);
                if self.topic(&record.name).is_some() || self.topic_by_id(record.topic_id).is_some() {
                    return Err(taken());
                }
                let added = Arc::make_mut(&mut self.topics).add(record.topic_id, &record.name);
                if added { Ok(()) } else { Err(taken()) }
            }
            Record::RemoveTopic(record) => {
                let missing = ApplyError::NoTopic(record.topic_id);
                let name = self.topic_by_id(record.topic_id).map(|topic| Arc::clone(&topic.name));
                let name = name.ok_or(missing)?;
                Arc::make_mut(&mut self.topics).remove(record.topic_id);
                if self.configs.has(ResourceType::Topic, &name) {
                    Arc::make_mut(&mut self.configs).remove(ResourceType::Topic, &name);
                }
                Ok(())
            }
            Record::Partition(record) => {
                let topic = self.topic_by_id(record.topic_id);
                topic.ok_or(ApplyError::NoTopic(record.topic_id))?;
                if let Some(topic) = Arc::make_mut(&mut self.topics).by_id_mut(record.topic_id) {
                    topic.put(Partition::from_record(record));
                }
                Ok(())
            }
            Record::PartitionChange(record) => {
                let topic = self.topic_by_id(record.topic_id).ok_or(ApplyError::NoTopic(record.topic_id))?;
                let missing = ApplyError::NoPartition(record.topic_id, record.partition_id);
                topic.partition(record.partition_id).ok_or(missing)?;
                let topic = Arc::make_mut(&mut self.topics).by_id_mut(record.topic_id);
                if let Some(partition) = topic.and_then(|topic| topic.partition_mut(record.partition_id)) {
                    partition.merge(record);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn apply_brokers(&mut self, record: &Record) -> Result<(), ApplyError> {
        let (id, epoch, change): (BrokerId, i64, Change<'_>) = match record {
            Record::RegisterBroker(record) => {
                let broker = Arc::new(Broker::from_record(record));
                Arc::make_mut(&mut self.brokers).insert(record.broker_id, broker);
                return Ok(());
            }
            Record::UnregisterBroker(record) => {
                self.registered(record.broker_id, record.broker_epoch)?;
                Arc::make_mut(&mut self.brokers).remove(&record.broker_id);
                return Ok(());
            }
            Record::FenceBroker(record) => (record.id, record.epoch, &|broker| broker.fenced = true),
            Record::UnfenceBroker(record) => (record.id, record.epoch, &|broker| broker.fenced = false),
            Record::BrokerRegistrationChange(record) => {
                (record.broker_id, record.broker_epoch, &|broker| broker.merge(record))
            }
            _ => return Ok(()),
        };
        self.registered(id, epoch)?;
        if let Some(broker) = Arc::make_mut(&mut self.brokers).get_mut(&id) {
            change(Arc::make_mut(broker));
        }
        Ok(())
    }

    fn registered(&self, id: BrokerId, epoch: i64) -> Result<(), ApplyError> {
        match self.broker(id) {
            Some(broker) if broker.epoch == epoch => Ok(()),
            _ => Err(ApplyError::NoBroker(id, epoch)),
        }
    }

    fn apply_config(&mut self, record: &ConfigRecord) -> Result<(), ApplyError> {
        let kind =
            ResourceType::from_code(record.resource_type).filter(|kind| *kind != ResourceType::BrokerLogger);
        let kind = kind.ok_or(ApplyError::ResourceType(record.resource_type))?;
        let resource = ConfigResource::new(kind, record.resource_name.clone());
        Arc::make_mut(&mut self.configs).set(resource, record.name.clone(), record.value.clone());
        Ok(())
    }

    fn clear_elr(&mut self, topic: &str) {
        let clear = |partitions: &mut Vec<Partition>| {
            for partition in partitions {
                partition.elr.clear();
                partition.last_known_elr.clear();
            }
        };
        let topics = Arc::make_mut(&mut self.topics);
        if topic.is_empty() {
            for topic in topics.all_mut() {
                let held =
                    |partition: &Partition| !partition.elr.is_empty() || !partition.last_known_elr.is_empty();
                if topic.partitions.iter().any(held) {
                    clear(&mut Arc::make_mut(topic).partitions);
                }
            }
        } else if let Some(topic) = topics.by_name_mut(topic) {
            clear(&mut topic.partitions);
        }
    }

    fn apply_security(&mut self, record: &Record) {
        let security = Arc::make_mut(&mut self.security);
        match record {
            Record::AccessControlEntry(record) => {
                security.acls.insert(record.id, record.clone());
            }
            Record::RemoveAccessControlEntry(record) => {
                security.acls.remove(&record.id);
            }
            Record::UserScramCredential(record) => {
                security.scram.insert((record.name.clone(), record.mechanism), record.clone());
            }
            Record::RemoveUserScramCredential(record) => {
                security.scram.remove(&(record.name.clone(), record.mechanism));
            }
            Record::DelegationToken(record) => {
                security.tokens.insert(record.token_id.clone(), record.clone());
            }
            Record::RemoveDelegationToken(record) => {
                security.tokens.remove(&record.token_id);
            }
            Record::ClientQuota(record) => security.set_quota(record),
            _ => {}
        }
    }
}
