//! Record batches: built for sending, walked when received.

use std::ops::Range;

use crate::args::Result;
use crate::bytes::{In, Out};

const HEAD: usize = 61;
const CHECKED_FROM: usize = 21;
const TRANSACTIONAL: i16 = 1 << 4;

/// One record to send.
pub struct Row<'a> {
    pub key: Option<&'a [u8]>,
    pub value: &'a [u8],
}

/// Who writes a batch.
#[derive(Clone, Copy)]
pub struct Producer {
    pub id: i64,
    pub epoch: i16,
    /// Of the batch's first record.
    pub sequence: i32,
}

/// A batch of magic 2 without compression and without a producer id.
pub fn build(timestamp_ms: i64, rows: &[Row<'_>]) -> Vec<u8> {
    build_for(timestamp_ms, rows, None)
}

/// A batch of a transaction.
pub fn transactional(records: usize, bytes: usize, producer: &Producer) -> Vec<u8> {
    let value = noise(bytes);
    let rows: Vec<Row<'_>> = (0..records).map(|_| Row { key: None, value: &value }).collect();
    build_for(crate::clock::unix_ms(), &rows, Some(producer))
}

fn build_for(timestamp_ms: i64, rows: &[Row<'_>], producer: Option<&Producer>) -> Vec<u8> {
    let mut out = Out(Vec::with_capacity(HEAD + rows.iter().map(|row| row.value.len() + 32).sum::<usize>()));
    let last = rows.len() as i32 - 1;
    out.i64(0);
    out.i32(0);
    out.i32(-1);
    out.i8(2);
    out.i32(0);
    out.i16(if producer.is_some() { TRANSACTIONAL } else { 0 });
    out.i32(last);
    out.i64(timestamp_ms);
    out.i64(timestamp_ms);
    out.i64(producer.map_or(-1, |producer| producer.id));
    out.i16(producer.map_or(-1, |producer| producer.epoch));
    out.i32(producer.map_or(-1, |producer| producer.sequence));
    out.i32(rows.len() as i32);
    let mut body = Out::default();
    for (delta, row) in rows.iter().enumerate() {
        body.0.clear();
        body.i8(0);
        body.varint(0);
        body.varint(delta as i64);
        match row.key {
            Some(key) => {
                body.varint(key.len() as i64);
                body.0.extend_from_slice(key);
            }
            None => body.varint(-1),
        }
        body.varint(row.value.len() as i64);
        body.0.extend_from_slice(row.value);
        body.varint(0);
        out.varint(body.0.len() as i64);
        out.0.extend_from_slice(&body.0);
    }
    let length = out.0.len() as i32 - 12;
    out.0[8..12].copy_from_slice(&length.to_be_bytes());
    let sum = crc32c::crc32c(&out.0[CHECKED_FROM..]);
    out.0[CHECKED_FROM - 4..CHECKED_FROM].copy_from_slice(&sum.to_be_bytes());
    out.0
}

/// A batch of equal records whose values do not compress to nothing; with `keyed` each has a key, too.
pub fn plain(records: usize, bytes: usize, keyed: bool) -> Vec<u8> {
    let value = noise(bytes);
    let key = keyed.then_some(&KEY[..]);
    let rows: Vec<Row<'_>> = (0..records).map(|_| Row { key, value: &value }).collect();
    build(crate::clock::unix_ms(), &rows)
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect()
}

/// The key that `plain` gives to records, to be found again.
const KEY: &[u8; 16] = b"\xf5key to replace\xf5";

/// The batch of a Produce frame whose records get other keys before each sending.
pub struct Keyed {
    pub frame: Vec<u8>,
    batch: Range<usize>,
    places: Vec<usize>,
    keys: u64,
    state: u64,
}

impl Keyed {
    /// `batch` was built by `plain` with keys and stands in `frame`.
    pub fn new(frame: Vec<u8>, batch: &[u8], keys: u64) -> Result<Self> {
        let start =
            frame.windows(batch.len()).position(|part| part == batch).ok_or("the frame has another batch")?;
        let batch = start..start + batch.len();
        let places =
            frame.windows(KEY.len()).enumerate().filter(|(_, part)| part == KEY).map(|(at, _)| at).collect();
        Ok(Self { frame, batch, places, keys, state: 0x9e37_79b9_7f4a_7c15 })
    }

    /// Gives each record one of the keys by chance.
    pub fn change(&mut self) {
        for at in &self.places {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            let key = format!("{:016x}", self.state % self.keys);
            self.frame[*at..at + KEY.len()].copy_from_slice(key.as_bytes());
        }
        let batch = &mut self.frame[self.batch.clone()];
        let sum = crc32c::crc32c(&batch[CHECKED_FROM..]);
        batch[CHECKED_FROM - 4..CHECKED_FROM].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The whole batches at the front of `records`, as (first offset, offset after the last, bytes).
pub fn walk(records: &[u8]) -> impl Iterator<Item = (i64, i64, &[u8])> {
    let mut rest = records;
    std::iter::from_fn(move || {
        let mut head = In(rest);
        let base = head.i64().ok()?;
        let size = head.i32().ok()? as usize + 12;
        let (batch, tail) = rest.split_at_checked(size)?;
        let delta = i32::from_be_bytes(batch.get(23..27)?.try_into().ok()?);
        rest = tail;
        Some((base, base + i64::from(delta) + 1, batch))
    })
}

/// Calls `each` with the value of every record of an uncompressed batch.
pub fn values(batch: &[u8], mut each: impl FnMut(&[u8])) -> Result<()> {
    let mut rest = In(batch.get(HEAD..).ok_or("a batch without a head")?);
    while !rest.0.is_empty() {
        let size = rest.varint()? as usize;
        let mut record = In(rest.take(size)?);
        record.i8()?;
        record.varint()?;
        record.varint()?;
        let key = record.varint()?.max(0) as usize;
        record.take(key)?;
        let value = record.varint()?.max(0) as usize;
        each(record.take(value)?);
    }
    Ok(())
}
