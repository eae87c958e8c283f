//! DescribeQuorum: who keeps the metadata log, and how far each is (KIP-595, KIP-836, KIP-853). One node is the whole
//! quorum, and always caught up with itself.

use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::cluster::Image;
use crate::cluster::controller::topic_names::CLUSTER_METADATA_TOPIC;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::DescribeQuorumRequest;
use kafka_protocol::messages::DescribeQuorumResponse;
use kafka_protocol::messages::describe_quorum_response::Listener;
use kafka_protocol::messages::describe_quorum_response::Node;
use kafka_protocol::messages::describe_quorum_response::PartitionData;
use kafka_protocol::messages::describe_quorum_response::ReplicaState;
use kafka_protocol::messages::describe_quorum_response::TopicData;
use kafka_protocol::protocol::StrBytes;

/// From this version on the answer names nodes and their addresses.
const WITH_NODES: i16 = 2;
/// From this version on it says when each was last heard of.
const WITH_TIMES: i16 = 1;

/// Answers a DescribeQuorum request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: DescribeQuorumRequest = codec::decode(&context.header, body)?;
    let mut topics = request.topics.iter();
    let the_log = topics.next().filter(|topic| {
        let partitions = topic.partitions.iter().map(|partition| partition.partition_index);
        topic.topic_name.as_str() == CLUSTER_METADATA_TOPIC && partitions.eq([0])
    });
    if the_log.is_none() || topics.next().is_some() {
        return Ok(codec::encode(&context.header, &unknown(&request))?);
    }
    let image = broker.publisher.current();
    let own = broker.config.node_id;
    let mut voter =
        ReplicaState::default().with_replica_id(wire::broker_id(own)).with_log_end_offset(image.offset.0);
    if context.version() >= WITH_TIMES {
        let now = broker.clock.wall().0;
        voter = voter.with_last_fetch_timestamp(now).with_last_caught_up_timestamp(now);
    }
    let partition = PartitionData::default()
        .with_error_message(nothing())
        .with_leader_id(wire::broker_id(own))
        .with_leader_epoch(image.epoch.0)
        .with_high_watermark(image.offset.0)
        .with_current_voters(vec![voter]);
    let topic = TopicData::default()
        .with_topic_name(wire::topic_name(CLUSTER_METADATA_TOPIC))
        .with_partitions(vec![partition]);
    let mut response =
        DescribeQuorumResponse::default().with_error_message(nothing()).with_topics(vec![topic]);
    if context.version() >= WITH_NODES {
        response.nodes = vec![node(&image, own)];
    }
    Ok(codec::encode(&context.header, &response)?)
}

/// Only the metadata log can be described.
fn unknown(request: &DescribeQuorumRequest) -> DescribeQuorumResponse {
    let topics = request.topics.iter().map(|topic| {
        let partitions = topic.partitions.iter().map(|partition| {
            PartitionData::default()
                .with_partition_index(partition.partition_index)
                .with_error_code(ErrorCode::UnknownTopicOrPartition.code())
                .with_error_message(wire::some_text(Some("This server does not host this topic-partition.")))
        });
        TopicData::default().with_topic_name(topic.topic_name.clone()).with_partitions(partitions.collect())
    });
    DescribeQuorumResponse::default().with_error_message(nothing()).with_topics(topics.collect())
}

/// What stands where there is no error: Kafka leaves the text empty and not null.
fn nothing() -> Option<StrBytes> {
    wire::some_text(Some(""))
}

fn node(image: &Image, own: BrokerId) -> Node {
    let endpoints = image.broker(own).map(|broker| broker.endpoints.as_slice()).unwrap_or_default();
    let listener = |endpoint: &crate::cluster::records::Endpoint| {
        Listener::default()
            .with_name(wire::text(&endpoint.name))
            .with_host(wire::text(&endpoint.host))
            .with_port(endpoint.port)
    };
    Node::default()
        .with_node_id(wire::broker_id(own))
        .with_listeners(endpoints.iter().map(listener).collect())
}
