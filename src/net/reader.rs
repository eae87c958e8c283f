//! Requests out of a stream of bytes, with memory that follows what has come.

use crate::io::net::Stream;
use crate::net::budget::Budget;
use crate::net::budget::Charge;
use crate::net::budget::FREE;
use crate::protocol::frame;
use bytes::Bytes;
use bytes::BytesMut;
use std::io;

/// Room for the first request of a connection.
const ROOM_MIN: usize = 1024;
/// Most room that is made on the strength of a claim; a longer request gets more as it comes.
const ROOM_MAX: usize = (1 << 20) + (64 << 10);
/// Room for many small requests at once.
const ROOM_SMALL_MAX: usize = 256 << 10;

/// Room while the budget is short.
const ROOM_SHORT: usize = 64 << 10;

/// What [`Reader::fill`] brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filled {
    /// This many bytes.
    Bytes(usize),
    /// The budget covers the request that is here.
    Covered,
    /// The peer has closed its side.
    End,
}

/// The receiving side of one connection.
#[derive(Debug)]
pub(super) struct Reader {
    buffer: BytesMut,
    /// Room for the next request, from the sizes of those before.
    room: usize,
    /// What the request in the buffer has been charged.
    charge: Charge,
    /// Waiting for the budget, not for the peer.
    waits: bool,
    /// Has waited so since [`Reader::take_waited`].
    waited: bool,
    /// Bytes that have come in all.
    received: u64,
    limit: usize,
}

impl Reader {
    /// A reader that refuses requests longer than `limit` bytes.
    pub(super) fn new(limit: usize) -> Reader {
        Reader {
            buffer: BytesMut::new(),
            room: ROOM_MIN,
            charge: Charge::default(),
            waits: false,
            waited: false,
            received: 0,
            limit,
        }
    }

    /// The API key of the next request, when all of it is here.
    pub(super) fn next_key(&self) -> Result<Option<i16>, frame::Error> {
        if frame::missing(&self.buffer, self.limit)? > 0 {
            return Ok(None);
        }
        Ok(self.buffer.get(4..6).and_then(|key| key.first_chunk()).map(|key| i16::from_be_bytes(*key)))
    }

    /// The next request with what it was charged, when all of it is here and the budget covers it. The request is a
    /// slice of the receive buffer.
    pub(super) fn next(&mut self, budget: &Budget) -> Result<Option<(Bytes, Charge)>, frame::Error> {
        let missing = frame::missing(&self.buffer, self.limit)?;
        let length = self.first_length();
        if missing > 0 || !budget.try_cover(&mut self.charge, length) {
            return Ok(None);
        }
        let Some(frame) = frame::next(&mut self.buffer, self.limit)? else { return Ok(None) };
        let wanted = frame.len().saturating_add(4).clamp(ROOM_MIN, ROOM_MAX);
        // Grows at once and shrinks slowly.
        self.room = wanted.max(self.room - self.room / 8);
        Ok(Some((frame, std::mem::take(&mut self.charge))))
    }

    /// Waits for more bytes of the next request, or for the budget to cover it. May be dropped at will.
    ///
    /// # Errors
    /// Those of the stream; `InvalidData` with the [`frame::Error`] when the length can be no request's.
    pub(super) async fn fill(&mut self, stream: &mut Stream, budget: &Budget) -> io::Result<Filled> {
        let missing = frame::missing(&self.buffer, self.limit)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
        if missing == 0 {
            self.cover(budget, self.first_length()).await;
            return Ok(Filled::Covered);
        }
        let received = loop {
            // What is charged is what has come: a peer that sends nothing holds nothing for it.
            stream.readable().await?;
            let room = self.cover_room(missing, budget).await;
            let received = stream.read_now(&mut self.buffer, room).await?;
            self.charge.shrink(self.buffer.len());
            if let Some(received) = received {
                break received;
            }
        };
        self.received = self.received.saturating_add(u64::try_from(received).unwrap_or(u64::MAX));
        if self.buffer.len() == self.buffer.capacity() {
            self.room = self.room.max(self.room.saturating_mul(2).min(ROOM_SMALL_MAX));
        }
        Ok(if received == 0 { Filled::End } else { Filled::Bytes(received) })
    }

    /// Whether [`Reader::listen`] may go on: nothing whole is here, and no more than anybody may keep uncharged.
    pub(super) fn may_listen(&self) -> bool {
        self.buffer.len() < FREE && matches!(frame::missing(&self.buffer, self.limit), Ok(1..))
    }

    /// Waits for a little more of the next request while it is not its turn, so that the peer's end is noticed. May
    /// be dropped at will.
    ///
    /// # Errors
    /// Those of the stream.
    pub(super) async fn listen(&mut self, stream: &mut Stream) -> io::Result<Filled> {
        let room = if self.buffer.is_empty() { ROOM_MIN } else { FREE };
        let received = stream.read_into(&mut self.buffer, room).await?;
        Ok(if received == 0 { Filled::End } else { Filled::Bytes(received) })
    }

    /// The room for what comes next, when the budget covers it: as much as a request like the last one or the rest
    /// of this one may want, or less where the budget is short.
    async fn cover_room(&mut self, missing: usize, budget: &Budget) -> usize {
        let held = self.buffer.len();
        let wanted = if held == 0 {
            self.room
        } else {
            // At most double what has come, beyond a room that anybody gets.
            missing.min(ROOM_MAX.max(held))
        };
        if budget.try_cover(&mut self.charge, held.saturating_add(wanted)) {
            return wanted;
        }
        if held < FREE {
            return wanted.min(FREE - held);
        }
        let least = missing.min(ROOM_SHORT);
        self.cover(budget, held.saturating_add(least)).await;
        least
    }

    async fn cover(&mut self, budget: &Budget, bytes: usize) {
        if budget.try_cover(&mut self.charge, bytes) {
            return;
        }
        (self.waits, self.waited) = (true, true);
        budget.cover(&mut self.charge, bytes).await;
        self.waits = false;
    }

    /// Whether the request that comes in holds bytes of the budget.
    pub(super) fn holds_budget(&self) -> bool {
        self.charge.holds()
    }

    /// Whether it is the budget that the next bytes wait for, and not the peer.
    pub(super) fn waits_for_budget(&self) -> bool {
        self.waits
    }

    /// Whether that was so at any time since the last call.
    pub(super) fn take_waited(&mut self) -> bool {
        std::mem::replace(&mut self.waited, self.waits)
    }

    /// Bytes that [`Reader::fill`] has brought in all.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// Whether a request has begun and is not whole.
    pub(super) fn is_within_request(&self) -> bool {
        !self.buffer.is_empty()
    }

    /// Gives up the memory that is kept for the next request.
    pub(super) fn release(&mut self) {
        if self.buffer.is_empty() {
            self.buffer = BytesMut::new();
        }
    }

    /// Whether memory is kept.
    pub(super) fn holds_memory(&self) -> bool {
        self.buffer.capacity() > 0
    }

    fn first_length(&self) -> usize {
        let claimed = self.buffer.first_chunk::<4>().map_or(0, |length| i32::from_be_bytes(*length));
        usize::try_from(claimed).unwrap_or(0)
    }
}
