//! An input taken apart: choices from its front, a body from what is left.

use bytes::Bytes;

/// Bytes from the fuzzer. Past the end everything is zero or empty.
#[derive(Debug)]
pub struct Input<'a> {
    rest: &'a [u8],
    size: usize,
    allowed: usize,
}

/// A body that begins with this byte is made long from a short input: see [`Input::body`].
const REPEATED: u8 = 0xfe;
/// The longest body made so.
const REPEATED_MAX: usize = 512 * 1024;

impl<'a> Input<'a> {
    /// Takes these bytes apart.
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { rest: bytes, size: bytes.len(), allowed: 0 }
    }

    /// Bytes of the input as its target saw them.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Bytes of heap beside the decoder's: the bodies themselves, and what a target allowed.
    pub fn allowed(&self) -> usize {
        self.allowed
    }

    /// Allows more heap, for what a format can reach from few bytes.
    pub(crate) fn allow(&mut self, bytes: usize) {
        self.allowed += bytes;
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    pub(crate) fn i32(&mut self) -> i32 {
        i32::from_be_bytes(self.array())
    }

    pub(crate) fn i64(&mut self) -> i64 {
        i64::from_be_bytes(self.array())
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let taken = self.take(N);
        array[..taken.len()].copy_from_slice(taken);
        array
    }

    /// At most `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    /// A piece behind its length of two bytes.
    pub(crate) fn piece(&mut self) -> Bytes {
        let length = usize::from(self.u16());
        Bytes::copy_from_slice(self.take(length))
    }

    /// Whether nothing is left.
    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// All that is left. Behind the byte 0xfe stand a length and a count, and the last `length` bytes are repeated
    /// `count` times: a fuzzer finds with a few bytes what needs many to grow.
    pub(crate) fn body(&mut self) -> Bytes {
        if self.rest.first() != Some(&REPEATED) {
            let all = self.take(usize::MAX);
            self.allowed += all.len();
            return Bytes::copy_from_slice(all);
        }
        self.u8();
        let (length, count) = (usize::from(self.u8()) + 1, usize::from(self.u16()));
        let all = self.take(usize::MAX);
        let (head, tail) = all.split_at(all.len().saturating_sub(length));
        let count = count.min(REPEATED_MAX / length);
        let mut body = Vec::with_capacity(head.len() + tail.len() * (count + 1));
        body.extend_from_slice(head);
        body.extend_from_slice(tail);
        for _ in 0..count {
            body.extend_from_slice(tail);
        }
        self.size += body.len() - all.len();
        self.allowed += body.len();
        Bytes::from(body)
    }

    /// As [`Input::body`], as text; what is no UTF-8 is replaced.
    pub(crate) fn text(&mut self) -> String {
        let body = self.body();
        let text = String::from_utf8_lossy(&body).into_owned();
        self.size = self.size.max(text.len());
        // The text grew while it was made.
        self.allowed += text.len() * 3;
        text
    }
}
