//! AlterPartitionReassignments: moves partitions to other brokers, or takes a move back (KIP-455).

use super::change;
use crate::base::BrokerId;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::cluster::command::Reassignment;
use crate::cluster::command::ReassignmentResult;
use crate::cluster::command::Reassignments;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::AlterPartitionReassignmentsRequest;
use kafka_protocol::messages::AlterPartitionReassignmentsResponse;
use kafka_protocol::messages::alter_partition_reassignments_response::ReassignablePartitionResponse;
use kafka_protocol::messages::alter_partition_reassignments_response::ReassignableTopicResponse;

/// From this version on the answer repeats whether the number of replicas might change.
const WITH_FACTOR_CHANGE: i16 = 1;

/// Answers an AlterPartitionReassignments request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: AlterPartitionReassignmentsRequest = codec::decode(&context.header, body)?;
    let mut reassignments = Vec::new();
    for topic in &request.topics {
        for partition in &topic.partitions {
            let brokers =
                |ids: &Vec<kafka_protocol::messages::BrokerId>| ids.iter().map(|id| BrokerId(id.0)).collect();
            reassignments.push(Reassignment {
                topic: topic.name.to_string(),
                partition: PartitionIndex(partition.partition_index),
                replicas: partition.replicas.as_ref().map(brokers),
            });
        }
    }
    let allow_factor_change = request.allow_replication_factor_change;
    let command = Reassignments { reassignments, allow_factor_change };
    let mut response = AlterPartitionReassignmentsResponse::default().with_error_message(None);
    if request.topics.is_empty() {
        // Kafka answers this one without a look at it, as if nobody had said anything
        // (`QuorumController.alterPartitionReassignments`).
        response.error_message = wire::some_text(Some(""));
    } else if context.version() >= WITH_FACTOR_CHANGE {
        response.allow_replication_factor_change = allow_factor_change;
    }
    match change(broker, request.timeout_ms, broker.controller.reassign(command)).await {
        Ok(results) => response.responses = by_topic(results),
        Err(refused) => {
            response.error_code = refused.code.code();
            response.error_message = wire::some_text(refused.message.as_deref());
        }
    }
    Ok(codec::encode(&context.header, &response)?)
}

/// Neighbours of one topic share its entry.
fn by_topic(results: Vec<ReassignmentResult>) -> Vec<ReassignableTopicResponse> {
    let mut topics: Vec<ReassignableTopicResponse> = Vec::new();
    for (name, partition, result) in results {
        if topics.last().is_none_or(|last| last.name.as_str() != name) {
            topics.push(ReassignableTopicResponse::default().with_name(wire::topic_name(&name)));
        }
        let refusal = result.err();
        if let Some(topic) = topics.last_mut() {
            let message = refusal.as_ref().and_then(|refusal| refusal.message.as_deref());
            topic.partitions.push(
                ReassignablePartitionResponse::default()
                    .with_partition_index(partition.0)
                    .with_error_code(refusal.as_ref().map_or(0, |refusal| refusal.code.code()))
                    .with_error_message(wire::some_text(message)),
            );
        }
    }
    topics
}
