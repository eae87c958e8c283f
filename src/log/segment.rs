//! One segment: a `.log` file with its indexes, from a base offset on (class `LogSegment`).
//!
//! Readers need no lock: the size they may read up to, and the index of the active segment, are atomics. The files
//! are opened on demand through [`OpenFiles`](crate::log::open_files::OpenFiles).

use crate::base::Offset;
use crate::base::Timestamp;
use crate::io::disk::File;
use crate::io::disk::Open;
use crate::log::aborted_index;
use crate::log::aborted_index::AbortedTransaction;
use crate::log::directory::Directory;
use crate::log::error::Error;
use crate::log::index_cache::SegmentKey;
use crate::log::layout;
use crate::log::layout::Kind;
use crate::log::offset_index;
use crate::log::offset_index::Entries;
use crate::log::offset_index::Entry;
use crate::log::offset_index::FileIndex;
use crate::log::offset_index::TailIndex;
use crate::log::open_files::Slot;
use crate::log::prove::Proof;
use crate::log::scan::Scan;
use crate::log::scan::Stop;
use crate::log::scan::after;
use crate::log::time_index;
use crate::log::time_index::TimeIndex;
use crate::record::Header;
use arc_swap::ArcSwapOption;
use bytes::Bytes;
use parking_lot::Mutex;
use parking_lot::RwLock;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// Index files larger than this are refused; Kafka's limit of `segment.index.bytes` is below it.
const INDEX_SIZE_MAX: u64 = 1 << 31;

/// A partition's folder; its name changes when the partition is deleted.
#[derive(Debug)]
pub(crate) struct Place(RwLock<Arc<Path>>);

impl Place {
    pub(crate) fn new(path: PathBuf) -> Arc<Place> {
        Arc::new(Place(RwLock::new(path.into())))
    }

    pub(crate) fn path(&self) -> Arc<Path> {
        self.0.read().clone()
    }

    pub(crate) fn moved(&self, path: PathBuf) {
        *self.0.write() = path.into();
    }
}

/// The largest timestamp of a segment and the last offset of the batch that brought it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MaxTimestamp {
    pub(crate) timestamp: Timestamp,
    pub(crate) offset: Offset,
}

/// The indexes of a segment in memory: while it is active, and until they are in their files.
#[derive(Debug)]
pub(crate) struct Tail {
    pub(crate) offsets: TailIndex,
    pub(crate) times: Mutex<TimeIndex>,
}

/// One segment.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) base: Offset,
    key: SegmentKey,
    place: Arc<Place>,
    slot: Arc<Slot>,
    /// Bytes that readers may see.
    size: AtomicU64,
    /// Bytes of the file: more than `size` when space is taken ahead.
    physical: AtomicU64,
    exists: AtomicBool,
    /// How often the file was cut: what was read of it before may have been other bytes.
    cuts: AtomicU64,
    /// It is no longer part of the log, and its files are being renamed.
    deleted: AtomicBool,
    /// The file was made and its name is not on stable storage yet.
    name_unsynced: AtomicBool,
    /// Recovery cut zeros off and left the sync of that to the clean close.
    length_unsynced: AtomicBool,
    /// What an earlier process wrote, and what of it was looked at.
    pub(crate) proof: Proof,
    pub(crate) tail: ArcSwapOption<Tail>,
    max_timestamp: Mutex<Option<MaxTimestamp>>,
    aborted: Mutex<Option<Arc<Vec<AbortedTransaction>>>>,
    /// What a segment that compaction replaces keeps for readers who still hold it. A file is opened by its name only
    /// under this lock and while there is nothing here: the name may be the new segment's.
    pinned: RwLock<Option<Pinned>>,
}

/// The files of a segment that compaction replaces.
#[derive(Debug)]
struct Pinned {
    file: File,
    offsets: FileIndex,
    times: TimeIndex,
}

static NEXT_KEY: AtomicU64 = AtomicU64::new(1);

impl Segment {
    /// A segment whose file has this many bytes, all of them good.
    pub(crate) fn existing(place: Arc<Place>, base: Offset, size: u64) -> Arc<Segment> {
        Arc::new(Segment::with(place, base, size, true))
    }

    /// A segment without a file yet; the first write makes it.
    pub(crate) fn fresh(place: Arc<Place>, base: Offset) -> Arc<Segment> {
        let segment = Segment::with(place, base, 0, false);
        segment.tail.store(Some(Arc::new(Tail {
            offsets: TailIndex::new(),
            times: Mutex::new(TimeIndex::default()),
        })));
        *segment.aborted.lock() = Some(Arc::default());
        *segment.max_timestamp.lock() = Some(MaxTimestamp { timestamp: Timestamp::NONE, offset: base });
        Arc::new(segment)
    }

    fn with(place: Arc<Place>, base: Offset, size: u64, exists: bool) -> Segment {
        Segment {
            base,
            key: NEXT_KEY.fetch_add(1, Ordering::Relaxed),
            place,
            slot: Arc::new(Slot::default()),
            size: AtomicU64::new(size),
            physical: AtomicU64::new(size),
            exists: AtomicBool::new(exists),
            cuts: AtomicU64::new(0),
            deleted: AtomicBool::new(false),
            name_unsynced: AtomicBool::new(false),
            length_unsynced: AtomicBool::new(false),
            proof: Proof::of_found(size),
            tail: ArcSwapOption::empty(),
            max_timestamp: Mutex::new(None),
            aborted: Mutex::new(None),
            pinned: RwLock::new(None),
        }
    }

    /// Lets readers who hold this segment go on when its names are another's. It must be closed, with its indexes in
    /// their files.
    pub(crate) fn pin(&self, directory: &Directory) -> Result<(), Error> {
        let path = self.path(Kind::Log);
        let file = self.file(directory).map_err(|error| Error::io(&path, error))?;
        let offsets = self.file_index(directory)?;
        let times = self.time_index(directory)?;
        self.max_timestamp(directory)?;
        self.aborted(directory)?;
        *self.pinned.write() = Some(Pinned { file, offsets, times });
        Ok(())
    }

    /// Where one of its files is.
    pub(crate) fn path(&self, kind: Kind) -> PathBuf {
        layout::file_path(&self.place.path(), self.base, kind)
    }

    /// The `.log` file, opened (and made) when it is not.
    pub(crate) fn file(&self, directory: &Directory) -> io::Result<File> {
        directory.files.get(&self.slot, || {
            let pinned = self.pinned.read();
            if let Some(pinned) = pinned.as_ref() {
                return Ok(pinned.file.clone());
            }
            let path = self.path(Kind::Log);
            if self.exists.load(Ordering::Acquire) {
                return directory.disk.open(&path, Open::ReadWrite);
            }
            let file = directory.disk.open(&path, Open::Create)?;
            self.physical.store(file.len()?, Ordering::Release);
            self.name_unsynced.store(true, Ordering::Release);
            self.exists.store(true, Ordering::Release);
            Ok(file)
        })
    }

    /// Whether its file was made.
    pub(crate) fn exists(&self) -> bool {
        self.exists.load(Ordering::Acquire)
    }

    /// It leaves the log (before its files go), or comes back because they could not.
    pub(crate) fn set_deleted(&self, deleted: bool) {
        self.deleted.store(deleted, Ordering::Release);
    }

    /// Whether it has left the log, so that its files may be missing.
    pub(crate) fn is_deleted(&self) -> bool {
        self.deleted.load(Ordering::Acquire)
    }

    /// Closes the file; readers that hold it keep it.
    pub(crate) fn close(&self, directory: &Directory) {
        self.slot.close();
        directory.indexes.forget(self.key);
    }

    /// Bytes that readers may see.
    pub(crate) fn size(&self) -> u64 {
        self.size.load(Ordering::Acquire)
    }

    /// More bytes may be seen (or, after a truncation, fewer).
    pub(crate) fn set_size(&self, size: u64) {
        self.size.store(size, Ordering::Release);
        self.physical.fetch_max(size, Ordering::AcqRel);
    }

    /// Bytes of the file as far as this process knows.
    pub(crate) fn physical(&self) -> u64 {
        self.physical.load(Ordering::Acquire)
    }

    /// The file was grown (zeros ahead) to this many bytes.
    pub(crate) fn grown_to(&self, physical: u64) {
        self.physical.fetch_max(physical, Ordering::AcqRel);
    }

    /// Cuts the file to the bytes that readers may see.
    pub(crate) fn trim(&self, directory: &Directory) -> io::Result<()> {
        let size = self.size();
        if self.exists() && self.physical() != size {
            self.file(directory)?.set_len(size)?;
            self.physical.store(size, Ordering::Release);
        }
        Ok(())
    }

    /// Cuts the file to `size` bytes and lets readers see those.
    pub(crate) fn cut(&self, directory: &Directory, size: u64) -> io::Result<()> {
        self.cuts.fetch_add(1, Ordering::AcqRel);
        self.size.store(size, Ordering::Release);
        if self.exists() {
            self.file(directory)?.set_len(size)?;
        }
        self.physical.store(size, Ordering::Release);
        self.proof.cut(size);
        directory.indexes.forget(self.key);
        Ok(())
    }

    /// How often the file was cut by this process.
    pub(crate) fn cuts(&self) -> u64 {
        self.cuts.load(Ordering::Acquire)
    }

    /// Zeros were cut off, and the sync of that is left to [`Segment::sync_length`]: the next recovery would cut
    /// them again.
    pub(crate) fn leave_length_unsynced(&self) {
        self.length_unsynced.store(true, Ordering::Release);
    }

    /// Makes a cut of zeros safe, before the directory is marked as closed in good order. A sync that fails takes the
    /// directory offline, because one that succeeds later would say nothing.
    pub(crate) fn sync_length(&self, directory: &Directory) -> io::Result<()> {
        if self.length_unsynced.load(Ordering::Acquire) {
            let file = self.file(directory)?;
            if let Err(error) = file.sync_data() {
                directory.fail(&format!("sync of {} failed: {error}", self.path(Kind::Log).display()));
                return Err(error);
            }
            self.length_unsynced.store(false, Ordering::Release);
        }
        Ok(())
    }

    /// Whether the file's name must be synced (with the folder) before its content counts as safe.
    pub(crate) fn name_unsynced(&self) -> bool {
        self.name_unsynced.load(Ordering::Acquire)
    }

    /// Recovery found a file without records: its name counts as safe with the next sync of the folder.
    pub(crate) fn leave_name_unsynced(&self) {
        self.name_unsynced.store(true, Ordering::Release);
    }

    /// The folder was synced.
    pub(crate) fn name_synced(&self) {
        self.name_unsynced.store(false, Ordering::Release);
    }

    /// An offset relative to the base, as the indexes hold it; `None` when it does not fit (then the log rolls).
    pub(crate) fn relative(&self, offset: Offset) -> Option<u32> {
        let relative = i32::try_from(offset.0.checked_sub(self.base.0)?).ok()?;
        u32::try_from(relative).ok()
    }

    /// As [`Segment::relative`] for lookups: offsets beyond the range count as its end.
    fn relative_floor(&self, offset: Offset) -> u32 {
        let relative = offset.0.saturating_sub(self.base.0).clamp(0, i64::from(i32::MAX));
        u32::try_from(relative).unwrap_or(0)
    }

    /// A batch start from which a scan for `offset` may begin.
    pub(crate) fn floor(&self, directory: &Directory, offset: Offset) -> Result<u64, Error> {
        let entry = self.floor_entry(directory, offset)?;
        Ok(entry.map_or(0, |entry| u64::from(entry.position)))
    }

    /// The index entry behind [`Segment::floor`]; `None` when that is the segment's first batch.
    pub(crate) fn floor_entry(&self, directory: &Directory, offset: Offset) -> Result<Option<Entry>, Error> {
        let relative = self.relative_floor(offset);
        Ok(match self.tail.load().as_ref() {
            Some(tail) => tail.offsets.floor(relative),
            None => self.file_index(directory)?.floor(relative),
        })
    }

    /// The last batch start that the index knows at or before `position`.
    pub(crate) fn floor_position(&self, directory: &Directory, position: u64) -> Result<u64, Error> {
        let position = u32::try_from(position).unwrap_or(u32::MAX);
        let entry = match self.tail.load().as_ref() {
            Some(tail) => tail.offsets.floor_position(position),
            None => self.file_index(directory)?.floor_position(position),
        };
        Ok(entry.map_or(0, |entry| u64::from(entry.position)))
    }

    /// The index of a closed segment: from the cache, the file, or (when that is missing or wrong) the log.
    pub(crate) fn file_index(&self, directory: &Directory) -> Result<FileIndex, Error> {
        if let Some(index) = directory.indexes.get(self.key) {
            return Ok(index);
        }
        let index = match self.read_index(directory)? {
            Some(index) => index,
            None => {
                let path = self.path(Kind::Index);
                tracing::warn!(file = %path.display(), "rebuilding a missing or damaged index");
                self.rebuild_indexes(directory)?
            }
        };
        directory.indexes.put(self.key, index.clone());
        Ok(index)
    }

    /// The offset index as its file has it; `None` when the file is missing (for a log that is not empty) or wrong.
    pub(crate) fn read_index(&self, directory: &Directory) -> Result<Option<FileIndex>, Error> {
        let path = self.path(Kind::Index);
        let read = {
            let pinned = self.pinned.read();
            if let Some(pinned) = pinned.as_ref() {
                return Ok(Some(pinned.offsets.clone()));
            }
            directory.disk.read(&path, INDEX_SIZE_MAX)
        };
        match read {
            Ok(bytes) => {
                let index = FileIndex::parse(Bytes::from(bytes), self.size());
                Ok(index.filter(|index| index.count() > 0 || !self.needs_entries(directory)))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let empty = self.size() == 0;
                Ok(if empty { FileIndex::parse(Bytes::new(), 0) } else { None })
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
            Err(error) => Err(Error::io(&path, error)),
        }
    }

    /// Whether an index without entries cannot be all of it: a batch begins more than an interval behind the first.
    /// (A file that was being made when the power went is empty.)
    fn needs_entries(&self, directory: &Directory) -> bool {
        let (size, interval) = (self.size(), directory.index_interval_bytes());
        if size <= interval {
            return false;
        }
        let Ok(file) = self.file(directory) else { return false };
        let mut scan = Scan::new(&file, 0, size, self.base);
        loop {
            match scan.next_header() {
                Ok(Some((position, _))) if position > interval => return true,
                Ok(Some(_)) => {}
                Ok(None) | Err(_) => return false,
            }
        }
    }

    /// The time index as its file has it; `None` when it is missing or wrong.
    pub(crate) fn read_time_index(&self, directory: &Directory) -> Result<Option<TimeIndex>, Error> {
        let path = self.path(Kind::TimeIndex);
        let pinned = self.pinned.read();
        if let Some(pinned) = pinned.as_ref() {
            return Ok(Some(pinned.times.clone()));
        }
        match directory.disk.read(&path, INDEX_SIZE_MAX) {
            Ok(bytes) => Ok(TimeIndex::parse(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
            Err(error) => Err(Error::io(&path, error)),
        }
    }

    /// Builds both index files of a closed segment anew from the log.
    fn rebuild_indexes(&self, directory: &Directory) -> Result<FileIndex, Error> {
        let mut builder = IndexBuilder::new(self.base, directory.index_interval_bytes());
        let path = self.path(Kind::Log);
        let file = self.file(directory).map_err(|error| Error::io(&path, error))?;
        let mut scan = Scan::new(&file, 0, self.size(), self.base);
        loop {
            match scan.next_header() {
                Ok(Some((position, header))) => builder.add(position, &header),
                Ok(None) => break,
                Err(Stop::Bad(reason)) => return Err(Error::damaged(&path, scan.position(), reason)),
                Err(Stop::Io(error)) => return Err(Error::io(&path, error)),
            }
        }
        let (tail, max) = builder.finish();
        *self.max_timestamp.lock() = Some(max);
        let offsets = tail.offsets.encode_from(0);
        let times = tail.times.lock().encode_from(0);
        let pinned = self.pinned.read();
        for (kind, bytes) in [(Kind::Index, &offsets), (Kind::TimeIndex, &times)] {
            if pinned.is_some() {
                break;
            }
            let path = self.path(kind);
            // What was built serves this process even when it cannot be kept.
            if let Err(error) = write_synced(directory, &path, bytes) {
                tracing::warn!(%error, "cannot keep a rebuilt index");
            }
        }
        FileIndex::parse(Bytes::from(offsets), self.size())
            .ok_or_else(|| Error::damaged(&path, 0, "positions do not ascend"))
    }

    /// The time index, from memory or the file.
    pub(crate) fn time_index(&self, directory: &Directory) -> Result<TimeIndex, Error> {
        if let Some(tail) = self.tail.load().as_ref() {
            return Ok(tail.times.lock().clone());
        }
        Ok(self.read_time_index(directory)?.unwrap_or_default())
    }

    /// The largest timestamp of a segment, as the last entry of its time index says (a closed segment's index ends
    /// with it); -1 with the base offset when there is none.
    pub(crate) fn max_timestamp(&self, directory: &Directory) -> Result<MaxTimestamp, Error> {
        if let Some(max) = *self.max_timestamp.lock() {
            return Ok(max);
        }
        let last = {
            let pinned = self.pinned.read();
            match pinned.as_ref() {
                Some(pinned) => pinned.times.last().map(|entry| self.max_of(entry)),
                None => self.read_last_time(directory)?,
            }
        };
        let from_file = match last {
            Some(max) => max,
            None if self.size() == 0 => MaxTimestamp { timestamp: Timestamp::NONE, offset: self.base },
            None => {
                self.rebuild_indexes(directory)?;
                let rebuilt = *self.max_timestamp.lock();
                rebuilt.unwrap_or(MaxTimestamp { timestamp: Timestamp::NONE, offset: self.base })
            }
        };
        *self.max_timestamp.lock() = Some(from_file);
        Ok(from_file)
    }

    fn read_last_time(&self, directory: &Directory) -> Result<Option<MaxTimestamp>, Error> {
        let path = self.path(Kind::TimeIndex);
        let file = match directory.disk.open(&path, Open::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io(&path, error)),
        };
        let length = file.len().map_err(|error| Error::io(&path, error))?;
        let mut last = [0; time_index::ENTRY_SIZE];
        let size = u64::try_from(time_index::ENTRY_SIZE).unwrap_or(u64::MAX);
        let Some(position) = length.checked_sub(size).filter(|_| length % size == 0) else {
            return Ok(None);
        };
        file.read_exact_at(&mut last, position).map_err(|error| Error::io(&path, error))?;
        let entry = time_index::decode(&last).filter(|_| last.iter().any(|byte| *byte != 0));
        Ok(entry.map(|entry| self.max_of(entry)))
    }

    fn max_of(&self, entry: time_index::Entry) -> MaxTimestamp {
        let offset = Offset(self.base.0.saturating_add(i64::from(entry.relative)));
        MaxTimestamp { timestamp: entry.timestamp, offset }
    }

    /// The largest timestamp as it is known in memory; `None` when it was not read.
    pub(crate) fn known_max_timestamp(&self) -> Option<MaxTimestamp> {
        *self.max_timestamp.lock()
    }

    /// Notes a batch's timestamp; earlier batches win ties, as in Kafka.
    pub(crate) fn note_timestamp(&self, timestamp: Timestamp, offset: Offset) {
        let mut max = self.max_timestamp.lock();
        if max.is_none_or(|max| timestamp > max.timestamp) {
            *max = Some(MaxTimestamp { timestamp, offset });
        }
    }

    /// Sets the largest timestamp.
    pub(crate) fn set_max_timestamp(&self, max: Option<MaxTimestamp>) {
        *self.max_timestamp.lock() = max;
    }

    /// The aborted transactions whose markers lie in this segment.
    pub(crate) fn aborted(&self, directory: &Directory) -> Result<Arc<Vec<AbortedTransaction>>, Error> {
        let mut aborted = self.aborted.lock();
        if let Some(known) = aborted.as_ref() {
            return Ok(known.clone());
        }
        let path = self.path(Kind::AbortedIndex);
        let entries = match directory.disk.read(&path, INDEX_SIZE_MAX) {
            Ok(bytes) => {
                let (entries, good) = aborted_index::parse(&bytes);
                if good < bytes.len() {
                    let position = u64::try_from(good).unwrap_or(u64::MAX);
                    return Err(Error::damaged(&path, position, "not an aborted transaction"));
                }
                entries
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io(&path, error)),
        };
        let entries = Arc::new(entries);
        *aborted = Some(entries.clone());
        Ok(entries)
    }

    /// Replaces the list of aborted transactions (in memory; the file follows with the next flush).
    pub(crate) fn set_aborted(&self, entries: Vec<AbortedTransaction>) {
        *self.aborted.lock() = Some(Arc::new(entries));
    }
}

/// Builds the indexes of a segment while its batches go by, by Kafka's rule: an entry when more than
/// `index.interval.bytes` went by since the last.
pub(crate) struct IndexBuilder {
    base: Offset,
    interval: u64,
    since_entry: u64,
    offsets: TailIndex,
    times: TimeIndex,
    max: MaxTimestamp,
}

impl IndexBuilder {
    pub(crate) fn new(base: Offset, interval: u64) -> IndexBuilder {
        IndexBuilder {
            base,
            interval,
            since_entry: 0,
            offsets: TailIndex::new(),
            times: TimeIndex::default(),
            max: MaxTimestamp { timestamp: Timestamp::NONE, offset: base },
        }
    }

    /// Goes on where these indexes end.
    pub(crate) fn after(base: Offset, interval: u64, offsets: TailIndex, times: TimeIndex) -> IndexBuilder {
        let max = times.last().map_or(MaxTimestamp { timestamp: Timestamp::NONE, offset: base }, |last| {
            MaxTimestamp {
                timestamp: last.timestamp,
                offset: Offset(base.0.saturating_add(i64::from(last.relative))),
            }
        });
        IndexBuilder { base, interval, since_entry: 0, offsets, times, max }
    }

    /// Takes the next batch.
    pub(crate) fn add(&mut self, position: u64, header: &Header) {
        let last = Offset(after(header).0 - 1);
        let relative = |offset: Offset| u32::try_from(offset.0.saturating_sub(self.base.0)).ok();
        if header.max_timestamp > self.max.timestamp.0 {
            self.max = MaxTimestamp { timestamp: Timestamp(header.max_timestamp), offset: last };
        }
        if self.since_entry > self.interval
            && let (Some(relative_last), Ok(position)) = (relative(last), u32::try_from(position))
        {
            self.offsets.push(offset_index::Entry { relative: relative_last, position });
            if let Some(relative) = relative(self.max.offset) {
                self.times.maybe_append(time_index::Entry { timestamp: self.max.timestamp, relative });
            }
            self.since_entry = 0;
        }
        self.since_entry += u64::try_from(header.total_size()).unwrap_or(0);
    }

    /// Bytes since the last entry.
    pub(crate) fn since_entry(&self) -> u64 {
        self.since_entry
    }

    /// The indexes of a closed segment: the time index ends with the largest timestamp.
    pub(crate) fn finish(mut self) -> (Tail, MaxTimestamp) {
        if let Ok(relative) = u32::try_from(self.max.offset.0.saturating_sub(self.base.0)) {
            self.times.maybe_append(time_index::Entry { timestamp: self.max.timestamp, relative });
        }
        self.into_tail()
    }

    /// The indexes of a segment that goes on growing.
    pub(crate) fn into_tail(self) -> (Tail, MaxTimestamp) {
        (Tail { offsets: self.offsets, times: Mutex::new(self.times) }, self.max)
    }
}

/// Writes a whole small file in place and syncs it and its name.
pub(crate) fn write_synced(directory: &Directory, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_whole(directory, path, bytes)?;
    let sync = || {
        directory.disk.open(path, Open::ReadWrite)?.sync_data()?;
        directory.disk.sync_dir(path.parent().unwrap_or(path))
    };
    sync().map_err(|error| Error::io(path, error))
}

/// Writes a whole small file in place; not synced.
pub(crate) fn write_whole(directory: &Directory, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let write = || {
        let file = directory.disk.open(path, Open::Create)?;
        file.write_at(bytes, 0)?;
        file.set_len(u64::try_from(bytes.len()).unwrap_or(u64::MAX))?;
        Ok(file)
    };
    write().map(|_: File| ()).map_err(|error| Error::io(path, error))
}
