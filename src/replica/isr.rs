//! The replicas in sync: pure rules over what the leader knows of its followers.

use crate::base::BrokerId;
use crate::base::Instant;
use crate::base::Offset;
use std::time::Duration;

/// What a leader knows of one follower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Follower {
    /// Who it is.
    pub(crate) id: BrokerId,
    /// Where its log ends: the offset it fetched from last. `None` until it has fetched in this epoch.
    pub(crate) end: Option<Offset>,
    /// Where its log begins, as it said with its last fetch.
    pub(crate) start: Option<Offset>,
    /// When it last had everything that the leader had.
    pub(crate) caught_up_at: Option<Instant>,
    /// Where the leader's log ended at its last fetch, and when that was.
    pub(crate) last_fetch: Option<(Instant, Offset)>,
}

impl Follower {
    /// A follower that has not fetched yet.
    pub(crate) fn unknown(id: BrokerId) -> Follower {
        Follower { id, end: None, start: None, caught_up_at: None, last_fetch: None }
    }

    /// Its fetch from `end` on, while the leader's log ended at `leader_end` (`Replica.updateFetchStateOrThrow`):
    /// having reached what the leader had at its last fetch means it was caught up at that time.
    pub(crate) fn fetched(&mut self, end: Offset, start: Option<Offset>, leader_end: Offset, now: Instant) {
        if end >= leader_end {
            self.caught_up_at = Some(now);
        } else if let Some((then, leader_end_then)) = self.last_fetch
            && end >= leader_end_then
        {
            self.caught_up_at = self.caught_up_at.max(Some(then));
        }
        self.end = Some(end);
        self.start = start.or(self.start);
        self.last_fetch = Some((now, leader_end));
    }

    /// Whether it has all records, or had all of them less than `lag_max` ago.
    pub(crate) fn is_caught_up(&self, leader_end: Offset, now: Instant, lag_max: Duration) -> bool {
        self.end == Some(leader_end) || self.caught_up_at.is_some_and(|then| now.since(then) <= lag_max)
    }
}

/// How many replicas must be in sync for a write with acks=all: never more than the partition has
/// (`Partition.effectiveMinIsr`).
pub(crate) fn min_isr(configured: i32, replicas: usize) -> usize {
    usize::try_from(configured).unwrap_or(0).min(replicas)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAG: Duration = Duration::from_secs(30);

    fn at(seconds: u64) -> Instant {
        Instant(seconds * 1_000_000_000)
    }

    #[test]
    fn a_follower_that_reaches_the_end_is_caught_up_until_it_lags() {
        let mut follower = Follower::unknown(BrokerId(2));
        assert!(!follower.is_caught_up(Offset(5), at(1), LAG));
        follower.fetched(Offset(5), Some(Offset(0)), Offset(5), at(1));
        assert!(follower.is_caught_up(Offset(9), at(31), LAG));
        assert!(!follower.is_caught_up(Offset(9), at(32), LAG));
        assert!(follower.is_caught_up(Offset(5), at(99), LAG), "it has everything");
    }

    #[test]
    fn reaching_the_end_of_the_last_fetch_counts_for_that_time() {
        let mut follower = Follower::unknown(BrokerId(2));
        follower.fetched(Offset(0), None, Offset(100), at(1));
        assert_eq!(follower.caught_up_at, None);
        follower.fetched(Offset(100), None, Offset(200), at(20));
        assert_eq!(follower.caught_up_at, Some(at(1)));
        follower.fetched(Offset(150), None, Offset(300), at(21));
        assert_eq!(follower.caught_up_at, Some(at(1)), "it did not reach 200");
    }

    #[test]
    fn a_topic_with_fewer_replicas_than_its_setting_needs_all_of_them() {
        assert_eq!(min_isr(2, 1), 1);
        assert_eq!(min_isr(2, 3), 2);
        assert_eq!(min_isr(-1, 3), 0);
    }
}
