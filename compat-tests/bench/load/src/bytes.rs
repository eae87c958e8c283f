//! Kafka's primitive types, written and read.

use crate::args::Result;

/// Appends big-endian numbers and Kafka's variable-length forms.
#[derive(Default)]
pub struct Out(pub Vec<u8>);

impl Out {
    pub fn i8(&mut self, value: i8) {
        self.0.push(value as u8);
    }
    pub fn i16(&mut self, value: i16) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }
    pub fn i32(&mut self, value: i32) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }
    pub fn i64(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_be_bytes());
    }
    pub fn uvarint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
    pub fn varint(&mut self, value: i64) {
        self.uvarint(((value << 1) ^ (value >> 63)) as u64);
    }
    /// The number of elements of a compact array or bytes of a compact string.
    pub fn count(&mut self, count: usize) {
        self.uvarint(count as u64 + 1);
    }
    pub fn text(&mut self, text: &str) {
        self.count(text.len());
        self.0.extend_from_slice(text.as_bytes());
    }
    pub fn no_tags(&mut self) {
        self.0.push(0);
    }
}

/// Reads what `Out` writes; too few bytes are an error.
#[derive(Clone, Copy)]
pub struct In<'a>(pub &'a [u8]);

impl<'a> In<'a> {
    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(count).ok_or("the answer is too short")?;
        self.0 = tail;
        Ok(head)
    }
    pub fn i8(&mut self) -> Result<i8> {
        Ok(self.take(1)?[0] as i8)
    }
    pub fn i16(&mut self) -> Result<i16> {
        Ok(i16::from_be_bytes(self.take(2)?.try_into()?))
    }
    pub fn i32(&mut self) -> Result<i32> {
        Ok(i32::from_be_bytes(self.take(4)?.try_into()?))
    }
    pub fn i64(&mut self) -> Result<i64> {
        Ok(i64::from_be_bytes(self.take(8)?.try_into()?))
    }
    pub fn uvarint(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number without end".into())
    }
    pub fn varint(&mut self) -> Result<i64> {
        let raw = self.uvarint()?;
        Ok((raw >> 1) as i64 ^ -((raw & 1) as i64))
    }
    /// The count of a compact array or string; null counts as none.
    pub fn count(&mut self) -> Result<usize> {
        Ok(self.uvarint()?.saturating_sub(1) as usize)
    }
    pub fn text(&mut self) -> Result<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }
    /// A string of the older form, with a length of two bytes; null counts as empty.
    pub fn old_text(&mut self) -> Result<&'a [u8]> {
        let count = self.i16()?.max(0) as usize;
        self.take(count)
    }
    pub fn tags(&mut self) -> Result<()> {
        for _ in 0..self.uvarint()? {
            self.uvarint()?;
            let size = self.uvarint()? as usize;
            self.take(size)?;
        }
        Ok(())
    }
}
