//! Exactly one batch of format 2: what Kafka's reader of produced records sees in the bytes.

use crate::record::batch::Header;
use crate::record::check::Error;
use crate::record::layout;
use crate::record::layout::HEADER_SIZE;

/// The smallest length any format has; a lower one is damage (`ByteBufferLogInputStream`).
const LENGTH_MIN: i32 = 14;

/// The header of the only whole batch in `records`.
pub(super) fn only_batch(records: &[u8]) -> Result<Header, Error> {
    let size = next(records)?.ok_or(Error::NoBatch)?;
    let magic = magic(records);
    if magic != layout::MAGIC_V2 {
        return Err(Error::OldFormat(magic));
    }
    if next(records.get(size..).unwrap_or_default())?.is_some() {
        return Err(Error::SeveralBatches);
    }
    match Header::parse(records) {
        Some(header) if size >= HEADER_SIZE => Ok(header),
        _ => Err(Error::Damaged { length: length(records).unwrap_or_default(), magic }),
    }
}

/// Whether there is a whole batch at the start of `records`.
///
/// # Errors
/// [`Error::Damaged`] for a length or format that no batch has.
pub(super) fn first(records: &[u8]) -> Result<bool, Error> {
    next(records).map(|found| found.is_some())
}

/// The size of the whole batch of any format at the start of `bytes`; `None` when there is none or only a part of it.
fn next(bytes: &[u8]) -> Result<Option<usize>, Error> {
    let Some(length) = length(bytes) else {
        return Ok(None);
    };
    let magic = magic(bytes);
    let known = (0..=layout::MAGIC_V2).contains(&magic);
    let Some(size) = usize::try_from(length).ok().filter(|_| length >= LENGTH_MIN && known) else {
        return Err(Error::Damaged { length, magic });
    };
    let size = size.saturating_add(layout::LENGTH_END);
    Ok((bytes.len() >= size).then_some(size))
}

fn length(bytes: &[u8]) -> Option<i32> {
    let field = bytes.get(layout::LENGTH..layout::LENGTH_END)?;
    Some(i32::from_be_bytes(field.try_into().ok()?))
}

/// The format; 0 when the bytes end before it.
fn magic(bytes: &[u8]) -> i8 {
    bytes.get(layout::MAGIC).map_or(0, |byte| byte.cast_signed())
}
