//! Settings of the newer kinds of groups: consumer (KIP-848), share (KIP-932), streams (KIP-1071).
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Boolean, "errors.deadletterqueue.auto.create.topics.enable", Some("false"))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::String, "errors.deadletterqueue.topic.name.prefix", Some("dlq."))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "group.consumer.assignment.interval.ms", Some("1000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Boolean, "group.consumer.assignor.offload.enable", Some("true"))
        .mode(Mode::ClusterWide)
        .internal()
        .doc(""),
    Definition::new(Kind::List, "group.consumer.assignors", Some("uniform,range")).doc(""),
    Definition::new(Kind::Int, "group.consumer.heartbeat.interval.ms", Some("5000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.consumer.max.assignment.interval.ms", Some("15000"))
        .at_least(0)
        .doc(""),
    Definition::new(Kind::Int, "group.consumer.max.heartbeat.interval.ms", Some("15000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.consumer.max.session.timeout.ms", Some("60000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.consumer.max.size", Some("2147483647")).at_least(1).doc(""),
    Definition::new(Kind::String, "group.consumer.migration.policy", Some("bidirectional"))
        .range(Range::OneOfIgnoringCase(&["DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"]))
        .doc(""),
    Definition::new(Kind::Int, "group.consumer.min.assignment.interval.ms", Some("0")).at_least(0).doc(""),
    Definition::new(Kind::Int, "group.consumer.min.heartbeat.interval.ms", Some("5000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.consumer.min.session.timeout.ms", Some("45000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.consumer.regex.refresh.interval.ms", Some("600000"))
        .at_least(10000)
        .internal()
        .doc(""),
    Definition::new(Kind::Int, "group.consumer.session.timeout.ms", Some("45000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.share.assignment.interval.ms", Some("1000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Boolean, "group.share.assignor.offload.enable", Some("true"))
        .mode(Mode::ClusterWide)
        .internal()
        .doc(""),
    Definition::new(Kind::List, "group.share.assignors", Some("simple")).doc(""),
    Definition::new(Kind::Int, "group.share.delivery.count.limit", Some("5")).between(2, 10).doc(""),
    Definition::new(
        Kind::String,
        "group.share.dlq.manager.class.name",
        Some("org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager"),
    )
    .internal()
    .doc(""),
    Definition::new(Kind::Int, "group.share.heartbeat.interval.ms", Some("5000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.share.initialize.retry.interval.ms", Some("30000"))
        .at_least(1)
        .internal()
        .doc(""),
    Definition::new(Kind::Int, "group.share.max.assignment.interval.ms", Some("15000")).at_least(0).doc(""),
    Definition::new(Kind::Int, "group.share.max.delivery.count.limit", Some("10")).between(5, 25).doc(""),
    Definition::new(Kind::Int, "group.share.max.heartbeat.interval.ms", Some("15000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.share.max.partition.max.record.locks", Some("4000"))
        .between(2000, 10000)
        .doc(""),
    Definition::new(Kind::Int, "group.share.max.record.lock.duration.ms", Some("60000"))
        .between(30000, 3600000)
        .doc(""),
    Definition::new(Kind::Int, "group.share.max.session.timeout.ms", Some("60000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.share.max.share.sessions", Some("2000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.share.max.size", Some("200")).between(1, 1000).doc(""),
    Definition::new(Kind::Int, "group.share.min.assignment.interval.ms", Some("0")).at_least(0).doc(""),
    Definition::new(Kind::Int, "group.share.min.delivery.count.limit", Some("2")).between(2, 5).doc(""),
    Definition::new(Kind::Int, "group.share.min.heartbeat.interval.ms", Some("5000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.share.min.partition.max.record.locks", Some("100"))
        .between(100, 2000)
        .doc(""),
    Definition::new(Kind::Int, "group.share.min.record.lock.duration.ms", Some("15000"))
        .between(1000, 30000)
        .doc(""),
    Definition::new(Kind::Int, "group.share.min.session.timeout.ms", Some("45000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.share.partition.max.record.locks", Some("2000"))
        .between(100, 10000)
        .doc(""),
    Definition::new(
        Kind::String,
        "group.share.persister.class.name",
        Some("org.apache.kafka.server.share.persister.DefaultStatePersister"),
    )
    .internal()
    .doc(""),
    Definition::new(Kind::Int, "group.share.record.lock.duration.ms", Some("30000"))
        .between(1000, 3600000)
        .doc(""),
    Definition::new(Kind::Int, "group.share.session.timeout.ms", Some("45000")).at_least(1).doc(""),
    Definition::new(Kind::Long, "group.streams.acceptable.recovery.lag", Some("10000"))
        .at_least(0)
        .internal()
        .doc(""),
    Definition::new(Kind::Int, "group.streams.assignment.interval.ms", Some("1000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Boolean, "group.streams.assignor.offload.enable", Some("true"))
        .mode(Mode::ClusterWide)
        .internal()
        .doc(""),
    Definition::new(Kind::List, "group.streams.assignors", Some("sticky")).doc(""),
    Definition::new(Kind::Int, "group.streams.heartbeat.interval.ms", Some("5000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.streams.initial.rebalance.delay.ms", Some("3000")).at_least(0).doc(""),
    Definition::new(Kind::Int, "group.streams.max.assignment.interval.ms", Some("15000")).at_least(0).doc(""),
    Definition::new(Kind::Int, "group.streams.max.heartbeat.interval.ms", Some("15000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.streams.max.session.timeout.ms", Some("60000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.streams.max.size", Some("2147483647")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.streams.max.standby.replicas", Some("2")).at_least(0).doc(""),
    Definition::new(Kind::Int, "group.streams.max.warmup.replicas", Some("20"))
        .at_least(0)
        .internal()
        .doc(""),
    Definition::new(Kind::Int, "group.streams.min.assignment.interval.ms", Some("0")).at_least(0).doc(""),
    Definition::new(Kind::Int, "group.streams.min.heartbeat.interval.ms", Some("5000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.streams.min.session.timeout.ms", Some("45000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.streams.min.task.offset.interval.ms", Some("15000"))
        .at_least(1)
        .internal()
        .doc(""),
    Definition::new(Kind::Int, "group.streams.num.standby.replicas", Some("0")).at_least(0).doc(""),
    Definition::new(Kind::Int, "group.streams.num.warmup.replicas", Some("2")).at_least(0).internal().doc(""),
    Definition::new(Kind::List, "group.streams.rack.aware.assignment.tags", Some("")).doc(""),
    Definition::new(Kind::Int, "group.streams.session.timeout.ms", Some("45000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "group.streams.task.offset.interval.ms", Some("60000"))
        .at_least(1)
        .internal()
        .doc(""),
    Definition::new(Kind::Class, "group.streams.topology.description.plugin.class", None).doc(""),
    Definition::new(Kind::Int, "share.coordinator.append.linger.ms", Some("-1")).at_least(-1).doc(""),
    Definition::new(Kind::Int, "share.coordinator.cached.buffer.max.bytes", Some("1048588"))
        .at_least(524288)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "share.coordinator.cold.partition.snapshot.interval.ms", Some("300000"))
        .at_least(1)
        .internal()
        .doc(""),
    Definition::new(Kind::Int, "share.coordinator.load.buffer.size", Some("5242880")).at_least(1).doc(""),
    Definition::new(Kind::Int, "share.coordinator.snapshot.update.records.per.snapshot", Some("500"))
        .between(0, 500)
        .doc(""),
    Definition::new(Kind::Int, "share.coordinator.state.topic.compression.codec", Some("0")).doc(""),
    Definition::new(Kind::Short, "share.coordinator.state.topic.min.isr", Some("2")).at_least(1).doc(""),
    Definition::new(Kind::Int, "share.coordinator.state.topic.num.partitions", Some("50"))
        .at_least(1)
        .doc(""),
    Definition::new(Kind::Int, "share.coordinator.state.topic.prune.interval.ms", Some("300000"))
        .at_least(1)
        .internal()
        .doc(""),
    Definition::new(Kind::Short, "share.coordinator.state.topic.replication.factor", Some("3"))
        .at_least(1)
        .doc(""),
    Definition::new(Kind::Int, "share.coordinator.state.topic.segment.bytes", Some("104857600"))
        .at_least(1)
        .doc(""),
    Definition::new(Kind::Int, "share.coordinator.threads", Some("1")).at_least(1).doc(""),
    Definition::new(Kind::Int, "share.coordinator.write.timeout.ms", Some("5000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "share.fetch.purgatory.purge.interval.requests", Some("1000")).doc(""),
];
