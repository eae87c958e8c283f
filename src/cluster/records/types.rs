//! The fields of each metadata record of Apache Kafka 4.4 (schemas of its `metadata` module).
//!
//! `[n]` is the first version that carries the field; `[tag, n]` marks a tagged field with its default.

use super::wire::DecodeError;
use super::wire::Reader;
use super::wire::Tags;
use super::wire::Wire;
use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use bytes::Bytes;
use uuid::Uuid;

/// In [`PartitionChangeRecord::leader`]: the leader stays and so does its epoch.
pub const NO_LEADER_CHANGE: BrokerId = BrokerId(-2);

macro_rules! record {
    (
        $(#[$meta:meta])*
        $name:ident {
            $( $(#[$field_meta:meta])* $field:ident : $type:ty [$since:literal], )*
        }
        $( tagged {
            $( $(#[$tag_meta:meta])* $tag_field:ident : $tag_type:ty [$tag:literal, $tag_since:literal] = $default:expr, )*
        } )?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name {
            $( $(#[$field_meta])* pub $field: $type, )*
            $( $( $(#[$tag_meta])* pub $tag_field: $tag_type, )* )?
        }

        impl $name {
            pub(super) fn put(&self, version: i16, out: &mut Vec<u8>) {
                $( if version >= $since { Wire::put(&self.$field, out); } )*
                Tags::default()
                    $( $( .with($tag, version >= $tag_since && self.$tag_field != $default, &self.$tag_field) )* )?
                    .finish(out);
                let _: i16 = version;
            }

            pub(super) fn get(version: i16, input: &mut Reader<'_>) -> Result<$name, DecodeError> {
                #[allow(unused_mut, reason = "only records with tagged fields change after this")]
                let mut record = $name {
                    $( $field: if version >= $since { Wire::get(input)? } else { Wire::absent() }, )*
                    $( $( $tag_field: $default, )* )?
                };
                #[allow(unused_variables, reason = "only records with tagged fields read them")]
                input.tags(|tag, body| {
                    $( $( if tag == $tag && version >= $tag_since {
                        record.$tag_field = Wire::get(body)?;
                    } )* )?
                    Ok(())
                })?;
                let _: i16 = version;
                Ok(record)
            }
        }
    };
}

macro_rules! element {
    ( $(#[$meta:meta])* $name:ident { $( $(#[$field_meta:meta])* $field:ident : $type:ty, )* } ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $name { $( $(#[$field_meta])* pub $field: $type, )* }

        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $( Wire::put(&self.$field, out); )*
                Tags::default().finish(out);
            }
            fn get(input: &mut Reader<'_>) -> Result<$name, DecodeError> {
                let element = $name { $( $field: Wire::get(input)?, )* };
                input.tags(|_, _| Ok(()))?;
                Ok(element)
            }
            fn absent() -> $name {
                $name { $( $field: Wire::absent(), )* }
            }
        }
    };
}

element! {
    /// One listener of a broker or controller.
    Endpoint {
        /// The listener's name.
        name: String,
        /// The advertised host.
        host: String,
        /// The advertised port.
        port: u16,
        /// Kafka's number of the security protocol: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL.
        security_protocol: i16,
    }
}

element! {
    /// A feature with the levels a node can work at; both ends are levels it knows.
    SupportedFeature {
        /// The feature's name, for instance `metadata.version`.
        name: String,
        /// The lowest level.
        level_min: i16,
        /// The highest level.
        level_max: i16,
    }
}

element! {
    /// One part of the name of a quota's entity.
    QuotaEntity {
        /// `user`, `client-id` or `ip`.
        entity_type: String,
        /// The name; `None` is the default entity.
        entity_name: Option<String>,
    }
}

record! {
    /// A broker announced itself (key 0).
    RegisterBrokerRecord {
        /// The broker.
        broker_id: BrokerId [0],
        /// From the time of ZooKeeper; never set by 4.x.
        is_migrating_zk_broker: bool [2],
        /// The broker process: another one after each start.
        incarnation_id: Uuid [0],
        /// The offset at which this registration was written.
        broker_epoch: i64 [0],
        /// Where clients and brokers reach it.
        end_points: Vec<Endpoint> [0],
        /// What it can do.
        features: Vec<SupportedFeature> [0],
        /// Its rack.
        rack: Option<String> [0],
        /// Whether it may not lead yet.
        fenced: bool [0],
        /// Whether it is shutting down.
        in_controlled_shutdown: bool [1],
    }
    tagged {
        /// Its log directories.
        log_dirs: Vec<Uuid> [0, 3] = Vec::<Uuid>::new(),
        /// Directories that take no new partitions.
        cordoned_log_dirs: Option<Vec<Uuid>> [1, 4] = None,
    }
}

record! {
    /// A broker was removed from the cluster (key 1).
    UnregisterBrokerRecord {
        /// The broker.
        broker_id: BrokerId [0],
        /// The registration's epoch.
        broker_epoch: i64 [0],
    }
}

record! {
    /// A topic was created (key 2).
    TopicRecord {
        /// Its name.
        name: String [0],
        /// Its id.
        topic_id: TopicId [0],
    }
}

record! {
    /// A partition's whole state (key 3).
    PartitionRecord {
        /// The partition's number.
        partition_id: PartitionIndex [0],
        /// The topic.
        topic_id: TopicId [0],
        /// All replicas, the preferred leader first.
        replicas: Vec<BrokerId> [0],
        /// The replicas in sync.
        isr: Vec<BrokerId> [0],
        /// Replicas a reassignment takes away.
        removing_replicas: Vec<BrokerId> [0],
        /// Replicas a reassignment adds.
        adding_replicas: Vec<BrokerId> [0],
        /// The leader; -1 for none.
        leader: BrokerId [0],
        /// Counts the leaders.
        leader_epoch: LeaderEpoch [0],
        /// Counts all changes.
        partition_epoch: i32 [0],
        /// The log directory of each replica, in the order of `replicas`.
        directories: Vec<Uuid> [1],
    }
    tagged {
        /// 0 recovered, 1 recovering from an unclean election.
        leader_recovery_state: i8 [0, 0] = 0,
        /// Replicas that may lead though they are out of sync (KIP-966).
        eligible_leader_replicas: Option<Vec<BrokerId>> [1, 2] = None,
        /// The last replica known in sync.
        last_known_elr: Option<Vec<BrokerId>> [2, 2] = None,
    }
}

record! {
    /// A resource's setting was set or removed (key 4).
    ConfigRecord {
        /// Kafka's `ConfigResource.Type`: 2 topic, 4 broker, 8 broker logger, 16 client metrics, 32 group.
        resource_type: i8 [0],
        /// The resource; empty for the default of all brokers.
        resource_name: String [0],
        /// The setting.
        name: String [0],
        /// Its value; `None` removes it.
        value: Option<String> [0],
    }
}

record! {
    /// Parts of a partition's state changed (key 5); `None` keeps a part.
    PartitionChangeRecord {
        /// The partition's number.
        partition_id: PartitionIndex [0],
        /// The topic.
        topic_id: TopicId [0],
    }
    tagged {
        /// The new ISR.
        isr: Option<Vec<BrokerId>> [0, 0] = None,
        /// The new leader, or [`NO_LEADER_CHANGE`].
        leader: BrokerId [1, 0] = NO_LEADER_CHANGE,
        /// The new replicas.
        replicas: Option<Vec<BrokerId>> [2, 0] = None,
        /// What a reassignment takes away.
        removing_replicas: Option<Vec<BrokerId>> [3, 0] = None,
        /// What a reassignment adds.
        adding_replicas: Option<Vec<BrokerId>> [4, 0] = None,
        /// The new recovery state; -1 keeps it.
        leader_recovery_state: i8 [5, 0] = -1,
        /// The new eligible leader replicas.
        eligible_leader_replicas: Option<Vec<BrokerId>> [6, 2] = None,
        /// The new last known replica in sync.
        last_known_elr: Option<Vec<BrokerId>> [7, 2] = None,
        /// The new directories.
        directories: Option<Vec<Uuid>> [8, 1] = None,
    }
}

impl PartitionChangeRecord {
    /// A change of nothing; set the parts that change.
    pub fn new(topic_id: TopicId, partition_id: PartitionIndex) -> PartitionChangeRecord {
        PartitionChangeRecord {
            partition_id,
            topic_id,
            isr: None,
            leader: NO_LEADER_CHANGE,
            replicas: None,
            removing_replicas: None,
            adding_replicas: None,
            leader_recovery_state: -1,
            eligible_leader_replicas: None,
            last_known_elr: None,
            directories: None,
        }
    }
}

record! {
    /// A broker was fenced (key 7); written before 3.3 only.
    FenceBrokerRecord {
        /// The broker.
        id: BrokerId [0],
        /// The registration's epoch.
        epoch: i64 [0],
    }
}

record! {
    /// A broker was unfenced (key 8); written before 3.3 only.
    UnfenceBrokerRecord {
        /// The broker.
        id: BrokerId [0],
        /// The registration's epoch.
        epoch: i64 [0],
    }
}

record! {
    /// A topic was deleted (key 9).
    RemoveTopicRecord {
        /// The topic.
        topic_id: TopicId [0],
    }
}

record! {
    /// A delegation token was made or renewed (key 10).
    DelegationTokenRecord {
        /// Whom it stands for.
        owner: String [0],
        /// Who asked for it.
        requester: String [0],
        /// Who may renew it.
        renewers: Vec<String> [0],
        /// When it was made, ms.
        issue_timestamp: i64 [0],
        /// When it can no longer be renewed, ms.
        max_timestamp: i64 [0],
        /// When it ends, ms.
        expiration_timestamp: i64 [0],
        /// Its id.
        token_id: String [0],
    }
}

record! {
    /// A user's SCRAM credential was set (key 11).
    UserScramCredentialRecord {
        /// The user.
        name: String [0],
        /// 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
        mechanism: i8 [0],
        /// The salt.
        salt: Bytes [0],
        /// The stored key.
        stored_key: Bytes [0],
        /// The server key.
        server_key: Bytes [0],
        /// How often the password was hashed.
        iterations: i32 [0],
    }
}

record! {
    /// A feature's finalized level; 0 removes it (key 12).
    FeatureLevelRecord {
        /// The feature.
        name: String [0],
        /// Its level.
        feature_level: i16 [0],
    }
}

record! {
    /// A quota was set or removed (key 14).
    ClientQuotaRecord {
        /// Whom it limits.
        entity: Vec<QuotaEntity> [0],
        /// Which quota.
        key: String [0],
        /// Its value.
        value: f64 [0],
        /// Whether it is removed.
        remove: bool [0],
    }
}

record! {
    /// A block of producer ids was given away (key 15).
    ProducerIdsRecord {
        /// Who got it.
        broker_id: BrokerId [0],
        /// The registration's epoch.
        broker_epoch: i64 [0],
        /// The first id not given away.
        next_producer_id: i64 [0],
    }
}

record! {
    /// Parts of a broker's registration changed (key 17).
    BrokerRegistrationChangeRecord {
        /// The broker.
        broker_id: BrokerId [0],
        /// The registration's epoch.
        broker_epoch: i64 [0],
    }
    tagged {
        /// -1 unfences, 1 fences, 0 keeps.
        fenced: i8 [0, 0] = 0,
        /// 1 begins controlled shutdown, 0 keeps.
        in_controlled_shutdown: i8 [1, 1] = 0,
        /// The new log directories; empty keeps.
        log_dirs: Vec<Uuid> [2, 2] = Vec::<Uuid>::new(),
        /// The new cordoned directories; `None` keeps.
        cordoned_log_dirs: Option<Vec<Uuid>> [3, 3] = None,
    }
}

record! {
    /// An ACL was added (key 18).
    AccessControlEntryRecord {
        /// Its id.
        id: Uuid [0],
        /// Kafka's `ResourceType`.
        resource_type: i8 [0],
        /// The resource.
        resource_name: String [0],
        /// Kafka's `PatternType`.
        pattern_type: i8 [0],
        /// Who.
        principal: String [0],
        /// From where.
        host: String [0],
        /// Kafka's `AclOperation`.
        operation: i8 [0],
        /// 2 deny, 3 allow.
        permission_type: i8 [0],
    }
}

record! {
    /// An ACL was removed (key 19).
    RemoveAccessControlEntryRecord {
        /// Its id.
        id: Uuid [0],
    }
}

record! {
    /// Nothing; shows that the controller is alive (key 20).
    NoOpRecord {}
}

record! {
    /// The migration from ZooKeeper moved on (key 21); 4.x only reads it.
    ZkMigrationStateRecord {
        /// The state.
        zk_migration_state: i8 [0],
    }
}

record! {
    /// A user's SCRAM credential was removed (key 22).
    RemoveUserScramCredentialRecord {
        /// The user.
        name: String [0],
        /// Which mechanism's.
        mechanism: i8 [0],
    }
}

record! {
    /// What follows counts only together (key 23, KIP-868).
    BeginTransactionRecord {
    }
    tagged {
        /// What it is for, for people.
        name: Option<String> [0, 0] = None,
    }
}

record! {
    /// The records since the begin count now (key 24).
    EndTransactionRecord {}
}

record! {
    /// The records since the begin never counted (key 25).
    AbortTransactionRecord {
    }
    tagged {
        /// Why.
        reason: Option<String> [0, 0] = None,
    }
}

record! {
    /// A delegation token was removed (key 26).
    RemoveDelegationTokenRecord {
        /// The token.
        token_id: String [0],
    }
}

record! {
    /// A controller announced itself (key 27).
    RegisterControllerRecord {
        /// The controller.
        controller_id: BrokerId [0],
        /// Its process.
        incarnation_id: Uuid [0],
        /// From the time of ZooKeeper.
        zk_migration_ready: bool [0],
        /// Where it is reached.
        end_points: Vec<Endpoint> [0],
        /// What it can do.
        features: Vec<SupportedFeature> [0],
    }
}

record! {
    /// The eligible leader replicas of a topic, or of all when the name is empty, are forgotten (key 28).
    ClearElrRecord {
        /// The topic.
        topic_name: String [0],
    }
}

record! {
    /// A controller was removed (key 29).
    UnregisterControllerRecord {
        /// The controller.
        controller_id: BrokerId [0],
    }
}
