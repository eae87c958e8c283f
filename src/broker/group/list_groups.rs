//! ListGroups 0 to 5: the groups coordinated by this broker.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::text;
use crate::broker::group::wire;
use crate::groups::command::List;
use crate::groups::command::Listed;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::GroupId;
use kafka_protocol::messages::ListGroupsRequest;
use kafka_protocol::messages::ListGroupsResponse;
use kafka_protocol::messages::list_groups_response::ListedGroup;
use kafka_protocol::protocol::StrBytes;

/// The first version that tells the state (KIP-518).
const STATE_FROM: i16 = 4;
/// The first version that tells the type (KIP-848).
const TYPE_FROM: i16 = 5;

/// Answers a ListGroups request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: ListGroupsRequest = codec::decode(&context.header, body)?;
    let command = List {
        states: request.states_filter.iter().map(text).collect(),
        types: request.types_filter.iter().map(text).collect(),
    };
    let mut room = broker.answer_memory.begin();
    let groups = broker.groups.list(&command).await;
    let groups = groups.and_then(|groups| {
        let listed: Vec<ListedGroup> = groups.iter().map(|one| listed(context.version(), one)).collect();
        let fits = listed.iter().all(|one| room.take_encoded(one, context.version()));
        if fits { Ok(listed) } else { Err(ErrorCode::CoordinatorNotAvailable) }
    });
    let response = match groups {
        Err(error) => ListGroupsResponse::default().with_error_code(error.code()),
        Ok(groups) => ListGroupsResponse::default().with_groups(groups),
    };
    Ok(room.tie_to(codec::encode(&context.header, &response)?))
}

fn listed(version: i16, group: &Listed) -> ListedGroup {
    let from = |first: i16, name: &'static str| {
        if version >= first { StrBytes::from_static_str(name) } else { StrBytes::new() }
    };
    ListedGroup::default()
        .with_group_id(GroupId(wire(&group.group)))
        .with_protocol_type(wire(&group.protocol_type))
        .with_group_state(from(STATE_FROM, group.state))
        .with_group_type(from(TYPE_FROM, group.group_type))
}
