//! AlterConfigs (replaces a resource's settings) and IncrementalAlterConfigs (changes single ones, KIP-339).

use super::change;
use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::admin::loggers;
use crate::broker::crowd;
use crate::broker::wire;
use crate::cluster::ResourceType;
use crate::cluster::command::AlterConfigs;
use crate::cluster::command::AlterResource;
use crate::cluster::command::ConfigAlteration;
use crate::cluster::command::ConfigChange;
use crate::cluster::command::ConfigOperation;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::AlterConfigsRequest;
use kafka_protocol::messages::AlterConfigsResponse;
use kafka_protocol::messages::IncrementalAlterConfigsRequest;
use kafka_protocol::messages::IncrementalAlterConfigsResponse;
use kafka_protocol::messages::alter_configs_response;
use kafka_protocol::messages::incremental_alter_configs_response;
use std::collections::HashMap;

/// Requests of this kind carry no time-out.
const TIMEOUT_MS: i32 = 30_000;

/// Answers an AlterConfigs request.
pub(crate) async fn replace(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: AlterConfigsRequest = codec::decode(&context.header, body)?;
    crowd::check_names(request.resources.len())?;
    let resource = |resource: &kafka_protocol::messages::alter_configs_request::AlterConfigsResource| {
        let configs = resource.configs.iter();
        let configs = configs
            .map(|config| (config.name.to_string(), config.value.as_ref().map(|value| value.to_string())));
        AlterResource {
            resource_type: resource.resource_type,
            name: resource.resource_name.to_string(),
            change: ConfigChange::Replace(configs.collect()),
        }
    };
    let resources = request.resources.iter().map(resource).collect();
    let mut response = AlterConfigsResponse::default();
    for alteration in alter(broker, resources, request.validate_only).await {
        let (code, message) = outcome(&alteration);
        response.responses.push(
            alter_configs_response::AlterConfigsResourceResponse::default()
                .with_error_code(code)
                .with_error_message(wire::some_text(message))
                .with_resource_type(alteration.resource_type)
                .with_resource_name(wire::text(&alteration.name)),
        );
    }
    Ok(codec::encode(&context.header, &response)?)
}

/// Answers an IncrementalAlterConfigs request.
pub(crate) async fn incremental(
    broker: &Broker,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let request: IncrementalAlterConfigsRequest = codec::decode(&context.header, body)?;
    crowd::check_names(request.resources.len())?;
    let resource =
        |resource: &kafka_protocol::messages::incremental_alter_configs_request::AlterConfigsResource| {
            let operations = resource.configs.iter().map(|config| ConfigOperation {
                key: config.name.to_string(),
                operation: config.config_operation,
                value: config.value.as_ref().map(|value| value.to_string()),
            });
            AlterResource {
                resource_type: resource.resource_type,
                name: resource.resource_name.to_string(),
                change: ConfigChange::Each(operations.collect()),
            }
        };
    let resources = request.resources.iter().map(resource).collect();
    let mut response = IncrementalAlterConfigsResponse::default();
    for alteration in alter(broker, resources, request.validate_only).await {
        let (code, message) = outcome(&alteration);
        response.responses.push(
            incremental_alter_configs_response::AlterConfigsResourceResponse::default()
                .with_error_code(code)
                .with_error_message(wire::some_text(message))
                .with_resource_type(alteration.resource_type)
                .with_resource_name(wire::text(&alteration.name)),
        );
    }
    Ok(codec::encode(&context.header, &response)?)
}

/// Log levels are changed here, everything else by the controller; the results are in the order of the request.
async fn alter(broker: &Broker, resources: Vec<AlterResource>, validate_only: bool) -> Vec<ConfigAlteration> {
    // Where each resource is named first, and how often.
    let mut named: HashMap<(i8, String), (usize, usize)> = HashMap::with_capacity(resources.len());
    for (place, resource) in resources.iter().enumerate() {
        named.entry((resource.resource_type, resource.name.clone())).or_insert((place, 0)).1 += 1;
    }
    let once = |key: &(i8, String)| named.get(key).is_some_and(|(_, times)| *times == 1);
    let mut results = Vec::with_capacity(resources.len());
    let mut others = Vec::with_capacity(resources.len());
    for resource in resources {
        let key = (resource.resource_type, resource.name.clone());
        match &resource.change {
            ConfigChange::Each(operations) if key.0 == ResourceType::BrokerLogger.code() && once(&key) => {
                let result = loggers::alter(broker, &key.1, operations, validate_only);
                results.push(ConfigAlteration { resource_type: key.0, name: key.1, result });
            }
            ConfigChange::Each(_) | ConfigChange::Replace(_) => others.push(resource),
        }
    }
    if !others.is_empty() {
        results.extend(by_controller(broker, others, validate_only).await);
    }
    results.sort_by_cached_key(|result| {
        named.get(&(result.resource_type, result.name.clone())).map(|(place, _)| *place)
    });
    results
}

async fn by_controller(
    broker: &Broker,
    resources: Vec<AlterResource>,
    validate_only: bool,
) -> Vec<ConfigAlteration> {
    let asked: Vec<(i8, String)> =
        resources.iter().map(|resource| (resource.resource_type, resource.name.clone())).collect();
    let command = AlterConfigs { resources, validate_only };
    match change(broker, TIMEOUT_MS, broker.controller.alter_configs(command)).await {
        Ok(alterations) => alterations,
        Err(Refused { code, message }) => {
            let refusal = crate::cluster::Refusal { code, message };
            let refuse = |(resource_type, name)| ConfigAlteration {
                resource_type,
                name,
                result: Err(refusal.clone()),
            };
            asked.into_iter().map(refuse).collect()
        }
    }
}

fn outcome(alteration: &ConfigAlteration) -> (i16, Option<&str>) {
    match &alteration.result {
        Ok(()) => (ErrorCode::None.code(), None),
        Err(refusal) => (refusal.code.code(), refusal.message.as_deref()),
    }
}
