//! Memory for answers that are larger than what was asked.
//!
//! A request may name the same group, resource or partition again and again, and Kafka answers each of them; or it asks
//! for all that there is, on a thousand connections that do not read. What an answer takes beyond its first part is
//! counted, for it and for all answers together, until it is sent; what finds no room is answered with an error in its
//! place. The rule: an answer that can be much larger than its request takes room here for each of its pieces.
//!
//! | answers | piece | without room |
//! |---|---|---|
//! | DescribeGroups, ConsumerGroupDescribe, ShareGroupDescribe, StreamsGroupDescribe | group | INVALID_REQUEST |
//! | OffsetFetch, DescribeShareGroupOffsets, ReadShareGroupState, DescribeProducers | partition, group | INVALID_REQUEST |
//! | DescribeConfigs, DescribeTransactions | resource, id | INVALID_REQUEST |
//! | FindCoordinator | key | COORDINATOR_NOT_AVAILABLE |
//! | ListGroups, ListTransactions | group, id | COORDINATOR_NOT_AVAILABLE for all |
//! | CreateTopics | topic | its settings are left out |
//! | StreamsGroupHeartbeat | endpoint | all are left out, and asked for again |
//! | Metadata | topic | LEADER_NOT_AVAILABLE |
//! | DescribeClientQuotas, DescribeLogDirs | entity, directory | INVALID_REQUEST |
//!
//! Others need no more than a small multiple of their request, or of a limit that they have (Fetch, ShareFetch,
//! DescribeTopicPartitions).

use crate::protocol::Part;
use crate::protocol::Response;
use bytes::Bytes;
use kafka_protocol::protocol::Encodable;
use std::sync::Arc;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::Semaphore;

/// What an answer may take without asking, in bytes: others that are large are no reason to refuse a small one.
const FREE: usize = 1 << 20;
/// What one answer may take.
const EACH: usize = 128 << 20;
/// What all answers beyond their free parts may take together.
const ALL: usize = 256 << 20;
/// It is taken in steps of this size.
const STEP: usize = 64 << 10;

/// The memory that answers share. Clones share it, too.
#[derive(Clone, Debug)]
pub struct AnswerMemory {
    left: Arc<Semaphore>,
    #[cfg(test)]
    shut: Arc<std::sync::atomic::AtomicBool>,
}

impl Default for AnswerMemory {
    fn default() -> AnswerMemory {
        AnswerMemory {
            left: Arc::new(Semaphore::new(ALL)),
            #[cfg(test)]
            shut: Arc::default(),
        }
    }
}

impl AnswerMemory {
    /// The memory of one answer.
    pub(crate) fn begin(&self) -> Room {
        #[cfg(test)]
        let full = self.shut.load(std::sync::atomic::Ordering::Relaxed);
        #[cfg(not(test))]
        let full = false;
        Room { memory: self.clone(), used: 0, held: None, full }
    }

    /// Whether no answer finds room, not even its first part.
    #[cfg(test)]
    pub(crate) fn shut(&self, is_shut: bool) {
        self.shut.store(is_shut, std::sync::atomic::Ordering::Relaxed);
    }
}

/// What one answer takes; given back with it.
#[derive(Debug)]
pub(crate) struct Room {
    memory: AnswerMemory,
    used: usize,
    held: Option<OwnedSemaphorePermit>,
    /// Something found no room: what comes after it finds none either.
    full: bool,
}

impl Room {
    /// Takes room for a piece of this many bytes; whether there was.
    pub(crate) fn take(&mut self, bytes: usize) -> bool {
        let used = self.used.saturating_add(bytes);
        self.full = self.full || used > EACH || !self.hold(used.saturating_sub(FREE));
        if !self.full {
            self.used = used;
        }
        !self.full
    }

    /// As [`Room::take`], for a piece that is encoded in this version.
    pub(crate) fn take_encoded(&mut self, piece: &impl Encodable, version: i16) -> bool {
        self.take(piece.compute_size(version).unwrap_or(usize::MAX))
    }

    /// Whether something found no room.
    pub(crate) fn is_full(&self) -> bool {
        self.full
    }

    fn hold(&mut self, bytes: usize) -> bool {
        let held = self.held.as_ref().map_or(0, OwnedSemaphorePermit::num_permits);
        if bytes <= held {
            return true;
        }
        let more = u32::try_from((bytes - held).max(STEP)).unwrap_or(u32::MAX);
        let Ok(more) = Arc::clone(&self.memory.left).try_acquire_many_owned(more) else { return false };
        match &mut self.held {
            Some(held) => held.merge(more),
            None => self.held = Some(more),
        }
        true
    }

    /// Ties the room to the answer: it is given back when the answer's bytes are.
    pub(crate) fn tie_to(self, mut response: Response) -> Response {
        let last = response.parts.last_mut();
        if let (Some(held), Some(Part::Bytes(last))) = (self.held, last) {
            let bytes = std::mem::take(last);
            *last = Bytes::from_owner(Tied { bytes, _held: held });
        }
        response
    }
}

struct Tied {
    bytes: Bytes,
    _held: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Tied {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn response() -> Response {
        Response { parts: vec![Part::Bytes(Bytes::from_static(b"answer"))], throttle_at: None }
    }

    #[test]
    fn answers_share_what_they_take_until_they_are_gone() {
        let memory = AnswerMemory::default();
        let mut first = memory.begin();
        assert!(first.take(FREE + EACH / 2));
        assert!(!first.take(EACH), "one answer takes only so much");
        assert!(!first.take(1), "what comes after what found no room finds none");
        let first = first.tie_to(response());
        let mut second = memory.begin();
        assert!(second.take(EACH));
        let mut third = memory.begin();
        assert!(!third.take(EACH), "all together take only so much");
        assert!(memory.begin().take(FREE), "a small one asks nobody");
        drop(first);
        let mut third = memory.begin();
        assert!(third.take(EACH));
        drop((second, third));
        assert_eq!(memory.left.available_permits(), ALL);
    }
}
