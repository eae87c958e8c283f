//! Who asks, on which connection, and what becomes of the request.

use super::telemetry::Tie;
use crate::base::Instant;
use crate::config::SecurityProtocol;
use crate::protocol::RequestHeader;
use crate::protocol::Response;
use crate::quota::Who;
use crate::replica::Partition;
use crate::share;
use crate::share::Presence;
use kafka_protocol::protocol::StrBytes;
use parking_lot::Mutex;
use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use uuid::Uuid;

/// A client's connection, as far as handlers care.
#[derive(Debug)]
pub struct Connection {
    /// The name of the listener it came in by: answers name the brokers' addresses of that listener.
    pub listener: String,
    /// What the listener speaks.
    pub protocol: SecurityProtocol,
    /// The other side.
    pub peer: SocketAddr,
    software: OnceLock<Software>,
    held: Mutex<Vec<Arc<Partition>>>,
    /// Until when nothing is taken from it; 0 for no such time.
    muted_until: AtomicU64,
    /// The client instance that pushes figures by it; forgotten with it.
    tie: Mutex<Option<(Uuid, Tie)>>,
    presence: OnceLock<Presence>,
}

/// What a client says it is (KIP-511); checked for form, not for truth.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Software {
    /// The library's name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl Connection {
    /// A connection just accepted.
    pub fn new(listener: impl Into<String>, protocol: SecurityProtocol, peer: SocketAddr) -> Connection {
        Connection {
            listener: listener.into(),
            protocol,
            peer,
            software: OnceLock::new(),
            held: Mutex::default(),
            muted_until: AtomicU64::new(0),
            tie: Mutex::new(None),
            presence: OnceLock::new(),
        }
    }

    /// Ties a client instance's figures to this connection, in place of another one's.
    pub(super) fn tie(&self, instance: Uuid, tie: impl FnOnce() -> Tie) {
        let mut tied = self.tie.lock();
        if tied.as_ref().is_none_or(|(known, _)| *known != instance) {
            let before = tied.replace((instance, tie()));
            drop(tied);
            if let Some((_, before)) = before {
                before.replaced();
            }
        }
    }

    /// Who the client has proved to be. Nobody has to yet.
    pub fn user(&self) -> &str {
        "ANONYMOUS"
    }

    /// Takes nothing more from the client before this time.
    pub fn mute_until(&self, time: Instant) {
        self.muted_until.fetch_max(time.0, Ordering::Relaxed);
    }

    /// Until when nothing is to be taken from the client; `None` when it never had to pause.
    pub fn muted_until(&self) -> Option<Instant> {
        Some(Instant(self.muted_until.load(Ordering::Relaxed))).filter(|until| until.0 > 0)
    }

    /// Keeps a partition with appends that are not written before the end of the burst.
    pub(super) fn hold(&self, partition: &Arc<Partition>) {
        let mut held = self.held.lock();
        if !held.iter().any(|other| Arc::ptr_eq(other, partition)) {
            held.push(Arc::clone(partition));
        }
    }

    /// Writes what was held.
    pub(super) fn write_held(&self) {
        let held = std::mem::take(&mut *self.held.lock());
        held.iter().for_each(|partition| partition.write_held());
    }

    /// Ends the share sessions that were opened on this connection when it goes.
    pub(super) fn presence(&self, service: &share::Service) -> &Presence {
        self.presence.get_or_init(|| Presence::new(service.clone()))
    }

    /// What the client's ApiVersions request said it is; `None` before that.
    pub fn software(&self) -> Option<&Software> {
        self.software.get()
    }

    /// Keeps the first thing that the client said of itself.
    pub(super) fn set_software(&self, software: Software) {
        let _first_wins = self.software.set(software);
    }
}

/// One request: its header and the connection it came by.
#[derive(Clone, Debug)]
pub struct Context {
    /// Key, version, correlation id, client id.
    pub header: RequestHeader,
    /// The connection.
    pub connection: Arc<Connection>,
    /// The connection's next request is here already.
    pub followed: bool,
}

impl Context {
    /// The same with a client id of its own: one that was decoded keeps the request's bytes in memory.
    pub(crate) fn detached(mut self) -> Context {
        let own = self.header.client_id.map(|id| StrBytes::from_string(id.to_string()));
        self.header.client_id = own;
        self
    }

    /// The version of the request and of its answer.
    pub fn version(&self) -> i16 {
        self.header.api_version
    }

    /// What the client calls itself, empty when it does not say.
    pub fn client_id(&self) -> &str {
        self.header.client_id.as_deref().unwrap_or_default()
    }

    /// The client, as limits look at it.
    pub(crate) fn who(&self) -> Who<'_> {
        Who { user: self.connection.user(), client_id: self.client_id() }
    }

    /// The client's address without port, as `DescribeGroups` shows it.
    pub fn client_host(&self) -> String {
        // Kafka shows Java's form of an address: a slash before it.
        format!("/{}", self.connection.peer.ip().to_canonical())
    }
}

/// How a request ends.
#[derive(Debug)]
pub enum Answer {
    /// This goes out.
    Send(Response),
    /// Nothing goes out: Produce with acks=0.
    Silent,
    /// The connection is closed, and `net/` logs the reason with the peer.
    Close(Cow<'static, str>),
}

impl Answer {
    /// Closes the connection for this reason.
    pub fn close(reason: impl Into<Cow<'static, str>>) -> Answer {
        Answer::Close(reason.into())
    }
}

/// An answer to come.
pub type Pending = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// What [`super::Broker::handle`] gives back at once.
pub enum Reply {
    /// The request is done.
    Now(Answer),
    /// The answer comes later; the connection takes no further request until it is there.
    Later(Pending),
    /// The answer comes later, but everything that depends on the order of requests is done: the connection may take
    /// its next request. Answers still go out in the order of their requests.
    Pipelined(Pending),
}

impl fmt::Debug for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reply::Now(answer) => f.debug_tuple("Now").field(answer).finish(),
            Reply::Later(_) => f.write_str("Later"),
            Reply::Pipelined(_) => f.write_str("Pipelined"),
        }
    }
}
