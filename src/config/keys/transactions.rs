//! Settings of producers' ids and transactions.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Int, "add.partitions.to.txn.retry.backoff.max.ms", Some("100"))
        .at_least(0)
        .used()
        .doc("How long a request waits for the markers of the transaction before to be written, before the producer is told to send again."),
    Definition::new(Kind::Int, "add.partitions.to.txn.retry.backoff.ms", Some("20"))
        .at_least(1)
        .used()
        .doc("Longest pause before such a request looks again whether they are, though nobody says so."),
    Definition::new(Kind::Int, "producer.id.expiration.check.interval.ms", Some("600000"))
        .at_least(1)
        .internal()
        .used()
        .doc("How often producers are looked for that have been silent for long."),
    Definition::new(Kind::Int, "producer.id.expiration.ms", Some("86400000"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .used()
        .doc("A producer that is silent for this long is forgotten by a partition."),
    Definition::new(Kind::Int, "producer.purgatory.purge.interval.requests", Some("1000"))
        .doc("Upkeep of waiting Produce requests; nothing to tune here."),
    Definition::new(Kind::Int, "transaction.abort.timed.out.transaction.cleanup.interval.ms", Some("10000"))
        .at_least(1)
        .doc("A transaction is aborted when its time is up, not at the next look."),
    Definition::new(Kind::Int, "transaction.max.timeout.ms", Some("900000"))
        .at_least(1)
        .used()
        .doc("Longest timeout that a transaction may ask for."),
    Definition::new(Kind::Boolean, "transaction.partition.verification.enable", Some("true"))
        .mode(Mode::ClusterWide)
        .used()
        .doc("Whether a partition asks the coordinator if a transaction is open (KIP-890)."),
    Definition::new(Kind::Int, "transaction.remove.expired.transaction.cleanup.interval.ms", Some("3600000"))
        .at_least(1)
        .used()
        .doc("How often transactional ids are looked for that have been silent for long."),
    Definition::new(Kind::Int, "transaction.state.log.load.buffer.size", Some("5242880"))
        .at_least(1)
        .used()
        .doc("Bytes read at once when transactions are loaded."),
    Definition::new(Kind::Int, "transaction.state.log.min.isr", Some("2"))
        .at_least(1)
        .used()
        .doc("Replicas of the transaction topic that must be in sync for a write."),
    Definition::new(Kind::Int, "transaction.state.log.num.partitions", Some("50"))
        .at_least(1)
        .used()
        .doc("Partitions of the transaction topic. Not to be changed once it exists."),
    Definition::new(Kind::Short, "transaction.state.log.replication.factor", Some("3"))
        .at_least(1)
        .used()
        .doc("Replicas of the transaction topic."),
    Definition::new(Kind::Int, "transaction.state.log.segment.bytes", Some("104857600"))
        .at_least(1)
        .used()
        .doc("Segment size of the transaction topic."),
    Definition::new(Kind::Boolean, "transaction.two.phase.commit.enable", Some("false"))
        .doc("Whether transactions may take part in a two-phase commit led elsewhere (KIP-939)."),
    Definition::new(Kind::Int, "transactional.id.expiration.ms", Some("604800000"))
        .at_least(1)
        .used()
        .doc("A transactional id that is silent for this long is forgotten."),
];
