//! DeleteTopics, by name and since version 6 by id.

use super::change;
use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::throttling::Mutation;
use crate::broker::wire;
use crate::cluster::command::TopicDeletion;
use crate::cluster::command::TopicToDelete;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::DeleteTopicsRequest;
use kafka_protocol::messages::DeleteTopicsResponse;
use kafka_protocol::messages::delete_topics_response::DeletableTopicResult;

/// From this version on answers have messages.
const WITH_MESSAGES: i16 = 5;
/// Before this version clients did not know `TOPIC_DELETION_DISABLED`.
const WITH_DISABLED: i16 = 3;

/// From this version on a client beyond its limit is refused.
const STRICT_SINCE: i16 = 5;

/// Answers a DeleteTopics request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let version = context.version();
    let request: DeleteTopicsRequest = codec::decode(&context.header, body)?;
    let topics = asked(&request);
    let mutation = Mutation::begin(broker, context, STRICT_SINCE);
    let asked = mutation.controller();
    let outcome = change(broker, request.timeout_ms, asked.delete_topics(topics.clone())).await;
    let deletions = match outcome {
        Ok(deletions) => deletions.into_iter().map(result).collect(),
        Err(refused) => refused_all(&topics, &refused, version),
    };
    let mut responses: Vec<DeletableTopicResult> = deletions;
    if version < WITH_MESSAGES {
        responses.iter_mut().for_each(|response| response.error_message = None);
    }
    let codes: Vec<i16> = responses.iter().map(|response| response.error_code).collect();
    let mut response =
        codec::encode(&context.header, &DeleteTopicsResponse::default().with_responses(responses))?;
    mutation.end(&mut response, codes);
    Ok(response)
}

fn asked(request: &DeleteTopicsRequest) -> Vec<TopicToDelete> {
    let by_name = request.topic_names.iter();
    let by_name = by_name.map(|name| TopicToDelete { name: Some(name.to_string()), id: TopicId::ZERO });
    let either = request.topics.iter().map(|topic| TopicToDelete {
        name: topic.name.as_ref().map(|name| name.to_string()),
        id: wire::topic_id(topic.topic_id),
    });
    by_name.chain(either).collect()
}

fn result(deletion: TopicDeletion) -> DeletableTopicResult {
    let (code, message) = match deletion.result {
        Ok(()) => (ErrorCode::None, None),
        Err(refusal) => (refusal.code, refusal.message),
    };
    DeletableTopicResult::default()
        .with_name(deletion.name.as_deref().map(wire::topic_name))
        .with_topic_id(deletion.id.0)
        .with_error_code(code.code())
        .with_error_message(wire::some_text(message.as_deref()))
}

fn refused_all(topics: &[TopicToDelete], refused: &Refused, version: i16) -> Vec<DeletableTopicResult> {
    let disabled = refused.code == ErrorCode::TopicDeletionDisabled;
    let code = if disabled && version < WITH_DISABLED { ErrorCode::InvalidRequest } else { refused.code };
    let result = |topic: &TopicToDelete| {
        DeletableTopicResult::default()
            .with_name(topic.name.as_deref().map(wire::topic_name))
            .with_topic_id(topic.id.0)
            .with_error_code(code.code())
            .with_error_message(wire::some_text(refused.message.as_deref()))
    };
    topics.iter().map(result).collect()
}
