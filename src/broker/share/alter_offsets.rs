//! AlterShareGroupOffsets 0 and DeleteShareGroupOffsets 0: let an empty share group go on elsewhere, or begin anew.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::text;
use crate::broker::share::coordination;
use crate::broker::wire::some_text;
use crate::broker::wire::topic_name;
use crate::groups::assign::Partitions;
use crate::groups::consumer::command::Fault;
use crate::groups::share::command::Alter;
use crate::groups::share::command::Altered;
use crate::groups::share::command::Answer;
use crate::groups::share::command::Command;
use crate::groups::share::command::Forget;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::share::Failure;
use bytes::Bytes;
use kafka_protocol::messages::AlterShareGroupOffsetsRequest;
use kafka_protocol::messages::AlterShareGroupOffsetsResponse;
use kafka_protocol::messages::DeleteShareGroupOffsetsRequest;
use kafka_protocol::messages::DeleteShareGroupOffsetsResponse;
use kafka_protocol::messages::alter_share_group_offsets_response::AlterShareGroupOffsetsResponsePartition;
use kafka_protocol::messages::alter_share_group_offsets_response::AlterShareGroupOffsetsResponseTopic;
use kafka_protocol::messages::delete_share_group_offsets_response::DeleteShareGroupOffsetsResponseTopic;
use kafka_protocol::protocol::StrBytes;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The words of a refusal; those of its code when it has none.
fn words(fault: &Fault) -> Option<StrBytes> {
    let message = Some(fault.message.as_str()).filter(|message| !message.is_empty());
    some_text(message.or_else(|| Some(fault.code.name())))
}

fn plain(code: ErrorCode) -> Fault {
    Fault::new(code, "")
}

fn permitted(broker: &Broker, group: &str) -> Result<(), Fault> {
    if !broker.share.is_enabled() {
        return Err(plain(ErrorCode::UnsupportedVersion));
    }
    if group.is_empty() {
        return Err(plain(ErrorCode::InvalidGroupId));
    }
    Ok(())
}

/// Answers an AlterShareGroupOffsets request.
pub(crate) async fn alter(broker: &Arc<Broker>, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: AlterShareGroupOffsetsRequest = codec::decode(&context.header, body)?;
    let group = text(&request.group_id);
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|one| (one.partition_index, one.start_offset));
        (text(&topic.topic_name), partitions.collect())
    });
    let command = Alter { group: Arc::clone(&group), topics: topics.collect() };
    let response = match begin_alteration(broker, command).await {
        Ok(altered) => {
            let failed = coordination::initialize(broker, &group, &altered.initialize).await;
            broker.share.forget_group(&group);
            let failure = |topic: TopicId, partition: i32| {
                failed.iter().find(|(id, index, _)| (*id, *index) == (topic, partition)).map(|one| one.2)
            };
            let topics = altered.topics.iter().map(|topic| {
                let partitions = topic
                    .partitions
                    .iter()
                    .map(|(index, code)| altered_partition(*index, *code, failure(topic.id, *index)));
                AlterShareGroupOffsetsResponseTopic::default()
                    .with_topic_name(topic_name(&topic.name))
                    .with_topic_id(topic.id.0)
                    .with_partitions(partitions.collect())
            });
            AlterShareGroupOffsetsResponse::default().with_responses(topics.collect())
        }
        Err(fault) => AlterShareGroupOffsetsResponse::default()
            .with_error_code(fault.code.code())
            .with_error_message(words(&fault)),
    };
    Ok(codec::encode(&context.header, &response)?)
}

async fn begin_alteration(broker: &Broker, command: Alter) -> Result<Altered, Fault> {
    let group = Arc::clone(&command.group);
    permitted(broker, &group)?;
    match coordination::ask(broker, &group, Command::Alter(command)).await.map_err(plain)? {
        Answer::Alter(result) => result,
        other => Err(plain(coordination::unexpected(&other))),
    }
}

fn altered_partition(
    index: i32,
    code: ErrorCode,
    failure: Option<Failure>,
) -> AlterShareGroupOffsetsResponsePartition {
    let code = failure.map_or(code, |failure| failure.code);
    let own = failure.and_then(|failure| failure.message);
    let message = own.or_else(|| (code != ErrorCode::None).then(|| message_of(code)));
    AlterShareGroupOffsetsResponsePartition::default()
        .with_partition_index(index)
        .with_error_code(code.code())
        .with_error_message(some_text(message))
}

/// Kafka's words for what can be wrong with a partition here.
fn message_of(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::UnknownTopicOrPartition => "This server does not host this topic-partition.",
        other => other.name(),
    }
}

/// Answers a DeleteShareGroupOffsets request.
pub(crate) async fn delete(
    broker: &Arc<Broker>,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let request: DeleteShareGroupOffsetsRequest = codec::decode(&context.header, body)?;
    let group = text(&request.group_id);
    let topics = request.topics.iter().map(|topic| text(&topic.topic_name)).collect();
    let response = match delete_topics(broker, &group, topics).await {
        Ok(topics) => DeleteShareGroupOffsetsResponse::default().with_responses(topics),
        Err(fault) => DeleteShareGroupOffsetsResponse::default()
            .with_error_code(fault.code.code())
            .with_error_message(words(&fault)),
    };
    Ok(codec::encode(&context.header, &response)?)
}

async fn delete_topics(
    broker: &Broker,
    group: &Arc<str>,
    topics: Vec<Arc<str>>,
) -> Result<Vec<DeleteShareGroupOffsetsResponseTopic>, Fault> {
    permitted(broker, group)?;
    let command = Command::Forget(Arc::clone(group), topics);
    let begun = match coordination::ask(broker, group, command).await.map_err(plain)? {
        Answer::Forget(result) => result?,
        other => return Err(plain(coordination::unexpected(&other))),
    };
    let doomed: Partitions = begun.iter().filter_map(|one| one.what.clone().ok()).collect();
    let failed = match doomed.is_empty() {
        true => Vec::new(),
        false => coordination::delete(broker, group, &doomed).await,
    };
    let failure = |topic: TopicId| failed.iter().find(|(id, _, _)| *id == topic).map(|one| one.2);
    let done: BTreeSet<TopicId> = doomed.keys().copied().filter(|id| failure(*id).is_none()).collect();
    if !done.is_empty() {
        let command = Command::Forgotten(Arc::clone(group), done);
        coordination::ask(broker, group, command).await.map_err(plain)?;
    }
    Ok(begun.into_iter().map(|one| deleted_topic(one, failure)).collect())
}

fn deleted_topic(
    one: Forget,
    failure: impl Fn(TopicId) -> Option<Failure>,
) -> DeleteShareGroupOffsetsResponseTopic {
    let topic = DeleteShareGroupOffsetsResponseTopic::default().with_topic_name(topic_name(&one.name));
    match one.what {
        Err(fault) => topic.with_error_code(fault.code.code()).with_error_message(words(&fault)),
        Ok((id, _)) => match failure(id) {
            None => topic.with_topic_id(id.0),
            Some(failure) => topic
                .with_topic_id(id.0)
                .with_error_code(failure.code.code())
                .with_error_message(some_text(Some(message_of(failure.code)))),
        },
    }
}
