//! What a share fetch asks for, and what it is done with.

use crate::base::TopicId;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::share_fetch::RENEW_FROM;
use crate::protocol::wire::Reader;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// A ShareFetch request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The group.
    pub group_id: Option<StrBytes>,
    /// The member.
    pub member_id: Option<StrBytes>,
    /// The session's step: 0 opens one, -1 closes it.
    pub session_epoch: i32,
    /// How long to wait for records; milliseconds.
    pub max_wait_ms: i32,
    /// How many bytes are worth an answer.
    pub min_bytes: i32,
    /// How many bytes to answer with.
    pub max_bytes: i32,
    /// How many records to acquire.
    pub max_records: i32,
    /// How many records one acquired batch had best have.
    pub batch_size: i32,
    /// 0 acquires whole batches, 1 never more than `max_records` (version 2 on).
    pub acquire_mode: i8,
    /// Whether locks are renewed, and nothing is fetched (version 2 on).
    pub is_renew: bool,
    /// The partitions.
    pub topics: Vec<Topic>,
    /// What to drop from the session.
    pub forgotten: Vec<ForgottenTopic>,
}

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its id.
    pub id: TopicId,
    /// The partitions.
    pub partitions: Vec<Partition>,
}

/// One partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// Its number.
    pub index: i32,
    /// What the client is done with.
    pub acknowledgements: Vec<AcknowledgementBatch>,
}

/// What became of a range of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcknowledgementBatch {
    /// Its first offset.
    pub first_offset: i64,
    /// Its last offset (inclusive).
    pub last_offset: i64,
    /// One type for all, or one for each: 0 gap, 1 accept, 2 release, 3 reject, 4 renew.
    pub types: Vec<i8>,
}

/// Partitions of one topic to drop from the session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForgottenTopic {
    /// Its id.
    pub id: TopicId,
    /// The partitions.
    pub partitions: Vec<i32>,
}

/// Decodes a request; every count and length is checked against the bytes that are left.
///
/// # Errors
/// When the bytes are no ShareFetch request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let mut reader = codec::reader(header, body)?;
    let renews = header.api_version >= RENEW_FROM;
    let request = Request {
        group_id: reader.nullable_string("GroupId")?,
        member_id: reader.nullable_string("MemberId")?,
        session_epoch: reader.i32("ShareSessionEpoch")?,
        max_wait_ms: reader.i32("MaxWaitMs")?,
        min_bytes: reader.i32("MinBytes")?,
        max_bytes: reader.i32("MaxBytes")?,
        max_records: reader.i32("MaxRecords")?,
        batch_size: reader.i32("BatchSize")?,
        acquire_mode: if renews { reader.i8("ShareAcquireMode")? } else { 0 },
        is_renew: renews && reader.bool("IsRenewAck")?,
        topics: topics(&mut reader)?,
        forgotten: forgotten(&mut reader)?,
    };
    reader.skip_tags()?;
    Ok(request)
}

/// The topics of a ShareFetch or a ShareAcknowledge request.
pub(crate) fn topics(reader: &mut Reader) -> Result<Vec<Topic>, Error> {
    let count = reader.count(18, "Topics")?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        let id = reader.topic_id("TopicId")?;
        let count = reader.count(6, "Partitions")?;
        let mut partitions = Vec::with_capacity(count);
        for _ in 0..count {
            let index = reader.i32("PartitionIndex")?;
            let acknowledgements = acknowledgements(reader)?;
            reader.skip_tags()?;
            partitions.push(Partition { index, acknowledgements });
        }
        reader.skip_tags()?;
        topics.push(Topic { id, partitions });
    }
    Ok(topics)
}

fn acknowledgements(reader: &mut Reader) -> Result<Vec<AcknowledgementBatch>, Error> {
    let count = reader.count(18, "AcknowledgementBatches")?;
    let mut batches = Vec::with_capacity(count);
    for _ in 0..count {
        let first_offset = reader.i64("FirstOffset")?;
        let last_offset = reader.i64("LastOffset")?;
        let count = reader.count(1, "AcknowledgeTypes")?;
        let mut types = Vec::with_capacity(count);
        for _ in 0..count {
            types.push(reader.i8("AcknowledgeTypes")?);
        }
        reader.skip_tags()?;
        batches.push(AcknowledgementBatch { first_offset, last_offset, types });
    }
    Ok(batches)
}

fn forgotten(reader: &mut Reader) -> Result<Vec<ForgottenTopic>, Error> {
    let count = reader.count(18, "ForgottenTopicsData")?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        let id = reader.topic_id("TopicId")?;
        let partitions = reader.i32_array("Partitions")?;
        reader.skip_tags()?;
        topics.push(ForgottenTopic { id, partitions });
    }
    Ok(topics)
}
