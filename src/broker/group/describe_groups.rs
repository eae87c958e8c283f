//! DescribeGroups 0 to 6: state and members of classic groups.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::errors::Refused;
use crate::broker::group::optional_wire;
use crate::broker::group::text;
use crate::broker::group::wire;
use crate::groups::command::Described;
use crate::groups::command::DescribedMember;
use crate::groups::command::Missing;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::DescribeGroupsRequest;
use kafka_protocol::messages::DescribeGroupsResponse;
use kafka_protocol::messages::GroupId;
use kafka_protocol::messages::describe_groups_response::DescribedGroup;
use kafka_protocol::messages::describe_groups_response::DescribedGroupMember;
use kafka_protocol::protocol::StrBytes;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;

/// The first version that tells instance ids.
const INSTANCE_ID_FROM: i16 = 4;
/// The first version that tells of an unknown group by a code, not by the state "Dead" alone (KIP-1043).
const NOT_FOUND_FROM: i16 = 6;
/// What anybody may do with a group where there is no authorizer: read, delete, describe, and describe and alter
/// its settings; one bit for each operation's number (`AclOperation`).
pub(crate) const ALL_OPERATIONS: i32 = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11;

/// What is known of a group.
type Shown = Result<Result<Described, Missing>, ErrorCode>;

/// Answers a DescribeGroups request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: DescribeGroupsRequest = codec::decode(&context.header, body)?;
    crowd::check_names(request.groups.len())?;
    let ids: Vec<Arc<str>> = request.groups.iter().map(|id| text(id)).collect();
    // One that is named more than once is answered as often, as in Kafka, but looked up once.
    let once: Vec<Arc<str>> = ids.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let shown = broker.groups.describe(&once).await;
    let shown: HashMap<Arc<str>, Shown> = once.into_iter().zip(shown).collect();
    let mut room = broker.answer_memory.begin();
    let groups = ids.iter().map(|id| {
        let shown = shown.get(id).unwrap_or(&Err(ErrorCode::UnknownServerError));
        let shown = if room.take(size(shown)) { shown.clone() } else { Err(ErrorCode::InvalidRequest) };
        let group = described(context.version(), id, shown);
        if request.include_authorized_operations && group.error_code == 0 {
            group.with_authorized_operations(ALL_OPERATIONS)
        } else {
            group
        }
    });
    let response = DescribeGroupsResponse::default().with_groups(groups.collect());
    Ok(room.tie_to(codec::encode(&context.header, &response)?))
}

/// What a group takes in an answer, in bytes.
fn size(shown: &Shown) -> usize {
    let Ok(Ok(described)) = shown else { return 0 };
    let member = |member: &DescribedMember| {
        let names = member.member_id.len() + member.client_id.len() + member.client_host.len();
        64 + names + member.metadata.len() + member.assignment.len()
    };
    described.members.iter().map(member).sum()
}

fn described(version: i16, id: &str, shown: Shown) -> DescribedGroup {
    let group = DescribedGroup::default().with_group_id(GroupId(wire(id)));
    match shown {
        Err(error) => group.with_error_code(error.code()),
        Ok(Err(missing)) => {
            let dead = group.with_group_state(StrBytes::from_static_str("Dead"));
            if version < NOT_FOUND_FROM {
                return dead;
            }
            let message = match missing {
                Missing::Group => format!("Group {id} not found."),
                Missing::OfKind => format!("Group {id} is not a classic group."),
            };
            dead.with_error_code(ErrorCode::GroupIdNotFound.code()).with_error_message(Some(wire(&message)))
        }
        Ok(Ok(described)) => group
            .with_group_state(StrBytes::from_static_str(described.state))
            .with_protocol_type(wire(&described.protocol_type))
            .with_protocol_data(wire(&described.protocol))
            .with_members(described.members.into_iter().map(|one| member(version, one)).collect()),
    }
}

fn member(version: i16, member: DescribedMember) -> DescribedGroupMember {
    let instance_id = member.instance_id.as_ref().filter(|_| version >= INSTANCE_ID_FROM);
    DescribedGroupMember::default()
        .with_member_id(wire(&member.member_id))
        .with_group_instance_id(optional_wire(instance_id))
        .with_client_id(wire(&member.client_id))
        .with_client_host(wire(&member.client_host))
        .with_member_metadata(member.metadata)
        .with_member_assignment(member.assignment)
}
