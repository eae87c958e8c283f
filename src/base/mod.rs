//! Numbers, ids and names that every room shares.
//!
//! Promises: plain values without I/O, without async, without any crate but `bytes`, `regex` and `uuid`.
//! Never: behaviour of a room. A thing comes here only when two rooms need it. Called by: every room.

pub mod error_code;
pub mod hash;
pub mod ids;
pub mod offset;
pub mod pattern;
pub mod time;

pub use error_code::ErrorCode;
pub use ids::{BrokerId, PartitionIndex, ProducerEpoch, ProducerId, TopicId, TopicPartition};
pub use offset::{LeaderEpoch, Offset, OffsetAndEpoch};
pub use time::{Instant, Timestamp};

#[cfg(test)]
pub(crate) mod seeds;
