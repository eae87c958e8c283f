//! Settings of producers' ids and transactions.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Int, "add.partitions.to.txn.retry.backoff.max.ms", Some("100")).at_least(0).doc(""),
    Definition::new(Kind::Int, "add.partitions.to.txn.retry.backoff.ms", Some("20")).at_least(1).doc(""),
    Definition::new(Kind::Int, "producer.id.expiration.check.interval.ms", Some("600000"))
        .at_least(1)
        .internal()
        .doc(""),
    Definition::new(Kind::Int, "producer.id.expiration.ms", Some("86400000"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "producer.purgatory.purge.interval.requests", Some("1000")).doc(""),
    Definition::new(Kind::Int, "transaction.abort.timed.out.transaction.cleanup.interval.ms", Some("10000"))
        .at_least(1)
        .doc(""),
    Definition::new(Kind::Int, "transaction.max.timeout.ms", Some("900000")).at_least(1).doc(""),
    Definition::new(Kind::Boolean, "transaction.partition.verification.enable", Some("true"))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "transaction.remove.expired.transaction.cleanup.interval.ms", Some("3600000"))
        .at_least(1)
        .doc(""),
    Definition::new(Kind::Int, "transaction.state.log.load.buffer.size", Some("5242880")).at_least(1).doc(""),
    Definition::new(Kind::Int, "transaction.state.log.min.isr", Some("2")).at_least(1).doc(""),
    Definition::new(Kind::Int, "transaction.state.log.num.partitions", Some("50")).at_least(1).doc(""),
    Definition::new(Kind::Short, "transaction.state.log.replication.factor", Some("3")).at_least(1).doc(""),
    Definition::new(Kind::Int, "transaction.state.log.segment.bytes", Some("104857600")).at_least(1).doc(""),
    Definition::new(Kind::Boolean, "transaction.two.phase.commit.enable", Some("false")).doc(""),
    Definition::new(Kind::Int, "transactional.id.expiration.ms", Some("604800000")).at_least(1).doc(""),
];
