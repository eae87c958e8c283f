//! DescribeConfigs: settings with where their values come from (`ConfigHelper` of Kafka).

use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::admin::loggers;
use crate::broker::crowd;
use crate::broker::errors::MALFORMED;
use crate::broker::wire;
use crate::cluster::Image;
use crate::cluster::ResourceType;
use crate::cluster::controller::topic_names;
use crate::cluster::effective;
use crate::cluster::effective::ConfigEntry;
use crate::cluster::effective::ConfigSource;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::DescribeConfigsRequest;
use kafka_protocol::messages::DescribeConfigsResponse;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::DescribeConfigsResourceResult;
use kafka_protocol::messages::describe_configs_response::DescribeConfigsResult;
use kafka_protocol::messages::describe_configs_response::DescribeConfigsSynonym;
use kafka_protocol::protocol::StrBytes;

/// From this version on answers carry types and documentation (KIP-569).
const WITH_TYPES: i16 = 3;
/// What is said of resources that find no room in the answer.
const TOO_LARGE: &str = "The answer is too large, ask for fewer resources at a time";

/// Answers a DescribeConfigs request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: DescribeConfigsRequest = codec::decode(&context.header, body)?;
    crowd::check_names(request.resources.len())?;
    let image = broker.publisher.current();
    let mut room = broker.answer_memory.begin();
    let shape = Shape {
        synonyms: request.include_synonyms,
        documentation: request.include_documentation,
        types: context.version() >= WITH_TYPES,
    };
    let mut results = Vec::with_capacity(request.resources.len());
    // Kafka refuses the request as a whole over one type that it does not know.
    let unknown = request.resources.iter().any(|one| ResourceType::from_code(one.resource_type).is_none());
    for resource in &request.resources {
        let found = if unknown { Err(invalid(MALFORMED)) } else { entries(broker, &image, resource) };
        let configs = found.and_then(|entries| {
            let configs = shape.configs(resource, &entries);
            let size = configs.iter().map(size).sum();
            if room.take(size) { Ok(configs) } else { Err(invalid(TOO_LARGE)) }
        });
        let result = match configs {
            Ok(configs) => DescribeConfigsResult::default().with_configs(configs),
            Err(refused) => DescribeConfigsResult::default()
                .with_error_code(refused.code.code())
                .with_error_message(Some(wire::text(refused.message.as_deref().unwrap_or_default()))),
        };
        let name = resource.resource_name.clone();
        results.push(result.with_resource_type(resource.resource_type).with_resource_name(name));
    }
    let answer = DescribeConfigsResponse::default().with_results(results);
    Ok(room.tie_to(codec::encode(&context.header, &answer)?))
}

/// What a setting takes in an answer, in bytes.
fn size(config: &DescribeConfigsResourceResult) -> usize {
    let length = |text: &Option<StrBytes>| text.as_ref().map_or(0, |text| text.len());
    let synonyms = config.synonyms.iter().map(|synonym| 16 + synonym.name.len() + length(&synonym.value));
    32 + config.name.len() + length(&config.value) + length(&config.documentation) + synonyms.sum::<usize>()
}

fn invalid(message: impl Into<String>) -> Refused {
    Refused::new(ErrorCode::InvalidRequest, message)
}

fn entries(
    broker: &Broker,
    image: &Image,
    resource: &DescribeConfigsResource,
) -> Result<Vec<ConfigEntry>, Refused> {
    let config = &broker.config;
    let name = resource.resource_name.as_str();
    match ResourceType::from_code(resource.resource_type) {
        Some(ResourceType::Topic) => {
            topic_names::check(name)
                .map_err(|message| Refused::new(ErrorCode::InvalidTopicException, message))?;
            match image.topic(name) {
                Some(_) => Ok(effective::topic_entries(config, image, image.topic_configs(name))),
                None => Err(ErrorCode::UnknownTopicOrPartition.into()),
            }
        }
        Some(ResourceType::Broker) if name.is_empty() => Ok(effective::default_broker_entries(image)),
        Some(ResourceType::Broker) => {
            check_broker(name, config.node_id, " or empty string,")?;
            Ok(effective::broker_entries(config, image))
        }
        Some(ResourceType::BrokerLogger) if name.is_empty() => Err(invalid("Broker id must not be empty")),
        Some(ResourceType::BrokerLogger) => {
            check_broker(name, config.node_id, "")?;
            Ok(loggers::entries())
        }
        Some(ResourceType::ClientMetrics) if name.is_empty() => {
            Err(invalid("Client metrics subscription name must not be empty"))
        }
        Some(ResourceType::ClientMetrics) => Ok(effective::client_metrics_entries(image, name)),
        Some(ResourceType::Group) if name.is_empty() => Err(invalid("Group name must not be empty")),
        Some(ResourceType::Group) => Ok(effective::group_entries(config, image, name)),
        None => Err(invalid(format!("Unexpected resource type UNKNOWN for resource {name}"))),
    }
}

fn check_broker(name: &str, own: BrokerId, or_else: &str) -> Result<(), Refused> {
    match name.parse::<i32>() {
        Err(_) => Err(invalid(format!("Broker id must be an integer, but it is: {name}"))),
        Ok(id) if BrokerId(id) == own => Ok(()),
        Ok(_) if or_else.is_empty() => {
            Err(invalid(format!("Unexpected broker id, expected {own} but received {name}")))
        }
        Ok(_) => Err(invalid(format!("Unexpected broker id, expected {own}{or_else} but received {name}"))),
    }
}

/// What an answer tells of each setting.
struct Shape {
    synonyms: bool,
    documentation: bool,
    types: bool,
}

impl Shape {
    fn configs(
        &self,
        resource: &DescribeConfigsResource,
        entries: &[ConfigEntry],
    ) -> Vec<DescribeConfigsResourceResult> {
        let keys = resource.configuration_keys.as_ref().filter(|keys| !keys.is_empty());
        let wanted =
            |entry: &&ConfigEntry| keys.is_none_or(|keys| keys.iter().any(|key| key.as_str() == entry.name));
        entries.iter().filter(wanted).map(|entry| self.config(entry)).collect()
    }

    fn config(&self, entry: &ConfigEntry) -> DescribeConfigsResourceResult {
        let mut result = DescribeConfigsResourceResult::default()
            .with_name(wire::text(&entry.name))
            .with_value(wire::some_text(entry.value.as_deref()))
            .with_read_only(entry.read_only)
            .with_config_source(entry.source.code())
            .with_is_sensitive(entry.sensitive)
            .with_documentation(None);
        if entry.source == ConfigSource::BrokerLogger {
            // Kafka tells nothing of loggers, asked or not (`ConfigHelper.describeConfigs`).
            result.documentation = Some(StrBytes::new());
        }
        if self.synonyms {
            let synonym = |synonym: &effective::ConfigSynonym| {
                DescribeConfigsSynonym::default()
                    .with_name(wire::text(&synonym.name))
                    .with_value(wire::some_text(synonym.value.as_deref()))
                    .with_source(synonym.source.code())
            };
            result.synonyms = entry.synonyms.iter().map(synonym).collect();
        }
        if self.types {
            result.config_type = entry.definition.map_or(0, |definition| definition.kind.code());
            if self.documentation && entry.definition.is_some() {
                result.documentation = wire::some_text(entry.definition.map(|definition| definition.doc));
            }
        }
        result
    }
}
