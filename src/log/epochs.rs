//! Which leader epoch began at which offset (classes `LeaderEpochFileCache` and `LeaderEpochCheckpointFile`).

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::log::checkpoint::parse_lines;

/// The epochs of one log, ascending in epoch and in offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Epochs {
    entries: Vec<(LeaderEpoch, Offset)>,
}

impl Epochs {
    /// Notes that `epoch` begins at `start`. Entries that contradict it (same or higher epoch, same or higher
    /// offset) give way. Whether anything changed; an epoch that is already the latest keeps its start.
    pub(crate) fn assign(&mut self, epoch: LeaderEpoch, start: Offset) -> bool {
        if epoch < LeaderEpoch(0) || start < Offset::ZERO {
            return false;
        }
        if self.entries.last().is_some_and(|last| last.0 == epoch && start >= last.1) {
            return false;
        }
        let keep = self.entries.partition_point(|entry| entry.0 < epoch && entry.1 < start);
        self.entries.truncate(keep);
        self.entries.push((epoch, start));
        true
    }

    /// The latest epoch.
    pub(crate) fn latest(&self) -> Option<LeaderEpoch> {
        self.entries.last().map(|entry| entry.0)
    }

    /// Where the first epoch begins.
    pub(crate) fn first_start(&self) -> Option<Offset> {
        self.entries.first().map(|entry| entry.1)
    }

    /// The epoch of the record at `offset`.
    pub(crate) fn epoch_of(&self, offset: Offset) -> Option<LeaderEpoch> {
        let above = self.entries.partition_point(|entry| entry.1 <= offset);
        self.entries.get(above.checked_sub(1)?).map(|entry| entry.0)
    }

    /// The largest epoch not above the one asked for, and where it ends (exclusive): `endOffsetFor` of Kafka.
    /// `None` when nothing can be said: an epoch never seen here, or no epoch asked for.
    pub(crate) fn end_of(&self, epoch: LeaderEpoch, log_end: Offset) -> Option<(LeaderEpoch, Offset)> {
        if epoch == LeaderEpoch(-1) {
            return None;
        }
        if self.latest() == Some(epoch) {
            return Some((epoch, log_end));
        }
        let above = self.entries.partition_point(|entry| entry.0 <= epoch);
        let higher = self.entries.get(above)?;
        let found = above.checked_sub(1).and_then(|slot| self.entries.get(slot));
        Some((found.map_or(epoch, |entry| entry.0), higher.1))
    }

    /// Forgets epochs that begin at or after the new end. Whether anything changed.
    pub(crate) fn truncate_from_end(&mut self, end: Offset) -> bool {
        let keep = self.entries.partition_point(|entry| entry.1 < end);
        let changed = keep < self.entries.len();
        self.entries.truncate(keep);
        changed
    }

    /// Forgets epochs that ended before the new start; the one in force there begins at it from now on.
    pub(crate) fn truncate_from_start(&mut self, start: Offset) -> bool {
        let above = self.entries.partition_point(|entry| entry.1 <= start);
        let Some(first) = above.checked_sub(1) else { return false };
        let changed = first > 0 || self.entries.get(first).is_some_and(|entry| entry.1 != start);
        self.entries.drain(..first);
        if let Some(entry) = self.entries.first_mut() {
            entry.1 = start;
        }
        changed
    }

    /// The text of `leader-epoch-checkpoint`: version 0, the count, then `epoch start` lines.
    pub(crate) fn encode(&self) -> String {
        let mut text = format!("0\n{}\n", self.entries.len());
        for (epoch, start) in &self.entries {
            text.push_str(&format!("{epoch} {start}\n"));
        }
        text
    }

    /// Reads the text; `None` when it is not a whole checkpoint.
    pub(crate) fn parse(text: &str) -> Option<Epochs> {
        let mut epochs = Epochs::default();
        for line in parse_lines(text)? {
            let (epoch, start) = line.split_once(char::is_whitespace)?;
            epochs.assign(LeaderEpoch(epoch.parse().ok()?), Offset(start.trim().parse().ok()?));
        }
        Some(epochs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epochs(entries: &[(i32, i64)]) -> Epochs {
        let mut epochs = Epochs::default();
        for (epoch, start) in entries {
            epochs.assign(LeaderEpoch(*epoch), Offset(*start));
        }
        epochs
    }

    #[test]
    fn an_epoch_ends_where_the_next_begins() {
        let epochs = epochs(&[(1, 0), (3, 10), (5, 30)]);
        let check = |epoch: i32, expect: Option<(i32, i64)>| {
            let expect = expect.map(|(epoch, end)| (LeaderEpoch(epoch), Offset(end)));
            assert_eq!(epochs.end_of(LeaderEpoch(epoch), Offset(50)), expect, "epoch {epoch}");
        };
        check(-2, Some((-2, 0)));
        check(-1, None);
        check(0, Some((0, 0)));
        check(1, Some((1, 10)));
        check(2, Some((1, 10)));
        check(4, Some((3, 30)));
        check(5, Some((5, 50)));
        check(6, None);
        assert_eq!(epochs.epoch_of(Offset(29)), Some(LeaderEpoch(3)));
    }

    #[test]
    fn contradicting_entries_give_way() {
        assert_eq!(epochs(&[(1, 0), (2, 10), (3, 10)]), epochs(&[(1, 0), (3, 10)]));
        assert_eq!(epochs(&[(1, 0), (5, 20), (3, 30)]), epochs(&[(1, 0), (3, 30)]));
        assert_eq!(epochs(&[(1, 0), (1, 9)]), epochs(&[(1, 0)]), "an epoch keeps its start");
    }

    #[test]
    fn truncation_cuts_both_ends() {
        let mut cut = epochs(&[(1, 0), (2, 10), (3, 20)]);
        assert!(cut.truncate_from_end(Offset(20)));
        assert_eq!(cut, epochs(&[(1, 0), (2, 10)]));
        assert!(cut.truncate_from_start(Offset(15)));
        assert_eq!(cut, epochs(&[(2, 15)]));
        assert!(!cut.truncate_from_start(Offset(15)));
        assert!(!epochs(&[(1, 7)]).truncate_from_start(Offset(3)));
    }

    #[test]
    fn the_checkpoint_is_kafkas_text() {
        let epochs = epochs(&[(0, 0), (4, 120)]);
        assert_eq!(epochs.encode(), "0\n2\n0 0\n4 120\n");
        assert_eq!(Epochs::parse(&epochs.encode()), Some(epochs));
        for bad in ["", "1\n0\n", "0\n2\n0 0\n", "0\n1\nx y\n"] {
            assert_eq!(Epochs::parse(bad), None, "{bad:?}");
        }
    }
}
