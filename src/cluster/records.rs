//! Kafka's metadata records: what the metadata log and its snapshots consist of.
//!
//! A record's value is framed as Kafka's `MetadataRecordSerde` does it:
//!
//! ```text
//! frame version (varint, 1) | record type (varint) | version (varint) | fields, flexible encoding
//! ```

mod types;
pub(crate) mod wire;

pub use types::*;
pub use wire::DecodeError;

/// The feature level of `metadata.version` that Apache Kafka 4.4 finalizes in a new cluster (4.4-IV2).
pub const METADATA_VERSION_LATEST: i16 = 33;
/// The lowest `metadata.version` that Apache Kafka 4.4 still runs at (3.3-IV3).
pub const METADATA_VERSION_MINIMUM: i16 = 7;

const FRAME_VERSION: u32 = 1;
/// 3.4-IV0: registrations say whether a broker migrates.
const LEVEL_MIGRATION: i16 = 8;
/// 3.7-IV2: partitions name the log directories of their replicas (KIP-858).
const LEVEL_DIRECTORIES: i16 = 17;
/// 4.0-IV1: partitions carry eligible leader replicas (KIP-966).
const LEVEL_ELR: i16 = 23;
/// 4.3-IV0: registrations name cordoned log directories (KIP-1066).
pub const LEVEL_CORDONED: i16 = 30;

macro_rules! record_types {
    ($( $key:literal $variant:ident $type:ident $max:literal, )*) => {
        /// One metadata record.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Record {
            $( #[doc = concat!("See [`", stringify!($type), "`].")] $variant($type), )*
        }

        impl Record {
            /// The number of the record's type (Kafka's `MetadataRecordType`).
            pub fn key(&self) -> u32 {
                match self {
                    $( Record::$variant(_) => $key, )*
                }
            }

            fn put(&self, version: i16, out: &mut Vec<u8>) {
                match self {
                    $( Record::$variant(record) => record.put(version, out), )*
                }
            }

            fn get(key: u32, version: u32, input: &mut wire::Reader<'_>) -> Result<Record, DecodeError> {
                let checked = |version_max: i16| match i16::try_from(version) {
                    Ok(version) if version <= version_max => Ok(version),
                    _ => Err(DecodeError::UnknownVersion { key, version }),
                };
                match key {
                    $( $key => Ok(Record::$variant($type::get(checked($max)?, input)?)), )*
                    unknown => Err(DecodeError::UnknownType(unknown)),
                }
            }
        }

        $( impl From<$type> for Record {
            fn from(record: $type) -> Record {
                Record::$variant(record)
            }
        } )*
    };
}

record_types! {
    0 RegisterBroker RegisterBrokerRecord 4,
    1 UnregisterBroker UnregisterBrokerRecord 0,
    2 Topic TopicRecord 0,
    3 Partition PartitionRecord 2,
    4 Config ConfigRecord 0,
    5 PartitionChange PartitionChangeRecord 2,
    7 FenceBroker FenceBrokerRecord 0,
    8 UnfenceBroker UnfenceBrokerRecord 0,
    9 RemoveTopic RemoveTopicRecord 0,
    10 DelegationToken DelegationTokenRecord 0,
    11 UserScramCredential UserScramCredentialRecord 0,
    12 FeatureLevel FeatureLevelRecord 0,
    14 ClientQuota ClientQuotaRecord 0,
    15 ProducerIds ProducerIdsRecord 0,
    17 BrokerRegistrationChange BrokerRegistrationChangeRecord 3,
    18 AccessControlEntry AccessControlEntryRecord 0,
    19 RemoveAccessControlEntry RemoveAccessControlEntryRecord 0,
    20 NoOp NoOpRecord 0,
    21 ZkMigrationState ZkMigrationStateRecord 0,
    22 RemoveUserScramCredential RemoveUserScramCredentialRecord 0,
    23 BeginTransaction BeginTransactionRecord 0,
    24 EndTransaction EndTransactionRecord 0,
    25 AbortTransaction AbortTransactionRecord 0,
    26 RemoveDelegationToken RemoveDelegationTokenRecord 0,
    27 RegisterController RegisterControllerRecord 0,
    28 ClearElr ClearElrRecord 0,
    29 UnregisterController UnregisterControllerRecord 0,
}

impl Record {
    /// The framed bytes, in the version that `metadata_version` allows (Kafka's `MetadataVersion`).
    pub fn encode(&self, metadata_version: i16) -> Vec<u8> {
        let version = self.version(metadata_version);
        let mut out = Vec::with_capacity(64);
        wire::put_varint(FRAME_VERSION, &mut out);
        wire::put_varint(self.key(), &mut out);
        wire::put_varint(u32::from(version.unsigned_abs()), &mut out);
        self.put(version, &mut out);
        out
    }

    /// Reads a framed record.
    ///
    /// # Errors
    /// A type or version that Apache Kafka 4.4 does not know, or bytes that do not fit their schema.
    pub fn decode(value: &[u8]) -> Result<Record, DecodeError> {
        let mut input = wire::Reader::new(value);
        let frame = input.varint()?;
        if frame != FRAME_VERSION {
            return Err(DecodeError::FrameVersion(frame));
        }
        let key = input.varint()?;
        let version = input.varint()?;
        let record = Record::get(key, version, &mut input)?;
        match input.remaining() {
            0 => Ok(record),
            left => Err(DecodeError::Trailing(left)),
        }
    }

    fn version(&self, level: i16) -> i16 {
        match self {
            Record::RegisterBroker(_) => match level {
                LEVEL_CORDONED.. => 4,
                LEVEL_DIRECTORIES.. => 3,
                LEVEL_MIGRATION.. => 2,
                _ => 1,
            },
            Record::Partition(_) | Record::PartitionChange(_) => match level {
                LEVEL_ELR.. => 2,
                LEVEL_DIRECTORIES.. => 1,
                _ => 0,
            },
            // The lowest version that carries what the record says, as Kafka writes it.
            Record::BrokerRegistrationChange(record) => {
                if record.cordoned_log_dirs.is_some() && level >= LEVEL_CORDONED {
                    3
                } else if !record.log_dirs.is_empty() && level >= LEVEL_DIRECTORIES {
                    2
                } else {
                    i16::from(record.in_controlled_shutdown != 0)
                }
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
