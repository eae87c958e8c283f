//! OffsetForLeaderEpoch: where an epoch ended, for readers that check whether their log still is this one (KIP-320).

use crate::base::ErrorCode;
use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::errors::Refused;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::OffsetForLeaderEpochRequest;
use kafka_protocol::messages::OffsetForLeaderEpochResponse;
use kafka_protocol::messages::offset_for_leader_epoch_request::OffsetForLeaderPartition;
use kafka_protocol::messages::offset_for_leader_epoch_response::EpochEndOffset;
use kafka_protocol::messages::offset_for_leader_epoch_response::OffsetForLeaderTopicResult;

/// Answers an OffsetForLeaderEpoch request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: OffsetForLeaderEpochRequest = codec::decode(&context.header, body)?;
    let named = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    crowd::check_partitions(&broker.publisher.current(), named)?;
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| end(broker, &topic.topic, asked)).collect();
        OffsetForLeaderTopicResult::default().with_topic(topic.topic).with_partitions(partitions)
    });
    let answer = OffsetForLeaderEpochResponse::default().with_topics(topics.collect());
    Ok(codec::encode(&context.header, &answer)?)
}

/// An epoch that is not known here is answered with -1 and -1, without an error.
fn end(broker: &Broker, topic: &str, asked: &OffsetForLeaderPartition) -> EpochEndOffset {
    let known = Some(LeaderEpoch(asked.current_leader_epoch)).filter(|epoch| epoch.0 != -1);
    let found = broker
        .replicas
        .by_name(topic, PartitionIndex(asked.partition))
        .and_then(|partition| partition.epoch_end(known, LeaderEpoch(asked.leader_epoch)));
    let answer =
        EpochEndOffset::default().with_partition(asked.partition).with_leader_epoch(-1).with_end_offset(-1);
    match found {
        Ok(Some(end)) => answer.with_leader_epoch(end.epoch.0).with_end_offset(end.offset.0),
        Ok(None) => answer.with_error_code(ErrorCode::None.code()),
        Err(error) => answer.with_error_code(Refused::from(&error).code.code()),
    }
}
