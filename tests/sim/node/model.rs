//! What clients know of a node: the topics, records and offsets they asked for, and what they were told of each.

use crate::history::Promise;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use uuid::Uuid;

/// A batch with an offset that somebody was told, or saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) base: i64,
    pub(crate) count: i64,
    /// The number in its records; never used twice.
    pub(crate) value: u64,
    pub(crate) promise: Promise,
}

impl Batch {
    pub(crate) fn end(&self) -> i64 {
        self.base + self.count
    }
}

/// One partition's records.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partition {
    /// In order of offset.
    pub(crate) batches: Vec<Batch>,
    /// Batches whose fate nobody was told: value to count.
    pub(crate) maybe: BTreeMap<u64, i64>,
    /// The highest start that was asked for, and the highest that was confirmed and must not be passed.
    pub(crate) start_max: i64,
    pub(crate) producer: Producer,
}

/// The idempotent producer that writes to a partition.
#[derive(Clone, Debug)]
pub(crate) struct Producer {
    pub(crate) id: i64,
    pub(crate) epoch: i16,
    pub(crate) sequence: i32,
}

impl Default for Producer {
    fn default() -> Producer {
        Producer { id: -1, epoch: -1, sequence: 0 }
    }
}

/// What is known of a topic's being there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    /// Its creation was confirmed, and nobody asked for its end.
    Sure,
    /// A creation or a deletion had no clear answer.
    Unsure,
}

/// One topic.
#[derive(Clone, Debug)]
pub(crate) struct Topic {
    pub(crate) presence: Presence,
    pub(crate) id: Uuid,
    pub(crate) partitions: Vec<Partition>,
    /// `retention.bytes` as confirmed, and values whose fate is not known.
    pub(crate) setting: Known<i64>,
}

/// A value that was confirmed, and those that may have taken its place.
#[derive(Clone, Debug)]
pub(crate) struct Known<T> {
    pub(crate) confirmed: T,
    pub(crate) maybe: BTreeSet<T>,
}

impl<T: Ord> Known<T> {
    pub(crate) fn sure(value: T) -> Known<T> {
        Known { confirmed: value, maybe: BTreeSet::new() }
    }

    /// It was changed to this, as far as the asker knows.
    pub(crate) fn changed(&mut self, value: T, confirmed: bool) {
        if confirmed {
            *self = Known::sure(value);
        } else {
            self.maybe.insert(value);
        }
    }

    pub(crate) fn may_be(&self, value: &T) -> bool {
        self.confirmed == *value || self.maybe.contains(value)
    }
}

/// A committed offset's name: group, topic, partition.
pub(crate) type OffsetKey = (&'static str, String, i32);

/// All that is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct Model {
    pub(crate) topics: BTreeMap<String, Topic>,
    /// -1 stands for none.
    pub(crate) offsets: BTreeMap<OffsetKey, Known<i64>>,
}

impl Model {
    /// A topic's offsets go with it, some time.
    pub(crate) fn topic_may_go(&mut self, name: &str) {
        for (key, known) in &mut self.offsets {
            if key.1 == name {
                known.maybe.insert(-1);
            }
        }
    }

    /// A topic is gone for sure; nothing is expected of its offsets.
    pub(crate) fn topic_is_gone(&mut self, name: &str) {
        self.topics.remove(name);
        self.offsets.retain(|key, _| key.1 != name);
    }

    /// The process ends: promises that do not reach as far are void.
    pub(crate) fn forget_promises_below(&mut self, promise: Promise) {
        let partitions = self.topics.values_mut().flat_map(|topic| &mut topic.partitions);
        for batch in partitions.flat_map(|partition| &mut partition.batches) {
            if batch.promise < promise {
                batch.promise = Promise::None;
            }
        }
    }
}
