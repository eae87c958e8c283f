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
use std::time::Duration;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::Semaphore;
use tracing::warn;

/// The limits with the connections that count against them. Clones share it.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    all: Arc<Semaphore>,
    per_address: Arc<PerAddress>,
}

#[derive(Debug)]
struct PerAddress {
    limit: usize,
    overrides: HashMap<IpAddr, usize>,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// A connection that counts; dropped when it ends.
#[derive(Debug)]
pub(super) struct Slot {
    #[expect(dead_code, reason = "held for its drop")]
    permit: OwnedSemaphorePermit,
    per_address: Arc<PerAddress>,
    address: IpAddr,
    metrics: Arc<metrics::Listener>,
}

impl Limits {
    /// Reads the settings; names among the overrides are looked up now, and one that is unknown counts for nothing.
    pub(super) async fn new(settings: &NetworkSettings) -> Limits {
        let mut overrides = HashMap::new();
        for (host, limit) in &settings.max_connections_per_ip_overrides {
            match net::resolve(host, 0).await {
                Ok(found) => overrides.extend(found.into_iter().map(|address| (address.ip(), count(*limit)))),
                Err(error) => warn!(host, %error, "no such host in max.connections.per.ip.overrides"),
            }
        }
        let per_address = PerAddress {
            limit: count(settings.max_connections_per_ip),
            overrides,
            open: Mutex::new(HashMap::new()),
        };
        Limits {
            all: Arc::new(Semaphore::new(count(settings.max_connections).min(Semaphore::MAX_PERMITS))),
            per_address: Arc::new(per_address),
        }
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
        let permit = Arc::clone(&self.all).acquire_owned().await.expect("the limit is never closed");
        let limit = *self.per_address.overrides.get(&address).unwrap_or(&self.per_address.limit);
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
        Ok(Slot { permit, per_address, address, metrics })
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
    per_second: u64,
    /// When the next one would be due if they came evenly.
    due: Instant,
}

impl Pace {
    /// A pace of `per_second` connections; 0 or less is taken as 1.
    pub(super) fn new(per_second: i32, now: Instant) -> Pace {
        Pace { per_second: u64::try_from(per_second).unwrap_or(1).max(1), due: now }
    }

    /// Counts one more and says how long to wait before the next.
    pub(super) fn next(&mut self, now: Instant) -> Duration {
        let apart = Duration::from_nanos(1_000_000_000 / self.per_second);
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
        let mut pace = Pace::new(10, now);
        for _ in 0..10 {
            assert_eq!(pace.next(now), Duration::ZERO);
        }
        assert_eq!(pace.next(now), Duration::from_millis(100));
        assert_eq!(pace.next(now.plus(Duration::from_secs(10))), Duration::ZERO);
    }
}
