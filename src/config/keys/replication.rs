//! Settings of replication between brokers.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Int, "alter.log.dirs.replication.quota.window.num", Some("11")).at_least(1).doc(""),
    Definition::new(Kind::Int, "alter.log.dirs.replication.quota.window.size.seconds", Some("1"))
        .at_least(1)
        .doc(""),
    Definition::new(Kind::Int, "num.replica.alter.log.dirs.threads", None).doc(""),
    Definition::new(Kind::Int, "num.replica.fetchers", Some("1")).at_least(1).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Int, "replica.fetch.backoff.ms", Some("1000")).at_least(0).doc(""),
    Definition::new(Kind::Int, "replica.fetch.max.bytes", Some("1048576")).at_least(0).doc(""),
    Definition::new(Kind::Int, "replica.fetch.min.bytes", Some("1")).doc(""),
    Definition::new(Kind::Int, "replica.fetch.response.max.bytes", Some("10485760")).at_least(0).doc(""),
    Definition::new(Kind::Int, "replica.fetch.wait.max.ms", Some("500")).doc(""),
    Definition::new(Kind::Long, "replica.high.watermark.checkpoint.interval.ms", Some("5000")).doc(""),
    Definition::new(Kind::Long, "replica.lag.time.max.ms", Some("30000")).doc(""),
    Definition::new(Kind::String, "replica.selector.class", None).doc(""),
    Definition::new(Kind::Int, "replica.socket.receive.buffer.bytes", Some("65536")).doc(""),
    Definition::new(Kind::Int, "replica.socket.timeout.ms", Some("30000")).doc(""),
    Definition::new(Kind::Int, "replication.quota.window.num", Some("11")).at_least(1).doc(""),
    Definition::new(Kind::Int, "replication.quota.window.size.seconds", Some("1")).at_least(1).doc(""),
];
