//! The sparse index from offsets to file positions (class `OffsetIndex`).
//!
//! ```text
//! entry (8 bytes, big endian): [ last offset of the batch - base offset: i32 ][ batch's position: i32 ]
//! ```
//!
//! An entry names the *last* offset of the batch that begins at its position, as Kafka's does. The tail of a log
//! keeps its index in memory ([`TailIndex`], one writer, readers without locks); older segments' files are read
//! through the index cache.

use bytes::Bytes;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// Bytes of an entry.
pub(crate) const ENTRY_SIZE: usize = 8;

/// One entry; both numbers are below 2^31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The batch's last offset, relative to the segment's base.
    pub(crate) relative: u32,
    /// Where the batch begins in the segment's file.
    pub(crate) position: u32,
}

impl Entry {
    fn packed(self) -> u64 {
        (u64::from(self.relative) << 32) | u64::from(self.position)
    }

    fn unpacked(bits: u64) -> Entry {
        let [a, b, c, d, e, f, g, h] = bits.to_be_bytes();
        Entry { relative: u32::from_be_bytes([a, b, c, d]), position: u32::from_be_bytes([e, f, g, h]) }
    }
}

/// Entries in ascending order, in memory or in a file's bytes.
pub(crate) trait Entries {
    fn count(&self) -> u32;
    fn entry(&self, slot: u32) -> Option<Entry>;

    /// The last entry for which `holds` is true; `holds` must be true for a prefix of the entries.
    fn last_where(&self, holds: impl Fn(Entry) -> bool) -> Option<Entry> {
        let (mut low, mut high) = (0, self.count());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.entry(middle).is_some_and(&holds) { low = middle + 1 } else { high = middle }
        }
        self.entry(low.checked_sub(1)?)
    }

    /// The entry with the largest offset not above `relative`: where a scan for that offset begins.
    fn floor(&self, relative: u32) -> Option<Entry> {
        self.last_where(|entry| entry.relative <= relative)
    }

    /// The last entry at or before a file position: a batch border.
    fn floor_position(&self, position: u32) -> Option<Entry> {
        self.last_where(|entry| entry.position <= position)
    }
}

const FIRST_BUCKET: u32 = 64;
const BUCKETS: usize = 23;

/// The growing index of a log's active segment: one writer (under the partition's lock), any number of readers.
///
/// Buckets of doubling size are never moved, so a reader needs no lock; an entry is visible once `len` covers it.
#[derive(Debug)]
pub(crate) struct TailIndex {
    buckets: [OnceLock<Box<[AtomicU64]>>; BUCKETS],
    len: AtomicU32,
}

impl TailIndex {
    pub(crate) fn new() -> TailIndex {
        TailIndex { buckets: [const { OnceLock::new() }; BUCKETS], len: AtomicU32::new(0) }
    }

    /// An index that starts with these entries.
    pub(crate) fn with(entries: impl IntoIterator<Item = Entry>) -> TailIndex {
        let index = TailIndex::new();
        for entry in entries {
            index.push(entry);
        }
        index
    }

    /// Adds an entry; only the writer calls this. False when the index cannot hold more (half a billion entries).
    pub(crate) fn push(&self, entry: Entry) -> bool {
        let slot = self.len.load(Ordering::Relaxed);
        let Some((bucket, place)) = place(slot) else { return false };
        let Some(bucket_cell) = self.buckets.get(bucket) else { return false };
        let cells = bucket_cell.get_or_init(|| {
            let size = u64::from(FIRST_BUCKET) << bucket;
            (0..size).map(|_| AtomicU64::new(0)).collect()
        });
        let Some(cell) = cells.get(place) else { return false };
        cell.store(entry.packed(), Ordering::Relaxed);
        self.len.store(slot + 1, Ordering::Release);
        true
    }

    /// Forgets the entries from `len` on; only the writer calls this.
    pub(crate) fn shorten(&self, len: u32) {
        if len < self.len.load(Ordering::Relaxed) {
            self.len.store(len, Ordering::Release);
        }
    }

    /// Forgets every entry whose batch begins at or after `position`.
    pub(crate) fn shorten_to_position(&self, position: u64) {
        let mut len = self.count();
        while let Some(last) = len.checked_sub(1) {
            if self.entry(last).is_none_or(|entry| u64::from(entry.position) < position) {
                break;
            }
            len = last;
        }
        self.shorten(len);
    }

    /// The entries, first to last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        (0..self.count()).filter_map(|slot| self.entry(slot))
    }

    /// The entries `from..` as the bytes of an index file.
    pub(crate) fn encode_from(&self, from: u32) -> Vec<u8> {
        (from..self.count()).filter_map(|slot| self.entry(slot)).flat_map(encode).collect()
    }
}

fn place(slot: u32) -> Option<(usize, usize)> {
    let shifted = slot.checked_add(FIRST_BUCKET)?;
    let bucket = shifted.ilog2() - FIRST_BUCKET.ilog2();
    let place = shifted - (FIRST_BUCKET << bucket);
    Some((usize::try_from(bucket).ok()?, usize::try_from(place).ok()?))
}

impl Entries for TailIndex {
    fn count(&self) -> u32 {
        self.len.load(Ordering::Acquire)
    }

    fn entry(&self, slot: u32) -> Option<Entry> {
        if slot >= self.count() {
            return None;
        }
        let (bucket, place) = place(slot)?;
        let bits = self.buckets.get(bucket)?.get()?.get(place)?.load(Ordering::Relaxed);
        Some(Entry::unpacked(bits))
    }
}

/// The bytes of an index file, already checked by [`FileIndex::parse`].
#[derive(Clone, Debug)]
pub(crate) struct FileIndex {
    bytes: Bytes,
}

impl FileIndex {
    /// Takes the valid entries of a file: ascending, inside a segment of `log_size` bytes. Zeros at the end (Kafka
    /// grows the active index ahead) are not entries. `None` when the file contradicts itself before its zero tail.
    pub(crate) fn parse(bytes: Bytes, log_size: u64) -> Option<FileIndex> {
        let mut valid = 0;
        let mut last: Option<Entry> = None;
        for chunk in bytes.chunks(ENTRY_SIZE) {
            let zeros = chunk.iter().all(|byte| *byte == 0);
            let entry = match decode(chunk) {
                Some(entry) if !zeros => entry,
                _ => break,
            };
            let ascending =
                last.is_none_or(|last| last.relative < entry.relative && last.position < entry.position);
            if !ascending || u64::from(entry.position) >= log_size {
                return None;
            }
            last = Some(entry);
            valid += ENTRY_SIZE;
        }
        let tail_is_zero = bytes.get(valid..)?.iter().all(|byte| *byte == 0);
        tail_is_zero.then(|| FileIndex { bytes: bytes.slice(..valid) })
    }

    /// The entries, first to last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Entry> + '_ {
        self.bytes.chunks_exact(ENTRY_SIZE).filter_map(decode)
    }

    /// Memory it takes.
    pub(crate) fn size(&self) -> usize {
        self.bytes.len()
    }
}

impl Entries for FileIndex {
    fn count(&self) -> u32 {
        u32::try_from(self.bytes.len() / ENTRY_SIZE).unwrap_or(u32::MAX)
    }

    fn entry(&self, slot: u32) -> Option<Entry> {
        let start = usize::try_from(slot).ok()?.checked_mul(ENTRY_SIZE)?;
        decode(self.bytes.get(start..start.checked_add(ENTRY_SIZE)?)?)
    }
}

fn decode(chunk: &[u8]) -> Option<Entry> {
    let entry = Entry::unpacked(u64::from_be_bytes(chunk.try_into().ok()?));
    let fits = entry.relative <= i32::MAX.unsigned_abs() && entry.position <= i32::MAX.unsigned_abs();
    fits.then_some(entry)
}

/// An entry as it stands in the file.
pub(crate) fn encode(entry: Entry) -> [u8; ENTRY_SIZE] {
    entry.packed().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::prop_assert_eq;
    use proptest::proptest;

    fn entry(relative: u32, position: u32) -> Entry {
        Entry { relative, position }
    }

    #[test]
    fn an_entry_is_two_big_endian_numbers() {
        assert_eq!(encode(entry(1, 0x0203)), [0, 0, 0, 1, 0, 0, 2, 3]);
        assert_eq!(decode(&[0, 0, 0, 1, 0, 0, 2, 3]), Some(entry(1, 0x0203)));
    }

    #[test]
    fn floor_finds_the_entry_to_scan_from() {
        let index = TailIndex::with([entry(9, 100), entry(19, 200), entry(29, 300)]);
        assert_eq!(index.floor(8), None);
        assert_eq!(index.floor(9), Some(entry(9, 100)));
        assert_eq!(index.floor(28), Some(entry(19, 200)));
        assert_eq!(index.floor(1000), Some(entry(29, 300)));
        assert_eq!(index.floor_position(299), Some(entry(19, 200)));
    }

    #[test]
    fn kafkas_zeros_ahead_are_not_entries_and_nonsense_is_refused() {
        let mut bytes = encode(entry(9, 100)).to_vec();
        bytes.extend([0; 24]);
        let index = FileIndex::parse(Bytes::from(bytes.clone()), 1000).unwrap();
        assert_eq!(index.iter().collect::<Vec<_>>(), vec![entry(9, 100)]);
        bytes.extend([0; 3]);
        assert!(FileIndex::parse(Bytes::from(bytes.clone()), 1000).is_some(), "a torn zero tail is no entry");
        assert!(FileIndex::parse(Bytes::from(bytes.clone()), 100).is_none(), "position beyond the log");
        bytes.extend(encode(entry(10, 200)));
        assert!(FileIndex::parse(Bytes::from(bytes), 1000).is_none(), "an entry after zeros");
        let twice: Vec<u8> = [entry(9, 100), entry(9, 200)].into_iter().flat_map(encode).collect();
        assert!(FileIndex::parse(Bytes::from(twice), 1000).is_none(), "offsets must ascend");
    }

    proptest! {
        #[test]
        fn tail_and_file_agree_with_a_plain_list(
            steps in proptest::collection::vec((1u32..50, 1u32..5000), 0..400),
            keep in 0u32..400,
            probe in 0u32..20_000,
        ) {
            let mut model = Vec::new();
            let (mut relative, mut position) = (0, 0);
            let index = TailIndex::new();
            for (offsets, bytes) in steps {
                relative += offsets;
                position += bytes;
                model.push(entry(relative, position));
                index.push(entry(relative, position));
            }
            index.shorten(keep);
            model.truncate(usize::try_from(keep).unwrap());
            let expect = model.iter().rfind(|entry| entry.relative <= probe).copied();
            prop_assert_eq!(index.floor(probe), expect);
            let file = FileIndex::parse(Bytes::from(index.encode_from(0)), u64::MAX).unwrap();
            prop_assert_eq!(file.floor(probe), expect);
            prop_assert_eq!(file.iter().collect::<Vec<_>>(), model);
        }
    }
}
