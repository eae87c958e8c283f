//! Kafka's flexible encoding of the primitive types that metadata records are made of.
//!
//! Lengths are unsigned varints of the length plus one, zero means null; every struct ends with a tag section.

use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use bytes::Bytes;
use uuid::Uuid;

/// Why bytes are not a metadata record this version knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end inside a field.
    #[error("record ends inside a field")]
    Truncated,
    /// A varint has more than five bytes.
    #[error("varint is too long")]
    BadVarint,
    /// A string is not UTF-8.
    #[error("string is not utf-8")]
    NotUtf8,
    /// A field is null that must not be.
    #[error("null in a field that cannot be null")]
    Null,
    /// The frame around the record has a version other than 1.
    #[error("unknown frame version {0}")]
    FrameVersion(u32),
    /// No record type has this key: a newer Apache Kafka wrote the log.
    #[error("unknown metadata record type {0}")]
    UnknownType(u32),
    /// The record type is known, its version is not.
    #[error("metadata record type {key} has unknown version {version}")]
    UnknownVersion {
        /// The record type's key.
        key: u32,
        /// The version found.
        version: u32,
    },
    /// The record would need far more memory than its bytes.
    #[error("decoded record is too large for its {0} bytes")]
    TooLarge(usize),
    /// Bytes are left over after the record.
    #[error("{0} bytes after the record")]
    Trailing(usize),
}

/// How many bytes of decoded form one byte may become, and those that any record may need beyond.
const DECODED_RATIO: usize = 4;
const DECODED_SLACK: usize = 1024 * 1024;

/// Reads fields from the front of a slice.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    /// Bytes that the decoded form may still take.
    budget: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Reader<'a> {
        let budget = bytes.len().saturating_mul(DECODED_RATIO).saturating_add(DECODED_SLACK);
        Reader { rest: bytes, budget }
    }

    pub(crate) fn remaining(&self) -> usize {
        self.rest.len()
    }

    /// Counts memory for what is about to be made.
    fn charge(&mut self, count: usize, size: usize) -> Result<(), DecodeError> {
        let left = count.checked_mul(size).and_then(|bytes| self.budget.checked_sub(bytes));
        self.budget = left.ok_or(DecodeError::TooLarge(self.rest.len()))?;
        Ok(())
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], DecodeError> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or(DecodeError::Truncated)?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, tail) = self.rest.split_first_chunk::<N>().ok_or(DecodeError::Truncated)?;
        self.rest = tail;
        Ok(*head)
    }

    pub(crate) fn varint(&mut self) -> Result<u32, DecodeError> {
        let mut value: u32 = 0;
        for shift in (0..35).step_by(7) {
            let [byte] = self.array::<1>()?;
            value |= u32::from(byte & 0x7f).checked_shl(shift).ok_or(DecodeError::BadVarint)?;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(DecodeError::BadVarint)
    }

    /// A length plus one; `None` for null.
    fn length(&mut self) -> Result<Option<usize>, DecodeError> {
        let Some(length) = self.varint()?.checked_sub(1) else { return Ok(None) };
        let length = usize::try_from(length).map_err(|_| DecodeError::Truncated)?;
        // Every element takes at least one byte, so a larger count is a lie and is refused before allocating.
        if length > self.remaining() { Err(DecodeError::Truncated) } else { Ok(Some(length)) }
    }

    /// Hands each tagged field's number and body to `field`; unknown numbers are for `field` to skip. What is skipped
    /// is not written again and so pays for no memory: else a record could be read, but not once more.
    pub(crate) fn tags(
        &mut self,
        mut field: impl FnMut(u32, &mut Reader<'a>) -> Result<(), DecodeError>,
    ) -> Result<(), DecodeError> {
        for _ in 0..self.varint()? {
            let before = self.remaining();
            let tag = self.varint()?;
            let size = usize::try_from(self.varint()?).map_err(|_| DecodeError::Truncated)?;
            let mut body = Reader { rest: self.take(size)?, budget: self.budget };
            field(tag, &mut body)?;
            self.budget = body.budget;
            let skipped = match body.remaining() {
                all if all == size => before - self.remaining(),
                rest => rest,
            };
            self.charge(skipped, DECODED_RATIO)?;
        }
        Ok(())
    }
}

/// Writes an unsigned varint.
pub(crate) fn put_varint(mut value: u32, out: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(value & 0x7f).expect("seven bits fit a byte");
        value >>= 7;
        if value == 0 {
            out.push(low);
            return;
        }
        out.push(low | 0x80);
    }
}

fn put_length(length: usize, out: &mut Vec<u8>) {
    let length = u32::try_from(length).ok().and_then(|length| length.checked_add(1));
    put_varint(length.expect("metadata fields are far below 4 GiB"), out);
}

/// The tagged fields of one struct, in the order of their numbers.
#[derive(Default)]
pub(crate) struct Tags {
    count: u32,
    body: Vec<u8>,
}

impl Tags {
    /// Adds a field when `present`; numbers must ascend over the calls.
    pub(crate) fn with(mut self, tag: u32, present: bool, value: &impl Wire) -> Tags {
        if present {
            let mut field = Vec::new();
            value.put(&mut field);
            self.count += 1;
            put_varint(tag, &mut self.body);
            put_varint(
                u32::try_from(field.len()).expect("metadata fields are far below 4 GiB"),
                &mut self.body,
            );
            self.body.extend_from_slice(&field);
        }
        self
    }

    pub(crate) fn finish(self, out: &mut Vec<u8>) {
        put_varint(self.count, out);
        out.extend_from_slice(&self.body);
    }
}

/// A type with a fixed place in Kafka's flexible encoding.
pub(crate) trait Wire: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn get(input: &mut Reader<'_>) -> Result<Self, DecodeError>;
    /// The value of a field that the record's version does not carry.
    fn absent() -> Self;
}

macro_rules! number {
    ($($type:ty),*) => {$(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_be_bytes());
            }
            fn get(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok(<$type>::from_be_bytes(input.array()?))
            }
            fn absent() -> Self {
                Self::default()
            }
        }
    )*};
}
number!(i8, i16, u16, i32, i64, f64);

macro_rules! newtype {
    ($($type:ident($inner:ty) = $absent:expr),*) => {$(
        impl Wire for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn get(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
                Ok($type(<$inner>::get(input)?))
            }
            fn absent() -> Self {
                $absent
            }
        }
    )*};
}
newtype!(
    BrokerId(i32) = BrokerId::NONE,
    PartitionIndex(i32) = PartitionIndex(-1),
    LeaderEpoch(i32) = LeaderEpoch::NONE,
    TopicId(Uuid) = TopicId::ZERO
);

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn get(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(input.array::<1>()? != [0])
    }
    fn absent() -> Self {
        false
    }
}

impl Wire for Uuid {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self.as_bytes());
    }
    fn get(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Uuid::from_bytes(input.array()?))
    }
    fn absent() -> Self {
        Uuid::nil()
    }
}

impl Wire for Option<String> {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            None => put_varint(0, out),
            Some(text) => {
                put_length(text.len(), out);
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
    fn get(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let Some(length) = input.length()? else { return Ok(None) };
        input.charge(length, 1)?;
        let text = std::str::from_utf8(input.take(length)?).map_err(|_| DecodeError::NotUtf8)?;
        Ok(Some(text.to_owned()))
    }
    fn absent() -> Self {
        None
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        out.extend_from_slice(self.as_bytes());
    }
    fn get(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Option::<String>::get(input)?.ok_or(DecodeError::Null)
    }
    fn absent() -> Self {
        String::new()
    }
}

impl Wire for Bytes {
    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        out.extend_from_slice(self);
    }
    fn get(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let length = input.length()?.ok_or(DecodeError::Null)?;
        Ok(Bytes::copy_from_slice(input.take(length)?))
    }
    fn absent() -> Self {
        Bytes::new()
    }
}

impl<T: Wire> Wire for Option<Vec<T>> {
    fn put(&self, out: &mut Vec<u8>) {
        match self {
            None => put_varint(0, out),
            Some(items) => items.put(out),
        }
    }
    fn get(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let Some(count) = input.length()? else { return Ok(None) };
        input.charge(count, size_of::<T>())?;
        let mut items = Vec::with_capacity(count);
        for _ in 0..count {
            items.push(T::get(input)?);
        }
        Ok(Some(items))
    }
    fn absent() -> Self {
        None
    }
}

impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_length(self.len(), out);
        for item in self {
            item.put(out);
        }
    }
    fn get(input: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Option::<Vec<T>>::get(input)?.ok_or(DecodeError::Null)
    }
    fn absent() -> Self {
        Vec::new()
    }
}
