//! Giving records to a member (`SharePartition.acquire`).

use crate::base::Instant;
use crate::share::partition::pieces::Delivery;
use crate::share::partition::pieces::Partition;
use crate::share::partition::pieces::Rules;
use crate::share::state::batches::State;
use std::ops::Range;
use std::sync::Arc;

/// Who wants how many records.
#[derive(Clone, Debug)]
pub struct Acquire {
    /// The member.
    pub member: Arc<str>,
    /// How many records; without `exact` whole batches may make it more.
    pub records_max: i64,
    /// How many records one acquired range had best have.
    pub batch_size: i64,
    /// Never more than `records_max` (KIP-1206).
    pub exact: bool,
    /// Where the log was read from.
    pub from: i64,
    /// Until when the records are the member's.
    pub lock: Instant,
}

/// A record batch that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its first offset.
    pub first: i64,
    /// Behind its last.
    pub end: i64,
    /// It belongs to a transaction that was aborted, and is not for this group.
    pub aborted: bool,
}

/// Records that are the member's now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acquired {
    /// The first.
    pub first: i64,
    /// Behind the last.
    pub end: i64,
    /// The how-manieth delivery this is.
    pub count: i16,
}

impl Partition {
    /// Gives records of the batches that were read to a member, in order.
    pub fn acquire(&mut self, request: &Acquire, found: &[Found], rules: &Rules) -> Vec<Acquired> {
        let (Some(first), Some(last)) = (found.first(), found.last()) else { return Vec::new() };
        if request.records_max <= 0 || last.end <= self.start {
            return Vec::new();
        }
        let mut limit = last.end;
        let mut wanted = request.records_max.min(rules.locks_max.saturating_sub(self.under_way()));
        if wanted <= 0 {
            if request.from >= self.end {
                return Vec::new();
            }
            // No further records may be under way, but those that are may be delivered again.
            wanted = request.records_max.min(self.end.saturating_sub(request.from));
            limit = limit.min(self.end);
        }
        self.fill(request.from, first.first);
        let mut walk = Walk { request, found, rules, wanted, acquired: Vec::new(), count: 0 };
        let mut at = first.first.max(self.start);
        while at < limit && walk.count < walk.wanted {
            match self.step(&mut walk, at, limit) {
                Some(next) => at = next,
                None => break,
            }
        }
        let Walk { mut acquired, .. } = walk;
        self.drop_aborted(found, &mut acquired);
        if !acquired.is_empty() {
            self.note_lock(request.lock);
        }
        acquired
    }

    /// How many records are under way.
    fn under_way(&self) -> i64 {
        self.end.saturating_sub(self.start)
    }

    /// Acquires what lies at `at`; gives where to go on, `None` when enough is acquired.
    fn step(&mut self, walk: &mut Walk<'_>, at: i64, limit: i64) -> Option<i64> {
        let here = self.pieces.range(..=at).next_back().filter(|(_, piece)| piece.end > at);
        if let Some(batch) = here.map(|(_, piece)| piece.batch.clone()) {
            let end = batch.end.min(limit).max(at.saturating_add(1));
            return self.acquire_again(walk, at..end, batch).then_some(end);
        }
        let next = self.pieces.range(at..).next().map_or(limit, |(first, _)| (*first).min(limit));
        Some(self.acquire_new(walk, at..next))
    }

    /// Records that were not delivered yet. Gives where to go on.
    fn acquire_new(&mut self, walk: &mut Walk<'_>, range: Range<i64>) -> i64 {
        let wanted = walk.wanted.saturating_sub(walk.count);
        let mut end = range.end;
        if wanted < range.end.saturating_sub(range.start) {
            // A batch is not cut: the member gets it whole anyway.
            let last = range.start.saturating_add(wanted).saturating_sub(1);
            let whole = walk.found.iter().find(|batch| (batch.first..batch.end).contains(&last));
            end = whole.map_or_else(|| last.saturating_add(1), |batch| batch.end).min(range.end);
        }
        if self.pieces.is_empty() {
            self.start = range.start;
        }
        self.end = self.end.max(end);
        let mut first = range.start;
        if walk.request.exact && end.saturating_sub(first) > wanted {
            let cut = first.saturating_add(wanted);
            self.put(first..cut, Delivery::Acquired, 1, first..end);
            self.put(cut..end, Delivery::AVAILABLE, 0, first..end);
            self.seek = true;
            walk.give(first..cut, 1);
            self.hold(first..cut, walk.request);
            return cut.max(end);
        }
        let splits = !walk.request.exact && end.saturating_sub(first) > walk.request.batch_size;
        let found = walk.found;
        let bounds = found.iter().map(|batch| batch.first).filter(|first| *first < end && splits);
        for bound in bounds.chain(std::iter::once(end)) {
            let full = bound.saturating_sub(first) >= walk.request.batch_size;
            if bound == end || (full && bound > first) {
                self.put(first..bound, Delivery::Acquired, 1, first..bound);
                self.hold(first..bound, walk.request);
                walk.give(first..bound, 1);
                first = bound;
            }
        }
        end
    }

    /// Records of one batch that were delivered before. Whether more may be acquired after them.
    ///
    /// Records that have failed often are delivered in smaller and smaller portions, and alone the last time, so that
    /// one that ends its consumers does not take others with it (KIP-932, "poison" records).
    fn acquire_again(&mut self, walk: &mut Walk<'_>, range: Range<i64>, batch: Range<i64>) -> bool {
        let limit = walk.rules.delivery_limit;
        let throttle_from = throttle_from(limit);
        let worst = self.within(range.clone()).filter(|(_, piece)| piece.is_available());
        let throttles = worst.map(|(_, piece)| piece.count).max().is_some_and(|worst| worst >= throttle_from);
        if throttles && walk.count > 0 {
            return false;
        }
        let firsts: Vec<i64> = self.within(range.clone()).map(|(first, _)| first).collect();
        let size = batch.end.saturating_sub(batch.start);
        let whole = firsts.len() == 1 && range == batch && !throttles;
        let mut portion: Option<i64> = None;
        let mut here: i64 = 0;
        for first in firsts {
            let Some(piece) = self.pieces.get(&first).filter(|piece| piece.is_available()) else { continue };
            let (end, count) = (piece.end, piece.count);
            let is_last = limit > 2 && count == limit.saturating_sub(1);
            if is_last && here > 0 {
                break;
            }
            let mut take = end.saturating_sub(first);
            if count >= throttle_from {
                let shift = u32::try_from(count.saturating_sub(throttle_from)).unwrap_or(0).min(61) + 1;
                portion.get_or_insert_with(|| (size >> shift).max(1));
            }
            if let Some(portion) = portion {
                take = take.min(portion.saturating_sub(here).max(1));
            }
            if walk.request.exact {
                take = take.min(walk.wanted.saturating_sub(walk.count));
            }
            if is_last {
                take = 1;
            }
            let taken = first..first.saturating_add(take);
            self.take_again(taken.clone(), walk.request);
            walk.give_again(taken, count.saturating_add(1), whole);
            here = here.saturating_add(take);
            let portioned = portion.is_some_and(|portion| here >= portion);
            if is_last || portioned || (walk.request.exact && walk.count >= walk.wanted) {
                break;
            }
        }
        !(throttles && here > 0)
    }

    fn take_again(&mut self, range: Range<i64>, request: &Acquire) {
        for (_, piece) in self.within(range.clone()) {
            piece.delivery = Delivery::Acquired;
            piece.count = piece.count.saturating_add(1);
        }
        self.hold(range, request);
    }

    fn hold(&mut self, range: Range<i64>, request: &Acquire) {
        for (_, piece) in self.within(range) {
            piece.member = Some(Arc::clone(&request.member));
            piece.lock = Some(request.lock);
        }
    }

    /// What was asked for from `from` on and is not there up to `found` is not in the log any more.
    fn fill(&mut self, from: i64, found: i64) {
        let from = from.max(self.start);
        if from >= found || self.pieces.is_empty() {
            return;
        }
        for (_, piece) in self.within(from..found) {
            if piece.is_available() {
                piece.rest(State::Archived);
            }
        }
        let mut gaps = Vec::new();
        let mut at = from;
        if let Some((_, before)) = self.pieces.range(..from).next_back() {
            at = at.max(before.end);
        }
        for (first, piece) in self.pieces.range(from..found) {
            if *first > at {
                gaps.push(at..*first);
            }
            at = at.max(piece.end);
        }
        if at < found {
            gaps.push(at..found);
        }
        for gap in gaps {
            self.put(gap.clone(), Delivery::Kept(State::Archived), 0, gap);
        }
        self.end = self.end.max(found);
        self.join(from..found);
        self.advance();
    }

    /// Takes back what belongs to aborted transactions: it is dealt with.
    fn drop_aborted(&mut self, found: &[Found], acquired: &mut Vec<Acquired>) {
        for batch in found.iter().filter(|batch| batch.aborted) {
            let touched = acquired.iter().any(|one| one.first < batch.end && batch.first < one.end);
            if !touched {
                continue;
            }
            for (_, piece) in self.within(batch.first..batch.end) {
                let held = piece.delivery == Delivery::Acquired && piece.moving.is_none();
                if held || piece.is_available() {
                    piece.rest(State::Archived);
                }
            }
            self.join(batch.first..batch.end);
            *acquired = acquired.iter().flat_map(|one| without(*one, batch)).collect();
        }
        self.advance();
    }
}

/// The parts of a range that lie outside a batch.
fn without(one: Acquired, batch: &Found) -> impl Iterator<Item = Acquired> {
    let before = Acquired { end: one.end.min(batch.first), ..one };
    let after = Acquired { first: one.first.max(batch.end), ..one };
    [before, after].into_iter().filter(|part| part.first < part.end)
}

/// From which delivery count on records are delivered in portions.
fn throttle_from(delivery_limit: i16) -> i16 {
    (delivery_limit / 2 + delivery_limit % 2).max(2)
}

/// An acquisition under way.
struct Walk<'a> {
    request: &'a Acquire,
    found: &'a [Found],
    rules: &'a Rules,
    wanted: i64,
    acquired: Vec<Acquired>,
    count: i64,
}

impl Walk<'_> {
    fn give(&mut self, range: Range<i64>, count: i16) {
        self.count = self.count.saturating_add(range.end.saturating_sub(range.start));
        self.acquired.push(Acquired { first: range.start, end: range.end, count });
    }

    /// As [`Walk::give`]; neighbours of parts of a batch are told as one.
    fn give_again(&mut self, range: Range<i64>, count: i16, whole: bool) {
        match self.acquired.last_mut() {
            Some(last) if !whole && last.end == range.start && last.count == count => {
                last.end = range.end;
                self.count = self.count.saturating_add(range.end.saturating_sub(range.start));
            }
            _ => self.give(range, count),
        }
    }
}
