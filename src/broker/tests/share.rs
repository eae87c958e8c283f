//! Share groups over a whole broker: reading, acknowledging, loss of members and of the broker, dead letters, tools.

use super::Bench;
use super::admin::create;
use super::data::batch;
use super::data::send;
use crate::base::ErrorCode;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::coordinator::memory::Memory;
use crate::groups;
use crate::record::records;
use crate::record::walk;
use crate::replica::testing::LONG;
use crate::share;
use bytes::Bytes;
use kafka_protocol::messages::AlterShareGroupOffsetsRequest;
use kafka_protocol::messages::CreateTopicsRequest;
use kafka_protocol::messages::DeleteGroupsRequest;
use kafka_protocol::messages::DeleteShareGroupOffsetsRequest;
use kafka_protocol::messages::DescribeShareGroupOffsetsRequest;
use kafka_protocol::messages::GroupId;
use kafka_protocol::messages::IncrementalAlterConfigsRequest;
use kafka_protocol::messages::ShareAcknowledgeRequest;
use kafka_protocol::messages::ShareFetchRequest;
use kafka_protocol::messages::ShareGroupDescribeRequest;
use kafka_protocol::messages::ShareGroupHeartbeatRequest;
use kafka_protocol::messages::ShareGroupHeartbeatResponse;
use kafka_protocol::messages::TopicName;
use kafka_protocol::messages::UpdateFeaturesRequest;
use kafka_protocol::messages::alter_share_group_offsets_request::AlterShareGroupOffsetsRequestPartition;
use kafka_protocol::messages::alter_share_group_offsets_request::AlterShareGroupOffsetsRequestTopic;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::create_topics_request::CreatableTopicConfig;
use kafka_protocol::messages::delete_share_group_offsets_request::DeleteShareGroupOffsetsRequestTopic;
use kafka_protocol::messages::describe_share_group_offsets_request::DescribeShareGroupOffsetsRequestGroup;
use kafka_protocol::messages::incremental_alter_configs_request::AlterConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_request::AlterableConfig;
use kafka_protocol::messages::share_acknowledge_request::AcknowledgePartition;
use kafka_protocol::messages::share_acknowledge_request::AcknowledgeTopic;
use kafka_protocol::messages::share_acknowledge_request::AcknowledgementBatch;
use kafka_protocol::messages::share_fetch_request::FetchPartition;
use kafka_protocol::messages::share_fetch_request::FetchTopic;
use kafka_protocol::messages::share_fetch_response::PartitionData;
use kafka_protocol::messages::update_features_request::FeatureUpdateKey;
use kafka_protocol::protocol::StrBytes;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

const ACCEPT: i8 = 1;
const RELEASE: i8 = 2;
const REJECT: i8 = 3;
/// The resource type of groups.
const GROUP: i8 = 32;

/// A broker with its coordinators at work, and topic `t` with four records.
pub(super) struct World {
    pub(super) bench: Bench,
    groups: groups::Running,
    share: share::Running,
}

/// A fetch that waits a while for records.
pub(super) fn fetch_request(member: &str, epoch: i32, topics: Vec<FetchTopic>) -> ShareFetchRequest {
    ShareFetchRequest::default()
        .with_group_id(Some(group_id()))
        .with_member_id(Some(text(member)))
        .with_share_session_epoch(epoch)
        .with_max_wait_ms(500)
        .with_min_bytes(1)
        .with_max_bytes(1 << 20)
        .with_max_records(500)
        .with_batch_size(500)
        .with_topics(topics)
}

pub(super) fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

pub(super) fn group_id() -> GroupId {
    GroupId(text("g"))
}

fn topic_t() -> TopicName {
    TopicName(text("t"))
}

/// The group is to go on at this offset.
fn alter(start: i64) -> AlterShareGroupOffsetsRequest {
    let partition = AlterShareGroupOffsetsRequestPartition::default().with_start_offset(start);
    let topic = AlterShareGroupOffsetsRequestTopic::default().with_topic_name(topic_t());
    AlterShareGroupOffsetsRequest::default()
        .with_group_id(group_id())
        .with_topics(vec![topic.with_partitions(vec![partition])])
}

impl World {
    pub(super) async fn new(configs: &[(&str, &str)]) -> World {
        let lines = [
            ("offsets.topic.num.partitions", "1"),
            ("share.coordinator.state.topic.num.partitions", "1"),
            ("errors.deadletterqueue.auto.create.topics.enable", "true"),
        ];
        let world = World::with(Bench::new(&lines).await);
        let broker = &world.bench.broker;
        assert!(broker.groups.ensure_topic(&broker.controller).await);
        create(&world.bench, "t", 1).await;
        assert_eq!(send(&world.bench, 12, "t", batch(&["a", "b", "c", "d"])).await.error_code, 0);
        let configs =
            configs.iter().chain([&("share.auto.offset.reset", "earliest")]).map(|(name, value)| {
                AlterableConfig::default().with_name(text(name)).with_value(Some(text(value)))
            });
        let resource =
            AlterConfigsResource::default().with_resource_type(GROUP).with_resource_name(text("g"));
        let request = IncrementalAlterConfigsRequest::default()
            .with_resources(vec![resource.with_configs(configs.collect())]);
        assert_eq!(world.bench.ask(&request, 1).await.responses[0].error_code, 0);
        world
    }

    fn with(bench: Bench) -> World {
        let broker = &bench.broker;
        let (replicas, clock) = (Arc::clone(&broker.replicas), broker.clock.clone());
        let groups = groups::Running::start(
            &broker.groups,
            Arc::clone(&replicas),
            clock.clone(),
            LONG,
            &bench.shutdown,
        );
        let share = share::Running::start(&broker.share, replicas, clock, &bench.shutdown);
        World { bench, groups, share }
    }

    async fn restart(self) -> World {
        let World { bench, groups, share } = self;
        bench.shutdown.trigger();
        share.ended().await;
        groups.ended().await;
        World::with(bench.restart().await)
    }

    pub(super) fn topic_id(&self) -> Uuid {
        self.bench.broker.publisher.current().topic("t").unwrap().id.0
    }

    async fn beat(&self, member: &str, epoch: i32, subscribes: bool) -> ShareGroupHeartbeatResponse {
        let request = ShareGroupHeartbeatRequest::default()
            .with_group_id(group_id())
            .with_member_id(text(member))
            .with_member_epoch(epoch)
            .with_subscribed_topic_names(subscribes.then(|| vec![topic_t()]));
        self.bench.ask(&request, 1).await
    }

    /// What goes on in the background needs a moment.
    async fn rest(&self) {
        self.bench.broker.clock.sleep(Duration::from_millis(20)).await;
    }

    /// A new member that has the partition.
    pub(super) async fn join(&self, member: &str) -> i32 {
        let wait = async {
            let mut answer = self.beat(member, 0, true).await;
            while answer.error_code != 0 {
                self.rest().await;
                answer = self.beat(member, 0, true).await;
            }
            while answer.assignment.as_ref().is_none_or(|assigned| assigned.topic_partitions.is_empty()) {
                assert_eq!(answer.error_code, 0, "{:?}", answer.error_message);
                self.rest().await;
                answer = self.beat(member, answer.member_epoch, true).await;
            }
            answer.member_epoch
        };
        self.bench.broker.clock.timeout(LONG, wait).await.expect("a member with its partition")
    }

    fn key(&self) -> share::Key {
        share::Key { group: Arc::from("g"), topic: TopicId(self.topic_id()), partition: PartitionIndex(0) }
    }

    /// The share coordinator is being loaded from a log that cannot be read before the test lets it be.
    async fn load_coordinator(&self) -> Memory {
        let (log, states) = (Memory::new(), self.bench.broker.share.states());
        let lead = |epoch: i32| {
            states.runtime().lead(PartitionIndex(0), LeaderEpoch(epoch), log.clone(), states.fresh());
        };
        lead(1_000);
        states.initialize(&self.key(), 1, 0).await.unwrap();
        log.written.send_replace(-1);
        lead(1_001);
        log
    }

    async fn fetch(&self, member: &str, epoch: i32) -> Result<PartitionData, ErrorCode> {
        self.fetch_for(500, member, epoch).await
    }

    async fn fetch_for(&self, wait_ms: i32, member: &str, epoch: i32) -> Result<PartitionData, ErrorCode> {
        let partition = FetchPartition::default().with_partition_index(0);
        let topic = FetchTopic::default().with_topic_id(self.topic_id()).with_partitions(vec![partition]);
        let topics = if epoch == 0 { vec![topic] } else { Vec::new() };
        let request = fetch_request(member, epoch, topics).with_max_wait_ms(wait_ms);
        let mut answer = self.bench.ask(&request, 1).await;
        match ErrorCode::from_code(answer.error_code).unwrap() {
            ErrorCode::None if answer.responses.is_empty() => Ok(PartitionData::default()),
            ErrorCode::None => Ok(answer.responses.remove(0).partitions.remove(0)),
            code => Err(code),
        }
    }

    /// First offset, last offset and delivery of what a member is given.
    async fn acquired(&self, member: &str, epoch: i32) -> Vec<(i64, i64, i16)> {
        let data = self.fetch(member, epoch).await.unwrap();
        assert_eq!(data.error_code, 0, "{:?}", data.error_message);
        let ranges = data.acquired_records.iter();
        ranges.map(|one| (one.first_offset, one.last_offset, one.delivery_count)).collect()
    }

    /// The whole request's code, and the partition's.
    async fn acknowledge(
        &self,
        member: &str,
        epoch: i32,
        first: i64,
        kinds: &[i8],
    ) -> (ErrorCode, ErrorCode) {
        let batch = AcknowledgementBatch::default()
            .with_first_offset(first)
            .with_last_offset(first + i64::try_from(kinds.len()).unwrap() - 1)
            .with_acknowledge_types(kinds.to_vec());
        let partition =
            AcknowledgePartition::default().with_partition_index(0).with_acknowledgement_batches(vec![batch]);
        let topic =
            AcknowledgeTopic::default().with_topic_id(self.topic_id()).with_partitions(vec![partition]);
        let request = ShareAcknowledgeRequest::default()
            .with_group_id(Some(group_id()))
            .with_member_id(Some(text(member)))
            .with_share_session_epoch(epoch)
            .with_topics(vec![topic]);
        let answer = self.bench.ask(&request, 1).await;
        let code = |code| ErrorCode::from_code(code).unwrap();
        let partition = answer.responses.first().map_or(0, |topic| topic.partitions[0].error_code);
        (code(answer.error_code), code(partition))
    }

    async fn create_for_letters(&self, configs: &[(&str, &str)]) {
        let configs = configs.iter().chain([&("errors.deadletterqueue.group.enable", "true")]);
        let config = |(name, value): &(&str, &str)| {
            CreatableTopicConfig::default().with_name(text(name)).with_value(Some(text(value)))
        };
        let topic = CreatableTopic::default()
            .with_name(TopicName(text("dlq.g")))
            .with_num_partitions(1)
            .with_replication_factor(1)
            .with_configs(configs.map(config).collect());
        let request = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(5000);
        assert_eq!(self.bench.ask(&request, 5).await.topics[0].error_code, 0);
    }

    /// A member rejects the first and the third record, and accepts the others.
    async fn reject_two(&self) {
        self.join("m").await;
        assert_eq!(self.acquired("m", 0).await, [(0, 3, 1)]);
        let done = self.acknowledge("m", 1, 0, &[REJECT, ACCEPT, REJECT, ACCEPT]).await;
        assert_eq!(done, (ErrorCode::None, ErrorCode::None));
    }

    /// The dead letters, so many, when all records are dealt with.
    async fn letters(&self, count: i64) -> Bytes {
        let broker = &self.bench.broker;
        let topic = || broker.replicas.by_name("dlq.g", PartitionIndex(0));
        let end = || topic().ok().map(|partition| partition.high_watermark().0);
        let wait = async {
            while end() != Some(count) || self.dealt().await != 4 {
                self.rest().await;
            }
        };
        broker.clock.timeout(LONG, wait).await.expect("all dead letters, and nothing left to do");
        topic().unwrap().log().read_bytes(Offset(0), Offset(count), 1 << 20).unwrap()
    }

    /// Up to where all is dealt with. The start that is kept moves on with the write after the one that makes it possible,
    /// as in Kafka.
    async fn dealt(&self) -> i64 {
        let summary = self.bench.broker.share.states().summarize(&self.key()).await.unwrap();
        summary.start + i64::from(summary.complete)
    }

    /// Start offset and leader epoch of the partition, as tools are told.
    async fn described(&self) -> (i64, i32) {
        let group = DescribeShareGroupOffsetsRequestGroup::default().with_group_id(group_id());
        let request = DescribeShareGroupOffsetsRequest::default().with_groups(vec![group.with_topics(None)]);
        let mut answer = self.bench.ask(&request, 0).await;
        let group = answer.groups.remove(0);
        assert_eq!(group.error_code, 0);
        let found = group.topics.first().map(|topic| &topic.partitions[0]);
        found.map_or((-2, -2), |one| (one.start_offset, one.leader_epoch))
    }
}

#[tokio::test]
async fn what_is_accepted_stays_so_after_a_restart() {
    let world = World::new(&[]).await;
    world.join("m").await;
    let data = world.fetch("m", 0).await.unwrap();
    assert!(data.records.as_ref().is_some_and(|records| records.len() > 60), "{data:?}");
    let acquired = &data.acquired_records[0];
    assert_eq!((acquired.first_offset, acquired.last_offset, acquired.delivery_count), (0, 3, 1));
    // One is accepted, one comes again, one is given up, one stays with its member.
    let done = world.acknowledge("m", 1, 0, &[ACCEPT, RELEASE, REJECT]).await;
    assert_eq!(done, (ErrorCode::None, ErrorCode::None));
    // What is not held cannot be acknowledged, and nothing comes of the request then.
    let again = world.acknowledge("m", 2, 2, &[ACCEPT]).await;
    assert_eq!(again, (ErrorCode::None, ErrorCode::InvalidRecordState));
    assert_eq!(world.acquired("m", 3).await, [(1, 1, 2)]);
    let world = world.restart().await;
    world.join("n").await;
    // Nobody had said anything of the last delivery of these.
    assert_eq!(world.acquired("n", 0).await, [(1, 1, 2), (3, 3, 1)]);
    assert_eq!(world.acknowledge("n", 1, 1, &[ACCEPT]).await, (ErrorCode::None, ErrorCode::None));
    assert_eq!(world.acknowledge("n", 2, 3, &[ACCEPT]).await, (ErrorCode::None, ErrorCode::None));
    assert_eq!(world.dealt().await, 4);
}

#[tokio::test]
async fn records_go_to_one_member_also_when_a_load_fails_for_which_several_wait() {
    let world = World::new(&[]).await;
    world.join("m").await;
    let log = world.load_coordinator().await;
    let release = async {
        // The first attempt has failed by then; a second one is under way.
        world.bench.broker.clock.sleep(Duration::from_millis(450)).await;
        log.written.send_replace(i64::MAX);
    };
    let (m, n, ()) = tokio::join!(world.fetch("m", 0), world.fetch("n", 0), release);
    let o = world.fetch("o", 0).await;
    let given = [m, n, o].into_iter().flat_map(|data| data.unwrap().acquired_records);
    let given: Vec<_> = given.map(|one| (one.first_offset, one.last_offset, one.delivery_count)).collect();
    assert_eq!(given, [(0, 3, 1)]);
}

#[tokio::test]
async fn a_fetch_does_not_wait_longer_than_it_says_for_a_share_partition_that_is_being_loaded() {
    let world = World::new(&[]).await;
    world.join("m").await;
    let log = world.load_coordinator().await;
    let data = world.fetch_for(1, "m", 0).await.unwrap();
    assert_eq!(data, PartitionData::default());
    log.written.send_replace(i64::MAX);
    // The load went on without it.
    assert_eq!(world.acquired("m", 1).await, [(0, 3, 1)]);
}

#[tokio::test]
async fn a_share_partition_whose_state_takes_long_to_load_is_delivered_when_it_is_there() {
    let world = World::new(&[]).await;
    world.join("m").await;
    let log = world.load_coordinator().await;
    // Longer than the coordinator lets anybody wait for its log.
    let data = world.fetch_for(700, "m", 0).await.unwrap();
    assert_eq!(data, PartitionData::default());
    log.written.send_replace(i64::MAX);
    let data = world.fetch_for(5_000, "m", 1).await.unwrap();
    assert_eq!((data.error_code, data.acquired_records.len()), (0, 1));
}

/// On COORDINATOR_NOT_AVAILABLE a share consumer would end.
#[tokio::test]
async fn a_load_that_the_broker_s_end_breaks_off_does_not_end_consumers() {
    let world = World::new(&[]).await;
    world.join("m").await;
    let _log = world.load_coordinator().await;
    let end = async {
        // The first attempt has failed by then, and the pause goes on.
        world.bench.broker.clock.sleep(Duration::from_millis(350)).await;
        world.bench.shutdown.trigger();
    };
    let (data, ()) = tokio::join!(world.fetch_for(20_000, "m", 0), end);
    assert_eq!(data.unwrap().error_code, ErrorCode::NotLeaderOrFollower.code());
}

#[tokio::test]
async fn a_subscription_that_could_not_be_read_again_is_refused() {
    let world = World::new(&[]).await;
    let epoch = world.join("m").await;
    let subscribe = async |world: &World, count: usize| {
        let mut names: Vec<TopicName> =
            (0..count).map(|number| TopicName(text(&format!("x{number}")))).collect();
        names.push(TopicName(text("t")));
        let request = ShareGroupHeartbeatRequest::default()
            .with_group_id(group_id())
            .with_member_id(text("m"))
            .with_member_epoch(epoch)
            .with_subscribed_topic_names(Some(names));
        world.bench.ask(&request, 1).await.error_code
    };
    let subscribed = async |world: &World| {
        let groups = ShareGroupDescribeRequest::default().with_group_ids(vec![group_id()]);
        let members = world.bench.ask(&groups, 1).await.groups.remove(0).members;
        members.first().map(|member| member.subscribed_topic_names.len())
    };
    assert_eq!(subscribe(&world, 60_000).await, ErrorCode::UnknownServerError.code());
    assert_eq!(subscribed(&world).await, Some(1));
    assert_eq!(subscribe(&world, 20_000).await, 0);
    let world = world.restart().await;
    while subscribed(&world).await.is_none() {
        world.rest().await;
    }
    assert_eq!(subscribed(&world).await, Some(20_001));
}

#[tokio::test]
async fn what_a_lost_member_held_is_given_to_the_next() {
    let mut world = World::new(&[("share.delivery.count.limit", "2")]).await;
    world.join("m").await;
    assert_eq!(world.acquired("m", 0).await, [(0, 3, 1)]);
    // Another connection takes the place of the first, which is gone with its session.
    world.bench.through("PLAINTEXT");
    world.join("n").await;
    assert_eq!(world.acquired("n", 0).await, [(0, 3, 2)]);
    assert_eq!(world.acknowledge("m", 1, 0, &[ACCEPT]).await.0, ErrorCode::ShareSessionNotFound);
    // A member that closes its session gives back what it holds; now that is too often.
    assert_eq!(world.acknowledge("n", -1, 0, &[ACCEPT]).await, (ErrorCode::None, ErrorCode::None));
    world
        .bench
        .broker
        .clock
        .timeout(LONG, async {
            while world.dealt().await != 4 {
                world.rest().await;
            }
        })
        .await
        .unwrap();
    assert_eq!(world.acquired("n", 0).await, []);
}

#[tokio::test]
async fn without_the_feature_there_are_no_share_groups_and_the_refusal_has_no_words() {
    let world = World::new(&[]).await;
    let update = FeatureUpdateKey::default()
        .with_feature(text("share.version"))
        .with_max_version_level(0)
        .with_upgrade_type(2);
    let request = UpdateFeaturesRequest::default().with_feature_updates(vec![update]);
    assert_eq!(world.bench.ask(&request, 1).await.error_code, 0);
    let answer = world.beat("m", 0, true).await;
    assert_eq!((answer.error_code, answer.error_message), (ErrorCode::UnsupportedVersion.code(), None));
}

#[tokio::test]
async fn sessions_have_their_order() {
    let world = World::new(&[]).await;
    world.join("m").await;
    assert_eq!(world.fetch("m", 1).await, Err(ErrorCode::ShareSessionNotFound));
    assert_eq!(world.acknowledge("m", 0, 0, &[ACCEPT]).await.0, ErrorCode::InvalidShareSessionEpoch);
    assert_eq!(world.acquired("m", 0).await, [(0, 3, 1)]);
    assert_eq!(world.fetch("m", 2).await, Err(ErrorCode::InvalidShareSessionEpoch));
    assert_eq!(world.acquired("m", 1).await, []);
    assert_eq!(world.fetch(&"x".repeat(37), 0).await, Err(ErrorCode::InvalidRequest));
    assert_eq!(world.acknowledge("m", 2, 0, &[9]).await.1, ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn rejected_records_become_dead_letters() {
    let configs = [
        ("errors.deadletterqueue.topic.name", "dlq.g"),
        ("errors.deadletterqueue.copy.record.enable", "true"),
    ];
    let world = World::new(&configs).await;
    world.reject_two().await;
    let bytes = world.letters(2).await;
    let mut values = Vec::new();
    for (at, header) in walk(&bytes).map_while(Result::ok) {
        let batch = &bytes[at..at + header.total_size()];
        values.extend(records(batch, 1 << 20).unwrap().map(|record| record.unwrap().value.unwrap()));
    }
    values.sort();
    assert_eq!(values, ["a", "c"], "the records themselves");
}

#[tokio::test]
async fn dead_letters_are_written_as_their_topic_wants_records() {
    let world = World::new(&[("errors.deadletterqueue.topic.name", "dlq.g")]).await;
    let wants = [("compression.type", "gzip"), ("message.timestamp.type", "LogAppendTime")];
    world.create_for_letters(&wants).await;
    world.reject_two().await;
    let bytes = world.letters(2).await;
    let headers: Vec<_> = walk(&bytes).map_while(Result::ok).map(|(_, header)| header).collect();
    assert!(!headers.is_empty() && headers.iter().all(|header| header.attributes == 0x9), "{headers:?}");
}

#[tokio::test]
async fn records_whose_dead_letters_are_refused_are_given_up_without() {
    let world = World::new(&[("errors.deadletterqueue.topic.name", "dlq.g")]).await;
    // Letters have no key.
    world.create_for_letters(&[("cleanup.policy", "compact")]).await;
    world.reject_two().await;
    world.letters(0).await;
}

#[tokio::test]
async fn a_group_that_goes_on_behind_the_log_s_end_waits_for_the_log() {
    let world = World::new(&[]).await;
    let altered = world.bench.ask(&alter(6), 0).await;
    assert_eq!((altered.error_code, altered.responses[0].partitions[0].error_code), (0, 0));
    world.join("m").await;
    // A new session tells each partition, this one without records and without an error.
    let data = world.fetch_for(50, "m", 0).await.unwrap();
    assert_eq!(data, PartitionData::default().with_records(data.records.clone()));
    let grow = async {
        world.rest().await;
        assert_eq!(send(&world.bench, 12, "t", batch(&["e", "f", "g", "h"])).await.error_code, 0);
    };
    let (data, ()) = tokio::join!(world.fetch_for(5_000, "m", 1), grow);
    let data = data.unwrap();
    let acquired = &data.acquired_records[0];
    assert_eq!((data.error_code, acquired.first_offset, acquired.last_offset), (0, 6, 7));
}

#[tokio::test]
async fn tools_show_change_and_delete_groups() {
    let world = World::new(&[]).await;
    world.join("m").await;
    let describe = ShareGroupDescribeRequest::default().with_group_ids(vec![group_id(), GroupId(text("h"))]);
    let shown = world.bench.ask(&describe, 1).await.groups;
    assert_eq!((&*shown[0].group_state, &*shown[0].assignor_name), ("Stable", "simple"));
    assert_eq!(&*shown[0].members[0].assignment.topic_partitions[0].topic_name.0, "t");
    assert_eq!(shown[1].error_code, ErrorCode::GroupIdNotFound.code());
    let topic = DeleteShareGroupOffsetsRequestTopic::default().with_topic_name(topic_t());
    let delete = DeleteShareGroupOffsetsRequest::default().with_group_id(group_id()).with_topics(vec![topic]);
    let groups = DeleteGroupsRequest::default().with_groups_names(vec![group_id()]);
    let not_empty = ErrorCode::NonEmptyGroup.code();
    assert_eq!(world.bench.ask(&alter(2), 0).await.error_code, not_empty);
    assert_eq!(world.bench.ask(&delete, 0).await.error_code, not_empty);
    assert_eq!(world.bench.ask(&groups, 2).await.results[0].error_code, not_empty);
    assert_eq!(world.acquired("m", 0).await, [(0, 3, 1)]);
    world.acknowledge("m", -1, 0, &[ACCEPT]).await;
    assert_eq!(world.beat("m", -1, false).await.error_code, 0);
    let altered = world.bench.ask(&alter(2), 0).await;
    assert_eq!((altered.error_code, altered.responses[0].partitions[0].error_code), (0, 0));
    assert_eq!(world.described().await.0, 2);
    let world = world.restart().await;
    world.join("m").await;
    assert_eq!(world.acquired("m", 0).await, [(2, 3, 1)]);
    world.acknowledge("m", -1, 2, &[ACCEPT]).await;
    assert_eq!(world.beat("m", -1, false).await.error_code, 0);
    assert_eq!(world.bench.ask(&delete, 0).await.responses[0].error_code, 0);
    assert_eq!(world.described().await, (-2, -2));
    let again = world.bench.ask(&delete, 0).await;
    assert_eq!(again.responses[0].error_code, ErrorCode::UnknownTopicOrPartition.code());
    assert_eq!(world.bench.ask(&groups, 2).await.results[0].error_code, 0);
    assert_eq!(world.beat("m", 1, false).await.error_code, ErrorCode::GroupIdNotFound.code());
}
