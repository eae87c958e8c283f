//! Cutting a stream of bytes into frames: a four-byte length, then that many bytes.

use bytes::Buf;
use bytes::Bytes;
use bytes::BytesMut;

/// The smallest frame that can hold a request header: key, version, correlation id, length of the client id.
pub const FRAME_MIN: usize = 10;

/// Why the bytes of a connection are not the Kafka protocol. The connection is closed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A negative length, or one too small for a request header.
    #[error("frame of {0} bytes is too small for a request{hint}", hint = hint(*.0))]
    TooSmall(i32),
    /// A length above the limit.
    #[error("frame of {length} bytes is larger than the limit of {limit}{hint}", hint = hint(*.length))]
    TooLarge {
        /// The length that the frame claims.
        length: i32,
        /// The limit, `socket.request.max.bytes` or what holds before authentication.
        limit: usize,
    },
}

/// What the first bytes look like when they are another protocol's.
fn hint(length: i32) -> &'static str {
    match length.to_be_bytes() {
        [b'G', b'E', b'T', b' '] | [b'P', b'O', b'S', b'T'] | [b'P', b'U', b'T', b' '] => {
            " (looks like HTTP)"
        }
        [b'H', b'E', b'A', b'D'] | [b'O', b'P', b'T', b'I'] | [b'C', b'O', b'N', b'N'] => {
            " (looks like HTTP)"
        }
        [b'D', b'E', b'L', b'E'] | [b'P', b'A', b'T', b'C'] | [b'P', b'R', b'I', b' '] => {
            " (looks like HTTP)"
        }
        [0x16, 0x03, 0..=4, _] => " (looks like TLS)",
        [b'S', b'S', b'H', b'-'] => " (looks like SSH)",
        _ => "",
    }
}

/// Cuts the next whole frame off `buffer`, without its length; `None` when more bytes are needed. The frame shares
/// the buffer's memory.
///
/// # Errors
/// As soon as the length is there and no request can have it; nothing is reserved for it.
pub fn next(buffer: &mut BytesMut, limit: usize) -> Result<Option<Bytes>, Error> {
    let Some(length) = length(buffer, limit)? else { return Ok(None) };
    if buffer.len() < length.saturating_add(4) {
        return Ok(None);
    }
    buffer.advance(4);
    Ok(Some(buffer.split_to(length).freeze()))
}

/// How many bytes are still missing until the first frame of `buffer` is whole; at least one when there is none. A
/// reader reserves no more than this, and better less at a time: the length is only a claim.
///
/// # Errors
/// As [`next`].
pub fn missing(buffer: &[u8], limit: usize) -> Result<usize, Error> {
    match length(buffer, limit)? {
        Some(length) => Ok(length.saturating_add(4).saturating_sub(buffer.len())),
        None => Ok(4usize.saturating_sub(buffer.len())),
    }
}

fn length(buffer: &[u8], limit: usize) -> Result<Option<usize>, Error> {
    let Some(first) = buffer.first_chunk::<4>() else { return Ok(None) };
    let claimed = i32::from_be_bytes(*first);
    match usize::try_from(claimed) {
        Ok(length) if length > limit => Err(Error::TooLarge { length: claimed, limit }),
        Ok(length) if length >= FRAME_MIN => Ok(Some(length)),
        _ => Err(Error::TooSmall(claimed)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_cut_one_after_the_other() {
        let mut buffer = BytesMut::new();
        for size in [10u8, 12] {
            buffer.extend_from_slice(&u32::from(size).to_be_bytes());
            buffer.extend(std::iter::repeat_n(size, usize::from(size)));
        }
        buffer.extend_from_slice(&[0, 0]);
        assert_eq!(next(&mut buffer, 100), Ok(Some(Bytes::from(vec![10; 10]))));
        assert_eq!(next(&mut buffer, 100), Ok(Some(Bytes::from(vec![12; 12]))));
        assert_eq!(next(&mut buffer, 100), Ok(None));
        assert_eq!(missing(&buffer, 100), Ok(2));
        buffer.extend_from_slice(&[0, 50, 1]);
        assert_eq!(missing(&buffer, 100), Ok(49));
        assert_eq!(next(&mut buffer, 100), Ok(None));
    }

    #[test]
    fn impossible_lengths_are_refused_with_a_guess() {
        let refuse = |bytes: &[u8]| next(&mut BytesMut::from(bytes), 1000).unwrap_err().to_string();
        assert_eq!(refuse(&[0, 0, 0, 0]), "frame of 0 bytes is too small for a request");
        assert_eq!(refuse(&[255, 255, 255, 255]), "frame of -1 bytes is too small for a request");
        assert_eq!(
            refuse(&[127, 255, 255, 255]),
            "frame of 2147483647 bytes is larger than the limit of 1000"
        );
        assert_eq!(refuse(&[0, 0, 3, 233]), "frame of 1001 bytes is larger than the limit of 1000");
        assert!(refuse(b"GET / HTTP/1.1\r\n").ends_with("(looks like HTTP)"));
        assert!(refuse(&[0x16, 3, 1, 2, 0]).ends_with("(looks like TLS)"));
    }
}
