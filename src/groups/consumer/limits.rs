//! What counts for a group: its own settings over those of the brokers (`GroupConfigManager` in Kafka).

use crate::groups::consumer::turn::World;
use std::ops::RangeInclusive;

/// How long a member may be silent; milliseconds.
pub(crate) fn session_timeout_ms(world: World<'_>, group: &str) -> i32 {
    let settings = &world.settings.consumer;
    own(world, group, "consumer.session.timeout.ms", &settings.session_timeouts_ms)
        .unwrap_or(settings.session_timeout_ms)
}

/// When a member is to send its next heartbeat; milliseconds.
pub(crate) fn heartbeat_interval_ms(world: World<'_>, group: &str) -> i32 {
    let settings = &world.settings.consumer;
    own(world, group, "consumer.heartbeat.interval.ms", &settings.heartbeat_intervals_ms)
        .unwrap_or(settings.heartbeat_interval_ms)
}

/// The shortest time between two assignments; milliseconds. It can be changed while the broker runs.
pub(crate) fn assignment_interval_ms(world: World<'_>, group: &str) -> i32 {
    let settings = &world.settings.consumer;
    let changed = || {
        let node_id = world.settings.node_id;
        world.image.broker_setting(node_id, "group.consumer.assignment.interval.ms")?.trim().parse().ok()
    };
    own(world, group, "consumer.assignment.interval.ms", &settings.assignment_intervals_ms)
        .or_else(changed)
        .unwrap_or(settings.assignment_interval_ms)
}

/// A group's own value. One that was allowed once and is not any more counts as the nearest that is.
fn own(world: World<'_>, group: &str, key: &str, range: &RangeInclusive<i32>) -> Option<i32> {
    let value: i32 = world.image.group_configs(group).get(key)?.trim().parse().ok()?;
    Some(value.clamp(*range.start(), *range.end()))
}
