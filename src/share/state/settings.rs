//! The settings of the share coordinator, named after Kafka's keys (`ShareCoordinatorConfig`).

use crate::config::ServerConfig;
use crate::coordinator::Memory;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

/// See the module.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `share.coordinator.snapshot.update.records.per.snapshot`
    pub updates_per_snapshot: u32,
    /// `share.coordinator.cold.partition.snapshot.interval.ms`
    pub cold_snapshot_interval: Duration,
    /// `share.coordinator.state.topic.prune.interval.ms`
    pub prune_interval: Duration,
    /// `share.coordinator.write.timeout.ms`
    pub write_timeout: Duration,
    /// What all share-partitions may take: `dohle.coordinator.memory.max.bytes`.
    pub memory: Arc<Memory>,
}

impl Settings {
    /// The broker's settings.
    pub fn of(config: &ServerConfig) -> Settings {
        Settings {
            updates_per_snapshot: number(config, "share.coordinator.snapshot.update.records.per.snapshot"),
            cold_snapshot_interval: millis(config, "share.coordinator.cold.partition.snapshot.interval.ms"),
            prune_interval: millis(config, "share.coordinator.state.topic.prune.interval.ms"),
            write_timeout: millis(config, "share.coordinator.write.timeout.ms"),
            memory: Memory::new(
                config.coordinator_memory_bytes_max,
                "states of share-partitions",
                "dohle.coordinator.memory.max.bytes",
            ),
        }
    }
}

/// A number that the table of settings has a default for, and has checked.
pub(crate) fn number<T: FromStr + Default>(config: &ServerConfig, name: &str) -> T {
    config.get(name).and_then(|text| text.trim().parse().ok()).unwrap_or_default()
}

fn millis(config: &ServerConfig, name: &str) -> Duration {
    Duration::from_millis(number::<u64>(config, name).max(1))
}
