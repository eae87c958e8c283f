//! Accepting connections, and ending them together.

use crate::broker;
use crate::config::ListenerConfig;
use crate::config::NetworkSettings;
use crate::config::SecurityProtocol;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::net;
use crate::io::net::Listener;
use crate::io::net::SocketOptions;
use crate::io::net::Stream;
use crate::io::task;
use crate::io::task::Task;
use crate::io::task::Tasks;
use crate::metrics;
use crate::net::Handler;
use crate::net::budget::Budget;
use crate::net::connection::Life;
use crate::net::limits::Limits;
use crate::net::limits::Pace;
use crate::net::lines::Lines;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tracing::debug;
use tracing::info;
use tracing::warn;

/// How long connections may take to finish their requests when the broker ends.
const DRAIN_MAX: Duration = Duration::from_secs(2);
/// The pause after an error of the system while accepting (no more files, no more memory).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// How long a peer may take nothing of an answer, where connections may be idle for ever or only shortly.
const PATIENCE: Duration = Duration::from_secs(600);
/// Longer than any process lives: `connections.max.idle.ms` below 0.
const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// What all connections of a broker share.
#[derive(Debug)]
pub struct Service<H> {
    pub(super) handler: Arc<H>,
    pub(super) clock: Clock,
    pub(super) shutdown: Shutdown,
    pub(super) metrics: metrics::Net,
    pub(super) budget: Budget,
    pub(super) request_max_bytes: usize,
    pub(super) idle_max: Duration,
    pub(super) patience: Duration,
    pub(super) limits: Limits,
    pub(super) lines: Lines,
    accepted_per_second: AtomicI32,
}

/// A listener that holds its address; nothing is accepted yet.
#[derive(Debug)]
pub struct Bound {
    name: String,
    protocol: SecurityProtocol,
    address: SocketAddr,
    listener: Listener,
    metrics: OnceLock<Arc<metrics::Listener>>,
}

/// Takes the addresses of a configured listener: each address that its host has on this machine, all with the same
/// port (with port 0, the one that the first got).
///
/// # Errors
/// The name is unknown, or an address is taken or not allowed. An address that this machine does not have is passed
/// over as long as another one works.
pub async fn bind(config: &ListenerConfig, settings: &NetworkSettings) -> io::Result<Vec<Bound>> {
    let options = SocketOptions {
        backlog: u32::try_from(settings.listen_backlog).unwrap_or(1).max(1),
        send_buffer: buffer_size(settings.send_buffer_bytes),
        receive_buffer: buffer_size(settings.receive_buffer_bytes),
    };
    let mut bound: Vec<Bound> = Vec::new();
    let mut missing = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for mut address in net::resolve(&config.host, config.port).await? {
        if let Some(first) = bound.first() {
            address.set_port(first.address.port());
        }
        if bound.iter().any(|other| other.address == address) {
            continue;
        }
        match Listener::bind(address, &options) {
            Ok(listener) => {
                let address = listener.local_address()?;
                bound.push(Bound {
                    name: config.name.clone(),
                    protocol: config.protocol,
                    address,
                    listener,
                    metrics: OnceLock::new(),
                });
            }
            Err(error) if net::is_address_missing(&error) => {
                debug!(%address, %error, "this machine does not have the address");
                missing = error;
            }
            Err(error) => return Err(error),
        }
    }
    if bound.is_empty() { Err(missing) } else { Ok(bound) }
}

/// A socket buffer's size where somebody chose one. Kafka's default stands for "nobody chose": a system that adapts
/// the buffer to the connection does better than 100 KiB for all.
fn buffer_size(bytes: i32) -> Option<usize> {
    const KAFKAS_DEFAULT: i32 = 102_400;
    usize::try_from(bytes).ok().filter(|_| bytes != KAFKAS_DEFAULT)
}

impl Bound {
    /// The address, with the port it got.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The listener's name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl<H: Handler> Service<H> {
    /// Prepares the service: looks up the hosts of the connection limits.
    pub async fn new(
        handler: Arc<H>,
        settings: &NetworkSettings,
        clock: Clock,
        shutdown: Shutdown,
        metrics: metrics::Net,
    ) -> Arc<Service<H>> {
        let request_max_bytes = usize::try_from(settings.request_max_bytes).unwrap_or(0);
        let idle_max = u64::try_from(settings.connections_max_idle_ms).map_or(NEVER, Duration::from_millis);
        Arc::new(Service {
            handler,
            lines: Lines::new(clock.now()),
            clock,
            shutdown,
            limits: Limits::new(settings).await,
            budget: Budget::new(settings.queued_max_request_bytes, request_max_bytes, &metrics),
            metrics,
            request_max_bytes,
            idle_max: idle_max.min(NEVER),
            patience: PATIENCE,
            accepted_per_second: AtomicI32::new(settings.max_connection_creation_rate),
        })
    }

    /// Puts the limits on connections in force that may change while the broker runs.
    pub async fn reconfigure(&self, settings: &NetworkSettings) {
        self.limits.set(settings).await;
        self.accepted_per_second.store(settings.max_connection_creation_rate, Ordering::Relaxed);
    }

    /// Accepts and serves connections until the shutdown token is triggered; then requests in flight are finished,
    /// and the task ends within four seconds.
    pub fn serve(self: &Arc<Self>, bound: Bound) -> Task<()> {
        let service = Arc::clone(self);
        task::spawn("listener", async move { service.run(bound).await })
    }

    async fn run(self: Arc<Self>, bound: Bound) {
        info!(listener = bound.name, address = %bound.address, "listening");
        let mut connections = Tasks::new("connection");
        let mut pace = Pace::new(self.clock.now());
        let (name, address) = (bound.name.clone(), bound.address);
        while let Some(life) = self.next_or_end(&bound, &mut pace, &mut connections).await {
            connections.spawn(life.run());
        }
        drop(bound);
        debug!(listener = name, %address, connections = connections.len(), "no more connections are accepted");
        if self.clock.timeout(DRAIN_MAX, connections.join_all()).await.is_none() {
            info!(listener = name, connections = connections.len(), "requests in flight are broken off");
            connections.abort_all().await;
        }
    }

    /// Waits for a connection that may live, burying those that end meanwhile; `None` when the broker ends.
    async fn next_or_end(
        self: &Arc<Self>,
        bound: &Bound,
        pace: &mut Pace,
        connections: &mut Tasks,
    ) -> Option<Life<H>> {
        // Kept through the loop: dropping it could drop a connection that was accepted and waits for its turn.
        let mut next = pin!(async {
            loop {
                if let Some(life) = self.next_connection(bound, pace).await {
                    return life;
                }
            }
        });
        loop {
            tokio::select! {
                biased;
                () = self.shutdown.triggered() => return None,
                life = &mut next => return Some(life),
                () = connections.join_next(), if !connections.is_empty() => {}
            }
        }
    }

    /// Waits for a connection that may live; `None` after one that may not, or an error.
    async fn next_connection(self: &Arc<Self>, bound: &Bound, pace: &mut Pace) -> Option<Life<H>> {
        let (stream, peer) = match bound.listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                warn!(listener = bound.name, %error, "connection not accepted");
                self.clock.sleep(ACCEPT_PAUSE).await;
                return None;
            }
        };
        let metrics = Arc::clone(bound.metrics.get_or_init(|| self.metrics.listener(&bound.name)));
        let slot = self.admit(bound, peer, &metrics).await?;
        let pause = pace.next(self.accepted_per_second.load(Ordering::Relaxed), self.clock.now());
        if !pause.is_zero() {
            metrics.delayed.inc();
            self.clock.sleep(pause).await;
        }
        let held = self.handler.connection_pause(peer.ip());
        if !held.is_zero() {
            metrics.delayed.inc();
            debug!(listener = bound.name, %peer, "connection comes too early for its address's limit");
        }
        Some(self.life(bound, stream, (peer, held), (slot, metrics)))
    }

    async fn admit(
        &self,
        bound: &Bound,
        peer: SocketAddr,
        metrics: &Arc<metrics::Listener>,
    ) -> Option<crate::net::limits::Slot> {
        match self.limits.admit(peer.ip(), metrics).await {
            Ok(slot) => Some(slot),
            Err(limit) => {
                info!(listener = bound.name, %peer, limit, "connection refused, its address has the most it may");
                None
            }
        }
    }

    fn life(
        self: &Arc<Self>,
        bound: &Bound,
        stream: Stream,
        (peer, held): (SocketAddr, Duration),
        (slot, metrics): (crate::net::limits::Slot, Arc<metrics::Listener>),
    ) -> Life<H> {
        let connection = broker::Connection::new(bound.name.clone(), bound.protocol, peer);
        Life::new(Arc::clone(self), (stream, held), connection, (slot, metrics))
    }
}
