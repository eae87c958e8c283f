//! Metadata, DescribeCluster, DescribeTopicPartitions in all their versions.

use super::Bench;
use super::admin::create;
use crate::base::ErrorCode;
use crate::broker::wire;
use kafka_protocol::messages::DescribeClusterRequest;
use kafka_protocol::messages::DescribeTopicPartitionsRequest;
use kafka_protocol::messages::MetadataRequest;
use kafka_protocol::messages::MetadataResponse;
use kafka_protocol::messages::describe_topic_partitions_request::Cursor;
use kafka_protocol::messages::describe_topic_partitions_request::TopicRequest;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;

fn named(names: &[&str]) -> MetadataRequest {
    let topic = |name: &&str| MetadataRequestTopic::default().with_name(Some(wire::topic_name(name)));
    MetadataRequest::default().with_topics(Some(names.iter().map(topic).collect()))
}

fn names(response: &MetadataResponse) -> Vec<(String, i16)> {
    let name = |name: &Option<kafka_protocol::messages::TopicName>| {
        name.as_ref().map_or_else(|| "(null)".to_owned(), |name| name.to_string())
    };
    response.topics.iter().map(|topic| (name(&topic.name), topic.error_code)).collect()
}

fn found(name: &str, code: ErrorCode) -> (String, i16) {
    (name.to_owned(), code.code())
}

#[tokio::test]
async fn null_means_all_topics_and_empty_means_none_but_in_version_0() {
    let bench = Bench::new(&[]).await;
    create(&bench, "b", 2).await;
    create(&bench, "a", 1).await;
    let all = [found("a", ErrorCode::None), found("b", ErrorCode::None)];
    for version in Bench::versions(3) {
        let empty = MetadataRequest::default().with_topics(Some(Vec::new()));
        let response = bench.ask(&empty, version).await;
        if version == 0 {
            assert_eq!(names(&response), all);
            continue;
        }
        assert!(response.topics.is_empty());
        let response = bench.ask(&MetadataRequest::default().with_topics(None), version).await;
        assert_eq!(names(&response), all, "version {version}");
        assert_eq!(response.brokers.len(), 1);
        assert_eq!((response.brokers[0].host.as_str(), response.brokers[0].port), ("localhost", 9092));
        assert_eq!(response.controller_id.0, 1);
        let partitions: Vec<i32> =
            response.topics[1].partitions.iter().map(|partition| partition.partition_index).collect();
        assert_eq!(partitions, [0, 1]);
        assert!(response.topics[1].partitions.iter().all(|partition| partition.leader_id.0 == 1));
    }
}

#[tokio::test]
async fn a_topic_asked_for_by_name_is_created_and_there_at_once() {
    let bench = Bench::new(&[("num.partitions", "3")]).await;
    let response = bench.ask(&named(&["new", "bad/name", "bad/name"]), 12).await;
    assert_eq!(
        names(&response),
        [found("bad/name", ErrorCode::InvalidTopicException), found("new", ErrorCode::None)]
    );
    assert_eq!(response.topics[1].partitions.len(), 3);
    assert!(response.topics[1].partitions.iter().all(|partition| partition.error_code == 0));
    let not_allowed = named(&["other"]).with_allow_auto_topic_creation(false);
    assert_eq!(
        names(&bench.ask(&not_allowed, 4).await),
        [found("other", ErrorCode::UnknownTopicOrPartition)]
    );
}

#[tokio::test]
async fn a_crowd_of_names_that_cannot_be_topics_is_answered_soon() {
    let bench = Bench::new(&[]).await;
    let bad: Vec<String> =
        (0..100_000).map(|number| format!("no/name/of/a/topic/nor/of/anything/else/{number}")).collect();
    let bad: Vec<&str> = bad.iter().map(String::as_str).collect();
    let began = bench.broker.clock.now();
    let response = bench.ask(&named(&bad), 12).await;
    assert_eq!(response.topics.len(), bad.len());
    assert!(response.topics.iter().all(|topic| topic.error_code != 0));
    let took = bench.broker.clock.now().since(began);
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}

#[tokio::test]
async fn the_offsets_topic_is_created_as_its_settings_say() {
    let bench = Bench::new(&[("offsets.topic.num.partitions", "4")]).await;
    let response = bench.ask(&named(&["__consumer_offsets"]), 12).await;
    assert_eq!(response.topics[0].partitions.len(), 4);
    assert!(response.topics[0].is_internal);
    let image = bench.broker.publisher.current();
    assert_eq!(image.topic_configs("__consumer_offsets").get("cleanup.policy").unwrap(), "compact");
    let response = bench.ask(&named(&["__transaction_state"]), 12).await;
    assert_eq!(names(&response), [found("__transaction_state", ErrorCode::UnknownTopicOrPartition)]);
}

#[tokio::test]
async fn without_auto_create_unknown_names_stay_unknown() {
    let bench = Bench::new(&[("auto.create.topics.enable", "false")]).await;
    for version in Bench::versions(3) {
        assert_eq!(
            names(&bench.ask(&named(&["x", ""]), version).await),
            [found("", ErrorCode::InvalidTopicException), found("x", ErrorCode::UnknownTopicOrPartition)]
        );
    }
    assert_eq!(bench.broker.publisher.current().topic_count(), 0);
}

#[tokio::test]
async fn topics_are_found_by_id_since_version_12() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let id = bench.broker.publisher.current().topic("t").unwrap().id.0;
    let by_id = |id| {
        let topic = MetadataRequestTopic::default().with_name(None).with_topic_id(id);
        MetadataRequest::default().with_topics(Some(vec![topic]))
    };
    let response = bench.ask(&by_id(id), 12).await;
    assert_eq!(names(&response), [found("t", ErrorCode::None)]);
    let unknown = uuid::Uuid::from_u128(77);
    let response = bench.ask(&by_id(unknown), 13).await;
    assert_eq!(names(&response), [found("(null)", ErrorCode::UnknownTopicId)]);
    assert_eq!(response.topics[0].topic_id, unknown);
    // A null name without an id, before there were ids.
    let nameless = MetadataRequestTopic::default().with_name(None).with_topic_id(id);
    let mut request = named(&["__consumer_offsets"]);
    request.topics.as_mut().unwrap().push(nameless);
    let response = bench.ask(&request, 10).await;
    let refused = |name| found(name, ErrorCode::InvalidRequest);
    assert_eq!(names(&response), [refused("__consumer_offsets"), refused("")]);
    assert!(response.topics.iter().all(|topic| !topic.is_internal), "nothing is told of it");
}

#[tokio::test]
async fn operations_are_told_only_when_asked_for() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let asked = named(&["t"]).with_include_topic_authorized_operations(true);
    let response = bench.ask(&asked.clone().with_include_cluster_authorized_operations(true), 8).await;
    assert_eq!(
        (response.topics[0].topic_authorized_operations, response.cluster_authorized_operations),
        (3576, 8096)
    );
    assert_eq!(bench.ask(&asked, 13).await.topics[0].topic_authorized_operations, 3576);
    assert_eq!(bench.ask(&named(&["t"]), 13).await.topics[0].topic_authorized_operations, i32::MIN);
}

#[tokio::test]
async fn each_listener_names_its_own_address() {
    let mut bench = Bench::new(&[
        ("listeners", "INSIDE://0.0.0.0:19092,OUTSIDE://0.0.0.0:29092"),
        ("advertised.listeners", "INSIDE://inner:1,OUTSIDE://outer.example:2"),
        ("listener.security.protocol.map", "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT"),
        ("inter.broker.listener.name", "INSIDE"),
    ])
    .await;
    create(&bench, "t", 1).await;
    for (listener, host, port) in [("INSIDE", "inner", 1), ("OUTSIDE", "outer.example", 2)] {
        bench.through(listener);
        let brokers = bench.ask(&named(&["t"]), 9).await.brokers;
        assert_eq!((brokers.len(), brokers[0].host.as_str(), brokers[0].port), (1, host, port));
        let brokers = bench.ask(&DescribeClusterRequest::default(), 0).await.brokers;
        assert_eq!((brokers.len(), brokers[0].host.as_str(), brokers[0].port), (1, host, port));
    }
    bench.through("NOWHERE");
    let response = bench.ask(&named(&["t"]), 9).await;
    assert!(response.brokers.is_empty());
    assert_eq!(response.topics[0].partitions[0].error_code, ErrorCode::ListenerNotFound.code());
    let response = bench.ask(&named(&["t"]), 5).await;
    assert_eq!(response.topics[0].partitions[0].error_code, ErrorCode::LeaderNotAvailable.code());
}

#[tokio::test]
async fn the_cluster_is_described_in_every_version() {
    let bench = Bench::new(&[("broker.rack", "r1")]).await;
    for version in Bench::versions(60) {
        let request = DescribeClusterRequest::default().with_include_cluster_authorized_operations(true);
        let response = bench.ask(&request, version).await;
        assert_eq!((response.error_code, response.controller_id.0), (0, 1));
        assert_eq!(response.cluster_id.as_str(), &*bench.broker.publisher.current().cluster_id);
        assert_eq!(response.cluster_authorized_operations, 8096);
        assert_eq!(response.brokers[0].rack.as_deref(), Some("r1"));
    }
    let controllers = DescribeClusterRequest::default().with_endpoint_type(2);
    assert_eq!(bench.ask(&controllers, 1).await.error_code, ErrorCode::MismatchedEndpointType.code());
    let nobody = DescribeClusterRequest::default().with_endpoint_type(3);
    assert_eq!(bench.ask(&nobody, 2).await.error_code, ErrorCode::UnsupportedEndpointType.code());
}

/// All partitions page by page, as (topic, partition).
async fn pages(bench: &Bench, topics: &[&str], limit: i32) -> Vec<(String, i32)> {
    let topics: Vec<TopicRequest> =
        topics.iter().map(|name| TopicRequest::default().with_name(wire::topic_name(name))).collect();
    let mut cursor = None;
    let mut seen = Vec::new();
    loop {
        let request = DescribeTopicPartitionsRequest::default()
            .with_topics(topics.clone())
            .with_response_partition_limit(limit)
            .with_cursor(cursor.take());
        let response = bench.ask(&request, 0).await;
        let mut count = 0;
        for topic in &response.topics {
            let name = topic.name.as_ref().unwrap().to_string();
            for partition in &topic.partitions {
                seen.push((name.clone(), partition.partition_index));
                count += 1;
            }
        }
        assert!(count <= limit);
        let Some(next) = response.next_cursor else { return seen };
        cursor = Some(
            Cursor::default().with_topic_name(next.topic_name).with_partition_index(next.partition_index),
        );
    }
}

#[tokio::test]
async fn partitions_come_in_pages_without_gaps_and_repeats() {
    let bench = Bench::new(&[]).await;
    create(&bench, "a", 3).await;
    create(&bench, "b", 1).await;
    create(&bench, "c", 4).await;
    let all: Vec<(String, i32)> = [("a", 3), ("b", 1), ("c", 4)]
        .iter()
        .flat_map(|(name, count)| (0..*count).map(|index| ((*name).to_owned(), index)))
        .collect();
    for limit in 1..10 {
        assert_eq!(pages(&bench, &[], limit).await, all, "limit {limit}");
        let two: Vec<_> = all.iter().filter(|(name, _)| name != "b").cloned().collect();
        assert_eq!(pages(&bench, &["c", "a", "missing"], limit).await, two);
    }
}

#[tokio::test]
async fn a_wrong_cursor_is_refused_and_an_unknown_topic_named() {
    let bench = Bench::new(&[]).await;
    create(&bench, "a", 1).await;
    let topics = vec![TopicRequest::default().with_name(wire::topic_name("a"))];
    let request =
        DescribeTopicPartitionsRequest::default().with_topics(topics).with_response_partition_limit(9);
    let cursor = |name: &str, index| {
        Some(Cursor::default().with_topic_name(wire::topic_name(name)).with_partition_index(index))
    };
    for cursor in [cursor("0", 0), cursor("a", -1)] {
        let response = bench.ask(&request.clone().with_cursor(cursor), 0).await;
        assert_eq!(response.topics[0].error_code, ErrorCode::InvalidRequest.code());
    }
    let unknown = vec![
        TopicRequest::default().with_name(wire::topic_name("x")),
        TopicRequest::default().with_name(wire::topic_name("x y")),
    ];
    let response = bench.ask(&request.with_topics(unknown), 0).await;
    let codes: Vec<i16> = response.topics.iter().map(|topic| topic.error_code).collect();
    assert_eq!(codes, [ErrorCode::UnknownTopicOrPartition.code(), ErrorCode::InvalidTopicException.code()]);
}
