//! How many connections there may be: `max.connections`, `max.connections.per.ip` and its overrides,
//! `max.connection.creation.rate`.

use crate::base::Instant;
use crate::config::NetworkSettings;
use crate::io::net;
use crate::metrics;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::Semaphore;
use tracing::warn;

/// The limits with the connections that count against them. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    all: Arc<All>,
    per_address: Arc<PerAddress>,
}

/// Connections in all.
#[derive(Debug)]
struct All {
    permits: Arc<Semaphore>,
    limit: Mutex<usize>,
    /// Permits that go when their connections end, because the limit was lowered.
    surplus: AtomicUsize,
}

impl All {
    fn set_limit(&self, limit: usize) {
        let mut known = self.limit.lock();
        if limit >= *known {
            let more = limit - *known;
            // First what was to go stays.
            let kept = self.surplus.load(Ordering::Acquire).min(more);
            self.surplus.fetch_sub(kept, Ordering::AcqRel);
            self.permits.add_permits(more - kept);
        } else {
            let less = *known - limit;
            let gone = self.permits.forget_permits(less);
            self.surplus.fetch_add(less - gone, Ordering::AcqRel);
        }
        *known = limit;
    }

    fn give_back(&self, permit: OwnedSemaphorePermit) {
        let goes = self.surplus.try_update(Ordering::AcqRel, Ordering::Acquire, |left| left.checked_sub(1));
        if goes.is_ok() {
            permit.forget();
        }
    }
}

#[derive(Debug)]
struct PerAddress {
    limits: Mutex<(usize, HashMap<IpAddr, usize>)>,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// A connection that counts; dropped when it ends.
#[derive(Debug)]
pub(super) struct Slot {
    permit: Option<OwnedSemaphorePermit>,
    all: Arc<All>,
    per_address: Arc<PerAddress>,
    address: IpAddr,
    metrics: Arc<metrics::Listener>,
}

impl Limits {
    /// Reads the settings; names among the overrides are looked up now, and one that is unknown counts for nothing.
    pub(super) async fn new(settings: &NetworkSettings) -> Limits {
        let limits = Limits {
            all: Arc::new(All {
                permits: Arc::new(Semaphore::new(0)),
                limit: Mutex::new(0),
                surplus: AtomicUsize::new(0),
            }),
            per_address: Arc::new(PerAddress {
                limits: Mutex::new((0, HashMap::new())),
                open: Mutex::new(HashMap::new()),
            }),
        };
        limits.set(settings).await;
        limits
    }

    /// Puts other limits in force. Connections beyond them stay; new ones wait, or are refused.
    pub(super) async fn set(&self, settings: &NetworkSettings) {
        let mut overrides = HashMap::new();
        for (host, limit) in &settings.max_connections_per_ip_overrides {
            match net::resolve(host, 0).await {
                Ok(found) => overrides.extend(found.into_iter().map(|address| (address.ip(), count(*limit)))),
                Err(error) => warn!(host, %error, "no such host in max.connections.per.ip.overrides"),
            }
        }
        *self.per_address.limits.lock() = (count(settings.max_connections_per_ip), overrides);
        self.all.set_limit(count(settings.max_connections).min(Semaphore::MAX_PERMITS));
    }

    /// Counts a connection from this address; waits while there are too many in all, as Kafka's acceptor does.
    ///
    /// # Errors
    /// The limit, when the address has that many already.
    pub(super) async fn admit(
        &self,
        address: IpAddr,
        metrics: &Arc<metrics::Listener>,
    ) -> Result<Slot, usize> {
        let permits = Arc::clone(&self.all.permits);
        let permit = permits.acquire_owned().await.expect("the limit is never closed");
        let limit = {
            let limits = self.per_address.limits.lock();
            *limits.1.get(&address).unwrap_or(&limits.0)
        };
        let mut open = self.per_address.open.lock();
        let here = open.entry(address).or_default();
        if *here >= limit {
            if *here == 0 {
                open.remove(&address);
            }
            metrics.refused.inc();
            return Err(limit);
        }
        *here += 1;
        drop(open);
        metrics.accepted.inc();
        metrics.connections.inc();
        let (per_address, metrics) = (Arc::clone(&self.per_address), Arc::clone(metrics));
        Ok(Slot { permit: Some(permit), all: Arc::clone(&self.all), per_address, address, metrics })
    }
}

#[cfg(test)]
impl Limits {
    /// Addresses that something is remembered about.
    pub(super) fn addresses(&self) -> usize {
        self.per_address.open.lock().len()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.all.give_back(permit);
        }
        self.metrics.connections.dec();
        self.metrics.closed.inc();
        let mut open = self.per_address.open.lock();
        if let Some(here) = open.get_mut(&self.address) {
            *here -= 1;
            if *here == 0 {
                open.remove(&self.address);
            }
        }
    }
}

/// Paces the accepting of connections: so many a second, and that many at once after a pause.
#[derive(Debug)]
pub(super) struct Pace {
    /// When the next one would be due if they came evenly.
    due: Instant,
}

impl Pace {
    /// Nobody has come yet.
    pub(super) fn new(now: Instant) -> Pace {
        Pace { due: now }
    }

    /// Counts one more and says how long to wait before the next, at this many a second; 0 or less is taken as 1.
    pub(super) fn next(&mut self, per_second: i32, now: Instant) -> Duration {
        let per_second = u64::try_from(per_second).unwrap_or(1).max(1);
        let apart = Duration::from_nanos(1_000_000_000 / per_second);
        self.due = Instant(self.due.0.max(now.0)).plus(apart);
        // A second's worth may be ahead.
        self.due.since(now.plus(Duration::from_secs(1)))
    }
}

fn count(limit: i32) -> usize {
    usize::try_from(limit).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pace_lets_a_second_of_connections_through_and_then_one_at_a_time() {
        let now = Instant(5_000_000_000);
        let mut pace = Pace::new(now);
        for _ in 0..10 {
            assert_eq!(pace.next(10, now), Duration::ZERO);
        }
        assert_eq!(pace.next(10, now), Duration::from_millis(100));
        assert_eq!(pace.next(10, now.plus(Duration::from_secs(10))), Duration::ZERO);
    }

    #[tokio::test]
    async fn limits_change_while_connections_are_open() {
        let settings = |all: i32, each: i32| {
            let mut settings = crate::config::ServerConfig::new(&Default::default(), "m").unwrap().network;
            (settings.max_connections, settings.max_connections_per_ip) = (all, each);
            settings
        };
        let limits = Limits::new(&settings(2, 9)).await;
        let metrics = crate::metrics::Registry::new().net().listener("A");
        let address = "127.0.0.1".parse().unwrap();
        let one = limits.admit(address, &metrics).await.unwrap();
        let other = limits.admit(address, &metrics).await.unwrap();
        limits.set(&settings(1, 9)).await;
        drop(one);
        assert_eq!(limits.all.permits.available_permits(), 0, "one more is open than may be");
        limits.set(&settings(3, 1)).await;
        assert_eq!(limits.all.permits.available_permits(), 2);
        assert_eq!(limits.admit(address, &metrics).await.unwrap_err(), 1);
        drop(other);
        limits.set(&settings(0, 1)).await;
        limits.set(&settings(2, 1)).await;
        assert_eq!(limits.all.permits.available_permits(), 2);
        assert!(limits.admit(address, &metrics).await.is_ok());
    }
}
