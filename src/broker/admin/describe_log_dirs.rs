//! DescribeLogDirs: which partitions lie in which log directory, and how full its volume is (KIP-113, KIP-827).

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::TopicPartition;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::log::Description;
use crate::log::DirectoryState;
use crate::log::LogSize;
use crate::protocol::Response;
use crate::protocol::supplement::describe_log_dirs;
use crate::protocol::supplement::describe_log_dirs::Answer;
use crate::protocol::supplement::describe_log_dirs::Directory;
use crate::protocol::supplement::describe_log_dirs::DirectoryPartition;
use crate::protocol::supplement::describe_log_dirs::DirectoryTopic;
use crate::protocol::supplement::describe_log_dirs::Request;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;
use std::collections::BTreeMap;
use std::collections::HashSet;

/// The metadata log's name: it lies in a log directory too, and is no topic to clients.
const METADATA_TOPIC: &str = "__cluster_metadata";

/// Answers a DescribeLogDirs request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request = describe_log_dirs::decode(&context.header, body)?;
    let wanted = wanted(request);
    let directories = broker.replicas.describe_directories().await;
    let mut room = broker.answer_memory.begin();
    let mut directories: Vec<Directory> =
        directories.into_iter().map(|one| directory(broker, one, wanted.as_ref())).collect();
    for directory in &mut directories {
        let topic = |topic: &DirectoryTopic| topic.name.len() + 8 + 24 * topic.partitions.len();
        if !room.take(directory.topics.iter().map(topic).sum()) {
            directory.topics = Vec::new();
            directory.error = ErrorCode::InvalidRequest;
        }
    }
    let answer = Answer { throttle_time_ms: 0, error: ErrorCode::None, directories };
    Ok(room.tie_to(describe_log_dirs::encode(&context.header, &answer)?))
}

/// The partitions asked for; `None` for all. Those that do not exist are passed over, as in Kafka.
fn wanted(request: Request) -> Option<HashSet<(StrBytes, i32)>> {
    let topics = request.topics?.into_iter();
    let pairs =
        topics.flat_map(|topic| topic.partitions.into_iter().map(move |index| (topic.name.clone(), index)));
    Some(pairs.collect())
}

fn directory(
    broker: &Broker,
    described: Description,
    wanted: Option<&HashSet<(StrBytes, i32)>>,
) -> Directory {
    let path = std::path::absolute(&described.path).unwrap_or(described.path);
    let mut answer = Directory {
        error: ErrorCode::KafkaStorageError,
        path: StrBytes::from_string(path.to_string_lossy().into_owned()),
        topics: Vec::new(),
        total_bytes: -1,
        usable_bytes: -1,
        cordoned: false,
    };
    if !matches!(described.state, DirectoryState::Online) {
        return answer;
    }
    answer.error = ErrorCode::None;
    if let Some(space) = described.space {
        answer.total_bytes = bounded(space.total);
        answer.usable_bytes = bounded(space.usable);
    }
    let image = broker.publisher.current();
    let cordoned = image.broker(broker.config.node_id).map(|own| &own.cordoned_log_dirs);
    answer.cordoned = described.id.is_some_and(|id| cordoned.is_some_and(|all| all.contains(&id.0)));
    answer.topics = topics(broker, &described.logs, wanted);
    answer
}

/// The partitions of a directory by topic.
fn topics(
    broker: &Broker,
    logs: &[LogSize],
    wanted: Option<&HashSet<(StrBytes, i32)>>,
) -> Vec<DirectoryTopic> {
    let mut topics: BTreeMap<&str, Vec<DirectoryPartition>> = BTreeMap::new();
    for log in logs {
        let TopicPartition { topic, partition } = &log.partition;
        let pair = (StrBytes::from_string(topic.to_string()), partition.0);
        if **topic != *METADATA_TOPIC && wanted.is_none_or(|wanted| wanted.contains(&pair)) {
            topics.entry(topic).or_default().push(DirectoryPartition {
                index: partition.0,
                size: bounded(log.bytes),
                offset_lag: log.behind.unwrap_or_else(|| offset_lag(broker, topic, *partition)),
                future: log.behind.is_some(),
            });
        }
    }
    let sorted = topics.into_iter().map(|(topic, mut partitions)| {
        partitions.sort_unstable_by_key(|partition| partition.index);
        DirectoryTopic { name: StrBytes::from_string(topic.to_owned()), partitions }
    });
    sorted.collect()
}

/// How far a log's end is behind the high watermark; -1 for a log that no partition uses.
fn offset_lag(broker: &Broker, topic: &str, index: PartitionIndex) -> i64 {
    match broker.replicas.by_name(topic, index) {
        Ok(partition) => (partition.high_watermark().0 - partition.log_end_offset().0).max(0),
        Err(_) => -1,
    }
}

fn bounded(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
