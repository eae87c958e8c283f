//! The list of aborted transactions of a segment (classes `TransactionIndex` and `AbortedTxn`).
//!
//! ```text
//! entry (34 bytes, big endian): [ version: i16 = 0 ][ producer id: i64 ][ first offset: i64 ]
//!                               [ last offset (the marker's): i64 ][ last stable offset after it: i64 ]
//! ```

use crate::base::Offset;
use crate::base::ProducerId;

/// Bytes of an entry.
pub(crate) const ENTRY_SIZE: usize = 34;
const VERSION: i16 = 0;

/// A transaction that was aborted: a reader of committed records skips its producer's records from `first` on, up
/// to the marker at `last`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AbortedTransaction {
    /// Whose transaction.
    pub producer: ProducerId,
    /// Its first offset in this partition.
    pub first: Offset,
    /// The offset of the abort marker (inclusive).
    pub last: Offset,
    /// The last stable offset when the marker was written.
    pub last_stable: Offset,
}

/// The entries as they stand in the file.
pub(crate) fn encode(entries: &[AbortedTransaction]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(entries.len() * ENTRY_SIZE);
    for entry in entries {
        bytes.extend(VERSION.to_be_bytes());
        for number in [entry.producer.0, entry.first.0, entry.last.0, entry.last_stable.0] {
            bytes.extend(number.to_be_bytes());
        }
    }
    bytes
}

/// Reads a file's entries; stops at the first that is torn, of another version, or out of order. The count of bytes
/// that were good comes with them.
pub(crate) fn parse(bytes: &[u8]) -> (Vec<AbortedTransaction>, usize) {
    let mut entries: Vec<AbortedTransaction> = Vec::new();
    for chunk in bytes.chunks_exact(ENTRY_SIZE) {
        let Some(entry) = decode(chunk) else { break };
        if entries.last().is_some_and(|last| last.last >= entry.last) {
            break;
        }
        entries.push(entry);
    }
    let good = entries.len() * ENTRY_SIZE;
    (entries, good)
}

fn decode(chunk: &[u8]) -> Option<AbortedTransaction> {
    let number = |at: usize| -> Option<i64> {
        Some(i64::from_be_bytes(chunk.get(at..at.checked_add(8)?)?.try_into().ok()?))
    };
    let version = i16::from_be_bytes(chunk.get(..2)?.try_into().ok()?);
    let entry = AbortedTransaction {
        producer: ProducerId(number(2)?),
        first: Offset(number(10)?),
        last: Offset(number(18)?),
        last_stable: Offset(number(26)?),
    };
    (version == VERSION && entry.first <= entry.last).then_some(entry)
}

/// Adds the transactions that touch `from..to`. Whether later segments need not be searched: an entry whose last
/// stable offset reaches `to` proves that no later one can touch the range.
pub(crate) fn collect(
    entries: &[AbortedTransaction],
    from: Offset,
    to: Offset,
    found: &mut Vec<AbortedTransaction>,
) -> bool {
    for entry in entries {
        if entry.last >= from && entry.first < to {
            found.push(*entry);
        }
        if entry.last_stable >= to {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn aborted(first: i64, last: i64, last_stable: i64) -> AbortedTransaction {
        AbortedTransaction {
            producer: ProducerId(7),
            first: Offset(first),
            last: Offset(last),
            last_stable: Offset(last_stable),
        }
    }

    #[test]
    fn entries_are_34_bytes_and_a_torn_one_is_left_out() {
        let entries = [aborted(1, 5, 6), aborted(3, 9, 10)];
        let mut bytes = encode(&entries);
        assert_eq!(bytes.len(), 68);
        assert_eq!(parse(&bytes), (entries.to_vec(), 68));
        bytes.truncate(60);
        assert_eq!(parse(&bytes), (vec![entries[0]], 34));
        bytes[1] = 1;
        assert_eq!(parse(&bytes), (vec![], 0), "another version");
    }

    #[test]
    fn a_range_gets_what_touches_it_and_stops_early() {
        let entries = [aborted(0, 5, 6), aborted(10, 20, 21), aborted(30, 40, 41)];
        let mut found = Vec::new();
        assert!(collect(&entries, Offset(5), Offset(15), &mut found));
        assert_eq!(found, vec![entries[0], entries[1]]);
        found.clear();
        assert!(!collect(&entries, Offset(41), Offset(50), &mut found));
        assert!(found.is_empty());
    }
}
