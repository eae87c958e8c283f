//! Control records: how a transaction ended, who leads the metadata quorum, where a snapshot begins and ends.
//!
//! ```text
//! key:   version 0 (i16) | type (i16)
//! value: transaction marker      version 0 (i16) | coordinator epoch (i32)
//!        leader change           version 0 (i16) | leader (i32) | voters | granting voters | tags
//!        snapshot header         version 0 (i16) | time of the last record contained (i64) | tags
//!        snapshot footer         version 0 (i16) | tags
//!        KRaft version           version 0 (i16) | KRaft version (i16) | tags
//! ```
//! The values behind the marker are Kafka's flexible messages: arrays have an unsigned varint of size + 1 in front, and
//! each structure ends with its tags, none of which exist. (`ControlRecordType`, `EndTransactionMarker`,
//! `LeaderChangeMessage.json`, `SnapshotHeaderRecord.json`, `SnapshotFooterRecord.json`.)

use crate::base::BrokerId;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::record::BatchBuilder;
use crate::record::CheckedBatch;
use crate::record::Codec;
use crate::record::layout;
use thiserror::Error;

/// What a control record says, by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlType {
    /// A transaction was aborted.
    Abort,
    /// A transaction was committed.
    Commit,
    /// A leader of the metadata quorum was elected.
    LeaderChange,
    /// The first record of a snapshot.
    SnapshotHeader,
    /// The last record of a snapshot.
    SnapshotFooter,
    /// The version of the quorum's protocol.
    KRaftVersion,
    /// The voters of the quorum.
    KRaftVoters,
    /// A type of a later Kafka; to be passed over.
    Unknown(i16),
}

/// Why a control record cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// There is no key, or it is too short.
    #[error("control record without a type")]
    Key,
    /// The key or value has a negative version.
    #[error("control record of version {0}")]
    Version(i16),
    /// The value is missing or too short.
    #[error("control record without its value")]
    Value,
    /// The record is not one that ends a transaction.
    #[error("control record {0:?} does not end a transaction")]
    NotAMarker(ControlType),
}

impl ControlType {
    /// The type in a control record's key. Later versions of the key begin in the same way.
    ///
    /// # Errors
    /// [`Error::Key`] and [`Error::Version`].
    pub fn parse(key: &[u8]) -> Result<ControlType, Error> {
        let (version, rest) = int16(key).ok_or(Error::Key)?;
        let (kind, _) = int16(rest).ok_or(Error::Key)?;
        if version < 0 {
            return Err(Error::Version(version));
        }
        Ok(match kind {
            0 => ControlType::Abort,
            1 => ControlType::Commit,
            2 => ControlType::LeaderChange,
            3 => ControlType::SnapshotHeader,
            4 => ControlType::SnapshotFooter,
            5 => ControlType::KRaftVersion,
            6 => ControlType::KRaftVoters,
            unknown => ControlType::Unknown(unknown),
        })
    }

    /// Its number in the key.
    pub fn id(self) -> i16 {
        match self {
            ControlType::Abort => 0,
            ControlType::Commit => 1,
            ControlType::LeaderChange => 2,
            ControlType::SnapshotHeader => 3,
            ControlType::SnapshotFooter => 4,
            ControlType::KRaftVersion => 5,
            ControlType::KRaftVoters => 6,
            ControlType::Unknown(id) => id,
        }
    }

    /// The key that says so.
    pub fn key(self) -> [u8; 4] {
        let [high, low] = self.id().to_be_bytes();
        [0, 0, high, low]
    }
}

/// How a transaction ended on a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndTransaction {
    /// Whether its records count.
    pub committed: bool,
    /// The epoch of the coordinator that said so; an older one's markers are refused.
    pub coordinator_epoch: i32,
}

impl EndTransaction {
    /// Reads a marker from a control record.
    ///
    /// # Errors
    /// [`Error`] when it is not one.
    pub fn parse(key: Option<&[u8]>, value: Option<&[u8]>) -> Result<EndTransaction, Error> {
        let committed = match ControlType::parse(key.ok_or(Error::Key)?)? {
            ControlType::Commit => true,
            ControlType::Abort => false,
            other => return Err(Error::NotAMarker(other)),
        };
        let (version, rest) = int16(value.ok_or(Error::Value)?).ok_or(Error::Value)?;
        if version < 0 {
            return Err(Error::Version(version));
        }
        let epoch = rest.first_chunk().ok_or(Error::Value)?;
        Ok(EndTransaction { committed, coordinator_epoch: i32::from_be_bytes(*epoch) })
    }

    /// The batch that ends the producer's transaction on a partition, as Kafka's leader writes it.
    pub fn batch(self, id: ProducerId, epoch: ProducerEpoch, timestamp: Timestamp) -> CheckedBatch {
        let kind = if self.committed { ControlType::Commit } else { ControlType::Abort };
        let value = [&[0, 0][..], &self.coordinator_epoch.to_be_bytes()].concat();
        let builder = BatchBuilder::new(Codec::None, timestamp);
        let mut builder = builder.producer(id, epoch, layout::NO_SEQUENCE).transactional().control();
        builder.push(Some(&kind.key()), Some(&value), &[], timestamp);
        builder.build()
    }
}

/// The batch a new leader of the metadata quorum begins its epoch with. Kafka 4.4 writes and reads only version 0 of it,
/// without the voters' directory ids (`ControlRecordUtils`), so that is what is written here.
pub fn leader_change(
    leader: BrokerId,
    voters: &[BrokerId],
    granting: &[BrokerId],
    timestamp: Timestamp,
) -> CheckedBatch {
    let mut value = Vec::new();
    value.extend_from_slice(&0i16.to_be_bytes());
    value.extend_from_slice(&leader.0.to_be_bytes());
    put_voters(&mut value, voters);
    put_voters(&mut value, granting);
    value.push(0);
    quorum_batch(ControlType::LeaderChange, &value, timestamp)
}

/// The batch a snapshot of the metadata begins with; `last_contained` is the time of the last record in it.
pub fn snapshot_header(last_contained: Timestamp, timestamp: Timestamp) -> CheckedBatch {
    let mut value = Vec::new();
    value.extend_from_slice(&0i16.to_be_bytes());
    value.extend_from_slice(&last_contained.0.to_be_bytes());
    value.push(0);
    quorum_batch(ControlType::SnapshotHeader, &value, timestamp)
}

/// The batch a snapshot of the metadata ends with.
pub fn snapshot_footer(timestamp: Timestamp) -> CheckedBatch {
    quorum_batch(ControlType::SnapshotFooter, &[0, 0, 0], timestamp)
}

/// A control batch of one record that belongs to no producer.
fn quorum_batch(kind: ControlType, value: &[u8], timestamp: Timestamp) -> CheckedBatch {
    let mut builder = BatchBuilder::new(Codec::None, timestamp).control();
    builder.push(Some(&kind.key()), Some(value), &[], timestamp);
    builder.build()
}

fn put_voters(buf: &mut Vec<u8>, voters: &[BrokerId]) {
    put_unsigned(buf, voters.len() + 1);
    for voter in voters {
        buf.extend_from_slice(&voter.0.to_be_bytes());
        buf.push(0);
    }
}

/// An unsigned varint.
fn put_unsigned(buf: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        buf.push(u8::try_from(value & 0x7f).expect("seven bits fit") | 0x80);
        value >>= 7;
    }
    buf.push(u8::try_from(value).expect("below 0x80"));
}

fn int16(bytes: &[u8]) -> Option<(i16, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((i16::from_be_bytes(*number), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;
    use crate::record::records_of;

    fn only_record(batch: &CheckedBatch) -> Record {
        let mut records = records_of(batch.bytes(), 1 << 16).unwrap();
        let record = records.next().unwrap().unwrap();
        assert!(records.next().is_none());
        record
    }

    #[test]
    fn markers_are_transactional_control_batches_and_read_back() {
        for committed in [true, false] {
            let end = EndTransaction { committed, coordinator_epoch: 3 };
            let batch = end.batch(ProducerId(8), ProducerEpoch(2), Timestamp(77));
            let header = batch.header();
            assert!(header.is_control() && header.is_transactional());
            assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence), (8, 2, -1));
            assert_eq!((header.base_timestamp, header.max_timestamp), (77, 77));
            let record = only_record(&batch);
            assert_eq!(record.key.as_deref(), Some(&[0, 0, 0, u8::from(committed)][..]));
            assert_eq!(record.value.as_deref(), Some(&[0, 0, 0, 0, 0, 3][..]));
            assert_eq!(EndTransaction::parse(record.key.as_deref(), record.value.as_deref()), Ok(end));
        }
    }

    #[test]
    fn what_is_no_marker_is_told_apart() {
        let key = ControlType::LeaderChange.key();
        assert_eq!(
            EndTransaction::parse(Some(&key), None),
            Err(Error::NotAMarker(ControlType::LeaderChange))
        );
        assert_eq!(EndTransaction::parse(None, None), Err(Error::Key));
        assert_eq!(EndTransaction::parse(Some(&[0, 0, 0, 1]), Some(&[0, 0, 1])), Err(Error::Value));
        assert_eq!(EndTransaction::parse(Some(&[0, 0, 0, 1]), Some(&[0xff, 0xff])), Err(Error::Version(-1)));
        assert_eq!(ControlType::parse(&[0xff, 0xff, 0, 1]), Err(Error::Version(-1)));
        assert_eq!(ControlType::parse(&[0, 7, 0, 99, 1]), Ok(ControlType::Unknown(99)));
    }

    #[test]
    fn quorum_records_have_kafkas_bytes() {
        let record = only_record(&leader_change(BrokerId(1), &[BrokerId(1)], &[], Timestamp(5)));
        let expected = [0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, 0, 1, 0];
        assert_eq!(record.value.as_deref(), Some(&expected[..]));
        assert_eq!(record.key.as_deref(), Some(&[0, 0, 0, 2][..]));
        let header = only_record(&snapshot_header(Timestamp(0x0102), Timestamp(5)));
        assert_eq!(header.value.as_deref(), Some(&[0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0][..]));
        assert_eq!(only_record(&snapshot_footer(Timestamp(5))).value.as_deref(), Some(&[0, 0, 0][..]));
        let batch = snapshot_footer(Timestamp(5));
        assert!(batch.header().is_control() && !batch.header().is_transactional());
    }
}
