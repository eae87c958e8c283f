//! What a log remembers of its producers: the last five batches of each, and the transactions that are open
//! (classes `ProducerStateManager`, `ProducerStateEntry`, `ProducerAppendInfo`; KIP-98, KIP-360).
//!
//! The check and the change are apart: `check` reads, `apply` changes, and replay after a crash is `apply` alone.

use crate::base::Offset;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::log::aborted_index::AbortedTransaction;
use crate::log::error::ProducerError;
use crate::record::Header;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// How many batches of a producer are remembered; a producer may have five requests in flight.
pub(crate) const BATCHES_KEPT: usize = 5;
const NO_EPOCH: i16 = -1;
pub(crate) const NO_SEQUENCE: i32 = -1;

/// Who appends, and so how much is checked (class `AppendOrigin`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A produce request: epoch, sequence and duplicates are checked.
    Client,
    /// A coordinator's own write (offset commits, markers): only the epoch is checked.
    Coordinator,
}

/// A verification that began: what was asked of the coordinator counts for this and no other (class
/// `VerificationGuard`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Guard(u64);

/// No two verifications of this process have one guard, whatever logs are loaded anew meanwhile.
static GUARDS: AtomicU64 = AtomicU64::new(0);

/// How many verifications a log remembers.
const VERIFICATIONS_MAX: usize = 1_000;

/// What speaks for a batch that belongs to a transaction, or for the marker that ends one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Nothing: the first transactional batch of a producer is refused.
    None,
    /// Nothing is asked for (`transaction.partition.verification.enable=false`).
    Waived,
    /// The coordinator said, after this verification began, that the transaction is open (KIP-890).
    Verified(Guard),
    /// A marker of a transaction whose epoch grew with its end: it ends only what an older epoch began (KIP-1228).
    GrownEpoch,
}

/// A producer's batch before its transaction is open here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstBatch {
    /// The producer.
    pub id: ProducerId,
    /// Its epoch.
    pub epoch: ProducerEpoch,
    /// The batch's first sequence.
    pub sequence: i32,
    /// Whether the partition joins the transaction by this write, as from version 2 of transactions on (KIP-890). Such a
    /// producer has a new epoch for each transaction, and so begins at sequence 0.
    pub joins: bool,
}

/// A verification under way (class `VerificationStateEntry`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Verification {
    guard: Guard,
    since: Timestamp,
    epoch: i16,
    /// Batches behind the first that waits must not overtake it.
    lowest_sequence: i32,
    /// As the first that asked said of itself.
    joins: bool,
}

/// The end of a transaction as a control batch says it (class `EndTransactionMarker`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Marker {
    pub(crate) committed: bool,
    pub(crate) coordinator_epoch: i32,
}

/// One remembered batch; offsets and sequences are inclusive as in Kafka.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) last_sequence: i32,
    pub(crate) last_offset: Offset,
    pub(crate) offset_delta: i32,
    pub(crate) timestamp: Timestamp,
}

impl Batch {
    fn first_sequence(&self) -> i32 {
        if self.last_sequence >= self.offset_delta {
            self.last_sequence - self.offset_delta
        } else {
            // Sequences wrap from 2^31 - 1 to 0.
            i32::MAX - (self.offset_delta - self.last_sequence) + 1
        }
    }
}

/// What is remembered of one producer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) epoch: i16,
    pub(crate) coordinator_epoch: i32,
    pub(crate) last_timestamp: Timestamp,
    pub(crate) transaction_start: Option<Offset>,
    pub(crate) batches: VecDeque<Batch>,
}

impl State {
    fn unknown() -> State {
        State {
            epoch: NO_EPOCH,
            coordinator_epoch: -1,
            last_timestamp: Timestamp::NONE,
            transaction_start: None,
            batches: VecDeque::new(),
        }
    }

    pub(crate) fn last_sequence(&self) -> i32 {
        self.batches.back().map_or(NO_SEQUENCE, |batch| batch.last_sequence)
    }

    /// Whether a transaction of this epoch is open: one of an older epoch may wait for its marker.
    fn is_open(&self, epoch: i16) -> bool {
        self.transaction_start.is_some() && self.epoch == epoch
    }

    fn enter_epoch(&mut self, epoch: i16) {
        if self.epoch != epoch {
            self.batches.clear();
            self.epoch = epoch;
        }
    }
}

/// A producer as DescribeProducers shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProducerEntry {
    /// The producer's id.
    pub id: ProducerId,
    /// Its latest epoch.
    pub epoch: ProducerEpoch,
    /// The last sequence it wrote in this epoch; -1 when none.
    pub last_sequence: i32,
    /// The timestamp of its last write.
    pub last_timestamp: Timestamp,
    /// The epoch of the coordinator that wrote its last marker; -1 when none.
    pub coordinator_epoch: i32,
    /// Where its open transaction began.
    pub transaction_start: Option<Offset>,
}

/// What `check` found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Not seen before: to be appended.
    Fresh,
    /// One of the last five batches again: answered with its old place, nothing is appended.
    Duplicate { base: Offset, end: Offset, timestamp: Timestamp },
}

/// The producers of one log up to `end`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Producers {
    states: HashMap<ProducerId, State>,
    /// First offset of each open transaction.
    ongoing: BTreeMap<Offset, ProducerId>,
    /// First offset to marker offset of ended transactions whose marker is not yet below the high watermark.
    unreplicated: BTreeMap<Offset, Offset>,
    /// Transactional producers without a transaction here, that asked their coordinator. Not kept on disk: whoever
    /// asked before a restart asks again.
    verifications: HashMap<ProducerId, Verification>,
}

impl Producers {
    /// Whether the batch may be appended now. `marker` is what a control batch of a transaction says.
    pub(crate) fn check(
        &self,
        header: &Header,
        marker: Option<Marker>,
        (origin, proof): (Origin, Proof),
    ) -> Result<Verdict, ProducerError> {
        let id = ProducerId(header.producer_id);
        if id.0 < 0 {
            return Ok(Verdict::Fresh);
        }
        let Some(state) = self.states.get(&id) else {
            self.check_proof(id, header, proof)?;
            if origin == Origin::Client {
                self.check_order(id, header, None)?;
            }
            return Ok(Verdict::Fresh);
        };
        if origin == Origin::Client
            && let Some(duplicate) = find_duplicate(state, header)
        {
            return Ok(duplicate);
        }
        if !state.is_open(header.producer_epoch) {
            self.check_proof(id, header, proof)?;
        }
        // A marker that is written again, because its answer was lost, finds no open transaction.
        // An epoch that cannot grow any more ends what it began.
        let must_have_grown = proof == Proof::GrownEpoch
            && state.transaction_start.is_some()
            && header.producer_epoch < i16::MAX;
        if header.producer_epoch < state.epoch || (must_have_grown && header.producer_epoch == state.epoch) {
            return Err(ProducerError::InvalidEpoch {
                id,
                epoch: header.producer_epoch,
                current: state.epoch,
            });
        }
        if let Some(marker) = marker {
            if marker.coordinator_epoch < state.coordinator_epoch {
                return Err(ProducerError::CoordinatorFenced {
                    id,
                    epoch: marker.coordinator_epoch,
                    current: state.coordinator_epoch,
                });
            }
            return Ok(Verdict::Fresh);
        }
        if origin == Origin::Client {
            self.check_order(id, header, Some(state))?;
            check_sequence(id, state, header)?;
        }
        if state.transaction_start.is_some() && !header.is_transactional() && !header.is_control() {
            return Err(ProducerError::InvalidTransactionState { id });
        }
        Ok(Verdict::Fresh)
    }

    /// Begins the verification of a producer's transaction, or goes on with it; `None` when its transaction is open
    /// here, so that nothing need be asked (`UnifiedLog.maybeStartTransactionVerification`).
    pub(crate) fn verify(&mut self, first: FirstBatch, now: Timestamp) -> Option<Guard> {
        let FirstBatch { id, epoch: ProducerEpoch(epoch), sequence, joins } = first;
        if self.states.get(&id).is_some_and(|state| state.is_open(epoch)) {
            return None;
        }
        if self.verifications.len() >= VERIFICATIONS_MAX && !self.verifications.contains_key(&id) {
            self.forget_older_verifications();
        }
        let verification = self.verifications.entry(id).or_insert_with(|| Verification {
            guard: Guard(GUARDS.fetch_add(1, Ordering::Relaxed)),
            since: now,
            epoch,
            lowest_sequence: sequence,
            joins,
        });
        if epoch > verification.epoch {
            verification.epoch = epoch;
            verification.lowest_sequence = sequence;
        } else if epoch == verification.epoch {
            verification.lowest_sequence = verification.lowest_sequence.min(sequence);
        }
        Some(verification.guard)
    }

    /// Whether a verification is under way.
    pub(crate) fn has_verifications(&self) -> bool {
        !self.verifications.is_empty()
    }

    /// Goes on with the verifications that began at these.
    pub(crate) fn inherit(&mut self, from: &Producers) {
        self.verifications.clone_from(&from.verifications);
    }

    /// Lets half of them go. A coordinator that refuses a producer leaves its verification standing, and anybody may
    /// send ids that no coordinator knows.
    fn forget_older_verifications(&mut self) {
        let mut guards: Vec<Guard> = self.verifications.values().map(|known| known.guard).collect();
        let middle = guards.len() / 2;
        let (_, middle, _) = guards.select_nth_unstable(middle);
        let middle = *middle;
        self.verifications.retain(|_, known| known.guard >= middle);
    }

    /// The first batch of a transaction needs a word of the coordinator that is not older than the last marker.
    fn check_proof(&self, id: ProducerId, header: &Header, proof: Proof) -> Result<(), ProducerError> {
        if !header.is_transactional() || header.is_control() || proof == Proof::Waived {
            return Ok(());
        }
        let own = self.verifications.get(&id).map(|verification| verification.guard);
        match (proof, own) {
            (Proof::Verified(guard), Some(own)) if guard == own => Ok(()),
            _ => Err(ProducerError::Unverified { id }),
        }
    }

    /// No batch overtakes one of the same epoch that waits for its verification. Of a producer that joins its transactions
    /// by writing and has no batch here, the first has sequence 0: else one before it is lost, or this one comes late
    /// (`ProducerAppendInfo.checkSequence`).
    fn check_order(
        &self,
        id: ProducerId,
        header: &Header,
        state: Option<&State>,
    ) -> Result<(), ProducerError> {
        let Some(waits) = self.verifications.get(&id) else { return Ok(()) };
        let sequence = header.base_sequence;
        let has_batches = state.is_some_and(|state| !state.batches.is_empty());
        if waits.joins && sequence != 0 && !has_batches {
            return Err(ProducerError::OutOfOrderSequence { id, sequence, last: NO_SEQUENCE });
        }
        if sequence > waits.lowest_sequence {
            return Err(ProducerError::OutOfOrderSequence { id, sequence, last: waits.lowest_sequence });
        }
        Ok(())
    }

    /// Takes an appended (or replayed) batch in. An aborted transaction that it ends is returned for the index.
    pub(crate) fn apply(
        &mut self,
        header: &Header,
        base: Offset,
        marker: Option<Marker>,
    ) -> Option<AbortedTransaction> {
        let id = ProducerId(header.producer_id);
        if id.0 < 0 {
            return None;
        }
        if header.is_control() {
            let marker = marker?;
            self.verifications.remove(&id);
            return self.apply_marker(id, header, base, marker);
        }
        if header.is_transactional() {
            self.verifications.remove(&id);
        }
        let delta = header.last_offset_delta.max(0);
        let last_offset = Offset(base.0.saturating_add(i64::from(delta)));
        let state = self.states.entry(id).or_insert_with(State::unknown);
        state.enter_epoch(header.producer_epoch);
        if state.batches.len() == BATCHES_KEPT {
            state.batches.pop_front();
        }
        state.batches.push_back(Batch {
            last_sequence: header.last_sequence(),
            last_offset,
            offset_delta: delta,
            timestamp: Timestamp(header.max_timestamp),
        });
        state.last_timestamp = Timestamp(header.max_timestamp);
        if header.is_transactional() && state.transaction_start.is_none() {
            state.transaction_start = Some(base);
            self.ongoing.insert(base, id);
        }
        None
    }

    fn apply_marker(
        &mut self,
        id: ProducerId,
        header: &Header,
        base: Offset,
        marker: Marker,
    ) -> Option<AbortedTransaction> {
        let state = self.states.entry(id).or_insert_with(State::unknown);
        state.enter_epoch(header.producer_epoch);
        state.coordinator_epoch = marker.coordinator_epoch;
        state.last_timestamp = Timestamp(header.max_timestamp);
        let first = state.transaction_start.take()?;
        let last_stable = self
            .ongoing
            .iter()
            .find(|open| *open.1 != id)
            .map_or_else(|| Offset(base.0.saturating_add(1)), |open| *open.0);
        self.ongoing.remove(&first);
        self.unreplicated.insert(first, base);
        (!marker.committed).then_some(AbortedTransaction { producer: id, first, last: base, last_stable })
    }

    /// The first offset whose outcome is open, or decided but not yet below the high watermark.
    pub(crate) fn first_unstable(&self) -> Option<Offset> {
        let open = self.ongoing.keys().next();
        let ended = self.unreplicated.keys().next();
        open.into_iter().chain(ended).min().copied()
    }

    /// Ended transactions whose marker lies below `offset` (high watermark or log start) are stable now.
    pub(crate) fn replicated_to(&mut self, offset: Offset) {
        self.unreplicated.retain(|_, marker| *marker >= offset);
    }

    /// Forgets producers that wrote nothing for `expiration_ms` and have no open transaction.
    pub(crate) fn expire(&mut self, now: Timestamp, expiration_ms: i64) {
        self.states.retain(|_, state| {
            let idle_ms = now.0.saturating_sub(state.last_timestamp.0);
            state.transaction_start.is_some() || idle_ms < expiration_ms
        });
        self.verifications
            .retain(|_, verification| now.0.saturating_sub(verification.since.0) < expiration_ms);
    }

    /// How many producers there are, and the last write of the one whose open transaction is the oldest.
    pub(crate) fn figures(&self) -> (usize, Option<Timestamp>) {
        let oldest = self.ongoing.iter().next().and_then(|(_, id)| self.states.get(id));
        (self.states.len(), oldest.map(|state| state.last_timestamp))
    }

    /// All producers, in order of id.
    pub(crate) fn list(&self) -> Vec<ProducerEntry> {
        let mut list: Vec<ProducerEntry> = self
            .states
            .iter()
            .map(|(id, state)| ProducerEntry {
                id: *id,
                epoch: ProducerEpoch(state.epoch),
                last_sequence: state.last_sequence(),
                last_timestamp: state.last_timestamp,
                coordinator_epoch: state.coordinator_epoch,
                transaction_start: state.transaction_start,
            })
            .collect();
        list.sort_by_key(|entry| entry.id);
        list
    }

    /// Whether there is nothing to remember.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.states.is_empty() && self.ongoing.is_empty() && self.unreplicated.is_empty()
    }

    /// The states, for a snapshot.
    pub(crate) fn states(&self) -> impl Iterator<Item = (ProducerId, &State)> {
        self.states.iter().map(|(id, state)| (*id, state))
    }

    /// Takes an entry of a snapshot in. Entries of one producer come oldest batch first; the last one counts, and
    /// the earlier ones of its epoch are remembered batches. [`Producers::restored`] follows the last entry.
    pub(crate) fn restore(&mut self, id: ProducerId, mut state: State) {
        if let Some(earlier) = self.states.remove(&id).filter(|earlier| earlier.epoch == state.epoch) {
            for batch in earlier.batches.into_iter().rev() {
                let before = state.batches.front().is_none_or(|next| batch.last_offset < next.last_offset);
                if before && state.batches.len() < BATCHES_KEPT {
                    state.batches.push_front(batch);
                }
            }
        }
        self.states.insert(id, state);
    }

    /// Ends a restore: what is open is what the entries that count say. Whether each open transaction begins at an
    /// offset of its own, as a batch has one producer.
    pub(crate) fn restored(&mut self) -> bool {
        let starts = self.states.iter().filter_map(|(id, state)| Some((state.transaction_start?, *id)));
        let count = starts.clone().count();
        self.ongoing = starts.collect();
        self.ongoing.len() == count
    }
}

fn find_duplicate(state: &State, header: &Header) -> Option<Verdict> {
    if header.producer_epoch != state.epoch || header.is_control() {
        return None;
    }
    let same = |batch: &&Batch| {
        batch.first_sequence() == header.base_sequence && batch.last_sequence == header.last_sequence()
    };
    state.batches.iter().find(same).map(|batch| Verdict::Duplicate {
        base: Offset(batch.last_offset.0 - i64::from(batch.offset_delta)),
        end: Offset(batch.last_offset.0.saturating_add(1)),
        timestamp: batch.timestamp,
    })
}

fn check_sequence(id: ProducerId, state: &State, header: &Header) -> Result<(), ProducerError> {
    if state.epoch == NO_EPOCH {
        // All the producer's records are gone (retention, DeleteRecords): any sequence may follow.
        return Ok(());
    }
    let next = header.base_sequence;
    let last = state.last_sequence();
    let in_order = if header.producer_epoch == state.epoch {
        i64::from(next) == i64::from(last) + 1 || (next == 0 && last == i32::MAX)
    } else {
        next == 0
    };
    if in_order { Ok(()) } else { Err(ProducerError::OutOfOrderSequence { id, sequence: next, last }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Model {
        producers: Producers,
        end: i64,
    }

    impl Model {
        fn new() -> Model {
            Model { producers: Producers::default(), end: 0 }
        }

        fn header(&self, epoch: i16, sequence: i32, records: i32, transactional: bool) -> Header {
            Header {
                base_offset: 0,
                length: 100,
                leader_epoch: 0,
                magic: 2,
                crc: 0,
                attributes: if transactional { 0x10 } else { 0 },
                last_offset_delta: records - 1,
                base_timestamp: 1000,
                max_timestamp: 1000,
                producer_id: 7,
                producer_epoch: epoch,
                base_sequence: sequence,
                record_count: records,
            }
        }

        fn append(&mut self, epoch: i16, sequence: i32, records: i32) -> Result<Verdict, ProducerError> {
            let header = self.header(epoch, sequence, records, false);
            self.append_header(header)
        }

        fn append_header(&mut self, header: Header) -> Result<Verdict, ProducerError> {
            let verdict = self.producers.check(&header, None, (Origin::Client, Proof::Waived))?;
            if verdict == Verdict::Fresh {
                self.producers.apply(&header, Offset(self.end), None);
                self.end += i64::from(header.record_count);
            }
            Ok(verdict)
        }

        fn mark(
            &mut self,
            committed: bool,
            coordinator_epoch: i32,
        ) -> Result<Option<AbortedTransaction>, ProducerError> {
            let mut header = self.header(0, -1, 1, true);
            header.attributes = 0x30;
            let marker = Some(Marker { committed, coordinator_epoch });
            self.producers.check(&header, marker, (Origin::Coordinator, Proof::None))?;
            let ended = self.producers.apply(&header, Offset(self.end), marker);
            self.end += 1;
            Ok(ended)
        }
    }

    #[test]
    fn the_last_five_batches_are_duplicates_and_older_ones_are_out_of_order() {
        let mut model = Model::new();
        for sequence in 0..6 {
            assert_eq!(model.append(0, sequence * 10, 10), Ok(Verdict::Fresh));
        }
        for sequence in 1..6 {
            let base = i64::from(sequence) * 10;
            let expect =
                Verdict::Duplicate { base: Offset(base), end: Offset(base + 10), timestamp: Timestamp(1000) };
            assert_eq!(model.append(0, sequence * 10, 10), Ok(expect));
        }
        assert!(matches!(model.append(0, 0, 10), Err(ProducerError::OutOfOrderSequence { .. })));
        assert!(matches!(model.append(0, 61, 10), Err(ProducerError::OutOfOrderSequence { .. })));
    }

    #[test]
    fn sequences_wrap_to_zero() {
        let mut model = Model::new();
        assert_eq!(
            model.append(0, i32::MAX - 1, 4),
            Ok(Verdict::Fresh),
            "an unknown producer starts anywhere"
        );
        assert!(matches!(model.append(0, i32::MAX - 1, 4), Ok(Verdict::Duplicate { base: Offset(0), .. })));
        assert_eq!(model.append(0, 2, 1), Ok(Verdict::Fresh));
        let mut model = Model::new();
        assert_eq!(model.append(0, i32::MAX, 1), Ok(Verdict::Fresh));
        assert_eq!(model.append(0, 0, 1), Ok(Verdict::Fresh));
    }

    #[test]
    fn a_new_epoch_starts_at_zero_and_fences_the_old() {
        let mut model = Model::new();
        assert_eq!(model.append(0, 0, 5), Ok(Verdict::Fresh));
        assert!(matches!(model.append(1, 5, 1), Err(ProducerError::OutOfOrderSequence { .. })));
        assert_eq!(model.append(1, 0, 1), Ok(Verdict::Fresh));
        assert!(matches!(model.append(0, 5, 1), Err(ProducerError::InvalidEpoch { current: 1, .. })));
    }

    #[test]
    fn idle_producers_expire_but_not_those_in_a_transaction() {
        let mut model = Model::new();
        model.append(0, 0, 5).unwrap();
        model.producers.expire(Timestamp(1999), 1000);
        assert!(!model.producers.is_empty());
        model.producers.expire(Timestamp(2000), 1000);
        assert!(model.producers.is_empty());
        assert_eq!(model.append(0, 77, 5), Ok(Verdict::Fresh));
        let open = model.header(0, 82, 1, true);
        model.append_header(open).unwrap();
        model.producers.expire(Timestamp(i64::MAX), 1);
        assert_eq!(model.producers.list().len(), 1);
    }

    #[test]
    fn transactions_hold_the_last_stable_offset_until_their_marker_is_replicated() {
        let mut model = Model::new();
        let first = model.header(0, 0, 3, true);
        model.append_header(first).unwrap();
        assert_eq!(model.producers.first_unstable(), Some(Offset(0)));
        let plain = model.header(0, 3, 1, false);
        assert!(matches!(model.append_header(plain), Err(ProducerError::InvalidTransactionState { .. })));
        let aborted = model.mark(false, 4).unwrap().unwrap();
        assert_eq!((aborted.first, aborted.last, aborted.last_stable), (Offset(0), Offset(3), Offset(4)));
        assert_eq!(model.producers.first_unstable(), Some(Offset(0)), "the marker is not replicated");
        model.producers.replicated_to(Offset(4));
        assert_eq!(model.producers.first_unstable(), None);
        assert!(matches!(model.mark(true, 3), Err(ProducerError::CoordinatorFenced { .. })));
        assert_eq!(model.mark(true, 4), Ok(None), "a marker without data ends nothing");
    }

    #[test]
    fn verifications_of_ids_that_nobody_knows_are_bounded_and_the_newest_stay() {
        let mut producers = Producers::default();
        let count = i64::try_from(VERIFICATIONS_MAX).unwrap();
        let mut verify = |id| {
            let first = FirstBatch { id: ProducerId(id), epoch: ProducerEpoch(0), sequence: 0, joins: false };
            let guard = producers.verify(first, Timestamp(1));
            (guard, producers.verifications.len())
        };
        for id in 0..4 * count {
            let (guard, known) = verify(id);
            assert!(known <= VERIFICATIONS_MAX);
            assert_eq!(verify(id - id.min(count / 4)).1, known, "the newest quarter is remembered");
            assert_eq!(verify(id).0, guard);
        }
    }

    #[test]
    fn a_transaction_begins_only_with_a_word_that_is_newer_than_the_last_marker() {
        let mut model = Model::new();
        let id = ProducerId(7);
        let begin = |model: &mut Model, sequence, proof| {
            let header = model.header(0, sequence, 1, true);
            let verdict = model.producers.check(&header, None, (Origin::Client, proof))?;
            model.producers.apply(&header, Offset(model.end), None);
            model.end += 1;
            Ok::<_, ProducerError>(verdict)
        };
        let verify = |model: &mut Model, epoch, sequence| {
            let first = FirstBatch { id, epoch: ProducerEpoch(epoch), sequence, joins: false };
            model.producers.verify(first, Timestamp(1))
        };
        let unverified = Err(ProducerError::Unverified { id });
        assert_eq!(begin(&mut model, 0, Proof::None), unverified);
        let guard = verify(&mut model, 0, 0).unwrap();
        assert_eq!(verify(&mut model, 0, 5), Some(guard), "the same verification");
        assert!(matches!(
            begin(&mut model, 5, Proof::Verified(guard)),
            Err(ProducerError::OutOfOrderSequence { last: 0, .. })
        ));
        assert_eq!(begin(&mut model, 0, Proof::Verified(guard)), Ok(Verdict::Fresh));
        assert_eq!(verify(&mut model, 0, 1), None, "the transaction is open");
        assert_eq!(begin(&mut model, 1, Proof::None), Ok(Verdict::Fresh));
        model.mark(false, 1).unwrap();
        assert_eq!(begin(&mut model, 2, Proof::Verified(guard)), unverified, "the guard is used up");
        let late = verify(&mut model, 0, 2).unwrap();
        model.mark(false, 1).unwrap();
        assert_eq!(begin(&mut model, 2, Proof::Verified(late)), unverified, "a marker came between");
        assert_eq!(begin(&mut model, 2, Proof::Waived), Ok(Verdict::Fresh));
        let next_epoch = model.header(1, 0, 1, true);
        let check = |proof| model.producers.check(&next_epoch, None, (Origin::Client, proof));
        assert_eq!(check(Proof::None), unverified, "what is open is the transaction of another epoch");
        assert!(verify(&mut model, 1, 0).is_some());
    }

    #[test]
    fn who_joins_a_transaction_by_writing_begins_at_sequence_0() {
        // With state of its own, without, and with state that a marker left without batches.
        for (before, joins) in
            [(None, true), (None, false), (Some(0), true), (Some(0), false), (Some(1), true)]
        {
            let mut model = Model::new();
            let epoch = before.unwrap_or(0);
            match before {
                Some(0) => {
                    model.append(0, 0, 5).unwrap();
                }
                Some(_) => {
                    model.append(0, 0, 5).unwrap();
                    let mut header = model.header(1, -1, 1, true);
                    header.attributes = 0x30;
                    let marker = Some(Marker { committed: true, coordinator_epoch: 0 });
                    model.producers.apply(&header, Offset(5), marker);
                }
                None => {}
            }
            let begin = |model: &mut Model, sequence| {
                let first = FirstBatch { id: ProducerId(7), epoch: ProducerEpoch(epoch), sequence, joins };
                let guard = model.producers.verify(first, Timestamp(1)).unwrap();
                let header = model.header(epoch, sequence, 1, true);
                model.producers.check(&header, None, (Origin::Client, Proof::Verified(guard)))
            };
            let later = begin(&mut model, 5);
            let is_taken = match before {
                // What went before may be lost to retention: whoever does not join by writing goes on anywhere.
                None => !joins,
                Some(0) => true,
                Some(_) => false,
            };
            assert_eq!(later.is_ok(), is_taken, "{before:?} {joins}: {later:?}");
            if !is_taken {
                assert!(matches!(later, Err(ProducerError::OutOfOrderSequence { sequence: 5, .. })));
                assert_eq!(begin(&mut model, 0), Ok(Verdict::Fresh));
            }
        }
    }

    #[test]
    fn a_marker_of_a_grown_epoch_ends_only_what_an_older_epoch_began() {
        let mut model = Model::new();
        let header = model.header(3, 0, 1, true);
        model.append_header(header).unwrap();
        let marker = Some(Marker { committed: true, coordinator_epoch: 0 });
        let end = |model: &mut Model, epoch| {
            let mut header = model.header(epoch, -1, 1, true);
            header.attributes = 0x30;
            model.producers.check(&header, marker, (Origin::Coordinator, Proof::GrownEpoch))?;
            model.producers.apply(&header, Offset(10), marker);
            Ok::<_, ProducerError>(())
        };
        assert!(matches!(end(&mut model, 3), Err(ProducerError::InvalidEpoch { epoch: 3, current: 3, .. })));
        assert_eq!(end(&mut model, 4), Ok(()));
        assert_eq!(end(&mut model, 4), Ok(()), "written again");
        assert!(end(&mut model, 3).is_err());
        let last = model.header(i16::MAX, 0, 1, true);
        model.append_header(last).unwrap();
        assert_eq!(end(&mut model, i16::MAX), Ok(()), "no epoch follows");
    }
}
