//! What a share fetch is answered with.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::produce::LeaderIdAndEpoch;
use crate::protocol::produce::NodeEndpoint;
use crate::protocol::response::Part;
use crate::protocol::response::Response;
use crate::protocol::wire::Writer;

/// A ShareFetch answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// How long the client is asked to pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// An error of the whole request.
    pub error: ErrorCode,
    /// Its words.
    pub error_message: Option<String>,
    /// How long records stay acquired, in milliseconds.
    pub lock_timeout_ms: i32,
    /// The topics.
    pub topics: Vec<TopicAnswer>,
    /// Where the leaders listen that the answer names.
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// The answer for one topic.
#[derive(Clone, Debug)]
pub struct TopicAnswer {
    /// Its id.
    pub id: TopicId,
    /// The partitions.
    pub partitions: Vec<PartitionAnswer>,
}

/// The answer for one partition.
#[derive(Clone, Debug)]
pub struct PartitionAnswer {
    /// Its number.
    pub index: i32,
    /// What happened to the fetch.
    pub error: ErrorCode,
    /// Its words.
    pub error_message: Option<String>,
    /// What happened to the acknowledgements.
    pub acknowledge_error: ErrorCode,
    /// Its words.
    pub acknowledge_error_message: Option<String>,
    /// Who leads now, where that is not this broker.
    pub current_leader: Option<LeaderIdAndEpoch>,
    /// The record batches, in order.
    pub records: Vec<Part>,
    /// Which of their records are the client's.
    pub acquired: Vec<AcquiredRecords>,
}

/// A range of acquired records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AcquiredRecords {
    /// Its first offset.
    pub first_offset: i64,
    /// Its last offset (inclusive).
    pub last_offset: i64,
    /// The how-manieth delivery this is.
    pub delivery_count: i16,
}

/// Encodes an answer; the records are spliced in, not copied.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, answer: Answer) -> Result<Response, Error> {
    let mut writer = Writer::response(header, 128);
    writer.i32(answer.throttle_time_ms);
    writer.i16(answer.error.code());
    writer.nullable_string(answer.error_message.as_deref());
    writer.i32(answer.lock_timeout_ms);
    writer.count(answer.topics.len());
    for topic in answer.topics {
        writer.topic_id(topic.id);
        writer.count(topic.partitions.len());
        for partition in topic.partitions {
            encode_partition(&mut writer, partition);
        }
        writer.no_tags();
    }
    encode_endpoints(&mut writer, &answer.node_endpoints);
    writer.no_tags();
    writer.finish()
}

fn encode_partition(writer: &mut Writer, partition: PartitionAnswer) {
    writer.i32(partition.index);
    writer.i16(partition.error.code());
    writer.nullable_string(partition.error_message.as_deref());
    writer.i16(partition.acknowledge_error.code());
    writer.nullable_string(partition.acknowledge_error_message.as_deref());
    encode_leader(writer, partition.current_leader);
    writer.records(partition.records);
    writer.count(partition.acquired.len());
    for acquired in &partition.acquired {
        writer.i64(acquired.first_offset);
        writer.i64(acquired.last_offset);
        writer.i16(acquired.delivery_count);
        writer.no_tags();
    }
    writer.no_tags();
}

/// A leader in its place; zeros where none is named, as Kafka writes what nobody filled.
pub(crate) fn encode_leader(writer: &mut Writer, leader: Option<LeaderIdAndEpoch>) {
    writer.i32(leader.map_or(0, |leader| leader.leader_id));
    writer.i32(leader.map_or(0, |leader| leader.leader_epoch));
    writer.no_tags();
}

/// Where leaders listen.
pub(crate) fn encode_endpoints(writer: &mut Writer, endpoints: &[NodeEndpoint]) {
    writer.count(endpoints.len());
    for endpoint in endpoints {
        writer.i32(endpoint.node_id);
        writer.string(&endpoint.host);
        writer.i32(endpoint.port);
        writer.nullable_string(endpoint.rack.as_deref());
        writer.no_tags();
    }
}
