//! Runs a state machine on each partition of an internal topic that this broker leads.
//!
//! Promises: one task per partition takes commands in order; what a command changes is appended to the
//! partition's log and applied at once; an answer is given only when everything appended before it is
//! committed. When an append fails or the leadership goes, all that is not committed is thrown away: parked
//! answers fail and the state is read again from the log. Every command that was accepted is answered.
//! Never: a rule about groups or transactions; those are machines of the rooms above.
//! Called by: `groups/` and `txn/`.

mod batch;
pub mod budget;
pub mod error;
pub mod follow;
pub mod internal_topic;
pub mod journal;
mod led_partition;
pub mod load;
pub mod machine;
#[cfg(test)]
pub(crate) mod memory;
pub mod outcome;
mod partition;
pub mod runtime;
#[cfg(test)]
mod tests;
pub mod timer;
mod wire;

pub use budget::Memory;
pub use error::Error;
pub use follow::Follow;
pub use internal_topic::InternalTopic;
pub use journal::Journal;
pub use led_partition::LedPartition;
pub use machine::Machine;
pub use machine::Now;
pub use machine::Place;
pub use outcome::Ending;
pub use outcome::Outcome;
pub use outcome::Ticket;
pub use outcome::TimerChange;
pub use outcome::Transaction;
pub use runtime::Options;
pub use runtime::Runtime;
pub use wire::Malformed;
pub(crate) use wire::Reader;
pub(crate) use wire::Writer;
