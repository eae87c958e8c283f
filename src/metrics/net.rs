//! Measurements of connections.

use crate::metrics::Counter;
use crate::metrics::Gauge;
use crate::metrics::registry::Collectors;

/// Handles of the connections' measurements.
#[derive(Clone, Debug)]
pub struct Net {
    /// Open connections.
    pub connections: Gauge,
    /// Connections accepted since the start.
    pub accepted: Counter,
    /// Connections refused by a limit.
    pub refused: Counter,
    /// Connections closed because nothing came for `connections.max.idle.ms`.
    pub closed_idle: Counter,
    /// Connections closed because what came is not the Kafka protocol, or broke one of its limits.
    pub closed_invalid: Counter,
    /// Bytes of requests.
    pub received_bytes: Counter,
    /// Bytes of answers.
    pub sent_bytes: Counter,
}

impl Net {
    pub(super) fn new(collectors: &mut Collectors) -> Net {
        Net {
            connections: collectors
                .gauge("kafka_server_socket_server_metrics_connection_count", "Open connections."),
            accepted: collectors.counter(
                "kafka_server_socket_server_metrics_connection_creation_total",
                "Connections accepted since the start.",
            ),
            refused: collectors
                .counter("dohle_net_connections_refused_total", "Connections refused by a limit."),
            closed_idle: collectors.counter(
                "kafka_server_socket_server_metrics_expired_connections_killed_count",
                "Connections closed because they were idle for too long.",
            ),
            closed_invalid: collectors.counter(
                "dohle_net_connections_invalid_total",
                "Connections closed because of bytes that are not a request.",
            ),
            received_bytes: collectors.counter(
                "kafka_server_socket_server_metrics_incoming_byte_total",
                "Bytes of requests since the start.",
            ),
            sent_bytes: collectors.counter(
                "kafka_server_socket_server_metrics_outgoing_byte_total",
                "Bytes of answers since the start.",
            ),
        }
    }
}
