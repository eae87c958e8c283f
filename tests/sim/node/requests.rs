//! The requests of the workload, each in one version.

use bytes::Bytes;
use kafka_protocol::messages as m;
use kafka_protocol::protocol::StrBytes;

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn topic_name(name: &str) -> m::TopicName {
    m::TopicName(text(name))
}

pub(crate) const PRODUCE: i16 = 9;
pub(crate) fn produce(topic: &str, partition: i32, acks: i16, batch: Bytes) -> m::ProduceRequest {
    use m::produce_request::{PartitionProduceData, TopicProduceData};
    let data = PartitionProduceData::default().with_index(partition).with_records(Some(batch));
    let topic = TopicProduceData::default().with_name(topic_name(topic)).with_partition_data(vec![data]);
    m::ProduceRequest::default().with_acks(acks).with_timeout_ms(30_000).with_topic_data(vec![topic])
}

pub(crate) const FETCH: i16 = 12;
pub(crate) fn fetch(topic: &str, partition: i32, offset: i64, bytes_max: i32) -> m::FetchRequest {
    use m::fetch_request::{FetchPartition, FetchTopic};
    let wanted = FetchPartition::default()
        .with_partition(partition)
        .with_fetch_offset(offset)
        .with_partition_max_bytes(bytes_max);
    let topic = FetchTopic::default().with_topic(topic_name(topic)).with_partitions(vec![wanted]);
    m::FetchRequest::default()
        .with_max_wait_ms(0)
        .with_min_bytes(0)
        .with_max_bytes(1 << 20)
        .with_topics(vec![topic])
}

pub(crate) const LIST_OFFSETS: i16 = 7;
/// `time` -2 is the start, -1 the end.
pub(crate) fn list_offsets(topic: &str, partition: i32, time: i64) -> m::ListOffsetsRequest {
    use m::list_offsets_request::{ListOffsetsPartition, ListOffsetsTopic};
    let wanted = ListOffsetsPartition::default().with_partition_index(partition).with_timestamp(time);
    let topic = ListOffsetsTopic::default().with_name(topic_name(topic)).with_partitions(vec![wanted]);
    m::ListOffsetsRequest::default().with_replica_id(m::BrokerId(-1)).with_topics(vec![topic])
}

pub(crate) const CREATE_TOPICS: i16 = 7;
pub(crate) fn create_topic(name: &str, partitions: i32, configs: &[(&str, &str)]) -> m::CreateTopicsRequest {
    use m::create_topics_request::{CreatableTopic, CreatableTopicConfig};
    let config = |(key, value): &(&str, &str)| {
        CreatableTopicConfig::default().with_name(text(key)).with_value(Some(text(value)))
    };
    let topic = CreatableTopic::default()
        .with_name(topic_name(name))
        .with_num_partitions(partitions)
        .with_replication_factor(1)
        .with_configs(configs.iter().map(config).collect());
    m::CreateTopicsRequest::default().with_timeout_ms(30_000).with_topics(vec![topic])
}

pub(crate) const DELETE_TOPICS: i16 = 5;
pub(crate) fn delete_topic(name: &str) -> m::DeleteTopicsRequest {
    m::DeleteTopicsRequest::default().with_timeout_ms(30_000).with_topic_names(vec![topic_name(name)])
}

pub(crate) const DELETE_RECORDS: i16 = 2;
pub(crate) fn delete_records(topic: &str, partition: i32, before: i64) -> m::DeleteRecordsRequest {
    use m::delete_records_request::{DeleteRecordsPartition, DeleteRecordsTopic};
    let wanted = DeleteRecordsPartition::default().with_partition_index(partition).with_offset(before);
    let topic = DeleteRecordsTopic::default().with_name(topic_name(topic)).with_partitions(vec![wanted]);
    m::DeleteRecordsRequest::default().with_timeout_ms(30_000).with_topics(vec![topic])
}

pub(crate) const ALTER_CONFIGS: i16 = 1;
pub(crate) fn set_config(topic: &str, key: &str, value: &str) -> m::IncrementalAlterConfigsRequest {
    use m::incremental_alter_configs_request::{AlterConfigsResource, AlterableConfig};
    let config = AlterableConfig::default()
        .with_name(text(key))
        .with_config_operation(0)
        .with_value(Some(text(value)));
    let resource = AlterConfigsResource::default()
        .with_resource_type(2)
        .with_resource_name(text(topic))
        .with_configs(vec![config]);
    m::IncrementalAlterConfigsRequest::default().with_resources(vec![resource])
}

pub(crate) const DESCRIBE_CONFIGS: i16 = 4;
pub(crate) fn describe_config(topic: &str, key: &str) -> m::DescribeConfigsRequest {
    use m::describe_configs_request::DescribeConfigsResource;
    let resource = DescribeConfigsResource::default()
        .with_resource_type(2)
        .with_resource_name(text(topic))
        .with_configuration_keys(Some(vec![text(key)]));
    m::DescribeConfigsRequest::default().with_resources(vec![resource])
}

pub(crate) const METADATA: i16 = 12;
pub(crate) fn metadata() -> m::MetadataRequest {
    m::MetadataRequest::default().with_topics(None).with_allow_auto_topic_creation(false)
}

pub(crate) const FIND_COORDINATOR: i16 = 3;
pub(crate) fn find_coordinator(group: &str) -> m::FindCoordinatorRequest {
    m::FindCoordinatorRequest::default().with_key(text(group)).with_key_type(0)
}

pub(crate) const OFFSET_COMMIT: i16 = 8;
pub(crate) fn commit(
    group: &str,
    member: (&str, i32),
    topic: &str,
    partition: i32,
    offset: i64,
) -> m::OffsetCommitRequest {
    use m::offset_commit_request::{OffsetCommitRequestPartition, OffsetCommitRequestTopic};
    let wanted = OffsetCommitRequestPartition::default()
        .with_partition_index(partition)
        .with_committed_offset(offset)
        .with_committed_metadata(Some(text("")));
    let topic =
        OffsetCommitRequestTopic::default().with_name(topic_name(topic)).with_partitions(vec![wanted]);
    m::OffsetCommitRequest::default()
        .with_group_id(m::GroupId(text(group)))
        .with_member_id(text(member.0))
        .with_generation_id_or_member_epoch(member.1)
        .with_topics(vec![topic])
}

pub(crate) const OFFSET_FETCH: i16 = 7;
pub(crate) fn committed(group: &str, topic: &str, partition: i32) -> m::OffsetFetchRequest {
    use m::offset_fetch_request::OffsetFetchRequestTopic;
    let topic = OffsetFetchRequestTopic::default()
        .with_name(topic_name(topic))
        .with_partition_indexes(vec![partition]);
    m::OffsetFetchRequest::default().with_group_id(m::GroupId(text(group))).with_topics(Some(vec![topic]))
}

pub(crate) const INIT_PRODUCER_ID: i16 = 4;
pub(crate) fn init_producer_id() -> m::InitProducerIdRequest {
    m::InitProducerIdRequest::default().with_transactional_id(None).with_transaction_timeout_ms(60_000)
}

pub(crate) const JOIN_GROUP: i16 = 5;
pub(crate) fn join(group: &str, member: &str, session_ms: i32) -> m::JoinGroupRequest {
    let protocol = m::join_group_request::JoinGroupRequestProtocol::default().with_name("range".into());
    m::JoinGroupRequest::default()
        .with_group_id(m::GroupId(text(group)))
        .with_member_id(text(member))
        .with_session_timeout_ms(session_ms)
        .with_rebalance_timeout_ms(session_ms)
        .with_protocol_type("consumer".into())
        .with_protocols(vec![protocol])
}

pub(crate) const SYNC_GROUP: i16 = 3;
pub(crate) fn sync(group: &str, member: &str, generation: i32) -> m::SyncGroupRequest {
    let assignment = m::sync_group_request::SyncGroupRequestAssignment::default()
        .with_member_id(text(member))
        .with_assignment(Bytes::from_static(b"\0\0\0\0\0\0\0\0\0\0"));
    m::SyncGroupRequest::default()
        .with_group_id(m::GroupId(text(group)))
        .with_member_id(text(member))
        .with_generation_id(generation)
        .with_assignments(vec![assignment])
}

pub(crate) const HEARTBEAT: i16 = 3;
pub(crate) fn heartbeat(group: &str, member: &str, generation: i32) -> m::HeartbeatRequest {
    m::HeartbeatRequest::default()
        .with_group_id(m::GroupId(text(group)))
        .with_member_id(text(member))
        .with_generation_id(generation)
}
