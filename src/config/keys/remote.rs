//! Settings of tiered storage.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;
use crate::config::define::Range;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Boolean, "follower.fetch.last.tiered.offset.enable", Some("false"))
        .mode(Mode::ClusterWide)
        .doc("Whether an empty follower begins behind what is in tiered storage."),
    Definition::new(Kind::Long, "log.local.retention.bytes", Some("-2"))
        .at_least(-2)
        .mode(Mode::ClusterWide)
        .doc("Default of a topic's `local.retention.bytes`."),
    Definition::new(Kind::Long, "log.local.retention.ms", Some("-2"))
        .at_least(-2)
        .mode(Mode::ClusterWide)
        .doc("Default of a topic's `local.retention.ms`."),
    Definition::new(Kind::Long, "log.remote.copy.lag.bytes", Some("-1"))
        .at_least(-1)
        .mode(Mode::ClusterWide)
        .doc("Default of a topic's `remote.copy.lag.bytes`."),
    Definition::new(Kind::Long, "log.remote.copy.lag.ms", Some("0"))
        .at_least(-1)
        .mode(Mode::ClusterWide)
        .doc("Default of a topic's `remote.copy.lag.ms`."),
    Definition::new(Kind::Int, "remote.fetch.max.wait.ms", Some("500"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("How long a fetch waits for tiered storage."),
    Definition::new(Kind::Long, "remote.list.offsets.request.timeout.ms", Some("30000"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("How long ListOffsets waits for tiered storage."),
    Definition::new(Kind::Long, "remote.log.index.file.cache.total.size.bytes", Some("1073741824"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("Space for copies of indexes of tiered segments."),
    Definition::new(Kind::Long, "remote.log.index.file.cache.ttl.ms", Some("900000"))
        .at_least(-1)
        .internal()
        .doc("How long an unused copy of an index stays."),
    Definition::new(Kind::Int, "remote.log.manager.copier.thread.pool.size", Some("10"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("Threads that copy segments to tiered storage."),
    Definition::new(Kind::Long, "remote.log.manager.copy.max.bytes.per.second", Some("9223372036854775807"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("Most bytes copied to tiered storage in a second."),
    Definition::new(Kind::Int, "remote.log.manager.copy.quota.window.num", Some("11"))
        .at_least(1)
        .doc("Windows kept for the rate limit of copying."),
    Definition::new(Kind::Int, "remote.log.manager.copy.quota.window.size.seconds", Some("1"))
        .at_least(1)
        .doc("Length of a window of the rate limit of copying."),
    Definition::new(Kind::Int, "remote.log.manager.expiration.thread.pool.size", Some("10"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("Threads that remove old segments from tiered storage."),
    Definition::new(Kind::Long, "remote.log.manager.fetch.max.bytes.per.second", Some("9223372036854775807"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("Most bytes read from tiered storage in a second."),
    Definition::new(Kind::Int, "remote.log.manager.fetch.quota.window.num", Some("11"))
        .at_least(1)
        .doc("Windows kept for the rate limit of reading."),
    Definition::new(Kind::Int, "remote.log.manager.fetch.quota.window.size.seconds", Some("1"))
        .at_least(1)
        .doc("Length of a window of the rate limit of reading."),
    Definition::new(Kind::Int, "remote.log.manager.follower.thread.pool.size", Some("2"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("Threads that follow tiered segments of partitions led elsewhere."),
    Definition::new(Kind::Long, "remote.log.manager.task.interval.ms", Some("30000"))
        .at_least(1)
        .doc("How often work on tiered segments is looked for."),
    Definition::new(Kind::Long, "remote.log.manager.task.retry.backoff.max.ms", Some("30000"))
        .at_least(1)
        .internal()
        .doc("Longest pause before work on tiered segments is tried again."),
    Definition::new(Kind::Long, "remote.log.manager.task.retry.backoff.ms", Some("500"))
        .at_least(1)
        .internal()
        .doc("First pause before work on tiered segments is tried again."),
    Definition::new(Kind::Double, "remote.log.manager.task.retry.jitter", Some("0.2"))
        .range(Range::Fraction(0.0, 0.5))
        .internal()
        .doc("Share of the pause that is random."),
    Definition::new(Kind::Int, "remote.log.manager.thread.pool.size", Some("2"))
        .at_least(1)
        .doc("Threads for work on tiered segments."),
    Definition::new(Kind::Int, "remote.log.metadata.custom.metadata.max.bytes", Some("128"))
        .at_least(0)
        .doc("Most bytes that a storage plug-in may keep with a segment."),
    Definition::new(
        Kind::String,
        "remote.log.metadata.manager.class.name",
        Some("org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager"),
    )
    .range(Range::NotEmpty)
    .doc("Java class that knows which segments are in tiered storage."),
    Definition::new(Kind::String, "remote.log.metadata.manager.class.path", None)
        .doc("Where that class is found."),
    Definition::new(Kind::String, "remote.log.metadata.manager.impl.prefix", Some("rlmm.config."))
        .range(Range::NotEmpty)
        .doc("What the settings of that class begin with."),
    Definition::new(Kind::String, "remote.log.metadata.manager.listener.name", None)
        .doc("The listener over which that class reaches the brokers."),
    Definition::new(Kind::Int, "remote.log.reader.max.pending.tasks", Some("100"))
        .at_least(1)
        .doc("Reads from tiered storage that may wait."),
    Definition::new(Kind::Int, "remote.log.reader.threads", Some("10"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("Threads that read from tiered storage."),
    Definition::new(Kind::String, "remote.log.storage.manager.class.name", None)
        .doc("Java class that stores segments far away."),
    Definition::new(Kind::String, "remote.log.storage.manager.class.path", None)
        .doc("Where that class is found."),
    Definition::new(Kind::String, "remote.log.storage.manager.impl.prefix", Some("rsm.config."))
        .range(Range::NotEmpty)
        .doc("What the settings of that class begin with."),
    Definition::new(Kind::Boolean, "remote.log.storage.system.enable", Some("false")).used().doc(
        "Whether old segments may live in tiered storage. That is not there yet, so `true` stops the \
         start.",
    ),
];
