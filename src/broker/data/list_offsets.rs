//! ListOffsets: the ends of partitions, and the first record at or after a time.

use crate::base::ErrorCode;
use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::base::Timestamp;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::errors::Refused;
use crate::io::task;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::replica::Replicas;
use crate::replica::Spot;
use crate::replica::View;
use bytes::Bytes;
use kafka_protocol::messages::ListOffsetsRequest;
use kafka_protocol::messages::ListOffsetsResponse;
use kafka_protocol::messages::list_offsets_request::ListOffsetsPartition;
use kafka_protocol::messages::list_offsets_response::ListOffsetsPartitionResponse;
use kafka_protocol::messages::list_offsets_response::ListOffsetsTopicResponse;
use std::collections::HashSet;
use std::sync::Arc;
use tracing::debug;

/// The replica id of a consumer; every other one sees the log's end.
const CONSUMER: i32 = -1;
/// The isolation level that sees all records.
const READ_UNCOMMITTED: i8 = 0;
/// The isolation level that sees committed records only.
const READ_COMMITTED: i8 = 1;
/// The first version whose answers have a leader epoch.
const EPOCHS_FROM: i16 = 4;
/// The first version whose clients know OFFSET_NOT_AVAILABLE.
const NOT_AVAILABLE_FROM: i16 = 5;

/// Answers with more partitions than this are put together away from the workers.
const ASIDE: usize = 2048;

/// Answers a ListOffsets request.
pub(crate) async fn handle(
    broker: &Arc<Broker>,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let request: ListOffsetsRequest = codec::decode(&context.header, body)?;
    let named = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    crowd::check_partitions(&broker.publisher.current(), named)?;
    let version = context.version();
    let mut timestamps = request.topics.iter().flat_map(|topic| &topic.partitions).map(|one| one.timestamp);
    let aside = named > ASIDE || timestamps.any(looks_into_files);
    let (replicas, header) = (Arc::clone(&broker.replicas), context.header.clone());
    let work = move || codec::encode(&header, &answer(&replicas, request, version));
    let encoded = if aside { task::run_blocking(work).await } else { work() };
    Ok(encoded?)
}

fn answer(replicas: &Replicas, request: ListOffsetsRequest, version: i16) -> ListOffsetsResponse {
    let view = match (request.replica_id.0, request.isolation_level) {
        (CONSUMER, READ_COMMITTED) => View::Committed,
        (CONSUMER, _) => View::Consumer,
        _ => View::LogEnd,
    };
    let twice = named_twice(&request);
    // As Kafka answers what its code fails over: nothing is read at a level that nobody knows.
    let level_known = matches!(request.isolation_level, READ_UNCOMMITTED | READ_COMMITTED);
    let topics = request.topics.into_iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            let outcome = if !level_known {
                Err(ErrorCode::UnknownServerError)
            } else if twice.contains(&(topic.name.to_string(), partition.partition_index)) {
                Err(ErrorCode::InvalidRequest)
            } else {
                find(replicas, &topic.name, partition, view, version)
            };
            outcome.unwrap_or_else(|error| {
                debug!(topic = %topic.name.as_str(), partition = partition.partition_index, %error, "no offset");
                empty(partition.partition_index).with_error_code(error.code())
            })
        });
        let partitions = partitions.collect();
        ListOffsetsTopicResponse::default().with_name(topic.name).with_partitions(partitions)
    });
    ListOffsetsResponse::default().with_topics(topics.collect())
}

/// Partitions that the request names more than once.
fn named_twice(request: &ListOffsetsRequest) -> HashSet<(String, i32)> {
    let mut once = HashSet::new();
    let mut twice = HashSet::new();
    for topic in &request.topics {
        for partition in &topic.partitions {
            if !once.insert((topic.name.as_str(), partition.partition_index)) {
                twice.insert((topic.name.to_string(), partition.partition_index));
            }
        }
    }
    twice
}

fn find(
    replicas: &Replicas,
    topic: &str,
    asked: &ListOffsetsPartition,
    view: View,
    version: i16,
) -> Result<ListOffsetsPartitionResponse, ErrorCode> {
    let spot = spot(asked.timestamp, version).ok_or(ErrorCode::UnsupportedVersion)?;
    let epoch = Some(LeaderEpoch(asked.current_leader_epoch)).filter(|epoch| epoch.0 != -1);
    let found = replicas
        .by_name(topic, PartitionIndex(asked.partition_index))
        .and_then(|partition| partition.list_offset(spot, view, epoch));
    let found = found.map_err(|error| match Refused::from(&error).code {
        ErrorCode::OffsetNotAvailable if version < NOT_AVAILABLE_FROM => ErrorCode::LeaderNotAvailable,
        code => code,
    })?;
    let mut answer = empty(asked.partition_index);
    if let Some(found) = found {
        answer.offset = found.offset.0;
        answer.timestamp = found.timestamp.0;
        if let Some(epoch) = found.epoch.filter(|_| version >= EPOCHS_FROM) {
            answer.leader_epoch = epoch.0;
        }
    }
    Ok(answer)
}

/// No offset, which is also the answer for a time after the last record.
fn empty(index: i32) -> ListOffsetsPartitionResponse {
    ListOffsetsPartitionResponse::default()
        .with_partition_index(index)
        .with_offset(-1)
        .with_timestamp(-1)
        .with_leader_epoch(-1)
}

/// What a timestamp stands for; `None` when the version does not have this sentinel.
fn spot(timestamp: i64, version: i16) -> Option<Spot> {
    let (spot, since) = match timestamp {
        0.. => (Spot::At(Timestamp(timestamp)), 1),
        -1 => (Spot::Latest, 1),
        -2 => (Spot::Earliest, 1),
        -3 => (Spot::MaxTimestamp, 7),
        -4 => (Spot::EarliestLocal, 8),
        -5 => (Spot::LatestTiered, 9),
        -6 => (Spot::EarliestPendingUpload, 11),
        _ => return None,
    };
    (version >= since).then_some(spot)
}

/// Whether the answer is found in files, and so away from the workers.
fn looks_into_files(timestamp: i64) -> bool {
    timestamp >= 0 || timestamp == -3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentinel_counts_from_its_version_on() {
        let since = |timestamp: i64| (1..=11).find(|version| spot(timestamp, *version).is_some());
        let expected = [(-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 11), (0, 1)];
        for (timestamp, version) in expected {
            assert_eq!(since(timestamp), Some(version), "{timestamp}");
        }
        assert_eq!(since(-7), None);
    }
}
