//! The settings of share groups: the broker's (`GroupCoordinatorConfig`), and a group's own over them.

use crate::config::ServerConfig;
use crate::groups::consumer::turn::World;
use std::ops::RangeInclusive;

/// The broker's settings of share groups.
#[derive(Clone, Debug)]
pub struct ShareSettings {
    session_timeout_ms: i32,
    session_timeouts_ms: RangeInclusive<i32>,
    heartbeat_interval_ms: i32,
    heartbeat_intervals_ms: RangeInclusive<i32>,
    assignment_interval_ms: i32,
    assignment_intervals_ms: RangeInclusive<i32>,
    /// `group.share.max.size`
    pub(crate) size_max: usize,
    /// `group.share.initialize.retry.interval.ms`
    pub(crate) retry_interval_ms: i64,
}

impl ShareSettings {
    /// The settings of this broker, which the table of settings has checked.
    pub(crate) fn of(config: &ServerConfig) -> ShareSettings {
        let number = |name: &str| {
            let value = config.get(&format!("group.share.{name}"));
            value.and_then(|text| text.trim().parse::<i32>().ok()).unwrap_or(0)
        };
        let range = |name: &str| number(&format!("min.{name}"))..=number(&format!("max.{name}"));
        ShareSettings {
            session_timeout_ms: number("session.timeout.ms"),
            session_timeouts_ms: range("session.timeout.ms"),
            heartbeat_interval_ms: number("heartbeat.interval.ms"),
            heartbeat_intervals_ms: range("heartbeat.interval.ms"),
            assignment_interval_ms: number("assignment.interval.ms"),
            assignment_intervals_ms: range("assignment.interval.ms"),
            size_max: usize::try_from(number("max.size")).unwrap_or(0),
            retry_interval_ms: i64::from(number("initialize.retry.interval.ms")),
        }
    }
}

/// How long a member may be silent; milliseconds.
pub(crate) fn session_timeout_ms(world: World<'_>, group: &str) -> i32 {
    let settings = &world.settings.share;
    own(world, group, "share.session.timeout.ms", &settings.session_timeouts_ms)
        .unwrap_or(settings.session_timeout_ms)
}

/// When a member is to send its next heartbeat; milliseconds.
pub(crate) fn heartbeat_interval_ms(world: World<'_>, group: &str) -> i32 {
    let settings = &world.settings.share;
    own(world, group, "share.heartbeat.interval.ms", &settings.heartbeat_intervals_ms)
        .unwrap_or(settings.heartbeat_interval_ms)
}

/// The shortest time between two assignments; milliseconds. It can be changed while the broker runs.
pub(crate) fn assignment_interval_ms(world: World<'_>, group: &str) -> i32 {
    let settings = &world.settings.share;
    let changed = || {
        let node_id = world.settings.node_id;
        world.image.broker_setting(node_id, "group.share.assignment.interval.ms")?.trim().parse().ok()
    };
    own(world, group, "share.assignment.interval.ms", &settings.assignment_intervals_ms)
        .or_else(changed)
        .unwrap_or(settings.assignment_interval_ms)
}

/// A group's own value. One that was allowed once and is not any more counts as the nearest that is.
fn own(world: World<'_>, group: &str, key: &str, range: &RangeInclusive<i32>) -> Option<i32> {
    let value: i32 = world.image.group_configs(group).get(key)?.trim().parse().ok()?;
    Some(value.max(*range.start()).min(*range.end()))
}
