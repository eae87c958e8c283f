//! What the choice of a log needs to know, and the note of how far it is compacted (`cleaner-offset-checkpoint`).

use crate::base::Offset;
use crate::base::Timestamp;
use crate::log::Log;
use crate::log::compact::choose::LogFacts;
use crate::log::compact::choose::SegmentFacts;
use crate::log::error::Error;
use crate::log::layout;
use crate::log::layout::Kind;
use crate::log::load::stopped;
use crate::log::scan::Scan;
use crate::log::segment::Segment;

impl Log {
    /// Reads no file unless the topic's settings ask for the age of records. A log that is not loaded counts as
    /// without open transactions; it is loaded before a run.
    pub(super) fn cleaning_facts(
        &self,
        checkpoint: Option<Offset>,
        now: Timestamp,
    ) -> Result<LogFacts, Error> {
        let config = self.config.load();
        let unstable = self.core.lock().warm.as_ref().and_then(|warm| warm.producers.first_unstable());
        let high_watermark = self.high_watermark();
        let segments = self.view.load_full();
        let start = self.log_start_offset();
        let dirty = checkpoint.unwrap_or(start);
        let (newest_counts, first_counts) =
            (config.min_compaction_lag_ms > 0, config.max_compaction_lag_ms < i64::MAX);
        let mut facts = Vec::with_capacity(segments.len());
        for (index, segment) in segments.iter().enumerate() {
            let next = segments.get(index + 1).map(|next| next.base);
            let is_asked = next.is_some_and(|next| next > dirty) && segment.size() > 0;
            let newest = if is_asked && newest_counts { self.newest(segment)? } else { Timestamp::NONE };
            let first =
                if is_asked && first_counts { self.first_timestamp(segment)? } else { Timestamp::NONE };
            facts.push(SegmentFacts { base: segment.base, bytes: segment.size(), newest, first });
        }
        Ok(LogFacts {
            segments: facts,
            start,
            end: self.log_end_offset(),
            stable: unstable.map_or(high_watermark, |unstable| unstable.min(high_watermark)),
            checkpoint,
            now,
            min_lag_ms: config.min_compaction_lag_ms,
            max_lag_ms: config.max_compaction_lag_ms,
            min_dirty_ratio: config.min_cleanable_dirty_ratio,
        })
    }

    fn first_timestamp(&self, segment: &Segment) -> Result<Timestamp, Error> {
        let path = segment.path(Kind::Log);
        let file = segment.file(&self.directory).map_err(|error| Error::io(&path, error))?;
        let first = Scan::new(&file, 0, segment.size(), segment.base).next_header();
        let first = first.map_err(|stop| stopped(stop, &path, 0))?;
        Ok(first.map_or(Timestamp::NONE, |(_, header)| Timestamp(header.max_timestamp)))
    }

    /// The base of the first segment at or below `limit` whose indexes are not in their files, that is not below the
    /// recovery point, or in which the log still ends for readers; else `limit`.
    pub(super) fn sealed_below(&self, limit: Offset) -> Offset {
        let segments = self.view.load();
        let recovery_point = self.recovery_point();
        let last = self.published.load().segment;
        let bounds = segments.iter().zip(segments.iter().skip(1));
        let is_open = |segment: &Segment, next: &Segment| {
            segment.tail.load().is_some() || next.base > recovery_point || segment.base >= last
        };
        let mut open = bounds.filter(|(segment, next)| is_open(segment, next));
        open.next().map_or(limit, |(segment, _)| segment.base.min(limit))
    }

    /// Notes where the dirty part begins, unless the log is gone.
    pub(super) fn note_cleaned(&self, to: Offset) -> Result<(), Error> {
        // Whoever deletes the log takes its line out after that, so it does not come back.
        let _shape = self.shape.lock();
        if self.core.lock().closed {
            return Err(Error::Closed);
        }
        self.directory.checkpoints.set(&self.directory, layout::CLEANER_OFFSETS, (&self.partition, to))
    }
}
