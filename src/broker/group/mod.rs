//! The APIs of consumer groups and committed offsets: from wire types to the verbs of [`crate::groups::Service`].

pub(crate) mod consumer_group_describe;
pub(crate) mod consumer_group_heartbeat;
pub(crate) mod delete_groups;
pub(crate) mod describe_groups;
pub(crate) mod find_coordinator;
pub(crate) mod heartbeat;
pub(crate) mod join_group;
pub(crate) mod leave_group;
pub(crate) mod list_groups;
pub(crate) mod offset_commit;
pub(crate) mod offset_delete;
pub(crate) mod offset_fetch;
pub(crate) mod streams_group_describe;
pub(crate) mod streams_group_heartbeat;
pub(crate) mod streams_group_topology_description_update;
pub(crate) mod sync_group;

#[cfg(test)]
mod tests;

use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;
use std::sync::Arc;

/// A copy of a string of the request, so that a name that is kept does not keep the whole frame.
pub(crate) fn text(wire: &StrBytes) -> Arc<str> {
    Arc::from(wire.as_str())
}

pub(crate) fn optional_text(wire: Option<&StrBytes>) -> Option<Arc<str>> {
    wire.map(text)
}

pub(crate) fn wire(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

pub(crate) fn optional_wire(text: Option<&Arc<str>>) -> Option<StrBytes> {
    text.map(|text| wire(text))
}

/// A copy of bytes of the request, for the same reason.
fn kept(bytes: &Bytes) -> Bytes {
    Bytes::copy_from_slice(bytes)
}
