//! StreamsGroupTopologyDescriptionUpdate 0 (KIP-1331): a description of a topology for a plugin of the broker. There
//! are no plugins here, so only who asks is read; the description has been walked by the guard.

use crate::base::ErrorCode;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Response;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// Whose topology is described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The group.
    pub group_id: StrBytes,
    /// The member that describes it.
    pub member_id: StrBytes,
    /// The epoch of the topology.
    pub topology_epoch: i32,
}

/// Decodes a request.
///
/// # Errors
/// When the bytes are no StreamsGroupTopologyDescriptionUpdate request.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let mut reader = codec::reader(header, body)?;
    Ok(Request {
        group_id: reader.string("GroupId")?,
        member_id: reader.string("MemberId")?,
        topology_epoch: reader.i32("TopologyEpoch")?,
    })
}

/// Encodes an answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, error: ErrorCode, message: &str) -> Result<Response, Error> {
    let mut writer = Writer::response(header, 128);
    writer.i32(0);
    writer.i16(error.code());
    writer.nullable_string(Some(message));
    writer.no_tags();
    writer.finish()
}
