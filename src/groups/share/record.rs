//! The records of share groups (KIP-932), byte for byte as Kafka 4.4 writes and reads them.
//!
//! ```text
//! key    [version i16][group string][fields]     the version says what the record is about
//! value  [version i16 = 0][fields, flexible]     no value: the key is deleted
//!
//! 10  group, member         rack (nullable), client id, client host, topic names
//! 11  group                 group epoch i32, hash of the subscribed topics' metadata i64
//! 12  group                 assignment epoch i32, tag 0 = when it was made i64 (0 is left out)
//! 13  group, member         target: topic id, partitions [i32]
//! 14  group, member         member epoch i32, previous epoch i32, state i8, assigned: topic id, partitions [i32]
//! 15  group                 share-partitions with the share coordinator: being made and made, each: topic id, name,
//!                           partitions [i32]; being deleted: topic id, name
//! ```

use crate::base::TopicId;
use crate::coordinator::Malformed;
use crate::coordinator::Reader;
use crate::coordinator::Writer;
use crate::coordinator::machine::Entry;
use crate::groups::assign::Partitions;
use crate::groups::consumer::record as common;
use crate::groups::consumer::record::EpochValue;
use crate::groups::consumer::record::TargetEpochValue;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A fact about a share group.
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
    /// A member and what it subscribes to.
    Member(Arc<str>, Option<Box<MemberValue>>),
    /// The group's epoch; its end is the end of the group.
    Epoch(Option<EpochValue>),
    /// Of which group epoch the target assignment is.
    TargetEpoch(Option<TargetEpochValue>),
    /// What a member is to have.
    Target(Arc<str>, Option<Partitions>),
    /// What a member has.
    Current(Arc<str>, Option<CurrentValue>),
    /// Which share-partitions the share coordinator knows.
    States(Option<Arc<StatesValue>>),
}

/// See [`Fact::Member`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberValue {
    /// Where it runs.
    pub rack_id: Option<Arc<str>>,
    /// The client id of its requests.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
    /// The topics it reads, sorted.
    pub topics: BTreeSet<Arc<str>>,
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
    pub assigned: Partitions,
}

/// See [`Fact::States`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatesValue {
    /// Those that the share coordinator is asked to make.
    pub initializing: Topics,
    /// Those that it has made.
    pub initialized: Topics,
    /// Topics of which it is asked to delete all.
    pub deleting: BTreeMap<TopicId, Arc<str>>,
}

/// Partitions of topics.
pub type Topics = BTreeMap<TopicId, Topic>;

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topic {
    /// Its name.
    pub name: Arc<str>,
    /// The partitions' numbers.
    pub partitions: BTreeSet<i32>,
}

const MEMBER: i16 = 10;
const EPOCH: i16 = 11;
const TARGET_EPOCH: i16 = 12;
const TARGET: i16 = 13;
const CURRENT: i16 = 14;
const STATES: i16 = 15;

/// Whether keys of this version are those of share groups.
pub(crate) fn is_own(key_version: i16) -> bool {
    (MEMBER..=STATES).contains(&key_version)
}

impl Record {
    /// Whether it takes something away.
    pub(crate) fn deletes(&self) -> bool {
        match &self.fact {
            Fact::Member(_, value) => value.is_none(),
            Fact::Epoch(value) => value.is_none(),
            Fact::TargetEpoch(value) => value.is_none(),
            Fact::Target(_, value) => value.is_none(),
            Fact::Current(_, value) => value.is_none(),
            Fact::States(value) => value.is_none(),
        }
    }

    /// The record's bytes.
    pub fn write(&self) -> Entry {
        let (version, member, value) = match &self.fact {
            Fact::Member(member, value) => (MEMBER, Some(member), value.as_deref().map(write_member)),
            Fact::Epoch(value) => (EPOCH, None, value.as_ref().map(write_epoch)),
            Fact::TargetEpoch(value) => (TARGET_EPOCH, None, value.as_ref().map(common::write_target_epoch)),
            Fact::Target(member, value) => (TARGET, Some(member), value.as_ref().map(common::write_target)),
            Fact::Current(member, value) => (CURRENT, Some(member), value.as_ref().map(write_current)),
            Fact::States(value) => (STATES, None, value.as_deref().map(write_states)),
        };
        let mut key = Writer::new(version);
        key.string(&self.group);
        if let Some(member) = member {
            key.string(member);
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
            MEMBER => Fact::Member(key.string()?, value.map(read_member).transpose()?.map(Box::new)),
            EPOCH => Fact::Epoch(value.map(read_epoch).transpose()?),
            TARGET_EPOCH => Fact::TargetEpoch(value.map(common::read_target_epoch).transpose()?),
            TARGET => Fact::Target(key.string()?, value.map(common::read_target).transpose()?),
            CURRENT => Fact::Current(key.string()?, value.map(read_current).transpose()?),
            _ => Fact::States(value.map(read_states).transpose()?.map(Arc::new)),
        };
        Ok(Some(Record { group, fact }))
    }
}

fn write_member(member: &MemberValue) -> Bytes {
    let mut out = common::value_writer();
    out.nullable_string(member.rack_id.as_deref());
    out.string(&member.client_id);
    out.string(&member.client_host);
    common::write_names(&mut out, &member.topics);
    out.no_tags();
    out.finish()
}

fn read_member(bytes: &Bytes) -> Result<MemberValue, Malformed> {
    let mut value = common::value_reader(bytes)?;
    let rack_id = value.nullable_string()?;
    let client_id = value.string()?;
    let client_host = value.string()?;
    let topics = common::read_names(&mut value)?;
    value.tagged(u32::MAX)?;
    value.settle_compact()?;
    Ok(MemberValue { rack_id, client_id, client_host, topics })
}

fn write_epoch(value: &EpochValue) -> Bytes {
    let mut out = common::value_writer();
    out.i32(value.epoch);
    out.i64(value.metadata_hash);
    out.no_tags();
    out.finish()
}

fn read_epoch(bytes: &Bytes) -> Result<EpochValue, Malformed> {
    let mut value = common::value_reader(bytes)?;
    Ok(EpochValue { epoch: value.i32()?, metadata_hash: value.i64()? })
}

fn write_current(current: &CurrentValue) -> Bytes {
    let mut out = common::value_writer();
    out.i32(current.epoch);
    out.i32(current.previous_epoch);
    out.i8(current.state);
    common::write_partitions(&mut out, &current.assigned);
    out.no_tags();
    out.finish()
}

fn read_current(bytes: &Bytes) -> Result<CurrentValue, Malformed> {
    let mut value = common::value_reader(bytes)?;
    let epoch = value.i32()?;
    let previous_epoch = value.i32()?;
    let state = value.i8()?;
    let assigned = common::read_partitions(&mut value)?;
    value.tagged(u32::MAX)?;
    value.settle_compact()?;
    Ok(CurrentValue { epoch, previous_epoch, state, assigned })
}

fn write_states(states: &StatesValue) -> Bytes {
    let mut out = common::value_writer();
    write_topics(&mut out, &states.initializing);
    write_topics(&mut out, &states.initialized);
    out.count(states.deleting.len());
    for (id, name) in &states.deleting {
        out.raw(id.0.as_bytes());
        out.string(name);
        out.no_tags();
    }
    out.no_tags();
    out.finish()
}

fn write_topics(out: &mut Writer, topics: &Topics) {
    out.count(topics.len());
    for (id, topic) in topics {
        out.raw(id.0.as_bytes());
        out.string(&topic.name);
        out.count(topic.partitions.len());
        topic.partitions.iter().for_each(|partition| out.i32(*partition));
        out.no_tags();
    }
}

fn read_states(bytes: &Bytes) -> Result<StatesValue, Malformed> {
    let mut value = common::value_reader(bytes)?;
    let initializing = read_topics(&mut value)?;
    let initialized = read_topics(&mut value)?;
    let mut deleting = BTreeMap::new();
    for _ in 0..value.count_of::<[u64; 8]>(common::TOPIC_BYTES)? {
        deleting.insert(TopicId(value.uuid()?), value.string()?);
        value.tagged(u32::MAX)?;
    }
    value.tagged(u32::MAX)?;
    value.settle_compact()?;
    Ok(StatesValue { initializing, initialized, deleting })
}

fn read_topics(value: &mut Reader) -> Result<Topics, Malformed> {
    let mut topics = Topics::new();
    for _ in 0..value.count_of::<[u64; 8]>(common::TOPIC_BYTES)? {
        let id = TopicId(value.uuid()?);
        let name = value.string()?;
        let count = value.count_of::<u64>(4)?;
        let partitions = (0..count).map(|_| value.i32()).collect::<Result<BTreeSet<i32>, _>>()?;
        value.tagged(u32::MAX)?;
        topics.insert(id, Topic { name, partitions });
    }
    Ok(topics)
}

#[cfg(test)]
mod tests;
