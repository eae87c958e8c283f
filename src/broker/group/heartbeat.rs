//! Heartbeat 0 to 4.

use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::optional_text;
use crate::broker::group::text;
use crate::groups::command::Heartbeat;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::HeartbeatRequest;
use kafka_protocol::messages::HeartbeatResponse;

/// Answers a Heartbeat request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: HeartbeatRequest = codec::decode(&context.header, body)?;
    let command = Heartbeat {
        group: text(&request.group_id),
        member_id: text(&request.member_id),
        instance_id: optional_text(request.group_instance_id.as_ref()),
        generation: request.generation_id,
    };
    let error = broker.groups.heartbeat(command).await;
    let response = HeartbeatResponse::default().with_error_code(error.code());
    Ok(codec::encode(&context.header, &response)?)
}
