//! Settings of logs and log directories, and the brokers' defaults of topics.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Boolean, "auto.create.topics.enable", Some("true")).used().doc(
        "Whether a topic is made when a client asks for its metadata and allows it, or produces to \
         it.",
    ),
    Definition::new(Kind::Int, "compression.gzip.level", Some("-1"))
        .range(Range::GzipLevel)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Level of gzip where `compression.type` is `gzip`; -1 for the default of the codec."),
    Definition::new(Kind::Int, "compression.lz4.level", Some("9"))
        .between(1, 17)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Level of LZ4 where `compression.type` is `lz4`."),
    Definition::new(Kind::String, "compression.type", Some("producer"))
        .range(Range::OneOf(&["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]))
        .mode(Mode::ClusterWide)
        .used()
        .doc(
            "How batches are stored: `producer` keeps what the producer sent, the other values make the \
         broker compress anew where the batch differs.",
        ),
    Definition::new(Kind::Int, "compression.zstd.level", Some("3"))
        .between(-131072, 22)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Level of Zstandard where `compression.type` is `zstd`."),
    Definition::new(Kind::List, "cordoned.log.dirs", Some(""))
        .mode(Mode::PerBroker)
        .used()
        .doc(
            "Log directories that get no new partitions, so that they can be emptied (KIP-1066); `*` for all, and then no \
             topic can be made.",
        ),
    Definition::new(Kind::Int, "default.replication.factor", Some("1"))
        .used()
        .doc("Replicas of a topic that is made without saying how many."),
    Definition::new(Kind::Boolean, "delete.topic.enable", Some("true"))
        .used()
        .doc("Whether topics can be deleted by request."),
    Definition::new(Kind::Long, "log.cleaner.backoff.ms", Some("15000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc(
            "Pause of the cleaner when there is nothing to compact.",
        ),
    Definition::new(Kind::Long, "log.cleaner.dedupe.buffer.size", Some("134217728"))
        .mode(Mode::ClusterWide)
        .used()
        .doc(
            "Memory for the keys of a compaction run.",
        ),
    Definition::new(Kind::Long, "log.cleaner.delete.retention.ms", Some("86400000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `delete.retention.ms`."),
    Definition::new(Kind::Boolean, "log.cleaner.enable", Some("true"))
        .used()
        .doc("Whether logs are compacted."),
    Definition::new(Kind::Double, "log.cleaner.io.buffer.load.factor", Some("0.9"))
        .mode(Mode::ClusterWide)
        .used()
        .doc(
            "How full the memory for keys may become.",
        ),
    Definition::new(Kind::Int, "log.cleaner.io.buffer.size", Some("524288"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc(
            "Memory for reading and writing during compaction.",
        ),
    Definition::new(Kind::Double, "log.cleaner.io.max.bytes.per.second", Some("1.7976931348623157E308"))
        .mode(Mode::ClusterWide)
        .used()
        .doc(
            "Most bytes that compaction reads and writes in a second.",
        ),
    Definition::new(Kind::Long, "log.cleaner.max.compaction.lag.ms", Some("9223372036854775807"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `max.compaction.lag.ms`."),
    Definition::new(Kind::Double, "log.cleaner.min.cleanable.ratio", Some("0.5"))
        .range(Range::Fraction(0.0, 1.0))
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `min.cleanable.dirty.ratio`."),
    Definition::new(Kind::Long, "log.cleaner.min.compaction.lag.ms", Some("0"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `min.compaction.lag.ms`."),
    Definition::new(Kind::Int, "log.cleaner.threads", Some("1"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc(
            "Threads for compaction.",
        ),
    Definition::new(Kind::List, "log.cleanup.policy", Some("delete"))
        .range(Range::ListOf(&["compact", "delete"]))
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `cleanup.policy`."),
    Definition::new(Kind::List, "log.dir", Some("./dohle-data")).range(Range::NotEmpty).used().doc(
        "The folder for data, used where `log.dirs` is not set. Apache Kafka's default is \
         /tmp/kafka-logs.",
    ),
    Definition::new(Kind::Long, "log.dir.failure.timeout.ms", Some("30000"))
        .at_least(1)
        .doc("How long a broker tries to report failed directories that lead partitions before it stops."),
    Definition::new(Kind::List, "log.dirs", None).range(Range::NotEmpty).used().doc(
        "The folders for data. New partitions go to the one with the fewest; a folder that fails goes \
         out of use, the others serve on.",
    ),
    Definition::new(Kind::Long, "log.flush.interval.messages", Some("9223372036854775807"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `flush.messages`."),
    Definition::new(Kind::Long, "log.flush.interval.ms", None)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `flush.ms`; without it, `log.flush.scheduler.interval.ms` counts."),
    Definition::new(Kind::Int, "log.flush.offset.checkpoint.interval.ms", Some("60000"))
        .at_least(0)
        .used()
        .doc("How often recovery points are written."),
    Definition::new(Kind::Long, "log.flush.scheduler.interval.ms", Some("9223372036854775807"))
        .used()
        .doc("How often logs are looked at whose `flush.ms` may have passed."),
    Definition::new(Kind::Int, "log.flush.start.offset.checkpoint.interval.ms", Some("60000"))
        .at_least(0)
        .used()
        .doc("How often log start offsets are written."),
    Definition::new(Kind::Int, "log.index.interval.bytes", Some("4096"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `index.interval.bytes`."),
    Definition::new(Kind::Int, "log.index.size.max.bytes", Some("10485760"))
        .at_least(4)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `segment.index.bytes`."),
    Definition::new(Kind::Long, "log.initial.task.delay.ms", Some("30000"))
        .at_least(0)
        .internal()
        .used()
        .doc("Wait before the first run of upkeep after the start."),
    Definition::new(Kind::Long, "log.message.timestamp.after.max.ms", Some("3600000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `message.timestamp.after.max.ms`."),
    Definition::new(Kind::Long, "log.message.timestamp.before.max.ms", Some("9223372036854775807"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `message.timestamp.before.max.ms`."),
    Definition::new(Kind::String, "log.message.timestamp.type", Some("CreateTime"))
        .range(Range::OneOf(&["CreateTime", "LogAppendTime"]))
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `message.timestamp.type`."),
    Definition::new(Kind::Boolean, "log.preallocate", Some("false"))
        .mode(Mode::ClusterWide)
        .doc("Default of a topic's `preallocate`."),
    Definition::new(Kind::Long, "log.retention.bytes", Some("-1"))
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `retention.bytes`."),
    Definition::new(Kind::Long, "log.retention.check.interval.ms", Some("300000"))
        .at_least(1)
        .used()
        .doc("How often segments are looked for whose time or space is up."),
    Definition::new(Kind::Int, "log.retention.hours", Some("168"))
        .used()
        .doc("Default of a topic's `retention.ms`, in hours; the weakest of the three."),
    Definition::new(Kind::Int, "log.retention.minutes", None)
        .used()
        .doc("Default of a topic's `retention.ms`, in minutes; stronger than hours."),
    Definition::new(Kind::Long, "log.retention.ms", None).mode(Mode::ClusterWide).used().doc(
        "Default of a topic's `retention.ms`; stronger than minutes and hours. A negative value, of this or \
         of the other two, keeps records for ever.",
    ),
    Definition::new(Kind::Int, "log.roll.hours", Some("168"))
        .at_least(1)
        .used()
        .doc("Default of a topic's `segment.ms`, in hours."),
    Definition::new(Kind::Int, "log.roll.jitter.hours", Some("0"))
        .at_least(0)
        .used()
        .doc("Default of a topic's `segment.jitter.ms`, in hours."),
    Definition::new(Kind::Long, "log.roll.jitter.ms", None)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `segment.jitter.ms`; stronger than hours."),
    Definition::new(Kind::Long, "log.roll.ms", None)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `segment.ms`; stronger than hours."),
    Definition::new(Kind::Int, "log.segment.bytes", Some("1073741824"))
        .at_least(1048576)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `segment.bytes`."),
    Definition::new(Kind::Long, "log.segment.delete.delay.ms", Some("60000"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `file.delete.delay.ms`."),
    Definition::new(Kind::Int, "max.decompressed.message.bytes", Some("2147483639"))
        .between(1, 2147483639)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `max.decompressed.message.bytes`."),
    Definition::new(Kind::Int, "message.max.bytes", Some("1048588"))
        .at_least(0)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `max.message.bytes`."),
    Definition::new(Kind::Int, "min.insync.replicas", Some("1"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Default of a topic's `min.insync.replicas`."),
    Definition::new(Kind::Int, "num.partitions", Some("1"))
        .at_least(1)
        .used()
        .doc("Partitions of a topic that is made without saying how many."),
    Definition::new(Kind::Int, "num.recovery.threads.per.data.dir", Some("2"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .used()
        .doc("Threads that recover logs after a crash, for each folder. They work at the start, so a change while the broker runs has no effect."),
];
