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
        .doc(""),
    Definition::new(Kind::Boolean, "consumer.assignor.offload.enable", Some("true"))
        .mode(Mode::Resource)
        .internal()
        .doc(""),
    Definition::new(Kind::Int, "consumer.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Int, "consumer.session.timeout.ms", Some("45000"))
        .at_least(1)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Boolean, "errors.deadletterqueue.copy.record.enable", Some("false"))
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::String, "errors.deadletterqueue.topic.name", Some("")).mode(Mode::Resource).doc(""),
    Definition::new(Kind::Int, "share.assignment.interval.ms", Some("1000"))
        .at_least(0)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Boolean, "share.assignor.offload.enable", Some("true"))
        .mode(Mode::Resource)
        .internal()
        .doc(""),
    Definition::new(Kind::String, "share.auto.offset.reset", Some("latest")).mode(Mode::Resource).doc(""),
    Definition::new(Kind::Int, "share.delivery.count.limit", Some("5"))
        .at_least(2)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Int, "share.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::String, "share.isolation.level", Some("read_uncommitted"))
        .range(Range::OneOf(&["read_committed", "read_uncommitted"]))
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Int, "share.partition.max.record.locks", Some("2000"))
        .at_least(100)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Int, "share.record.lock.duration.ms", Some("30000"))
        .at_least(1000)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Boolean, "share.renew.acknowledge.enable", Some("true"))
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Int, "share.session.timeout.ms", Some("45000"))
        .at_least(1)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Long, "streams.acceptable.recovery.lag", Some("10000"))
        .at_least(0)
        .mode(Mode::Resource)
        .internal()
        .doc(""),
    Definition::new(Kind::Int, "streams.assignment.interval.ms", Some("1000"))
        .at_least(0)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::String, "streams.assignor.name", None).mode(Mode::Resource).doc(""),
    Definition::new(Kind::Boolean, "streams.assignor.offload.enable", Some("true"))
        .mode(Mode::Resource)
        .internal()
        .doc(""),
    Definition::new(Kind::Int, "streams.heartbeat.interval.ms", Some("5000"))
        .at_least(1)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Int, "streams.initial.rebalance.delay.ms", Some("3000"))
        .at_least(0)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Int, "streams.num.standby.replicas", Some("0"))
        .at_least(0)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Int, "streams.num.warmup.replicas", Some("2"))
        .at_least(0)
        .mode(Mode::Resource)
        .internal()
        .doc(""),
    Definition::new(Kind::List, "streams.rack.aware.assignment.tags", Some("")).mode(Mode::Resource).doc(""),
    Definition::new(Kind::Int, "streams.session.timeout.ms", Some("45000"))
        .at_least(1)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Int, "streams.task.offset.interval.ms", Some("60000"))
        .at_least(1)
        .mode(Mode::Resource)
        .internal()
        .doc(""),
];
