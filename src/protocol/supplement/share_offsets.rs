//! DescribeShareGroupOffsets 0 and 1; version 1 tells the lag (KIP-1226).

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Response;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// The first version that tells the lag.
const LAG_FROM: i16 = 1;

/// A group whose offsets are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its id.
    pub id: StrBytes,
    /// The partitions by topic; `None` for all that the group has.
    pub topics: Option<Vec<(StrBytes, Vec<i32>)>>,
}

/// Decodes a request.
///
/// # Errors
/// When the bytes are no DescribeShareGroupOffsets request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Vec<Group>, Error> {
    let mut reader = codec::reader(header, body)?;
    let count = reader.count(3, "Groups")?;
    let mut groups = Vec::with_capacity(count);
    for _ in 0..count {
        let id = reader.string("GroupId")?;
        let topics = match reader.nullable_count(3, "Topics")? {
            None => None,
            Some(count) => {
                let mut topics = Vec::with_capacity(count);
                for _ in 0..count {
                    let name = reader.string("TopicName")?;
                    let partitions = reader.i32_array("Partitions")?;
                    reader.skip_tags()?;
                    topics.push((name, partitions));
                }
                Some(topics)
            }
        };
        reader.skip_tags()?;
        groups.push(Group { id, topics });
    }
    reader.skip_tags()?;
    Ok(groups)
}

/// The answer for one group.
#[derive(Clone, Debug)]
pub struct GroupAnswer {
    /// Its id.
    pub id: StrBytes,
    /// Its topics.
    pub topics: Vec<TopicAnswer>,
    /// An error of the whole group.
    pub error: ErrorCode,
    /// Its words.
    pub error_message: Option<String>,
}

/// The answer for one topic.
#[derive(Clone, Debug)]
pub struct TopicAnswer {
    /// Its name.
    pub name: String,
    /// Its id.
    pub id: TopicId,
    /// Its partitions.
    pub partitions: Vec<PartitionAnswer>,
}

/// The answer for one partition.
#[derive(Clone, Debug)]
pub struct PartitionAnswer {
    /// Its number.
    pub index: i32,
    /// Where the group's records begin; -1 when that is not known.
    pub start_offset: i64,
    /// The epoch of the leader that wrote last.
    pub leader_epoch: i32,
    /// How many records are still to be dealt with; -1 when that is not known.
    pub lag: i64,
    /// What went wrong.
    pub error: ErrorCode,
    /// Its words.
    pub error_message: Option<String>,
}

/// How many bytes of an answer these topics of a group take, about.
pub fn size(topics: &[TopicAnswer]) -> usize {
    let partition = |one: &PartitionAnswer| 32 + one.error_message.as_ref().map_or(0, String::len);
    let topic = |one: &TopicAnswer| 24 + one.name.len() + one.partitions.iter().map(partition).sum::<usize>();
    32 + topics.iter().map(topic).sum::<usize>()
}

/// Encodes an answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, groups: &[GroupAnswer]) -> Result<Response, Error> {
    let mut writer = Writer::response(header, 64);
    writer.i32(0);
    writer.count(groups.len());
    for group in groups {
        writer.string(&group.id);
        writer.count(group.topics.len());
        for topic in &group.topics {
            writer.string(&topic.name);
            writer.topic_id(topic.id);
            writer.count(topic.partitions.len());
            for partition in &topic.partitions {
                writer.i32(partition.index);
                writer.i64(partition.start_offset);
                writer.i32(partition.leader_epoch);
                if header.api_version >= LAG_FROM {
                    writer.i64(partition.lag);
                }
                writer.i16(partition.error.code());
                writer.nullable_string(partition.error_message.as_deref());
                writer.no_tags();
            }
            writer.no_tags();
        }
        writer.i16(group.error.code());
        writer.nullable_string(group.error_message.as_deref());
        writer.no_tags();
    }
    writer.no_tags();
    writer.finish()
}
