//! DeleteGroups 0 to 3; version 3 adds a message to each result.

use crate::base::ErrorCode;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Response;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// Decodes a request: the ids of the groups to delete.
///
/// # Errors
/// When the bytes are no DeleteGroups request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Vec<StrBytes>, Error> {
    let mut reader = codec::reader(header, body)?;
    let count = reader.count(if header.flexible() { 1 } else { 2 }, "GroupsNames")?;
    let mut groups = Vec::with_capacity(count);
    for _ in 0..count {
        groups.push(reader.string("GroupsNames")?);
    }
    reader.skip_tags()?;
    Ok(groups)
}

/// What became of the groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// How long the client is asked to pause, in milliseconds.
    pub throttle_time_ms: i32,
    /// One for each group.
    pub results: Vec<GroupResult>,
}

/// What became of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupResult {
    /// The group.
    pub group_id: StrBytes,
    /// What happened.
    pub error: ErrorCode,
    /// The same in words (version 3 on).
    pub error_message: Option<StrBytes>,
}

/// Encodes an answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, answer: &Answer) -> Result<Response, Error> {
    let mut writer = Writer::response(header, 64);
    writer.i32(answer.throttle_time_ms);
    writer.count(answer.results.len());
    for result in &answer.results {
        writer.string(&result.group_id);
        writer.i16(result.error.code());
        if header.api_version >= 3 {
            writer.nullable_string(result.error_message.as_deref());
        }
        writer.no_tags();
    }
    writer.no_tags();
    writer.finish()
}
