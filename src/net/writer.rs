//! Answers into the stream: small pieces gathered into few writes, large file ranges by sendfile, cold ones brought
//! into memory first.

use crate::io::Clock;
use crate::io::FileSlice;
use crate::io::net::After;
use crate::io::net::Stream;
use crate::io::residency;
use crate::protocol::Part;
use crate::protocol::Response;
use bytes::Bytes;
use bytes::BytesMut;
use std::io;
use std::time::Duration;

/// File ranges up to this many bytes are read into the answer: a copy of that size costs less than a system call.
const SMALL_SLICE_MAX: u64 = 64 * 1024;
/// Parts in memory up to this many bytes are copied together rather than listed.
const COPY_MAX: usize = 4 * 1024;
/// Bytes that are gathered before they are written.
const GATHERED_MAX: usize = 256 * 1024;
/// Large ranges are sent and brought in by pieces of this many bytes.
const PIECE: u64 = 1 << 20;

/// The sending side of one connection. Holds no memory between flushes.
#[derive(Debug)]
pub(super) struct Writer {
    /// How long the peer may take for a piece.
    patience: Duration,
    clock: Clock,
    /// What is to be written, in order, before `copied`.
    gathered: Vec<Bytes>,
    copied: BytesMut,
    bytes: usize,
    sent: u64,
}

impl Writer {
    /// A writer that gives up when the peer takes nothing for `patience`.
    pub(super) fn new(clock: Clock, patience: Duration) -> Writer {
        Writer { patience, clock, gathered: Vec::new(), copied: BytesMut::new(), bytes: 0, sent: 0 }
    }

    /// Sends an answer, except for what is still gathered: see [`Writer::flush`].
    ///
    /// # Errors
    /// Those of the stream and of files; `TimedOut` when the peer takes nothing. The stream is of no more use then.
    pub(super) async fn add(&mut self, stream: &mut Stream, response: Response) -> io::Result<()> {
        for part in response.parts {
            // "More" must be true: the system holds the rest of a packet back for it.
            if self.bytes > GATHERED_MAX && !part.is_empty() {
                self.write(stream, After::More).await?;
            }
            match part {
                Part::Bytes(bytes) => self.gather(bytes),
                Part::File(slice) if slice.length <= SMALL_SLICE_MAX => self.gather_slice(&slice).await?,
                Part::File(slice) => {
                    self.write(stream, After::More).await?;
                    // Boxed, so that idle connections need not have room for this.
                    Box::pin(self.send(stream, slice)).await?;
                }
            }
        }
        Ok(())
    }

    /// Sends all that was added; how many bytes went out since the last time.
    pub(super) async fn flush(&mut self, stream: &mut Stream) -> io::Result<u64> {
        self.write(stream, After::Flush).await?;
        Ok(std::mem::take(&mut self.sent))
    }

    fn gather(&mut self, bytes: Bytes) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if !self.copied.is_empty() && bytes.len() <= COPY_MAX {
            self.copied.extend_from_slice(&bytes);
        } else if !bytes.is_empty() {
            self.close_copied();
            self.gathered.push(bytes);
        }
    }

    async fn gather_slice(&mut self, slice: &FileSlice) -> io::Result<()> {
        let length = usize::try_from(slice.length).map_err(io::Error::other)?;
        let start = self.copied.len();
        self.copied.resize(start.saturating_add(length), 0);
        let room = self.copied.get_mut(start..).unwrap_or_default();
        if !residency::read_if_cached(slice, room)? {
            let content = Box::pin(residency::read_cold(slice)).await?;
            self.copied.truncate(start);
            self.copied.extend_from_slice(&content);
        }
        self.bytes = self.bytes.saturating_add(length);
        Ok(())
    }

    fn close_copied(&mut self) {
        if !self.copied.is_empty() {
            self.gathered.push(std::mem::take(&mut self.copied).freeze());
        }
    }

    async fn write(&mut self, stream: &mut Stream, after: After) -> io::Result<()> {
        self.close_copied();
        let parts = std::mem::take(&mut self.gathered);
        let bytes = std::mem::take(&mut self.bytes);
        if parts.is_empty() {
            return Ok(());
        }
        let written = self.clock.timeout(self.patience, stream.write_all(&parts, after)).await;
        written.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))?;
        self.note(bytes)
    }

    /// Sends a large range piece by piece; while one is sent, the next is brought in.
    async fn send(&mut self, stream: &mut Stream, slice: FileSlice) -> io::Result<()> {
        let mut rest = slice;
        let mut piece = cut(&mut rest);
        let mut was_cold = bring_in(&piece).await?;
        let mut cold_from = None;
        loop {
            let next = (rest.length > 0).then(|| cut(&mut rest));
            let sending = self.clock.timeout(self.patience, stream.send_slice(&piece));
            let (sent, next_was_cold) = match &next {
                Some(next) => tokio::join!(sending, bring_in(next)),
                None => (sending.await, Ok(false)),
            };
            sent.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))?;
            cold_from = was_cold.then(|| cold_from.unwrap_or(piece.position));
            if let Some(position) = cold_from {
                // Who reads what nobody else reads gives the memory back behind it. Pages that the socket still holds
                // stay, so earlier pieces are given back once more.
                let length = piece.end().saturating_sub(position);
                residency::release(&FileSlice { file: piece.file.clone(), position, length });
            }
            self.sent = self.sent.saturating_add(piece.length);
            was_cold = next_was_cold?;
            match next {
                Some(next) => piece = next,
                None => return Ok(()),
            }
        }
    }

    fn note(&mut self, bytes: usize) -> io::Result<()> {
        let bytes = u64::try_from(bytes).map_err(io::Error::other)?;
        self.sent = self.sent.saturating_add(bytes);
        Ok(())
    }
}

/// Takes the first piece off a range.
fn cut(rest: &mut FileSlice) -> FileSlice {
    let length = rest.length.min(PIECE);
    let piece = FileSlice { file: rest.file.clone(), position: rest.position, length };
    rest.position = rest.position.saturating_add(length);
    rest.length -= length;
    piece
}

/// Sees to it that the piece is in memory; whether it was not.
async fn bring_in(piece: &FileSlice) -> io::Result<bool> {
    if residency::is_cached(piece) {
        return Ok(false);
    }
    residency::bring_in(piece).await?;
    Ok(true)
}
