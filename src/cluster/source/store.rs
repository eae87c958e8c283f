//! Where the local source keeps its records: the metadata partition's log, or memory in tests.

use super::batches::Entry;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::cluster::Error;

/// A place for entries in order. An entry is durable once [`Store::append`] has returned.
#[derive(Debug)]
pub(crate) enum Store {
    /// Memory, shared with whoever opens it again: what a test restarts from.
    #[cfg(any(test, feature = "sim"))]
    Memory(std::sync::Arc<parking_lot::Mutex<Memory>>),
}

/// A log in memory.
#[cfg(any(test, feature = "sim"))]
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// Every entry with its first offset and its epoch.
    pub(crate) entries: Vec<(Offset, LeaderEpoch, Entry)>,
    /// The offset after the last record.
    pub(crate) end: Offset,
    /// When set, appends fail.
    pub(crate) broken: bool,
}

impl Store {
    /// The offset the next record gets.
    pub(crate) fn end(&self) -> Offset {
        match self {
            #[cfg(any(test, feature = "sim"))]
            Store::Memory(memory) => memory.lock().end,
        }
    }
}
