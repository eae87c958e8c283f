//! The settings that the rules of transactions depend on.

use crate::config::ServerConfig;
use crate::txn::bell::Bell;
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
    /// The finalized level of `transaction.version`.
    pub(crate) level: AtomicI16,
    pub(crate) bell: Bell,
}

impl Settings {
    /// The broker's settings.
    pub fn of(config: &ServerConfig) -> Settings {
        let transactions = &config.transactions;
        let interval_ms = u64::try_from(transactions.id_expiration_interval_ms).unwrap_or(1);
        Settings {
            timeout_max_ms: transactions.timeout_max_ms,
            id_expiration_ms: i64::from(transactions.id_expiration_ms),
            id_expiration_interval: Duration::from_millis(interval_ms.max(1)),
            level: AtomicI16::new(0),
            bell: Bell::default(),
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
