//! Sockets: a listener that takes IPv4 and IPv6, and a stream that takes buffers only when there is something to
//! read, writes gathered parts, and sends files.

use crate::io::file_slice::FileSlice;
use crate::io::sendfile;
use bytes::Bytes;
use bytes::BytesMut;
use socket2::Domain;
use socket2::Protocol;
use socket2::Socket;
use socket2::Type;
use std::future::Future;
use std::future::poll_fn;
use std::io;
use std::io::IoSlice;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::Context;
use std::task::Poll;
use std::time::Duration;
use tokio::io::AsyncRead;
use tokio::io::AsyncWrite;
use tokio::io::Interest;
use tokio::io::ReadBuf;
use tokio::net::TcpListener;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

/// Parts that go into one system call.
const PARTS_MAX: usize = 32;

/// What a stream's sockets ask of the system. `None` leaves a buffer's size to the system, which then adapts it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// Connections that wait to be accepted.
    pub backlog: u32,
    /// Bytes of the send buffer.
    pub send_buffer: Option<usize>,
    /// Bytes of the receive buffer.
    pub receive_buffer: Option<usize>,
}

/// Takes connections on one address.
#[derive(Debug)]
pub enum Listener {
    /// A TCP listener.
    Tcp(TcpListener),
}

/// One connection.
#[derive(Debug)]
pub enum Stream {
    /// Plain TCP.
    Tcp(TcpStream),
}

/// Whether more will be written at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// This ends a message: send it now.
    Flush,
    /// More follows at once: the system may wait for it to fill a packet.
    More,
}

impl Listener {
    /// Listens on the address; port 0 takes a free one. The unspecified IPv6 address takes IPv4 too. Errors:
    /// `AddrInUse`, `AddrNotAvailable`, `PermissionDenied`.
    pub fn bind(address: SocketAddr, options: &SocketOptions) -> io::Result<Listener> {
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
        if let SocketAddr::V6(v6) = address {
            socket.set_only_v6(!v6.ip().is_unspecified())?;
        }
        socket.set_reuse_address(true)?;
        socket.set_nonblocking(true)?;
        // Connections inherit these; the window's scale is fixed when they are made, so it must be here.
        if let Some(bytes) = options.receive_buffer {
            socket.set_recv_buffer_size(bytes)?;
        }
        if let Some(bytes) = options.send_buffer {
            socket.set_send_buffer_size(bytes)?;
        }
        socket.bind(&address.into())?;
        socket.listen(i32::try_from(options.backlog).unwrap_or(i32::MAX))?;
        TcpListener::from_std(socket.into()).map(Listener::Tcp)
    }

    /// The address it listens on, with the port it got.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        match self {
            Listener::Tcp(listener) => listener.local_addr(),
        }
    }

    /// Waits for the next connection; with the peer's address (an IPv4 peer of an IPv6 socket shows as IPv4).
    /// A peer that is gone already is passed over. Errors of the system (no more files) come back at once each time:
    /// the caller pauses. May be dropped at will.
    pub async fn accept(&self) -> io::Result<(Stream, SocketAddr)> {
        match self {
            Listener::Tcp(listener) => loop {
                match listener.accept().await {
                    Ok((stream, peer)) if stream.set_nodelay(true).is_ok() => {
                        return Ok((Stream::Tcp(stream), canonical(peer)));
                    }
                    Ok(_) => {}
                    Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                    Err(error) => return Err(error),
                }
            },
        }
    }
}

impl Stream {
    /// Connects to the address.
    pub async fn connect(address: SocketAddr) -> io::Result<Stream> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Stream::Tcp(stream))
    }

    /// This end's address.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        match self {
            Stream::Tcp(stream) => stream.local_addr().map(canonical),
        }
    }

    /// Waits until there is something to read or the peer has closed. Holds no buffer. May be dropped at will.
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.readable().await,
        }
    }

    /// Waits for bytes and appends them to the buffer's spare room; 0 when the peer has closed. Only when there is
    /// something to read, and less spare room than `room` bytes is left, that many are reserved. May be dropped at
    /// will: no bytes are lost.
    pub async fn read_into(&mut self, buffer: &mut BytesMut, room: usize) -> io::Result<usize> {
        loop {
            self.readable().await?;
            if let Some(received) = self.read_now(buffer, room).await? {
                return Ok(received);
            }
        }
    }

    /// Appends what is there to the buffer's spare room, of which `room` bytes are reserved; 0 when the peer has
    /// closed, `None` when nothing is there in spite of [`Stream::readable`]. Does not wait for the peer.
    pub async fn read_now(&mut self, buffer: &mut BytesMut, room: usize) -> io::Result<Option<usize>> {
        if buffer.capacity() - buffer.len() < room.max(1) {
            buffer.reserve(room.max(1));
        }
        let received = match self {
            Stream::Tcp(stream) => poll_fn(|context| match receive(stream, buffer, context) {
                // Readiness was stale, or this task has had its turn.
                Poll::Pending => Poll::Ready(Ok(None)),
                Poll::Ready(outcome) => Poll::Ready(outcome.map(Some)),
            }),
        };
        let received = received.await?;
        if received.is_none() {
            if buffer.is_empty() {
                *buffer = BytesMut::new();
            }
            // `readable` does not count against a task's turn as reading does: without giving way here, a task
            // whose turn is over would go round for ever on a stream that is readable.
            tokio::task::yield_now().await;
        }
        Ok(received)
    }

    /// Writes the parts one after the other with gathered writes. When it is dropped or fails, a prefix is sent.
    pub async fn write_all(&mut self, parts: &[Bytes], after: After) -> io::Result<()> {
        let mut parts = parts;
        // Bytes of the first part that are sent already.
        let mut sent = 0;
        while !parts.is_empty() {
            let mut written = self.write_some(parts, sent, after).await?;
            while let Some((first, rest)) = parts.split_first() {
                let left = first.len() - sent;
                if written < left {
                    sent += written;
                    break;
                }
                written -= left;
                sent = 0;
                parts = rest;
            }
        }
        Ok(())
    }

    async fn write_some(&mut self, parts: &[Bytes], sent: usize, after: After) -> io::Result<usize> {
        let mut slices = [IoSlice::new(&[]); PARTS_MAX];
        let mut count = 0;
        for (slice, part) in slices.iter_mut().zip(parts) {
            let skip = if count == 0 { sent } else { 0 };
            *slice = IoSlice::new(part.get(skip..).unwrap_or_default());
            count += 1;
        }
        let slices = slices.get(..count).unwrap_or_default();
        if slices.iter().all(|slice| slice.is_empty()) {
            return Ok(0);
        }
        let more = after == After::More || count < parts.len();
        match self {
            Stream::Tcp(stream) => {
                stream.async_io(Interest::WRITABLE, || sendfile::send_parts(&*stream, slices, more)).await
            }
        }
    }

    /// Sends a range of a file: straight from the page cache on a plain connection. `UnexpectedEof` when the file
    /// ends before the range does; the stream is then of no more use.
    pub async fn send_slice(&mut self, slice: &FileSlice) -> io::Result<()> {
        match slice.file.descriptor() {
            Some(file) => match self {
                Stream::Tcp(stream) => sendfile::send_file(stream, file, slice.position, slice.length).await,
            },
            None => self.copy_slice(slice).await,
        }
    }

    /// The way for files and streams that the system cannot join: read and write.
    async fn copy_slice(&mut self, slice: &FileSlice) -> io::Result<()> {
        const STEP: u64 = 64 * 1024;
        let mut position = slice.position;
        while position < slice.end() {
            let step = usize::try_from((slice.end() - position).min(STEP)).map_err(io::Error::other)?;
            let mut piece = vec![0; step];
            slice.file.read_exact_at(&mut piece, position)?;
            self.write_all(&[piece.into()], After::Flush).await?;
            position += u64::try_from(step).map_err(io::Error::other)?;
        }
        Ok(())
    }

    /// Says to the peer that nothing more comes; reading goes on.
    pub fn shutdown_write(&mut self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => {
                rustix::net::shutdown(&*stream, rustix::net::Shutdown::Write).map_err(io::Error::from)
            }
        }
    }
}

/// Appends what has come to the buffer's spare room, without clearing that room first. Goes through tokio's
/// `poll_read`, which remembers that a short read has emptied the socket and saves the call that would say so.
#[allow(unsafe_code, reason = "the room is filled by the kernel, not by Rust")]
fn receive(
    stream: &mut TcpStream,
    buffer: &mut BytesMut,
    context: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    let mut room = ReadBuf::uninit(buffer.spare_capacity_mut());
    let outcome = Pin::new(stream).poll_read(context, &mut room);
    let received = room.filled().len();
    let length = buffer.len() + received;
    // SAFETY: `ReadBuf` vouches for the first `received` bytes of the spare room.
    unsafe { buffer.set_len(length) };
    outcome.map_ok(|()| received)
}

/// A connection for those who read and write through tokio's own traits, ask and are answered in turn, and count how
/// many there are: it holds a permit, and looks as if the peer had closed it when it keeps others waiting.
#[derive(Debug)]
pub struct Guarded {
    stream: TcpStream,
    patience: Patience,
    phase: Phase,
    alarm: Pin<Box<tokio::time::Sleep>>,
    #[expect(dead_code, reason = "held for its drop")]
    permit: OwnedSemaphorePermit,
}

/// How long the peer of a [`Guarded`] may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For a whole request from its first byte on, for its first request, and for taking some of an answer.
    pub request: Duration,
    /// Between an answer and the next request.
    pub idle: Duration,
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The rest of a request; however slowly it comes, it has to end.
    Request,
    /// Room for more of an answer.
    Answer,
    /// The next request.
    Idle,
}

impl Stream {
    /// Guards the stream; see [`Guarded`].
    #[allow(clippy::disallowed_methods, reason = "the time of a socket, in the room that has it")]
    pub fn guarded(self, permit: OwnedSemaphorePermit, patience: Patience) -> Guarded {
        match self {
            Stream::Tcp(stream) => {
                let alarm = Box::pin(tokio::time::sleep(patience.request));
                Guarded { stream, patience, phase: Phase::Request, alarm, permit }
            }
        }
    }
}

impl Guarded {
    fn begin(&mut self, phase: Phase) {
        let patience = if phase == Phase::Idle { self.patience.idle } else { self.patience.request };
        self.alarm.as_mut().reset(tokio::time::Instant::now() + patience);
        self.phase = phase;
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let guarded = self.get_mut();
        if let Poll::Ready(outcome) = Pin::new(&mut guarded.stream).poll_read(context, buffer) {
            if guarded.phase == Phase::Idle {
                guarded.begin(Phase::Request);
            }
            return Poll::Ready(outcome);
        }
        guarded.alarm.as_mut().poll(context).map(Ok)
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let guarded = self.get_mut();
        if let Poll::Ready(outcome) = Pin::new(&mut guarded.stream).poll_write(context, bytes) {
            guarded.begin(Phase::Idle);
            return Poll::Ready(outcome);
        }
        if guarded.phase != Phase::Answer {
            guarded.begin(Phase::Answer);
        }
        guarded.alarm.as_mut().poll(context).map(|()| Err(io::ErrorKind::TimedOut.into()))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

/// All addresses of a name, in the resolver's order; an empty name means all addresses of this machine, and
/// `localhost` both loopback addresses, whatever the resolver knows.
pub async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    if host.is_empty() {
        return Ok(vec![any_address(port)]);
    }
    if host.eq_ignore_ascii_case("localhost") {
        let loopback = |ip: std::net::IpAddr| SocketAddr::new(ip, port);
        return Ok(vec![
            loopback(std::net::Ipv4Addr::LOCALHOST.into()),
            loopback(std::net::Ipv6Addr::LOCALHOST.into()),
        ]);
    }
    Ok(tokio::net::lookup_host((host, port)).await?.map(canonical).collect())
}

/// Whether binding failed because this machine does not have the address, or has no addresses of its kind.
pub fn is_address_missing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EADDRNOTAVAIL | libc::EAFNOSUPPORT))
}

/// The unspecified address that takes the most: IPv6 with IPv4, or IPv4 alone where IPv6 is missing or turned off.
fn any_address(port: u16) -> SocketAddr {
    let ipv6 = SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, 0));
    let tried = Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::TCP)).and_then(|socket| {
        socket.set_only_v6(false)?;
        socket.bind(&ipv6.into())
    });
    match tried {
        Ok(()) => SocketAddr::from((std::net::Ipv6Addr::UNSPECIFIED, port)),
        Err(_) => SocketAddr::from((std::net::Ipv4Addr::UNSPECIFIED, port)),
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests;
