//! Settings of listeners, connections and requests.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::List, "advertised.listeners", None).doc(""),
    Definition::new(Kind::Long, "connections.max.idle.ms", Some("600000")).doc(""),
    Definition::new(Kind::Int, "delete.records.purgatory.purge.interval.requests", Some("1")).doc(""),
    Definition::new(Kind::Int, "fetch.max.bytes", Some("57671680")).at_least(1024).doc(""),
    Definition::new(Kind::Int, "fetch.purgatory.purge.interval.requests", Some("1000")).doc(""),
    Definition::new(Kind::String, "inter.broker.listener.name", None).doc(""),
    Definition::new(
        Kind::String,
        "listener.security.protocol.map",
        Some("SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"),
    )
    .mode(Mode::PerBroker)
    .doc(""),
    Definition::new(Kind::List, "listeners", Some("PLAINTEXT://localhost:9092"))
        .range(Range::NotEmpty)
        .mode(Mode::PerBroker)
        .doc(""),
    Definition::new(Kind::Int, "max.connection.creation.rate", Some("2147483647"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "max.connections", Some("2147483647"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "max.connections.per.ip", Some("2147483647"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::String, "max.connections.per.ip.overrides", Some(""))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "max.incremental.fetch.session.cache.slots", Some("1000")).at_least(0).doc(""),
    Definition::new(Kind::Int, "max.request.partition.size.limit", Some("2000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "num.io.threads", Some("8")).at_least(1).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Int, "num.network.threads", Some("3")).at_least(1).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Long, "queued.max.request.bytes", Some("-1")).doc(""),
    Definition::new(Kind::Int, "queued.max.requests", Some("500")).at_least(1).doc(""),
    Definition::new(Kind::Int, "request.timeout.ms", Some("30000")).doc(""),
    Definition::new(Kind::Long, "socket.connection.setup.timeout.max.ms", Some("30000")).doc(""),
    Definition::new(Kind::Long, "socket.connection.setup.timeout.ms", Some("10000")).doc(""),
    Definition::new(Kind::Int, "socket.listen.backlog.size", Some("50")).at_least(1).doc(""),
    Definition::new(Kind::Int, "socket.receive.buffer.bytes", Some("102400")).doc(""),
    Definition::new(Kind::Int, "socket.request.max.bytes", Some("104857600")).at_least(1).doc(""),
    Definition::new(Kind::Int, "socket.send.buffer.bytes", Some("102400")).doc(""),
];
