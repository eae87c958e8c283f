//! The two framings of Snappy that clients use: one raw block, and Java's stream of blocks.
//!
//! ```text
//! 0        8          12         16
//! +--------+----------+----------+--------+-----------+--------+-----
//! | magic  | version  | readable | size   | raw block | size   | ...
//! | 8 bytes| 1 (i32)  | since 1  | (i32)  |           |        |
//! +--------+----------+----------+--------+-----------+--------+-----
//! ```
//! Numbers are big-endian when we write; some writers have them little-endian or otherwise, so on reading only the magic counts.
//! Streams may be glued together: another magic may stand where a size is due.

use crate::record::codec::Codec;
use crate::record::codec::Error;
use bytes::Bytes;

/// How Java's stream begins.
const MAGIC: [u8; 8] = [0x82, b'S', b'N', b'A', b'P', b'P', b'Y', 0];
/// Magic and the two version words.
const STREAM_HEADER_SIZE: usize = 16;
/// The version and the oldest version that can read it, both 1.
const VERSIONS: [u8; 8] = [0, 0, 0, 1, 0, 0, 0, 1];
/// Uncompressed bytes of one block, as Java's writer cuts them.
const BLOCK_SIZE: usize = 32 * 1024;
/// No raw block grows further than this: three bytes can copy 64.
const RATIO_MAX: usize = 22;

pub(super) fn decompress(bytes: &[u8], max: usize) -> Result<Bytes, Error> {
    let mut out = Vec::new();
    if !bytes.starts_with(&MAGIC) {
        block(bytes, &mut out, max)?;
        return Ok(Bytes::from(out));
    }
    let mut rest = bytes;
    while !rest.is_empty() {
        if rest.starts_with(&MAGIC) {
            rest = rest.get(STREAM_HEADER_SIZE..).ok_or_else(|| corrupt("stream header is cut off"))?;
            continue;
        }
        let (size, behind) = rest.split_first_chunk().ok_or_else(|| corrupt("block size is cut off"))?;
        let size = usize::try_from(i32::from_be_bytes(*size)).map_err(|_| corrupt("negative block size"))?;
        let (compressed, behind) =
            behind.split_at_checked(size).ok_or_else(|| corrupt("block is cut off"))?;
        block(compressed, &mut out, max)?;
        rest = behind;
    }
    Ok(Bytes::from(out))
}

/// Opens one raw block behind what is in `out`.
fn block(compressed: &[u8], out: &mut Vec<u8>, max: usize) -> Result<(), Error> {
    let size = snap::raw::decompress_len(compressed).map_err(|error| corrupt(&error.to_string()))?;
    if size > compressed.len().saturating_mul(RATIO_MAX) {
        return Err(corrupt("block claims more than it can hold"));
    }
    let start = out.len();
    let end = start.checked_add(size).filter(|end| *end <= max).ok_or(Error::TooLarge { max })?;
    out.resize(end, 0);
    let target = out.get_mut(start..).unwrap_or_default();
    snap::raw::Decoder::new().decompress(compressed, target).map_err(|error| corrupt(&error.to_string()))?;
    Ok(())
}

pub(super) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut out =
        Vec::with_capacity(STREAM_HEADER_SIZE + snap::raw::max_compress_len(bytes.len().min(BLOCK_SIZE)));
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSIONS);
    let mut encoder = snap::raw::Encoder::new();
    for block in bytes.chunks(BLOCK_SIZE) {
        let compressed = encoder.compress_vec(block).expect("a block of 32 KiB fits a raw block");
        let size = i32::try_from(compressed.len()).expect("a block of 32 KiB stays small");
        out.extend_from_slice(&size.to_be_bytes());
        out.extend_from_slice(&compressed);
    }
    out
}

fn corrupt(reason: &str) -> Error {
    Error::Corrupt { codec: Codec::Snappy, reason: reason.to_owned() }
}
