//! The settings that users gave to topics, brokers, groups and metrics subscriptions.

use std::collections::BTreeMap;
use std::fmt;

/// What a setting belongs to (Kafka's `ConfigResource.Type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceType {
    /// A topic.
    Topic,
    /// A broker; the empty name stands for all.
    Broker,
    /// The log levels of a broker; never in the metadata log.
    BrokerLogger,
    /// A subscription of client metrics (KIP-714).
    ClientMetrics,
    /// A group.
    Group,
}

impl ResourceType {
    /// The number in records and requests.
    pub fn code(self) -> i8 {
        match self {
            ResourceType::Topic => 2,
            ResourceType::Broker => 4,
            ResourceType::BrokerLogger => 8,
            ResourceType::ClientMetrics => 16,
            ResourceType::Group => 32,
        }
    }

    /// The type with this number.
    pub fn from_code(code: i8) -> Option<ResourceType> {
        let all = [
            ResourceType::Topic,
            ResourceType::Broker,
            ResourceType::BrokerLogger,
            ResourceType::ClientMetrics,
            ResourceType::Group,
        ];
        all.into_iter().find(|kind| kind.code() == code)
    }

    /// Kafka's name of the type.
    pub fn name(self) -> &'static str {
        match self {
            ResourceType::Topic => "TOPIC",
            ResourceType::Broker => "BROKER",
            ResourceType::BrokerLogger => "BROKER_LOGGER",
            ResourceType::ClientMetrics => "CLIENT_METRICS",
            ResourceType::Group => "GROUP",
        }
    }
}

/// A thing that has settings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConfigResource {
    /// What it is.
    pub kind: ResourceType,
    /// Which one.
    pub name: String,
}

impl ConfigResource {
    /// The resource of this type and name.
    pub fn new(kind: ResourceType, name: impl Into<String>) -> ConfigResource {
        ConfigResource { kind, name: name.into() }
    }
}

impl fmt::Display for ConfigResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ConfigResource(type={}, name='{}')", self.kind.name(), self.name)
    }
}

static NONE: BTreeMap<String, String> = BTreeMap::new();

/// The settings of every resource that has some.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configs {
    resources: BTreeMap<ResourceType, BTreeMap<String, BTreeMap<String, String>>>,
}

impl Configs {
    /// A resource's settings; empty when it has none.
    pub fn get(&self, kind: ResourceType, name: &str) -> &BTreeMap<String, String> {
        self.resources.get(&kind).and_then(|names| names.get(name)).unwrap_or(&NONE)
    }

    /// The resources of a type that have settings, sorted by name.
    pub fn of(&self, kind: ResourceType) -> impl Iterator<Item = (&str, &BTreeMap<String, String>)> {
        self.resources.get(&kind).into_iter().flatten().map(|(name, settings)| (name.as_str(), settings))
    }

    /// All resources that have settings.
    pub fn iter(&self) -> impl Iterator<Item = (ResourceType, &str, &BTreeMap<String, String>)> {
        let types = self.resources.iter();
        types.flat_map(|(kind, names)| names.iter().map(|(name, settings)| (*kind, name.as_str(), settings)))
    }

    pub(super) fn set(&mut self, resource: ConfigResource, key: String, value: Option<String>) {
        let names = self.resources.entry(resource.kind).or_default();
        match value {
            Some(value) => {
                names.entry(resource.name).or_default().insert(key, value);
            }
            None => {
                if let Some(settings) = names.get_mut(&resource.name) {
                    settings.remove(&key);
                    if settings.is_empty() {
                        names.remove(&resource.name);
                    }
                }
            }
        }
        if self.resources.get(&resource.kind).is_some_and(BTreeMap::is_empty) {
            self.resources.remove(&resource.kind);
        }
    }

    pub(super) fn has(&self, kind: ResourceType, name: &str) -> bool {
        self.resources.get(&kind).is_some_and(|names| names.contains_key(name))
    }

    pub(super) fn remove(&mut self, kind: ResourceType, name: &str) {
        if let Some(names) = self.resources.get_mut(&kind) {
            names.remove(name);
            if names.is_empty() {
                self.resources.remove(&kind);
            }
        }
    }
}
