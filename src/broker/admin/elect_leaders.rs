//! ElectLeaders: other leaders for partitions, where somebody asks for it (KIP-183, KIP-460).

use super::change;
use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::cluster::command::ElectLeaders;
use crate::cluster::command::Election;
use crate::cluster::command::ElectionResult;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::ElectLeadersRequest;
use kafka_protocol::messages::ElectLeadersResponse;
use kafka_protocol::messages::elect_leaders_response::PartitionResult;
use kafka_protocol::messages::elect_leaders_response::ReplicaElectionResult;

/// From this version on the answer can refuse the request as a whole, beside each of its partitions.
const WITH_ERROR: i16 = 1;

/// Answers an ElectLeaders request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: ElectLeadersRequest = codec::decode(&context.header, body)?;
    let outcome = match request.election_type {
        // Kafka does not look at the kind where there is nothing to elect (`QuorumController.electLeaders`).
        _ if request.topic_partitions.as_ref().is_some_and(Vec::is_empty) => Ok(Vec::new()),
        0 => elect(broker, &request, Election::Preferred).await,
        1 => elect(broker, &request, Election::Unclean).await,
        unknown => {
            let message = format!("Unknown election type {unknown}");
            Err(Refused::new(ErrorCode::InvalidRequest, message))
        }
    };
    let mut response = ElectLeadersResponse::default();
    match outcome {
        Ok(results) => response.replica_election_results = by_topic(results),
        Err(refused) => {
            if context.version() >= WITH_ERROR {
                response.error_code = refused.code.code();
            }
            let asked = asked(&request).unwrap_or_default().into_iter();
            let refusal = || crate::cluster::Refusal { code: refused.code, message: refused.message.clone() };
            let results = asked.map(|(topic, partition)| (topic, partition, Err(refusal())));
            response.replica_election_results = by_topic(results.collect());
        }
    }
    Ok(codec::encode(&context.header, &response)?)
}

async fn elect(
    broker: &Broker,
    request: &ElectLeadersRequest,
    election: Election,
) -> Result<Vec<ElectionResult>, Refused> {
    let command = ElectLeaders { election, partitions: asked(request) };
    change(broker, request.timeout_ms, broker.controller.elect_leaders(command)).await
}

fn asked(request: &ElectLeadersRequest) -> Option<Vec<(String, PartitionIndex)>> {
    let topics = request.topic_partitions.as_ref()?;
    let partitions = topics.iter().flat_map(|topic| {
        topic.partitions.iter().map(|index| (topic.topic.to_string(), PartitionIndex(*index)))
    });
    Some(partitions.collect())
}

/// Neighbours of one topic share its entry.
fn by_topic(results: Vec<ElectionResult>) -> Vec<ReplicaElectionResult> {
    let mut topics: Vec<ReplicaElectionResult> = Vec::new();
    for (name, partition, result) in results {
        if topics.last().is_none_or(|last| last.topic.as_str() != name) {
            topics.push(ReplicaElectionResult::default().with_topic(wire::topic_name(&name)));
        }
        let refusal = result.err();
        if let Some(topic) = topics.last_mut() {
            let message = refusal.as_ref().and_then(|refusal| refusal.message.as_deref());
            topic.partition_result.push(
                PartitionResult::default()
                    .with_partition_id(partition.0)
                    .with_error_code(refusal.as_ref().map_or(0, |refusal| refusal.code.code()))
                    .with_error_message(wire::some_text(message)),
            );
        }
    }
    topics
}
