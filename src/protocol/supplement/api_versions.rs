//! ApiVersions 0 to 5 (KIP-35, KIP-511, KIP-584, KIP-1242).

use crate::base::ErrorCode;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Response;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// What a client tells of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client's software (version 3 on), empty before.
    pub client_software_name: StrBytes,
    /// Its version (version 3 on), empty before.
    pub client_software_version: StrBytes,
    /// The cluster that the client means to talk to (version 5 on).
    pub cluster_id: Option<StrBytes>,
    /// The node that the client means to talk to, -1 when not told (version 5 on).
    pub node_id: i32,
}

/// Decodes a request.
///
/// # Errors
/// When the bytes are no ApiVersions request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let version = header.api_version;
    let mut reader = codec::reader(header, body)?;
    let mut request = Request {
        client_software_name: StrBytes::new(),
        client_software_version: StrBytes::new(),
        cluster_id: None,
        node_id: -1,
    };
    if version >= 3 {
        request.client_software_name = reader.string("ClientSoftwareName")?;
        request.client_software_version = reader.string("ClientSoftwareVersion")?;
    }
    if version >= 5 {
        request.cluster_id = reader.nullable_string("ClusterId")?;
        request.node_id = reader.i32("NodeId")?;
    }
    reader.skip_tags()?;
    Ok(request)
}

/// What this broker can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What is wrong with the request.
    pub error: ErrorCode,
    /// The APIs with their versions.
    pub api_keys: Vec<ApiRange>,
    /// How long the client is asked to pause, in milliseconds (version 1 on).
    pub throttle_time_ms: i32,
    /// Features that this broker supports (version 3 on).
    pub supported_features: Vec<SupportedFeature>,
    /// Which state of the cluster's features this is, -1 when not known (version 3 on).
    pub finalized_features_epoch: i64,
    /// Features that are on in the whole cluster (version 3 on).
    pub finalized_features: Vec<FinalizedFeature>,
}

/// The versions of one API, both ends included as Kafka has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiRange {
    /// The API's key.
    pub key: i16,
    /// The lowest version.
    pub min: i16,
    /// The highest version.
    pub max: i16,
}

/// A feature with the levels this broker supports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SupportedFeature {
    /// Its name.
    pub name: StrBytes,
    /// The lowest level.
    pub min: i16,
    /// The highest level.
    pub max: i16,
}

/// A feature with its level in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinalizedFeature {
    /// Its name.
    pub name: StrBytes,
    /// The level that is on.
    pub level: i16,
}

/// Encodes an answer. Before version 4 clients cannot read a supported feature that begins at level 0, so it is left
/// out there (KAFKA-17011).
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, answer: &Answer) -> Result<Response, Error> {
    let version = header.api_version;
    let mut writer = Writer::response(header, 512);
    writer.i16(answer.error.code());
    writer.count(answer.api_keys.len());
    for api in &answer.api_keys {
        writer.i16(api.key);
        writer.i16(api.min);
        writer.i16(api.max);
        writer.no_tags();
    }
    if version >= 1 {
        writer.throttle(answer.throttle_time_ms);
    }
    let mut tags = Vec::new();
    let supported = answer.supported_features.iter().filter(|feature| version >= 4 || feature.min > 0);
    let supported: Vec<&SupportedFeature> = supported.collect();
    if !supported.is_empty() {
        let mut value = Writer::plain(true);
        value.count(supported.len());
        for feature in supported {
            value.string(&feature.name);
            value.i16(feature.min);
            value.i16(feature.max);
            value.no_tags();
        }
        tags.push((0, value));
    }
    if answer.finalized_features_epoch != -1 {
        let mut value = Writer::plain(true);
        value.i64(answer.finalized_features_epoch);
        tags.push((1, value));
    }
    if !answer.finalized_features.is_empty() {
        let mut value = Writer::plain(true);
        value.count(answer.finalized_features.len());
        for feature in &answer.finalized_features {
            value.string(&feature.name);
            // Kafka has no lower bound of its own any more: both are the level.
            value.i16(feature.level);
            value.i16(feature.level);
            value.no_tags();
        }
        tags.push((2, value));
    }
    writer.tags(&tags);
    writer.finish()
}
