//! ShareAcknowledge 1 and 2: what a member is done with.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::data::leader::Leaders;
use crate::broker::data::leader::Topic;
use crate::broker::errors::Refused;
use crate::broker::share::acknowledgements;
use crate::broker::share::acknowledgements::Form;
use crate::broker::share::member_of;
use crate::protocol::Response;
use crate::protocol::supplement::share_acknowledge;
use crate::protocol::supplement::share_acknowledge::Answer;
use crate::protocol::supplement::share_acknowledge::PartitionAnswer;
use crate::protocol::supplement::share_acknowledge::Request;
use crate::share::sessions::FINAL_EPOCH;
use bytes::Bytes;
use std::sync::Arc;

/// Answers a ShareAcknowledge request.
pub(crate) async fn handle(
    broker: &Arc<Broker>,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let request = share_acknowledge::decode(&context.header, body)?;
    let answer = match acknowledge(broker, context, &request).await {
        Ok(answer) => answer,
        Err(refused) => Answer {
            error: refused.code,
            // Kafka has no words for the whole (`ShareAcknowledgeRequest.getErrorResponse`).
            error_message: None,
            lock_timeout_ms: 0,
            topics: Vec::new(),
            node_endpoints: Vec::new(),
        },
    };
    Ok(share_acknowledge::encode(&context.header, &answer)?)
}

async fn acknowledge(broker: &Arc<Broker>, context: &Context, request: &Request) -> Result<Answer, Refused> {
    let member = member_of(broker, request.group_id.as_ref(), request.member_id.as_ref())?;
    let count = request.topics.iter().map(|topic| topic.partitions.len()).sum();
    if crowd::too_many(&broker.publisher.current(), count) {
        return Err(ErrorCode::InvalidRequest.into());
    }
    broker.share.sessions().acknowledge(&member, request.session_epoch)?;
    let form = Form { version: context.version(), is_renew: request.is_renew };
    let results = acknowledgements::take(broker, &member, &request.topics, form).await;
    if request.session_epoch == FINAL_EPOCH {
        broker.share.close(&member);
    }
    let mut leaders = Leaders::new(broker, &context.connection.listener);
    let mut topics: Vec<(TopicId, Vec<PartitionAnswer>)> = Vec::new();
    for ((topic, index), result) in results {
        let failure = result.err();
        let error = failure.map_or(ErrorCode::None, |failure| failure.code);
        let moved = matches!(error, ErrorCode::NotLeaderOrFollower | ErrorCode::FencedLeaderEpoch);
        let partition = PartitionAnswer {
            index: index.0,
            error,
            error_message: failure.and_then(|failure| failure.message).map(str::to_owned),
            current_leader: moved.then(|| leaders.of(Topic::Id(topic), index)),
        };
        match topics.iter_mut().find(|(id, _)| *id == topic) {
            Some((_, partitions)) => partitions.push(partition),
            None => topics.push((topic, vec![partition])),
        }
    }
    let lock_ms = broker.share.rules(&member.group).lock_duration.as_millis();
    Ok(Answer {
        error: ErrorCode::None,
        error_message: None,
        lock_timeout_ms: i32::try_from(lock_ms).unwrap_or(i32::MAX),
        topics,
        node_endpoints: leaders.endpoints,
    })
}
