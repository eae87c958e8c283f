//! Which values of settings can be kept (`DynamicBrokerConfig`, `GroupConfig` and `ClientMetricsConfigs` of Kafka).

use super::Refusal;
use super::Situation;
use super::configs::Settings;
use super::configs::invalid;
use super::dynamic_rules;
use crate::base::ErrorCode;
use crate::base::pattern;
use crate::cluster::effective;
use crate::cluster::image::ConfigResource;
use crate::config::Definition;
use crate::config::Mode;
use crate::config::ServerConfig;
use crate::config::broker_key;
use crate::config::listener_setting;
use regex::Regex;

/// Every name is one of `keys` and takes its value; `unknown` says how another name is refused.
pub(super) fn check_values(
    keys: &'static [Definition],
    wanted: &Settings,
    unknown: impl Fn(&str) -> Refusal,
) -> Result<(), Refusal> {
    for (name, value) in wanted {
        let definition =
            keys.iter().find(|definition| definition.name == name).ok_or_else(|| unknown(name))?;
        definition
            .check(value)
            .map_err(|refused| Refusal::new(ErrorCode::InvalidConfig, refused.to_string()))?;
    }
    Ok(())
}

/// A group's values lie between the limits that the broker sets for them, for instance `consumer.session.timeout.ms`
/// between `group.consumer.min.session.timeout.ms` and `group.consumer.max.session.timeout.ms`. Some have one limit
/// only (`GroupConfig` of Kafka).
pub(super) fn check_group_ranges(situation: &Situation<'_>, wanted: &Settings) -> Result<(), Refusal> {
    let broker = effective::server_config(situation.config, situation.image);
    let limit = |kind: &str, which: &str, rest: &str| -> Option<i64> {
        broker.get(&format!("group.{kind}.{which}.{rest}"))?.parse().ok()
    };
    let refuse = |message: String| Err(Refusal::new(ErrorCode::InvalidConfig, message));
    check_group_texts(&broker, wanted)?;
    for (name, value) in wanted {
        let Some((kind, rest)) = name.split_once('.') else { continue };
        let Ok(value) = value.trim().parse::<i64>() else { continue };
        // `streams.num.standby.replicas` is limited by `group.streams.max.standby.replicas`.
        let rest = rest.strip_prefix("num.").unwrap_or(rest);
        match (limit(kind, "min", rest), limit(kind, "max", rest)) {
            (Some(min), Some(max)) if !(min..=max).contains(&value) => {
                return refuse(format!("{name} must be in the range {min} to {max} inclusive."));
            }
            (Some(min), None) if value < min => {
                return refuse(format!("{name} must be greater than or equal to {min}"));
            }
            (None, Some(max)) if value > max => {
                return refuse(format!("{name} must be less than or equal to {max}"));
            }
            _ => {}
        }
    }
    for kind in ["consumer", "share", "streams"] {
        let value = |rest: &str| -> Option<i64> {
            let own = wanted.get(&format!("{kind}.{rest}")).cloned();
            own.or_else(|| broker.get(&format!("group.{kind}.{rest}")))?.trim().parse().ok()
        };
        let (session, heartbeat) = (value("session.timeout.ms"), value("heartbeat.interval.ms"));
        if session.zip(heartbeat).is_some_and(|(session, heartbeat)| session <= heartbeat) {
            return refuse(format!(
                "{kind}.session.timeout.ms must be greater than {kind}.heartbeat.interval.ms"
            ));
        }
    }
    Ok(())
}

/// Names that a group may set.
fn check_group_texts(broker: &ServerConfig, wanted: &Settings) -> Result<(), Refusal> {
    const ASSIGNOR: &str = "streams.assignor.name";
    const DEAD_LETTERS: &str = "errors.deadletterqueue.topic.name";
    let refuse = |message: String| Err(Refusal::new(ErrorCode::InvalidConfig, message));
    if let Some(name) = wanted.get(ASSIGNOR) {
        let known = broker.get("group.streams.assignors").unwrap_or_default();
        if !known.split(',').any(|one| one == name) {
            let known = known.replace(',', ", ");
            return refuse(format!(
                "{ASSIGNOR} '{name}' is not a registered task assignor. Registered assignors are: [{known}]."
            ));
        }
    }
    if wanted.get(DEAD_LETTERS).is_some_and(|name| name.starts_with("__")) {
        return refuse(format!("{DEAD_LETTERS}: DLQ topic name must not start with '__'"));
    }
    Ok(())
}

/// What `ClientMetricsConfigs` of Kafka checks beyond the types (KIP-714).
pub(super) fn check_metrics(wanted: &Settings) -> Result<(), Refusal> {
    const MATCHES: [&str; 6] = [
        "client_instance_id",
        "client_id",
        "client_software_name",
        "client_software_version",
        "client_source_address",
        "client_source_port",
    ];
    let interval = wanted.get("interval.ms").and_then(|value| value.trim().parse::<i64>().ok());
    if let Some(interval) = interval.filter(|interval| !(100..=3_600_000).contains(interval)) {
        return Err(invalid(format!(
            "Invalid value {interval} for interval.ms, interval must be between 100 and 3600000 (1 hour)"
        )));
    }
    for pattern in wanted.get("match").map(String::as_str).unwrap_or_default().split(',') {
        let known = pattern.split_once('=').is_some_and(|(name, pattern)| {
            MATCHES.contains(&name.trim()) && client_pattern(pattern).is_some()
        });
        if !pattern.trim().is_empty() && !known {
            let message = format!("Illegal client matching pattern: {}", pattern.trim());
            return Err(Refusal::new(ErrorCode::InvalidConfig, message));
        }
    }
    Ok(())
}

/// The pattern of a client metrics subscription, which must match as a whole; `None` for one that does not work.
pub fn client_pattern(pattern: &str) -> Option<Regex> {
    pattern::whole(pattern.trim()).ok()
}

/// Kafka refuses a broker's settings with `INVALID_REQUEST` (KAFKA-13609). Names that no table has are kept.
pub(super) fn check_broker(
    situation: &Situation<'_>,
    resource: &ConfigResource,
    wanted: &Settings,
) -> Result<(), Refusal> {
    let named = |is: &dyn Fn(&str) -> bool| -> Vec<&str> {
        wanted.keys().map(String::as_str).filter(|key| is(key)).collect()
    };
    let refuse = |keys: &[&str], message: &str| -> Result<(), Refusal> {
        if keys.is_empty() { Ok(()) } else { Err(invalid(format!("{message}: [{}]", keys.join(", ")))) }
    };
    let of_mode = |key: &str, mode: Mode| broker_key(key).is_some_and(|definition| definition.mode == mode);
    refuse(&named(&|key| of_mode(key, Mode::ReadOnly)), "Cannot update these configs dynamically")?;
    refuse(
        &named(&is_of_a_listener_only),
        "These security configs can be dynamically updated only per-listener using the listener prefix",
    )?;
    for (key, value) in wanted {
        if let Some(definition) = listener_setting(key).and_then(broker_key) {
            definition.check(value).map_err(|refused| invalid(refused.to_string()))?;
        }
    }
    if resource.name.is_empty() {
        for (key, value) in wanted {
            if let Some(definition) = broker_key(key).filter(|definition| definition.mode == Mode::PerBroker)
            {
                definition.check(value).map_err(|refused| invalid(refused.to_string()))?;
                dynamic_rules::check_class(key, value)?;
            }
        }
        refuse(
            &named(&|key| of_mode(key, Mode::PerBroker) || is_of_one_brokers_listener(key)),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )?;
    }
    let image = situation.image;
    let node = Some(situation.config.node_id);
    let merged = if resource.name.is_empty() {
        situation.config.with_dynamic(wanted, image.broker_configs(node))
    } else {
        situation.config.with_dynamic(image.broker_configs(None), wanted)
    };
    let merged = merged.map_err(|refused| invalid(refused.for_clients()))?;
    dynamic_rules::check(&effective::server_config(situation.config, image), &merged, wanted)
}

/// Key and trust stores can be changed for a listener, but not for all at once (`SslConfigs.RECONFIGURABLE_CONFIGS`
/// of Kafka).
fn is_of_a_listener_only(key: &str) -> bool {
    key == "ssl.key.password" || key.starts_with("ssl.keystore.") || key.starts_with("ssl.truststore.")
}

/// Whether a listener's setting must name its broker; these three may be the same for all.
fn is_of_one_brokers_listener(key: &str) -> bool {
    const FOR_ALL: [&str; 3] = ["max.connections", "max.connection.creation.rate", "num.network.threads"];
    listener_setting(key).is_some_and(|setting| !FOR_ALL.contains(&setting))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Image;
    use crate::cluster::ResourceType;
    use crate::io::random::Random;
    use std::collections::BTreeMap;

    fn check(resource: (ResourceType, &str), key: &str, value: &str) -> String {
        let set = BTreeMap::from([("node.id".to_owned(), "1".to_owned())]);
        let config = ServerConfig::new(&set, "machine").unwrap();
        let image = Image::empty("c");
        let mut random = Random::seeded(7);
        let situation = Situation { config: &config, image: &image, random: &mut random, permit: None };
        let wanted = Settings::from([(key.to_owned(), value.to_owned())]);
        let outcome = match resource.0 {
            ResourceType::Broker => {
                let resource = ConfigResource::new(resource.0, resource.1.to_owned());
                check_broker(&situation, &resource, &wanted)
            }
            _ => check_group_ranges(&situation, &wanted),
        };
        outcome.err().and_then(|refusal| refusal.message).unwrap_or_default()
    }

    #[test]
    fn key_stores_change_for_a_listener_and_a_broker_only() {
        let broker = (ResourceType::Broker, "1");
        let all = (ResourceType::Broker, "");
        let own = "listener.name.inside.ssl.truststore.type";
        assert!(check(broker, "ssl.truststore.type", "PKCS12").contains("[ssl.truststore.type]"));
        assert!(check(all, "ssl.key.password", "secret").contains("only per-listener"));
        assert_eq!(check(broker, own, "PKCS12"), "");
        assert!(check(all, own, "PKCS12").contains("broker id must be specified"));
        assert_eq!(check(all, "listener.name.inside.max.connections", "7"), "");
        assert!(check(broker, "listener.name.inside.max.connections", "x").contains("Not a number"));
        assert_eq!(check(broker, "unknown", "2"), "");
    }

    #[test]
    fn a_groups_values_keep_to_the_brokers_limits_also_where_there_is_one_only() {
        let group = (ResourceType::Group, "g");
        let check = |key, value| check(group, key, value);
        assert_eq!(check("streams.num.standby.replicas", "2"), "");
        let too_many = "streams.num.standby.replicas must be less than or equal to 2";
        assert_eq!(check("streams.num.standby.replicas", "3"), too_many);
        assert!(check("streams.num.warmup.replicas", "21").ends_with("less than or equal to 20"));
        let too_short = "streams.task.offset.interval.ms must be greater than or equal to 15000";
        assert_eq!(check("streams.task.offset.interval.ms", "1"), too_short);
        assert!(check("share.delivery.count.limit", "11").contains("in the range 2 to 10"));
    }
}
