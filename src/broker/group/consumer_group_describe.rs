//! ConsumerGroupDescribe 0 to 1: state, members and assignments of consumer groups (KIP-848).

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::errors::Refused;
use crate::broker::group::consumer_group_heartbeat::is_on;
use crate::broker::group::describe_groups::ALL_OPERATIONS;
use crate::broker::group::optional_wire;
use crate::broker::group::text;
use crate::broker::group::wire;
use crate::broker::wire::some_text;
use crate::broker::wire::topic_name;
use crate::groups::consumer::command::Described;
use crate::groups::consumer::command::DescribedMember;
use crate::groups::consumer::command::DescribedTopic;
use crate::groups::consumer::command::Fault;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::ConsumerGroupDescribeRequest;
use kafka_protocol::messages::ConsumerGroupDescribeResponse;
use kafka_protocol::messages::GroupId;
use kafka_protocol::messages::consumer_group_describe_response::Assignment;
use kafka_protocol::messages::consumer_group_describe_response::DescribedGroup;
use kafka_protocol::messages::consumer_group_describe_response::Member;
use kafka_protocol::messages::consumer_group_describe_response::TopicPartitions;
use kafka_protocol::protocol::StrBytes;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;

/// The first version that tells what a member speaks (KIP-1099).
const MEMBER_TYPE_FROM: i16 = 1;
/// What a member speaks, where that is not told.
const UNKNOWN: i8 = -1;

/// Answers a ConsumerGroupDescribe request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: ConsumerGroupDescribeRequest = codec::decode(&context.header, body)?;
    crowd::check_names(request.group_ids.len())?;
    let ids: Vec<Arc<str>> = request.group_ids.iter().map(|id| text(id)).collect();
    // One that is named more than once is answered as often, as in Kafka, but looked up once.
    let once: Vec<Arc<str>> = ids.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let shown = match is_on(broker) {
        true => broker.groups.describe_consumer(&once).await,
        false => once.iter().map(|_| Err(Fault::new(ErrorCode::UnsupportedVersion, ""))).collect(),
    };
    let shown: HashMap<Arc<str>, Result<Described, Fault>> = once.into_iter().zip(shown).collect();
    let mut room = broker.answer_memory.begin();
    let groups = ids.iter().map(|id| {
        let unknown = || Err(Fault::new(ErrorCode::UnknownServerError, ""));
        let shown = shown.get(id).cloned().unwrap_or_else(unknown);
        let group = group(context.version(), id, shown, request.include_authorized_operations);
        if room.take_encoded(&group, context.version()) {
            return group;
        }
        let refused = DescribedGroup::default().with_group_id(GroupId(wire(id)));
        refused.with_error_code(ErrorCode::InvalidRequest.code())
    });
    let response = ConsumerGroupDescribeResponse::default().with_groups(groups.collect());
    Ok(room.tie_to(codec::encode(&context.header, &response)?))
}

fn group(version: i16, id: &str, shown: Result<Described, Fault>, operations: bool) -> DescribedGroup {
    let group = DescribedGroup::default().with_group_id(GroupId(wire(id)));
    match shown {
        _ if id.is_empty() => group.with_error_code(ErrorCode::InvalidGroupId.code()),
        Err(fault) => {
            let message = Some(fault.message.as_str()).filter(|message| !message.is_empty());
            group.with_error_code(fault.code.code()).with_error_message(some_text(message))
        }
        Ok(shown) if operations => {
            described(version, group, shown).with_authorized_operations(ALL_OPERATIONS)
        }
        Ok(shown) => described(version, group, shown),
    }
}

fn described(version: i16, group: DescribedGroup, shown: Described) -> DescribedGroup {
    group
        .with_group_state(StrBytes::from_static_str(shown.state))
        .with_group_epoch(shown.epoch)
        .with_assignment_epoch(shown.target_epoch)
        .with_assignor_name(wire(&shown.assignor))
        .with_members(shown.members.into_iter().map(|one| member(version, one)).collect())
}

fn member(version: i16, member: DescribedMember) -> Member {
    let member_type = if version >= MEMBER_TYPE_FROM { i8::from(!member.is_classic) } else { UNKNOWN };
    Member::default()
        .with_member_id(wire(&member.member_id))
        .with_instance_id(optional_wire(member.instance_id.as_ref()))
        .with_rack_id(optional_wire(member.rack_id.as_ref()))
        .with_member_epoch(member.epoch)
        .with_client_id(wire(&member.client_id))
        .with_client_host(wire(&member.client_host))
        .with_subscribed_topic_names(member.topics.iter().map(|topic| topic_name(topic)).collect())
        .with_subscribed_topic_regex(Some(wire(member.pattern.as_deref().unwrap_or(""))))
        .with_assignment(assignment(member.assigned))
        .with_target_assignment(assignment(member.target))
        .with_member_type(member_type)
}

fn assignment(topics: Vec<DescribedTopic>) -> Assignment {
    let topics = topics.into_iter().map(|topic| {
        TopicPartitions::default()
            .with_topic_id(topic.id.0)
            .with_topic_name(topic_name(&topic.name))
            .with_partitions(topic.partitions)
    });
    Assignment::default().with_topic_partitions(topics.collect())
}
