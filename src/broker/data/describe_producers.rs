//! DescribeProducers: what a partition remembers of its idempotent and transactional producers (KIP-664).

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::errors::Refused;
use crate::broker::wire;
use crate::cluster::controller::topic_names;
use crate::log::ProducerEntry;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::DescribeProducersRequest;
use kafka_protocol::messages::DescribeProducersResponse;
use kafka_protocol::messages::ProducerId;
use kafka_protocol::messages::describe_producers_response::PartitionResponse;
use kafka_protocol::messages::describe_producers_response::ProducerState;
use kafka_protocol::messages::describe_producers_response::TopicResponse;

/// What a producer takes in an answer, in bytes.
const PRODUCER_BYTES: usize = 64;

/// Answers a DescribeProducers request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: DescribeProducersRequest = codec::decode(&context.header, body)?;
    let named = request.topics.iter().map(|topic| topic.partition_indexes.len()).sum();
    crowd::check_partitions(&broker.publisher.current(), named)?;
    let mut room = broker.answer_memory.begin();
    let topics = request.topics.into_iter().map(|topic| {
        let refused = refusal(broker, &topic.name);
        let describe = |index: &i32| {
            let answer = PartitionResponse::default().with_partition_index(*index);
            if let Some((code, message)) = &refused {
                return answer
                    .with_error_code(code.code())
                    .with_error_message(wire::some_text(Some(message)));
            }
            let described = describe(broker, &topic.name, *index);
            if room.take(described.active_producers.len() * PRODUCER_BYTES) {
                return described;
            }
            answer.with_error_code(ErrorCode::InvalidRequest.code())
        };
        let partitions = topic.partition_indexes.iter().map(describe).collect();
        TopicResponse::default().with_name(topic.name).with_partitions(partitions)
    });
    let answer = DescribeProducersResponse::default().with_topics(topics.collect());
    Ok(room.tie_to(codec::encode(&context.header, &answer)?))
}

/// Why no partition of the topic is described: with Kafka's words, which a partition that is not there goes without.
fn refusal(broker: &Broker, topic: &str) -> Option<(ErrorCode, String)> {
    if let Err(message) = topic_names::check(topic) {
        return Some((ErrorCode::InvalidTopicException, message));
    }
    let known = broker.publisher.current().topic(topic).is_some();
    let message = "This server does not host this topic-partition.";
    (!known).then(|| (ErrorCode::UnknownTopicOrPartition, message.to_owned()))
}

fn describe(broker: &Broker, topic: &str, index: i32) -> PartitionResponse {
    let partition = broker.replicas.by_name(topic, PartitionIndex(index));
    let producers = partition.and_then(|partition| partition.producers());
    let answer = PartitionResponse::default().with_partition_index(index);
    match producers {
        Ok(producers) => answer.with_active_producers(producers.iter().map(state).collect()),
        Err(error) => answer.with_error_code(Refused::from(&error).code.code()),
    }
}

fn state(producer: &ProducerEntry) -> ProducerState {
    ProducerState::default()
        .with_producer_id(ProducerId(producer.id.0))
        .with_producer_epoch(i32::from(producer.epoch.0))
        .with_last_sequence(producer.last_sequence)
        .with_last_timestamp(producer.last_timestamp.0)
        .with_coordinator_epoch(producer.coordinator_epoch)
        .with_current_txn_start_offset(producer.transaction_start.map_or(-1, |offset| offset.0))
}
