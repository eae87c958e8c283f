//! The state of one consumer group (`ConsumerGroup` in Kafka): everything in it comes from its records.

use crate::base::Timestamp;
use crate::base::TopicId;
use crate::groups::assign::Partitions;
use crate::groups::consumer::member::Member;
use crate::groups::consumer::record::Fact;
use crate::groups::consumer::record::Owned;
use crate::groups::consumer::record::PatternValue;
use crate::groups::consumer::record::Record;
use crate::groups::kind::GROUP_BYTES;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The protocol type of consumer groups.
pub(crate) const PROTOCOL_TYPE: &str = "consumer";

/// Where a group stands. A group that is gone ("Dead" in Kafka) is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No members.
    Empty,
    /// A new target assignment is due.
    Assigning,
    /// Members are on the way to the target.
    Reconciling,
    /// All members have what they are to have.
    Stable,
}

impl State {
    /// Kafka's name of the state.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Empty => "Empty",
            State::Assigning => "Assigning",
            State::Reconciling => "Reconciling",
            State::Stable => "Stable",
        }
    }
}

/// How many members have something.
type Counts = BTreeMap<Arc<str>, usize>;

/// A group: members, what they have and what they are to have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    pub(crate) id: Arc<str>,
    pub(crate) epoch: i32,
    pub(crate) metadata_hash: i64,
    pub(crate) target_epoch: i32,
    pub(crate) target_made: Timestamp,
    /// A record of topics' metadata is in the log that an older Kafka wrote.
    pub(crate) has_old_metadata: bool,
    /// Members go in and out through [`Group::put`] and [`Group::take`], which keep what is counted.
    members: BTreeMap<Arc<str>, Arc<Member>>,
    static_members: BTreeMap<Arc<str>, Arc<str>>,
    target: BTreeMap<Arc<str>, Arc<Partitions>>,
    /// Who has a partition, or has not given it up yet, does so since this epoch.
    owners: BTreeMap<TopicId, Arc<BTreeMap<i32, i32>>>,
    topics: Counts,
    patterns: Counts,
    resolved: BTreeMap<Arc<str>, Arc<PatternValue>>,
    assignors: Counts,
    classic_members: usize,
    classic_protocols: Counts,
    /// The memory that members and targets take, about.
    bytes: usize,
    pub(crate) volatile: Volatile,
}

/// What the log does not keep of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Volatile {
    /// The metadata of the subscribed topics was looked at for this group epoch, and has not changed since.
    pub(crate) refreshed: Option<i32>,
    /// Patterns are to be resolved at once.
    pub(crate) resolving: bool,
    /// Classic members that have been told to join again, and have not yet.
    pub(crate) awaited: BTreeSet<Arc<str>>,
}

impl Group {
    pub(crate) fn new(id: Arc<str>) -> Group {
        Group {
            id,
            epoch: 1,
            metadata_hash: 0,
            target_epoch: 1,
            target_made: Timestamp(0),
            has_old_metadata: false,
            members: BTreeMap::new(),
            static_members: BTreeMap::new(),
            target: BTreeMap::new(),
            owners: BTreeMap::new(),
            topics: Counts::new(),
            patterns: Counts::new(),
            resolved: BTreeMap::new(),
            assignors: Counts::new(),
            classic_members: 0,
            classic_protocols: Counts::new(),
            bytes: 0,
            volatile: Volatile::default(),
        }
    }

    /// Takes over a fact; whether the group is still there.
    pub(crate) fn apply(&mut self, record: &Record) -> bool {
        match &record.fact {
            Fact::Epoch(Some(value)) => {
                (self.epoch, self.metadata_hash) = (value.epoch, value.metadata_hash);
            }
            Fact::Epoch(None) => return false,
            Fact::OldMetadata(there) => self.has_old_metadata = *there,
            Fact::Member(id, Some(value)) => {
                let member = self.member(id).map_or_else(|| Member::new(id.clone()), Clone::clone);
                self.put(member.with_value(value));
            }
            Fact::Member(id, None) => self.take(id),
            Fact::TargetEpoch(Some(value)) => {
                (self.target_epoch, self.target_made) = (value.epoch, value.made);
            }
            Fact::TargetEpoch(None) => (self.target_epoch, self.target_made) = (-1, Timestamp(0)),
            Fact::Target(id, Some(target)) => self.set_target(id, Some(Arc::new(target.clone()))),
            Fact::Target(id, None) => self.set_target(id, None),
            Fact::Current(id, Some(value)) => {
                let member = self.member(id).map_or_else(|| Member::new(id.clone()), Clone::clone);
                self.put(member.with_current(value));
            }
            Fact::Current(id, None) => {
                if let Some(member) = self.member(id).map(Member::without_current) {
                    self.put(member);
                }
            }
            Fact::Pattern(pattern, Some(value)) => {
                self.resolved.insert(pattern.clone(), Arc::new(value.clone()));
            }
            Fact::Pattern(pattern, None) => {
                self.resolved.remove(pattern);
            }
        }
        true
    }

    pub(crate) fn state(&self) -> State {
        if self.members.is_empty() {
            State::Empty
        } else if self.epoch > self.target_epoch {
            State::Assigning
        } else if self.members.values().all(|member| member.is_reconciled_to(self.target_epoch)) {
            State::Stable
        } else {
            State::Reconciling
        }
    }

    pub(crate) fn members(&self) -> impl ExactSizeIterator<Item = &Arc<Member>> {
        self.members.values()
    }

    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    pub(crate) fn member(&self, id: &str) -> Option<&Member> {
        self.members.get(id).map(|member| &**member)
    }

    pub(crate) fn static_member(&self, instance_id: &str) -> Option<&Member> {
        self.member(self.static_members.get(instance_id)?)
    }

    /// What a member is to have; nothing when it is not known.
    pub(crate) fn target(&self, member_id: &str) -> Arc<Partitions> {
        self.target.get(member_id).cloned().unwrap_or_default()
    }

    /// What a member is to have, when that is known.
    pub(crate) fn known_target(&self, member_id: &str) -> Option<&Arc<Partitions>> {
        self.target.get(member_id)
    }

    /// Whether the metadata of the subscribed topics has to be looked at.
    pub(crate) fn needs_refresh(&self) -> bool {
        self.volatile.refreshed.is_none_or(|epoch| self.epoch < epoch)
    }

    /// The names that members subscribe to, also by patterns as they were resolved, sorted.
    pub(crate) fn subscribed_topics(&self) -> BTreeSet<&Arc<str>> {
        let matched = self.resolved.values().flat_map(|value| value.topics.iter());
        self.topics.keys().chain(matched).collect()
    }

    /// The patterns that members subscribe to.
    pub(crate) fn patterns(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.patterns.keys()
    }

    /// How many members subscribe to a pattern.
    pub(crate) fn pattern_members(&self, pattern: &str) -> usize {
        self.patterns.get(pattern).copied().unwrap_or(0)
    }

    /// What a pattern was resolved to.
    pub(crate) fn resolved(&self, pattern: &str) -> Option<&Arc<PatternValue>> {
        self.resolved.get(pattern)
    }

    /// How many patterns are resolved, and what one of them says of when: all are resolved together.
    pub(crate) fn resolution(&self) -> (usize, Option<&Arc<PatternValue>>) {
        (self.resolved.len(), self.resolved.values().next())
    }

    /// The assignor that most members ask for. Of equals the one that nobody asked for before this request, which Java puts
    /// first in its copy (`ConsumerGroup.computePreferredServerAssignor`); else the last by name, which of the two that
    /// there are comes first in Kafka's `TimelineHashMap` of any size (`preferredServerAssignor`).
    pub(crate) fn preferred_assignor(&self, newcomer: Option<&str>) -> Option<&Arc<str>> {
        let rank = |(name, count): &(&Arc<str>, &usize)| (**count, newcomer == Some(&***name));
        self.assignors.iter().max_by_key(rank).map(|(name, _)| name)
    }

    /// Whether a member asks for this assignor.
    pub(crate) fn has_assignor(&self, name: &str) -> bool {
        self.assignors.contains_key(name)
    }

    /// How many members speak the classic protocol.
    pub(crate) fn classic_members(&self) -> usize {
        self.classic_members
    }

    /// Whether one of these classic protocols is known to all classic members.
    pub(crate) fn supports_one_of<'a>(&self, mut protocols: impl Iterator<Item = &'a Arc<str>>) -> bool {
        protocols.any(|name| self.classic_protocols.get(name).copied().unwrap_or(0) == self.classic_members)
    }

    /// The epoch since which somebody has a partition or has not given it up.
    pub(crate) fn owner_epoch(&self, topic: TopicId, partition: i32) -> Option<i32> {
        self.owners.get(&topic)?.get(&partition).copied()
    }

    /// Whether a member reads this topic, by name or by a pattern as it was resolved.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        let by_pattern = |value: &Arc<PatternValue>| value.topics.contains(topic);
        self.topics.contains_key(topic) || self.resolved.values().any(by_pattern)
    }

    /// Adds a member or puts a changed one in place of the one with its id.
    pub(crate) fn put(&mut self, member: Member) {
        if let Some(before) = self.members.remove(&member.id) {
            self.discount(&before);
        }
        if let Some(instance_id) = &member.instance_id {
            self.static_members.insert(instance_id.clone(), member.id.clone());
        }
        self.count(&member);
        self.members.insert(member.id.clone(), Arc::new(member));
    }

    fn take(&mut self, id: &str) {
        let Some(member) = self.members.remove(id) else { return };
        self.discount(&member);
        if let Some(instance_id) = &member.instance_id
            && self.static_members.get(instance_id) == Some(&member.id)
        {
            self.static_members.remove(instance_id);
        }
    }

    fn set_target(&mut self, id: &Arc<str>, target: Option<Arc<Partitions>>) {
        let after = target.as_deref().map_or(0, target_bytes);
        let before = match target {
            Some(target) => self.target.insert(id.clone(), target),
            None => self.target.remove(id),
        };
        self.bytes =
            self.bytes.saturating_add(after).saturating_sub(before.as_deref().map_or(0, target_bytes));
    }

    fn count(&mut self, member: &Member) {
        member.topics.iter().for_each(|topic| more(&mut self.topics, topic));
        member.pattern().into_iter().for_each(|pattern| more(&mut self.patterns, pattern));
        member.assignor.iter().for_each(|name| more(&mut self.assignors, name));
        self.classic_members += usize::from(member.is_classic());
        let protocols = member.classic.iter().flat_map(|classic| classic.protocols.iter());
        protocols.for_each(|(name, _)| more(&mut self.classic_protocols, name));
        self.own(&member.assigned, member.epoch);
        self.own(&member.pending_revocation, member.epoch);
        self.bytes += member.bytes();
    }

    fn discount(&mut self, member: &Member) {
        member.topics.iter().for_each(|topic| fewer(&mut self.topics, topic));
        member.pattern().into_iter().for_each(|pattern| fewer(&mut self.patterns, pattern));
        member.assignor.iter().for_each(|name| fewer(&mut self.assignors, name));
        self.classic_members -= usize::from(member.is_classic());
        let protocols = member.classic.iter().flat_map(|classic| classic.protocols.iter());
        protocols.for_each(|(name, _)| fewer(&mut self.classic_protocols, name));
        self.disown(&member.assigned, member.epoch);
        self.disown(&member.pending_revocation, member.epoch);
        self.bytes -= member.bytes();
    }

    /// Of two owners, which only a log with holes can tell of for a moment, the one of the higher epoch counts.
    fn own(&mut self, owned: &Owned, epoch: i32) {
        for (topic, partitions) in owned {
            let owners = Arc::make_mut(self.owners.entry(*topic).or_default());
            for partition in partitions.keys() {
                let held = owners.entry(*partition).or_insert(epoch);
                *held = (*held).max(epoch);
            }
        }
    }

    fn disown(&mut self, owned: &Owned, epoch: i32) {
        for (topic, partitions) in owned {
            let Some(owners) = self.owners.get_mut(topic) else { continue };
            let owners_now = Arc::make_mut(owners);
            for partition in partitions.keys() {
                if owners_now.get(partition) == Some(&epoch) {
                    owners_now.remove(partition);
                }
            }
            if owners_now.is_empty() {
                self.owners.remove(topic);
            }
        }
    }

    /// The records that delete all that the log has of the group.
    pub(crate) fn tombstones(&self) -> Vec<Record> {
        let mut facts: Vec<Fact> = Vec::new();
        facts.extend(self.members.keys().map(|id| Fact::Current(id.clone(), None)));
        let targets: BTreeSet<&Arc<str>> = self.members.keys().chain(self.target.keys()).collect();
        facts.extend(targets.into_iter().map(|id| Fact::Target(id.clone(), None)));
        facts.push(Fact::TargetEpoch(None));
        facts.extend(self.members.keys().map(|id| Fact::Member(id.clone(), None)));
        facts.extend(self.resolved.keys().map(|pattern| Fact::Pattern(pattern.clone(), None)));
        if self.has_old_metadata {
            facts.push(Fact::OldMetadata(false));
        }
        facts.push(Fact::Epoch(None));
        facts.into_iter().map(|fact| Record { group: self.id.clone(), fact }).collect()
    }

    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let resolved = self.resolved.iter().map(|(pattern, value)| {
            pattern.len() + value.topics.iter().map(|topic| 64 + topic.len()).sum::<usize>()
        });
        GROUP_BYTES + self.id.len() + self.bytes + resolved.sum::<usize>()
    }
}

fn target_bytes(target: &Partitions) -> usize {
    target.values().map(|partitions| 64 + 8 * partitions.len()).sum()
}

fn more(counts: &mut Counts, name: &Arc<str>) {
    *counts.entry(name.clone()).or_insert(0) += 1;
}

fn fewer(counts: &mut Counts, name: &Arc<str>) {
    if let Some(count) = counts.get_mut(name) {
        *count -= 1;
        if *count == 0 {
            counts.remove(name);
        }
    }
}
