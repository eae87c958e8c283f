//! The only translation from the errors of the rooms below to Kafka's codes.
//!
//! One `From` for each room's error. A handler puts code and message into the fields its answer has for them.

use crate::base::ErrorCode;
use crate::cluster;
use crate::log;
use crate::log::ProducerError;
use crate::protocol;
use crate::record::check;
use crate::replica;
use std::fmt;

/// Kafka's words for INVALID_REQUEST where it has no others (`Errors`).
pub(crate) const MALFORMED: &str = "This most likely occurs because of a request being malformed by the client library \
    or the message was sent to an incompatible broker. See the broker logs for more details.";

/// A refusal in Kafka's terms: the code, and words where an answer has a place for them.
///
/// A handler that returns one instead of an answer closes the connection, as Apache Kafka does with a request that it
/// cannot read; so only errors that no field of the answer can carry end that way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The code.
    pub code: ErrorCode,
    /// What is wrong, as Kafka words it; `None` stands for the code's own words.
    pub message: Option<String>,
}

impl Refused {
    /// A refusal with a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Refused {
        Refused { code, message: Some(message.into()) }
    }
}

impl From<ErrorCode> for Refused {
    fn from(code: ErrorCode) -> Refused {
        Refused { code, message: None }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(message) => write!(f, "{}: {message}", self.code),
            None => self.code.fmt(f),
        }
    }
}

impl From<cluster::Refusal> for Refused {
    fn from(refusal: cluster::Refusal) -> Refused {
        Refused { code: refusal.code, message: refusal.message }
    }
}

impl From<cluster::Error> for Refused {
    fn from(error: cluster::Error) -> Refused {
        match error {
            cluster::Error::Refused(refusal) => refusal.into(),
            cluster::Error::NotActive => Refused::new(ErrorCode::NotController, error.to_string()),
            cluster::Error::Log(_)
            | cluster::Error::Record { .. }
            | cluster::Error::Apply { .. }
            | cluster::Error::Gap { .. }
            | cluster::Error::Lost { .. }
            | cluster::Error::File { .. } => Refused::new(ErrorCode::UnknownServerError, error.to_string()),
        }
    }
}

impl From<protocol::Error> for Refused {
    fn from(error: protocol::Error) -> Refused {
        let code = match &error {
            protocol::Error::UnknownApi(_) | protocol::Error::UnsupportedVersion { .. } => {
                ErrorCode::UnsupportedVersion
            }
            protocol::Error::Encode(_) => ErrorCode::UnknownServerError,
            protocol::Error::Truncated(_)
            | protocol::Error::Malformed { .. }
            | protocol::Error::TooLarge { .. }
            | protocol::Error::Decode(_) => ErrorCode::InvalidRequest,
        };
        Refused::new(code, error.to_string())
    }
}

impl From<&replica::Error> for Refused {
    fn from(error: &replica::Error) -> Refused {
        use replica::Error as E;
        let code = match error {
            E::UnknownTopicOrPartition => ErrorCode::UnknownTopicOrPartition,
            E::UnknownTopicId => ErrorCode::UnknownTopicId,
            E::NotLeaderOrFollower => ErrorCode::NotLeaderOrFollower,
            E::Offline => ErrorCode::KafkaStorageError,
            E::FencedLeaderEpoch { .. } => ErrorCode::FencedLeaderEpoch,
            E::UnknownLeaderEpoch { .. } => ErrorCode::UnknownLeaderEpoch,
            E::NotEnoughReplicas { .. } => ErrorCode::NotEnoughReplicas,
            E::NotEnoughReplicasAfterAppend => ErrorCode::NotEnoughReplicasAfterAppend,
            E::RequestTimedOut => ErrorCode::RequestTimedOut,
            E::OffsetOutOfRange { .. } => ErrorCode::OffsetOutOfRange,
            E::OffsetNotAvailable => ErrorCode::OffsetNotAvailable,
            E::NotDeletable => ErrorCode::PolicyViolation,
            E::UnknownDirectory => ErrorCode::LogDirNotFound,
            E::Cordoned => ErrorCode::InvalidReplicaAssignment,
            E::Batch(batch) => batch_code(batch),
            E::Log(log) => log_code(log),
        };
        Refused::new(code, error.to_string())
    }
}

/// Why a batch is refused: the codes of Kafka's `ProduceRequest`, `UnifiedLog` and `LogValidator`.
fn batch_code(error: &check::Error) -> ErrorCode {
    use check::Error as E;
    match error {
        E::Damaged { .. } | E::Checksum { .. } => ErrorCode::CorruptMessage,
        E::TooLarge { .. } | E::DecompressedTooLarge { .. } => ErrorCode::MessageTooLarge,
        E::Codec(_) => ErrorCode::UnsupportedCompressionType,
        E::Rejected(_) if error.is_timestamp() => ErrorCode::InvalidTimestamp,
        E::NoBatch
        | E::SeveralBatches
        | E::OldFormat(_)
        | E::BaseOffset(_)
        | E::Count { .. }
        | E::Control
        | E::Sequence { .. }
        | E::Records(_)
        | E::Rejected(_) => ErrorCode::InvalidRecord,
    }
}

/// What a log refuses, and where it fails.
fn log_code(error: &log::Error) -> ErrorCode {
    use log::Error as E;
    match error {
        E::OffsetOutOfRange { .. } => ErrorCode::OffsetOutOfRange,
        E::Producer(ProducerError::OutOfOrderSequence { .. }) => ErrorCode::OutOfOrderSequenceNumber,
        E::Producer(ProducerError::InvalidEpoch { .. }) => ErrorCode::InvalidProducerEpoch,
        E::Producer(ProducerError::InvalidTransactionState { .. } | ProducerError::Unverified { .. }) => {
            ErrorCode::InvalidTxnState
        }
        E::Producer(ProducerError::CoordinatorFenced { .. }) => ErrorCode::TransactionCoordinatorFenced,
        E::BatchTooLarge { .. } => ErrorCode::RecordListTooLarge,
        E::Closed => ErrorCode::NotLeaderOrFollower,
        E::WrongTopicId { .. } => ErrorCode::InconsistentTopicId,
        E::Offline { .. }
        | E::Full { .. }
        | E::TakenBack
        | E::Damaged { .. }
        | E::Io { .. }
        | E::Locked(_)
        | E::Meta { .. }
        | E::Duplicate { .. }
        | E::NoDirectory => ErrorCode::KafkaStorageError,
    }
}
