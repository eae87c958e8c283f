//! LeaveGroup 0 to 5: one member until version 2, many from version 3 on.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::optional_text;
use crate::broker::group::optional_wire;
use crate::broker::group::text;
use crate::broker::group::wire;
use crate::groups::command::Leave;
use crate::groups::command::Leaver;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::LeaveGroupRequest;
use kafka_protocol::messages::LeaveGroupResponse;
use kafka_protocol::messages::leave_group_response::MemberResponse;

/// The first version with many members.
const MEMBERS_FROM: i16 = 3;

/// Answers a LeaveGroup request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: LeaveGroupRequest = codec::decode(&context.header, body)?;
    let many = context.version() >= MEMBERS_FROM;
    let members = if many {
        let leaver = |member: &kafka_protocol::messages::leave_group_request::MemberIdentity| Leaver {
            member_id: text(&member.member_id),
            instance_id: optional_text(member.group_instance_id.as_ref()),
            reason: optional_text(member.reason.as_ref()),
        };
        request.members.iter().map(leaver).collect()
    } else {
        vec![Leaver { member_id: text(&request.member_id), instance_id: None, reason: None }]
    };
    let command = Leave { group: text(&request.group_id), members };
    let result = broker.groups.leave(command.clone()).await;
    let response = match result {
        Err(error) => LeaveGroupResponse::default().with_error_code(error.code()),
        Ok(codes) if many => LeaveGroupResponse::default().with_members(answers(&command, &codes)),
        // There is one place for the one member's code.
        Ok(codes) => {
            let code = codes.first().copied().unwrap_or(ErrorCode::UnknownServerError);
            LeaveGroupResponse::default().with_error_code(code.code())
        }
    };
    Ok(codec::encode(&context.header, &response)?)
}

fn answers(command: &Leave, codes: &[ErrorCode]) -> Vec<MemberResponse> {
    let answer = |(leaver, code): (&Leaver, &ErrorCode)| {
        MemberResponse::default()
            .with_member_id(wire(&leaver.member_id))
            .with_group_instance_id(optional_wire(leaver.instance_id.as_ref()))
            .with_error_code(code.code())
    };
    command.members.iter().zip(codes).map(answer).collect()
}
