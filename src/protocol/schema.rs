//! The fields of every request that is offered: what the guard walks by.
//!
//! The constants below the functions are Kafka 4.4's message schemas (`common/message/*Request.json`, Apache License
//! 2.0) in short: one line a field with the first version that has it, `until` the last one, `nullable` from a version
//! on, `tagged` with its number when it lies in the tag section. They were made from those files once; a new version
//! of a message is a new line here.

use crate::protocol::versions;

/// One field of a message.
#[derive(Debug)]
pub(super) struct Field {
    /// Kafka's name of it.
    pub(super) name: &'static str,
    /// What it holds.
    pub(super) kind: Kind,
    /// The first version that has it.
    pub(super) first: i16,
    /// The last version that has it.
    pub(super) last: i16,
    /// The first version in which it may be null.
    pub(super) null_from: i16,
    /// Its number in the tag section; `None` for a field in its place.
    pub(super) tag: Option<u32>,
}

/// What a field or an element holds.
#[derive(Debug)]
pub(super) enum Kind {
    /// So many bytes: numbers, booleans, ids.
    Fixed(usize),
    /// A string.
    Text,
    /// Bytes or records.
    Blob,
    /// Many of one kind.
    List(&'static Kind),
    /// Fields of its own.
    Struct(&'static [Field]),
}

impl Field {
    /// Whether this version has the field.
    pub(super) fn in_version(&self, version: i16) -> bool {
        (self.first..=self.last).contains(&version)
    }

    const fn new(name: &'static str, first: i16, kind: Kind) -> Field {
        Field { name, kind, first, last: i16::MAX, null_from: i16::MAX, tag: None }
    }

    const fn until(self, last: i16) -> Field {
        Field { last, ..self }
    }

    const fn nullable(self, null_from: i16) -> Field {
        Field { null_from, ..self }
    }

    const fn tagged(self, tag: u32) -> Field {
        Field { tag: Some(tag), ..self }
    }
}

const fn fixed(name: &'static str, first: i16, size: usize) -> Field {
    Field::new(name, first, Kind::Fixed(size))
}

const fn text(name: &'static str, first: i16) -> Field {
    Field::new(name, first, Kind::Text)
}

const fn blob(name: &'static str, first: i16) -> Field {
    Field::new(name, first, Kind::Blob)
}

const fn list(name: &'static str, first: i16, of: &'static Kind) -> Field {
    Field::new(name, first, Kind::List(of))
}

const fn part(name: &'static str, first: i16, fields: &'static [Field]) -> Field {
    Field::new(name, first, Kind::Struct(fields))
}

/// The fields of the request with this key; `None` for an API that is not offered.
pub(super) fn request(key: i16) -> Option<&'static [Field]> {
    Some(match key {
        versions::PRODUCE => PRODUCE,
        versions::FETCH => FETCH,
        versions::LIST_OFFSETS => LIST_OFFSETS,
        versions::METADATA => METADATA,
        versions::OFFSET_COMMIT => OFFSET_COMMIT,
        versions::OFFSET_FETCH => OFFSET_FETCH,
        versions::FIND_COORDINATOR => FIND_COORDINATOR,
        versions::JOIN_GROUP => JOIN_GROUP,
        versions::HEARTBEAT => HEARTBEAT,
        versions::LEAVE_GROUP => LEAVE_GROUP,
        versions::SYNC_GROUP => SYNC_GROUP,
        versions::DESCRIBE_GROUPS => DESCRIBE_GROUPS,
        versions::LIST_GROUPS => LIST_GROUPS,
        versions::API_VERSIONS => API_VERSIONS,
        versions::CREATE_TOPICS => CREATE_TOPICS,
        versions::DELETE_TOPICS => DELETE_TOPICS,
        versions::DELETE_RECORDS => DELETE_RECORDS,
        versions::INIT_PRODUCER_ID => INIT_PRODUCER_ID,
        versions::OFFSET_FOR_LEADER_EPOCH => OFFSET_FOR_LEADER_EPOCH,
        versions::ADD_PARTITIONS_TO_TXN => ADD_PARTITIONS_TO_TXN,
        versions::ADD_OFFSETS_TO_TXN => ADD_OFFSETS_TO_TXN,
        versions::END_TXN => END_TXN,
        versions::WRITE_TXN_MARKERS => WRITE_TXN_MARKERS,
        versions::TXN_OFFSET_COMMIT => TXN_OFFSET_COMMIT,
        versions::DESCRIBE_ACLS => DESCRIBE_ACLS,
        versions::CREATE_ACLS => CREATE_ACLS,
        versions::DELETE_ACLS => DELETE_ACLS,
        versions::DESCRIBE_CONFIGS => DESCRIBE_CONFIGS,
        versions::ALTER_CONFIGS => ALTER_CONFIGS,
        versions::DESCRIBE_LOG_DIRS => DESCRIBE_LOG_DIRS,
        versions::CREATE_PARTITIONS => CREATE_PARTITIONS,
        versions::DELETE_GROUPS => DELETE_GROUPS,
        versions::INCREMENTAL_ALTER_CONFIGS => INCREMENTAL_ALTER_CONFIGS,
        versions::LIST_PARTITION_REASSIGNMENTS => LIST_PARTITION_REASSIGNMENTS,
        versions::OFFSET_DELETE => OFFSET_DELETE,
        versions::GET_TELEMETRY_SUBSCRIPTIONS => GET_TELEMETRY_SUBSCRIPTIONS,
        versions::PUSH_TELEMETRY => PUSH_TELEMETRY,
        versions::ALTER_REPLICA_LOG_DIRS => ALTER_REPLICA_LOG_DIRS,
        versions::ELECT_LEADERS => ELECT_LEADERS,
        versions::ALTER_PARTITION_REASSIGNMENTS => ALTER_PARTITION_REASSIGNMENTS,
        versions::DESCRIBE_USER_SCRAM_CREDENTIALS => DESCRIBE_USER_SCRAM_CREDENTIALS,
        versions::DESCRIBE_QUORUM => DESCRIBE_QUORUM,
        versions::UPDATE_FEATURES => UPDATE_FEATURES,
        versions::UNREGISTER_BROKER => UNREGISTER_BROKER,
        versions::DESCRIBE_CLIENT_QUOTAS => DESCRIBE_CLIENT_QUOTAS,
        versions::ALTER_CLIENT_QUOTAS => ALTER_CLIENT_QUOTAS,
        versions::DESCRIBE_CLUSTER => DESCRIBE_CLUSTER,
        versions::DESCRIBE_PRODUCERS => DESCRIBE_PRODUCERS,
        versions::DESCRIBE_TRANSACTIONS => DESCRIBE_TRANSACTIONS,
        versions::LIST_TRANSACTIONS => LIST_TRANSACTIONS,
        versions::CONSUMER_GROUP_HEARTBEAT => CONSUMER_GROUP_HEARTBEAT,
        versions::CONSUMER_GROUP_DESCRIBE => CONSUMER_GROUP_DESCRIBE,
        versions::LIST_CONFIG_RESOURCES => LIST_CONFIG_RESOURCES,
        versions::DESCRIBE_TOPIC_PARTITIONS => DESCRIBE_TOPIC_PARTITIONS,
        versions::SHARE_GROUP_HEARTBEAT => SHARE_GROUP_HEARTBEAT,
        versions::SHARE_GROUP_DESCRIBE => SHARE_GROUP_DESCRIBE,
        versions::SHARE_FETCH => SHARE_FETCH,
        versions::SHARE_ACKNOWLEDGE => SHARE_ACKNOWLEDGE,
        versions::INITIALIZE_SHARE_GROUP_STATE => INITIALIZE_SHARE_GROUP_STATE,
        versions::READ_SHARE_GROUP_STATE => READ_SHARE_GROUP_STATE,
        versions::WRITE_SHARE_GROUP_STATE => WRITE_SHARE_GROUP_STATE,
        versions::DELETE_SHARE_GROUP_STATE => DELETE_SHARE_GROUP_STATE,
        versions::READ_SHARE_GROUP_STATE_SUMMARY => READ_SHARE_GROUP_STATE_SUMMARY,
        versions::DESCRIBE_SHARE_GROUP_OFFSETS => DESCRIBE_SHARE_GROUP_OFFSETS,
        versions::ALTER_SHARE_GROUP_OFFSETS => ALTER_SHARE_GROUP_OFFSETS,
        versions::DELETE_SHARE_GROUP_OFFSETS => DELETE_SHARE_GROUP_OFFSETS,
        versions::STREAMS_GROUP_HEARTBEAT => STREAMS_GROUP_HEARTBEAT,
        versions::STREAMS_GROUP_DESCRIBE => STREAMS_GROUP_DESCRIBE,
        versions::STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE => STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE,
        _ => return None,
    })
}

const PRODUCE: &[Field] = &[
    text("TransactionalId", 3).nullable(3),
    fixed("Acks", 0, 2),
    fixed("TimeoutMs", 0, 4),
    list(
        "TopicData",
        0,
        &Kind::Struct(&[
            text("Name", 0).until(12),
            fixed("TopicId", 13, 16),
            list("PartitionData", 0, &Kind::Struct(&[fixed("Index", 0, 4), blob("Records", 0).nullable(0)])),
        ]),
    ),
];

const FETCH: &[Field] = &[
    text("ClusterId", 12).nullable(12).tagged(0),
    fixed("ReplicaId", 0, 4).until(14),
    part("ReplicaState", 15, &[fixed("ReplicaId", 15, 4), fixed("ReplicaEpoch", 15, 8)]).tagged(1),
    fixed("MaxWaitMs", 0, 4),
    fixed("MinBytes", 0, 4),
    fixed("MaxBytes", 3, 4),
    fixed("IsolationLevel", 4, 1),
    fixed("SessionId", 7, 4),
    fixed("SessionEpoch", 7, 4),
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            text("Topic", 0).until(12),
            fixed("TopicId", 13, 16),
            list(
                "Partitions",
                0,
                &Kind::Struct(&[
                    fixed("Partition", 0, 4),
                    fixed("CurrentLeaderEpoch", 9, 4),
                    fixed("FetchOffset", 0, 8),
                    fixed("LastFetchedEpoch", 12, 4),
                    fixed("LogStartOffset", 5, 8),
                    fixed("PartitionMaxBytes", 0, 4),
                    fixed("ReplicaDirectoryId", 17, 16).tagged(0),
                    fixed("HighWatermark", 18, 8).tagged(1),
                ]),
            ),
        ]),
    ),
    list(
        "ForgottenTopicsData",
        7,
        &Kind::Struct(&[
            text("Topic", 7).until(12),
            fixed("TopicId", 13, 16),
            list("Partitions", 7, &Kind::Fixed(4)),
        ]),
    ),
    text("RackId", 11),
];

const LIST_OFFSETS: &[Field] = &[
    fixed("ReplicaId", 0, 4),
    fixed("IsolationLevel", 2, 1),
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            text("Name", 0),
            list(
                "Partitions",
                0,
                &Kind::Struct(&[
                    fixed("PartitionIndex", 0, 4),
                    fixed("CurrentLeaderEpoch", 4, 4),
                    fixed("Timestamp", 0, 8),
                ]),
            ),
        ]),
    ),
    fixed("TimeoutMs", 10, 4),
];

const METADATA: &[Field] = &[
    list("Topics", 0, &Kind::Struct(&[fixed("TopicId", 10, 16), text("Name", 0).nullable(10)])).nullable(1),
    fixed("AllowAutoTopicCreation", 4, 1),
    fixed("IncludeClusterAuthorizedOperations", 8, 1).until(10),
    fixed("IncludeTopicAuthorizedOperations", 8, 1),
];

const OFFSET_COMMIT: &[Field] = &[
    text("GroupId", 0),
    fixed("GenerationIdOrMemberEpoch", 1, 4),
    text("MemberId", 1),
    text("GroupInstanceId", 7).nullable(7),
    fixed("RetentionTimeMs", 2, 8).until(4),
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            text("Name", 0).until(9),
            fixed("TopicId", 10, 16),
            list(
                "Partitions",
                0,
                &Kind::Struct(&[
                    fixed("PartitionIndex", 0, 4),
                    fixed("CommittedOffset", 0, 8),
                    fixed("CommittedLeaderEpoch", 6, 4),
                    text("CommittedMetadata", 0).nullable(0),
                ]),
            ),
        ]),
    ),
];

const OFFSET_FETCH: &[Field] = &[
    text("GroupId", 0).until(7),
    list(
        "Topics",
        0,
        &Kind::Struct(&[text("Name", 0).until(7), list("PartitionIndexes", 0, &Kind::Fixed(4)).until(7)]),
    )
    .until(7)
    .nullable(2),
    list(
        "Groups",
        8,
        &Kind::Struct(&[
            text("GroupId", 8),
            text("MemberId", 9).nullable(9),
            fixed("MemberEpoch", 9, 4),
            list(
                "Topics",
                8,
                &Kind::Struct(&[
                    text("Name", 8).until(9),
                    fixed("TopicId", 10, 16),
                    list("PartitionIndexes", 8, &Kind::Fixed(4)),
                ]),
            )
            .nullable(8),
        ]),
    ),
    fixed("RequireStable", 7, 1),
];

const FIND_COORDINATOR: &[Field] =
    &[text("Key", 0).until(3), fixed("KeyType", 1, 1), list("CoordinatorKeys", 4, &Kind::Text)];

const JOIN_GROUP: &[Field] = &[
    text("GroupId", 0),
    fixed("SessionTimeoutMs", 0, 4),
    fixed("RebalanceTimeoutMs", 1, 4),
    text("MemberId", 0),
    text("GroupInstanceId", 5).nullable(5),
    text("ProtocolType", 0),
    list("Protocols", 0, &Kind::Struct(&[text("Name", 0), blob("Metadata", 0)])),
    text("Reason", 8).nullable(8),
];

const HEARTBEAT: &[Field] = &[
    text("GroupId", 0),
    fixed("GenerationId", 0, 4),
    text("MemberId", 0),
    text("GroupInstanceId", 3).nullable(3),
];

const LEAVE_GROUP: &[Field] = &[
    text("GroupId", 0),
    text("MemberId", 0).until(2),
    list(
        "Members",
        3,
        &Kind::Struct(&[
            text("MemberId", 3),
            text("GroupInstanceId", 3).nullable(3),
            text("Reason", 5).nullable(5),
        ]),
    ),
];

const SYNC_GROUP: &[Field] = &[
    text("GroupId", 0),
    fixed("GenerationId", 0, 4),
    text("MemberId", 0),
    text("GroupInstanceId", 3).nullable(3),
    text("ProtocolType", 5).nullable(5),
    text("ProtocolName", 5).nullable(5),
    list("Assignments", 0, &Kind::Struct(&[text("MemberId", 0), blob("Assignment", 0)])),
];

const DESCRIBE_GROUPS: &[Field] =
    &[list("Groups", 0, &Kind::Text), fixed("IncludeAuthorizedOperations", 3, 1)];

const CONSUMER_GROUP_HEARTBEAT: &[Field] = &[
    text("GroupId", 0),
    text("MemberId", 0),
    fixed("MemberEpoch", 0, 4),
    text("InstanceId", 0).nullable(0),
    text("RackId", 0).nullable(0),
    fixed("RebalanceTimeoutMs", 0, 4),
    list("SubscribedTopicNames", 0, &Kind::Text).nullable(0),
    text("SubscribedTopicRegex", 1).nullable(1),
    text("ServerAssignor", 0).nullable(0),
    list(
        "TopicPartitions",
        0,
        &Kind::Struct(&[fixed("TopicId", 0, 16), list("Partitions", 0, &Kind::Fixed(4))]),
    )
    .nullable(0),
];

const CONSUMER_GROUP_DESCRIBE: &[Field] =
    &[list("GroupIds", 0, &Kind::Text), fixed("IncludeAuthorizedOperations", 0, 1)];

const LIST_GROUPS: &[Field] = &[list("StatesFilter", 4, &Kind::Text), list("TypesFilter", 5, &Kind::Text)];

const API_VERSIONS: &[Field] = &[
    text("ClientSoftwareName", 3),
    text("ClientSoftwareVersion", 3),
    text("ClusterId", 5).nullable(5),
    fixed("NodeId", 5, 4),
];

const CREATE_TOPICS: &[Field] = &[
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            text("Name", 0),
            fixed("NumPartitions", 0, 4),
            fixed("ReplicationFactor", 0, 2),
            list(
                "Assignments",
                0,
                &Kind::Struct(&[fixed("PartitionIndex", 0, 4), list("BrokerIds", 0, &Kind::Fixed(4))]),
            ),
            list("Configs", 0, &Kind::Struct(&[text("Name", 0), text("Value", 0).nullable(0)])),
        ]),
    ),
    fixed("timeoutMs", 0, 4),
    fixed("validateOnly", 1, 1),
];

const DELETE_TOPICS: &[Field] = &[
    list("Topics", 6, &Kind::Struct(&[text("Name", 6).nullable(6), fixed("TopicId", 6, 16)])),
    list("TopicNames", 0, &Kind::Text).until(5),
    fixed("TimeoutMs", 0, 4),
];

const DELETE_RECORDS: &[Field] = &[
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            text("Name", 0),
            list("Partitions", 0, &Kind::Struct(&[fixed("PartitionIndex", 0, 4), fixed("Offset", 0, 8)])),
        ]),
    ),
    fixed("TimeoutMs", 0, 4),
];

const INIT_PRODUCER_ID: &[Field] = &[
    text("TransactionalId", 0).nullable(0),
    fixed("TransactionTimeoutMs", 0, 4),
    fixed("ProducerId", 3, 8),
    fixed("ProducerEpoch", 3, 2),
    fixed("Enable2Pc", 6, 1),
    fixed("KeepPreparedTxn", 6, 1),
];

const OFFSET_FOR_LEADER_EPOCH: &[Field] = &[
    fixed("ReplicaId", 3, 4),
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            text("Topic", 0),
            list(
                "Partitions",
                0,
                &Kind::Struct(&[
                    fixed("Partition", 0, 4),
                    fixed("CurrentLeaderEpoch", 2, 4),
                    fixed("LeaderEpoch", 0, 4),
                ]),
            ),
        ]),
    ),
];

const DESCRIBE_ACLS: &[Field] = &[
    fixed("ResourceTypeFilter", 0, 1),
    text("ResourceNameFilter", 0).nullable(0),
    fixed("PatternTypeFilter", 1, 1),
    text("PrincipalFilter", 0).nullable(0),
    text("HostFilter", 0).nullable(0),
    fixed("Operation", 0, 1),
    fixed("PermissionType", 0, 1),
];

const CREATE_ACLS: &[Field] = &[list(
    "Creations",
    0,
    &Kind::Struct(&[
        fixed("ResourceType", 0, 1),
        text("ResourceName", 0),
        fixed("ResourcePatternType", 1, 1),
        text("Principal", 0),
        text("Host", 0),
        fixed("Operation", 0, 1),
        fixed("PermissionType", 0, 1),
    ]),
)];

const DELETE_ACLS: &[Field] = &[list(
    "Filters",
    0,
    &Kind::Struct(&[
        fixed("ResourceTypeFilter", 0, 1),
        text("ResourceNameFilter", 0).nullable(0),
        fixed("PatternTypeFilter", 1, 1),
        text("PrincipalFilter", 0).nullable(0),
        text("HostFilter", 0).nullable(0),
        fixed("Operation", 0, 1),
        fixed("PermissionType", 0, 1),
    ]),
)];

const DESCRIBE_CONFIGS: &[Field] = &[
    list(
        "Resources",
        0,
        &Kind::Struct(&[
            fixed("ResourceType", 0, 1),
            text("ResourceName", 0),
            list("ConfigurationKeys", 0, &Kind::Text).nullable(0),
        ]),
    ),
    fixed("IncludeSynonyms", 1, 1),
    fixed("IncludeDocumentation", 3, 1),
];

const ALTER_CONFIGS: &[Field] = &[
    list(
        "Resources",
        0,
        &Kind::Struct(&[
            fixed("ResourceType", 0, 1),
            text("ResourceName", 0),
            list("Configs", 0, &Kind::Struct(&[text("Name", 0), text("Value", 0).nullable(0)])),
        ]),
    ),
    fixed("ValidateOnly", 0, 1),
];

const DESCRIBE_LOG_DIRS: &[Field] =
    &[list("Topics", 0, &Kind::Struct(&[text("Topic", 0), list("Partitions", 0, &Kind::Fixed(4))]))
        .nullable(0)];

const CREATE_PARTITIONS: &[Field] = &[
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            text("Name", 0),
            fixed("Count", 0, 4),
            list("Assignments", 0, &Kind::Struct(&[list("BrokerIds", 0, &Kind::Fixed(4))])).nullable(0),
        ]),
    ),
    fixed("TimeoutMs", 0, 4),
    fixed("ValidateOnly", 0, 1),
];

const DELETE_GROUPS: &[Field] = &[list("GroupsNames", 0, &Kind::Text)];

const INCREMENTAL_ALTER_CONFIGS: &[Field] = &[
    list(
        "Resources",
        0,
        &Kind::Struct(&[
            fixed("ResourceType", 0, 1),
            text("ResourceName", 0),
            list(
                "Configs",
                0,
                &Kind::Struct(&[
                    text("Name", 0),
                    fixed("ConfigOperation", 0, 1),
                    text("Value", 0).nullable(0),
                ]),
            ),
        ]),
    ),
    fixed("ValidateOnly", 0, 1),
];

const LIST_PARTITION_REASSIGNMENTS: &[Field] = &[
    fixed("TimeoutMs", 0, 4),
    list("Topics", 0, &Kind::Struct(&[text("Name", 0), list("PartitionIndexes", 0, &Kind::Fixed(4))]))
        .nullable(0),
];

const OFFSET_DELETE: &[Field] = &[
    text("GroupId", 0),
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            text("Name", 0),
            list("Partitions", 0, &Kind::Struct(&[fixed("PartitionIndex", 0, 4)])),
        ]),
    ),
];

const GET_TELEMETRY_SUBSCRIPTIONS: &[Field] = &[fixed("ClientInstanceId", 0, 16)];

const PUSH_TELEMETRY: &[Field] = &[
    fixed("ClientInstanceId", 0, 16),
    fixed("SubscriptionId", 0, 4),
    fixed("Terminating", 0, 1),
    fixed("CompressionType", 0, 1),
    blob("Metrics", 0),
];

const ALTER_REPLICA_LOG_DIRS: &[Field] = &[list(
    "Dirs",
    0,
    &Kind::Struct(&[
        text("Path", 0),
        list("Topics", 0, &Kind::Struct(&[text("Name", 0), list("Partitions", 0, &Kind::Fixed(4))])),
    ]),
)];

const ELECT_LEADERS: &[Field] = &[
    fixed("ElectionType", 1, 1),
    list("TopicPartitions", 0, &Kind::Struct(&[text("Topic", 0), list("Partitions", 0, &Kind::Fixed(4))]))
        .nullable(0),
    fixed("TimeoutMs", 0, 4),
];

const ALTER_PARTITION_REASSIGNMENTS: &[Field] = &[
    fixed("TimeoutMs", 0, 4),
    fixed("AllowReplicationFactorChange", 1, 1),
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            text("Name", 0),
            list(
                "Partitions",
                0,
                &Kind::Struct(&[
                    fixed("PartitionIndex", 0, 4),
                    list("Replicas", 0, &Kind::Fixed(4)).nullable(0),
                ]),
            ),
        ]),
    ),
];

const DESCRIBE_USER_SCRAM_CREDENTIALS: &[Field] =
    &[list("Users", 0, &Kind::Struct(&[text("Name", 0)])).nullable(0)];

const DESCRIBE_QUORUM: &[Field] = &[list(
    "Topics",
    0,
    &Kind::Struct(&[
        text("TopicName", 0),
        list("Partitions", 0, &Kind::Struct(&[fixed("PartitionIndex", 0, 4)])),
    ]),
)];

const UPDATE_FEATURES: &[Field] = &[
    fixed("timeoutMs", 0, 4),
    list(
        "FeatureUpdates",
        0,
        &Kind::Struct(&[
            text("Feature", 0),
            fixed("MaxVersionLevel", 0, 2),
            fixed("AllowDowngrade", 0, 1).until(0),
            fixed("UpgradeType", 1, 1),
        ]),
    ),
    fixed("ValidateOnly", 1, 1),
];

const UNREGISTER_BROKER: &[Field] = &[fixed("BrokerId", 0, 4)];

const DESCRIBE_CLIENT_QUOTAS: &[Field] = &[
    list(
        "Components",
        0,
        &Kind::Struct(&[text("EntityType", 0), fixed("MatchType", 0, 1), text("Match", 0).nullable(0)]),
    ),
    fixed("Strict", 0, 1),
];

const ALTER_CLIENT_QUOTAS: &[Field] = &[
    list(
        "Entries",
        0,
        &Kind::Struct(&[
            list("Entity", 0, &Kind::Struct(&[text("EntityType", 0), text("EntityName", 0).nullable(0)])),
            list("Ops", 0, &Kind::Struct(&[text("Key", 0), fixed("Value", 0, 8), fixed("Remove", 0, 1)])),
        ]),
    ),
    fixed("ValidateOnly", 0, 1),
];

const DESCRIBE_CLUSTER: &[Field] = &[
    fixed("IncludeClusterAuthorizedOperations", 0, 1),
    fixed("EndpointType", 1, 1),
    fixed("IncludeFencedBrokers", 2, 1),
];

const DESCRIBE_PRODUCERS: &[Field] =
    &[list("Topics", 0, &Kind::Struct(&[text("Name", 0), list("PartitionIndexes", 0, &Kind::Fixed(4))]))];

const LIST_CONFIG_RESOURCES: &[Field] = &[list("ResourceTypes", 1, &Kind::Fixed(1))];

const DESCRIBE_TOPIC_PARTITIONS: &[Field] = &[
    list("Topics", 0, &Kind::Struct(&[text("Name", 0)])),
    fixed("ResponsePartitionLimit", 0, 4),
    part("Cursor", 0, &[text("TopicName", 0), fixed("PartitionIndex", 0, 4)]).nullable(0),
];

const TXN_TOPICS: &[Field] = &[text("Name", 0), list("Partitions", 0, &Kind::Fixed(4))];

const ADD_PARTITIONS_TO_TXN: &[Field] = &[
    list(
        "Transactions",
        4,
        &Kind::Struct(&[
            text("TransactionalId", 4),
            fixed("ProducerId", 4, 8),
            fixed("ProducerEpoch", 4, 2),
            fixed("VerifyOnly", 4, 1),
            list("Topics", 4, &Kind::Struct(TXN_TOPICS)),
        ]),
    ),
    text("V3AndBelowTransactionalId", 0).until(3),
    fixed("V3AndBelowProducerId", 0, 8).until(3),
    fixed("V3AndBelowProducerEpoch", 0, 2).until(3),
    list("V3AndBelowTopics", 0, &Kind::Struct(TXN_TOPICS)).until(3),
];

const ADD_OFFSETS_TO_TXN: &[Field] = &[
    text("TransactionalId", 0),
    fixed("ProducerId", 0, 8),
    fixed("ProducerEpoch", 0, 2),
    text("GroupId", 0),
];

const END_TXN: &[Field] = &[
    text("TransactionalId", 0),
    fixed("ProducerId", 0, 8),
    fixed("ProducerEpoch", 0, 2),
    fixed("Committed", 0, 1),
];

const WRITE_TXN_MARKERS: &[Field] = &[list(
    "Markers",
    0,
    &Kind::Struct(&[
        fixed("ProducerId", 0, 8),
        fixed("ProducerEpoch", 0, 2),
        fixed("TransactionResult", 0, 1),
        list("Topics", 0, &Kind::Struct(&[text("Name", 0), list("PartitionIndexes", 0, &Kind::Fixed(4))])),
        fixed("CoordinatorEpoch", 0, 4),
        fixed("TransactionVersion", 2, 1),
    ]),
)];

const TXN_OFFSET_COMMIT: &[Field] = &[
    text("TransactionalId", 0),
    text("GroupId", 0),
    fixed("ProducerId", 0, 8),
    fixed("ProducerEpoch", 0, 2),
    fixed("GenerationIdOrMemberEpoch", 3, 4),
    text("MemberId", 3),
    text("GroupInstanceId", 3).nullable(3),
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            text("Name", 0).until(5),
            fixed("TopicId", 6, 16),
            list(
                "Partitions",
                0,
                &Kind::Struct(&[
                    fixed("PartitionIndex", 0, 4),
                    fixed("CommittedOffset", 0, 8),
                    fixed("CommittedLeaderEpoch", 2, 4),
                    text("CommittedMetadata", 0).nullable(0),
                ]),
            ),
        ]),
    ),
];

const DESCRIBE_TRANSACTIONS: &[Field] = &[list("TransactionalIds", 0, &Kind::Text)];

const LIST_TRANSACTIONS: &[Field] = &[
    list("StateFilters", 0, &Kind::Text),
    list("ProducerIdFilters", 0, &Kind::Fixed(8)),
    fixed("DurationFilter", 1, 8),
    text("TransactionalIdPattern", 2).nullable(2),
];

const SHARE_GROUP_HEARTBEAT: &[Field] = &[
    text("GroupId", 0),
    text("MemberId", 0),
    fixed("MemberEpoch", 0, 4),
    text("RackId", 0).nullable(0),
    list("SubscribedTopicNames", 0, &Kind::Text).nullable(0),
];

const SHARE_GROUP_DESCRIBE: &[Field] =
    &[list("GroupIds", 0, &Kind::Text), fixed("IncludeAuthorizedOperations", 0, 1)];

/// Which records of a share-partition a client is done with.
const ACKNOWLEDGEMENT_BATCHES: Field = list(
    "AcknowledgementBatches",
    0,
    &Kind::Struct(&[
        fixed("FirstOffset", 0, 8),
        fixed("LastOffset", 0, 8),
        list("AcknowledgeTypes", 0, &Kind::Fixed(1)),
    ]),
);

const SHARE_FETCH: &[Field] = &[
    text("GroupId", 0).nullable(0),
    text("MemberId", 0).nullable(0),
    fixed("ShareSessionEpoch", 0, 4),
    fixed("MaxWaitMs", 0, 4),
    fixed("MinBytes", 0, 4),
    fixed("MaxBytes", 0, 4),
    fixed("MaxRecords", 1, 4),
    fixed("BatchSize", 1, 4),
    fixed("ShareAcquireMode", 2, 1),
    fixed("IsRenewAck", 2, 1),
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            fixed("TopicId", 0, 16),
            list(
                "Partitions",
                0,
                &Kind::Struct(&[
                    fixed("PartitionIndex", 0, 4),
                    fixed("PartitionMaxBytes", 0, 4).until(0),
                    ACKNOWLEDGEMENT_BATCHES,
                ]),
            ),
        ]),
    ),
    list(
        "ForgottenTopicsData",
        0,
        &Kind::Struct(&[fixed("TopicId", 0, 16), list("Partitions", 0, &Kind::Fixed(4))]),
    ),
];

const SHARE_ACKNOWLEDGE: &[Field] = &[
    text("GroupId", 0).nullable(0),
    text("MemberId", 0).nullable(0),
    fixed("ShareSessionEpoch", 0, 4),
    fixed("IsRenewAck", 2, 1),
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            fixed("TopicId", 0, 16),
            list("Partitions", 0, &Kind::Struct(&[fixed("PartitionIndex", 0, 4), ACKNOWLEDGEMENT_BATCHES])),
        ]),
    ),
];

/// What the share state requests have in common: a group, and partitions by topic id.
macro_rules! share_state {
    ($($field:expr),+ $(,)?) => {
        &[
            text("GroupId", 0),
            list(
                "Topics",
                0,
                &Kind::Struct(&[
                    fixed("TopicId", 0, 16),
                    list("Partitions", 0, &Kind::Struct(&[fixed("Partition", 0, 4), $($field),+])),
                ]),
            ),
        ]
    };
}

const INITIALIZE_SHARE_GROUP_STATE: &[Field] =
    share_state![fixed("StateEpoch", 0, 4), fixed("StartOffset", 0, 8)];

const READ_SHARE_GROUP_STATE: &[Field] = share_state![fixed("LeaderEpoch", 0, 4)];

const WRITE_SHARE_GROUP_STATE: &[Field] = share_state![
    fixed("StateEpoch", 0, 4),
    fixed("LeaderEpoch", 0, 4),
    fixed("StartOffset", 0, 8),
    fixed("DeliveryCompleteCount", 1, 4),
    list(
        "StateBatches",
        0,
        &Kind::Struct(&[
            fixed("FirstOffset", 0, 8),
            fixed("LastOffset", 0, 8),
            fixed("DeliveryState", 0, 1),
            fixed("DeliveryCount", 0, 2),
        ]),
    ),
];

const DELETE_SHARE_GROUP_STATE: &[Field] = &[
    text("GroupId", 0),
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            fixed("TopicId", 0, 16),
            list("Partitions", 0, &Kind::Struct(&[fixed("Partition", 0, 4)])),
        ]),
    ),
];

const READ_SHARE_GROUP_STATE_SUMMARY: &[Field] = share_state![fixed("LeaderEpoch", 0, 4)];

const DESCRIBE_SHARE_GROUP_OFFSETS: &[Field] = &[list(
    "Groups",
    0,
    &Kind::Struct(&[
        text("GroupId", 0),
        list("Topics", 0, &Kind::Struct(&[text("TopicName", 0), list("Partitions", 0, &Kind::Fixed(4))]))
            .nullable(0),
    ]),
)];

const ALTER_SHARE_GROUP_OFFSETS: &[Field] = &[
    text("GroupId", 0),
    list(
        "Topics",
        0,
        &Kind::Struct(&[
            text("TopicName", 0),
            list(
                "Partitions",
                0,
                &Kind::Struct(&[fixed("PartitionIndex", 0, 4), fixed("StartOffset", 0, 8)]),
            ),
        ]),
    ),
];

const DELETE_SHARE_GROUP_OFFSETS: &[Field] =
    &[text("GroupId", 0), list("Topics", 0, &Kind::Struct(&[text("TopicName", 0)]))];

const KEY_VALUE: &[Field] = &[text("Key", 0), text("Value", 0)];

const TASK_IDS: &[Field] = &[text("SubtopologyId", 0), list("Partitions", 0, &Kind::Fixed(4))];

const TASK_OFFSET: &[Field] = &[text("SubtopologyId", 0), fixed("Partition", 0, 4), fixed("Offset", 0, 8)];

const INTERNAL_TOPIC: &[Field] = &[
    text("Name", 0),
    fixed("Partitions", 0, 4),
    fixed("ReplicationFactor", 0, 2),
    list("TopicConfigs", 0, &Kind::Struct(KEY_VALUE)),
];

const SUBTOPOLOGY: &[Field] = &[
    text("SubtopologyId", 0),
    list("SourceTopics", 0, &Kind::Text),
    list("SourceTopicRegex", 0, &Kind::Text),
    list("StateChangelogTopics", 0, &Kind::Struct(INTERNAL_TOPIC)),
    list("RepartitionSinkTopics", 0, &Kind::Text),
    list("RepartitionSourceTopics", 0, &Kind::Struct(INTERNAL_TOPIC)),
    list(
        "CopartitionGroups",
        0,
        &Kind::Struct(&[
            list("SourceTopics", 0, &Kind::Fixed(2)),
            list("SourceTopicRegex", 0, &Kind::Fixed(2)),
            list("RepartitionSourceTopics", 0, &Kind::Fixed(2)),
        ]),
    ),
];

const STREAMS_GROUP_HEARTBEAT: &[Field] = &[
    text("GroupId", 0),
    text("MemberId", 0),
    fixed("MemberEpoch", 0, 4),
    fixed("EndpointInformationEpoch", 0, 4),
    text("InstanceId", 0).nullable(0),
    text("RackId", 0).nullable(0),
    fixed("RebalanceTimeoutMs", 0, 4),
    part("Topology", 0, &[fixed("Epoch", 0, 4), list("Subtopologies", 0, &Kind::Struct(SUBTOPOLOGY))])
        .nullable(0),
    list("ActiveTasks", 0, &Kind::Struct(TASK_IDS)).nullable(0),
    list("StandbyTasks", 0, &Kind::Struct(TASK_IDS)).nullable(0),
    list("WarmupTasks", 0, &Kind::Struct(TASK_IDS)).nullable(0),
    text("ProcessId", 0).nullable(0),
    part("UserEndpoint", 0, &[text("Host", 0), fixed("Port", 0, 2)]).nullable(0),
    list("ClientTags", 0, &Kind::Struct(KEY_VALUE)).nullable(0),
    list("TaskOffsets", 0, &Kind::Struct(TASK_OFFSET)).nullable(0),
    list("TaskEndOffsets", 0, &Kind::Struct(TASK_OFFSET)).nullable(0),
    fixed("ShutdownApplication", 0, 1),
];

const STREAMS_GROUP_DESCRIBE: &[Field] = &[
    list("GroupIds", 0, &Kind::Text),
    fixed("IncludeAuthorizedOperations", 0, 1),
    fixed("IncludeTopologyDescription", 1, 1),
];

const TOPOLOGY_NODE: &[Field] = &[
    text("Name", 0),
    fixed("NodeType", 0, 1),
    list("SourceTopics", 0, &Kind::Text),
    text("SinkTopic", 0).nullable(0),
    list("Stores", 0, &Kind::Text),
    list("Successors", 0, &Kind::Text),
];

const STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE: &[Field] = &[
    text("GroupId", 0),
    text("MemberId", 0),
    fixed("TopologyEpoch", 0, 4),
    part(
        "TopologyDescription",
        0,
        &[
            list(
                "Subtopologies",
                0,
                &Kind::Struct(&[text("SubtopologyId", 0), list("Nodes", 0, &Kind::Struct(TOPOLOGY_NODE))]),
            ),
            list(
                "GlobalStores",
                0,
                &Kind::Struct(&[part("Source", 0, TOPOLOGY_NODE), part("Processor", 0, TOPOLOGY_NODE)]),
            ),
        ],
    ),
];
