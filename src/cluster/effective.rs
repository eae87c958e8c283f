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
use crate::config::listener_setting;
use crate::config::topic_keys;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
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

/// All settings of this broker, sorted by name, with what was set beyond the known names: a listener's own settings,
/// and what no table has, whose value is not shown (`ConfigHelper` of Kafka).
pub fn broker_entries(config: &ServerConfig, image: &Image) -> Vec<ConfigEntry> {
    let merged = server_config(config, image);
    let layers = Layers { config, image };
    let mut names: BTreeSet<&str> =
        broker_keys().iter().filter(|definition| !definition.internal).map(|known| known.name).collect();
    let dynamic = [image.broker_configs(None), image.broker_configs(Some(config.node_id))];
    names.extend(dynamic.into_iter().flat_map(BTreeMap::keys).map(String::as_str));
    names.extend(config.set_names());
    let mut entries = Vec::with_capacity(names.len());
    for name in names {
        entries.push(named(name, merged.get(name), layers.synonyms(name), is_read_only(name)));
    }
    entries
}

/// The settings that were changed for all brokers, sorted by name.
pub fn default_broker_entries(image: &Image) -> Vec<ConfigEntry> {
    let entry = |(name, value): (&String, &String)| {
        let synonyms = vec![synonym(name, Some(value.clone()), ConfigSource::DynamicDefaultBroker)];
        named(name, Some(value.clone()), synonyms, is_read_only(name))
    };
    image.broker_configs(None).iter().map(entry).collect()
}

/// Kafka calls only those changeable that its table has, so also a listener's own settings are read-only.
fn is_read_only(name: &str) -> bool {
    broker_key(name).is_none_or(|definition| definition.mode == Mode::ReadOnly)
}

/// All settings of a group, sorted by name.
pub fn group_entries(config: &ServerConfig, image: &Image, group: &str) -> Vec<ConfigEntry> {
    let merged = server_config(config, image);
    let layers = Layers { config, image };
    let own = image.group_configs(group);
    let mut entries = Vec::with_capacity(group_keys().len());
    for definition in group_keys() {
        let set = own.get(definition.name);
        let broker_name = group_default(definition.name);
        // What Kafka keeps to itself is shown where somebody set it.
        let is_set =
            set.is_some() || broker_name.is_some_and(|name| config.set_names().any(|set| set == name));
        if definition.internal && !is_set {
            continue;
        }
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
            None => {
                let default = definition.default.map(str::to_owned);
                synonyms.push(synonym(definition.name, default, ConfigSource::Default));
            }
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
        let synonyms =
            set.clone().map(|set| synonym(definition.name, Some(set), ConfigSource::ClientMetrics));
        let value = set.or_else(|| definition.default.map(str::to_owned));
        entries.push(entry(definition, value, synonyms.into_iter().collect(), false));
    }
    entries
}

fn entry(
    definition: &'static Definition,
    value: Option<String>,
    synonyms: Vec<ConfigSynonym>,
    read_only: bool,
) -> ConfigEntry {
    build(definition.name, Some(definition), (value, synonyms), read_only)
}

/// An entry of a broker, whose name may be of a listener's setting or unknown.
fn named(name: &str, value: Option<String>, synonyms: Vec<ConfigSynonym>, read_only: bool) -> ConfigEntry {
    let definition = broker_key(name).or_else(|| listener_setting(name).and_then(broker_key));
    let value = value.map(|value| match definition {
        Some(definition) => shown(definition, &value),
        None => value,
    });
    build(name, definition, (value, synonyms), read_only)
}

/// What no table has is never shown: nobody knows whether it is a secret.
fn build(
    name: &str,
    definition: Option<&'static Definition>,
    (value, mut synonyms): (Option<String>, Vec<ConfigSynonym>),
    read_only: bool,
) -> ConfigEntry {
    let sensitive = definition.is_none_or(Definition::sensitive);
    if sensitive {
        synonyms.iter_mut().for_each(|synonym| synonym.value = None);
    }
    ConfigEntry {
        name: name.to_owned(),
        value: value.filter(|_| !sensitive),
        source: synonyms.first().map_or(ConfigSource::Default, |first| first.source),
        sensitive,
        read_only,
        synonyms,
        definition,
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
        None => [name].into_iter().chain(listener_setting(name)).collect(),
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
    fn a_brokers_entries_have_its_listeners_settings_and_hide_what_is_unknown() {
        let key = "listener.name.inside.ssl.truststore.type";
        let config = config(&[("node.id", "1"), ("mystery", "secret")]);
        let image = with_broker_config("1", key, "PKCS12");
        let entries = broker_entries(&config, &image);
        let entry = find(&entries, key);
        assert_eq!((entry.value.as_deref(), entry.sensitive), (Some("PKCS12"), false));
        let synonyms: Vec<(&str, i8)> =
            entry.synonyms.iter().map(|synonym| (synonym.name.as_str(), synonym.source.code())).collect();
        assert_eq!(synonyms, [(key, 2), ("ssl.truststore.type", 5)]);
        let unknown = find(&entries, "mystery");
        assert_eq!((unknown.value.as_deref(), unknown.sensitive, unknown.source.code()), (None, true, 4));
        assert_eq!(unknown.synonyms[0].value, None);
        let image = with_broker_config("", "mystery", "2");
        assert!(default_broker_entries(&image)[0].sensitive);
    }

    #[test]
    fn a_groups_setting_without_a_brokers_has_its_own_default_behind_its_value() {
        let mut image = Image::empty("c");
        let record = ConfigRecord {
            resource_type: 32,
            resource_name: "g".to_owned(),
            name: "share.auto.offset.reset".to_owned(),
            value: Some("earliest".to_owned()),
        };
        image.apply(&record.into()).unwrap();
        let entries = group_entries(&config(&[]), &image, "g");
        let entry = find(&entries, "share.auto.offset.reset");
        let synonyms: Vec<(Option<&str>, i8)> =
            entry.synonyms.iter().map(|synonym| (synonym.value.as_deref(), synonym.source.code())).collect();
        assert_eq!(synonyms, [(Some("earliest"), 8), (Some("latest"), 5)]);
    }

    #[test]
    fn what_kafka_keeps_to_itself_is_shown_of_a_group_where_it_was_set() {
        let (hidden, image) = ("share.assignor.offload.enable", Image::empty("c"));
        let shows = |config: &ServerConfig| {
            group_entries(config, &image, "g").iter().any(|entry| entry.name == hidden)
        };
        assert!(!shows(&config(&[])));
        assert!(shows(&config(&[("group.share.assignor.offload.enable", "false")])));
    }

    #[test]
    fn a_metrics_subscriptions_own_value_is_its_only_synonym() {
        let mut image = Image::empty("c");
        let record = ConfigRecord {
            resource_type: 16,
            resource_name: "cm".to_owned(),
            name: "metrics".to_owned(),
            value: Some("org.apache".to_owned()),
        };
        image.apply(&record.into()).unwrap();
        let entries = client_metrics_entries(&image, "cm");
        let own = &find(&entries, "metrics").synonyms;
        assert_eq!((own.len(), own[0].source.code(), own[0].value.as_deref()), (1, 7, Some("org.apache")));
        assert_eq!(find(&entries, "interval.ms").source, ConfigSource::Default);
        assert!(find(&entries, "interval.ms").synonyms.is_empty());
    }

    #[test]
    fn settings_changed_at_run_time_count() {
        let config = config(&[("node.id", "1")]);
        let image = with_broker_config("1", "log.retention.ms", "5000");
        assert_eq!(server_config(&config, &image).log.retention_ms, 5000);
        let mut image = with_broker_config("", "log.retention.ms", "7000");
        let found =
            |image: &Image| image.broker_setting(config.node_id, "log.retention.ms").map(str::to_owned);
        assert_eq!(found(&image).as_deref(), Some("7000"));
        let own = ConfigRecord {
            resource_type: 4,
            resource_name: "1".to_owned(),
            name: "log.retention.ms".to_owned(),
            value: Some("8000".to_owned()),
        };
        image.apply(&own.into()).unwrap();
        assert_eq!(found(&image).as_deref(), Some("8000"), "this broker's counts over that of all");
    }
}
