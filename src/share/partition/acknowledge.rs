//! What members say of the records they hold (`SharePartition.acknowledge`).

use crate::base::ErrorCode;
use crate::base::Instant;
use crate::share::Failure;
use crate::share::partition::pieces::Cause;
use crate::share::partition::pieces::Change;
use crate::share::partition::pieces::Delivery;
use crate::share::partition::pieces::Moving;
use crate::share::partition::pieces::Partition;
use crate::share::partition::pieces::Piece;
use crate::share::partition::pieces::Rules;
use crate::share::state::batches::Batch;
use crate::share::state::batches::State;
use std::ops::Range;
use std::sync::Arc;

/// What is said of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// There is no such record.
    Gap,
    /// It is dealt with.
    Accept,
    /// It is to be delivered again.
    Release,
    /// It cannot be dealt with.
    Reject,
    /// It is still being dealt with.
    Renew,
}

impl Kind {
    /// The kind with this number on the wire.
    pub fn from_number(number: i8) -> Option<Kind> {
        Some(match number {
            0 => Kind::Gap,
            1 => Kind::Accept,
            2 => Kind::Release,
            3 => Kind::Reject,
            4 => Kind::Renew,
            _ => return None,
        })
    }
}

/// What is said of a range of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The first.
    pub first: i64,
    /// Behind the last.
    pub end: i64,
    /// One kind for all of them, or one for each.
    pub kinds: Vec<Kind>,
}

impl Partition {
    /// Takes what a member says of its records, all of it or nothing. `lock` is until when renewed records are its.
    ///
    /// # Errors
    /// INVALID_RECORD_STATE for records that are not the member's, INVALID_REQUEST for those that were never delivered.
    pub fn acknowledge(
        &mut self,
        member: &Arc<str>,
        said: &[Acknowledgement],
        (now, lock): (Instant, Instant),
        rules: &Rules,
    ) -> Result<Change, Failure> {
        for one in said {
            self.check(member, one, rules)?;
        }
        let mut change = self.change();
        for one in said {
            // Only who says two things of one record is still refused here.
            if let Err(failure) = self.acknowledge_one(member, one, (lock, rules), &mut change) {
                self.take_back(&change, now, rules);
                return Err(failure);
            }
        }
        Ok(change)
    }

    fn acknowledge_one(
        &mut self,
        member: &Arc<str>,
        said: &Acknowledgement,
        (lock, rules): (Instant, &Rules),
        change: &mut Change,
    ) -> Result<(), Failure> {
        for (range, kind) in runs(said) {
            let range = range.start.max(self.start)..range.end;
            if kind == Kind::Renew {
                self.renew(range, member, lock)?;
            } else {
                self.move_on(range, member, (kind, rules), change)?;
            }
        }
        Ok(())
    }

    /// The records are their member's for longer.
    fn renew(&mut self, range: Range<i64>, member: &Arc<str>, lock: Instant) -> Result<(), Failure> {
        self.note_lock(lock);
        for (_, piece) in self.within(range) {
            check_held(piece, member)?;
            piece.lock = Some(lock);
        }
        Ok(())
    }

    /// The records are something else as soon as that is kept.
    fn move_on(
        &mut self,
        range: Range<i64>,
        member: &Arc<str>,
        (kind, rules): (Kind, &Rules),
        change: &mut Change,
    ) -> Result<(), Failure> {
        let token = change.token;
        for (first, piece) in self.within(range) {
            check_held(piece, member)?;
            let (state, cause) = target(kind, piece.count, rules);
            piece.moving = Some(Moving { token, member: Arc::clone(member) });
            piece.delivery = Delivery::Kept(state);
            piece.member = None;
            change.add(Batch { first, end: piece.end, state, count: piece.count }, cause);
        }
        Ok(())
    }

    /// Whether all of the records are the member's. What lies before the start is dealt with, whatever is said of it.
    fn check(&self, member: &Arc<str>, said: &Acknowledgement, rules: &Rules) -> Result<(), Failure> {
        if said.end <= self.start {
            return Ok(());
        }
        self.check_known(said)?;
        if !rules.renews && said.kinds.contains(&Kind::Renew) {
            return Err(Failure::new(
                ErrorCode::InvalidRecordState,
                "Renewing acquisition locks is not enabled for the group.",
            ));
        }
        let first = said.first.max(self.start);
        let before = self.pieces.range(..first).next_back().filter(|(_, piece)| piece.end > first);
        let within = self.pieces.range(first..said.end);
        before.into_iter().chain(within).try_for_each(|(_, piece)| check_held(piece, member))
    }

    /// Whether the records are among those that are under way.
    fn check_known(&self, said: &Acknowledgement) -> Result<(), Failure> {
        let before = self.pieces.range(..=said.first).next_back();
        if before.is_none() && said.first >= self.start {
            return Err(Failure::new(
                ErrorCode::InvalidRecordState,
                "Batch record not found. The request batch offsets are not found in the cache.",
            ));
        }
        let last = self.pieces.range(..said.end).next_back().map_or(self.start, |(_, piece)| piece.end);
        if last <= said.first {
            return Err(Failure::new(
                ErrorCode::InvalidRequest,
                "Batch record not found. The first offset in request is past acquired records.",
            ));
        }
        if last < said.end {
            return Err(Failure::new(
                ErrorCode::InvalidRequest,
                "Batch record not found. The last offset in request is past acquired records.",
            ));
        }
        Ok(())
    }

    /// Releases all that a member holds (`SharePartition.releaseAcquiredRecords`).
    pub fn release(&mut self, member: &str, rules: &Rules) -> Change {
        let mut change = self.change();
        let token = change.token;
        for (first, piece) in &mut self.pieces {
            let Some(holder) = piece.member.take_if(|holder| &**holder == member) else { continue };
            let (state, cause) = target(Kind::Release, piece.count, rules);
            piece.moving = Some(Moving { token, member: holder });
            piece.delivery = Delivery::Kept(state);
            change.add(Batch { first: *first, end: piece.end, state, count: piece.count }, cause);
        }
        change
    }
}

/// What becomes of a record, and why it is given up.
pub(super) fn target(kind: Kind, count: i16, rules: &Rules) -> (State, Option<Cause>) {
    match kind {
        Kind::Gap => (State::Archived, None),
        Kind::Accept => (State::Acknowledged, None),
        Kind::Reject if rules.dead_letters => (State::Archiving, Some(Cause::Rejected)),
        Kind::Reject => (State::Archived, None),
        Kind::Release | Kind::Renew if count < rules.delivery_limit => (State::Available, None),
        Kind::Release | Kind::Renew if rules.dead_letters => (State::Archiving, Some(Cause::Exhausted)),
        Kind::Release | Kind::Renew => (State::Archived, None),
    }
}

fn check_held(piece: &Piece, member: &Arc<str>) -> Result<(), Failure> {
    let refuse = |message| Err(Failure::new(ErrorCode::InvalidRecordState, message));
    if piece.moving.is_some() {
        return refuse(
            "The record state is invalid. The acknowledgement of delivery could not be completed.",
        );
    }
    match &piece.member {
        None => refuse("The batch cannot be acknowledged. The batch is not in the acquired state."),
        Some(holder) if holder != member => refuse("Member is not the owner of batch record"),
        Some(_) => Ok(()),
    }
}

/// The ranges of the same kind, in order.
fn runs(said: &Acknowledgement) -> Vec<(Range<i64>, Kind)> {
    if let [kind] = said.kinds.as_slice() {
        return vec![(said.first..said.end, *kind)];
    }
    let mut runs: Vec<(Range<i64>, Kind)> = Vec::new();
    for (offset, kind) in (said.first..said.end).zip(&said.kinds) {
        match runs.last_mut() {
            Some((range, last)) if last == kind => range.end = offset.saturating_add(1),
            _ => runs.push((offset..offset.saturating_add(1), *kind)),
        }
    }
    runs
}
