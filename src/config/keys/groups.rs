//! Settings of group coordination and committed offsets.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Int, "group.coordinator.append.linger.ms", Some("-1"))
        .at_least(-1)
        .doc("How long the coordinator gathers writes; -1 lets it choose."),
    Definition::new(Kind::Int, "group.coordinator.background.threads", Some("2")).at_least(1).doc(
        "Threads for assignments and patterns of groups. One task for each partition does the work \
         here.",
    ),
    Definition::new(Kind::Int, "group.coordinator.cached.buffer.max.bytes", Some("1048588"))
        .at_least(524288)
        .mode(Mode::ClusterWide)
        .doc("Largest write buffer that the coordinator keeps for the next write."),
    Definition::new(Kind::List, "group.coordinator.rebalance.protocols", Some("classic,consumer,streams"))
        .range(Range::ListOf(&["consumer", "classic", "share", "streams"]))
        .used()
        .doc("Which kinds of groups are on; `classic` must be among them."),
    Definition::new(Kind::Int, "group.coordinator.threads", Some("4"))
        .at_least(1)
        .doc("Threads of the group coordinator. One task for each partition does the work here."),
    Definition::new(Kind::Int, "group.initial.rebalance.delay.ms", Some("3000"))
        .used()
        .doc("How long the first rebalance of an empty group waits for more members."),
    Definition::new(Kind::Int, "group.max.session.timeout.ms", Some("1800000"))
        .used()
        .doc("Longest session timeout that a member of a classic group may ask for."),
    Definition::new(Kind::Int, "group.max.size", Some("2147483647"))
        .at_least(1)
        .used()
        .doc("Most members of one classic group."),
    Definition::new(Kind::Int, "group.min.session.timeout.ms", Some("6000"))
        .used()
        .doc("Shortest session timeout that a member of a classic group may ask for."),
    Definition::new(Kind::Int, "offset.metadata.max.bytes", Some("4096"))
        .used()
        .doc("Longest text that may be stored with a committed offset."),
    Definition::new(Kind::Int, "offsets.commit.timeout.ms", Some("5000"))
        .at_least(1)
        .used()
        .doc("How long a commit waits to be safe before it is refused."),
    Definition::new(Kind::Int, "offsets.load.buffer.size", Some("5242880"))
        .at_least(1)
        .used()
        .doc("Bytes read at once when committed offsets are loaded."),
    Definition::new(Kind::Long, "offsets.retention.check.interval.ms", Some("600000"))
        .at_least(1)
        .used()
        .doc("How often offsets are looked for whose time is up."),
    Definition::new(Kind::Int, "offsets.retention.minutes", Some("10080"))
        .at_least(1)
        .used()
        .doc("How long the offsets of an empty group stay."),
    Definition::new(Kind::Int, "offsets.topic.compression.codec", Some("0"))
        .used()
        .doc("Codec of the offsets topic: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."),
    Definition::new(Kind::Int, "offsets.topic.num.partitions", Some("50"))
        .at_least(1)
        .used()
        .doc("Partitions of the offsets topic. Not to be changed once it exists."),
    Definition::new(Kind::Short, "offsets.topic.replication.factor", Some("3"))
        .at_least(1)
        .used()
        .doc("Replicas of the offsets topic; a smaller cluster uses as many as it has brokers."),
    Definition::new(Kind::Int, "offsets.topic.segment.bytes", Some("104857600"))
        .at_least(1)
        .used()
        .doc("Segment size of the offsets topic."),
];
