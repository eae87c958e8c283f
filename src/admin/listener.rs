//! The addresses of the admin port: taking them, and accepting few connections at a time.

use crate::admin::CONNECTIONS_MAX;
use crate::admin::Error;
use crate::config::AdminSettings;
use crate::config::HostPort;
use crate::io::Clock;
use crate::io::net;
use crate::io::net::Guarded;
use crate::io::net::Listener;
use crate::io::net::Patience;
use crate::io::net::SocketOptions;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tracing::debug;

/// The pause after an error of the system while accepting (no more files, no more memory).
const ACCEPT_PAUSE: Duration = Duration::from_millis(500);

/// An address that is held; nothing is accepted yet.
#[derive(Debug)]
pub struct Bound {
    address: SocketAddr,
    listener: Listener,
}

/// A default address that somebody else holds.
#[derive(Debug)]
pub(super) struct Taken {
    pub(super) address: String,
    pub(super) error: io::Error,
}

/// A listener with a limit of connections.
pub(super) struct Limited {
    bound: Bound,
    room: Arc<Semaphore>,
    patience: Patience,
    clock: Clock,
}

/// Takes the configured addresses, and tells the default ones that cannot be had.
///
/// # Errors
/// The first address that was set and cannot be had.
pub(super) async fn bind(settings: &AdminSettings) -> Result<(Vec<Bound>, Vec<Taken>), Error> {
    let mut bound = Vec::new();
    let mut taken = Vec::new();
    for address in &settings.listeners {
        match bind_one(address).await {
            Ok(more) => bound.extend(more),
            Err(source) if settings.chosen => {
                return Err(Error::Listen { address: address.to_string(), source });
            }
            Err(error) => taken.push(Taken { address: address.to_string(), error }),
        }
    }
    Ok((bound, taken))
}

async fn bind_one(address: &HostPort) -> io::Result<Vec<Bound>> {
    let backlog = u32::try_from(CONNECTIONS_MAX).unwrap_or(1);
    let options = SocketOptions { backlog, send_buffer: None, receive_buffer: None };
    let mut bound: Vec<Bound> = Vec::new();
    let mut missing = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for mut found in net::resolve(&address.host, address.port).await? {
        if let Some(first) = bound.first() {
            found.set_port(first.address.port());
        }
        if bound.iter().any(|other| other.address == found) {
            continue;
        }
        match Listener::bind(found, &options) {
            Ok(listener) => bound.push(Bound { address: listener.local_address()?, listener }),
            Err(error) if net::is_address_missing(&error) => {
                debug!(address = %found, %error, "this machine does not have the address");
                missing = error;
            }
            Err(error) => return Err(error),
        }
    }
    if bound.is_empty() { Err(missing) } else { Ok(bound) }
}

impl Bound {
    /// The address, with the port it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Accepts only as many connections at a time as there is room for.
    pub(super) fn limited(self, room: Arc<Semaphore>, patience: Patience, clock: Clock) -> Limited {
        Limited { bound: self, room, patience, clock }
    }
}

impl axum::serve::Listener for Limited {
    type Io = Guarded;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Guarded, SocketAddr) {
        let permit = Arc::clone(&self.room).acquire_owned().await.expect("the room is never closed");
        loop {
            match self.bound.listener.accept().await {
                Ok((stream, peer)) => return (stream.guarded(permit, self.patience), peer),
                Err(error) => {
                    debug!(%error, "connection not accepted");
                    self.clock.sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        Ok(self.bound.address)
    }
}
