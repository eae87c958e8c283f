//! Measurements of connections.

use crate::metrics::Counter;
use crate::metrics::Gauge;
use crate::metrics::registry::Collectors;
use prometheus::{IntCounterVec, IntGaugeVec};
use std::sync::Arc;

/// Handles of the connections' measurements that all listeners share.
#[derive(Clone, Debug)]
pub struct Net {
    /// Bytes that large requests in work hold.
    pub memory_used: Gauge,
    /// Bytes that requests in work may hold together.
    pub memory_limit: Gauge,
    /// Requests that had to wait for bytes that others held.
    pub memory_waits: Counter,
    connections: IntGaugeVec,
    accepted: IntCounterVec,
    closed: IntCounterVec,
    refused: IntCounterVec,
    delayed: IntCounterVec,
    closed_idle: IntCounterVec,
    closed_invalid: IntCounterVec,
    requests: IntCounterVec,
    received_bytes: IntCounterVec,
    sent_bytes: IntCounterVec,
}

/// Handles of one listener's measurements.
#[derive(Debug)]
pub struct Listener {
    /// Open connections.
    pub connections: Gauge,
    /// Connections accepted.
    pub accepted: Counter,
    /// Connections that ended, whoever ended them.
    pub closed: Counter,
    /// Connections refused by a limit.
    pub refused: Counter,
    /// Connections that had to wait because of `max.connection.creation.rate`.
    pub delayed: Counter,
    /// Connections closed because nothing came for `connections.max.idle.ms`.
    pub closed_idle: Counter,
    /// Connections closed because what came is not the Kafka protocol, or broke one of its limits.
    pub closed_invalid: Counter,
    /// Requests that came whole.
    pub requests: Counter,
    /// Bytes of requests.
    pub received_bytes: Counter,
    /// Bytes of answers.
    pub sent_bytes: Counter,
}

impl Net {
    pub(super) fn new(collectors: &mut Collectors) -> Net {
        const LABELS: &[&str] = &["listener"];
        const SOCKETS: &str = "kafka_server_socket_server_metrics_";
        let of_kafka = |name: &str| format!("{SOCKETS}{name}");
        let mut counter = |name: String, help| collectors.counters(name, LABELS, help);
        let (accepted, closed) = (
            counter(of_kafka("connection_creation_total"), "Connections accepted."),
            counter(of_kafka("connection_close_total"), "Connections that ended, whoever ended them."),
        );
        let closed_idle = counter(
            of_kafka("expired_connections_killed_count"),
            "Connections closed because nothing came for connections.max.idle.ms.",
        );
        let requests = counter(of_kafka("request_total"), "Requests that came whole.");
        let received_bytes = counter(of_kafka("incoming_byte_total"), "Bytes of requests.");
        let sent_bytes = counter(of_kafka("outgoing_byte_total"), "Bytes of answers.");
        let refused = counter(
            String::from("dohle_net_connections_refused_total"),
            "Connections refused by max.connections.per.ip.",
        );
        let delayed = counter(
            String::from("dohle_net_connections_delayed_total"),
            "Connections that had to wait because of max.connection.creation.rate.",
        );
        let closed_invalid = counter(
            String::from("dohle_net_connections_invalid_total"),
            "Connections closed because of bytes that are not a request, or a request that did not get on.",
        );
        Net {
            connections: collectors.gauges(of_kafka("connection_count"), LABELS, "Open connections."),
            memory_used: collectors.gauge(
                "kafka_network_socketserver_memorypoolused",
                "Bytes that requests in work hold; of each request those beyond 16 KiB.",
            ),
            memory_limit: collectors.gauge(
                "kafka_network_socketserver_memorypoolsize",
                "Bytes that requests in work may hold together (queued.max.request.bytes).",
            ),
            memory_waits: collectors.counter(
                "dohle_net_memory_waits_total",
                "Requests that had to wait because others held what queued.max.request.bytes allows.",
            ),
            accepted,
            closed,
            refused,
            delayed,
            closed_idle,
            closed_invalid,
            requests,
            received_bytes,
            sent_bytes,
        }
    }

    /// The handles of a listener, by its name. Fetch them once and keep them.
    pub fn listener(&self, name: &str) -> Arc<Listener> {
        let of = |counters: &IntCounterVec| counters.with_label_values(&[name]);
        Arc::new(Listener {
            connections: self.connections.with_label_values(&[name]),
            accepted: of(&self.accepted),
            closed: of(&self.closed),
            refused: of(&self.refused),
            delayed: of(&self.delayed),
            closed_idle: of(&self.closed_idle),
            closed_invalid: of(&self.closed_invalid),
            requests: of(&self.requests),
            received_bytes: of(&self.received_bytes),
            sent_bytes: of(&self.sent_bytes),
        })
    }
}
