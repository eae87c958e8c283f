//! Kafka's error numbers, as every response carries them, and what a client does with each.

/// An error code of the Kafka protocol (class `Errors` of Apache Kafka 4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(i16)]
pub enum ErrorCode {
    /// `UNKNOWN_SERVER_ERROR`
    UnknownServerError = -1,
    /// `NONE`
    None = 0,
    /// `OFFSET_OUT_OF_RANGE`
    OffsetOutOfRange = 1,
    /// `CORRUPT_MESSAGE`
    CorruptMessage = 2,
    /// `UNKNOWN_TOPIC_OR_PARTITION`
    UnknownTopicOrPartition = 3,
    /// `INVALID_FETCH_SIZE`
    InvalidFetchSize = 4,
    /// `LEADER_NOT_AVAILABLE`
    LeaderNotAvailable = 5,
    /// `NOT_LEADER_OR_FOLLOWER`
    NotLeaderOrFollower = 6,
    /// `REQUEST_TIMED_OUT`
    RequestTimedOut = 7,
    /// `BROKER_NOT_AVAILABLE`
    BrokerNotAvailable = 8,
    /// `REPLICA_NOT_AVAILABLE`
    ReplicaNotAvailable = 9,
    /// `MESSAGE_TOO_LARGE`
    MessageTooLarge = 10,
    /// `STALE_CONTROLLER_EPOCH`
    StaleControllerEpoch = 11,
    /// `OFFSET_METADATA_TOO_LARGE`
    OffsetMetadataTooLarge = 12,
    /// `NETWORK_EXCEPTION`
    NetworkException = 13,
    /// `COORDINATOR_LOAD_IN_PROGRESS`
    CoordinatorLoadInProgress = 14,
    /// `COORDINATOR_NOT_AVAILABLE`
    CoordinatorNotAvailable = 15,
    /// `NOT_COORDINATOR`
    NotCoordinator = 16,
    /// `INVALID_TOPIC_EXCEPTION`
    InvalidTopicException = 17,
    /// `RECORD_LIST_TOO_LARGE`
    RecordListTooLarge = 18,
    /// `NOT_ENOUGH_REPLICAS`
    NotEnoughReplicas = 19,
    /// `NOT_ENOUGH_REPLICAS_AFTER_APPEND`
    NotEnoughReplicasAfterAppend = 20,
    /// `INVALID_REQUIRED_ACKS`
    InvalidRequiredAcks = 21,
    /// `ILLEGAL_GENERATION`
    IllegalGeneration = 22,
    /// `INCONSISTENT_GROUP_PROTOCOL`
    InconsistentGroupProtocol = 23,
    /// `INVALID_GROUP_ID`
    InvalidGroupId = 24,
    /// `UNKNOWN_MEMBER_ID`
    UnknownMemberId = 25,
    /// `INVALID_SESSION_TIMEOUT`
    InvalidSessionTimeout = 26,
    /// `REBALANCE_IN_PROGRESS`
    RebalanceInProgress = 27,
    /// `INVALID_COMMIT_OFFSET_SIZE`
    InvalidCommitOffsetSize = 28,
    /// `TOPIC_AUTHORIZATION_FAILED`
    TopicAuthorizationFailed = 29,
    /// `GROUP_AUTHORIZATION_FAILED`
    GroupAuthorizationFailed = 30,
    /// `CLUSTER_AUTHORIZATION_FAILED`
    ClusterAuthorizationFailed = 31,
    /// `INVALID_TIMESTAMP`
    InvalidTimestamp = 32,
    /// `UNSUPPORTED_SASL_MECHANISM`
    UnsupportedSaslMechanism = 33,
    /// `ILLEGAL_SASL_STATE`
    IllegalSaslState = 34,
    /// `UNSUPPORTED_VERSION`
    UnsupportedVersion = 35,
    /// `TOPIC_ALREADY_EXISTS`
    TopicAlreadyExists = 36,
    /// `INVALID_PARTITIONS`
    InvalidPartitions = 37,
    /// `INVALID_REPLICATION_FACTOR`
    InvalidReplicationFactor = 38,
    /// `INVALID_REPLICA_ASSIGNMENT`
    InvalidReplicaAssignment = 39,
    /// `INVALID_CONFIG`
    InvalidConfig = 40,
    /// `NOT_CONTROLLER`
    NotController = 41,
    /// `INVALID_REQUEST`
    InvalidRequest = 42,
    /// `UNSUPPORTED_FOR_MESSAGE_FORMAT`
    UnsupportedForMessageFormat = 43,
    /// `POLICY_VIOLATION`
    PolicyViolation = 44,
    /// `OUT_OF_ORDER_SEQUENCE_NUMBER`
    OutOfOrderSequenceNumber = 45,
    /// `DUPLICATE_SEQUENCE_NUMBER`
    DuplicateSequenceNumber = 46,
    /// `INVALID_PRODUCER_EPOCH`
    InvalidProducerEpoch = 47,
    /// `INVALID_TXN_STATE`
    InvalidTxnState = 48,
    /// `INVALID_PRODUCER_ID_MAPPING`
    InvalidProducerIdMapping = 49,
    /// `INVALID_TRANSACTION_TIMEOUT`
    InvalidTransactionTimeout = 50,
    /// `CONCURRENT_TRANSACTIONS`
    ConcurrentTransactions = 51,
    /// `TRANSACTION_COORDINATOR_FENCED`
    TransactionCoordinatorFenced = 52,
    /// `TRANSACTIONAL_ID_AUTHORIZATION_FAILED`
    TransactionalIdAuthorizationFailed = 53,
    /// `SECURITY_DISABLED`
    SecurityDisabled = 54,
    /// `OPERATION_NOT_ATTEMPTED`
    OperationNotAttempted = 55,
    /// `KAFKA_STORAGE_ERROR`
    KafkaStorageError = 56,
    /// `LOG_DIR_NOT_FOUND`
    LogDirNotFound = 57,
    /// `SASL_AUTHENTICATION_FAILED`
    SaslAuthenticationFailed = 58,
    /// `UNKNOWN_PRODUCER_ID`
    UnknownProducerId = 59,
    /// `REASSIGNMENT_IN_PROGRESS`
    ReassignmentInProgress = 60,
    /// `DELEGATION_TOKEN_AUTH_DISABLED`
    DelegationTokenAuthDisabled = 61,
    /// `DELEGATION_TOKEN_NOT_FOUND`
    DelegationTokenNotFound = 62,
    /// `DELEGATION_TOKEN_OWNER_MISMATCH`
    DelegationTokenOwnerMismatch = 63,
    /// `DELEGATION_TOKEN_REQUEST_NOT_ALLOWED`
    DelegationTokenRequestNotAllowed = 64,
    /// `DELEGATION_TOKEN_AUTHORIZATION_FAILED`
    DelegationTokenAuthorizationFailed = 65,
    /// `DELEGATION_TOKEN_EXPIRED`
    DelegationTokenExpired = 66,
    /// `INVALID_PRINCIPAL_TYPE`
    InvalidPrincipalType = 67,
    /// `NON_EMPTY_GROUP`
    NonEmptyGroup = 68,
    /// `GROUP_ID_NOT_FOUND`
    GroupIdNotFound = 69,
    /// `FETCH_SESSION_ID_NOT_FOUND`
    FetchSessionIdNotFound = 70,
    /// `INVALID_FETCH_SESSION_EPOCH`
    InvalidFetchSessionEpoch = 71,
    /// `LISTENER_NOT_FOUND`
    ListenerNotFound = 72,
    /// `TOPIC_DELETION_DISABLED`
    TopicDeletionDisabled = 73,
    /// `FENCED_LEADER_EPOCH`
    FencedLeaderEpoch = 74,
    /// `UNKNOWN_LEADER_EPOCH`
    UnknownLeaderEpoch = 75,
    /// `UNSUPPORTED_COMPRESSION_TYPE`
    UnsupportedCompressionType = 76,
    /// `STALE_BROKER_EPOCH`
    StaleBrokerEpoch = 77,
    /// `OFFSET_NOT_AVAILABLE`
    OffsetNotAvailable = 78,
    /// `MEMBER_ID_REQUIRED`
    MemberIdRequired = 79,
    /// `PREFERRED_LEADER_NOT_AVAILABLE`
    PreferredLeaderNotAvailable = 80,
    /// `GROUP_MAX_SIZE_REACHED`
    GroupMaxSizeReached = 81,
    /// `FENCED_INSTANCE_ID`
    FencedInstanceId = 82,
    /// `ELIGIBLE_LEADERS_NOT_AVAILABLE`
    EligibleLeadersNotAvailable = 83,
    /// `ELECTION_NOT_NEEDED`
    ElectionNotNeeded = 84,
    /// `NO_REASSIGNMENT_IN_PROGRESS`
    NoReassignmentInProgress = 85,
    /// `GROUP_SUBSCRIBED_TO_TOPIC`
    GroupSubscribedToTopic = 86,
    /// `INVALID_RECORD`
    InvalidRecord = 87,
    /// `UNSTABLE_OFFSET_COMMIT`
    UnstableOffsetCommit = 88,
    /// `THROTTLING_QUOTA_EXCEEDED`
    ThrottlingQuotaExceeded = 89,
    /// `PRODUCER_FENCED`
    ProducerFenced = 90,
    /// `RESOURCE_NOT_FOUND`
    ResourceNotFound = 91,
    /// `DUPLICATE_RESOURCE`
    DuplicateResource = 92,
    /// `UNACCEPTABLE_CREDENTIAL`
    UnacceptableCredential = 93,
    /// `INCONSISTENT_VOTER_SET`
    InconsistentVoterSet = 94,
    /// `INVALID_UPDATE_VERSION`
    InvalidUpdateVersion = 95,
    /// `FEATURE_UPDATE_FAILED`
    FeatureUpdateFailed = 96,
    /// `PRINCIPAL_DESERIALIZATION_FAILURE`
    PrincipalDeserializationFailure = 97,
    /// `SNAPSHOT_NOT_FOUND`
    SnapshotNotFound = 98,
    /// `POSITION_OUT_OF_RANGE`
    PositionOutOfRange = 99,
    /// `UNKNOWN_TOPIC_ID`
    UnknownTopicId = 100,
    /// `DUPLICATE_BROKER_REGISTRATION`
    DuplicateBrokerRegistration = 101,
    /// `BROKER_ID_NOT_REGISTERED`
    BrokerIdNotRegistered = 102,
    /// `INCONSISTENT_TOPIC_ID`
    InconsistentTopicId = 103,
    /// `INCONSISTENT_CLUSTER_ID`
    InconsistentClusterId = 104,
    /// `TRANSACTIONAL_ID_NOT_FOUND`
    TransactionalIdNotFound = 105,
    /// `FETCH_SESSION_TOPIC_ID_ERROR`
    FetchSessionTopicIdError = 106,
    /// `INELIGIBLE_REPLICA`
    IneligibleReplica = 107,
    /// `NEW_LEADER_ELECTED`
    NewLeaderElected = 108,
    /// `OFFSET_MOVED_TO_TIERED_STORAGE`
    OffsetMovedToTieredStorage = 109,
    /// `FENCED_MEMBER_EPOCH`
    FencedMemberEpoch = 110,
    /// `UNRELEASED_INSTANCE_ID`
    UnreleasedInstanceId = 111,
    /// `UNSUPPORTED_ASSIGNOR`
    UnsupportedAssignor = 112,
    /// `STALE_MEMBER_EPOCH`
    StaleMemberEpoch = 113,
    /// `MISMATCHED_ENDPOINT_TYPE`
    MismatchedEndpointType = 114,
    /// `UNSUPPORTED_ENDPOINT_TYPE`
    UnsupportedEndpointType = 115,
    /// `UNKNOWN_CONTROLLER_ID`
    UnknownControllerId = 116,
    /// `UNKNOWN_SUBSCRIPTION_ID`
    UnknownSubscriptionId = 117,
    /// `TELEMETRY_TOO_LARGE`
    TelemetryTooLarge = 118,
    /// `INVALID_REGISTRATION`
    InvalidRegistration = 119,
    /// `TRANSACTION_ABORTABLE`
    TransactionAbortable = 120,
    /// `INVALID_RECORD_STATE`
    InvalidRecordState = 121,
    /// `SHARE_SESSION_NOT_FOUND`
    ShareSessionNotFound = 122,
    /// `INVALID_SHARE_SESSION_EPOCH`
    InvalidShareSessionEpoch = 123,
    /// `FENCED_STATE_EPOCH`
    FencedStateEpoch = 124,
    /// `INVALID_VOTER_KEY`
    InvalidVoterKey = 125,
    /// `DUPLICATE_VOTER`
    DuplicateVoter = 126,
    /// `VOTER_NOT_FOUND`
    VoterNotFound = 127,
    /// `INVALID_REGULAR_EXPRESSION`
    InvalidRegularExpression = 128,
    /// `REBOOTSTRAP_REQUIRED`
    RebootstrapRequired = 129,
    /// `STREAMS_INVALID_TOPOLOGY`
    StreamsInvalidTopology = 130,
    /// `STREAMS_INVALID_TOPOLOGY_EPOCH`
    StreamsInvalidTopologyEpoch = 131,
    /// `STREAMS_TOPOLOGY_FENCED`
    StreamsTopologyFenced = 132,
    /// `SHARE_SESSION_LIMIT_REACHED`
    ShareSessionLimitReached = 133,
    /// `GROUP_DELETION_FAILED`
    GroupDeletionFailed = 134,
    /// `STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED`
    StreamsTopologyDescriptionUpdateFailed = 135,
    /// `CONTROLLER_ID_NOT_REGISTERED`
    ControllerIdNotRegistered = 136,
}

use ErrorCode as E;

/// Every code with its protocol name.
const TABLE: &[(ErrorCode, &str)] = &[
    (E::UnknownServerError, "UNKNOWN_SERVER_ERROR"),
    (E::None, "NONE"),
    (E::OffsetOutOfRange, "OFFSET_OUT_OF_RANGE"),
    (E::CorruptMessage, "CORRUPT_MESSAGE"),
    (E::UnknownTopicOrPartition, "UNKNOWN_TOPIC_OR_PARTITION"),
    (E::InvalidFetchSize, "INVALID_FETCH_SIZE"),
    (E::LeaderNotAvailable, "LEADER_NOT_AVAILABLE"),
    (E::NotLeaderOrFollower, "NOT_LEADER_OR_FOLLOWER"),
    (E::RequestTimedOut, "REQUEST_TIMED_OUT"),
    (E::BrokerNotAvailable, "BROKER_NOT_AVAILABLE"),
    (E::ReplicaNotAvailable, "REPLICA_NOT_AVAILABLE"),
    (E::MessageTooLarge, "MESSAGE_TOO_LARGE"),
    (E::StaleControllerEpoch, "STALE_CONTROLLER_EPOCH"),
    (E::OffsetMetadataTooLarge, "OFFSET_METADATA_TOO_LARGE"),
    (E::NetworkException, "NETWORK_EXCEPTION"),
    (E::CoordinatorLoadInProgress, "COORDINATOR_LOAD_IN_PROGRESS"),
    (E::CoordinatorNotAvailable, "COORDINATOR_NOT_AVAILABLE"),
    (E::NotCoordinator, "NOT_COORDINATOR"),
    (E::InvalidTopicException, "INVALID_TOPIC_EXCEPTION"),
    (E::RecordListTooLarge, "RECORD_LIST_TOO_LARGE"),
    (E::NotEnoughReplicas, "NOT_ENOUGH_REPLICAS"),
    (E::NotEnoughReplicasAfterAppend, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"),
    (E::InvalidRequiredAcks, "INVALID_REQUIRED_ACKS"),
    (E::IllegalGeneration, "ILLEGAL_GENERATION"),
    (E::InconsistentGroupProtocol, "INCONSISTENT_GROUP_PROTOCOL"),
    (E::InvalidGroupId, "INVALID_GROUP_ID"),
    (E::UnknownMemberId, "UNKNOWN_MEMBER_ID"),
    (E::InvalidSessionTimeout, "INVALID_SESSION_TIMEOUT"),
    (E::RebalanceInProgress, "REBALANCE_IN_PROGRESS"),
    (E::InvalidCommitOffsetSize, "INVALID_COMMIT_OFFSET_SIZE"),
    (E::TopicAuthorizationFailed, "TOPIC_AUTHORIZATION_FAILED"),
    (E::GroupAuthorizationFailed, "GROUP_AUTHORIZATION_FAILED"),
    (E::ClusterAuthorizationFailed, "CLUSTER_AUTHORIZATION_FAILED"),
    (E::InvalidTimestamp, "INVALID_TIMESTAMP"),
    (E::UnsupportedSaslMechanism, "UNSUPPORTED_SASL_MECHANISM"),
    (E::IllegalSaslState, "ILLEGAL_SASL_STATE"),
    (E::UnsupportedVersion, "UNSUPPORTED_VERSION"),
    (E::TopicAlreadyExists, "TOPIC_ALREADY_EXISTS"),
    (E::InvalidPartitions, "INVALID_PARTITIONS"),
    (E::InvalidReplicationFactor, "INVALID_REPLICATION_FACTOR"),
    (E::InvalidReplicaAssignment, "INVALID_REPLICA_ASSIGNMENT"),
    (E::InvalidConfig, "INVALID_CONFIG"),
    (E::NotController, "NOT_CONTROLLER"),
    (E::InvalidRequest, "INVALID_REQUEST"),
    (E::UnsupportedForMessageFormat, "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
    (E::PolicyViolation, "POLICY_VIOLATION"),
    (E::OutOfOrderSequenceNumber, "OUT_OF_ORDER_SEQUENCE_NUMBER"),
    (E::DuplicateSequenceNumber, "DUPLICATE_SEQUENCE_NUMBER"),
    (E::InvalidProducerEpoch, "INVALID_PRODUCER_EPOCH"),
    (E::InvalidTxnState, "INVALID_TXN_STATE"),
    (E::InvalidProducerIdMapping, "INVALID_PRODUCER_ID_MAPPING"),
    (E::InvalidTransactionTimeout, "INVALID_TRANSACTION_TIMEOUT"),
    (E::ConcurrentTransactions, "CONCURRENT_TRANSACTIONS"),
    (E::TransactionCoordinatorFenced, "TRANSACTION_COORDINATOR_FENCED"),
    (E::TransactionalIdAuthorizationFailed, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
    (E::SecurityDisabled, "SECURITY_DISABLED"),
    (E::OperationNotAttempted, "OPERATION_NOT_ATTEMPTED"),
    (E::KafkaStorageError, "KAFKA_STORAGE_ERROR"),
    (E::LogDirNotFound, "LOG_DIR_NOT_FOUND"),
    (E::SaslAuthenticationFailed, "SASL_AUTHENTICATION_FAILED"),
    (E::UnknownProducerId, "UNKNOWN_PRODUCER_ID"),
    (E::ReassignmentInProgress, "REASSIGNMENT_IN_PROGRESS"),
    (E::DelegationTokenAuthDisabled, "DELEGATION_TOKEN_AUTH_DISABLED"),
    (E::DelegationTokenNotFound, "DELEGATION_TOKEN_NOT_FOUND"),
    (E::DelegationTokenOwnerMismatch, "DELEGATION_TOKEN_OWNER_MISMATCH"),
    (E::DelegationTokenRequestNotAllowed, "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED"),
    (E::DelegationTokenAuthorizationFailed, "DELEGATION_TOKEN_AUTHORIZATION_FAILED"),
    (E::DelegationTokenExpired, "DELEGATION_TOKEN_EXPIRED"),
    (E::InvalidPrincipalType, "INVALID_PRINCIPAL_TYPE"),
    (E::NonEmptyGroup, "NON_EMPTY_GROUP"),
    (E::GroupIdNotFound, "GROUP_ID_NOT_FOUND"),
    (E::FetchSessionIdNotFound, "FETCH_SESSION_ID_NOT_FOUND"),
    (E::InvalidFetchSessionEpoch, "INVALID_FETCH_SESSION_EPOCH"),
    (E::ListenerNotFound, "LISTENER_NOT_FOUND"),
    (E::TopicDeletionDisabled, "TOPIC_DELETION_DISABLED"),
    (E::FencedLeaderEpoch, "FENCED_LEADER_EPOCH"),
    (E::UnknownLeaderEpoch, "UNKNOWN_LEADER_EPOCH"),
    (E::UnsupportedCompressionType, "UNSUPPORTED_COMPRESSION_TYPE"),
    (E::StaleBrokerEpoch, "STALE_BROKER_EPOCH"),
    (E::OffsetNotAvailable, "OFFSET_NOT_AVAILABLE"),
    (E::MemberIdRequired, "MEMBER_ID_REQUIRED"),
    (E::PreferredLeaderNotAvailable, "PREFERRED_LEADER_NOT_AVAILABLE"),
    (E::GroupMaxSizeReached, "GROUP_MAX_SIZE_REACHED"),
    (E::FencedInstanceId, "FENCED_INSTANCE_ID"),
    (E::EligibleLeadersNotAvailable, "ELIGIBLE_LEADERS_NOT_AVAILABLE"),
    (E::ElectionNotNeeded, "ELECTION_NOT_NEEDED"),
    (E::NoReassignmentInProgress, "NO_REASSIGNMENT_IN_PROGRESS"),
    (E::GroupSubscribedToTopic, "GROUP_SUBSCRIBED_TO_TOPIC"),
    (E::InvalidRecord, "INVALID_RECORD"),
    (E::UnstableOffsetCommit, "UNSTABLE_OFFSET_COMMIT"),
    (E::ThrottlingQuotaExceeded, "THROTTLING_QUOTA_EXCEEDED"),
    (E::ProducerFenced, "PRODUCER_FENCED"),
    (E::ResourceNotFound, "RESOURCE_NOT_FOUND"),
    (E::DuplicateResource, "DUPLICATE_RESOURCE"),
    (E::UnacceptableCredential, "UNACCEPTABLE_CREDENTIAL"),
    (E::InconsistentVoterSet, "INCONSISTENT_VOTER_SET"),
    (E::InvalidUpdateVersion, "INVALID_UPDATE_VERSION"),
    (E::FeatureUpdateFailed, "FEATURE_UPDATE_FAILED"),
    (E::PrincipalDeserializationFailure, "PRINCIPAL_DESERIALIZATION_FAILURE"),
    (E::SnapshotNotFound, "SNAPSHOT_NOT_FOUND"),
    (E::PositionOutOfRange, "POSITION_OUT_OF_RANGE"),
    (E::UnknownTopicId, "UNKNOWN_TOPIC_ID"),
    (E::DuplicateBrokerRegistration, "DUPLICATE_BROKER_REGISTRATION"),
    (E::BrokerIdNotRegistered, "BROKER_ID_NOT_REGISTERED"),
    (E::InconsistentTopicId, "INCONSISTENT_TOPIC_ID"),
    (E::InconsistentClusterId, "INCONSISTENT_CLUSTER_ID"),
    (E::TransactionalIdNotFound, "TRANSACTIONAL_ID_NOT_FOUND"),
    (E::FetchSessionTopicIdError, "FETCH_SESSION_TOPIC_ID_ERROR"),
    (E::IneligibleReplica, "INELIGIBLE_REPLICA"),
    (E::NewLeaderElected, "NEW_LEADER_ELECTED"),
    (E::OffsetMovedToTieredStorage, "OFFSET_MOVED_TO_TIERED_STORAGE"),
    (E::FencedMemberEpoch, "FENCED_MEMBER_EPOCH"),
    (E::UnreleasedInstanceId, "UNRELEASED_INSTANCE_ID"),
    (E::UnsupportedAssignor, "UNSUPPORTED_ASSIGNOR"),
    (E::StaleMemberEpoch, "STALE_MEMBER_EPOCH"),
    (E::MismatchedEndpointType, "MISMATCHED_ENDPOINT_TYPE"),
    (E::UnsupportedEndpointType, "UNSUPPORTED_ENDPOINT_TYPE"),
    (E::UnknownControllerId, "UNKNOWN_CONTROLLER_ID"),
    (E::UnknownSubscriptionId, "UNKNOWN_SUBSCRIPTION_ID"),
    (E::TelemetryTooLarge, "TELEMETRY_TOO_LARGE"),
    (E::InvalidRegistration, "INVALID_REGISTRATION"),
    (E::TransactionAbortable, "TRANSACTION_ABORTABLE"),
    (E::InvalidRecordState, "INVALID_RECORD_STATE"),
    (E::ShareSessionNotFound, "SHARE_SESSION_NOT_FOUND"),
    (E::InvalidShareSessionEpoch, "INVALID_SHARE_SESSION_EPOCH"),
    (E::FencedStateEpoch, "FENCED_STATE_EPOCH"),
    (E::InvalidVoterKey, "INVALID_VOTER_KEY"),
    (E::DuplicateVoter, "DUPLICATE_VOTER"),
    (E::VoterNotFound, "VOTER_NOT_FOUND"),
    (E::InvalidRegularExpression, "INVALID_REGULAR_EXPRESSION"),
    (E::RebootstrapRequired, "REBOOTSTRAP_REQUIRED"),
    (E::StreamsInvalidTopology, "STREAMS_INVALID_TOPOLOGY"),
    (E::StreamsInvalidTopologyEpoch, "STREAMS_INVALID_TOPOLOGY_EPOCH"),
    (E::StreamsTopologyFenced, "STREAMS_TOPOLOGY_FENCED"),
    (E::ShareSessionLimitReached, "SHARE_SESSION_LIMIT_REACHED"),
    (E::GroupDeletionFailed, "GROUP_DELETION_FAILED"),
    (E::StreamsTopologyDescriptionUpdateFailed, "STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED"),
    (E::ControllerIdNotRegistered, "CONTROLLER_ID_NOT_REGISTERED"),
];

impl ErrorCode {
    /// The number on the wire.
    pub const fn code(self) -> i16 {
        self as i16
    }

    /// The code with this number; `None` for a number that Kafka 4.4 does not know.
    pub fn from_code(code: i16) -> Option<ErrorCode> {
        TABLE.iter().map(|row| row.0).find(|error| error.code() == code)
    }

    /// Kafka's name of the code, for example `NOT_LEADER_OR_FOLLOWER`.
    pub fn name(self) -> &'static str {
        let row = TABLE.iter().find(|row| row.0 == self);
        row.expect("every error code has its row in the table").1
    }
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_covers_every_code_once_and_in_order() {
        let codes: Vec<i16> = TABLE.iter().map(|row| row.0.code()).collect();
        assert_eq!(codes, (-1..=136).collect::<Vec<i16>>());
        for row in TABLE {
            assert_eq!(ErrorCode::from_code(row.0.code()), Some(row.0));
        }
    }
}
