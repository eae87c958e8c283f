//! The append: under the partition's short lock the producer is checked, offsets are given, and the batch is
//! indexed and queued. No I/O happens under the lock, except that a log which was never used is loaded first.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::log::Core;
use crate::log::Log;
use crate::log::Segments;
use crate::log::error::Error;
use crate::log::load::marker_of;
use crate::log::offset_index;
use crate::log::producers::Marker;
use crate::log::producers::Origin;
use crate::log::producers::Proof;
use crate::log::producers::Verdict;
use crate::log::segment::Segment;
use crate::log::time_index;
use crate::log::writer::Queued;
use crate::record::CheckedBatch;
use crate::record::Header;
use std::sync::Arc;

/// A log that has grown by this much since its last flush is flushed soon. A start after a crash reads, writes anew and
/// syncs what was not flushed, so this bounds its work; the kernel writes such amounts out within seconds anyway.
const UNFLUSHED_BYTES_MAX: u64 = 64 << 20;

/// How a batch is appended.
#[derive(Clone, Copy, Debug)]
pub struct Append {
    /// The leader epoch that is written into the batch's head.
    pub epoch: LeaderEpoch,
    /// Whether the batch shall reach stable storage soon; [`Log::synced`] waits for that. Without it, the batch is
    /// written to the page cache, usually before the call returns.
    pub sync: bool,
    /// Who appends.
    pub origin: Origin,
    /// What speaks for a batch of a transaction, or for its end.
    pub proof: Proof,
    /// Whether more follows at once: unless it must be synced, the batch is only queued, and whoever appends calls
    /// [`Log::write_held`] before it does anything else that can wait.
    pub hold: bool,
}

/// Where a batch went. Hand it to [`Log::written`] or [`Log::synced`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Appended {
    /// The offset of the batch's first record.
    pub base_offset: Offset,
    /// The offset after its last record.
    pub end_offset: Offset,
    /// The broker's time in the records (LogAppendTime), else -1. Of a duplicate: its batch's timestamp.
    pub append_time: Timestamp,
    /// The log's start at that moment.
    pub log_start_offset: Offset,
    /// The batch was one of the producer's last five: nothing was appended, the offsets are the old ones.
    pub duplicate: bool,
    /// `flush.messages` asks for a sync before this append counts as written.
    pub(crate) flush: bool,
    pub(crate) generation: u64,
}

impl Log {
    /// Appends a batch at the end. The order of appends is the order of these calls; when the call returns, the
    /// batch has its offsets, and it is written or on its way (see [`Log::written`], [`Log::synced`]).
    ///
    /// Wait for [`Log::room`] before appending what came from a connection.
    ///
    /// # Errors
    /// [`Error::Producer`], [`Error::BatchTooLarge`], [`Error::Offline`], [`Error::Closed`]; loading a log that was
    /// not used yet can fail with [`Error::Io`] and [`Error::Damaged`].
    pub fn append(&self, batch: CheckedBatch, how: Append) -> Result<Appended, Error> {
        self.check_online()?;
        let config = self.config.load();
        let size = batch.header().total_size();
        let segment_bytes = u64::try_from(config.segment_bytes).unwrap_or(0);
        let batch_bytes = u64::try_from(size).unwrap_or(u64::MAX);
        if batch_bytes > segment_bytes {
            return Err(Error::BatchTooLarge { size, segment_bytes });
        }
        let marker = marker(&batch);
        let mut core = self.core.lock();
        if core.closed || core.resting {
            return Err(Error::Closed);
        }
        let verdict =
            self.warm(&mut core)?.producers.check(batch.header(), marker, (how.origin, how.proof))?;
        if let Verdict::Duplicate { base, end, timestamp } = verdict {
            return Ok(self.duplicate(&mut core, how, (base, end), timestamp));
        }
        let appended = self.enqueue(&mut core, &batch, marker, how)?;
        let sync = how.sync || appended.flush;
        let round = if how.hold && !sync { None } else { self.choose_writer(&mut core, sync) };
        drop(core);
        if let Some(round) = round {
            self.write_rounds(round);
        }
        Ok(appended)
    }

    /// Writes what was appended with [`Append::hold`], unless somebody else has or does.
    pub fn write_held(&self) {
        let mut core = self.core.lock();
        if core.queue.is_empty() || core.closed {
            return;
        }
        let round = self.choose_writer(&mut core, false);
        drop(core);
        if let Some(round) = round {
            self.write_rounds(round);
        }
    }

    fn duplicate(
        &self,
        core: &mut Core,
        how: Append,
        (base, end): (Offset, Offset),
        timestamp: Timestamp,
    ) -> Appended {
        // The first attempt may have been written without a sync; this one may ask for it.
        if how.sync && core.synced < end {
            core.sync_to = core.sync_to.max(end);
            self.list_for_disk(core);
        }
        Appended {
            base_offset: base,
            end_offset: end,
            append_time: timestamp,
            log_start_offset: self.log_start_offset(),
            duplicate: true,
            flush: false,
            generation: core.generation,
        }
    }

    /// Gives offsets, rolls when due, indexes and queues.
    fn enqueue(
        &self,
        core: &mut Core,
        batch: &CheckedBatch,
        marker: Option<Marker>,
        how: Append,
    ) -> Result<Appended, Error> {
        let header = batch.header();
        let base = core.next;
        let last = base.checked_add(i64::from(header.last_offset_delta.max(0)));
        let ends = last.and_then(|last| last.checked_add(1).map(|end| (last, end)));
        let Some((last, end)) = ends else {
            return Err(Error::OffsetOutOfRange { offset: base, start: self.log_start_offset(), end: base });
        };
        let segment = self.roll_if_due(core, header, base, last)?;
        let aborted_before = if marker.is_some() { Some(self.aborted_of(&segment)?) } else { None };
        let bytes = u64::try_from(header.total_size()).unwrap_or(u64::MAX);
        let config = self.config.load();
        let warm = self.warm(core)?;
        warm.epochs_dirty |= warm.epochs.assign(how.epoch, base);
        let position = warm.active.position;
        if position == 0 {
            warm.active.first_timestamp = Some(Timestamp(header.max_timestamp));
        }
        warm.active.since_entry = index(
            &segment,
            header,
            (last, position),
            (warm.active.since_entry, u64::try_from(config.index_interval_bytes).unwrap_or(0)),
        );
        warm.active.position = position.saturating_add(bytes);
        if let Some(aborted) = warm.producers.apply(header, base, marker) {
            let before = aborted_before.unwrap_or_default();
            segment.set_aborted(before.iter().copied().chain([aborted]).collect());
        }
        core.next = end;
        self.count_unflushed(core, bytes);
        core.unsynced_records = core.unsynced_records.saturating_add(i64::from(header.record_count.max(1)));
        if core.dirty.last().is_none_or(|last| !Arc::ptr_eq(last, &segment)) {
            core.dirty.push(segment.clone());
        }
        let parts = [batch.head(base, how.epoch), batch.rest()];
        core.queue.push(Queued { segment, position, parts, bytes, end });
        self.directory.queued(bytes);
        Ok(Appended {
            base_offset: base,
            end_offset: end,
            append_time: batch.append_time(),
            log_start_offset: self.log_start_offset(),
            duplicate: false,
            flush: core.unsynced_records >= config.flush_messages,
            generation: core.generation,
        })
    }

    /// Asks for a flush when much was appended since the last, so that a start after a crash has little to check.
    fn count_unflushed(&self, core: &mut Core, bytes: u64) {
        core.unflushed_bytes = core.unflushed_bytes.saturating_add(bytes);
        if core.unflushed_bytes >= UNFLUSHED_BYTES_MAX {
            core.unflushed_bytes = 0;
            self.directory.request_upkeep(self.me.clone());
        }
    }

    fn roll_if_due(
        &self,
        core: &mut Core,
        header: &Header,
        base: Offset,
        last: Offset,
    ) -> Result<Arc<Segment>, Error> {
        let segment = self.active_segment();
        let active = self.warm(core)?.active;
        if !self.roll_is_due(&segment, &active, header, last) {
            return Ok(segment);
        }
        self.roll_to(core, base)
    }

    /// Adds a segment at the end of the view.
    pub(crate) fn push_segment(&self, segment: Arc<Segment>) {
        let mut segments: Segments = self.view.load().as_ref().clone();
        segments.push(segment);
        self.view.store(Arc::new(segments));
    }
}

/// Enters a batch into the segment's indexes by Kafka's rule (`LogSegment.append`); the bytes since the last entry.
fn index(
    segment: &Segment,
    header: &Header,
    (last, position): (Offset, u64),
    (since_entry, interval): (u64, u64),
) -> u64 {
    segment.note_timestamp(Timestamp(header.max_timestamp), last);
    let bytes = u64::try_from(header.total_size()).unwrap_or(u64::MAX);
    if since_entry <= interval {
        return since_entry.saturating_add(bytes);
    }
    let tail = segment.tail.load();
    if let (Some(tail), Some(relative), Ok(position)) =
        (tail.as_ref(), segment.relative(last), u32::try_from(position))
    {
        tail.offsets.push(offset_index::Entry { relative, position });
        let max = segment.known_max_timestamp();
        if let Some((max, relative)) = max.and_then(|max| segment.relative(max.offset).map(|at| (max, at))) {
            tail.times.lock().maybe_append(time_index::Entry { timestamp: max.timestamp, relative });
        }
    }
    bytes
}

/// What the control batch of a transaction says; `None` for every other batch.
fn marker(batch: &CheckedBatch) -> Option<Marker> {
    let header = batch.header();
    if !header.is_control() || ProducerId(header.producer_id).0 < 0 {
        return None;
    }
    marker_of(batch.bytes())
}
