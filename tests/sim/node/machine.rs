//! A whole node on a simulated machine: it starts, answers requests, stops, is killed or loses its power, all on one
//! thread and with a clock that moves only when nobody has anything to do.

use bytes::BufMut;
use bytes::Bytes;
use bytes::BytesMut;
use dohle::broker::Answer;
use dohle::broker::Connection;
use dohle::broker::Reply;
use dohle::config::SecurityProtocol;
use dohle::config::ServerConfig;
use dohle::io::sim::SimClock;
use dohle::io::sim::SimDisk;
use dohle::io::sim::SimThread;
use dohle::log::Faults;
use dohle::protocol::Part;
use dohle::server::Error;
use dohle::server::Platform;
use dohle::server::Server;
use kafka_protocol::messages::RequestHeader;
use kafka_protocol::messages::ResponseHeader;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::protocol::Encodable;
use kafka_protocol::protocol::HeaderVersion;
use kafka_protocol::protocol::Request;
use std::collections::BTreeMap;
use std::future::Future;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::task::Waker;
use std::time::Duration;

/// No request may take longer, whatever hangs: fetches wait a second at most, and a hung disk a minute at a time.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A segment is full soon.
const SEGMENT_BYTES: i32 = 4000;

/// The machine, with or without a running node.
pub(crate) struct Machine {
    pub(crate) disk: SimDisk,
    pub(crate) clock: SimClock,
    pub(crate) faults: Arc<Faults>,
    settings: BTreeMap<String, String>,
    life: Option<Life>,
    _thread: SimThread,
}

/// One life of the process. The runtime goes last.
struct Life {
    server: Server,
    connection: Arc<Connection>,
    runtime: Runtime,
}

/// A runtime of one thread that tells when nothing can go on.
struct Runtime {
    tokio: tokio::runtime::Runtime,
    idle: Arc<Idle>,
}

#[derive(Default)]
struct Idle {
    is_idle: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

/// A request that got no answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoAnswer(pub(crate) String);

impl Machine {
    /// A machine with an empty disk.
    pub(crate) fn new(seed: u64) -> Machine {
        let clock = SimClock::new();
        let disk = SimDisk::new(seed, clock.clone());
        Machine::with(seed, disk, clock)
    }

    /// A machine with this disk.
    pub(crate) fn with(seed: u64, disk: SimDisk, clock: SimClock) -> Machine {
        let settings = [
            ("node.id", "1"),
            ("cluster.id", "AAAAAAAAAAAAAAAAAAAAAQ"),
            ("log.dirs", "/a,/b"),
            ("offsets.topic.num.partitions", "1"),
            ("log.index.interval.bytes", "400"),
            ("group.initial.rebalance.delay.ms", "0"),
            ("auto.create.topics.enable", "false"),
            ("dohle.admin.listeners", ""),
            ("log.initial.task.delay.ms", "1000"),
            ("log.flush.offset.checkpoint.interval.ms", "60000"),
        ];
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        Machine { disk, clock, faults: Arc::default(), settings, life: None, _thread: SimThread::enter(seed) }
    }

    pub(crate) fn is_running(&self) -> bool {
        self.life.is_some()
    }

    /// Starts the node.
    pub(crate) fn start(&mut self) -> Result<(), Error> {
        assert!(self.life.is_none(), "it runs already");
        let mut config = ServerConfig::new(&self.settings, "localhost").unwrap();
        // Smaller than settings allow, so that everything rolls often.
        config.log.segment_bytes = SEGMENT_BYTES;
        config.metadata.segment_bytes = SEGMENT_BYTES;
        config.metadata.snapshot_after_bytes = 3000;
        config.metadata.retention_bytes = 6000;
        let platform = Platform::simulated(self.disk.clone(), self.clock.clone(), self.faults.clone());
        let runtime = Runtime::new();
        let server = runtime.run(&self.clock, Server::start(config, platform));
        let server = server.unwrap_or_else(|NoAnswer(why)| panic!("the start hangs: {why}"))?;
        let peer = "127.0.0.1:5".parse().unwrap();
        let connection = Arc::new(Connection::new("PLAINTEXT", SecurityProtocol::Plaintext, peer));
        self.life = Some(Life { server, connection, runtime });
        Ok(())
    }

    /// Ends the node in good order.
    pub(crate) fn stop(&mut self) {
        if let Some(Life { server, runtime, .. }) = self.life.take() {
            runtime.run(&self.clock, server.stop()).expect("stopping ends");
            self.disk.kill_process();
        }
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        self.disk.kill_process();
        self.life = None;
    }

    /// The power goes and comes back.
    pub(crate) fn cut_power(&mut self) {
        self.disk.crash();
        self.life = None;
    }

    /// Whether the power went by a planned fault.
    pub(crate) fn is_dark(&self) -> bool {
        !self.disk.has_power()
    }

    /// Lets time pass, and everything that comes due happen.
    pub(crate) fn idle(&self, duration: Duration) {
        if let Some(life) = &self.life {
            let clock = dohle::io::Clock::Sim(self.clock.clone());
            life.runtime.run_for(&self.clock, clock.sleep(duration), duration * 2).expect("time passes");
        } else {
            self.clock.advance(duration);
        }
    }

    /// How many log directories work.
    pub(crate) fn online_directories(&self) -> usize {
        self.life.as_ref().map_or(0, |life| life.server.dirs().online().len())
    }

    /// The first stage of a request: what comes of it later is awaited by [`Machine::finish`].
    pub(crate) fn send<R: Request>(&self, request: &R, version: i16) -> Sent<R> {
        let life = self.life.as_ref().expect("a node runs");
        let mut frame = BytesMut::new();
        let header = RequestHeader::default()
            .with_request_api_key(R::KEY)
            .with_request_api_version(version)
            .with_correlation_id(7);
        header.encode(&mut frame, R::header_version(version)).unwrap();
        request.encode(&mut frame, version).unwrap();
        let _inside = life.runtime.tokio.enter();
        let reply = life.server.broker().handle(&life.connection, frame.freeze(), false);
        Sent { reply, version, kind: std::marker::PhantomData }
    }

    /// The answer to a request sent before.
    pub(crate) fn finish<R: Request>(&self, sent: Sent<R>) -> Result<R::Response, NoAnswer> {
        let life = self.life.as_ref().expect("a node runs");
        let answer = match sent.reply {
            Reply::Now(answer) => answer,
            Reply::Later(pending) | Reply::Pipelined(pending) => life.runtime.run(&self.clock, pending)?,
        };
        let response = match answer {
            Answer::Send(response) => response,
            Answer::Silent => return Err(NoAnswer("silence".to_owned())),
            Answer::Close(reason) => return Err(NoAnswer(format!("closed: {reason}"))),
        };
        let mut bytes = BytesMut::new();
        for part in response.parts {
            match part {
                Part::Bytes(part) => bytes.put(part),
                Part::File(slice) => {
                    let mut read = vec![0; usize::try_from(slice.length).unwrap()];
                    // A range that cannot be read closes the connection, as in `net/`.
                    let done = slice.file.read_exact_at(&mut read, slice.position);
                    done.map_err(|error| NoAnswer(format!("closed: {error}")))?;
                    bytes.put(read.as_slice());
                }
            }
        }
        let mut bytes: Bytes = bytes.freeze().slice(4..);
        let version = <R::Response as HeaderVersion>::header_version(sent.version);
        let header = ResponseHeader::decode(&mut bytes, version).unwrap();
        assert_eq!(header.correlation_id, 7);
        let response = R::Response::decode(&mut bytes, sent.version).unwrap();
        assert!(bytes.is_empty(), "bytes behind an answer");
        Ok(response)
    }

    /// The answer to a request.
    pub(crate) fn ask<R: Request>(&self, request: &R, version: i16) -> Result<R::Response, NoAnswer> {
        self.finish(self.send(request, version))
    }
}

/// A request whose answer may be still to come.
pub(crate) struct Sent<R> {
    reply: Reply,
    version: i16,
    kind: std::marker::PhantomData<R>,
}

impl Runtime {
    fn new() -> Runtime {
        let idle = Arc::new(Idle::default());
        let told = idle.clone();
        let tokio = tokio::runtime::Builder::new_current_thread()
            .on_thread_park(move || {
                told.is_idle.store(true, Ordering::Relaxed);
                if let Some(waker) = told.waker.lock().unwrap().take() {
                    waker.wake();
                }
            })
            .build()
            .unwrap();
        Runtime { tokio, idle }
    }

    fn run<T>(&self, clock: &SimClock, future: impl Future<Output = T>) -> Result<T, NoAnswer> {
        self.run_for(clock, future, PATIENCE)
    }

    /// Runs a future; whenever nothing can go on, the clock moves to the next moment that somebody waits for.
    fn run_for<T>(
        &self,
        clock: &SimClock,
        future: impl Future<Output = T>,
        patience: Duration,
    ) -> Result<T, NoAnswer> {
        let mut future = pin!(future);
        let deadline = dohle::io::Clock::Sim(clock.clone()).now().plus(patience);
        self.idle.is_idle.store(false, Ordering::Relaxed);
        self.tokio.block_on(poll_fn(|context| {
            if let Poll::Ready(value) = future.as_mut().poll(context) {
                return Poll::Ready(Ok(value));
            }
            *self.idle.waker.lock().unwrap() = Some(context.waker().clone());
            if self.idle.is_idle.swap(false, Ordering::Relaxed) {
                match clock.next_deadline() {
                    Some(next) if next <= deadline => clock.advance_to(next),
                    Some(_) => return Poll::Ready(Err(NoAnswer(format!("nothing within {patience:?}")))),
                    None => return Poll::Ready(Err(NoAnswer("nobody waits for anything".to_owned()))),
                }
                context.waker().wake_by_ref();
            }
            Poll::Pending
        }))
    }
}
