//! Producer state in a file: `<offset>.snapshot` (schema `ProducerSnapshot`, version 1).
//!
//! ```text
//! [ version: i16 = 1 ][ CRC-32C of all that follows: u32 ][ count: i32 ]
//! then, for each producer (46 bytes, big endian):
//! [ id: i64 ][ epoch: i16 ][ last sequence: i32 ][ last offset: i64 ][ offset delta: i32 ]
//! [ timestamp: i64 ][ coordinator epoch: i32 ][ first offset of the open transaction: i64, -1 if none ]
//! ```
//!
//! Kafka writes only the last batch of a producer, so that after a start it takes a batch that is sent again, and is
//! not the last one, for out of order. Here each remembered batch has an entry of its own, oldest first. Kafka reads
//! such a file: the last entry of a producer counts.

use crate::base::Offset;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::log::producers::Batch;
use crate::log::producers::NO_SEQUENCE;
use crate::log::producers::Producers;
use crate::log::producers::State;
use crc_fast::CrcAlgorithm;
use std::collections::VecDeque;

const VERSION: i16 = 1;
const HEAD_SIZE: usize = 6;
const ENTRY_SIZE: usize = 46;
/// A snapshot larger than this is refused: 20 million producers.
pub(crate) const SIZE_MAX: u64 = 1 << 30;

/// The file's bytes.
pub(crate) fn encode(producers: &Producers) -> Vec<u8> {
    let mut body = vec![0; 4];
    let mut count: i32 = 0;
    let mut states: Vec<(ProducerId, &State)> = producers.states().collect();
    states.sort_by_key(|(id, _)| *id);
    for (id, state) in states {
        let earlier = state.batches.len().saturating_sub(1);
        for batch in state.batches.iter().take(earlier) {
            let timestamp = batch.timestamp.min(state.last_timestamp);
            encode_entry(&mut body, id, state, (Some(batch), timestamp, None));
        }
        let last = (state.batches.back(), state.last_timestamp, state.transaction_start);
        encode_entry(&mut body, id, state, last);
        count = count.saturating_add(i32::try_from(earlier).unwrap_or(0)).saturating_add(1);
    }
    if let Some(place) = body.first_chunk_mut::<4>() {
        *place = count.to_be_bytes();
    }
    let mut bytes = Vec::with_capacity(HEAD_SIZE + body.len());
    bytes.extend(VERSION.to_be_bytes());
    bytes.extend(crc32c(&body).to_be_bytes());
    bytes.extend(body);
    bytes
}

fn encode_entry(
    body: &mut Vec<u8>,
    id: ProducerId,
    state: &State,
    (batch, timestamp, transaction_start): (Option<&Batch>, Timestamp, Option<Offset>),
) {
    body.extend(id.0.to_be_bytes());
    body.extend(state.epoch.to_be_bytes());
    body.extend(batch.map_or(NO_SEQUENCE, |batch| batch.last_sequence).to_be_bytes());
    body.extend(batch.map_or(-1, |batch| batch.last_offset.0).to_be_bytes());
    body.extend(batch.map_or(0, |batch| batch.offset_delta).to_be_bytes());
    body.extend(timestamp.0.to_be_bytes());
    body.extend(state.coordinator_epoch.to_be_bytes());
    body.extend(transaction_start.map_or(-1, |start| start.0).to_be_bytes());
}

/// Reads a file; what is wrong with it otherwise.
pub(crate) fn decode(bytes: &[u8]) -> Result<Producers, &'static str> {
    let version = bytes.first_chunk::<2>().map(|version| i16::from_be_bytes(*version));
    if version != Some(VERSION) {
        return Err("unknown version");
    }
    let stored = bytes.get(2..HEAD_SIZE).and_then(|crc| crc.try_into().ok()).map(u32::from_be_bytes);
    let body = bytes.get(HEAD_SIZE..).ok_or("too short")?;
    if stored != Some(crc32c(body)) {
        return Err("checksum does not match");
    }
    let (count, entries) = body.split_first_chunk::<4>().ok_or("too short")?;
    let count = usize::try_from(i32::from_be_bytes(*count)).map_err(|_| "negative count")?;
    if count.checked_mul(ENTRY_SIZE) != Some(entries.len()) {
        return Err("length does not match the count");
    }
    let mut producers = Producers::default();
    for entry in entries.chunks_exact(ENTRY_SIZE) {
        let (id, state) = decode_entry(entry).ok_or("entry out of range")?;
        producers.restore(id, state);
    }
    if producers.restored() { Ok(producers) } else { Err("two transactions begin at one offset") }
}

fn decode_entry(entry: &[u8]) -> Option<(ProducerId, State)> {
    let long = |at: usize| -> Option<i64> {
        Some(i64::from_be_bytes(entry.get(at..at.checked_add(8)?)?.try_into().ok()?))
    };
    let int = |at: usize| -> Option<i32> {
        Some(i32::from_be_bytes(entry.get(at..at.checked_add(4)?)?.try_into().ok()?))
    };
    let last_offset = Offset(long(14)?);
    let timestamp = Timestamp(long(26)?);
    let offset_delta = int(22)?;
    let start = long(38)?;
    let mut batches = VecDeque::new();
    if last_offset >= Offset::ZERO {
        if offset_delta < 0 {
            return None;
        }
        batches.push_back(Batch { last_sequence: int(10)?, last_offset, offset_delta, timestamp });
    }
    let state = State {
        epoch: i16::from_be_bytes(entry.get(8..10)?.try_into().ok()?),
        coordinator_epoch: int(34)?,
        last_timestamp: timestamp,
        transaction_start: (start >= 0).then_some(Offset(start)),
        batches,
    };
    Some((ProducerId(long(0)?), state))
}

fn crc32c(bytes: &[u8]) -> u32 {
    let sum = crc_fast::checksum(CrcAlgorithm::Crc32Iscsi, bytes);
    u32::try_from(sum).expect("a 32-bit checksum fits 32 bits")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn producers() -> Producers {
        let mut producers = Producers::default();
        let batch = |last_sequence, last_offset| Batch {
            last_sequence,
            last_offset: Offset(last_offset),
            offset_delta: 4,
            timestamp: Timestamp(1234),
        };
        producers.restore(
            ProducerId(5),
            State {
                epoch: 3,
                coordinator_epoch: 2,
                last_timestamp: Timestamp(1234),
                transaction_start: Some(Offset(95)),
                batches: VecDeque::from([batch(4, 90), batch(9, 99)]),
            },
        );
        producers
    }

    #[test]
    fn a_snapshot_reads_back() {
        let bytes = encode(&producers());
        assert_eq!(bytes.len(), HEAD_SIZE + 4 + 2 * ENTRY_SIZE);
        assert_eq!(bytes.get(..2), Some(&[0, 1][..]));
        let read = decode(&bytes).unwrap();
        let all =
            |producers: &Producers| producers.states().map(|(_, state)| state.clone()).collect::<Vec<_>>();
        assert_eq!(all(&read), all(&producers()), "with both batches");
        assert_eq!(read.first_unstable(), Some(Offset(95)));
    }

    /// A file with these producers and starts of transactions.
    fn file(entries: &[(i64, i64)]) -> Vec<u8> {
        let mut body = i32::try_from(entries.len()).unwrap().to_be_bytes().to_vec();
        for (id, start) in entries {
            let state = State {
                epoch: 3,
                coordinator_epoch: 2,
                last_timestamp: Timestamp(1234),
                transaction_start: None,
                batches: VecDeque::new(),
            };
            encode_entry(&mut body, ProducerId(*id), &state, (None, Timestamp(1234), Some(Offset(*start))));
        }
        [&VERSION.to_be_bytes()[..], &crc32c(&body).to_be_bytes(), &body].concat()
    }

    #[test]
    fn only_the_last_entry_of_a_producer_says_where_its_transaction_began() {
        for (entries, expect) in [
            (&[(5, 10), (5, -1)][..], None),
            (&[(5, 10), (5, 20)][..], Some(Offset(20))),
            (&[(5, 10), (6, 10), (6, 30)][..], Some(Offset(10))),
        ] {
            let read = decode(&file(entries)).unwrap();
            assert_eq!(read.first_unstable(), expect, "{entries:?}");
            assert_eq!(decode(&encode(&read)).unwrap().first_unstable(), expect, "{entries:?}");
        }
        assert!(decode(&file(&[(5, 10), (6, 10)])).is_err(), "a batch has one producer");
    }

    #[test]
    fn every_flipped_bit_and_every_cut_is_noticed() {
        let good = encode(&producers());
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&bad).is_err(), "bit {bit}");
        }
        for len in 0..good.len() {
            assert!(decode(&good[..len]).is_err(), "cut at {len}");
        }
    }
}
