//! How far a broker's settings may be changed while it runs (`DynamicBrokerConfig` of Kafka and what listens to it).

use super::Refusal;
use super::configs::Settings;
use super::configs::invalid;
use crate::config::Kind;
use crate::config::ServerConfig;
use crate::config::broker_key;
use crate::config::listener_setting;

/// Numbers of threads, which at most double or halve at a time.
const THREADS: [&str; 9] = [
    "background.threads",
    "num.io.threads",
    "num.network.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
    "remote.log.manager.copier.thread.pool.size",
    "remote.log.manager.expiration.thread.pool.size",
    "remote.log.manager.follower.thread.pool.size",
    "remote.log.reader.threads",
];

/// Checks the change from the settings in force to those that would be, where `wanted` is what the request leaves set.
///
/// # Errors
/// `INVALID_REQUEST` in Kafka's words.
pub(super) fn check(before: &ServerConfig, after: &ServerConfig, wanted: &Settings) -> Result<(), Refusal> {
    for (name, value) in wanted {
        check_class(name, value)?;
        let setting = listener_setting(name).unwrap_or(name);
        let number = |config: &ServerConfig| config.get(setting).and_then(|value| value.parse::<i64>().ok());
        let new = if setting == name { number(after) } else { value.trim().parse().ok() };
        if let (Some(old), Some(new)) = (number(before), new) {
            check_number(setting, old, new)?;
        }
    }
    if before.listeners != after.listeners {
        return Err(wrapped(
            "Advertised listeners cannot be altered when using a Raft-based metadata quorum.",
        ));
    }
    Ok(())
}

/// Nothing here loads classes of Java.
///
/// # Errors
/// `INVALID_REQUEST` for every class but the default.
pub(super) fn check_class(name: &str, value: &str) -> Result<(), Refusal> {
    let definition = broker_key(name).filter(|definition| definition.default != Some(value.trim()));
    match definition.map(|definition| definition.kind) {
        Some(Kind::Class) => Err(invalid(format!(
            "Invalid value {value} for configuration {name}: Class {value} could not be found."
        ))),
        Some(_) if name == "metric.reporters" && !value.trim().is_empty() => Err(wrapped(
            "Validation of dynamic config update of Set(metric.reporters) failed with class class \
             kafka.server.DynamicMetricsReporters",
        )),
        _ => Ok(()),
    }
}

fn check_number(setting: &str, old: i64, new: i64) -> Result<(), Refusal> {
    if setting == "log.cleaner.threads" {
        let refuse =
            |how: &str| Err(wrapped(&format!("Log cleaner threads cannot be {how} the current value {old}")));
        return match new {
            // None would be left, and none could be added.
            ..1 => Err(wrapped("Log cleaner threads should be at least 1")),
            new if new < old / 2 => refuse("reduced to less than half"),
            new if new > old.saturating_mul(2) => refuse("increased to more than double"),
            _ => Ok(()),
        };
    }
    if THREADS.contains(&setting) {
        let refuse = |how: &str| {
            let what = format!("Dynamic thread count update validation failed for {setting}={new}");
            Err(wrapped(&format!("{what}, value should {how} the current value {old}")))
        };
        return match new {
            new if new < old / 2 => refuse("be at least half"),
            new if new > old.saturating_mul(2) => refuse("not be greater than double"),
            _ => Ok(()),
        };
    }
    // Through which connection should it be taken back?
    if matches!(setting, "max.connections" | "max.connection.creation.rate") && new == 0 {
        return Err(wrapped(&format!("Invalid {setting} 0")));
    }
    Ok(())
}

/// A refusal of a part of Kafka that follows changes, as its clients see it.
fn wrapped(message: &str) -> Refusal {
    invalid(format!(
        "Invalid value org.apache.kafka.common.config.ConfigException: {message} for configuration Invalid dynamic \
         configuration"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn threads_double_or_halve_and_the_last_connection_is_not_taken() {
        let config = ServerConfig::new(&BTreeMap::new(), "machine").unwrap();
        let check = |name: &str, value: &str| {
            let wanted = Settings::from([(name.to_owned(), value.to_owned())]);
            let after = config.with_dynamic(&BTreeMap::new(), &wanted).unwrap();
            check(&config, &after, &wanted).err().and_then(|refusal| refusal.message).unwrap_or_default()
        };
        assert_eq!(check("log.cleaner.threads", "2"), "");
        assert!(check("log.cleaner.threads", "0").contains("Log cleaner threads should be at least 1"));
        assert!(check("log.cleaner.threads", "3").contains("to more than double the current value 1"));
        assert_eq!(check("num.io.threads", "4"), "");
        assert!(check("num.io.threads", "3").contains("num.io.threads=3, value should be at least half"));
        let own = "listener.name.plaintext.num.network.threads";
        assert!(check(own, "9").contains("num.network.threads=9, value should not be greater than double"));
        assert!(check("max.connections", "0").contains("Invalid max.connections 0 for"));
        assert!(check("principal.builder.class", "x").contains("Class x could not be found."));
        assert_eq!(check("listeners", "PLAINTEXT://localhost:9092"), "");
        let moved = check("listeners", "PLAINTEXT://localhost:9093");
        assert!(moved.contains("Advertised listeners cannot be altered"), "{moved}");
    }
}
