//! The settings of consumer groups (KIP-848), checked against each other as `GroupCoordinatorConfig` of Kafka does.

use crate::config::define::Invalid;
use crate::config::group_ranges::check_heartbeat;
use crate::config::group_ranges::ranged;
use crate::config::values::Values;
use std::ops::RangeInclusive;

/// Consumer groups of the newer protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerGroupSettings {
    /// Whether `group.coordinator.rebalance.protocols` names `consumer`.
    pub enabled: bool,
    /// `group.consumer.session.timeout.ms`.
    pub session_timeout_ms: i32,
    /// What a group may set for it.
    pub session_timeouts_ms: RangeInclusive<i32>,
    /// `group.consumer.heartbeat.interval.ms`.
    pub heartbeat_interval_ms: i32,
    /// What a group may set for it.
    pub heartbeat_intervals_ms: RangeInclusive<i32>,
    /// `group.consumer.assignment.interval.ms`.
    pub assignment_interval_ms: i32,
    /// What a group may set for it.
    pub assignment_intervals_ms: RangeInclusive<i32>,
    /// `group.consumer.max.size`: members of one group.
    pub max_size: i32,
    /// `group.consumer.assignors`, the default first.
    pub assignors: Vec<String>,
    /// `group.consumer.regex.refresh.interval.ms`.
    pub regex_refresh_interval_ms: i32,
    /// `group.consumer.migration.policy`: whether a classic group with members may become one.
    pub upgrades: bool,
    /// The same: whether one may become classic when its last member of the newer protocol leaves.
    pub downgrades: bool,
}

impl ConsumerGroupSettings {
    /// Whether `group.consumer.migration.policy` is `DISABLED`.
    pub fn is_migration_disabled(&self) -> bool {
        !self.upgrades && !self.downgrades
    }
}

pub(super) fn settings(values: &Values) -> Result<ConsumerGroupSettings, Invalid> {
    let policy = values.get("group.consumer.migration.policy").unwrap_or_default().to_ascii_uppercase();
    let protocols = values.list("group.coordinator.rebalance.protocols");
    if !protocols.iter().any(|name| name.eq_ignore_ascii_case("classic")) {
        return Err(Invalid::sentence(
            "group.coordinator.rebalance.protocols",
            &protocols.join(","),
            "Disabling the 'classic' protocol is not supported.",
        ));
    }
    let (session_timeout_ms, session_timeouts_ms) = ranged(values, "consumer", "session.timeout.ms")?;
    let (heartbeat_interval_ms, heartbeat_intervals_ms) =
        ranged(values, "consumer", "heartbeat.interval.ms")?;
    let (assignment_interval_ms, assignment_intervals_ms) =
        ranged(values, "consumer", "assignment.interval.ms")?;
    check_heartbeat("consumer", heartbeat_interval_ms, session_timeout_ms)?;
    Ok(ConsumerGroupSettings {
        enabled: protocols.iter().any(|name| name.eq_ignore_ascii_case("consumer")),
        session_timeout_ms,
        session_timeouts_ms,
        heartbeat_interval_ms,
        heartbeat_intervals_ms,
        assignment_interval_ms,
        assignment_intervals_ms,
        max_size: values.int("group.consumer.max.size"),
        assignors: values.list("group.consumer.assignors").into_iter().map(str::to_owned).collect(),
        regex_refresh_interval_ms: values.int("group.consumer.regex.refresh.interval.ms"),
        upgrades: matches!(policy.as_str(), "UPGRADE" | "BIDIRECTIONAL"),
        downgrades: matches!(policy.as_str(), "DOWNGRADE" | "BIDIRECTIONAL"),
    })
}

#[cfg(test)]
mod tests {
    use crate::config::group_ranges::with_lines as check;

    #[test]
    fn what_does_not_fit_together_is_refused() {
        for (key, value, wanted) in [
            ("group.consumer.session.timeout.ms", "44999", "must be greater than or equal to"),
            ("group.consumer.session.timeout.ms", "60001", "must be less than or equal to"),
            ("group.consumer.max.heartbeat.interval.ms", "4999", "must be greater than or equal to"),
            ("group.consumer.max.assignment.interval.ms", "999", "must be less than or equal to"),
        ] {
            let refused = check(&[(key, value)]).unwrap_err();
            assert!(refused.contains(wanted), "{key}={value}: {refused}");
        }
        let short = [
            ("group.consumer.min.session.timeout.ms", "5000"),
            ("group.consumer.session.timeout.ms", "5000"),
        ];
        assert!(check(&short).unwrap_err().contains("must be less than"));
    }

    #[test]
    fn policies_say_which_way_groups_may_go() {
        for (policy, upgrades, downgrades) in
            [("disabled", false, false), ("UPGRADE", true, false), ("Downgrade", false, true)]
        {
            let config = check(&[("group.consumer.migration.policy", policy)]).unwrap();
            let groups = &config.groups.consumer;
            assert_eq!((groups.upgrades, groups.downgrades), (upgrades, downgrades));
            assert_eq!(groups.is_migration_disabled(), policy == "disabled");
        }
        let config = check(&[("group.coordinator.rebalance.protocols", "classic")]).unwrap();
        assert!(!config.groups.consumer.enabled && config.groups.consumer.downgrades);
        let refused = check(&[("group.coordinator.rebalance.protocols", "consumer,streams")]).unwrap_err();
        assert!(refused.contains("Disabling the 'classic' protocol is not supported."));
    }
}
