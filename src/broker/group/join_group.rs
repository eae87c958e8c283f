//! JoinGroup 0 to 9: become a member and wait for the rebalance.

use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::kept;
use crate::broker::group::optional_text;
use crate::broker::group::optional_wire;
use crate::broker::group::text;
use crate::broker::group::wire;
use crate::groups::command::Join;
use crate::groups::command::Joined;
use crate::groups::command::Protocol;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::JoinGroupRequest;
use kafka_protocol::messages::JoinGroupResponse;
use kafka_protocol::messages::join_group_response::JoinGroupResponseMember;
use kafka_protocol::protocol::StrBytes;
use std::sync::Arc;

/// The first version with a rebalance timeout of its own.
const REBALANCE_TIMEOUT_FROM: i16 = 1;
/// The first version whose clients come again with the id they are given (KIP-394).
const KNOWN_MEMBER_ID_FROM: i16 = 4;
/// The first version that knows static members (KIP-345).
const INSTANCE_ID_FROM: i16 = 5;
/// The first version that tells the protocol type, and may tell no protocol (KIP-559).
const PROTOCOL_TYPE_FROM: i16 = 7;
/// The first version that can tell the leader to keep the assignment (KIP-814).
const SKIP_ASSIGNMENT_FROM: i16 = 9;

/// Answers a JoinGroup request once the join phase is over.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: JoinGroupRequest = codec::decode(&context.header, body)?;
    let joined = broker.groups.join(command(context, &request)).await;
    Ok(codec::encode(&context.header, &response(context.version(), joined))?)
}

fn command(context: &Context, request: &JoinGroupRequest) -> Join {
    let version = context.version();
    let rebalance_timeout_ms = match version >= REBALANCE_TIMEOUT_FROM {
        true => request.rebalance_timeout_ms,
        false => request.session_timeout_ms,
    };
    Join {
        group: text(&request.group_id),
        member_id: text(&request.member_id),
        new_member_id: Arc::from(""),
        instance_id: optional_text(request.group_instance_id.as_ref()),
        client_id: Arc::from(context.client_id()),
        client_host: Arc::from(context.client_host()),
        session_timeout_ms: request.session_timeout_ms,
        rebalance_timeout_ms,
        protocol_type: text(&request.protocol_type),
        protocols: request
            .protocols
            .iter()
            .map(|protocol| Protocol { name: text(&protocol.name), metadata: kept(&protocol.metadata) })
            .collect(),
        requires_known_member_id: version >= KNOWN_MEMBER_ID_FROM,
        skips_assignment: version >= SKIP_ASSIGNMENT_FROM,
        reason: optional_text(request.reason.as_ref()),
    }
}

fn response(version: i16, joined: Joined) -> JoinGroupResponse {
    let members = joined.members.into_iter().map(|member| {
        let instance_id = member.instance_id.filter(|_| version >= INSTANCE_ID_FROM);
        JoinGroupResponseMember::default()
            .with_member_id(wire(&member.member_id))
            .with_group_instance_id(optional_wire(instance_id.as_ref()))
            .with_metadata(member.metadata)
    });
    let members = members.collect();
    // Older clients take an empty name for none.
    let protocol = match optional_wire(joined.protocol.as_ref()) {
        None if version < PROTOCOL_TYPE_FROM => Some(StrBytes::new()),
        protocol => protocol,
    };
    let protocol_type = joined.protocol_type.filter(|_| version >= PROTOCOL_TYPE_FROM);
    JoinGroupResponse::default()
        .with_error_code(joined.error.code())
        .with_generation_id(joined.generation)
        .with_protocol_type(optional_wire(protocol_type.as_ref()))
        .with_protocol_name(protocol)
        .with_leader(wire(&joined.leader))
        .with_skip_assignment(joined.skip_assignment && version >= SKIP_ASSIGNMENT_FROM)
        .with_member_id(wire(&joined.member_id))
        .with_members(members)
}
