//! OffsetCommit 2 to 10: store offsets of topics that exist.

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::optional_text;
use crate::broker::group::text;
use crate::cluster::Image;
use crate::cluster::Topic;
use crate::groups::command::Commit;
use crate::groups::command::CommitPartition;
use crate::groups::command::CommitTopic;
use crate::protocol::Response;
use crate::protocol::supplement::offset_commit;
use crate::protocol::supplement::offset_commit::Answer;
use crate::protocol::supplement::offset_commit::Partition;
use crate::protocol::supplement::offset_commit::Request;
use crate::protocol::supplement::offset_commit::TOPIC_IDS_FROM;
use crate::protocol::supplement::offset_commit::TopicAnswer;
use bytes::Bytes;
use std::sync::Arc;

/// The first version that learns by a code of its own that a group does not exist (KIP-848).
const GROUP_ID_NOT_FOUND_FROM: i16 = 9;

/// Answers an OffsetCommit request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request = offset_commit::decode(&context.header, body)?;
    let image = broker.publisher.current();
    let by_id = context.version() >= TOPIC_IDS_FROM;
    let sorted: Vec<Sorted<'_>> =
        request.topics.iter().map(|topic| Sorted::of(by_id, &image, topic)).collect();
    let command = command(context.version(), &request, &sorted);
    let codes = if command.topics.is_empty() { Ok(Vec::new()) } else { broker.groups.commit(command).await };
    let answer = Answer { throttle_time_ms: 0, topics: by_topic(&sorted, codes) };
    Ok(offset_commit::encode(&context.header, &answer)?)
}

/// A topic of the request: whether it exists, and which of its partitions do.
pub(crate) struct Sorted<'a> {
    topic: Result<&'a Arc<Topic>, ErrorCode>,
    asked: &'a offset_commit::Topic,
}

impl<'a> Sorted<'a> {
    /// Looks a topic up, by its id or by its name.
    pub(crate) fn of(by_id: bool, image: &'a Image, asked: &'a offset_commit::Topic) -> Sorted<'a> {
        let topic = if by_id {
            image.topic_by_id(asked.id).ok_or(ErrorCode::UnknownTopicId)
        } else {
            image.topic(&asked.name).ok_or(ErrorCode::UnknownTopicOrPartition)
        };
        Sorted { topic, asked }
    }

    fn exists(&self, partition: &Partition) -> Result<(), ErrorCode> {
        let topic = self.topic?;
        let found = topic.partition(PartitionIndex(partition.index));
        found.map(|_| ()).ok_or(ErrorCode::UnknownTopicOrPartition)
    }

    /// What there is to store.
    pub(crate) fn known(&self) -> Option<CommitTopic> {
        let topic = self.topic.ok()?;
        let known = self.asked.partitions.iter().filter(|partition| self.exists(partition).is_ok());
        let partitions: Vec<CommitPartition> = known
            .map(|partition| CommitPartition {
                partition: partition.index,
                offset: partition.committed_offset,
                leader_epoch: partition.committed_leader_epoch,
                metadata: optional_text(partition.committed_metadata.as_ref()),
            })
            .collect();
        // Also where it was named: what is committed for a topic made anew must outlive the former one's offsets.
        let id = topic.id;
        (!partitions.is_empty()).then(|| CommitTopic { name: topic.name.clone(), id, partitions })
    }
}

fn command(version: i16, request: &Request, sorted: &[Sorted<'_>]) -> Commit {
    Commit {
        group: text(&request.group_id),
        member_id: text(&request.member_id),
        instance_id: optional_text(request.group_instance_id.as_ref()),
        generation: request.generation_id_or_member_epoch,
        retention_ms: (request.retention_time_ms != -1).then_some(request.retention_time_ms),
        knows_group_id_not_found: version >= GROUP_ID_NOT_FOUND_FROM,
        transaction: None,
        topics: sorted.iter().filter_map(Sorted::known).collect(),
    }
}

/// The groups' codes for what exists, in order, between those for what does not; an error of the whole request
/// stands at every partition, of which there is one place each.
pub(crate) fn by_topic(
    sorted: &[Sorted<'_>],
    codes: Result<Vec<Vec<ErrorCode>>, ErrorCode>,
) -> Vec<TopicAnswer> {
    let whole = codes.as_ref().err().copied();
    let mut codes = codes.unwrap_or_default().into_iter().flatten();
    let mut topics = Vec::with_capacity(sorted.len());
    for topic in sorted {
        let mut partitions = Vec::with_capacity(topic.asked.partitions.len());
        for partition in &topic.asked.partitions {
            let code = match (topic.exists(partition), whole) {
                (Err(error), _) => error,
                (Ok(()), Some(error)) => error,
                (Ok(()), None) => codes.next().unwrap_or(ErrorCode::UnknownServerError),
            };
            partitions.push((partition.index, code));
        }
        topics.push(TopicAnswer { name: topic.asked.name.clone(), id: topic.asked.id, partitions });
    }
    topics
}
