//! Bytes and files into a socket, as often as the socket takes some.

use rustix::io::Errno;
use rustix::net::SendAncillaryBuffer;
use rustix::net::SendFlags;
use std::io;
use std::io::IoSlice;
use std::os::fd::AsFd;
use std::os::fd::BorrowedFd;
use tokio::io::Interest;
use tokio::net::TcpStream;

/// Most bytes in one call, so that a worker is not held for long.
const STEP: u64 = 1 << 20;

/// One gathered write; `WouldBlock` when the socket takes nothing now.
pub(in crate::io) fn send_parts(socket: impl AsFd, parts: &[IoSlice<'_>], more: bool) -> io::Result<usize> {
    let mut flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    flags.set(SendFlags::MORE, more);
    loop {
        match rustix::net::sendmsg(&socket, parts, &mut SendAncillaryBuffer::default(), flags) {
            Err(Errno::INTR) => {}
            outcome => return outcome.map_err(io::Error::from),
        }
    }
}

/// Sends `length` bytes of the file from `position`, waiting for the socket in between.
pub(in crate::io) async fn send_file(
    stream: &TcpStream,
    file: BorrowedFd<'_>,
    position: u64,
    length: u64,
) -> io::Result<()> {
    let end = position.saturating_add(length);
    let mut position = position;
    while position < end {
        let step = usize::try_from((end - position).min(STEP)).map_err(io::Error::other)?;
        let sent = stream
            .async_io(Interest::WRITABLE, || {
                match rustix::fs::sendfile(stream, file, Some(&mut position), step) {
                    Err(Errno::INTR) => Err(io::ErrorKind::Interrupted.into()),
                    outcome => outcome.map_err(io::Error::from),
                }
            })
            .await;
        match sent {
            Ok(0) => {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "file ends before the range to send",
                ));
            }
            // The kernel has moved `position`.
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
