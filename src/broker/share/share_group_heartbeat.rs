//! ShareGroupHeartbeat 1: everything that a member of a share group does but reading (KIP-932).

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::optional_text;
use crate::broker::group::text;
use crate::broker::share::coordination;
use crate::broker::share::is_member_id;
use crate::broker::wire::some_text;
use crate::groups::assign::Partitions;
use crate::groups::consumer::command::Fault;
use crate::groups::share::command::Answer;
use crate::groups::share::command::Beaten;
use crate::groups::share::command::Command;
use crate::groups::share::command::Heartbeat;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::ShareGroupHeartbeatRequest;
use kafka_protocol::messages::ShareGroupHeartbeatResponse;
use kafka_protocol::messages::share_group_heartbeat_response::Assignment;
use kafka_protocol::messages::share_group_heartbeat_response::TopicPartitions;
use std::sync::Arc;

/// Answers a ShareGroupHeartbeat request.
pub(crate) async fn handle(
    broker: &Arc<Broker>,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let request: ShareGroupHeartbeatRequest = codec::decode(&context.header, body)?;
    let response = match heartbeat(broker, context, &request).await {
        Ok(beaten) => ShareGroupHeartbeatResponse::default()
            .with_member_id(Some(request.member_id))
            .with_member_epoch(beaten.epoch)
            .with_heartbeat_interval_ms(beaten.interval_ms)
            .with_assignment(beaten.assignment.map(assignment)),
        Err(fault) => {
            let message = Some(fault.message.as_str()).filter(|message| !message.is_empty());
            ShareGroupHeartbeatResponse::default()
                .with_error_code(fault.code.code())
                .with_error_message(some_text(message))
        }
    };
    Ok(codec::encode(&context.header, &response)?)
}

async fn heartbeat(
    broker: &Arc<Broker>,
    context: &Context,
    request: &ShareGroupHeartbeatRequest,
) -> Result<Beaten, Fault> {
    let refuse = |code: ErrorCode| Fault::new(code, "");
    if !broker.share.is_enabled() {
        return Err(refuse(ErrorCode::UnsupportedVersion));
    }
    let command = command(context, request)?;
    let group = command.group.clone();
    let command = Command::Heartbeat(Box::new(command));
    match coordination::ask(broker, &group, command).await.map_err(refuse)? {
        Answer::Heartbeat(result) => {
            let mut beaten = result?;
            coordination::initialize_later(broker, &group, std::mem::take(&mut beaten.initialize));
            Ok(beaten)
        }
        other => Err(refuse(coordination::unexpected(&other))),
    }
}

/// The request as the group takes it.
///
/// # Errors
/// INVALID_REQUEST, without words as in Kafka (`ShareGroupHeartbeatRequest.getErrorResponse`), for a member id that
/// cannot be.
pub(in crate::broker) fn command(
    context: &Context,
    request: &ShareGroupHeartbeatRequest,
) -> Result<Heartbeat, Fault> {
    if !is_member_id(&request.member_id) {
        return Err(Fault::new(ErrorCode::InvalidRequest, ""));
    }
    let topics = request.subscribed_topic_names.as_ref();
    Ok(Heartbeat {
        group: text(&request.group_id),
        member_id: text(&request.member_id),
        epoch: request.member_epoch,
        rack_id: optional_text(request.rack_id.as_ref()),
        topics: topics.map(|topics| topics.iter().map(|topic| text(topic)).collect()),
        client_id: Arc::from(context.client_id()),
        client_host: Arc::from(context.client_host()),
    })
}

fn assignment(partitions: Partitions) -> Assignment {
    let topics = partitions.into_iter().map(|(topic, partitions)| {
        TopicPartitions::default().with_topic_id(topic.0).with_partitions(partitions.into_iter().collect())
    });
    Assignment::default().with_topic_partitions(topics.collect())
}
