//! Settings of replication between brokers.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Int, "alter.log.dirs.replication.quota.window.num", Some("11"))
        .at_least(1)
        .doc("Windows kept for the rate limit of moves between log directories."),
    Definition::new(Kind::Int, "alter.log.dirs.replication.quota.window.size.seconds", Some("1"))
        .at_least(1)
        .doc("Length of a window of the rate limit of moves between log directories."),
    Definition::new(Kind::Long, "follower.replication.throttled.rate", Some("9223372036854775807"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .internal()
        .doc(
            "Most bytes in a second that throttled followers on this broker fetch. Only set while the \
         broker runs.",
        ),
    Definition::new(Kind::Long, "leader.replication.throttled.rate", Some("9223372036854775807"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .internal()
        .doc(
            "Most bytes in a second that this broker sends to throttled followers. Only set while the \
         broker runs.",
        ),
    Definition::new(Kind::Int, "num.replica.alter.log.dirs.threads", None)
        .doc("Threads that move partitions between folders."),
    Definition::new(Kind::Int, "num.replica.fetchers", Some("1"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("Connections on which a follower fetches from one leader."),
    Definition::new(
        Kind::Long,
        "replica.alter.log.dirs.io.max.bytes.per.second",
        Some("9223372036854775807"),
    )
    .at_least(0)
    .mode(Mode::ClusterWide)
    .internal()
    .used()
    .doc("Most bytes in a second for moves between folders."),
    Definition::new(Kind::Int, "replica.fetch.backoff.ms", Some("1000"))
        .at_least(0)
        .doc("Pause of a follower after an error."),
    Definition::new(Kind::Int, "replica.fetch.max.bytes", Some("1048576"))
        .at_least(0)
        .doc("Bytes that a follower asks for of one partition."),
    Definition::new(Kind::Int, "replica.fetch.min.bytes", Some("1"))
        .doc("Bytes that an answer to a follower should have before it is sent."),
    Definition::new(Kind::Int, "replica.fetch.response.max.bytes", Some("10485760"))
        .at_least(0)
        .doc("Bytes that a follower asks for in one answer."),
    Definition::new(Kind::Int, "replica.fetch.wait.max.ms", Some("500"))
        .doc("How long a leader may wait for enough bytes for a follower."),
    Definition::new(Kind::Long, "replica.high.watermark.checkpoint.interval.ms", Some("5000"))
        .used()
        .doc("How often high watermarks are written."),
    Definition::new(Kind::Long, "replica.lag.time.max.ms", Some("30000"))
        .used()
        .doc("A follower that has not caught up for this long is not in sync any more."),
    Definition::new(Kind::String, "replica.selector.class", None)
        .doc("Java class that picks the replica a consumer reads from."),
    Definition::new(Kind::Int, "replica.socket.receive.buffer.bytes", Some("65536"))
        .doc("Receive buffer of a follower's connection."),
    Definition::new(Kind::Int, "replica.socket.timeout.ms", Some("30000"))
        .doc("How long a follower waits for an answer."),
    Definition::new(Kind::Int, "replication.quota.window.num", Some("11"))
        .at_least(1)
        .doc("Windows kept for the rate limit of replication."),
    Definition::new(Kind::Int, "replication.quota.window.size.seconds", Some("1"))
        .at_least(1)
        .doc("Length of a window of the rate limit of replication."),
];
