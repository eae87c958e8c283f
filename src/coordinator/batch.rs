//! Gathers the records of a turn into batches.

use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::coordinator::machine::Entry;
use crate::record::BatchBuilder;
use crate::record::CheckedBatch;
use crate::record::Codec;

/// More than the fixed fields and length prefixes of one record in a batch with it alone.
const OVERHEAD: usize = 61 + 64;

/// A batch under way.
pub(super) struct Gathering {
    codec: Codec,
    bytes_max: usize,
    producer: Option<(ProducerId, ProducerEpoch)>,
    open: Option<BatchBuilder>,
}

impl Gathering {
    pub(super) fn new(codec: Codec, bytes_max: usize) -> Gathering {
        Gathering { codec, bytes_max, producer: None, open: None }
    }

    /// For the records of a transaction alone. Kafka's coordinators number them from 0, and nobody checks.
    pub(super) fn in_transaction(&self, producer: ProducerId, epoch: ProducerEpoch) -> Gathering {
        Gathering {
            codec: self.codec,
            bytes_max: self.bytes_max,
            producer: Some((producer, epoch)),
            open: None,
        }
    }

    /// Whether the entry can be written at all.
    pub(super) fn fits(&self, entry: &Entry) -> bool {
        size(entry).saturating_add(OVERHEAD) <= self.bytes_max
    }

    /// Adds an entry. Gives the batch that is full without it, to be appended first.
    pub(super) fn push(&mut self, entry: &Entry, now: Timestamp) -> Option<CheckedBatch> {
        let crowded = |open: &BatchBuilder| open.size() + size(entry) + OVERHEAD > self.bytes_max;
        let full = self.open.take_if(|open| crowded(open)).map(BatchBuilder::build);
        let (codec, producer) = (self.codec, self.producer);
        let open = self.open.get_or_insert_with(|| match producer {
            Some((id, epoch)) => BatchBuilder::new(codec, now).producer(id, epoch, 0).transactional(),
            None => BatchBuilder::new(codec, now),
        });
        open.push(Some(&entry.key), entry.value.as_deref(), &[], now);
        full
    }

    /// Whether the batch is large enough to be sent off.
    pub(super) fn is_large(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.size() > self.bytes_max / 2)
    }

    /// The batch with what is left.
    pub(super) fn take(&mut self) -> Option<CheckedBatch> {
        self.open.take().map(BatchBuilder::build)
    }
}

fn size(entry: &Entry) -> usize {
    entry.key.len() + entry.value.as_ref().map_or(0, bytes::Bytes::len)
}
