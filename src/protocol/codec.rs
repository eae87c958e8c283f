//! Every message that has no codec of its own, through the `kafka-protocol` crate.

use crate::protocol::error::Error;
use crate::protocol::guard;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Response;
use crate::protocol::versions;
use crate::protocol::wire::Reader;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::protocol::Encodable;

/// Decodes the body of a request after the guard has walked it.
///
/// # Errors
/// What the guard or the decoder finds wrong; the connection is closed then.
pub fn decode<T: Decodable>(header: &RequestHeader, body: Bytes) -> Result<T, Error> {
    let mut body = guard::checked(header.api_key, header.api_version, body)?;
    T::decode(&mut body, layout(header)).map_err(|error| Error::Decode(format!("{error:#}")))
}

/// A reader of the body of a request after the guard has walked it, for messages with a codec of our own.
///
/// # Errors
/// What the guard finds wrong.
pub fn reader(header: &RequestHeader, body: Bytes) -> Result<Reader, Error> {
    guard::check(header.api_key, header.api_version, &body)?;
    Ok(Reader::new(body, header.flexible()))
}

/// Encodes an answer with frame size and response header.
///
/// # Errors
/// [`Error::Encode`] when the body holds what its version cannot carry.
pub fn encode<T: Encodable>(header: &RequestHeader, body: &T) -> Result<Response, Error> {
    let mut writer = Writer::response(header, 64);
    body.encode(writer.buffer(), layout(header)).map_err(|error| Error::Encode(format!("{error:#}")))?;
    writer.finish()
}

/// The version whose layout the crate knows: ListOffsets 11 only allows one more timestamp (KIP-1023), its bytes
/// are those of version 10.
fn layout(header: &RequestHeader) -> i16 {
    if header.api_key == versions::LIST_OFFSETS { header.api_version.min(10) } else { header.api_version }
}
