//! The committed offsets of all groups of one partition of `__consumer_offsets`, and those that wait for
//! their transaction to end.

use crate::base::ErrorCode;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::coordinator::Place;
use crate::groups::command::Commit;
use crate::groups::command::CommitPartition;
use crate::groups::command::CommitTopic;
use crate::groups::command::Fetch;
use crate::groups::command::FetchTopic;
use crate::groups::command::FetchedPartition;
use crate::groups::command::FetchedTopic;
use crate::groups::record::OffsetKey;
use crate::groups::record::OffsetValue;
use crate::groups::record::Record;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An offset with the place of its record: of a transactional and a plain commit the later record counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Committed {
    pub(crate) record_offset: i64,
    pub(crate) value: OffsetValue,
}

type Partitions = BTreeMap<i32, Committed>;
pub(crate) type Topics = BTreeMap<Arc<str>, Partitions>;

/// All offsets by group, topic and partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Offsets {
    groups: BTreeMap<Arc<str>, Topics>,
    /// Commits of transactions that are still open.
    pending: BTreeMap<ProducerId, BTreeMap<Arc<str>, Topics>>,
    /// The memory that all of them take, about.
    bytes: usize,
}

/// The memory that an offset takes, about.
fn bytes_of(group: &str, topic: &str, metadata: &str) -> usize {
    160 + group.len() + topic.len() + metadata.len()
}

impl Offsets {
    pub(crate) fn of(&self, group: &str) -> Option<&Topics> {
        self.groups.get(group)
    }

    /// How many there are, those of open transactions left out.
    pub(crate) fn count(&self) -> usize {
        self.groups.values().flat_map(BTreeMap::values).map(BTreeMap::len).sum()
    }

    /// The memory that all of them take, about.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What a commit adds to it.
    pub(crate) fn added_by(&self, request: &Commit) -> usize {
        let one = |topic: &CommitTopic, partition: &CommitPartition| {
            let metadata = partition.metadata.as_deref().unwrap_or_default();
            let own = bytes_of(&request.group, &topic.name, metadata);
            let before = self.get(&request.group, &topic.name, partition.partition);
            own.saturating_sub(
                before.map_or(0, |known| bytes_of(&request.group, &topic.name, &known.value.metadata)),
            )
        };
        request.topics.iter().flat_map(|topic| topic.partitions.iter().map(|each| one(topic, each))).sum()
    }

    pub(crate) fn get(&self, group: &str, topic: &str, partition: i32) -> Option<&Committed> {
        self.groups.get(group)?.get(topic)?.get(&partition)
    }

    /// Whether a transaction that is still open has committed to any partition of the group.
    pub(crate) fn has_open_transactions(&self, group: &str) -> bool {
        self.pending.values().any(|groups| groups.contains_key(group))
    }

    /// Whether a transaction that is still open has committed to this partition.
    pub(crate) fn is_pending(&self, group: &str, topic: &str, partition: i32) -> bool {
        self.pending_at(group, topic, partition).next().is_some()
    }

    pub(crate) fn apply(&mut self, place: Place, key: &OffsetKey, value: Option<&OffsetValue>) {
        let Some(value) = value else {
            let mut gone = remove(&mut self.groups, key);
            for groups in self.pending.values_mut() {
                gone += remove(groups, key);
            }
            self.bytes = self.bytes.saturating_sub(gone);
            self.pending.retain(|_, groups| !groups.is_empty());
            return;
        };
        let committed = Committed { record_offset: place.offset.0, value: value.clone() };
        let into = match place.producer {
            ProducerId::NONE => &mut self.groups,
            producer => self.pending.entry(producer).or_default(),
        };
        let (more, gone) = put(into, key, committed);
        self.bytes = self.bytes.saturating_add(more).saturating_sub(gone);
    }

    /// Moves a transaction's offsets to the committed ones, except where a later plain commit stands, or drops
    /// them.
    pub(crate) fn end_transaction(&mut self, producer: ProducerId, committed: bool) {
        let Some(groups) = self.pending.remove(&producer) else { return };
        for (group, topics) in groups {
            for (topic, partitions) in topics {
                for (partition, offset) in partitions {
                    let own = bytes_of(&group, &topic, &offset.value.metadata);
                    self.bytes = self.bytes.saturating_sub(own);
                    if !committed {
                        continue;
                    }
                    let before = self.get(&group, &topic, partition).map(|before| before.record_offset);
                    if before.is_none_or(|before| before < offset.record_offset) {
                        let key = OffsetKey { group: group.clone(), topic: topic.clone(), partition };
                        let (more, gone) = put(&mut self.groups, &key, offset);
                        self.bytes = self.bytes.saturating_add(more).saturating_sub(gone);
                    }
                }
            }
        }
    }

    /// Tombstones for every offset of a group, also for pending ones.
    pub(crate) fn tombstones(
        &self,
        group: &Arc<str>,
        keep: impl Fn(&str, i32, Option<&Committed>) -> bool,
    ) -> Vec<Record> {
        let mut keys: BTreeSet<(&Arc<str>, i32)> = BTreeSet::new();
        let all =
            self.groups.get(group).into_iter().chain(self.pending.values().filter_map(|all| all.get(group)));
        for topics in all {
            for (topic, partitions) in topics {
                keys.extend(partitions.keys().map(|partition| (topic, *partition)));
            }
        }
        let wanted = |(topic, partition): &(&Arc<str>, i32)| {
            !keep(topic, *partition, self.get(group, topic, *partition))
        };
        keys.into_iter().filter(wanted).map(|(topic, partition)| tombstone(group, topic, partition)).collect()
    }

    /// Tombstones for the offsets of topics that are gone. An offset committed for a topic of the same name but with
    /// another id stays, and so does one that a transaction may still commit: a tombstone takes all of a partition.
    pub(crate) fn tombstones_of_topics(&self, deleted: &[(Arc<str>, TopicId)]) -> Vec<Record> {
        let groups: BTreeSet<&Arc<str>> =
            self.groups.keys().chain(self.pending.values().flat_map(BTreeMap::keys)).collect();
        let mut records = Vec::new();
        for group in groups {
            records.extend(self.tombstones(group, |topic, partition, committed| {
                let is_gone = |one: &Committed| {
                    let own = one.value.topic_id;
                    deleted.iter().any(|(name, id)| **name == *topic && (own.is_zero() || own == *id))
                };
                !committed.into_iter().chain(self.pending_at(group, topic, partition)).all(is_gone)
            }));
        }
        records
    }

    /// What open transactions have committed to a partition.
    fn pending_at(&self, group: &str, topic: &str, partition: i32) -> impl Iterator<Item = &Committed> {
        self.pending.values().filter_map(move |groups| groups.get(group)?.get(topic)?.get(&partition))
    }

    /// What a group reads. A group or partition without an offset reads -1. Who asks for all has those of the topics that
    /// are there now, of which `id_of` tells the id (or zero: an offset may outlive its topic for a while).
    pub(crate) fn fetch(&self, request: &Fetch, id_of: impl Fn(&str) -> TopicId) -> Vec<FetchedTopic> {
        match &request.topics {
            Some(topics) => topics.iter().map(|topic| self.fetch_topic(request, topic)).collect(),
            None => self
                .of(&request.group)
                .into_iter()
                .flatten()
                .filter_map(|(name, partitions)| {
                    let id = id_of(name);
                    let own =
                        partitions.iter().filter(|(_, one)| !is_of_another_topic(one.value.topic_id, id));
                    let partitions: Vec<i32> = own.map(|(partition, _)| *partition).collect();
                    let asked = FetchTopic { name: name.clone(), id, partitions };
                    (!asked.partitions.is_empty()).then(|| self.fetch_topic(request, &asked))
                })
                .collect(),
        }
    }

    fn fetch_topic(&self, request: &Fetch, topic: &FetchTopic) -> FetchedTopic {
        let one = |partition: &i32| self.fetch_partition(request, topic, *partition);
        FetchedTopic {
            name: topic.name.clone(),
            id: topic.id,
            partitions: topic.partitions.iter().map(one).collect(),
        }
    }

    fn fetch_partition(&self, request: &Fetch, topic: &FetchTopic, partition: i32) -> FetchedPartition {
        let none = |error| FetchedPartition {
            partition,
            error,
            offset: -1,
            leader_epoch: -1,
            metadata: Arc::from(""),
        };
        if request.require_stable && self.is_pending(&request.group, &topic.name, partition) {
            return none(ErrorCode::UnstableOffsetCommit);
        }
        let committed = self.get(&request.group, &topic.name, partition).map(|committed| &committed.value);
        match committed.filter(|value| !is_of_another_topic(value.topic_id, topic.id)) {
            None => none(ErrorCode::None),
            Some(value) => FetchedPartition {
                partition,
                error: ErrorCode::None,
                offset: value.offset,
                leader_epoch: value.leader_epoch,
                metadata: value.metadata.clone(),
            },
        }
    }
}

/// Both ids are known and differ: the topic was deleted and created anew.
fn is_of_another_topic(own: TopicId, asked: TopicId) -> bool {
    !own.is_zero() && !asked.is_zero() && own != asked
}

/// Puts an offset in its place; the bytes that came and those that went.
fn put(groups: &mut BTreeMap<Arc<str>, Topics>, key: &OffsetKey, committed: Committed) -> (usize, usize) {
    let bytes = |one: &Committed| bytes_of(&key.group, &key.topic, &one.value.metadata);
    let more = bytes(&committed);
    let topics = groups.entry(key.group.clone()).or_default();
    let before = topics.entry(key.topic.clone()).or_default().insert(key.partition, committed);
    (more, before.as_ref().map_or(0, bytes))
}

/// Takes an offset away; the bytes that went.
fn remove(groups: &mut BTreeMap<Arc<str>, Topics>, key: &OffsetKey) -> usize {
    let Some(topics) = groups.get_mut(&key.group) else { return 0 };
    let mut gone = 0;
    if let Some(partitions) = topics.get_mut(&key.topic) {
        let before = partitions.remove(&key.partition);
        gone = before.map_or(0, |one| bytes_of(&key.group, &key.topic, &one.value.metadata));
        if partitions.is_empty() {
            topics.remove(&key.topic);
        }
    }
    if topics.is_empty() {
        groups.remove(&key.group);
    }
    gone
}

pub(crate) fn tombstone(group: &Arc<str>, topic: &Arc<str>, partition: i32) -> Record {
    Record::Offset(OffsetKey { group: group.clone(), topic: topic.clone(), partition }, None)
}

/// What of a commit can be stored at all: the rest is refused for itself, before anybody asks who commits it.
pub(crate) fn storable(
    request: &Commit,
    metadata_max: usize,
) -> impl Iterator<Item = (&CommitTopic, &CommitPartition)> {
    let all = request.topics.iter().flat_map(|topic| topic.partitions.iter().map(move |one| (topic, one)));
    all.filter(move |(_, one)| !is_too_long(one.metadata.as_deref(), metadata_max))
}

/// The records of a valid commit, and the code of each of its partitions.
pub(crate) fn commit(
    now: Timestamp,
    metadata_max: usize,
    request: &Commit,
) -> (Vec<Record>, Vec<Vec<ErrorCode>>) {
    let expires = request.retention_ms.map_or(Timestamp::NONE, |kept| Timestamp(now.0.saturating_add(kept)));
    let mut records = Vec::new();
    let mut codes = Vec::with_capacity(request.topics.len());
    for topic in &request.topics {
        let mut topic_codes = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            if is_too_long(partition.metadata.as_deref(), metadata_max) {
                topic_codes.push(ErrorCode::OffsetMetadataTooLarge);
            } else {
                records.push(offset_record(&request.group, topic, partition, (now, expires)));
                topic_codes.push(ErrorCode::None);
            }
        }
        codes.push(topic_codes);
    }
    (records, codes)
}

fn offset_record(
    group: &Arc<str>,
    topic: &CommitTopic,
    partition: &CommitPartition,
    (committed, expires): (Timestamp, Timestamp),
) -> Record {
    let key = OffsetKey { group: group.clone(), topic: topic.name.clone(), partition: partition.partition };
    let value = OffsetValue {
        offset: partition.offset,
        // The record version with an expiry has no place for the epoch.
        leader_epoch: if expires == Timestamp::NONE { partition.leader_epoch.max(-1) } else { -1 },
        metadata: partition.metadata.clone().unwrap_or_else(|| Arc::from("")),
        committed,
        expires,
        topic_id: topic.id,
    };
    Record::Offset(key, Some(value))
}

/// Kafka counts what Java counts: UTF-16 units.
fn is_too_long(metadata: Option<&str>, max: usize) -> bool {
    metadata.is_some_and(|text| text.len() > max && text.encode_utf16().count() > max)
}
