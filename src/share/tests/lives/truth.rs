//! The model: what is true of each record, whoever has forgotten it.

use crate::share::partition::Kind;
use crate::share::partition::Rules;
use crate::share::state::batches::Batch;
use crate::share::state::batches::State;
use crate::share::state::command::Write;
use std::collections::BTreeMap;

/// What a record is at, for the leader of today.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum At {
    Free,
    Held {
        member: usize,
        lock: u64,
    },
    /// An acknowledgement of it is being written.
    Moving {
        flight: usize,
        to: State,
        member: usize,
        lock: u64,
    },
    Done(State),
}

#[derive(Clone, Debug)]
pub(super) struct Truth {
    pub(super) at: At,
    /// How often it was delivered, as far as the leader of today can know.
    pub(super) count: i16,
    /// It was said to be dealt with, and that is kept: it is never delivered again.
    pub(super) ended: bool,
    /// How often it was said to be dealt with where that may be kept.
    pub(super) asked: usize,
    /// It was delivered as often as it may be.
    pub(super) exhausted: bool,
}

impl Truth {
    pub(super) fn new() -> Truth {
        Truth { at: At::Free, count: 0, ended: false, asked: 0, exhausted: false }
    }

    /// Whether there is a reason not to deliver it any more.
    pub(super) fn may_be_done(&self) -> bool {
        self.ended || self.asked > 0 || self.exhausted
    }

    pub(super) fn is_held_by(&self, member: usize) -> bool {
        matches!(self.at, At::Held { member: holder, .. } if holder == member)
    }
}

/// What becomes of a record of which this is said; `None` when it stays its member's.
pub(super) fn outcome(kind: Kind, count: i16, rules: &Rules) -> Option<State> {
    let given_up = if rules.dead_letters { State::Archiving } else { State::Archived };
    match kind {
        Kind::Renew => None,
        Kind::Accept => Some(State::Acknowledged),
        Kind::Gap => Some(State::Archived),
        Kind::Reject => Some(given_up),
        Kind::Release if count >= rules.delivery_limit => Some(given_up),
        Kind::Release => Some(State::Available),
    }
}

/// Something that the share coordinator wrote down.
#[derive(Clone, Debug)]
pub(super) enum Noted {
    /// The group begins, or begins again, here.
    Begin(i64),
    Write(Box<Write>),
}

/// What the coordinator's log says of the records, told again from what was written.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) start: i64,
    pub(super) records: BTreeMap<i64, (i16, State)>,
}

impl Kept {
    pub(super) fn of<'a>(noted: impl Iterator<Item = &'a Noted>) -> Kept {
        let mut kept = Kept { start: -1, records: BTreeMap::new() };
        for one in noted {
            match one {
                Noted::Begin(start) => kept = Kept { start: *start, records: BTreeMap::new() },
                Noted::Write(write) => {
                    kept.start = kept.start.max(write.start);
                    write.batches.iter().for_each(|batch| kept.take(batch));
                    kept.records = kept.records.split_off(&kept.start);
                }
            }
        }
        kept
    }

    fn take(&mut self, batch: &Batch) {
        for offset in batch.first..batch.end {
            let known = self.records.entry(offset).or_insert((batch.count, batch.state));
            *known = (*known).max((batch.count, batch.state));
        }
    }
}
