//! The new segment: written under `.cleaned` names, then put in the place of those it replaces.
//!
//! ```text
//! 1  X.*.cleaned written and synced           a start removes them
//! 2  X.*.cleaned -> X.*.swap, folder synced   from here on a start ends the replacement
//! 3  the files of the replaced segments go, folder synced
//! 4  X.*.swap -> X.*, folder synced
//! ```
//! (`LocalLog.replaceSegments`, `LogLoader`.) While one `.cleaned` file of a base is there, its `.swap` files count for
//! nothing; so the renames of step 2 may be seen in part.

use crate::base::Offset;
use crate::io::disk::File;
use crate::io::disk::Open;
use crate::log::Log;
use crate::log::Segments;
use crate::log::aborted_index;
use crate::log::aborted_index::AbortedTransaction;
use crate::log::directory::Directory;
use crate::log::error::Error;
use crate::log::layout;
use crate::log::layout::Intermediate;
use crate::log::layout::Kind;
use crate::log::segment::IndexBuilder;
use crate::log::segment::MaxTimestamp;
use crate::log::segment::Segment;
use crate::log::writer::is_full;
use crate::record::Header;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that go to a file in one call. A producer that wakes meanwhile gets the core only behind it, and memory for the
/// page cache may cost the kernel some microseconds a page.
const WRITE_MAX: usize = 32 << 10;
/// The device begins to write whenever there are so many bytes for it, rather than with all of them in the end.
const WRITE_BACK: u64 = 1 << 20;

/// The files of a segment.
const KINDS: [Kind; 4] = [Kind::Index, Kind::TimeIndex, Kind::AbortedIndex, Kind::Log];

/// A segment that is being written.
pub(super) struct Output<'a> {
    log: &'a Log,
    base: Offset,
    file: File,
    /// Bytes before `buffer`.
    written: u64,
    /// Bytes that are on their way to the device.
    written_back: u64,
    buffer: Vec<u8>,
    buffer_max: usize,
    indexes: IndexBuilder,
}

/// A segment that is written and synced, under its `.cleaned` names.
pub(super) struct Finished {
    base: Offset,
    pub(super) bytes: u64,
    max: MaxTimestamp,
    aborted: Vec<AbortedTransaction>,
}

impl<'a> Output<'a> {
    /// Begins a segment at `base`; what an earlier try left goes.
    pub(super) fn new(log: &'a Log, base: Offset, buffer_max: usize) -> Result<Output<'a>, Error> {
        log.discard(base)?;
        let path = path(log, base, Kind::Log, Intermediate::Cleaned);
        let file = written(log, &path, log.directory.disk.open(&path, Open::Create))?;
        let indexes = IndexBuilder::new(base, log.index_interval_bytes());
        Ok(Output { log, base, file, written: 0, written_back: 0, buffer: Vec::new(), buffer_max, indexes })
    }

    /// Adds a batch behind the others.
    pub(super) fn push(&mut self, header: &Header, batch: &[u8]) -> Result<(), Error> {
        let buffered = u64::try_from(self.buffer.len()).unwrap_or(u64::MAX);
        self.indexes.add(self.written.saturating_add(buffered), header);
        self.buffer.extend_from_slice(batch);
        if self.buffer.len() >= self.buffer_max { self.write() } else { Ok(()) }
    }

    fn write(&mut self) -> Result<(), Error> {
        let path = path(self.log, self.base, Kind::Log, Intermediate::Cleaned);
        for piece in self.buffer.chunks(WRITE_MAX) {
            written(self.log, &path, self.file.write_at(piece, self.written))?;
            self.written = self.written.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
            if self.written.saturating_sub(self.written_back) >= WRITE_BACK {
                self.file.write_back(self.written_back..self.written);
                self.written_back = self.written;
            }
        }
        self.buffer.clear();
        Ok(())
    }

    /// Writes the indexes; everything is on stable storage when this returns.
    pub(super) fn finish(mut self, aborted: Vec<AbortedTransaction>) -> Result<Finished, Error> {
        self.write()?;
        let (log, base, bytes) = (self.log, self.base, self.written);
        synced(log, base, Kind::Log, &self.file)?;
        let (tail, max) = self.indexes.finish();
        let times = tail.times.lock().encode_from(0);
        let entries = aborted_index::encode(&aborted);
        let files = [
            (Kind::Index, tail.offsets.encode_from(0)),
            (Kind::TimeIndex, times),
            (Kind::AbortedIndex, entries),
        ];
        for (kind, content) in files {
            if kind == Kind::AbortedIndex && content.is_empty() {
                continue;
            }
            let path = path(log, base, kind, Intermediate::Cleaned);
            let made = log.directory.disk.open(&path, Open::Create).and_then(|file| {
                file.write_at(&content, 0)?;
                Ok(file)
            });
            synced(log, base, kind, &written(log, &path, made)?)?;
        }
        log.sync_folder()?;
        Ok(Finished { base, bytes, max, aborted })
    }
}

impl Log {
    /// Puts a new segment in the place of `old`, which lie side by side. `false`, and nothing has changed, when one of
    /// them is no longer as it was: the log was truncated, cut short by retention, closed or deleted meanwhile.
    pub(super) fn replace(&self, old: &[Arc<Segment>], new: &Finished) -> Result<bool, Error> {
        let _shape = self.shape.lock();
        if self.core.lock().closed || self.check_online().is_err() || !is_part(&self.view.load(), old) {
            return Ok(false);
        }
        for segment in old {
            segment.pin(&self.directory)?;
        }
        let swapped = self.swap_files(old, new);
        if let Err(error) = &swapped {
            // Half a replacement is ended by the next start only.
            let path = self.path();
            self.directory.fail(&format!("replacing segments in {} failed: {error}", path.display()));
        }
        swapped?;
        let segment = Segment::existing(self.place.clone(), new.base, new.bytes);
        segment.set_max_timestamp(Some(new.max));
        segment.set_aborted(new.aborted.clone());
        {
            // A roll adds its segment under the same lock.
            let _core = self.core.lock();
            let view = self.view.load();
            let is_old = |at: &&Arc<Segment>| old.iter().any(|old| Arc::ptr_eq(old, at));
            let mut segments: Segments = view.iter().filter(|at| !is_old(at)).cloned().collect();
            let place = segments.partition_point(|at| at.base < new.base);
            segments.insert(place, segment);
            self.view.store(Arc::new(segments));
        }
        for segment in old {
            segment.close(&self.directory);
        }
        Ok(true)
    }

    fn swap_files(&self, old: &[Arc<Segment>], new: &Finished) -> Result<(), Error> {
        for kind in KINDS {
            self.rename_if_there(new.base, kind, (Intermediate::Cleaned, Intermediate::Swap))?;
        }
        self.sync_folder()?;
        for segment in old {
            for kind in Kind::ALL {
                let stays = kind == Kind::Snapshot && segment.base == new.base;
                if !stays {
                    remove_if_there(&self.directory, &segment.path(kind))?;
                }
            }
        }
        self.sync_folder()?;
        for kind in KINDS {
            self.rename_if_there(new.base, kind, (Intermediate::Swap, Intermediate::None))?;
        }
        self.sync_folder()
    }

    fn rename_if_there(
        &self,
        base: Offset,
        kind: Kind,
        (from, to): (Intermediate, Intermediate),
    ) -> Result<(), Error> {
        let (from, to) = (path(self, base, kind, from), path(self, base, kind, to));
        match self.directory.disk.rename(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && kind == Kind::AbortedIndex => Ok(()),
            renamed => renamed.map_err(|error| Error::io(&from, error)),
        }
    }

    fn sync_folder(&self) -> Result<(), Error> {
        let dir = self.path();
        self.synced_or_offline(&dir, self.directory.disk.sync_dir(&dir))
    }

    /// Removes what is under `.cleaned` names at `base`.
    pub(super) fn discard(&self, base: Offset) -> Result<(), Error> {
        let path = |kind| path(self, base, kind, Intermediate::Cleaned);
        KINDS.into_iter().try_for_each(|kind| remove_if_there(&self.directory, &path(kind)))
    }
}

/// Whether `old` is a part of the view, closed, with nothing left out between.
fn is_part(view: &Segments, old: &[Arc<Segment>]) -> bool {
    let Some(first) = old.first() else { return false };
    let at = view.partition_point(|segment| segment.base < first.base);
    let there = view.get(at..at + old.len()).unwrap_or_default();
    let last_is_closed = at + old.len() < view.len();
    last_is_closed
        && there.len() == old.len()
        && there.iter().zip(old).all(|(there, old)| Arc::ptr_eq(there, old) && old.tail.load().is_none())
}

fn path(log: &Log, base: Offset, kind: Kind, state: Intermediate) -> PathBuf {
    let mut path = layout::file_path(&log.path(), base, kind).into_os_string();
    path.push(state.suffix());
    PathBuf::from(path)
}

fn remove_if_there(directory: &Directory, path: &Path) -> Result<(), Error> {
    match directory.disk.remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::io(path, error)),
        _ => Ok(()),
    }
}

/// A failed write takes the directory offline, as any other; a full device is met again later.
fn written<T>(log: &Log, path: &Path, result: io::Result<T>) -> Result<T, Error> {
    result.map_err(|error| {
        if is_full(&error) {
            return Error::Full { dir: log.directory.path.clone() };
        }
        // The folder of a deleted partition has another name.
        if error.kind() != io::ErrorKind::NotFound {
            log.directory.fail(&format!("writing {} failed: {error}", path.display()));
        }
        Error::io(path, error)
    })
}

fn synced(log: &Log, base: Offset, kind: Kind, file: &File) -> Result<(), Error> {
    log.synced_or_offline(&path(log, base, kind, Intermediate::Cleaned), file.sync_data())
}
