//! The answers that `floor` gives: what this program's own requests expect, and nothing else.

use crate::args::Result;
use crate::bytes::Out;

pub const PRODUCE: i16 = super::PRODUCE.0;
pub const FETCH: i16 = super::FETCH.0;
pub const LIST_OFFSETS: i16 = super::LIST_OFFSETS.0;

/// The API of a request without its length.
pub fn key(frame: &[u8]) -> i16 {
    frame.first_chunk().map_or(-1, |key| i16::from_be_bytes(*key))
}

/// Appends an answer that `write` makes.
fn answer(to: &mut Vec<u8>, write: impl FnOnce(&mut Out) -> Result<()>) -> Result<()> {
    let start = to.len();
    let mut out = Out(std::mem::take(to));
    out.i32(0);
    out.i32(7);
    out.no_tags();
    let outcome = write(&mut out);
    let size = (out.0.len() - start - 4) as i32;
    out.0[start..start + 4].copy_from_slice(&size.to_be_bytes());
    *to = out.0;
    outcome
}

fn topic(out: &mut Out) {
    out.count(1);
    out.text("floor");
    out.count(1);
    out.i32(0);
    out.i16(0);
}

pub fn produced(to: &mut Vec<u8>) {
    let written = answer(to, |out| {
        topic(out);
        (0..3).for_each(|_| out.i64(0));
        out.count(0);
        out.uvarint(0);
        out.no_tags();
        out.no_tags();
        out.i32(0);
        out.no_tags();
        Ok(())
    });
    debug_assert!(written.is_ok());
}

/// One batch of that size, which `read` puts into its room.
pub fn fetched(to: &mut Vec<u8>, size: usize, read: impl FnOnce(&mut [u8]) -> Result<()>) -> Result<()> {
    answer(to, |out| {
        out.i32(0);
        out.i16(0);
        out.i32(0);
        topic(out);
        (0..3).for_each(|_| out.i64(0));
        out.uvarint(0);
        out.i32(-1);
        out.count(size);
        let start = out.0.len();
        out.0.resize(start + size, 0);
        read(&mut out.0[start..])?;
        (0..3).for_each(|_| out.no_tags());
        Ok(())
    })
}

/// The log begins at 0 and ends behind one batch.
pub fn listed(to: &mut Vec<u8>, frame: &[u8], end: i64) {
    // The time that is asked for stands before three empty lists of tags.
    let at = frame.len().checked_sub(11).and_then(|from| frame[from..].first_chunk());
    let first = at.map(|at| i64::from_be_bytes(*at)) == Some(-2);
    let written = answer(to, |out| {
        out.i32(0);
        topic(out);
        out.i64(-1);
        out.i64(if first { 0 } else { end });
        out.i32(0);
        (0..3).for_each(|_| out.no_tags());
        Ok(())
    });
    debug_assert!(written.is_ok());
}
