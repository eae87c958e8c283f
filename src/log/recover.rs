//! After a crash: from the recovery point on every batch is checked, a torn tail is cut and reported, indexes,
//! epochs and producer state are built anew, and all of it is synced (`LogLoader.recoverLog`).
//!
//! What lies before the recovery point was promised to be good: damage found there is an error, and nothing is cut.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::io::disk::File;
use crate::log::aborted_index;
use crate::log::aborted_index::AbortedTransaction;
use crate::log::checkpoint::write_text;
use crate::log::directory::Directory;
use crate::log::epochs::Epochs;
use crate::log::error::Error;
use crate::log::layout;
use crate::log::layout::Intermediate;
use crate::log::layout::Kind;
use crate::log::load;
use crate::log::load::Listing;
use crate::log::load::Range;
use crate::log::load::read_epochs;
use crate::log::load::rebuild_aborted;
use crate::log::load::rebuild_producers;
use crate::log::load::stopped;
use crate::log::offset_index::TailIndex;
use crate::log::producer_snapshot;
use crate::log::scan::OFFSET_TOO_FAR;
use crate::log::scan::Scan;
use crate::log::scan::Stop;
use crate::log::scan::after;
use crate::log::scan::is_zero;
use crate::log::segment::IndexBuilder;
use crate::log::segment::Place;
use crate::log::segment::Segment;
use crate::log::segment::write_whole;
use crate::log::time_index;
use crate::log::time_index::TimeIndex;
use crate::record::Header;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Bytes that are written back at once.
const REWRITE_CHUNK: usize = 1 << 20;

/// A segment without a usable index is walked for the quick look only up to this size.
const QUICK_BYTES: u64 = 1 << 20;

/// A log as it is after recovery (or after a clean shutdown, when nothing had to be recovered).
#[derive(Debug)]
pub(crate) struct Recovered {
    pub(crate) segments: Vec<Arc<Segment>>,
    pub(crate) start: Offset,
    pub(crate) end: Offset,
}

impl Recovered {
    /// A log of which no segment is left, or that never had one (files come with the first record): it goes on where
    /// checkpoints and snapshots say that it ended, because offsets are never given twice.
    pub(crate) fn without_segments(place: &Arc<Place>, snapshots: &[Offset], known: Offset) -> Recovered {
        let end = snapshots.iter().copied().fold(known, Offset::max);
        if end > Offset::ZERO {
            tracing::warn!(folder = %place.path().display(), %end, "the partition's segments are gone, beginning at its last known end");
        }
        Recovered { segments: vec![Segment::fresh(place.clone(), end)], start: end, end }
    }
}

/// What the checkpoints of a directory say of one partition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    pub(crate) start: Offset,
    pub(crate) recovery_point: Offset,
    /// Below it, compaction may have made holes.
    pub(crate) cleaned: Offset,
}

/// Recovers one partition's folder.
pub(crate) fn recover(directory: &Directory, place: &Arc<Place>, known: Known) -> Result<Recovered, Error> {
    let Known { start, recovery_point, .. } = known;
    let listing = load::list(directory, place)?;
    if listing.segments.is_empty() {
        return Ok(Recovered::without_segments(place, &listing.snapshots, start.max(recovery_point)));
    }
    let first_base = listing.segments.first().map_or(start, |first| first.base);
    let start = load::credible_start(directory, place, start, first_base)?;
    let mut recovery = Recovery::new(directory, place, listing, known)?;
    if recovery.nothing_to_do()? {
        let start = recovery.segments.first().map_or(start, |first| start.max(first.base));
        if start <= recovery.end {
            return Ok(Recovered { segments: recovery.segments, start, end: recovery.end });
        }
    }
    recovery.check_segments()?;
    recovery.finish(start)
}

/// What may be used of a segment's index files.
struct Trusted {
    /// Goes on after the trusted entries.
    builder: IndexBuilder,
    /// Where the walk begins.
    position: u64,
    /// The files are there and hold nothing beyond the recovery point.
    complete: bool,
}

/// A recovery under way.
struct Recovery<'a> {
    directory: &'a Directory,
    place: &'a Arc<Place>,
    segments: Vec<Arc<Segment>>,
    snapshots: Vec<Offset>,
    recovery_point: Offset,
    cleaned: Offset,
    /// The segment that was checked last has holes, so compaction made it.
    has_holes: bool,
    /// The offset after the last batch met in it.
    walked_to: Option<Offset>,
    /// The segments from here on are checked.
    first: usize,
    epochs: Epochs,
    end: Offset,
    checked_bytes: u64,
    cut_bytes: u64,
}

impl<'a> Recovery<'a> {
    fn new(
        directory: &'a Directory,
        place: &'a Arc<Place>,
        listing: Listing,
        known: Known,
    ) -> Result<Recovery<'a>, Error> {
        let Known { recovery_point, cleaned, .. } = known;
        let segments = listing.segments;
        // The segment that ends at the recovery point is looked at, too: it may have been closed just before the
        // crash, with zeros still behind its last batch.
        let first = segments.partition_point(|segment| segment.base < recovery_point).saturating_sub(1);
        let epochs = read_epochs(directory, &place.path())?;
        let end = segments.get(first).map_or(recovery_point, |segment| segment.base);
        let snapshots = listing.snapshots;
        let (checked_bytes, cut_bytes) = (0, 0);
        Ok(Recovery {
            directory,
            place,
            segments,
            snapshots,
            recovery_point,
            cleaned,
            has_holes: false,
            walked_to: None,
            first,
            epochs,
            end,
            checked_bytes,
            cut_bytes,
        })
    }

    /// Whether the last segment ends at the recovery point: then no file needs a change, but for zeros that were
    /// taken ahead. Most partitions of a broker are in this state when it crashes.
    fn nothing_to_do(&mut self) -> Result<bool, Error> {
        let Some(segment) = self.segments.last().cloned().filter(|_| self.first + 1 == self.segments.len())
        else {
            return Ok(false);
        };
        if segment.size() == 0 {
            self.end = segment.base;
            if segment.base != self.recovery_point {
                return Ok(false);
            }
            // Its first write failed, or never came: nobody made its name safe yet.
            self.renew_name(&segment)?;
            segment.leave_name_unsynced();
            return Ok(true);
        }
        let path = segment.path(Kind::Log);
        let file = segment.file(self.directory).map_err(|error| Error::io(&path, error))?;
        let Trusted { position: from, complete, .. } = self.trusted_indexes(&segment)?;
        if !complete || (from == 0 && segment.size() > QUICK_BYTES) {
            return Ok(false);
        }
        let mut scan = Scan::new(&file, from, segment.size(), segment.base);
        while scan.next_offset() < self.recovery_point {
            let at = scan.position();
            if scan.next_header().map_err(|stop| stopped(stop, &path, at))?.is_none() {
                return Ok(false);
            }
        }
        self.end = scan.next_offset();
        let position = scan.position();
        if self.end != self.recovery_point {
            return Ok(false);
        }
        if position < segment.size() {
            if !is_zero(&file, position, segment.size()).map_err(|error| Error::io(&path, error))? {
                return Ok(false);
            }
            segment.cut(self.directory, position).map_err(|error| Error::io(&path, error))?;
        }
        // A process that recovered before this one may have made that cut, and ended before it was safe.
        segment.leave_length_unsynced();
        segment.close(self.directory);
        Ok(true)
    }

    /// Checks the segments in order; after one that had to be cut, the later ones go.
    fn check_segments(&mut self) -> Result<(), Error> {
        for index in self.first..self.segments.len() {
            let Some(segment) = self.segments.get(index).cloned() else { break };
            let is_last = index + 1 == self.segments.len();
            let next_base = self.segments.get(index + 1).map(|next| next.base);
            let was_cut = self.check_segment(&segment, is_last)?;
            // Offsets that reach into the next segment are damage: readers are told, and nothing goes.
            let hole = next_base.is_some_and(|next| next > self.end && !self.may_end_before(next, &segment));
            if was_cut || hole {
                self.remove_segments_from(index + 1)?;
                break;
            }
        }
        Ok(())
    }

    /// Whether the segment may end where it does although the next one begins later. A hole between segments is a
    /// tail that was lost at a batch's border, but for what compaction leaves, and for records that were promised to be
    /// safe: those did not go with a tail, and what follows them stays.
    fn may_end_before(&self, next: Offset, segment: &Segment) -> bool {
        if next <= self.recovery_point.max(self.cleaned) || self.has_holes {
            return true;
        }
        let promised = self.end < self.recovery_point;
        if promised {
            let (file, end) = (segment.path(Kind::Log), self.end);
            tracing::error!(file = %file.display(), %end, %next, "records are missing between segments");
        }
        promised
    }

    /// Checks one segment, cuts it after its last good batch, writes its indexes. Whether anything was lost.
    fn check_segment(&mut self, segment: &Arc<Segment>, is_last: bool) -> Result<bool, Error> {
        let path = segment.path(Kind::Log);
        let file = segment.file(self.directory).map_err(|error| Error::io(&path, error))?;
        let Trusted { mut builder, position: from, .. } = self.trusted_indexes(segment)?;
        let mut scan = Scan::new(&file, from, segment.size(), segment.base);
        self.has_holes = self.was_emptied(segment)?;
        self.walked_to = (from == 0).then_some(segment.base);
        while scan.next_offset() < self.recovery_point && segment.base < self.recovery_point {
            let at = scan.position();
            match scan.next_header().map_err(|stop| stopped(stop, &path, at))? {
                Some((position, header)) => self.take(&mut builder, position, &header),
                None => break,
            }
        }
        let unchecked = scan.position();
        let bad = loop {
            match scan.next_batch() {
                Ok(Some((position, header))) if segment.relative(last_of(&header)).is_some() => {
                    self.take(&mut builder, position, &header);
                }
                Ok(Some(_)) => break Some(OFFSET_TOO_FAR),
                Ok(None) => break None,
                Err(Stop::Bad(reason)) => break Some(reason),
                Err(Stop::Io(error)) => return Err(Error::io(&path, error)),
            }
        };
        self.end = scan.next_offset().max(segment.base);
        if is_last && self.end < self.recovery_point {
            let (end, promised) = (self.end, self.recovery_point);
            tracing::error!(file = %path.display(), %end, %promised, "log ends before its recovery point: records are missing");
        }
        self.checked_bytes += scan.position() - unchecked;
        let was_cut = match bad {
            Some(reason) => self.cut(segment, scan.position(), reason)?,
            None => false,
        };
        let rewritten = rewrite(&file, unchecked, scan.position()).and_then(|()| file.sync_data());
        rewritten.map_err(|error| Error::io(&path, error))?;
        self.renew_name(segment)?;
        self.write_indexes(segment, builder, is_last || was_cut)?;
        Ok(was_cut)
    }

    /// Whether a segment without a batch is what compaction left of one: it has an index, which an empty segment that
    /// is to grow has not, or not an empty one.
    fn was_emptied(&self, segment: &Segment) -> Result<bool, Error> {
        let path = segment.path(Kind::Index);
        let index = self.directory.disk.stat(&path).map_err(|error| Error::io(&path, error))?;
        Ok(segment.size() == 0 && index.is_some_and(|index| index.length == 0))
    }

    /// What `rewrite` does for bytes, for the name of a file made since the recovery point: the sync of its folder
    /// may have failed, too. A crash between the two renames is ended by the next start as any `.swap`.
    fn renew_name(&self, segment: &Segment) -> Result<(), Error> {
        if segment.base < self.recovery_point {
            return Ok(());
        }
        let path = segment.path(Kind::Log);
        let mut aside = path.clone().into_os_string();
        aside.push(Intermediate::Swap.suffix());
        let disk = &self.directory.disk;
        let renewed =
            disk.rename(&path, Path::new(&aside)).and_then(|()| disk.rename(Path::new(&aside), &path));
        renewed.map_err(|error| Error::io(&path, error))
    }

    fn take(&mut self, builder: &mut IndexBuilder, position: u64, header: &Header) {
        builder.add(position, header);
        let has_all = i64::from(header.record_count) == i64::from(header.last_offset_delta) + 1;
        let follows = self.walked_to.is_none_or(|end| end.0 == header.base_offset);
        self.has_holes |= !has_all || !follows;
        self.walked_to = Some(after(header));
        let epoch = LeaderEpoch(header.leader_epoch);
        if self.epochs.latest().is_none_or(|latest| epoch > latest) {
            self.epochs.assign(epoch, Offset(header.base_offset));
        }
    }

    /// The index entries below the recovery point, and where the walk begins: at the last of them, if a batch with
    /// that last offset stands there, else at the segment's start.
    fn trusted_indexes(&self, segment: &Segment) -> Result<Trusted, Error> {
        let interval = self.directory.index_interval_bytes();
        let from_start = || {
            let builder = IndexBuilder::new(segment.base, interval);
            Ok(Trusted { builder, position: 0, complete: false })
        };
        let Some(limit) = segment.relative(self.recovery_point).filter(|limit| *limit > 0) else {
            return from_start();
        };
        let (Some(offsets), Some(mut times)) =
            (segment.read_index(self.directory)?, segment.read_time_index(self.directory)?)
        else {
            return from_start();
        };
        let trusted: Vec<_> = offsets.iter().take_while(|entry| entry.relative < limit).collect();
        let last_time = times.last().map(|last| last.relative);
        let complete = trusted.len() == offsets.iter().count() && last_time.is_some_and(|last| last < limit);
        let Some(last) = trusted.last().copied() else {
            let builder = IndexBuilder::new(segment.base, interval);
            return Ok(Trusted { builder, position: 0, complete });
        };
        let path = segment.path(Kind::Log);
        let file = segment.file(self.directory).map_err(|error| Error::io(&path, error))?;
        let position = u64::from(last.position);
        let header = Scan::new(&file, position, segment.size(), segment.base).next_header();
        let matches = matches!(header, Ok(Some((_, header)))
            if segment.relative(last_of(&header)) == Some(last.relative));
        if !matches {
            tracing::warn!(file = %path.display(), position, "index does not match the log, walking all of the segment");
            return from_start();
        }
        times.truncate_to(last.relative.saturating_add(1));
        let builder = IndexBuilder::after(segment.base, interval, TailIndex::with(trusted), times);
        Ok(Trusted { builder, position, complete })
    }

    /// Cuts what follows the last good batch. Zeros were taken ahead and are no loss; everything else is reported.
    fn cut(&mut self, segment: &Segment, position: u64, reason: &str) -> Result<bool, Error> {
        let path = segment.path(Kind::Log);
        let io = |error| Error::io(&path, error);
        let file = segment.file(self.directory).map_err(io)?;
        let bytes = segment.size() - position;
        let zeros = is_zero(&file, position, segment.size()).map_err(io)?;
        if zeros {
            tracing::debug!(file = %path.display(), position, bytes, "cutting space taken ahead");
        } else {
            tracing::warn!(file = %path.display(), position, bytes, reason, "cutting a torn tail");
            self.cut_bytes += bytes;
        }
        if self.directory.keeps_torn_tail() && !zeros {
            return Ok(false);
        }
        segment.cut(self.directory, position).map_err(io)?;
        Ok(!zeros)
    }

    fn remove_segments_from(&mut self, index: usize) -> Result<(), Error> {
        for segment in self.segments.drain(index.min(self.segments.len())..) {
            let path = segment.path(Kind::Log);
            tracing::warn!(file = %path.display(), bytes = segment.size(), "removing a segment after a torn one");
            self.cut_bytes += segment.size();
            segment.close(self.directory);
            for kind in Kind::ALL {
                remove_if_there(self.directory, &segment.path(kind))?;
            }
        }
        Ok(())
    }

    fn write_indexes(&self, segment: &Segment, builder: IndexBuilder, grows: bool) -> Result<(), Error> {
        let (tail, max) = if grows { builder.into_tail() } else { builder.finish() };
        let times = {
            let mut times = tail.times.lock().clone();
            if grows {
                // As at a clean close: the largest timestamp stands at the end.
                close_times(&mut times, segment, max.offset, max.timestamp.0);
            }
            times
        };
        let files = [(Kind::Index, tail.offsets.encode_from(0)), (Kind::TimeIndex, times.encode_from(0))];
        for (kind, bytes) in files {
            write_synced(self.directory, &segment.path(kind), &bytes)?;
        }
        segment.set_max_timestamp(Some(max));
        Ok(())
    }

    /// Where the log starts. A start behind the end is no reason to lose what is there when nothing says that the log
    /// ever was so long: a start is written only when all before it is safe, so its file is damaged (or it is one of
    /// Apache Kafka's, which lost its end with the power; Kafka removes all segments then).
    fn credible(&self, start: Offset) -> Offset {
        let (end, recovery_point) = (self.end, self.recovery_point);
        if start <= end.max(recovery_point) {
            return start;
        }
        let folder = self.place.path();
        tracing::error!(folder = %folder.display(), %start, %end, %recovery_point, "log-start-offset-checkpoint is damaged, the log starts at its first record");
        Offset::ZERO
    }

    /// Producers, aborted transactions, epochs, folder.
    fn finish(mut self, start: Offset) -> Result<Recovered, Error> {
        let dir = self.place.path();
        let first_base = self.segments.first().map(|segment| segment.base);
        let start = self.credible(start);
        if self.segments.last().is_none_or(|_| self.end < start) {
            if first_base.is_some() {
                let end = self.end;
                tracing::warn!(folder = %dir.display(), %end, %start, "log ends before its start, beginning anew there");
            }
            self.remove_segments_from(0)?;
            self.end = start;
            self.segments.push(Segment::fresh(self.place.clone(), start));
            self.epochs = Epochs::default();
        }
        let start = first_base.map_or(start, |base| start.max(base));
        let snapshot_max = self.recovery_point.min(self.end);
        for snapshot in self.snapshots.iter().filter(|snapshot| **snapshot > snapshot_max) {
            remove_if_there(self.directory, &layout::file_path(&dir, *snapshot, Kind::Snapshot))?;
        }
        let range = Range { start, to: self.end, snapshot_max };
        let rebuilt = rebuild_producers(self.directory, (self.place, &self.segments), range)?;
        self.write_aborted(&rebuilt.aborted, start)?;
        let snapshot = producer_snapshot::encode(&rebuilt.producers);
        write_synced(self.directory, &layout::file_path(&dir, self.end, Kind::Snapshot), &snapshot)?;
        self.epochs.truncate_from_end(self.end);
        self.epochs.truncate_from_start(start);
        let path = dir.join(layout::LEADER_EPOCHS);
        write_text(&self.directory.disk, &path, &self.epochs.encode())
            .map_err(|error| Error::io(&path, error))?;
        self.directory.disk.sync_dir(&dir).map_err(|error| Error::io(&dir, error))?;
        for segment in &self.segments {
            segment.close(self.directory);
        }
        let (folder, end) = (dir.display(), self.end);
        let (checked_bytes, cut_bytes) = (self.checked_bytes, self.cut_bytes);
        self.directory.metrics.recovery_cut_bytes.inc_by(cut_bytes);
        if cut_bytes > 0 || checked_bytes > QUICK_BYTES {
            tracing::info!(%folder, %end, checked_bytes, cut_bytes, "recovered");
        } else {
            tracing::debug!(%folder, %end, checked_bytes, cut_bytes, "recovered");
        }
        Ok(Recovered { segments: self.segments, start, end: self.end })
    }

    /// The lists of aborted transactions: entries below the recovery point stay, the rest comes from the walk.
    fn write_aborted(&self, walked: &[AbortedTransaction], start: Offset) -> Result<(), Error> {
        for (index, segment) in self.segments.iter().enumerate().skip(self.first) {
            let next = self.segments.get(index + 1).map_or(self.end, |next| next.base);
            let path = segment.path(Kind::AbortedIndex);
            let there = self.directory.disk.stat(&path).map_err(|error| Error::io(&path, error))?;
            let old = match there {
                Some(stat) => {
                    let bytes = self.directory.disk.read(&path, stat.length);
                    let bytes = bytes.map_err(|error| Error::io(&path, error))?;
                    let (entries, good) = aborted_index::parse(&bytes);
                    let promised = entries.last().is_none_or(|last| last.last < self.recovery_point);
                    if good < bytes.len() && promised {
                        let files = (self.place.as_ref(), self.segments.as_slice());
                        rebuild_aborted(self.directory, files, segment, (start, next))?
                    } else {
                        entries
                    }
                }
                None => Vec::new(),
            };
            let kept = old.into_iter().filter(|entry| entry.last < self.recovery_point);
            let fresh = walked.iter().copied().filter(|entry| {
                entry.last >= self.recovery_point && entry.last >= segment.base && entry.last < next
            });
            let entries: Vec<AbortedTransaction> = kept.chain(fresh).collect();
            if there.is_some() || !entries.is_empty() {
                let bytes = aborted_index::encode(&entries);
                write_synced(self.directory, &path, &bytes)?;
            }
            segment.set_aborted(entries);
        }
        Ok(())
    }
}

/// Ends a time index with the largest timestamp of its segment.
fn close_times(times: &mut TimeIndex, segment: &Segment, offset: Offset, timestamp: i64) {
    if let Some(relative) = segment.relative(offset) {
        times.maybe_append(time_index::Entry { timestamp: crate::base::Timestamp(timestamp), relative });
    }
}

/// Writes bytes back to where they were read from, so that the sync that follows brings them to the device. A sync
/// that failed in the former process left pages that read well, count as clean, and were never written.
fn rewrite(file: &File, mut position: u64, end: u64) -> io::Result<()> {
    let mut buffer = vec![0; REWRITE_CHUNK];
    while position < end {
        let length = usize::try_from(end - position).unwrap_or(REWRITE_CHUNK).min(REWRITE_CHUNK);
        let part = buffer.get_mut(..length).unwrap_or_default();
        file.read_exact_at(part, position)?;
        file.write_at(part, position)?;
        position += u64::try_from(length).unwrap_or(u64::MAX);
    }
    Ok(())
}

fn last_of(header: &Header) -> Offset {
    Offset(after(header).0 - 1)
}

fn write_synced(directory: &Directory, path: &Path, bytes: &[u8]) -> Result<(), Error> {
    write_whole(directory, path, bytes)?;
    let synced =
        directory.disk.open(path, crate::io::disk::Open::ReadWrite).and_then(|file| file.sync_data());
    synced.map_err(|error| Error::io(path, error))
}

fn remove_if_there(directory: &Directory, path: &Path) -> Result<(), Error> {
    match directory.disk.remove_file(path) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(Error::io(path, error)),
    }
}
