//! CreateTopics.

use super::change;
use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::throttling::Mutation;
use crate::broker::wire;
use crate::cluster::command::CreateTopics;
use crate::cluster::command::CreatedTopic;
use crate::cluster::command::NewTopic;
use crate::cluster::effective::ConfigEntry;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::CreateTopicsRequest;
use kafka_protocol::messages::CreateTopicsResponse;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::create_topics_response::CreatableTopicConfigs;
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use std::collections::BTreeSet;

/// From this version on the answer says what was created (KIP-525).
const WITH_CONFIGS: i16 = 5;

/// From this version on a client beyond its limit is refused.
const STRICT_SINCE: i16 = 6;

/// Answers a CreateTopics request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let version = context.version();
    let request: CreateTopicsRequest = codec::decode(&context.header, body)?;
    let topics = request.topics.iter().map(new_topic).collect();
    let command = CreateTopics { topics, validate_only: request.validate_only };
    let mut room = broker.answer_memory.begin();
    let mutation = Mutation::begin(broker, context, STRICT_SINCE);
    let asked = mutation.controller();
    let results: Vec<_> = match change(broker, request.timeout_ms, asked.create_topics(command)).await {
        Ok(creations) => {
            let result = |creation: crate::cluster::command::TopicCreation| match creation.result {
                Ok(created) => success(&creation.name, &created, version),
                Err(refusal) => failure(&creation.name, &refusal.into()),
            };
            let mut results: Vec<CreatableTopicResult> = creations.into_iter().map(result).collect();
            for result in &mut results {
                if !room.take_encoded(result, version) {
                    result.configs = None;
                }
            }
            results
        }
        Err(refused) => {
            let names: BTreeSet<&str> = request.topics.iter().map(|topic| topic.name.as_str()).collect();
            names.into_iter().map(|name| failure(name, &refused)).collect()
        }
    };
    let codes: Vec<i16> = results.iter().map(|result| result.error_code).collect();
    let mut response = codec::encode(&context.header, &CreateTopicsResponse::default().with_topics(results))?;
    mutation.end(&mut response, codes);
    Ok(room.tie_to(response))
}

fn new_topic(topic: &CreatableTopic) -> NewTopic {
    let assignments = topic.assignments.iter().map(|assignment| {
        let brokers = assignment.broker_ids.iter().map(|id| BrokerId(id.0)).collect();
        (PartitionIndex(assignment.partition_index), brokers)
    });
    let configs = topic.configs.iter();
    let configs =
        configs.map(|config| (config.name.to_string(), config.value.as_ref().map(|value| value.to_string())));
    NewTopic {
        name: topic.name.to_string(),
        num_partitions: topic.num_partitions,
        replication_factor: topic.replication_factor,
        assignments: assignments.collect(),
        configs: configs.collect(),
    }
}

fn success(name: &str, created: &CreatedTopic, version: i16) -> CreatableTopicResult {
    let result = CreatableTopicResult::default()
        .with_name(wire::topic_name(name))
        .with_topic_id(created.id.0)
        .with_error_message(None);
    if version < WITH_CONFIGS {
        return result;
    }
    result
        .with_num_partitions(created.num_partitions)
        .with_replication_factor(created.replication_factor)
        .with_configs(Some(created.configs.iter().map(config).collect()))
}

fn failure(name: &str, refused: &Refused) -> CreatableTopicResult {
    let message = refused.message.as_deref().filter(|_| refused.code != ErrorCode::None);
    CreatableTopicResult::default()
        .with_name(wire::topic_name(name))
        .with_error_code(refused.code.code())
        .with_error_message(wire::some_text(message))
}

fn config(entry: &ConfigEntry) -> CreatableTopicConfigs {
    CreatableTopicConfigs::default()
        .with_name(wire::text(&entry.name))
        .with_value(wire::some_text(entry.value.as_deref()))
        .with_read_only(entry.read_only)
        .with_config_source(entry.source.code())
        .with_is_sensitive(entry.sensitive)
}
