//! ListConfigResources: which resources can have settings (KIP-1142). Version 0 lists metrics subscriptions.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::cluster::Image;
use crate::cluster::ResourceType;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::ListConfigResourcesRequest;
use kafka_protocol::messages::ListConfigResourcesResponse;
use kafka_protocol::messages::list_config_resources_response::ConfigResource;
use std::collections::BTreeSet;

const ALL: [ResourceType; 5] = [
    ResourceType::Topic,
    ResourceType::Broker,
    ResourceType::BrokerLogger,
    ResourceType::ClientMetrics,
    ResourceType::Group,
];

/// Answers a ListConfigResources request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: ListConfigResourcesRequest = codec::decode(&context.header, body)?;
    let Some(types) = types(context.version(), &request.resource_types) else {
        let code = ErrorCode::UnsupportedVersion.code();
        return Ok(codec::encode(
            &context.header,
            &ListConfigResourcesResponse::default().with_error_code(code),
        )?);
    };
    let image = broker.publisher.current();
    let mut resources = Vec::new();
    for kind in types {
        for name in names(&image, kind) {
            let resource = ConfigResource::default().with_resource_name(wire::text(&name));
            resources.push(resource.with_resource_type(kind.code()));
        }
    }
    Ok(codec::encode(
        &context.header,
        &ListConfigResourcesResponse::default().with_config_resources(resources),
    )?)
}

/// The types asked for; `None` when one of them does not exist.
fn types(version: i16, asked: &[i8]) -> Option<BTreeSet<ResourceType>> {
    if version == 0 {
        return Some(BTreeSet::from([ResourceType::ClientMetrics]));
    }
    if asked.is_empty() {
        return Some(BTreeSet::from(ALL));
    }
    asked.iter().map(|code| ResourceType::from_code(*code)).collect()
}

fn names(image: &Image, kind: ResourceType) -> Vec<String> {
    match kind {
        ResourceType::Topic => image.topics().map(|topic| topic.name.to_string()).collect(),
        ResourceType::Broker | ResourceType::BrokerLogger => {
            image.brokers().filter(|broker| !broker.fenced).map(|broker| broker.id.to_string()).collect()
        }
        ResourceType::ClientMetrics | ResourceType::Group => {
            image.configs().of(kind).map(|(name, _)| name.to_owned()).collect()
        }
    }
}
