//! The share coordinator: what is kept of each share-partition, on `__share_group_state`.
//!
//! Promises: a state machine that gives records in Kafka's format, so that reading them again gives the same state; what
//! an older leader or an older state of a partition writes is refused. Never: knows who holds which record; that is
//! [`crate::share::partition`]. Called by: `share/` and `broker/share/` through [`Service`].

pub mod batches;
pub mod command;
pub mod machine;
#[cfg(feature = "fuzz")]
pub mod probe;
pub mod record;
mod running;
pub mod service;
pub mod settings;

#[cfg(test)]
mod tests;

pub use running::Running;
pub use service::Service;
pub use service::TOPIC;
