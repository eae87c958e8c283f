//! The data partitions of the simulated cluster, in the fewest words: records, open transactions, markers.

use crate::base::ErrorCode;
use crate::txn::command::Markers;
use crate::txn::command::Producer;
use std::collections::BTreeMap;

/// One transaction as its client names it.
pub(super) type Tag = usize;

/// What became of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Open,
    Committed,
    Aborted,
}

#[derive(Clone, Debug)]
struct Stored {
    producer: Producer,
    tag: Tag,
    fate: Fate,
}

/// A data partition. It survives every crash: what it does in one is proven elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Data {
    records: Vec<Stored>,
    /// The highest epoch of each producer id.
    epochs: BTreeMap<i64, i16>,
    /// How many markers each producer id has: a verification that began before one is void.
    markers: BTreeMap<i64, usize>,
}

impl Data {
    /// What a verification that begins now is bound to; `None` where the producer's transaction is open already.
    pub(super) fn guard(&self, producer: Producer) -> Option<usize> {
        let open = self.records.iter().any(|one| one.producer == producer && one.fate == Fate::Open);
        (!open).then(|| self.markers.get(&producer.id.0).copied().unwrap_or(0))
    }

    /// Appends a record of a transaction; `proof` is the guard of the verification that speaks for it.
    pub(super) fn append(
        &mut self,
        producer: Producer,
        tag: Tag,
        proof: Option<usize>,
    ) -> Result<(), ErrorCode> {
        let epoch = self.epochs.entry(producer.id.0).or_insert(producer.epoch.0);
        if producer.epoch.0 < *epoch {
            return Err(ErrorCode::InvalidProducerEpoch);
        }
        *epoch = producer.epoch.0;
        if self.guard(producer).is_some_and(|guard| proof != Some(guard)) {
            return Err(ErrorCode::InvalidTxnState);
        }
        self.records.push(Stored { producer, tag, fate: Fate::Open });
        Ok(())
    }

    /// A marker ends what its producer id has open, unless it is out of date.
    pub(super) fn mark(&mut self, markers: &Markers) {
        let Producer { id, epoch } = markers.producer;
        let highest = self.epochs.entry(id.0).or_insert(epoch.0);
        let open = self.records.iter().any(|one| one.producer.id == id && one.fate == Fate::Open);
        if epoch.0 < *highest || (markers.epoch_grew && open && epoch.0 == *highest) {
            return;
        }
        *highest = epoch.0;
        *self.markers.entry(id.0).or_default() += 1;
        let fate = if markers.commit { Fate::Committed } else { Fate::Aborted };
        for one in self.records.iter_mut().filter(|one| one.producer.id == id && one.fate == Fate::Open) {
            one.fate = fate;
        }
    }

    /// What became of the records of a transaction.
    pub(super) fn fates(&self, tag: Tag) -> impl Iterator<Item = Fate> {
        self.records.iter().filter(move |one| one.tag == tag).map(|one| one.fate)
    }

    /// Transactions that hold readers up.
    pub(super) fn open(&self) -> impl Iterator<Item = Tag> {
        self.records.iter().filter(|one| one.fate == Fate::Open).map(|one| one.tag)
    }
}
