//! One sensible request of every API, in the fields that its version has.

use bytes::Bytes;
use dohle::base::Timestamp;
use dohle::protocol::versions;
use dohle::record::BatchBuilder;
use dohle::record::Codec;
use kafka_protocol::messages as m;
use kafka_protocol::messages::RequestKind;
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

/// What the requests speak of.
pub(crate) const TOPIC: &str = "seen";
/// The group that only commits.
pub(crate) const GROUP: &str = "committers";

fn topic() -> m::TopicName {
    m::TopicName(StrBytes::from_static_str(TOPIC))
}

fn group() -> m::GroupId {
    m::GroupId(StrBytes::from_static_str(GROUP))
}

/// A batch of one record.
pub(crate) fn batch() -> Bytes {
    let mut builder = BatchBuilder::new(Codec::None, Timestamp(1_000));
    builder.push(Some(b"key"), Some(b"value"), &[], Timestamp(1_000));
    builder.build().bytes().clone()
}

/// The name of a topic that this API and version may create or delete.
pub(crate) fn other_topic(key: i16, version: i16) -> StrBytes {
    StrBytes::from_string(format!("made-{key}-{version}"))
}

/// The request of this API; `id` is [`TOPIC`]'s.
pub(crate) fn request(key: i16, version: i16, id: Uuid) -> RequestKind {
    let ids =
        |from: i16| if version >= from { (m::TopicName::default(), id) } else { (topic(), Uuid::nil()) };
    match key {
        versions::PRODUCE => RequestKind::Produce(produce(ids(13))),
        versions::FETCH => RequestKind::Fetch(fetch(version, ids(13))),
        versions::LIST_OFFSETS => {
            use m::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
            let partition = ListOffsetsPartition::default().with_timestamp(-1);
            let topic = ListOffsetsTopic::default().with_name(topic()).with_partitions(vec![partition]);
            RequestKind::ListOffsets(
                m::ListOffsetsRequest::default().with_replica_id(m::BrokerId(-1)).with_topics(vec![topic]),
            )
        }
        versions::METADATA => {
            let topic = m::metadata_request::MetadataRequestTopic::default().with_name(Some(topic()));
            RequestKind::Metadata(m::MetadataRequest::default().with_topics(Some(vec![topic])))
        }
        versions::OFFSET_COMMIT => {
            use m::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
            let partition = OffsetCommitRequestPartition::default().with_committed_metadata(Some("m".into()));
            let topic =
                OffsetCommitRequestTopic::default().with_name(topic()).with_partitions(vec![partition]);
            RequestKind::OffsetCommit(
                m::OffsetCommitRequest::default().with_group_id(group()).with_topics(vec![topic]),
            )
        }
        versions::OFFSET_FETCH => RequestKind::OffsetFetch(offset_fetch(version)),
        versions::FIND_COORDINATOR => {
            let request = m::FindCoordinatorRequest::default();
            RequestKind::FindCoordinator(if version >= 4 {
                request.with_coordinator_keys(vec![group().0])
            } else {
                request.with_key(group().0)
            })
        }
        versions::JOIN_GROUP => {
            let protocol =
                m::join_group_request::JoinGroupRequestProtocol::default().with_name("range".into());
            let request = m::JoinGroupRequest::default()
                .with_group_id(m::GroupId(StrBytes::from_string(format!("joined-{version}"))))
                .with_session_timeout_ms(10_000)
                .with_protocol_type("consumer".into())
                .with_protocols(vec![protocol]);
            RequestKind::JoinGroup(request.with_rebalance_timeout_ms(if version >= 1 { 10_000 } else { -1 }))
        }
        versions::HEARTBEAT => RequestKind::Heartbeat(
            m::HeartbeatRequest::default().with_group_id(group()).with_member_id("x".into()),
        ),
        versions::LEAVE_GROUP => {
            let request = m::LeaveGroupRequest::default().with_group_id(group());
            let member = m::leave_group_request::MemberIdentity::default().with_member_id("x".into());
            RequestKind::LeaveGroup(if version >= 3 {
                request.with_members(vec![member])
            } else {
                request.with_member_id("x".into())
            })
        }
        versions::SYNC_GROUP => RequestKind::SyncGroup(
            m::SyncGroupRequest::default().with_group_id(group()).with_member_id("x".into()),
        ),
        versions::DESCRIBE_GROUPS => {
            RequestKind::DescribeGroups(m::DescribeGroupsRequest::default().with_groups(vec![group()]))
        }
        versions::LIST_GROUPS => RequestKind::ListGroups(m::ListGroupsRequest::default()),
        versions::API_VERSIONS => {
            let request = m::ApiVersionsRequest::default();
            RequestKind::ApiVersions(if version >= 3 {
                request.with_client_software_name("test".into()).with_client_software_version("1".into())
            } else {
                request
            })
        }
        _ => admin(key, version),
    }
}

fn produce((name, id): (m::TopicName, Uuid)) -> m::ProduceRequest {
    use m::produce_request::{PartitionProduceData, TopicProduceData};
    let partition = PartitionProduceData::default().with_records(Some(batch()));
    let topic =
        TopicProduceData::default().with_name(name).with_topic_id(id).with_partition_data(vec![partition]);
    m::ProduceRequest::default().with_acks(-1).with_timeout_ms(5_000).with_topic_data(vec![topic])
}

fn fetch(version: i16, (name, id): (m::TopicName, Uuid)) -> m::FetchRequest {
    use m::fetch_request::{FetchPartition, FetchTopic};
    let partition = FetchPartition::default().with_partition_max_bytes(1 << 20);
    let topic = FetchTopic::default().with_topic(name).with_topic_id(id).with_partitions(vec![partition]);
    let request = m::FetchRequest::default().with_max_wait_ms(100).with_min_bytes(1).with_topics(vec![topic]);
    let request = request.with_max_bytes(1 << 20);
    if version < 15 { request.with_replica_id(m::BrokerId(-1)) } else { request }
}

fn offset_fetch(version: i16) -> m::OffsetFetchRequest {
    use m::offset_fetch_request::{
        OffsetFetchRequestGroup, OffsetFetchRequestTopic, OffsetFetchRequestTopics,
    };
    let request = m::OffsetFetchRequest::default();
    if version >= 8 {
        let topic = OffsetFetchRequestTopics::default().with_name(topic()).with_partition_indexes(vec![0]);
        let one = OffsetFetchRequestGroup::default().with_group_id(group()).with_topics(Some(vec![topic]));
        return request.with_groups(vec![one]);
    }
    let topic = OffsetFetchRequestTopic::default().with_name(topic()).with_partition_indexes(vec![0]);
    request.with_group_id(group()).with_topics(Some(vec![topic]))
}

fn admin(key: i16, version: i16) -> RequestKind {
    match key {
        versions::CREATE_TOPICS => {
            let topic = m::create_topics_request::CreatableTopic::default()
                .with_name(m::TopicName(other_topic(key, version)))
                .with_num_partitions(1)
                .with_replication_factor(1);
            RequestKind::CreateTopics(
                m::CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(5_000),
            )
        }
        versions::DELETE_TOPICS => {
            let name = m::TopicName(StrBytes::from_static_str("not-there"));
            let request = m::DeleteTopicsRequest::default().with_timeout_ms(5_000);
            let state = m::delete_topics_request::DeleteTopicState::default().with_name(Some(name.clone()));
            RequestKind::DeleteTopics(if version >= 6 {
                request.with_topics(vec![state])
            } else {
                request.with_topic_names(vec![name])
            })
        }
        versions::DELETE_RECORDS => {
            use m::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
            let topic = DeleteRecordsTopic::default()
                .with_name(topic())
                .with_partitions(vec![DeleteRecordsPartition::default().with_offset(0)]);
            RequestKind::DeleteRecords(
                m::DeleteRecordsRequest::default().with_topics(vec![topic]).with_timeout_ms(5_000),
            )
        }
        versions::INIT_PRODUCER_ID => {
            RequestKind::InitProducerId(m::InitProducerIdRequest::default().with_transactional_id(None))
        }
        versions::OFFSET_FOR_LEADER_EPOCH => {
            use m::offset_for_leader_epoch_request::{OffsetForLeaderPartition, OffsetForLeaderTopic};
            let topic = OffsetForLeaderTopic::default()
                .with_topic(topic())
                .with_partitions(vec![OffsetForLeaderPartition::default()]);
            let request = m::OffsetForLeaderEpochRequest::default().with_topics(vec![topic]);
            RequestKind::OffsetForLeaderEpoch(if version >= 3 {
                request.with_replica_id(m::BrokerId(-1))
            } else {
                request
            })
        }
        versions::DESCRIBE_ACLS => {
            let filter =
                m::DescribeAclsRequest::default().with_resource_type_filter(1).with_pattern_type_filter(1);
            RequestKind::DescribeAcls(filter.with_operation(1).with_permission_type(1))
        }
        versions::CREATE_ACLS => {
            let acl = m::create_acls_request::AclCreation::default()
                .with_resource_type(2)
                .with_resource_pattern_type(3)
                .with_operation(2)
                .with_permission_type(3);
            RequestKind::CreateAcls(m::CreateAclsRequest::default().with_creations(vec![acl]))
        }
        versions::DELETE_ACLS => {
            let filter = m::delete_acls_request::DeleteAclsFilter::default()
                .with_resource_type_filter(1)
                .with_pattern_type_filter(1)
                .with_operation(1)
                .with_permission_type(1);
            RequestKind::DeleteAcls(m::DeleteAclsRequest::default().with_filters(vec![filter]))
        }
        versions::DESCRIBE_CONFIGS => {
            let resource = m::describe_configs_request::DescribeConfigsResource::default()
                .with_resource_type(2)
                .with_resource_name(topic().0)
                .with_configuration_keys(None);
            RequestKind::DescribeConfigs(m::DescribeConfigsRequest::default().with_resources(vec![resource]))
        }
        versions::ALTER_CONFIGS => {
            let resource = m::alter_configs_request::AlterConfigsResource::default()
                .with_resource_type(2)
                .with_resource_name(topic().0);
            RequestKind::AlterConfigs(m::AlterConfigsRequest::default().with_resources(vec![resource]))
        }
        versions::INCREMENTAL_ALTER_CONFIGS => {
            use m::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
            let config = AlterableConfig::default()
                .with_name("retention.ms".into())
                .with_value(Some("86400000".into()));
            let resource = AlterConfigsResource::default()
                .with_resource_type(2)
                .with_resource_name(topic().0)
                .with_configs(vec![config]);
            RequestKind::IncrementalAlterConfigs(
                m::IncrementalAlterConfigsRequest::default().with_resources(vec![resource]),
            )
        }
        _ => transaction(key, version),
    }
}

fn transaction(key: i16, version: i16) -> RequestKind {
    let id = || m::TransactionalId(StrBytes::from_static_str("nobody"));
    match key {
        versions::ADD_PARTITIONS_TO_TXN => {
            use m::add_partitions_to_txn_request::{AddPartitionsToTxnTopic, AddPartitionsToTxnTransaction};
            let topic = AddPartitionsToTxnTopic::default().with_name(topic()).with_partitions(vec![0]);
            let request = m::AddPartitionsToTxnRequest::default();
            RequestKind::AddPartitionsToTxn(if version >= 4 {
                let one = AddPartitionsToTxnTransaction::default().with_transactional_id(id());
                request.with_transactions(vec![one.with_topics(vec![topic])])
            } else {
                request.with_v3_and_below_transactional_id(id()).with_v3_and_below_topics(vec![topic])
            })
        }
        versions::ADD_OFFSETS_TO_TXN => RequestKind::AddOffsetsToTxn(
            m::AddOffsetsToTxnRequest::default().with_transactional_id(id()).with_group_id(group()),
        ),
        versions::END_TXN => RequestKind::EndTxn(m::EndTxnRequest::default().with_transactional_id(id())),
        versions::WRITE_TXN_MARKERS => {
            use m::write_txn_markers_request::{WritableTxnMarker, WritableTxnMarkerTopic};
            let topic = WritableTxnMarkerTopic::default().with_name(topic()).with_partition_indexes(vec![0]);
            let marker = WritableTxnMarker::default().with_topics(vec![topic]);
            RequestKind::WriteTxnMarkers(m::WriteTxnMarkersRequest::default().with_markers(vec![marker]))
        }
        versions::TXN_OFFSET_COMMIT => {
            use m::txn_offset_commit_request::{
                TxnOffsetCommitRequestPartition, TxnOffsetCommitRequestTopic,
            };
            let partition = TxnOffsetCommitRequestPartition::default().with_committed_offset(1);
            let topic =
                TxnOffsetCommitRequestTopic::default().with_name(topic()).with_partitions(vec![partition]);
            let request = m::TxnOffsetCommitRequest::default().with_transactional_id(id());
            RequestKind::TxnOffsetCommit(request.with_group_id(group()).with_topics(vec![topic]))
        }
        versions::DESCRIBE_TRANSACTIONS => RequestKind::DescribeTransactions(
            m::DescribeTransactionsRequest::default().with_transactional_ids(vec![id()]),
        ),
        versions::LIST_TRANSACTIONS => RequestKind::ListTransactions(m::ListTransactionsRequest::default()),
        _ => describe(key, version),
    }
}

fn describe(key: i16, version: i16) -> RequestKind {
    match key {
        versions::DESCRIBE_LOG_DIRS => {
            RequestKind::DescribeLogDirs(m::DescribeLogDirsRequest::default().with_topics(None))
        }
        versions::CREATE_PARTITIONS => {
            let topic = m::create_partitions_request::CreatePartitionsTopic::default()
                .with_name(topic())
                .with_count(2 + i32::from(version))
                .with_assignments(None);
            RequestKind::CreatePartitions(
                m::CreatePartitionsRequest::default().with_topics(vec![topic]).with_timeout_ms(5_000),
            )
        }
        versions::DELETE_GROUPS => {
            let name = m::GroupId(StrBytes::from_static_str("not-there"));
            RequestKind::DeleteGroups(m::DeleteGroupsRequest::default().with_groups_names(vec![name]))
        }
        versions::LIST_PARTITION_REASSIGNMENTS => RequestKind::ListPartitionReassignments(
            m::ListPartitionReassignmentsRequest::default().with_timeout_ms(5_000),
        ),
        versions::OFFSET_DELETE => {
            RequestKind::OffsetDelete(m::OffsetDeleteRequest::default().with_group_id(group()))
        }
        versions::DESCRIBE_CLUSTER => RequestKind::DescribeCluster(m::DescribeClusterRequest::default()),
        versions::DESCRIBE_PRODUCERS => {
            let topic = m::describe_producers_request::TopicRequest::default()
                .with_name(topic())
                .with_partition_indexes(vec![0]);
            RequestKind::DescribeProducers(m::DescribeProducersRequest::default().with_topics(vec![topic]))
        }
        versions::LIST_CONFIG_RESOURCES => {
            RequestKind::ListConfigResources(m::ListConfigResourcesRequest::default())
        }
        versions::DESCRIBE_TOPIC_PARTITIONS => {
            let topic = m::describe_topic_partitions_request::TopicRequest::default().with_name(topic());
            let request = m::DescribeTopicPartitionsRequest::default().with_response_partition_limit(100);
            RequestKind::DescribeTopicPartitions(request.with_topics(vec![topic]).with_cursor(None))
        }
        _ => cluster_and_groups(key),
    }
}

/// Requests that ask for nothing, or for what is not there: the rooms' own tests and the clients' go further.
fn cluster_and_groups(key: i16) -> RequestKind {
    match key {
        versions::ALTER_REPLICA_LOG_DIRS => RequestKind::AlterReplicaLogDirs(Default::default()),
        versions::ELECT_LEADERS => RequestKind::ElectLeaders(Default::default()),
        versions::ALTER_PARTITION_REASSIGNMENTS => {
            RequestKind::AlterPartitionReassignments(Default::default())
        }
        versions::DESCRIBE_CLIENT_QUOTAS => RequestKind::DescribeClientQuotas(Default::default()),
        versions::ALTER_CLIENT_QUOTAS => RequestKind::AlterClientQuotas(Default::default()),
        versions::DESCRIBE_USER_SCRAM_CREDENTIALS => {
            RequestKind::DescribeUserScramCredentials(Default::default())
        }
        versions::DESCRIBE_QUORUM => RequestKind::DescribeQuorum(Default::default()),
        versions::UPDATE_FEATURES => RequestKind::UpdateFeatures(Default::default()),
        versions::UNREGISTER_BROKER => {
            RequestKind::UnregisterBroker(m::UnregisterBrokerRequest::default().with_broker_id(99.into()))
        }
        versions::CONSUMER_GROUP_HEARTBEAT => RequestKind::ConsumerGroupHeartbeat(
            m::ConsumerGroupHeartbeatRequest::default().with_group_id(group()).with_member_epoch(1),
        ),
        versions::CONSUMER_GROUP_DESCRIBE => RequestKind::ConsumerGroupDescribe(
            m::ConsumerGroupDescribeRequest::default().with_group_ids(vec![group()]),
        ),
        versions::GET_TELEMETRY_SUBSCRIPTIONS => RequestKind::GetTelemetrySubscriptions(Default::default()),
        versions::PUSH_TELEMETRY => RequestKind::PushTelemetry(Default::default()),
        versions::SHARE_GROUP_HEARTBEAT => RequestKind::ShareGroupHeartbeat(
            m::ShareGroupHeartbeatRequest::default().with_group_id(group()).with_member_epoch(1),
        ),
        versions::SHARE_GROUP_DESCRIBE => RequestKind::ShareGroupDescribe(
            m::ShareGroupDescribeRequest::default().with_group_ids(vec![group()]),
        ),
        versions::SHARE_FETCH => RequestKind::ShareFetch(
            m::ShareFetchRequest::default().with_group_id(Some(group())).with_member_id(Some("m".into())),
        ),
        versions::SHARE_ACKNOWLEDGE => RequestKind::ShareAcknowledge(
            m::ShareAcknowledgeRequest::default()
                .with_group_id(Some(group()))
                .with_member_id(Some("m".into())),
        ),
        versions::INITIALIZE_SHARE_GROUP_STATE => RequestKind::InitializeShareGroupState(Default::default()),
        versions::READ_SHARE_GROUP_STATE => RequestKind::ReadShareGroupState(Default::default()),
        versions::WRITE_SHARE_GROUP_STATE => RequestKind::WriteShareGroupState(Default::default()),
        versions::DELETE_SHARE_GROUP_STATE => RequestKind::DeleteShareGroupState(Default::default()),
        versions::READ_SHARE_GROUP_STATE_SUMMARY => {
            RequestKind::ReadShareGroupStateSummary(Default::default())
        }
        versions::DESCRIBE_SHARE_GROUP_OFFSETS => RequestKind::DescribeShareGroupOffsets(Default::default()),
        versions::ALTER_SHARE_GROUP_OFFSETS => RequestKind::AlterShareGroupOffsets(Default::default()),
        versions::DELETE_SHARE_GROUP_OFFSETS => RequestKind::DeleteShareGroupOffsets(Default::default()),
        _ => panic!("no request for api {key}"),
    }
}
