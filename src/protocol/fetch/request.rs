//! What a consumer or a follower asks for.

use crate::base::TopicId;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::fetch::TOPIC_IDS_FROM;
use crate::protocol::header::RequestHeader;
use crate::protocol::wire::Reader;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// A Fetch request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The cluster that the asker believes in (version 12 on).
    pub cluster_id: Option<StrBytes>,
    /// The follower that asks, -1 for a consumer.
    pub replica_id: i32,
    /// The follower's broker epoch, -1 when not told (version 15 on, KIP-903).
    pub replica_epoch: i64,
    /// How long to wait for `min_bytes`, in milliseconds.
    pub max_wait_ms: i32,
    /// How many bytes are worth an answer.
    pub min_bytes: i32,
    /// How many bytes to answer with; the first batch may be larger (KIP-74).
    pub max_bytes: i32,
    /// 0 reads all, 1 only what is committed.
    pub isolation_level: i8,
    /// The fetch session, 0 for none (KIP-227).
    pub session_id: i32,
    /// The session's step: 0 opens one, -1 asks without.
    pub session_epoch: i32,
    /// What to fetch, in the order of the request.
    pub topics: Vec<Topic>,
    /// What to drop from the session.
    pub forgotten: Vec<ForgottenTopic>,
    /// Where the consumer is, empty when not told (KIP-392).
    pub rack_id: StrBytes,
}

/// The partitions of one topic to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name, empty from version 13 on.
    pub name: StrBytes,
    /// Its id, zero before version 13.
    pub id: TopicId,
    /// The partitions, in the order of the request.
    pub partitions: Vec<Partition>,
}

/// One partition to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number.
    pub index: i32,
    /// The leader epoch that the asker knows, -1 for none (KIP-320).
    pub current_leader_epoch: i32,
    /// From which offset on.
    pub fetch_offset: i64,
    /// The epoch of the last record the asker has, -1 for none (version 12 on).
    pub last_fetched_epoch: i32,
    /// Where the follower's log begins, -1 from a consumer.
    pub log_start_offset: i64,
    /// How many bytes of this partition to answer with.
    pub partition_max_bytes: i32,
    /// The follower's log directory (version 17 on, KIP-853).
    pub replica_directory_id: TopicId,
    /// The follower's high watermark; `i64::MAX` when not told (version 18 on, KIP-1166).
    pub high_watermark: i64,
}

/// Partitions of one topic to drop from the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenTopic {
    /// Its name, empty from version 13 on.
    pub name: StrBytes,
    /// Its id, zero before version 13.
    pub id: TopicId,
    /// The partitions.
    pub partitions: Vec<i32>,
}

/// Decodes a request; every count and length is checked against the bytes that are left.
///
/// # Errors
/// When the bytes are no Fetch request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let version = header.api_version;
    let mut reader = codec::reader(header, body)?;
    let mut request = Request {
        cluster_id: None,
        replica_id: if version < 15 { reader.i32("ReplicaId")? } else { -1 },
        replica_epoch: -1,
        max_wait_ms: reader.i32("MaxWaitMs")?,
        min_bytes: reader.i32("MinBytes")?,
        max_bytes: reader.i32("MaxBytes")?,
        isolation_level: reader.i8("IsolationLevel")?,
        session_id: if version >= 7 { reader.i32("SessionId")? } else { 0 },
        session_epoch: if version >= 7 { reader.i32("SessionEpoch")? } else { -1 },
        topics: topics(&mut reader, header)?,
        forgotten: if version >= 7 { forgotten(&mut reader, header)? } else { Vec::new() },
        rack_id: if version >= 11 { reader.string("RackId")? } else { StrBytes::new() },
    };
    reader.tags(|tag, mut value| {
        match tag {
            0 => request.cluster_id = value.nullable_string("ClusterId")?,
            1 if version >= 15 => {
                request.replica_id = value.i32("ReplicaId")?;
                request.replica_epoch = value.i64("ReplicaEpoch")?;
                value.skip_tags()?;
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(request)
}

fn name_and_id(reader: &mut Reader, version: i16) -> Result<(StrBytes, TopicId), Error> {
    if version >= TOPIC_IDS_FROM {
        Ok((StrBytes::new(), reader.topic_id("TopicId")?))
    } else {
        Ok((reader.string("Topic")?, TopicId::ZERO))
    }
}

/// The bytes of a topic at least: its name or id, the count of its partitions, tags.
fn topic_size_min(version: i16) -> usize {
    match version {
        TOPIC_IDS_FROM.. => 18,
        12 => 3,
        _ => 6,
    }
}

fn topics(reader: &mut Reader, header: &RequestHeader) -> Result<Vec<Topic>, Error> {
    let version = header.api_version;
    let count = reader.count(topic_size_min(version), "Topics")?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        let (name, id) = name_and_id(reader, version)?;
        let count = reader.count(partition_size(version), "Partitions")?;
        let mut partitions = Vec::with_capacity(count);
        for _ in 0..count {
            partitions.push(partition(reader, version)?);
        }
        reader.skip_tags()?;
        topics.push(Topic { name, id, partitions });
    }
    Ok(topics)
}

/// The bytes of a partition, without what its tags hold.
fn partition_size(version: i16) -> usize {
    let start = if version >= 5 { 8 } else { 0 };
    let epoch = if version >= 9 { 4 } else { 0 };
    let last_epoch_and_tags = if version >= 12 { 5 } else { 0 };
    16 + start + epoch + last_epoch_and_tags
}

fn partition(reader: &mut Reader, version: i16) -> Result<Partition, Error> {
    let mut partition = Partition {
        index: reader.i32("Partition")?,
        current_leader_epoch: if version >= 9 { reader.i32("CurrentLeaderEpoch")? } else { -1 },
        fetch_offset: reader.i64("FetchOffset")?,
        last_fetched_epoch: if version >= 12 { reader.i32("LastFetchedEpoch")? } else { -1 },
        log_start_offset: if version >= 5 { reader.i64("LogStartOffset")? } else { -1 },
        partition_max_bytes: reader.i32("PartitionMaxBytes")?,
        replica_directory_id: TopicId::ZERO,
        high_watermark: i64::MAX,
    };
    reader.tags(|tag, mut value| {
        match tag {
            0 if version >= 17 => partition.replica_directory_id = value.topic_id("ReplicaDirectoryId")?,
            1 if version >= 18 => partition.high_watermark = value.i64("HighWatermark")?,
            _ => {}
        }
        Ok(())
    })?;
    Ok(partition)
}

fn forgotten(reader: &mut Reader, header: &RequestHeader) -> Result<Vec<ForgottenTopic>, Error> {
    let version = header.api_version;
    let count = reader.count(topic_size_min(version), "ForgottenTopicsData")?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        let (name, id) = name_and_id(reader, version)?;
        let partitions = reader.i32_array("Partitions")?;
        reader.skip_tags()?;
        topics.push(ForgottenTopic { name, id, partitions });
    }
    Ok(topics)
}
