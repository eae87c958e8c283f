//! The record batches in what was read, by their headers only: the records themselves stay on disk.

use crate::io::FileSlice;
use crate::log::AbortedTransaction;
use crate::record::HEADER_SIZE;
use crate::record::Header;
use crate::share::partition::Acquired;
use crate::share::partition::Found;
use std::io;

/// How many batches are looked at in one go. More records than that are seldom wanted.
const BATCHES_MAX: usize = 1024;
/// Bytes that are read at once; headers of small batches lie close together.
const WINDOW: usize = 4096;

/// A batch, and where it lies.
#[derive(Clone, Debug)]
pub(super) struct Batch {
    pub(super) found: Found,
    slice: usize,
    position: u64,
    size: u64,
}

/// The batches of these slices, in order; the rest is left out where there are very many.
///
/// # Errors
/// When a file cannot be read.
pub(super) fn batches(slices: &[FileSlice], aborted: &[AbortedTransaction]) -> io::Result<Vec<Batch>> {
    let mut found = Vec::new();
    for (index, slice) in slices.iter().enumerate() {
        let mut position = slice.position;
        let mut window = Window::default();
        while position < slice.end() && found.len() < BATCHES_MAX {
            let Some(header) = window.header(slice, position)? else { return Ok(found) };
            let size = u64::try_from(header.total_size()).unwrap_or(u64::MAX);
            // What is not whole is not for the reader.
            if size < HEADER_SIZE as u64 || position.saturating_add(size) > slice.end() {
                return Ok(found);
            }
            let (first, end) = (header.base_offset, header.last_offset().saturating_add(1));
            let aborted = is_aborted(&header, aborted);
            found.push(Batch { found: Found { first, end, aborted }, slice: index, position, size });
            position = position.saturating_add(size);
        }
    }
    Ok(found)
}

/// A piece of a file that holds the next headers.
#[derive(Default)]
struct Window {
    from: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn header(&mut self, slice: &FileSlice, position: u64) -> io::Result<Option<Header>> {
        let covered = position.checked_sub(self.from).and_then(|at| usize::try_from(at).ok());
        let at = covered.filter(|at| at.saturating_add(HEADER_SIZE) <= self.bytes.len());
        let at = match at {
            Some(at) => at,
            None => {
                let left = usize::try_from(slice.end().saturating_sub(position)).unwrap_or(usize::MAX);
                if left < HEADER_SIZE {
                    return Ok(None);
                }
                self.bytes.resize(left.min(WINDOW), 0);
                slice.file.read_exact_at(&mut self.bytes, position)?;
                self.from = position;
                0
            }
        };
        Ok(self.bytes.get(at..).and_then(Header::parse))
    }
}

fn is_aborted(header: &Header, aborted: &[AbortedTransaction]) -> bool {
    header.is_transactional()
        && !header.is_control()
        && aborted.iter().any(|transaction| {
            transaction.producer.0 == header.producer_id
                && transaction.first.0 <= header.base_offset
                && header.base_offset < transaction.last.0
        })
}

/// The parts of the slices that hold these records.
pub(super) fn cut(slices: &[FileSlice], batches: &[Batch], acquired: &[Acquired]) -> Vec<FileSlice> {
    let (Some(first), Some(last)) = (acquired.first(), acquired.last()) else { return Vec::new() };
    let wanted = |batch: &&Batch| batch.found.first < last.end && first.first < batch.found.end;
    let mut cut: Vec<(usize, FileSlice)> = Vec::new();
    for batch in batches.iter().filter(wanted) {
        match cut.last_mut() {
            Some((index, slice)) if *index == batch.slice && slice.end() == batch.position => {
                slice.length = slice.length.saturating_add(batch.size);
            }
            _ => {
                let Some(whole) = slices.get(batch.slice) else { continue };
                let slice =
                    FileSlice { file: whole.file.clone(), position: batch.position, length: batch.size };
                cut.push((batch.slice, slice));
            }
        }
    }
    cut.into_iter().map(|(_, slice)| slice).collect()
}
