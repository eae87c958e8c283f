//! Fetch, all versions: the records of an answer are parts, which may still lie on disk.

mod answer;
mod request;

pub use answer::AbortedTransaction;
pub use answer::Answer;
pub use answer::EpochEndOffset;
pub use answer::PartitionAnswer;
pub use answer::SnapshotId;
pub use answer::TopicAnswer;
pub use answer::encode;
pub use request::ForgottenTopic;
pub use request::Partition;
pub use request::Request;
pub use request::Topic;
pub use request::decode;

/// The first version that names topics by id (KIP-516).
pub const TOPIC_IDS_FROM: i16 = 13;

#[cfg(test)]
mod tests;
