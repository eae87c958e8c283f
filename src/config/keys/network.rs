//! Settings of listeners, connections and requests.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::List, "advertised.listeners", None).used().doc(
        "What clients and other brokers are told to connect to, as `NAME://HOST:PORT` for each \
         listener. Without it, what `listeners` says counts. Needed where a listener binds a wildcard \
         address, and behind address translation. Without `listeners` it is bound, too: the ports that it \
         names, on every interface.",
    ),
    Definition::new(Kind::Long, "connections.max.idle.ms", Some("600000")).used().doc(
        "A connection on which nothing happened for this long is closed. One with a request in work \
         is not idle. Below 0 for never.",
    ),
    Definition::new(Kind::Int, "delete.records.purgatory.purge.interval.requests", Some("1"))
        .doc("Upkeep of waiting DeleteRecords requests; nothing to tune here."),
    Definition::new(Kind::Int, "fetch.max.bytes", Some("57671680"))
        .at_least(1024)
        .used()
        .doc("Most bytes of batches in one answer to a fetch, whatever the client allows."),
    Definition::new(Kind::Int, "fetch.purgatory.purge.interval.requests", Some("1000"))
        .doc("Upkeep of waiting fetches; nothing to tune here."),
    Definition::new(Kind::String, "inter.broker.listener.name", None)
        .used()
        .doc("The listener that brokers use among each other; it must be advertised."),
    Definition::new(
        Kind::String,
        "listener.security.protocol.map",
        Some("SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT"),
    )
    .mode(Mode::PerBroker)
    .used()
    .doc(
        "The security protocol of each listener name, as `NAME:PROTOCOL`. `PLAINTEXT` is served; a \
         listener with another protocol stops the start. A change while the broker runs has no effect.",
    ),
    Definition::new(Kind::List, "listeners", Some("PLAINTEXT://localhost:9092"))
        .range(Range::NotEmpty)
        .mode(Mode::PerBroker)
        .used()
        .doc(
            "Where the broker listens, as `NAME://HOST:PORT` separated by commas. A host name binds to \
         each of its addresses, so `localhost` is 127.0.0.1 and ::1; an IPv6 address stands in \
         brackets; an empty host means every interface and is advertised as the machine's name. \
         Apache Kafka listens on every interface by default. While the broker runs another value is refused.",
        ),
    Definition::new(Kind::Int, "max.connection.creation.rate", Some("2147483647"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Most new connections in a second; more have to wait."),
    Definition::new(Kind::Int, "max.connections", Some("2147483647"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc(
            "Most connections of the broker; more wait until one ends. A limit of one listener \
         (`listener.name.NAME.max.connections`) has no effect yet.",
        ),
    Definition::new(Kind::Int, "max.connections.per.ip", Some("2147483647"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Most connections from one address; more are closed at once."),
    Definition::new(Kind::String, "max.connections.per.ip.overrides", Some(""))
        .mode(Mode::ClusterWide)
        .used()
        .doc("Other limits for single addresses, as `HOST:COUNT` separated by commas."),
    Definition::new(Kind::Int, "max.incremental.fetch.session.cache.slots", Some("1000"))
        .at_least(0)
        .used()
        .doc("Fetch sessions that are kept (KIP-227)."),
    Definition::new(Kind::Int, "max.request.partition.size.limit", Some("2000"))
        .at_least(1)
        .used()
        .doc("Most partitions in one answer to DescribeTopicPartitions."),
    Definition::new(Kind::Int, "num.io.threads", Some("8")).at_least(1).mode(Mode::ClusterWide).doc(
        "Threads that serve requests. Here requests share one pool of as many threads as there are \
         cores.",
    ),
    Definition::new(Kind::Int, "num.network.threads", Some("3"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("Threads that read and write connections. Here they share the pool that serves requests."),
    Definition::new(Kind::Long, "queued.max.request.bytes", Some("-1")).used().doc(
        "Bytes of requests in work before connections are not read any more; -1 for no limit of your \
         own.",
    ),
    Definition::new(Kind::Int, "queued.max.requests", Some("500"))
        .at_least(1)
        .doc("Requests in work before connections are not read any more."),
    Definition::new(Kind::Int, "request.timeout.ms", Some("30000"))
        .doc("How long this broker waits for an answer of another one."),
    Definition::new(Kind::Long, "socket.connection.setup.timeout.max.ms", Some("30000"))
        .doc("Longest time that connecting to another broker may take after failures."),
    Definition::new(Kind::Long, "socket.connection.setup.timeout.ms", Some("10000"))
        .doc("How long connecting to another broker may take."),
    Definition::new(Kind::Int, "socket.listen.backlog.size", Some("50"))
        .at_least(1)
        .used()
        .doc("Connections that may wait to be accepted."),
    Definition::new(Kind::Int, "socket.receive.buffer.bytes", Some("102400")).used().doc(
        "Receive buffer of a connection. -1 leaves it to the system, which adapts it to the connection, \
         and so does 102400: Kafka's default counts as not set.",
    ),
    Definition::new(Kind::Int, "socket.request.max.bytes", Some("104857600")).at_least(1).used().doc(
        "Largest request; a connection that announces more is closed. So is one whose request would take \
             more memory than 4 times its bytes and 1 MiB, as one of nothing but empty names does.",
    ),
    Definition::new(Kind::Int, "socket.send.buffer.bytes", Some("102400")).used().doc(
        "Send buffer of a connection. -1 leaves it to the system, which adapts it to the connection, \
         and so does 102400: Kafka's default counts as not set.",
    ),
];
