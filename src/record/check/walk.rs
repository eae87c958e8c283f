//! The walk over the records of a produced batch: are they what the header says, and does each follow the rules?

use crate::base::Timestamp;
use crate::config::TimestampType;
use crate::record::batch::Header;
use crate::record::check::Error;
use crate::record::check::Policy;
use crate::record::layout;
use crate::record::records::RawRecord;
use crate::record::records::RawRecords;

/// How many faults of one batch are listed; the answer must not grow with what a client sends. Java's client fails the
/// records that are not listed as well, only without a reason of their own.
pub const FAULTS_MAX: usize = 1_000;

/// A record that breaks a rule of its topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordFault {
    /// The record's place in the batch, from 0.
    pub index: i32,
    /// The rule; its text goes into the answer.
    pub fault: Fault,
}

/// Which rule a record breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// INVALID_RECORD.
    #[error("a record of a compacted topic must have a key, and this one's key is missing")]
    NoKey,
    /// INVALID_TIMESTAMP.
    #[error("timestamp {timestamp} is out of range: it must lie between {first} and {last}")]
    TimestampRange {
        /// The record's time.
        timestamp: Timestamp,
        /// The earliest time allowed.
        first: Timestamp,
        /// The latest time allowed.
        last: Timestamp,
    },
    /// INVALID_TIMESTAMP.
    #[error("a producer must not mark its batch as carrying the append time")]
    AppendTimeSent,
}

/// Whether a compressed batch has to be opened under this policy although it is stored as it is.
pub(super) fn is_needed(header: &Header, policy: &Policy) -> bool {
    let by_time = match policy.timestamp_type {
        TimestampType::LogAppendTime => header.timestamp_type() == TimestampType::LogAppendTime,
        TimestampType::CreateTime => {
            let early = policy.before_max_ms != i64::MAX;
            let late = timestamp_fault(header.max_timestamp, policy).is_some();
            let wrong = header.max_timestamp < header.base_timestamp;
            early || late || wrong || header.timestamp_type() == TimestampType::LogAppendTime
        }
    };
    policy.keys_required || by_time
}

/// What the walk found; there is no fault.
pub(super) struct Walked {
    /// The largest of the producer's times, -1 at least.
    pub(super) max_timestamp: i64,
    /// Whether the offset deltas are 0, 1, 2 ...
    pub(super) in_sequence: bool,
}

/// Walks all records in `body` (decompressed).
///
/// # Errors
/// [`Error::Records`] when they do not fill the body as the header says, [`Error::Rejected`] when some break the rules.
pub(super) fn walk(header: &Header, body: &[u8], policy: &Policy) -> Result<Walked, Error> {
    let mut walked = Walked { max_timestamp: Timestamp::NONE.0, in_sequence: true };
    let mut faults = Vec::new();
    for (index, record) in (0..).zip(RawRecords::new(body, header.record_count)?) {
        let record = record?;
        let timestamp = header.base_timestamp.wrapping_add(record.timestamp_delta);
        walked.max_timestamp = walked.max_timestamp.max(timestamp);
        walked.in_sequence &= record.offset_delta == index;
        if let Some(fault) = fault(header, &record, timestamp, policy)
            && faults.len() < FAULTS_MAX
        {
            faults.push(RecordFault { index, fault });
        }
    }
    if faults.is_empty() { Ok(walked) } else { Err(Error::Rejected(faults)) }
}

/// The first rule the record breaks (`LogValidator.validateRecord`).
#[inline]
fn fault(header: &Header, record: &RawRecord<'_>, timestamp: i64, policy: &Policy) -> Option<Fault> {
    if policy.keys_required && record.key.is_none() {
        return Some(Fault::NoKey);
    }
    match policy.timestamp_type {
        TimestampType::CreateTime => timestamp_fault(timestamp, policy),
        TimestampType::LogAppendTime => {
            (header.attributes & layout::APPEND_TIME_FLAG != 0).then_some(Fault::AppendTimeSent)
        }
    }
}

/// The fault of a producer's time, if it has one. No time at all is none.
#[inline]
fn timestamp_fault(timestamp: i64, policy: &Policy) -> Option<Fault> {
    let now = policy.now.0;
    let early = now.saturating_sub(timestamp) > policy.before_max_ms;
    let late = timestamp.saturating_sub(now) > policy.after_max_ms;
    if timestamp == Timestamp::NONE.0 || !(early || late) {
        return None;
    }
    Some(Fault::TimestampRange {
        timestamp: Timestamp(timestamp),
        first: Timestamp(now.saturating_sub(policy.before_max_ms)),
        last: Timestamp(now.saturating_add(policy.after_max_ms)),
    })
}
