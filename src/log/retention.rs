//! Which old segments go: by the log's start, by size, by age (`UnifiedLog.deleteOldSegments`). Deciding is pure.

use crate::base::Instant;
use crate::base::Offset;
use crate::base::Timestamp;
use std::time::Duration;

/// What retention looks at, of one segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SegmentFacts {
    /// The next segment's base, or the log's end for the last one.
    pub(crate) end: Offset,
    pub(crate) bytes: u64,
    /// Its largest timestamp, or when the file changed last if its records carry none.
    pub(crate) newest: Timestamp,
    pub(crate) is_active: bool,
}

/// The rules of one log.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Policy {
    pub(crate) now: Timestamp,
    /// The log's `cleanup.policy` has `delete`; else only what lies below the log's start goes.
    pub(crate) delete: bool,
    /// -1: for ever.
    pub(crate) retention_ms: i64,
    /// -1: without limit.
    pub(crate) retention_bytes: i64,
    pub(crate) start: Offset,
    /// Nothing at or above it goes.
    pub(crate) high_watermark: Offset,
}

/// How many of the oldest segments go, and why the last of them does.
pub(crate) fn expired(segments: &[SegmentFacts], policy: &Policy) -> (usize, Reason) {
    let mut count = 0;
    let mut reason = Reason::BelowStart;
    let mut grow = |why: Reason, from: usize, go: &mut dyn FnMut(&SegmentFacts) -> bool| {
        let more = segments
            .iter()
            .skip(from)
            .take_while(|segment| {
                segment.end <= policy.high_watermark && !(segment.is_active && segment.bytes == 0)
            })
            .take_while(|segment| go(segment))
            .count();
        if more > 0 {
            reason = why;
        }
        from + more
    };
    count = grow(Reason::BelowStart, count, &mut |segment| !segment.is_active && segment.end <= policy.start);
    if policy.delete {
        if let Ok(limit) = u64::try_from(policy.retention_bytes) {
            let total: u64 = segments.iter().skip(count).map(|segment| segment.bytes).sum();
            let mut over = total.checked_sub(limit);
            count = grow(Reason::Size, count, &mut |segment| {
                over = over.and_then(|over| over.checked_sub(segment.bytes));
                over.is_some()
            });
        }
        if policy.retention_ms >= 0 {
            count = grow(Reason::Age, count, &mut |segment| {
                policy.now.0.saturating_sub(segment.newest.0) > policy.retention_ms
            });
        }
    }
    (count, reason)
}

/// Why segments go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    BelowStart,
    Size,
    Age,
}

/// How long a jump of the wall clock must last before retention believes it.
const BELIEVE_AFTER: Duration = Duration::from_secs(3600);
/// Differences below this are drift and small corrections, not jumps.
const JUMP_MS: i64 = 5 * 60 * 1000;

/// Wall-clock time for retention: a jump forward is not believed at once, so that a clock that is wrong for a while
/// deletes nothing that should stay (F20). A jump back is followed at once: it deletes less.
#[derive(Debug, Default)]
pub(crate) struct SteadyWall {
    last: Option<(Timestamp, Instant)>,
    jumped_at: Option<Instant>,
}

impl SteadyWall {
    /// The time to judge ages by, from the two clocks' readings now.
    pub(crate) fn observe(&mut self, wall: Timestamp, now: Instant) -> Timestamp {
        let Some((last_wall, last_now)) = self.last else {
            self.last = Some((wall, now));
            return wall;
        };
        let passed_ms = i64::try_from(now.since(last_now).as_millis()).unwrap_or(i64::MAX);
        let expected = Timestamp(last_wall.0.saturating_add(passed_ms));
        let ahead_ms = wall.0.saturating_sub(expected.0);
        let judged = if ahead_ms <= JUMP_MS {
            self.jumped_at = None;
            wall
        } else {
            let jumped_at = *self.jumped_at.get_or_insert_with(|| {
                tracing::warn!(
                    ahead_ms,
                    "wall clock jumped forward, retention by age waits an hour before it follows"
                );
                now
            });
            if now.since(jumped_at) >= BELIEVE_AFTER {
                tracing::warn!(ahead_ms, "retention by age follows the wall clock's jump now");
                self.jumped_at = None;
                wall
            } else {
                expected
            }
        };
        self.last = Some((judged, now));
        judged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments(list: &[(i64, u64, i64)]) -> Vec<SegmentFacts> {
        let last = list.len() - 1;
        list.iter()
            .enumerate()
            .map(|(index, (end, bytes, newest))| SegmentFacts {
                end: Offset(*end),
                bytes: *bytes,
                newest: Timestamp(*newest),
                is_active: index == last,
            })
            .collect()
    }

    fn policy() -> Policy {
        Policy {
            now: Timestamp(10_000),
            delete: true,
            retention_ms: -1,
            retention_bytes: -1,
            start: Offset(0),
            high_watermark: Offset(1000),
        }
    }

    #[test]
    fn age_counts_from_the_newest_record() {
        let segments = segments(&[(10, 100, 1000), (20, 100, 5000), (30, 100, 9000)]);
        let check = |retention_ms: i64, expect: usize| {
            let (count, _) = expired(&segments, &Policy { retention_ms, ..policy() });
            assert_eq!(count, expect, "retention {retention_ms}");
        };
        check(-1, 0);
        check(9000, 0);
        check(8999, 1);
        check(5000, 1);
        check(4999, 2);
        check(0, 3);
    }

    #[test]
    fn size_keeps_at_least_the_limit() {
        let segments = segments(&[(10, 100, 0), (20, 100, 0), (30, 50, 0)]);
        let check = |retention_bytes: i64, expect: usize| {
            let (count, _) = expired(&segments, &Policy { retention_bytes, ..policy() });
            assert_eq!(count, expect, "retention {retention_bytes}");
        };
        check(-1, 0);
        check(250, 0);
        check(151, 0);
        check(150, 1);
        check(50, 2);
        check(0, 3);
    }

    #[test]
    fn nothing_at_or_above_the_high_watermark_goes() {
        let segments = segments(&[(10, 100, 0), (20, 100, 0), (30, 100, 0)]);
        let rules = Policy { retention_ms: 0, high_watermark: Offset(19), ..policy() };
        assert_eq!(expired(&segments, &rules), (1, Reason::Age));
    }

    #[test]
    fn below_the_start_segments_go_even_without_delete() {
        let segments = segments(&[(10, 100, 0), (20, 100, 0), (30, 0, 0)]);
        let rules = Policy { delete: false, start: Offset(20), retention_ms: 0, ..policy() };
        assert_eq!(expired(&segments, &rules), (2, Reason::BelowStart));
        let rules = Policy { retention_ms: 0, ..policy() };
        assert_eq!(expired(&segments, &rules).0, 2, "an empty active segment stays");
    }

    #[test]
    fn a_jump_forward_is_believed_only_after_an_hour_and_a_jump_back_at_once() {
        let minute = |count: u64| Instant(count * 60_000_000_000);
        let mut steady = SteadyWall::default();
        let day = 86_400_000;
        assert_eq!(steady.observe(Timestamp(0), minute(0)), Timestamp(0));
        assert_eq!(steady.observe(Timestamp(61_000), minute(1)), Timestamp(61_000), "drift is followed");
        assert_eq!(steady.observe(Timestamp(day), minute(2)), Timestamp(121_000));
        assert_eq!(steady.observe(Timestamp(180_000), minute(3)), Timestamp(180_000), "right again");
        assert_eq!(steady.observe(Timestamp(day), minute(4)), Timestamp(240_000));
        assert_eq!(steady.observe(Timestamp(day), minute(64)), Timestamp(day), "it lasted an hour");
        assert_eq!(steady.observe(Timestamp(5), minute(65)), Timestamp(5), "backwards at once");
    }
}
