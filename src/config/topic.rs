//! A topic's settings, resolved: the topic's own, over the broker's defaults.

use crate::config::define::Definition;
use crate::config::define::Invalid;
use crate::config::keys::topic_key;
use crate::config::keys::topic_keys;
use crate::config::server::ServerConfig;
use crate::config::values::Values;
use std::collections::BTreeMap;

/// Which ways of removing old records are on; both or none may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cleanup {
    /// Whole segments go by age and size.
    pub delete: bool,
    /// Only the last value of each key stays.
    pub compact: bool,
}

/// How batches are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// As the producer sent them.
    Producer,
    /// Without compression.
    Uncompressed,
    /// With gzip; level 1 to 9, or -1 for its default.
    Gzip {
        /// The level.
        level: i32,
    },
    /// With snappy, in the framing of Java clients.
    Snappy,
    /// With LZ4; level 1 to 17.
    Lz4 {
        /// The level.
        level: i32,
    },
    /// With Zstandard; level -131072 to 22.
    Zstd {
        /// The level.
        level: i32,
    },
}

/// Whose clock gives records their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// The producer's.
    CreateTime,
    /// The broker's, at the append.
    LogAppendTime,
}

/// Replicas whose replication is slowed down (`leader.` and `follower.replication.throttled.replicas`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThrottledReplicas {
    /// All of them (`*`).
    All,
    /// These pairs of partition and broker.
    Listed(Vec<(i32, i32)>),
}

/// Everything that counts for one topic. Times are in milliseconds, sizes in bytes; -1 means "no limit"
/// where Kafka says so.
#[derive(Clone, Debug, PartialEq)]
pub struct TopicConfig {
    /// `segment.bytes`: the size at which a segment is closed.
    pub segment_bytes: i32,
    /// `segment.ms`: the age at which a segment is closed.
    pub segment_ms: i64,
    /// `segment.jitter.ms`: at most this much is taken off `segment_ms`, at random.
    pub segment_jitter_ms: i64,
    /// `segment.index.bytes`: the size of an index at which its segment is closed.
    pub segment_index_bytes: i32,
    /// `index.interval.bytes`: bytes of records between two entries of an index.
    pub index_interval_bytes: i32,
    /// `retention.ms`: how long records stay; -1 for ever.
    pub retention_ms: i64,
    /// `retention.bytes`: how large a partition may grow; -1 without limit.
    pub retention_bytes: i64,
    /// `cleanup.policy`.
    pub cleanup: Cleanup,
    /// `delete.retention.ms`: how long a tombstone stays in a compacted topic.
    pub delete_retention_ms: i64,
    /// `min.compaction.lag.ms`: younger records are not compacted.
    pub min_compaction_lag_ms: i64,
    /// `max.compaction.lag.ms`: older records are compacted soon.
    pub max_compaction_lag_ms: i64,
    /// `min.cleanable.dirty.ratio`: the share of a log not compacted yet at which compaction is worth it.
    pub min_cleanable_dirty_ratio: f64,
    /// `file.delete.delay.ms`: how long a removed segment's files stay on disk.
    pub file_delete_delay_ms: i64,
    /// `max.message.bytes`: the largest batch.
    pub max_message_bytes: i32,
    /// `max.decompressed.message.bytes`: the largest record after decompression.
    pub max_decompressed_message_bytes: i32,
    /// `compression.type` with its level.
    pub compression: Compression,
    /// `message.timestamp.type`.
    pub timestamp_type: TimestampType,
    /// `message.timestamp.before.max.ms`: how far in the past a record's time may lie.
    pub timestamp_before_max_ms: i64,
    /// `message.timestamp.after.max.ms`: how far in the future a record's time may lie.
    pub timestamp_after_max_ms: i64,
    /// `min.insync.replicas`: replicas that must be in sync for a write with acks=all.
    pub min_insync_replicas: i32,
    /// `unclean.leader.election.enable`: whether a replica out of sync may lead.
    pub unclean_leader_election: bool,
    /// `flush.messages`: records after which a log is synced.
    pub flush_messages: i64,
    /// `flush.ms`: time after which a log is synced.
    pub flush_ms: i64,
    /// `preallocate`: whether a segment's space is taken when it begins.
    pub preallocate: bool,
    /// `leader.replication.throttled.replicas`.
    pub leader_throttled: ThrottledReplicas,
    /// `follower.replication.throttled.replicas`.
    pub follower_throttled: ThrottledReplicas,
    /// `remote.storage.enable`: whether closed segments are also kept far away.
    pub remote_storage: bool,
    /// `local.retention.ms`: how long records stay here when they are also far away; -2 as `retention.ms`.
    pub local_retention_ms: i64,
    /// `local.retention.bytes`: the same by size; -2 as `retention.bytes`.
    pub local_retention_bytes: i64,
}

impl TopicConfig {
    /// The age in ms at which a segment is closed: a compacted topic's must not be older than its records may be
    /// before they are compacted (`LogConfig.maxSegmentMs`).
    pub fn max_segment_ms(&self) -> i64 {
        let is_bound = self.cleanup.compact && self.max_compaction_lag_ms > 0;
        if is_bound { self.segment_ms.min(self.max_compaction_lag_ms) } else { self.segment_ms }
    }

    /// The settings of a topic that sets these ones itself.
    ///
    /// # Errors
    /// [`Invalid`] for an unknown name, for a value that its setting does not take, and for values that
    /// contradict each other (`LogConfig` of Kafka).
    pub fn resolve(
        defaults: &ServerConfig,
        overrides: &BTreeMap<String, String>,
    ) -> Result<TopicConfig, Invalid> {
        validate_names(overrides)?;
        let mut effective = Values::new(topic_keys(), overrides)?.all_set().clone();
        for definition in topic_keys() {
            if let Some(value) = defaults.topic_default(definition) {
                effective.entry(definition.name.to_owned()).or_insert(value);
            }
        }
        TopicConfig::validated(&effective, overrides)
    }

    /// The settings of a topic that sets nothing itself.
    pub(super) fn from_broker(broker: &Values) -> Result<TopicConfig, Invalid> {
        let given = topic_keys()
            .iter()
            .filter_map(|definition| Some((definition.name.to_owned(), default_from(broker, definition)?)));
        TopicConfig::validated(&given.collect(), &BTreeMap::new())
    }

    fn validated(
        effective: &BTreeMap<String, String>,
        overrides: &BTreeMap<String, String>,
    ) -> Result<TopicConfig, Invalid> {
        let config = TopicConfig::from_values(&Values::new(topic_keys(), effective)?);
        config.validate(overrides)?;
        Ok(config)
    }

    fn from_values(values: &Values) -> TopicConfig {
        let policies = values.list("cleanup.policy");
        TopicConfig {
            // Kafka's own tests use smaller segments than `segment.bytes` allows.
            segment_bytes: match values.set("internal.segment.bytes") {
                Some(_) => values.int("internal.segment.bytes"),
                None => values.int("segment.bytes"),
            },
            segment_ms: values.long("segment.ms"),
            segment_jitter_ms: values.long("segment.jitter.ms"),
            segment_index_bytes: values.int("segment.index.bytes"),
            index_interval_bytes: values.int("index.interval.bytes"),
            retention_ms: values.long("retention.ms"),
            retention_bytes: values.long("retention.bytes"),
            cleanup: Cleanup { delete: policies.contains(&"delete"), compact: policies.contains(&"compact") },
            delete_retention_ms: values.long("delete.retention.ms"),
            min_compaction_lag_ms: values.long("min.compaction.lag.ms"),
            max_compaction_lag_ms: values.long("max.compaction.lag.ms"),
            min_cleanable_dirty_ratio: values.double("min.cleanable.dirty.ratio"),
            file_delete_delay_ms: values.long("file.delete.delay.ms"),
            max_message_bytes: values.int("max.message.bytes"),
            max_decompressed_message_bytes: values.int("max.decompressed.message.bytes"),
            compression: compression(values),
            timestamp_type: match values.get("message.timestamp.type") {
                Some("LogAppendTime") => TimestampType::LogAppendTime,
                _ => TimestampType::CreateTime,
            },
            timestamp_before_max_ms: values.long("message.timestamp.before.max.ms"),
            timestamp_after_max_ms: values.long("message.timestamp.after.max.ms"),
            min_insync_replicas: values.int("min.insync.replicas"),
            unclean_leader_election: values.boolean("unclean.leader.election.enable"),
            flush_messages: values.long("flush.messages"),
            flush_ms: values.long("flush.ms"),
            preallocate: values.boolean("preallocate"),
            leader_throttled: throttled(values, "leader.replication.throttled.replicas"),
            follower_throttled: throttled(values, "follower.replication.throttled.replicas"),
            remote_storage: values.boolean("remote.storage.enable"),
            local_retention_ms: values.long("local.retention.ms"),
            local_retention_bytes: values.long("local.retention.bytes"),
        }
    }

    /// Rules that span several settings; the wording is Kafka's (`LogConfig.validateTopicLogConfigValues`).
    fn validate(&self, overrides: &BTreeMap<String, String>) -> Result<(), Invalid> {
        if self.min_compaction_lag_ms > self.max_compaction_lag_ms {
            return Err(Invalid::sentence(
                "min.compaction.lag.ms",
                &self.min_compaction_lag_ms.to_string(),
                format!(
                    "conflict topic config setting min.compaction.lag.ms ({}) > max.compaction.lag.ms ({})",
                    self.min_compaction_lag_ms, self.max_compaction_lag_ms
                ),
            ));
        }
        if self.remote_storage && overrides.contains_key("remote.storage.enable") {
            return Err(Invalid::sentence(
                "remote.storage.enable",
                "true",
                "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with \
                 remote log storage.",
            ));
        }
        Ok(())
    }
}

/// Refuses names that no topic setting has, as Kafka does (`LogConfig.validateNames`).
fn validate_names(overrides: &BTreeMap<String, String>) -> Result<(), Invalid> {
    match overrides.iter().find(|(name, _)| topic_key(name).is_none()) {
        Some((name, value)) => {
            Err(Invalid::sentence(name, value, format!("Unknown topic config name: {name}")))
        }
        None => Ok(()),
    }
}

fn compression(values: &Values) -> Compression {
    match values.get("compression.type") {
        Some("uncompressed") => Compression::Uncompressed,
        Some("gzip") => Compression::Gzip { level: values.int("compression.gzip.level") },
        Some("snappy") => Compression::Snappy,
        Some("lz4") => Compression::Lz4 { level: values.int("compression.lz4.level") },
        Some("zstd") => Compression::Zstd { level: values.int("compression.zstd.level") },
        _ => Compression::Producer,
    }
}

fn throttled(values: &Values, name: &str) -> ThrottledReplicas {
    let entries = values.list(name);
    if entries == ["*"] {
        return ThrottledReplicas::All;
    }
    let pairs = entries.iter().filter_map(|entry| {
        let (partition, broker) = entry.split_once(':')?;
        Some((partition.parse().ok()?, broker.parse().ok()?))
    });
    ThrottledReplicas::Listed(pairs.collect())
}

/// What the broker gives a topic for this setting: the first of the synonyms that has a value, in the topic
/// setting's unit, else Kafka's default.
pub(super) fn default_from(broker: &Values, definition: &Definition) -> Option<String> {
    for synonym in definition.synonyms {
        if let Some(value) = broker.get(synonym.name) {
            let value = scale(value, synonym.factor);
            // Any negative number of hours, minutes or milliseconds is "for ever" (KafkaConfig.logRetentionTimeMillis).
            let for_ever = definition.name == "retention.ms" && value.starts_with('-');
            return Some(if for_ever { "-1".to_owned() } else { value });
        }
    }
    definition.default.map(str::to_owned)
}

/// A value in another unit; negative values mean "no limit" and stay what they are.
fn scale(value: &str, factor: i64) -> String {
    match value.parse::<i64>() {
        Ok(number) if number >= 0 && factor != 1 => number.saturating_mul(factor).to_string(),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(broker: &[(&str, &str)], own: &[(&str, &str)]) -> Result<TopicConfig, String> {
        let map = |lines: &[(&str, &str)]| {
            lines.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let server = ServerConfig::new(&map(broker), "machine").unwrap();
        TopicConfig::resolve(&server, &map(own)).map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn a_topics_own_setting_counts_over_the_brokers() {
        let broker = [("log.segment.bytes", "2097152"), ("log.roll.hours", "2"), ("compression.type", "lz4")];
        let config =
            resolve(&broker, &[("segment.bytes", "1048576"), ("cleanup.policy", "compact")]).unwrap();
        assert_eq!(config.segment_bytes, 1_048_576);
        assert_eq!(config.segment_ms, 7_200_000);
        assert_eq!(config.compression, Compression::Lz4 { level: 9 });
        assert_eq!(config.cleanup, Cleanup { delete: false, compact: true });
        assert_eq!(config.flush_ms, i64::MAX);
    }

    #[test]
    fn kafkas_defaults_count_below_all() {
        let config = resolve(&[], &[]).unwrap();
        assert_eq!(config.retention_ms, 604_800_000);
        assert_eq!(config.max_message_bytes, 1_048_588);
        assert_eq!(config.timestamp_after_max_ms, 3_600_000);
        assert_eq!(config.leader_throttled, ThrottledReplicas::Listed(Vec::new()));
    }

    #[test]
    fn throttled_replicas_are_pairs_or_all() {
        let throttled = |value: &str| {
            resolve(&[], &[("leader.replication.throttled.replicas", value)]).unwrap().leader_throttled
        };
        assert_eq!(throttled("*"), ThrottledReplicas::All);
        assert_eq!(throttled("0:1,1:2"), ThrottledReplicas::Listed(vec![(0, 1), (1, 2)]));
    }

    #[test]
    fn refusals_are_kafkas() {
        let refusal = |own: &[(&str, &str)]| resolve(&[], own).unwrap_err();
        assert_eq!(refusal(&[("nope", "1")]), "Unknown topic config name: nope");
        assert!(refusal(&[("segment.bytes", "10")]).ends_with("Value must be at least 1048576"));
        let lag = refusal(&[("min.compaction.lag.ms", "2"), ("max.compaction.lag.ms", "1")]);
        assert!(lag.starts_with("conflict topic config setting"), "{lag}");
        assert!(refusal(&[("remote.storage.enable", "true")]).contains("Tiered Storage"));
    }
}
