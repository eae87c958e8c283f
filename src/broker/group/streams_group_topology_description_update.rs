//! StreamsGroupTopologyDescriptionUpdate 0: what Kafka answers without a plugin that keeps descriptions (KIP-1331).

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::protocol::Response;
use crate::protocol::supplement::streams_group_topology_description_update as wire;
use bytes::Bytes;

/// Answers a StreamsGroupTopologyDescriptionUpdate request. No heartbeat's answer asks for one.
pub(crate) fn handle(_broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request = wire::decode(&context.header, body)?;
    tracing::debug!(group = %request.group_id, member = %request.member_id, "description of a topology is refused");
    let words = "The broker has no streams group topology description plugin configured.";
    Ok(wire::encode(&context.header, ErrorCode::UnsupportedVersion, words)?)
}
