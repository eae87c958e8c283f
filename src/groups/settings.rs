//! The settings that the rules of groups depend on.

use crate::base::BrokerId;
use crate::config::ConsumerGroupSettings;
use crate::config::ServerConfig;
use crate::config::StreamsGroupSettings;
use crate::coordinator::budget::Memory;
use crate::groups::assign::Assignor;
use crate::groups::share::ShareSettings;
use std::sync::Arc;
use std::time::Duration;

/// Rules' settings, named after Kafka's keys (`GroupCoordinatorConfig`, `OffsetConfig`).
#[derive(Clone, Debug)]
pub struct Settings {
    /// `node.id`, for the settings that this broker alone was given while it runs.
    pub node_id: BrokerId,
    /// `group.min.session.timeout.ms`
    pub session_timeout_min_ms: i32,
    /// `group.max.session.timeout.ms`
    pub session_timeout_max_ms: i32,
    /// `group.initial.rebalance.delay.ms`
    pub initial_rebalance_delay_ms: i32,
    /// `group.max.size`
    pub group_size_max: usize,
    /// `offset.metadata.max.bytes`, counted as Kafka counts it: in UTF-16 units.
    pub offset_metadata_max: usize,
    /// `offsets.retention.minutes`
    pub offsets_retention: Duration,
    /// `offsets.retention.check.interval.ms`
    pub retention_check_interval: Duration,
    /// Those of streams groups.
    pub streams: StreamsGroupSettings,
    /// What the members of all groups may take: `dohle.group.memory.max.bytes`.
    pub memory: Arc<Memory>,
    /// What the offsets of all groups may take: `dohle.coordinator.memory.max.bytes`.
    pub offsets_memory: Arc<Memory>,
    /// Those of consumer groups (KIP-848).
    pub consumer: ConsumerGroupSettings,
    /// `group.consumer.assignors`, the default first.
    pub assignors: Vec<Assignor>,
    /// Those of share groups (KIP-932).
    pub share: ShareSettings,
}

impl Settings {
    /// The broker's settings.
    pub fn of(config: &ServerConfig) -> Settings {
        let millis = |value: i64| Duration::from_millis(u64::try_from(value).unwrap_or(0));
        Settings {
            node_id: config.node_id,
            session_timeout_min_ms: config.groups.min_session_timeout_ms,
            session_timeout_max_ms: config.groups.max_session_timeout_ms,
            initial_rebalance_delay_ms: config.groups.initial_rebalance_delay_ms,
            group_size_max: usize::try_from(config.groups.max_size).unwrap_or(1),
            offset_metadata_max: usize::try_from(config.offsets.metadata_max_bytes).unwrap_or(0),
            offsets_retention: millis(config.offsets.retention_ms),
            retention_check_interval: millis(config.offsets.retention_check_interval_ms.max(1)),
            streams: config.groups.streams.clone(),
            memory: Memory::new(
                config.groups.memory_bytes_max,
                "members of groups",
                "dohle.group.memory.max.bytes",
            ),
            offsets_memory: Memory::new(
                config.coordinator_memory_bytes_max,
                "committed offsets",
                "dohle.coordinator.memory.max.bytes",
            ),
            assignors: assignors(&config.groups.consumer.assignors),
            consumer: config.groups.consumer.clone(),
            share: ShareSettings::of(config),
        }
    }

    /// The assignor of groups whose members ask for none.
    pub(crate) fn default_assignor(&self) -> Assignor {
        self.assignors.first().copied().unwrap_or(Assignor::Uniform)
    }
}

/// The assignors of these names. Java classes of others cannot be run, so they are left out with a warning.
fn assignors(names: &[String]) -> Vec<Assignor> {
    let known = |name: &String| {
        let assignor = Assignor::named(name);
        if assignor.is_none() {
            tracing::warn!(name, "group.consumer.assignors names an assignor that this broker does not have");
        }
        assignor
    };
    names.iter().filter_map(known).collect()
}

/// How long a new member may wait for its first rebalance to end before its request is given up
/// (`CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS` in Kafka): it has no id yet, so a lost client cannot be seen.
pub(crate) const NEW_MEMBER_JOIN_TIMEOUT_MS: i32 = 5 * 60 * 1000;
