//! Share groups (KIP-932): members share partitions, and the coordinator assigns.
//!
//! Which share-partitions a group has, and which of them the share coordinator knows, is kept here. What became of
//! their records is kept by `share/`.

pub mod command;
mod desk;
pub(crate) mod group;
mod heartbeat;
mod limits;
pub(crate) mod offsets;
pub mod record;

#[cfg(test)]
mod tests;

pub use limits::ShareSettings;
