//! Requests of every version as clients encode them, against groups on a log in memory.

use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::broker::context::Answer;
use crate::broker::context::Connection;
use crate::broker::context::Reply;
use crate::broker::testing::idle_broker_with;
use crate::cluster::Image;
use crate::cluster::records::Endpoint;
use crate::cluster::records::PartitionRecord;
use crate::cluster::records::RegisterBrokerRecord;
use crate::cluster::testing;
use crate::config::SecurityProtocol;
use crate::coordinator::memory::Memory;
use crate::groups::service::TOPIC;
use crate::protocol::Part;
use crate::protocol::versions;
use bytes::BufMut;
use bytes::Bytes;
use bytes::BytesMut;
use kafka_protocol::messages::DeleteGroupsRequest;
use kafka_protocol::messages::DeleteGroupsResponse;
use kafka_protocol::messages::DescribeGroupsRequest;
use kafka_protocol::messages::DescribeGroupsResponse;
use kafka_protocol::messages::FindCoordinatorRequest;
use kafka_protocol::messages::FindCoordinatorResponse;
use kafka_protocol::messages::GroupId;
use kafka_protocol::messages::HeartbeatRequest;
use kafka_protocol::messages::HeartbeatResponse;
use kafka_protocol::messages::JoinGroupRequest;
use kafka_protocol::messages::JoinGroupResponse;
use kafka_protocol::messages::LeaveGroupRequest;
use kafka_protocol::messages::LeaveGroupResponse;
use kafka_protocol::messages::ListGroupsRequest;
use kafka_protocol::messages::ListGroupsResponse;
use kafka_protocol::messages::OffsetCommitRequest;
use kafka_protocol::messages::OffsetCommitResponse;
use kafka_protocol::messages::OffsetDeleteRequest;
use kafka_protocol::messages::OffsetDeleteResponse;
use kafka_protocol::messages::OffsetFetchRequest;
use kafka_protocol::messages::OffsetFetchResponse;
use kafka_protocol::messages::SyncGroupRequest;
use kafka_protocol::messages::SyncGroupResponse;
use kafka_protocol::messages::TopicName;
use kafka_protocol::messages::join_group_request;
use kafka_protocol::messages::leave_group_request;
use kafka_protocol::messages::offset_commit_request;
use kafka_protocol::messages::offset_commit_response;
use kafka_protocol::messages::offset_delete_request;
use kafka_protocol::messages::offset_fetch_request;
use kafka_protocol::messages::sync_group_request;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::protocol::Encodable;
use kafka_protocol::protocol::StrBytes;
use std::sync::Arc;
use uuid::Uuid;

const NODE: BrokerId = BrokerId(1);

fn topic_id(number: u128) -> TopicId {
    TopicId(Uuid::from_u128(number))
}

fn add_topic(image: &mut Image, name: &str, id: TopicId, partitions: i32, leader: BrokerId) {
    testing::add_topic(image, (name, id), partitions, |partition| PartitionRecord { leader, ..partition });
}

/// A broker with topics `t` and `u`, and `__consumer_offsets` when `leader` is given.
fn broker(leader: Option<BrokerId>) -> Arc<Broker> {
    let mut image = Image::empty("cluster");
    let endpoint = |name: &str, port| Endpoint {
        name: name.to_owned(),
        host: format!("{}.example", name.to_lowercase()),
        port,
        security_protocol: 0,
    };
    let registration = RegisterBrokerRecord {
        broker_id: NODE,
        is_migrating_zk_broker: false,
        incarnation_id: Uuid::from_u128(9),
        broker_epoch: 1,
        end_points: vec![endpoint("INSIDE", 9092), endpoint("OUTSIDE", 9093)],
        features: Vec::new(),
        rack: None,
        fenced: false,
        in_controlled_shutdown: false,
        log_dirs: Vec::new(),
        cordoned_log_dirs: None,
    };
    image.apply(&registration.into()).unwrap();
    add_topic(&mut image, "t", topic_id(21), 2, NODE);
    add_topic(&mut image, "u", topic_id(22), 1, NODE);
    if let Some(leader) = leader {
        add_topic(&mut image, TOPIC, topic_id(20), 1, leader);
    }
    let set = [("node.id", "1"), ("group.initial.rebalance.delay.ms", "0")];
    let broker = idle_broker_with(&set, image);
    if leader == Some(NODE) {
        let groups = &broker.groups;
        groups.runtime().lead(PartitionIndex(0), LeaderEpoch(0), Memory::new(), groups.fresh());
    }
    broker
}

/// Sends a request body and gives the answer's body.
async fn send(broker: &Arc<Broker>, key: i16, version: i16, body: &[u8]) -> Bytes {
    let flexible = version >= versions::api(key).unwrap().flexible_from;
    let mut frame = BytesMut::new();
    frame.put_i16(key);
    frame.put_i16(version);
    frame.put_i32(7);
    frame.put_i16(6);
    frame.put_slice(b"client");
    if flexible {
        frame.put_u8(0);
    }
    frame.put_slice(body);
    let peer = "10.1.2.3:5".parse().unwrap();
    let connection = Arc::new(Connection::new("OUTSIDE", SecurityProtocol::Plaintext, peer));
    let Reply::Later(answer) = broker.handle(&connection, frame.freeze(), false) else {
        panic!("answered at once")
    };
    let Answer::Send(response) = answer.await else { panic!("key {key} version {version} is not answered") };
    let bytes: Vec<u8> = response
        .parts
        .iter()
        .flat_map(|part| match part {
            Part::Bytes(bytes) => bytes.to_vec(),
            Part::File(_) => panic!("a file"),
        })
        .collect();
    Bytes::from(bytes).slice(if flexible { 9 } else { 8 }..)
}

async fn ask<Q: Encodable, A: Decodable>(broker: &Arc<Broker>, key: i16, version: i16, request: &Q) -> A {
    let mut body = BytesMut::new();
    request.encode(&mut body, version).unwrap();
    let mut answer = send(broker, key, version, &body).await;
    let decoded = A::decode(&mut answer, version).unwrap();
    assert!(answer.is_empty(), "key {key} version {version} has bytes left");
    decoded
}

fn text(value: &str) -> StrBytes {
    StrBytes::from_string(value.to_owned())
}

fn group() -> GroupId {
    GroupId(text("g"))
}

/// A subscription to `t`.
fn subscription() -> Bytes {
    Bytes::from_static(&[0, 0, 0, 0, 0, 1, 0, 1, b't', 255, 255, 255, 255])
}

async fn join(
    broker: &Arc<Broker>,
    version: i16,
    member_id: &str,
    instance: Option<&str>,
) -> JoinGroupResponse {
    let protocol = join_group_request::JoinGroupRequestProtocol::default()
        .with_name(text("range"))
        .with_metadata(subscription());
    let mut request = JoinGroupRequest::default()
        .with_group_id(group())
        .with_session_timeout_ms(10_000)
        .with_member_id(text(member_id))
        .with_group_instance_id(instance.map(text))
        .with_protocol_type(text("consumer"))
        .with_protocols(vec![protocol]);
    if version >= 1 {
        request = request.with_rebalance_timeout_ms(20_000);
    }
    ask(broker, versions::JOIN_GROUP, version, &request).await
}

/// Joins as a client of this version does, and syncs as the leader; gives the member's id.
async fn stable(broker: &Arc<Broker>, version: i16) -> StrBytes {
    let mut joined = join(broker, version, "", None).await;
    if version >= 4 {
        assert_eq!(joined.error_code, ErrorCode::MemberIdRequired.code());
        assert!(joined.member_id.starts_with("client-"), "{}", joined.member_id);
        let id = joined.member_id;
        joined = join(broker, version, &id, None).await;
    }
    assert_eq!((joined.error_code, joined.generation_id), (0, 1), "version {version}");
    assert_eq!(joined.protocol_name.as_deref(), Some("range"));
    assert_eq!(joined.protocol_type.as_deref(), (version >= 7).then_some("consumer"));
    assert_eq!((&joined.leader, joined.members.len()), (&joined.member_id, 1));
    let assignment = sync_group_request::SyncGroupRequestAssignment::default()
        .with_member_id(joined.member_id.clone())
        .with_assignment(Bytes::from_static(b"mine"));
    let synced = sync(broker, version.min(5), &joined.member_id, vec![assignment]).await;
    assert_eq!((synced.error_code, &*synced.assignment), (0, b"mine".as_slice()));
    joined.member_id
}

async fn sync(
    broker: &Arc<Broker>,
    version: i16,
    member_id: &StrBytes,
    assignments: Vec<sync_group_request::SyncGroupRequestAssignment>,
) -> SyncGroupResponse {
    let mut request = SyncGroupRequest::default()
        .with_group_id(group())
        .with_generation_id(1)
        .with_member_id(member_id.clone())
        .with_assignments(assignments);
    if version >= 5 {
        request = request.with_protocol_type(Some(text("consumer"))).with_protocol_name(Some(text("range")));
    }
    ask(broker, versions::SYNC_GROUP, version, &request).await
}

#[tokio::test]
async fn a_member_joins_syncs_beats_and_leaves_in_every_version() {
    for version in 0..=9 {
        let broker = broker(Some(NODE));
        let id = stable(&broker, version).await;
        let beat = HeartbeatRequest::default().with_group_id(group()).with_generation_id(1);
        let beat = beat.with_member_id(id.clone());
        let answer: HeartbeatResponse = ask(&broker, versions::HEARTBEAT, version.min(4), &beat).await;
        assert_eq!(answer.error_code, 0);

        let version = version.min(5);
        let leave = LeaveGroupRequest::default().with_group_id(group());
        let leave = if version >= 3 {
            let who = |id: StrBytes| leave_group_request::MemberIdentity::default().with_member_id(id);
            leave.with_members(vec![who(text("stranger")), who(id)])
        } else {
            leave.with_member_id(id)
        };
        let answer: LeaveGroupResponse = ask(&broker, versions::LEAVE_GROUP, version, &leave).await;
        assert_eq!(answer.error_code, 0);
        let codes: Vec<i16> = answer.members.iter().map(|member| member.error_code).collect();
        assert_eq!(codes, if version >= 3 { vec![25, 0] } else { vec![] });
        let again: LeaveGroupResponse = ask(&broker, versions::LEAVE_GROUP, version, &leave).await;
        assert_eq!(again.error_code, if version >= 3 { 0 } else { 25 });
    }
}

#[tokio::test]
async fn a_static_member_joins_at_once_and_keeps_its_place() {
    let broker = broker(Some(NODE));
    let first = join(&broker, 9, "", Some("i")).await;
    assert_eq!((first.error_code, first.members.len()), (0, 1));
    assert!(first.member_id.starts_with("i-"));
    assert_eq!(first.members[0].group_instance_id.as_deref(), Some("i"));
    sync(&broker, 5, &first.member_id, Vec::new()).await;
    let second = join(&broker, 9, "", Some("i")).await;
    assert_eq!((second.error_code, second.generation_id, second.skip_assignment), (0, 1, true));
    assert_eq!(join(&broker, 5, &first.member_id, Some("i")).await.error_code, 82);
}

#[tokio::test]
async fn a_failed_join_has_the_fields_of_its_version() {
    for version in 0..=9 {
        let broker = broker(Some(NODE));
        let failed = join(&broker, version, "stranger", None).await;
        assert_eq!((failed.error_code, failed.generation_id), (25, -1));
        assert_eq!((&*failed.member_id, &*failed.leader), ("stranger", ""));
        assert_eq!(failed.protocol_name.as_deref(), (version < 7).then_some(""));
    }
}

#[tokio::test]
async fn from_version_5_on_a_sync_must_name_the_protocol() {
    let broker = broker(Some(NODE));
    let id = stable(&broker, 9).await;
    let request = SyncGroupRequest::default().with_group_id(group()).with_generation_id(1).with_member_id(id);
    let answer: SyncGroupResponse = ask(&broker, versions::SYNC_GROUP, 5, &request).await;
    assert_eq!(answer.error_code, 23);
    let answer: SyncGroupResponse = ask(&broker, versions::SYNC_GROUP, 4, &request).await;
    assert_eq!(answer.error_code, 0);
}

async fn commit(broker: &Arc<Broker>, version: i16, generation: i32) -> Vec<Vec<i16>> {
    let partition = |index: i32, note: Option<&str>| {
        offset_commit_request::OffsetCommitRequestPartition::default()
            .with_partition_index(index)
            .with_committed_offset(40 + i64::from(index))
            .with_committed_metadata(note.map(text))
    };
    let topic = |name: &str, partitions| {
        offset_commit_request::OffsetCommitRequestTopic::default()
            .with_name(TopicName(text(name)))
            .with_partitions(partitions)
    };
    let long = "x".repeat(4097);
    let request = OffsetCommitRequest::default()
        .with_group_id(group())
        .with_generation_id_or_member_epoch(generation)
        .with_topics(vec![
            topic("nowhere", vec![partition(0, None)]),
            topic("t", vec![partition(5, None), partition(1, Some("note")), partition(0, Some(&long))]),
            topic("u", vec![partition(0, None)]),
        ]);
    let answer: OffsetCommitResponse = ask(broker, versions::OFFSET_COMMIT, version, &request).await;
    let codes = |topic: &offset_commit_response::OffsetCommitResponseTopic| {
        topic.partitions.iter().map(|partition| partition.error_code).collect()
    };
    answer.topics.iter().map(codes).collect()
}

#[tokio::test]
async fn offsets_are_committed_partition_by_partition_in_every_version() {
    for version in 2..=9 {
        let broker = broker(Some(NODE));
        assert_eq!(commit(&broker, version, -1).await, [vec![3], vec![3, 0, 12], vec![0]]);
        let unknown = if version >= 9 { 69 } else { 22 };
        let fresh = self::broker(Some(NODE));
        assert_eq!(commit(&fresh, version, 3).await, [vec![3], vec![3, unknown, unknown], vec![unknown]]);
    }
}

#[tokio::test]
async fn offsets_are_read_in_every_version() {
    let broker = broker(Some(NODE));
    commit(&broker, 9, -1).await;
    for version in 1..=7 {
        let topic = offset_fetch_request::OffsetFetchRequestTopic::default()
            .with_name(TopicName(text("t")))
            .with_partition_indexes(vec![1, 0]);
        let request = OffsetFetchRequest::default().with_group_id(group()).with_topics(Some(vec![topic]));
        let answer: OffsetFetchResponse = ask(&broker, versions::OFFSET_FETCH, version, &request).await;
        let got: Vec<(i32, i64, Option<&str>)> = answer.topics[0]
            .partitions
            .iter()
            .map(|one| (one.partition_index, one.committed_offset, one.metadata.as_deref()))
            .collect();
        assert_eq!((answer.error_code, got), (0, vec![(1, 41, Some("note")), (0, -1, Some(""))]));
    }
    for version in 8..=9 {
        let ask_for = |id: &str| {
            offset_fetch_request::OffsetFetchRequestGroup::default()
                .with_group_id(GroupId(text(id)))
                .with_topics(None)
        };
        let request = OffsetFetchRequest::default().with_groups(vec![ask_for("none"), ask_for("g")]);
        let answer: OffsetFetchResponse = ask(&broker, versions::OFFSET_FETCH, version, &request).await;
        let counts: Vec<usize> = answer.groups.iter().map(|group| group.topics.len()).collect();
        assert_eq!(counts, [0, 2]);
        assert!(answer.groups.iter().all(|group| group.error_code == 0));
    }
}

#[tokio::test]
async fn what_is_committed_by_name_stays_when_a_former_topic_of_that_name_goes() {
    for (gone, wanted) in [(topic_id(98), 41), (topic_id(21), -1)] {
        let broker = broker(Some(NODE));
        commit(&broker, 8, -1).await;
        broker.groups.topics_deleted(&[(Arc::from("t"), gone)]).await;
        let topic = offset_fetch_request::OffsetFetchRequestTopic::default()
            .with_name(TopicName(text("t")))
            .with_partition_indexes(vec![1]);
        let request = OffsetFetchRequest::default().with_group_id(group()).with_topics(Some(vec![topic]));
        let answer: OffsetFetchResponse = ask(&broker, versions::OFFSET_FETCH, 7, &request).await;
        assert_eq!(answer.topics[0].partitions[0].committed_offset, wanted);
    }
}

#[tokio::test]
async fn version_10_names_topics_by_id() {
    let broker = broker(Some(NODE));
    let topic = |id: u128, partition: &[u8]| {
        let mut out = topic_id(id).0.as_bytes().to_vec();
        out.push(2);
        out.extend_from_slice(partition);
        out.push(0);
        out
    };
    let stored = [&[0, 0, 0, 1][..], &[0, 0, 0, 0, 0, 0, 0, 41], &[0, 0, 0, 6], &[2, b'm', 0]].concat();
    let head = [&[2, b'g'][..], &[255, 255, 255, 255], &[1], &[0], &[3]].concat();
    let body = [head, topic(21, &stored), topic(99, &stored), vec![0]].concat();
    let answer = send(&broker, versions::OFFSET_COMMIT, 10, &body).await;
    let code = |code: u8| vec![0, 0, 0, 1, 0, code, 0];
    let wanted = [vec![0, 0, 0, 0, 3], topic(21, &code(0)), topic(99, &code(100)), vec![0]].concat();
    assert_eq!(answer, wanted);

    let group = [&[2][..], &[2, b'g'], &[0], &[255, 255, 255, 255], &[3]].concat();
    let body =
        [group, topic(21, &[0, 0, 0, 1]), topic(99, &[0, 0, 0, 1]), vec![0], vec![0], vec![0]].concat();
    let answer = send(&broker, versions::OFFSET_FETCH, 10, &body).await;
    let found = [&stored[..18], &[0, 0, 0]].concat();
    let none = [&[0, 0, 0, 1][..], &[255; 12], &[1], &[0, 100, 0]].concat();
    let head = vec![0, 0, 0, 0, 2, 2, b'g', 3];
    let wanted = [head, topic(21, &found), topic(99, &none), vec![0, 0], vec![0], vec![0]].concat();
    assert_eq!(answer, wanted);
}

#[tokio::test]
async fn groups_are_listed_described_and_deleted_in_every_version() {
    let broker = broker(Some(NODE));
    let id = stable(&broker, 9).await;
    for version in 0..=5 {
        let request = ListGroupsRequest::default();
        let answer: ListGroupsResponse = ask(&broker, versions::LIST_GROUPS, version, &request).await;
        let group = &answer.groups[0];
        assert_eq!((&*group.group_id.0, &*group.protocol_type), ("g", "consumer"));
        assert_eq!(&*group.group_state, if version >= 4 { "Stable" } else { "" });
        assert_eq!(&*group.group_type, if version >= 5 { "classic" } else { "" });
    }
    let filter = ListGroupsRequest::default().with_states_filter(vec![text("empty")]);
    let answer: ListGroupsResponse = ask(&broker, versions::LIST_GROUPS, 4, &filter).await;
    assert!(answer.groups.is_empty());
    for version in 0..=6 {
        let mut request = DescribeGroupsRequest::default().with_groups(vec![group(), GroupId(text("none"))]);
        request.include_authorized_operations = version >= 3;
        let answer: DescribeGroupsResponse = ask(&broker, versions::DESCRIBE_GROUPS, version, &request).await;
        let shown = &answer.groups[0];
        assert_eq!((&*shown.group_state, &*shown.protocol_data), ("Stable", "range"));
        assert_eq!(shown.authorized_operations, if version >= 3 { 3400 } else { i32::MIN });
        let member = &shown.members[0];
        assert_eq!(
            (&member.member_id, &*member.client_id, &*member.client_host),
            (&id, "client", "/10.1.2.3")
        );
        assert_eq!(
            (&member.member_metadata, &*member.member_assignment),
            (&subscription(), b"mine".as_slice())
        );
        let none = &answer.groups[1];
        assert_eq!((&*none.group_state, none.error_code), ("Dead", if version >= 6 { 69 } else { 0 }));
    }
    for version in 0..=2 {
        let names = vec![group(), GroupId(text("none")), group()];
        let request = DeleteGroupsRequest::default().with_groups_names(names);
        let answer: DeleteGroupsResponse = ask(&broker, versions::DELETE_GROUPS, version, &request).await;
        let codes: Vec<i16> = answer.results.iter().map(|result| result.error_code).collect();
        assert_eq!(codes, [68, 69]);
    }
}

#[tokio::test]
async fn offsets_of_topics_that_nobody_reads_are_deleted() {
    let broker = broker(Some(NODE));
    commit(&broker, 9, -1).await;
    stable(&broker, 9).await;
    let topic = |name: &str, partitions: &[i32]| {
        let partition = |index: &i32| {
            offset_delete_request::OffsetDeleteRequestPartition::default().with_partition_index(*index)
        };
        offset_delete_request::OffsetDeleteRequestTopic::default()
            .with_name(TopicName(text(name)))
            .with_partitions(partitions.iter().map(partition).collect())
    };
    let topics = vec![topic("t", &[1]), topic("u", &[7, 0]), topic("nowhere", &[0])];
    let request = OffsetDeleteRequest::default().with_group_id(group()).with_topics(topics);
    let answer: OffsetDeleteResponse = ask(&broker, versions::OFFSET_DELETE, 0, &request).await;
    let codes: Vec<Vec<i16>> = answer
        .topics
        .iter()
        .map(|topic| topic.partitions.iter().map(|partition| partition.error_code).collect())
        .collect();
    assert_eq!((answer.error_code, codes), (0, vec![vec![86], vec![3, 0], vec![3]]));
    let request = OffsetDeleteRequest::default().with_group_id(GroupId(text("none")));
    let answer: OffsetDeleteResponse = ask(&broker, versions::OFFSET_DELETE, 0, &request).await;
    assert_eq!(answer.error_code, 69);
}

async fn find(broker: &Arc<Broker>, version: i16, key_type: i8) -> (i16, i32, StrBytes, i32) {
    let mut request = FindCoordinatorRequest::default();
    if version >= 1 {
        request = request.with_key_type(key_type);
    }
    request = if version >= 4 {
        request.with_coordinator_keys(vec![text("g"), text("h")])
    } else {
        request.with_key(text("g"))
    };
    let answer: FindCoordinatorResponse = ask(broker, versions::FIND_COORDINATOR, version, &request).await;
    if version < 4 {
        return (answer.error_code, answer.node_id.0, answer.host, answer.port);
    }
    assert_eq!(answer.coordinators.iter().map(|one| &*one.key).collect::<Vec<_>>(), ["g", "h"]);
    let one = &answer.coordinators[0];
    (one.error_code, one.node_id.0, one.host.clone(), one.port)
}

#[tokio::test]
async fn the_coordinator_is_told_by_the_address_of_the_connections_listener() {
    let here = broker(Some(NODE));
    let nobody = broker(Some(BrokerId::NONE));
    let no_topic = broker(None);
    for version in 0..=6 {
        assert_eq!(find(&here, version, 0).await, (0, 1, text("outside.example"), 9093));
        for missing in [&nobody, &no_topic] {
            assert_eq!(find(missing, version, 0).await, (15, -1, text(""), -1));
        }
        if version >= 1 {
            assert_eq!(find(&here, version, 1).await.0, 15, "the topic of transactions cannot be made here");
            assert_eq!(find(&here, version, 2).await.0, 42);
            assert_eq!(find(&here, version, 9).await.0, 42);
        }
    }
}

#[tokio::test]
async fn refusals_of_one_key_have_words_and_those_of_several_only_where_nobody_knows_the_kind() {
    let (here, no_topic) = (broker(Some(NODE)), broker(None));
    let malformed = "This most likely occurs because of a request being malformed";
    for version in 1..=6 {
        let words = async |broker, key_type: i8| {
            let key = if version >= 4 { "" } else { "g" };
            let keys = if version >= 4 { vec![text("g")] } else { Vec::new() };
            let request = FindCoordinatorRequest::default().with_key(text(key));
            let request = request.with_key_type(key_type).with_coordinator_keys(keys);
            let answer: FindCoordinatorResponse =
                ask(broker, versions::FIND_COORDINATOR, version, &request).await;
            let several = answer.coordinators.first().map(|one| one.error_message.clone());
            several.unwrap_or(answer.error_message).unwrap().to_string()
        };
        assert!(words(&here, 9).await.starts_with(malformed), "version {version}");
        // A key of share groups has three parts, and not every version asks for one.
        let (share, missing) = (words(&here, 2).await, words(&no_topic, 0).await);
        if version < 4 {
            assert!(share.starts_with(malformed), "version {version}");
            assert_eq!(missing, "The coordinator is not available.");
        } else {
            assert_eq!((share.as_str(), missing.as_str()), ("", ""), "version {version}");
        }
    }
}

#[tokio::test]
async fn a_broker_that_does_not_coordinate_says_so() {
    let broker = broker(Some(BrokerId(2)));
    assert_eq!(join(&broker, 9, "", None).await.error_code, 16);
    assert_eq!(commit(&broker, 9, -1).await, [vec![3], vec![3, 16, 16], vec![16]]);
    for version in [1, 7] {
        let topic = offset_fetch_request::OffsetFetchRequestTopic::default()
            .with_name(TopicName(text("t")))
            .with_partition_indexes(vec![1]);
        let request = OffsetFetchRequest::default().with_group_id(group()).with_topics(Some(vec![topic]));
        let answer: OffsetFetchResponse = ask(&broker, versions::OFFSET_FETCH, version, &request).await;
        let codes: Vec<i16> =
            answer.topics.iter().flat_map(|topic| &topic.partitions).map(|one| one.error_code).collect();
        let told_at_the_partition = if version == 1 { vec![16] } else { vec![] };
        assert_eq!((answer.error_code, codes), (if version == 1 { 0 } else { 16 }, told_at_the_partition));
    }
    let beat = HeartbeatRequest::default().with_group_id(group());
    let answer: HeartbeatResponse = ask(&broker, versions::HEARTBEAT, 4, &beat).await;
    assert_eq!(answer.error_code, 16);
    let request = ListGroupsRequest::default();
    let answer: ListGroupsResponse = ask(&broker, versions::LIST_GROUPS, 4, &request).await;
    assert_eq!((answer.error_code, answer.groups.len()), (0, 0));
}
