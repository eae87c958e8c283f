//! An answer as the list of parts that go out one after the other.

use crate::io::FileSlice;
use bytes::Bytes;
use bytes::BytesMut;
use std::time::Duration;

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
    /// Where in the first part the time stands that the client is asked to pause, where the answer has it.
    pub throttle_at: Option<usize>,
}

impl Response {
    /// How many bytes go out, the size field included.
    pub fn len(&self) -> u64 {
        self.parts.iter().map(Part::len).sum()
    }

    /// Asks the client to pause at least this long (`ThrottleTimeMs`); nothing where the answer has no place for it.
    pub fn raise_throttle(&mut self, pause: Duration) {
        let millis = i32::try_from(pause.as_millis()).unwrap_or(i32::MAX);
        let (Some(at), Some(Part::Bytes(first))) = (self.throttle_at, self.parts.first_mut()) else { return };
        let Some(end) = at.checked_add(4).filter(|end| *end <= first.len()) else { return };
        // Only what stands before it is copied: the rest may be large, and what owns it has to stay.
        let mut head = BytesMut::from(&first.split_to(end)[..]);
        if let Some(place) = head.get_mut(at..).and_then(|rest| rest.first_chunk_mut::<4>()) {
            *place = millis.max(i32::from_be_bytes(*place)).to_be_bytes();
        }
        self.parts.insert(0, Part::Bytes(head.freeze()));
    }

    /// Whether nothing goes out; never so for an encoded answer.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
