//! What group coordinator and share coordinator do for each other: the one knows which share-partitions a group has, the
//! other keeps them.

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::groups::assign::Partitions;
use crate::groups::share::command::Answer;
use crate::groups::share::command::Command;
use crate::groups::share::command::Initialize;
use crate::share::Failure;
use crate::share::Key;
use std::sync::Arc;

/// Why something did not come to be, by partition.
pub(super) type Failed = Vec<(TopicId, i32, Failure)>;

fn key(group: &Arc<str>, topic: TopicId, partition: i32) -> Key {
    Key { group: Arc::clone(group), topic, partition: PartitionIndex(partition) }
}

/// Has share-partitions made, and tells the group. If one fails, none counts as made, and all are asked for again.
pub(super) async fn initialize(broker: &Broker, group: &Arc<str>, wanted: &[Initialize]) -> Failed {
    let pieces = wanted.iter().map(|one| {
        let (states, key) = (broker.share.states().clone(), key(group, one.topic, one.partition));
        let one = *one;
        async move { states.initialize(&key, one.state_epoch, one.start).await }
    });
    let results = broker.share.together(pieces).await;
    let mut failed = Failed::new();
    let mut partitions = Partitions::new();
    for (one, result) in wanted.iter().zip(results) {
        partitions.entry(one.topic).or_default().insert(one.partition);
        if let Err(failure) = result {
            failed.push((one.topic, one.partition, failure));
        }
    }
    if let Some((topic, partition, failure)) = failed.first() {
        tracing::warn!(group = %group, %topic, partition, code = %failure.code, "share state is not made");
    }
    let command = match failed.is_empty() {
        true => Command::Initialized(Arc::clone(group), partitions),
        false => Command::Uninitialized(Arc::clone(group), partitions),
    };
    if let Err(code) = broker.groups.share(group, command).await {
        tracing::warn!(group = %group, %code, "the group does not know of its share state");
    }
    failed
}

/// The same while whoever asked goes on.
pub(super) fn initialize_later(broker: &Arc<Broker>, group: &Arc<str>, wanted: Vec<Initialize>) {
    if wanted.is_empty() {
        return;
    }
    let (owner, group) = (Arc::clone(broker), Arc::clone(group));
    broker.share.in_background(async move {
        initialize(&owner, &group, &wanted).await;
    });
}

/// Has share-partitions deleted.
pub(super) async fn delete(broker: &Broker, group: &Arc<str>, wanted: &Partitions) -> Failed {
    let places = || {
        let of_topic = |(topic, partitions): (&TopicId, &std::collections::BTreeSet<i32>)| {
            let topic = *topic;
            partitions.iter().map(move |partition| (topic, *partition)).collect::<Vec<_>>()
        };
        wanted.iter().flat_map(of_topic)
    };
    let pieces = places().map(|(topic, partition)| {
        let (states, key) = (broker.share.states().clone(), key(group, topic, partition));
        async move { states.delete(&key).await }
    });
    let results = broker.share.together(pieces).await;
    let failed = places().zip(results).filter_map(|((topic, partition), result)| {
        let failure = result.err()?;
        tracing::warn!(group = %group, %topic, partition, code = %failure.code, "share state is not deleted");
        Some((topic, partition, failure))
    });
    let failed = failed.collect();
    broker.share.forget_group(group);
    failed
}

/// Deletes what the share coordinator has of those of these groups that are share groups. In order: why a group cannot be
/// deleted, if so.
pub(crate) async fn delete_groups(broker: &Broker, groups: &[Arc<str>]) -> Vec<Option<ErrorCode>> {
    let doomed = broker.groups.doom_share(groups).await;
    let mut refused = Vec::with_capacity(groups.len());
    for (group, doomed) in groups.iter().zip(doomed) {
        refused.push(match doomed {
            Err(code) => Some(code),
            Ok(partitions) if partitions.is_empty() => None,
            Ok(partitions) => delete(broker, group, &partitions).await.first().map(|(_, _, why)| why.code),
        });
    }
    refused
}

/// Asks for something of a share group; an answer to another question would be our fault.
pub(super) async fn ask(broker: &Broker, group: &str, command: Command) -> Result<Answer, ErrorCode> {
    broker.groups.share(group, command).await
}

/// The code for an answer that does not fit.
pub(super) fn unexpected(answer: &Answer) -> ErrorCode {
    tracing::error!(?answer, "answer to another command");
    ErrorCode::UnknownServerError
}
