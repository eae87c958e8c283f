//! What clients have used, and how long those beyond their limit have to pause.

use super::bucket::Mean;
use super::bucket::Rate;
use super::bucket::TokenBucket;
use super::bucket::Windows;
use super::limits::Kind;
use super::limits::Limit;
use super::limits::Limits;
use crate::base::Instant;
use crate::cluster::Image;
use crate::cluster::Publisher;
use crate::cluster::command::Allowance;
use crate::config::QuotaSettings;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::net;
use crate::io::task;
use crate::io::task::Task;
use arc_swap::ArcSwap;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU8;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tracing::warn;

/// How many clients, and addresses, are counted apart for each kind of limit. More share one count, so that a client
/// gains nothing by calling itself differently each time.
const ENTITIES_MAX: usize = 10_000;
/// The bit of limits on new connections, beside those of the kinds.
const CONNECTIONS: u8 = 1 << 7;

/// A client, as far as limits look at it.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// Who it has proved to be; `ANONYMOUS` on a listener without authentication.
    pub user: &'a str,
    /// What it calls itself, empty when it does not say.
    pub client_id: &'a str,
}

/// User and client id, each empty where the limit is shared over it.
type Key = (String, String);

/// All limits with what was used of them. Cheap to clone; clones share it.
#[derive(Clone, Debug)]
pub struct Quotas {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    windows: Windows,
    mutation_windows: Windows,
    /// One bit for each kind that has limits at all.
    kinds: AtomicU8,
    limits: ArcSwap<Limits>,
    addresses: ArcSwap<HashMap<IpAddr, f64>>,
    rates: [Mutex<Entities<Key, Use>>; 3],
    mutations: Mutex<Entities<Key, TokenBucket>>,
    connections: Mutex<Entities<IpAddr, Rate>>,
}

/// What one client has used, and how long it had to pause.
#[derive(Debug, Default)]
struct Use {
    rate: Rate,
    pauses: Mean,
}

/// What a client whose use is limited did in the last windows.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Of what.
    pub kind: Kind,
    /// The user; empty where the limit is not by user.
    pub user: String,
    /// What the client calls itself; empty where the limit is not by client id.
    pub client_id: String,
    /// Units a second.
    pub rate: f64,
    /// The mean of the pauses, in milliseconds; `None` where there were none.
    pub pause_ms: Option<f64>,
}

/// What each client has used.
#[derive(Debug)]
struct Entities<K, M> {
    own: HashMap<K, M>,
    /// Of all that found no room.
    others: M,
    swept: Instant,
}

impl<K: std::hash::Hash + Eq, M> Entities<K, M> {
    fn new(others: M, now: Instant) -> Entities<K, M> {
        Entities { own: HashMap::new(), others, swept: now }
    }

    /// The count of `key`. Those that are idle tell nothing, and make room; no more often than once a window.
    fn get(
        &mut self,
        key: K,
        (length, now): (Duration, Instant),
        fresh: impl FnOnce() -> M,
        is_idle: impl Fn(&mut M) -> bool,
    ) -> &mut M {
        if self.own.len() >= ENTITIES_MAX && !self.own.contains_key(&key) {
            if now.since(self.swept) >= length {
                self.swept = now;
                self.own.retain(|_, meter| !is_idle(meter));
            }
            if self.own.len() >= ENTITIES_MAX {
                return &mut self.others;
            }
        }
        self.own.entry(key).or_insert_with(fresh)
    }
}

fn windows(count: i32, seconds: i32) -> Windows {
    let seconds = u64::try_from(seconds).unwrap_or(1).max(1);
    Windows { count: u32::try_from(count).unwrap_or(1).max(1), length: Duration::from_secs(seconds) }
}

impl Quotas {
    /// No limits, until [`Quotas::update`] or [`Quotas::follow`] tell of some.
    pub fn new(settings: &QuotaSettings, clock: Clock) -> Quotas {
        let now = clock.now();
        let rates = || Mutex::new(Entities::new(Use::default(), now));
        Quotas {
            shared: Arc::new(Shared {
                windows: windows(settings.window_num, settings.window_seconds),
                mutation_windows: windows(settings.mutation_window_num, settings.mutation_window_seconds),
                kinds: AtomicU8::new(0),
                limits: ArcSwap::default(),
                addresses: ArcSwap::default(),
                rates: [rates(), rates(), rates()],
                mutations: Mutex::new(Entities::new(TokenBucket::new(now), now)),
                connections: Mutex::new(Entities::new(Rate::default(), now)),
                clock,
            }),
        }
    }

    /// Follows the published images until the token is triggered.
    pub fn follow(&self, publisher: &Publisher, shutdown: Shutdown) -> Task<()> {
        let (quotas, mut images) = (self.clone(), publisher.watch());
        task::spawn("quotas", async move {
            let mut seen = images.borrow_and_update().clone();
            loop {
                tokio::select! {
                    biased;
                    () = shutdown.triggered() => return,
                    changed = images.changed() => if changed.is_err() { return },
                }
                let image = images.borrow_and_update().clone();
                if !image.same_security(&seen) {
                    quotas.update(&image).await;
                }
                seen = image;
            }
        })
    }

    /// Lets this image's limits count. Names among the addresses are looked up now.
    pub async fn update(&self, image: &Image) {
        let limits = Limits::of(image);
        let mut addresses = HashMap::new();
        for (host, rate) in &limits.connections {
            match net::resolve(host, 0).await {
                Ok(found) => {
                    addresses.extend(found.into_iter().map(|found| (found.ip().to_canonical(), *rate)))
                }
                Err(error) => warn!(host, %error, "no such host in a limit on connections"),
            }
        }
        let mut kinds = 0;
        for kind in Kind::ALL {
            if !limits.rates(kind).is_empty() {
                kinds |= bit(kind);
            }
        }
        if !addresses.is_empty() || limits.connections_default.is_some() {
            kinds |= CONNECTIONS;
        }
        let limits = Arc::new(limits);
        self.shared.limits.store(Arc::clone(&limits));
        // Who is not limited any more is not measured any more.
        for kind in [Kind::Produce, Kind::Fetch, Kind::Request] {
            if let Some(entities) = self.shared.uses(kind) {
                let rates = limits.rates(kind);
                entities.lock().own.retain(|(user, client_id), _| rates.counts(user, client_id));
            }
        }
        self.shared.addresses.store(Arc::new(addresses));
        self.shared.kinds.store(kinds, Ordering::Release);
    }

    /// Whether any client has a limit of this kind.
    pub fn has(&self, kind: Kind) -> bool {
        self.shared.kinds.load(Ordering::Acquire) & bit(kind) != 0
    }

    /// Counts an amount (bytes, or percent of a second) and says how long the client has to pause. One that is to
    /// pause for its use of workers does so for no longer than a window.
    pub fn record(&self, kind: Kind, who: Who<'_>, amount: f64) -> Duration {
        self.with_use(kind, who, |used, windows, limit, now| {
            used.rate.record(windows, amount, now);
            let pause = used.rate.pause(windows, limit, now);
            let pause = if kind == Kind::Request { pause.min(windows.length) } else { pause };
            if !pause.is_zero() {
                used.pauses.record(windows, pause.as_secs_f64() * 1000.0, now);
            }
            pause
        })
        .unwrap_or_default()
    }

    /// Takes back an amount that was counted and then not sent.
    pub fn take_back(&self, kind: Kind, who: Who<'_>, amount: f64) {
        self.with_use(kind, who, |used, windows, _, now| used.rate.record(windows, -amount, now));
    }

    /// The most that a client could be sent in all windows without having to pause; `None` without a limit.
    pub fn most_in_windows(&self, kind: Kind, who: Who<'_>) -> Option<f64> {
        if !self.has(kind) {
            return None;
        }
        let limit = self.shared.limits.load().rates(kind).of(who.user, who.client_id)?;
        Some(limit.rate * self.shared.windows.whole_seconds())
    }

    /// The tokens that a client's changes of topics are paid with; `None` without a limit.
    pub fn allowance(&self, who: Who<'_>) -> Option<Allowance> {
        self.with_bucket(who, |bucket, windows, limit, now| bucket.refill(windows, limit, now).clone())
    }

    /// How long until the client has tokens again.
    pub fn mutation_pause(&self, who: Who<'_>) -> Duration {
        self.with_bucket(who, TokenBucket::pause).unwrap_or_default()
    }

    /// Counts a new connection; more than nothing when it comes too early and must not be served. Then it is not
    /// counted, and is closed after that long, so that the client does not try again at once (KIP-612).
    pub fn connection(&self, address: IpAddr) -> Duration {
        let shared = &self.shared;
        if shared.kinds.load(Ordering::Acquire) & CONNECTIONS == 0 {
            return Duration::ZERO;
        }
        let address = address.to_canonical();
        let limit =
            shared.addresses.load().get(&address).copied().or(shared.limits.load().connections_default);
        let Some(limit) = limit else { return Duration::ZERO };
        let (windows, now) = (shared.windows, shared.clock.now());
        let mut connections = shared.connections.lock();
        let idle = |rate: &mut Rate| rate.is_idle(windows, now);
        let rate = connections.get(address, (windows.length, now), Rate::default, idle);
        rate.record(windows, 1.0, now);
        let pause = rate.pause(windows, limit, now);
        if !pause.is_zero() {
            rate.record(windows, -1.0, now);
        }
        pause.min(windows.length)
    }

    /// What clients with limits did in the last windows, by kind and name, for at most `max` of each kind.
    pub fn figures(&self, max: usize) -> Vec<Figure> {
        let (windows, now) = (self.shared.windows, self.shared.clock.now());
        let kinds = [Kind::Produce, Kind::Fetch, Kind::Request];
        let mut figures = Vec::new();
        for (kind, entities) in kinds.into_iter().zip(&self.shared.rates) {
            let mut entities = entities.lock();
            let mut known: Vec<(&Key, &mut Use)> = entities.own.iter_mut().collect();
            known.sort_unstable_by_key(|(key, _)| *key);
            figures.extend(known.into_iter().take(max).map(|((user, client_id), used)| Figure {
                kind,
                user: user.clone(),
                client_id: client_id.clone(),
                rate: used.rate.rate(windows, now),
                pause_ms: used.pauses.value(windows, now),
            }));
        }
        figures
    }

    fn with_use<T>(
        &self,
        kind: Kind,
        who: Who<'_>,
        act: impl FnOnce(&mut Use, Windows, f64, Instant) -> T,
    ) -> Option<T> {
        if !self.has(kind) {
            return None;
        }
        let shared = &self.shared;
        let entities = shared.uses(kind)?;
        let limit = shared.limits.load().rates(kind).of(who.user, who.client_id)?;
        let (windows, now) = (shared.windows, shared.clock.now());
        let mut entities = entities.lock();
        let idle = |used: &mut Use| used.rate.is_idle(windows, now);
        let used = entities.get(key(limit, who), (windows.length, now), Use::default, idle);
        Some(act(used, windows, limit.rate, now))
    }

    fn with_bucket<T>(
        &self,
        who: Who<'_>,
        act: impl FnOnce(&mut TokenBucket, Windows, f64, Instant) -> T,
    ) -> Option<T> {
        if !self.has(Kind::ControllerMutation) {
            return None;
        }
        let shared = &self.shared;
        let limit = shared.limits.load().rates(Kind::ControllerMutation).of(who.user, who.client_id)?;
        let (windows, now) = (shared.mutation_windows, shared.clock.now());
        let mut buckets = shared.mutations.lock();
        let idle = |bucket: &mut TokenBucket| bucket.is_full(windows, limit.rate, now);
        let fresh = || TokenBucket::new(now);
        let bucket = buckets.get(key(limit, who), (windows.length, now), fresh, idle);
        Some(act(bucket, windows, limit.rate, now))
    }

    #[cfg(test)]
    pub(super) fn counted(&self) -> usize {
        self.shared.rates.iter().map(|rates| rates.lock().own.len()).sum()
    }
}

impl Shared {
    fn uses(&self, kind: Kind) -> Option<&Mutex<Entities<Key, Use>>> {
        let [produce, fetch, request] = &self.rates;
        match kind {
            Kind::Produce => Some(produce),
            Kind::Fetch => Some(fetch),
            Kind::Request => Some(request),
            Kind::ControllerMutation => None,
        }
    }
}

fn key(limit: Limit, who: Who<'_>) -> Key {
    let part = |counts: bool, name: &str| if counts { name.to_owned() } else { String::new() };
    (part(limit.by_user, who.user), part(limit.by_client, who.client_id))
}

fn bit(kind: Kind) -> u8 {
    match kind {
        Kind::Produce => 1,
        Kind::Fetch => 2,
        Kind::Request => 4,
        Kind::ControllerMutation => 8,
    }
}
