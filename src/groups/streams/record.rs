//! The records of streams groups in `__consumer_offsets`, byte for byte as Kafka 4.4 writes and reads them.
//!
//! ```text
//! key 17  group            the group's epoch, of which topics it was made, the settings of its assignment
//! key 19  group, member    what a member says of itself
//! key 20  group            the epoch of the assignment
//! key 21  group, member    what a member shall have
//! key 22  group, member    what a member has
//! key 23  group            the topology
//! ```
//! Keys are plain, values are flexible (compact lengths, tagged fields). All values have version 0.

use crate::coordinator::Malformed;
use crate::coordinator::Reader;
use crate::coordinator::Writer;
use crate::coordinator::machine::Entry;
use crate::groups::streams::member::Current;
use crate::groups::streams::member::Endpoint;
use crate::groups::streams::member::MemberState;
use crate::groups::streams::member::Profile;
use crate::groups::streams::tasks::Active;
use crate::groups::streams::tasks::Held;
use crate::groups::streams::tasks::Role;
use crate::groups::streams::tasks::Tasks;
use crate::groups::streams::topology::Copartition;
use crate::groups::streams::topology::Subtopology;
use crate::groups::streams::topology::TopicInfo;
use crate::groups::streams::topology::Topology;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A fact of a streams group; `None` takes it back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StreamsRecord {
    /// The group's epoch and what it rests on.
    Metadata(Arc<str>, Option<Metadata>),
    /// What a member says of itself.
    Member(Arc<str>, Arc<str>, Option<Profile>),
    /// The epoch of the assignment.
    TargetMetadata(Arc<str>, Option<TargetMetadata>),
    /// What a member shall have.
    Target(Arc<str>, Arc<str>, Option<Tasks>),
    /// What a member has.
    Current(Arc<str>, Arc<str>, Option<Current>),
    /// The topology.
    Topology(Arc<str>, Option<Topology>),
}

/// See [`StreamsRecord::Metadata`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// The group's epoch.
    pub epoch: i32,
    /// A hash of the topics it was made of.
    pub metadata_hash: i64,
    /// The epoch of the topology whose topics were all there; -1 when none was.
    pub validated_topology_epoch: i32,
    /// The settings of the last assignment.
    pub assignment_configs: BTreeMap<Arc<str>, Arc<str>>,
    /// What Kafka's plugin for topology descriptions keeps; -1 here.
    pub stored_description_epoch: i32,
    /// What Kafka's plugin for topology descriptions has refused; -1 here.
    pub failed_description_epoch: i32,
}

/// See [`StreamsRecord::TargetMetadata`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetMetadata {
    /// The epoch.
    pub epoch: i32,
    /// When it was worked out, in milliseconds since 1970; 0 when not known.
    pub timestamp_ms: i64,
}

const METADATA_KEY: i16 = 17;
const MEMBER_KEY: i16 = 19;
const TARGET_METADATA_KEY: i16 = 20;
const TARGET_KEY: i16 = 21;
const CURRENT_KEY: i16 = 22;
const TOPOLOGY_KEY: i16 = 23;

const VALIDATED_TAG: u32 = 0;
const CONFIGS_TAG: u32 = 1;
const STORED_TAG: u32 = 2;
const FAILED_TAG: u32 = 3;
const TIMESTAMP_TAG: u32 = 0;
const EPOCHS_TAG: u32 = 0;

impl StreamsRecord {
    /// The group it belongs to.
    pub fn group(&self) -> &Arc<str> {
        match self {
            StreamsRecord::Metadata(group, _)
            | StreamsRecord::Member(group, _, _)
            | StreamsRecord::TargetMetadata(group, _)
            | StreamsRecord::Target(group, _, _)
            | StreamsRecord::Current(group, _, _)
            | StreamsRecord::Topology(group, _) => group,
        }
    }

    /// Whether it takes something back.
    pub(crate) fn deletes(&self) -> bool {
        match self {
            StreamsRecord::Metadata(_, value) => value.is_none(),
            StreamsRecord::Member(_, _, value) => value.is_none(),
            StreamsRecord::TargetMetadata(_, value) => value.is_none(),
            StreamsRecord::Target(_, _, value) => value.is_none(),
            StreamsRecord::Current(_, _, value) => value.is_none(),
            StreamsRecord::Topology(_, value) => value.is_none(),
        }
    }

    /// The record's bytes.
    pub fn write(&self) -> Entry {
        let (kind, member, value) = match self {
            StreamsRecord::Metadata(_, value) => (METADATA_KEY, None, value.as_ref().map(write_metadata)),
            StreamsRecord::Member(_, member, value) => {
                (MEMBER_KEY, Some(member), value.as_ref().map(write_profile))
            }
            StreamsRecord::TargetMetadata(_, value) => {
                (TARGET_METADATA_KEY, None, value.as_ref().map(write_target_metadata))
            }
            StreamsRecord::Target(_, member, value) => {
                (TARGET_KEY, Some(member), value.as_ref().map(write_tasks))
            }
            StreamsRecord::Current(_, member, value) => {
                (CURRENT_KEY, Some(member), value.as_ref().map(write_current))
            }
            StreamsRecord::Topology(_, value) => (TOPOLOGY_KEY, None, value.as_ref().map(write_topology)),
        };
        let mut key = Writer::new(kind);
        key.string(self.group());
        if let Some(member) = member {
            key.string(member);
        }
        Entry { key: key.finish(), value }
    }

    /// The record in these bytes; `None` when its key is not one of a streams group.
    pub(crate) fn read(entry: &Entry) -> Result<Option<StreamsRecord>, Malformed> {
        let mut key = Reader::new(&entry.key);
        let kind = key.i16()?;
        if !matches!(kind, METADATA_KEY | MEMBER_KEY..=TOPOLOGY_KEY) {
            return Ok(None);
        }
        let group = key.string()?;
        let value = entry.value.as_ref();
        Ok(Some(match kind {
            METADATA_KEY => StreamsRecord::Metadata(group, value.map(read_metadata).transpose()?),
            MEMBER_KEY => StreamsRecord::Member(group, key.string()?, value.map(read_profile).transpose()?),
            TARGET_METADATA_KEY => {
                StreamsRecord::TargetMetadata(group, value.map(read_target_metadata).transpose()?)
            }
            TARGET_KEY => StreamsRecord::Target(group, key.string()?, value.map(read_tasks).transpose()?),
            CURRENT_KEY => StreamsRecord::Current(group, key.string()?, value.map(read_current).transpose()?),
            _ => StreamsRecord::Topology(group, value.map(read_topology).transpose()?),
        }))
    }
}

fn writer() -> Writer {
    let mut out = Writer::new(0);
    out.set_flexible(true);
    out
}

fn reader(bytes: &Bytes) -> Result<Reader, Malformed> {
    let mut value = Reader::new(bytes);
    let version = value.i16()?;
    if version != 0 {
        return Err(Malformed::Version(version));
    }
    value.set_flexible(true);
    Ok(value)
}

/// A reader of one tagged field.
fn tagged(bytes: &Bytes) -> Reader {
    let mut value = Reader::new(bytes);
    value.set_flexible(true);
    value
}

/// The bytes of a field that stands in the tag section.
fn tag_body(write: impl FnOnce(&mut Writer)) -> Bytes {
    let mut out = Writer::of_tag();
    write(&mut out);
    out.finish()
}

fn write_pairs(out: &mut Writer, pairs: &BTreeMap<Arc<str>, Arc<str>>) {
    out.count(pairs.len());
    for (key, value) in pairs {
        out.string(key);
        out.string(value);
        out.no_tags();
    }
}

type Pairs = Vec<(Arc<str>, Arc<str>)>;

fn read_pairs(value: &mut Reader) -> Result<Pairs, Malformed> {
    let count = value.count_of::<[usize; 8]>(3)?;
    let mut pairs = Vec::with_capacity(count);
    for _ in 0..count {
        pairs.push((value.string()?, value.string()?));
        value.tagged(u32::MAX)?;
    }
    Ok(pairs)
}

fn write_metadata(value: &Metadata) -> Bytes {
    let mut out = writer();
    out.i32(value.epoch);
    out.i64(value.metadata_hash);
    let mut tags = Vec::new();
    let mut epoch = |tag, epoch: i32| {
        if epoch != -1 {
            tags.push((tag, Bytes::copy_from_slice(&epoch.to_be_bytes())));
        }
    };
    epoch(VALIDATED_TAG, value.validated_topology_epoch);
    epoch(STORED_TAG, value.stored_description_epoch);
    epoch(FAILED_TAG, value.failed_description_epoch);
    tags.push((CONFIGS_TAG, tag_body(|out| write_pairs(out, &value.assignment_configs))));
    tags.sort_by_key(|(tag, _)| *tag);
    out.tags(&tags);
    out.finish()
}

fn read_metadata(bytes: &Bytes) -> Result<Metadata, Malformed> {
    let mut value = reader(bytes)?;
    let mut metadata = Metadata {
        epoch: value.i32()?,
        metadata_hash: value.i64()?,
        validated_topology_epoch: -1,
        assignment_configs: BTreeMap::new(),
        stored_description_epoch: -1,
        failed_description_epoch: -1,
    };
    for (tag, bytes) in value.all_tagged()? {
        let mut field = tagged(&bytes);
        match tag {
            VALIDATED_TAG => metadata.validated_topology_epoch = field.i32()?,
            CONFIGS_TAG => metadata.assignment_configs = read_pairs(&mut field)?.into_iter().collect(),
            STORED_TAG => metadata.stored_description_epoch = field.i32()?,
            FAILED_TAG => metadata.failed_description_epoch = field.i32()?,
            _ => {}
        }
    }
    Ok(metadata)
}

fn write_profile(value: &Profile) -> Bytes {
    let mut out = writer();
    out.nullable_string(value.instance_id.as_deref());
    out.nullable_string(value.rack_id.as_deref());
    out.string(&value.client_id);
    out.string(&value.client_host);
    out.i32(value.rebalance_timeout_ms);
    out.i32(value.topology_epoch);
    out.string(&value.process_id);
    match &value.endpoint {
        None => out.i8(-1),
        Some(endpoint) => {
            out.i8(1);
            out.string(&endpoint.host);
            out.raw(&endpoint.port.to_be_bytes());
            out.no_tags();
        }
    }
    write_pairs(&mut out, &value.client_tags);
    out.no_tags();
    out.finish()
}

fn read_profile(bytes: &Bytes) -> Result<Profile, Malformed> {
    let mut value = reader(bytes)?;
    let instance_id = value.nullable_string()?;
    let rack_id = value.nullable_string()?;
    let client_id = value.string()?;
    let client_host = value.string()?;
    let rebalance_timeout_ms = value.i32()?;
    let topology_epoch = value.i32()?;
    let process_id = value.string()?;
    let endpoint = if value.i8()? < 0 { None } else { Some(read_endpoint(&mut value)?) };
    let client_tags = read_pairs(&mut value)?.into_iter().collect();
    value.tagged(u32::MAX)?;
    Ok(Profile {
        instance_id,
        rack_id,
        client_id,
        client_host,
        rebalance_timeout_ms,
        topology_epoch,
        process_id,
        endpoint,
        client_tags,
    })
}

fn read_endpoint(value: &mut Reader) -> Result<Endpoint, Malformed> {
    let host = value.string()?;
    let port = u16::from_be_bytes(value.i16()?.to_be_bytes());
    value.tagged(u32::MAX)?;
    Ok(Endpoint { host, port })
}

fn write_target_metadata(value: &TargetMetadata) -> Bytes {
    let mut out = writer();
    out.i32(value.epoch);
    let timestamp = (TIMESTAMP_TAG, Bytes::copy_from_slice(&value.timestamp_ms.to_be_bytes()));
    out.tags(if value.timestamp_ms == 0 { &[] } else { std::slice::from_ref(&timestamp) });
    out.finish()
}

fn read_target_metadata(bytes: &Bytes) -> Result<TargetMetadata, Malformed> {
    let mut value = reader(bytes)?;
    let epoch = value.i32()?;
    let timestamp_ms = match value.tagged(TIMESTAMP_TAG)? {
        Some(field) => tagged(&field).i64()?,
        None => 0,
    };
    Ok(TargetMetadata { epoch, timestamp_ms })
}

fn write_role(out: &mut Writer, role: &Role) {
    out.count(role.len());
    for (subtopology, partitions) in role {
        out.string(subtopology);
        out.count(partitions.len());
        for partition in partitions {
            out.i32(*partition);
        }
        out.no_tags();
    }
}

fn write_active(out: &mut Writer, active: &Active) {
    out.count(active.len());
    for (subtopology, partitions) in active {
        out.string(subtopology);
        out.count(partitions.len());
        for partition in partitions.keys() {
            out.i32(*partition);
        }
        let epochs = tag_body(|out| {
            out.count(partitions.len());
            for epoch in partitions.values() {
                out.i32(*epoch);
            }
        });
        out.tags(&[(EPOCHS_TAG, epochs)]);
    }
}

fn write_tasks(value: &Tasks) -> Bytes {
    let mut out = writer();
    write_role(&mut out, &value.active);
    write_role(&mut out, &value.standby);
    write_role(&mut out, &value.warmup);
    out.no_tags();
    out.finish()
}

fn read_tasks(bytes: &Bytes) -> Result<Tasks, Malformed> {
    let mut value = reader(bytes)?;
    let tasks = Tasks {
        active: read_role(&mut value)?,
        standby: read_role(&mut value)?,
        warmup: read_role(&mut value)?,
    };
    value.tagged(u32::MAX)?;
    Ok(tasks)
}

fn write_current(value: &Current) -> Bytes {
    let mut out = writer();
    out.i32(value.epoch);
    out.i32(value.previous_epoch);
    out.i8(value.state.code());
    for held in [&value.assigned, &value.revoking] {
        write_active(&mut out, &held.active);
        write_role(&mut out, &held.standby);
        write_role(&mut out, &held.warmup);
    }
    out.no_tags();
    out.finish()
}

fn read_current(bytes: &Bytes) -> Result<Current, Malformed> {
    let mut value = reader(bytes)?;
    let epoch = value.i32()?;
    let previous_epoch = value.i32()?;
    let state = MemberState::from_code(value.i8()?);
    let assigned = read_held(&mut value, epoch)?;
    let revoking = read_held(&mut value, epoch)?;
    value.tagged(u32::MAX)?;
    Ok(Current { epoch, previous_epoch, state, assigned, revoking })
}

fn read_held(value: &mut Reader, epoch: i32) -> Result<Held, Malformed> {
    let active = read_task_ids(value)?;
    let active = active.into_iter().map(|ids| {
        let epochs = ids.epochs.into_iter().chain(std::iter::repeat(epoch));
        (ids.subtopology, ids.partitions.into_iter().zip(epochs).collect())
    });
    Ok(Held { active: active.collect(), standby: read_role(value)?, warmup: read_role(value)? })
}

/// The partitions of one subtopology; `epochs` is empty where none were written.
struct TaskIds {
    subtopology: Arc<str>,
    partitions: Vec<i32>,
    epochs: Vec<i32>,
}

fn read_task_ids(value: &mut Reader) -> Result<Vec<TaskIds>, Malformed> {
    // A name, a count and no tags take a byte each.
    let count = value.count_of::<TaskIds>(3)?;
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let subtopology = value.string()?;
        let partitions = read_numbers(value)?;
        let epochs = match value.tagged(EPOCHS_TAG)? {
            Some(field) => read_epochs(&field)?,
            None => Vec::new(),
        };
        all.push(TaskIds { subtopology, partitions, epochs });
    }
    Ok(all)
}

fn read_epochs(field: &Bytes) -> Result<Vec<i32>, Malformed> {
    let mut value = tagged(field);
    let Some(count) = value.nullable_count_of::<i32>(4)? else { return Ok(Vec::new()) };
    (0..count).map(|_| value.i32()).collect()
}

fn read_numbers(value: &mut Reader) -> Result<Vec<i32>, Malformed> {
    // A number in a set takes three times its own room, with the set.
    let count = value.count_of::<[i32; 3]>(4)?;
    let mut numbers = Vec::with_capacity(count);
    for _ in 0..count {
        numbers.push(value.i32()?);
    }
    Ok(numbers)
}

fn read_role(value: &mut Reader) -> Result<Role, Malformed> {
    let ids = read_task_ids(value)?;
    let ids = ids.into_iter().filter(|ids| !ids.partitions.is_empty());
    Ok(ids.map(|ids| (ids.subtopology, ids.partitions.into_iter().collect())).collect())
}

fn write_names(out: &mut Writer, names: &[Arc<str>]) {
    out.count(names.len());
    for name in names {
        out.string(name);
    }
}

fn write_topics(out: &mut Writer, topics: &[TopicInfo]) {
    out.count(topics.len());
    for topic in topics {
        out.string(&topic.name);
        out.i32(topic.partitions);
        out.i16(topic.replication_factor);
        out.count(topic.configs.len());
        for (key, value) in &topic.configs {
            out.string(key);
            out.string(value);
            out.no_tags();
        }
        out.no_tags();
    }
}

fn write_places(out: &mut Writer, places: &[i16]) {
    out.count(places.len());
    for place in places {
        out.i16(*place);
    }
}

fn write_topology(value: &Topology) -> Bytes {
    let mut out = writer();
    out.i32(value.epoch);
    out.count(value.subtopologies.len());
    for (id, subtopology) in &value.subtopologies {
        out.string(id);
        write_names(&mut out, &subtopology.source_topics);
        write_names(&mut out, &subtopology.source_topic_regex);
        write_topics(&mut out, &subtopology.state_changelog_topics);
        write_names(&mut out, &subtopology.repartition_sink_topics);
        write_topics(&mut out, &subtopology.repartition_source_topics);
        out.count(subtopology.copartition_groups.len());
        for group in &subtopology.copartition_groups {
            write_places(&mut out, &group.source_topics);
            write_places(&mut out, &group.source_topic_regex);
            write_places(&mut out, &group.repartition_source_topics);
            out.no_tags();
        }
        out.no_tags();
    }
    out.no_tags();
    out.finish()
}

fn read_topology(bytes: &Bytes) -> Result<Topology, Malformed> {
    let mut value = reader(bytes)?;
    let epoch = value.i32()?;
    let count = value.count_of::<(Arc<str>, Subtopology)>(8)?;
    let mut subtopologies = BTreeMap::new();
    for _ in 0..count {
        let id = value.string()?;
        let subtopology = Subtopology {
            source_topics: read_names(&mut value)?,
            source_topic_regex: read_names(&mut value)?,
            state_changelog_topics: read_topics(&mut value)?,
            repartition_sink_topics: read_names(&mut value)?,
            repartition_source_topics: read_topics(&mut value)?,
            copartition_groups: read_copartitions(&mut value)?,
        };
        value.tagged(u32::MAX)?;
        subtopologies.insert(id, subtopology);
    }
    value.tagged(u32::MAX)?;
    Ok(Topology { epoch, subtopologies })
}

fn read_names(value: &mut Reader) -> Result<Vec<Arc<str>>, Malformed> {
    let count = value.count_of::<Arc<str>>(1)?;
    let mut names = Vec::with_capacity(count);
    for _ in 0..count {
        names.push(value.string()?);
    }
    Ok(names)
}

fn read_topics(value: &mut Reader) -> Result<Vec<TopicInfo>, Malformed> {
    let count = value.count_of::<TopicInfo>(9)?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        let topic = TopicInfo {
            name: value.string()?,
            partitions: value.i32()?,
            replication_factor: value.i16()?,
            configs: read_pairs(value)?,
        };
        value.tagged(u32::MAX)?;
        topics.push(topic);
    }
    Ok(topics)
}

fn read_copartitions(value: &mut Reader) -> Result<Vec<Copartition>, Malformed> {
    let count = value.count_of::<Copartition>(4)?;
    let mut groups = Vec::with_capacity(count);
    for _ in 0..count {
        let group = Copartition {
            source_topics: read_places(value)?,
            source_topic_regex: read_places(value)?,
            repartition_source_topics: read_places(value)?,
        };
        value.tagged(u32::MAX)?;
        groups.push(group);
    }
    Ok(groups)
}

fn read_places(value: &mut Reader) -> Result<Vec<i16>, Malformed> {
    let count = value.count_of::<i16>(2)?;
    let mut places = Vec::with_capacity(count);
    for _ in 0..count {
        places.push(value.i16()?);
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::streams::tasks;
    use proptest::prelude::*;

    fn text(value: &str) -> Arc<str> {
        Arc::from(value)
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn value(record: &StreamsRecord) -> String {
        hex(&record.write().value.unwrap())
    }

    #[test]
    fn keys_have_kafkas_numbers() {
        let group = text("g");
        let member = text("m");
        for (record, key) in [
            (StreamsRecord::Metadata(group.clone(), None), "0011000167"),
            (StreamsRecord::Member(group.clone(), member.clone(), None), "001300016700016d"),
            (StreamsRecord::TargetMetadata(group.clone(), None), "0014000167"),
            (StreamsRecord::Target(group.clone(), member.clone(), None), "001500016700016d"),
            (StreamsRecord::Current(group.clone(), member, None), "001600016700016d"),
            (StreamsRecord::Topology(group, None), "0017000167"),
        ] {
            let entry = record.write();
            assert_eq!((hex(&entry.key), entry.value.clone()), (key.to_owned(), None));
            assert_eq!(StreamsRecord::read(&entry), Ok(Some(record)));
        }
        let other = Entry { key: Bytes::from_static(&[0, 18, 0, 1, b'g']), value: None };
        assert_eq!(StreamsRecord::read(&other), Ok(None));
    }

    #[test]
    fn values_have_kafkas_bytes() {
        let metadata = Metadata {
            epoch: 5,
            metadata_hash: 9,
            validated_topology_epoch: 2,
            assignment_configs: BTreeMap::from([(text("k"), text("v"))]),
            stored_description_epoch: -1,
            failed_description_epoch: -1,
        };
        assert_eq!(
            value(&StreamsRecord::Metadata(text("g"), Some(metadata))),
            ["0000", "00000005", "0000000000000009", "02", "000400000002", "0106", "02026b027600"].concat()
        );
        let target = TargetMetadata { epoch: 3, timestamp_ms: 7 };
        assert_eq!(
            value(&StreamsRecord::TargetMetadata(text("g"), Some(target))),
            ["0000", "00000003", "01", "0008", "0000000000000007"].concat()
        );
        let held = Held {
            active: BTreeMap::from([(text("0"), BTreeMap::from([(1, 4)]))]),
            standby: Role::from([(text("1"), [2].into())]),
            warmup: Role::new(),
        };
        let current = Current {
            epoch: 4,
            previous_epoch: 3,
            state: MemberState::UnreleasedTasks,
            assigned: held,
            revoking: Held::default(),
        };
        assert_eq!(
            value(&StreamsRecord::Current(text("g"), text("m"), Some(current))),
            [
                "0000",
                "00000004",
                "00000003",
                "03",
                "02",
                "0230",
                "0200000001",
                "01",
                "0005",
                "0200000004",
                "02",
                "0231",
                "0200000002",
                "00",
                "01",
                "010101",
                "00"
            ]
            .concat()
        );
        let endpoint = Some(Endpoint { host: text("h"), port: 0xfffe });
        let profile = Profile {
            instance_id: None,
            rack_id: Some(text("r")),
            client_id: text("c"),
            client_host: text("/1"),
            rebalance_timeout_ms: 9,
            topology_epoch: 1,
            process_id: text("p"),
            endpoint,
            client_tags: BTreeMap::new(),
        };
        assert_eq!(
            value(&StreamsRecord::Member(text("g"), text("m"), Some(profile))),
            [
                "0000", "00", "0272", "0263", "032f31", "00000009", "00000001", "0270", "01", "0268", "fffe",
                "00", "01", "00"
            ]
            .concat()
        );
    }

    #[test]
    fn tasks_without_epochs_take_that_of_their_member() {
        let bytes = [
            "0000",
            "00000004",
            "00000003",
            "01",
            "02",
            "0230",
            "0200000001",
            "00",
            "01",
            "01",
            "010101",
            "00",
        ];
        let bytes = bytes.concat();
        let pairs = bytes.as_bytes().chunks(2).map(|pair| str::from_utf8(pair).unwrap());
        let bytes: Bytes = pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect();
        let current = read_current(&bytes).unwrap();
        assert_eq!(current.assigned.active_epoch("0", 1), Some(4));
    }

    fn name() -> impl Strategy<Value = Arc<str>> {
        "[a-z]{0,8}".prop_map(|name| Arc::from(name.as_str()))
    }

    fn role() -> impl Strategy<Value = Role> {
        proptest::collection::vec((name(), any::<i32>()), 0..6).prop_map(|all| {
            let mut role = Role::new();
            for (subtopology, partition) in all {
                tasks::put(&mut role, &subtopology, partition);
            }
            role
        })
    }

    fn held() -> impl Strategy<Value = Held> {
        let active = proptest::collection::vec((name(), any::<i32>(), any::<i32>()), 0..6);
        (active, role(), role()).prop_map(|(all, standby, warmup)| {
            let mut active = Active::new();
            for (subtopology, partition, epoch) in all {
                active.entry(subtopology).or_default().insert(partition, epoch);
            }
            Held { active, standby, warmup }
        })
    }

    fn pairs() -> impl Strategy<Value = BTreeMap<Arc<str>, Arc<str>>> {
        proptest::collection::btree_map(name(), name(), 0..4)
    }

    fn topics() -> impl Strategy<Value = Vec<TopicInfo>> {
        let topic = (name(), any::<i32>(), any::<i16>(), pairs());
        let topic = topic.prop_map(|(name, partitions, replication_factor, configs)| TopicInfo {
            name,
            partitions,
            replication_factor,
            configs: configs.into_iter().collect(),
        });
        proptest::collection::vec(topic, 0..4)
    }

    fn subtopology() -> impl Strategy<Value = Subtopology> {
        let names = || proptest::collection::vec(name(), 0..4);
        let places = || proptest::collection::vec(any::<i16>(), 0..4);
        let groups = (places(), places(), places()).prop_map(|(one, two, three)| Copartition {
            source_topics: one,
            source_topic_regex: two,
            repartition_source_topics: three,
        });
        (names(), names(), topics(), names(), topics(), proptest::collection::vec(groups, 0..3)).prop_map(
            |(sources, regex, logs, sinks, repartition, groups)| Subtopology {
                source_topics: sources,
                source_topic_regex: regex,
                state_changelog_topics: logs,
                repartition_sink_topics: sinks,
                repartition_source_topics: repartition,
                copartition_groups: groups,
            },
        )
    }

    fn record() -> impl Strategy<Value = StreamsRecord> {
        let member = || (name(), name());
        let state = prop_oneof![
            Just(MemberState::Stable),
            Just(MemberState::UnrevokedTasks),
            Just(MemberState::UnreleasedTasks)
        ];
        let current =
            (any::<(i32, i32)>(), state, held(), held()).prop_map(|(epochs, state, assigned, revoking)| {
                Current { epoch: epochs.0, previous_epoch: epochs.1, state, assigned, revoking }
            });
        let profile =
            (any::<(i32, i32, u16)>(), proptest::option::of(name()), proptest::option::of(name()), pairs());
        let profile = profile.prop_map(|(numbers, one, two, client_tags)| Profile {
            instance_id: one.clone(),
            rack_id: two,
            client_id: text("c"),
            client_host: text("h"),
            rebalance_timeout_ms: numbers.0,
            topology_epoch: numbers.1,
            process_id: text("p"),
            endpoint: one.map(|host| Endpoint { host, port: numbers.2 }),
            client_tags,
        });
        let metadata =
            (any::<(i32, i64, i32, i32, i32)>(), pairs()).prop_map(|(numbers, assignment_configs)| {
                Metadata {
                    epoch: numbers.0,
                    metadata_hash: numbers.1,
                    validated_topology_epoch: numbers.2,
                    assignment_configs,
                    stored_description_epoch: numbers.3,
                    failed_description_epoch: numbers.4,
                }
            });
        let topology = (any::<i32>(), proptest::collection::btree_map(name(), subtopology(), 0..4));
        let topology = topology.prop_map(|(epoch, subtopologies)| Topology { epoch, subtopologies });
        prop_oneof![
            (name(), metadata).prop_map(|(group, value)| StreamsRecord::Metadata(group, Some(value))),
            (member(), profile).prop_map(|((group, member), value)| StreamsRecord::Member(
                group,
                member,
                Some(value)
            )),
            (name(), any::<i32>(), any::<i64>()).prop_map(|(group, epoch, timestamp_ms)| {
                StreamsRecord::TargetMetadata(group, Some(TargetMetadata { epoch, timestamp_ms }))
            }),
            (member(), role(), role(), role()).prop_map(|((group, member), active, standby, warmup)| {
                StreamsRecord::Target(group, member, Some(Tasks { active, standby, warmup }))
            }),
            (member(), current).prop_map(|((group, member), value)| StreamsRecord::Current(
                group,
                member,
                Some(value)
            )),
            (name(), topology).prop_map(|(group, value)| StreamsRecord::Topology(group, Some(value))),
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(record in record()) {
            prop_assert_eq!(StreamsRecord::read(&record.write()), Ok(Some(record)));
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(kind in 17u8..24, key in proptest::collection::vec(any::<u8>(), 0..20),
                                              value in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut key = key;
            let mut value = value;
            key.splice(0..0, [0, kind, 0, 1, b'g', 0, 1, b'm']);
            value.splice(0..0, [0, 0]);
            let entry = Entry { key: Bytes::from(key), value: Some(Bytes::from(value)) };
            let _any_outcome = StreamsRecord::read(&entry);
        }

        #[test]
        fn a_damaged_record_is_read_without_a_panic(record in record(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut entry = record.write();
            let mut value = entry.value.take().unwrap().to_vec();
            let at = at.index(value.len());
            value[at] = byte;
            entry.value = Some(Bytes::from(value));
            let _any_outcome = StreamsRecord::read(&entry);
        }
    }
}
