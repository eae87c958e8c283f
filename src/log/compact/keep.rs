//! What stays of a batch: Kafka's rules (`Cleaner.cleanInto`, `Cleaner.shouldRetainRecord`).

use crate::base::Offset;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::log::Log;
use crate::log::compact::clean::Stats;
use crate::log::compact::offset_map::OffsetMap;
use crate::log::compact::transactions::Transactions;
use crate::log::error::Error;
use crate::log::scan::after;
use crate::record::Header;
use crate::record::Left;
use crate::record::records;
use crate::record::retain;
use crate::record::retain::Horizon;
use crate::record::retain::Placed;
use crate::record::retain::emptied;
use crate::record::retain::look;
use bytes::Bytes;
use std::collections::HashMap;

/// What a batch may decompress to; one with more makes its partition uncleanable.
pub(super) const DECOMPRESSED_MAX: usize = 256 << 20;

/// The last offset of each key, up to an offset.
pub(super) struct Known {
    pub(super) map: OffsetMap,
    pub(super) last: Offset,
}

/// The last record of a producer (class `LastRecord`): its batch stays, so that its sequence is not lost.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastRecord {
    /// `None` where its last batch is a marker.
    offset: Option<Offset>,
    epoch: i16,
}

/// What becomes of a batch.
pub(super) enum Fate {
    Stays,
    Becomes(Bytes),
    Goes,
}

/// What the rules rest on.
pub(super) struct Rules<'a> {
    pub(super) known: &'a Known,
    pub(super) producers: HashMap<ProducerId, LastRecord>,
    pub(super) now: Timestamp,
    /// The batch that ends here stays, if need be empty, so that the last offset is not lost.
    pub(super) round_end: Offset,
    pub(super) delete_retention_ms: i64,
}

impl Rules<'_> {
    /// What becomes of the next batch.
    pub(super) fn fate(
        &self,
        (header, batch): (&Header, &[u8]),
        transactions: &mut Transactions,
        stats: &mut Stats,
    ) -> Result<Fate, records::Error> {
        let may_go = if header.is_control() {
            transactions.control(header, first_key(batch)?.as_deref())
        } else {
            transactions.batch(header)
        };
        let is_over = header.delete_horizon().is_some_and(|horizon| horizon <= self.now);
        let all_go = may_go && (is_over || !header.is_control());
        let horizon = Horizon {
            at: Timestamp(self.now.0.saturating_add(self.delete_retention_ms)),
            always: may_go && header.is_control(),
        };
        let mut keyless = 0;
        let mut hashes = Vec::new();
        let keep = |records: &[Placed<'_>], answers: &mut Vec<bool>| {
            if header.is_control() {
                answers.resize(records.len(), true);
                return;
            }
            let map = &self.known.map;
            map.hashes(records.iter().filter_map(|(_, record)| record.key), &mut hashes);
            let mut hashes = hashes.iter();
            for (offset, record) in records {
                // No later record of the key is known; one without a key cannot stay in a compacted log.
                let hash = record.key.and_then(|_| hashes.next());
                let is_latest =
                    hash.is_some_and(|hash| map.get(*hash).is_none_or(|latest| *offset >= latest));
                let is_unknown = *offset > self.known.last;
                keyless += u64::from(!is_unknown && record.key.is_none());
                answers.push(is_unknown || (is_latest && (record.value.is_some() || !is_over)));
            }
        };
        let left = if all_go { Left::Nothing } else { retain(batch, DECOMPRESSED_MAX, horizon, keep)? };
        let stays_empty = after(header) == self.round_end || self.is_last_of_producer(header);
        let (fate, kept) = match left {
            Left::Whole(count) => (Fate::Stays, count),
            Left::Part(part, count) => (Fate::Becomes(part), count),
            Left::Nothing if stays_empty && header.record_count == 0 => (Fate::Stays, 0),
            Left::Nothing if stays_empty => (Fate::Becomes(emptied(header)), 0),
            Left::Nothing => (Fate::Goes, 0),
        };
        stats.keyless = stats.keyless.saturating_add(keyless);
        let count = u64::try_from(header.record_count).unwrap_or(0);
        stats.records_read = stats.records_read.saturating_add(count);
        stats.records_kept = stats.records_kept.saturating_add(u64::try_from(kept).unwrap_or(0));
        Ok(fate)
    }

    fn is_last_of_producer(&self, header: &Header) -> bool {
        let last = self.producers.get(&ProducerId(header.producer_id)).filter(|_| header.has_producer_id());
        last.is_some_and(|last| match last.offset {
            Some(offset) => header.last_offset() == offset.0,
            None => header.is_control() && header.producer_epoch == last.epoch,
        })
    }
}

impl Log {
    /// The last record of every producer that is remembered.
    pub(super) fn last_records(&self) -> Result<HashMap<ProducerId, LastRecord>, Error> {
        let mut core = self.core.lock();
        let states = self.warm(&mut core)?.producers.states();
        let last = states.map(|(id, state)| {
            let offset = state.batches.back().map(|batch| batch.last_offset);
            (id, LastRecord { offset, epoch: state.epoch })
        });
        Ok(last.collect())
    }
}

/// The key of a control batch's first record; `None` where it has no record.
pub(super) fn first_key(batch: &[u8]) -> Result<Option<Vec<u8>>, records::Error> {
    let mut key = None;
    look(batch, DECOMPRESSED_MAX, |records| {
        key = records.first().map(|(_, record)| record.key.unwrap_or_default().to_vec());
        false
    })?;
    Ok(key)
}
