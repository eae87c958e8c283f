//! Offset indexes of closed segments, read on demand and bounded in bytes.

use crate::log::offset_index::FileIndex;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Identifies a segment for as long as the process runs.
pub(crate) type SegmentKey = u64;

#[derive(Debug)]
struct Cached {
    index: FileIndex,
    used: u64,
}

#[derive(Debug, Default)]
struct State {
    cached: HashMap<SegmentKey, Cached>,
    bytes: usize,
    ticks: u64,
}

/// The cache.
#[derive(Debug)]
pub(crate) struct IndexCache {
    bytes_max: usize,
    state: Mutex<State>,
}

/// What an entry costs beside its bytes.
const OVERHEAD: usize = 64;

impl IndexCache {
    pub(crate) fn new(bytes_max: usize) -> IndexCache {
        IndexCache { bytes_max, state: Mutex::new(State::default()) }
    }

    /// The index of a segment, if it is here.
    pub(crate) fn get(&self, key: SegmentKey) -> Option<FileIndex> {
        let mut state = self.state.lock();
        state.ticks += 1;
        let now = state.ticks;
        let cached = state.cached.get_mut(&key)?;
        cached.used = now;
        Some(cached.index.clone())
    }

    /// Keeps an index; those not used for longest give way.
    pub(crate) fn put(&self, key: SegmentKey, index: FileIndex) {
        let mut state = self.state.lock();
        state.ticks += 1;
        let used = state.ticks;
        state.bytes += index.size() + OVERHEAD;
        if let Some(old) = state.cached.insert(key, Cached { index, used }) {
            state.bytes -= old.index.size() + OVERHEAD;
        }
        while state.bytes > self.bytes_max && state.cached.len() > 1 {
            let Some(oldest) = state.cached.iter().min_by_key(|entry| entry.1.used).map(|entry| *entry.0)
            else {
                return;
            };
            remove(&mut state, oldest);
        }
    }

    /// Forgets a segment's index: its file changed or is gone.
    pub(crate) fn forget(&self, key: SegmentKey) {
        remove(&mut self.state.lock(), key);
    }
}

fn remove(state: &mut State, key: SegmentKey) {
    if let Some(old) = state.cached.remove(&key) {
        state.bytes -= old.index.size() + OVERHEAD;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::offset_index::Entries;
    use crate::log::offset_index::Entry;
    use crate::log::offset_index::TailIndex;
    use bytes::Bytes;

    #[test]
    fn the_least_used_index_gives_way() {
        let index = |count: u32| {
            let tail = TailIndex::with((1..=count).map(|n| Entry { relative: n, position: n }));
            FileIndex::parse(Bytes::from(tail.encode_from(0)), u64::MAX).unwrap()
        };
        let cache = IndexCache::new(2 * (80 + OVERHEAD));
        cache.put(1, index(10));
        cache.put(2, index(10));
        assert!(cache.get(1).is_some());
        cache.put(3, index(10));
        assert!(cache.get(2).is_none(), "2 was not used for longest");
        assert_eq!(cache.get(1).map(|index| index.count()), Some(10));
        cache.forget(1);
        assert!(cache.get(1).is_none());
        assert!(cache.get(3).is_some());
    }
}
