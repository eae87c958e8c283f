//! A copy of a log's files in another folder, which grows while the log serves. What is copied is synced at once, so that
//! next to nothing is left to do when the copy takes the log's place.

use crate::base::Offset;
use crate::base::TopicId;
use crate::io::disk::Disk;
use crate::io::disk::File;
use crate::io::disk::Open;
use crate::log::Log;
use crate::log::dirs::write_partition_metadata;
use crate::log::error::Error;
use crate::log::layout;
use crate::log::layout::FileName;
use crate::log::layout::Intermediate;
use crate::log::layout::Kind;
use crate::log::segment::Segment;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes that are read and written at once.
const STEP: usize = 1 << 20;
/// The files beside a segment's records that do not change any more once it is closed.
const BESIDE: [Kind; 4] = [Kind::Index, Kind::TimeIndex, Kind::AbortedIndex, Kind::Snapshot];

/// The copy. One caller at a time makes it grow.
#[derive(Debug)]
pub(crate) struct Copy {
    disk: Disk,
    pub(crate) folder: PathBuf,
    copied: Mutex<BTreeMap<Offset, Copied>>,
}

/// What is copied of a segment, synced. Compaction puts another segment in its place, whose bytes are others; so may be
/// those that follow where it was cut.
#[derive(Clone, Debug)]
struct Copied {
    segment: Arc<Segment>,
    cuts: u64,
    bytes: u64,
    /// Its indexes and its snapshot, too.
    with_indexes: bool,
}

/// How far a copy is, for DescribeLogDirs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) bytes: u64,
    /// Records that are not copied yet, as far as whole segments tell.
    pub(crate) lag: i64,
}

impl Copy {
    /// An empty copy in a folder that is there.
    pub(crate) fn new(disk: Disk, folder: PathBuf) -> Copy {
        Copy { disk, folder, copied: Mutex::default() }
    }

    /// How far it is.
    pub(crate) fn progress(&self, log: &Log) -> Progress {
        let copied = self.copied.lock();
        let segments = log.view.load_full();
        let whole = |segment: &&Arc<Segment>| {
            copied.get(&segment.base).is_some_and(|done| done.bytes >= segment.size())
        };
        let first_missing = segments.iter().find(|segment| !whole(segment)).map(|segment| segment.base);
        let end = log.log_end_offset();
        let lag = first_missing.map_or(0, |base| end.0.saturating_sub(base.0).max(0));
        Progress { bytes: copied.values().map(|done| done.bytes).sum(), lag }
    }

    /// Copies some more, at most `bytes_max` of records; how many bytes.
    pub(crate) fn grow(&self, log: &Log, bytes_max: u64) -> Result<u64, Error> {
        let mut grown: u64 = 0;
        let segments = log.view.load_full();
        let last = segments.last().map(|last| last.base);
        for segment in segments.iter() {
            if grown >= bytes_max {
                break;
            }
            grown = grown.saturating_add(self.copy_segment(log, segment, bytes_max - grown)?);
            if last != Some(segment.base) {
                self.copy_indexes(segment)?;
            }
        }
        Ok(grown)
    }

    fn known(&self, segment: &Arc<Segment>) -> Option<Copied> {
        let copied = self.copied.lock();
        let is_it = |known: &&Copied| Arc::ptr_eq(&known.segment, segment) && known.cuts == segment.cuts();
        copied.get(&segment.base).filter(is_it).cloned()
    }

    fn copy_segment(&self, log: &Log, segment: &Arc<Segment>, bytes_max: u64) -> Result<u64, Error> {
        let cuts = segment.cuts();
        let known = self.known(segment);
        let done = known.as_ref().map_or(0, |known| known.bytes);
        let end = segment.size().min(done.saturating_add(bytes_max));
        if end <= done && known.is_some() || !segment.exists() {
            return Ok(0);
        }
        let path = layout::file_path(&self.folder, segment.base, Kind::Log);
        let failed = |error| Error::io(&path, error);
        let source = match segment.file(&log.directory) {
            Ok(source) => source,
            // Retention or compaction took it away meanwhile: it will not be among the segments next time.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(Error::io(&segment.path(Kind::Log), error)),
        };
        let target = self.disk.open(&path, Open::Create).map_err(failed)?;
        if done == 0 {
            target.set_len(0).map_err(failed)?;
        }
        copy_bytes((&source, &segment.path(Kind::Log)), (&target, &path), done..end)?;
        target.sync_data().map_err(failed)?;
        let copied = Copied { segment: Arc::clone(segment), cuts, bytes: end, with_indexes: false };
        self.copied.lock().insert(segment.base, copied);
        Ok(end.saturating_sub(done))
    }

    /// The files beside a closed segment whose records are copied.
    fn copy_indexes(&self, segment: &Arc<Segment>) -> Result<(), Error> {
        let Some(known) = self.known(segment) else { return Ok(()) };
        let in_files = segment.tail.load().is_none();
        if known.with_indexes || known.bytes < segment.size() || !in_files {
            return Ok(());
        }
        for kind in BESIDE {
            let (from, to) = (segment.path(kind), layout::file_path(&self.folder, segment.base, kind));
            match copy_file(&self.disk, &from, &to) {
                // There is none, or the segment has gone.
                Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {}
                copied => copied?,
            }
        }
        self.copied.lock().insert(segment.base, Copied { with_indexes: true, ..known });
        Ok(())
    }

    /// Copies the rest and makes all of it safe. The log rests, and the caller holds its `shape` lock. `omitted` is a file
    /// that is not the log's.
    pub(crate) fn complete(&self, log: &Log, topic_id: TopicId, omitted: &str) -> Result<(), Error> {
        let unflushed = log.unflushed()?;
        let segments = log.view.load_full();
        for segment in segments.iter() {
            self.copy_segment(log, segment, u64::MAX)?;
        }
        let bases: BTreeSet<Offset> = segments.iter().map(|segment| segment.base).collect();
        let from = log.path();
        let mut beside = self.names(&from)?;
        beside.retain(|name| match FileName::parse(name) {
            Some(file) if file.state != Intermediate::None || file.kind == Kind::Log => false,
            Some(file) => file.kind == Kind::Snapshot || bases.contains(&file.base),
            None => !name.ends_with(".tmp") && name != omitted,
        });
        let is_wanted = |name: &String| {
            let records = |file: &FileName| file.kind == Kind::Log && bases.contains(&file.base);
            beside.contains(name) || FileName::parse(name).as_ref().is_some_and(records)
        };
        // What was copied of segments that have gone.
        for name in self.names(&self.folder)?.iter().filter(|name| !is_wanted(name)) {
            let path = self.folder.join(name);
            self.disk.remove_file(&path).map_err(|error| Error::io(&path, error))?;
        }
        for name in beside.iter().filter(|name| !self.has_beside(&segments, name)) {
            copy_file(&self.disk, &from.join(name), &self.folder.join(name))?;
        }
        for (name, bytes) in &unflushed {
            let path = self.folder.join(name);
            let file = overwrite(&self.disk, &path);
            let written = file.and_then(|file| file.write_at(bytes, 0).and_then(|()| file.sync_all()));
            written.map_err(|error| Error::io(&path, error))?;
        }
        write_partition_metadata(&self.disk, &self.folder, topic_id)?;
        self.disk.sync_dir(&self.folder).map_err(|error| Error::io(&self.folder, error))
    }

    /// Whether a file beside the records was copied with its segment.
    fn has_beside(&self, segments: &[Arc<Segment>], name: &str) -> bool {
        let Some(file) = FileName::parse(name) else { return false };
        let of = segments.iter().find(|segment| segment.base == file.base);
        of.and_then(|segment| self.known(segment)).is_some_and(|known| known.with_indexes)
    }

    /// The files in a folder.
    fn names(&self, folder: &Path) -> Result<BTreeSet<String>, Error> {
        let entries = self.disk.list(folder).map_err(|error| Error::io(folder, error))?;
        let files = entries.into_iter().filter(|entry| !entry.is_dir);
        Ok(files.map(|entry| entry.name.to_string_lossy().into_owned()).collect())
    }
}

/// A file that is empty.
fn overwrite(disk: &Disk, path: &Path) -> io::Result<File> {
    let file = disk.open(path, Open::Create)?;
    file.set_len(0)?;
    Ok(file)
}

/// Copies a whole file, synced.
fn copy_file(disk: &Disk, from: &Path, to: &Path) -> Result<(), Error> {
    let source = disk.open(from, Open::Read).map_err(|error| Error::io(from, error))?;
    let length = source.len().map_err(|error| Error::io(from, error))?;
    let target = overwrite(disk, to).map_err(|error| Error::io(to, error))?;
    copy_bytes((&source, from), (&target, to), 0..length)?;
    target.sync_all().map_err(|error| Error::io(to, error))
}

/// Copies bytes of one file to the same place in another.
fn copy_bytes(
    (source, from): (&File, &Path),
    (target, to): (&File, &Path),
    range: Range<u64>,
) -> Result<(), Error> {
    let step = |left: u64| usize::try_from(left).unwrap_or(STEP).min(STEP);
    let mut buffer = vec![0; step(range.end.saturating_sub(range.start))];
    let mut position = range.start;
    while position < range.end {
        let size = step(range.end - position);
        let part = buffer.get_mut(..size).unwrap_or_default();
        source.read_exact_at(part, position).map_err(|error| Error::io(from, error))?;
        target.write_at(part, position).map_err(|error| Error::io(to, error))?;
        position = position.saturating_add(u64::try_from(size).unwrap_or(0));
    }
    Ok(())
}
