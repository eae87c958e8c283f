//! LZ4 frames, written and read.
//!
//! ```text
//! 0        4       5            6
//! +--------+-------+------------+------------------------+------------------+----------+-----------+-----
//! | magic  | flags | descriptor | content size (8), if   | header checksum  | size     | block     | ...
//! |        |       |            | flag 8; id (4), flag 1 | (1)              | (4)      |           |
//! +--------+-------+------------+------------------------+------------------+----------+-----------+-----
//! ```
//! Bits 4 to 6 of the descriptor claim how large a block may become: 4 is 64 KiB, each further one four times that.
//! A decoder takes memory for the claim, so a larger one than the bytes could reach is lowered first. Other frames
//! (the legacy one, those to be skipped) are refused as Kafka refuses them (`Lz4BlockInputStream`).

use crate::record::codec::Codec;
use crate::record::codec::Error;
use crate::record::codec::read_limited;
use bytes::Bytes;
use lz4_flex::frame::BlockMode;
use lz4_flex::frame::BlockSize;
use lz4_flex::frame::FrameDecoder;
use lz4_flex::frame::FrameEncoder;
use lz4_flex::frame::FrameInfo;
use std::io;
use std::io::Read;
use std::io::Write;
use twox_hash::XxHash32;

const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const FLAGS: usize = 4;
const DESCRIPTOR: usize = 5;
/// Where the header ends when no flag adds to it, the checksum not counted.
const HEADER_SIZE: usize = 6;
const CONTENT_SIZE_FLAG: u8 = 8;
const DICTIONARY_FLAG: u8 = 1;
/// One byte of a block becomes no more bytes than this.
const RATIO_MAX: usize = 255;

/// One frame of independent 64 KiB blocks without checksums of blocks: Java's reader takes no other block mode.
pub(super) fn compress(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(BlockMode::Independent);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes)?;
    encoder.finish().map_err(io::Error::other)
}

/// Opens one frame. The decoder takes an end of input before the frame's end mark for the end of the frame, so the
/// input is watched: a good frame never asks for more than is there.
pub(super) fn decompress(bytes: &[u8], max: usize) -> Result<Bytes, Error> {
    let (header, rest) = header(bytes)?;
    let mut decoder = FrameDecoder::new(Watched { header: &header, rest, starved: false });
    let out = read_limited(Codec::Lz4, &mut decoder, max)?;
    if decoder.get_ref().starved {
        return Err(corrupt("frame is cut off"));
    }
    Ok(out)
}

/// The frame's header with a claim that the bytes can reach, and what follows it.
fn header(bytes: &[u8]) -> Result<(Vec<u8>, &[u8]), Error> {
    let cut_off = || corrupt("frame is cut off");
    let flags = *bytes.get(FLAGS).ok_or_else(cut_off)?;
    if !bytes.starts_with(&MAGIC) {
        return Err(corrupt("not an LZ4 frame"));
    }
    let content_size = if flags & CONTENT_SIZE_FLAG == 0 { 0 } else { 8 };
    let dictionary = if flags & DICTIONARY_FLAG == 0 { 0 } else { 4 };
    let (header, rest) =
        bytes.split_at_checked(HEADER_SIZE + content_size + dictionary).ok_or_else(cut_off)?;
    let (checksum_sent, rest) = rest.split_first().ok_or_else(cut_off)?;
    if *checksum_sent != checksum(header) {
        return Err(corrupt("header checksum does not match"));
    }
    let mut header = header.to_vec();
    if let Some(descriptor) = header.get_mut(DESCRIPTOR) {
        let reach = rest.len().saturating_mul(RATIO_MAX);
        let enough = [4, 5, 6].into_iter().find(|claim| block_size(*claim) >= reach).unwrap_or(7);
        let claim = *descriptor >> 4 & 7;
        *descriptor = *descriptor & 0x8f | claim.min(enough) << 4;
    }
    header.push(checksum(&header));
    Ok((header, rest))
}

/// The bytes that a block with this claim may have.
fn block_size(claim: u8) -> usize {
    (64 * 1024) << (2 * (usize::from(claim) - 4))
}

/// The checksum of a header: flags, descriptor and what they add.
fn checksum(header: &[u8]) -> u8 {
    let [_, _, second, _] = XxHash32::oneshot(0, header.get(FLAGS..).unwrap_or_default()).to_be_bytes();
    second
}

/// A frame that remembers whether more of it was asked for than there is.
struct Watched<'a> {
    header: &'a [u8],
    rest: &'a [u8],
    starved: bool,
}

impl Read for Watched<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let of_header = self.header.read(buf)?;
        let of_rest = self.rest.read(buf.get_mut(of_header..).unwrap_or_default())?;
        self.starved |= of_header + of_rest < buf.len();
        Ok(of_header + of_rest)
    }
}

fn corrupt(reason: &str) -> Error {
    Error::Corrupt { codec: Codec::Lz4, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame whose header claims blocks of this size.
    fn claiming(size: BlockSize, content: &[u8]) -> Vec<u8> {
        let info = FrameInfo::new().block_size(size).content_size(Some(content.len() as u64));
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_claim_that_the_bytes_cannot_reach_is_lowered_and_the_content_stays() {
        let claim = |frame: &[u8]| header(frame).unwrap().0[DESCRIPTOR] >> 4;
        for content in [&b""[..], b"short", &[7; 3_000_000], &[1, 2, 3].repeat(50_000)] {
            for size in [BlockSize::Max64KB, BlockSize::Max1MB, BlockSize::Max4MB] {
                let frame = claiming(size, content);
                assert!(claim(&frame) <= frame[DESCRIPTOR] >> 4);
                assert_eq!(decompress(&frame, content.len()).unwrap(), content);
            }
        }
        assert_eq!(claim(&claiming(BlockSize::Max4MB, b"short")), 4);
        assert_eq!(claim(&claiming(BlockSize::Max4MB, &[7; 3_000_000])), 7);
    }

    #[test]
    fn frames_of_other_kinds_and_changed_headers_are_refused() {
        let frame = claiming(BlockSize::Max4MB, b"content");
        for place in 0..HEADER_SIZE + 9 {
            let mut changed = frame.clone();
            changed[place] ^= 0x10;
            assert!(decompress(&changed, 100).is_err(), "byte {place}");
        }
        for cut in 0..frame.len() {
            assert!(decompress(&frame[..cut], 100).is_err(), "{cut} bytes");
        }
        // The legacy frame: its blocks would have 8 MiB.
        let legacy = [0x02, 0x21, 0x4c, 0x18, 1, 0, 0, 0, 0];
        assert!(decompress(&legacy, 100).unwrap_err().to_string().contains("not an LZ4 frame"));
    }
}
