//! The settings that the rules of groups depend on.

use std::time::Duration;

/// Rules' settings, named after Kafka's keys (`GroupCoordinatorConfig`, `OffsetConfig`).
#[derive(Clone, Debug)]
pub struct Settings {
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
}

/// How long a new member may wait for its first rebalance to end before its request is given up
/// (`CLASSIC_GROUP_NEW_MEMBER_JOIN_TIMEOUT_MS` in Kafka): it has no id yet, so a lost client cannot be seen.
pub(crate) const NEW_MEMBER_JOIN_TIMEOUT_MS: i32 = 5 * 60 * 1000;
