//! The settings of streams groups (KIP-1071), checked against each other as `GroupCoordinatorConfig` of Kafka does.

use crate::config::define::Invalid;
use crate::config::group_ranges::at_least;
use crate::config::group_ranges::at_most;
use crate::config::group_ranges::check_heartbeat;
use crate::config::group_ranges::ranged;
use crate::config::values::Values;
use std::ops::RangeInclusive;

/// Groups of Kafka Streams applications.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamsGroupSettings {
    /// Whether `group.coordinator.rebalance.protocols` names `streams`.
    pub enabled: bool,
    /// `group.streams.session.timeout.ms`.
    pub session_timeout_ms: i32,
    /// What a group may set for it.
    pub session_timeouts_ms: RangeInclusive<i32>,
    /// `group.streams.heartbeat.interval.ms`.
    pub heartbeat_interval_ms: i32,
    /// What a group may set for it.
    pub heartbeat_intervals_ms: RangeInclusive<i32>,
    /// `group.streams.assignment.interval.ms`.
    pub assignment_interval_ms: i32,
    /// What a group may set for it.
    pub assignment_intervals_ms: RangeInclusive<i32>,
    /// `group.streams.max.size`: members of one group.
    pub max_size: i32,
    /// `group.streams.num.standby.replicas`.
    pub standby_replicas: i32,
    /// `group.streams.max.standby.replicas`: what a group may set for it.
    pub standby_replicas_max: i32,
    /// `group.streams.max.warmup.replicas`: what a group may set for its warm-up replicas.
    pub warmup_replicas_max: i32,
    /// `group.streams.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay_ms: i32,
    /// `group.streams.rack.aware.assignment.tags`.
    pub rack_aware_tags: Vec<String>,
    /// `group.streams.task.offset.interval.ms`.
    pub task_offset_interval_ms: i32,
    /// `group.streams.min.task.offset.interval.ms`: what a group may set for it at least.
    pub task_offset_interval_min_ms: i32,
    /// `group.streams.acceptable.recovery.lag`.
    pub acceptable_recovery_lag: i64,
}

pub(super) fn settings(values: &Values) -> Result<StreamsGroupSettings, Invalid> {
    let protocols = values.list("group.coordinator.rebalance.protocols");
    let (session_timeout_ms, session_timeouts_ms) = ranged(values, "streams", "session.timeout.ms")?;
    let (heartbeat_interval_ms, heartbeat_intervals_ms) = ranged(values, "streams", "heartbeat.interval.ms")?;
    let (assignment_interval_ms, assignment_intervals_ms) =
        ranged(values, "streams", "assignment.interval.ms")?;
    check_heartbeat("streams", heartbeat_interval_ms, session_timeout_ms)?;
    let standby_replicas =
        at_most(values, "group.streams.num.standby.replicas", "group.streams.max.standby.replicas")?;
    at_most(values, "group.streams.num.warmup.replicas", "group.streams.max.warmup.replicas")?;
    let task_offset_interval_min = "group.streams.min.task.offset.interval.ms";
    let task_offset_interval_ms =
        at_least(values, "group.streams.task.offset.interval.ms", task_offset_interval_min)?;
    Ok(StreamsGroupSettings {
        enabled: protocols.iter().any(|name| name.eq_ignore_ascii_case("streams")),
        session_timeout_ms,
        session_timeouts_ms,
        heartbeat_interval_ms,
        heartbeat_intervals_ms,
        assignment_interval_ms,
        assignment_intervals_ms,
        max_size: values.int("group.streams.max.size"),
        standby_replicas,
        standby_replicas_max: values.int("group.streams.max.standby.replicas"),
        warmup_replicas_max: values.int("group.streams.max.warmup.replicas"),
        initial_rebalance_delay_ms: values.int("group.streams.initial.rebalance.delay.ms"),
        rack_aware_tags: list(values, "group.streams.rack.aware.assignment.tags"),
        task_offset_interval_ms,
        task_offset_interval_min_ms: values.int(task_offset_interval_min),
        acceptable_recovery_lag: values.long("group.streams.acceptable.recovery.lag"),
    })
}

fn list(values: &Values, name: &str) -> Vec<String> {
    let names = values.list(name).into_iter().map(str::trim);
    names.filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use crate::config::group_ranges::with_lines as check;

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (key, value, wanted) in [
            ("group.streams.session.timeout.ms", "44999", "must be greater than or equal to"),
            ("group.streams.session.timeout.ms", "60001", "must be less than or equal to"),
            ("group.streams.max.heartbeat.interval.ms", "4999", "must be greater than or equal to"),
            ("group.streams.num.standby.replicas", "3", "must be less than or equal to"),
            ("group.streams.task.offset.interval.ms", "1", "must be greater than or equal to"),
        ] {
            let refused = check(&[(key, value)]).unwrap_err();
            assert!(refused.contains(wanted), "{key}={value}: {refused}");
        }
        let short =
            [("group.streams.min.session.timeout.ms", "5000"), ("group.streams.session.timeout.ms", "5000")];
        assert!(check(&short).unwrap_err().contains("must be less than"));
    }

    #[test]
    fn tags_are_a_list() {
        let config = check(&[("group.streams.rack.aware.assignment.tags", "zone, rack")]).unwrap();
        assert_eq!(config.groups.streams.rack_aware_tags, ["zone", "rack"]);
        assert!(check(&[]).unwrap().groups.streams.enabled);
    }
}
