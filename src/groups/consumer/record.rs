//! The records of consumer groups (KIP-848), byte for byte as Kafka 4.4 writes and reads them.
//!
//! ```text
//! key    [version i16][group string][fields]     the version says what the record is about
//! value  [version i16 = 0][fields, flexible]     no value: the key is deleted
//!
//!  3  group                 group epoch i32, tag 0 = hash of the subscribed topics' metadata i64 (0 is left out)
//!  4  group                 metadata of topics until Kafka 4.0: only whether it is there is kept
//!  5  group, member         instance (nullable), rack (nullable), client id, client host, topic names,
//!                           pattern (nullable), rebalance timeout i32, assignor (nullable),
//!                           tag 0 = [1][session timeout i32, protocols: name, metadata bytes] of a classic member
//!  6  group                 assignment epoch i32, tag 0 = when it was made i64 (0 is left out)
//!  7  group, member         target: topic id, partitions [i32]
//!  8  group, member         member epoch i32, previous epoch i32, state i8, assigned, pending revocation:
//!                           topic id, partitions [i32], tag 0 = the epoch of each [i32]
//! 16  group, pattern        topic names, version of the metadata i64, when it was resolved i64
//! ```

use crate::base::Timestamp;
use crate::base::TopicId;
use crate::coordinator::Malformed;
use crate::coordinator::Reader;
use crate::coordinator::Writer;
use crate::coordinator::machine::Entry;
use crate::groups::assign::Partitions;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Partitions with the member epoch at which each was given out.
pub type Owned = BTreeMap<TopicId, BTreeMap<i32, i32>>;

/// A fact about a consumer group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The group.
    pub group: Arc<str>,
    /// What is so of it.
    pub fact: Fact,
}

/// What a record says. `None` deletes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// The group's epoch; its end is the end of the group.
    Epoch(Option<EpochValue>),
    /// Whether the record of topics' metadata that Kafka 4.0 and earlier wrote is there.
    OldMetadata(bool),
    /// A member and what it subscribes to.
    Member(Arc<str>, Option<Box<MemberValue>>),
    /// Of which group epoch the target assignment is.
    TargetEpoch(Option<TargetEpochValue>),
    /// What a member is to have.
    Target(Arc<str>, Option<Partitions>),
    /// What a member has.
    Current(Arc<str>, Option<Box<CurrentValue>>),
    /// Which topics a pattern stands for.
    Pattern(Arc<str>, Option<PatternValue>),
}

/// See [`Fact::Epoch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EpochValue {
    /// Grows with each change that asks for a new assignment.
    pub epoch: i32,
    /// The hash of what is known of the subscribed topics; 0 when none was computed.
    pub metadata_hash: i64,
}

/// See [`Fact::Member`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberValue {
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// Where it runs.
    pub rack_id: Option<Arc<str>>,
    /// The client id of its requests.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
    /// Topics it names itself, sorted.
    pub topics: BTreeSet<Arc<str>>,
    /// The pattern of further topics.
    pub pattern: Option<Arc<str>>,
    /// How long it may take to give up partitions; milliseconds.
    pub rebalance_timeout_ms: i32,
    /// The assignor it asks for.
    pub assignor: Option<Arc<str>>,
    /// What a member of the classic protocol says beyond that.
    pub classic: Option<ClassicValue>,
}

/// What the coordinator keeps of a member that speaks the classic protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicValue {
    /// How long the member may be silent; milliseconds.
    pub session_timeout_ms: i32,
    /// Its protocols with their metadata, in order of preference.
    pub protocols: Arc<[(Arc<str>, Bytes)]>,
}

/// See [`Fact::TargetEpoch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetEpochValue {
    /// The group epoch that the assignment was made for.
    pub epoch: i32,
    /// When it was made; 0 when not known.
    pub made: Timestamp,
}

/// See [`Fact::Current`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentValue {
    /// The epoch that the member's next heartbeat must bring.
    pub epoch: i32,
    /// The epoch before it, which a member brings that has missed the answer.
    pub previous_epoch: i32,
    /// The number of the member's state.
    pub state: i8,
    /// What it has.
    pub assigned: Owned,
    /// What it must give up.
    pub pending_revocation: Owned,
}

/// See [`Fact::Pattern`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternValue {
    /// The topics that match.
    pub topics: BTreeSet<Arc<str>>,
    /// The end of the metadata log that was looked at.
    pub version: i64,
    /// When.
    pub resolved: Timestamp,
}

const EPOCH: i16 = 3;
const OLD_METADATA: i16 = 4;
const MEMBER: i16 = 5;
const TARGET_EPOCH: i16 = 6;
const TARGET: i16 = 7;
const CURRENT: i16 = 8;
const PATTERN: i16 = 16;

/// Whether keys of this version are those of consumer groups.
pub(crate) fn is_own(key_version: i16) -> bool {
    (EPOCH..=CURRENT).contains(&key_version) || key_version == PATTERN
}

impl Record {
    /// Whether it takes something away.
    pub(crate) fn deletes(&self) -> bool {
        match &self.fact {
            Fact::Epoch(value) => value.is_none(),
            Fact::OldMetadata(there) => !there,
            Fact::Member(_, value) => value.is_none(),
            Fact::TargetEpoch(value) => value.is_none(),
            Fact::Target(_, value) => value.is_none(),
            Fact::Current(_, value) => value.is_none(),
            Fact::Pattern(_, value) => value.is_none(),
        }
    }

    /// The record's bytes.
    pub fn write(&self) -> Entry {
        let (version, second, value) = match &self.fact {
            Fact::Epoch(value) => (EPOCH, None, value.as_ref().map(write_epoch)),
            Fact::OldMetadata(there) => (OLD_METADATA, None, there.then(write_old_metadata)),
            Fact::Member(member, value) => (MEMBER, Some(member), value.as_deref().map(write_member)),
            Fact::TargetEpoch(value) => (TARGET_EPOCH, None, value.as_ref().map(write_target_epoch)),
            Fact::Target(member, value) => (TARGET, Some(member), value.as_ref().map(write_target)),
            Fact::Current(member, value) => (CURRENT, Some(member), value.as_deref().map(write_current)),
            Fact::Pattern(pattern, value) => (PATTERN, Some(pattern), value.as_ref().map(write_pattern)),
        };
        let mut key = Writer::new(version);
        key.string(&self.group);
        if let Some(second) = second {
            key.string(second);
        }
        Entry { key: key.finish(), value }
    }

    /// The record of this kind of key, whose version has been read; `None` when the kind is not one of these.
    pub(crate) fn read(
        key_version: i16,
        key: &mut Reader,
        value: Option<&Bytes>,
    ) -> Result<Option<Record>, Malformed> {
        if !is_own(key_version) {
            return Ok(None);
        }
        let group = key.string()?;
        let fact = match key_version {
            EPOCH => Fact::Epoch(value.map(read_epoch).transpose()?),
            OLD_METADATA => Fact::OldMetadata(value.is_some()),
            MEMBER => Fact::Member(key.string()?, value.map(read_member).transpose()?.map(Box::new)),
            TARGET_EPOCH => Fact::TargetEpoch(value.map(read_target_epoch).transpose()?),
            TARGET => Fact::Target(key.string()?, value.map(read_target).transpose()?),
            CURRENT => Fact::Current(key.string()?, value.map(read_current).transpose()?.map(Box::new)),
            _ => Fact::Pattern(key.string()?, value.map(read_pattern).transpose()?),
        };
        Ok(Some(Record { group, fact }))
    }
}

pub(crate) fn value_writer() -> Writer {
    let mut out = Writer::new(0);
    out.set_flexible(true);
    out
}

pub(crate) fn value_reader(bytes: &Bytes) -> Result<Reader, Malformed> {
    let mut value = Reader::new(bytes);
    match value.i16()? {
        0 => value.set_flexible(true),
        version => return Err(Malformed::Version(version)),
    }
    Ok(value)
}

/// Tag 0 with a number, which is left out where it is 0.
fn write_number_tag(mut out: Writer, number: i64) -> Bytes {
    let field = Bytes::copy_from_slice(&number.to_be_bytes());
    if number == 0 {
        out.no_tags()
    } else {
        out.tags(&[(0, field)])
    }
    out.finish()
}

fn read_number_tag(value: &mut Reader) -> Result<i64, Malformed> {
    value.tagged(0)?.map_or(Ok(0), |field| Reader::of_tag(&field).i64())
}

fn write_epoch(value: &EpochValue) -> Bytes {
    let mut out = value_writer();
    out.i32(value.epoch);
    write_number_tag(out, value.metadata_hash)
}

fn read_epoch(bytes: &Bytes) -> Result<EpochValue, Malformed> {
    let mut value = value_reader(bytes)?;
    Ok(EpochValue { epoch: value.i32()?, metadata_hash: read_number_tag(&mut value)? })
}

fn write_old_metadata() -> Bytes {
    let mut out = value_writer();
    out.count(0);
    out.no_tags();
    out.finish()
}

pub(crate) fn write_target_epoch(value: &TargetEpochValue) -> Bytes {
    let mut out = value_writer();
    out.i32(value.epoch);
    write_number_tag(out, value.made.0)
}

pub(crate) fn read_target_epoch(bytes: &Bytes) -> Result<TargetEpochValue, Malformed> {
    let mut value = value_reader(bytes)?;
    Ok(TargetEpochValue { epoch: value.i32()?, made: Timestamp(read_number_tag(&mut value)?) })
}

pub(crate) fn write_names(out: &mut Writer, names: &BTreeSet<Arc<str>>) {
    out.count(names.len());
    for name in names {
        out.string(name);
    }
}

pub(crate) fn read_names(value: &mut Reader) -> Result<BTreeSet<Arc<str>>, Malformed> {
    let count = value.count_of::<Arc<str>>(1)?;
    (0..count).map(|_| value.string()).collect()
}

fn write_member(value: &MemberValue) -> Bytes {
    let mut out = value_writer();
    out.nullable_string(value.instance_id.as_deref());
    out.nullable_string(value.rack_id.as_deref());
    out.string(&value.client_id);
    out.string(&value.client_host);
    write_names(&mut out, &value.topics);
    out.nullable_string(value.pattern.as_deref());
    out.i32(value.rebalance_timeout_ms);
    out.nullable_string(value.assignor.as_deref());
    // Kafka writes that it is null, too.
    out.tags(&[(0, value.classic.as_ref().map_or_else(|| Bytes::from_static(&[0]), write_classic))]);
    out.finish()
}

/// A structure that may be null: 0 for null, 1 before one.
fn write_classic(classic: &ClassicValue) -> Bytes {
    let mut out = Writer::of_tag();
    out.i8(1);
    out.i32(classic.session_timeout_ms);
    out.count(classic.protocols.len());
    for (name, metadata) in classic.protocols.iter() {
        out.string(name);
        out.bytes(metadata);
        out.no_tags();
    }
    out.no_tags();
    out.finish()
}

fn read_member(bytes: &Bytes) -> Result<MemberValue, Malformed> {
    let mut value = value_reader(bytes)?;
    let instance_id = value.nullable_string()?;
    let rack_id = value.nullable_string()?;
    let client_id = value.string()?;
    let client_host = value.string()?;
    let topics = read_names(&mut value)?;
    let pattern = value.nullable_string()?;
    let rebalance_timeout_ms = value.i32()?;
    let assignor = value.nullable_string()?;
    let classic = value.tagged(0)?.map(|field| read_classic(&field)).transpose()?.flatten();
    value.settle_compact()?;
    Ok(MemberValue {
        instance_id,
        rack_id,
        client_id,
        client_host,
        topics,
        pattern,
        rebalance_timeout_ms,
        assignor,
        classic,
    })
}

fn read_classic(field: &Bytes) -> Result<Option<ClassicValue>, Malformed> {
    let mut value = Reader::of_tag(field);
    if value.i8()? == 0 {
        return Ok(None);
    }
    let session_timeout_ms = value.i32()?;
    let count = value.count_of::<(Arc<str>, Bytes)>(3)?;
    let mut protocols = Vec::with_capacity(count);
    for _ in 0..count {
        let protocol = (value.string()?, value.bytes()?);
        value.tagged(u32::MAX)?;
        protocols.push(protocol);
    }
    value.tagged(u32::MAX)?;
    value.settle_compact()?;
    Ok(Some(ClassicValue { session_timeout_ms, protocols: protocols.into() }))
}

pub(crate) fn write_target(target: &Partitions) -> Bytes {
    let mut out = value_writer();
    write_partitions(&mut out, target);
    out.no_tags();
    out.finish()
}

pub(crate) fn write_partitions(out: &mut Writer, partitions: &Partitions) {
    out.count(partitions.len());
    for (topic, partitions) in partitions {
        out.raw(topic.0.as_bytes());
        out.count(partitions.len());
        partitions.iter().for_each(|partition| out.i32(*partition));
        out.no_tags();
    }
}

/// A topic takes an id, a count and tags; its place in a map about four times as much.
pub(crate) const TOPIC_BYTES: usize = 18;

pub(crate) fn read_target(bytes: &Bytes) -> Result<Partitions, Malformed> {
    let mut value = value_reader(bytes)?;
    let target = read_partitions(&mut value)?;
    value.tagged(u32::MAX)?;
    value.settle_compact()?;
    Ok(target)
}

pub(crate) fn read_partitions(value: &mut Reader) -> Result<Partitions, Malformed> {
    let mut partitions = Partitions::new();
    for _ in 0..value.count_of::<[u64; 6]>(TOPIC_BYTES)? {
        let topic = TopicId(value.uuid()?);
        let count = value.count_of::<u64>(4)?;
        let of_topic = (0..count).map(|_| value.i32()).collect::<Result<BTreeSet<i32>, _>>()?;
        value.tagged(u32::MAX)?;
        partitions.insert(topic, of_topic);
    }
    Ok(partitions)
}

fn write_current(current: &CurrentValue) -> Bytes {
    let mut out = value_writer();
    out.i32(current.epoch);
    out.i32(current.previous_epoch);
    out.i8(current.state);
    write_owned(&mut out, &current.assigned);
    write_owned(&mut out, &current.pending_revocation);
    out.no_tags();
    out.finish()
}

fn write_owned(out: &mut Writer, owned: &Owned) {
    out.count(owned.len());
    for (topic, partitions) in owned {
        out.raw(topic.0.as_bytes());
        out.count(partitions.len());
        partitions.keys().for_each(|partition| out.i32(*partition));
        let mut epochs = Writer::of_tag();
        epochs.count(partitions.len());
        partitions.values().for_each(|epoch| epochs.i32(*epoch));
        out.tags(&[(0, epochs.finish())]);
    }
}

fn read_current(bytes: &Bytes) -> Result<CurrentValue, Malformed> {
    let mut value = value_reader(bytes)?;
    let epoch = value.i32()?;
    let previous_epoch = value.i32()?;
    let state = value.i8()?;
    let assigned = read_owned(&mut value, epoch)?;
    let pending_revocation = read_owned(&mut value, epoch)?;
    value.tagged(u32::MAX)?;
    value.settle_compact()?;
    Ok(CurrentValue { epoch, previous_epoch, state, assigned, pending_revocation })
}

/// Where the epochs of partitions are not told, as by Kafka before they were kept, the member's own counts.
fn read_owned(value: &mut Reader, member_epoch: i32) -> Result<Owned, Malformed> {
    let mut owned = Owned::new();
    for _ in 0..value.count_of::<[u64; 6]>(TOPIC_BYTES)? {
        let topic = TopicId(value.uuid()?);
        let count = value.count_of::<[u64; 2]>(4)?;
        let partitions = (0..count).map(|_| value.i32()).collect::<Result<Vec<i32>, _>>()?;
        let epochs = match value.tagged(0)? {
            Some(field) => read_epochs(&field, count)?,
            None => None,
        };
        let epochs = epochs.unwrap_or_else(|| vec![member_epoch; count]);
        owned.insert(topic, partitions.into_iter().zip(epochs).collect());
    }
    Ok(owned)
}

fn read_epochs(field: &Bytes, wanted: usize) -> Result<Option<Vec<i32>>, Malformed> {
    let mut value = Reader::of_tag(field);
    let Some(count) = value.nullable_count_of::<i32>(4)? else { return Ok(None) };
    if count != wanted {
        return Err(Malformed::Length(i64::try_from(count).unwrap_or(i64::MAX)));
    }
    (0..count).map(|_| value.i32()).collect::<Result<Vec<i32>, _>>().map(Some)
}

fn write_pattern(value: &PatternValue) -> Bytes {
    let mut out = value_writer();
    write_names(&mut out, &value.topics);
    out.i64(value.version);
    out.i64(value.resolved.0);
    out.no_tags();
    out.finish()
}

fn read_pattern(bytes: &Bytes) -> Result<PatternValue, Malformed> {
    let mut value = value_reader(bytes)?;
    let topics = read_names(&mut value)?;
    let (version, resolved) = (value.i64()?, Timestamp(value.i64()?));
    value.tagged(u32::MAX)?;
    value.settle_compact()?;
    Ok(PatternValue { topics, version, resolved })
}

#[cfg(test)]
mod tests;
