//! What a fetch is answered with.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::protocol::error::Error;
use crate::protocol::fetch::TOPIC_IDS_FROM;
use crate::protocol::header::RequestHeader;
use crate::protocol::produce::LeaderIdAndEpoch;
use crate::protocol::produce::NodeEndpoint;
use crate::protocol::produce::encode_endpoints;
use crate::protocol::produce::encode_leader;
use crate::protocol::response::Part;
use crate::protocol::response::Response;
use crate::protocol::wire::Writer;
use kafka_protocol::protocol::StrBytes;

/// A Fetch answer. What a version lacks is left out.
#[derive(Clone, Debug)]
pub struct Answer {
    /// How long the client is asked to pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// An error of the whole request: the session's (version 7 on).
    pub error: ErrorCode,
    /// The fetch session, 0 for none (version 7 on).
    pub session_id: i32,
    /// The topics.
    pub topics: Vec<TopicAnswer>,
    /// Where the leaders named in [`PartitionAnswer::current_leader`] listen (version 16 on, KIP-951).
    pub node_endpoints: Vec<NodeEndpoint>,
}

/// The answer for one topic.
#[derive(Clone, Debug)]
pub struct TopicAnswer {
    /// Its name, sent before version 13.
    pub name: StrBytes,
    /// Its id, sent from version 13 on.
    pub id: TopicId,
    /// The partitions.
    pub partitions: Vec<PartitionAnswer>,
}

/// The answer for one partition.
#[derive(Clone, Debug)]
pub struct PartitionAnswer {
    /// Its number.
    pub index: i32,
    /// What happened.
    pub error: ErrorCode,
    /// The high watermark; -1 on errors.
    pub high_watermark: i64,
    /// The last stable offset; -1 on errors.
    pub last_stable_offset: i64,
    /// Where the log begins; -1 on errors.
    pub log_start_offset: i64,
    /// Where the asker's log goes another way than ours (version 12 on).
    pub diverging_epoch: Option<EpochEndOffset>,
    /// Who leads now (version 12 on).
    pub current_leader: Option<LeaderIdAndEpoch>,
    /// The snapshot to take instead (version 12 on; the metadata log only).
    pub snapshot_id: Option<SnapshotId>,
    /// Transactions aborted within the records; `None` is null, which READ_COMMITTED must not get.
    pub aborted_transactions: Option<Vec<AbortedTransaction>>,
    /// A nearer replica to ask, -1 for none (version 11 on, KIP-392).
    pub preferred_read_replica: i32,
    /// The record batches, in order.
    pub records: Vec<Part>,
}

/// An epoch and the offset it ends at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochEndOffset {
    /// The epoch.
    pub epoch: i32,
    /// Its end (exclusive).
    pub end_offset: i64,
}

/// A snapshot of the metadata log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotId {
    /// The offset behind its last record.
    pub end_offset: i64,
    /// The epoch of that record.
    pub epoch: i32,
}

/// An aborted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// Whose.
    pub producer_id: i64,
    /// Its first offset.
    pub first_offset: i64,
}

/// Encodes an answer; the records are spliced in, not copied.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, answer: Answer) -> Result<Response, Error> {
    let version = header.api_version;
    let mut writer = Writer::response(header, 128);
    writer.i32(answer.throttle_time_ms);
    if version >= 7 {
        writer.i16(answer.error.code());
        writer.i32(answer.session_id);
    }
    writer.count(answer.topics.len());
    for topic in answer.topics {
        if version >= TOPIC_IDS_FROM {
            writer.topic_id(topic.id)
        } else {
            writer.string(&topic.name)
        }
        writer.count(topic.partitions.len());
        for partition in topic.partitions {
            encode_partition(&mut writer, version, partition);
        }
        writer.no_tags();
    }
    let endpoints = (version >= 16 && !answer.node_endpoints.is_empty())
        .then(|| (0, encode_endpoints(&answer.node_endpoints)));
    writer.tags(endpoints.as_slice());
    writer.finish()
}

fn encode_partition(writer: &mut Writer, version: i16, partition: PartitionAnswer) {
    writer.i32(partition.index);
    writer.i16(partition.error.code());
    writer.i64(partition.high_watermark);
    writer.i64(partition.last_stable_offset);
    if version >= 5 {
        writer.i64(partition.log_start_offset);
    }
    writer.nullable_length(partition.aborted_transactions.as_ref().map(Vec::len));
    for aborted in partition.aborted_transactions.iter().flatten() {
        writer.i64(aborted.producer_id);
        writer.i64(aborted.first_offset);
        writer.no_tags();
    }
    if version >= 11 {
        writer.i32(partition.preferred_read_replica);
    }
    let mut tags = Vec::new();
    if let Some(diverging) = partition.diverging_epoch {
        let mut value = Writer::plain(true);
        value.i32(diverging.epoch);
        value.i64(diverging.end_offset);
        value.no_tags();
        tags.push((0, value));
    }
    if let Some(leader) = partition.current_leader {
        tags.push((1, encode_leader(leader)));
    }
    if let Some(snapshot) = partition.snapshot_id {
        let mut value = Writer::plain(true);
        value.i64(snapshot.end_offset);
        value.i32(snapshot.epoch);
        value.no_tags();
        tags.push((2, value));
    }
    writer.records(partition.records);
    writer.tags(&tags);
}
