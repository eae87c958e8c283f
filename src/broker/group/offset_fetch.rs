//! OffsetFetch 1 to 10: read offsets of one group or, from version 8 on, of many.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::broker::answer_memory::Room;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::errors::Refused;
use crate::broker::group::optional_text;
use crate::broker::group::text;
use crate::broker::group::wire;
use crate::cluster::Image;
use crate::groups::command::Fetch;
use crate::groups::command::FetchTopic;
use crate::groups::command::FetchedTopic;
use crate::io::task;
use crate::protocol::Response;
use crate::protocol::supplement::offset_fetch;
use crate::protocol::supplement::offset_fetch::Answer;
use crate::protocol::supplement::offset_fetch::Group;
use crate::protocol::supplement::offset_fetch::GroupAnswer;
use crate::protocol::supplement::offset_fetch::PartitionAnswer;
use crate::protocol::supplement::offset_fetch::TOPIC_IDS_FROM;
use crate::protocol::supplement::offset_fetch::Topic;
use crate::protocol::supplement::offset_fetch::TopicAnswer;
use bytes::Bytes;
use std::sync::Arc;

/// The first version with a place for an error of the whole group.
const GROUP_ERROR_FROM: i16 = 2;

/// What a partition without metadata takes in an answer, in bytes.
const PARTITION_BYTES: usize = 32;

/// Answers with more partitions than this are put together away from the workers: others have to be served meanwhile.
const ASIDE: usize = 2048;

/// Answers an OffsetFetch request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request = offset_fetch::decode(&context.header, body)?;
    crowd::check_names(request.groups.len())?;
    let topics = request.groups.iter().flat_map(|group| group.topics.iter().flatten());
    crowd::check_partitions(&broker.publisher.current(), topics.map(|topic| topic.partitions.len()).sum())?;
    let version = context.version();
    let mut room = broker.answer_memory.begin();
    let mut groups = Vec::with_capacity(request.groups.len());
    let mut count = 0_usize;
    for group in request.groups {
        if room.is_full() && group.topics.is_none() {
            // All that a group has may be much, even without what has no room.
            groups.push(GroupAnswer {
                group_id: group.group_id,
                error: ErrorCode::InvalidRequest,
                topics: Vec::new(),
            });
            continue;
        }
        let image = broker.publisher.current();
        let fetched = broker.groups.fetch(command(&image, version, &group, request.require_stable)).await;
        let found = fetched.iter().flatten().map(|topic| topic.partitions.len()).sum::<usize>();
        count = count.saturating_add(found);
        let work = move || {
            let mut answer = answer(&image, version, group, fetched);
            fit(&mut answer, &mut room);
            (answer, room)
        };
        let (answer, left) = if found > ASIDE { task::run_blocking(work).await } else { work() };
        groups.push(answer);
        room = left;
    }
    let header = context.header.clone();
    let encode = move || offset_fetch::encode(&header, &Answer { throttle_time_ms: 0, groups });
    let encoded = if count > ASIDE { task::run_blocking(encode).await } else { encode() };
    Ok(room.tie_to(encoded?))
}

/// Leaves out what finds no room in the answer; those partitions have an error in its place.
fn fit(answer: &mut GroupAnswer, room: &mut Room) {
    for partition in answer.topics.iter_mut().flat_map(|topic| &mut topic.partitions) {
        let metadata = partition.metadata.as_ref().map_or(0, |metadata| metadata.len());
        if !room.take(PARTITION_BYTES + metadata) {
            partition.committed_offset = -1;
            partition.committed_leader_epoch = -1;
            partition.metadata = Some(wire(""));
            partition.error = ErrorCode::InvalidRequest;
        }
    }
}

/// What the group is asked.
fn command(image: &Image, version: i16, group: &Group, require_stable: bool) -> Fetch {
    let by_id = version >= TOPIC_IDS_FROM;
    let topics = group.topics.as_ref();
    Fetch {
        group: text(&group.group_id),
        member_id: optional_text(group.member_id.as_ref()),
        member_epoch: group.member_epoch,
        topics: topics.map(|topics| topics.iter().filter_map(|topic| asked(image, by_id, topic)).collect()),
        require_stable,
    }
}

/// What it answers, for the client.
fn answer(
    image: &Image,
    version: i16,
    group: Group,
    fetched: Result<Vec<FetchedTopic>, ErrorCode>,
) -> GroupAnswer {
    let by_id = version >= TOPIC_IDS_FROM;
    let error = fetched.as_ref().err().copied().unwrap_or(ErrorCode::None);
    let mut topics: Vec<TopicAnswer> = match fetched {
        Ok(fetched) => fetched.into_iter().filter_map(|topic| found(image, by_id, topic)).collect(),
        Err(_) => Vec::new(),
    };
    for topic in group.topics.iter().flatten() {
        if error != ErrorCode::None && version < GROUP_ERROR_FROM {
            topics.push(failed(topic, error));
        } else if error == ErrorCode::None && name(image, by_id, topic).is_none() {
            topics.push(failed(topic, ErrorCode::UnknownTopicId));
        }
    }
    GroupAnswer { group_id: group.group_id, error, topics }
}

/// The topic's name; an offset may outlive its topic, so only an id must be known.
fn name(image: &Image, by_id: bool, topic: &Topic) -> Option<Arc<str>> {
    if by_id { image.topic_by_id(topic.id).map(|topic| topic.name.clone()) } else { Some(text(&topic.name)) }
}

fn asked(image: &Image, by_id: bool, topic: &Topic) -> Option<FetchTopic> {
    let name = name(image, by_id, topic)?;
    // A former topic's offsets may not be removed yet.
    let id = if by_id { topic.id } else { image.topic(&topic.name).map_or(TopicId::ZERO, |topic| topic.id) };
    Some(FetchTopic { name, id, partitions: topic.partitions.clone() })
}

/// Where topics are told by id, those that no longer exist are left out.
fn found(image: &Image, by_id: bool, topic: FetchedTopic) -> Option<TopicAnswer> {
    let id = if by_id { image.topic(&topic.name)?.id } else { TopicId::ZERO };
    if by_id && !topic.id.is_zero() && topic.id != id {
        return None;
    }
    let partitions = topic.partitions.into_iter().map(|partition| PartitionAnswer {
        index: partition.partition,
        committed_offset: partition.offset,
        committed_leader_epoch: partition.leader_epoch,
        metadata: Some(wire(&partition.metadata)),
        error: partition.error,
    });
    Some(TopicAnswer { name: wire(&topic.name), id, partitions: partitions.collect() })
}

fn failed(topic: &Topic, error: ErrorCode) -> TopicAnswer {
    let partition = |index: &i32| PartitionAnswer {
        index: *index,
        committed_offset: -1,
        committed_leader_epoch: -1,
        metadata: Some(wire("")),
        error,
    };
    let partitions = topic.partitions.iter().map(partition).collect();
    TopicAnswer { name: topic.name.clone(), id: topic.id, partitions }
}
