//! The broker's settings, each room's in a struct of its own.

use crate::base::BrokerId;
use crate::config::consumer_groups;
use crate::config::consumer_groups::ConsumerGroupSettings;
use crate::config::define::Definition;
use crate::config::define::Invalid;
use crate::config::keys::broker_keys;
use crate::config::listener;
use crate::config::listener::HostPort;
use crate::config::listener::ListenerConfig;
use crate::config::share_groups;
use crate::config::streams_groups;
use crate::config::streams_groups::StreamsGroupSettings;
use crate::config::topic;
use crate::config::topic::TopicConfig;
use crate::config::values::Values;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::path::PathBuf;

/// When a write with acks=all is on stable storage before it is answered (`log.flush.acks`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushAcks {
    /// Where the leader is the only replica in sync.
    Replicated,
    /// In every case.
    Always,
    /// In no case, as Kafka does it.
    Never,
}

/// All settings of a broker. Times are in milliseconds, sizes in bytes.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// `node.id`.
    pub node_id: BrokerId,
    /// `cluster.id`: the id a new cluster gets, where it is given.
    pub cluster_id: Option<String>,
    /// `broker.rack`.
    pub rack: Option<String>,
    /// The listeners for clients and brokers, at least one.
    pub listeners: Vec<ListenerConfig>,
    /// The controller's listeners; nothing uses them while one node is the cluster.
    pub controller_listeners: Vec<ListenerConfig>,
    /// The name of the listener that brokers use among each other.
    pub inter_broker_listener: String,
    /// What topics get that set nothing themselves.
    pub log: TopicConfig,
    /// How topics are made.
    pub topics: TopicSettings,
    /// Group coordination.
    pub groups: GroupSettings,
    /// Committed offsets and their topic.
    pub offsets: OffsetsSettings,
    /// `dohle.coordinator.memory.max.bytes`: what offsets, transactional ids and share-partitions may take, each.
    pub coordinator_memory_bytes_max: i64,
    /// Transactions and the topic that keeps them.
    pub transactions: TransactionSettings,
    /// Connections and requests.
    pub network: NetworkSettings,
    /// Folders and the upkeep of logs.
    pub storage: StorageSettings,
    /// The metadata log.
    pub metadata: MetadataSettings,
    /// What is served over HTTP.
    pub admin: AdminSettings,
    /// How the rates of clients are measured.
    pub quotas: QuotaSettings,
    /// What clients may push about themselves.
    pub telemetry: TelemetrySettings,
    values: Values,
    host_name: String,
    /// Files that the process may open, once known.
    open_files_limit: Option<i32>,
}

/// How topics are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicSettings {
    /// `num.partitions`.
    pub num_partitions: i32,
    /// `auto.create.topics.enable`.
    pub auto_create: bool,
    /// `default.replication.factor`.
    pub default_replication_factor: i16,
    /// `delete.topic.enable`.
    pub delete_enable: bool,
}

/// Group coordination.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSettings {
    /// `group.min.session.timeout.ms`.
    pub min_session_timeout_ms: i32,
    /// `group.max.session.timeout.ms`.
    pub max_session_timeout_ms: i32,
    /// `group.initial.rebalance.delay.ms`.
    pub initial_rebalance_delay_ms: i32,
    /// `group.max.size`: members of one group.
    pub max_size: i32,
    /// `dohle.group.memory.max.bytes`: what the members of all groups may take.
    pub memory_bytes_max: i64,
    /// Groups of the newer protocol (KIP-848).
    pub consumer: ConsumerGroupSettings,
    /// Groups of Kafka Streams applications (KIP-1071).
    pub streams: StreamsGroupSettings,
}

/// Committed offsets and their topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetsSettings {
    /// `offsets.topic.num.partitions`.
    pub topic_num_partitions: i32,
    /// `offsets.topic.replication.factor`; a smaller cluster uses as many replicas as it has brokers.
    pub topic_replication_factor: i16,
    /// `offsets.topic.segment.bytes`.
    pub topic_segment_bytes: i32,
    /// `offsets.topic.compression.codec`: the codec's number in a batch.
    pub topic_compression_codec: i32,
    /// `offset.metadata.max.bytes`: the longest text that goes with a commit.
    pub metadata_max_bytes: i32,
    /// `offsets.commit.timeout.ms`.
    pub commit_timeout_ms: i32,
    /// `offsets.retention.minutes`, in milliseconds.
    pub retention_ms: i64,
    /// `offsets.retention.check.interval.ms`.
    pub retention_check_interval_ms: i64,
    /// `offsets.load.buffer.size`: bytes read at once while a partition is replayed.
    pub load_buffer_bytes: i32,
}

/// Transactions and the topic that keeps them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransactionSettings {
    /// `transaction.state.log.num.partitions`.
    pub topic_num_partitions: i32,
    /// `transaction.state.log.replication.factor`; a smaller cluster uses as many replicas as it has brokers.
    pub topic_replication_factor: i16,
    /// `transaction.state.log.min.isr`.
    pub topic_min_isr: i32,
    /// `transaction.state.log.segment.bytes`.
    pub topic_segment_bytes: i32,
    /// `transaction.state.log.load.buffer.size`: bytes read at once while a partition is replayed.
    pub load_buffer_bytes: i32,
    /// `transaction.max.timeout.ms`.
    pub timeout_max_ms: i32,
    /// `transactional.id.expiration.ms`.
    pub id_expiration_ms: i32,
    /// `transaction.remove.expired.transaction.cleanup.interval.ms`.
    pub id_expiration_interval_ms: i32,
    /// `transaction.partition.verification.enable`.
    pub verification: bool,
    /// `add.partitions.to.txn.retry.backoff.ms`.
    pub add_retry_ms: i32,
    /// `add.partitions.to.txn.retry.backoff.max.ms`.
    pub add_retry_max_ms: i32,
}

/// Connections and requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetworkSettings {
    /// `socket.request.max.bytes`.
    pub request_max_bytes: i32,
    /// `queued.max.request.bytes`: bytes of requests in work; -1 for no limit of the user's.
    pub queued_max_request_bytes: i64,
    /// `queued.max.requests`.
    pub queued_max_requests: i32,
    /// `connections.max.idle.ms`; below 0 for never.
    pub connections_max_idle_ms: i64,
    /// `max.connections`.
    pub max_connections: i32,
    /// `max.connections.per.ip`.
    pub max_connections_per_ip: i32,
    /// `max.connections.per.ip.overrides`; names as well as addresses.
    pub max_connections_per_ip_overrides: BTreeMap<String, i32>,
    /// `max.connection.creation.rate`: new connections in a second.
    pub max_connection_creation_rate: i32,
    /// `socket.listen.backlog.size`.
    pub listen_backlog: i32,
    /// `socket.send.buffer.bytes`; -1 and Kafka's default leave it to the system.
    pub send_buffer_bytes: i32,
    /// `socket.receive.buffer.bytes`; -1 and Kafka's default leave it to the system.
    pub receive_buffer_bytes: i32,
    /// `fetch.max.bytes`: the largest answer to a fetch.
    pub fetch_max_bytes: i32,
    /// `max.incremental.fetch.session.cache.slots`: fetch sessions (KIP-227).
    pub fetch_session_slots: i32,
    /// `max.request.partition.size.limit`: partitions in one DescribeTopicPartitions answer.
    pub request_partitions_max: i32,
    /// `request.timeout.ms`: how long this broker waits for another.
    pub request_timeout_ms: i32,
}

/// Compaction (`CleanerConfig`).
#[derive(Clone, Debug, PartialEq)]
pub struct CleanerSettings {
    /// `log.cleaner.enable`.
    pub enable: bool,
    /// `log.cleaner.threads`.
    pub threads: i32,
    /// `log.cleaner.dedupe.buffer.size`: memory for keys, of all threads.
    pub dedupe_buffer_bytes: i64,
    /// `log.cleaner.io.buffer.load.factor`: how full that may become, from 0 to 1.
    pub load_factor: f64,
    /// `log.cleaner.io.buffer.size`: memory for reading and writing, of all threads.
    pub io_buffer_bytes: i32,
    /// `log.cleaner.io.max.bytes.per.second`: of all threads.
    pub io_max_bytes_per_second: f64,
    /// `log.cleaner.backoff.ms`: the pause when there is nothing to compact.
    pub backoff_ms: i64,
}

/// Folders and the upkeep of logs.
#[derive(Clone, Debug, PartialEq)]
pub struct StorageSettings {
    /// `node.id`, for `meta.properties`.
    pub node_id: BrokerId,
    /// `cluster.id`: the id that a new folder gets, where it is given.
    pub cluster_id: Option<String>,
    /// `log.dirs`, else `log.dir`; at least one.
    pub log_dirs: Vec<PathBuf>,
    /// `metadata.log.dir`, else the first of the log directories.
    pub metadata_log_dir: PathBuf,
    /// `log.flush.acks`.
    pub flush_acks: FlushAcks,
    /// `dohle.io.uring.enable`: whether io_uring may be used.
    pub io_uring: bool,
    /// `dohle.log.open.files.max`: closed segments' files that stay open.
    pub open_files_max: i32,
    /// `num.recovery.threads.per.data.dir`.
    pub recovery_threads: i32,
    /// `log.retention.check.interval.ms`.
    pub retention_check_interval_ms: i64,
    /// `log.initial.task.delay.ms`: before the first run of upkeep.
    pub initial_task_delay_ms: i64,
    /// `log.flush.scheduler.interval.ms`: how often logs are looked at for `flush.ms`.
    pub flush_scheduler_interval_ms: i64,
    /// `log.flush.offset.checkpoint.interval.ms`.
    pub recovery_point_interval_ms: i32,
    /// `log.flush.start.offset.checkpoint.interval.ms`.
    pub start_offset_interval_ms: i32,
    /// `replica.high.watermark.checkpoint.interval.ms`.
    pub high_watermark_interval_ms: i64,
    /// `producer.id.expiration.ms`: after this long without a batch a producer is forgotten.
    pub producer_id_expiration_ms: i32,
    /// `producer.id.expiration.check.interval.ms`.
    pub producer_id_expiration_check_interval_ms: i32,
    /// Compaction.
    pub cleaner: CleanerSettings,
    /// `cordoned.log.dirs`: those of the log directories that get nothing new (KIP-1066).
    pub cordoned_log_dirs: Vec<PathBuf>,
}

/// The metadata log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetadataSettings {
    /// `metadata.log.segment.bytes`.
    pub segment_bytes: i32,
    /// `metadata.log.segment.ms`.
    pub segment_ms: i64,
    /// `metadata.max.retention.bytes`.
    pub retention_bytes: i64,
    /// `metadata.max.retention.ms`.
    pub retention_ms: i64,
    /// `metadata.log.max.record.bytes.between.snapshots`.
    pub snapshot_after_bytes: i64,
    /// `metadata.log.max.snapshot.interval.ms`; 0 for no limit.
    pub snapshot_after_ms: i64,
}

/// What is served over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdminSettings {
    /// `dohle.admin.listeners`; empty for none.
    pub listeners: Vec<HostPort>,
    /// Whether somebody set them: a default that is taken must not stop the start.
    pub chosen: bool,
    /// `dohle.metrics.partitions.max`: partitions, and topics, that are shown by name.
    pub partitions_max: usize,
}

/// How the rates of clients are measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaSettings {
    /// `quota.window.num`.
    pub window_num: i32,
    /// `quota.window.size.seconds`.
    pub window_seconds: i32,
    /// `controller.quota.window.num`.
    pub mutation_window_num: i32,
    /// `controller.quota.window.size.seconds`.
    pub mutation_window_seconds: i32,
}

/// What clients may push about themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// `telemetry.max.bytes`: the largest push.
    pub bytes_max: i32,
    /// `dohle.client.metrics.series.max`: figures of all clients that are kept.
    pub series_max: i32,
}

/// Files that are neither connections nor open segments: locks, the metadata log, listeners, indexes being written.
const OTHER_FILES: i32 = 256;

impl ServerConfig {
    /// Builds the settings from what was set; `host_name` is what clients are told where a listener names no
    /// host.
    ///
    /// # Errors
    /// [`Invalid`] for the first setting that cannot work.
    pub fn new(set: &BTreeMap<String, String>, host_name: &str) -> Result<ServerConfig, Invalid> {
        let values = Values::new(broker_keys(), set)?;
        refuse_what_is_missing(&values)?;
        let listeners = listener::resolve(&values, host_name)?;
        let node_id = node_id(&values)?;
        check_roles(&values, node_id)?;
        check_cleaner(&values)?;
        check_roll(&values)?;
        let log = TopicConfig::from_broker(&values)?;
        check_retention(&log)?;
        Ok(ServerConfig {
            node_id,
            cluster_id: values.text("cluster.id"),
            rack: values.text("broker.rack"),
            listeners: listeners.broker,
            controller_listeners: listeners.controller,
            inter_broker_listener: listeners.inter_broker,
            log,
            topics: topic_settings(&values),
            groups: group_settings(&values)?,
            offsets: offsets_settings(&values)?,
            coordinator_memory_bytes_max: values.long("dohle.coordinator.memory.max.bytes"),
            transactions: transaction_settings(&values),
            network: network_settings(&values)?,
            storage: storage_settings(&values, node_id)?,
            metadata: metadata_settings(&values),
            admin: admin_settings(&values)?,
            quotas: quota_settings(&values),
            telemetry: TelemetrySettings {
                bytes_max: values.int("telemetry.max.bytes"),
                series_max: values.int("dohle.client.metrics.series.max"),
            },
            values,
            host_name: host_name.to_owned(),
            open_files_limit: None,
        })
    }

    /// Keeps connections and open segments together within the files that the process may open, so that no number
    /// of clients leaves the logs without one.
    pub fn fit_open_files(&mut self, limit: u64) {
        let limit = i32::try_from(limit).unwrap_or(i32::MAX);
        self.open_files_limit = Some(limit);
        let share = limit / 4;
        self.storage.open_files_max = self.storage.open_files_max.min(share).max(1);
        let rest = limit - self.storage.open_files_max - share.min(OTHER_FILES);
        self.network.max_connections = self.network.max_connections.min(rest.max(1));
    }

    /// The same broker with settings that were changed while it runs: `cluster` for all brokers, `broker` for
    /// this one, the stronger.
    ///
    /// # Errors
    /// [`Invalid`] for the first setting that cannot work.
    pub fn with_dynamic(
        &self,
        cluster: &BTreeMap<String, String>,
        broker: &BTreeMap<String, String>,
    ) -> Result<ServerConfig, Invalid> {
        let mut set = self.values.all_set().clone();
        set.extend(cluster.iter().chain(broker).map(|(key, value)| (key.clone(), value.clone())));
        let mut changed = ServerConfig::new(&set, &self.host_name)?;
        if let Some(limit) = self.open_files_limit {
            changed.fit_open_files(u64::try_from(limit).unwrap_or(0));
        }
        Ok(changed)
    }

    /// What counts for this broker setting, as text in its plain form; `None` where it has no value.
    pub fn get(&self, kafka_key: &str) -> Option<String> {
        match kafka_key {
            "node.id" | "broker.id" => Some(self.node_id.to_string()),
            key => self.values.get(key).map(str::to_owned),
        }
    }

    /// What was set for this broker setting by the file, the environment or the command line.
    pub fn set_value(&self, kafka_key: &str) -> Option<&str> {
        // Two names of one number: Kafka counts both as set where one is.
        let other = match kafka_key {
            "broker.id" => Some("node.id"),
            "node.id" => Some("broker.id"),
            _ => None,
        };
        self.values.set(kafka_key).or_else(|| self.values.set(other?))
    }

    /// The names of all that was set by the file, the environment or the command line, also of what is unknown.
    pub fn set_names(&self) -> impl Iterator<Item = &str> {
        self.values.all_set().keys().map(String::as_str)
    }

    /// What a topic gets for this setting from the broker, or Kafka's default.
    pub fn topic_default(&self, definition: &Definition) -> Option<String> {
        topic::default_from(&self.values, definition)
    }
}

/// Settings whose meaning a user relies on and which this version does not have: taking them in silence would
/// be worse than not starting.
const MISSING: &[(&str, &str)] = &[
    ("authorizer.class.name", "access control lists are not there yet"),
    ("create.topic.policy.class.name", "classes of Java cannot be loaded"),
    ("alter.config.policy.class.name", "classes of Java cannot be loaded"),
    ("client.quota.callback.class", "classes of Java cannot be loaded"),
    ("config.providers", "values are taken as they stand, from no provider"),
];

fn refuse_what_is_missing(values: &Values) -> Result<(), Invalid> {
    for (key, why) in MISSING {
        if let Some(value) = values.text(key) {
            let message = format!("{key} cannot be used: {why}. Leave it out to start without it");
            return Err(Invalid::sentence(key, &value, message));
        }
    }
    if values.boolean("remote.log.storage.system.enable") {
        let message = "remote.log.storage.system.enable cannot be used: tiered storage is not there yet. Leave \
                       it out to start without it";
        return Err(Invalid::sentence("remote.log.storage.system.enable", "true", message));
    }
    Ok(())
}

fn node_id(values: &Values) -> Result<BrokerId, Invalid> {
    let broker_id = Some(values.int("broker.id")).filter(|id| *id >= 0);
    match (values.set("node.id"), broker_id) {
        (None, Some(broker_id)) => Ok(BrokerId(broker_id)),
        (Some(_), Some(broker_id)) if broker_id != values.int("node.id") => Err(Invalid::sentence(
            "node.id",
            &broker_id.to_string(),
            "You must set `node.id` to the same value as `broker.id`.",
        )),
        _ => Ok(BrokerId(values.int("node.id"))),
    }
}

/// This node is broker and controller at once, and the only one.
fn check_roles(values: &Values, node_id: BrokerId) -> Result<(), Invalid> {
    let roles = values.list("process.roles");
    let both = roles.contains(&"broker") && roles.contains(&"controller");
    if !roles.is_empty() && !both {
        return Err(Invalid::sentence(
            "process.roles",
            &roles.join(","),
            "This version runs as one node that is broker and controller. Set process.roles=broker,controller",
        ));
    }
    let voters = values.list("controller.quorum.voters");
    let own = format!("{node_id}@");
    if voters.len() > 1 {
        return Err(Invalid::sentence(
            "controller.quorum.voters",
            &voters.join(","),
            "This version runs as one node. Set controller.quorum.voters to this node alone, or leave it out",
        ));
    }
    if voters.first().is_some_and(|voter| !voter.starts_with(&own)) {
        return Err(Invalid::sentence(
            "controller.quorum.voters",
            &voters.join(","),
            format!(
                "If process.roles contains the 'controller' role, the node id {node_id} must be included in the \
                 set of voters controller.quorum.voters={}",
                voters.join(",")
            ),
        ));
    }
    Ok(())
}

/// Kafka's rule for the memory of compaction (`KafkaConfig.validateValues`).
fn check_cleaner(values: &Values) -> Result<(), Invalid> {
    const KEY: &str = "log.cleaner.dedupe.buffer.size";
    let bytes = values.long(KEY);
    let threads = i64::from(values.int("log.cleaner.threads")).max(1);
    if bytes / threads <= 1 << 20 {
        let message = "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.";
        return Err(Invalid::requirement(KEY, &bytes.to_string(), message));
    }
    Ok(())
}

/// Kafka's rule for ages at which segments are closed (`KafkaConfig.validateValues`).
fn check_roll(values: &Values) -> Result<(), Invalid> {
    for (key, least) in [("log.roll.ms", 1), ("log.roll.jitter.ms", 0)] {
        if let Some(value) = values.optional_long(key).filter(|value| *value < least) {
            let message = format!("{key} must be greater than or equal to {least}");
            return Err(Invalid::requirement(key, &value.to_string(), message));
        }
    }
    Ok(())
}

/// Kafka's rule for the broker's own setting (`KafkaConfig.validateValues`); a topic's may be 0.
fn check_retention(log: &TopicConfig) -> Result<(), Invalid> {
    if log.retention_ms == 0 {
        let message = "log.retention.ms must be unlimited (-1) or, greater than or equal to 1";
        return Err(Invalid::requirement("log.retention.ms", "0", message));
    }
    Ok(())
}

fn topic_settings(values: &Values) -> TopicSettings {
    TopicSettings {
        num_partitions: values.int("num.partitions"),
        auto_create: values.boolean("auto.create.topics.enable"),
        default_replication_factor: i16::try_from(values.int("default.replication.factor"))
            .unwrap_or(i16::MAX),
        delete_enable: values.boolean("delete.topic.enable"),
    }
}

fn group_settings(values: &Values) -> Result<GroupSettings, Invalid> {
    share_groups::check(values)?;
    let groups = GroupSettings {
        min_session_timeout_ms: values.int("group.min.session.timeout.ms"),
        max_session_timeout_ms: values.int("group.max.session.timeout.ms"),
        initial_rebalance_delay_ms: values.int("group.initial.rebalance.delay.ms"),
        max_size: values.int("group.max.size"),
        memory_bytes_max: values.long("dohle.group.memory.max.bytes"),
        consumer: consumer_groups::settings(values)?,
        streams: streams_groups::settings(values)?,
    };
    if groups.min_session_timeout_ms > groups.max_session_timeout_ms {
        return Err(Invalid::sentence(
            "group.min.session.timeout.ms",
            &groups.min_session_timeout_ms.to_string(),
            "group.max.session.timeout.ms must be greater than or equal to group.min.session.timeout.ms",
        ));
    }
    Ok(groups)
}

fn transaction_settings(values: &Values) -> TransactionSettings {
    TransactionSettings {
        topic_num_partitions: values.int("transaction.state.log.num.partitions"),
        topic_replication_factor: values.short("transaction.state.log.replication.factor"),
        topic_min_isr: values.int("transaction.state.log.min.isr"),
        topic_segment_bytes: values.int("transaction.state.log.segment.bytes"),
        load_buffer_bytes: values.int("transaction.state.log.load.buffer.size"),
        timeout_max_ms: values.int("transaction.max.timeout.ms"),
        id_expiration_ms: values.int("transactional.id.expiration.ms"),
        id_expiration_interval_ms: values.int("transaction.remove.expired.transaction.cleanup.interval.ms"),
        verification: values.boolean("transaction.partition.verification.enable"),
        add_retry_ms: values.int("add.partitions.to.txn.retry.backoff.ms"),
        add_retry_max_ms: values.int("add.partitions.to.txn.retry.backoff.max.ms"),
    }
}

fn offsets_settings(values: &Values) -> Result<OffsetsSettings, Invalid> {
    let codec = values.int("offsets.topic.compression.codec");
    if !(0..=4).contains(&codec) {
        let message = "Unknown compression type id. Use 0 none, 1 gzip, 2 snappy, 3 lz4 or 4 zstd";
        return Err(Invalid::new("offsets.topic.compression.codec", &codec.to_string(), message));
    }
    Ok(OffsetsSettings {
        topic_num_partitions: values.int("offsets.topic.num.partitions"),
        topic_replication_factor: values.short("offsets.topic.replication.factor"),
        topic_segment_bytes: values.int("offsets.topic.segment.bytes"),
        topic_compression_codec: codec,
        metadata_max_bytes: values.int("offset.metadata.max.bytes"),
        commit_timeout_ms: values.int("offsets.commit.timeout.ms"),
        retention_ms: values.long("offsets.retention.minutes").saturating_mul(60_000),
        retention_check_interval_ms: values.long("offsets.retention.check.interval.ms"),
        load_buffer_bytes: values.int("offsets.load.buffer.size"),
    })
}

fn network_settings(values: &Values) -> Result<NetworkSettings, Invalid> {
    let network = NetworkSettings {
        request_max_bytes: values.int("socket.request.max.bytes"),
        queued_max_request_bytes: values.long("queued.max.request.bytes"),
        queued_max_requests: values.int("queued.max.requests"),
        connections_max_idle_ms: values.long("connections.max.idle.ms"),
        max_connections: values.int("max.connections"),
        max_connections_per_ip: values.int("max.connections.per.ip"),
        max_connections_per_ip_overrides: connection_overrides(values)?,
        max_connection_creation_rate: values.int("max.connection.creation.rate"),
        listen_backlog: values.int("socket.listen.backlog.size"),
        send_buffer_bytes: values.int("socket.send.buffer.bytes"),
        receive_buffer_bytes: values.int("socket.receive.buffer.bytes"),
        fetch_max_bytes: values.int("fetch.max.bytes"),
        fetch_session_slots: values.int("max.incremental.fetch.session.cache.slots"),
        request_partitions_max: values.int("max.request.partition.size.limit"),
        request_timeout_ms: values.int("request.timeout.ms"),
    };
    let queued = network.queued_max_request_bytes;
    if queued > 0 && queued < i64::from(network.request_max_bytes) {
        return Err(Invalid::sentence(
            "queued.max.request.bytes",
            &queued.to_string(),
            "queued.max.request.bytes must be larger or equal to socket.request.max.bytes",
        ));
    }
    if network.max_connections_per_ip == 0 && network.max_connections_per_ip_overrides.is_empty() {
        return Err(Invalid::requirement(
            "max.connections.per.ip",
            "0",
            "max.connections.per.ip can be set to zero only if max.connections.per.ip.overrides property is set.",
        ));
    }
    Ok(network)
}

/// `host:count` pairs; an IPv6 address keeps its colons.
fn connection_overrides(values: &Values) -> Result<BTreeMap<String, i32>, Invalid> {
    const KEY: &str = "max.connections.per.ip.overrides";
    let mut overrides = BTreeMap::new();
    for entry in values.list(KEY) {
        let parsed = entry.rsplit_once(':').and_then(|(host, count)| {
            let count = count.trim().parse::<i32>().ok().filter(|count| *count >= 0)?;
            let host = host.trim().trim_start_matches('[').trim_end_matches(']');
            let valid = host.parse::<IpAddr>().is_ok()
                || (!host.is_empty()
                    && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte)));
            valid.then(|| (host.to_owned(), count))
        });
        let Some((host, count)) = parsed else {
            return Err(Invalid::new(KEY, entry, "write HOST:COUNT, for instance 127.0.0.1:200"));
        };
        overrides.insert(host, count);
    }
    Ok(overrides)
}

fn storage_settings(values: &Values, node_id: BrokerId) -> Result<StorageSettings, Invalid> {
    let mut log_dirs: Vec<PathBuf> = values.list("log.dirs").iter().map(PathBuf::from).collect();
    if log_dirs.is_empty() {
        log_dirs = values.list("log.dir").iter().map(PathBuf::from).collect();
    }
    let twice = |(at, path): (usize, &PathBuf)| log_dirs.iter().take(at).any(|other| is_same(other, path));
    if log_dirs.iter().enumerate().any(twice) {
        let value = log_dirs.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
        let message = format!("Duplicate log directory found: {value}");
        return Err(Invalid::sentence("log.dirs", &value, message));
    }
    let cordoned_log_dirs = cordoned_log_dirs(values, &log_dirs)?;
    let metadata_log_dir = values
        .text("metadata.log.dir")
        .map(PathBuf::from)
        .or_else(|| log_dirs.first().cloned())
        .expect("log.dir has a default and refuses an empty list");
    Ok(StorageSettings {
        node_id,
        cluster_id: values.text("cluster.id"),
        log_dirs,
        cordoned_log_dirs,
        metadata_log_dir,
        flush_acks: match values.get("log.flush.acks") {
            Some("always") => FlushAcks::Always,
            Some("never") => FlushAcks::Never,
            _ => FlushAcks::Replicated,
        },
        io_uring: values.boolean("dohle.io.uring.enable"),
        open_files_max: values.int("dohle.log.open.files.max"),
        recovery_threads: values.int("num.recovery.threads.per.data.dir"),
        retention_check_interval_ms: values.long("log.retention.check.interval.ms"),
        initial_task_delay_ms: values.long("log.initial.task.delay.ms"),
        flush_scheduler_interval_ms: values.long("log.flush.scheduler.interval.ms"),
        recovery_point_interval_ms: values.int("log.flush.offset.checkpoint.interval.ms"),
        start_offset_interval_ms: values.int("log.flush.start.offset.checkpoint.interval.ms"),
        high_watermark_interval_ms: values.long("replica.high.watermark.checkpoint.interval.ms"),
        producer_id_expiration_ms: values.int("producer.id.expiration.ms"),
        producer_id_expiration_check_interval_ms: values.int("producer.id.expiration.check.interval.ms"),
        cleaner: CleanerSettings {
            enable: values.boolean("log.cleaner.enable"),
            threads: values.int("log.cleaner.threads"),
            dedupe_buffer_bytes: values.long("log.cleaner.dedupe.buffer.size"),
            load_factor: values.double("log.cleaner.io.buffer.load.factor"),
            io_buffer_bytes: values.int("log.cleaner.io.buffer.size"),
            io_max_bytes_per_second: values.double("log.cleaner.io.max.bytes.per.second"),
            backoff_ms: values.long("log.cleaner.backoff.ms"),
        },
    })
}

/// `*` alone, or some of the log directories (`KafkaConfig.validateCordonedLogDirs`).
fn cordoned_log_dirs(values: &Values, log_dirs: &[PathBuf]) -> Result<Vec<PathBuf>, Invalid> {
    const KEY: &str = "cordoned.log.dirs";
    let entries = values.list(KEY);
    if entries == ["*"] {
        return Ok(log_dirs.to_vec());
    }
    if entries.contains(&"*") {
        let message = format!("When {KEY} is set to *, it must not contain other values");
        return Err(Invalid::requirement(KEY, &entries.join(","), message));
    }
    let is_one = |entry: &&str| log_dirs.iter().any(|dir| is_same(dir, Path::new(entry)));
    let strange: Vec<&str> = entries.iter().copied().filter(|entry| !is_one(entry)).collect();
    if strange.is_empty() {
        return Ok(entries.into_iter().map(PathBuf::from).collect());
    }
    let message = format!(
        "All entries in {KEY} must be present in log.dirs or log.dir. Missing entries : {}",
        strange.join(", ")
    );
    Err(Invalid::requirement(KEY, &entries.join(","), message))
}

/// Whether two paths name one place; links are not followed.
fn is_same(one: &Path, other: &Path) -> bool {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute(one) == absolute(other)
}

fn admin_settings(values: &Values) -> Result<AdminSettings, Invalid> {
    const KEY: &str = "dohle.admin.listeners";
    let mut listeners = Vec::new();
    for entry in values.list(KEY) {
        let address = HostPort::parse(entry).ok_or_else(|| {
            let message = format!("{KEY} has {entry}, which is not HOST:PORT with a port from 0 to 65535");
            Invalid::sentence(KEY, entry, message)
        })?;
        listeners.push(address);
    }
    Ok(AdminSettings {
        listeners,
        chosen: values.set(KEY).is_some(),
        partitions_max: usize::try_from(values.int("dohle.metrics.partitions.max")).unwrap_or(0),
    })
}

fn quota_settings(values: &Values) -> QuotaSettings {
    QuotaSettings {
        window_num: values.int("quota.window.num"),
        window_seconds: values.int("quota.window.size.seconds"),
        mutation_window_num: values.int("controller.quota.window.num"),
        mutation_window_seconds: values.int("controller.quota.window.size.seconds"),
    }
}

fn metadata_settings(values: &Values) -> MetadataSettings {
    MetadataSettings {
        segment_bytes: values.int("metadata.log.segment.bytes"),
        segment_ms: values.long("metadata.log.segment.ms"),
        retention_bytes: values.long("metadata.max.retention.bytes"),
        retention_ms: values.long("metadata.max.retention.ms"),
        snapshot_after_bytes: values.long("metadata.log.max.record.bytes.between.snapshots"),
        snapshot_after_ms: values.long("metadata.log.max.snapshot.interval.ms"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(lines: &[(&str, &str)]) -> Result<ServerConfig, String> {
        let set = lines.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        ServerConfig::new(&set, "machine.example").map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn without_settings_one_node_serves_localhost_from_its_folder() {
        let config = config(&[]).unwrap();
        assert_eq!(config.node_id, BrokerId(1));
        assert_eq!(config.storage.log_dirs, [PathBuf::from("./dohle-data")]);
        assert_eq!(config.storage.metadata_log_dir, PathBuf::from("./dohle-data"));
        assert_eq!(config.get("broker.id").as_deref(), Some("1"));
        assert_eq!(config.get("log.retention.ms"), None);
        assert_eq!(config.log.retention_ms, 7 * 24 * 3_600_000);
        assert_eq!(config.groups.initial_rebalance_delay_ms, 3000);
    }

    #[test]
    fn connections_and_open_segments_share_the_files_there_are_also_after_a_change() {
        let fitted = |limit: u64, lines: &[(&str, &str)]| {
            let mut config = config(lines).unwrap();
            config.fit_open_files(limit);
            let changed = config.with_dynamic(&BTreeMap::new(), &BTreeMap::new()).unwrap();
            assert_eq!(changed.network.max_connections, config.network.max_connections);
            assert_eq!(changed.storage.open_files_max, config.storage.open_files_max);
            (config.storage.open_files_max, config.network.max_connections)
        };
        assert_eq!(fitted(1 << 20, &[("max.connections", "5000")]), (1024, 5000));
        assert_eq!(fitted(1024, &[]), (256, 1024 - 256 - 256));
        assert_eq!(fitted(64, &[]), (16, 32));
        assert_eq!(fitted(1, &[]), (1, 1));
        assert_eq!(fitted(u64::MAX, &[]).0, 1024);
    }

    #[test]
    fn retention_takes_milliseconds_over_minutes_over_hours() {
        let retention = |lines: &[(&str, &str)]| config(lines).unwrap().log.retention_ms;
        assert_eq!(retention(&[("log.retention.hours", "1")]), 3_600_000);
        assert_eq!(retention(&[("log.retention.hours", "1"), ("log.retention.minutes", "2")]), 120_000);
        assert_eq!(retention(&[("log.retention.minutes", "2"), ("log.retention.ms", "7")]), 7);
        for key in ["log.retention.hours", "log.retention.minutes", "log.retention.ms"] {
            assert_eq!(retention(&[(key, "-1")]), -1);
            assert_eq!(retention(&[(key, "-5")]), -1, "any negative value is for ever");
        }
    }

    #[test]
    fn dynamic_settings_count_over_those_of_the_start() {
        let start = config(&[("log.retention.ms", "5"), ("message.max.bytes", "100")]).unwrap();
        let cluster = BTreeMap::from([("log.retention.ms".to_owned(), "6".to_owned())]);
        let broker = BTreeMap::from([("log.retention.ms".to_owned(), "7".to_owned())]);
        let changed = start.with_dynamic(&cluster, &broker).unwrap();
        assert_eq!((changed.log.retention_ms, changed.log.max_message_bytes), (7, 100));
        assert_eq!(start.with_dynamic(&cluster, &BTreeMap::new()).unwrap().log.retention_ms, 6);
    }

    #[test]
    fn the_admin_port_is_on_the_loopback_unless_it_is_set_and_off_when_it_is_empty() {
        let admin = |lines: &[(&str, &str)]| config(lines).unwrap().admin;
        let default = admin(&[]);
        assert_eq!(default.listeners.iter().map(HostPort::to_string).collect::<Vec<_>>(), ["127.0.0.1:9644"]);
        assert!(!default.chosen);
        assert!(admin(&[("dohle.admin.listeners", "0.0.0.0:1")]).chosen);
        assert_eq!(admin(&[("dohle.admin.listeners", "")]).listeners, []);
    }

    #[test]
    fn what_cannot_work_is_refused_with_one_sentence() {
        let check = |lines: &[(&str, &str)], part: &str| {
            let message = config(lines).unwrap_err();
            assert!(message.contains(part) && !message.contains('\n'), "{message}");
        };
        check(&[("process.roles", "broker")], "process.roles=broker,controller");
        check(
            &[("log.cleaner.dedupe.buffer.size", "2097152"), ("log.cleaner.threads", "2")],
            "at least 1MB per cleaner thread",
        );
        check(&[("node.id", "2"), ("broker.id", "3")], "same value");
        for key in ["log.retention.hours", "log.retention.minutes", "log.retention.ms"] {
            check(&[(key, "0")], "must be unlimited (-1) or, greater than or equal to 1");
        }
        check(&[("log.dirs", "a,b,./a/")], "Duplicate log directory found");
        check(&[("controller.quorum.voters", "1@a:1,2@b:1")], "one node");
        check(&[("controller.quorum.voters", "2@a:1")], "must be included in the set of voters");
        check(&[("num.partitions", "0")], "Value must be at least 1");
        check(&[("queued.max.request.bytes", "1")], "must be larger or equal");
        check(&[("max.connections.per.ip.overrides", "x")], "write HOST:COUNT");
        check(&[("log.dirs", "")], "must not be empty");
        check(&[("dohle.admin.listeners", "localhost")], "which is not HOST:PORT");
        check(
            &[("log.cleaner.min.compaction.lag.ms", "2"), ("log.cleaner.max.compaction.lag.ms", "1")],
            "lag",
        );
    }

    #[test]
    fn overrides_of_connections_keep_an_ipv6_addresss_colons() {
        let config = config(&[("max.connections.per.ip.overrides", "::1:5,127.0.0.1:6,host:7")]).unwrap();
        let overrides = config.network.max_connections_per_ip_overrides;
        assert_eq!(overrides.get("::1"), Some(&5));
        assert_eq!(overrides.get("127.0.0.1"), Some(&6));
        assert_eq!(overrides.get("host"), Some(&7));
    }
}
