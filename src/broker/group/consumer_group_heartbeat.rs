//! ConsumerGroupHeartbeat 0 to 1: everything that a member of a consumer group does (KIP-848).

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::optional_text;
use crate::broker::group::text;
use crate::broker::group::wire;
use crate::broker::wire::some_text;
use crate::broker::wire::topic_id;
use crate::cluster::controller::features;
use crate::groups::assign::Partitions;
use crate::groups::consumer::command::Beaten;
use crate::groups::consumer::command::Fault;
use crate::groups::consumer::command::Heartbeat;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::ConsumerGroupHeartbeatRequest;
use kafka_protocol::messages::ConsumerGroupHeartbeatResponse;
use kafka_protocol::messages::consumer_group_heartbeat_response::Assignment;
use kafka_protocol::messages::consumer_group_heartbeat_response::TopicPartitions;
use std::sync::Arc;

/// The first version whose clients choose their member ids (KIP-1082).
const OWN_MEMBER_ID_FROM: i16 = 1;

/// Answers a ConsumerGroupHeartbeat request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: ConsumerGroupHeartbeatRequest = codec::decode(&context.header, body)?;
    let beaten = match is_on(broker) {
        true => broker.groups.consumer_heartbeat(command(context, &request)).await,
        false => Err(Fault::new(ErrorCode::UnsupportedVersion, "")),
    };
    Ok(codec::encode(&context.header, &response(beaten))?)
}

/// Whether the cluster has the feature and this broker has not turned it off.
pub(crate) fn is_on(broker: &Broker) -> bool {
    let image = broker.publisher.current();
    let level = image.features().get(features::GROUP_VERSION).copied().unwrap_or(0);
    level >= 1 && broker.config.groups.consumer.enabled
}

pub(in crate::broker) fn command(context: &Context, request: &ConsumerGroupHeartbeatRequest) -> Heartbeat {
    let topics = request.subscribed_topic_names.as_ref();
    Heartbeat {
        group: text(&request.group_id),
        member_id: text(&request.member_id),
        new_member_id: Arc::from(""),
        brings_member_id: context.version() >= OWN_MEMBER_ID_FROM,
        epoch: request.member_epoch,
        instance_id: optional_text(request.instance_id.as_ref()),
        rack_id: optional_text(request.rack_id.as_ref()),
        rebalance_timeout_ms: (request.rebalance_timeout_ms != -1).then_some(request.rebalance_timeout_ms),
        topics: topics.map(|topics| topics.iter().map(|topic| text(topic)).collect()),
        pattern: optional_text(request.subscribed_topic_regex.as_ref()),
        assignor: optional_text(request.server_assignor.as_ref()),
        owned: request.topic_partitions.as_ref().map(|all| {
            let mut owned = Partitions::new();
            for one in all {
                owned.entry(topic_id(one.topic_id)).or_default().extend(&one.partitions);
            }
            owned
        }),
        client_id: Arc::from(context.client_id()),
        client_host: Arc::from(context.client_host()),
    }
}

pub(in crate::broker) fn response(beaten: Result<Beaten, Fault>) -> ConsumerGroupHeartbeatResponse {
    match beaten {
        Ok(beaten) => ConsumerGroupHeartbeatResponse::default()
            .with_member_id(Some(wire(&beaten.member_id)))
            .with_member_epoch(beaten.epoch)
            .with_heartbeat_interval_ms(beaten.interval_ms)
            .with_assignment(beaten.assignment.map(assignment)),
        Err(fault) => {
            let message = Some(fault.message.as_str()).filter(|message| !message.is_empty());
            ConsumerGroupHeartbeatResponse::default()
                .with_error_code(fault.code.code())
                .with_error_message(some_text(message))
        }
    }
}

fn assignment(partitions: Partitions) -> Assignment {
    let topics = partitions.into_iter().map(|(topic, partitions)| {
        TopicPartitions::default().with_topic_id(topic.0).with_partitions(partitions.into_iter().collect())
    });
    Assignment::default().with_topic_partitions(topics.collect())
}
