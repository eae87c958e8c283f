//! The one table of APIs: which versions are served, and from which version on messages are flexible.
//!
//! `docs/protocol.md`, the ApiVersions answer, the request header and dispatch all read this table.

/// One API of the Kafka protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Api {
    /// Its number on the wire.
    pub key: i16,
    /// Its name in Kafka's schemas.
    pub name: &'static str,
    /// The lowest version served.
    pub min: i16,
    /// The highest version served.
    pub max: i16,
    /// The lowest version that ApiVersions shows.
    pub advertised_min: i16,
    /// The first version in the compact form with tag sections (KIP-482); [`NEVER`] when there is none.
    pub flexible_from: i16,
    /// What a reader of the protocol page should know.
    pub note: &'static str,
}

/// "No version is flexible."
pub const NEVER: i16 = i16::MAX;

/// Key of Produce.
pub const PRODUCE: i16 = 0;
/// Key of Fetch.
pub const FETCH: i16 = 1;
/// Key of ListOffsets.
pub const LIST_OFFSETS: i16 = 2;
/// Key of Metadata.
pub const METADATA: i16 = 3;
/// Key of OffsetCommit.
pub const OFFSET_COMMIT: i16 = 8;
/// Key of OffsetFetch.
pub const OFFSET_FETCH: i16 = 9;
/// Key of FindCoordinator.
pub const FIND_COORDINATOR: i16 = 10;
/// Key of JoinGroup.
pub const JOIN_GROUP: i16 = 11;
/// Key of Heartbeat.
pub const HEARTBEAT: i16 = 12;
/// Key of LeaveGroup.
pub const LEAVE_GROUP: i16 = 13;
/// Key of SyncGroup.
pub const SYNC_GROUP: i16 = 14;
/// Key of DescribeGroups.
pub const DESCRIBE_GROUPS: i16 = 15;
/// Key of ListGroups.
pub const LIST_GROUPS: i16 = 16;
/// Key of ApiVersions.
pub const API_VERSIONS: i16 = 18;
/// Key of CreateTopics.
pub const CREATE_TOPICS: i16 = 19;
/// Key of DeleteTopics.
pub const DELETE_TOPICS: i16 = 20;
/// Key of DeleteRecords.
pub const DELETE_RECORDS: i16 = 21;
/// Key of InitProducerId.
pub const INIT_PRODUCER_ID: i16 = 22;
/// Key of OffsetForLeaderEpoch.
pub const OFFSET_FOR_LEADER_EPOCH: i16 = 23;
/// Key of AddPartitionsToTxn.
pub const ADD_PARTITIONS_TO_TXN: i16 = 24;
/// Key of AddOffsetsToTxn.
pub const ADD_OFFSETS_TO_TXN: i16 = 25;
/// Key of EndTxn.
pub const END_TXN: i16 = 26;
/// Key of WriteTxnMarkers.
pub const WRITE_TXN_MARKERS: i16 = 27;
/// Key of TxnOffsetCommit.
pub const TXN_OFFSET_COMMIT: i16 = 28;
/// Key of DescribeAcls.
pub const DESCRIBE_ACLS: i16 = 29;
/// Key of CreateAcls.
pub const CREATE_ACLS: i16 = 30;
/// Key of DeleteAcls.
pub const DELETE_ACLS: i16 = 31;
/// Key of DescribeConfigs.
pub const DESCRIBE_CONFIGS: i16 = 32;
/// Key of AlterConfigs.
pub const ALTER_CONFIGS: i16 = 33;
/// Key of AlterReplicaLogDirs.
pub const ALTER_REPLICA_LOG_DIRS: i16 = 34;
/// Key of DescribeLogDirs.
pub const DESCRIBE_LOG_DIRS: i16 = 35;
/// Key of CreatePartitions.
pub const CREATE_PARTITIONS: i16 = 37;
/// Key of DeleteGroups.
pub const DELETE_GROUPS: i16 = 42;
/// Key of ElectLeaders.
pub const ELECT_LEADERS: i16 = 43;
/// Key of IncrementalAlterConfigs.
pub const INCREMENTAL_ALTER_CONFIGS: i16 = 44;
/// Key of AlterPartitionReassignments.
pub const ALTER_PARTITION_REASSIGNMENTS: i16 = 45;
/// Key of ListPartitionReassignments.
pub const LIST_PARTITION_REASSIGNMENTS: i16 = 46;
/// Key of OffsetDelete.
pub const OFFSET_DELETE: i16 = 47;
/// Key of DescribeClientQuotas.
pub const DESCRIBE_CLIENT_QUOTAS: i16 = 48;
/// Key of AlterClientQuotas.
pub const ALTER_CLIENT_QUOTAS: i16 = 49;
/// Key of DescribeUserScramCredentials.
pub const DESCRIBE_USER_SCRAM_CREDENTIALS: i16 = 50;
/// Key of DescribeQuorum.
pub const DESCRIBE_QUORUM: i16 = 55;
/// Key of UpdateFeatures.
pub const UPDATE_FEATURES: i16 = 57;
/// Key of DescribeCluster.
pub const DESCRIBE_CLUSTER: i16 = 60;
/// Key of DescribeProducers.
pub const DESCRIBE_PRODUCERS: i16 = 61;
/// Key of UnregisterBroker.
pub const UNREGISTER_BROKER: i16 = 64;
/// Key of DescribeTransactions.
pub const DESCRIBE_TRANSACTIONS: i16 = 65;
/// Key of ListTransactions.
pub const LIST_TRANSACTIONS: i16 = 66;
/// Key of ConsumerGroupHeartbeat.
pub const CONSUMER_GROUP_HEARTBEAT: i16 = 68;
/// Key of ConsumerGroupDescribe.
pub const CONSUMER_GROUP_DESCRIBE: i16 = 69;
/// Key of GetTelemetrySubscriptions.
pub const GET_TELEMETRY_SUBSCRIPTIONS: i16 = 71;
/// Key of PushTelemetry.
pub const PUSH_TELEMETRY: i16 = 72;
/// Key of ListConfigResources.
pub const LIST_CONFIG_RESOURCES: i16 = 74;
/// Key of DescribeTopicPartitions.
pub const DESCRIBE_TOPIC_PARTITIONS: i16 = 75;
/// Key of ShareGroupHeartbeat.
pub const SHARE_GROUP_HEARTBEAT: i16 = 76;
/// Key of ShareGroupDescribe.
pub const SHARE_GROUP_DESCRIBE: i16 = 77;
/// Key of ShareFetch.
pub const SHARE_FETCH: i16 = 78;
/// Key of ShareAcknowledge.
pub const SHARE_ACKNOWLEDGE: i16 = 79;
/// Key of InitializeShareGroupState.
pub const INITIALIZE_SHARE_GROUP_STATE: i16 = 83;
/// Key of ReadShareGroupState.
pub const READ_SHARE_GROUP_STATE: i16 = 84;
/// Key of WriteShareGroupState.
pub const WRITE_SHARE_GROUP_STATE: i16 = 85;
/// Key of DeleteShareGroupState.
pub const DELETE_SHARE_GROUP_STATE: i16 = 86;
/// Key of ReadShareGroupStateSummary.
pub const READ_SHARE_GROUP_STATE_SUMMARY: i16 = 87;
/// Key of DescribeShareGroupOffsets.
pub const DESCRIBE_SHARE_GROUP_OFFSETS: i16 = 90;
/// Key of AlterShareGroupOffsets.
pub const ALTER_SHARE_GROUP_OFFSETS: i16 = 91;
/// Key of DeleteShareGroupOffsets.
pub const DELETE_SHARE_GROUP_OFFSETS: i16 = 92;
/// Key of StreamsGroupHeartbeat.
pub const STREAMS_GROUP_HEARTBEAT: i16 = 88;
/// Key of StreamsGroupDescribe.
pub const STREAMS_GROUP_DESCRIBE: i16 = 89;
/// Key of StreamsGroupTopologyDescriptionUpdate.
pub const STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: i16 = 93;

/// A row of the table; `versions` are the lowest and the highest.
const fn row(
    key: i16,
    name: &'static str,
    versions: (i16, i16),
    flexible_from: i16,
    note: &'static str,
) -> Api {
    Api { key, name, min: versions.0, max: versions.1, advertised_min: versions.0, flexible_from, note }
}

/// Every API of this broker, by key.
static TABLE: &[Api] = &[
    Api {
        advertised_min: 0,
        ..row(
            PRODUCE,
            "Produce",
            (3, 13),
            9,
            "Versions 0 to 2 are shown for old librdkafka (KAFKA-18659) and refused. From 12 on partitions join the transaction by the first write (KIP-890).",
        )
    },
    row(FETCH, "Fetch", (4, 18), 12, "With incremental sessions (KIP-227) and topic ids (KIP-516)."),
    row(LIST_OFFSETS, "ListOffsets", (1, 11), 6, ""),
    row(METADATA, "Metadata", (0, 13), 9, ""),
    row(OFFSET_COMMIT, "OffsetCommit", (2, 10), 8, "Members of consumer groups use 9 and later (KIP-848)."),
    row(OFFSET_FETCH, "OffsetFetch", (1, 10), 6, ""),
    row(
        FIND_COORDINATOR,
        "FindCoordinator",
        (0, 6),
        3,
        "Groups, transactional ids, and from version 6 on share-partitions.",
    ),
    row(JOIN_GROUP, "JoinGroup", (0, 9), 6, ""),
    row(HEARTBEAT, "Heartbeat", (0, 4), 4, ""),
    row(LEAVE_GROUP, "LeaveGroup", (0, 5), 4, ""),
    row(SYNC_GROUP, "SyncGroup", (0, 5), 4, ""),
    row(DESCRIBE_GROUPS, "DescribeGroups", (0, 6), 5, ""),
    row(LIST_GROUPS, "ListGroups", (0, 5), 3, ""),
    row(
        API_VERSIONS,
        "ApiVersions",
        (0, 5),
        3,
        "Any other version gets the version 0 answer with error 35 (KIP-511).",
    ),
    row(CREATE_TOPICS, "CreateTopics", (2, 7), 5, ""),
    row(DELETE_TOPICS, "DeleteTopics", (1, 6), 4, ""),
    row(DELETE_RECORDS, "DeleteRecords", (0, 2), 2, ""),
    row(INIT_PRODUCER_ID, "InitProducerId", (0, 5), 2, ""),
    row(OFFSET_FOR_LEADER_EPOCH, "OffsetForLeaderEpoch", (2, 4), 4, ""),
    row(
        ADD_PARTITIONS_TO_TXN,
        "AddPartitionsToTxn",
        (0, 5),
        3,
        "From version 4 on between brokers: many transactions, also to be looked at only.",
    ),
    row(ADD_OFFSETS_TO_TXN, "AddOffsetsToTxn", (0, 4), 3, ""),
    row(END_TXN, "EndTxn", (0, 5), 3, "From version 5 on each end gives a new epoch (KIP-890)."),
    row(
        WRITE_TXN_MARKERS,
        "WriteTxnMarkers",
        (1, 2),
        1,
        "Ends hanging transactions (`kafka-transactions.sh abort`).",
    ),
    row(
        TXN_OFFSET_COMMIT,
        "TxnOffsetCommit",
        (0, 6),
        3,
        "From version 5 on the group joins the transaction by the first commit (KIP-890).",
    ),
    row(DESCRIBE_ACLS, "DescribeAcls", (1, 3), 2, "There is no authorizer: SECURITY_DISABLED."),
    row(CREATE_ACLS, "CreateAcls", (1, 3), 2, "There is no authorizer: SECURITY_DISABLED."),
    row(DELETE_ACLS, "DeleteAcls", (1, 3), 2, "There is no authorizer: SECURITY_DISABLED."),
    row(DESCRIBE_CONFIGS, "DescribeConfigs", (1, 4), 4, ""),
    row(ALTER_CONFIGS, "AlterConfigs", (0, 2), 2, ""),
    row(ALTER_REPLICA_LOG_DIRS, "AlterReplicaLogDirs", (1, 2), 2, ""),
    row(DESCRIBE_LOG_DIRS, "DescribeLogDirs", (1, 5), 2, ""),
    row(CREATE_PARTITIONS, "CreatePartitions", (0, 3), 2, ""),
    row(DELETE_GROUPS, "DeleteGroups", (0, 3), 2, ""),
    row(ELECT_LEADERS, "ElectLeaders", (0, 2), 2, ""),
    row(INCREMENTAL_ALTER_CONFIGS, "IncrementalAlterConfigs", (0, 1), 1, ""),
    row(ALTER_PARTITION_REASSIGNMENTS, "AlterPartitionReassignments", (0, 1), 0, ""),
    row(LIST_PARTITION_REASSIGNMENTS, "ListPartitionReassignments", (0, 0), 0, ""),
    row(OFFSET_DELETE, "OffsetDelete", (0, 0), NEVER, ""),
    row(DESCRIBE_CLIENT_QUOTAS, "DescribeClientQuotas", (0, 1), 1, ""),
    row(ALTER_CLIENT_QUOTAS, "AlterClientQuotas", (0, 1), 1, ""),
    row(
        DESCRIBE_USER_SCRAM_CREDENTIALS,
        "DescribeUserScramCredentials",
        (0, 0),
        0,
        "What a folder of Apache Kafka's holds; nothing uses it yet.",
    ),
    row(DESCRIBE_QUORUM, "DescribeQuorum", (0, 2), 0, "This node is the whole quorum."),
    row(UPDATE_FEATURES, "UpdateFeatures", (0, 2), 0, ""),
    row(DESCRIBE_CLUSTER, "DescribeCluster", (0, 2), 0, ""),
    row(DESCRIBE_PRODUCERS, "DescribeProducers", (0, 0), 0, ""),
    row(
        UNREGISTER_BROKER,
        "UnregisterBroker",
        (0, 0),
        0,
        "The broker that answers is refused: it is the whole cluster.",
    ),
    row(DESCRIBE_TRANSACTIONS, "DescribeTransactions", (0, 0), 0, ""),
    row(
        LIST_TRANSACTIONS,
        "ListTransactions",
        (0, 2),
        0,
        "Patterns are those of Rust's `regex`, not of RE2/J.",
    ),
    row(
        CONSUMER_GROUP_HEARTBEAT,
        "ConsumerGroupHeartbeat",
        (0, 1),
        0,
        "Needs the feature `group.version`. [Patterns of topics](operations/groups.md) are those of Rust's `regex`, not of RE2/J.",
    ),
    row(CONSUMER_GROUP_DESCRIBE, "ConsumerGroupDescribe", (0, 1), 0, ""),
    row(
        GET_TELEMETRY_SUBSCRIPTIONS,
        "GetTelemetrySubscriptions",
        (0, 0),
        0,
        "Subscriptions are set by `kafka-client-metrics.sh`; patterns are those of Rust's `regex`.",
    ),
    row(
        PUSH_TELEMETRY,
        "PushTelemetry",
        (0, 0),
        0,
        "What comes is shown at `/metrics` as `dohle_client_metrics`.",
    ),
    row(LIST_CONFIG_RESOURCES, "ListConfigResources", (0, 1), 0, ""),
    row(DESCRIBE_TOPIC_PARTITIONS, "DescribeTopicPartitions", (0, 0), 0, ""),
    row(SHARE_GROUP_HEARTBEAT, "ShareGroupHeartbeat", (1, 1), 0, ""),
    row(SHARE_GROUP_DESCRIBE, "ShareGroupDescribe", (1, 1), 0, ""),
    row(SHARE_FETCH, "ShareFetch", (1, 2), 0, "With acquire modes and renewed locks (KIP-1206, KIP-1222)."),
    row(SHARE_ACKNOWLEDGE, "ShareAcknowledge", (1, 2), 0, ""),
    row(INITIALIZE_SHARE_GROUP_STATE, "InitializeShareGroupState", (0, 0), 0, "Between brokers."),
    row(READ_SHARE_GROUP_STATE, "ReadShareGroupState", (0, 0), 0, "Between brokers."),
    row(WRITE_SHARE_GROUP_STATE, "WriteShareGroupState", (0, 1), 0, "Between brokers."),
    row(DELETE_SHARE_GROUP_STATE, "DeleteShareGroupState", (0, 0), 0, "Between brokers."),
    row(READ_SHARE_GROUP_STATE_SUMMARY, "ReadShareGroupStateSummary", (0, 1), 0, "Between brokers."),
    row(STREAMS_GROUP_HEARTBEAT, "StreamsGroupHeartbeat", (0, 1), 0, "KIP-1071."),
    row(STREAMS_GROUP_DESCRIBE, "StreamsGroupDescribe", (0, 1), 0, ""),
    row(DESCRIBE_SHARE_GROUP_OFFSETS, "DescribeShareGroupOffsets", (0, 1), 0, ""),
    row(ALTER_SHARE_GROUP_OFFSETS, "AlterShareGroupOffsets", (0, 0), 0, ""),
    row(DELETE_SHARE_GROUP_OFFSETS, "DeleteShareGroupOffsets", (0, 0), 0, ""),
    row(
        STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
        "StreamsGroupTopologyDescriptionUpdate",
        (0, 0),
        0,
        "There is no plugin that keeps descriptions: UNSUPPORTED_VERSION, as of Kafka without one.",
    ),
];

impl Api {
    /// Whether requests of this version are taken.
    pub fn serves(&self, version: i16) -> bool {
        (self.min..=self.max).contains(&version)
    }

    /// Whether this version is in the compact form with tag sections.
    pub fn flexible(&self, version: i16) -> bool {
        version >= self.flexible_from
    }
}

/// Where in the body of an answer the time stands that the client is asked to pause (`ThrottleTimeMs`), as far as
/// that is always the same place. Answers of Produce and ApiVersions have it elsewhere, some have none.
pub fn throttle_offset(key: i16, version: i16) -> Option<usize> {
    let from = match key {
        // SaslHandshake, WriteTxnMarkers, SaslAuthenticate, those of delegation tokens, of the quorum and of the share
        // coordinator's state, Envelope.
        PRODUCE | API_VERSIONS | 17 | 27 | 36 | 38..=41 | 52..=55 | 58 | 83..=87 => return None,
        OFFSET_DELETE => return Some(2),
        LIST_OFFSETS | JOIN_GROUP => 2,
        METADATA | OFFSET_COMMIT | OFFSET_FETCH => 3,
        FIND_COORDINATOR | HEARTBEAT..=LIST_GROUPS => 1,
        _ => 0,
    };
    (version >= from).then_some(0)
}

/// The API with this key; `None` when this broker does not know it.
pub fn api(key: i16) -> Option<&'static Api> {
    TABLE.iter().find(|api| api.key == key)
}

/// Every API, by key.
pub fn all() -> &'static [Api] {
    TABLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use kafka_protocol::messages::ApiKey;

    #[test]
    fn keys_ascend_and_ranges_are_not_empty() {
        assert!(TABLE.windows(2).all(|pair| pair[0].key < pair[1].key));
        assert!(TABLE.iter().all(|api| api.min <= api.max && api.advertised_min <= api.min));
    }

    #[test]
    fn flexible_versions_are_those_of_the_message_schemas() {
        for api in TABLE {
            // The crate does not know those that were unstable when it was made.
            let Ok(key) = ApiKey::try_from(api.key) else { continue };
            assert_eq!(format!("{key:?}").trim_end_matches("Key"), api.name);
            let valid = key.valid_versions();
            for version in valid.min..=valid.max {
                assert_eq!(
                    api.flexible(version),
                    key.request_header_version(version) == 2,
                    "{} {version}",
                    api.name
                );
            }
        }
    }
}
