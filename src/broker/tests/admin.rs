//! What administrators ask, in all versions, with the refusals of Apache Kafka 4.4.

use super::Bench;
use crate::base::ErrorCode;
use crate::broker::context::Answer;
use crate::broker::wire;
use kafka_protocol::messages::AddPartitionsToTxnRequest;
use kafka_protocol::messages::AlterConfigsRequest;
use kafka_protocol::messages::CreateAclsRequest;
use kafka_protocol::messages::CreatePartitionsRequest;
use kafka_protocol::messages::CreateTopicsRequest;
use kafka_protocol::messages::DeleteAclsRequest;
use kafka_protocol::messages::DeleteTopicsRequest;
use kafka_protocol::messages::DescribeAclsRequest;
use kafka_protocol::messages::DescribeConfigsRequest;
use kafka_protocol::messages::DescribeLogDirsRequest;
use kafka_protocol::messages::IncrementalAlterConfigsRequest;
use kafka_protocol::messages::ListConfigResourcesRequest;
use kafka_protocol::messages::ListPartitionReassignmentsRequest;
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::alter_configs_request;
use kafka_protocol::messages::create_acls_request::AclCreation;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsAssignment;
use kafka_protocol::messages::create_partitions_request::CreatePartitionsTopic;
use kafka_protocol::messages::create_topics_request::CreatableReplicaAssignment;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::create_topics_request::CreatableTopicConfig;
use kafka_protocol::messages::create_topics_response::CreatableTopicResult;
use kafka_protocol::messages::delete_acls_request::DeleteAclsFilter;
use kafka_protocol::messages::delete_topics_request::DeleteTopicState;
use kafka_protocol::messages::describe_configs_request::DescribeConfigsResource;
use kafka_protocol::messages::describe_configs_response::DescribeConfigsResult;
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::incremental_alter_configs_request;

fn topic(name: &str, partitions: i32, factor: i16) -> CreatableTopic {
    CreatableTopic::default()
        .with_name(wire::topic_name(name))
        .with_num_partitions(partitions)
        .with_replication_factor(factor)
}

fn config(name: &str, value: Option<&str>) -> CreatableTopicConfig {
    CreatableTopicConfig::default().with_name(wire::text(name)).with_value(wire::some_text(value))
}

fn assignment(index: i32, brokers: &[i32]) -> CreatableReplicaAssignment {
    let brokers = brokers.iter().map(|id| kafka_protocol::messages::BrokerId(*id)).collect();
    CreatableReplicaAssignment::default().with_partition_index(index).with_broker_ids(brokers)
}

/// Creates a topic with one replica.
pub(super) async fn create(bench: &Bench, name: &str, partitions: i32) {
    let request =
        CreateTopicsRequest::default().with_topics(vec![topic(name, partitions, 1)]).with_timeout_ms(5000);
    assert_eq!(bench.ask(&request, 5).await.topics[0].error_code, 0);
}

async fn try_create(bench: &Bench, topics: Vec<CreatableTopic>, dry_run: bool) -> Vec<CreatableTopicResult> {
    let request =
        CreateTopicsRequest::default().with_topics(topics).with_timeout_ms(5000).with_validate_only(dry_run);
    bench.ask(&request, 7).await.topics
}

fn outcome(result: &CreatableTopicResult) -> (i16, Option<&str>) {
    (result.error_code, result.error_message.as_deref())
}

#[tokio::test]
async fn topics_are_created_and_deleted_in_every_version() {
    let bench = Bench::new(&[("num.partitions", "4")]).await;
    for version in Bench::versions(19) {
        let name = format!("v{version}");
        let request =
            CreateTopicsRequest::default().with_topics(vec![topic(&name, -1, -1)]).with_timeout_ms(5000);
        let created = bench.ask(&request, version).await.topics.remove(0);
        assert_eq!(outcome(&created), (0, None));
        let image = bench.broker.publisher.current();
        assert_eq!(image.topic(&name).unwrap().partitions.len(), 4);
        if version >= 5 {
            assert_eq!((created.num_partitions, created.replication_factor), (4, 1));
            let configs = created.configs.unwrap();
            let retention = configs.iter().find(|config| config.name.as_str() == "retention.ms").unwrap();
            assert_eq!((retention.value.as_deref(), retention.config_source), (Some("604800000"), 5));
        }
        if version >= 7 {
            assert_eq!(created.topic_id, image.topic(&name).unwrap().id.0);
        }
    }
    for version in Bench::versions(20) {
        let name = format!("d{version}");
        create(&bench, &name, 1).await;
        let request = DeleteTopicsRequest::default().with_timeout_ms(5000);
        let request = if version >= 6 {
            let state = DeleteTopicState::default().with_name(Some(wire::topic_name(&name)));
            request.with_topics(vec![state])
        } else {
            request.with_topic_names(vec![wire::topic_name(&name)])
        };
        let deleted = bench.ask(&request, version).await.responses.remove(0);
        assert_eq!((deleted.error_code, deleted.name.unwrap().to_string()), (0, name.clone()));
        assert!(bench.broker.publisher.current().topic(&name).is_none());
        let again = bench.ask(&request, version).await.responses.remove(0);
        assert_eq!(again.error_code, ErrorCode::UnknownTopicOrPartition.code());
        assert_eq!(again.error_message.is_some(), version >= 5);
    }
}

/// F19: the refusals, the same in a dry run, and a bad topic beside a good one.
#[tokio::test]
async fn bad_topics_are_refused_in_kafkas_words_and_alone() {
    let bench = Bench::new(&[]).await;
    create(&bench, "exists", 1).await;
    create(&bench, "dotted.name", 1).await;
    let illegal = "contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'";
    let long = "a".repeat(250);
    let too_long =
        format!("Topic name is invalid: the length of '{long}' is longer than the max allowed length 249");
    let slash = format!("Topic name is invalid: 'a/b' {illegal}");
    let cases: Vec<(CreatableTopic, ErrorCode, &str)> = vec![
        (topic("exists", 1, 1), ErrorCode::TopicAlreadyExists, "Topic 'exists' already exists."),
        (topic("a/b", 1, 1), ErrorCode::InvalidTopicException, &slash),
        (topic("..", 1, 1), ErrorCode::InvalidTopicException, "Topic name is invalid: '..' is not allowed"),
        (topic(&long, 1, 1), ErrorCode::InvalidTopicException, &too_long),
        (
            topic("", 1, 1),
            ErrorCode::InvalidTopicException,
            "Topic name is invalid: the empty string is not allowed",
        ),
        (
            topic("dotted_name", 1, 1),
            ErrorCode::InvalidTopicException,
            "Topic 'dotted_name' collides with existing topic: dotted.name",
        ),
        (
            topic("rf3", 1, 3),
            ErrorCode::InvalidReplicationFactor,
            "Unable to replicate the partition 3 time(s): The target replication factor of 3 cannot be reached because \
             only 1 broker(s) are registered or some brokers have all their log directories cordoned.",
        ),
        (
            topic("rf0", 1, 0),
            ErrorCode::InvalidReplicationFactor,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        ),
        (
            topic("p0", 0, 1),
            ErrorCode::InvalidPartitions,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            topic("p-2", -2, 1),
            ErrorCode::InvalidPartitions,
            "Number of partitions was set to an invalid non-positive value.",
        ),
        (
            topic("both", 1, -1).with_assignments(vec![assignment(0, &[1])]),
            ErrorCode::InvalidRequest,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        ),
        (
            topic("gap", -1, -1).with_assignments(vec![assignment(1, &[1])]),
            ErrorCode::InvalidReplicaAssignment,
            "partitions should be a consecutive 0-based integer sequence",
        ),
        (
            topic("nobody", -1, -1).with_assignments(vec![assignment(0, &[9])]),
            ErrorCode::InvalidReplicaAssignment,
            "The manual partition assignment includes broker 9, but no such broker is registered.",
        ),
        (
            topic("unknown", 1, 1).with_configs(vec![config("no.such", Some("1"))]),
            ErrorCode::InvalidConfig,
            "Unknown topic config name: no.such",
        ),
        (
            topic("null", 1, 1).with_configs(vec![config("retention.ms", None)]),
            ErrorCode::InvalidConfig,
            "Null value not supported for topic configs: retention.ms",
        ),
        (
            topic("__cluster_metadata", 1, 1),
            ErrorCode::InvalidRequest,
            "Creation of internal topic __cluster_metadata is prohibited.",
        ),
    ];
    for dry_run in [true, false] {
        let good = format!("good-{dry_run}");
        let mut topics: Vec<CreatableTopic> = cases.iter().map(|case| case.0.clone()).collect();
        topics.push(topic(&good, 1, 1));
        topics.extend([topic("twice", 1, 1), topic("twice", 1, 1)]);
        let results = try_create(&bench, topics, dry_run).await;
        for (result, (topic, code, message)) in results.iter().zip(&cases) {
            assert_eq!(result.name, topic.name);
            assert_eq!(outcome(result), (code.code(), Some(*message)), "{:?}", topic.name);
        }
        let rest: Vec<_> =
            results[cases.len()..].iter().map(|one| (one.name.to_string(), outcome(one))).collect();
        let duplicate = (ErrorCode::InvalidRequest.code(), Some("Duplicate topic name."));
        assert_eq!(rest, [(good.clone(), (0, None)), ("twice".to_owned(), duplicate)]);
        assert_eq!(bench.broker.publisher.current().topic(&good).is_some(), !dry_run);
    }
    let count = bench.broker.publisher.current().topic_count();
    assert_eq!(count, 3, "a refused topic was made");
}

#[tokio::test]
async fn too_many_partitions_refuse_the_whole_request_whatever_else_is_wrong_with_it() {
    let bench = Bench::new(&[]).await;
    let refused =
        (ErrorCode::PolicyViolation.code(), Some("Excessively large number of partitions per request."));
    let topics = vec![topic("a", 5_000, 1), topic("bad name", 5_001, 1)];
    let results = try_create(&bench, topics, false).await;
    assert_eq!(results.iter().map(outcome).collect::<Vec<_>>(), [refused, refused]);
    assert_eq!(bench.broker.publisher.current().topic_count(), 0);
    // As many as that are looked at one by one.
    let topics = vec![topic("a", 1, 1), topic("bad name", 9_999, 1)];
    let codes: Vec<i16> = try_create(&bench, topics, true).await.iter().map(|one| one.error_code).collect();
    assert_eq!(codes, [0, ErrorCode::InvalidTopicException.code()]);
}

#[tokio::test]
async fn an_assignment_of_the_users_is_followed() {
    let bench = Bench::new(&[]).await;
    let wanted = topic("t", -1, -1).with_assignments(vec![assignment(1, &[1]), assignment(0, &[1])]);
    let created = try_create(&bench, vec![wanted], false).await.remove(0);
    assert_eq!((outcome(&created), created.num_partitions), ((0, None), 2));
}

#[tokio::test]
async fn deleting_refuses_what_is_ambiguous() {
    let bench = Bench::new(&[]).await;
    create(&bench, "a", 1).await;
    create(&bench, "b", 1).await;
    let id = |name: &str| bench.broker.publisher.current().topic(name).unwrap().id.0;
    let state = |name: Option<&str>, id| {
        DeleteTopicState::default().with_name(name.map(wire::topic_name)).with_topic_id(id)
    };
    let zero = uuid::Uuid::nil();
    let unknown = uuid::Uuid::from_u128(99);
    let request = DeleteTopicsRequest::default().with_timeout_ms(5000).with_topics(vec![
        state(None, zero),
        state(Some("a"), id("a")),
        state(None, unknown),
        state(Some("b"), zero),
        state(None, id("b")),
        state(Some("c"), zero),
        state(Some("c"), zero),
    ]);
    let responses = bench.ask(&request, 6).await.responses;
    let mut found: Vec<(i16, String)> = responses
        .iter()
        .map(|one| (one.error_code, one.error_message.as_deref().unwrap_or_default().to_owned()))
        .collect();
    found.sort();
    let invalid = ErrorCode::InvalidRequest.code();
    assert_eq!(
        found,
        [
            (invalid, "Duplicate topic name.".to_owned()),
            (invalid, "Neither topic name nor id were specified.".to_owned()),
            (invalid, "The provided topic name maps to an ID that was already supplied.".to_owned()),
            (invalid, "You may not specify both topic name and topic id.".to_owned()),
            (ErrorCode::UnknownTopicId.code(), "This server does not host this topic ID.".to_owned()),
        ]
    );
    assert_eq!(bench.broker.publisher.current().topic_count(), 2);
}

#[tokio::test]
async fn deletion_can_be_disabled() {
    let bench = Bench::new(&[("delete.topic.enable", "false")]).await;
    create(&bench, "t", 1).await;
    let request = DeleteTopicsRequest::default().with_topic_names(vec![wire::topic_name("t")]);
    let code = |version| {
        let request = request.clone();
        let bench = &bench;
        async move { bench.ask(&request, version).await.responses[0].error_code }
    };
    assert_eq!(code(2).await, ErrorCode::InvalidRequest.code());
    assert_eq!(code(5).await, ErrorCode::TopicDeletionDisabled.code());
}

#[tokio::test]
async fn partitions_only_grow() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 3).await;
    let wanted = |name: &str, count| {
        CreatePartitionsTopic::default()
            .with_name(wire::topic_name(name))
            .with_count(count)
            .with_assignments(None)
    };
    let manual = |brokers: &[i32]| {
        let brokers = brokers.iter().map(|id| kafka_protocol::messages::BrokerId(*id)).collect();
        Some(vec![CreatePartitionsAssignment::default().with_broker_ids(brokers)])
    };
    let cases = [
        (wanted("x", 1), ErrorCode::UnknownTopicOrPartition, ""),
        (wanted("t", 3), ErrorCode::InvalidPartitions, "Topic already has 3 partition(s)."),
        (
            wanted("t", 2),
            ErrorCode::InvalidPartitions,
            "The topic t currently has 3 partition(s); 2 would not be an increase.",
        ),
        (
            wanted("t", 6).with_assignments(manual(&[1])),
            ErrorCode::InvalidReplicaAssignment,
            "Attempted to add 3 additional partition(s), but only 1 assignment(s) were specified.",
        ),
        (
            wanted("t", 4).with_assignments(manual(&[])),
            ErrorCode::InvalidReplicaAssignment,
            "The manual partition assignment includes an empty replica list.",
        ),
    ];
    for version in Bench::versions(37) {
        for (topic, code, message) in &cases {
            let request =
                CreatePartitionsRequest::default().with_topics(vec![topic.clone()]).with_timeout_ms(5000);
            let result = bench.ask(&request, version).await.results.remove(0);
            assert_eq!(
                (result.error_code, result.error_message.as_deref().unwrap_or_default()),
                (code.code(), *message)
            );
        }
    }
    let twice = CreatePartitionsRequest::default().with_topics(vec![wanted("t", 4), wanted("t", 5)]);
    let results = bench.ask(&twice, 3).await.results;
    assert_eq!((results.len(), results[0].error_code), (1, ErrorCode::InvalidRequest.code()));
    let grow = CreatePartitionsRequest::default().with_topics(vec![wanted("t", 5)]).with_timeout_ms(5000);
    assert_eq!(bench.ask(&grow.clone().with_validate_only(true), 3).await.results[0].error_code, 0);
    assert_eq!(bench.broker.publisher.current().topic("t").unwrap().partitions.len(), 3);
    assert_eq!(bench.ask(&grow, 3).await.results[0].error_code, 0);
    assert_eq!(bench.broker.publisher.current().topic("t").unwrap().partitions.len(), 5);
}

pub(super) async fn describe(
    bench: &Bench,
    kind: i8,
    name: &str,
    keys: Option<&[&str]>,
) -> DescribeConfigsResult {
    let keys = keys.map(|keys| keys.iter().map(|key| wire::text(key)).collect());
    let resource = DescribeConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(wire::text(name))
        .with_configuration_keys(keys);
    let request = DescribeConfigsRequest::default()
        .with_resources(vec![resource])
        .with_include_synonyms(true)
        .with_include_documentation(true);
    bench.ask(&request, 4).await.results.remove(0)
}

/// A setting of a topic as (value, source).
async fn setting(bench: &Bench, topic: &str, key: &str) -> (Option<String>, i8) {
    let result = describe(bench, 2, topic, Some(&[key])).await;
    assert_eq!(result.configs.len(), 1);
    (result.configs[0].value.as_deref().map(str::to_owned), result.configs[0].config_source)
}

pub(super) fn set(
    key: &str,
    operation: i8,
    value: Option<&str>,
) -> incremental_alter_configs_request::AlterableConfig {
    incremental_alter_configs_request::AlterableConfig::default()
        .with_name(wire::text(key))
        .with_config_operation(operation)
        .with_value(wire::some_text(value))
}

pub(super) async fn change(
    bench: &Bench,
    kind: i8,
    name: &str,
    configs: Vec<incremental_alter_configs_request::AlterableConfig>,
    dry_run: bool,
) -> (i16, Option<String>) {
    let resource = incremental_alter_configs_request::AlterConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(wire::text(name))
        .with_configs(configs);
    let request =
        IncrementalAlterConfigsRequest::default().with_resources(vec![resource]).with_validate_only(dry_run);
    let response = bench.ask(&request, 1).await.responses.remove(0);
    assert_eq!((response.resource_type, response.resource_name.as_str()), (kind, name));
    (response.error_code, response.error_message.as_deref().map(str::to_owned))
}

async fn replace(bench: &Bench, name: &str, configs: &[(&str, &str)], version: i16) -> i16 {
    let config = |(key, value): &(&str, &str)| {
        alter_configs_request::AlterableConfig::default()
            .with_name(wire::text(key))
            .with_value(wire::some_text(Some(value)))
    };
    let resource = alter_configs_request::AlterConfigsResource::default()
        .with_resource_type(2)
        .with_resource_name(wire::text(name))
        .with_configs(configs.iter().map(config).collect());
    let request = AlterConfigsRequest::default().with_resources(vec![resource]);
    bench.ask(&request, version).await.responses[0].error_code
}

/// F14: the first replaces the whole set, the second touches what it names, and both outlive a restart.
#[tokio::test]
async fn replacing_and_changing_settings_differ() {
    let mut bench = Bench::new(&[]).await;
    let start = topic("t", 1, 1)
        .with_configs(vec![config("cleanup.policy", Some("compact")), config("retention.ms", Some("1000"))]);
    assert_eq!(outcome(&try_create(&bench, vec![start], false).await[0]), (0, None));
    assert_eq!(setting(&bench, "t", "cleanup.policy").await, (Some("compact".to_owned()), 1));
    for version in Bench::versions(33) {
        assert_eq!(replace(&bench, "t", &[("segment.bytes", "2000000")], version).await, 0);
        assert_eq!(setting(&bench, "t", "cleanup.policy").await, (Some("delete".to_owned()), 5));
        assert_eq!(setting(&bench, "t", "segment.bytes").await, (Some("2000000".to_owned()), 1));
    }
    let ok = (0, None);
    assert_eq!(change(&bench, 2, "t", vec![set("retention.ms", 0, Some("7"))], false).await, ok);
    assert_eq!(change(&bench, 2, "t", vec![set("cleanup.policy", 2, Some("compact"))], false).await, ok);
    assert_eq!(change(&bench, 2, "t", vec![set("retention.ms", 0, Some("9"))], true).await, ok);
    for _ in 0..2 {
        assert_eq!(setting(&bench, "t", "retention.ms").await, (Some("7".to_owned()), 1));
        assert_eq!(setting(&bench, "t", "cleanup.policy").await, (Some("delete,compact".to_owned()), 1));
        assert_eq!(setting(&bench, "t", "segment.bytes").await, (Some("2000000".to_owned()), 1));
        bench = bench.restart().await;
    }
    assert_eq!(change(&bench, 2, "t", vec![set("cleanup.policy", 3, Some("delete"))], false).await, ok);
    assert_eq!(setting(&bench, "t", "cleanup.policy").await, (Some("compact".to_owned()), 1));
    assert_eq!(change(&bench, 2, "t", vec![set("cleanup.policy", 1, None)], false).await, ok);
    assert_eq!(setting(&bench, "t", "cleanup.policy").await, (Some("delete".to_owned()), 5));
}

#[tokio::test]
async fn bad_changes_of_settings_are_refused_and_change_nothing() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let check = |kind: i8, name: &'static str, configs: Vec<_>, code: ErrorCode, message: &'static str| {
        let bench = &bench;
        async move {
            let found = change(bench, kind, name, configs, false).await;
            assert_eq!(found, (code.code(), Some(message.to_owned())));
        }
    };
    let good = || set("retention.ms", 0, Some("5"));
    let (config, request) = (ErrorCode::InvalidConfig, ErrorCode::InvalidRequest);
    check(2, "t", vec![good(), set("no", 0, Some("1"))], config, "Unknown topic config name: no").await;
    let message = "Invalid value x for configuration segment.bytes: Not a number of type INT";
    check(2, "t", vec![good(), set("segment.bytes", 0, Some("x"))], config, message).await;
    let message = "Can't APPEND to key segment.bytes because its type is not LIST.";
    check(2, "t", vec![set("segment.bytes", 2, Some("1"))], config, message).await;
    check(2, "t", vec![good(), good()], request, "Error due to duplicate config keys").await;
    check(2, "t", vec![set("retention.ms", 0, None)], request, "Null value not supported for : retention.ms")
        .await;
    check(2, "t", vec![set("retention.ms", 9, Some("1"))], request, "Unknown operations type 9").await;
    check(2, "x", vec![good()], ErrorCode::UnknownTopicOrPartition, "The topic 'x' does not exist.").await;
    check(2, "", vec![good()], request, "Default topic resources are not allowed.").await;
    check(3, "t", vec![good()], request, "Unknown resource type 3").await;
    let message = "Unexpected broker id, expected 1, but received 2";
    check(4, "2", vec![set("log.retention.ms", 0, Some("1"))], request, message).await;
    check(4, "b", vec![], request, "Node id must be an integer, but it is: b").await;
    let message = "Cannot update these configs dynamically: [node.id]";
    check(4, "1", vec![set("node.id", 0, Some("2"))], request, message).await;
    check(32, "", vec![], request, "Default group resources are not allowed.").await;
    let message = "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.";
    check(32, "g", vec![set("consumer.session.timeout.ms", 0, Some("1"))], config, message).await;
    check(32, "g", vec![set("no", 0, Some("1"))], config, "Unknown group config name: no").await;
    let message = "Invalid value 1 for interval.ms, interval must be between 100 and 3600000 (1 hour)";
    check(16, "m", vec![set("interval.ms", 0, Some("1"))], request, message).await;
    check(16, "m", vec![set("match", 0, Some("a"))], config, "Illegal client matching pattern: a").await;
    check(8, "1", vec![set("foo", 0, Some("INFO"))], config, "Logger foo does not exist!").await;
    check(8, "2", vec![], request, "Unexpected node id. Expected 1, but received 2").await;
    assert!(bench.broker.publisher.current().topic_configs("t").is_empty());
    let resource = incremental_alter_configs_request::AlterConfigsResource::default()
        .with_resource_type(2)
        .with_resource_name(wire::text("t"))
        .with_configs(vec![good()]);
    let twice = IncrementalAlterConfigsRequest::default().with_resources(vec![resource.clone(), resource]);
    let responses = bench.ask(&twice, 0).await.responses;
    assert_eq!(responses.len(), 2);
    assert!(
        responses
            .iter()
            .all(|one| one.error_message.as_deref() == Some("Each resource must appear at most once."))
    );
}

#[tokio::test]
async fn a_crowd_of_resources_is_answered_in_its_order_and_soon_and_a_larger_one_is_refused() {
    let bench = Bench::new(&[]).await;
    let resource = |number: usize| {
        // Loggers are changed before everything else.
        let kind = if number.is_multiple_of(2) { 16 } else { 8 };
        incremental_alter_configs_request::AlterConfigsResource::default()
            .with_resource_type(kind)
            .with_resource_name(wire::text(&format!("a-resource-that-is-not-there-{number}")))
    };
    let resources: Vec<_> = (0..40_000).map(resource).collect();
    let began = bench.broker.clock.now();
    let request = IncrementalAlterConfigsRequest::default().with_resources(resources.clone());
    let responses = bench.ask(&request, 1).await.responses;
    let names = responses.iter().map(|one| one.resource_name.as_str());
    assert!(names.eq(resources.iter().map(|one| one.resource_name.as_str())));
    let took = bench.broker.clock.now().since(began);
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
    let is_refused = |answer| matches!(answer, Answer::Close(why) if why.contains("names are too many"));
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource(0); 262_145]);
    assert!(is_refused(bench.outcome(&request, 1).await));
    let resource = alter_configs_request::AlterConfigsResource::default()
        .with_resource_type(2)
        .with_resource_name(wire::text("a-topic-that-is-not-there"));
    let request = AlterConfigsRequest::default().with_resources(vec![resource; 262_145]);
    assert!(is_refused(bench.outcome(&request, 2).await));
}

#[tokio::test]
async fn a_brokers_settings_change_topics_that_set_nothing() {
    let bench = Bench::new(&[("log.retention.ms", "50")]).await;
    create(&bench, "t", 1).await;
    assert_eq!(setting(&bench, "t", "retention.ms").await, (Some("50".to_owned()), 4));
    let changed = change(&bench, 4, "", vec![set("log.retention.ms", 0, Some("60"))], false).await;
    assert_eq!(changed, (0, None));
    assert_eq!(setting(&bench, "t", "retention.ms").await, (Some("60".to_owned()), 3));
    let changed = change(&bench, 4, "1", vec![set("log.retention.ms", 0, Some("70"))], false).await;
    assert_eq!(changed, (0, None));
    assert_eq!(setting(&bench, "t", "retention.ms").await, (Some("70".to_owned()), 2));
    let of_all = describe(&bench, 4, "", None).await;
    let shown: Vec<(&str, i8)> =
        of_all.configs.iter().map(|one| (one.name.as_str(), one.config_source)).collect();
    assert_eq!(shown, [("log.retention.ms", 3), ("min.insync.replicas", 3)]);
    let own = describe(&bench, 4, "1", Some(&["log.retention.ms"])).await;
    let sources: Vec<i8> = own.configs[0].synonyms.iter().map(|one| one.source).collect();
    assert_eq!((own.configs[0].value.as_deref(), sources[..3].to_vec()), (Some("70"), vec![2, 3, 4]));
}

#[tokio::test]
async fn every_kind_of_resource_is_described_in_every_version() {
    let bench = Bench::new(&[("ssl.keystore.password", "secret")]).await;
    create(&bench, "t", 1).await;
    for version in Bench::versions(32) {
        for (kind, name) in [(2, "t"), (4, "1"), (4, ""), (8, "1"), (16, "metrics"), (32, "group")] {
            let resource = DescribeConfigsResource::default()
                .with_resource_type(kind)
                .with_resource_name(wire::text(name))
                .with_configuration_keys(None);
            let request = DescribeConfigsRequest::default()
                .with_resources(vec![resource])
                .with_include_synonyms(true)
                .with_include_documentation(version >= 3);
            let result = bench.ask(&request, version).await.results.remove(0);
            assert_eq!((result.error_code, result.resource_type), (0, kind));
            assert!(!result.configs.is_empty(), "{kind} {name}");
            if version >= 3 && matches!(kind, 2 | 32) {
                assert!(result.configs.iter().all(|one| one.documentation.is_some() && one.config_type > 0));
            }
            if version >= 3 && kind == 8 {
                assert!(result.configs.iter().all(|one| one.documentation.as_deref() == Some("")));
            }
        }
    }
    let secret = describe(&bench, 4, "1", Some(&["ssl.keystore.password"])).await.configs.remove(0);
    assert_eq!((secret.value, secret.is_sensitive), (None, true));
    assert!(secret.synonyms.iter().all(|one| one.value.is_none()));
    let code = |result: DescribeConfigsResult| result.error_code;
    assert_eq!(code(describe(&bench, 2, "x", None).await), ErrorCode::UnknownTopicOrPartition.code());
    assert_eq!(code(describe(&bench, 2, "x y", None).await), ErrorCode::InvalidTopicException.code());
    assert_eq!(code(describe(&bench, 4, "7", None).await), ErrorCode::InvalidRequest.code());
    assert_eq!(code(describe(&bench, 9, "7", None).await), ErrorCode::InvalidRequest.code());
    assert!(describe(&bench, 2, "t", Some(&["no.such"])).await.configs.is_empty());
    assert!(describe(&bench, 2, "t", Some(&[])).await.configs.len() > 20);
}

#[tokio::test]
async fn a_resource_named_a_thousand_times_takes_no_more_than_there_is_room_for() {
    let bench = Bench::new(&[]).await;
    let resource = DescribeConfigsResource::default()
        .with_resource_type(4)
        .with_resource_name(wire::text("1"))
        .with_configuration_keys(None);
    let request = DescribeConfigsRequest::default()
        .with_resources(vec![resource.clone(); 1000])
        .with_include_synonyms(true)
        .with_include_documentation(true);
    // All that answers may take beyond their free part.
    let mut others = [bench.broker.answer_memory.begin(), bench.broker.answer_memory.begin()];
    assert!(others.iter_mut().all(|other| other.take(128 << 20)));
    let mut rest = bench.broker.answer_memory.begin();
    while rest.take(1 << 20) {}
    let results = bench.ask(&request, 4).await.results;
    assert_eq!(results.len(), 1000, "each is answered");
    let answered = results.iter().filter(|result| result.error_code == 0).count();
    assert!((1..500).contains(&answered), "{answered}");
    assert!(results[answered..].iter().all(|result| result.error_code == ErrorCode::InvalidRequest.code()));
    drop((others, rest));
    let request = request.with_resources(vec![resource; 40]);
    let results = bench.ask(&request, 4).await.results;
    assert!(results.iter().all(|result| result.error_code == 0 && !result.configs.is_empty()));
}

#[tokio::test]
async fn clients_cannot_add_internal_topics_to_a_transaction() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let topic = |name: &str| {
        AddPartitionsToTxnTopic::default().with_name(wire::topic_name(name)).with_partitions(vec![0])
    };
    for internal in ["__consumer_offsets", "__transaction_state"] {
        let request = AddPartitionsToTxnRequest::default()
            .with_v3_and_below_transactional_id(kafka_protocol::messages::TransactionalId(wire::text("id")))
            .with_v3_and_below_topics(vec![topic(internal), topic("t")]);
        let results = bench.ask(&request, 3).await.results_by_topic_v3_and_below;
        let codes = results.iter().map(|one| one.results_by_partition[0].partition_error_code);
        let expected = [ErrorCode::TopicAuthorizationFailed, ErrorCode::OperationNotAttempted];
        assert_eq!(codes.collect::<Vec<_>>(), expected.map(ErrorCode::code));
    }
}

#[tokio::test]
async fn without_an_authorizer_acls_are_disabled() {
    let bench = Bench::new(&[]).await;
    let disabled = ErrorCode::SecurityDisabled.code();
    for version in Bench::versions(29) {
        let any = DescribeAclsRequest::default()
            .with_resource_type_filter(1)
            .with_pattern_type_filter(1)
            .with_operation(1)
            .with_permission_type(1);
        let response = bench.ask(&any, version).await;
        assert_eq!(response.error_code, disabled);
        assert_eq!(response.error_message.as_deref(), Some("No Authorizer is configured on the broker"));
    }
    for version in Bench::versions(30) {
        let acl = AclCreation::default()
            .with_resource_type(2)
            .with_resource_pattern_type(3)
            .with_operation(2)
            .with_permission_type(3);
        let create = CreateAclsRequest::default().with_creations(vec![acl; 2]);
        let results = bench.ask(&create, version).await.results;
        assert_eq!(results.iter().map(|one| one.error_code).collect::<Vec<_>>(), [disabled, disabled]);
    }
    for version in Bench::versions(31) {
        let filter = DeleteAclsFilter::default()
            .with_resource_type_filter(1)
            .with_pattern_type_filter(1)
            .with_operation(1)
            .with_permission_type(1);
        let delete = DeleteAclsRequest::default().with_filters(vec![filter.clone()]);
        let results = bench.ask(&delete, version).await.filter_results;
        assert_eq!(results.iter().map(|one| one.error_code).collect::<Vec<_>>(), [disabled]);
        // What is UNKNOWN is no filter.
        let unknown = DeleteAclsRequest::default().with_filters(vec![filter.with_operation(0)]);
        assert!(matches!(bench.outcome(&unknown, version).await, Answer::Close(_)));
    }
}

#[tokio::test]
async fn reassignments_and_resources_are_listed() {
    let bench = Bench::new(&[]).await;
    create(&bench, "t", 1).await;
    let all = ListPartitionReassignmentsRequest::default().with_topics(None);
    let response = bench.ask(&all, 0).await;
    assert_eq!((response.error_code, response.topics.len()), (0, 0));
    let changed = change(&bench, 16, "m", vec![set("interval.ms", 0, Some("1000"))], false).await;
    assert_eq!(changed, (0, None));
    let listed = |types: Vec<i8>, version| {
        let bench = &bench;
        async move {
            let request = ListConfigResourcesRequest::default().with_resource_types(types);
            let response = bench.ask(&request, version).await;
            let names = response
                .config_resources
                .iter()
                .map(|one| (one.resource_type, one.resource_name.to_string()));
            (response.error_code, names.collect::<Vec<_>>())
        }
    };
    let named = |kind: i8, name: &str| (kind, name.to_owned());
    assert_eq!(listed(Vec::new(), 0).await.1, [named(16, "m")]);
    let everything = [named(2, "t"), named(4, "1"), named(8, "1"), named(16, "m")];
    assert_eq!(listed(Vec::new(), 1).await, (0, everything.to_vec()));
    assert_eq!(listed(vec![4], 1).await.1, [named(4, "1")]);
    assert_eq!(listed(vec![7], 1).await, (ErrorCode::UnsupportedVersion.code(), Vec::new()));
}

#[tokio::test]
async fn log_directories_are_described_in_every_version() {
    let bench = Bench::new(&[]).await;
    create(&bench, "a", 2).await;
    create(&bench, "b", 1).await;
    let asked = |name: &str, partitions: Vec<i32>| {
        let topic =
            DescribableLogDirTopic::default().with_topic(wire::topic_name(name)).with_partitions(partitions);
        DescribeLogDirsRequest::default().with_topics(Some(vec![topic]))
    };
    // The crate ends at version 4; 5 adds one byte to each directory.
    for version in 1..=4 {
        let all = bench.ask(&DescribeLogDirsRequest::default().with_topics(None), version).await.results;
        assert_eq!(all.len(), 1);
        assert!(all[0].error_code == 0 && all[0].log_dir.ends_with("/data"));
        let names: Vec<(&str, usize)> =
            all[0].topics.iter().map(|topic| (topic.name.as_str(), topic.partitions.len())).collect();
        assert_eq!(names, [("a", 2), ("b", 1)]);
        assert_eq!(all[0].total_bytes > 0 && all[0].usable_bytes > 0, version >= 4);
        let one = bench.ask(&asked("a", vec![1, 7]), version).await.results;
        assert_eq!((one[0].topics.len(), one[0].topics[0].partitions.len()), (1, 1));
        assert!(bench.ask(&asked("x", vec![0]), version).await.results[0].topics.is_empty());
        let none = DescribeLogDirsRequest::default().with_topics(Some(Vec::new()));
        assert!(bench.ask(&none, version).await.results[0].topics.is_empty());
    }
}
