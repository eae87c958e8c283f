//! An answer as the list of parts that go out one after the other.

use crate::io::FileSlice;
use bytes::Bytes;

/// A piece of an answer: bytes in memory, or bytes that are still on disk.
#[derive(Clone, Debug)]
pub enum Part {
    /// In memory.
    Bytes(Bytes),
    /// On disk, to be sent from there.
    File(FileSlice),
}

impl Part {
    /// How many bytes it has.
    pub fn len(&self) -> u64 {
        match self {
            Part::Bytes(bytes) => bytes.len() as u64,
            Part::File(slice) => slice.length,
        }
    }

    /// Whether it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A whole answer. Its first part begins with the four bytes of the frame's size.
#[derive(Clone, Debug)]
pub struct Response {
    /// The parts in their order.
    pub parts: Vec<Part>,
}

impl Response {
    /// How many bytes go out, the size field included.
    pub fn len(&self) -> u64 {
        self.parts.iter().map(Part::len).sum()
    }

    /// Whether nothing goes out; never so for an encoded answer.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
