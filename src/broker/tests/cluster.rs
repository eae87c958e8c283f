//! What tools ask of the cluster itself: leaders, moves, features, the quorum, brokers.

use super::Bench;
use super::admin::change;
use super::admin::set;
use crate::base::ErrorCode;
use kafka_protocol::messages::AlterPartitionReassignmentsRequest;
use kafka_protocol::messages::ApiVersionsRequest;
use kafka_protocol::messages::BrokerId;
use kafka_protocol::messages::CreateTopicsRequest;
use kafka_protocol::messages::DescribeQuorumRequest;
use kafka_protocol::messages::DescribeUserScramCredentialsRequest;
use kafka_protocol::messages::ElectLeadersRequest;
use kafka_protocol::messages::TopicName;
use kafka_protocol::messages::UnregisterBrokerRequest;
use kafka_protocol::messages::UpdateFeaturesRequest;
use kafka_protocol::messages::alter_partition_reassignments_request::ReassignablePartition;
use kafka_protocol::messages::alter_partition_reassignments_request::ReassignableTopic;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::describe_quorum_request;
use kafka_protocol::messages::describe_user_scram_credentials_request::UserName;
use kafka_protocol::messages::elect_leaders_request::TopicPartitions;
use kafka_protocol::messages::update_features_request::FeatureUpdateKey;
use kafka_protocol::protocol::StrBytes;

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn name(name: &str) -> TopicName {
    TopicName(text(name))
}

async fn with_topic() -> Bench {
    let bench = Bench::new(&[]).await;
    let topic =
        CreatableTopic::default().with_name(name("t")).with_num_partitions(2).with_replication_factor(1);
    let request = CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(1000);
    assert_eq!(bench.ask(&request, 7).await.topics[0].error_code, 0);
    bench
}

#[tokio::test]
async fn elections_of_leaders_that_lead_already_are_not_needed() {
    let bench = with_topic().await;
    for version in Bench::versions(43) {
        let asked = TopicPartitions::default().with_topic(name("t")).with_partitions(vec![0, 7]);
        let request = ElectLeadersRequest::default().with_topic_partitions(Some(vec![asked]));
        let answer = bench.ask(&request, version).await;
        let results = &answer.replica_election_results[0].partition_result;
        let codes: Vec<i16> = results.iter().map(|result| result.error_code).collect();
        assert_eq!(codes, [84, 3], "version {version}");
        let all = bench.ask(&ElectLeadersRequest::default().with_topic_partitions(None), version).await;
        assert!(all.replica_election_results.is_empty());
    }
    let unknown = ElectLeadersRequest::default().with_election_type(9).with_topic_partitions(None);
    assert_eq!(bench.ask(&unknown, 2).await.error_code, ErrorCode::InvalidRequest.code());
    let asked = TopicPartitions::default().with_topic(name("t")).with_partitions(vec![0, 7]);
    let answer = bench.ask(&unknown.with_topic_partitions(Some(vec![asked])), 2).await;
    let results = &answer.replica_election_results[0].partition_result;
    let codes: Vec<i16> = results.iter().map(|result| result.error_code).collect();
    assert_eq!(codes, [ErrorCode::InvalidRequest.code(); 2], "each partition is refused with the whole");
    let nothing =
        ElectLeadersRequest::default().with_election_type(-1).with_topic_partitions(Some(Vec::new()));
    assert_eq!(bench.ask(&nothing, 2).await.error_code, 0, "there is nothing to elect in any way");
}

#[tokio::test]
async fn a_partition_can_only_be_where_it_is() {
    let bench = with_topic().await;
    for version in Bench::versions(45) {
        let partition = |index: i32, replicas: Option<Vec<i32>>| {
            let replicas = replicas.map(|ids| ids.into_iter().map(BrokerId).collect());
            ReassignablePartition::default().with_partition_index(index).with_replicas(replicas)
        };
        let partitions = vec![partition(0, Some(vec![1])), partition(1, Some(vec![2])), partition(1, None)];
        let topic = ReassignableTopic::default().with_name(name("t")).with_partitions(partitions);
        let request = AlterPartitionReassignmentsRequest::default().with_topics(vec![topic]);
        let answer = bench.ask(&request, version).await;
        let codes: Vec<i16> = answer.responses[0].partitions.iter().map(|one| one.error_code).collect();
        assert_eq!(codes, [0, 39, 85], "version {version}");
        assert_eq!(answer.error_message, None);
        let mut request = AlterPartitionReassignmentsRequest::default();
        request.allow_replication_factor_change = version == 0;
        let nothing = bench.ask(&request, version).await;
        assert_eq!(nothing.error_message.as_deref(), Some(""), "as Kafka words it");
        assert!(nothing.allow_replication_factor_change, "and what was asked is not looked at");
    }
}

#[tokio::test]
async fn a_features_level_changes_for_good_and_clients_are_told() {
    let bench = Bench::new(&[]).await;
    let update = |level: i16, upgrade: i8, validate_only: bool| {
        let update = FeatureUpdateKey::default()
            .with_feature(text("transaction.version"))
            .with_max_version_level(level)
            .with_upgrade_type(upgrade);
        UpdateFeaturesRequest::default().with_feature_updates(vec![update]).with_validate_only(validate_only)
    };
    let level = async |bench: &Bench| {
        let request = ApiVersionsRequest::default()
            .with_client_software_name(text("test"))
            .with_client_software_version(text("1"));
        let answer = bench.ask(&request, 4).await;
        let found = answer.finalized_features.iter().find(|one| one.name.as_str() == "transaction.version");
        found.map(|feature| feature.max_version_level)
    };
    assert_eq!(level(&bench).await, Some(2));
    let refused = bench.ask(&update(1, 1, false), 2).await;
    assert_eq!(refused.error_code, ErrorCode::InvalidUpdateVersion.code());
    assert_eq!(bench.ask(&update(1, 2, true), 2).await.error_code, 0);
    assert_eq!(level(&bench).await, Some(2), "it was only asked whether it could be");
    let done = bench.ask(&update(1, 2, false), 1).await;
    assert_eq!((done.error_code, done.results.len()), (0, 1));
    let bench = bench.restart().await;
    assert_eq!(level(&bench).await, Some(1));
    assert_eq!(bench.ask(&update(0, 2, false), 2).await.error_code, 0);
    assert_eq!(level(&bench).await, None, "a feature without level is not finalized");
}

/// As a Kafka 4.4 answered.
#[tokio::test]
async fn with_eligible_leader_replicas_all_brokers_go_by_one_min_insync_replicas() {
    const KEY: &str = "min.insync.replicas";
    let bench = Bench::new(&[(KEY, "2")]).await;
    let own = format!("Broker-level {KEY} cannot be altered while ELR is enabled.");
    let all = format!("Cluster-level {KEY} cannot be removed while ELR is enabled.");
    let invalid = ErrorCode::InvalidConfig.code();
    let alter = async |bench: &Bench, name: &str, operation: i8, value: Option<&str>| {
        change(bench, 4, name, vec![set(KEY, operation, value)], false).await
    };
    let of = |bench: &Bench, broker: Option<i32>| {
        let image = bench.broker.publisher.current();
        image.broker_configs(broker.map(crate::base::BrokerId)).get(KEY).cloned()
    };
    let level = async |bench: &Bench, level: i16, upgrade: i8| {
        let update = FeatureUpdateKey::default()
            .with_feature(text("eligible.leader.replicas.version"))
            .with_max_version_level(level)
            .with_upgrade_type(upgrade);
        let request = UpdateFeaturesRequest::default().with_feature_updates(vec![update]);
        assert_eq!(bench.ask(&request, 2).await.error_code, 0);
    };
    assert_eq!(
        of(&bench, None).as_deref(),
        Some("2"),
        "a new cluster takes what its broker was started with"
    );
    assert_eq!(alter(&bench, "1", 0, Some("3")).await, (invalid, Some(own.clone())));
    assert_eq!(alter(&bench, "1", 1, None).await, (invalid, Some(own)));
    assert_eq!(alter(&bench, "", 1, None).await, (invalid, Some(all)));
    assert_eq!(alter(&bench, "", 0, Some("1")).await, (0, None));
    level(&bench, 0, 2).await;
    assert_eq!(alter(&bench, "", 1, None).await, (0, None));
    assert_eq!(alter(&bench, "1", 0, Some("3")).await, (0, None));
    level(&bench, 1, 1).await;
    assert_eq!((of(&bench, None).as_deref(), of(&bench, Some(1))), (Some("2"), None));
    let bench = bench.restart().await;
    assert_eq!((of(&bench, None).as_deref(), of(&bench, Some(1))), (Some("2"), None));
}

#[tokio::test]
async fn the_quorum_is_this_node_and_caught_up() {
    let bench = Bench::new(&[]).await;
    let request = |topic: &str, index: i32| {
        let partition = describe_quorum_request::PartitionData::default().with_partition_index(index);
        let topic = describe_quorum_request::TopicData::default()
            .with_topic_name(name(topic))
            .with_partitions(vec![partition]);
        DescribeQuorumRequest::default().with_topics(vec![topic])
    };
    for version in Bench::versions(55) {
        let answer = bench.ask(&request("__cluster_metadata", 0), version).await;
        let partition = &answer.topics[0].partitions[0];
        assert_eq!((answer.error_code, partition.error_code, partition.leader_id.0), (0, 0, 1));
        assert!(partition.high_watermark > 0 && partition.leader_epoch > 0);
        assert_eq!(partition.current_voters[0].log_end_offset, partition.high_watermark);
        assert_eq!(partition.current_voters[0].last_caught_up_timestamp > 0, version >= 1);
        assert_eq!(answer.nodes.len(), usize::from(version >= 2));
        for (topic, index) in [("t", 0), ("__cluster_metadata", 1)] {
            let answer = bench.ask(&request(topic, index), version).await;
            assert_eq!(answer.topics[0].partitions[0].error_code, 3);
        }
    }
}

#[tokio::test]
async fn brokers_that_are_not_there_or_run_stay_and_users_without_credentials_are_told() {
    let bench = Bench::new(&[]).await;
    let unregister = |id: i32| UnregisterBrokerRequest::default().with_broker_id(BrokerId(id));
    assert_eq!(bench.ask(&unregister(9), 0).await.error_code, ErrorCode::BrokerIdNotRegistered.code());
    assert_eq!(bench.ask(&unregister(1), 0).await.error_code, ErrorCode::InvalidRequest.code());
    let all = DescribeUserScramCredentialsRequest::default().with_users(None);
    assert!(bench.ask(&all, 0).await.results.is_empty());
    let user = |name: &str| UserName::default().with_name(text(name));
    let twice = all.with_users(Some(vec![user("a"), user("b"), user("b")]));
    let codes: Vec<i16> = bench.ask(&twice, 0).await.results.iter().map(|result| result.error_code).collect();
    assert_eq!(codes, [ErrorCode::ResourceNotFound.code(), ErrorCode::DuplicateResource.code()]);
}
