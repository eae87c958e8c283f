//! What can go wrong with a log.

use crate::base::Offset;
use crate::base::ProducerId;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// An error of this room; cheap to clone, because every waiter of a failed write gets one.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The offset is below the log's start or above its end (OFFSET_OUT_OF_RANGE).
    #[error("offset {offset} is outside {start}..={end}")]
    OffsetOutOfRange {
        /// What was asked for.
        offset: Offset,
        /// The log's start.
        start: Offset,
        /// The log's end (exclusive end of its records).
        end: Offset,
    },
    /// The producer's epoch, sequence or transaction does not allow the append.
    #[error(transparent)]
    Producer(#[from] ProducerError),
    /// A batch larger than a whole segment may be (RECORD_LIST_TOO_LARGE).
    #[error("batch of {size} bytes is larger than a segment of {segment_bytes} bytes")]
    BatchTooLarge {
        /// The batch's size in bytes.
        size: usize,
        /// The topic's `segment.bytes`.
        segment_bytes: u64,
    },
    /// The log directory failed; nothing in it is served until the process starts anew (KAFKA_STORAGE_ERROR).
    #[error("log directory {dir} is offline: {reason}")]
    Offline {
        /// The directory.
        dir: Arc<Path>,
        /// The first failure.
        reason: Arc<str>,
    },
    /// No room on the device; the directory stays online and takes writes again once there is room
    /// (KAFKA_STORAGE_ERROR).
    #[error("no space left in log directory {dir}")]
    Full {
        /// The directory.
        dir: Arc<Path>,
    },
    /// The append was taken back before it was written: an earlier write failed, or the log was truncated
    /// (KAFKA_STORAGE_ERROR).
    #[error("the append was taken back")]
    TakenBack,
    /// The log was closed or deleted (NOT_LEADER_OR_FOLLOWER or UNKNOWN_TOPIC_OR_PARTITION).
    #[error("the log is closed")]
    Closed,
    /// Bytes that were promised to be good are not (KAFKA_STORAGE_ERROR); nothing was cut.
    #[error("{file} is damaged at {position}: {reason}")]
    Damaged {
        /// The damaged file.
        file: PathBuf,
        /// Where the damage begins.
        position: u64,
        /// What is wrong there.
        reason: String,
    },
    /// A file operation failed (KAFKA_STORAGE_ERROR).
    #[error("{path}: {source}")]
    Io {
        /// What was touched.
        path: PathBuf,
        /// The cause.
        source: Arc<io::Error>,
    },
    /// Another process uses the directory.
    #[error("log directory {0} is locked by another process")]
    Locked(PathBuf),
    /// `meta.properties` contradicts this broker's settings or the other directories.
    #[error("{path}: {reason}")]
    Meta {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// One partition lies in two log directories.
    #[error("duplicate log directories for {partition}: {first} and {second}")]
    Duplicate {
        /// The partition.
        partition: String,
        /// One folder.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// The partition's folder belongs to another topic id (INCONSISTENT_TOPIC_ID).
    #[error("{path} belongs to topic id {found}, not {expected}")]
    WrongTopicId {
        /// The folder.
        path: PathBuf,
        /// The id in `partition.metadata`.
        found: String,
        /// The id asked for.
        expected: String,
    },
    /// No log directory is online (KAFKA_STORAGE_ERROR).
    #[error("no log directory is online")]
    NoDirectory,
}

impl Error {
    /// Whether the same act may succeed later without a restart: the device has no room now, or the process has no
    /// file descriptor left.
    pub fn may_pass(&self) -> bool {
        match self {
            Error::Full { .. } => true,
            Error::Io { source, .. } => crate::log::writer::is_full(source),
            _ => false,
        }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Error {
        Error::Io { path: path.to_owned(), source: Arc::new(source) }
    }

    pub(crate) fn damaged(file: &Path, position: u64, reason: impl Into<String>) -> Error {
        Error::Damaged { file: file.to_owned(), position, reason: reason.into() }
    }
}

/// Why a producer's batch is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProducerError {
    /// OUT_OF_ORDER_SEQUENCE_NUMBER
    #[error("out of order sequence number for producer {id}: {sequence} (incoming), {last} (current end)")]
    OutOfOrderSequence {
        /// The producer.
        id: ProducerId,
        /// The batch's first sequence.
        sequence: i32,
        /// The last sequence in the log.
        last: i32,
    },
    /// INVALID_PRODUCER_EPOCH
    #[error("epoch of producer {id} is {epoch}, which is smaller than the last seen epoch {current}")]
    InvalidEpoch {
        /// The producer.
        id: ProducerId,
        /// The batch's epoch.
        epoch: i16,
        /// The last seen epoch.
        current: i16,
    },
    /// INVALID_TXN_STATE
    #[error("expected a transactional write from producer {id}")]
    InvalidTransactionState {
        /// The producer.
        id: ProducerId,
    },
    /// INVALID_TXN_STATE: nobody vouches for the batch's transaction.
    #[error("record of producer {id} was not part of an ongoing transaction")]
    Unverified {
        /// The producer.
        id: ProducerId,
    },
    /// TRANSACTION_COORDINATOR_FENCED
    #[error("coordinator epoch {epoch} for producer {id} is older than {current}")]
    CoordinatorFenced {
        /// The producer.
        id: ProducerId,
        /// The marker's coordinator epoch.
        epoch: i32,
        /// The last seen coordinator epoch.
        current: i32,
    },
}
