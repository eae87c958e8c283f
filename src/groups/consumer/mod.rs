//! Consumer groups of the newer protocol (KIP-848): the coordinator assigns, members follow one heartbeat at a time.
//!
//! `group.rs` is the state of one group as its records tell it, `member.rs` that of a member. A command works on a draft
//! (`turn.rs`); `heartbeat.rs`, `leave.rs` and `classic.rs` hold the rules of requests, `reconcile.rs` those of a member's
//! way to the target assignment, which `target.rs` makes. `migrate.rs` turns classic groups into consumer groups and back,
//! `patterns.rs` and `resolve.rs` look up topics by pattern. `desk.rs` is where the machine comes in.

mod classic;
pub mod command;
pub(crate) mod commits;
pub(crate) mod desk;
mod embedded;
pub(crate) mod group;
mod heartbeat;
mod leave;
mod limits;
pub(crate) mod member;
mod migrate;
pub(crate) mod patterns;
mod reconcile;
pub mod record;
mod resolve;
mod show;
pub(crate) mod subscription;
mod target;
pub(crate) mod turn;
