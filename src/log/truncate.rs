//! The log gets shorter: on a follower whose leader says so, and after an append that could not be written.

use crate::base::Offset;
use crate::log::Core;
use crate::log::Log;
use crate::log::Segments;
use crate::log::error::Error;
use crate::log::layout;
use crate::log::layout::FileName;
use crate::log::layout::Kind;
use crate::log::load::activate;
use crate::log::offset_index::TailIndex;
use crate::log::published::End;
use crate::log::segment::Segment;
use crate::log::segment::Tail;
use parking_lot::Mutex;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Log {
    /// Removes every record at or above `offset`. Appends that are not written yet are waited for first. A log that
    /// begins above `offset` is emptied and begins there.
    ///
    /// # Errors
    /// [`Error::Offline`], [`Error::Closed`], [`Error::Io`].
    pub fn truncate_to(&self, offset: Offset) -> Result<(), Error> {
        self.check_online()?;
        let _shape = self.shape.lock();
        let mut core = self.core.lock();
        while core.writing || !core.queue.is_empty() {
            self.wait_for_round(&mut core);
        }
        let end = core.next;
        let warm = self.warm(&mut core)?;
        if offset >= end {
            // An epoch that began here without a record may contradict the leader's.
            warm.epochs_dirty |= warm.epochs.truncate_from_end(end);
            return Ok(());
        }
        tracing::info!(partition = %self.partition, %offset, %end, "truncating");
        self.recovery_point.fetch_min(offset.0, Ordering::AcqRel);
        for name in [layout::RECOVERY_POINTS, layout::CLEANER_OFFSETS, layout::LOG_STARTS] {
            self.directory.checkpoints.lower(&self.directory, name, (&self.partition, offset))?;
        }
        core.note_taken_back(offset);
        self.shorten(&mut core, offset)?;
        self.announce(&core);
        Ok(())
    }

    /// Cuts files and state back to `to`, synced. Nothing may be queued or being written.
    pub(crate) fn shorten(&self, core: &mut Core, to: Offset) -> Result<(), Error> {
        self.warm(core)?;
        let segments = self.view.load_full();
        let keep = segments.partition_point(|segment| segment.base <= to);
        let mut kept: Segments = segments.iter().take(keep).cloned().collect();
        let position = match kept.last() {
            Some(last) if last.base < to => {
                let size = last.size();
                self.locate(last, to, size)?.map_or(size, |batch| batch.position)
            }
            Some(_) => 0,
            None => {
                kept.push(Segment::fresh(self.place.clone(), to));
                0
            }
        };
        let last = kept.last().cloned().expect("one segment was kept or made");
        self.load_tail(&last)?;
        self.view.store(Arc::new(kept));
        self.published.store(End { offset: to, segment: last.base, position });
        for gone in segments.iter().skip(keep) {
            self.remove_segment(gone)?;
        }
        let io = |error: io::Error| Error::io(&last.path(Kind::Log), error);
        last.cut(&self.directory, position).map_err(io)?;
        if last.exists() {
            let file = last.file(&self.directory).map_err(io)?;
            self.synced_or_offline(&last.path(Kind::Log), file.sync_data())?;
        }
        self.shorten_state(core, &last, to)?;
        let dir = self.place.path();
        self.synced_or_offline(&dir, self.directory.disk.sync_dir(&dir))
    }

    /// Indexes, epochs, producers and numbers follow the files.
    fn shorten_state(&self, core: &mut Core, last: &Arc<Segment>, to: Offset) -> Result<(), Error> {
        self.lower_end(core, to);
        let aborted = self.aborted_of(last)?;
        last.set_aborted(aborted.iter().filter(|entry| entry.last < to).copied().collect());
        self.cut_indexes(last, to);
        self.remove_snapshots_above(to)?;
        let (active, _) = activate(&self.directory, last, self.index_interval_bytes())?;
        let rebuilt = self.rebuild_producers(to, to)?;
        let segments = self.view.load();
        core.dirty.retain(|dirty| segments.iter().any(|segment| Arc::ptr_eq(segment, dirty)));
        let warm = self.warm(core)?;
        warm.active = active;
        warm.indexes_stale = true;
        warm.producers = rebuilt.producers;
        warm.last_snapshot = rebuilt.snapshot;
        warm.snapshots.retain(|snapshot| snapshot.0 <= to);
        warm.epochs_dirty |= warm.epochs.truncate_from_end(to);
        Ok(())
    }

    /// The log ends at `to`, below what was thought, and no number says more.
    pub(crate) fn lower_end(&self, core: &mut Core, to: Offset) {
        for number in [&self.start, &self.start_saved, &self.high_watermark, &self.recovery_point] {
            number.fetch_min(to.0, Ordering::AcqRel);
        }
        core.next = to;
        core.sync_to = core.sync_to.min(to);
        core.synced = core.synced.min(to);
    }

    /// Takes the indexes of a segment that was closed into memory.
    fn load_tail(&self, segment: &Segment) -> Result<(), Error> {
        if segment.tail.load().is_none() {
            let offsets = TailIndex::with(segment.file_index(&self.directory)?.iter());
            let times = Mutex::new(segment.time_index(&self.directory)?);
            segment.tail.store(Some(Arc::new(Tail { offsets, times })));
        }
        Ok(())
    }

    /// The last segment's indexes in memory end where the log does now; their files follow with the next flush (a
    /// device may be full just now), and recovery trusts none of their entries above the recovery point.
    fn cut_indexes(&self, last: &Segment, to: Offset) {
        if let Some(tail) = last.tail.load().as_ref() {
            tail.offsets.shorten_to_position(last.size());
            tail.times.lock().truncate_to(last.relative(to).unwrap_or(u32::MAX));
        }
        last.set_max_timestamp(None);
    }

    /// Removes a segment's files at once.
    fn remove_segment(&self, segment: &Segment) -> Result<(), Error> {
        segment.close(&self.directory);
        for kind in Kind::ALL {
            let path = segment.path(kind);
            match self.directory.disk.remove_file(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(Error::io(&path, error)),
            }
        }
        Ok(())
    }

    fn remove_snapshots_above(&self, to: Offset) -> Result<(), Error> {
        let dir = self.place.path();
        for entry in self.directory.disk.list(&dir).map_err(|error| Error::io(&dir, error))? {
            let name = entry.name.to_str().and_then(FileName::parse);
            if let Some(name) = name.filter(|name| name.kind == Kind::Snapshot && name.base > to) {
                let path = layout::file_path(&dir, name.base, name.kind);
                self.directory.disk.remove_file(&path).map_err(|error| Error::io(&path, error))?;
            }
        }
        Ok(())
    }
}
