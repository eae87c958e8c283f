//! Groups of Kafka Streams applications (KIP-1071): the broker knows the topology, makes its internal topics'
//! shapes, spreads the tasks over the members and leads each member there.
//!
//! Promises: an active task has one owner; no process runs a task twice; a member gets a task only when its last owner
//! has given it back or is gone. What the log keeps ([`record`]) is Kafka's own. Never does I/O: what the cluster has
//! comes with each heartbeat, topics that are missing go out with its answer. Called by: `groups/machine.rs`.

pub(crate) mod assignment;
pub mod command;
pub(crate) mod group;
pub mod heartbeat;
pub(crate) mod leave;
pub(crate) mod member;
pub(crate) mod reconcile;
pub mod record;
pub(crate) mod serve;
pub mod settings;
pub(crate) mod show;
pub mod tasks;
pub mod topics;
pub mod topology;

#[cfg(test)]
mod tests;
