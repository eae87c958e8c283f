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
        .used()
        .doc(
            "How old records go: `delete` removes segments by age and size, `compact` keeps the last \
         value of each key, both may be given, and none keeps all.",
        ),
    Definition::new(Kind::Int, "compression.gzip.level", Some("-1"))
        .range(Range::GzipLevel)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "compression.gzip.level", factor: 1 }])
        .used()
        .doc("Level of gzip where `compression.type` is `gzip`; -1 for the default of the codec."),
    Definition::new(Kind::Int, "compression.lz4.level", Some("9"))
        .between(1, 17)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "compression.lz4.level", factor: 1 }])
        .used()
        .doc("Level of LZ4 where `compression.type` is `lz4`."),
    Definition::new(Kind::String, "compression.type", Some("producer"))
        .range(Range::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "compression.type", factor: 1 }])
        .used()
        .doc(
            "How batches are stored: `producer` keeps what the producer sent, the other values make the \
         broker compress anew where the batch differs.",
        ),
    Definition::new(Kind::Int, "compression.zstd.level", Some("3"))
        .between(-131072, 22)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "compression.zstd.level", factor: 1 }])
        .used()
        .doc("Level of Zstandard where `compression.type` is `zstd`."),
    Definition::new(Kind::Long, "delete.retention.ms", Some("86400000"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.cleaner.delete.retention.ms", factor: 1 }])
        .used()
        .doc("How long a tombstone stays in a compacted topic."),
    Definition::new(Kind::Boolean, "errors.deadletterqueue.group.enable", Some("false"))
        .mode(Mode::Resource)
        .used().doc("Whether share groups may write undeliverable records here (KIP-1191)."),
    Definition::new(Kind::Long, "file.delete.delay.ms", Some("60000"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.segment.delete.delay.ms", factor: 1 }])
        .used()
        .doc("How long the files of a removed segment stay on disk."),
    Definition::new(Kind::Long, "flush.messages", Some("9223372036854775807"))
        .at_least(1)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.flush.interval.messages", factor: 1 }])
        .used()
        .doc("Records after which the log is synced to disk."),
    Definition::new(Kind::Long, "flush.ms", Some("9223372036854775807"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[
            Synonym { name: "log.flush.interval.ms", factor: 1 },
            Synonym { name: "log.flush.scheduler.interval.ms", factor: 1 },
        ])
        .used()
        .doc("Time after which the log is synced to disk."),
    Definition::new(Kind::List, "follower.replication.throttled.replicas", Some(""))
        .range(Range::ThrottledReplicas)
        .mode(Mode::Resource)
        .doc("Replicas whose fetching is slowed down, as `PARTITION:BROKER`, or `*` for all."),
    Definition::new(Kind::Int, "index.interval.bytes", Some("4096"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.index.interval.bytes", factor: 1 }])
        .used()
        .doc("Bytes of records between two entries of an index."),
    Definition::new(Kind::Int, "internal.segment.bytes", None)
        .mode(Mode::Resource)
        .internal()
        .used()
        .doc("Segment size below the limit of `segment.bytes`, for tests."),
    Definition::new(Kind::List, "leader.replication.throttled.replicas", Some(""))
        .range(Range::ThrottledReplicas)
        .mode(Mode::Resource)
        .doc("Replicas to which sending is slowed down, as `PARTITION:BROKER`, or `*` for all."),
    Definition::new(Kind::Long, "local.retention.bytes", Some("-2"))
        .at_least(-2)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.local.retention.bytes", factor: 1 }])
        .doc(
            "How large the local part of a tiered partition may grow; -2 for as much as \
         `retention.bytes`.",
        ),
    Definition::new(Kind::Long, "local.retention.ms", Some("-2"))
        .at_least(-2)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.local.retention.ms", factor: 1 }])
        .doc("How long records of a tiered partition stay local; -2 for as long as `retention.ms`."),
    Definition::new(Kind::Long, "max.compaction.lag.ms", Some("9223372036854775807"))
        .at_least(1)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.cleaner.max.compaction.lag.ms", factor: 1 }])
        .used()
        .doc("Records older than this are compacted soon; a segment of a compacted topic is closed at this age."),
    Definition::new(Kind::Int, "max.decompressed.message.bytes", Some("2147483639"))
        .between(1, 2147483639)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "max.decompressed.message.bytes", factor: 1 }])
        .used()
        .doc("Largest record after decompression, where the broker decompresses."),
    Definition::new(Kind::Int, "max.message.bytes", Some("1048588"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "message.max.bytes", factor: 1 }])
        .used()
        .doc("Largest batch, as it is sent."),
    Definition::new(Kind::Long, "message.timestamp.after.max.ms", Some("3600000"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.message.timestamp.after.max.ms", factor: 1 }])
        .used()
        .doc("How far a record's time may lie ahead of the broker's clock."),
    Definition::new(Kind::Long, "message.timestamp.before.max.ms", Some("9223372036854775807"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.message.timestamp.before.max.ms", factor: 1 }])
        .used()
        .doc("How far a record's time may lie behind the broker's clock."),
    Definition::new(Kind::String, "message.timestamp.type", Some("CreateTime"))
        .range(Range::OneOf(&["CreateTime", "LogAppendTime"]))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.message.timestamp.type", factor: 1 }])
        .used()
        .doc("Whose clock counts: `CreateTime` the producer's, `LogAppendTime` the broker's."),
    Definition::new(Kind::Double, "min.cleanable.dirty.ratio", Some("0.5"))
        .range(Range::Fraction(0.0, 1.0))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.cleaner.min.cleanable.ratio", factor: 1 }])
        .used()
        .doc("Share of a log that must be new before it is compacted."),
    Definition::new(Kind::Long, "min.compaction.lag.ms", Some("0"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.cleaner.min.compaction.lag.ms", factor: 1 }])
        .used()
        .doc("Records younger than this are not compacted."),
    Definition::new(Kind::Int, "min.insync.replicas", Some("1"))
        .at_least(1)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "min.insync.replicas", factor: 1 }])
        .used()
        .doc("Replicas, the leader among them, that must be in sync for a write with acks=all."),
    Definition::new(Kind::Boolean, "preallocate", Some("false"))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.preallocate", factor: 1 }])
        .doc("Whether a segment takes its whole space when it begins."),
    Definition::new(Kind::Long, "remote.copy.lag.bytes", Some("-1"))
        .at_least(-1)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.remote.copy.lag.bytes", factor: 1 }])
        .doc("Bytes behind the end of the log at which a closed segment is copied to tiered storage."),
    Definition::new(Kind::Long, "remote.copy.lag.ms", Some("0"))
        .at_least(-1)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.remote.copy.lag.ms", factor: 1 }])
        .doc("Age at which a closed segment is copied to tiered storage."),
    Definition::new(Kind::Boolean, "remote.log.copy.disable", Some("false"))
        .mode(Mode::Resource)
        .doc("Whether no more segments are copied to tiered storage."),
    Definition::new(Kind::Boolean, "remote.log.delete.on.disable", Some("false"))
        .mode(Mode::Resource)
        .doc("Whether tiered segments are removed when `remote.storage.enable` is taken back."),
    Definition::new(Kind::Boolean, "remote.storage.enable", Some("false")).mode(Mode::Resource).used().doc(
        "Whether closed segments also go to tiered storage. That is not there yet, so `true` is \
         refused.",
    ),
    Definition::new(Kind::Long, "retention.bytes", Some("-1"))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.retention.bytes", factor: 1 }])
        .used()
        .doc("How large a partition may grow before its oldest segments go; -1 for no limit."),
    Definition::new(Kind::Long, "retention.ms", Some("604800000"))
        .at_least(-1)
        .mode(Mode::Resource)
        .synonyms(&[
            Synonym { name: "log.retention.ms", factor: 1 },
            Synonym { name: "log.retention.minutes", factor: 60000 },
            Synonym { name: "log.retention.hours", factor: 3600000 },
        ])
        .used()
        .doc("How long records stay before their segments go; -1 for ever."),
    Definition::new(Kind::Int, "segment.bytes", Some("1073741824"))
        .at_least(1048576)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.segment.bytes", factor: 1 }])
        .used()
        .doc("Size at which a segment is closed and the next one begins. Records go by whole segments."),
    Definition::new(Kind::Int, "segment.index.bytes", Some("10485760"))
        .at_least(4)
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "log.index.size.max.bytes", factor: 1 }])
        .used()
        .doc("Size of an index at which its segment is closed."),
    Definition::new(Kind::Long, "segment.jitter.ms", Some("0"))
        .at_least(0)
        .mode(Mode::Resource)
        .synonyms(&[
            Synonym { name: "log.roll.jitter.ms", factor: 1 },
            Synonym { name: "log.roll.jitter.hours", factor: 3600000 },
        ])
        .used()
        .doc("Most time taken off `segment.ms`, at random, so that not all segments close at once."),
    Definition::new(Kind::Long, "segment.ms", Some("604800000"))
        .at_least(1)
        .mode(Mode::Resource)
        .synonyms(&[
            Synonym { name: "log.roll.ms", factor: 1 },
            Synonym { name: "log.roll.hours", factor: 3600000 },
        ])
        .used()
        .doc("Age at which a segment is closed, full or not."),
    Definition::new(Kind::Boolean, "unclean.leader.election.enable", Some("false"))
        .mode(Mode::Resource)
        .synonyms(&[Synonym { name: "unclean.leader.election.enable", factor: 1 }])
        .doc("Whether a replica that is not in sync may lead when no other can. Records may be lost then."),
];
