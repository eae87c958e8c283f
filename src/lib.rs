//! Dohle: one binary that speaks the Apache Kafka wire protocol.
//!
//! The rooms and who may look into whom are drawn in `docs/architecture.md`; `tidy.rs` keeps them apart.

#[cfg(test)]
mod tidy;

pub mod admin;
pub mod base;
pub mod broker;
pub mod cli;
pub mod cluster;
pub mod config;
pub mod coordinator;
pub mod groups;
pub mod io;
pub mod log;
pub mod metrics;
pub mod net;
pub mod protocol;
pub mod quota;
pub mod record;
pub mod replica;
pub mod server;
pub mod share;
pub mod txn;
