//! The settings that the rules of transactions depend on.

use crate::config::ServerConfig;
use crate::coordinator::Memory;
use crate::txn::bell::Bell;
use crate::txn::ends::Ends;
use std::sync::Arc;
use std::sync::atomic::AtomicI16;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Rules' settings, named after Kafka's keys (`TransactionStateManagerConfig`).
#[derive(Debug)]
pub struct Settings {
    /// `transaction.max.timeout.ms`
    pub timeout_max_ms: i32,
    /// `transactional.id.expiration.ms`
    pub id_expiration_ms: i64,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`
    pub id_expiration_interval: Duration,
    /// `add.partitions.to.txn.retry.backoff.max.ms`
    pub patience: Duration,
    /// `add.partitions.to.txn.retry.backoff.ms`
    pub pause_max: Duration,
    /// What all transactional ids may take: `dohle.coordinator.memory.max.bytes`.
    pub memory: Arc<Memory>,
    /// The finalized level of `transaction.version`.
    pub(crate) level: AtomicI16,
    pub(crate) bell: Bell,
    pub(crate) ends: Arc<Ends>,
}

impl Settings {
    /// The broker's settings.
    pub fn of(config: &ServerConfig) -> Settings {
        let transactions = &config.transactions;
        let millis = |value: i32| Duration::from_millis(u64::try_from(value).unwrap_or(0));
        Settings {
            timeout_max_ms: transactions.timeout_max_ms,
            id_expiration_ms: i64::from(transactions.id_expiration_ms),
            id_expiration_interval: millis(transactions.id_expiration_interval_ms.max(1)),
            patience: millis(transactions.add_retry_max_ms),
            pause_max: millis(transactions.add_retry_ms.max(1)),
            memory: Memory::new(
                config.coordinator_memory_bytes_max,
                "transactional ids",
                "dohle.coordinator.memory.max.bytes",
            ),
            level: AtomicI16::new(0),
            bell: Bell::default(),
            ends: Arc::default(),
        }
    }

    /// The cluster's version of transactions.
    pub(crate) fn level(&self) -> i16 {
        self.level.load(Ordering::Relaxed)
    }

    /// Whether records may have the fields of value version 1 (`TransactionVersion.transactionLogValueVersion`).
    pub(crate) fn flexible(&self) -> bool {
        self.level() >= 1
    }
}
