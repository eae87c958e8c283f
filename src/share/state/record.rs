//! The records of `__share_group_state`, byte for byte as Kafka 4.4 writes and reads them.
//!
//! ```text
//! key       type i16 = 0 (snapshot) or 1 (update), group string, topic id, partition i32
//! snapshot  version i16 = 0, snapshot epoch i32, state epoch i32, leader epoch i32, start offset i64,
//!           created i64, written i64, batches, tags (0 = count of complete deliveries i32)
//! update    version i16 = 0, snapshot epoch i32, leader epoch i32, start offset i64, batches, tags (the same)
//! batch     first offset i64, last offset i64, delivery state i8, delivery count i16, tags
//! ```
//! A snapshot without value forgets the share-partition. Values are flexible, keys are not.

use crate::base::PartitionIndex;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::coordinator::Malformed;
use crate::coordinator::Reader;
use crate::coordinator::Writer;
use crate::coordinator::machine::Entry;
use crate::share::Key;
use crate::share::state::batches::Batch;
use crate::share::state::batches::State;
use bytes::Bytes;

const SNAPSHOT: i16 = 0;
const UPDATE: i16 = 1;
const VALUE_VERSION: i16 = 0;
/// The tag of the count of complete deliveries (KIP-1226), and what it is when it is not there.
const COMPLETE: u32 = 0;
const NO_COMPLETE: i32 = -1;

/// A fact of `__share_group_state`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// All that is known of a share-partition; `None` forgets it.
    Snapshot(Key, Option<Snapshot>),
    /// What changed since.
    Update(Key, Update),
}

/// See [`Record::Snapshot`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Counts the snapshots.
    pub snapshot_epoch: i32,
    /// The epoch of the state.
    pub state_epoch: i32,
    /// The epoch of the partition's leader.
    pub leader_epoch: i32,
    /// Where the group's records begin; -1 when nobody has said it yet.
    pub start: i64,
    /// How many records from there on are dealt with.
    pub complete: i32,
    /// When the state was made.
    pub created: Timestamp,
    /// When it was written, or written again.
    pub written: Timestamp,
    /// The records that something is known of.
    pub batches: Vec<Batch>,
}

/// See [`Record::Update`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The snapshot it belongs to.
    pub snapshot_epoch: i32,
    /// The epoch of the partition's leader.
    pub leader_epoch: i32,
    /// Where the group's records begin; -1 when that did not change.
    pub start: i64,
    /// How many records from there on are dealt with.
    pub complete: i32,
    /// What changed.
    pub batches: Vec<Batch>,
}

impl Record {
    /// The record's bytes.
    pub fn write(&self) -> Entry {
        match self {
            Record::Snapshot(key, value) => {
                Entry { key: write_key(SNAPSHOT, key), value: value.as_ref().map(write_snapshot) }
            }
            Record::Update(key, value) => {
                Entry { key: write_key(UPDATE, key), value: Some(write_update(value)) }
            }
        }
    }

    /// The record in these bytes; `None` when its key is of another kind, or an update says nothing.
    ///
    /// # Errors
    /// [`Malformed`].
    pub fn read(entry: &Entry) -> Result<Option<Record>, Malformed> {
        let mut key = Reader::new(&entry.key);
        let kind = key.i16()?;
        if kind != SNAPSHOT && kind != UPDATE {
            return Ok(None);
        }
        let key =
            Key { group: key.string()?, topic: TopicId(key.uuid()?), partition: PartitionIndex(key.i32()?) };
        match (kind, &entry.value) {
            (SNAPSHOT, value) => {
                let value = value.as_ref().map(read_snapshot).transpose()?;
                Ok(Some(Record::Snapshot(key, value)))
            }
            (_, Some(value)) => Ok(Some(Record::Update(key, read_update(value)?))),
            (_, None) => Ok(None),
        }
    }
}

fn write_key(kind: i16, key: &Key) -> Bytes {
    let mut out = Writer::new(kind);
    out.string(&key.group);
    out.raw(key.topic.0.as_bytes());
    out.i32(key.partition.0);
    out.finish()
}

fn write_snapshot(value: &Snapshot) -> Bytes {
    let mut out = Writer::new(VALUE_VERSION);
    out.set_flexible(true);
    out.i32(value.snapshot_epoch);
    out.i32(value.state_epoch);
    out.i32(value.leader_epoch);
    out.i64(value.start);
    out.i64(value.created.0);
    out.i64(value.written.0);
    write_batches(&mut out, &value.batches);
    write_tags(&mut out, value.complete);
    out.finish()
}

fn write_update(value: &Update) -> Bytes {
    let mut out = Writer::new(VALUE_VERSION);
    out.set_flexible(true);
    out.i32(value.snapshot_epoch);
    out.i32(value.leader_epoch);
    out.i64(value.start);
    write_batches(&mut out, &value.batches);
    write_tags(&mut out, value.complete);
    out.finish()
}

fn write_batches(out: &mut Writer, batches: &[Batch]) {
    out.count(batches.len());
    for batch in batches {
        out.i64(batch.first);
        out.i64(batch.end.saturating_sub(1));
        out.i8(batch.state.number());
        out.i16(batch.count);
        out.no_tags();
    }
}

fn write_tags(out: &mut Writer, complete: i32) {
    if complete == NO_COMPLETE {
        return out.no_tags();
    }
    out.unsigned_varint(1);
    out.unsigned_varint(COMPLETE);
    out.unsigned_varint(4);
    out.i32(complete);
}

fn reader(bytes: &Bytes) -> Result<Reader, Malformed> {
    let mut value = Reader::new(bytes);
    let version = value.i16()?;
    if version != VALUE_VERSION {
        return Err(Malformed::Version(version));
    }
    value.set_flexible(true);
    Ok(value)
}

fn read_snapshot(bytes: &Bytes) -> Result<Snapshot, Malformed> {
    let mut value = reader(bytes)?;
    Ok(Snapshot {
        snapshot_epoch: value.i32()?,
        state_epoch: value.i32()?,
        leader_epoch: value.i32()?,
        start: value.i64()?,
        created: Timestamp(value.i64()?),
        written: Timestamp(value.i64()?),
        batches: read_batches(&mut value)?,
        complete: read_tags(&mut value)?,
    })
}

fn read_update(bytes: &Bytes) -> Result<Update, Malformed> {
    let mut value = reader(bytes)?;
    Ok(Update {
        snapshot_epoch: value.i32()?,
        leader_epoch: value.i32()?,
        start: value.i64()?,
        batches: read_batches(&mut value)?,
        complete: read_tags(&mut value)?,
    })
}

fn read_batches(value: &mut Reader) -> Result<Vec<Batch>, Malformed> {
    let count = value.count_of::<Batch>(20)?;
    let mut batches = Vec::with_capacity(count);
    for _ in 0..count {
        let (first, last) = (value.i64()?, value.i64()?);
        let (state, count) = (value.i8()?, value.i16()?);
        value.tagged(u32::MAX)?;
        let end = last.checked_add(1).filter(|end| *end > first).ok_or(Malformed::Value(last))?;
        let state = State::from_number(state).ok_or_else(|| Malformed::Value(i64::from(state)))?;
        batches.push(Batch { first, end, state, count });
    }
    Ok(batches)
}

fn read_tags(value: &mut Reader) -> Result<i32, Malformed> {
    match value.tagged(COMPLETE)? {
        Some(field) => Reader::new(&field).i32(),
        None => Ok(NO_COMPLETE),
    }
}
