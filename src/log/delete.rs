//! Records and logs go: DeleteRecords, retention, the end of a topic, the end of the process.

use crate::base::Offset;
use crate::base::Timestamp;
use crate::log::Core;
use crate::log::Log;
use crate::log::Segments;
use crate::log::directory::Trash;
use crate::log::error::Error;
use crate::log::layout;
use crate::log::layout::Intermediate;
use crate::log::layout::Kind;
use crate::log::retention;
use crate::log::retention::Policy;
use crate::log::retention::SegmentFacts;
use crate::log::segment::Segment;
use crate::log::writer::is_full;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

impl Log {
    /// Moves the log's start up to `before` (DeleteRecords, KIP-107); a start beyond it stays. Returns the start.
    /// Segments that lie below it are removed by the next retention run.
    ///
    /// # Errors
    /// [`Error::OffsetOutOfRange`] above the high watermark; [`Error::Offline`]; [`Error::Closed`] while a copy takes the
    /// place of the log.
    pub fn delete_records(&self, before: Offset) -> Result<Offset, Error> {
        self.check_online()?;
        let high_watermark = self.high_watermark();
        if before > high_watermark {
            let start = self.log_start_offset();
            return Err(Error::OffsetOutOfRange { offset: before, start, end: high_watermark });
        }
        let mut core = self.core.lock();
        if core.resting {
            return Err(Error::Closed);
        }
        self.raise_start(&mut core, before);
        Ok(self.log_start_offset())
    }

    fn raise_start(&self, core: &mut Core, start: Offset) {
        if self.start.fetch_max(start.0, Ordering::AcqRel) >= start.0 {
            return;
        }
        if let Some(warm) = core.warm.as_mut() {
            warm.epochs_dirty |= warm.epochs.truncate_from_start(start);
            warm.producers.replicated_to(start);
        }
    }

    /// Removes the segments that retention no longer keeps; `now` is the time to judge ages by. How many went.
    ///
    /// # Errors
    /// [`Error::Offline`], [`Error::Io`]; what could not be removed stays for the next run.
    pub(crate) fn retain(&self, now: Timestamp) -> Result<usize, Error> {
        self.check_online()?;
        let _shape = self.shape.lock();
        let (count, reason) = {
            let facts = self.facts(now)?;
            retention::expired(&facts, &self.policy(now))
        };
        let total = self.segment_count();
        if count == 0 {
            return Ok(0);
        }
        if count >= total {
            self.roll_now()?;
        }
        let count = count.min(self.segment_count().saturating_sub(1));
        let segments = self.view.load_full();
        let Some(first_kept) = segments.get(count) else { return Ok(0) };
        let start = first_kept.base;
        self.name_end(first_kept)?;
        tracing::info!(partition = %self.partition, count, ?reason, %start, "removing old segments");
        self.raise_start(&mut self.core.lock(), start);
        self.remove_oldest(&segments, count)?;
        Ok(count)
    }

    /// Makes the name of a segment without records safe before those before it go: nothing else tells a start after a
    /// crash where the log ends.
    fn name_end(&self, first_kept: &Arc<Segment>) -> Result<(), Error> {
        match first_kept.file(&self.directory) {
            Ok(_made) => {}
            // The recovery point will tell it soon, and retention is what makes room.
            Err(error) if is_full(&error) => return Ok(()),
            Err(error) => return Err(Error::io(&first_kept.path(Kind::Log), error)),
        }
        let named = self.sync_names(std::slice::from_ref(first_kept));
        self.synced_or_offline(&self.place.path(), named)
    }

    fn policy(&self, now: Timestamp) -> Policy {
        let config = self.config.load();
        Policy {
            now,
            delete: config.cleanup.delete,
            retention_ms: config.retention_ms,
            retention_bytes: config.retention_bytes,
            start: self.log_start_offset(),
            high_watermark: self.high_watermark(),
        }
    }

    /// What retention needs to know; timestamps are read only when it asks for ages.
    fn facts(&self, now: Timestamp) -> Result<Vec<SegmentFacts>, Error> {
        let segments = self.view.load_full();
        let next = self.core.lock().next;
        let config = self.config.load();
        let by_age = config.cleanup.delete && config.retention_ms >= 0;
        let mut facts = Vec::with_capacity(segments.len());
        let mut too_young = false;
        for (index, segment) in segments.iter().enumerate() {
            let following = segments.get(index + 1);
            // Ages matter up to the first segment that stays.
            let newest = if by_age && !too_young { self.newest(segment)? } else { now };
            too_young |= now.0.saturating_sub(newest.0) <= config.retention_ms;
            facts.push(SegmentFacts {
                end: following.map_or(next, |following| following.base),
                bytes: segment.size(),
                newest,
                is_active: following.is_none(),
            });
        }
        Ok(facts)
    }

    /// The largest timestamp of a segment, or when its file changed last if its records carry none.
    pub(crate) fn newest(&self, segment: &Segment) -> Result<Timestamp, Error> {
        if segment.size() == 0 {
            return Ok(Timestamp(i64::MAX));
        }
        let max = segment.max_timestamp(&self.directory)?;
        if max.timestamp.0 >= 0 {
            return Ok(max.timestamp);
        }
        let path = segment.path(Kind::Log);
        let stat = self.directory.disk.stat(&path).map_err(|error| Error::io(&path, error))?;
        Ok(stat.map_or(Timestamp(i64::MAX), |stat| stat.modified))
    }

    /// Takes the oldest segments out of the view, one after the other; their files are renamed now and removed later.
    /// One whose file stays goes back into the view: left behind on disk, it would end in a hole, and recovery would
    /// take all that follows for a torn end.
    fn remove_oldest(&self, segments: &Segments, count: usize) -> Result<(), Error> {
        let mut paths = Vec::new();
        let mut outcome = Ok(());
        for segment in segments.iter().take(count) {
            let was_dirty = self.take_out(segment);
            segment.close(&self.directory);
            outcome = self.mark_deleted(segment, &mut paths);
            if outcome.is_err() {
                self.put_back(segment, was_dirty);
                break;
            }
            self.directory.metrics.segments_deleted.inc();
        }
        let dir = self.place.path();
        let synced = self.synced_or_offline(&dir, self.directory.disk.sync_dir(&dir));
        self.throw_away(paths);
        outcome.and(synced)
    }

    /// Takes the first segment out of the view; whether it had bytes that were not synced.
    fn take_out(&self, segment: &Arc<Segment>) -> bool {
        let mut core = self.core.lock();
        let is_it = |other: &Arc<Segment>| Arc::ptr_eq(other, segment);
        segment.set_deleted(true);
        // A roll may have added a segment since.
        let kept: Segments = self.view.load().iter().filter(|other| !is_it(other)).cloned().collect();
        if let Some(warm) = core.warm.as_mut() {
            let start = kept.first().map_or(Offset::ZERO, |first| first.base);
            warm.snapshots.retain(|snapshot| snapshot.0 >= start);
        }
        self.view.store(Arc::new(kept));
        let was_dirty = core.dirty.iter().any(is_it);
        core.dirty.retain(|dirty| !is_it(dirty));
        was_dirty
    }

    fn put_back(&self, segment: &Arc<Segment>, was_dirty: bool) {
        let mut core = self.core.lock();
        segment.set_deleted(false);
        let mut segments: Segments = self.view.load().as_ref().clone();
        segments.insert(0, segment.clone());
        self.view.store(Arc::new(segments));
        if was_dirty {
            core.dirty.insert(0, segment.clone());
        }
    }

    /// Renames a segment's files, the log first: with it the segment is gone. Where there is no room for the longer
    /// name, the file goes at once. An index that stays behind is removed by the next start.
    fn mark_deleted(&self, segment: &Segment, paths: &mut Vec<PathBuf>) -> Result<(), Error> {
        for kind in Kind::ALL {
            let from = segment.path(kind);
            let to = with_suffix(&from, Intermediate::Deleted.suffix());
            let renamed = match self.directory.disk.rename(&from, &to) {
                Err(error) if is_full(&error) => self.directory.disk.remove_file(&from),
                renamed => renamed.map(|()| paths.push(to)),
            };
            match renamed {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) if kind == Kind::Log => return Err(Error::io(&from, error)),
                Err(error) => {
                    tracing::warn!(file = %from.display(), %error, "cannot remove a file of a deleted segment");
                }
            }
        }
        Ok(())
    }

    /// Removes files after `file.delete.delay.ms`.
    fn throw_away(&self, paths: Vec<PathBuf>) {
        let delay_ms = u64::try_from(self.config.load().file_delete_delay_ms).unwrap_or(0);
        let due = self.directory.clock.now().plus(Duration::from_millis(delay_ms));
        self.directory.throw_away(Trash { due, paths });
    }

    /// Forgets producers that have been idle for `expiration_ms` at `now`.
    pub(crate) fn expire_producers(&self, now: Timestamp, expiration_ms: i64) {
        if let Some(warm) = self.core.lock().warm.as_mut() {
            warm.producers.expire(now, expiration_ms);
        }
    }

    /// Ends the log in good order: everything flushed, the active file cut to its records, memory given back.
    ///
    /// # Errors
    /// As [`Log::flush`].
    pub(crate) fn close(&self) -> Result<(), Error> {
        let _shape = self.shape.lock();
        self.check_online()?;
        for segment in self.view.load().iter() {
            let synced = segment.sync_length(&self.directory);
            synced.map_err(|error| Error::io(&segment.path(Kind::Log), error))?;
        }
        let cold = {
            let mut core = self.core.lock();
            if self.start_to_write().is_some_and(|start| start < self.log_start_offset()) {
                self.warm(&mut core)?;
            }
            core.warm.is_none()
        };
        if !cold {
            let segment = self.active_segment();
            self.flush_shaped()?;
            let path = segment.path(Kind::Log);
            let trimmed = segment.trim(&self.directory).and_then(|()| {
                if segment.exists() { segment.file(&self.directory)?.sync_data() } else { Ok(()) }
            });
            trimmed.map_err(|error| Error::io(&path, error))?;
        }
        self.end();
        Ok(())
    }

    /// Takes no more appends, and waits until those under way are in their files, synced where that was asked for, or were
    /// taken back. The caller holds the `shape` lock.
    ///
    /// # Errors
    /// [`Error::Offline`].
    pub(crate) fn rest(&self) -> Result<(), Error> {
        self.door.shut();
        let mut core = self.core.lock();
        core.resting = true;
        while core.writing || self.published.offset() < core.next || core.synced < core.sync_to {
            self.check_online()?;
            self.wait_for_round(&mut core);
        }
        self.check_online()
    }

    /// Takes appends again.
    pub(crate) fn resume(&self) {
        self.core.lock().resting = false;
        self.door.open();
    }

    /// Nothing more is appended; whoever waits is told.
    pub(crate) fn end(&self) {
        let mut core = self.core.lock();
        core.closed = true;
        if !core.writing && !core.queue.is_empty() {
            // The disk thread may find the log gone: what is queued must not count against the others' room for ever.
            self.take_back(&mut core);
        }
        self.announce(&core);
        drop(core);
        self.door.open();
        for segment in self.view.load().iter() {
            segment.close(&self.directory);
        }
    }

    /// Ends the log and renames its folder to `-delete`; the folder is removed after `file.delete.delay.ms`.
    pub(crate) fn delete(&self) -> Result<(), Error> {
        let _shape = self.shape.lock();
        {
            let mut core = self.core.lock();
            while core.writing {
                self.wait_for_round(&mut core);
            }
            core.closed = true;
        }
        self.end();
        let from = self.place.path();
        let to = self.directory.path.join(layout::deleted_folder_name(&self.partition));
        crate::io::durable::rename(&self.directory.disk, &from, &to)
            .map_err(|error| Error::io(&from, error))?;
        self.place.moved(to.clone());
        self.throw_away(vec![to]);
        Ok(())
    }
}

fn with_suffix(path: &std::path::Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
