//! Changes settings (`ConfigAdminManager` and `ConfigurationControlManager` of Kafka).

use super::Outcome;
use super::Records;
use super::Refusal;
use super::Situation;
use super::command::AlterConfigs;
use super::command::AlterResource;
use super::command::ConfigAlteration;
use super::command::ConfigChange;
use super::command::ConfigOperation;
use super::config_rules;
use super::eligible;
use super::topic_names;
use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::cluster::effective;
use crate::cluster::image::ConfigResource;
use crate::cluster::image::Image;
use crate::cluster::image::ResourceType;
use crate::cluster::records::ConfigRecord;
use crate::cluster::records::LEVEL_CORDONED;
use crate::cluster::records::Record;
use crate::config::Definition;
use crate::config::Kind;
use crate::config::TopicConfig;
use crate::config::broker_key;
use crate::config::client_metrics_keys;
use crate::config::group_keys;
use crate::config::topic_key;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

pub(super) type Settings = BTreeMap<String, String>;

/// What became of each resource, in the order of the request. One refused setting refuses its whole resource.
pub fn alter_configs(situation: &Situation<'_>, command: &AlterConfigs) -> Outcome<Vec<ConfigAlteration>> {
    let mut named: BTreeMap<(i8, &str), usize> = BTreeMap::new();
    for resource in &command.resources {
        *named.entry((resource.resource_type, &resource.name)).or_default() += 1;
    }
    let mut records = Records::default();
    let mut results = Vec::with_capacity(command.resources.len());
    for resource in &command.resources {
        let once = named.get(&(resource.resource_type, resource.name.as_str())) == Some(&1);
        let result = if once {
            alter(situation, resource).and_then(|changes| records.add(changes))
        } else {
            Err(invalid("Each resource must appear at most once."))
        };
        results.push(ConfigAlteration {
            resource_type: resource.resource_type,
            name: resource.name.clone(),
            result,
        });
    }
    records.into_outcome(command.validate_only, results)
}

/// Checks a topic's own settings.
///
/// # Errors
/// `INVALID_CONFIG` for the first that is unknown or cannot be.
pub fn check_topic(situation: &Situation<'_>, configs: &Settings) -> Result<(), Refusal> {
    let defaults = effective::server_config(situation.config, situation.image);
    match TopicConfig::resolve(&defaults, configs) {
        Ok(_) => Ok(()),
        Err(refused) => Err(Refusal::new(ErrorCode::InvalidConfig, refused.to_string())),
    }
}

/// Whether a topic lets a replica lead that may lack records.
pub(super) fn unclean_election(situation: &Situation<'_>, topic: &str) -> bool {
    let own = situation.image.topic_configs(topic);
    let entries = effective::topic_entries(situation.config, situation.image, own);
    let entry = entries.iter().find(|entry| entry.name == "unclean.leader.election.enable");
    entry.is_some_and(|entry| entry.value.as_deref() == Some("true"))
}

pub(super) fn invalid(message: impl Into<String>) -> Refusal {
    Refusal::new(ErrorCode::InvalidRequest, message)
}

fn alter(situation: &Situation<'_>, asked: &AlterResource) -> Result<Vec<Record>, Refusal> {
    check_keys(&asked.change)?;
    let resource = resource(situation, asked)?;
    let current = situation.image.configs().get(resource.kind, &resource.name);
    let wanted = match &asked.change {
        ConfigChange::Replace(configs) => replaced(configs),
        ConfigChange::Each(operations) => changed(&resource, current, operations)?,
    };
    // A broker's unchanged settings are written too: it reads files again that they name (KAFKA-14136).
    let rewrite = resource.kind == ResourceType::Broker;
    let mentioned: BTreeSet<&String> = match &asked.change {
        ConfigChange::Replace(configs) => configs.iter().map(|(key, _)| key).collect(),
        ConfigChange::Each(operations) => operations.iter().map(|operation| &operation.key).collect(),
    };
    let record = |key: &str, value: Option<&String>| -> Record {
        ConfigRecord {
            resource_type: resource.kind.code(),
            resource_name: resource.name.clone(),
            name: key.to_owned(),
            value: value.cloned(),
        }
        .into()
    };
    check(situation, &resource, &wanted)?;
    let mut records = Vec::new();
    for key in current.keys().chain(wanted.keys()).chain(mentioned.iter().copied()).collect::<BTreeSet<_>>() {
        let differs = current.get(key) != wanted.get(key);
        if differs || (rewrite && mentioned.contains(key)) {
            eligible::check(situation.image, &resource, key, wanted.get(key))?;
            check_cordons(situation.image, &resource, key)?;
            records.push(record(key, wanted.get(key)));
            records.extend(eligible::cleared(situation.image, &resource, key));
        }
    }
    Ok(records)
}

/// A cluster whose log cannot tell of cordoned log directories has none (KIP-1066).
fn check_cordons(image: &Image, resource: &ConfigResource, key: &str) -> Result<(), Refusal> {
    let able = image.metadata_version() >= LEVEL_CORDONED;
    if resource.kind != ResourceType::Broker || key != "cordoned.log.dirs" || able {
        return Ok(());
    }
    let message = "The cordoned.log.dirs configuration requires a metadata.version of at least 4.3-IV0.";
    Err(Refusal::new(ErrorCode::InvalidConfig, message))
}

fn check_keys(change: &ConfigChange) -> Result<(), Refusal> {
    let keys: Vec<(&str, bool)> = match change {
        ConfigChange::Replace(configs) => {
            configs.iter().map(|(key, value)| (key.as_str(), value.is_none())).collect()
        }
        ConfigChange::Each(operations) => operations
            .iter()
            .map(|operation| (operation.key.as_str(), operation.value.is_none() && operation.operation != 1))
            .collect(),
    };
    let distinct: BTreeSet<&str> = keys.iter().map(|(key, _)| *key).collect();
    if distinct.len() != keys.len() {
        return Err(invalid("Error due to duplicate config keys"));
    }
    let nulls: Vec<&str> = keys.iter().filter(|(_, null)| *null).map(|(key, _)| *key).collect();
    if !nulls.is_empty() {
        return Err(invalid(format!("Null value not supported for : {}", nulls.join(", "))));
    }
    if let ConfigChange::Each(operations) = change
        && let Some(unknown) = operations.iter().find(|operation| !(0..=3).contains(&operation.operation))
    {
        return Err(invalid(format!("Unknown operations type {}", unknown.operation)));
    }
    Ok(())
}

/// The resource, when settings of it can be kept.
fn resource(situation: &Situation<'_>, asked: &AlterResource) -> Result<ConfigResource, Refusal> {
    let kind = ResourceType::from_code(asked.resource_type);
    match kind {
        None | Some(ResourceType::BrokerLogger) => {
            Err(invalid(format!("Unknown resource type {}", asked.resource_type)))
        }
        Some(kind) => {
            if kind == ResourceType::Broker && !asked.name.is_empty() {
                check_broker_name(situation, &asked.name)?;
            }
            Ok(ConfigResource::new(kind, asked.name.clone()))
        }
    }
}

fn check_broker_name(situation: &Situation<'_>, name: &str) -> Result<(), Refusal> {
    let node = situation.config.node_id;
    match name.parse::<i32>() {
        Err(_) => Err(invalid(format!("Node id must be an integer, but it is: {name}"))),
        Ok(id) if BrokerId(id) != node => {
            Err(invalid(format!("Unexpected broker id, expected {node}, but received {name}")))
        }
        Ok(_) => Ok(()),
    }
}

fn replaced(configs: &[(String, Option<String>)]) -> Settings {
    let given = configs.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
    given.collect()
}

fn changed(
    resource: &ConfigResource,
    current: &Settings,
    operations: &[ConfigOperation],
) -> Result<Settings, Refusal> {
    let mut wanted = current.clone();
    for operation in operations {
        let value = operation.value.as_deref().unwrap_or_default();
        match operation.operation {
            1 => {
                wanted.remove(&operation.key);
            }
            2 | 3 => {
                let append = operation.operation == 2;
                let definition = list_definition(resource.kind, &operation.key, append)?;
                let before = current.get(&operation.key).map(String::as_str).or(definition.default);
                wanted.insert(operation.key.clone(), edit_list(before.unwrap_or_default(), value, append));
            }
            _ => {
                wanted.insert(operation.key.clone(), value.to_owned());
            }
        }
    }
    Ok(wanted)
}

fn list_definition(kind: ResourceType, key: &str, append: bool) -> Result<&'static Definition, Refusal> {
    // Kafka does not know the types of the settings of client metrics.
    let typed = kind != ResourceType::ClientMetrics;
    let definition = definition(kind, key).filter(|definition| typed && definition.kind == Kind::List);
    definition.ok_or_else(|| {
        let word = if append { "append" } else { "subtract" };
        let message = if kind == ResourceType::Broker {
            format!("Config value {word} is not allowed for config key: {key}")
        } else {
            format!("Can't {} to key {key} because its type is not LIST.", word.to_uppercase())
        };
        Refusal::new(ErrorCode::InvalidConfig, message)
    })
}

fn definition(kind: ResourceType, key: &str) -> Option<&'static Definition> {
    let find = |keys: &'static [Definition]| keys.iter().find(|definition| definition.name == key);
    match kind {
        ResourceType::Topic => topic_key(key),
        ResourceType::Broker => broker_key(key),
        ResourceType::Group => find(group_keys()),
        ResourceType::ClientMetrics => find(client_metrics_keys()),
        ResourceType::BrokerLogger => None,
    }
}

fn edit_list(before: &str, value: &str, append: bool) -> String {
    let mut entries: Vec<&str> = before.split(',').filter(|entry| !entry.is_empty()).collect();
    for entry in value.split(',') {
        let place = entries.iter().position(|known| *known == entry);
        match (append, place) {
            (true, None) => entries.push(entry),
            (false, Some(place)) => {
                entries.remove(place);
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    entries.join(",")
}

/// Checks all the settings that a resource would have, and that it exists.
fn check(situation: &Situation<'_>, resource: &ConfigResource, wanted: &Settings) -> Result<(), Refusal> {
    match resource.kind {
        ResourceType::Topic => {
            if resource.name.is_empty() {
                return Err(invalid("Default topic resources are not allowed."));
            }
            topic_names::check(&resource.name)
                .map_err(|message| Refusal::new(ErrorCode::InvalidTopicException, message))?;
            check_topic(situation, wanted)?;
            if situation.image.topic(&resource.name).is_none() {
                let message = format!("The topic '{}' does not exist.", resource.name);
                return Err(Refusal::new(ErrorCode::UnknownTopicOrPartition, message));
            }
            Ok(())
        }
        ResourceType::Broker => config_rules::check_broker(situation, resource, wanted),
        ResourceType::Group => {
            if resource.name.is_empty() {
                return Err(invalid("Default group resources are not allowed."));
            }
            config_rules::check_values(group_keys(), wanted, |name| {
                Refusal::new(ErrorCode::InvalidConfig, format!("Unknown group config name: {name}"))
            })?;
            config_rules::check_group_ranges(situation, wanted)
        }
        ResourceType::ClientMetrics => {
            if resource.name.is_empty() {
                return Err(invalid("Subscription name can't be empty"));
            }
            config_rules::check_values(client_metrics_keys(), wanted, |name| {
                invalid(format!("Unknown client metrics configuration: {name}"))
            })?;
            config_rules::check_metrics(wanted)
        }
        ResourceType::BrokerLogger => Err(invalid(format!("Unknown resource type {}", resource.kind.name()))),
    }
}
