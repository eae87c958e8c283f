//! OffsetFetch 1 to 10: one group up to version 7, many from 8 on; version 10 names topics by id.

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

/// The first version that asks for many groups.
pub const GROUPS_FROM: i16 = 8;
/// The first version that names topics by id.
pub const TOPIC_IDS_FROM: i16 = 10;

/// Which offsets to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The groups; exactly one before version 8.
    pub groups: Vec<Group>,
    /// Whether to refuse offsets that an open transaction is about to change (version 7 on).
    pub require_stable: bool,
}

/// Which offsets of a group to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The group.
    pub group_id: StrBytes,
    /// The member that asks (version 9 on).
    pub member_id: Option<StrBytes>,
    /// Its epoch, -1 when not told (version 9 on).
    pub member_epoch: i32,
    /// The topics; `None` for all that the group has (version 2 on).
    pub topics: Option<Vec<Topic>>,
}

/// Which partitions of a topic to fetch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name, empty from version 10 on.
    pub name: StrBytes,
    /// Its id, zero before version 10.
    pub id: TopicId,
    /// The partitions' numbers.
    pub partitions: Vec<i32>,
}

/// Decodes a request.
///
/// # Errors
/// When the bytes are no OffsetFetch request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let version = header.api_version;
    let mut reader = codec::reader(header, body)?;
    let mut groups = Vec::new();
    if version < GROUPS_FROM {
        groups.push(group(&mut reader, version)?);
    } else {
        let count = reader.count(3, "Groups")?;
        groups.reserve_exact(count);
        for _ in 0..count {
            groups.push(group(&mut reader, version)?);
            reader.skip_tags()?;
        }
    }
    let require_stable = version >= 7 && reader.bool("RequireStable")?;
    reader.skip_tags()?;
    Ok(Request { groups, require_stable })
}

fn group(reader: &mut Reader, version: i16) -> Result<Group, Error> {
    Ok(Group {
        group_id: reader.string("GroupId")?,
        member_id: if version >= 9 { reader.nullable_string("MemberId")? } else { None },
        member_epoch: if version >= 9 { reader.i32("MemberEpoch")? } else { -1 },
        topics: topics(reader, version)?,
    })
}

fn topics(reader: &mut Reader, version: i16) -> Result<Option<Vec<Topic>>, Error> {
    let element_min = if version >= 6 { 3 } else { 6 };
    let count = match version {
        1 => Some(reader.count(element_min, "Topics")?),
        _ => reader.nullable_count(element_min, "Topics")?,
    };
    let Some(count) = count else { return Ok(None) };
    let ids = version >= TOPIC_IDS_FROM;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        let name = if ids { StrBytes::new() } else { reader.string("Name")? };
        let id = if ids { reader.topic_id("TopicId")? } else { TopicId::ZERO };
        let partitions = reader.i32_array("PartitionIndexes")?;
        reader.skip_tags()?;
        topics.push(Topic { name, id, partitions });
    }
    Ok(Some(topics))
}

/// The offsets found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How long the client is asked to pause, in milliseconds (version 3 on).
    pub throttle_time_ms: i32,
    /// One for each group of the request; only the first is sent before version 8.
    pub groups: Vec<GroupAnswer>,
}

/// The offsets of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupAnswer {
    /// The group, sent from version 8 on.
    pub group_id: StrBytes,
    /// An error of the whole group. Version 1 has no place for it: the caller repeats it on each partition there.
    pub error: ErrorCode,
    /// The offsets by topic.
    pub topics: Vec<TopicAnswer>,
}

/// The offsets of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicAnswer {
    /// Its name, sent before version 10.
    pub name: StrBytes,
    /// Its id, sent from version 10 on.
    pub id: TopicId,
    /// The offsets by partition.
    pub partitions: Vec<PartitionAnswer>,
}

/// The offset of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionAnswer {
    /// The partition's number.
    pub index: i32,
    /// The committed offset, -1 when there is none.
    pub committed_offset: i64,
    /// Its leader epoch, -1 when not known (version 5 on).
    pub committed_leader_epoch: i32,
    /// The client's own text.
    pub metadata: Option<StrBytes>,
    /// What happened.
    pub error: ErrorCode,
}

/// Encodes an answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be, or when a version before 8 gets no group.
pub fn encode(header: &RequestHeader, answer: &Answer) -> Result<Response, Error> {
    let version = header.api_version;
    let mut writer = Writer::response(header, 128);
    if version >= 3 {
        writer.i32(answer.throttle_time_ms);
    }
    if version < GROUPS_FROM {
        let group = answer.groups.first();
        let group = group.ok_or_else(|| Error::Encode(String::from("no group in the answer")))?;
        encode_topics(&mut writer, version, &group.topics);
        if version >= 2 {
            writer.i16(group.error.code());
        }
    } else {
        writer.count(answer.groups.len());
        for group in &answer.groups {
            writer.string(&group.group_id);
            encode_topics(&mut writer, version, &group.topics);
            writer.i16(group.error.code());
            writer.no_tags();
        }
    }
    writer.no_tags();
    writer.finish()
}

fn encode_topics(writer: &mut Writer, version: i16, topics: &[TopicAnswer]) {
    writer.count(topics.len());
    for topic in topics {
        if version >= TOPIC_IDS_FROM {
            writer.topic_id(topic.id)
        } else {
            writer.string(&topic.name)
        }
        writer.count(topic.partitions.len());
        for partition in &topic.partitions {
            writer.i32(partition.index);
            writer.i64(partition.committed_offset);
            if version >= 5 {
                writer.i32(partition.committed_leader_epoch);
            }
            writer.nullable_string(partition.metadata.as_deref());
            writer.i16(partition.error.code());
            writer.no_tags();
        }
        writer.no_tags();
    }
}
