//! Kafka's APIs: one API is one file, and each reads the same: decode, allowed?, call one service, encode.
//!
//! Promises: every request is answered or its connection closed; errors of the rooms below become Kafka's codes in
//! `errors.rs` and nowhere else; versioned wire types stop here. Never: holds a rule about replication, groups or
//! offsets; those live below. Called by: `net/` with whole frames, `server/` which builds [`Broker`].

mod admin;
mod answer_memory;
pub mod context;
mod crowd;
mod data;
mod dispatch;
pub mod errors;
mod group;
mod meta;
#[cfg(feature = "fuzz")]
pub mod probe;
mod share;
mod telemetry;
#[cfg(test)]
pub(crate) mod testing;
mod throttling;
mod topic_creation;
mod txn;
mod wire;

pub use answer_memory::AnswerMemory;
pub use context::Answer;
pub use context::Connection;
pub use context::Context;
pub use context::Reply;
pub use data::FetchSessions;
pub use errors::Refused;
pub use telemetry::Telemetry;
pub use txn::Marking;

use crate::cluster::ControllerClient;
use crate::cluster::Publisher;
use crate::config::ServerConfig;
use crate::groups;
use crate::io::Clock;
use crate::metrics;
use crate::quota::Quotas;
use crate::replica::Moves;
use crate::replica::Replicas;
use crate::share as shares;
use crate::txn as transactions;
use std::sync::Arc;

/// What the handlers work with. Built once by `server/`; everything in it is shared.
#[derive(Debug)]
pub struct Broker {
    /// The settings this process started with.
    pub config: Arc<ServerConfig>,
    /// Time.
    pub clock: Clock,
    /// The cluster's state as this broker knows it.
    pub publisher: Publisher,
    /// Changes of the cluster's state.
    pub controller: ControllerClient,
    /// Consumer groups and committed offsets.
    pub groups: groups::Service,
    /// The partitions on this node.
    pub replicas: Arc<Replicas>,
    /// Moves of partitions between the log directories.
    pub moves: Moves,
    /// What clients fetch step by step.
    pub fetch_sessions: FetchSessions,
    /// Transactions, and ids for producers.
    pub transactions: transactions::Service,
    /// How fast clients may be.
    pub quotas: Quotas,
    /// What clients push about themselves.
    pub telemetry: Telemetry,
    /// Records of share groups, and what is kept of them.
    pub share: shares::Service,
    /// Memory for answers larger than their requests.
    pub answer_memory: AnswerMemory,
    /// Measurements of requests.
    pub metrics: metrics::Broker,
}

#[cfg(test)]
mod tests;
