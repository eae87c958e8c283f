//! Settings of a group.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Int, "consumer.assignment.interval.ms", Some("1000"))
        .at_least(0)
        .mode(Mode::Resource)
        .used()
        .doc("Shortest time between two new assignments of a consumer group."),
    Definition::new(Kind::Boolean, "consumer.assignor.offload.enable", Some("true"))
        .mode(Mode::Resource)
        .internal()
        .doc("Whether assignments are computed off the coordinator's thread."),
    Definition::new(Kind::Int, "consumer.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .mode(Mode::Resource)
        .used()
        .doc("Time between heartbeats that members of a consumer group are told."),
    Definition::new(Kind::Int, "consumer.session.timeout.ms", Some("45000"))
        .at_least(1)
        .mode(Mode::Resource)
        .used()
        .doc("A member of a consumer group that is silent for this long is removed."),
    Definition::new(Kind::Boolean, "errors.deadletterqueue.copy.record.enable", Some("false"))
        .mode(Mode::Resource)
        .used()
        .doc("Whether the record itself goes to the dead-letter topic, or only where it came from."),
    Definition::new(Kind::String, "errors.deadletterqueue.topic.name", Some(""))
        .mode(Mode::Resource)
        .used()
        .doc("The dead-letter topic of a share group; empty for none."),
    Definition::new(Kind::Int, "share.assignment.interval.ms", Some("1000"))
        .at_least(0)
        .mode(Mode::Resource)
        .used()
        .doc("Shortest time between two new assignments of a share group."),
    Definition::new(Kind::Boolean, "share.assignor.offload.enable", Some("true"))
        .mode(Mode::Resource)
        .internal()
        .doc("Whether assignments are computed off the coordinator's thread."),
    Definition::new(Kind::String, "share.auto.offset.reset", Some("latest"))
        .range(Range::OffsetReset)
        .mode(Mode::Resource)
        .used()
        .doc("Where a share group begins in a partition it does not know."),
    Definition::new(Kind::Int, "share.delivery.count.limit", Some("5"))
        .at_least(2)
        .mode(Mode::Resource)
        .used()
        .doc("How often a record is handed out before the group gives up on it."),
    Definition::new(Kind::Int, "share.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .mode(Mode::Resource)
        .used()
        .doc("Time between heartbeats that members of a share group are told."),
    Definition::new(Kind::String, "share.isolation.level", Some("read_uncommitted"))
        .range(Range::OneOf(&["read_committed", "read_uncommitted"]))
        .mode(Mode::Resource)
        .used()
        .doc("Whether records of open and aborted transactions are handed out."),
    Definition::new(Kind::Int, "share.partition.max.record.locks", Some("2000"))
        .at_least(100)
        .mode(Mode::Resource)
        .used()
        .doc("Records of one share-partition that may be handed out at a time."),
    Definition::new(Kind::Int, "share.record.lock.duration.ms", Some("30000"))
        .at_least(1000)
        .mode(Mode::Resource)
        .used()
        .doc("How long a member holds a record before it is handed out again."),
    Definition::new(Kind::Boolean, "share.renew.acknowledge.enable", Some("true"))
        .mode(Mode::Resource)
        .used()
        .doc("Whether a member may ask for more time for a record."),
    Definition::new(Kind::Int, "share.session.timeout.ms", Some("45000"))
        .at_least(1)
        .mode(Mode::Resource)
        .used()
        .doc("A member of a share group that is silent for this long is removed."),
    Definition::new(Kind::Long, "streams.acceptable.recovery.lag", Some("10000"))
        .at_least(0)
        .mode(Mode::Resource)
        .internal()
        .used()
        .doc("How far behind a client may be and still count as caught up with a task."),
    Definition::new(Kind::Int, "streams.assignment.interval.ms", Some("1000"))
        .at_least(0)
        .mode(Mode::Resource)
        .used()
        .doc("Shortest time between two new assignments of a streams group."),
    Definition::new(Kind::String, "streams.assignor.name", None)
        .mode(Mode::Resource)
        .doc("Short name of the group's assignor; without it the broker's first one counts."),
    Definition::new(Kind::Boolean, "streams.assignor.offload.enable", Some("true"))
        .mode(Mode::Resource)
        .internal()
        .doc("Whether assignments are computed off the coordinator's thread."),
    Definition::new(Kind::Int, "streams.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .mode(Mode::Resource)
        .used()
        .doc("Time between heartbeats that members of a streams group are told."),
    Definition::new(Kind::Int, "streams.initial.rebalance.delay.ms", Some("3000"))
        .at_least(0)
        .mode(Mode::Resource)
        .used()
        .doc("How long the first rebalance of an empty group waits for more members."),
    Definition::new(Kind::Int, "streams.num.standby.replicas", Some("0"))
        .at_least(0)
        .mode(Mode::Resource)
        .used()
        .doc("Standby copies of each task's state."),
    Definition::new(Kind::Int, "streams.num.warmup.replicas", Some("2"))
        .at_least(0)
        .mode(Mode::Resource)
        .internal()
        .doc("Tasks that may warm up elsewhere at a time."),
    Definition::new(Kind::List, "streams.rack.aware.assignment.tags", Some(""))
        .mode(Mode::Resource)
        .used()
        .doc("Client tags by which standby copies are spread."),
    Definition::new(Kind::Int, "streams.session.timeout.ms", Some("45000"))
        .at_least(1)
        .mode(Mode::Resource)
        .used()
        .doc("A member of a streams group that is silent for this long is removed."),
    Definition::new(Kind::Int, "streams.task.offset.interval.ms", Some("60000"))
        .at_least(1)
        .mode(Mode::Resource)
        .internal()
        .used()
        .doc("How often members report how far their warm-up tasks are."),
];
