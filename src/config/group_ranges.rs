//! How the settings of consumer, share and streams groups have to fit together (`GroupCoordinatorConfig` of Kafka).

use crate::config::define::Invalid;
use crate::config::values::Values;
use std::ops::RangeInclusive;

/// A setting of a kind of groups, for instance `consumer`, with its smallest and largest value, which are settings, too.
pub(super) fn ranged(values: &Values, kind: &str, rest: &str) -> Result<(i32, RangeInclusive<i32>), Invalid> {
    let name = |which: &str| format!("group.{kind}.{which}{rest}");
    let (min, max) = (values.int(&name("min.")), values.int(&name("max.")));
    let value = values.int(&name(""));
    if max < min {
        let message = format!("{} must be greater than or equal to {}", name("max."), name("min."));
        return refuse(&name("max."), max, message);
    }
    if value < min {
        let message = format!("{} must be greater than or equal to {}", name(""), name("min."));
        return refuse(&name(""), value, message);
    }
    if value > max {
        let message = format!("{} must be less than or equal to {}", name(""), name("max."));
        return refuse(&name(""), value, message);
    }
    Ok((value, min..=max))
}

/// Heartbeats come more often than sessions end.
pub(super) fn check_heartbeat(kind: &str, heartbeat_ms: i32, session_ms: i32) -> Result<(), Invalid> {
    if heartbeat_ms < session_ms {
        return Ok(());
    }
    let (heartbeat, session) =
        (format!("group.{kind}.heartbeat.interval.ms"), format!("group.{kind}.session.timeout.ms"));
    refuse(&heartbeat, heartbeat_ms, format!("{heartbeat} must be less than {session}"))
}

/// A refusal of a number.
pub(super) fn refuse<T>(key: &str, value: i32, message: String) -> Result<T, Invalid> {
    Err(Invalid::sentence(key, &value.to_string(), message))
}
