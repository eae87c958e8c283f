//! When and how a log goes on in a new segment (`LogSegment.shouldRoll`, `UnifiedLog.roll`).

use crate::base::Offset;
use crate::base::Timestamp;
use crate::log::Active;
use crate::log::Core;
use crate::log::Log;
use crate::log::error::Error;
use crate::log::offset_index;
use crate::log::offset_index::Entries;
use crate::log::producer_snapshot;
use crate::log::published::End;
use crate::log::segment::Segment;
use crate::log::time_index;
use crate::record::Header;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;
use std::sync::Arc;

impl Log {
    /// Whether the batch must go into a new segment: size, age, a full index, or an offset too far from the base.
    pub(crate) fn roll_is_due(
        &self,
        segment: &Segment,
        active: &Active,
        header: &Header,
        last: Offset,
    ) -> bool {
        if active.position == 0 {
            return false;
        }
        let config = self.config.load();
        let batch_bytes = u64::try_from(header.total_size()).unwrap_or(u64::MAX);
        let segment_bytes = u64::try_from(config.segment_bytes).unwrap_or(0);
        let too_large = active.position.saturating_add(batch_bytes) > segment_bytes;
        let waited_ms = match active.first_timestamp.filter(|first| first.0 >= 0) {
            Some(first) => header.max_timestamp.saturating_sub(first.0),
            None => self.directory.clock.wall().0.saturating_sub(active.created.0),
        };
        let jitter_ms = self.roll_jitter_ms(segment.base);
        let too_old = waited_ms > config.max_segment_ms().saturating_sub(jitter_ms);
        let index_bytes = usize::try_from(config.segment_index_bytes).unwrap_or(0);
        let full = segment.tail.load().as_ref().is_some_and(|tail| {
            let offsets = usize::try_from(tail.offsets.count()).unwrap_or(usize::MAX);
            // The last slot of the time index is kept for the entry at the roll.
            offsets >= index_bytes / offset_index::ENTRY_SIZE
                || tail.times.lock().len() + 1 >= index_bytes / time_index::ENTRY_SIZE
        });
        too_large || too_old || full || segment.relative(last).is_none()
    }

    /// Less than `segment.jitter.ms`, spread over partitions and segments.
    fn roll_jitter_ms(&self, base: Offset) -> i64 {
        let config = self.config.load();
        let limit = config.segment_jitter_ms.min(config.segment_ms);
        let Some(limit) = u64::try_from(limit).ok().filter(|limit| *limit > 0) else { return 0 };
        let mut hasher = DefaultHasher::new();
        (&self.partition, base).hash(&mut hasher);
        i64::try_from(hasher.finish() % limit).unwrap_or(0)
    }

    /// Goes on in a new segment that begins at `base`, the log's next offset. What the old segment still needs
    /// (index files, sync, snapshot) is done by the upkeep soon.
    pub(crate) fn roll_to(&self, core: &mut Core, base: Offset) -> Result<Arc<Segment>, Error> {
        let old = self.active_segment();
        self.end_time_index(&old);
        let created = self.directory.clock.wall();
        let warm = self.warm(core)?;
        let snapshot = producer_snapshot::encode(&warm.producers);
        warm.snapshots.push((base, snapshot));
        warm.active = Active { position: 0, since_entry: 0, first_timestamp: None, created };
        let segment = Segment::fresh(self.place.clone(), base);
        self.push_segment(segment.clone());
        self.directory.metrics.segments_rolled.inc();
        core.unflushed_bytes = 0;
        self.directory.request_upkeep(self.me.clone());
        Ok(segment)
    }

    /// The time index of a closed segment ends with its largest timestamp (`LogSegment.onBecomeInactiveSegment`).
    pub(crate) fn end_time_index(&self, segment: &Segment) {
        if let (Some(tail), Some(max)) = (segment.tail.load().as_ref(), segment.known_max_timestamp())
            && let Some(relative) = segment.relative(max.offset)
        {
            tail.times.lock().maybe_append(time_index::Entry { timestamp: max.timestamp, relative });
        }
    }

    /// Goes on in a new segment although nothing forces it, so that the old one may be deleted. Nothing happens when
    /// the active segment is empty.
    pub(crate) fn roll_now(&self) -> Result<(), Error> {
        let mut core = self.core.lock();
        if self.warm(&mut core)?.active.position > 0 {
            let base = core.next;
            let segment = self.roll_to(&mut core, base)?;
            if self.published.offset() == base {
                // Nothing is queued: the log ends in the new segment for readers, too.
                self.published.store(End { offset: base, segment: segment.base, position: 0 });
            }
        }
        Ok(())
    }
}

/// The state of a segment that has no batch yet.
pub(crate) fn empty_active(created: Timestamp) -> Active {
    Active { position: 0, since_entry: 0, first_timestamp: None, created }
}
