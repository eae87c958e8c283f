//! Answers that can grow far beyond their requests, where there is room for them and where there is none.

use super::share::World;
use super::share::group_id;
use super::share::text;
use crate::base::ErrorCode;
use kafka_protocol::messages::AlterClientQuotasRequest;
use kafka_protocol::messages::CreateTopicsRequest;
use kafka_protocol::messages::DescribeClientQuotasRequest;
use kafka_protocol::messages::DescribeLogDirsRequest;
use kafka_protocol::messages::DescribeShareGroupOffsetsRequest;
use kafka_protocol::messages::FindCoordinatorRequest;
use kafka_protocol::messages::ListGroupsRequest;
use kafka_protocol::messages::MetadataRequest;
use kafka_protocol::messages::ReadShareGroupStateRequest;
use kafka_protocol::messages::ShareGroupDescribeRequest;
use kafka_protocol::messages::TopicName;
use kafka_protocol::messages::alter_client_quotas_request::EntityData;
use kafka_protocol::messages::alter_client_quotas_request::EntryData;
use kafka_protocol::messages::alter_client_quotas_request::OpData;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::describe_share_group_offsets_request::DescribeShareGroupOffsetsRequestGroup;
use kafka_protocol::messages::read_share_group_state_request::PartitionData;
use kafka_protocol::messages::read_share_group_state_request::ReadStateData;

/// What each of the answers says instead of its contents; `None` where it has them.
async fn refusals(world: &World) -> Vec<(&'static str, Option<ErrorCode>)> {
    let bench = &world.bench;
    let code = |code: i16| ErrorCode::from_code(code).filter(|code| *code != ErrorCode::None);
    let mut found = Vec::new();
    let groups = ShareGroupDescribeRequest::default().with_group_ids(vec![group_id()]);
    found.push(("ShareGroupDescribe", code(bench.ask(&groups, 1).await.groups[0].error_code)));
    let group = DescribeShareGroupOffsetsRequestGroup::default().with_group_id(group_id()).with_topics(None);
    let groups = DescribeShareGroupOffsetsRequest::default().with_groups(vec![group]);
    found.push(("DescribeShareGroupOffsets", code(bench.ask(&groups, 0).await.groups[0].error_code)));
    let topic = ReadStateData::default().with_topic_id(world.topic_id());
    let topic = topic.with_partitions(vec![PartitionData::default().with_leader_epoch(100)]);
    let state = ReadShareGroupStateRequest::default().with_group_id(text("g")).with_topics(vec![topic]);
    let answer = bench.ask(&state, 0).await;
    found.push(("ReadShareGroupState", code(answer.results[0].partitions[0].error_code)));
    let groups = bench.ask(&ListGroupsRequest::default(), 5).await;
    assert_eq!(groups.groups.is_empty(), groups.error_code != 0);
    found.push(("ListGroups", code(groups.error_code)));
    let keys = FindCoordinatorRequest::default().with_coordinator_keys(vec![text("g")]);
    found.push(("FindCoordinator", code(bench.ask(&keys, 4).await.coordinators[0].error_code)));
    let topics = bench.ask(&MetadataRequest::default().with_topics(None), 12).await.topics;
    assert!(topics.iter().all(|topic| topic.partitions.is_empty() == (topic.error_code != 0)));
    found.push(("Metadata", code(topics[0].error_code)));
    let directories = bench.ask(&DescribeLogDirsRequest::default().with_topics(None), 4).await.results;
    found.push(("DescribeLogDirs", code(directories[0].error_code)));
    let quotas = bench.ask(&DescribeClientQuotasRequest::default(), 1).await;
    found.push(("DescribeClientQuotas", code(quotas.error_code)));
    let topic = CreatableTopic::default().with_name(TopicName(text("new"))).with_num_partitions(1);
    let topics = CreateTopicsRequest::default()
        .with_topics(vec![topic.with_replication_factor(1)])
        .with_validate_only(true);
    let made = bench.ask(&topics, 7).await.topics.remove(0);
    assert_eq!(made.error_code, 0, "{:?}", made.error_message);
    found.push(("CreateTopics", made.configs.is_none().then_some(ErrorCode::None)));
    found
}

#[tokio::test]
async fn answers_that_can_grow_say_so_where_there_is_no_room() {
    let world = World::new(&[]).await;
    world.join("m").await;
    let entity =
        EntityData::default().with_entity_type(text("user")).with_entity_name(Some(text("somebody")));
    let quota = OpData::default().with_key(text("consumer_byte_rate")).with_value(1e9);
    let entry = EntryData::default().with_entity(vec![entity]).with_ops(vec![quota]);
    let quotas = AlterClientQuotasRequest::default().with_entries(vec![entry]);
    assert_eq!(world.bench.ask(&quotas, 1).await.entries[0].error_code, 0);
    let with_room = refusals(&world).await;
    assert!(with_room.iter().all(|(_, refusal)| refusal.is_none()), "{with_room:?}");
    world.bench.broker.answer_memory.shut(true);
    let (many, later) = (Some(ErrorCode::InvalidRequest), Some(ErrorCode::CoordinatorNotAvailable));
    let expected = [
        ("ShareGroupDescribe", many),
        ("DescribeShareGroupOffsets", many),
        ("ReadShareGroupState", many),
        ("ListGroups", later),
        ("FindCoordinator", later),
        ("Metadata", Some(ErrorCode::LeaderNotAvailable)),
        ("DescribeLogDirs", many),
        ("DescribeClientQuotas", many),
        ("CreateTopics", Some(ErrorCode::None)),
    ];
    assert_eq!(refusals(&world).await, expected);
    world.bench.broker.answer_memory.shut(false);
    assert_eq!(refusals(&world).await, with_room);
}
