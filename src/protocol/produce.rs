//! Produce, all versions: the records of a request stay slices of its frame.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Response;
use crate::protocol::wire::Reader;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// The first version that names topics by id (KIP-516).
pub const TOPIC_IDS_FROM: i16 = 13;

/// What a producer sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The transactional id, when the producer has one.
    pub transactional_id: Option<StrBytes>,
    /// Which replicas must have the records before the answer: 0 none (and no answer), 1 the leader, -1 all in sync.
    pub acks: i16,
    /// How long to wait for them, in milliseconds.
    pub timeout_ms: i32,
    /// The records by topic, in the order of the request.
    pub topics: Vec<Topic>,
}

/// The records for one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name, empty from version 13 on.
    pub name: StrBytes,
    /// Its id, zero before version 13.
    pub id: TopicId,
    /// The records by partition, in the order of the request.
    pub partitions: Vec<Partition>,
}

/// The records for one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The partition's number.
    pub index: i32,
    /// What should be one record batch, unchecked; a slice of the frame.
    pub records: Option<Bytes>,
}

/// Decodes a request; every count and length is checked against the bytes that are left.
///
/// # Errors
/// When the bytes are no Produce request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let flexible = header.flexible();
    let ids = header.api_version >= TOPIC_IDS_FROM;
    let mut reader = codec::reader(header, body)?;
    let transactional_id = reader.nullable_string("TransactionalId")?;
    let acks = reader.i16("Acks")?;
    let timeout_ms = reader.i32("TimeoutMs")?;
    let count = reader.count(topic_size_min(flexible, ids), "TopicData")?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        topics.push(topic(&mut reader, flexible, ids)?);
    }
    reader.skip_tags()?;
    Ok(Request { transactional_id, acks, timeout_ms, topics })
}

/// The bytes of a topic at least: its name or id, the count of its partitions, tags.
fn topic_size_min(flexible: bool, ids: bool) -> usize {
    match (flexible, ids) {
        (_, true) => 18,
        (true, false) => 3,
        (false, false) => 6,
    }
}

fn topic(reader: &mut Reader, flexible: bool, ids: bool) -> Result<Topic, Error> {
    let name = if ids { StrBytes::new() } else { reader.string("Name")? };
    let id = if ids { reader.topic_id("TopicId")? } else { TopicId::ZERO };
    let count = reader.count(if flexible { 6 } else { 8 }, "PartitionData")?;
    let mut partitions = Vec::with_capacity(count);
    for _ in 0..count {
        let index = reader.i32("Index")?;
        let records = reader.nullable_bytes("Records")?;
        reader.skip_tags()?;
        partitions.push(Partition { index, records });
    }
    reader.skip_tags()?;
    Ok(Topic { name, id, partitions })
}

/// What a producer is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// One for each topic of the request.
    pub topics: Vec<TopicAnswer>,
    /// How long the client is asked to pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// Where the leaders named in [`PartitionAnswer::current_leader`] listen (version 10 on, KIP-951).
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// The answer for one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicAnswer {
    /// Its name, sent before version 13.
    pub name: StrBytes,
    /// Its id, sent from version 13 on.
    pub id: TopicId,
    /// One for each partition of the request.
    pub partitions: Vec<PartitionAnswer>,
}

/// The answer for one partition. What a version lacks is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionAnswer {
    /// The partition's number.
    pub index: i32,
    /// What happened.
    pub error: ErrorCode,
    /// The offset of the first record; -1 on errors.
    pub base_offset: i64,
    /// The broker's time given to all records (LogAppendTime), in milliseconds; -1 otherwise.
    pub log_append_time_ms: i64,
    /// Where the log begins; -1 on errors.
    pub log_start_offset: i64,
    /// Which records made the batch fail (version 8 on, KIP-467).
    pub record_errors: Vec<RecordError>,
    /// What was wrong in words (version 8 on).
    pub error_message: Option<StrBytes>,
    /// Who leads now, with NOT_LEADER_OR_FOLLOWER (version 10 on, KIP-951).
    pub current_leader: Option<LeaderIdAndEpoch>,
}

/// A record that made its batch fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// Its place in the batch, from 0.
    pub batch_index: i32,
    /// What is wrong with it.
    pub message: Option<StrBytes>,
}

/// A leader and its epoch, as Produce and Fetch answers carry them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaderIdAndEpoch {
    /// The broker, -1 when there is none.
    pub leader_id: i32,
    /// The epoch of its leadership, -1 when not known.
    pub leader_epoch: i32,
}

/// Where a broker listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeEndpoint {
    /// The broker.
    pub node_id: i32,
    /// Its host name.
    pub host: StrBytes,
    /// Its port.
    pub port: i32,
    /// Its rack, when it has one.
    pub rack: Option<StrBytes>,
}

/// Encodes an answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, answer: &Answer) -> Result<Response, Error> {
    let version = header.api_version;
    let mut writer = Writer::response(header, 128);
    writer.count(answer.topics.len());
    for topic in &answer.topics {
        if version >= TOPIC_IDS_FROM {
            writer.topic_id(topic.id)
        } else {
            writer.string(&topic.name)
        }
        writer.count(topic.partitions.len());
        for partition in &topic.partitions {
            encode_partition(&mut writer, version, partition);
        }
        writer.no_tags();
    }
    writer.throttle(answer.throttle_time_ms);
    let endpoints = (version >= 10 && !answer.node_endpoints.is_empty())
        .then(|| (0, encode_endpoints(&answer.node_endpoints)));
    writer.tags(endpoints.as_slice());
    writer.finish()
}

fn encode_partition(writer: &mut Writer, version: i16, partition: &PartitionAnswer) {
    writer.i32(partition.index);
    writer.i16(partition.error.code());
    writer.i64(partition.base_offset);
    writer.i64(partition.log_append_time_ms);
    if version >= 5 {
        writer.i64(partition.log_start_offset);
    }
    if version >= 8 {
        writer.count(partition.record_errors.len());
        for error in &partition.record_errors {
            writer.i32(error.batch_index);
            writer.nullable_string(error.message.as_deref());
            writer.no_tags();
        }
        writer.nullable_string(partition.error_message.as_deref());
    }
    let leader = partition.current_leader.filter(|_| version >= 10).map(|leader| (0, encode_leader(leader)));
    writer.tags(leader.as_slice());
}

/// The value of a CurrentLeader tag.
pub(super) fn encode_leader(leader: LeaderIdAndEpoch) -> Writer {
    let mut value = Writer::plain(true);
    value.i32(leader.leader_id);
    value.i32(leader.leader_epoch);
    value.no_tags();
    value
}

/// The value of a NodeEndpoints tag.
pub(super) fn encode_endpoints(endpoints: &[NodeEndpoint]) -> Writer {
    let mut value = Writer::plain(true);
    value.count(endpoints.len());
    for endpoint in endpoints {
        value.i32(endpoint.node_id);
        value.string(&endpoint.host);
        value.i32(endpoint.port);
        value.nullable_string(endpoint.rack.as_deref());
        value.no_tags();
    }
    value
}

#[cfg(test)]
mod tests;
