//! AlterReplicaLogDirs: moves partitions between the log directories of this broker (KIP-113). The answer comes when the
//! moves have begun; DescribeLogDirs shows how they go.

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::TopicPartition;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::io::task;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::replica;
use crate::replica::Moves;
use crate::replica::Replicas;
use bytes::Bytes;
use kafka_protocol::messages::AlterReplicaLogDirsRequest;
use kafka_protocol::messages::AlterReplicaLogDirsResponse;
use kafka_protocol::messages::alter_replica_log_dirs_response::AlterReplicaLogDirPartitionResult;
use kafka_protocol::messages::alter_replica_log_dirs_response::AlterReplicaLogDirTopicResult;
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::debug;

/// Answers an AlterReplicaLogDirs request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
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
    let (moves, replicas) = (broker.moves.clone(), Arc::clone(&broker.replicas));
    let outcomes = task::run_blocking(move || {
        let ask = |((topic, index), path): ((String, i32), String)| {
            let outcome = ask(&moves, &replicas, (&topic, index), &path);
            (topic, index, outcome)
        };
        asked.into_iter().map(ask).collect::<Vec<_>>()
    })
    .await;
    let mut results: Vec<AlterReplicaLogDirTopicResult> = Vec::new();
    for (topic, index, outcome) in outcomes {
        let code = outcome.map_or_else(|error| code(broker, (&topic, index), &error), |()| ErrorCode::None);
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

fn ask(
    moves: &Moves,
    replicas: &Replicas,
    (topic, index): (&str, i32),
    path: &str,
) -> Result<(), Option<replica::Error>> {
    // Kafka cannot read the partition back from a name that was cut.
    let folder = format!("{topic}-{index}").len().saturating_add(COPY_SUFFIX);
    if folder > FOLDER_MAX {
        return Err(None);
    }
    let partition = TopicPartition::new(topic, PartitionIndex(index));
    moves.ask(replicas, &partition, path).map_err(|error| {
        debug!(%partition, path, %error, "a partition is not moved");
        Some(error)
    })
}

/// What is answered; a name that is too long for the copy's folder has no error of its own.
fn code(broker: &Broker, (topic, index): (&str, i32), error: &Option<replica::Error>) -> ErrorCode {
    let is_known = || broker.publisher.current().partition(topic, PartitionIndex(index)).is_some();
    match error {
        None => ErrorCode::InvalidTopicException,
        Some(replica::Error::NotLeaderOrFollower) if !is_known() => ErrorCode::UnknownTopicOrPartition,
        // As Kafka has it, for clients that know no other code here.
        Some(replica::Error::NotLeaderOrFollower) => ErrorCode::ReplicaNotAvailable,
        Some(other) => Refused::from(other).code,
    }
}
