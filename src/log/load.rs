//! From files to memory: the list of segments when a partition is opened, and the rest when it is first used.

use crate::base::Offset;
use crate::base::Timestamp;
use crate::io::disk::Open;
use crate::log::Active;
use crate::log::Core;
use crate::log::Log;
use crate::log::Warm;
use crate::log::aborted_index;
use crate::log::aborted_index::AbortedTransaction;
use crate::log::checkpoint::read_text;
use crate::log::directory::Directory;
use crate::log::epochs::Epochs;
use crate::log::error::Error;
use crate::log::layout;
use crate::log::layout::FileName;
use crate::log::layout::Intermediate;
use crate::log::layout::Kind;
use crate::log::offset_index::Entries;
use crate::log::offset_index::TailIndex;
use crate::log::producer_snapshot;
use crate::log::producers::Marker;
use crate::log::producers::Producers;
use crate::log::published::End;
use crate::log::roll::empty_active;
use crate::log::scan::OFFSET_TOO_FAR;
use crate::log::scan::Scan;
use crate::log::scan::Stop;
use crate::log::scan::after;
use crate::log::scan::is_zero;
use crate::log::segment::IndexBuilder;
use crate::log::segment::Place;
use crate::log::segment::Segment;
use crate::log::time_index::TimeIndex;
use crate::record::Header;
use crate::record::control::EndTransaction;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Control records are tiny; a control batch that claims more is not decoded.
const CONTROL_MAX: usize = 64 << 10;

/// What a partition's folder holds, without opening a file.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) segments: Vec<Arc<Segment>>,
    /// Offsets of the producer snapshots, ascending.
    pub(crate) snapshots: Vec<Offset>,
}

/// Lists a partition's folder and ends what a crash interrupted (`LogLoader`): `.deleted` and `.cleaned` files go,
/// a complete `.swap` takes the place of what it covers, indexes without a log go.
pub(crate) fn list(directory: &Directory, place: &Arc<Place>) -> Result<Listing, Error> {
    let dir = place.path();
    let io = |error| Error::io(&dir, error);
    let mut files = Vec::new();
    for entry in directory.disk.list(&dir).map_err(io)? {
        let Some(name) = entry.name.to_str().and_then(FileName::parse).filter(|_| !entry.is_dir) else {
            continue;
        };
        files.push((name, entry.length));
    }
    let settled = files.iter().all(|(name, _)| name.state == Intermediate::None);
    if !settled {
        settle(directory, &dir, &files)?;
        return list(directory, place);
    }
    let mut listing = Listing { segments: Vec::new(), snapshots: Vec::new() };
    for (name, length) in &files {
        match name.kind {
            Kind::Log => listing.segments.push(Segment::existing(place.clone(), name.base, *length)),
            Kind::Snapshot => listing.snapshots.push(name.base),
            Kind::Index | Kind::TimeIndex | Kind::AbortedIndex => {
                let has_log = files.iter().any(|(log, _)| log.kind == Kind::Log && log.base == name.base);
                if !has_log {
                    let path = layout::file_path(&dir, name.base, name.kind);
                    tracing::warn!(file = %path.display(), "removing an index without a log");
                    directory.disk.remove_file(&path).map_err(|error| Error::io(&path, error))?;
                }
            }
        }
    }
    listing.segments.sort_by_key(|segment| segment.base);
    listing.snapshots.sort();
    Ok(listing)
}

/// Ends interrupted deletions and replacements.
fn settle(directory: &Directory, dir: &Path, files: &[(FileName, u64)]) -> Result<(), Error> {
    let path = |name: &FileName| {
        dir.join(format!("{}{}", layout::file_name(name.base, name.kind), name.state.suffix()))
    };
    let remove = |name: &FileName| {
        let path = path(name);
        tracing::info!(file = %path.display(), "removing what an interrupted change left");
        directory.disk.remove_file(&path).map_err(|error| Error::io(&path, error))
    };
    let sync = |dir: &Path| directory.disk.sync_dir(dir).map_err(|error| Error::io(dir, error));
    let swaps = || files.iter().filter(|(name, _)| name.state == Intermediate::Swap);
    let first_cleaned =
        files.iter().filter(|(name, _)| name.state == Intermediate::Cleaned).map(|(name, _)| name.base).min();
    // A swap at or after a `.cleaned` base belongs to a replacement that was not complete.
    let is_complete = |name: &FileName| first_cleaned.is_none_or(|first| name.base < first);
    // The swaps of an unfinished replacement go before its `.cleaned` files: without those they would count.
    for name in swaps().map(|(name, _)| name).filter(|name| !is_complete(name)) {
        remove(name)?;
    }
    sync(dir)?;
    for (name, _) in files {
        if matches!(name.state, Intermediate::Deleted | Intermediate::Cleaned) {
            remove(name)?;
        }
    }
    let complete: Vec<&FileName> = swaps().map(|(name, _)| name).filter(|name| is_complete(name)).collect();
    let mut covered: Option<(Offset, Offset)> = None;
    for (name, length) in swaps().filter(|(name, _)| name.kind == Kind::Log && is_complete(name)) {
        let end = end_of_file(directory, &path(name), name.base, *length)?;
        // Also one without a batch replaces all that has its name.
        let end = end.max(Offset(name.base.0.saturating_add(1)));
        covered = Some(covered.map_or((name.base, end), |(from, to)| (from.min(name.base), to.max(end))));
    }
    if let Some((from, to)) = covered {
        let inside = |name: &FileName| {
            name.state == Intermediate::None
                && name.kind != Kind::Snapshot
                && name.base >= from
                && name.base < to
        };
        for (name, _) in files.iter().filter(|(name, _)| inside(name)) {
            remove(name)?;
        }
        // What is replaced must not come back beside what replaces it.
        sync(dir)?;
    }
    for name in complete {
        let (from, to) = (path(name), layout::file_path(dir, name.base, name.kind));
        directory.disk.rename(&from, &to).map_err(|error| Error::io(&from, error))?;
    }
    sync(dir)
}

/// The offset behind the last good batch of a `.swap`. Recovery gives a segment that name for a moment, too, and that
/// one may end with zeros or a torn batch; it is looked at when it has its own name again.
fn end_of_file(directory: &Directory, path: &Path, base: Offset, length: u64) -> Result<Offset, Error> {
    let file = directory.disk.open(path, Open::Read).map_err(|error| Error::io(path, error))?;
    let mut scan = Scan::new(&file, 0, length, base);
    loop {
        match scan.next_header() {
            Ok(Some(_)) => {}
            Ok(None) | Err(Stop::Bad(_)) => return Ok(scan.next_offset()),
            Err(Stop::Io(error)) => return Err(Error::io(path, error)),
        }
    }
}

/// A walk's stop as this room's error.
pub(crate) fn stopped(stop: Stop, path: &Path, position: u64) -> Error {
    match stop {
        Stop::Bad(reason) => Error::damaged(path, position, reason),
        Stop::Io(error) => Error::io(path, error),
    }
}

impl Log {
    /// The loaded part of the log, loaded now if it is not.
    pub(crate) fn warm<'a>(&self, core: &'a mut Core) -> Result<&'a mut Warm, Error> {
        if core.closed {
            return Err(Error::Closed);
        }
        if core.warm.is_none() {
            let warm = self.say_damage(self.load(core))?;
            core.warm = Some(Box::new(warm));
        }
        Ok(core.warm.as_mut().expect("loaded just now"))
    }

    fn load(&self, core: &mut Core) -> Result<Warm, Error> {
        let segment = self.active_segment();
        // What was cut off must not come back under what is appended now.
        let cut = segment.sync_length(&self.directory);
        cut.map_err(|error| Error::io(&segment.path(Kind::Log), error))?;
        let (active, end) = activate(&self.directory, &segment, self.index_interval_bytes())?;
        if end != core.next {
            let (checkpoint, file) = (core.next, end);
            tracing::error!(partition = %self.partition, %checkpoint, %file, "log ends elsewhere than its checkpoint says");
            if end < checkpoint {
                self.lower_end(core, end);
            } else {
                core.next = end;
            }
            self.published.store(End { offset: end, segment: segment.base, position: segment.size() });
            self.announce(core);
        }
        let mut epochs = read_epochs(&self.directory, &self.place.path())?;
        let start = self.log_start_offset();
        let mut epochs_dirty = epochs.truncate_from_end(end);
        epochs_dirty |= epochs.truncate_from_start(start);
        if let Some(begun) = core.begun.take() {
            epochs_dirty |= epochs.assign(begun, end);
        }
        let rebuilt = self.rebuild_producers(end, end)?;
        let mut producers = rebuilt.producers;
        producers.replicated_to(self.high_watermark());
        Ok(Warm {
            producers,
            epochs,
            epochs_dirty,
            active,
            snapshots: Vec::new(),
            indexes_stale: false,
            last_snapshot: rebuilt.snapshot,
        })
    }

    pub(crate) fn index_interval_bytes(&self) -> u64 {
        u64::try_from(self.config.load().index_interval_bytes).unwrap_or(0)
    }

    /// The aborted transactions whose markers lie in a segment. A list that is damaged is made anew, as nobody could
    /// tell otherwise what was aborted, and no transaction could end here.
    pub(crate) fn aborted_of(&self, segment: &Segment) -> Result<Arc<Vec<AbortedTransaction>>, Error> {
        match segment.aborted(&self.directory) {
            Err(Error::Damaged { .. }) => {}
            known => return known,
        }
        let segments = self.view.load();
        let next = segments.iter().map(|other| other.base).find(|base| *base > segment.base);
        let range = (self.log_start_offset(), next.unwrap_or_else(|| self.published.offset()));
        let entries = rebuild_aborted(&self.directory, (&self.place, &segments), segment, range)?;
        let bytes = aborted_index::encode(&entries);
        self.write_synced(&segment.path(Kind::AbortedIndex), &bytes)?;
        segment.set_aborted(entries);
        segment.aborted(&self.directory)
    }

    /// Producer state at `to`: the newest good snapshot not above `snapshot_max`, and the batches since.
    pub(crate) fn rebuild_producers(&self, to: Offset, snapshot_max: Offset) -> Result<Rebuilt, Error> {
        let segments = self.view.load();
        let start = self.log_start_offset();
        rebuild_producers(&self.directory, (&self.place, &segments), Range { start, to, snapshot_max })
    }
}

/// The start that `log-start-offset-checkpoint` tells, or that of the first epoch when it lies before it: epochs follow a
/// deletion of records first, so the other file is damaged. It has no checksum, and what lies before the start is not
/// served and goes with the next retention. (A folder of Apache Kafka's may have lost that order in a crash.)
pub(crate) fn credible_start(
    directory: &Directory,
    place: &Place,
    start: Offset,
    first_base: Offset,
) -> Result<Offset, Error> {
    if start <= first_base {
        return Ok(start);
    }
    let folder = place.path();
    let first = read_epochs(directory, &folder)?.first_start();
    let Some(first) = first.filter(|first| *first < start) else { return Ok(start) };
    tracing::error!(folder = %folder.display(), %start, epochs_start = %first, "log-start-offset-checkpoint is damaged, the log starts where its first epoch does");
    Ok(first)
}

/// The epochs in `leader-epoch-checkpoint`; none when there is no file, or it is not a whole checkpoint.
pub(crate) fn read_epochs(directory: &Directory, dir: &Path) -> Result<Epochs, Error> {
    let path = dir.join(layout::LEADER_EPOCHS);
    let text = match read_text(&directory.disk, &path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Some(String::new()),
        Err(error) => return Err(Error::io(&path, error)),
    };
    let Some(text) = text else { return Ok(Epochs::default()) };
    Ok(Epochs::parse(&text).unwrap_or_else(|| {
        tracing::warn!(file = %path.display(), "leader epochs cannot be read, starting without");
        Epochs::default()
    }))
}

/// Takes a segment's indexes into memory so that it can grow (unless they are there), and finds its end. The indexes
/// are trusted as far as they go; the batches after their last entry are walked. Zeros behind the last batch are space
/// that was taken ahead of appends, and are cut; anything else there is damage.
pub(crate) fn activate(
    directory: &Directory,
    segment: &Segment,
    interval: u64,
) -> Result<(Active, Offset), Error> {
    let created = directory.clock.wall();
    let mut size = segment.size();
    if size == 0 {
        let builder = IndexBuilder::new(segment.base, interval);
        let (tail, max) = builder.into_tail();
        segment.tail.store(Some(Arc::new(tail)));
        segment.set_max_timestamp(Some(max));
        return Ok((empty_active(created), segment.base));
    }
    let path = segment.path(Kind::Log);
    let file = segment.file(directory).map_err(|error| Error::io(&path, error))?;
    let known = segment.tail.load_full();
    let (offsets, times) = match known {
        Some(tail) => (TailIndex::with(tail.offsets.iter()), tail.times.lock().clone()),
        None => match (segment.read_index(directory)?, segment.read_time_index(directory)?) {
            (Some(offsets), Some(times)) => (TailIndex::with(offsets.iter()), times),
            _ => (TailIndex::new(), TimeIndex::default()),
        },
    };
    let last = offsets.count().checked_sub(1).and_then(|slot| offsets.entry(slot));
    let from = last.map_or(0, |entry| u64::from(entry.position));
    let mut builder = IndexBuilder::after(segment.base, interval, offsets, times);
    let mut scan = Scan::new(&file, from, size, segment.base);
    loop {
        match scan.next_header() {
            Ok(Some((position, header))) if segment.relative(after(&header)).is_some() => {
                builder.add(position, &header);
            }
            Ok(Some((position, _))) => return Err(Error::damaged(&path, position, OFFSET_TOO_FAR)),
            Ok(None) => break,
            Err(stop @ Stop::Bad(_)) => {
                let io = |error| Error::io(&path, error);
                if !is_zero(&file, scan.position(), size).map_err(io)? {
                    return Err(stopped(stop, &path, scan.position()));
                }
                size = scan.position();
                tracing::warn!(file = %path.display(), position = size, "cutting zeros behind the last batch");
                // They must not come back under what is appended now.
                segment.cut(directory, size).and_then(|()| file.sync_data()).map_err(io)?;
                break;
            }
            Err(stop) => return Err(stopped(stop, &path, scan.position())),
        }
    }
    let end = scan.next_offset();
    let first =
        Scan::new(&file, 0, size, segment.base).next_header().map_err(|stop| stopped(stop, &path, 0))?;
    let active = Active {
        position: size,
        since_entry: builder.since_entry(),
        first_timestamp: first.map(|(_, header)| Timestamp(header.max_timestamp)),
        created,
    };
    let (tail, max) = builder.into_tail();
    segment.tail.store(Some(Arc::new(tail)));
    segment.set_max_timestamp(Some(max));
    Ok((active, end))
}

/// Producer state built anew.
#[derive(Debug, Default)]
pub(crate) struct Rebuilt {
    pub(crate) producers: Producers,
    /// The snapshot it began with.
    pub(crate) snapshot: Option<Offset>,
    /// Transactions that were aborted in the batches walked.
    pub(crate) aborted: Vec<AbortedTransaction>,
}

/// Which state is wanted, and from what it may be built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) start: Offset,
    pub(crate) to: Offset,
    pub(crate) snapshot_max: Offset,
}

/// See [`Log::rebuild_producers`].
pub(crate) fn rebuild_producers(
    directory: &Directory,
    (place, segments): (&Place, &[Arc<Segment>]),
    range: Range,
) -> Result<Rebuilt, Error> {
    // Over a gap between a snapshot and the first batch that is there, it would tell of producers what was true once.
    let first_base = segments.first().map_or(range.to, |first| first.base);
    let usable = (first_base, range.snapshot_max.min(range.to));
    let mut rebuilt = read_snapshot(directory, &place.path(), usable)?;
    // From the snapshot on, also where the log's start has passed it.
    let from = rebuilt.snapshot.unwrap_or(range.start);
    let first = segments.partition_point(|segment| segment.base <= from).saturating_sub(1);
    for segment in segments.iter().skip(first).take_while(|segment| segment.base < range.to) {
        replay(directory, segment, (from, range.to), &mut rebuilt)?;
    }
    Ok(rebuilt)
}

/// The aborted transactions of a segment that ends at `end`, from its batches: for a list of them that is damaged.
pub(crate) fn rebuild_aborted(
    directory: &Directory,
    (place, segments): (&Place, &[Arc<Segment>]),
    segment: &Segment,
    (start, end): (Offset, Offset),
) -> Result<Vec<AbortedTransaction>, Error> {
    let path = segment.path(Kind::AbortedIndex);
    tracing::warn!(file = %path.display(), "rebuilding a damaged list of aborted transactions");
    let range = Range { start, to: end, snapshot_max: segment.base };
    let rebuilt = rebuild_producers(directory, (place, segments), range)?;
    Ok(rebuilt.aborted.into_iter().filter(|entry| entry.last >= segment.base).collect())
}

/// The newest snapshot from `min` to `max` that is whole; broken ones are removed.
fn read_snapshot(directory: &Directory, dir: &Path, (min, max): (Offset, Offset)) -> Result<Rebuilt, Error> {
    let entries = directory.disk.list(dir).map_err(|error| Error::io(dir, error))?;
    let mut offsets: Vec<Offset> = entries
        .iter()
        .filter_map(|entry| entry.name.to_str().and_then(FileName::parse))
        .filter(|name| name.kind == Kind::Snapshot && name.state == Intermediate::None)
        .filter(|name| (min..=max).contains(&name.base))
        .map(|name| name.base)
        .collect();
    offsets.sort();
    for offset in offsets.into_iter().rev() {
        let path = layout::file_path(dir, offset, Kind::Snapshot);
        let bytes = directory.disk.read(&path, producer_snapshot::SIZE_MAX);
        let decoded = match bytes {
            Ok(bytes) => producer_snapshot::decode(&bytes),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => Err("too large"),
            Err(error) => return Err(Error::io(&path, error)),
        };
        match decoded {
            Ok(producers) => return Ok(Rebuilt { producers, snapshot: Some(offset), aborted: Vec::new() }),
            Err(reason) => {
                tracing::warn!(file = %path.display(), reason, "removing a damaged producer snapshot");
                directory.disk.remove_file(&path).map_err(|error| Error::io(&path, error))?;
            }
        }
    }
    Ok(Rebuilt::default())
}

/// Applies the batches of `from..to` in one segment.
fn replay(
    directory: &Directory,
    segment: &Segment,
    (from, to): (Offset, Offset),
    rebuilt: &mut Rebuilt,
) -> Result<(), Error> {
    if segment.size() == 0 {
        return Ok(());
    }
    let path = segment.path(Kind::Log);
    let file = segment.file(directory).map_err(|error| Error::io(&path, error))?;
    let position = if from <= segment.base { 0 } else { segment.floor(directory, from)? };
    let mut scan = Scan::new(&file, position, segment.size(), segment.base);
    loop {
        let at = scan.position();
        let Some((position, header)) = scan.next_header().map_err(|stop| stopped(stop, &path, at))? else {
            return Ok(());
        };
        if header.base_offset >= to.0 {
            return Ok(());
        }
        // It may lie inside a batch when it is the log's start.
        if after(&header) <= from || header.producer_id < 0 {
            continue;
        }
        let mut marker = None;
        if header.is_control() {
            let mut batch = vec![0; header.total_size().min(CONTROL_MAX)];
            file.read_exact_at(&mut batch, position).map_err(|error| Error::io(&path, error))?;
            marker = marker_of(&batch);
        }
        rebuilt.aborted.extend(rebuilt.producers.apply(&header, Offset(header.base_offset), marker));
    }
}

/// What the first record of a transaction's control batch says; `None` for other batches.
pub(crate) fn marker_of(batch: &[u8]) -> Option<Marker> {
    Header::parse(batch).filter(Header::is_control)?;
    let record = crate::record::records(batch, CONTROL_MAX).ok()?.next()?.ok()?;
    let end = EndTransaction::parse(record.key.as_deref(), record.value.as_deref()).ok()?;
    Some(Marker { committed: end.committed, coordinator_epoch: end.coordinator_epoch })
}
