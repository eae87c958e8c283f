//! Measurements of requests, and of what all topics together take in and give out.

use crate::metrics::Counter;
use crate::metrics::Seconds;
use crate::metrics::registry::Collectors;
use prometheus::{HistogramVec, IntCounterVec};
use std::sync::Arc;
use std::sync::OnceLock;

/// Handles of the requests' measurements.
#[derive(Clone, Debug)]
pub struct Broker {
    /// Bytes of batches taken in.
    pub bytes_in: Counter,
    /// Bytes of batches given out.
    pub bytes_out: Counter,
    /// Records taken in.
    pub messages_in: Counter,
    /// Partitions of Produce requests that were refused.
    pub failed_produce: Counter,
    /// Partitions of Fetch requests that were refused.
    pub failed_fetch: Counter,
    received: IntCounterVec,
    seconds: HistogramVec,
    /// The handles of each API, by its key, once it was asked for.
    kept: Arc<[OnceLock<Request>]>,
}

/// API keys below this have their handles kept.
const KEPT: usize = 128;

/// Handles of one kind of request. Fetch it once and keep it.
#[derive(Clone, Debug)]
pub struct Request {
    /// Requests received.
    pub received: Counter,
    /// Time from the whole request to the whole answer.
    pub seconds: Seconds,
}

impl Broker {
    pub(super) fn new(collectors: &mut Collectors) -> Broker {
        let mut topics = |name: &str, help: &str| {
            collectors.counter(&format!("kafka_server_brokertopicmetrics_{name}_total"), help)
        };
        Broker {
            bytes_in: topics("bytesin", "Bytes of batches taken in since the start."),
            bytes_out: topics("bytesout", "Bytes of batches given out since the start."),
            messages_in: topics("messagesin", "Records taken in since the start."),
            failed_produce: topics("failedproducerequests", "Partitions whose Produce was refused."),
            failed_fetch: topics("failedfetchrequests", "Partitions whose Fetch was refused."),
            received: collectors.counters(
                "kafka_network_requestmetrics_requests_total",
                "Requests received since the start.",
                &["request"],
            ),
            seconds: collectors.seconds(
                "kafka_network_requestmetrics_total_seconds",
                "Time from the whole request to the whole answer.",
                &["request"],
            ),
            kept: (0..KEPT).map(|_| OnceLock::new()).collect(),
        }
    }

    /// The handles of the requests of one API, without a look-up by name; `None` for keys that Kafka does not have.
    pub fn request_of(&self, api_key: i16, name: &'static str) -> Option<&Request> {
        let slot = usize::try_from(api_key).ok().and_then(|key| self.kept.get(key))?;
        Some(slot.get_or_init(|| self.request(name)))
    }

    /// The handles of one kind of request, by Kafka's name of it, for example `Produce`.
    pub fn request(&self, name: &'static str) -> Request {
        Request {
            received: self.received.with_label_values(&[name]),
            seconds: self.seconds.with_label_values(&[name]),
        }
    }
}
