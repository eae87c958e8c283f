//! Kafka's primitive types: reading them from a frame with every length checked, and writing them.
//!
//! ```text
//! string   int16 length, bytes          compact (flexible versions)   unsigned varint length + 1, bytes
//! bytes    int32 length, bytes                                        unsigned varint length + 1, bytes
//! array    int32 count, elements                                      unsigned varint count + 1, elements
//! null     length or count -1                                         0
//! tags     absent                       unsigned varint count, then (varint tag, varint size, bytes) each
//! ```

use crate::base::TopicId;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Part;
use crate::protocol::response::Response;
use crate::protocol::versions;
use bytes::Buf;
use bytes::BufMut;
use bytes::Bytes;
use bytes::BytesMut;
use kafka_protocol::protocol::StrBytes;
use std::str::Utf8Chunk;
use uuid::Uuid;

/// The longest string that the protocol can carry, in bytes.
pub const STRING_MAX: usize = 0x7fff;

/// Reads values off the front of a frame; strings and bytes are slices of it, not copies.
#[derive(Debug)]
pub struct Reader {
    rest: Bytes,
    flexible: bool,
}

impl Reader {
    /// Reads `bytes`, in the compact forms when `flexible`.
    pub fn new(bytes: Bytes, flexible: bool) -> Reader {
        Reader { rest: bytes, flexible }
    }

    /// What was not read yet.
    pub fn into_rest(self) -> Bytes {
        self.rest
    }

    /// How many bytes are left.
    pub fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// One signed byte.
    pub fn i8(&mut self, field: &'static str) -> Result<i8, Error> {
        self.rest.try_get_i8().map_err(|_| Error::Truncated(field))
    }

    /// A boolean: any byte but zero is true.
    pub fn bool(&mut self, field: &'static str) -> Result<bool, Error> {
        Ok(self.i8(field)? != 0)
    }

    /// Two bytes, big end first.
    pub fn i16(&mut self, field: &'static str) -> Result<i16, Error> {
        self.rest.try_get_i16().map_err(|_| Error::Truncated(field))
    }

    /// Four bytes, big end first.
    pub fn i32(&mut self, field: &'static str) -> Result<i32, Error> {
        self.rest.try_get_i32().map_err(|_| Error::Truncated(field))
    }

    /// Eight bytes, big end first.
    pub fn i64(&mut self, field: &'static str) -> Result<i64, Error> {
        self.rest.try_get_i64().map_err(|_| Error::Truncated(field))
    }

    /// Sixteen bytes of an id.
    pub fn topic_id(&mut self, field: &'static str) -> Result<TopicId, Error> {
        let bits = self.rest.try_get_u128().map_err(|_| Error::Truncated(field))?;
        Ok(TopicId(Uuid::from_u128(bits)))
    }

    /// An unsigned number in groups of seven bits, at most five bytes.
    pub fn varint(&mut self, field: &'static str) -> Result<u32, Error> {
        let mut value: u32 = 0;
        for shift in [0u32, 7, 14, 21, 28] {
            let byte = self.rest.try_get_u8().map_err(|_| Error::Truncated(field))?;
            let group = u32::from(byte & 0x7f);
            if shift == 28 && byte > 0x0f {
                break;
            }
            value |= group << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Error::Malformed { field, what: "varint longer than 32 bits" })
    }

    /// A string that may be null; what is no UTF-8 in it becomes U+FFFD, as in Java.
    pub fn nullable_string(&mut self, field: &'static str) -> Result<Option<StrBytes>, Error> {
        Ok(self.string_bytes(field)?.map(mended))
    }

    /// The bytes of a string that may be null, as they are.
    pub(super) fn string_bytes(&mut self, field: &'static str) -> Result<Option<Bytes>, Error> {
        let length =
            if self.flexible { self.compact(field)? } else { plain(i32::from(self.i16(field)?), field)? };
        let Some(length) = length else { return Ok(None) };
        if length > STRING_MAX {
            return Err(Error::Malformed { field, what: "string longer than 32767 bytes" });
        }
        Ok(Some(self.take(length, field)?))
    }

    /// A string.
    pub fn string(&mut self, field: &'static str) -> Result<StrBytes, Error> {
        self.nullable_string(field)?.ok_or(Error::Malformed { field, what: "null where none is allowed" })
    }

    /// Bytes that may be null.
    pub fn nullable_bytes(&mut self, field: &'static str) -> Result<Option<Bytes>, Error> {
        let length = if self.flexible { self.compact(field)? } else { plain(self.i32(field)?, field)? };
        length.map(|length| self.take(length, field)).transpose()
    }

    /// The count of an array that may be null, of elements that take `element_min` bytes or more each.
    pub fn nullable_count(
        &mut self,
        element_min: usize,
        field: &'static str,
    ) -> Result<Option<usize>, Error> {
        let count = if self.flexible { self.compact(field)? } else { plain(self.i32(field)?, field)? };
        match count {
            Some(count) if count.saturating_mul(element_min.max(1)) > self.rest.len() => {
                Err(Error::Malformed { field, what: "count larger than the bytes that are left" })
            }
            other => Ok(other),
        }
    }

    /// The count of an array of elements that take `element_min` bytes or more each.
    pub fn count(&mut self, element_min: usize, field: &'static str) -> Result<usize, Error> {
        let count = self.nullable_count(element_min, field)?;
        count.ok_or(Error::Malformed { field, what: "null where none is allowed" })
    }

    /// An array of four-byte numbers.
    pub fn i32_array(&mut self, field: &'static str) -> Result<Vec<i32>, Error> {
        let count = self.count(4, field)?;
        self.i32s(count, field)
    }

    /// So many four-byte numbers, whose count was read with [`Reader::count`].
    pub fn i32s(&mut self, count: usize, field: &'static str) -> Result<Vec<i32>, Error> {
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(self.i32(field)?);
        }
        Ok(values)
    }

    /// The tag section of a flexible version; nothing in others. `known` gets each tag with its bytes and ignores
    /// what it does not know, as the protocol demands of everybody.
    pub fn tags(&mut self, mut known: impl FnMut(u32, Reader) -> Result<(), Error>) -> Result<(), Error> {
        if !self.flexible {
            return Ok(());
        }
        const FIELD: &str = "tagged fields";
        for _ in 0..self.varint(FIELD)? {
            let tag = self.varint(FIELD)?;
            let size = self.varint(FIELD)?;
            let size = usize::try_from(size).map_err(|_| Error::Truncated(FIELD))?;
            let bytes = self.take(size, FIELD)?;
            known(tag, Reader::new(bytes, true))?;
        }
        Ok(())
    }

    /// Skips the tag section of a flexible version.
    pub fn skip_tags(&mut self) -> Result<(), Error> {
        self.tags(|_, _| Ok(()))
    }

    fn take(&mut self, length: usize, field: &'static str) -> Result<Bytes, Error> {
        if length > self.rest.len() {
            return Err(Error::Truncated(field));
        }
        Ok(self.rest.split_to(length))
    }

    fn compact(&mut self, field: &'static str) -> Result<Option<usize>, Error> {
        let raw = self.varint(field)?;
        let length = raw.checked_sub(1).map(usize::try_from);
        length.transpose().map_err(|_| Error::Malformed { field, what: "length out of range" })
    }
}

/// The bytes as a string, without a copy when they are UTF-8. Mending makes three bytes of one at most; what grows
/// beyond [`STRING_MAX`] by it is cut, as nothing could carry it further.
pub(super) fn mended(bytes: Bytes) -> StrBytes {
    StrBytes::from_utf8(bytes.clone()).unwrap_or_else(|_| StrBytes::from_string(lossy(&bytes)))
}

/// The text of bytes that are none, with U+FFFD where they are not; it never takes more memory than it has bytes.
fn lossy(bytes: &[u8]) -> String {
    const MARK: &str = "\u{fffd}";
    let mark = |chunk: &Utf8Chunk<'_>| if chunk.invalid().is_empty() { "" } else { MARK };
    let length: usize = bytes.utf8_chunks().map(|chunk| chunk.valid().len() + mark(&chunk).len()).sum();
    let mut text = String::with_capacity(length.min(STRING_MAX));
    for chunk in bytes.utf8_chunks() {
        for part in [chunk.valid(), mark(&chunk)] {
            let fits = part.floor_char_boundary(STRING_MAX - text.len());
            text.push_str(part.get(..fits).unwrap_or_default());
            if fits < part.len() {
                return text;
            }
        }
    }
    text
}

/// A plain length or count: -1 is null, less is refused.
fn plain(raw: i32, field: &'static str) -> Result<Option<usize>, Error> {
    match raw {
        -1 => Ok(None),
        _ => match usize::try_from(raw) {
            Ok(length) => Ok(Some(length)),
            Err(_) => Err(Error::Malformed { field, what: "negative length" }),
        },
    }
}

/// Writes an answer: the frame's size, the response header, then the body's values.
#[derive(Debug)]
pub struct Writer {
    /// The first piece, kept open for the size, once parts were spliced in.
    first: Option<BytesMut>,
    parts: Vec<Part>,
    buffer: BytesMut,
    flexible: bool,
    throttle_at: Option<usize>,
}

impl Writer {
    /// Begins the answer to `header`. The header of an ApiVersions answer never has a tag section, so that a client
    /// can read it before it knows the broker (KIP-511).
    pub fn response(header: &RequestHeader, capacity: usize) -> Writer {
        let flexible = header.flexible();
        let mut buffer = BytesMut::with_capacity(capacity.saturating_add(9));
        buffer.put_i32(0);
        buffer.put_i32(header.correlation_id);
        if flexible && header.api_key != versions::API_VERSIONS {
            buffer.put_u8(0);
        }
        let throttle_at = versions::throttle_offset(header.api_key, header.api_version)
            .map(|at| buffer.len().saturating_add(at));
        Writer { first: None, parts: Vec::new(), buffer, flexible, throttle_at }
    }

    /// How long the client is asked to pause, in milliseconds, where that is not the first field of the answer.
    pub fn throttle(&mut self, millis: i32) {
        self.throttle_at = Some(self.buffer.len());
        self.i32(millis);
    }

    /// Writes values without frame and header, for parts of a message.
    pub fn plain(flexible: bool) -> Writer {
        Writer { first: None, parts: Vec::new(), buffer: BytesMut::new(), flexible, throttle_at: None }
    }

    /// The buffer behind, for an encoder that writes by itself.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// One signed byte.
    pub fn i8(&mut self, value: i8) {
        self.buffer.put_i8(value);
    }

    /// A boolean.
    pub fn bool(&mut self, value: bool) {
        self.buffer.put_i8(i8::from(value));
    }

    /// Two bytes, big end first.
    pub fn i16(&mut self, value: i16) {
        self.buffer.put_i16(value);
    }

    /// Four bytes, big end first.
    pub fn i32(&mut self, value: i32) {
        self.buffer.put_i32(value);
    }

    /// Eight bytes, big end first.
    pub fn i64(&mut self, value: i64) {
        self.buffer.put_i64(value);
    }

    /// Sixteen bytes of an id.
    pub fn topic_id(&mut self, value: TopicId) {
        self.buffer.put_u128(value.0.as_u128());
    }

    /// An unsigned number in groups of seven bits.
    pub fn varint(&mut self, mut value: u32) {
        while let Some(low) = u8::try_from(value & 0x7f).ok().filter(|_| value > 0x7f) {
            self.buffer.put_u8(low | 0x80);
            value >>= 7;
        }
        self.buffer.put_u8(u8::try_from(value).unwrap_or(0x7f));
    }

    /// A string that may be null. Kafka cannot carry more than [`STRING_MAX`] bytes: what is longer (a message of
    /// ours) is cut at a character.
    pub fn nullable_string(&mut self, value: Option<&str>) {
        let value = value.map(|text| text.get(..text.floor_char_boundary(STRING_MAX)).unwrap_or(text));
        let length = value.map(str::len);
        if self.flexible {
            self.compact(length);
        } else {
            self.i16(length.map_or(-1, |length| i16::try_from(length).unwrap_or(i16::MAX)));
        }
        self.buffer.put_slice(value.unwrap_or_default().as_bytes());
    }

    /// A string.
    pub fn string(&mut self, value: &str) {
        self.nullable_string(Some(value));
    }

    /// The count of an array.
    pub fn count(&mut self, count: usize) {
        self.nullable_length(Some(count));
    }

    /// The count of an array, or the length of bytes, that may be null.
    pub fn nullable_length(&mut self, length: Option<usize>) {
        if self.flexible {
            self.compact(length);
        } else {
            self.i32(length.map_or(-1, |length| i32::try_from(length).unwrap_or(i32::MAX)));
        }
    }

    /// Records as parts, none of them copied: their length, then the parts themselves.
    pub fn records(&mut self, records: Vec<Part>) {
        let length: u64 = records.iter().map(Part::len).sum();
        self.nullable_length(Some(usize::try_from(length).unwrap_or(usize::MAX)));
        for part in records {
            if !part.is_empty() {
                self.close_piece();
                self.parts.push(part);
            }
        }
    }

    /// The tag section of a flexible version, nothing in others. `tags` come in ascending order of their number.
    pub fn tags(&mut self, tags: &[(u32, Writer)]) {
        if !self.flexible {
            return;
        }
        self.varint(u32::try_from(tags.len()).unwrap_or(u32::MAX));
        for (tag, value) in tags {
            self.varint(*tag);
            self.varint(u32::try_from(value.buffer.len()).unwrap_or(u32::MAX));
            self.buffer.put_slice(&value.buffer);
        }
    }

    /// An empty tag section in a flexible version, nothing in others.
    pub fn no_tags(&mut self) {
        self.tags(&[]);
    }

    /// The finished answer with its size in place.
    ///
    /// # Errors
    /// [`Error::Encode`] when it is larger than a frame can be.
    pub fn finish(mut self) -> Result<Response, Error> {
        self.close_piece();
        let mut first = self.first.unwrap_or_default();
        let rest: u64 = self.parts.iter().map(Part::len).sum();
        let length = (first.len() as u64).saturating_add(rest).saturating_sub(4);
        let size = i32::try_from(length).map_err(|_| Error::Encode(format!("answer of {length} bytes")))?;
        let place = first.get_mut(..4).ok_or_else(|| Error::Encode(String::from("no place for the size")))?;
        place.copy_from_slice(&size.to_be_bytes());
        self.parts.insert(0, Part::Bytes(first.freeze()));
        Ok(Response { parts: self.parts, throttle_at: self.throttle_at })
    }

    /// The bytes written so far, for a message without frame.
    pub fn into_bytes(self) -> Bytes {
        self.buffer.freeze()
    }

    fn close_piece(&mut self) {
        if self.first.is_none() {
            self.first = Some(std::mem::take(&mut self.buffer));
        } else if !self.buffer.is_empty() {
            self.parts.push(Part::Bytes(self.buffer.split().freeze()));
        }
    }

    fn compact(&mut self, length: Option<usize>) {
        let raw = length.map_or(0, |length| u32::try_from(length).unwrap_or(u32::MAX).saturating_add(1));
        self.varint(raw);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn varints_survive_and_long_ones_are_refused() {
        for value in [0, 1, 127, 128, 300, 16_383, 16_384, u32::MAX - 1, u32::MAX] {
            let mut writer = Writer::plain(true);
            writer.varint(value);
            assert_eq!(Reader::new(writer.into_bytes(), true).varint("x"), Ok(value));
        }
        let mut six = Reader::new(Bytes::from_static(&[0xff, 0xff, 0xff, 0xff, 0x1f]), true);
        assert!(six.varint("x").is_err());
        let mut cut = Reader::new(Bytes::from_static(&[0x80]), true);
        assert_eq!(cut.varint("x"), Err(Error::Truncated("x")));
    }

    #[test]
    fn counts_beyond_the_bytes_left_are_refused() {
        let mut huge = Reader::new(Bytes::from_static(&[0x7f, 0xff, 0xff, 0xff, 0, 0]), false);
        assert!(huge.count(1, "x").is_err());
        let mut negative = Reader::new(Bytes::from_static(&[0xff, 0xff, 0xff, 0xfe]), false);
        assert!(negative.nullable_count(1, "x").is_err());
        let mut null = Reader::new(Bytes::from_static(&[0xff, 0xff, 0xff, 0xff]), false);
        assert_eq!(null.nullable_count(1, "x"), Ok(None));
    }

    #[test]
    fn what_is_no_text_is_mended_within_its_own_size() {
        for bytes in [&b"a\xffb"[..], b"\xff\xfe\xe2\x82", b"\xe2\x82\xac\xe2\x82x", b"\xf0\x9f\x98"] {
            assert_eq!(lossy(bytes), String::from_utf8_lossy(bytes));
        }
        for count in [10_000, 10_922, 10_923, 20_000] {
            let text = lossy(&vec![0xff; count]);
            assert_eq!((text.len(), text.capacity()), (text.len(), (count * 3).min(STRING_MAX)));
            assert_eq!(text.len(), (count * 3).min(STRING_MAX / 3 * 3), "{count}");
        }
    }

    #[test]
    fn long_strings_are_cut_at_a_character() {
        let mut writer = Writer::plain(true);
        writer.string(&"ä".repeat(20_000));
        let text = Reader::new(writer.into_bytes(), true).string("x").unwrap();
        assert_eq!(text.len(), 32_766);
    }

    #[test]
    fn what_grows_too_long_when_it_is_mended_is_cut() {
        let text = mended(Bytes::from(vec![0xb1; 20_000]));
        assert_eq!(&*text, "\u{fffd}".repeat(STRING_MAX / 3));
    }
}
