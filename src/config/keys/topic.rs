//! Settings of a topic.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;
use crate::config::define::Synonym;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::List, "cleanup.policy", Some("delete"))
        .range(Range::ListOf(&["compact", "delete"]))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.cleanup.policy", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Int, "compression.gzip.level", Some("-1"))
        .range(Range::GzipLevel)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "compression.gzip.level", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Int, "compression.lz4.level", Some("9"))
        .between(1, 17)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "compression.lz4.level", factor: 1 }])
        .doc(""),
    Definition::new(Kind::String, "compression.type", Some("producer"))
        .range(Range::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "compression.type", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Int, "compression.zstd.level", Some("3"))
        .between(-131072, 22)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "compression.zstd.level", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "delete.retention.ms", Some("86400000"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.cleaner.delete.retention.ms", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Boolean, "errors.deadletterqueue.group.enable", Some("false"))
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Long, "file.delete.delay.ms", Some("60000"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.segment.delete.delay.ms", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "flush.messages", Some("9223372036854775807"))
        .at_least(1)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.flush.interval.messages", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "flush.ms", Some("9223372036854775807"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[
            Synonym { name: "log.flush.interval.ms", factor: 1 },
            Synonym { name: "log.flush.scheduler.interval.ms", factor: 1 },
        ])
        .doc(""),
    Definition::new(Kind::List, "follower.replication.throttled.replicas", Some(""))
        .range(Range::ThrottledReplicas)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Int, "index.interval.bytes", Some("4096"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.index.interval.bytes", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Int, "internal.segment.bytes", None).mode(Mode::Resource).internal().doc(""),
    Definition::new(Kind::List, "leader.replication.throttled.replicas", Some(""))
        .range(Range::ThrottledReplicas)
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Long, "local.retention.bytes", Some("-2"))
        .at_least(-2)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.local.retention.bytes", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "local.retention.ms", Some("-2"))
        .at_least(-2)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.local.retention.ms", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "max.compaction.lag.ms", Some("9223372036854775807"))
        .at_least(1)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.cleaner.max.compaction.lag.ms", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Int, "max.decompressed.message.bytes", Some("2147483639"))
        .between(1, 2147483639)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "max.decompressed.message.bytes", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Int, "max.message.bytes", Some("1048588"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "message.max.bytes", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "message.timestamp.after.max.ms", Some("3600000"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.message.timestamp.after.max.ms", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "message.timestamp.before.max.ms", Some("9223372036854775807"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.message.timestamp.before.max.ms", factor: 1 }])
        .doc(""),
    Definition::new(Kind::String, "message.timestamp.type", Some("CreateTime"))
        .range(Range::OneOf(&["CreateTime", "LogAppendTime"]))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.message.timestamp.type", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Double, "min.cleanable.dirty.ratio", Some("0.5"))
        .range(Range::Fraction(0.0, 1.0))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.cleaner.min.cleanable.ratio", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "min.compaction.lag.ms", Some("0"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.cleaner.min.compaction.lag.ms", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Int, "min.insync.replicas", Some("1"))
        .at_least(1)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "min.insync.replicas", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Boolean, "preallocate", Some("false"))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.preallocate", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "remote.copy.lag.bytes", Some("-1"))
        .at_least(-1)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.remote.copy.lag.bytes", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "remote.copy.lag.ms", Some("0"))
        .at_least(-1)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.remote.copy.lag.ms", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Boolean, "remote.log.copy.disable", Some("false")).mode(Mode::Resource).doc(""),
    Definition::new(Kind::Boolean, "remote.log.delete.on.disable", Some("false"))
        .mode(Mode::Resource)
        .doc(""),
    Definition::new(Kind::Boolean, "remote.storage.enable", Some("false")).mode(Mode::Resource).doc(""),
    Definition::new(Kind::Long, "retention.bytes", Some("-1"))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.retention.bytes", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "retention.ms", Some("604800000"))
        .at_least(-1)
        .mode(Mode::Resource)
        .synonyms(&[
            Synonym { name: "log.retention.ms", factor: 1 },
            Synonym { name: "log.retention.minutes", factor: 60000 },
            Synonym { name: "log.retention.hours", factor: 3600000 },
        ])
        .doc(""),
    Definition::new(Kind::Int, "segment.bytes", Some("1073741824"))
        .at_least(1048576)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.segment.bytes", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Int, "segment.index.bytes", Some("10485760"))
        .at_least(4)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.index.size.max.bytes", factor: 1 }])
        .doc(""),
    Definition::new(Kind::Long, "segment.jitter.ms", Some("0"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[
            Synonym { name: "log.roll.jitter.ms", factor: 1 },
            Synonym { name: "log.roll.jitter.hours", factor: 3600000 },
        ])
        .doc(""),
    Definition::new(Kind::Long, "segment.ms", Some("604800000"))
        .at_least(1)
        .mode(Mode::Resource)
        .synonyms(&[
            Synonym { name: "log.roll.ms", factor: 1 },
            Synonym { name: "log.roll.hours", factor: 3600000 },
        ])
        .doc(""),
    Definition::new(Kind::Boolean, "unclean.leader.election.enable", Some("false"))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "unclean.leader.election.enable", factor: 1 }])
        .doc(""),
];
