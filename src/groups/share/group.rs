//! The state of one share group (`ShareGroup` in Kafka).

use crate::base::Timestamp;
use crate::base::TopicId;
use crate::groups::assign::Partitions;
use crate::groups::kind::GROUP_BYTES;
use crate::groups::share::record::CurrentValue;
use crate::groups::share::record::Fact;
use crate::groups::share::record::MemberValue;
use crate::groups::share::record::Record;
use crate::groups::share::record::StatesValue;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The protocol type of share groups.
pub(crate) const PROTOCOL_TYPE: &str = "share";

/// The epoch of one that has left.
pub(crate) const LEFT: i32 = -1;

/// A member: what it said of itself, and what it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub(crate) epoch: i32,
    pub(crate) previous_epoch: i32,
    pub(crate) rack_id: Option<Arc<str>>,
    pub(crate) client_id: Arc<str>,
    pub(crate) client_host: Arc<str>,
    pub(crate) topics: Arc<BTreeSet<Arc<str>>>,
    pub(crate) assigned: Arc<Partitions>,
}

/// What a member takes beside its texts and partitions, about.
const MEMBER_BYTES: usize = 512;

impl Member {
    /// A member of which nothing is known yet.
    pub(crate) fn new() -> Member {
        Member {
            epoch: 0,
            previous_epoch: LEFT,
            rack_id: None,
            client_id: Arc::from(""),
            client_host: Arc::from(""),
            topics: Arc::default(),
            assigned: Arc::default(),
        }
    }

    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let rack = self.rack_id.as_ref().map_or(0, |rack| rack.len());
        let topics: usize = self.topics.iter().map(|topic| 64 + topic.len()).sum();
        MEMBER_BYTES
            + rack
            + self.client_id.len()
            + self.client_host.len()
            + topics
            + partitions_bytes(&self.assigned)
    }

    fn with_value(&self, value: &MemberValue) -> Member {
        Member {
            rack_id: value.rack_id.clone(),
            client_id: value.client_id.clone(),
            client_host: value.client_host.clone(),
            topics: Arc::new(value.topics.clone()),
            ..self.clone()
        }
    }

    fn with_current(&self, value: &CurrentValue) -> Member {
        Member {
            epoch: value.epoch,
            previous_epoch: value.previous_epoch,
            assigned: Arc::new(value.assigned.clone()),
            ..self.clone()
        }
    }

    /// The value of its subscription record.
    pub(crate) fn to_value(&self) -> MemberValue {
        MemberValue {
            rack_id: self.rack_id.clone(),
            client_id: self.client_id.clone(),
            client_host: self.client_host.clone(),
            topics: (*self.topics).clone(),
        }
    }

    /// The value of the record of what it has. Members of share groups are stable at every epoch.
    pub(crate) fn to_current(&self) -> CurrentValue {
        CurrentValue {
            epoch: self.epoch,
            previous_epoch: self.previous_epoch,
            state: 0,
            assigned: (*self.assigned).clone(),
        }
    }
}

/// A group: members, what they have and are to have, and which share-partitions there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) id: Arc<str>,
    pub(crate) epoch: i32,
    pub(crate) metadata_hash: i64,
    pub(crate) target_epoch: i32,
    pub(crate) target_made: Timestamp,
    members: BTreeMap<Arc<str>, Arc<Member>>,
    target: BTreeMap<Arc<str>, Arc<Partitions>>,
    /// How many members read a topic.
    topics: BTreeMap<Arc<str>, usize>,
    /// `None` until the first share-partition is to be made.
    states: Option<Arc<StatesValue>>,
    /// When the share coordinator was asked to make partitions of a topic. The log does not keep it.
    pub(crate) asked: BTreeMap<TopicId, Timestamp>,
    /// The memory that members and targets take, about.
    bytes: usize,
}

impl Group {
    pub(crate) fn new(id: Arc<str>) -> Group {
        Group {
            id,
            epoch: 1,
            metadata_hash: 0,
            target_epoch: 1,
            target_made: Timestamp(0),
            members: BTreeMap::new(),
            target: BTreeMap::new(),
            topics: BTreeMap::new(),
            states: None,
            asked: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Takes over a fact; whether the group is still there.
    pub(crate) fn apply(&mut self, record: &Record) -> bool {
        match &record.fact {
            Fact::Epoch(Some(value)) => {
                (self.epoch, self.metadata_hash) = (value.epoch, value.metadata_hash);
            }
            Fact::Epoch(None) => return false,
            Fact::Member(id, Some(value)) => {
                let member = self.member(id).map_or_else(Member::new, Clone::clone);
                self.put(id, member.with_value(value));
            }
            Fact::Member(id, None) => self.take(id),
            Fact::TargetEpoch(Some(value)) => {
                (self.target_epoch, self.target_made) = (value.epoch, value.made);
            }
            Fact::TargetEpoch(None) => (self.target_epoch, self.target_made) = (LEFT, Timestamp(0)),
            Fact::Target(id, Some(target)) => self.set_target(id, Some(Arc::new(target.clone()))),
            Fact::Target(id, None) => self.set_target(id, None),
            Fact::Current(id, Some(value)) => {
                let member = self.member(id).map_or_else(Member::new, Clone::clone);
                self.put(id, member.with_current(value));
            }
            Fact::Current(id, None) => {
                if let Some(member) = self.member(id).cloned() {
                    let nothing = Arc::default();
                    let gone = Member { epoch: LEFT, previous_epoch: LEFT, assigned: nothing, ..member };
                    self.put(id, gone);
                }
            }
            Fact::States(value) => self.states.clone_from(value),
        }
        true
    }

    /// Kafka's name of the state the group is in.
    pub(crate) fn state_name(&self) -> &'static str {
        if self.is_empty() { "Empty" } else { "Stable" }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn members(&self) -> impl ExactSizeIterator<Item = (&Arc<str>, &Arc<Member>)> {
        self.members.iter()
    }

    pub(crate) fn member(&self, id: &str) -> Option<&Member> {
        self.members.get(id).map(|member| &**member)
    }

    /// What a member is to have, when that is known.
    pub(crate) fn target(&self, id: &str) -> Option<&Arc<Partitions>> {
        self.target.get(id)
    }

    /// The names that members read, sorted.
    pub(crate) fn subscribed_topics(&self) -> impl Iterator<Item = &Arc<str>> {
        self.topics.keys()
    }

    /// Whether a member reads this topic.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        self.topics.contains_key(topic)
    }

    /// Which share-partitions the share coordinator knows, and whether the log has a word of them.
    pub(crate) fn states(&self) -> Option<&Arc<StatesValue>> {
        self.states.as_ref()
    }

    /// The same as partitions alone, as far as they can be read.
    pub(crate) fn initialized(&self) -> Partitions {
        let topics = self.states.iter().flat_map(|states| states.initialized.iter());
        topics.map(|(id, topic)| (*id, topic.partitions.clone())).collect()
    }

    /// Whether partitions that members read are made, and nobody is to have them, or such that are gone are still given.
    pub(crate) fn has_unassigned(&self) -> bool {
        let Some(states) = self.states.as_ref().filter(|_| !self.is_empty()) else { return false };
        let mut assigned: BTreeMap<TopicId, BTreeSet<i32>> = BTreeMap::new();
        for (topic, partitions) in self.target.values().flat_map(|target| target.iter()) {
            assigned.entry(*topic).or_default().extend(partitions);
        }
        let mut wanted = states.initialized.iter().filter(|(_, topic)| self.is_subscribed(&topic.name));
        wanted.any(|(id, topic)| assigned.get(id) != Some(&topic.partitions))
    }

    fn put(&mut self, id: &Arc<str>, member: Member) {
        self.take(id);
        for topic in member.topics.iter() {
            let count = self.topics.entry(topic.clone()).or_insert(0);
            *count = count.saturating_add(1);
        }
        self.bytes = self.bytes.saturating_add(member.bytes()).saturating_add(id.len());
        self.members.insert(id.clone(), Arc::new(member));
    }

    fn take(&mut self, id: &str) {
        let Some(member) = self.members.remove(id) else { return };
        for topic in member.topics.iter() {
            if let Some(count) = self.topics.get_mut(topic) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    self.topics.remove(topic);
                }
            }
        }
        self.bytes = self.bytes.saturating_sub(member.bytes()).saturating_sub(id.len());
    }

    fn set_target(&mut self, id: &Arc<str>, target: Option<Arc<Partitions>>) {
        let after = target.as_deref().map_or(0, partitions_bytes);
        let before = match target {
            Some(target) => self.target.insert(id.clone(), target),
            None => self.target.remove(id),
        };
        let before = before.as_deref().map_or(0, partitions_bytes);
        self.bytes = self.bytes.saturating_add(after).saturating_sub(before);
    }

    /// The records that delete all that the log has of the group.
    pub(crate) fn tombstones(&self) -> Vec<Record> {
        let mut facts: Vec<Fact> = Vec::new();
        facts.extend(self.members.keys().map(|id| Fact::Current(id.clone(), None)));
        let targets: BTreeSet<&Arc<str>> = self.members.keys().chain(self.target.keys()).collect();
        facts.extend(targets.into_iter().map(|id| Fact::Target(id.clone(), None)));
        facts.push(Fact::TargetEpoch(None));
        facts.extend(self.members.keys().map(|id| Fact::Member(id.clone(), None)));
        facts.push(Fact::States(None));
        facts.push(Fact::Epoch(None));
        facts.into_iter().map(|fact| Record { group: self.id.clone(), fact }).collect()
    }

    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let topics = self.states.iter().flat_map(|states| [&states.initializing, &states.initialized]);
        let topics = topics.flat_map(|topics| topics.values());
        let topics: usize = topics.map(|topic| 96 + topic.name.len() + 8 * topic.partitions.len()).sum();
        let deleting = self.states.iter().flat_map(|states| states.deleting.values());
        let deleting: usize = deleting.map(|name| 96 + name.len()).sum();
        GROUP_BYTES + self.id.len() + self.bytes + topics + deleting
    }
}

fn partitions_bytes(partitions: &Partitions) -> usize {
    partitions.values().map(|partitions| 64 + 8 * partitions.len()).sum()
}
