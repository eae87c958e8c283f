//! Transactions of one transactional id after the other: the rules, as pure functions, and the handle to them.
//!
//! Promises: a state machine that decides what a request or a passed deadline means for a transaction and gives records
//! in the format of Kafka's `__transaction_state`, so that reading them again gives the same state. A transaction whose
//! end is decided is announced until its markers are reported as written, also after a restart at any point. The
//! machine never does I/O, looks at a clock or at randomness; nothing here knows protocol versions or writes markers
//! into partitions: that is done above, by who hears the announcement ([`Service::prepared`]). Called by:
//! `broker/txn/` through [`Service`].

mod bell;
pub mod command;
mod ends;
mod list;
pub mod machine;
mod patience;
#[cfg(feature = "fuzz")]
pub mod probe;
mod producer_ids;
pub mod record;
mod rules;
mod running;
pub mod service;
pub mod settings;
pub mod transaction;

#[cfg(test)]
mod tests;

pub use running::Running;
pub use service::Service;
pub use service::TOPIC;
