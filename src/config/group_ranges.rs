//! How the settings of consumer, share and streams groups have to fit together (`GroupCoordinatorConfig` of Kafka).

use crate::config::define::Invalid;
use crate::config::values::Values;
use std::ops::RangeInclusive;

/// A setting of a kind of groups, for instance `consumer`, with its smallest and largest value, which are settings, too.
pub(super) fn ranged(values: &Values, kind: &str, rest: &str) -> Result<(i32, RangeInclusive<i32>), Invalid> {
    let name = |which: &str| format!("group.{kind}.{which}{rest}");
    let (min, max) = (name("min."), name("max."));
    let highest = at_least(values, &max, &min)?;
    at_least(values, &name(""), &min)?;
    let value = at_most(values, &name(""), &max)?;
    Ok((value, values.int(&min)..=highest))
}

/// The value of a setting that must not be below another one's.
pub(super) fn at_least(values: &Values, name: &str, other: &str) -> Result<i32, Invalid> {
    let value = values.int(name);
    if value < values.int(other) {
        return refuse(name, value, format!("{name} must be greater than or equal to {other}"));
    }
    Ok(value)
}

/// The value of a setting that must not be above another one's.
pub(super) fn at_most(values: &Values, name: &str, other: &str) -> Result<i32, Invalid> {
    let value = values.int(name);
    if value > values.int(other) {
        return refuse(name, value, format!("{name} must be less than or equal to {other}"));
    }
    Ok(value)
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
fn refuse<T>(key: &str, value: i32, message: String) -> Result<T, Invalid> {
    Err(Invalid::sentence(key, &value.to_string(), message))
}

/// The settings with these lines, or why they are refused.
#[cfg(test)]
pub(super) fn with_lines(lines: &[(&str, &str)]) -> Result<crate::config::ServerConfig, String> {
    let set = lines.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    crate::config::ServerConfig::new(&set, "machine").map_err(|refused| refused.to_string())
}
