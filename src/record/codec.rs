//! Compression. Every way in has a limit on what comes out, and memory grows with bytes that are really there: a size
//! that a stream claims is believed only as far as its format could reach from the bytes it has.

use bytes::Bytes;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use std::io;
use std::io::Read;
use std::io::Write;
use thiserror::Error;

mod lz4;
mod snappy;

/// How the records of a batch are compressed (`CompressionType` of Kafka).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Codec {
    /// Not at all.
    None,
    /// gzip (RFC 1952).
    Gzip,
    /// Snappy: read in Java's block stream or as one raw block, written as Java's block stream.
    Snappy,
    /// LZ4 frames of independent blocks.
    Lz4,
    /// Zstandard (KIP-110).
    Zstd,
}

/// A codec number that means nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("unknown codec {0}")]
pub struct UnknownCodec(pub i16);

/// Why compressed bytes cannot be opened.
#[derive(Debug, Error)]
pub enum Error {
    /// They are not of that codec, damaged, or cut off.
    #[error("cannot decompress {codec:?}: {reason}")]
    Corrupt {
        /// The codec.
        codec: Codec,
        /// What its decoder says.
        reason: String,
    },
    /// More comes out than the caller takes.
    #[error("more than {max} bytes after decompression")]
    TooLarge {
        /// What the caller takes.
        max: usize,
    },
}

/// "The codec's own default" as a level; no codec has this one.
pub const DEFAULT_LEVEL: i32 = i32::MIN;

/// Kafka's default level of Zstandard.
const ZSTD_DEFAULT: i32 = 3;

/// What is kept in store at first for decompressed bytes; it grows as they come.
const FIRST_CAPACITY: usize = 64 * 1024;

impl Codec {
    /// All of them.
    pub const ALL: [Codec; 5] = [Codec::None, Codec::Gzip, Codec::Snappy, Codec::Lz4, Codec::Zstd];

    /// The codec of an attribute's lowest three bits.
    ///
    /// # Errors
    /// The number, when it is above 4.
    pub fn from_id(id: i16) -> Result<Codec, UnknownCodec> {
        match id {
            0 => Ok(Codec::None),
            1 => Ok(Codec::Gzip),
            2 => Ok(Codec::Snappy),
            3 => Ok(Codec::Lz4),
            4 => Ok(Codec::Zstd),
            unknown => Err(UnknownCodec(unknown)),
        }
    }

    /// Its number in the attributes.
    pub fn id(self) -> i16 {
        match self {
            Codec::None => 0,
            Codec::Gzip => 1,
            Codec::Snappy => 2,
            Codec::Lz4 => 3,
            Codec::Zstd => 4,
        }
    }

    /// Its name in configurations and tools.
    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
            Codec::Gzip => "gzip",
            Codec::Snappy => "snappy",
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
        }
    }
}

/// Opens `bytes`; at most `max` bytes come out.
///
/// # Errors
/// [`Error::TooLarge`] as soon as there would be more than `max`, [`Error::Corrupt`] when the codec's decoder says so.
pub fn decompress(codec: Codec, bytes: &[u8], max: usize) -> Result<Bytes, Error> {
    match codec {
        Codec::None if bytes.len() > max => Err(Error::TooLarge { max }),
        Codec::None => Ok(Bytes::copy_from_slice(bytes)),
        Codec::Gzip => read_limited(codec, MultiGzDecoder::new(bytes), max),
        Codec::Snappy => snappy::decompress(bytes, max),
        Codec::Lz4 => lz4::decompress(bytes, max),
        Codec::Zstd => {
            let decoder =
                zstd::stream::read::Decoder::with_buffer(bytes).map_err(|error| corrupt(codec, &error))?;
            read_limited(codec, decoder, max)
        }
    }
}

/// Compresses `bytes`. `level` is the codec's own or [`DEFAULT_LEVEL`]; it counts for gzip and Zstandard. Snappy has no
/// levels, and the LZ4 of this house has one speed (its output is read by every LZ4 decoder, whatever the level).
///
/// # Panics
/// When a compressor fails to write into memory, which happens only when there is none left.
pub fn compress(codec: Codec, level: i32, bytes: &[u8]) -> Bytes {
    let compressed = match codec {
        Codec::None => Ok(bytes.to_vec()),
        Codec::Gzip => gzip(level, bytes),
        Codec::Snappy => Ok(snappy::compress(bytes)),
        Codec::Lz4 => lz4::compress(bytes),
        Codec::Zstd if level == DEFAULT_LEVEL => zstd::stream::encode_all(bytes, ZSTD_DEFAULT),
        Codec::Zstd => zstd::stream::encode_all(bytes, level),
    };
    Bytes::from(compressed.expect("writing to memory does not fail"))
}

/// Level 1 to 9, anything else is zlib's default.
fn gzip(level: i32, bytes: &[u8]) -> io::Result<Vec<u8>> {
    let level = match u32::try_from(level) {
        Ok(level @ 1..=9) => flate2::Compression::new(level),
        _ => flate2::Compression::default(),
    };
    let mut encoder = GzEncoder::new(Vec::new(), level);
    encoder.write_all(bytes)?;
    encoder.finish()
}

/// Reads a decoder to its end, at most `max` bytes.
fn read_limited(codec: Codec, decoder: impl Read, max: usize) -> Result<Bytes, Error> {
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    let mut out = Vec::with_capacity(FIRST_CAPACITY.min(max));
    decoder.take(limit).read_to_end(&mut out).map_err(|error| corrupt(codec, &error))?;
    if out.len() > max {
        return Err(Error::TooLarge { max });
    }
    Ok(Bytes::from(out))
}

fn corrupt(codec: Codec, error: &dyn std::error::Error) -> Error {
    Error::Corrupt { codec, reason: error.to_string() }
}

#[cfg(test)]
mod tests;
