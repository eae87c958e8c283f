//! CreatePartitions: more partitions for existing topics.

use super::change;
use crate::base::BrokerId;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::throttling::Mutation;
use crate::broker::wire;
use crate::cluster::command::CreatePartitions;
use crate::cluster::command::MorePartitions;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::CreatePartitionsRequest;
use kafka_protocol::messages::CreatePartitionsResponse;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_partitions_response::CreatePartitionsTopicResult;

/// From this version on a client beyond its limit is refused.
const STRICT_SINCE: i16 = 3;

/// Answers a CreatePartitions request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: CreatePartitionsRequest = codec::decode(&context.header, body)?;
    let topics = request.topics.iter().map(more).collect();
    let command = CreatePartitions { topics, validate_only: request.validate_only };
    let mutation = Mutation::begin(broker, context, STRICT_SINCE);
    let asked = mutation.controller();
    let results: Vec<_> = match change(broker, request.timeout_ms, asked.create_partitions(command)).await {
        Ok(results) => {
            let results = results.into_iter();
            results
                .map(|(name, result)| answer(&name, result.map_err(Refused::from).err().as_ref()))
                .collect()
        }
        Err(refused) => request.topics.iter().map(|topic| answer(&topic.name, Some(&refused))).collect(),
    };
    let codes: Vec<i16> = results.iter().map(|result| result.error_code).collect();
    let mut response =
        codec::encode(&context.header, &CreatePartitionsResponse::default().with_results(results))?;
    mutation.end(&mut response, codes);
    Ok(response)
}

fn more(topic: &CreatePartitionsTopic) -> MorePartitions {
    let assignments = topic.assignments.as_ref().map(|assignments| {
        let brokers = assignments.iter().map(|one| one.broker_ids.iter().map(|id| BrokerId(id.0)).collect());
        brokers.collect()
    });
    MorePartitions { name: topic.name.to_string(), count: topic.count, assignments }
}

fn answer(name: &str, refused: Option<&Refused>) -> CreatePartitionsTopicResult {
    CreatePartitionsTopicResult::default()
        .with_name(wire::topic_name(name))
        .with_error_code(refused.map_or(0, |refused| refused.code.code()))
        .with_error_message(wire::some_text(refused.and_then(|refused| refused.message.as_deref())))
}
