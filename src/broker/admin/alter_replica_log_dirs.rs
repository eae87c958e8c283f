//! AlterReplicaLogDirs: moves partitions between the log directories of this broker (KIP-113). The answer comes when the
//! moves were noted; DescribeLogDirs shows how they go.

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::TopicPartition;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::replica;
use bytes::Bytes;
use kafka_protocol::messages::AlterReplicaLogDirsRequest;
use kafka_protocol::messages::AlterReplicaLogDirsResponse;
use kafka_protocol::messages::alter_replica_log_dirs_response::AlterReplicaLogDirPartitionResult;
use kafka_protocol::messages::alter_replica_log_dirs_response::AlterReplicaLogDirTopicResult;
use std::collections::BTreeMap;
use tracing::debug;

/// Answers an AlterReplicaLogDirs request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: AlterReplicaLogDirsRequest = codec::decode(&context.header, body)?;
    // A partition that is named twice goes where it was named last.
    let mut asked: BTreeMap<(String, i32), String> = BTreeMap::new();
    for directory in &request.dirs {
        for topic in &directory.topics {
            for index in &topic.partitions {
                asked.insert((topic.name.to_string(), *index), directory.path.to_string());
            }
        }
    }
    let mut results: Vec<AlterReplicaLogDirTopicResult> = Vec::new();
    for ((topic, index), path) in asked {
        let code = ask(broker, &topic, index, &path);
        if results.last().is_none_or(|last| last.topic_name.as_str() != topic) {
            let result = AlterReplicaLogDirTopicResult::default().with_topic_name(wire::topic_name(&topic));
            results.push(result);
        }
        if let Some(result) = results.last_mut() {
            let partition = AlterReplicaLogDirPartitionResult::default()
                .with_partition_index(index)
                .with_error_code(code.code());
            result.partitions.push(partition);
        }
    }
    Ok(codec::encode(&context.header, &AlterReplicaLogDirsResponse::default().with_results(results))?)
}

/// The longest name of a folder.
const FOLDER_MAX: usize = 255;
/// What the folder of the copy adds to that of the partition: a dot, 32 hex digits and `-future`.
const COPY_SUFFIX: usize = 40;

fn ask(broker: &Broker, topic: &str, index: i32, path: &str) -> ErrorCode {
    // Kafka cannot read the partition back from a name that was cut.
    let folder = format!("{topic}-{index}").len().saturating_add(COPY_SUFFIX);
    if folder > FOLDER_MAX {
        return ErrorCode::InvalidTopicException;
    }
    let partition = TopicPartition::new(topic, PartitionIndex(index));
    match broker.moves.ask(&broker.replicas, &partition, path) {
        Ok(()) => ErrorCode::None,
        Err(error) => {
            debug!(%partition, path, %error, "a partition is not moved");
            let is_known = broker.publisher.current().partition(topic, partition.partition).is_some();
            match error {
                replica::Error::NotLeaderOrFollower if !is_known => ErrorCode::UnknownTopicOrPartition,
                // As Kafka has it, for clients that know no other code here.
                replica::Error::NotLeaderOrFollower => ErrorCode::ReplicaNotAvailable,
                other => Refused::from(&other).code,
            }
        }
    }
}
