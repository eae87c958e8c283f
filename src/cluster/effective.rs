//! Which settings count: a resource's own, over those of this broker, of all brokers, of the file, over defaults.

use super::image::Image;
use super::image::ResourceType;
use crate::config::Definition;
use crate::config::Mode;
use crate::config::ServerConfig;
use crate::config::broker_key;
use crate::config::broker_keys;
use crate::config::client_metrics_keys;
use crate::config::group_keys;
use crate::config::topic_keys;
use std::borrow::Cow;
use std::collections::BTreeMap;
use tracing::warn;

/// Where a value comes from (`DescribeConfigsResponse.ConfigSource` of Kafka).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// The topic's own.
    Topic,
    /// Changed for this broker while it runs.
    DynamicBroker,
    /// Changed for all brokers while they run.
    DynamicDefaultBroker,
    /// The file, the environment or the command line.
    StaticBroker,
    /// Nobody set it.
    Default,
    /// A log level.
    BrokerLogger,
    /// The metrics subscription's own.
    ClientMetrics,
    /// The group's own.
    Group,
}

impl ConfigSource {
    /// The number in answers.
    pub fn code(self) -> i8 {
        match self {
            ConfigSource::Topic => 1,
            ConfigSource::DynamicBroker => 2,
            ConfigSource::DynamicDefaultBroker => 3,
            ConfigSource::StaticBroker => 4,
            ConfigSource::Default => 5,
            ConfigSource::BrokerLogger => 6,
            ConfigSource::ClientMetrics => 7,
            ConfigSource::Group => 8,
        }
    }
}

/// One setting of a resource with where its value comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct ConfigEntry {
    /// The setting's name.
    pub name: String,
    /// Its value; `None` where it has none or must not be shown.
    pub value: Option<String>,
    /// Where the value comes from.
    pub source: ConfigSource,
    /// Whether its value is never shown.
    pub sensitive: bool,
    /// Whether it cannot be changed while the broker runs.
    pub read_only: bool,
    /// All values under its own and related names, the strongest first.
    pub synonyms: Vec<ConfigSynonym>,
    /// What the tables say about it; `None` for a name that no table has.
    pub definition: Option<&'static Definition>,
}

/// A value that a setting has, or would have if a stronger one went away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigSynonym {
    /// The name it was set under.
    pub name: String,
    /// The value; `None` where it must not be shown.
    pub value: Option<String>,
    /// Where it comes from.
    pub source: ConfigSource,
}

/// The broker's settings with what was changed while it runs. What no longer fits is left out with a warning.
pub fn server_config<'a>(config: &'a ServerConfig, image: &Image) -> Cow<'a, ServerConfig> {
    let cluster = image.broker_configs(None);
    let broker = image.broker_configs(Some(config.node_id));
    if cluster.is_empty() && broker.is_empty() {
        return Cow::Borrowed(config);
    }
    match config.with_dynamic(cluster, broker) {
        Ok(merged) => Cow::Owned(merged),
        Err(refused) => {
            warn!(key = refused.key, "settings changed at run time do not fit, the file's count: {refused}");
            Cow::Borrowed(config)
        }
    }
}

/// All settings of a topic that sets `own` itself, sorted by name.
pub fn topic_entries(
    config: &ServerConfig,
    image: &Image,
    own: &BTreeMap<String, String>,
) -> Vec<ConfigEntry> {
    let merged = server_config(config, image);
    let layers = Layers { config, image };
    let mut entries = Vec::with_capacity(topic_keys().len());
    for definition in topic_keys() {
        let set = own.get(definition.name);
        if definition.internal && set.is_none() {
            continue;
        }
        let value = match set {
            Some(set) => Some(shown(definition, set)),
            None => merged.topic_default(definition),
        };
        let mut synonyms = Vec::new();
        if set.is_some() {
            synonyms.push(synonym(definition.name, value.clone(), ConfigSource::Topic));
        }
        if let Some(broker_name) = definition.synonyms.first().map(|synonym| synonym.name) {
            synonyms.extend(layers.synonyms(broker_name));
        }
        entries.push(entry(definition, value, synonyms, false));
    }
    entries
}

/// All settings of this broker, sorted by name.
pub fn broker_entries(config: &ServerConfig, image: &Image) -> Vec<ConfigEntry> {
    let merged = server_config(config, image);
    let layers = Layers { config, image };
    let mut entries = Vec::with_capacity(broker_keys().len());
    for definition in broker_keys().iter().filter(|definition| !definition.internal) {
        let synonyms = layers.synonyms(definition.name);
        let value = merged.get(definition.name);
        entries.push(entry(definition, value, synonyms, definition.mode == Mode::ReadOnly));
    }
    entries
}

/// The settings that were changed for all brokers, sorted by name.
pub fn default_broker_entries(image: &Image) -> Vec<ConfigEntry> {
    let mut entries = Vec::new();
    for (name, value) in image.broker_configs(None) {
        let definition = broker_key(name);
        let sensitive = definition.is_none_or(Definition::sensitive);
        let value = (!sensitive).then(|| value.clone());
        entries.push(ConfigEntry {
            name: name.clone(),
            value: value.clone(),
            source: ConfigSource::DynamicDefaultBroker,
            sensitive,
            read_only: definition.is_none_or(|definition| definition.mode == Mode::ReadOnly),
            synonyms: vec![synonym(name, value, ConfigSource::DynamicDefaultBroker)],
            definition,
        });
    }
    entries
}

/// All settings of a group, sorted by name.
pub fn group_entries(config: &ServerConfig, image: &Image, group: &str) -> Vec<ConfigEntry> {
    let merged = server_config(config, image);
    let layers = Layers { config, image };
    let own = image.group_configs(group);
    let mut entries = Vec::with_capacity(group_keys().len());
    for definition in group_keys().iter().filter(|definition| !definition.internal) {
        let set = own.get(definition.name);
        let broker_name = group_default(definition.name);
        let value = set
            .map(|set| shown(definition, set))
            .or_else(|| broker_name.and_then(|name| merged.get(name)))
            .or_else(|| definition.default.map(str::to_owned));
        let mut synonyms = Vec::new();
        if set.is_some() {
            synonyms.push(synonym(definition.name, value.clone(), ConfigSource::Group));
        }
        match broker_name {
            Some(name) => synonyms.extend(layers.synonyms(name)),
            None if set.is_none() => {
                synonyms.push(synonym(definition.name, value.clone(), ConfigSource::Default));
            }
            None => {}
        }
        entries.push(entry(definition, value, synonyms, false));
    }
    entries
}

/// The broker's setting that gives a group's setting its default: the same name behind `group.`, but for one.
fn group_default(name: &str) -> Option<&'static str> {
    let broker_name = match name {
        "streams.assignor.name" => "group.streams.assignors".to_owned(),
        name => format!("group.{name}"),
    };
    broker_key(&broker_name).map(|definition| definition.name)
}

/// All settings of a metrics subscription, sorted by name.
pub fn client_metrics_entries(image: &Image, subscription: &str) -> Vec<ConfigEntry> {
    let own = image.configs().get(ResourceType::ClientMetrics, subscription);
    let mut entries = Vec::with_capacity(client_metrics_keys().len());
    for definition in client_metrics_keys() {
        let set = own.get(definition.name).map(|set| shown(definition, set));
        let source = if set.is_some() { ConfigSource::ClientMetrics } else { ConfigSource::Default };
        let value = set.or_else(|| definition.default.map(str::to_owned));
        let entry = entry(definition, value, Vec::new(), false);
        entries.push(ConfigEntry { source, ..entry });
    }
    entries
}

fn entry(
    definition: &'static Definition,
    value: Option<String>,
    mut synonyms: Vec<ConfigSynonym>,
    read_only: bool,
) -> ConfigEntry {
    let sensitive = definition.sensitive();
    if sensitive {
        synonyms.iter_mut().for_each(|synonym| synonym.value = None);
    }
    ConfigEntry {
        name: definition.name.to_owned(),
        value: value.filter(|_| !sensitive),
        source: synonyms.first().map_or(ConfigSource::Default, |first| first.source),
        sensitive,
        read_only,
        synonyms,
        definition: Some(definition),
    }
}

fn shown(definition: &Definition, value: &str) -> String {
    definition.check(value).unwrap_or_else(|_| value.to_owned())
}

fn synonym(name: &str, value: Option<String>, source: ConfigSource) -> ConfigSynonym {
    ConfigSynonym { name: name.to_owned(), value, source }
}

/// The places where a broker's setting may come from.
struct Layers<'a> {
    config: &'a ServerConfig,
    image: &'a Image,
}

impl Layers<'_> {
    /// Every value that a broker setting has under its own and related names. As in Kafka the list begins with the
    /// first value under the name itself: `log.retention.ms` shows nothing of `log.retention.hours`.
    fn synonyms(&self, name: &str) -> Vec<ConfigSynonym> {
        let names = related(name);
        let mut found = Vec::new();
        let dynamic = [
            (ConfigSource::DynamicBroker, self.image.broker_configs(Some(self.config.node_id))),
            (ConfigSource::DynamicDefaultBroker, self.image.broker_configs(None)),
        ];
        for (source, values) in dynamic {
            for name in &names {
                found.extend(values.get(*name).map(|value| synonym(name, Some(value.clone()), source)));
            }
        }
        for name in &names {
            let set = self.config.set_value(name);
            found.extend(set.map(|value| synonym(name, Some(value.to_owned()), ConfigSource::StaticBroker)));
        }
        for name in &names {
            let default = broker_key(name).and_then(|definition| definition.default);
            found.extend(default.map(|value| synonym(name, Some(value.to_owned()), ConfigSource::Default)));
        }
        found.into_iter().skip_while(|synonym| synonym.name != name).collect()
    }
}

/// Names that stand for one setting, the strongest first (`DynamicBrokerConfig.brokerConfigSynonyms` of Kafka).
fn related(name: &str) -> Vec<&str> {
    const GROUPS: [&[&str]; 3] = [
        &["log.roll.ms", "log.roll.hours"],
        &["log.roll.jitter.ms", "log.roll.jitter.hours"],
        &["log.retention.ms", "log.retention.minutes", "log.retention.hours"],
    ];
    if name == "log.flush.interval.ms" {
        return vec!["log.flush.interval.ms", "log.flush.scheduler.interval.ms"];
    }
    match GROUPS.iter().find(|group| group.contains(&name)) {
        Some(group) => group.to_vec(),
        None => vec![name],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::records::ConfigRecord;

    fn config(lines: &[(&str, &str)]) -> ServerConfig {
        let set = lines.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        ServerConfig::new(&set, "machine").unwrap()
    }

    fn with_broker_config(name: &str, key: &str, value: &str) -> Image {
        let mut image = Image::empty("c");
        let record = ConfigRecord {
            resource_type: 4,
            resource_name: name.to_owned(),
            name: key.to_owned(),
            value: Some(value.to_owned()),
        };
        image.apply(&record.into()).unwrap();
        image
    }

    fn find<'a>(entries: &'a [ConfigEntry], name: &str) -> &'a ConfigEntry {
        entries.iter().find(|entry| entry.name == name).unwrap()
    }

    #[test]
    fn a_topics_value_names_every_place_it_could_come_from() {
        let config = config(&[("log.segment.bytes", "2000000")]);
        let image = with_broker_config("", "log.segment.bytes", "3000000");
        let own = BTreeMap::from([("segment.bytes".to_owned(), "4000000".to_owned())]);
        let entries = topic_entries(&config, &image, &own);
        let entry = find(&entries, "segment.bytes");
        assert_eq!((entry.value.as_deref(), entry.source), (Some("4000000"), ConfigSource::Topic));
        let sources: Vec<(&str, Option<&str>, i8)> = entry
            .synonyms
            .iter()
            .map(|synonym| (synonym.name.as_str(), synonym.value.as_deref(), synonym.source.code()))
            .collect();
        assert_eq!(
            sources,
            [
                ("segment.bytes", Some("4000000"), 1),
                ("log.segment.bytes", Some("3000000"), 3),
                ("log.segment.bytes", Some("2000000"), 4),
                ("log.segment.bytes", Some("1073741824"), 5),
            ]
        );
        let entries = topic_entries(&config, &image, &BTreeMap::new());
        assert_eq!(find(&entries, "segment.bytes").value.as_deref(), Some("3000000"));
        let retention = find(&entries, "retention.ms");
        assert_eq!(
            (retention.value.as_deref(), retention.source),
            (Some("604800000"), ConfigSource::Default)
        );
        assert!(retention.synonyms.is_empty());
    }

    #[test]
    fn settings_changed_at_run_time_count() {
        let config = config(&[("node.id", "1")]);
        let image = with_broker_config("1", "log.retention.ms", "5000");
        assert_eq!(server_config(&config, &image).log.retention_ms, 5000);
    }
}
