//! Settings of logs and log directories, and the brokers' defaults of topics.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Boolean, "auto.create.topics.enable", Some("true")).doc(""),
    Definition::new(Kind::Int, "compression.gzip.level", Some("-1"))
        .range(Range::GzipLevel)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "compression.lz4.level", Some("9"))
        .between(1, 17)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::String, "compression.type", Some("producer"))
        .range(Range::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "compression.zstd.level", Some("3"))
        .between(-131072, 22)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::List, "cordoned.log.dirs", Some("")).mode(Mode::PerBroker).doc(""),
    Definition::new(Kind::Int, "default.replication.factor", Some("1")).doc(""),
    Definition::new(Kind::Boolean, "delete.topic.enable", Some("true")).doc(""),
    Definition::new(Kind::Long, "log.cleaner.backoff.ms", Some("15000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Long, "log.cleaner.dedupe.buffer.size", Some("134217728"))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Long, "log.cleaner.delete.retention.ms", Some("86400000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Boolean, "log.cleaner.enable", Some("true")).doc(""),
    Definition::new(Kind::Double, "log.cleaner.io.buffer.load.factor", Some("0.9"))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "log.cleaner.io.buffer.size", Some("524288"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Double, "log.cleaner.io.max.bytes.per.second", Some("1.7976931348623157E308"))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Long, "log.cleaner.max.compaction.lag.ms", Some("9223372036854775807"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Double, "log.cleaner.min.cleanable.ratio", Some("0.5"))
        .range(Range::Fraction(0.0, 1.0))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Long, "log.cleaner.min.compaction.lag.ms", Some("0"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "log.cleaner.threads", Some("1")).at_least(0).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::List, "log.cleanup.policy", Some("delete"))
        .range(Range::ListOf(&["compact", "delete"]))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::List, "log.dir", Some("./dohle-data")).range(Range::NotEmpty).doc(""),
    Definition::new(Kind::Long, "log.dir.failure.timeout.ms", Some("30000")).at_least(1).doc(""),
    Definition::new(Kind::List, "log.dirs", None).range(Range::NotEmpty).doc(""),
    Definition::new(Kind::Long, "log.flush.interval.messages", Some("9223372036854775807"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Long, "log.flush.interval.ms", None).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Int, "log.flush.offset.checkpoint.interval.ms", Some("60000")).at_least(0).doc(""),
    Definition::new(Kind::Long, "log.flush.scheduler.interval.ms", Some("9223372036854775807")).doc(""),
    Definition::new(Kind::Int, "log.flush.start.offset.checkpoint.interval.ms", Some("60000"))
        .at_least(0)
        .doc(""),
    Definition::new(Kind::Int, "log.index.interval.bytes", Some("4096"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "log.index.size.max.bytes", Some("10485760"))
        .at_least(4)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Long, "log.initial.task.delay.ms", Some("30000")).at_least(0).internal().doc(""),
    Definition::new(Kind::Long, "log.message.timestamp.after.max.ms", Some("3600000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Long, "log.message.timestamp.before.max.ms", Some("9223372036854775807"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::String, "log.message.timestamp.type", Some("CreateTime"))
        .range(Range::OneOf(&["CreateTime", "LogAppendTime"]))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Boolean, "log.preallocate", Some("false")).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Long, "log.retention.bytes", Some("-1")).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Long, "log.retention.check.interval.ms", Some("300000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "log.retention.hours", Some("168")).doc(""),
    Definition::new(Kind::Int, "log.retention.minutes", None).doc(""),
    Definition::new(Kind::Long, "log.retention.ms", None).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Int, "log.roll.hours", Some("168")).at_least(1).doc(""),
    Definition::new(Kind::Int, "log.roll.jitter.hours", Some("0")).at_least(0).doc(""),
    Definition::new(Kind::Long, "log.roll.jitter.ms", None).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Long, "log.roll.ms", None).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Int, "log.segment.bytes", Some("1073741824"))
        .at_least(1048576)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Long, "log.segment.delete.delay.ms", Some("60000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "max.decompressed.message.bytes", Some("2147483639"))
        .between(1, 2147483639)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "message.max.bytes", Some("1048588"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "min.insync.replicas", Some("1")).at_least(1).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Int, "num.partitions", Some("1")).at_least(1).doc(""),
    Definition::new(Kind::Int, "num.recovery.threads.per.data.dir", Some("2"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc(""),
];
