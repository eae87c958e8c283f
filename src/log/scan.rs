//! Walking the batches of a segment's file: headers only (to find a place), or whole batches (to check them).

use crate::base::Offset;
use crate::io::disk::File;
use crate::record::HEADER_SIZE;
use crate::record::Header;
use crate::record::is_intact;
use std::io;

/// What one read asks for when only headers matter: an index interval and a header.
const HEADERS_CHUNK: usize = 8 << 10;
/// What one read asks for when a batch was larger than the last read.
const SPARSE_CHUNK: usize = 512;
/// What one read asks for when whole batches matter.
const WHOLE_CHUNK: usize = 1 << 20;
/// The part of a batch its length field does not count: base offset and length.
const LENGTH_END: u64 = 12;

/// Of two batches whose offsets overlap, one has a wrong offset; which of them cannot be told.
pub(crate) const OFFSET_GOES_BACK: &str = "offset goes back";

/// The batch has offsets of the next segment, or above the end of the log.
pub(crate) const OFFSET_BEYOND: &str = "offsets reach beyond the end of the segment";
/// No index entry could name the batch.
pub(crate) const OFFSET_TOO_FAR: &str = "offset is too far from the segment's base";

/// Why a walk stopped before its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// What stands at the position is not a whole, sane batch.
    Bad(&'static str),
    /// The file could not be read.
    Io(io::Error),
}

/// A batch's position, header and bytes.
pub(crate) type WholeBatch<'a> = (u64, Header, &'a [u8]);

/// A walk over `position..end` of a file.
pub(crate) struct Scan<'a> {
    file: &'a File,
    position: u64,
    end: u64,
    next_offset: Offset,
    /// Only grows: what is behind `filled` is left from before.
    buffer: Vec<u8>,
    filled: usize,
    buffer_start: u64,
    chunk: usize,
    whole_chunk: usize,
}

impl<'a> Scan<'a> {
    /// A walk whose batches must not begin below `offset`. `position` must be the start of a batch.
    pub(crate) fn new(file: &'a File, position: u64, end: u64, offset: Offset) -> Scan<'a> {
        Scan {
            file,
            position,
            end,
            next_offset: offset,
            buffer: Vec::new(),
            filled: 0,
            buffer_start: 0,
            chunk: HEADERS_CHUNK,
            whole_chunk: WHOLE_CHUNK,
        }
    }

    /// Reads about this many bytes at once where whole batches matter.
    pub(crate) fn in_chunks_of(mut self, bytes: usize) -> Scan<'a> {
        self.whole_chunk = bytes.max(HEADER_SIZE);
        self
    }

    /// Where the next batch begins.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The offset after the last batch that was good.
    pub(crate) fn next_offset(&self) -> Offset {
        self.next_offset
    }

    /// The next batch's position and header; `None` at the end. Checks sizes and order, not the checksum.
    pub(crate) fn next_header(&mut self) -> Result<Option<(u64, Header)>, Stop> {
        if self.position >= self.end {
            return Ok(None);
        }
        let position = self.position;
        self.fill(HEADER_SIZE, self.chunk).map_err(Stop::Io)?;
        let header = Header::parse(self.at_position()).ok_or(Stop::Bad("header is cut off"))?;
        let size = sane(&header, position, self.end, self.next_offset).map_err(Stop::Bad)?;
        let small = size < u64::try_from(HEADERS_CHUNK).unwrap_or(u64::MAX);
        self.chunk = if small { HEADERS_CHUNK } else { SPARSE_CHUNK };
        self.pass(&header, size);
        Ok(Some((position, header)))
    }

    /// As [`Scan::next_header`], and the batch's checksum is right.
    pub(crate) fn next_batch(&mut self) -> Result<Option<(u64, Header)>, Stop> {
        if self.position >= self.end {
            return Ok(None);
        }
        let position = self.position;
        self.fill(HEADER_SIZE, self.whole_chunk).map_err(Stop::Io)?;
        let header = Header::parse(self.at_position()).ok_or(Stop::Bad("header is cut off"))?;
        let size = sane(&header, position, self.end, self.next_offset).map_err(Stop::Bad)?;
        let length = usize::try_from(size).map_err(|_| Stop::Bad("batch is too large"))?;
        self.fill(length, length.max(self.whole_chunk)).map_err(Stop::Io)?;
        if !self.at_position().get(..length).is_some_and(is_intact) {
            return Err(Stop::Bad("checksum does not match"));
        }
        self.pass(&header, size);
        Ok(Some((position, header)))
    }

    /// As [`Scan::next_batch`], with the batch's bytes.
    pub(crate) fn next_bytes(&mut self) -> Result<Option<WholeBatch<'_>>, Stop> {
        let Some((position, header)) = self.next_batch()? else { return Ok(None) };
        let start = usize::try_from(position - self.buffer_start).unwrap_or(usize::MAX);
        let end = start.saturating_add(header.total_size());
        let bytes = self.buffer.get(start..end).ok_or(Stop::Bad("batch is cut off"))?;
        Ok(Some((position, header, bytes)))
    }

    fn pass(&mut self, header: &Header, size: u64) {
        self.position += size;
        self.next_offset = after(header);
    }

    fn at_position(&self) -> &[u8] {
        let start = self.position.checked_sub(self.buffer_start).and_then(|at| usize::try_from(at).ok());
        start.and_then(|start| self.buffer.get(start..self.filled)).unwrap_or_default()
    }

    /// Has at least `needed` bytes from the position in the buffer, as far as the range goes.
    fn fill(&mut self, needed: usize, ask: usize) -> io::Result<()> {
        let left = usize::try_from(self.end - self.position).unwrap_or(usize::MAX);
        if self.at_position().len() >= needed.min(left) {
            return Ok(());
        }
        // What is there of the next batch is not read again.
        let there = self.at_position().len();
        self.buffer.copy_within(self.filled - there..self.filled, 0);
        (self.filled, self.buffer_start) = (there, self.position);
        let wanted = ask.max(needed).min(left).max(there);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0);
        }
        let room = self.buffer.get_mut(there..wanted).unwrap_or_default();
        self.filled += self.file.read_at(room, self.position + u64::try_from(there).unwrap_or(0))?;
        Ok(())
    }
}

/// The offset after a batch's last record.
pub(crate) fn after(header: &Header) -> Offset {
    Offset(header.base_offset.saturating_add(i64::from(header.last_offset_delta)).saturating_add(1))
}

/// The batch's size when its header can be true at this place.
fn sane(header: &Header, position: u64, end: u64, next: Offset) -> Result<u64, &'static str> {
    if header.magic != 2 {
        return Err("magic is not 2");
    }
    let length = u64::try_from(header.length).map_err(|_| "length is negative")?;
    let size = length + LENGTH_END;
    if size < u64::try_from(HEADER_SIZE).unwrap_or(u64::MAX) {
        return Err("length is smaller than a header");
    }
    if size > end - position {
        return Err("batch reaches beyond the end");
    }
    if header.last_offset_delta < 0 {
        return Err("last offset delta is negative");
    }
    if header.base_offset < next.0 {
        return Err(OFFSET_GOES_BACK);
    }
    if header.base_offset.checked_add(i64::from(header.last_offset_delta) + 1).is_none() {
        return Err("offset is too large");
    }
    Ok(size)
}

/// Whether all bytes of `position..end` are zero: space taken ahead of appends, not damage.
pub(crate) fn is_zero(file: &File, mut position: u64, end: u64) -> io::Result<bool> {
    let mut buffer = vec![0; WHOLE_CHUNK];
    while position < end {
        let want = usize::try_from(end - position).unwrap_or(usize::MAX).min(buffer.len());
        let part = buffer.get_mut(..want).unwrap_or_default();
        let read = file.read_at(part, position)?;
        if read == 0 {
            return Ok(true);
        }
        if part.iter().take(read).any(|byte| *byte != 0) {
            return Ok(false);
        }
        position = position.saturating_add(u64::try_from(read).unwrap_or(u64::MAX));
    }
    Ok(true)
}
