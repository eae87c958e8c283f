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
        .used()
        .doc("Whether the dead-letter topic of a share group is made when it is missing (KIP-1191)."),
    Definition::new(Kind::String, "errors.deadletterqueue.topic.name.prefix", Some("dlq."))
        .mode(Mode::ClusterWide)
        .used()
        .doc("What the name of a dead-letter topic must begin with; empty for no rule (KIP-1191)."),
    Definition::new(Kind::Int, "group.consumer.assignment.interval.ms", Some("1000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Shortest time between two new assignments of a consumer group."),
    Definition::new(Kind::Boolean, "group.consumer.assignor.offload.enable", Some("true"))
        .mode(Mode::ClusterWide)
        .internal()
        .doc("Whether assignments of consumer groups are computed off the coordinator's thread."),
    Definition::new(Kind::List, "group.consumer.assignors", Some("uniform,range"))
        .used()
        .doc("Assignors of consumer groups; the first is the default."),
    Definition::new(Kind::Int, "group.consumer.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .used()
        .doc("Time between heartbeats that members of a consumer group are told."),
    Definition::new(Kind::Int, "group.consumer.max.assignment.interval.ms", Some("15000"))
        .at_least(0)
        .used()
        .doc("Largest value that a group may set for its assignment interval."),
    Definition::new(Kind::Int, "group.consumer.max.heartbeat.interval.ms", Some("15000"))
        .at_least(1)
        .used()
        .doc("Largest value that a group may set for its heartbeat interval."),
    Definition::new(Kind::Int, "group.consumer.max.session.timeout.ms", Some("60000"))
        .at_least(1)
        .used()
        .doc("Largest value that a group may set for its session timeout."),
    Definition::new(Kind::Int, "group.consumer.max.size", Some("2147483647"))
        .at_least(1)
        .used()
        .doc("Most members of one consumer group."),
    Definition::new(Kind::String, "group.consumer.migration.policy", Some("bidirectional"))
        .range(Range::OneOfIgnoringCase(&["DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"]))
        .used()
        .doc("Which way a group with members may change between the classic and the newer protocol."),
    Definition::new(Kind::Int, "group.consumer.min.assignment.interval.ms", Some("0"))
        .at_least(0)
        .used()
        .doc("Smallest value that a group may set for its assignment interval."),
    Definition::new(Kind::Int, "group.consumer.min.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .used()
        .doc("Smallest value that a group may set for its heartbeat interval."),
    Definition::new(Kind::Int, "group.consumer.min.session.timeout.ms", Some("45000"))
        .at_least(1)
        .used()
        .doc("Smallest value that a group may set for its session timeout."),
    Definition::new(Kind::Int, "group.consumer.regex.refresh.interval.ms", Some("600000"))
        .at_least(10000)
        .internal()
        .used()
        .doc("How often the topics that match a subscribed pattern are looked up again."),
    Definition::new(Kind::Int, "group.consumer.session.timeout.ms", Some("45000"))
        .at_least(1)
        .used()
        .doc("A member of a consumer group that is silent for this long is removed."),
    Definition::new(Kind::Int, "group.share.assignment.interval.ms", Some("1000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Shortest time between two new assignments of a share group."),
    Definition::new(Kind::Boolean, "group.share.assignor.offload.enable", Some("true"))
        .mode(Mode::ClusterWide)
        .internal()
        .doc("Whether assignments of share groups are computed off the coordinator's thread."),
    Definition::new(Kind::List, "group.share.assignors", Some("simple"))
        .doc("The assignor of share groups; one entry."),
    Definition::new(Kind::Int, "group.share.delivery.count.limit", Some("5"))
        .between(2, 10)
        .used()
        .doc("How often a record is handed out before a share group gives up on it."),
    Definition::new(
        Kind::String,
        "group.share.dlq.manager.class.name",
        Some("org.apache.kafka.server.share.dlq.DefaultShareGroupDLQManager"),
    )
    .internal()
    .doc("Java class that writes undeliverable records of share groups."),
    Definition::new(Kind::Int, "group.share.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .used()
        .doc("Time between heartbeats that members of a share group are told."),
    Definition::new(Kind::Int, "group.share.initialize.retry.interval.ms", Some("30000"))
        .at_least(1)
        .internal()
        .used()
        .doc("Pause before the state of a share group is set up again."),
    Definition::new(Kind::Int, "group.share.max.assignment.interval.ms", Some("15000"))
        .at_least(0)
        .used()
        .doc("Largest value that a share group may set for its assignment interval."),
    Definition::new(Kind::Int, "group.share.max.delivery.count.limit", Some("10"))
        .between(5, 25)
        .used()
        .doc("Largest value that a share group may set for its delivery count limit."),
    Definition::new(Kind::Int, "group.share.max.heartbeat.interval.ms", Some("15000"))
        .at_least(1)
        .used()
        .doc("Largest value that a share group may set for its heartbeat interval."),
    Definition::new(Kind::Int, "group.share.max.partition.max.record.locks", Some("4000"))
        .between(2000, 10000)
        .used()
        .doc("Largest value that a share group may set for its record locks."),
    Definition::new(Kind::Int, "group.share.max.record.lock.duration.ms", Some("60000"))
        .between(30000, 3600000)
        .used()
        .doc("Largest value that a share group may set for its lock duration."),
    Definition::new(Kind::Int, "group.share.max.session.timeout.ms", Some("60000"))
        .at_least(1)
        .used()
        .doc("Largest value that a share group may set for its session timeout."),
    Definition::new(Kind::Int, "group.share.max.share.sessions", Some("2000"))
        .at_least(1)
        .used()
        .doc("Most share sessions of one broker."),
    Definition::new(Kind::Int, "group.share.max.size", Some("200"))
        .between(1, 1000)
        .used()
        .doc("Most members of one share group."),
    Definition::new(Kind::Int, "group.share.min.assignment.interval.ms", Some("0"))
        .at_least(0)
        .used()
        .doc("Smallest value that a share group may set for its assignment interval."),
    Definition::new(Kind::Int, "group.share.min.delivery.count.limit", Some("2"))
        .between(2, 5)
        .used()
        .doc("Smallest value that a share group may set for its delivery count limit."),
    Definition::new(Kind::Int, "group.share.min.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .used()
        .doc("Smallest value that a share group may set for its heartbeat interval."),
    Definition::new(Kind::Int, "group.share.min.partition.max.record.locks", Some("100"))
        .between(100, 2000)
        .used()
        .doc("Smallest value that a share group may set for its record locks."),
    Definition::new(Kind::Int, "group.share.min.record.lock.duration.ms", Some("15000"))
        .between(1000, 30000)
        .used()
        .doc("Smallest value that a share group may set for its lock duration."),
    Definition::new(Kind::Int, "group.share.min.session.timeout.ms", Some("45000"))
        .at_least(1)
        .used()
        .doc("Smallest value that a share group may set for its session timeout."),
    Definition::new(Kind::Int, "group.share.partition.max.record.locks", Some("2000"))
        .between(100, 10000)
        .used()
        .doc("Records of one share-partition that may be handed out at a time."),
    Definition::new(
        Kind::String,
        "group.share.persister.class.name",
        Some("org.apache.kafka.server.share.persister.DefaultStatePersister"),
    )
    .internal()
    .doc("Java class that keeps the state of share groups."),
    Definition::new(Kind::Int, "group.share.record.lock.duration.ms", Some("30000"))
        .between(1000, 3600000)
        .used()
        .doc("How long a member of a share group holds a record before it is handed out again."),
    Definition::new(Kind::Int, "group.share.session.timeout.ms", Some("45000"))
        .at_least(1)
        .used()
        .doc("A member of a share group that is silent for this long is removed."),
    Definition::new(Kind::Long, "group.streams.acceptable.recovery.lag", Some("10000"))
        .at_least(0)
        .internal()
        .used()
        .doc("How far behind a client may be and still count as caught up with a task."),
    Definition::new(Kind::Int, "group.streams.assignment.interval.ms", Some("1000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Shortest time between two new assignments of a streams group."),
    Definition::new(Kind::Boolean, "group.streams.assignor.offload.enable", Some("true"))
        .mode(Mode::ClusterWide)
        .internal()
        .doc("Whether assignments of streams groups are computed off the coordinator's thread."),
    Definition::new(Kind::List, "group.streams.assignors", Some("sticky"))
        .doc("Assignors of streams groups; the first is the default."),
    Definition::new(Kind::Int, "group.streams.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .used()
        .doc("Time between heartbeats that members of a streams group are told."),
    Definition::new(Kind::Int, "group.streams.initial.rebalance.delay.ms", Some("3000"))
        .at_least(0)
        .used()
        .doc("How long the first rebalance of an empty streams group waits for more members."),
    Definition::new(Kind::Int, "group.streams.max.assignment.interval.ms", Some("15000"))
        .at_least(0)
        .used()
        .doc("Largest value that a streams group may set for its assignment interval."),
    Definition::new(Kind::Int, "group.streams.max.heartbeat.interval.ms", Some("15000"))
        .at_least(1)
        .used()
        .doc("Largest value that a streams group may set for its heartbeat interval."),
    Definition::new(Kind::Int, "group.streams.max.session.timeout.ms", Some("60000"))
        .at_least(1)
        .used()
        .doc("Largest value that a streams group may set for its session timeout."),
    Definition::new(Kind::Int, "group.streams.max.size", Some("2147483647"))
        .at_least(1)
        .used()
        .doc("Most members of one streams group."),
    Definition::new(Kind::Int, "group.streams.max.standby.replicas", Some("2"))
        .at_least(0)
        .used()
        .doc("Largest value that a streams group may set for its standby replicas."),
    Definition::new(Kind::Int, "group.streams.max.warmup.replicas", Some("20"))
        .at_least(0)
        .internal()
        .used()
        .doc("Largest value that a streams group may set for its warm-up replicas."),
    Definition::new(Kind::Int, "group.streams.min.assignment.interval.ms", Some("0"))
        .at_least(0)
        .used()
        .doc("Smallest value that a streams group may set for its assignment interval."),
    Definition::new(Kind::Int, "group.streams.min.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .used()
        .doc("Smallest value that a streams group may set for its heartbeat interval."),
    Definition::new(Kind::Int, "group.streams.min.session.timeout.ms", Some("45000"))
        .at_least(1)
        .used()
        .doc("Smallest value that a streams group may set for its session timeout."),
    Definition::new(Kind::Int, "group.streams.min.task.offset.interval.ms", Some("15000"))
        .at_least(1)
        .internal()
        .used()
        .doc("Smallest value that a streams group may set for its task offset interval."),
    Definition::new(Kind::Int, "group.streams.num.standby.replicas", Some("0"))
        .at_least(0)
        .used()
        .doc("Standby copies of each task's state."),
    Definition::new(Kind::Int, "group.streams.num.warmup.replicas", Some("2"))
        .at_least(0)
        .internal()
        .doc("Tasks that may warm up elsewhere at a time."),
    Definition::new(Kind::List, "group.streams.rack.aware.assignment.tags", Some(""))
        .used()
        .doc("Client tags by which standby copies are spread."),
    Definition::new(Kind::Int, "group.streams.session.timeout.ms", Some("45000"))
        .at_least(1)
        .used()
        .doc("A member of a streams group that is silent for this long is removed."),
    Definition::new(Kind::Int, "group.streams.task.offset.interval.ms", Some("60000"))
        .at_least(1)
        .internal()
        .used()
        .doc("How often members of a streams group report how far their warm-up tasks are."),
    Definition::new(Kind::Class, "group.streams.topology.description.plugin.class", None)
        .doc("Java class that keeps descriptions of topologies."),
    Definition::new(Kind::Int, "share.coordinator.append.linger.ms", Some("-1"))
        .at_least(-1)
        .doc("How long the share coordinator gathers writes; -1 lets it choose."),
    Definition::new(Kind::Int, "share.coordinator.cached.buffer.max.bytes", Some("1048588"))
        .at_least(524288)
        .mode(Mode::ClusterWide)
        .doc("Largest write buffer that the share coordinator keeps for the next write."),
    Definition::new(Kind::Int, "share.coordinator.cold.partition.snapshot.interval.ms", Some("300000"))
        .at_least(1)
        .internal()
        .used()
        .doc("How often the state of quiet share-partitions is written anew."),
    Definition::new(Kind::Int, "share.coordinator.load.buffer.size", Some("5242880"))
        .at_least(1)
        .used()
        .doc("Bytes read at once when the state of share groups is loaded."),
    Definition::new(Kind::Int, "share.coordinator.snapshot.update.records.per.snapshot", Some("500"))
        .between(0, 500)
        .used()
        .doc("Updates of a share-partition's state between two snapshots of it."),
    Definition::new(Kind::Int, "share.coordinator.state.topic.compression.codec", Some("0"))
        .used()
        .doc("Codec of the share state topic: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."),
    Definition::new(Kind::Short, "share.coordinator.state.topic.min.isr", Some("2"))
        .at_least(1)
        .used()
        .doc("Replicas of the share state topic that must be in sync for a write."),
    Definition::new(Kind::Int, "share.coordinator.state.topic.num.partitions", Some("50"))
        .at_least(1)
        .used()
        .doc("Partitions of the share state topic."),
    Definition::new(Kind::Int, "share.coordinator.state.topic.prune.interval.ms", Some("300000"))
        .at_least(1)
        .internal()
        .used()
        .doc("How often old state is removed from the share state topic."),
    Definition::new(Kind::Short, "share.coordinator.state.topic.replication.factor", Some("3"))
        .at_least(1)
        .used()
        .doc("Replicas of the share state topic."),
    Definition::new(Kind::Int, "share.coordinator.state.topic.segment.bytes", Some("104857600"))
        .at_least(1)
        .used()
        .doc("Segment size of the share state topic."),
    Definition::new(Kind::Int, "share.coordinator.threads", Some("1"))
        .at_least(1)
        .doc("Threads of the share coordinator."),
    Definition::new(Kind::Int, "share.coordinator.write.timeout.ms", Some("5000"))
        .at_least(1)
        .used()
        .doc("How long a write of the share coordinator may take."),
    Definition::new(Kind::Int, "share.fetch.purgatory.purge.interval.requests", Some("1000"))
        .doc("Upkeep of waiting share fetches; nothing to tune here."),
];
