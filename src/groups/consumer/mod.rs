//! Consumer groups of the newer protocol (KIP-848): the coordinator assigns, members follow one heartbeat at a time.
//!
//! `group.rs` is the state of one group as its records tell it, `member.rs` that of a member.

pub(crate) mod commits;
pub(crate) mod group;
pub(crate) mod member;
pub mod record;
