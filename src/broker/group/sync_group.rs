//! SyncGroup 0 to 5: hand in and fetch assignments.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::optional_text;
use crate::broker::group::optional_wire;
use crate::broker::group::text;
use crate::groups::command::Sync;
use crate::groups::command::Synced;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::SyncGroupRequest;
use kafka_protocol::messages::SyncGroupResponse;

/// The first version in which the member must say which protocol it believes in (KIP-559).
const PROTOCOL_FROM: i16 = 5;

/// Answers a SyncGroup request, at the latest when the leader has assigned.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: SyncGroupRequest = codec::decode(&context.header, body)?;
    let version = context.version();
    let named = request.protocol_type.is_some() && request.protocol_name.is_some();
    let synced = if version >= PROTOCOL_FROM && !named {
        Synced::error(ErrorCode::InconsistentGroupProtocol)
    } else {
        broker.groups.sync(command(&request)).await
    };
    let shown = version >= PROTOCOL_FROM;
    let response = SyncGroupResponse::default()
        .with_error_code(synced.error.code())
        .with_protocol_type(optional_wire(synced.protocol_type.as_ref().filter(|_| shown)))
        .with_protocol_name(optional_wire(synced.protocol.as_ref().filter(|_| shown)))
        .with_assignment(synced.assignment);
    Ok(codec::encode(&context.header, &response)?)
}

fn command(request: &SyncGroupRequest) -> Sync {
    Sync {
        group: text(&request.group_id),
        member_id: text(&request.member_id),
        instance_id: optional_text(request.group_instance_id.as_ref()),
        generation: request.generation_id,
        protocol_type: optional_text(request.protocol_type.as_ref()),
        protocol: optional_text(request.protocol_name.as_ref()),
        assignments: request
            .assignments
            .iter()
            .map(|assignment| (text(&assignment.member_id), assignment.assignment.clone()))
            .collect(),
    }
}
