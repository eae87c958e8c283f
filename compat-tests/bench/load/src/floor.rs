//! The least that a broker could do: the system calls of a request and nothing else, in one thread.
//!
//! What this costs no broker of this shape can get below; a ratio that it does not reach cannot be reached either.
//! It takes what comes, writes records where the file stands, answers every fetch with the same batch read from a
//! file, and checks nothing.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{ErrorKind, IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use crate::args::{Args, Result};
use crate::batch;
use crate::wire::floor::{FETCH, LIST_OFFSETS, PRODUCE, fetched, key, listed, produced};

/// Where the file of records is synced and emptied: a log, too, appends to new blocks, syncs what it has closed, and
/// gives old blocks back.
const WRAP: u64 = 64 << 20;

struct Server {
    written: File,
    position: u64,
    read: File,
    batch: usize,
    records: i64,
}

struct Peer {
    stream: TcpStream,
    held: Vec<u8>,
    end: usize,
}

/// Serves on `--boot` until it is killed; fetches get one batch of `--records` records of `--bytes` bytes.
pub fn run(args: &Args) -> Result<String> {
    let (written, read) = (path(args, "written"), path(args, "read"));
    let batch = batch::plain(args.records, args.bytes, false);
    std::fs::write(&read, &batch)?;
    let mut server = Server {
        written: OpenOptions::new().create(true).truncate(true).write(true).open(&written)?,
        position: 0,
        read: File::open(&read)?,
        batch: batch.len(),
        records: args.records as i64,
    };
    // Open files stay; their names are not needed.
    remove_file(&written)?;
    remove_file(&read)?;
    server.serve(&TcpListener::bind(&args.boot)?)?;
    Ok("{}".into())
}

fn path(args: &Args, name: &str) -> PathBuf {
    Path::new(&args.path).join(format!("load-floor-{name}-{}", std::process::id()))
}

impl Server {
    fn serve(&mut self, listener: &TcpListener) -> Result<()> {
        let epoll = unsafe { libc::epoll_create1(0) };
        watch(epoll, listener.as_raw_fd(), u64::MAX)?;
        let mut peers: Vec<Option<Peer>> = Vec::new();
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; 64];
        loop {
            let count = unsafe { libc::epoll_wait(epoll, events.as_mut_ptr(), events.len() as i32, -1) };
            for event in events.iter().take(count.max(0) as usize) {
                if event.u64 == u64::MAX {
                    let (stream, _) = listener.accept()?;
                    stream.set_nodelay(true)?;
                    watch(epoll, stream.as_raw_fd(), peers.len() as u64)?;
                    peers.push(Some(Peer { stream, held: vec![0; 256 << 10], end: 0 }));
                } else if let Some(peer) = peers.get_mut(event.u64 as usize) {
                    let alive = peer.as_mut().is_some_and(|peer| self.turn(peer).unwrap_or(false));
                    if !alive {
                        *peer = None;
                    }
                }
            }
        }
    }

    /// One read, one write of all records that came with it, one answer to all requests. False when the peer is gone.
    fn turn(&mut self, peer: &mut Peer) -> Result<bool> {
        match peer.stream.read(&mut peer.held[peer.end..]) {
            Ok(0) => return Ok(false),
            Ok(count) => peer.end += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(true),
            Err(error) => return Err(error.into()),
        }
        let (mut from, mut answer, mut records) = (0, Vec::new(), Vec::new());
        while let Some(length) = peer.held[from..peer.end].first_chunk::<4>() {
            let to = from + 4 + u32::from_be_bytes(*length) as usize;
            if to > peer.end {
                break;
            }
            let frame = &peer.held[from + 4..to];
            match key(frame) {
                PRODUCE => {
                    records.push(IoSlice::new(frame));
                    produced(&mut answer);
                }
                FETCH => fetched(&mut answer, self.batch, |room| Ok(self.read.read_exact_at(room, 0)?))?,
                LIST_OFFSETS => listed(&mut answer, frame, self.records),
                other => return Err(format!("request {other} has no floor").into()),
            }
            from = to;
        }
        if !records.is_empty() {
            self.write(&records)?;
        }
        peer.held.copy_within(from..peer.end, 0);
        peer.end -= from;
        if !answer.is_empty() {
            peer.stream.write_all(&answer)?;
        }
        Ok(true)
    }

    fn write(&mut self, records: &[IoSlice<'_>]) -> Result<()> {
        let (file, count) = (self.written.as_raw_fd(), records.len() as i32);
        let written = unsafe { libc::pwritev(file, records.as_ptr().cast(), count, self.position as i64) };
        if written < 0 {
            return Err(std::io::Error::last_os_error().into());
        }
        self.position += written as u64;
        if self.position > WRAP {
            self.written.sync_data()?;
            self.written.set_len(0)?;
            self.position = 0;
        }
        Ok(())
    }
}

fn watch(epoll: i32, file: i32, name: u64) -> Result<()> {
    let mut event = libc::epoll_event { events: libc::EPOLLIN as u32, u64: name };
    if unsafe { libc::epoll_ctl(epoll, libc::EPOLL_CTL_ADD, file, &raw mut event) } != 0 {
        return Err(std::io::Error::last_os_error().into());
    }
    Ok(())
}
