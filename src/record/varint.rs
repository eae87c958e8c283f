//! Kafka's zigzag varints, and a cursor that reads them from bytes nobody has checked.

/// Reads numbers and slices from the front of some bytes; `None` when they end too early.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Cursor<'a> {
        Cursor { rest: bytes }
    }

    /// What is not read yet.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `size` bytes.
    #[inline]
    pub(super) fn take(&mut self, size: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(size)?;
        self.rest = rest;
        Some(taken)
    }

    /// The next byte.
    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    /// A number of at most five bytes; bits past the 32nd are dropped, as Kafka drops them.
    #[inline]
    pub(super) fn varint(&mut self) -> Option<i32> {
        let mut raw = 0;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            raw |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed());
            }
        }
        None
    }

    /// A number of at most ten bytes.
    #[inline]
    pub(super) fn varlong(&mut self) -> Option<i64> {
        let mut raw = 0;
        for shift in [0, 7, 14, 21, 28, 35, 42, 49, 56, 63] {
            let byte = self.byte()?;
            raw |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some((raw >> 1).cast_signed() ^ -(raw & 1).cast_signed());
            }
        }
        None
    }

    /// Bytes behind their length; a negative length is null. The outer `None` is "too short".
    #[inline]
    pub(super) fn nullable_bytes(&mut self) -> Option<Option<&'a [u8]>> {
        match usize::try_from(self.varint()?) {
            Ok(size) => self.take(size).map(Some),
            Err(_) => Some(None),
        }
    }
}

/// Appends a 32-bit number.
pub(super) fn put_varint(buf: &mut Vec<u8>, value: i32) {
    put_varlong(buf, i64::from(value));
}

/// Appends a 64-bit number. A 32-bit one has the same bytes in both widths.
pub(super) fn put_varlong(buf: &mut Vec<u8>, value: i64) {
    let mut raw = (value << 1 ^ value >> 63).cast_unsigned();
    while raw >= 0x80 {
        let low = u8::try_from(raw & 0x7f).expect("seven bits fit");
        buf.push(low | 0x80);
        raw >>= 7;
    }
    buf.push(u8::try_from(raw).expect("below 0x80"));
}

/// Appends bytes behind their length, or a null.
///
/// # Panics
/// When there are 2 GiB or more of them: no record may be that large.
pub(super) fn put_nullable_bytes(buf: &mut Vec<u8>, bytes: Option<&[u8]>) {
    match bytes {
        Some(bytes) => {
            put_varint(buf, i32::try_from(bytes.len()).expect("a field of a record is below 2 GiB"));
            buf.extend_from_slice(bytes);
        }
        None => put_varint(buf, -1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_encodings() {
        for (value, bytes) in
            [(0, &[0][..]), (-1, &[1]), (1, &[2]), (63, &[126]), (64, &[0x80, 1]), (-65, &[0x81, 1])]
        {
            let mut buf = Vec::new();
            put_varint(&mut buf, value);
            assert_eq!(buf, bytes, "{value}");
        }
    }

    #[test]
    fn endless_and_cut_numbers_are_refused() {
        assert_eq!(Cursor::new(&[0xff; 20]).varint(), None);
        assert_eq!(Cursor::new(&[0xff; 20]).varlong(), None);
        assert_eq!(Cursor::new(&[0x80]).varint(), None);
        assert_eq!(Cursor::new(&[10, 1, 2]).nullable_bytes(), None);
    }

    proptest! {
        #[test]
        fn numbers_round_trip(narrow in any::<i32>(), wide in any::<i64>()) {
            let mut buf = Vec::new();
            put_varint(&mut buf, narrow);
            put_varlong(&mut buf, wide);
            let mut cursor = Cursor::new(&buf);
            prop_assert_eq!(cursor.varint(), Some(narrow));
            prop_assert_eq!(cursor.varlong(), Some(wide));
            prop_assert!(cursor.rest().is_empty());
        }
    }
}
