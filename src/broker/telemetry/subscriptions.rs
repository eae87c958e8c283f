//! Which figures are wanted of a client (`ClientMetricsConfigs` and `ClientMetricsInstanceMetadata` of Kafka).

use crate::broker::Context;
use crate::cluster::Image;
use crate::cluster::ResourceType;
use crate::cluster::controller::client_pattern;
use regex::Regex;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use uuid::Uuid;

/// How often figures come where nothing says otherwise, in milliseconds.
pub(super) const INTERVAL_MS: i32 = 300_000;
/// Stands for all figures.
const ALL: &str = "*";

/// All subscriptions of the metadata image.
#[derive(Debug, Default)]
pub(super) struct Subscriptions {
    all: Vec<Subscription>,
    /// What they were made from, by name.
    settings: BTreeMap<String, BTreeMap<String, String>>,
}

#[derive(Debug)]
struct Subscription {
    metrics: Vec<String>,
    interval_ms: i32,
    /// Patterns by what of a client they look at; all must match as a whole.
    patterns: BTreeMap<String, Regex>,
}

/// What is wanted of one client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    /// Beginnings of names, or one that is empty of all but [`ALL`].
    pub(super) metrics: BTreeSet<String>,
    /// How often.
    pub(super) interval_ms: i32,
}

impl Subscriptions {
    /// Those of an image. A pattern that does not work here matches nobody: it was checked when it was set, so it comes
    /// from a folder of Apache Kafka's.
    pub(super) fn of(image: &Image) -> Subscriptions {
        let resources = image.configs().of(ResourceType::ClientMetrics);
        let made_from: BTreeMap<String, BTreeMap<String, String>> =
            resources.map(|(name, settings)| (name.to_owned(), settings.clone())).collect();
        let all = made_from.values().filter_map(|settings| {
            let list = |key: &str| -> Vec<String> {
                let entries = settings.get(key).map(String::as_str).unwrap_or_default().split(',');
                entries.map(str::trim).filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
            };
            let mut patterns = BTreeMap::new();
            for entry in list("match") {
                let (name, pattern) = entry.split_once('=')?;
                patterns.insert(name.trim().to_owned(), client_pattern(pattern)?);
            }
            let interval = settings.get("interval.ms").and_then(|value| value.trim().parse().ok());
            let interval_ms = interval.unwrap_or(INTERVAL_MS);
            Some(Subscription { metrics: list("metrics"), interval_ms, patterns })
        });
        let all = all.collect();
        Subscriptions { all, settings: made_from }
    }

    /// Whether these are those of this image, too.
    pub(super) fn are_of(&self, image: &Image) -> bool {
        let resources = image.configs().of(ResourceType::ClientMetrics);
        resources.eq(self.settings.iter().map(|(name, settings)| (name.as_str(), settings)))
    }

    /// What is wanted of a client: all that any subscription that matches it wants, at the shortest interval.
    pub(super) fn wanted(&self, instance: Uuid, context: &Context) -> Wanted {
        let mut wanted = Wanted { metrics: BTreeSet::new(), interval_ms: INTERVAL_MS };
        for subscription in self.all.iter().filter(|one| one.matches(instance, context)) {
            wanted.metrics.extend(subscription.metrics.iter().cloned());
            wanted.interval_ms = wanted.interval_ms.min(subscription.interval_ms);
        }
        if wanted.metrics.contains(ALL) {
            wanted.metrics = BTreeSet::from([ALL.to_owned()]);
        }
        wanted
    }
}

impl Subscription {
    fn matches(&self, instance: Uuid, context: &Context) -> bool {
        self.patterns.iter().all(|(name, pattern)| {
            attribute(name, instance, context).is_some_and(|value| pattern.is_match(&value))
        })
    }
}

fn attribute(name: &str, instance: Uuid, context: &Context) -> Option<String> {
    let software = context.connection.software();
    match name {
        "client_instance_id" => Some(shown(instance)),
        "client_id" => context.header.client_id.as_ref().map(|id| id.to_string()),
        "client_software_name" => software.map(|software| software.name.clone()),
        "client_software_version" => software.map(|software| software.version.clone()),
        "client_source_address" => Some(context.connection.peer.ip().to_canonical().to_string()),
        "client_source_port" => Some(context.connection.peer.port().to_string()),
        _ => None,
    }
}

/// An id in Kafka's form: url-safe base64 without padding.
pub(super) fn shown(id: Uuid) -> String {
    crate::base::TopicId(id).to_string()
}
