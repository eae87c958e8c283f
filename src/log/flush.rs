//! Bringing a log to stable storage as a whole: data, indexes, epochs, producer snapshot; then the recovery point
//! moves (`UnifiedLog.flush`).
//!
//! Appends go on meanwhile: what is to be written is captured under the lock, the I/O happens outside it.

use crate::base::Offset;
use crate::io::disk::Open;
use crate::log::Core;
use crate::log::Log;
use crate::log::aborted_index;
use crate::log::checkpoint::write_text;
use crate::log::error::Error;
use crate::log::layout;
use crate::log::layout::FileName;
use crate::log::layout::Intermediate;
use crate::log::layout::Kind;
use crate::log::producer_snapshot;
use crate::log::segment::Segment;
use crate::log::segment::write_whole;
use crate::log::time_index;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What a flush brings to disk.
struct Capture {
    target: Offset,
    /// The log's start, which the epochs know.
    start: Offset,
    generation: u64,
    /// The active segment when `target` was the log's next offset: those before it were closed, and all their appends
    /// are below the target.
    active: Arc<Segment>,
    /// Segments with indexes in memory: closed ones give them up, the last one goes on with them.
    unsealed: Vec<Arc<Segment>>,
    dirty: Vec<Arc<Segment>>,
    epochs: Option<String>,
    snapshots: Vec<(Offset, Vec<u8>)>,
}

impl Capture {
    /// Whether the segment has all its records, in its file. One that was closed since the capture may have appends
    /// under way: cutting its zeros would cut those, and zeros that come with them would stay for ever.
    fn is_complete(&self, segment: &Segment) -> bool {
        segment.base < self.active.base
    }
}

impl Log {
    /// Makes everything appended so far safe, with indexes and producer state, and moves the recovery point there.
    ///
    /// # Errors
    /// [`Error::Offline`] (a failed sync takes the directory offline), [`Error::Full`], [`Error::Closed`],
    /// [`Error::TakenBack`] when appends failed meanwhile.
    pub fn flush(&self) -> Result<(), Error> {
        self.check_online()?;
        let _shape = self.shape.lock();
        self.flush_shaped()
    }

    /// As [`Log::flush`]; the caller holds the `shape` lock.
    pub(crate) fn flush_shaped(&self) -> Result<(), Error> {
        let Some(capture) = self.capture()? else { return Ok(()) };
        if let Err(error) = self.write_capture(&capture) {
            if let Some(warm) = self.core.lock().warm.as_mut() {
                warm.epochs_dirty |= capture.epochs.is_some();
                warm.snapshots.splice(0..0, capture.snapshots);
            }
            return Err(error);
        }
        self.flushed(&mut self.core.lock(), &capture)?;
        if !capture.snapshots.is_empty() {
            self.remove_stray_snapshots(capture.target)?;
        }
        Ok(())
    }

    /// What is to be flushed, once it is written to the files; `None` when there is nothing.
    fn capture(&self) -> Result<Option<Capture>, Error> {
        let mut core = self.core.lock();
        if core.closed {
            return Err(Error::Closed);
        }
        if core.warm.is_none() {
            return Ok(None);
        }
        let (target, generation) = (core.next, core.generation);
        let active = self.active_segment();
        while self.published.offset() < target {
            self.wait_for_round(&mut core);
            self.check_online()?;
            if core.generation != generation {
                return Err(Error::TakenBack);
            }
        }
        let start = self.log_start_offset().min(target);
        let segments = self.view.load();
        let unsealed: Vec<Arc<Segment>> =
            segments.iter().filter(|segment| segment.tail.load().is_some()).cloned().collect();
        let dirty = core.dirty.clone();
        let unchanged = target == self.recovery_point() && unsealed.len() <= 1 && dirty.is_empty();
        let Some(warm) = core.warm.as_mut() else { return Ok(None) };
        warm.epochs_dirty |= warm.epochs.truncate_from_start(start);
        let saved = !warm.epochs_dirty && !warm.indexes_stale && warm.snapshots.is_empty();
        if unchanged && saved && warm.last_snapshot == Some(target) {
            self.start_saved.fetch_max(start.0, Ordering::AcqRel);
            return Ok(None);
        }
        let mut snapshots = std::mem::take(&mut warm.snapshots);
        // The producers' state is that of the log's next offset; appends may have gone on while we waited.
        let next = core.next;
        let Some(warm) = core.warm.as_mut() else { return Ok(None) };
        if next == target && warm.last_snapshot != Some(target) && snapshots.iter().all(|had| had.0 != target)
        {
            snapshots.push((target, producer_snapshot::encode(&warm.producers)));
        }
        let epochs = std::mem::take(&mut warm.epochs_dirty).then(|| warm.epochs.encode());
        Ok(Some(Capture { target, start, generation, active, unsealed, dirty, epochs, snapshots }))
    }

    fn write_capture(&self, capture: &Capture) -> Result<(), Error> {
        for segment in &capture.unsealed {
            if capture.is_complete(segment) {
                self.on_disk(Kind::Log, segment, segment.trim(&self.directory))?;
            }
        }
        for segment in capture.dirty.iter().chain(&capture.unsealed).filter(|segment| segment.exists()) {
            let file = segment.file(&self.directory);
            let file = self.on_disk(Kind::Log, segment, file)?;
            self.synced_or_offline(&segment.path(Kind::Log), file.sync_data())?;
        }
        let names: Vec<Arc<Segment>> = capture.unsealed.iter().chain(&capture.dirty).cloned().collect();
        self.synced_or_offline(&self.place.path(), self.sync_names(&names))?;
        for segment in &capture.unsealed {
            self.write_index_files(segment)?;
        }
        let dir = self.place.path();
        for (offset, bytes) in &capture.snapshots {
            write_whole(&self.directory, &layout::file_path(&dir, *offset, Kind::Snapshot), bytes)
                .map_err(|error| self.full_or(error))?;
        }
        self.synced_or_offline(&dir, self.directory.disk.sync_dir(&dir))?;
        if let Some(epochs) = &capture.epochs {
            let path = dir.join(layout::LEADER_EPOCHS);
            let written = write_text(&self.directory.disk, &path, epochs);
            written.map_err(|error| self.full_or(Error::io(&path, error)))?;
        }
        Ok(())
    }

    /// Notes that all of it is on disk. Whoever appends to this log, and the disk thread with all other logs, waits for
    /// the lock that the caller holds: nothing here may touch the disk.
    fn flushed(&self, core: &mut Core, capture: &Capture) -> Result<(), Error> {
        if core.generation != capture.generation {
            return Err(Error::TakenBack);
        }
        self.recovery_point.fetch_max(capture.target.0, Ordering::AcqRel);
        self.start_saved.fetch_max(capture.start.0, Ordering::AcqRel);
        core.synced = core.synced.max(capture.target);
        core.last_sync = self.directory.clock.now();
        if core.next == capture.target {
            core.dirty.clear();
            core.unsynced_records = 0;
        }
        for segment in capture.unsealed.iter().filter(|segment| capture.is_complete(segment)) {
            segment.tail.store(None);
            core.dirty.retain(|dirty| !Arc::ptr_eq(dirty, segment));
        }
        if let Some(warm) = core.warm.as_mut() {
            warm.indexes_stale = false;
            warm.last_snapshot = capture.snapshots.last().map(|newest| newest.0).or(warm.last_snapshot);
        }
        self.announce(core);
        Ok(())
    }

    /// Writes a segment's indexes from memory into their files, synced. A segment that has no file yet has none.
    pub(crate) fn write_index_files(&self, segment: &Segment) -> Result<(), Error> {
        if !segment.exists() {
            return Ok(());
        }
        for (kind, bytes) in indexes_in_memory(segment) {
            self.write_synced(&segment.path(kind), &bytes)?;
        }
        let aborted = aborted_index::encode(&self.aborted_of(segment)?);
        let path = segment.path(Kind::AbortedIndex);
        let there = self.directory.disk.stat(&path).map_err(|error| Error::io(&path, error))?;
        let length = u64::try_from(aborted.len()).unwrap_or(u64::MAX);
        if there.map_or(0, |stat| stat.length) != length {
            self.write_synced(&path, &aborted)?;
        }
        Ok(())
    }

    /// What a copy of the log's files lacks because it is only in memory: names and contents. Nothing is written here, so
    /// that a log can leave a directory that is full. The log rests.
    ///
    /// # Errors
    /// Those of loading the log.
    pub(crate) fn unflushed(&self) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let mut core = self.core.lock();
        // Loaded now, it is not loaded while its files are copied, which may cut zeros behind the last batch.
        self.warm(&mut core)?;
        let (start, next) = (self.log_start_offset(), core.next);
        let warm = self.warm(&mut core)?;
        warm.epochs_dirty |= warm.epochs.truncate_from_start(start);
        let mut files = vec![(layout::LEADER_EPOCHS.to_owned(), warm.epochs.encode().into_bytes())];
        let snapshot = |offset| layout::file_name(offset, Kind::Snapshot);
        files.extend(warm.snapshots.iter().map(|(offset, bytes)| (snapshot(*offset), bytes.clone())));
        if warm.last_snapshot != Some(next) {
            files.push((snapshot(next), producer_snapshot::encode(&warm.producers)));
        }
        drop(core);
        for segment in self.view.load().iter().filter(|segment| segment.exists()) {
            let mut indexes = indexes_in_memory(segment);
            if !indexes.is_empty() {
                indexes.push((Kind::AbortedIndex, aborted_index::encode(&self.aborted_of(segment)?)));
            }
            let named = |(kind, bytes)| (layout::file_name(segment.base, kind), bytes);
            files.extend(indexes.into_iter().map(named));
        }
        Ok(files)
    }

    pub(crate) fn write_synced(&self, path: &Path, bytes: &[u8]) -> Result<(), Error> {
        write_whole(&self.directory, path, bytes).map_err(|error| self.full_or(error))?;
        let file = self.directory.disk.open(path, Open::ReadWrite).map_err(|error| Error::io(path, error))?;
        self.synced_or_offline(path, file.sync_data())
    }

    /// Snapshots that belong to no segment and are not the newest go, as in Kafka.
    fn remove_stray_snapshots(&self, newest: Offset) -> Result<(), Error> {
        let dir = self.place.path();
        let segments = self.view.load();
        for entry in self.directory.disk.list(&dir).map_err(|error| Error::io(&dir, error))? {
            let Some(name) = entry.name.to_str().and_then(FileName::parse) else { continue };
            let of_segment = segments.iter().any(|segment| segment.base == name.base);
            let stray = name.kind == Kind::Snapshot && name.state == Intermediate::None && name.base < newest;
            if stray && !of_segment {
                let path = layout::file_path(&dir, name.base, name.kind);
                self.directory.disk.remove_file(&path).map_err(|error| Error::io(&path, error))?;
            }
        }
        Ok(())
    }

    /// A failed sync takes the directory offline.
    pub(crate) fn synced_or_offline(&self, path: &Path, synced: io::Result<()>) -> Result<(), Error> {
        synced.map_err(|error| {
            self.directory.fail(&format!("sync of {} failed: {error}", path.display()));
            Error::io(path, error)
        })
    }

    fn on_disk<T>(&self, kind: Kind, segment: &Segment, result: io::Result<T>) -> Result<T, Error> {
        result.map_err(|error| self.full_or(Error::io(&segment.path(kind), error)))
    }

    /// An error of a full device as such.
    fn full_or(&self, error: Error) -> Error {
        match error {
            Error::Io { source, .. } if crate::log::writer::is_full(&source) => {
                Error::Full { dir: self.directory.path.clone() }
            }
            error => error,
        }
    }
}

/// A segment's indexes as their files shall hold them; none when the files do.
fn indexes_in_memory(segment: &Segment) -> Vec<(Kind, Vec<u8>)> {
    let tail = segment.tail.load();
    let Some(tail) = tail.as_ref() else { return Vec::new() };
    // In the file, the largest timestamp always stands at the end, as after a clean close.
    let mut times = tail.times.lock().clone();
    if let Some(max) = segment.known_max_timestamp()
        && let Some(relative) = segment.relative(max.offset)
    {
        times.maybe_append(time_index::Entry { timestamp: max.timestamp, relative });
    }
    vec![(Kind::Index, tail.offsets.encode_from(0)), (Kind::TimeIndex, times.encode_from(0))]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::tests::Bench;
    use crate::log::tests::append;
    use crate::log::tests::batch;
    use crate::log::tests::how;
    use crate::log::tests::open_log;

    #[test]
    fn a_segment_that_is_closed_while_a_flush_runs_ends_with_its_last_batch() {
        let bench = Bench::new();
        let dirs = bench.open();
        let log = open_log(&dirs, |_| {});
        append(&log, batch(1, 100, 1000));
        let capture = log.capture().unwrap().unwrap();
        log.append(batch(1, 100, 1000), how(true)).unwrap();
        log.roll_now().unwrap();
        log.write_capture(&capture).unwrap();
        log.flushed(&mut log.core.lock(), &capture).unwrap();
        dirs.drive_disks();
        log.flush().unwrap();
        let closed = log.view.load().first().cloned().unwrap();
        let length = log.directory.disk.stat(&closed.path(Kind::Log)).unwrap().unwrap().length;
        assert_eq!(length, closed.size(), "zeros that were written ahead are cut");
    }
}
