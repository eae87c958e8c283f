//! The life of one connection, and the order of its requests and answers.

use crate::base::Instant;
use crate::broker;
use crate::io::net::Stream;
use crate::metrics;
use crate::net::Handler;
use crate::net::budget::Budget;
use crate::net::limits::Slot;
use crate::net::listener::Service;
use crate::net::pending::Owed;
use crate::net::pending::Ready;
use crate::net::reader::Filled;
use crate::net::reader::Reader;
use crate::net::writer::Writer;
use crate::protocol::versions;
use bytes::BytesMut;
use std::borrow::Cow;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tracing::debug;
use tracing::info;
use tracing::warn;

/// A connection that is quiet for this long gives its buffer back.
const BUFFER_KEPT: Duration = Duration::from_secs(1);
/// A request that has begun must get on within this time.
const STALLED_AFTER: Duration = Duration::from_secs(30);
/// How often a request that comes in and holds bytes of the budget is looked at.
const HOLDER_SEEN_EVERY: Duration = Duration::from_secs(1);
/// What has to come between two such looks, in bytes, while others wait for the budget.
const HOLDER_BRINGS: u64 = 16 << 10;
/// How long the peer may take to notice the end.
const LINGER: Duration = Duration::from_millis(250);
/// What is read and thrown away meanwhile, in bytes.
const LINGER_BYTES: usize = 1 << 20;

/// One connection.
pub(super) struct Life<H> {
    service: Arc<Service<H>>,
    connection: Arc<broker::Connection>,
    stream: Stream,
    reader: Reader,
    owed: Owed,
    writer: Writer,
    last_activity: Instant,
    holder: Holder,
    /// The peer sends nothing more.
    ended: bool,
    /// How long it is held before it is closed, when it may not be served.
    refused_for: Duration,
    metrics: Arc<metrics::Listener>,
    #[expect(dead_code, reason = "held for its drop")]
    slot: Slot,
}

/// What was seen of the request that comes in, when it was last looked at as a holder of the budget.
#[derive(Clone, Copy, Debug)]
struct Holder {
    seen_at: Instant,
    received: u64,
}

/// Why a connection ends.
#[derive(Debug)]
enum End {
    /// The peer closed it, or it broke.
    Peer,
    /// Nothing came for `connections.max.idle.ms`.
    Idle,
    /// A request began and did not get on.
    Stalled,
    /// A request came in so slowly that others had to wait for the memory it holds.
    Hoarded,
    /// What came is not the Kafka protocol, or too long.
    Invalid(String),
    /// The broker wants it closed.
    Refused(Cow<'static, str>),
    /// An answer could not be sent.
    Unsent(io::Error),
    /// The broker ends.
    Shutdown,
}

impl End {
    /// Whether nobody needs to hear of it.
    fn is_quiet(&self) -> bool {
        match self {
            End::Peer | End::Idle | End::Shutdown => true,
            End::Unsent(error) => error.kind() != io::ErrorKind::UnexpectedEof,
            End::Stalled | End::Hoarded | End::Invalid(_) | End::Refused(_) => false,
        }
    }
}

enum Event {
    Ending,
    Ready(Ready),
    Filled(io::Result<Filled>),
    Alarm,
}

impl<H: Handler> Life<H> {
    pub(super) fn new(
        service: Arc<Service<H>>,
        (stream, refused_for): (Stream, Duration),
        connection: broker::Connection,
        (slot, metrics): (Slot, Arc<metrics::Listener>),
    ) -> Life<H> {
        Life {
            reader: Reader::new(service.request_max_bytes),
            writer: Writer::new(service.clock.clone(), service.patience),
            last_activity: service.clock.now(),
            holder: Holder { seen_at: service.clock.now(), received: 0 },
            connection: Arc::new(connection),
            owed: Owed::default(),
            ended: false,
            refused_for,
            metrics,
            service,
            stream,
            slot,
        }
    }

    /// Lives until the peer, the broker or the shutdown token ends it.
    pub(super) async fn run(mut self) {
        if !self.refused_for.is_zero() {
            let service = Arc::clone(&self.service);
            tokio::select! {
                () = service.shutdown.triggered() => {}
                () = service.clock.sleep(self.refused_for) => {}
            }
            return;
        }
        let end = self.live().await;
        self.note(&end);
        if !matches!(end, End::Peer | End::Unsent(_)) {
            self.close_gently().await;
        }
    }

    async fn live(&mut self) -> End {
        let service = Arc::clone(&self.service);
        let mut ending = pin!(service.shutdown.triggered());
        let mut draining = false;
        let mut armed_until = self.deadline();
        let mut alarm = pin!(service.clock.sleep_until(armed_until));
        loop {
            if !draining && let Err(error) = self.take_requests() {
                return End::Invalid(error.to_string());
            }
            if self.owed.is_empty() && draining {
                return End::Shutdown;
            }
            if self.owed.is_empty() && self.ended && !self.has_whole_request() {
                return End::Peer;
            }
            let deadline = self.deadline();
            if deadline < armed_until {
                armed_until = deadline;
                alarm.set(service.clock.sleep_until(armed_until));
            }
            let wants_input = !draining && self.wants_input();
            let listens = !wants_input && !self.ended && self.reader.may_listen();
            let event = tokio::select! {
                biased;
                () = &mut ending, if !draining => Event::Ending,
                ready = self.owed.ready(), if !self.owed.is_empty() => Event::Ready(ready),
                filled = input(&mut self.reader, &mut self.stream, &service.budget, listens),
                    if wants_input || listens => Event::Filled(filled),
                () = &mut alarm => Event::Alarm,
            };
            let now = service.clock.now();
            match event {
                Event::Ending => draining = true,
                Event::Ready(ready) => {
                    self.last_activity = now;
                    if let Some(end) = self.answer(ready).await {
                        return end;
                    }
                    self.last_activity = service.clock.now();
                }
                Event::Filled(filled) => {
                    self.last_activity = now;
                    if let Some(end) = self.take_note(filled) {
                        return end;
                    }
                }
                Event::Alarm => {
                    if let Some(end) = self.quiet(now) {
                        return end;
                    }
                    armed_until = self.deadline();
                    alarm.set(service.clock.sleep_until(armed_until));
                }
            }
        }
    }

    /// Hands over every request that is here and whose turn it is, and has their records written.
    fn take_requests(&mut self) -> Result<(), crate::protocol::frame::Error> {
        let mut held = false;
        let outcome = self.take_burst(&mut held);
        if held {
            self.service.handler.write_held(&self.connection);
        }
        outcome
    }

    fn take_burst(&mut self, held: &mut bool) -> Result<(), crate::protocol::frame::Error> {
        while self.owed.may_take_more() && self.muted().is_none() {
            match self.reader.next_key()? {
                None => break,
                // Anything but a Produce sees what the requests before it did: it waits until they are answered.
                Some(key) if key != versions::PRODUCE && !self.owed.is_empty() => break,
                Some(_) => {}
            }
            let Some((frame, charge)) = self.reader.next(&self.service.budget)? else { break };
            self.metrics.requests.inc();
            self.metrics.received_bytes.inc_by(wide(frame.len().saturating_add(4)));
            let followed = matches!(self.reader.next_key(), Ok(Some(versions::PRODUCE)));
            *held |= followed;
            let (frame, lease) = charge.tie_to(frame);
            let reply = self.service.handler.handle(&self.connection, frame, followed);
            self.owed.push(reply, lease);
        }
        Ok(())
    }

    /// Whether more bytes (or more budget) could lead to a request that may be taken now.
    fn wants_input(&self) -> bool {
        if !self.owed.may_take_more() || self.muted().is_some() {
            return false;
        }
        match self.reader.next_key() {
            // Whole, but not its turn, unless only the budget is missing.
            Ok(Some(key)) => key == versions::PRODUCE || self.owed.is_empty(),
            Ok(None) | Err(_) => !self.ended,
        }
    }

    /// Until when the peer has to pause, if it has to.
    fn muted(&self) -> Option<Instant> {
        let until = self.connection.muted_until()?;
        Some(until).filter(|until| *until > self.service.clock.now())
    }

    fn has_whole_request(&self) -> bool {
        matches!(self.reader.next_key(), Ok(Some(_)))
    }

    async fn answer(&mut self, ready: Ready) -> Option<End> {
        match self.send(ready.responses).await {
            Ok(bytes) => self.metrics.sent_bytes.inc_by(bytes),
            Err(error) => return Some(End::Unsent(error)),
        }
        ready.close.map(End::Refused)
    }

    async fn send(&mut self, responses: Vec<crate::protocol::Response>) -> io::Result<u64> {
        for response in responses {
            self.writer.add(&mut self.stream, response).await?;
        }
        self.writer.flush(&mut self.stream).await
    }

    fn take_note(&mut self, filled: io::Result<Filled>) -> Option<End> {
        match filled {
            Ok(Filled::Bytes(_) | Filled::Covered) => {}
            Ok(Filled::End) => self.ended = true,
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                return Some(End::Invalid(error.to_string()));
            }
            Err(error) => {
                debug!(peer = %self.connection.peer, %error, "connection broke");
                self.ended = true;
            }
        }
        None
    }

    /// When the connection has to be looked at if nothing happens until then.
    fn deadline(&self) -> Instant {
        let patience = if !self.owed.is_empty() {
            if self.ended { self.service.idle_max.min(STALLED_AFTER) } else { self.service.idle_max }
        } else if self.reader.is_within_request() {
            self.service.idle_max.min(STALLED_AFTER)
        } else if self.reader.holds_memory() {
            self.service.idle_max.min(BUFFER_KEPT)
        } else {
            self.service.idle_max
        };
        let deadline = self.last_activity.plus(patience);
        if let Some(until) = self.muted() {
            return deadline.min(until);
        }
        if self.reader.holds_budget() {
            return deadline.min(self.holder.seen_at.max(self.last_activity).plus(HOLDER_SEEN_EVERY));
        }
        deadline
    }

    /// Whether the peer brings next to nothing while others wait for the memory that its request holds.
    fn hoards(&mut self, now: Instant) -> bool {
        let before =
            std::mem::replace(&mut self.holder, Holder { seen_at: now, received: self.reader.received() });
        let waited = self.reader.take_waited();
        self.reader.holds_budget()
            && !waited
            && !self.has_whole_request()
            && self.service.budget.is_scarce()
            && self.holder.received - before.received < HOLDER_BRINGS
    }

    /// The alarm: nothing may have happened for a while.
    fn quiet(&mut self, now: Instant) -> Option<End> {
        if self.muted().is_some() {
            // It is the broker that keeps the peer waiting.
            self.last_activity = now;
            return None;
        }
        if self.hoards(now) {
            return Some(End::Hoarded);
        }
        if !self.owed.is_empty() {
            if self.ended && now.since(self.last_activity) >= self.service.idle_max.min(STALLED_AFTER) {
                // It may have closed only its own side, but an answer that takes this long has nobody to read it.
                return Some(End::Peer);
            }
            // A connection with a request in flight is not idle.
            self.last_activity = now;
            return None;
        }
        if self.reader.waits_for_budget() {
            // It is the broker that keeps the peer waiting.
            self.last_activity = now;
            return None;
        }
        let quiet_for = now.since(self.last_activity);
        if self.reader.is_within_request() && quiet_for >= self.service.idle_max.min(STALLED_AFTER) {
            return Some(End::Stalled);
        }
        if quiet_for >= self.service.idle_max {
            return Some(End::Idle);
        }
        if quiet_for >= BUFFER_KEPT {
            self.reader.release();
        }
        None
    }

    /// One line, at the level the end deserves while there are not too many, and its counter.
    fn note(&self, end: &End) {
        let (peer, listener) = (self.connection.peer, &self.connection.listener);
        let metrics = &self.metrics;
        match end {
            End::Idle => {
                metrics.closed_idle.inc();
                debug!(%peer, %listener, "closed idle connection");
                return;
            }
            End::Stalled | End::Hoarded | End::Invalid(_) => metrics.closed_invalid.inc(),
            End::Peer | End::Refused(_) | End::Unsent(_) | End::Shutdown => {}
        }
        if end.is_quiet() || !self.may_tell() {
            debug!(%peer, %listener, ?end, "connection ended");
            return;
        }
        match end {
            End::Stalled => info!(%peer, %listener, "closed connection whose request did not get on"),
            End::Hoarded => {
                info!(%peer, %listener, "closed connection whose request came too slowly while others waited for memory");
            }
            End::Invalid(reason) => {
                warn!(%peer, %listener, reason, "closed connection that does not speak the Kafka protocol");
            }
            End::Refused(reason) => info!(%peer, %listener, %reason, "closed connection"),
            End::Unsent(error) => {
                info!(%peer, %listener, %error, "closed connection in the middle of an answer");
            }
            End::Peer | End::Idle | End::Shutdown => {}
        }
    }

    fn may_tell(&self) -> bool {
        let asked = self.service.lines.ask(self.service.clock.now());
        if let Some(left_out @ 1..) = asked {
            info!(left_out, "lines about closed connections were left out");
        }
        asked.is_some()
    }

    /// Says that nothing more comes and waits a little for the peer to do the same: closing at once, with bytes
    /// unread, would reset the connection and could take answers with it that are still on their way.
    async fn close_gently(&mut self) {
        if self.stream.shutdown_write().is_err() {
            return;
        }
        self.reader.release();
        let clock = self.service.clock.clone();
        // The peer closed, sent too much, or took too long: the same to us.
        clock.timeout(LINGER, discard(&mut self.stream)).await.unwrap_or_default();
    }
}

/// More bytes (or budget) for the next request; when it is not its turn, only what tells that the peer is there.
async fn input(
    reader: &mut Reader,
    stream: &mut Stream,
    budget: &Budget,
    listens: bool,
) -> io::Result<Filled> {
    if listens { reader.listen(stream).await } else { reader.fill(stream, budget).await }
}

/// Reads until the peer closes, and keeps nothing.
async fn discard(stream: &mut Stream) {
    let mut waste = BytesMut::new();
    let mut left = LINGER_BYTES;
    while let Ok(received @ 1..) = stream.read_into(&mut waste, 4096).await {
        waste.clear();
        left = left.saturating_sub(received);
        if left == 0 {
            return;
        }
    }
}

fn wide(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}
