//! The handle by which the group machine is asked: verbs for requests, errors in Kafka's codes.

use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::base::hash::coordinator_partition;
use crate::cluster::ControllerClient;
use crate::cluster::Image;
use crate::cluster::Publisher;
use crate::config::ServerConfig;
use crate::coordinator;
use crate::coordinator::Ending;
use crate::coordinator::InternalTopic;
use crate::coordinator::Options;
use crate::coordinator::Runtime;
use crate::groups::Groups;
use crate::groups::Settings;
use crate::groups::assign::Partitions;
use crate::groups::command::Answer;
use crate::groups::command::Command;
use crate::groups::command::Commit;
use crate::groups::command::DeleteOffsets;
use crate::groups::command::Described;
use crate::groups::command::Fetch;
use crate::groups::command::FetchedTopic;
use crate::groups::command::Heartbeat;
use crate::groups::command::Join;
use crate::groups::command::Joined;
use crate::groups::command::Leave;
use crate::groups::command::List;
use crate::groups::command::Listed;
use crate::groups::command::Missing;
use crate::groups::command::Sync;
use crate::groups::command::Synced;
use crate::groups::consumer;
use crate::groups::consumer::command::Fault;
use crate::groups::share;
use crate::groups::streams;
use crate::groups::streams::command::Alive;
use crate::groups::streams::command::Refusal;
use crate::groups::streams::command::StreamsDescribed;
use crate::groups::streams::command::StreamsHeartbeat;
use crate::io::Clock;
use crate::metrics;
use crate::record::Codec;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The topic that keeps groups and offsets.
pub const TOPIC: &str = "__consumer_offsets";

/// The feature that says whether streams groups are on.
const STREAMS_VERSION: &str = "streams.version";

/// How long a request waits for a partition that is being loaded.
const LOADING_PATIENCE: Duration = Duration::from_millis(300);

/// How long FindCoordinator waits for a partition of this broker that was just created or is being loaded.
const APPEARING_PATIENCE: Duration = Duration::from_secs(2);

/// Asks the groups coordinated here. Cheap to clone.
#[derive(Clone)]
pub struct Service {
    node_id: BrokerId,
    runtime: Runtime<Groups>,
    settings: Arc<Settings>,
    publisher: Publisher,
    topic: Arc<InternalTopic>,
    /// The end of the metadata log that the groups of each partition know of.
    told: Arc<Mutex<BTreeMap<PartitionIndex, Offset>>>,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Service").field("led", &self.runtime.led().len()).finish_non_exhaustive()
    }
}

impl Service {
    /// A service that coordinates nothing yet.
    pub fn new(config: &ServerConfig, publisher: Publisher, clock: Clock) -> Service {
        let codec = i16::try_from(config.offsets.topic_compression_codec).ok();
        let options = Options {
            name: "groups",
            codec: codec.and_then(|id| Codec::from_id(id).ok()).unwrap_or(Codec::None),
            load_bytes_max: usize::try_from(config.offsets.load_buffer_bytes).unwrap_or(1).max(1),
            loading_patience: LOADING_PATIENCE,
        };
        Service {
            node_id: config.node_id,
            runtime: Runtime::new(options, clock),
            settings: Arc::new(Settings::of(config)),
            publisher,
            topic: Arc::new(topic(config)),
            told: Arc::default(),
        }
    }

    /// What runs the groups of each partition; `server/` tells it which partitions are led here.
    pub fn runtime(&self) -> &Runtime<Groups> {
        &self.runtime
    }

    pub(crate) fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    /// An empty machine, to load a partition's log into.
    pub fn fresh(&self) -> impl Fn() -> Groups + Clone + Send + std::marker::Sync + use<> {
        let (settings, publisher) = (Arc::clone(&self.settings), self.publisher.clone());
        move || Groups::new(Arc::clone(&settings), publisher.current())
    }

    /// The partition that keeps a group.
    pub fn partition_of(&self, group: &str) -> PartitionIndex {
        let count = partition_count(&self.publisher.current()).unwrap_or(self.topic.partitions);
        coordinator_partition(group, count)
    }

    /// Makes the topic that keeps groups, if it is not there; whether it is there now.
    pub async fn ensure_topic(&self, controller: &ControllerClient) -> bool {
        self.topic.ensure(&self.publisher, controller).await.is_some()
    }

    /// The broker that coordinates a group. Makes the topic when there is none. When it is this broker, waits a
    /// moment for the partition to be loaded, so that a client's next request does not fail.
    ///
    /// # Errors
    /// COORDINATOR_NOT_AVAILABLE: the topic cannot be made, or the partition has no leader.
    pub async fn find(&self, controller: &ControllerClient, group: &str) -> Result<BrokerId, ErrorCode> {
        let topic = self.topic.ensure(&self.publisher, controller).await;
        let topic = topic.ok_or(ErrorCode::CoordinatorNotAvailable)?;
        let index = self.partition_of(group);
        let leader = topic.partition(index).map_or(BrokerId::NONE, |partition| partition.leader);
        if leader == BrokerId::NONE {
            return Err(ErrorCode::CoordinatorNotAvailable);
        }
        if leader == self.node_id {
            self.runtime.ready(index, APPEARING_PATIENCE).await;
        }
        Ok(leader)
    }

    /// See [`Command::Join`]. May take as long as a rebalance.
    pub async fn join(&self, mut request: Join) -> Joined {
        let stem = request.instance_id.as_ref().unwrap_or(&request.client_id);
        request.new_member_id = Arc::from(format!("{stem}-{}", crate::io::random::uuid()));
        let member_id = request.member_id.clone();
        let group = request.group.clone();
        match self.ask(&group, Command::Join(Box::new(request))).await {
            Ok(Answer::Join(joined)) => *joined,
            other => Joined::error(unexpected(other), member_id),
        }
    }

    /// See [`Command::Sync`]. May wait for the leader.
    pub async fn sync(&self, request: Sync) -> Synced {
        let group = request.group.clone();
        match self.ask(&group, Command::Sync(Box::new(request))).await {
            Ok(Answer::Sync(synced)) => synced,
            other => Synced::error(unexpected(other)),
        }
    }

    /// See [`Command::Heartbeat`]. While the group is loading every heartbeat is taken for good.
    pub async fn heartbeat(&self, request: Heartbeat) -> ErrorCode {
        let group = request.group.clone();
        match self.ask(&group, Command::Heartbeat(request)).await {
            Ok(Answer::Heartbeat(error)) => error,
            Err(ErrorCode::CoordinatorLoadInProgress) => ErrorCode::None,
            other => unexpected(other),
        }
    }

    /// See [`Command::Leave`].
    ///
    /// # Errors
    /// Of the whole request.
    pub async fn leave(&self, request: Leave) -> Result<Vec<ErrorCode>, ErrorCode> {
        let group = request.group.clone();
        match self.ask(&group, Command::Leave(request)).await {
            Ok(Answer::Leave(result)) => result,
            other => Err(unexpected(other)),
        }
    }

    /// See [`Command::Commit`].
    ///
    /// # Errors
    /// Of the whole request.
    pub async fn commit(&self, request: Commit) -> Result<Vec<Vec<ErrorCode>>, ErrorCode> {
        let group = request.group.clone();
        match self.ask(&group, Command::Commit(Box::new(request))).await {
            Ok(Answer::Commit(result)) => result,
            other => Err(unexpected(other)),
        }
    }

    /// Ends a producer's transaction on a partition of [`TOPIC`]: the offsets that it committed count now, or are
    /// dropped.
    ///
    /// # Errors
    /// When the marker cannot be written.
    pub async fn end_transaction(&self, index: PartitionIndex, ending: Ending) -> Result<(), ErrorCode> {
        self.runtime.end_transaction(index, ending).await.map_err(coordinator::Error::code)
    }

    /// See [`Command::Fetch`].
    ///
    /// # Errors
    /// Of the whole group. Consumers before 3.9 do not try again after COORDINATOR_NOT_AVAILABLE here, so they
    /// are sent to look for the coordinator instead, as Kafka does.
    pub async fn fetch(&self, request: Fetch) -> Result<Vec<FetchedTopic>, ErrorCode> {
        let group = request.group.clone();
        match self.ask(&group, Command::Fetch(request)).await {
            Ok(Answer::Fetch(result)) => result,
            Err(ErrorCode::CoordinatorNotAvailable) => Err(ErrorCode::NotCoordinator),
            other => Err(unexpected(other)),
        }
    }

    /// See [`Command::DeleteOffsets`].
    ///
    /// # Errors
    /// Of the whole request.
    pub async fn delete_offsets(&self, request: DeleteOffsets) -> Result<Vec<Vec<ErrorCode>>, ErrorCode> {
        let group = request.group.clone();
        match self.ask(&group, Command::DeleteOffsets(request)).await {
            Ok(Answer::DeleteOffsets(result)) => result,
            other => Err(unexpected(other)),
        }
    }

    /// Deletes groups; one code for each, in order.
    pub async fn delete(&self, groups: &[Arc<str>]) -> Vec<ErrorCode> {
        let mut codes = vec![ErrorCode::UnknownServerError; groups.len()];
        for (index, places) in self.by_partition(groups) {
            let ids = places.iter().filter_map(|place| groups.get(*place).cloned()).collect();
            let answer =
                self.runtime.ask(index, Command::DeleteGroups(ids)).await.map_err(coordinator::Error::code);
            let answered = match answer {
                Ok(Answer::DeleteGroups(answered)) => answered,
                other => vec![unexpected(other); places.len()],
            };
            put(&mut codes, places, answered);
        }
        codes
    }

    /// Shows classic groups, in order.
    pub async fn describe(&self, groups: &[Arc<str>]) -> Vec<Result<Result<Described, Missing>, ErrorCode>> {
        let mut shown = vec![Ok(Err(Missing::Group)); groups.len()];
        for (index, places) in self.by_partition(groups) {
            let ids = places.iter().filter_map(|place| groups.get(*place).cloned()).collect();
            let answer =
                self.runtime.ask(index, Command::Describe(ids)).await.map_err(coordinator::Error::code);
            let answered = match answer {
                Ok(Answer::Describe(answered)) => answered.into_iter().map(Ok).collect(),
                other => vec![Err(unexpected(other)); places.len()],
            };
            put(&mut shown, places, answered);
        }
        shown
    }

    /// A streams member's sign of life; `request` makes it of what the cluster has and what holds for the group.
    ///
    /// # Errors
    /// Of the whole request.
    pub async fn streams_heartbeat(
        &self,
        group: &str,
        request: impl FnOnce(Arc<Image>, streams::settings::Settings) -> StreamsHeartbeat,
    ) -> Result<Alive, Refusal> {
        let image = self.publisher.current();
        let settings =
            streams::settings::Settings::of(&self.settings.streams, self.settings.node_id, &image, group);
        let command = Command::StreamsHeartbeat(Box::new(request(image, settings)));
        match self.ask(group, command).await {
            Ok(Answer::StreamsHeartbeat(answer)) => answer.map(|alive| *alive),
            other => Err(unexpected(other).into()),
        }
    }

    /// Whether streams groups are on: by the broker's settings, and in the whole cluster.
    pub fn has_streams_groups(&self) -> bool {
        let level = self.publisher.current().features().get(STREAMS_VERSION).copied();
        self.settings.streams.enabled && level.unwrap_or(0) > 0
    }

    /// Shows streams groups, in order.
    pub async fn describe_streams(&self, groups: &[Arc<str>]) -> Vec<Result<StreamsDescribed, Refusal>> {
        let mut shown = vec![Err(Refusal::from(ErrorCode::UnknownServerError)); groups.len()];
        for (index, places) in self.by_partition(groups) {
            let ids = places.iter().filter_map(|place| groups.get(*place).cloned()).collect();
            let answer = self.runtime.ask(index, Command::StreamsDescribe(ids)).await;
            let answered = match answer.map_err(coordinator::Error::code) {
                Ok(Answer::StreamsDescribe(answered)) => answered,
                other => vec![Err(unexpected(other).into()); places.len()],
            };
            put(&mut shown, places, answered);
        }
        shown
    }

    /// The groups coordinated here.
    ///
    /// # Errors
    /// When a partition is loading or cannot answer.
    pub async fn list(&self, request: &List) -> Result<Vec<Listed>, ErrorCode> {
        let mut groups = Vec::new();
        for (index, _) in self.runtime.led() {
            match self.runtime.ask(index, Command::List(request.clone())).await {
                Ok(Answer::List(more)) => groups.extend(more),
                // It moved away in this moment; its groups are listed there.
                Err(coordinator::Error::NotCoordinator) => {}
                other => return Err(unexpected(other.map_err(coordinator::Error::code))),
            }
        }
        Ok(groups)
    }

    /// metrics::Groups the groups and offsets coordinated here, without their names.
    ///
    /// # Errors
    /// When a partition is loading or cannot answer.
    pub async fn count(&self) -> Result<metrics::Groups, ErrorCode> {
        let mut sum = metrics::Groups::default();
        for (index, _) in self.runtime.led() {
            match self.runtime.ask(index, Command::Count).await {
                Ok(Answer::Count(more)) => {
                    sum.add(&more);
                }
                // It moved away in this moment; its groups are counted there.
                Err(coordinator::Error::NotCoordinator) => {}
                other => return Err(unexpected(other.map_err(coordinator::Error::code))),
            }
        }
        Ok(sum)
    }

    /// See [`consumer::command::Command::Heartbeat`].
    ///
    /// # Errors
    /// Why the heartbeat is refused.
    pub async fn consumer_heartbeat(
        &self,
        mut request: consumer::command::Heartbeat,
    ) -> Result<consumer::command::Beaten, Fault> {
        // Kafka's ids of members look like those of topics.
        let id = TopicId::random_from(crate::io::random::uuid);
        request.new_member_id = Arc::from(id.to_string());
        let index = self.partition_of(&request.group);
        self.tell(index).await;
        let command = consumer::command::Command::Heartbeat(Box::new(request));
        let answer = self.runtime.ask(index, Command::Consumer(command)).await;
        match answer.map_err(coordinator::Error::code) {
            Ok(Answer::Consumer(consumer::command::Answer::Heartbeat(result))) => result,
            other => Err(Fault::new(unexpected(other), "")),
        }
    }

    /// Shows consumer groups, in order.
    pub async fn describe_consumer(
        &self,
        groups: &[Arc<str>],
    ) -> Vec<Result<consumer::command::Described, Fault>> {
        let refused = || Err(Fault::new(ErrorCode::UnknownServerError, ""));
        let mut shown: Vec<_> = groups.iter().map(|_| refused()).collect();
        for (index, places) in self.by_partition(groups) {
            self.tell(index).await;
            let ids = places.iter().filter_map(|place| groups.get(*place).cloned()).collect();
            let command = Command::Consumer(consumer::command::Command::Describe(ids));
            let answer = self.runtime.ask(index, command).await.map_err(coordinator::Error::code);
            let answered = match answer {
                Ok(Answer::Consumer(consumer::command::Answer::Describe(answered))) => answered,
                other => {
                    let code = unexpected(other);
                    places.iter().map(|_| Err(Fault::new(code, ""))).collect()
                }
            };
            put(&mut shown, places, answered);
        }
        shown
    }

    /// Asks for something of a share group, which sees the latest image.
    ///
    /// # Errors
    /// When the coordinator cannot answer.
    pub async fn share(
        &self,
        group: &str,
        command: share::command::Command,
    ) -> Result<share::command::Answer, ErrorCode> {
        let index = self.partition_of(group);
        self.tell(index).await;
        match self.runtime.ask(index, Command::Share(command)).await.map_err(coordinator::Error::code) {
            Ok(Answer::Share(answer)) => Ok(answer),
            other => Err(unexpected(other)),
        }
    }

    /// Shows share groups, in order.
    pub async fn describe_share(&self, groups: &[Arc<str>]) -> Vec<Result<share::command::Described, Fault>> {
        let refused = || Err(Fault::new(ErrorCode::UnknownServerError, ""));
        let mut shown: Vec<_> = groups.iter().map(|_| refused()).collect();
        for (index, places) in self.by_partition(groups) {
            self.tell(index).await;
            let ids = places.iter().filter_map(|place| groups.get(*place).cloned()).collect();
            let command = Command::Share(share::command::Command::Describe(ids));
            let answer = self.runtime.ask(index, command).await.map_err(coordinator::Error::code);
            let answered = match answer {
                Ok(Answer::Share(share::command::Answer::Describe(answered))) => answered,
                other => {
                    let code = unexpected(other);
                    places.iter().map(|_| Err(Fault::new(code, ""))).collect()
                }
            };
            put(&mut shown, places, answered);
        }
        shown
    }

    /// Begins to delete those of these groups that are share groups: the share-partitions of each that the share
    /// coordinator has to delete first.
    pub async fn doom_share(&self, groups: &[Arc<str>]) -> Vec<Result<Partitions, ErrorCode>> {
        let mut doomed = vec![Err(ErrorCode::UnknownServerError); groups.len()];
        for (index, places) in self.by_partition(groups) {
            self.tell(index).await;
            let ids = places.iter().filter_map(|place| groups.get(*place).cloned()).collect();
            let command = Command::Share(share::command::Command::Doom(ids));
            let answer = self.runtime.ask(index, command).await.map_err(coordinator::Error::code);
            let answered = match answer {
                Ok(Answer::Share(share::command::Answer::Doom(answered))) => answered,
                other => vec![Err(unexpected(other)); places.len()],
            };
            put(&mut doomed, places, answered);
        }
        doomed
    }

    /// Lets the groups of a partition know of the latest image, so that a request which comes after a change of the
    /// cluster sees it.
    async fn tell(&self, index: PartitionIndex) {
        let image = self.publisher.current();
        if self.told.lock().get(&index).is_some_and(|told| *told >= image.offset) {
            return;
        }
        let offset = image.offset;
        if self.runtime.ask(index, Command::Image(image)).await.is_ok() {
            let mut told = self.told.lock();
            let known = told.entry(index).or_insert(offset);
            *known = (*known).max(offset);
        }
    }

    /// Lets all groups coordinated here know of the latest image.
    pub async fn image_changed(&self) {
        for (index, _) in self.runtime.led() {
            self.tell(index).await;
        }
    }

    /// Deletes the offsets of topics that are gone, in all groups coordinated here.
    pub async fn topics_deleted(&self, topics: &[(Arc<str>, TopicId)]) {
        for (index, _) in self.runtime.led() {
            if let Err(error) = self.runtime.ask(index, Command::TopicsDeleted(topics.to_vec())).await {
                // The offsets stay until they expire; nobody reads them without the topic.
                tracing::warn!(partition = %index, %error, "offsets of deleted topics are not removed");
            }
        }
    }

    async fn ask(&self, group: &str, command: Command) -> Result<Answer, ErrorCode> {
        self.runtime.ask(self.partition_of(group), command).await.map_err(coordinator::Error::code)
    }

    fn by_partition(&self, groups: &[Arc<str>]) -> BTreeMap<PartitionIndex, Vec<usize>> {
        let mut places: BTreeMap<PartitionIndex, Vec<usize>> = BTreeMap::new();
        for (place, group) in groups.iter().enumerate() {
            places.entry(self.partition_of(group)).or_default().push(place);
        }
        places
    }
}

fn put<T>(all: &mut [T], places: Vec<usize>, values: Vec<T>) {
    for (place, value) in places.into_iter().zip(values) {
        if let Some(slot) = all.get_mut(place) {
            *slot = value;
        }
    }
}

/// The topic's shape (`GroupCoordinatorService.groupMetadataTopicConfigs`). Batches keep the codec they are written
/// with.
fn topic(config: &ServerConfig) -> InternalTopic {
    InternalTopic {
        told: Arc::default(),
        name: TOPIC,
        partitions: config.offsets.topic_num_partitions.max(1),
        replication_factor: config.offsets.topic_replication_factor,
        configs: vec![
            ("cleanup.policy", String::from("compact")),
            ("compression.type", String::from("producer")),
            ("segment.bytes", config.offsets.topic_segment_bytes.to_string()),
        ],
    }
}

/// How many partitions the topic has; `None` when there is no such topic.
fn partition_count(image: &Image) -> Option<i32> {
    let topic = image.topic(TOPIC)?;
    i32::try_from(topic.partitions.len()).ok().filter(|count| *count > 0)
}

/// The code of an error; an answer to another question would be our fault.
fn unexpected(answer: Result<Answer, ErrorCode>) -> ErrorCode {
    match answer {
        Err(error) => error,
        Ok(answer) => {
            tracing::error!(?answer, "answer to another command");
            ErrorCode::UnknownServerError
        }
    }
}
