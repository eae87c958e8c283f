//! Measurements of requests and fetch sessions.

use crate::metrics::Counter;
use crate::metrics::definition::Definition;
use crate::metrics::family::Family;
use crate::metrics::family::Page;
use crate::metrics::family::number;
use crate::metrics::registry::Collectors;
use crate::metrics::spread;
use crate::metrics::spread::Spread;
use crate::metrics::txn::Transacting;
use std::sync::Arc;
use std::sync::OnceLock;

/// API keys below this have a place.
const KEYS: usize = 128;

/// Handles of the requests' measurements.
#[derive(Clone, Debug)]
pub struct Broker {
    /// Produce requests that had to wait because the disk was behind.
    pub produce_waits: Counter,
    /// Transactions.
    pub transacting: Transacting,
    /// The measurements of each API, by its key, once it was asked for.
    requests: Arc<[OnceLock<Request>]>,
    requests_shown: Family,
    times_shown: Definition,
    sizes_shown: Definition,
    sessions: Family,
    session_partitions: Family,
    session_evictions: Family,
}

/// Handles of one kind of request.
#[derive(Clone, Debug)]
pub struct Request {
    name: &'static str,
    /// Time from the whole request to the whole answer.
    pub times: Spread,
    /// Bytes of a request, without the length before it.
    pub sizes: Spread,
}

/// The fetch sessions that are kept at this moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sessions {
    /// How many there are.
    pub count: usize,
    /// Partitions that they remember together.
    pub partitions: usize,
    /// Sessions that had to go for another one.
    pub evicted: u64,
}

impl Broker {
    pub(super) fn new(collectors: &mut Collectors) -> Broker {
        const LABELS: &[&str] = &["request"];
        let mut session = |name: &str, help| {
            collectors.looked_up_gauge(format!("kafka_server_fetchsessioncache_{name}"), &[], help)
        };
        let sessions = session("numincrementalfetchsessions", "Fetch sessions that are kept.");
        let session_partitions = session(
            "numincrementalfetchpartitionscached",
            "Partitions that fetch sessions remember, over all sessions.",
        );
        Broker {
            produce_waits: collectors.counter(
                "dohle_broker_produce_waits_total",
                "Produce requests that had to wait because the disk was behind.",
            ),
            transacting: Transacting::new(collectors),
            requests: (0..KEYS).map(|_| OnceLock::new()).collect(),
            requests_shown: collectors.looked_up_counter(
                String::from("kafka_network_requestmetrics_requests_total"),
                LABELS,
                "Requests that were answered.",
            ),
            times_shown: collectors.spread(
                "kafka_network_requestmetrics_totaltimems",
                LABELS,
                "Milliseconds from the whole request to the whole answer, with all waiting.",
            ),
            sizes_shown: collectors.spread(
                "kafka_network_requestmetrics_requestbytes",
                LABELS,
                "Sizes of requests in bytes.",
            ),
            sessions,
            session_partitions,
            session_evictions: collectors.looked_up_counter(
                String::from("kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total"),
                &[],
                "Fetch sessions that had to go for another one.",
            ),
        }
    }

    /// The handles of the requests of one API, without a look-up by name; `None` for keys that Kafka does not have.
    pub fn request_of(&self, api_key: i16, name: &'static str) -> Option<&Request> {
        let slot = usize::try_from(api_key).ok().and_then(|key| self.requests.get(key))?;
        Some(slot.get_or_init(|| Request { name, times: Spread::times(), sizes: Spread::sizes() }))
    }

    pub(super) fn show(&self, page: &mut Page, sessions: Option<Sessions>) {
        self.transacting.show(page);
        let requests: Vec<&Request> = self.requests.iter().filter_map(OnceLock::get).collect();
        let labels: Vec<[&str; 1]> = requests.iter().map(|request| [request.name]).collect();
        let each = || labels.iter().map(<[&str; 1]>::as_slice).zip(&requests);
        let counts = each().map(|(labels, request)| (labels, number(request.times.count())));
        self.requests_shown.show(page, counts);
        spread::show(page, &self.times_shown, each().map(|(labels, request)| (labels, &request.times)));
        spread::show(page, &self.sizes_shown, each().map(|(labels, request)| (labels, &request.sizes)));
        if let Some(Sessions { count, partitions, evicted }) = sessions {
            self.sessions.show_one(page, wide(count));
            self.session_partitions.show_one(page, wide(partitions));
            self.session_evictions.show_one(page, number(evicted));
        }
    }
}

fn wide(count: usize) -> f64 {
    number(u64::try_from(count).unwrap_or(u64::MAX))
}
