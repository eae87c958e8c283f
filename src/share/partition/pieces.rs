//! The records between the start and the end as pieces with the same state.

use crate::base::Instant;
use crate::share::Failure;
use crate::share::state::batches;
use crate::share::state::batches::Batch;
use crate::share::state::batches::State;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// What a record is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    /// Held by a member.
    Acquired,
    /// Anything that is kept.
    Kept(State),
}

impl Delivery {
    pub(super) const AVAILABLE: Delivery = Delivery::Kept(State::Available);

    pub(super) fn is_final(self) -> bool {
        matches!(self, Delivery::Kept(state) if state.is_final())
    }
}

/// A change of acquired records that is being written, so that it can be taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moving {
    pub(super) token: u64,
    pub(super) member: Arc<str>,
}

/// Consecutive records with the same state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    /// Where it ends (exclusive); it begins at its key.
    pub(super) end: i64,
    pub(super) delivery: Delivery,
    /// How often the records were delivered.
    pub(super) count: i16,
    /// Who holds them.
    pub(super) member: Option<Arc<str>>,
    /// Until when.
    pub(super) lock: Option<Instant>,
    pub(super) moving: Option<Moving>,
    /// The records that were first delivered together with these.
    pub(super) batch: Range<i64>,
}

impl Piece {
    pub(super) fn is_available(&self) -> bool {
        self.delivery == Delivery::AVAILABLE && self.moving.is_none()
    }

    /// Whether nothing more happens to these records, and all of that is kept.
    pub(super) fn is_settled(&self) -> bool {
        self.delivery.is_final() && self.moving.is_none()
    }

    /// The records are held by nobody, and are this.
    pub(super) fn rest(&mut self, state: State) {
        self.delivery = Delivery::Kept(state);
        self.member = None;
        self.lock = None;
        self.moving = None;
    }
}

/// The rules of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How often a record is delivered before it is given up.
    pub delivery_limit: i16,
    /// How many records may be under way at a time.
    pub locks_max: i64,
    /// Whether members may ask for more time.
    pub renews: bool,
    /// Whether records that are given up go to a dead-letter topic.
    pub dead_letters: bool,
}

/// Why a record is given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A member rejected it.
    Rejected,
    /// It was delivered too often.
    Exhausted,
}

/// Records for the dead-letter topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dead {
    /// The first.
    pub first: i64,
    /// Behind the last.
    pub end: i64,
    /// How often they were delivered.
    pub count: i16,
    /// Why they are given up; `None` where only the count tells.
    pub cause: Option<Cause>,
}

/// What is to be kept before it counts: see [`Partition::settle`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "a change that is never settled blocks its records"]
pub struct Change {
    pub(super) token: u64,
    /// The new states.
    pub batches: Vec<Batch>,
    /// What goes to the dead-letter topic once the states are kept.
    pub dead: Vec<Dead>,
}

impl Change {
    /// Whether nothing is to be kept.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    pub(super) fn add(&mut self, batch: Batch, cause: Option<Cause>) {
        batches::push(&mut self.batches, batch);
        if batch.state != State::Archiving {
            return;
        }
        match self.dead.last_mut() {
            Some(last) if last.end == batch.first && last.count == batch.count && last.cause == cause => {
                last.end = batch.end;
            }
            _ => self.dead.push(Dead { first: batch.first, end: batch.end, count: batch.count, cause }),
        }
    }
}

/// See the module.
#[derive(Clone, Debug)]
pub struct Partition {
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) pieces: BTreeMap<i64, Piece>,
    /// There may be something to deliver before the end.
    pub(super) seek: bool,
    pub(super) tokens: u64,
    /// No lock ends before this.
    pub(super) next_lock: Option<Instant>,
}

impl Partition {
    /// A share-partition with what is kept of it. Gives also what was on its way to the dead-letter topic.
    ///
    /// # Errors
    /// When what is kept contradicts itself.
    pub fn load(start: i64, kept: &[Batch]) -> Result<(Partition, Vec<Dead>), Failure> {
        let broken = Failure::new(
            crate::base::ErrorCode::UnknownServerError,
            "The state of the share partition is not valid.",
        );
        let mut partition = Partition {
            start,
            end: start,
            pieces: BTreeMap::new(),
            seek: !kept.is_empty(),
            tokens: 0,
            next_lock: None,
        };
        let mut dead = Vec::new();
        for batch in kept {
            // Gaps are records that were delivered and not kept: they are delivered again.
            if batch.first < partition.end || batch.end <= batch.first {
                return Err(broken);
            }
            let (delivery, batch_range) = (Delivery::Kept(batch.state), batch.first..batch.end);
            partition.put(batch.first..batch.end, delivery, batch.count, batch_range);
            partition.end = batch.end;
            if batch.state == State::Archiving {
                dead.push(Dead { first: batch.first, end: batch.end, count: batch.count, cause: None });
            }
        }
        partition.advance();
        Ok((partition, dead))
    }

    /// Where the records begin that the group is not done with.
    pub fn start(&self) -> i64 {
        self.start
    }

    /// Behind the last record that was delivered.
    pub fn end(&self) -> i64 {
        self.end
    }

    /// How many records from the start on are dealt with.
    pub fn complete_count(&self) -> i32 {
        let done = self.pieces.iter().filter(|(_, piece)| piece.delivery.is_final());
        let count: i64 = done.map(|(first, piece)| piece.end.saturating_sub(*first)).sum();
        i32::try_from(count).unwrap_or(i32::MAX)
    }

    /// When a lock may end; `None` when there is none.
    pub fn next_lock(&self) -> Option<Instant> {
        self.next_lock
    }

    /// Whether nobody holds anything, and nothing is being written or on its way to a dead-letter topic.
    pub fn is_quiet(&self) -> bool {
        self.pieces.values().all(|piece| {
            let resting = piece.is_available() || piece.delivery.is_final();
            resting && piece.moving.is_none()
        })
    }

    /// The first record that can be delivered: a gap, an available record, or what comes behind the end.
    pub fn next_offset(&mut self) -> i64 {
        if !self.seek {
            return self.end;
        }
        let mut at = self.start;
        for (first, piece) in &self.pieces {
            if *first > at {
                return at;
            }
            if piece.is_available() {
                return *first;
            }
            at = piece.end;
        }
        self.seek = false;
        self.end
    }

    /// Whether any record may be delivered now.
    pub fn has_room(&mut self, rules: &Rules) -> bool {
        self.next_offset() != self.end || self.end.saturating_sub(self.start) < rules.locks_max
    }

    /// The log begins at `log_start`: what lies before it is no more.
    pub fn cut(&mut self, log_start: i64) {
        if log_start <= self.start {
            return;
        }
        self.split(log_start);
        self.pieces = self.pieces.split_off(&log_start);
        self.start = log_start;
        self.end = self.end.max(log_start);
        self.seek = true;
        self.advance();
    }

    /// The records are this now, whatever they were.
    pub(super) fn put(&mut self, range: Range<i64>, delivery: Delivery, count: i16, batch: Range<i64>) {
        let piece = Piece { end: range.end, delivery, count, member: None, lock: None, moving: None, batch };
        self.pieces.insert(range.start, piece);
    }

    /// Makes a piece begin at `at`, where one has it in its midst.
    pub(super) fn split(&mut self, at: i64) {
        let Some((_, piece)) = self.pieces.range_mut(..at).next_back() else { return };
        if piece.end <= at {
            return;
        }
        let rest = piece.clone();
        piece.end = at;
        self.pieces.insert(at, rest);
    }

    /// The pieces of exactly this range; gaps are left out.
    pub(super) fn within(&mut self, range: Range<i64>) -> impl Iterator<Item = (i64, &mut Piece)> {
        let range = range.start..range.end.max(range.start);
        if !range.is_empty() {
            self.split(range.start);
            self.split(range.end);
        }
        self.pieces.range_mut(range).map(|(first, piece)| (*first, piece))
    }

    /// Moves the start behind what is dealt with.
    pub(super) fn advance(&mut self) {
        while let Some(first) = self.pieces.first_entry() {
            if *first.key() > self.start || !first.get().is_settled() {
                break;
            }
            self.start = self.start.max(first.get().end);
            first.remove();
        }
        if self.pieces.is_empty() {
            self.start = self.end;
        }
    }

    /// Joins pieces of this range and beside it that are dealt with, so that many small acknowledgements do not stay in
    /// memory one by one. That some were accepted and others given up is kept by the share coordinator.
    pub(super) fn join(&mut self, range: Range<i64>) {
        let from = self.pieces.range(..range.start).next_back().map_or(range.start, |(first, _)| *first);
        let firsts: Vec<i64> = self.pieces.range(from..=range.end).map(|(first, _)| *first).collect();
        let mut last: Option<i64> = None;
        for first in firsts {
            let Some(piece) = self.pieces.get(&first) else { continue };
            let joins = last
                .and_then(|last| self.pieces.get(&last))
                .is_some_and(|before| before.end == first && before.is_settled() && piece.is_settled());
            if !joins {
                last = Some(first);
                continue;
            }
            let Some(gone) = self.pieces.remove(&first) else { continue };
            if let Some(before) = last.and_then(|last| self.pieces.get_mut(&last)) {
                before.end = gone.end;
                before.batch = last.unwrap_or(first)..gone.end;
            }
        }
    }

    pub(super) fn change(&mut self) -> Change {
        self.tokens = self.tokens.wrapping_add(1);
        Change { token: self.tokens, batches: Vec::new(), dead: Vec::new() }
    }

    pub(super) fn note_lock(&mut self, lock: Instant) {
        self.next_lock = Some(self.next_lock.map_or(lock, |next| next.min(lock)));
    }
}
