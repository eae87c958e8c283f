//! Which old segments go: by the log's start, by size, by age (`UnifiedLog.deleteOldSegments`). Deciding is pure.

use crate::base::Offset;
use crate::base::Timestamp;

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
}
