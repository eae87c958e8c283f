//! Reading and writing the field types of Kafka's coordinator records, with every length checked.

use bytes::BufMut;
use bytes::Bytes;
use bytes::BytesMut;
use std::sync::Arc;
use uuid::Uuid;

/// Why bytes are not the record they should be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The bytes end inside a field.
    #[error("record ends inside a field")]
    Short,
    /// A length or count is negative, too large, or null where null is not allowed.
    #[error("length or count {0} is not possible here")]
    Length(i64),
    /// A string that is not UTF-8.
    #[error("string is not UTF-8")]
    Text,
    /// What was read needs far more memory than the bytes it was read from.
    #[error("decoded form is too large for its {0} bytes")]
    TooLarge(usize),
    /// A number that stands for nothing.
    #[error("{0} stands for nothing here")]
    Value(i64),
    /// A version this broker does not know.
    #[error("version {0} is not known")]
    Version(i16),
}

/// How many bytes of decoded form one byte may become, and those that any key or value may need beyond: what nobody
/// writes in earnest, thousands of empty names, must not take the memory of a machine.
const DECODED_RATIO: usize = 4;
const DECODED_SLACK: usize = 1024 * 1024;
/// What a string in memory takes beside its bytes: counters, and the allocator's rounding.
const STRING_OVERHEAD: usize = 24;
/// The longest string that Kafka carries, in bytes.
const STRING_MAX: usize = 0x7fff;

/// A cursor over one key or value.
pub(crate) struct Reader {
    rest: Bytes,
    flexible: bool,
    length: usize,
    decoded: usize,
    /// The bytes that what was read so far takes in the plain form, without tagged fields: as [`Writer`] writes it.
    kept: usize,
    /// The same in the flexible form, as [`Writer`] writes it after [`Writer::set_flexible`].
    kept_compact: usize,
}

impl Reader {
    pub(crate) fn new(bytes: &Bytes) -> Reader {
        let length = bytes.len();
        Reader { rest: bytes.clone(), flexible: false, length, decoded: 0, kept: 0, kept_compact: 0 }
    }

    /// A cursor over a tagged field, which is flexible as what it was found in.
    pub(crate) fn of_tag(bytes: &Bytes) -> Reader {
        let mut reader = Reader::new(bytes);
        reader.set_flexible(true);
        reader
    }

    /// From here on strings, bytes and arrays have compact lengths and structures end with tagged fields.
    pub(crate) fn set_flexible(&mut self, flexible: bool) {
        self.flexible = flexible;
    }

    /// Counts memory for what is about to be made.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), Malformed> {
        self.decoded = self.decoded.saturating_add(bytes);
        if self.decoded > allowed(self.length) { Err(Malformed::TooLarge(self.length)) } else { Ok(()) }
    }

    /// Ends a value that is written again some day, in the plain form: what it became must be within the memory that
    /// its own fields allow, without what is dropped (tagged fields, bytes behind the last field). Else it could be
    /// read, but not once more.
    pub(crate) fn settle(&self) -> Result<(), Malformed> {
        if self.decoded > allowed(self.kept) { Err(Malformed::TooLarge(self.kept)) } else { Ok(()) }
    }

    /// As [`Reader::settle`], of a value that is written again in the flexible form.
    pub(crate) fn settle_compact(&self) -> Result<(), Malformed> {
        let kept = self.kept_compact;
        if self.decoded > allowed(kept) { Err(Malformed::TooLarge(kept)) } else { Ok(()) }
    }

    fn keep(&mut self, bytes: usize) {
        self.kept = self.kept.saturating_add(bytes);
        self.kept_compact = self.kept_compact.saturating_add(bytes);
    }

    fn take(&mut self, length: usize) -> Result<Bytes, Malformed> {
        if length > self.rest.len() {
            return Err(Malformed::Short);
        }
        Ok(self.rest.split_to(length))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let bytes = self.take(N)?;
        <[u8; N]>::try_from(bytes.as_ref()).map_err(|_| Malformed::Short)
    }

    /// The bytes of a number that is a field.
    fn number<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        self.keep(N);
        self.array()
    }

    pub(crate) fn i8(&mut self) -> Result<i8, Malformed> {
        Ok(i8::from_be_bytes(self.number()?))
    }

    pub(crate) fn i16(&mut self) -> Result<i16, Malformed> {
        Ok(i16::from_be_bytes(self.number()?))
    }

    pub(crate) fn i32(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.number()?))
    }

    pub(crate) fn i64(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_be_bytes(self.number()?))
    }

    pub(crate) fn uuid(&mut self) -> Result<Uuid, Malformed> {
        Ok(Uuid::from_bytes(self.number()?))
    }

    fn unsigned_varint(&mut self) -> Result<u32, Malformed> {
        let mut value: u64 = 0;
        for place in 0..5u32 {
            let [byte] = self.array::<1>()?;
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                return u32::try_from(value).map_err(|_| Malformed::Length(-1));
            }
        }
        Err(Malformed::Length(-1))
    }

    /// A length: -1 for null. `wide` lengths are 32 bits in the older versions.
    fn length(&mut self, wide: bool) -> Result<i64, Malformed> {
        let length = if self.flexible {
            i64::from(self.unsigned_varint()?) - 1
        } else if wide {
            i64::from(i32::from_be_bytes(self.array()?))
        } else {
            i64::from(i16::from_be_bytes(self.array()?))
        };
        self.kept = self.kept.saturating_add(if wide { 4 } else { 2 });
        self.kept_compact = self.kept_compact.saturating_add(varint_length(length.saturating_add(1)));
        Ok(length)
    }

    pub(crate) fn nullable_string(&mut self) -> Result<Option<Arc<str>>, Malformed> {
        let length = self.length(false)?;
        if length == -1 {
            return Ok(None);
        }
        let length = match usize::try_from(length) {
            Ok(bytes) if bytes <= STRING_MAX => bytes,
            _ => return Err(Malformed::Length(length)),
        };
        let bytes = self.take(length)?;
        self.keep(length);
        self.charge(length.saturating_add(STRING_OVERHEAD))?;
        let text = std::str::from_utf8(&bytes).map_err(|_| Malformed::Text)?;
        Ok(Some(Arc::from(text)))
    }

    pub(crate) fn string(&mut self) -> Result<Arc<str>, Malformed> {
        self.nullable_string()?.ok_or(Malformed::Length(-1))
    }

    pub(crate) fn bytes(&mut self) -> Result<Bytes, Malformed> {
        let length = self.length(true)?;
        let length = usize::try_from(length).map_err(|_| Malformed::Length(length))?;
        let bytes = self.take(length)?;
        self.keep(length);
        self.charge(length)?;
        // Copied, so that a small field does not keep a whole batch in memory.
        Ok(Bytes::copy_from_slice(&bytes))
    }

    /// The count of an array of `T`, whose elements take at least `least` bytes each.
    pub(crate) fn count_of<T>(&mut self, least: usize) -> Result<usize, Malformed> {
        let count = self.length(true)?;
        let possible = self.rest.len() / least.max(1);
        match usize::try_from(count) {
            Ok(elements) if elements <= possible => {
                self.charge(elements.saturating_mul(size_of::<T>()))?;
                Ok(elements)
            }
            _ => Err(Malformed::Length(count)),
        }
    }

    /// As [`Reader::count_of`], of an array that may be null.
    pub(crate) fn nullable_count_of<T>(&mut self, least: usize) -> Result<Option<usize>, Malformed> {
        let (before, kept, compact) = (self.rest.clone(), self.kept, self.kept_compact);
        if self.length(true)? == -1 {
            return Ok(None);
        }
        (self.rest, self.kept, self.kept_compact) = (before, kept, compact);
        self.count_of::<T>(least).map(Some)
    }

    /// Reads tagged fields; there are none in versions without them.
    pub(crate) fn all_tagged(&mut self) -> Result<Vec<(u32, Bytes)>, Malformed> {
        let mut fields = Vec::new();
        if self.flexible {
            for _ in 0..self.unsigned_varint()? {
                let tag = self.unsigned_varint()?;
                let size = usize::try_from(self.unsigned_varint()?).map_err(|_| Malformed::Length(-1))?;
                let field = self.take(size)?;
                self.charge(size_of::<(u32, Bytes)>())?;
                fields.push((tag, field));
            }
        }
        Ok(fields)
    }

    /// Reads tagged fields and gives those asked for; without effect in versions that have none.
    pub(crate) fn tagged(&mut self, wanted: u32) -> Result<Option<Bytes>, Malformed> {
        if !self.flexible {
            return Ok(None);
        }
        let mut found = None;
        for _ in 0..self.unsigned_varint()? {
            let tag = self.unsigned_varint()?;
            let size = usize::try_from(self.unsigned_varint()?).map_err(|_| Malformed::Length(-1))?;
            let field = self.take(size)?;
            if tag == wanted {
                found = Some(field);
            }
        }
        Ok(found)
    }
}

/// Builds one key or value.
pub(crate) struct Writer {
    out: BytesMut,
    flexible: bool,
}

impl Writer {
    /// The content of a tagged field: flexible, without a version.
    pub(crate) fn of_tag() -> Writer {
        Writer { out: BytesMut::with_capacity(16), flexible: true }
    }

    pub(crate) fn new(version: i16) -> Writer {
        let mut out = BytesMut::with_capacity(64);
        out.put_i16(version);
        Writer { out, flexible: false }
    }

    /// From here on strings and arrays have compact lengths and structures end with tagged fields.
    pub(crate) fn set_flexible(&mut self, flexible: bool) {
        self.flexible = flexible;
    }

    pub(crate) fn i8(&mut self, value: i8) {
        self.out.put_i8(value);
    }

    pub(crate) fn i16(&mut self, value: i16) {
        self.out.put_i16(value);
    }

    pub(crate) fn i32(&mut self, value: i32) {
        self.out.put_i32(value);
    }

    pub(crate) fn i64(&mut self, value: i64) {
        self.out.put_i64(value);
    }

    /// A string with a 16-bit length. Every string comes from a request field of at most 32767 bytes or from
    /// a generated id; one that is longer is cut to keep the record readable.
    pub(crate) fn string(&mut self, text: &str) {
        if self.flexible {
            return self.compact_string(text);
        }
        let text = fitting(text);
        self.out.put_i16(i16::try_from(text.len()).unwrap_or(i16::MAX));
        self.out.put_slice(text.as_bytes());
    }

    pub(crate) fn nullable_string(&mut self, text: Option<&str>) {
        match text {
            Some(text) => self.string(text),
            None if self.flexible => self.unsigned_varint(0),
            None => self.out.put_i16(-1),
        }
    }

    pub(crate) fn compact_string(&mut self, text: &str) {
        let text = fitting(text);
        self.unsigned_varint(u32::try_from(text.len()).unwrap_or(0).saturating_add(1));
        self.out.put_slice(text.as_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &Bytes) {
        self.count(bytes.len());
        self.out.put_slice(bytes);
    }

    /// The end of a structure with these tagged fields, in the order of their tags.
    pub(crate) fn tags(&mut self, fields: &[(u32, Bytes)]) {
        self.unsigned_varint(u32::try_from(fields.len()).unwrap_or(u32::MAX));
        for (tag, field) in fields {
            self.unsigned_varint(*tag);
            self.unsigned_varint(u32::try_from(field.len()).unwrap_or(u32::MAX));
            self.raw(field);
        }
    }

    pub(crate) fn count(&mut self, count: usize) {
        if self.flexible {
            self.unsigned_varint(u32::try_from(count).unwrap_or(u32::MAX - 1).saturating_add(1));
        } else {
            self.out.put_i32(i32::try_from(count).unwrap_or(i32::MAX));
        }
    }

    /// The count of an array that is null.
    pub(crate) fn null_count(&mut self) {
        if self.flexible { self.unsigned_varint(0) } else { self.out.put_i32(-1) }
    }

    /// The end of a structure without tagged fields; nothing in versions that have none.
    pub(crate) fn no_tags(&mut self) {
        if self.flexible {
            self.unsigned_varint(0);
        }
    }

    pub(crate) fn unsigned_varint(&mut self, mut value: u32) {
        while value >= 0x80 {
            self.out.put_u8(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
            value >>= 7;
        }
        self.out.put_u8(u8::try_from(value).unwrap_or(0));
    }

    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        self.out.put_slice(bytes);
    }

    pub(crate) fn finish(self) -> Bytes {
        self.out.freeze()
    }
}

/// The bytes of an unsigned varint.
fn varint_length(value: i64) -> usize {
    match value {
        ..0x80 => 1,
        0x80..0x4000 => 2,
        0x4000..0x20_0000 => 3,
        0x20_0000..0x1000_0000 => 4,
        _ => 5,
    }
}

/// The memory that may be made of this many bytes.
fn allowed(bytes: usize) -> usize {
    bytes.saturating_mul(DECODED_RATIO).saturating_add(DECODED_SLACK)
}

/// The longest beginning of `text` that a 16-bit length can carry.
fn fitting(text: &str) -> &str {
    text.get(..text.floor_char_boundary(STRING_MAX)).unwrap_or(text)
}
