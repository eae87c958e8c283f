//! Decompressors: bytes of any codec, with a limit on what comes out.

use super::Input;
use bytes::Bytes;
use dohle::record::Codec;
use dohle::record::codec::DEFAULT_LEVEL;
use dohle::record::codec::Error;
use dohle::record::compress;
use dohle::record::decompress;

pub(super) fn codecs(input: &mut Input<'_>) {
    let choice = input.u8();
    let codec = Codec::ALL[usize::from(choice & 0x7f) % Codec::ALL.len()];
    // At most 64 KiB may come out: with the working memory of a codec, less than the budget's slack.
    let max = usize::from(input.u16());
    let bytes = input.body();
    input.allow(block_memory(&bytes));
    if choice & 0x80 != 0 {
        return round_trip(codec, &bytes);
    }
    match decompress(codec, &bytes, max) {
        Ok(out) => assert!(out.len() <= max, "more than the limit came out"),
        Err(Error::TooLarge { max: told }) => assert_eq!(told, max),
        Err(Error::Corrupt { .. }) => {}
    }
}

/// What was compressed here opens to the same, fits exactly, and cut short it is refused.
fn round_trip(codec: Codec, bytes: &Bytes) {
    let plain = &bytes[..bytes.len().min(usize::from(u16::MAX))];
    let packed = compress(codec, DEFAULT_LEVEL, plain);
    assert_eq!(decompress(codec, &packed, plain.len()).expect("our own"), plain);
    if let Some(less) = plain.len().checked_sub(1) {
        assert!(matches!(decompress(codec, &packed, less), Err(Error::TooLarge { .. })));
    }
}

/// What a decoder of blocks takes for one block and its history: as much as these bytes could reach, 4 MiB at most
/// (LZ4 makes 255 bytes of one).
pub(super) fn block_memory(bytes: &[u8]) -> usize {
    3 * (bytes.len() * 255).min(4 * 1024 * 1024)
}
