//! The sparse index from timestamps to offsets (class `TimeIndex`).
//!
//! ```text
//! entry (12 bytes, big endian): [ largest timestamp so far: i64 ][ its batch's last offset - base offset: i32 ]
//! ```

use crate::base::Timestamp;

/// Bytes of an entry.
pub(crate) const ENTRY_SIZE: usize = 12;

/// One entry: up to here no timestamp is larger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The largest timestamp so far, in milliseconds.
    pub(crate) timestamp: Timestamp,
    /// The last offset of the batch that brought it, relative to the segment's base.
    pub(crate) relative: u32,
}

/// The entries of one segment, in memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct TimeIndex {
    entries: Vec<Entry>,
}

impl TimeIndex {
    /// Adds an entry where Kafka does (`TimeIndex.maybeAppend`): only for a timestamp above the last one, and never
    /// one whose offset goes back. Whether it was added.
    pub(crate) fn maybe_append(&mut self, entry: Entry) -> bool {
        let last = self.last();
        let later = entry.timestamp > last.map_or(Timestamp::NONE, |last| last.timestamp);
        let onward = last.is_none_or(|last| entry.relative >= last.relative);
        if later && onward {
            self.entries.push(entry);
        }
        later && onward
    }

    /// The last entry.
    pub(crate) fn last(&self) -> Option<Entry> {
        self.entries.last().copied()
    }

    /// The last entry at or before a timestamp: every record before it is older.
    pub(crate) fn floor(&self, timestamp: Timestamp) -> Option<Entry> {
        let above = self.entries.partition_point(|entry| entry.timestamp <= timestamp);
        self.entries.get(above.checked_sub(1)?).copied()
    }

    /// How many entries there are.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Forgets entries for offsets at or above `relative`.
    pub(crate) fn truncate_to(&mut self, relative: u32) {
        let keep = self.entries.partition_point(|entry| entry.relative < relative);
        self.entries.truncate(keep);
    }

    /// The entries from `from` on as the bytes of a file.
    pub(crate) fn encode_from(&self, from: usize) -> Vec<u8> {
        let entries = self.entries.get(from..).unwrap_or_default();
        entries.iter().flat_map(|entry| encode(*entry)).collect()
    }

    /// Reads a file. Zeros at the end are not entries; `None` when the entries do not ascend.
    pub(crate) fn parse(bytes: &[u8]) -> Option<TimeIndex> {
        let mut index = TimeIndex::default();
        let mut valid = 0;
        for chunk in bytes.chunks_exact(ENTRY_SIZE) {
            if chunk.iter().all(|byte| *byte == 0) {
                break;
            }
            if !index.maybe_append(decode(chunk)?) {
                return None;
            }
            valid += ENTRY_SIZE;
        }
        let tail_is_zero = bytes.get(valid..)?.iter().all(|byte| *byte == 0);
        tail_is_zero.then_some(index)
    }
}

/// An entry as it stands in the file.
pub(crate) fn encode(entry: Entry) -> [u8; ENTRY_SIZE] {
    let mut bytes = [0; ENTRY_SIZE];
    let (timestamp, relative) = bytes.split_at_mut(8);
    timestamp.copy_from_slice(&entry.timestamp.0.to_be_bytes());
    relative.copy_from_slice(&entry.relative.to_be_bytes());
    bytes
}

/// Reads one entry; `None` when it is not 12 bytes or its offset is negative.
pub(crate) fn decode(chunk: &[u8]) -> Option<Entry> {
    let timestamp = i64::from_be_bytes(chunk.get(..8)?.try_into().ok()?);
    let relative = i32::from_be_bytes(chunk.get(8..ENTRY_SIZE)?.try_into().ok()?);
    Some(Entry { timestamp: Timestamp(timestamp), relative: u32::try_from(relative).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(timestamp: i64, relative: u32) -> Entry {
        Entry { timestamp: Timestamp(timestamp), relative }
    }

    #[test]
    fn only_larger_timestamps_are_entered() {
        let mut index = TimeIndex::default();
        assert!(index.maybe_append(entry(100, 5)));
        assert!(!index.maybe_append(entry(100, 9)), "the same timestamp again");
        assert!(!index.maybe_append(entry(90, 12)), "an older timestamp");
        assert!(index.maybe_append(entry(120, 15)));
        assert_eq!(index.len(), 2);
        assert_eq!(index.floor(Timestamp(119)), Some(entry(100, 5)));
        assert_eq!(index.floor(Timestamp(99)), None);
        index.truncate_to(15);
        assert_eq!(index.last(), Some(entry(100, 5)));
    }

    #[test]
    fn the_file_is_twelve_bytes_an_entry() {
        let mut index = TimeIndex::default();
        index.maybe_append(entry(0x0102, 3));
        let mut bytes = index.encode_from(0);
        assert_eq!(bytes, [0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 3]);
        bytes.extend([0; 30]);
        assert_eq!(TimeIndex::parse(&bytes).unwrap().last(), Some(entry(0x0102, 3)));
        bytes.extend(encode(entry(0x0103, 9)));
        assert!(TimeIndex::parse(&bytes).is_none(), "an entry after zeros");
    }
}
