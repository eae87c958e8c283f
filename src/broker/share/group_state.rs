//! The share coordinator's APIs, which brokers ask: InitializeShareGroupState, ReadShareGroupState,
//! WriteShareGroupState, DeleteShareGroupState, ReadShareGroupStateSummary.

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::wire::some_text;
use crate::broker::wire::topic_id;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::protocol::supplement::share_state;
use crate::protocol::supplement::share_state::StateBatch;
use crate::protocol::supplement::share_state::Written;
use crate::share::Failure;
use crate::share::Key;
use crate::share::state::batches::Batch;
use crate::share::state::batches::State;
use crate::share::state::command::Found;
use crate::share::state::command::Write;
use bytes::Bytes;
use kafka_protocol::messages::DeleteShareGroupStateRequest;
use kafka_protocol::messages::DeleteShareGroupStateResponse;
use kafka_protocol::messages::InitializeShareGroupStateRequest;
use kafka_protocol::messages::InitializeShareGroupStateResponse;
use kafka_protocol::messages::ReadShareGroupStateRequest;
use kafka_protocol::messages::ReadShareGroupStateResponse;
use kafka_protocol::messages::delete_share_group_state_response::DeleteStateResult;
use kafka_protocol::messages::delete_share_group_state_response::PartitionResult as Deleted;
use kafka_protocol::messages::initialize_share_group_state_response::InitializeStateResult;
use kafka_protocol::messages::initialize_share_group_state_response::PartitionResult as Initialized;
use kafka_protocol::messages::read_share_group_state_response::PartitionResult as ReadResult;
use kafka_protocol::messages::read_share_group_state_response::ReadStateResult;
use kafka_protocol::messages::read_share_group_state_response::StateBatch as ReadBatch;
use kafka_protocol::protocol::StrBytes;
use std::sync::Arc;

/// The group, unless the request is empty in some way: such a one gets an empty answer (`ShareCoordinatorService`).
fn group_of(group: &StrBytes, mut counts: impl Iterator<Item = usize>) -> Option<Arc<str>> {
    let empty = group.is_empty() || counts.any(|count| count == 0);
    (!empty).then(|| Arc::from(group.as_str()))
}

fn key(group: &Arc<str>, topic: TopicId, partition: i32) -> Key {
    Key { group: Arc::clone(group), topic, partition: PartitionIndex(partition) }
}

fn words(failure: Option<Failure>) -> (i16, Option<StrBytes>) {
    let code = failure.map_or(ErrorCode::None, |failure| failure.code);
    (code.code(), some_text(failure.and_then(message)))
}

/// An error has words; where it has none of its own, those of its code.
fn message(failure: Failure) -> Option<&'static str> {
    failure.message.or_else(|| Some(failure.code.name()))
}

/// Answers an InitializeShareGroupState request.
pub(crate) async fn initialize(
    broker: &Arc<Broker>,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let request: InitializeShareGroupStateRequest = codec::decode(&context.header, body)?;
    let mut results = Vec::with_capacity(request.topics.len());
    // Here a topic without partitions is passed over, and the others count.
    if let Some(group) = group_of(&request.group_id, std::iter::empty()) {
        for topic in request.topics.into_iter().filter(|topic| !topic.partitions.is_empty()) {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for one in topic.partitions {
                let key = key(&group, topic_id(topic.topic_id), one.partition);
                let done = broker.share.states().initialize(&key, one.state_epoch, one.start_offset).await;
                let (code, message) = words(done.err());
                partitions.push(
                    Initialized::default()
                        .with_partition(one.partition)
                        .with_error_code(code)
                        .with_error_message(message),
                );
            }
            let result = InitializeStateResult::default().with_topic_id(topic.topic_id);
            results.push(result.with_partitions(partitions));
        }
    }
    let response = InitializeShareGroupStateResponse::default().with_results(results);
    Ok(codec::encode(&context.header, &response)?)
}

/// Answers a ReadShareGroupState request.
pub(crate) async fn read(broker: &Arc<Broker>, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: ReadShareGroupStateRequest = codec::decode(&context.header, body)?;
    let mut room = broker.answer_memory.begin();
    let mut results = Vec::with_capacity(request.topics.len());
    let counts = request.topics.iter().map(|topic| topic.partitions.len());
    if let Some(group) = group_of(&request.group_id, counts) {
        for topic in request.topics {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for one in topic.partitions {
                let key = key(&group, topic_id(topic.topic_id), one.partition);
                let found = match room.is_full() {
                    true => Err(ErrorCode::InvalidRequest.into()),
                    false => broker.share.states().read(&key, one.leader_epoch).await,
                };
                let mut result = read_result(one.partition, found);
                if !room.take_encoded(&result, context.version()) {
                    result = read_result(one.partition, Err(ErrorCode::InvalidRequest.into()));
                }
                partitions.push(result);
            }
            results
                .push(ReadStateResult::default().with_topic_id(topic.topic_id).with_partitions(partitions));
        }
    }
    let response = ReadShareGroupStateResponse::default().with_results(results);
    Ok(room.tie_to(codec::encode(&context.header, &response)?))
}

fn read_result(partition: i32, found: Result<Found, Failure>) -> ReadResult {
    let result = ReadResult::default().with_partition(partition);
    match found {
        Ok(found) => result
            .with_state_epoch(found.state_epoch)
            .with_start_offset(found.start)
            .with_state_batches(found.batches.iter().map(read_batch).collect()),
        Err(failure) => {
            let (code, message) = words(Some(failure));
            result.with_error_code(code).with_error_message(message)
        }
    }
}

fn read_batch(batch: &Batch) -> ReadBatch {
    ReadBatch::default()
        .with_first_offset(batch.first)
        .with_last_offset(batch.end.saturating_sub(1))
        .with_delivery_state(batch.state.number())
        .with_delivery_count(batch.count)
}

/// Answers a WriteShareGroupState request.
pub(crate) async fn write(broker: &Arc<Broker>, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request = share_state::decode_write(&context.header, body)?;
    let mut results = Vec::with_capacity(request.topics.len());
    let counts = request.topics.iter().map(|(_, partitions)| partitions.len());
    if let Some(group) = group_of(&request.group_id, counts) {
        for (topic, writes) in request.topics {
            let mut partitions = Vec::with_capacity(writes.len());
            for one in writes {
                let index = one.index;
                let done = match write_of(key(&group, topic, index), &one) {
                    Some(write) => broker.share.states().write(write).await,
                    None => Err(ErrorCode::InvalidRequest.into()),
                };
                let failure = done.err();
                partitions.push(Written {
                    index,
                    error: failure.map_or(ErrorCode::None, |failure| failure.code),
                    error_message: failure.and_then(message).map(str::to_owned),
                });
            }
            results.push((topic, partitions));
        }
    }
    Ok(share_state::encode_write(&context.header, &results)?)
}

/// The write; `None` when its batches are not such.
fn write_of(key: Key, one: &share_state::Write) -> Option<Write> {
    let batch = |batch: &StateBatch| {
        let end = batch.last_offset.checked_add(1).filter(|end| *end > batch.first_offset)?;
        let state = State::from_number(batch.delivery_state)?;
        Some(Batch { first: batch.first_offset, end, state, count: batch.delivery_count })
    };
    Some(Write {
        key,
        state_epoch: one.state_epoch,
        leader_epoch: one.leader_epoch,
        start: one.start_offset,
        complete: one.delivery_complete_count,
        batches: one.batches.iter().map(batch).collect::<Option<Vec<Batch>>>()?,
        known: true,
    })
}

/// Answers a DeleteShareGroupState request.
pub(crate) async fn delete(
    broker: &Arc<Broker>,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let request: DeleteShareGroupStateRequest = codec::decode(&context.header, body)?;
    let mut results = Vec::with_capacity(request.topics.len());
    let counts = request.topics.iter().map(|topic| topic.partitions.len());
    if let Some(group) = group_of(&request.group_id, counts) {
        for topic in request.topics {
            let mut partitions = Vec::with_capacity(topic.partitions.len());
            for one in topic.partitions {
                let key = key(&group, topic_id(topic.topic_id), one.partition);
                let (code, message) = words(broker.share.states().delete(&key).await.err());
                partitions.push(
                    Deleted::default()
                        .with_partition(one.partition)
                        .with_error_code(code)
                        .with_error_message(message),
                );
            }
            results
                .push(DeleteStateResult::default().with_topic_id(topic.topic_id).with_partitions(partitions));
        }
    }
    let response = DeleteShareGroupStateResponse::default().with_results(results);
    Ok(codec::encode(&context.header, &response)?)
}

/// Answers a ReadShareGroupStateSummary request.
pub(crate) async fn summarize(
    broker: &Arc<Broker>,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let request = share_state::decode_summarize(&context.header, body)?;
    let mut results = Vec::with_capacity(request.topics.len());
    let counts = request.topics.iter().map(|(_, partitions)| partitions.len());
    if let Some(group) = group_of(&request.group_id, counts) {
        for (topic, asked) in request.topics {
            let mut partitions = Vec::with_capacity(asked.len());
            for one in asked {
                let summary = broker.share.states().summarize(&key(&group, topic, one.index)).await;
                partitions.push(match summary {
                    Ok(summary) => share_state::Summary {
                        index: one.index,
                        error: ErrorCode::None,
                        error_message: None,
                        state_epoch: summary.state_epoch,
                        leader_epoch: summary.leader_epoch,
                        start_offset: summary.start,
                        delivery_complete_count: summary.complete,
                    },
                    Err(failure) => share_state::Summary {
                        index: one.index,
                        error: failure.code,
                        error_message: message(failure).map(str::to_owned),
                        state_epoch: 0,
                        leader_epoch: 0,
                        start_offset: 0,
                        delivery_complete_count: -1,
                    },
                });
            }
            results.push((topic, partitions));
        }
    }
    Ok(share_state::encode_summary(&context.header, &results)?)
}
