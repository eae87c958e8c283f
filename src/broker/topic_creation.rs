//! Topics that come into being because somebody asked for them by name (`AutoTopicCreationManager` of Kafka).

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::admin;
use crate::broker::throttling::Mutation;
use crate::cluster::command::CreateTopics;
use crate::cluster::command::NewTopic;
use crate::cluster::command::TopicCreation;
use crate::cluster::image::is_internal;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use tracing::debug;

/// The topic of committed offsets.
const OFFSETS_TOPIC: &str = "__consumer_offsets";

/// Creates those of the topics that do not exist, and waits until they can be used. Gives back those that could not
/// be created. Kafka answers before the topic is there and lets the client ask again; here it is there at once. The
/// client pays as for topics that it creates by their own request; coordinators' topics are free.
pub(crate) async fn create_missing(
    broker: &Broker,
    context: &Context,
    names: &BTreeSet<String>,
) -> BTreeMap<String, ErrorCode> {
    let missing: Vec<&String> = {
        let image = broker.publisher.current();
        names.iter().filter(|name| image.topic(name).is_none()).collect()
    };
    let mut failed = BTreeMap::new();
    if missing.iter().any(|name| name.as_str() == OFFSETS_TOPIC) {
        if broker.groups.ensure_topic(&broker.controller).await {
            admin::until_usable(broker, broker.publisher.current().offset).await;
        } else {
            failed.insert(OFFSETS_TOPIC.to_owned(), ErrorCode::LeaderNotAvailable);
        }
    }
    // Other internal topics are made by their owners, which are not built yet.
    let ordinary = missing.into_iter().filter(|name| !is_internal(name));
    let topics: Vec<NewTopic> = ordinary.map(|name| new_topic(name)).collect();
    if !topics.is_empty() {
        failed.extend(create(broker, context, topics).await);
    }
    failed
}

async fn create(broker: &Broker, context: &Context, topics: Vec<NewTopic>) -> Vec<(String, ErrorCode)> {
    let asked: Vec<String> = topics.iter().map(|topic| topic.name.clone()).collect();
    let command = CreateTopics { topics, validate_only: false };
    match Mutation::on_the_way(broker, context).controller().create_topics(command).await {
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
            // The client asks again, as it does of a topic that is not there yet.
            let is_early = refusal.code == ErrorCode::ThrottlingQuotaExceeded;
            let code = if is_early { ErrorCode::UnknownTopicOrPartition } else { refusal.code };
            Some((creation.name, code))
        }
    }
}

/// A topic with the broker's defaults.
fn new_topic(name: &str) -> NewTopic {
    NewTopic {
        name: name.to_owned(),
        num_partitions: -1,
        replication_factor: -1,
        assignments: Vec::new(),
        configs: Vec::new(),
    }
}
