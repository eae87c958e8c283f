//! OffsetDelete 0: delete offsets of topics that no member reads.

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::text;
use crate::groups::command::DeleteOffsets;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::OffsetDeleteRequest;
use kafka_protocol::messages::OffsetDeleteResponse;
use kafka_protocol::messages::offset_delete_request::OffsetDeleteRequestTopic;
use kafka_protocol::messages::offset_delete_response::OffsetDeleteResponsePartition;
use kafka_protocol::messages::offset_delete_response::OffsetDeleteResponseTopic;

/// Answers an OffsetDelete request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: OffsetDeleteRequest = codec::decode(&context.header, body)?;
    let image = broker.publisher.current();
    let exists = |topic: &OffsetDeleteRequestTopic, partition: i32| {
        image.partition(&topic.name, PartitionIndex(partition)).is_some()
    };
    let known = |topic: &OffsetDeleteRequestTopic| {
        let partitions = topic.partitions.iter().map(|partition| partition.partition_index);
        (text(&topic.name), partitions.filter(|partition| exists(topic, *partition)).collect())
    };
    let topics = request.topics.iter().map(known).collect();
    let command = DeleteOffsets { group: text(&request.group_id), topics };
    let response = match broker.groups.delete_offsets(command).await {
        Err(error) => OffsetDeleteResponse::default().with_error_code(error.code()),
        Ok(codes) => {
            let mut topics = Vec::with_capacity(request.topics.len());
            for (topic, codes) in request.topics.iter().zip(codes) {
                let mut codes = codes.into_iter();
                let code = |partition: i32| match exists(topic, partition) {
                    true => codes.next().unwrap_or(ErrorCode::UnknownServerError),
                    false => ErrorCode::UnknownTopicOrPartition,
                };
                topics.push(answer(topic, code));
            }
            OffsetDeleteResponse::default().with_topics(topics)
        }
    };
    Ok(codec::encode(&context.header, &response)?)
}

fn answer(
    topic: &OffsetDeleteRequestTopic,
    mut code: impl FnMut(i32) -> ErrorCode,
) -> OffsetDeleteResponseTopic {
    let partitions = topic.partitions.iter().map(|partition| {
        OffsetDeleteResponsePartition::default()
            .with_partition_index(partition.partition_index)
            .with_error_code(code(partition.partition_index).code())
    });
    let partitions = partitions.collect();
    OffsetDeleteResponseTopic::default().with_name(topic.name.clone()).with_partitions(partitions)
}
