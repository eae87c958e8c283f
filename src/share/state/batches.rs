//! Ranges of records with the same state, and how newer ones are laid over older ones
//! (class `PersisterStateBatchCombiner`).

use std::collections::BTreeMap;

/// The states that are kept, by Kafka's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// To be delivered.
    Available,
    /// Dealt with.
    Acknowledged,
    /// Given up, and on the way to the dead-letter topic.
    Archiving,
    /// Given up.
    Archived,
}

impl State {
    /// Kafka's number.
    pub fn number(self) -> i8 {
        match self {
            State::Available => 0,
            State::Acknowledged => 2,
            State::Archiving => 3,
            State::Archived => 4,
        }
    }

    /// The state with this number; `None` for what is not kept.
    pub fn from_number(number: i8) -> Option<State> {
        [State::Available, State::Acknowledged, State::Archiving, State::Archived]
            .into_iter()
            .find(|state| state.number() == number)
    }

    /// Whether nothing more happens to such a record.
    pub fn is_final(self) -> bool {
        matches!(self, State::Acknowledged | State::Archived)
    }
}

/// The state of a range of records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Batch {
    /// Its first offset.
    pub first: i64,
    /// Its end (exclusive).
    pub end: i64,
    /// The state.
    pub state: State,
    /// How often the records were delivered.
    pub count: i16,
}

/// The state after `newer` came over `older`, from `start` on, in order and without overlaps. Where two say something
/// of the same record, the higher delivery count wins, then the higher state: so it does not matter which came first.
pub fn combine(older: &[Batch], newer: &[Batch], start: i64) -> Vec<Batch> {
    let mut changes: BTreeMap<i64, Vec<(bool, Rank)>> = BTreeMap::new();
    for batch in older.iter().chain(newer) {
        let first = batch.first.max(start);
        if first >= batch.end {
            continue;
        }
        let rank = (batch.count, batch.state);
        changes.entry(first).or_default().push((true, rank));
        changes.entry(batch.end).or_default().push((false, rank));
    }
    let mut active: BTreeMap<Rank, usize> = BTreeMap::new();
    let mut combined: Vec<Batch> = Vec::new();
    let mut open: Option<(i64, Rank)> = None;
    for (offset, here) in changes {
        if let Some((first, rank)) = open {
            push(&mut combined, Batch { first, end: offset, count: rank.0, state: rank.1 });
        }
        for (begins, rank) in here {
            let count = active.entry(rank).or_default();
            *count = if begins { count.saturating_add(1) } else { count.saturating_sub(1) };
            if *count == 0 {
                active.remove(&rank);
            }
        }
        open = active.last_key_value().map(|(rank, _)| (offset, *rank));
    }
    combined
}

/// The delivery count, then the state.
type Rank = (i16, State);

/// Adds a range, to its neighbour where that is the same.
pub(crate) fn push(batches: &mut Vec<Batch>, batch: Batch) {
    match batches.last_mut() {
        Some(last) if last.end == batch.first && last.state == batch.state && last.count == batch.count => {
            last.end = batch.end;
        }
        _ => batches.push(batch),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn batch(first: i64, end: i64, state: State, count: i16) -> Batch {
        Batch { first, end, state, count }
    }

    #[test]
    fn the_higher_count_wins_and_neighbours_are_joined() {
        let older = [batch(0, 10, State::Available, 1)];
        let newer = [batch(3, 5, State::Acknowledged, 1), batch(5, 7, State::Acknowledged, 1)];
        let expected = [
            batch(2, 3, State::Available, 1),
            batch(3, 7, State::Acknowledged, 1),
            batch(7, 10, State::Available, 1),
        ];
        assert_eq!(combine(&older, &newer, 2), expected);
        assert_eq!(combine(&newer, &older, 2), expected);
        assert_eq!(
            combine(&older, &[batch(0, 10, State::Available, 2)], 0),
            [batch(0, 10, State::Available, 2)]
        );
        assert_eq!(combine(&older, &newer, 10), []);
    }

    fn any_batch() -> impl Strategy<Value = Batch> {
        let states = prop::sample::select(vec![State::Available, State::Acknowledged, State::Archived]);
        (0i64..30, 1i64..8, states, 1i16..4)
            .prop_map(|(first, length, state, count)| batch(first, first + length, state, count))
    }

    proptest! {
        /// Record by record it is the largest of all that is said of it.
        #[test]
        fn agrees_with_a_map_of_records(
            older in prop::collection::vec(any_batch(), 0..6),
            newer in prop::collection::vec(any_batch(), 0..6),
            start in 0i64..20,
        ) {
            let mut model: BTreeMap<i64, Rank> = BTreeMap::new();
            for one in older.iter().chain(&newer) {
                for offset in one.first.max(start)..one.end {
                    let rank = model.entry(offset).or_insert((one.count, one.state));
                    *rank = (*rank).max((one.count, one.state));
                }
            }
            let combined = combine(&older, &newer, start);
            prop_assert!(combined.windows(2).all(|pair| pair[0].end <= pair[1].first));
            let mut flat = BTreeMap::new();
            for one in combined {
                for offset in one.first..one.end {
                    flat.insert(offset, (one.count, one.state));
                }
            }
            prop_assert_eq!(flat, model);
        }
    }
}
