//! ShareFetch 1 and 2, and the acknowledgements that ShareAcknowledge shares with it: the records of an answer are
//! parts, which may still lie on disk.

mod answer;
mod request;

pub use answer::AcquiredRecords;
pub use answer::Answer;
pub use answer::PartitionAnswer;
pub use answer::TopicAnswer;
pub use answer::encode;
pub(crate) use answer::encode_endpoints;
pub(crate) use answer::encode_leader;
pub use request::AcknowledgementBatch;
pub use request::ForgottenTopic;
pub use request::Partition;
pub use request::Request;
pub use request::Topic;
pub use request::decode;
pub(crate) use request::topics;

/// The first version with acquire modes and renewed locks (KIP-1206, KIP-1222).
pub const RENEW_FROM: i16 = 2;

#[cfg(test)]
mod tests;
