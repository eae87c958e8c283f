//! DescribeLogDirs 1 to 5; version 5 tells whether a directory is cordoned (KIP-1066).

use crate::base::ErrorCode;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Response;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// What to describe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The topics; `None` for all.
    pub topics: Option<Vec<Topic>>,
}

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// The topic's name.
    pub name: StrBytes,
    /// The partitions' numbers.
    pub partitions: Vec<i32>,
}

/// Decodes a request.
///
/// # Errors
/// When the bytes are no DescribeLogDirs request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let mut reader = codec::reader(header, body)?;
    let count = reader.nullable_count(if header.flexible() { 3 } else { 6 }, "Topics")?;
    let topics = match count {
        None => None,
        Some(count) => {
            let mut topics = Vec::with_capacity(count);
            for _ in 0..count {
                let name = reader.string("Topic")?;
                let partitions = reader.i32_array("Partitions")?;
                reader.skip_tags()?;
                topics.push(Topic { name, partitions });
            }
            Some(topics)
        }
    };
    reader.skip_tags()?;
    Ok(Request { topics })
}

/// What lies in the log directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How long the client is asked to pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// An error of the whole request (version 3 on).
    pub error: ErrorCode,
    /// One for each directory.
    pub directories: Vec<Directory>,
}

/// One log directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// What is wrong with it, KAFKA_STORAGE_ERROR when it is offline.
    pub error: ErrorCode,
    /// Its absolute path.
    pub path: StrBytes,
    /// The topics with partitions in it.
    pub topics: Vec<DirectoryTopic>,
    /// The size of its volume in bytes, -1 when not known (version 4 on, KIP-827).
    pub total_bytes: i64,
    /// The free bytes of its volume, -1 when not known (version 4 on).
    pub usable_bytes: i64,
    /// Whether it takes no new partitions (version 5 on).
    pub cordoned: bool,
}

/// A topic's partitions in a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirectoryTopic {
    /// The topic's name.
    pub name: StrBytes,
    /// The partitions.
    pub partitions: Vec<DirectoryPartition>,
}

/// A partition in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryPartition {
    /// Its number.
    pub index: i32,
    /// Bytes of its segments.
    pub size: i64,
    /// How far its end is behind the high watermark, or a future log's end behind the current one's.
    pub offset_lag: i64,
    /// Whether it will replace the current log (AlterReplicaLogDirs).
    pub future: bool,
}

/// Encodes an answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, answer: &Answer) -> Result<Response, Error> {
    let version = header.api_version;
    let mut writer = Writer::response(header, 256);
    writer.i32(answer.throttle_time_ms);
    if version >= 3 {
        writer.i16(answer.error.code());
    }
    writer.count(answer.directories.len());
    for directory in &answer.directories {
        writer.i16(directory.error.code());
        writer.string(&directory.path);
        encode_topics(&mut writer, &directory.topics);
        if version >= 4 {
            writer.i64(directory.total_bytes);
            writer.i64(directory.usable_bytes);
        }
        if version >= 5 {
            writer.bool(directory.cordoned);
        }
        writer.no_tags();
    }
    writer.no_tags();
    writer.finish()
}

fn encode_topics(writer: &mut Writer, topics: &[DirectoryTopic]) {
    writer.count(topics.len());
    for topic in topics {
        writer.string(&topic.name);
        writer.count(topic.partitions.len());
        for partition in &topic.partitions {
            writer.i32(partition.index);
            writer.i64(partition.size);
            writer.i64(partition.offset_lag);
            writer.bool(partition.future);
            writer.no_tags();
        }
        writer.no_tags();
    }
}
