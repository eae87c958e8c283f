//! What share group requests are answered at their edges: ids that are blank, topics without partitions, partitions that
//! are not loaded yet.

use super::admin::create;
use super::data::batch;
use super::data::send;
use super::share::World;
use super::share::fetch_request;
use super::share::group_id;
use super::share::text;
use crate::base::ErrorCode;
use kafka_protocol::messages::DeleteShareGroupStateRequest;
use kafka_protocol::messages::InitializeShareGroupStateRequest;
use kafka_protocol::messages::ReadShareGroupStateRequest;
use kafka_protocol::messages::ShareAcknowledgeRequest;
use kafka_protocol::messages::ShareFetchRequest;
use kafka_protocol::messages::ShareGroupHeartbeatRequest;
use kafka_protocol::messages::TopicName;
use kafka_protocol::messages::delete_share_group_state_request::DeleteStateData;
use kafka_protocol::messages::delete_share_group_state_request::PartitionData as Delete;
use kafka_protocol::messages::initialize_share_group_state_request::InitializeStateData;
use kafka_protocol::messages::initialize_share_group_state_request::PartitionData as Initialize;
use kafka_protocol::messages::read_share_group_state_request::PartitionData as Read;
use kafka_protocol::messages::read_share_group_state_request::ReadStateData;
use kafka_protocol::messages::share_acknowledge_request::AcknowledgePartition;
use kafka_protocol::messages::share_acknowledge_request::AcknowledgeTopic;
use kafka_protocol::messages::share_acknowledge_request::AcknowledgementBatch;
use kafka_protocol::messages::share_fetch_request::FetchPartition;
use kafka_protocol::messages::share_fetch_request::FetchTopic;
use uuid::Uuid;

#[tokio::test]
async fn only_an_empty_group_id_is_none_and_only_initializing_passes_over_a_topic_without_partitions() {
    let world = World::new(&[]).await;
    let (topic, bench) = (world.topic_id(), &world.bench);
    let initialize = async |group: &str, empty: bool| {
        let one = InitializeStateData::default()
            .with_topic_id(topic)
            .with_partitions(vec![Initialize::default().with_state_epoch(1).with_start_offset(7)]);
        let mut topics = vec![InitializeStateData::default().with_topic_id(Uuid::from_u128(5)), one];
        topics.drain(..usize::from(!empty));
        let request =
            InitializeShareGroupStateRequest::default().with_group_id(text(group)).with_topics(topics);
        bench.ask(&request, 0).await.results
    };
    let read = async |group: &str, empty: bool| {
        let one = ReadStateData::default().with_topic_id(topic).with_partitions(vec![Read::default()]);
        let mut topics = vec![ReadStateData::default().with_topic_id(Uuid::from_u128(5)), one];
        topics.drain(..usize::from(!empty));
        let request = ReadShareGroupStateRequest::default().with_group_id(text(group)).with_topics(topics);
        bench.ask(&request, 0).await.results
    };
    assert!(initialize("", false).await.is_empty() && read("", false).await.is_empty());
    let initialized = initialize(" ", true).await;
    assert_eq!((initialized.len(), initialized[0].topic_id, initialized[0].partitions.len()), (1, topic, 1));
    assert_eq!(initialized[0].partitions[0].error_code, 0);
    assert_eq!(read(" ", false).await[0].partitions[0].start_offset, 7);
    assert!(read(" ", true).await.is_empty());
    let delete = |group: &str| {
        let one = DeleteStateData::default().with_topic_id(topic).with_partitions(vec![Delete::default()]);
        DeleteShareGroupStateRequest::default().with_group_id(text(group)).with_topics(vec![one])
    };
    assert!(bench.ask(&delete(""), 0).await.results.is_empty());
    assert_eq!(bench.ask(&delete(" "), 0).await.results[0].partitions[0].error_code, 0);
    assert_ne!(read(" ", false).await[0].partitions[0].start_offset, 7);
}

#[tokio::test]
async fn a_member_id_that_cannot_be_is_refused_without_words() {
    let world = World::new(&[]).await;
    let refused = async |member: &str| {
        let request = ShareGroupHeartbeatRequest::default()
            .with_group_id(group_id())
            .with_member_id(text(member))
            .with_member_epoch(7);
        let answer = world.bench.ask(&request, 1).await;
        assert_eq!(answer.error_code, ErrorCode::InvalidRequest.code());
        answer.error_message.map(|message| message.to_string())
    };
    assert_eq!(refused("").await, None);
    assert_eq!(refused(&"x".repeat(37)).await, None);
    assert_eq!(refused("  ").await.as_deref(), Some("MemberId can't be empty."));
}

/// The names and partitions that a fetch is answered with, and how many ranges of records of each.
async fn fetch(world: &World, epoch: i32, named: &[(&str, &[i32])]) -> Vec<(String, i32, usize)> {
    let image = world.bench.broker.publisher.current();
    let topics = named.iter().map(|(name, partitions)| {
        let partitions =
            partitions.iter().map(|index| FetchPartition::default().with_partition_index(*index));
        let id = image.topic(name).unwrap().id.0;
        FetchTopic::default().with_topic_id(id).with_partitions(partitions.collect())
    });
    let request = fetch_request("m", epoch, topics.collect());
    let answer = world.bench.ask(&request, 1).await;
    assert_eq!(answer.error_code, 0);
    let image = world.bench.broker.publisher.current();
    let mut told = Vec::new();
    for topic in answer.responses {
        let name = image.topic_by_id(crate::base::TopicId(topic.topic_id)).unwrap().name.to_string();
        told.extend(
            topic
                .partitions
                .iter()
                .map(|one| (name.clone(), one.partition_index, one.acquired_records.len())),
        );
    }
    told.sort();
    told
}

#[tokio::test]
async fn what_is_loaded_is_delivered_without_waiting_for_the_rest_and_what_is_new_is_told_once() {
    let world = World::new(&[]).await;
    world.join("m").await;
    let (t, u) = (String::from("t"), String::from("u"));
    create(&world.bench, "u", 3).await;
    assert_eq!(send(&world.bench, 12, "u", batch(&["a"])).await.error_code, 0);
    let subscribed = ShareGroupHeartbeatRequest::default()
        .with_group_id(group_id())
        .with_member_id(text("m"))
        .with_subscribed_topic_names(Some(vec![TopicName(text("t")), TopicName(text("u"))]));
    let known = async {
        loop {
            let answer = world.bench.ask(&subscribed, 1).await;
            let topics = answer.assignment.map_or(0, |assigned| assigned.topic_partitions.len());
            if topics == 2 {
                break;
            }
            world.bench.broker.clock.sleep(std::time::Duration::from_millis(20)).await;
        }
    };
    world.bench.broker.clock.timeout(crate::replica::testing::LONG, known).await.expect("both topics");
    // The first of the new ones that has records is enough; the one behind it is not loaded for it.
    assert_eq!(fetch(&world, 0, &[("t", &[0]), ("u", &[0])]).await, [(t.clone(), 0, 1)]);
    // When all are loaded the next fetch has the other's records.
    assert_eq!(fetch(&world, 1, &[]).await, [(u.clone(), 0, 1)]);
    // Partitions without records that are new in the session are told once.
    assert_eq!(fetch(&world, 2, &[("u", &[1, 2])]).await, [(u.clone(), 1, 0), (u.clone(), 2, 0)]);
    assert_eq!(fetch(&world, 3, &[]).await, []);
}

#[tokio::test]
async fn a_partition_without_acknowledgements_is_told_only_beside_one_with_some() {
    let world = World::new(&[]).await;
    world.join("m").await;
    create(&world.bench, "u", 1).await;
    assert_eq!(fetch(&world, 0, &[("t", &[0])]).await, [(String::from("t"), 0, 1)]);
    let acknowledge = async |epoch: i32, batches: Vec<AcknowledgementBatch>| {
        let image = world.bench.broker.publisher.current();
        let topic = |name: &str, batches: Vec<AcknowledgementBatch>| {
            let partition = AcknowledgePartition::default().with_acknowledgement_batches(batches);
            let id = image.topic(name).unwrap().id.0;
            AcknowledgeTopic::default().with_topic_id(id).with_partitions(vec![partition])
        };
        let request = ShareAcknowledgeRequest::default()
            .with_group_id(Some(group_id()))
            .with_member_id(Some(text("m")))
            .with_share_session_epoch(epoch)
            .with_topics(vec![topic("t", batches), topic("u", Vec::new())]);
        let answer = world.bench.ask(&request, 1).await;
        assert_eq!(answer.error_code, 0);
        answer.responses.iter().map(|topic| topic.partitions[0].error_code).collect::<Vec<_>>()
    };
    assert_eq!(acknowledge(1, Vec::new()).await, [0; 0]);
    let refused = AcknowledgementBatch::default().with_last_offset(0).with_acknowledge_types(vec![9]);
    assert_eq!(acknowledge(2, vec![refused]).await, [ErrorCode::InvalidRequest.code()]);
    let accepted = AcknowledgementBatch::default().with_last_offset(0).with_acknowledge_types(vec![1]);
    assert_eq!(acknowledge(3, vec![accepted]).await, [0, 0]);
}

#[tokio::test]
async fn what_is_not_there_is_told_also_when_no_record_is_wanted() {
    let world = World::new(&[]).await;
    let topic = |id: Uuid, index: i32| {
        let partition = FetchPartition::default().with_partition_index(index);
        FetchTopic::default().with_topic_id(id).with_partitions(vec![partition])
    };
    let request = ShareFetchRequest::default()
        .with_group_id(Some(group_id()))
        .with_member_id(Some(text("m")))
        .with_topics(vec![topic(world.topic_id(), 1), topic(Uuid::from_u128(5), 0)]);
    let answer = world.bench.ask(&request, 1).await;
    let mut codes: Vec<i16> = answer.responses.iter().map(|topic| topic.partitions[0].error_code).collect();
    codes.sort_unstable();
    assert_eq!(codes, [ErrorCode::UnknownTopicOrPartition.code(), ErrorCode::UnknownTopicId.code()]);
}

#[tokio::test]
async fn a_negative_number_of_records_tells_failures_and_takes_nothing() {
    let world = World::new(&[]).await;
    let partition = FetchPartition::default();
    let topic = FetchTopic::default().with_topic_id(world.topic_id()).with_partitions(vec![partition]);
    let request = ShareFetchRequest::default()
        .with_group_id(Some(group_id()))
        .with_member_id(Some(text("m")))
        .with_max_wait_ms(500)
        .with_max_records(-1)
        .with_max_bytes(1000)
        .with_topics(vec![topic]);
    // The group has no state of the partition.
    let answer = world.bench.ask(&request, 1).await;
    assert_ne!(answer.responses[0].partitions[0].error_code, 0);
    world.join("m").await;
    let answer = world.bench.ask(&request, 1).await;
    let told = &answer.responses[0].partitions[0];
    assert_eq!((told.error_code, told.acquired_records.len()), (0, 0));
    assert_eq!(fetch(&world, 0, &[("t", &[0])]).await, [(String::from("t"), 0, 1)]);
}
