//! The tables of all settings, one file for each subject.

mod client_metrics;
mod group;
mod group_kinds;
mod groups;
mod log;
mod metadata;
mod network;
mod other;
mod own;
mod remote;
mod replication;
mod security;
mod topic;
mod transactions;

use crate::config::define::Definition;
use std::sync::OnceLock;

/// The broker's settings by subject, in the order of the documentation.
pub(super) const BROKER_SUBJECTS: &[(&str, &[Definition])] = &[
    ("Listeners, connections and requests", network::KEYS),
    ("Logs, and the broker's defaults of topics", log::KEYS),
    ("Groups and committed offsets", groups::KEYS),
    ("Newer kinds of groups", group_kinds::KEYS),
    ("Producer ids and transactions", transactions::KEYS),
    ("Node, controller and metadata", metadata::KEYS),
    ("Replication", replication::KEYS),
    ("Security", security::KEYS),
    ("Tiered storage", remote::KEYS),
    ("Quotas, metrics and plug-ins", other::KEYS),
    ("Settings that Kafka does not have", own::KEYS),
];

/// Every setting of a broker, sorted by name.
pub fn broker_keys() -> &'static [Definition] {
    static KEYS: OnceLock<Vec<Definition>> = OnceLock::new();
    KEYS.get_or_init(|| {
        let mut keys: Vec<Definition> =
            BROKER_SUBJECTS.iter().flat_map(|(_, keys)| keys.iter().copied()).collect();
        keys.sort_by_key(|definition| definition.name);
        keys
    })
}

/// Every setting of a topic, sorted by name; each with the broker settings that give its default.
pub fn topic_keys() -> &'static [Definition] {
    topic::KEYS
}

/// Every setting of a group (KIP-848, KIP-932, KIP-1071), sorted by name.
pub fn group_keys() -> &'static [Definition] {
    group::KEYS
}

/// Every setting of a client metrics subscription (KIP-714), sorted by name.
pub fn client_metrics_keys() -> &'static [Definition] {
    client_metrics::KEYS
}

/// The broker setting of this name.
pub fn broker_key(name: &str) -> Option<&'static Definition> {
    find(broker_keys(), name)
}

/// The setting behind `listener.name.NAME.`, which then counts for that listener alone; for those of one SASL mechanism
/// also without the mechanism's name (`DynamicBrokerConfig.brokerConfigSynonyms` of Kafka).
pub fn listener_setting(name: &str) -> Option<&str> {
    const OF_A_MECHANISM: [&str; 5] = [
        "sasl.jaas.config",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.server.callback.handler.class",
        "connections.max.reauth.ms",
    ];
    let (_listener, setting) = name.strip_prefix("listener.name.")?.split_once('.')?;
    Some(OF_A_MECHANISM.into_iter().find(|known| setting.ends_with(known)).unwrap_or(setting))
}

/// The topic setting of this name.
pub fn topic_key(name: &str) -> Option<&'static Definition> {
    find(topic_keys(), name)
}

fn find(keys: &'static [Definition], name: &str) -> Option<&'static Definition> {
    keys.binary_search_by_key(&name, |definition| definition.name).ok().and_then(|place| keys.get(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_is_sorted_and_has_each_name_once() {
        for keys in [broker_keys(), topic_keys(), group_keys(), client_metrics_keys()] {
            assert!(keys.windows(2).all(|pair| pair[0].name < pair[1].name));
        }
        assert_eq!(broker_key("listeners").map(|definition| definition.name), Some("listeners"));
        assert_eq!(topic_key("listeners"), None);
    }

    #[test]
    fn every_default_is_a_valid_value_in_its_plain_form() {
        for keys in [broker_keys(), topic_keys(), group_keys(), client_metrics_keys()] {
            for definition in keys {
                if let Some(default) = definition.default.filter(|default| !default.is_empty()) {
                    let shown = definition.check(default).unwrap();
                    assert_eq!(shown, default, "{}", definition.name);
                }
            }
        }
    }

    #[test]
    fn a_listeners_setting_is_the_one_behind_its_name() {
        assert_eq!(listener_setting("listener.name.a.ssl.key.password"), Some("ssl.key.password"));
        assert_eq!(listener_setting("listener.name.a.plain.sasl.jaas.config"), Some("sasl.jaas.config"));
        assert_eq!(listener_setting("listener.name.a"), None);
        assert_eq!(listener_setting("ssl.key.password"), None);
    }

    #[test]
    fn every_synonym_is_a_broker_setting() {
        for definition in topic_keys() {
            for synonym in definition.synonyms {
                assert!(broker_key(synonym.name).is_some(), "{}", synonym.name);
            }
        }
    }
}
