//! The partitions of a share session in the order in which they are served (`ShareSession.partitionMap`).

use crate::share::fetch::Outcomes;
use crate::share::sessions::Place;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy)]
struct Row {
    place: Place,
    /// The next answer has a word of it, also when there are no records.
    is_news: bool,
}

/// Each partition once: who came first is first, and who gave records goes to the end.
#[derive(Debug, Default)]
pub(super) struct Lineup {
    rows: Vec<Row>,
}

impl Lineup {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn places(&self) -> Vec<Place> {
        self.rows.iter().map(|row| row.place).collect()
    }

    /// Those of which the next answer has a word in any case.
    pub(super) fn news(&self) -> BTreeSet<Place> {
        self.rows.iter().filter(|row| row.is_news).map(|row| row.place).collect()
    }

    /// Puts those that are not there yet at the end.
    pub(super) fn add(&mut self, named: &[Place], is_news: bool) {
        let mut fresh: BTreeSet<Place> = named.iter().copied().collect();
        for row in &self.rows {
            fresh.remove(&row.place);
        }
        for place in named {
            if fresh.remove(place) {
                self.rows.push(Row { place: *place, is_news });
            }
        }
    }

    pub(super) fn remove(&mut self, places: &[Place]) {
        if !places.is_empty() {
            let gone: BTreeSet<Place> = places.iter().copied().collect();
            self.rows.retain(|row| !gone.contains(&row.place));
        }
    }

    /// Follows an answer: a failure is news until the partition is told to be well again
    /// (`CachedSharePartition.maybeUpdateResponseData`).
    pub(super) fn answered(&mut self, outcomes: &Outcomes) {
        if outcomes.is_empty() {
            return;
        }
        let told: BTreeMap<Place, (bool, bool)> = outcomes
            .iter()
            .map(|(place, outcome)| {
                (*place, (outcome.is_err(), outcome.as_ref().is_ok_and(|fetched| fetched.bytes > 0)))
            })
            .collect();
        let mut served = Vec::new();
        self.rows.retain_mut(|row| {
            let Some((failed, has_records)) = told.get(&row.place) else { return true };
            row.is_news = *failed;
            if *has_records {
                served.push(*row);
            }
            !has_records
        });
        self.rows.append(&mut served);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ErrorCode;
    use crate::base::PartitionIndex;
    use crate::base::TopicId;
    use crate::share::Fetched;

    fn place(index: i32) -> Place {
        (TopicId::METADATA, PartitionIndex(index))
    }

    fn places(indexes: &[i32]) -> Vec<Place> {
        indexes.iter().map(|index| place(*index)).collect()
    }

    #[test]
    fn who_came_first_is_served_first_and_who_gave_records_last() {
        let mut lineup = Lineup::default();
        lineup.add(&places(&[5, 1, 5, 3]), false);
        lineup.add(&places(&[1, 0]), true);
        assert_eq!(lineup.places(), places(&[5, 1, 3, 0]));
        let records = Fetched { bytes: 1, ..Fetched::default() };
        lineup.answered(&vec![(place(5), Ok(records)), (place(1), Ok(Fetched::default()))]);
        assert_eq!(lineup.places(), places(&[1, 3, 0, 5]));
        lineup.remove(&places(&[3, 9]));
        assert_eq!(lineup.places(), places(&[1, 0, 5]));
    }

    #[test]
    fn what_is_new_or_failed_is_told_until_it_was() {
        let mut lineup = Lineup::default();
        lineup.add(&places(&[0, 1]), false);
        lineup.add(&places(&[1, 2]), true);
        let news = |lineup: &Lineup| lineup.news().into_iter().map(|place| place.1.0).collect::<Vec<_>>();
        assert_eq!(news(&lineup), [2]);
        lineup.answered(&vec![(place(0), Err(ErrorCode::UnknownTopicId.into()))]);
        assert_eq!(news(&lineup), [0, 2]);
        lineup.answered(&vec![(place(0), Ok(Fetched::default())), (place(2), Ok(Fetched::default()))]);
        assert_eq!(news(&lineup), [0; 0]);
    }
}
