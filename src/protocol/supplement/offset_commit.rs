//! OffsetCommit 2 to 10; version 10 names topics by id.

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

/// The first version that names topics by id.
pub const TOPIC_IDS_FROM: i16 = 10;

/// What to commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The group.
    pub group_id: StrBytes,
    /// The classic group's generation or the consumer group's member epoch; -1 from outside a group.
    pub generation_id_or_member_epoch: i32,
    /// The member, empty from outside a group.
    pub member_id: StrBytes,
    /// The static member's name (version 7 on).
    pub group_instance_id: Option<StrBytes>,
    /// How long to keep the offsets, in milliseconds; -1 for the broker's setting (versions 2 to 4).
    pub retention_time_ms: i64,
    /// The offsets by topic.
    pub topics: Vec<Topic>,
}

/// The offsets of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name, empty from version 10 on.
    pub name: StrBytes,
    /// Its id, zero before version 10.
    pub id: TopicId,
    /// The offsets by partition.
    pub partitions: Vec<Partition>,
}

/// The offset of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The partition's number.
    pub index: i32,
    /// The next offset to read.
    pub committed_offset: i64,
    /// The epoch of the last record read, -1 when not told (version 6 on).
    pub committed_leader_epoch: i32,
    /// The client's own text; null is to be kept apart from empty until it is stored.
    pub committed_metadata: Option<StrBytes>,
}

/// Decodes a request.
///
/// # Errors
/// When the bytes are no OffsetCommit request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let version = header.api_version;
    let mut reader = codec::reader(header, body)?;
    let mut request = Request {
        group_id: reader.string("GroupId")?,
        generation_id_or_member_epoch: reader.i32("GenerationIdOrMemberEpoch")?,
        member_id: reader.string("MemberId")?,
        group_instance_id: if version >= 7 { reader.nullable_string("GroupInstanceId")? } else { None },
        retention_time_ms: if version <= 4 { reader.i64("RetentionTimeMs")? } else { -1 },
        topics: Vec::new(),
    };
    request.topics = topics(&mut reader, header.flexible(), (version >= TOPIC_IDS_FROM, version >= 6))?;
    reader.skip_tags()?;
    Ok(request)
}

/// The topics of a request that commits offsets, this one or TxnOffsetCommit: with ids in place of names, and with
/// leader epochs, or not.
pub(super) fn topics(
    reader: &mut Reader,
    flexible: bool,
    (ids, epochs): (bool, bool),
) -> Result<Vec<Topic>, Error> {
    let count = reader.count(if flexible { 3 } else { 6 }, "Topics")?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        let name = if ids { StrBytes::new() } else { reader.string("Name")? };
        let id = if ids { reader.topic_id("TopicId")? } else { TopicId::ZERO };
        topics.push(Topic { name, id, partitions: partitions(reader, epochs)? });
        reader.skip_tags()?;
    }
    Ok(topics)
}

fn partitions(reader: &mut Reader, epochs: bool) -> Result<Vec<Partition>, Error> {
    let count = reader.count(14, "Partitions")?;
    let mut partitions = Vec::with_capacity(count);
    for _ in 0..count {
        partitions.push(Partition {
            index: reader.i32("PartitionIndex")?,
            committed_offset: reader.i64("CommittedOffset")?,
            committed_leader_epoch: if epochs { reader.i32("CommittedLeaderEpoch")? } else { -1 },
            committed_metadata: reader.nullable_string("CommittedMetadata")?,
        });
        reader.skip_tags()?;
    }
    Ok(partitions)
}

/// What became of the offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How long the client is asked to pause, in milliseconds (version 3 on).
    pub throttle_time_ms: i32,
    /// One for each topic of the request.
    pub topics: Vec<TopicAnswer>,
}

/// What became of one topic's offsets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicAnswer {
    /// Its name, sent before version 10.
    pub name: StrBytes,
    /// Its id, sent from version 10 on.
    pub id: TopicId,
    /// Partition and what happened.
    pub partitions: Vec<(i32, ErrorCode)>,
}

/// Encodes an answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, answer: &Answer) -> Result<Response, Error> {
    let version = header.api_version;
    let mut writer = Writer::response(header, 64);
    if version >= 3 {
        writer.i32(answer.throttle_time_ms);
    }
    writer.count(answer.topics.len());
    for topic in &answer.topics {
        if version >= TOPIC_IDS_FROM {
            writer.topic_id(topic.id)
        } else {
            writer.string(&topic.name)
        }
        writer.count(topic.partitions.len());
        for (index, error) in &topic.partitions {
            writer.i32(*index);
            writer.i16(error.code());
            writer.no_tags();
        }
        writer.no_tags();
    }
    writer.no_tags();
    writer.finish()
}
