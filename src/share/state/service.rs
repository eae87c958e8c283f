//! The handle by which the share coordinator is asked.

use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::base::hash::coordinator_partition;
use crate::cluster::ControllerClient;
use crate::cluster::Publisher;
use crate::config::ServerConfig;
use crate::coordinator;
use crate::coordinator::InternalTopic;
use crate::coordinator::Options;
use crate::coordinator::Runtime;
use crate::io::Clock;
use crate::record::Codec;
use crate::share::Failure;
use crate::share::Key;
use crate::share::state::command::Answer;
use crate::share::state::command::Command;
use crate::share::state::command::Found;
use crate::share::state::command::Initialize;
use crate::share::state::command::Read;
use crate::share::state::command::Summary;
use crate::share::state::command::Write;
use crate::share::state::machine::States;
use crate::share::state::settings::Settings;
use crate::share::state::settings::number;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The topic that keeps the state of share-partitions.
pub const TOPIC: &str = "__share_group_state";

/// How long a request waits for a partition that is being loaded.
const LOADING_PATIENCE: Duration = Duration::from_millis(300);

/// How long is waited for a partition of this broker that was just created or is being loaded.
const APPEARING_PATIENCE: Duration = Duration::from_secs(2);

/// Asks the share-partitions coordinated here. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    node_id: BrokerId,
    runtime: Runtime<States>,
    settings: Arc<Settings>,
    publisher: Publisher,
    controller: ControllerClient,
    topic: Arc<InternalTopic>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("led", &self.runtime.led().len()).finish_non_exhaustive()
    }
}

impl Service {
    /// A service that coordinates nothing yet.
    pub fn new(
        config: &ServerConfig,
        publisher: Publisher,
        controller: ControllerClient,
        clock: Clock,
    ) -> Service {
        let codec = number::<i16>(config, "share.coordinator.state.topic.compression.codec");
        let options = Options {
            name: "share states",
            codec: Codec::from_id(codec).unwrap_or(Codec::None),
            load_bytes_max: number::<usize>(config, "share.coordinator.load.buffer.size").max(1),
            loading_patience: LOADING_PATIENCE,
        };
        Service {
            node_id: config.node_id,
            runtime: Runtime::new(options, clock),
            settings: Arc::new(Settings::of(config)),
            publisher,
            controller,
            topic: Arc::new(topic(config)),
        }
    }

    /// What runs the share-partitions of each partition; `server/` tells it which partitions are led here.
    pub fn runtime(&self) -> &Runtime<States> {
        &self.runtime
    }

    pub(crate) fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// An empty machine, to load a partition's log into.
    pub fn fresh(&self) -> impl Fn() -> States + Clone + Send + std::marker::Sync + use<> {
        let settings = Arc::clone(&self.settings);
        move || States::new(Arc::clone(&settings))
    }

    /// The partition that keeps a share-partition.
    pub fn partition_of(&self, key: &Key) -> PartitionIndex {
        let image = self.publisher.current();
        let count = image.topic(TOPIC).and_then(|topic| i32::try_from(topic.partitions.len()).ok());
        let count = count.filter(|count| *count > 0).unwrap_or(self.topic.partitions);
        coordinator_partition(&key.to_string(), count)
    }

    /// The broker that coordinates a share-partition. Makes the topic when there is none. When it is this broker, waits
    /// a moment for the partition to be loaded.
    ///
    /// # Errors
    /// COORDINATOR_NOT_AVAILABLE: the topic cannot be made, or the partition has no leader.
    pub async fn find(&self, key: &Key) -> Result<BrokerId, ErrorCode> {
        let topic = self.topic.ensure(&self.publisher, &self.controller).await;
        let topic = topic.ok_or(ErrorCode::CoordinatorNotAvailable)?;
        let index = self.partition_of(key);
        let leader = topic.partition(index).map_or(BrokerId::NONE, |partition| partition.leader);
        if leader == BrokerId::NONE {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        if leader == self.node_id {
            self.runtime.ready(index, APPEARING_PATIENCE).await;
        }
        Ok(leader)
    }

    /// See [`Command::Initialize`].
    ///
    /// # Errors
    /// Kafka's codes of InitializeShareGroupState.
    pub async fn initialize(&self, key: &Key, state_epoch: i32, start: i64) -> Result<(), Failure> {
        let known = self.knows(key);
        self.done(Command::Initialize(Initialize { key: key.clone(), state_epoch, start, known }), key).await
    }

    /// See [`Command::Read`].
    ///
    /// # Errors
    /// Kafka's codes of ReadShareGroupState.
    pub async fn read(&self, key: &Key, leader_epoch: i32) -> Result<Found, Failure> {
        let known = self.knows(key);
        match self.ask(key, Command::Read(Read { key: key.clone(), leader_epoch, known })).await? {
            Answer::Found(result) => result,
            other => Err(unexpected(&other)),
        }
    }

    /// See [`Command::Write`].
    ///
    /// # Errors
    /// Kafka's codes of WriteShareGroupState.
    pub async fn write(&self, mut request: Write) -> Result<(), Failure> {
        let key = request.key.clone();
        request.known = self.knows(&key);
        self.done(Command::Write(request), &key).await
    }

    /// See [`Command::Delete`].
    ///
    /// # Errors
    /// Kafka's codes of DeleteShareGroupState.
    pub async fn delete(&self, key: &Key) -> Result<(), Failure> {
        self.done(Command::Delete(key.clone(), self.knows(key)), key).await
    }

    /// See [`Command::Summarize`].
    ///
    /// # Errors
    /// Kafka's codes of ReadShareGroupStateSummary.
    pub async fn summarize(&self, key: &Key) -> Result<Summary, Failure> {
        match self.ask(key, Command::Summarize(key.clone(), self.knows(key))).await? {
            Answer::Summary(result) => result,
            other => Err(unexpected(&other)),
        }
    }

    /// Forgets the share-partitions of topics that are gone, as far as they are coordinated here.
    pub async fn topics_deleted(&self, topics: &Arc<BTreeSet<TopicId>>) {
        for (index, _) in self.runtime.led() {
            let answer = self.runtime.ask(index, Command::TopicsDeleted(Arc::clone(topics))).await;
            if let Err(error) = answer {
                tracing::warn!(partition = %index, %error, "state of deleted topics is not forgotten now");
            }
        }
    }

    /// The offset before which the log of a partition is not needed.
    pub(crate) async fn redundant(&self, index: PartitionIndex) -> Option<i64> {
        match self.runtime.ask(index, Command::Redundant).await {
            Ok(Answer::Redundant(offset)) => offset,
            Ok(_) | Err(_) => None,
        }
    }

    fn knows(&self, key: &Key) -> bool {
        let image = self.publisher.current();
        image.topic_by_id(key.topic).is_some_and(|topic| topic.partition(key.partition).is_some())
    }

    async fn done(&self, command: Command, key: &Key) -> Result<(), Failure> {
        match self.ask(key, command).await? {
            Answer::Done(result) => result,
            other => Err(unexpected(&other)),
        }
    }

    async fn ask(&self, key: &Key, command: Command) -> Result<Answer, Failure> {
        // Whoever asks first makes the topic.
        if self.publisher.current().topic(TOPIC).is_none() {
            self.find(key).await?;
        }
        let answer = self.runtime.ask(self.partition_of(key), command).await;
        answer.map_err(|error: coordinator::Error| error.code().into())
    }
}

/// The topic's shape (`ShareCoordinatorService.shareGroupStateTopicConfigs`). It is not compacted: what is superseded
/// is deleted from the front.
fn topic(config: &ServerConfig) -> InternalTopic {
    let text = |name: &str| config.get(name).unwrap_or_default();
    InternalTopic {
        told: Arc::default(),
        name: TOPIC,
        partitions: number::<i32>(config, "share.coordinator.state.topic.num.partitions").max(1),
        replication_factor: number(config, "share.coordinator.state.topic.replication.factor"),
        configs: vec![
            ("cleanup.policy", String::from("delete")),
            ("compression.type", String::from("producer")),
            ("min.insync.replicas", text("share.coordinator.state.topic.min.isr")),
            ("retention.ms", String::from("-1")),
            ("segment.bytes", text("share.coordinator.state.topic.segment.bytes")),
        ],
    }
}

/// An answer to another question would be our fault.
fn unexpected(answer: &Answer) -> Failure {
    tracing::error!(?answer, "answer to another command");
    ErrorCode::UnknownServerError.into()
}
