//! Which batches belong to aborted transactions, and when a marker may go (`CleanedTransactionMetadata`).
//!
//! Records of aborted transactions go at once. A marker stays until no batch of its transaction is left, and then for
//! as long as a tombstone does.

use crate::base::Offset;
use crate::base::ProducerId;
use crate::log::aborted_index::AbortedTransaction;
use crate::log::scan::after;
use crate::record::Header;
use crate::record::control::ControlType;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::collections::HashSet;

/// The transactions that are open where a walk over a log's batches is.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    /// Aborted ones that the walk has not reached, by first offset.
    ahead: BTreeSet<(Offset, ProducerId, Offset, Offset)>,
    /// Aborted ones that the walk is in, and whether a batch of theirs was met.
    aborted: HashMap<ProducerId, (AbortedTransaction, bool)>,
    /// Producers with a batch of a transaction that was not aborted.
    committed: HashSet<ProducerId>,
    /// Aborted transactions whose marker was met and of which a batch was met: the new segment's index.
    index: Vec<AbortedTransaction>,
}

impl Transactions {
    /// Adds the aborted transactions that touch what comes next; some may be known.
    pub(super) fn add(&mut self, aborted: Vec<AbortedTransaction>) {
        self.ahead.extend(aborted.iter().map(|one| (one.first, one.producer, one.last, one.last_stable)));
    }

    /// A batch of records: whether it may go because its transaction was aborted.
    pub(super) fn batch(&mut self, header: &Header) -> bool {
        self.enter(header);
        if !header.is_transactional() {
            return false;
        }
        let producer = ProducerId(header.producer_id);
        match self.aborted.get_mut(&producer) {
            Some((_, met)) => {
                *met = true;
                true
            }
            None => {
                self.committed.insert(producer);
                false
            }
        }
    }

    /// A control batch by the key of its first record (`None`: it has no record): whether it may go, later, because no
    /// batch of its transaction is left.
    pub(super) fn control(&mut self, header: &Header, key: Option<&[u8]>) -> bool {
        self.enter(header);
        let Some(key) = key else { return true };
        let producer = ProducerId(header.producer_id);
        match ControlType::parse(key) {
            Ok(ControlType::Abort) => match self.aborted.remove(&producer) {
                Some((transaction, true)) => {
                    self.index.push(transaction);
                    false
                }
                _ => true,
            },
            Ok(ControlType::Commit) => !self.committed.remove(&producer),
            _ => false,
        }
    }

    /// The aborted transactions whose markers were met since the last call, in the order of their markers.
    pub(super) fn take_index(&mut self) -> Vec<AbortedTransaction> {
        std::mem::take(&mut self.index)
    }

    fn enter(&mut self, header: &Header) {
        let end = after(header);
        while self.ahead.first().is_some_and(|next| next.0 < end) {
            let Some((first, producer, last, last_stable)) = self.ahead.pop_first() else { return };
            let transaction = AbortedTransaction { producer, first, last, last_stable };
            // One that ended before this batch was met in an earlier segment.
            if last.0 >= header.base_offset {
                self.aborted.entry(producer).or_insert((transaction, false));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ProducerEpoch;
    use crate::base::Timestamp;
    use crate::record::BatchBuilder;
    use crate::record::Codec;

    fn header(producer: i64, offset: i64) -> Header {
        let mut builder = BatchBuilder::new(Codec::None, Timestamp(1));
        builder.push(Some(b"k"), None, &[], Timestamp(1));
        let builder = builder.producer(ProducerId(producer), ProducerEpoch(0), 0).transactional();
        Header { base_offset: offset, ..*builder.build().header() }
    }

    fn aborted(producer: i64, first: i64, last: i64) -> AbortedTransaction {
        let producer = ProducerId(producer);
        AbortedTransaction {
            producer,
            first: Offset(first),
            last: Offset(last),
            last_stable: Offset(last + 1),
        }
    }

    #[test]
    fn aborted_batches_go_and_markers_stay_until_their_batches_are_gone() {
        let (abort, commit) = (ControlType::Abort.key(), ControlType::Commit.key());
        let mut walk = Transactions::default();
        walk.add(vec![aborted(1, 2, 5)]);
        assert!(!walk.batch(&header(1, 0)), "an earlier transaction of that producer");
        assert!(!walk.control(&header(1, 1), Some(&commit)));
        assert!(walk.batch(&header(1, 2)));
        assert!(!walk.batch(&header(2, 3)), "another producer");
        walk.add(vec![aborted(1, 2, 5)]);
        assert!(walk.batch(&header(1, 4)));
        assert!(!walk.control(&header(1, 5), Some(&abort)), "batches of it were met");
        assert_eq!(walk.take_index(), vec![aborted(1, 2, 5)]);
        walk.add(vec![aborted(1, 2, 5)]);
        assert!(!walk.batch(&header(1, 6)), "the next one is not aborted");
        assert!(!walk.control(&header(1, 7), Some(&commit)));
        assert!(!walk.control(&header(2, 8), Some(&commit)));
        assert!(walk.control(&header(2, 9), Some(&commit)), "no batch of it is left");
        assert!(walk.control(&header(3, 10), Some(&abort)));
        assert!(walk.control(&header(3, 11), None), "emptied");
        assert!(!walk.control(&header(-1, 12), Some(&ControlType::LeaderChange.key())));
        assert!(walk.take_index().is_empty());
    }
}
