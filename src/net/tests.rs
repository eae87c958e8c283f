//! Whole connections over the loopback, with a stand-in for the broker whose answers the test lets go one by one.

mod ending;
mod order;
mod parts;

use crate::broker::Answer;
use crate::broker::Connection;
use crate::broker::Reply;
use crate::config::ServerConfig;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::net::After;
use crate::io::net::Stream;
use crate::io::task::Task;
use crate::metrics::Registry;
use crate::net::Handler;
use crate::net::Service;
use crate::net::bind;
use crate::protocol::Part;
use crate::protocol::Response;
use bytes::Bytes;
use bytes::BytesMut;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::sync::watch;

/// API keys as the stand-in understands them.
const PRODUCE: i16 = 0;
const SILENT: i16 = 100;
const CLOSE: i16 = 101;
const OTHER: i16 = 3;

/// Answers each request with its correlation id, once the test allows it.
struct Fake {
    /// Requests in the order they were handed over.
    seen: watch::Sender<Vec<Seen>>,
    /// Requests whose answer the test holds back.
    held: watch::Sender<BTreeSet<i32>>,
    /// What follows the correlation id in an answer.
    parts: Mutex<BTreeMap<i32, Vec<Part>>>,
    /// How many requests had come whenever held records were written.
    written: Mutex<Vec<usize>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    id: i32,
    /// Earlier requests that were held back at that moment.
    before: Vec<i32>,
    bytes: usize,
    /// Its records may be written with those of the next.
    followed: bool,
}

impl Handler for Fake {
    fn handle(self: &Arc<Self>, connection: &Arc<Connection>, frame: Bytes, followed: bool) -> Reply {
        assert_eq!(connection.listener, "PLAINTEXT");
        let key = i16::from_be_bytes(frame[..2].try_into().unwrap());
        let id = i32::from_be_bytes(frame[4..8].try_into().unwrap());
        self.seen.send_modify(|seen| {
            let held = self.held.borrow();
            let before =
                seen.iter().map(|earlier| earlier.id).filter(|earlier| held.contains(earlier)).collect();
            seen.push(Seen { id, before, bytes: frame.len(), followed });
        });
        let answer = match key {
            SILENT => Answer::Silent,
            CLOSE => Answer::close("the test says so"),
            _ => Answer::Send(self.response(id)),
        };
        if !self.held.borrow().contains(&id) {
            return Reply::Now(answer);
        }
        let mut held = self.held.subscribe();
        let pending = Box::pin(async move {
            held.wait_for(|held| !held.contains(&id)).await.unwrap();
            answer
        });
        if key == PRODUCE { Reply::Pipelined(pending) } else { Reply::Later(pending) }
    }

    fn write_held(&self, _connection: &Connection) {
        let seen = self.seen.borrow().len();
        self.written.lock().push(seen);
    }
}

impl Fake {
    fn response(&self, id: i32) -> Response {
        let rest = self.parts.lock().remove(&id).unwrap_or_default();
        let length = 4 + rest.iter().map(Part::len).sum::<u64>();
        let mut head = BytesMut::new();
        head.extend_from_slice(&u32::try_from(length).unwrap().to_be_bytes());
        head.extend_from_slice(&id.to_be_bytes());
        let mut parts = vec![Part::Bytes(head.freeze())];
        parts.extend(rest);
        Response { parts, throttle_at: None }
    }

    fn hold(&self, ids: &[i32]) {
        self.held.send_modify(|held| held.extend(ids));
    }

    fn let_go(&self, id: i32) {
        self.held.send_modify(|held| {
            held.remove(&id);
        });
    }

    async fn until_seen(&self, count: usize) -> Vec<Seen> {
        let mut seen = self.seen.subscribe();
        seen.wait_for(|seen| seen.len() >= count).await.unwrap().clone()
    }
}

/// A running service with its stand-in.
struct World {
    fake: Arc<Fake>,
    address: SocketAddr,
    service: Arc<Service<Fake>>,
    shutdown: Shutdown,
    registry: Registry,
    serving: Task<()>,
}

impl World {
    /// The measurements of its listener.
    fn listener(&self) -> Arc<crate::metrics::Listener> {
        self.registry.net().listener("PLAINTEXT")
    }

    async fn start(settings: &[(&str, &str)]) -> World {
        World::start_with(settings, Clock::system()).await
    }

    async fn start_with(settings: &[(&str, &str)], clock: Clock) -> World {
        let mut set = BTreeMap::from([("node.id", "1"), ("listeners", "PLAINTEXT://127.0.0.1:0")]);
        set.extend(settings.iter().copied());
        let set = set.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let config = ServerConfig::new(&set, "localhost").unwrap();
        let fake = Arc::new(Fake {
            seen: watch::Sender::new(Vec::new()),
            held: watch::Sender::new(BTreeSet::new()),
            parts: Mutex::new(BTreeMap::new()),
            written: Mutex::default(),
        });
        let registry = Registry::new();
        let shutdown = Shutdown::new();
        let service =
            Service::new(Arc::clone(&fake), &config.network, clock, shutdown.clone(), registry.net()).await;
        let mut bound = bind(&config.listeners[0], &config.network).await.unwrap();
        let bound = bound.remove(0);
        let address = bound.address();
        let serving = service.serve(bound);
        World { fake, address, service, shutdown, registry, serving }
    }

    async fn connect(&self) -> Client {
        Client { stream: Stream::connect(self.address).await.unwrap(), buffer: BytesMut::new() }
    }

    async fn until_connections(&self, count: i64) {
        let net = self.listener();
        while net.connections.get() != count {
            tokio::task::yield_now().await;
        }
    }
}

struct Client {
    stream: Stream,
    buffer: BytesMut,
}

impl Client {
    async fn send(&mut self, bytes: impl Into<Bytes>) {
        self.stream.write_all(&[bytes.into()], After::Flush).await.unwrap();
    }

    /// The next answer: correlation id and what follows it; `None` at a clean end.
    async fn answer(&mut self) -> Option<(i32, Bytes)> {
        loop {
            if let Some(length) = self.buffer.first_chunk::<4>() {
                let length = usize::try_from(u32::from_be_bytes(*length)).unwrap();
                if self.buffer.len() >= 4 + length {
                    let mut answer = self.buffer.split_to(4 + length).freeze().split_off(4);
                    let rest = answer.split_off(4);
                    return Some((i32::from_be_bytes(answer[..].try_into().unwrap()), rest));
                }
            }
            if self.stream.read_into(&mut self.buffer, 4096).await.unwrap() == 0 {
                assert!(self.buffer.is_empty(), "half an answer");
                return None;
            }
        }
    }

    async fn id(&mut self) -> i32 {
        self.answer().await.expect("an answer").0
    }

    /// Waits until the other side has closed, cleanly or not.
    async fn closed(&mut self) {
        while let Ok(1..) = self.stream.read_into(&mut self.buffer, 4096).await {}
    }
}

/// A request with its length before it.
fn request(key: i16, id: i32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(10 + payload.len()).unwrap();
    let mut bytes = length.to_be_bytes().to_vec();
    bytes.extend(key.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(id.to_be_bytes());
    bytes.extend((-1i16).to_be_bytes());
    bytes.extend(payload);
    bytes
}
