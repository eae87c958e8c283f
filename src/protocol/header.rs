//! The header before every request.
//!
//! ```text
//! api key  int16 | version int16 | correlation id int32 | client id int16 length, bytes | tags (flexible versions)
//! ```

use crate::protocol::error::Error;
use crate::protocol::versions;
use crate::protocol::wire::Reader;
use crate::protocol::wire::mended;
use bytes::Buf;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// Who asks for what, as every request begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestHeader {
    /// The API's number.
    pub api_key: i16,
    /// The version of the body; one that this broker serves.
    pub api_version: i16,
    /// What the answer has to repeat.
    pub correlation_id: i32,
    /// What the client calls itself; not trusted for anything.
    pub client_id: Option<StrBytes>,
}

impl RequestHeader {
    /// Whether request and answer are in the compact form with tag sections (KIP-482).
    pub fn flexible(&self) -> bool {
        versions::api(self.api_key).is_some_and(|api| api.flexible(self.api_version))
    }
}

/// Reads the header off `frame` and leaves the body there.
///
/// # Errors
/// [`Error::UnknownApi`] and [`Error::UnsupportedVersion`] for what is not served, the others for bytes that are no
/// header.
pub fn parse(frame: &mut Bytes) -> Result<RequestHeader, Error> {
    let short = |_| Error::Truncated("request header");
    let api_key = frame.try_get_i16().map_err(short)?;
    let api_version = frame.try_get_i16().map_err(short)?;
    let correlation_id = frame.try_get_i32().map_err(short)?;
    let api = versions::api(api_key).ok_or(Error::UnknownApi(api_key))?;
    if !api.serves(api_version) {
        return Err(Error::UnsupportedVersion { key: api_key, version: api_version, correlation_id });
    }
    let client_id = client_id(frame)?;
    let mut tags = Reader::new(std::mem::take(frame), api.flexible(api_version));
    tags.skip_tags()?;
    *frame = tags.into_rest();
    Ok(RequestHeader { api_key, api_version, correlation_id, client_id })
}

/// The client id is a plain string in every header version; bytes that are not UTF-8 are replaced, not refused.
fn client_id(frame: &mut Bytes) -> Result<Option<StrBytes>, Error> {
    const FIELD: &str = "client id";
    let length = frame.try_get_i16().map_err(|_| Error::Truncated(FIELD))?;
    if length == -1 {
        return Ok(None);
    }
    let length =
        usize::try_from(length).map_err(|_| Error::Malformed { field: FIELD, what: "negative length" })?;
    if length > frame.len() {
        return Err(Error::Truncated(FIELD));
    }
    Ok(Some(mended(frame.split_to(length))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expect: Result<(i16, i16, i32, Option<&str>, usize), Error>) {
        let mut frame = Bytes::copy_from_slice(bytes);
        let found = parse(&mut frame);
        let found = found.map(|header| {
            let client_id = header.client_id.map(|id| id.to_string());
            (header.api_key, header.api_version, header.correlation_id, client_id, frame.len())
        });
        let expect =
            expect.map(|(key, version, id, client, left)| (key, version, id, client.map(String::from), left));
        assert_eq!(found, expect);
    }

    #[test]
    fn headers_of_both_kinds_are_read_and_leave_the_body() {
        check(&[0, 3, 0, 1, 0, 0, 0, 7, 0, 1, b'c', 9, 9], Ok((3, 1, 7, Some("c"), 2)));
        check(&[0, 3, 0, 1, 0, 0, 0, 7, 255, 255, 9], Ok((3, 1, 7, None, 1)));
        // Flexible: one unknown tag 5 of two bytes is skipped.
        check(&[0, 3, 0, 12, 0, 0, 0, 7, 0, 0, 1, 5, 2, 1, 1, 9], Ok((3, 12, 7, Some(""), 1)));
        // Bytes that are no UTF-8 do not lose the connection.
        check(&[0, 3, 0, 1, 0, 0, 0, 7, 0, 1, 0xe4], Ok((3, 1, 7, Some("\u{fffd}"), 0)));
    }

    #[test]
    fn what_is_no_header_or_not_served_is_refused() {
        check(&[], Err(Error::Truncated("request header")));
        check(&[0, 3, 0], Err(Error::Truncated("request header")));
        check(&[0, 3, 0, 1, 0, 0, 0, 7], Err(Error::Truncated("client id")));
        check(&[0, 3, 0, 1, 0, 0, 0, 7, 0, 9, 1], Err(Error::Truncated("client id")));
        check(&[3, 231, 0, 1, 0, 0, 0, 7, 255, 255], Err(Error::UnknownApi(999)));
        let unsupported = Error::UnsupportedVersion { key: 18, version: 99, correlation_id: 7 };
        check(&[0, 18, 0, 99, 0, 0, 0, 7, 255, 255], Err(unsupported));
        // Produce 2 is shown to old clients (KAFKA-18659) and refused all the same.
        let unsupported = Error::UnsupportedVersion { key: 0, version: 2, correlation_id: 7 };
        check(&[0, 0, 0, 2, 0, 0, 0, 7, 255, 255], Err(unsupported));
    }
}
