//! What is worth compacting (`LogCleanerManager.cleanableOffsets`, `LogToClean`, `Cleaner.groupSegmentsBySize`).
//! Deciding is pure.

use crate::base::Offset;
use crate::base::Timestamp;

/// What the choice looks at, of one segment.
#[derive(Clone, Copy, Debug)]
pub(super) struct SegmentFacts {
    pub(super) base: Offset,
    pub(super) bytes: u64,
    /// Its largest timestamp; only asked for where there is a `min.compaction.lag.ms`.
    pub(super) newest: Timestamp,
    /// The timestamp of its first batch; only asked for where there is a `max.compaction.lag.ms`.
    pub(super) first: Timestamp,
}

/// What the choice looks at, of one log.
#[derive(Clone, Debug)]
pub(super) struct LogFacts {
    /// All segments; the last one is active.
    pub(super) segments: Vec<SegmentFacts>,
    pub(super) start: Offset,
    pub(super) end: Offset,
    /// Below it every transaction has ended, and it is not above the high watermark.
    pub(super) stable: Offset,
    /// Where `cleaner-offset-checkpoint` says that the dirty part begins.
    pub(super) checkpoint: Option<Offset>,
    pub(super) now: Timestamp,
    pub(super) min_lag_ms: i64,
    pub(super) max_lag_ms: i64,
    pub(super) min_dirty_ratio: f64,
}

/// What may be compacted of a log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cleanable {
    /// Below it nothing is dirty.
    pub(super) first_dirty: Offset,
    /// The base of the first segment that must not be touched.
    pub(super) end: Offset,
    pub(super) clean_bytes: u64,
    pub(super) cleanable_bytes: u64,
    /// How long ago `max.compaction.lag.ms` asked for it.
    pub(super) delay_ms: i64,
    min_dirty_ratio: f64,
}

impl Cleanable {
    /// The share of the log that is dirty.
    pub(super) fn ratio(&self) -> f64 {
        let total = self.clean_bytes.saturating_add(self.cleanable_bytes);
        if total == 0 { 0.0 } else { approximate(self.cleanable_bytes) / approximate(total) }
    }

    /// Whether it is worth the work, or overdue.
    pub(super) fn is_due(&self) -> bool {
        (self.delay_ms > 0 && self.cleanable_bytes > 0) || self.ratio() > self.min_dirty_ratio
    }
}

/// A count of bytes as a floating-point number; exact up to 2^53.
#[allow(clippy::cast_precision_loss, reason = "a ratio of byte counts needs no more than 53 bits")]
fn approximate(bytes: u64) -> f64 {
    bytes as f64
}

/// What may be compacted of a log now.
pub(super) fn cleanable(log: &LogFacts) -> Cleanable {
    let first_dirty = match log.checkpoint {
        // The log's start has moved up, or its end has moved back behind what was compacted.
        Some(checkpoint) if checkpoint < log.start || checkpoint > log.end => log.start,
        Some(checkpoint) => checkpoint,
        None => log.start,
    };
    let active = log.segments.last().map_or(log.end, |segment| segment.base);
    let closed = log.segments.get(..log.segments.len().saturating_sub(1)).unwrap_or_default();
    let dirty = closed.get(floor(&log.segments, first_dirty)..).unwrap_or_default();
    let min_lag_ms = log.min_lag_ms.max(0);
    let young = dirty
        .iter()
        .find(|segment| min_lag_ms > 0 && segment.newest.0 > log.now.0.saturating_sub(min_lag_ms));
    let limit = young.map_or(active, |young| young.base).min(active).min(log.stable).max(first_dirty);
    // The segment that holds the limit is not touched.
    let end = log.segments.get(floor(&log.segments, limit)).map_or(active, |segment| segment.base);
    let overdue = log.now.0.saturating_sub(log.max_lag_ms.max(0));
    let oldest = dirty.iter().map(|segment| segment.first.0).filter(|first| *first > 0).min();
    let delay_ms = oldest.map_or(0, |oldest| overdue.saturating_sub(oldest).max(0));
    let bytes = |segments: &[SegmentFacts]| segments.iter().map(|segment| segment.bytes).sum();
    let clean: Vec<SegmentFacts> = log.segments.iter().copied().filter(|at| at.base < first_dirty).collect();
    let cleanable: Vec<SegmentFacts> = dirty.iter().copied().filter(|at| at.base < end).collect();
    Cleanable {
        first_dirty,
        end,
        clean_bytes: bytes(&clean),
        cleanable_bytes: bytes(&cleanable),
        delay_ms,
        min_dirty_ratio: log.min_dirty_ratio,
    }
}

/// The place of the segment that holds `offset`.
fn floor(segments: &[SegmentFacts], offset: Offset) -> usize {
    segments.partition_point(|segment| segment.base <= offset).saturating_sub(1)
}

/// One segment, for grouping.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub(super) base: Offset,
    /// The base of the segment behind it.
    pub(super) end: Offset,
    pub(super) bytes: u64,
    pub(super) index_bytes: u64,
    pub(super) time_index_bytes: u64,
}

/// How large a group may be.
#[derive(Clone, Copy, Debug)]
pub(super) struct GroupMax {
    pub(super) bytes: u64,
    pub(super) index_bytes: u64,
}

/// How many segments go into each new one, so that compacted segments do not become ever smaller.
pub(super) fn groups(parts: &[Part], max: GroupMax) -> Vec<usize> {
    let mut groups = Vec::new();
    let mut rest = parts;
    while let Some((first, behind)) = rest.split_first() {
        let (mut sum, mut count) = (*first, 1);
        for part in behind {
            sum.bytes = sum.bytes.saturating_add(part.bytes);
            sum.index_bytes = sum.index_bytes.saturating_add(part.index_bytes);
            sum.time_index_bytes = sum.time_index_bytes.saturating_add(part.time_index_bytes);
            let last = part.end.0.saturating_sub(1);
            let near = i32::try_from(last.saturating_sub(first.base.0)).is_ok() || part.bytes == 0;
            let small = sum.bytes <= max.bytes
                && sum.index_bytes <= max.index_bytes
                && sum.time_index_bytes <= max.index_bytes;
            if !near || !small {
                break;
            }
            count += 1;
        }
        groups.push(count);
        rest = rest.get(count..).unwrap_or_default();
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(segments: &[(i64, u64)]) -> LogFacts {
        let facts = segments.iter().map(|(base, bytes)| SegmentFacts {
            base: Offset(*base),
            bytes: *bytes,
            newest: Timestamp(*base * 10),
            first: Timestamp(*base * 10),
        });
        LogFacts {
            segments: facts.collect(),
            start: Offset(0),
            end: Offset(1000),
            stable: Offset(1000),
            checkpoint: None,
            now: Timestamp(10_000),
            min_lag_ms: 0,
            max_lag_ms: i64::MAX,
            min_dirty_ratio: 0.5,
        }
    }

    fn check(
        log: &LogFacts,
        first_dirty: i64,
        end: i64,
        clean_bytes: u64,
        cleanable_bytes: u64,
    ) -> Cleanable {
        let found = cleanable(log);
        assert_eq!((found.first_dirty, found.end), (Offset(first_dirty), Offset(end)));
        assert_eq!((found.clean_bytes, found.cleanable_bytes), (clean_bytes, cleanable_bytes));
        found
    }

    #[test]
    fn the_active_segment_and_what_is_not_stable_stay() {
        let mut facts = log(&[(0, 10), (100, 20), (200, 40)]);
        assert!(check(&facts, 0, 200, 0, 30).is_due());
        facts.stable = Offset(150);
        check(&facts, 0, 100, 0, 10);
        facts.stable = Offset(100);
        check(&facts, 0, 100, 0, 10);
        facts.stable = Offset(0);
        assert!(!check(&facts, 0, 0, 0, 0).is_due());
        check(&log(&[(0, 10)]), 0, 0, 0, 0);
    }

    #[test]
    fn the_checkpoint_counts_while_it_lies_in_the_log() {
        let mut facts = log(&[(0, 10), (100, 20), (200, 40), (300, 0)]);
        facts.checkpoint = Some(Offset(200));
        assert!(check(&facts, 200, 300, 30, 40).is_due());
        facts.min_dirty_ratio = 0.6;
        assert!(!cleanable(&facts).is_due(), "40 of 70 bytes");
        facts.checkpoint = Some(Offset(300));
        assert!(!check(&facts, 300, 300, 70, 0).is_due());
        facts.checkpoint = Some(Offset(1001));
        check(&facts, 0, 300, 0, 70);
        (facts.start, facts.checkpoint) = (Offset(100), Some(Offset(99)));
        check(&facts, 100, 300, 10, 60);
    }

    #[test]
    fn a_segment_with_a_young_record_stays_with_all_that_follow() {
        let mut facts = log(&[(0, 10), (100, 20), (200, 40), (300, 0)]);
        facts.min_lag_ms = 9_000;
        check(&facts, 0, 200, 0, 30);
        facts.min_lag_ms = 10_000;
        check(&facts, 0, 100, 0, 10);
    }

    #[test]
    fn an_old_record_makes_it_due_whatever_the_ratio_is() {
        let mut facts = log(&[(0, 1000), (100, 20), (200, 0)]);
        facts.checkpoint = Some(Offset(100));
        facts.max_lag_ms = 9_000;
        assert!(!cleanable(&facts).is_due(), "1000 ms is not more than 9000 ms ago");
        facts.max_lag_ms = 8_999;
        let due = check(&facts, 100, 200, 1000, 20);
        assert!(due.is_due());
        assert_eq!(due.delay_ms, 1);
    }

    #[test]
    fn groups_stay_below_the_size_of_a_segment() {
        let max = GroupMax { bytes: 100, index_bytes: 50 };
        let part = |base: i64, bytes: u64, index_bytes: u64| Part {
            base: Offset(base),
            end: Offset(base + 10),
            bytes,
            index_bytes,
            time_index_bytes: 0,
        };
        assert_eq!(groups(&[part(0, 60, 1), part(10, 40, 1), part(20, 1, 1)], max), [2, 1]);
        assert_eq!(groups(&[part(0, 200, 1), part(10, 0, 1)], max), [1, 1]);
        assert_eq!(groups(&[part(0, 1, 30), part(10, 1, 21), part(20, 1, 29)], max), [1, 2]);
        let far = i64::from(i32::MAX);
        assert_eq!(groups(&[part(0, 1, 1), part(far - 9, 1, 1)], max), [2]);
        assert_eq!(groups(&[part(0, 1, 1), part(far - 8, 1, 1)], max), [1, 1]);
        assert_eq!(groups(&[], max), [0usize; 0]);
    }
}
