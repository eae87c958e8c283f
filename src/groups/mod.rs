//! Consumer groups and their offsets: the rules, as pure functions.
//!
//! Promises: a state machine that decides what a request or a passed deadline means for a group and gives
//! records in the format of Kafka's `__consumer_offsets`, so that reading them again gives the same state.
//! Every request that waits for a rebalance is answered in the end. The machine never does I/O, looks at a
//! clock or at randomness; nothing here knows protocol versions. Called by: `broker/group/` through [`Service`], the
//! handle to the machines that `coordinator/` runs.

pub mod assign;
mod classic;
pub mod command;
pub mod consumer;
mod expire;
mod kind;
pub mod machine;
mod offsets;
#[cfg(feature = "fuzz")]
pub mod probe;
pub mod record;
mod running;
pub mod service;
pub mod settings;
pub mod share;
mod show;
pub mod streams;

#[cfg(test)]
mod tests;

pub use crate::coordinator::Memory;
pub use machine::Groups;
pub use running::Running;
pub use service::Service;
pub use settings::Settings;
