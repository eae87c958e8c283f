//! From an offset to ranges of files; nothing is copied, and whole batches are returned.

use crate::base::Offset;
use crate::io::file_slice::FileSlice;
use crate::log::AbortedTransaction;
use crate::log::Log;
use crate::log::Segments;
use crate::log::aborted_index;
use crate::log::error::Error;
use crate::log::layout::Kind;
use crate::log::load::stopped;
use crate::log::prove::Range;
use crate::log::published::End;
use crate::log::scan::OFFSET_BEYOND;
use crate::log::scan::Scan;
use crate::log::scan::after;
use crate::log::segment::Segment;
use crate::record::HEADER_SIZE;
use crate::record::Header;
use bytes::Bytes;
use std::io;
use std::sync::Arc;

/// Batches on their way to a reader.
#[derive(Clone, Debug, Default)]
pub struct ReadResult {
    /// Ranges of segment files, in order; each holds whole batches. The first batch may begin below the offset asked
    /// for, when that lies inside a batch.
    pub slices: Vec<FileSlice>,
    /// Bytes in all of them.
    pub bytes: u64,
    /// There is a batch, but it alone is larger than what was asked for.
    pub too_large: bool,
}

/// A batch found in a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Located {
    pub(crate) position: u64,
    pub(crate) header: Header,
}

impl Log {
    /// The batches from `from` up to `limit` (exclusive), at most `max_bytes`; with `at_least_one` the first batch
    /// comes whole even if it alone is larger. Empty when `from` is at or beyond the limit.
    ///
    /// # Errors
    /// [`Error::OffsetOutOfRange`] when `from` is not between the log's start and end; [`Error::Offline`];
    /// [`Error::Damaged`] when what the index points at is not a batch.
    pub fn read(
        &self,
        from: Offset,
        limit: Offset,
        max_bytes: usize,
        at_least_one: bool,
    ) -> Result<ReadResult, Error> {
        self.check_online()?;
        self.say_damage(self.read_view(from, limit, max_bytes, at_least_one))
    }

    /// Names a damaged file at the log of this process, once for as long as it is the same one.
    pub(crate) fn say_damage<T>(&self, result: Result<T, Error>) -> Result<T, Error> {
        if let Err(Error::Damaged { file, position, reason }) = &result
            && self.damage_said.lock().replace(file.clone()).as_ref() != Some(file)
        {
            tracing::error!(partition = %self.partition, file = %file.display(), position, reason, "records cannot be read");
        }
        result
    }

    fn read_view(
        &self,
        from: Offset,
        limit: Offset,
        max_bytes: usize,
        at_least_one: bool,
    ) -> Result<ReadResult, Error> {
        let end = self.published.load();
        let start = self.log_start_offset();
        if from < start || from > end.offset {
            return Err(Error::OffsetOutOfRange { offset: from, start, end: end.offset });
        }
        let limit = limit.min(end.offset);
        let segments = self.view.load();
        let mut result = ReadResult::default();
        let max_bytes = u64::try_from(max_bytes).unwrap_or(u64::MAX);
        let first = segments.partition_point(|segment| segment.base <= from).saturating_sub(1);
        let wanted = from;
        let mut from = from;
        for (index, segment) in segments.iter().enumerate().skip(first) {
            let left = max_bytes.saturating_sub(result.bytes);
            let must = at_least_one && result.bytes == 0;
            if segment.base >= limit || from >= limit || (left == 0 && !must) {
                break;
            }
            let beyond = segments.get(index + 1).map_or(end.offset, |next| next.base);
            let bounds = Bounds { from, limit, end, left, must, beyond };
            let read = self.read_segment(segment, &bounds);
            // Who reads on behind what was found meets the damage.
            if result.bytes > 0 && matches!(read, Err(Error::Damaged { .. })) {
                break;
            }
            match self.explain(read, from)? {
                Part::Beyond => {}
                Part::Limit => return Ok(result),
                Part::Full => {
                    result.too_large = result.bytes == 0;
                    break;
                }
                Part::Slice { slice, to_the_end } => {
                    result.bytes += slice.length;
                    result.slices.push(slice);
                    if !to_the_end {
                        break;
                    }
                }
            }
            from = segments.get(index + 1).map_or(limit, |next| next.base).max(from);
        }
        if at_least_one && result.slices.is_empty() && wanted < limit {
            return Err(self.nothing_at(wanted, segments.get(first)));
        }
        Ok(result)
    }

    /// There must be a batch and there is none: its file is shorter than it was. Without an error a reader would ask
    /// for ever.
    fn nothing_at(&self, offset: Offset, segment: Option<&Arc<Segment>>) -> Error {
        let (start, end) = (self.log_start_offset(), self.log_end_offset());
        if !(start..end).contains(&offset) {
            // Retention or a truncation was faster than this read.
            return Error::OffsetOutOfRange { offset, start, end };
        }
        let path = segment.map_or_else(|| self.place.path().to_path_buf(), |segment| segment.path(Kind::Log));
        let size = segment.map_or(0, |segment| segment.size());
        Error::damaged(&path, size, format!("no batch at offset {offset}, although the log ends at {end}"))
    }

    /// As [`Log::read`], with the bytes read into memory: for those who replay a log.
    ///
    /// # Errors
    /// As [`Log::read`].
    pub fn read_bytes(&self, from: Offset, limit: Offset, max_bytes: usize) -> Result<Bytes, Error> {
        let result = self.read(from, limit, max_bytes, true)?;
        let mut bytes = vec![0; usize::try_from(result.bytes).unwrap_or(0)];
        let mut rest = bytes.as_mut_slice();
        for slice in &result.slices {
            let length = usize::try_from(slice.length).unwrap_or(0).min(rest.len());
            let (part, tail) = rest.split_at_mut(length);
            let read = slice.file.read_exact_at(part, slice.position);
            read.map_err(|error| Error::io(&self.place.path(), error))?;
            rest = tail;
        }
        Ok(Bytes::from(bytes))
    }

    /// Where the batch behind a read begins, when that lies in the same file; `None` at the end of a segment.
    pub fn following(&self, read: &ReadResult) -> Option<Offset> {
        let slice = read.slices.last()?;
        let mut head = [0; HEADER_SIZE];
        slice.file.read_exact_at(&mut head, slice.end()).ok()?;
        // Behind the last batch of a file there may be zeros, which are no batch.
        let header = Header::parse(&head).filter(|header| header.length > 0)?;
        Some(Offset(header.base_offset))
    }

    /// The aborted transactions that touch `from..to`, in the order of their markers (`.txnindex`).
    ///
    /// # Errors
    /// [`Error::Io`] and [`Error::Damaged`] of the index files.
    pub fn aborted(&self, from: Offset, to: Offset) -> Result<Vec<AbortedTransaction>, Error> {
        let segments = self.view.load();
        let mut found = Vec::new();
        let first = segments.partition_point(|segment| segment.base <= from).saturating_sub(1);
        for segment in segments.iter().skip(first) {
            if aborted_index::collect(self.aborted_of(segment)?.as_ref(), from, to, &mut found) {
                break;
            }
        }
        Ok(found)
    }

    /// A file that retention took away while we looked is an offset out of range, not a failed disk.
    fn explain<T>(&self, read: Result<T, Error>, from: Offset) -> Result<T, Error> {
        match read {
            Err(Error::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                if self.core.lock().closed {
                    return Err(Error::Closed);
                }
                let (start, end) = (self.log_start_offset(), self.log_end_offset());
                Err(Error::OffsetOutOfRange { offset: from, start, end })
            }
            read => read,
        }
    }

    /// The part of one segment.
    fn read_segment(&self, segment: &Arc<Segment>, bounds: &Bounds) -> Result<Part, Error> {
        let segment_end =
            if segment.base == bounds.end.segment { bounds.end.position } else { segment.size() };
        let Some(first) = self.locate(segment, bounds.from, segment_end)? else { return Ok(Part::Beyond) };
        if first.header.base_offset >= bounds.beyond.0 {
            return Err(Error::damaged(&segment.path(Kind::Log), first.position, OFFSET_BEYOND));
        }
        if first.header.base_offset >= bounds.limit.0 {
            return Ok(Part::Limit);
        }
        let visible_end = self.limit_position(segment, bounds, segment_end)?;
        let available = visible_end.saturating_sub(first.position);
        if available == 0 {
            return Ok(Part::Limit);
        }
        let first_size = u64::try_from(first.header.total_size()).unwrap_or(u64::MAX);
        if available < first_size {
            return Ok(Part::Full);
        }
        let length = if available <= bounds.left {
            available
        } else if bounds.left < first_size {
            if !bounds.must {
                return Ok(Part::Full);
            }
            first_size
        } else {
            self.whole_batches(segment, first.position, bounds.left)?.max(first_size)
        };
        let path = segment.path(Kind::Log);
        let file = segment.file(&self.directory).map_err(|error| Error::io(&path, error))?;
        let range = Range { from: first.position, to: first.position + length, segment_end };
        let length = self.proven(segment, &file, bounds, range)? - first.position;
        let slice = FileSlice { file, position: first.position, length };
        Ok(Part::Slice { slice, to_the_end: first.position + length == segment_end })
    }

    /// Where readers must stop in a segment.
    fn limit_position(
        &self,
        segment: &Arc<Segment>,
        bounds: &Bounds,
        segment_end: u64,
    ) -> Result<u64, Error> {
        if bounds.limit >= bounds.end.offset {
            return Ok(segment_end);
        }
        let beyond = self.locate(segment, bounds.limit, segment_end)?;
        Ok(beyond.map_or(segment_end, |batch| batch.position))
    }

    /// The largest length up to `max` that ends where a batch ends: from the index where that is near enough, else
    /// by a walk.
    fn whole_batches(&self, segment: &Arc<Segment>, position: u64, max: u64) -> Result<u64, Error> {
        let to = position.saturating_add(max);
        let border = segment.floor_position(&self.directory, to)?;
        if border > position && to - border <= max / 8 {
            return Ok(border - position);
        }
        let from = border.max(position);
        let path = segment.path(Kind::Log);
        let file = segment.file(&self.directory).map_err(|error| Error::io(&path, error))?;
        let mut scan = Scan::new(&file, from, segment.size(), segment.base);
        let mut whole = from - position;
        loop {
            let at = scan.position();
            match scan.next_header().map_err(|stop| stopped(stop, &path, at))? {
                Some(_) if scan.position() <= to => whole = scan.position() - position,
                _ => return Ok(whole),
            }
        }
    }

    /// The first batch of a segment whose last offset is at or above `offset`.
    pub(crate) fn locate(
        &self,
        segment: &Segment,
        offset: Offset,
        end: u64,
    ) -> Result<Option<Located>, Error> {
        if end == 0 {
            return Ok(None);
        }
        let from = segment.floor(&self.directory, offset)?;
        let path = segment.path(Kind::Log);
        let file = segment.file(&self.directory).map_err(|error| Error::io(&path, error))?;
        let mut scan = Scan::new(&file, from, end, segment.base);
        loop {
            let at = scan.position();
            match scan.next_header().map_err(|stop| stopped(stop, &path, at))? {
                Some((position, header)) if after(&header) > offset => {
                    return Ok(Some(Located { position, header }));
                }
                Some(_) => {}
                None => return Ok(None),
            }
        }
    }

    /// The segment that holds `offset`, with those after it.
    pub(crate) fn segments_from(&self, offset: Offset) -> (Arc<Segments>, usize) {
        let segments = self.view.load_full();
        let first = segments.partition_point(|segment| segment.base <= offset).saturating_sub(1);
        (segments, first)
    }
}

/// What a read found in one segment.
enum Part {
    /// Nothing at or above the offset: the next segment may have it.
    Beyond,
    /// What there is lies at or above the limit.
    Limit,
    /// There is something, but no room for it.
    Full,
    /// Whole batches; the next segment follows on when they reach the end.
    Slice { slice: FileSlice, to_the_end: bool },
}

/// What a read of one segment may return.
pub(crate) struct Bounds {
    pub(crate) from: Offset,
    limit: Offset,
    end: End,
    /// Bytes that may still be returned.
    left: u64,
    /// The first batch comes even if it is larger than `left`.
    must: bool,
    /// Where the next segment begins, or the log ends.
    pub(crate) beyond: Offset,
}
