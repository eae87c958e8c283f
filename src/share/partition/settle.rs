//! When a change is kept, or is not; and when locks end.

use crate::base::Instant;
use crate::share::partition::acknowledge::Kind;
use crate::share::partition::acknowledge::target;
use crate::share::partition::pieces::Change;
use crate::share::partition::pieces::Dead;
use crate::share::partition::pieces::Delivery;
use crate::share::partition::pieces::Partition;
use crate::share::partition::pieces::Piece;
use crate::share::partition::pieces::Rules;
use crate::share::state::batches::Batch;
use crate::share::state::batches::State;
use std::ops::Range;

impl Partition {
    /// What was to be kept is kept, or cannot be: then the records are the member's again, as long as its lock holds.
    pub fn settle(&mut self, change: &Change, kept: bool, now: Instant, rules: &Rules) {
        if !kept {
            self.take_back(change, now, rules);
            return;
        }
        for range in spans(change) {
            let mut seek = false;
            for (_, piece) in self.within(range.clone()) {
                if piece.moving.as_ref().is_some_and(|moving| moving.token == change.token) {
                    piece.moving = None;
                    piece.lock = None;
                    seek |= piece.delivery == Delivery::AVAILABLE;
                }
            }
            self.seek |= seek;
            self.join(range);
        }
        self.advance();
    }

    pub(super) fn take_back(&mut self, change: &Change, now: Instant, rules: &Rules) {
        for range in spans(change) {
            let mut seek = false;
            let mut held: Option<Instant> = None;
            for (_, piece) in self.within(range.clone()) {
                let Some(moving) = piece.moving.take_if(|moving| moving.token == change.token) else {
                    continue;
                };
                if let Some(lock) = piece.lock.filter(|lock| *lock > now) {
                    piece.delivery = Delivery::Acquired;
                    piece.member = Some(moving.member);
                    held = Some(held.map_or(lock, |held| held.min(lock)));
                } else {
                    // Without a write there is no dead letter either.
                    let exhausted = piece.count >= rules.delivery_limit;
                    piece.rest(if exhausted { State::Archived } else { State::Available });
                    seek |= !exhausted;
                }
            }
            self.seek |= seek;
            if let Some(lock) = held {
                self.note_lock(lock);
            }
        }
        self.advance();
    }

    /// Ends the locks whose time is up. The records are released at once; the change tells what is to be kept.
    pub fn expire(&mut self, now: Instant, rules: &Rules) -> Change {
        let mut change = self.change();
        if self.next_lock.is_none_or(|next| next > now) {
            return change;
        }
        let mut next: Option<Instant> = None;
        let mut seek = false;
        for (first, piece) in &mut self.pieces {
            let Some(lock) = piece.lock.filter(|_| piece.moving.is_none()) else { continue };
            if lock > now {
                next = Some(next.map_or(lock, |next| next.min(lock)));
                continue;
            }
            let (state, cause) = target(Kind::Release, piece.count, rules);
            piece.rest(state);
            seek |= state == State::Available;
            change.add(Batch { first: *first, end: piece.end, state, count: piece.count }, cause);
        }
        // What is being written is looked at again when it cannot be kept.
        self.next_lock = next;
        self.seek |= seek;
        self.advance();
        change
    }

    /// The parts of these records that are given up already, though it could not be kept that they are: their locks have
    /// ended, and only a dead letter brings them further.
    pub fn given_up(&mut self, dead: Dead) -> Vec<Dead> {
        let given_up =
            |piece: &Piece| piece.delivery == Delivery::Kept(State::Archiving) && piece.moving.is_none();
        let pieces = self.within(dead.first..dead.end).filter(|(_, piece)| given_up(piece));
        pieces.map(|(first, piece)| Dead { first, end: piece.end, ..dead }).collect()
    }

    /// The records of the dead-letter topic are there, or will never be: they are given up. The change tells what is to
    /// be kept.
    pub fn bury(&mut self, first: i64, end: i64) -> Change {
        let mut change = self.change();
        for (first, piece) in self.within(first..end) {
            if piece.delivery == Delivery::Kept(State::Archiving) && piece.moving.is_none() {
                piece.rest(State::Archived);
                let batch = Batch { first, end: piece.end, state: State::Archived, count: piece.count };
                change.add(batch, None);
            }
        }
        self.join(first..end);
        self.advance();
        change
    }
}

fn spans(change: &Change) -> impl Iterator<Item = Range<i64>> {
    change.batches.iter().map(|batch| batch.first..batch.end)
}
