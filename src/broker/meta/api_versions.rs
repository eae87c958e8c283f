//! ApiVersions: what this broker can do. The first request of every client.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::context::Software;
use crate::broker::dispatch::is_offered;
use crate::broker::errors::Refused;
use crate::cluster::Image;
use crate::cluster::controller::features::supported;
use crate::protocol;
use crate::protocol::RequestHeader;
use crate::protocol::Response;
use crate::protocol::supplement::api_versions;
use crate::protocol::supplement::api_versions::Answer;
use crate::protocol::supplement::api_versions::ApiRange;
use crate::protocol::supplement::api_versions::FinalizedFeature;
use crate::protocol::supplement::api_versions::Request;
use crate::protocol::supplement::api_versions::SupportedFeature;
use crate::protocol::versions;
use crate::protocol::versions::Api;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// Answers an ApiVersions request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request = api_versions::decode(&context.header, body)?;
    let image = broker.publisher.current();
    let answer = match judge(&request, context.version(), &image, broker.config.node_id.0) {
        ErrorCode::None => {
            remember(context, &request);
            whole(&image)
        }
        error => bare(error, Vec::new()),
    };
    Ok(api_versions::encode(&context.header, &answer)?)
}

/// The answer to an ApiVersions request of a version that is not known: in the layout of version 0, with error 35
/// and the versions that are, so that the client can ask again (KIP-511).
///
/// # Errors
/// None that can happen: the answer is small.
pub(crate) fn unsupported(correlation_id: i32) -> Result<Response, protocol::Error> {
    let header =
        RequestHeader { api_key: versions::API_VERSIONS, api_version: 0, correlation_id, client_id: None };
    let own = versions::api(versions::API_VERSIONS).map(range);
    api_versions::encode(&header, &bare(ErrorCode::UnsupportedVersion, own.into_iter().collect()))
}

/// The rules of Kafka's `ApiVersionsRequest.isValid` and of KIP-1242: cluster and node are told both or not at all,
/// and whoever meant another cluster or node is to start again from its bootstrap addresses.
fn judge(request: &Request, version: i16, image: &Image, node_id: i32) -> ErrorCode {
    if version >= 5 && request.cluster_id.is_some() != (request.node_id != -1) {
        return ErrorCode::InvalidRequest;
    }
    if version >= 3 {
        for told in [&request.client_software_name, &request.client_software_version] {
            if !is_software(told) {
                return ErrorCode::InvalidRequest;
            }
        }
    }
    match &request.cluster_id {
        Some(cluster_id) if **cluster_id != *image.cluster_id || request.node_id != node_id => {
            ErrorCode::RebootstrapRequired
        }
        _ => ErrorCode::None,
    }
}

/// Letters and digits, with dots and dashes between them.
fn is_software(told: &str) -> bool {
    let inside = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'-' || letter == b'.';
    let bytes = told.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    ends.iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric)) && bytes.iter().copied().all(inside)
}

fn remember(context: &Context, request: &Request) {
    if !request.client_software_name.is_empty() {
        context.connection.set_software(Software {
            name: request.client_software_name.to_string(),
            version: request.client_software_version.to_string(),
        });
    }
}

fn range(api: &Api) -> ApiRange {
    ApiRange { key: api.key, min: api.advertised_min, max: api.max }
}

fn bare(error: ErrorCode, api_keys: Vec<ApiRange>) -> Answer {
    Answer {
        error,
        api_keys,
        throttle_time_ms: 0,
        supported_features: Vec::new(),
        finalized_features_epoch: -1,
        finalized_features: Vec::new(),
    }
}

fn whole(image: &Image) -> Answer {
    let offered = versions::all().iter().filter(|api| is_offered(api.key));
    let supported = supported();
    let finalized = supported.iter().filter_map(|feature| {
        let level = *image.features().get(&feature.name)?;
        Some(FinalizedFeature { name: StrBytes::from_string(feature.name.clone()), level })
    });
    Answer {
        error: ErrorCode::None,
        api_keys: offered.map(range).collect(),
        throttle_time_ms: 0,
        finalized_features: finalized.collect(),
        // The last offset of the metadata log that the image holds; -1 before the first.
        finalized_features_epoch: image.offset.0 - 1,
        supported_features: supported
            .into_iter()
            .map(|feature| SupportedFeature {
                name: StrBytes::from_string(feature.name),
                min: feature.level_min,
                max: feature.level_max,
            })
            .collect(),
    }
}
