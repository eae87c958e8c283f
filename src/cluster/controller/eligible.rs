//! What comes with the feature of eligible leader replicas (KIP-966): all brokers go by one `min.insync.replicas`, and what
//! is known of eligible replicas is forgotten where it changes (`ConfigurationControlManager` of Kafka).

use super::Refusal;
use crate::base::ErrorCode;
use crate::cluster::image::ConfigResource;
use crate::cluster::image::Image;
use crate::cluster::image::ResourceType;
use crate::cluster::records::ClearElrRecord;
use crate::cluster::records::ConfigRecord;
use crate::cluster::records::Record;
use crate::config::ServerConfig;

/// The feature whose level says whether replicas are remembered that have every committed record.
pub const ELIGIBLE_VERSION: &str = "eligible.leader.replicas.version";

const MIN_ISR: &str = "min.insync.replicas";

/// Whether the cluster works with eligible leader replicas.
pub(super) fn is_on(image: &Image) -> bool {
    image.features().get(ELIGIBLE_VERSION).is_some_and(|level| *level > 0)
}

/// What is written when the feature is turned on: the one setting for all brokers, at what this broker was started with
/// where nobody set it, and none for a single broker.
pub fn safety_records(config: &ServerConfig, image: &Image) -> Vec<Record> {
    let record = |broker: &str, value: Option<String>| -> Record {
        ConfigRecord {
            resource_type: ResourceType::Broker.code(),
            resource_name: broker.to_owned(),
            name: MIN_ISR.to_owned(),
            value,
        }
        .into()
    };
    let mut records = Vec::new();
    if !image.broker_configs(None).contains_key(MIN_ISR) {
        records.push(record("", config.get(MIN_ISR)));
    }
    let own = image.configs().of(ResourceType::Broker);
    let own = own.filter(|(name, settings)| !name.is_empty() && settings.contains_key(MIN_ISR));
    records.extend(own.map(|(name, _)| record(name, None)));
    records
}

/// Whether a setting may get this value, or be taken away.
///
/// # Errors
/// `INVALID_CONFIG` where it would leave brokers with different ideas of `min.insync.replicas`.
pub(super) fn check(
    image: &Image,
    resource: &ConfigResource,
    name: &str,
    value: Option<&String>,
) -> Result<(), Refusal> {
    if resource.kind != ResourceType::Broker || name != MIN_ISR || !is_on(image) {
        return Ok(());
    }
    let message = match (resource.name.is_empty(), value) {
        (false, _) => "Broker-level min.insync.replicas cannot be altered while ELR is enabled.",
        (true, None) => "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.",
        (true, Some(_)) => return Ok(()),
    };
    Err(Refusal::new(ErrorCode::InvalidConfig, message))
}

/// What is written beside a change of a setting: replicas that were eligible by the former one are none any more.
pub(super) fn cleared(image: &Image, resource: &ConfigResource, name: &str) -> Option<Record> {
    if name != MIN_ISR || !is_on(image) {
        return None;
    }
    match resource.kind {
        ResourceType::Topic => Some(ClearElrRecord { topic_name: resource.name.clone() }.into()),
        ResourceType::Broker if resource.name.is_empty() => {
            Some(ClearElrRecord { topic_name: String::new() }.into())
        }
        ResourceType::Broker
        | ResourceType::BrokerLogger
        | ResourceType::ClientMetrics
        | ResourceType::Group => None,
    }
}
