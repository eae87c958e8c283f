//! ListPartitionReassignments: partitions that are moving between brokers (KIP-455).

use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::cluster::Partition;
use crate::cluster::Topic;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::ListPartitionReassignmentsRequest;
use kafka_protocol::messages::ListPartitionReassignmentsResponse;
use kafka_protocol::messages::list_partition_reassignments_response::OngoingPartitionReassignment;
use kafka_protocol::messages::list_partition_reassignments_response::OngoingTopicReassignment;

/// Answers a ListPartitionReassignments request. As in Kafka, topics and partitions that do not exist are left out.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: ListPartitionReassignmentsRequest = codec::decode(&context.header, body)?;
    let image = broker.publisher.current();
    let mut topics = Vec::new();
    match &request.topics {
        None => {
            for topic in image.topics() {
                topics.extend(ongoing(topic, topic.partitions.iter()));
            }
        }
        Some(asked) => {
            for asked in asked {
                let Some(topic) = image.topic(&asked.name) else { continue };
                let indexes = asked.partition_indexes.iter();
                let partitions = indexes.filter_map(|index| topic.partition(PartitionIndex(*index)));
                topics.extend(ongoing(topic, partitions));
            }
        }
    }
    Ok(codec::encode(
        &context.header,
        &ListPartitionReassignmentsResponse::default().with_error_message(None).with_topics(topics),
    )?)
}

fn ongoing<'a>(
    topic: &Topic,
    partitions: impl Iterator<Item = &'a Partition>,
) -> Option<OngoingTopicReassignment> {
    let moving = partitions.filter(|partition| partition.is_reassigning()).map(|partition| {
        OngoingPartitionReassignment::default()
            .with_partition_index(partition.index.0)
            .with_replicas(wire::broker_ids(&partition.replicas))
            .with_adding_replicas(wire::broker_ids(&partition.adding_replicas))
            .with_removing_replicas(wire::broker_ids(&partition.removing_replicas))
    });
    let moving: Vec<_> = moving.collect();
    let named = OngoingTopicReassignment::default().with_name(wire::topic_name(&topic.name));
    (!moving.is_empty()).then(|| named.with_partitions(moving))
}
