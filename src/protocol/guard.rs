//! The frame guard: walks a request against its schema before any decoder sees it.
//!
//! Decoders reserve memory for the counts they read. The guard proves first that every count and length is backed by
//! the bytes that are left, that nulls stand only where they may, that no varint is endless, and that the decoded form
//! stays within [`DECODED_RATIO`] times the frame plus [`DECODED_SLACK`] bytes. Tags it does not know are skipped;
//! those of another version are refused, as Kafka refuses them.
//! Bytes behind the last field are ignored, as Apache Kafka ignores them. Strings that are no UTF-8 are not refused
//! but mended, as Java mends them when it reads: a client may name things in another encoding.

use crate::protocol::error::Error;
use crate::protocol::schema;
use crate::protocol::schema::Field;
use crate::protocol::schema::Kind;
use crate::protocol::versions;
use crate::protocol::wire::STRING_MAX;
use crate::protocol::wire::Writer;
use bytes::Bytes;

/// How many bytes of decoded form one byte of a frame may become.
pub const DECODED_RATIO: usize = 4;
/// Bytes of decoded form that any frame may need beyond that.
pub const DECODED_SLACK: usize = 1024 * 1024;

/// What the first entry of a decoder's map of unknown tags needs: a whole leaf of a tree.
const FIRST_TAG_DECODED: usize = 432;
/// What each further entry needs, roughly.
const TAG_DECODED: usize = 96;

/// Checks the body of a request (without its header).
///
/// # Errors
/// [`Error::UnknownApi`] for a key without schema, else what is wrong with the first field that is wrong.
pub fn check(api_key: i16, version: i16, body: &[u8]) -> Result<(), Error> {
    walked(api_key, version, body).map(drop)
}

/// Checks a body, and gives it back with U+FFFD in place of what is no UTF-8 in its strings; usually that is the body
/// itself. Strings within tagged fields stay as they are: our own codecs mend them while they read.
///
/// # Errors
/// As [`check`].
pub fn checked(api_key: i16, version: i16, body: Bytes) -> Result<Bytes, Error> {
    let walk = walked(api_key, version, &body)?;
    if walk.broken.is_empty() {
        return Ok(body);
    }
    let mut mended = Writer::plain(walk.flexible);
    let mut copied = 0;
    for text in &walk.broken {
        mended.buffer().extend_from_slice(body.get(copied..text.prefix).unwrap_or_default());
        let broken = body.get(text.start..text.end).unwrap_or_default();
        mended.string(&String::from_utf8_lossy(broken));
        copied = text.end;
    }
    mended.buffer().extend_from_slice(body.get(copied..).unwrap_or_default());
    Ok(mended.into_bytes())
}

fn walked(api_key: i16, version: i16, body: &[u8]) -> Result<Walk<'_>, Error> {
    let fields = schema::request(api_key).ok_or(Error::UnknownApi(api_key))?;
    let flexible = versions::api(api_key).is_some_and(|api| api.flexible(version));
    let decoded_max = body.len().saturating_mul(DECODED_RATIO).saturating_add(DECODED_SLACK);
    let (decoded, length) = (0, body.len());
    let mut walk = Walk {
        rest: body,
        version,
        flexible,
        decoded,
        decoded_max,
        length,
        in_tag: false,
        broken: Vec::new(),
    };
    walk.fields(fields)?;
    Ok(walk)
}

/// A string that is no UTF-8: where its length stands, where it begins and ends.
struct Broken {
    prefix: usize,
    start: usize,
    end: usize,
}

struct Walk<'a> {
    rest: &'a [u8],
    version: i16,
    flexible: bool,
    decoded: usize,
    decoded_max: usize,
    length: usize,
    in_tag: bool,
    broken: Vec<Broken>,
}

impl Walk<'_> {
    fn fields(&mut self, fields: &'static [Field]) -> Result<(), Error> {
        for field in fields {
            if field.tag.is_none() && field.in_version(self.version) {
                self.field(field)?;
            }
        }
        if self.flexible { self.tags(fields) } else { Ok(()) }
    }

    fn field(&mut self, field: &'static Field) -> Result<(), Error> {
        let nullable = self.version >= field.null_from;
        if let Kind::Struct(fields) = &field.kind {
            // A struct in its place is preceded by a marker only where it may be null.
            let marker = if nullable { self.byte(field.name)? } else { 1 };
            return match marker {
                0x80.. => Ok(()),
                1 => self.fields(fields),
                // Nobody writes others, and decoders do not agree on them.
                _ => Err(Error::Malformed { field: field.name, what: "neither a struct nor null" }),
            };
        }
        self.value(&field.kind, nullable, field.name)
    }

    fn value(&mut self, kind: &'static Kind, nullable: bool, name: &'static str) -> Result<(), Error> {
        match kind {
            Kind::Fixed(size) => self.skip(*size, name),
            Kind::Text => self.text(nullable, name),
            Kind::Blob => {
                let length = self.length(Prefix::Long, nullable, name)?;
                self.skip(length, name)
            }
            Kind::List(item) => self.list(item, nullable, name),
            Kind::Struct(fields) => self.fields(fields),
        }
    }

    fn text(&mut self, nullable: bool, name: &'static str) -> Result<(), Error> {
        let prefix = self.place();
        let length = self.length(Prefix::Short, nullable, name)?;
        if length > STRING_MAX {
            return malformed(name, "string longer than 32767 bytes");
        }
        let start = self.place();
        let text = self.rest.get(..length).ok_or(Error::Truncated(name))?;
        if !self.in_tag && std::str::from_utf8(text).is_err() {
            // Mending makes at most three bytes of one.
            self.charge(size_of::<Broken>().saturating_add(length.saturating_mul(3)))?;
            self.broken.push(Broken { prefix, start, end: start.saturating_add(length) });
        }
        self.skip(length, name)
    }

    /// How far the walk is; not within a tagged field.
    fn place(&self) -> usize {
        self.length.saturating_sub(self.rest.len())
    }

    fn list(&mut self, item: &'static Kind, nullable: bool, name: &'static str) -> Result<(), Error> {
        let count = self.length(Prefix::Long, nullable, name)?;
        if count.saturating_mul(self.size_min(item).max(1)) > self.rest.len() {
            return malformed(name, "count larger than the bytes that are left");
        }
        self.charge(count.saturating_mul(decoded_size(item)))?;
        if let Kind::Fixed(size) = item {
            return self.skip(count.saturating_mul(*size), name);
        }
        for _ in 0..count {
            self.value(item, false, name)?;
        }
        Ok(())
    }

    fn tags(&mut self, fields: &'static [Field]) -> Result<(), Error> {
        const NAME: &str = "tagged fields";
        let mut unknown_size = FIRST_TAG_DECODED;
        for _ in 0..self.varint(NAME)? {
            let tag = self.varint(NAME)?;
            let size = usize::try_from(self.varint(NAME)?).map_err(|_| Error::Truncated(NAME))?;
            let (value, rest) = self.rest.split_at_checked(size).ok_or(Error::Truncated(NAME))?;
            let mut known = fields.iter().filter(|field| field.tag == Some(tag));
            let in_version = known.clone().find(|field| field.in_version(self.version));
            match in_version.or_else(|| known.next()) {
                Some(field) if !field.in_version(self.version) => {
                    return malformed(field.name, "tagged field of another version");
                }
                Some(field) => {
                    self.rest = value;
                    self.in_tag = true;
                    self.field(field)?;
                    self.in_tag = false;
                    if !self.rest.is_empty() {
                        return malformed(field.name, "tagged field larger than its value");
                    }
                }
                None => {
                    self.charge(unknown_size)?;
                    unknown_size = TAG_DECODED;
                }
            }
            self.rest = rest;
        }
        Ok(())
    }

    /// The bytes that an element of this kind has at least.
    fn size_min(&self, kind: &'static Kind) -> usize {
        match kind {
            Kind::Fixed(size) => *size,
            Kind::Text if !self.flexible => 2,
            Kind::Blob | Kind::List(_) if !self.flexible => 4,
            Kind::Text | Kind::Blob | Kind::List(_) => 1,
            Kind::Struct(fields) => {
                let here =
                    fields.iter().filter(|field| field.tag.is_none() && field.in_version(self.version));
                let sizes = here.map(|field| match field.kind {
                    Kind::Struct(_) if self.version >= field.null_from => 1,
                    _ => self.size_min(&field.kind),
                });
                sizes.sum::<usize>() + usize::from(self.flexible)
            }
        }
    }

    /// A length or count; null counts as zero where it is allowed.
    fn length(&mut self, prefix: Prefix, nullable: bool, name: &'static str) -> Result<usize, Error> {
        let raw = match prefix {
            _ if self.flexible => i64::from(self.varint(name)?) - 1,
            Prefix::Short => i64::from(i16::from_be_bytes(self.array(name)?)),
            Prefix::Long => i64::from(i32::from_be_bytes(self.array(name)?)),
        };
        match raw {
            -1 if nullable => Ok(0),
            -1 => malformed(name, "null where none is allowed"),
            _ => usize::try_from(raw).map_err(|_| Error::Malformed { field: name, what: "negative length" }),
        }
    }

    fn varint(&mut self, name: &'static str) -> Result<u32, Error> {
        let mut value: u32 = 0;
        for shift in [0u32, 7, 14, 21, 28] {
            let byte = self.byte(name)?;
            if shift == 28 && byte > 0x0f {
                break;
            }
            value |= u32::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        malformed(name, "varint longer than 32 bits")
    }

    fn byte(&mut self, name: &'static str) -> Result<u8, Error> {
        let [byte] = self.array::<1>(name)?;
        Ok(byte)
    }

    fn array<const N: usize>(&mut self, name: &'static str) -> Result<[u8; N], Error> {
        let (array, rest) = self.rest.split_first_chunk::<N>().ok_or(Error::Truncated(name))?;
        self.rest = rest;
        Ok(*array)
    }

    fn skip(&mut self, length: usize, name: &'static str) -> Result<(), Error> {
        self.rest = self.rest.get(length..).ok_or(Error::Truncated(name))?;
        Ok(())
    }

    fn charge(&mut self, decoded: usize) -> Result<(), Error> {
        self.decoded = self.decoded.saturating_add(decoded);
        if self.decoded > self.decoded_max {
            return Err(Error::TooLarge { length: self.length, decoded: self.decoded });
        }
        Ok(())
    }
}

/// How a length is written in versions that are not flexible.
#[derive(Clone, Copy)]
enum Prefix {
    /// In two bytes: strings.
    Short,
    /// In four bytes: bytes, records, arrays.
    Long,
}

/// The memory that an element takes in its decoder's vector, elements of its own lists not counted.
fn decoded_size(kind: &'static Kind) -> usize {
    match kind {
        Kind::Fixed(size) => *size,
        Kind::Text | Kind::Blob => 32,
        Kind::List(_) => 24,
        // Every decoded struct carries a map for the tags it does not know.
        Kind::Struct(fields) => {
            let fields: usize = fields.iter().map(|field| decoded_size(&field.kind)).sum();
            (fields + 24).next_multiple_of(8)
        }
    }
}

fn malformed<T>(field: &'static str, what: &'static str) -> Result<T, Error> {
    Err(Error::Malformed { field, what })
}

#[cfg(test)]
mod tests;
