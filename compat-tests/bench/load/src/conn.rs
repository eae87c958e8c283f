//! A connection: frames out, whole answers in.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::args::Result;

/// A client's connection with a receive buffer that grows to the largest answer.
pub struct Conn {
    stream: TcpStream,
    held: Vec<u8>,
    start: usize,
    end: usize,
}

impl Conn {
    pub fn open(boot: &str) -> Result<Self> {
        let stream = TcpStream::connect(boot).map_err(|error| format!("connect to {boot}: {error}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_secs(120)))?;
        Ok(Self { stream, held: vec![0; 1 << 16], start: 0, end: 0 })
    }

    /// A second handle of the same connection, for a thread that only sends.
    pub fn sender(&self) -> Result<TcpStream> {
        Ok(self.stream.try_clone()?)
    }

    pub fn send(&mut self, frame: &[u8]) -> Result<()> {
        Ok(self.stream.write_all(frame)?)
    }

    /// The next answer without its length, valid until the next call.
    pub fn receive(&mut self) -> Result<&[u8]> {
        self.fill(4)?;
        let size = u32::from_be_bytes(self.held[self.start..self.start + 4].try_into()?) as usize;
        if size > 1 << 30 {
            return Err(format!("an answer of {size} bytes").into());
        }
        self.fill(4 + size)?;
        let from = self.start + 4;
        self.start = from + size;
        Ok(&self.held[from..from + size])
    }

    pub fn call(&mut self, frame: &[u8]) -> Result<&[u8]> {
        self.send(frame)?;
        self.receive()
    }

    /// Gives the receive buffer back, for connections that wait for long; only between answers.
    pub fn shrink(&mut self) {
        self.held = vec![0; 512];
        (self.start, self.end) = (0, 0);
    }

    fn fill(&mut self, wanted: usize) -> Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        if self.start + wanted > self.held.len() {
            self.held.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
            if wanted > self.held.len() {
                self.held.resize(wanted + (1 << 16), 0);
            }
        }
        while self.end - self.start < wanted {
            match self.stream.read(&mut self.held[self.end..]) {
                Ok(0) => return Err("the broker closed the connection".into()),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Err("no answer for 120 seconds".into());
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
