//! How much memory members of groups may take, all groups of this broker together. Kafka has no such bound: there the
//! heap is one.
//!
//! What is there stays. A join or an assignment that would need more than there is left is refused with
//! COORDINATOR_NOT_AVAILABLE, which clients answer by trying again later.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use tracing::info;
use tracing::warn;

/// The memory of all groups of a broker.
#[derive(Debug)]
pub struct Memory {
    bytes_max: usize,
    used: AtomicUsize,
    /// The log has been told that it is used up.
    told: AtomicBool,
}

impl Memory {
    /// Nothing is used yet of `bytes_max` bytes.
    pub fn new(bytes_max: usize) -> Arc<Memory> {
        Arc::new(Memory { bytes_max, used: AtomicUsize::new(0), told: AtomicBool::new(false) })
    }

    /// Whether `bytes` more fit; says in the log when they do not, once until there is room again.
    pub(crate) fn has_room_for(&self, bytes: usize, group: &str) -> bool {
        let used = self.used.load(Ordering::Relaxed);
        let fits = used.saturating_add(bytes) <= self.bytes_max;
        if !fits && !self.told.swap(true, Ordering::Relaxed) {
            warn!(
                group,
                used,
                max = self.bytes_max,
                "members of groups use all the memory of dohle.group.memory.max.bytes; further ones are refused"
            );
        }
        fits
    }

    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: usize) {
        self.used.fetch_add(bytes, Ordering::Relaxed);
    }

    fn give_back(&self, bytes: usize) {
        let left = self.used.fetch_sub(bytes, Ordering::Relaxed).saturating_sub(bytes);
        if left <= self.bytes_max / 10 * 9 && self.told.swap(false, Ordering::Relaxed) {
            info!(used = left, max = self.bytes_max, "there is memory for members of groups again");
        }
    }
}

/// What one partition's groups take of the memory; given back when they go.
pub(crate) struct Share {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Share {
    pub(crate) fn new(memory: Arc<Memory>) -> Share {
        Share { memory, bytes: 0 }
    }

    /// A group that took `before` bytes now takes `after`.
    pub(crate) fn change(&mut self, before: usize, after: usize) {
        self.memory.take(after);
        self.memory.give_back(before);
        self.bytes = self.bytes.saturating_add(after).saturating_sub(before);
    }
}

impl Clone for Share {
    /// A copy of the groups takes as much again.
    fn clone(&self) -> Share {
        self.memory.take(self.bytes);
        Share { memory: Arc::clone(&self.memory), bytes: self.bytes }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.memory.give_back(self.bytes);
    }
}

impl fmt::Debug for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Share").field(&self.bytes).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_are_given_back() {
        let memory = Memory::new(100);
        let mut one = Share::new(Arc::clone(&memory));
        one.change(0, 60);
        one.change(60, 50);
        let copy = one.clone();
        assert_eq!(memory.used(), 100);
        assert!(memory.has_room_for(0, "g") && !memory.has_room_for(1, "g"));
        drop(copy);
        assert!(memory.has_room_for(50, "g"));
        drop(one);
        assert_eq!(memory.used(), 0);
    }
}
