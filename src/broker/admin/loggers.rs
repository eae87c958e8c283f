//! The levels of this broker's log (`BROKER_LOGGER`; KIP-412): they count until the process ends.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::cluster::Refusal;
use crate::cluster::command::ConfigOperation;
use crate::cluster::effective::ConfigEntry;
use crate::cluster::effective::ConfigSource;
use crate::io::log_levels;
use crate::io::log_levels::Level;
use std::collections::BTreeSet;
use tracing::info;

const VALID: &str = "DEBUG, ERROR, FATAL, INFO, TRACE, WARN";

/// Every logger with the level that counts for it.
pub(super) fn entries() -> Vec<ConfigEntry> {
    let root = log_levels::level_of(log_levels::ROOT).map_or_else(log_levels::at_the_start, Level::name);
    let entry = |name: String| {
        let own = log_levels::level_of(&name).map(Level::name);
        ConfigEntry {
            value: Some(own.unwrap_or(root).to_owned()),
            name,
            source: ConfigSource::BrokerLogger,
            sensitive: false,
            read_only: false,
            synonyms: Vec::new(),
            definition: None,
        }
    };
    log_levels::loggers().map(entry).collect()
}

/// Changes levels, all or none.
///
/// # Errors
/// As `ConfigAdminManager.validateLogLevelConfigs` of Kafka has it.
pub(super) fn alter(
    broker: &Broker,
    name: &str,
    operations: &[ConfigOperation],
    validate_only: bool,
) -> Result<(), Refusal> {
    let node = broker.config.node_id;
    let invalid = |message: String| Refusal::new(ErrorCode::InvalidRequest, message);
    let config = |message: String| Refusal::new(ErrorCode::InvalidConfig, message);
    if name.parse::<i32>() != Ok(node.0) {
        return Err(invalid(format!("Unexpected node id. Expected {node}, but received {name}")));
    }
    let distinct: BTreeSet<&str> = operations.iter().map(|operation| operation.key.as_str()).collect();
    if distinct.len() != operations.len() {
        return Err(invalid("Error due to duplicate config keys".to_owned()));
    }
    let mut changes = Vec::with_capacity(operations.len());
    for ConfigOperation { key, operation, value } in operations {
        let known = log_levels::is_logger(key);
        match operation {
            0 | 1 if !known => return Err(config(format!("Logger {key} does not exist!"))),
            0 => {
                let value = value.as_deref().unwrap_or_default();
                let level = Level::from_name(value).ok_or_else(|| {
                    config(format!(
                        "Cannot set the log level of {key} to {value} as it is not a supported log level. Valid log \
                         levels are {VALID}"
                    ))
                })?;
                changes.push((key, Some(level)));
            }
            1 if key == log_levels::ROOT => {
                return Err(invalid(format!("Removing the log level of the {key} logger is not allowed")));
            }
            1 => changes.push((key, None)),
            2 => {
                return Err(invalid(
                    "APPEND operation is not allowed for the BROKER_LOGGER resource".to_owned(),
                ));
            }
            3 => {
                return Err(invalid(
                    "SUBTRACT operation is not allowed for the BROKER_LOGGER resource".to_owned(),
                ));
            }
            unknown => {
                return Err(invalid(format!(
                    "Unknown operation type {unknown} is not allowed for the BROKER_LOGGER resource"
                )));
            }
        }
    }
    for (logger, level) in changes.into_iter().filter(|_| !validate_only) {
        info!(logger, level = level.map_or("none", Level::name), "log level changed");
        log_levels::set(logger, level);
    }
    Ok(())
}
