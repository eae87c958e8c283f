//! The check of what a producer sends: framing, checksum, header, and the records as far as the topic's rules need them.
//!
//! The order of the steps and the error of each are those of Kafka's `ProduceRequest.validateRecords`,
//! `UnifiedLog.analyzeAndValidateRecords` and `LogValidator`, so that a batch with several faults gets Kafka's answer.
//! When compressed records are opened and when not: `docs/decisions/0003-when-records-are-decoded.md`.

use crate::base::Timestamp;
use crate::config::Compression;
use crate::config::TimestampType;
use crate::record::CheckedBatch;
use crate::record::batch;
use crate::record::batch::Header;
use crate::record::codec;
use crate::record::codec::Codec;
use crate::record::layout;
use crate::record::layout::HEADER_SIZE;
use crate::record::records;
use crate::record::rewrite;
use bytes::Bytes;
use thiserror::Error;

mod framing;
mod walk;

pub use walk::FAULTS_MAX;
pub use walk::Fault;
pub use walk::RecordFault;

/// A topic's rules for a batch, and the time of the append.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// `max.message.bytes`: the largest batch, as it is stored.
    pub max_message_bytes: i32,
    /// `max.decompressed.message.bytes`: bounds what comes out of a compressed batch that has to be opened.
    pub max_decompressed_bytes: i32,
    /// Whether each record must have a key: the topic is compacted.
    pub keys_required: bool,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`.
    pub before_max_ms: i64,
    /// `message.timestamp.after.max.ms`.
    pub after_max_ms: i64,
    /// `compression.type` with its level.
    pub compression: Compression,
    /// The broker's time.
    pub now: Timestamp,
    /// Whether a client sent the batch: then the header's numbers must agree, and control batches are refused.
    pub client: bool,
}

/// Why a batch is refused. In brackets: the code Kafka answers with.
#[derive(Debug, Error)]
pub enum Error {
    /// There is no whole batch. [INVALID_RECORD]
    #[error("there must be one record batch for each partition, but there is none")]
    NoBatch,
    /// There is a second batch. [INVALID_RECORD]
    #[error("there must be exactly one record batch for each partition, but there are more")]
    SeveralBatches,
    /// The batch is of an old format. [INVALID_RECORD]
    #[error("record batches must be of format 2, but this one is of format {0}")]
    OldFormat(i8),
    /// A length or format that no batch has. [CORRUPT_MESSAGE]
    #[error("the record batch is damaged: length {length}, format {magic}")]
    Damaged {
        /// What the length field says.
        length: i32,
        /// What the magic field says; 0 where it is not there.
        magic: i8,
    },
    /// The checksum is wrong. [CORRUPT_MESSAGE]
    #[error("the record batch is damaged: its checksum {stored} is not that of its bytes")]
    Checksum {
        /// What the checksum field says.
        stored: u32,
    },
    /// The batch is larger than `max.message.bytes`, as sent or as it would be stored. [MESSAGE_TOO_LARGE]
    #[error("the record batch has {size} bytes, more than the topic's maximum of {max}")]
    TooLarge {
        /// Bytes of the batch.
        size: usize,
        /// The topic's maximum.
        max: i32,
    },
    /// The batch has to be opened and holds too much. [MESSAGE_TOO_LARGE]
    #[error("the record batch has more than {max} bytes after decompression")]
    DecompressedTooLarge {
        /// The bound.
        max: usize,
    },
    /// The first offset is not 0. [INVALID_RECORD]
    #[error("the base offset of a produced record batch must be 0, but it is {0}")]
    BaseOffset(i64),
    /// Last offset and record count do not agree, or one of them is not positive. [INVALID_RECORD]
    #[error(
        "the record batch has a last offset delta of {last_offset_delta} and a record count of {record_count}"
    )]
    Count {
        /// The last record's offset, from the first.
        last_offset_delta: i32,
        /// The number of records.
        record_count: i32,
    },
    /// A client sent a control batch. [INVALID_RECORD]
    #[error("clients are not allowed to write control records")]
    Control,
    /// There is a producer id but no sequence. [INVALID_RECORD]
    #[error("the record batch of producer {producer_id} has sequence {sequence}")]
    Sequence {
        /// The producer.
        producer_id: i64,
        /// The sequence.
        sequence: i32,
    },
    /// The codec's number means nothing. [UNSUPPORTED_COMPRESSION_TYPE]
    #[error(transparent)]
    Codec(#[from] codec::UnknownCodec),
    /// The records are not what the header says, or cannot be opened. [INVALID_RECORD]
    #[error("the records do not match their batch: {0}")]
    Records(#[from] records::Error),
    /// Some records break the topic's rules, so nothing of the batch is stored.
    /// [INVALID_TIMESTAMP when one of them does by its time, else INVALID_RECORD]
    #[error("{} records are rejected, the first because {}", .0.len(), first_reason(.0))]
    Rejected(Vec<RecordFault>),
}

impl Error {
    /// The records at fault, for the answer's list (Produce version 8 and above); empty when the batch is as a whole.
    pub fn faults(&self) -> &[RecordFault] {
        match self {
            Error::Rejected(faults) => faults,
            _ => &[],
        }
    }

    /// Whether the batch came whole and in a form that is taken, and its content breaks a rule.
    pub fn is_of_content(&self) -> bool {
        match self {
            Error::BaseOffset(_)
            | Error::Count { .. }
            | Error::Control
            | Error::Sequence { .. }
            | Error::Records(_)
            | Error::Rejected(_) => true,
            Error::NoBatch
            | Error::SeveralBatches
            | Error::OldFormat(_)
            | Error::Damaged { .. }
            | Error::Checksum { .. }
            | Error::TooLarge { .. }
            | Error::DecompressedTooLarge { .. }
            | Error::Codec(_) => false,
        }
    }

    /// Whether a record's time is at fault; then the code is INVALID_TIMESTAMP.
    pub fn is_timestamp(&self) -> bool {
        self.faults().iter().any(|fault| fault.fault != Fault::NoKey)
    }
}

fn first_reason(faults: &[RecordFault]) -> String {
    faults.first().map(|fault| fault.fault.to_string()).unwrap_or_default()
}

/// What an opened batch may hold at least before the bound of [`decompressed_max`] falls due.
const DECOMPRESSED_MIN: usize = 64 * 1024 * 1024;
/// How much an opened batch may grow beyond that, as a multiple of its compressed size.
const DECOMPRESSED_RATIO: usize = 32;

/// Checks that there is exactly one whole batch of today's format.
///
/// # Errors
/// What else there is.
pub fn one_batch(records: &[u8]) -> Result<(), Error> {
    framing::only_batch(records).map(|_| ())
}

/// Whether `records` begin with what no batch begins with.
pub fn begins_damaged(records: &[u8]) -> bool {
    framing::first(records).is_err()
}

/// Checks what a producer sent for one partition: exactly one batch that may be stored under this policy. The batch
/// keeps its bytes unless the topic wants another codec or the append time, or a client counted offsets or the largest
/// time wrongly. An incomplete batch behind the first one is left off, as Kafka does.
///
/// # Errors
/// See [`Error`]; nothing of a refused batch may be stored.
pub fn check(records: Bytes, policy: &Policy) -> Result<CheckedBatch, Error> {
    let header = framing::only_batch(&records)?;
    let size = header.total_size();
    if policy.client && header.base_offset != 0 {
        return Err(Error::BaseOffset(header.base_offset));
    }
    let max = policy.max_message_bytes;
    if usize::try_from(max).map_or(true, |max| size > max) {
        return Err(Error::TooLarge { size, max });
    }
    let bytes = if records.len() == size { records } else { records.slice(..size) };
    if !batch::is_intact(&bytes) {
        return Err(Error::Checksum { stored: header.crc });
    }
    if policy.client {
        client_header(&header)?;
    }
    let codec = header.codec()?;
    let target = target(policy.compression, codec, header.is_control());
    let seen = look_inside(&header, codec, &bytes, policy, target)?;
    finish(header, bytes, policy, target, seen)
}

/// The header's numbers as a client must send them (`LogValidator.validateBatch`).
fn client_header(header: &Header) -> Result<(), Error> {
    let (record_count, last_offset_delta) = (header.record_count, header.last_offset_delta);
    if record_count <= 0 || last_offset_delta.checked_add(1) != Some(record_count) {
        return Err(Error::Count { last_offset_delta, record_count });
    }
    if header.is_control() {
        return Err(Error::Control);
    }
    if header.has_producer_id() && header.base_sequence < 0 {
        return Err(Error::Sequence { producer_id: header.producer_id, sequence: header.base_sequence });
    }
    Ok(())
}

/// The codec and level the topic stores with. Control records are not compressed afterwards.
fn target(compression: Compression, sent: Codec, control: bool) -> (Codec, i32) {
    if control && sent == Codec::None {
        return (Codec::None, codec::DEFAULT_LEVEL);
    }
    match compression {
        Compression::Producer => (sent, codec::DEFAULT_LEVEL),
        Compression::Uncompressed => (Codec::None, codec::DEFAULT_LEVEL),
        Compression::Gzip { level } => (Codec::Gzip, level),
        Compression::Snappy => (Codec::Snappy, codec::DEFAULT_LEVEL),
        Compression::Lz4 { level } => (Codec::Lz4, level),
        Compression::Zstd { level } => (Codec::Zstd, level),
    }
}

/// What is known of the records after the check.
struct Seen {
    /// The largest time, if the producer's times count.
    max_timestamp: i64,
    /// The records to store, decompressed, when they differ from those that came.
    rewritten: Option<Bytes>,
}

/// Walks the records when they lie open or a rule needs them; otherwise believes the header.
fn look_inside(
    header: &Header,
    codec: Codec,
    bytes: &Bytes,
    policy: &Policy,
    target: (Codec, i32),
) -> Result<Seen, Error> {
    let body = bytes.slice(HEADER_SIZE..);
    let recompressed = target.0 != codec;
    let body = if codec == Codec::None {
        body
    } else if recompressed || walk::is_needed(header, policy) {
        open(codec, &body, policy)?
    } else {
        return Ok(Seen { max_timestamp: header.max_timestamp, rewritten: None });
    };
    let walked = walk::walk(header, &body, policy)?;
    let rewritten = if walked.in_sequence {
        recompressed.then_some(body)
    } else {
        Some(Bytes::from(rewrite::renumber(&body, header.record_count)?))
    };
    Ok(Seen { max_timestamp: walked.max_timestamp, rewritten })
}

/// Opens compressed records within [`decompressed_max`].
fn open(codec: Codec, body: &[u8], policy: &Policy) -> Result<Bytes, Error> {
    match codec::decompress(codec, body, decompressed_max(body.len(), policy)) {
        Ok(body) => Ok(body),
        Err(codec::Error::TooLarge { max }) => Err(Error::DecompressedTooLarge { max }),
        Err(error) => Err(Error::Records(records::Error::Compressed(error))),
    }
}

/// The most bytes that a batch of this compressed size may hold: the topic's limit, and a bound of our own, because
/// the topic's default is 2 GiB and Kafka streams what we hold in memory.
fn decompressed_max(compressed: usize, policy: &Policy) -> usize {
    let topic = usize::try_from(policy.max_decompressed_bytes).unwrap_or(0);
    topic.min(DECOMPRESSED_MIN.saturating_add(compressed.saturating_mul(DECOMPRESSED_RATIO)))
}

/// The batch as it came, or put together again where the topic's rules change it.
fn finish(
    header: Header,
    bytes: Bytes,
    policy: &Policy,
    (codec, level): (Codec, i32),
    seen: Seen,
) -> Result<CheckedBatch, Error> {
    let mut stored = header;
    let append_time = match policy.timestamp_type {
        TimestampType::CreateTime => {
            stored.attributes &= !layout::APPEND_TIME_FLAG;
            stored.max_timestamp = seen.max_timestamp;
            Timestamp::NONE
        }
        TimestampType::LogAppendTime => {
            stored.attributes |= layout::APPEND_TIME_FLAG;
            stored.max_timestamp = policy.now.0;
            policy.now
        }
    };
    let Some(body) = seen.rewritten else {
        if stored == header {
            return Ok(CheckedBatch::vouch(header, bytes, append_time));
        }
        return Ok(rewrite::assemble(stored, bytes.get(HEADER_SIZE..).unwrap_or_default(), append_time));
    };
    stored.attributes = stored.attributes & !layout::CODEC_MASK | codec.id();
    let body = if codec == Codec::None { body } else { codec::compress(codec, level, &body) };
    let (size, max) = (HEADER_SIZE + body.len(), policy.max_message_bytes);
    if usize::try_from(max).map_or(true, |max| size > max) {
        return Err(Error::TooLarge { size, max });
    }
    Ok(rewrite::assemble(stored, &body, append_time))
}

#[cfg(test)]
mod tests;
