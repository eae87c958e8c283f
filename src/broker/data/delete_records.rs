//! DeleteRecords: moves a partition's start, so that what lies before it is gone (KIP-107).

use crate::base::ErrorCode;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::errors::Refused;
use crate::cluster::image::is_internal;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::DeleteRecordsRequest;
use kafka_protocol::messages::DeleteRecordsResponse;
use kafka_protocol::messages::delete_records_request::DeleteRecordsPartition;
use kafka_protocol::messages::delete_records_request::DeleteRecordsTopic;
use kafka_protocol::messages::delete_records_response::DeleteRecordsPartitionResult;
use kafka_protocol::messages::delete_records_response::DeleteRecordsTopicResult;
use std::collections::HashSet;
use tracing::debug;

/// The offset that stands for the high watermark.
const HIGH_WATERMARK: i64 = -1;

/// Answers a DeleteRecords request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: DeleteRecordsRequest = codec::decode(&context.header, body)?;
    let named = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    crowd::check_partitions(&broker.publisher.current(), named)?;
    // Kafka answers partition by partition: a topic without any is in no answer.
    let mut asked: Vec<_> = request.topics.into_iter().filter(|topic| !topic.partitions.is_empty()).collect();
    keep_last(&mut asked);
    let topics = asked.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|asked| {
            let outcome = delete(broker, &topic.name, asked);
            let answer = DeleteRecordsPartitionResult::default().with_partition_index(asked.partition_index);
            match outcome {
                Ok(low_watermark) => answer.with_low_watermark(low_watermark.0),
                Err(refused) => {
                    let (partition, topic) = (asked.partition_index, topic.name.as_str());
                    debug!(topic, partition, %refused, "records not deleted");
                    answer.with_low_watermark(-1).with_error_code(refused.code.code())
                }
            }
        });
        let partitions = partitions.collect();
        DeleteRecordsTopicResult::default().with_name(topic.name).with_partitions(partitions)
    });
    let answer = DeleteRecordsResponse::default().with_topics(topics.collect());
    Ok(codec::encode(&context.header, &answer)?)
}

/// Of a partition that is named more than once the last offset counts, as in Kafka.
fn keep_last(topics: &mut [DeleteRecordsTopic]) {
    let mut seen = HashSet::new();
    for topic in topics.iter_mut().rev() {
        topic.partitions.reverse();
        topic.partitions.retain(|one| seen.insert((topic.name.clone(), one.partition_index)));
        topic.partitions.reverse();
    }
}

fn delete(broker: &Broker, topic: &str, asked: &DeleteRecordsPartition) -> Result<Offset, Refused> {
    let partition = broker.replicas.by_name(topic, PartitionIndex(asked.partition_index));
    let partition = partition.map_err(|error| Refused::from(&error))?;
    if is_internal(topic) {
        let message = format!("Cannot delete records of internal topic {topic}");
        return Err(Refused::new(ErrorCode::InvalidTopicException, message));
    }
    let before = (asked.offset != HIGH_WATERMARK).then_some(Offset(asked.offset));
    partition.delete_records(before).map_err(|error| Refused::from(&error))
}
