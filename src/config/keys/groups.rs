//! Settings of group coordination and committed offsets.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Int, "group.coordinator.append.linger.ms", Some("-1")).at_least(-1).doc(""),
    Definition::new(Kind::Int, "group.coordinator.background.threads", Some("2")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.coordinator.cached.buffer.max.bytes", Some("1048588"))
        .at_least(524288)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::List, "group.coordinator.rebalance.protocols", Some("classic,consumer,streams"))
        .range(Range::ListOf(&["consumer", "classic", "share", "streams"]))
        .doc(""),
    Definition::new(Kind::Int, "group.coordinator.threads", Some("4")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.initial.rebalance.delay.ms", Some("3000")).doc(""),
    Definition::new(Kind::Int, "group.max.session.timeout.ms", Some("1800000")).doc(""),
    Definition::new(Kind::Int, "group.max.size", Some("2147483647")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.min.session.timeout.ms", Some("6000")).doc(""),
    Definition::new(Kind::Int, "offset.metadata.max.bytes", Some("4096")).doc(""),
    Definition::new(Kind::Int, "offsets.commit.timeout.ms", Some("5000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "offsets.load.buffer.size", Some("5242880")).at_least(1).doc(""),
    Definition::new(Kind::Long, "offsets.retention.check.interval.ms", Some("600000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "offsets.retention.minutes", Some("10080")).at_least(1).doc(""),
    Definition::new(Kind::Int, "offsets.topic.compression.codec", Some("0")).doc(""),
    Definition::new(Kind::Int, "offsets.topic.num.partitions", Some("50")).at_least(1).doc(""),
    Definition::new(Kind::Short, "offsets.topic.replication.factor", Some("3")).at_least(1).doc(""),
    Definition::new(Kind::Int, "offsets.topic.segment.bytes", Some("104857600")).at_least(1).doc(""),
];
