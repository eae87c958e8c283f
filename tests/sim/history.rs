//! What a partition's client knows: the batches it appended, and what it was told about each.

use dohle::base::Offset;
use dohle::log::Appended;

/// How much was promised for a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Promise {
    /// Nothing: it may be lost by any crash.
    None,
    /// It survives the end of the process.
    Written,
    /// It survives a power cut.
    Synced,
}

/// One batch of the history.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    pub(crate) appended: Appended,
    /// The value of its records; never used twice.
    pub(crate) value: u64,
    pub(crate) sequence: i32,
    pub(crate) sync: bool,
    pub(crate) promise: Promise,
    /// The process that took it still owes an answer.
    pub(crate) open: bool,
}

/// All batches that may be in the log, in order of offset.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) batches: Vec<Batch>,
    /// The highest log start that was set.
    pub(crate) start: i64,
    /// The producer's next sequence; its epoch goes up when batches are lost.
    pub(crate) sequence: i32,
    pub(crate) epoch: i16,
}

impl History {
    /// Batches beyond `end` are gone. The producer starts a new epoch when one of them was its own.
    pub(crate) fn cut(&mut self, end: Offset) {
        let before = self.batches.len();
        self.batches.retain(|batch| batch.appended.end_offset <= end);
        if self.batches.len() < before {
            self.epoch += 1;
            self.sequence = 0;
        }
    }

    /// The process ends: what was not promised to survive that may be there, but counts as unpromised, and nobody
    /// answers any more.
    pub(crate) fn forget_promises_below(&mut self, promise: Promise) {
        for batch in &mut self.batches {
            batch.open = false;
            if batch.promise < promise {
                batch.promise = Promise::None;
            }
        }
    }
}

impl History {
    /// What a log shows after its start is on stable storage.
    pub(crate) fn all_synced(&mut self) {
        for batch in &mut self.batches {
            batch.promise = Promise::Synced;
        }
    }

    /// Whether a batch was the producer's last in its present epoch.
    pub(crate) fn is_current(&self, batch: &Batch) -> bool {
        let count = i32::try_from(batch.appended.end_offset.0 - batch.appended.base_offset.0).unwrap();
        batch.sequence + count == self.sequence
    }
}
