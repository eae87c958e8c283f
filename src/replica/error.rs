//! Why a replica refuses.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::log;
use crate::record::check;

/// An error of this room; each variant is one of Kafka's, whose code stands beside it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Nobody knows such a topic name or partition number (UNKNOWN_TOPIC_OR_PARTITION).
    #[error("unknown topic or partition")]
    UnknownTopicOrPartition,
    /// Nobody knows such a topic id (UNKNOWN_TOPIC_ID).
    #[error("unknown topic id")]
    UnknownTopicId,
    /// The partition is led elsewhere, or is not (yet) or no longer here (NOT_LEADER_OR_FOLLOWER).
    #[error("this broker does not lead the partition")]
    NotLeaderOrFollower,
    /// This broker's settings have no such log directory (LOG_DIR_NOT_FOUND).
    #[error("no such log directory")]
    UnknownDirectory,
    /// The log directory gets nothing new (INVALID_REPLICA_ASSIGNMENT; KIP-1066).
    #[error("the log directory is cordoned")]
    Cordoned,
    /// The partition could not be opened (KAFKA_STORAGE_ERROR).
    #[error("the partition is offline")]
    Offline,
    /// The client knows an older leader (FENCED_LEADER_EPOCH).
    #[error("leader epoch {asked} is older than {current}")]
    FencedLeaderEpoch {
        /// The client's epoch.
        asked: LeaderEpoch,
        /// The epoch here.
        current: LeaderEpoch,
    },
    /// The client knows a newer leader than this broker (UNKNOWN_LEADER_EPOCH), or a follower is not known yet in
    /// this epoch.
    #[error("leader epoch {asked} is newer than {current}")]
    UnknownLeaderEpoch {
        /// The client's epoch.
        asked: LeaderEpoch,
        /// The epoch here.
        current: LeaderEpoch,
    },
    /// Fewer replicas in sync than `min.insync.replicas`; nothing was written (NOT_ENOUGH_REPLICAS).
    #[error("{in_sync} replicas in sync, {min_isr} are needed")]
    NotEnoughReplicas {
        /// How many are in sync.
        in_sync: usize,
        /// How many must be.
        min_isr: usize,
    },
    /// The replicas in sync became too few after the write (NOT_ENOUGH_REPLICAS_AFTER_APPEND).
    #[error("written, but fewer replicas than min.insync.replicas are in sync")]
    NotEnoughReplicasAfterAppend,
    /// The promise did not hold in time; the records may be kept all the same (REQUEST_TIMED_OUT).
    #[error("not acknowledged by all replicas in sync in time")]
    RequestTimedOut,
    /// The offset is not in the log (OFFSET_OUT_OF_RANGE).
    #[error("offset {offset} is outside {start}..={end}")]
    OffsetOutOfRange {
        /// What was asked for.
        offset: Offset,
        /// The log's start.
        start: Offset,
        /// The log's end (exclusive end of its records).
        end: Offset,
    },
    /// A new leader does not know yet how far its records are replicated (OFFSET_NOT_AVAILABLE).
    #[error("the high watermark is not known yet in this epoch")]
    OffsetNotAvailable,
    /// Records of a topic that is not cleaned by deletion are not deleted (POLICY_VIOLATION).
    #[error("records of the partition can not be deleted due to its cleanup.policy")]
    NotDeletable,
    /// The batch is refused as it is.
    #[error(transparent)]
    Batch(#[from] check::Error),
    /// The log refuses or fails.
    #[error(transparent)]
    Log(log::Error),
}

impl From<log::Error> for Error {
    fn from(error: log::Error) -> Error {
        match error {
            log::Error::OffsetOutOfRange { offset, start, end } => {
                Error::OffsetOutOfRange { offset, start, end }
            }
            // A log is closed only when its partition goes away.
            log::Error::Closed => Error::NotLeaderOrFollower,
            other => Error::Log(other),
        }
    }
}
