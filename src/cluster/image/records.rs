//! An image as the records that make it: what a snapshot contains.

use super::Image;
use crate::base::BrokerId;
use crate::cluster::records::ConfigRecord;
use crate::cluster::records::FeatureLevelRecord;
use crate::cluster::records::ProducerIdsRecord;
use crate::cluster::records::Record;
use crate::cluster::records::TopicRecord;

impl Image {
    /// Records that turn an empty image into this one, in the order of Kafka's `MetadataImage.write`: features
    /// first, because they say how the rest is written.
    pub fn records(&self) -> impl Iterator<Item = Record> {
        let features = self
            .features
            .iter()
            .map(|(name, level)| FeatureLevelRecord { name: name.clone(), feature_level: *level }.into());
        let brokers = self.brokers.values().map(|broker| broker.to_record().into());
        let controllers = self.controllers.values().map(|controller| controller.clone().into());
        let topics = self.topics.iter().flat_map(|topic| {
            let head: Record = TopicRecord { name: topic.name.to_string(), topic_id: topic.id }.into();
            let partitions = topic.partitions.iter().map(|partition| partition.to_record(topic.id).into());
            std::iter::once(head).chain(partitions)
        });
        let configs = self.configs.iter().flat_map(|(kind, resource, settings)| {
            settings.iter().map(move |(name, value)| {
                ConfigRecord {
                    resource_type: kind.code(),
                    resource_name: resource.to_owned(),
                    name: name.clone(),
                    value: Some(value.clone()),
                }
                .into()
            })
        });
        let producer_ids = (self.next_producer_id.0 > 0).then(|| {
            let next_producer_id = self.next_producer_id.0;
            ProducerIdsRecord { broker_id: BrokerId::NONE, broker_epoch: -1, next_producer_id }.into()
        });
        let features = features.chain(brokers).chain(controllers).chain(topics).chain(configs);
        features.chain(producer_ids).chain(self.security_records())
    }

    fn security_records(&self) -> impl Iterator<Item = Record> {
        let security = &self.security;
        let quotas = security.quotas.values().map(|record| record.clone().into());
        let acls = security.acls.values().map(|record| record.clone().into());
        let scram = security.scram.values().map(|record| record.clone().into());
        let tokens = security.tokens.values().map(|record| record.clone().into());
        quotas.chain(acls).chain(scram).chain(tokens)
    }
}
