//! How much memory a kind of state may take, on all partitions of this broker together. Kafka has no such bound: there
//! the heap is one.
//!
//! What is there stays. What would need more than there is left is refused with COORDINATOR_NOT_AVAILABLE, which clients
//! answer by trying again later.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use tracing::info;
use tracing::warn;

/// The memory of all state of a kind.
#[derive(Debug)]
pub struct Memory {
    bytes_max: usize,
    used: AtomicUsize,
    /// The log has been told that it is used up.
    told: AtomicBool,
    /// What takes it, and the setting that says how much it may be.
    of: (&'static str, &'static str),
}

impl Memory {
    /// Nothing is used yet of `bytes_max` bytes. `what` takes it, as `setting` allows.
    pub fn new(bytes_max: i64, what: &'static str, setting: &'static str) -> Arc<Memory> {
        let bytes_max = usize::try_from(bytes_max).unwrap_or(usize::MAX);
        Arc::new(Memory {
            bytes_max,
            used: AtomicUsize::new(0),
            told: AtomicBool::new(false),
            of: (what, setting),
        })
    }

    /// Whether `bytes` more fit; says in the log when they do not, once until there is room again.
    pub(crate) fn has_room_for(&self, bytes: usize, id: &str) -> bool {
        let fits = self.fits(bytes);
        if !fits && !self.told.swap(true, Ordering::Relaxed) {
            let (used, (what, setting)) = (self.used.load(Ordering::Relaxed), self.of);
            warn!(
                id,
                used,
                max = self.bytes_max,
                "{what} use all the memory of {setting}; further ones are refused"
            );
        }
        fits
    }

    /// Whether `bytes` more fit.
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        self.used.load(Ordering::Relaxed).saturating_add(bytes) <= self.bytes_max
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
            info!(used = left, max = self.bytes_max, "there is memory for {} again", self.of.0);
        }
    }
}

/// What one partition takes of the memory; given back when it goes.
pub(crate) struct Share {
    memory: Arc<Memory>,
    bytes: usize,
}

impl Share {
    pub(crate) fn new(memory: Arc<Memory>) -> Share {
        Share { memory, bytes: 0 }
    }

    /// What took `before` bytes now takes `after`.
    pub(crate) fn change(&mut self, before: usize, after: usize) {
        self.memory.take(after);
        self.memory.give_back(before);
        self.bytes = self.bytes.saturating_add(after).saturating_sub(before);
    }
}

impl Clone for Share {
    /// A copy takes as much again.
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
        let memory = Memory::new(100, "members", "a.setting");
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
