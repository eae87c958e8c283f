//! Why something cannot be done, in Kafka's terms.

use crate::base::ErrorCode;

/// A code and, where the code's own words are not enough, others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Kafka's code.
    pub code: ErrorCode,
    /// Words of its own.
    pub message: Option<&'static str>,
}

impl Failure {
    /// A failure with words.
    pub const fn new(code: ErrorCode, message: &'static str) -> Failure {
        Failure { code, message: Some(message) }
    }

    /// Whether whoever holds the share-partition must let go of it (`SharePartitionManager.fencedSharePartitionHandler`).
    pub(crate) fn fences(self) -> bool {
        matches!(
            self.code,
            ErrorCode::NotLeaderOrFollower
                | ErrorCode::FencedStateEpoch
                | ErrorCode::FencedLeaderEpoch
                | ErrorCode::GroupIdNotFound
                | ErrorCode::UnknownTopicOrPartition
                | ErrorCode::UnknownTopicId
        )
    }
}

impl From<ErrorCode> for Failure {
    fn from(code: ErrorCode) -> Failure {
        Failure { code, message: None }
    }
}
