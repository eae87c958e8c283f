//! The settings of one group: the broker's `group.streams.*`, or the group's own `streams.*`.

use crate::base::BrokerId;
use crate::cluster::Image;
use crate::config::StreamsGroupSettings;
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

/// What holds for a group at the moment of its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How long a member may be silent: `streams.session.timeout.ms`.
    pub session_timeout_ms: i32,
    /// How often members shall speak: `streams.heartbeat.interval.ms`.
    pub heartbeat_interval_ms: i32,
    /// How many members a group may have: `group.streams.max.size`.
    pub group_size_max: usize,
    /// How many standby tasks for each stateful task: `streams.num.standby.replicas`.
    pub standby_replicas: i32,
    /// Which tags of clients keep standby tasks apart: `streams.rack.aware.assignment.tags`.
    pub rack_aware_tags: Vec<String>,
    /// How long a new group waits for further members: `streams.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay_ms: i32,
    /// The least time between two assignments: `streams.assignment.interval.ms`.
    pub assignment_interval_ms: i32,
    /// How often members shall tell the offsets of their tasks: `streams.task.offset.interval.ms`.
    pub task_offset_interval_ms: i32,
    /// How far behind a task may be and count as caught up: `streams.acceptable.recovery.lag`.
    pub acceptable_recovery_lag: i64,
}

/// The name of the setting that says how many standby tasks there shall be, as it is kept with a group.
pub(crate) const STANDBY_REPLICAS: &str = "num.standby.replicas";
/// The name of the setting that says which tags keep standby tasks apart, as it is kept with a group.
pub(crate) const RACK_AWARE_TAGS: &str = "rack.aware.assignment.tags";

impl Settings {
    /// What counts for a group: its own values, within what the broker allows, over those of the brokers
    /// (`GroupConfigManager` of Kafka).
    pub fn of(broker: &StreamsGroupSettings, node_id: BrokerId, image: &Image, group: &str) -> Settings {
        let own = Own { values: image.group_configs(group) };
        let interval = broker.assignment_interval_ms;
        // It can be changed while the broker runs.
        let changed = image.broker_setting(node_id, "group.streams.assignment.interval.ms");
        let interval = changed.and_then(|value| value.trim().parse().ok()).unwrap_or(interval);
        let session = &broker.session_timeouts_ms;
        let heartbeat = &broker.heartbeat_intervals_ms;
        let assignment = &broker.assignment_intervals_ms;
        let number = |name: &str, default: i32| own.get(name).unwrap_or(default);
        let within = |name: &str, range: &std::ops::RangeInclusive<i32>, default: i32| {
            own.get(name).map_or(default, |value: i32| value.clamp(*range.start(), *range.end()))
        };
        Settings {
            session_timeout_ms: within("session.timeout.ms", session, broker.session_timeout_ms),
            heartbeat_interval_ms: within("heartbeat.interval.ms", heartbeat, broker.heartbeat_interval_ms),
            group_size_max: usize::try_from(broker.max_size).unwrap_or(1),
            standby_replicas: number("num.standby.replicas", broker.standby_replicas)
                .clamp(0, broker.standby_replicas_max.max(0)),
            rack_aware_tags: own
                .list("rack.aware.assignment.tags")
                .unwrap_or_else(|| broker.rack_aware_tags.clone()),
            initial_rebalance_delay_ms: number(
                "initial.rebalance.delay.ms",
                broker.initial_rebalance_delay_ms,
            ),
            assignment_interval_ms: within("assignment.interval.ms", assignment, interval),
            task_offset_interval_ms: number("task.offset.interval.ms", broker.task_offset_interval_ms)
                .max(broker.task_offset_interval_min_ms),
            acceptable_recovery_lag: own
                .get("acceptable.recovery.lag")
                .unwrap_or(broker.acceptable_recovery_lag),
        }
    }

    /// What an assignment depends on, as it is kept with the group.
    pub(crate) fn assignment(&self) -> BTreeMap<Arc<str>, Arc<str>> {
        let mut configs = BTreeMap::new();
        configs.insert(Arc::from(STANDBY_REPLICAS), Arc::from(self.standby_replicas.to_string()));
        if !self.rack_aware_tags.is_empty() {
            configs.insert(Arc::from(RACK_AWARE_TAGS), Arc::from(self.rack_aware_tags.join(",")));
        }
        configs
    }
}

/// A group's own values.
struct Own<'a> {
    values: &'a BTreeMap<String, String>,
}

impl Own<'_> {
    fn get<T: FromStr>(&self, name: &str) -> Option<T> {
        self.values.get(&format!("streams.{name}"))?.trim().parse().ok()
    }

    fn list(&self, name: &str) -> Option<Vec<String>> {
        let names = self.values.get(&format!("streams.{name}"))?.split(',').map(str::trim);
        Some(names.filter(|name| !name.is_empty()).map(str::to_owned).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::records::ConfigRecord;
    use crate::config::ServerConfig;

    #[test]
    fn a_groups_own_values_count_within_what_the_broker_allows() {
        let config = ServerConfig::new(&BTreeMap::new(), "machine").unwrap();
        let mut image = Image::empty("c");
        for (name, value) in [
            ("streams.session.timeout.ms", "50000"),
            ("streams.heartbeat.interval.ms", "1"),
            ("streams.num.standby.replicas", "9"),
            ("streams.rack.aware.assignment.tags", "zone, rack"),
        ] {
            let record = ConfigRecord {
                resource_type: 32,
                resource_name: "g".to_owned(),
                name: name.to_owned(),
                value: Some(value.to_owned()),
            };
            image.apply(&record.into()).unwrap();
        }
        let own = Settings::of(&config.groups.streams, BrokerId(1), &image, "g");
        assert_eq!(
            (own.session_timeout_ms, own.heartbeat_interval_ms, own.standby_replicas),
            (50_000, 5_000, 2)
        );
        let kept = own.assignment();
        assert_eq!(kept.get(RACK_AWARE_TAGS).map(|tags| &**tags), Some("zone,rack"));
        let other = Settings::of(&config.groups.streams, BrokerId(1), &image, "other");
        assert_eq!((other.session_timeout_ms, other.standby_replicas), (45_000, 0));
        assert_eq!(other.assignment().len(), 1);
    }
}
