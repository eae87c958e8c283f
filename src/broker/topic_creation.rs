//! Topics that come into being because somebody asked for them by name (`AutoTopicCreationManager` of Kafka).

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::admin;
use crate::cluster::command::CreateTopics;
use crate::cluster::command::NewTopic;
use crate::cluster::command::TopicCreation;
use crate::cluster::controller::topics;
use crate::cluster::image::is_internal;
use std::collections::BTreeSet;
use tracing::debug;

/// The topic of committed offsets.
const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// Creates those of the topics that do not exist, and waits until they can be used. Gives back those that could not
/// be created. Kafka answers before the topic is there and lets the client ask again; here it is there at once.
pub(crate) async fn create_missing(broker: &Broker, names: &BTreeSet<String>) -> Vec<(String, ErrorCode)> {
    let missing: Vec<NewTopic> = {
        let image = broker.publisher.current();
        let missing = names.iter().filter(|name| image.topic(name).is_none());
        missing.filter_map(|name| new_topic(broker, name)).collect()
    };
    if missing.is_empty() {
        return Vec::new();
    }
    let asked: Vec<String> = missing.iter().map(|topic| topic.name.clone()).collect();
    let command = CreateTopics { topics: missing, validate_only: false };
    match broker.controller.create_topics(command).await {
        Ok(applied) => {
            admin::until_usable(broker, applied.offset).await;
            applied.value.into_iter().filter_map(failure).collect()
        }
        Err(error) => {
            debug!("topics were not created on demand: {error}");
            asked.into_iter().map(|name| (name, ErrorCode::LeaderNotAvailable)).collect()
        }
    }
}

fn failure(creation: TopicCreation) -> Option<(String, ErrorCode)> {
    match creation.result {
        Ok(_) => None,
        // Somebody else was faster.
        Err(refusal) if refusal.code == ErrorCode::TopicAlreadyExists => None,
        Err(refusal) => {
            debug!(topic = creation.name, "topic was not created on demand: {refusal}");
            Some((creation.name, refusal.code))
        }
    }
}

/// What a topic of this name is created as; `None` for internal topics whose owner is not built yet.
fn new_topic(broker: &Broker, name: &str) -> Option<NewTopic> {
    let mut topic = NewTopic {
        name: name.to_owned(),
        num_partitions: -1,
        replication_factor: -1,
        assignments: Vec::new(),
        configs: Vec::new(),
    };
    if name == OFFSETS_TOPIC {
        let settings = &broker.config.offsets;
        let image = broker.publisher.current();
        topic.num_partitions = settings.topic_num_partitions;
        topic.replication_factor =
            topics::internal_replication_factor(&image, settings.topic_replication_factor);
        let config = |key: &str, value: String| (key.to_owned(), Some(value));
        topic.configs = vec![
            config("cleanup.policy", "compact".to_owned()),
            config("compression.type", "producer".to_owned()),
            config("segment.bytes", settings.topic_segment_bytes.to_string()),
        ];
        return Some(topic);
    }
    (!is_internal(name)).then_some(topic)
}
