//! The state of share-partitions between brokers: WriteShareGroupState 0 and 1, ReadShareGroupStateSummary 0 and 1.
//! Version 1 of both counts the deliveries that are complete (KIP-1226).

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

/// The first version with the count of complete deliveries.
const COMPLETE_FROM: i16 = 1;

/// Partitions of a group by topic id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<P> {
    /// The group.
    pub group_id: StrBytes,
    /// The partitions.
    pub topics: Vec<(TopicId, Vec<P>)>,
}

/// What is to be written of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The partition.
    pub index: i32,
    /// The epoch of its state.
    pub state_epoch: i32,
    /// The epoch of its leader.
    pub leader_epoch: i32,
    /// Where the group's records begin; -1 when that is not written.
    pub start_offset: i64,
    /// How many deliveries behind that are complete; -1 before version 1.
    pub delivery_complete_count: i32,
    /// What changed.
    pub batches: Vec<StateBatch>,
}

/// The state of a range of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateBatch {
    /// Its first offset.
    pub first_offset: i64,
    /// Its last offset (inclusive).
    pub last_offset: i64,
    /// 0 available, 2 acknowledged, 3 on the way to the dead-letter topic, 4 archived.
    pub delivery_state: i8,
    /// How often they were delivered.
    pub delivery_count: i16,
}

/// A partition whose summary is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summarize {
    /// The partition.
    pub index: i32,
    /// The epoch of its leader.
    pub leader_epoch: i32,
}

/// Decodes a WriteShareGroupState request.
///
/// # Errors
/// When the bytes are no such request of this version.
pub fn decode_write(header: &RequestHeader, body: Bytes) -> Result<Request<Write>, Error> {
    let version = header.api_version;
    decode(header, body, 22, |reader| {
        let mut write = Write {
            index: reader.i32("Partition")?,
            state_epoch: reader.i32("StateEpoch")?,
            leader_epoch: reader.i32("LeaderEpoch")?,
            start_offset: reader.i64("StartOffset")?,
            delivery_complete_count: -1,
            batches: Vec::new(),
        };
        if version >= COMPLETE_FROM {
            write.delivery_complete_count = reader.i32("DeliveryCompleteCount")?;
        }
        let count = reader.count(20, "StateBatches")?;
        write.batches.reserve_exact(count);
        for _ in 0..count {
            write.batches.push(StateBatch {
                first_offset: reader.i64("FirstOffset")?,
                last_offset: reader.i64("LastOffset")?,
                delivery_state: reader.i8("DeliveryState")?,
                delivery_count: reader.i16("DeliveryCount")?,
            });
            reader.skip_tags()?;
        }
        Ok(write)
    })
}

/// Decodes a ReadShareGroupStateSummary request.
///
/// # Errors
/// When the bytes are no such request of this version.
pub fn decode_summarize(header: &RequestHeader, body: Bytes) -> Result<Request<Summarize>, Error> {
    decode(header, body, 9, |reader| {
        Ok(Summarize { index: reader.i32("Partition")?, leader_epoch: reader.i32("LeaderEpoch")? })
    })
}

fn decode<P>(
    header: &RequestHeader,
    body: Bytes,
    size_min: usize,
    partition: impl Fn(&mut Reader) -> Result<P, Error>,
) -> Result<Request<P>, Error> {
    let mut reader = codec::reader(header, body)?;
    let group_id = reader.string("GroupId")?;
    let count = reader.count(18, "Topics")?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        let id = reader.topic_id("TopicId")?;
        let count = reader.count(size_min, "Partitions")?;
        let mut partitions = Vec::with_capacity(count);
        for _ in 0..count {
            partitions.push(partition(&mut reader)?);
            reader.skip_tags()?;
        }
        reader.skip_tags()?;
        topics.push((id, partitions));
    }
    reader.skip_tags()?;
    Ok(Request { group_id, topics })
}

/// What happened to one partition's write.
#[derive(Clone, Debug)]
pub struct Written {
    /// The partition.
    pub index: i32,
    /// What happened.
    pub error: ErrorCode,
    /// Its words.
    pub error_message: Option<String>,
}

/// Encodes a WriteShareGroupState answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode_write(header: &RequestHeader, topics: &[(TopicId, Vec<Written>)]) -> Result<Response, Error> {
    encode(header, topics, |writer, partition| {
        writer.i32(partition.index);
        writer.i16(partition.error.code());
        writer.nullable_string(partition.error_message.as_deref());
    })
}

/// One partition's summary.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The partition.
    pub index: i32,
    /// What happened.
    pub error: ErrorCode,
    /// Its words.
    pub error_message: Option<String>,
    /// The epoch of its state.
    pub state_epoch: i32,
    /// The epoch of its leader.
    pub leader_epoch: i32,
    /// Where the group's records begin.
    pub start_offset: i64,
    /// How many deliveries behind that are complete.
    pub delivery_complete_count: i32,
}

/// Encodes a ReadShareGroupStateSummary answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode_summary(header: &RequestHeader, topics: &[(TopicId, Vec<Summary>)]) -> Result<Response, Error> {
    let version = header.api_version;
    encode(header, topics, |writer, partition| {
        writer.i32(partition.index);
        writer.i16(partition.error.code());
        writer.nullable_string(partition.error_message.as_deref());
        writer.i32(partition.state_epoch);
        writer.i32(partition.leader_epoch);
        writer.i64(partition.start_offset);
        if version >= COMPLETE_FROM {
            writer.i32(partition.delivery_complete_count);
        }
    })
}

fn encode<P>(
    header: &RequestHeader,
    topics: &[(TopicId, Vec<P>)],
    partition: impl Fn(&mut Writer, &P),
) -> Result<Response, Error> {
    let mut writer = Writer::response(header, 64);
    writer.count(topics.len());
    for (id, partitions) in topics {
        writer.topic_id(*id);
        writer.count(partitions.len());
        for one in partitions {
            partition(&mut writer, one);
            writer.no_tags();
        }
        writer.no_tags();
    }
    writer.no_tags();
    writer.finish()
}
