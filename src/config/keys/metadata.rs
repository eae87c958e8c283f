//! Settings of the node, its roles, the controller and the metadata log.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Boolean, "auto.leader.rebalance.enable", Some("true")).doc(""),
    Definition::new(Kind::Int, "broker.heartbeat.interval.ms", Some("2000")).doc(""),
    Definition::new(Kind::Int, "broker.id", Some("-1")).doc(""),
    Definition::new(Kind::String, "broker.rack", None).doc(""),
    Definition::new(Kind::Int, "broker.session.timeout.ms", Some("9000")).doc(""),
    Definition::new(Kind::Boolean, "controlled.shutdown.enable", Some("true")).doc(""),
    Definition::new(Kind::List, "controller.listener.names", None).doc(""),
    Definition::new(Kind::Long, "controller.performance.always.log.threshold.ms", Some("2000"))
        .at_least(0)
        .internal()
        .doc(""),
    Definition::new(Kind::Long, "controller.performance.sample.period.ms", Some("60000"))
        .at_least(100)
        .internal()
        .doc(""),
    Definition::new(Kind::Int, "controller.quorum.append.linger.ms", Some("25")).at_least(0).doc(""),
    Definition::new(Kind::Boolean, "controller.quorum.auto.join.enable", Some("false")).doc(""),
    Definition::new(Kind::List, "controller.quorum.bootstrap.servers", Some("")).doc(""),
    Definition::new(Kind::Int, "controller.quorum.election.backoff.max.ms", Some("1000")).at_least(0).doc(""),
    Definition::new(Kind::Int, "controller.quorum.election.timeout.ms", Some("1000")).at_least(0).doc(""),
    Definition::new(Kind::Int, "controller.quorum.fetch.max.bytes", Some("1048576")).at_least(1).doc(""),
    Definition::new(Kind::Int, "controller.quorum.fetch.snapshot.max.bytes", Some("1048576"))
        .at_least(1)
        .doc(""),
    Definition::new(Kind::Int, "controller.quorum.fetch.timeout.ms", Some("2000")).at_least(0).doc(""),
    Definition::new(Kind::Int, "controller.quorum.request.timeout.ms", Some("2000")).at_least(0).doc(""),
    Definition::new(Kind::Int, "controller.quorum.retry.backoff.ms", Some("20")).at_least(0).doc(""),
    Definition::new(Kind::List, "controller.quorum.voters", Some("")).doc(""),
    Definition::new(Kind::Int, "controller.quota.window.num", Some("11")).at_least(1).doc(""),
    Definition::new(Kind::Int, "controller.quota.window.size.seconds", Some("1")).at_least(1).doc(""),
    Definition::new(Kind::Int, "controller.socket.timeout.ms", Some("30000")).doc(""),
    Definition::new(Kind::Int, "initial.broker.registration.timeout.ms", Some("60000")).doc(""),
    Definition::new(Kind::Long, "internal.metadata.delete.delay.millis", Some("60000")).internal().doc(""),
    Definition::new(Kind::Int, "internal.metadata.log.segment.bytes", None).internal().doc(""),
    Definition::new(Kind::Int, "internal.metadata.max.batch.size.in.bytes", Some("8388608"))
        .internal()
        .doc(""),
    Definition::new(Kind::Long, "leader.imbalance.check.interval.seconds", Some("300")).at_least(1).doc(""),
    Definition::new(Kind::String, "metadata.log.dir", None).doc(""),
    Definition::new(Kind::Long, "metadata.log.max.record.bytes.between.snapshots", Some("20971520"))
        .at_least(1)
        .doc(""),
    Definition::new(Kind::Long, "metadata.log.max.snapshot.interval.ms", Some("3600000")).at_least(0).doc(""),
    Definition::new(Kind::Int, "metadata.log.segment.bytes", Some("1073741824")).at_least(8388608).doc(""),
    Definition::new(Kind::Long, "metadata.log.segment.ms", Some("604800000")).doc(""),
    Definition::new(Kind::Int, "metadata.max.idle.interval.ms", Some("500")).at_least(0).doc(""),
    Definition::new(Kind::Long, "metadata.max.retention.bytes", Some("104857600")).doc(""),
    Definition::new(Kind::Long, "metadata.max.retention.ms", Some("604800000")).doc(""),
    Definition::new(Kind::Int, "node.id", Some("1")).at_least(0).doc(""),
    Definition::new(Kind::List, "process.roles", None)
        .range(Range::ListOf(&["broker", "controller"]))
        .doc(""),
    Definition::new(Kind::Long, "server.max.startup.time.ms", Some("9223372036854775807"))
        .at_least(0)
        .internal()
        .doc(""),
    Definition::new(Kind::Boolean, "unclean.leader.election.enable", Some("false"))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Long, "unclean.leader.election.interval.ms", Some("300000"))
        .at_least(1)
        .internal()
        .doc(""),
    Definition::new(Kind::Boolean, "unstable.api.versions.enable", Some("false")).internal().doc(""),
    Definition::new(Kind::Boolean, "unstable.feature.versions.enable", Some("false")).internal().doc(""),
];
