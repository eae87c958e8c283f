//! The state of one classic group (`ClassicGroup` in Kafka).

use crate::base::ErrorCode;
use crate::base::Timestamp;
use crate::base::hash::java_map_place;
use crate::groups::classic::member::MEMBER_BYTES;
use crate::groups::classic::member::Member;
use crate::groups::classic::subscription;
use crate::groups::command::JoinedMember;
use crate::groups::command::Protocol;
use crate::groups::kind::GROUP_BYTES;
use crate::groups::record::GroupValue;
use crate::groups::record::Record;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The protocol type of groups whose metadata blobs are subscriptions.
const CONSUMER: &str = "consumer";

/// Where a group stands. A group that is gone ("Dead" in Kafka) is not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// No members; offsets may remain.
    Empty,
    /// Waiting for the members to join.
    PreparingRebalance,
    /// Waiting for the leader's assignment.
    CompletingRebalance,
    /// Everyone has an assignment.
    Stable,
}

impl State {
    /// Kafka's name of the state.
    pub(crate) fn name(self) -> &'static str {
        match self {
            State::Empty => "Empty",
            State::PreparingRebalance => "PreparingRebalance",
            State::CompletingRebalance => "CompletingRebalance",
            State::Stable => "Stable",
        }
    }
}

/// The delay before a new group's first generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InitialDelay {
    /// The delay now running; milliseconds.
    pub(crate) delay_ms: i32,
    /// How much longer it may be extended; milliseconds.
    pub(crate) remaining_ms: i32,
    /// Someone has joined since it began.
    pub(crate) extend: bool,
}

/// A group: members, generation, and who is waited for.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub(crate) id: Arc<str>,
    pub(crate) state: State,
    pub(crate) since: Timestamp,
    pub(crate) protocol_type: Option<Arc<str>>,
    pub(crate) protocol: Option<Arc<str>>,
    pub(crate) generation: i32,
    pub(crate) leader: Option<Arc<str>>,
    /// Read-only for other files: members go in and out through the methods, which keep the counts.
    members: BTreeMap<Arc<str>, Arc<Member>>,
    static_members: BTreeMap<Arc<str>, Arc<str>>,
    joining: usize,
    /// The memory that the members take, about.
    member_bytes: usize,
    /// Ids handed out by MEMBER_ID_REQUIRED that have not come back yet.
    pub(crate) pending_joins: BTreeSet<Arc<str>>,
    /// Members of this generation whose sync has not come yet.
    pub(crate) pending_syncs: BTreeSet<Arc<str>>,
    /// Some while the first rebalance of an empty group is prepared.
    pub(crate) initial: Option<InitialDelay>,
    /// Topics of all members; none when not known.
    pub(crate) subscribed_topics: Option<BTreeSet<Arc<str>>>,
    /// The log has a record of this group.
    pub(crate) stored: bool,
}

impl Group {
    pub(crate) fn new(id: Arc<str>, now: Timestamp) -> Group {
        Group {
            id,
            state: State::Empty,
            since: now,
            protocol_type: None,
            protocol: None,
            generation: 0,
            leader: None,
            members: BTreeMap::new(),
            static_members: BTreeMap::new(),
            joining: 0,
            member_bytes: 0,
            pending_joins: BTreeSet::new(),
            pending_syncs: BTreeSet::new(),
            initial: None,
            subscribed_topics: None,
            stored: false,
        }
    }

    /// A group as its record tells: stable when it has members.
    pub(crate) fn from_value(id: Arc<str>, value: &GroupValue) -> Group {
        let mut group = Group::new(id, value.since);
        let protocol = value.protocol.clone().unwrap_or_else(|| Arc::from(""));
        group.state = if value.members.is_empty() { State::Empty } else { State::Stable };
        group.protocol_type = (!value.protocol_type.is_empty()).then(|| value.protocol_type.clone());
        group.protocol = value.protocol.clone();
        group.generation = value.generation;
        group.leader = value.leader.clone();
        group.stored = true;
        for member in &value.members {
            group.put(Member::from_value(member, &protocol));
        }
        if group.leader.as_ref().is_some_and(|leader| !group.members.contains_key(leader)) {
            group.leader = group.members.keys().next().cloned();
        }
        group.subscribed_topics = group.subscriptions();
        group
    }

    /// The record of the group as it is now.
    pub(crate) fn to_record(&self) -> Record {
        let protocol = self.protocol.as_deref();
        let value = GroupValue {
            protocol_type: self.protocol_type.clone().unwrap_or_else(|| Arc::from("")),
            generation: self.generation,
            protocol: self.protocol.clone(),
            leader: self.leader.clone(),
            since: self.since,
            members: self.members.values().map(|member| member.to_value(protocol)).collect(),
        };
        Record::Group(self.id.clone(), Some(value))
    }

    /// The record of a group that is just made, whoever is joining it
    /// (`GroupCoordinatorRecordHelpers.newEmptyGroupMetadataRecord`).
    pub(crate) fn to_first_record(&self) -> Record {
        let value = GroupValue {
            protocol_type: Arc::from(""),
            generation: 0,
            protocol: None,
            leader: None,
            since: self.since,
            members: Vec::new(),
        };
        Record::Group(self.id.clone(), Some(value))
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = &Member> {
        self.members.values().map(|member| &**member)
    }

    pub(crate) fn member_ids(&self) -> Vec<Arc<str>> {
        self.members.keys().cloned().collect()
    }

    pub(crate) fn size(&self) -> usize {
        self.members.len()
    }

    /// How many members wait in a join.
    pub(crate) fn joining(&self) -> usize {
        self.joining
    }

    pub(crate) fn member(&self, id: &str) -> Option<&Member> {
        self.members.get(id).map(|member| &**member)
    }

    pub(crate) fn static_member(&self, instance_id: &str) -> Option<&Arc<str>> {
        self.static_members.get(instance_id)
    }

    pub(crate) fn is_leader(&self, id: &str) -> bool {
        self.leader.as_deref() == Some(id)
    }

    /// Adds a member or puts a changed one in place of the one with its id.
    pub(crate) fn put(&mut self, member: Member) {
        if let Some(instance_id) = &member.instance_id {
            self.static_members.insert(instance_id.clone(), member.id.clone());
        }
        self.leader.get_or_insert_with(|| member.id.clone());
        self.pending_joins.remove(&member.id);
        self.count(&member);
        if let Some(before) = self.members.insert(member.id.clone(), Arc::new(member)) {
            self.discount(&before);
        }
    }

    /// Takes a member out. The leadership passes on; waiting requests are the caller's to answer.
    pub(crate) fn take(&mut self, id: &str) -> Option<Member> {
        self.pending_joins.remove(id);
        self.pending_syncs.remove(id);
        let member = Arc::unwrap_or_clone(self.members.remove(id)?);
        self.discount(&member);
        if let Some(instance_id) = &member.instance_id
            && self.static_members.get(instance_id) == Some(&member.id)
        {
            self.static_members.remove(instance_id);
        }
        if self.is_leader(id) {
            self.leader = self.members.keys().next().cloned();
        }
        Some(member)
    }

    /// Changes a member in place.
    pub(crate) fn update(&mut self, id: &str, change: impl FnOnce(&mut Member)) {
        if let Some(member) = self.members.get_mut(id) {
            let before = Arc::clone(member);
            change(Arc::make_mut(member));
            let after = Arc::clone(member);
            self.count(&after);
            self.discount(&before);
        }
    }

    fn count(&mut self, member: &Member) {
        self.joining += usize::from(member.join.is_some());
        self.member_bytes += member.bytes();
    }

    fn discount(&mut self, member: &Member) {
        self.joining -= usize::from(member.join.is_some());
        self.member_bytes -= member.bytes();
    }

    /// Everyone known has joined and nobody is expected to come back with a fresh id.
    pub(crate) fn has_all_joined(&self) -> bool {
        self.joining == self.members.len() && self.pending_joins.is_empty()
    }

    /// The longest time a member allows for a rebalance; milliseconds.
    pub(crate) fn rebalance_timeout_ms(&self) -> i32 {
        self.members().map(|member| member.rebalance_timeout_ms).max().unwrap_or(0).max(0)
    }

    /// Enters a state.
    pub(crate) fn enter(&mut self, state: State, now: Timestamp) {
        self.state = state;
        self.since = now;
    }

    /// Whether this id, with this instance id, is a member: UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID when a
    /// newer member holds the instance id.
    pub(crate) fn validate_member(&self, id: &str, instance_id: Option<&str>) -> Result<(), ErrorCode> {
        if let Some(instance_id) = instance_id {
            match self.static_member(instance_id) {
                None => return Err(ErrorCode::UnknownMemberId),
                Some(holder) if &**holder != id => return Err(ErrorCode::FencedInstanceId),
                Some(_) => {}
            }
        }
        if self.members.contains_key(id) { Ok(()) } else { Err(ErrorCode::UnknownMemberId) }
    }

    /// Whether someone with this type and these protocols can be a member beside the present ones.
    pub(crate) fn supports(&self, protocol_type: &str, protocols: &[Protocol]) -> bool {
        if self.state == State::Empty {
            return !protocol_type.is_empty() && !protocols.is_empty();
        }
        self.protocol_type.as_deref() == Some(protocol_type)
            && protocols.iter().any(|protocol| self.is_shared(&protocol.name))
    }

    fn is_shared(&self, protocol: &str) -> bool {
        self.members().all(|member| member.supports(protocol))
    }

    /// The protocol with most votes. Each member votes for the first of its protocols that all support; a tie
    /// goes to the one that comes first in a hash map of Java's, as in Kafka (`ClassicGroup.selectProtocol`).
    pub(crate) fn select_protocol(&self) -> Option<Arc<str>> {
        let leader = self.leader.as_ref().and_then(|id| self.member(id)).or_else(|| self.members().next())?;
        let candidates: Vec<&Arc<str>> = leader
            .protocols
            .iter()
            .map(|protocol| &protocol.name)
            .filter(|name| self.is_shared(name))
            .collect();
        let mut votes: Vec<usize> = vec![0; candidates.len()];
        for member in self.members() {
            let choice = member
                .protocols
                .iter()
                .find_map(|protocol| candidates.iter().position(|name| **name == protocol.name));
            if let Some(vote) = choice.and_then(|place| votes.get_mut(place)) {
                *vote += 1;
            }
        }
        let mut best: Option<(usize, &Arc<str>)> = None;
        for (count, name) in votes.into_iter().zip(candidates) {
            let place = java_map_place;
            let wins = |(most, other): (usize, &Arc<str>)| {
                count > most || (count == most && place(name) < place(other))
            };
            if best.is_none_or(wins) {
                best = Some((count, name));
            }
        }
        best.map(|(_, name)| name.clone())
    }

    pub(crate) fn is_consumer(&self) -> bool {
        self.protocol_type.as_deref() == Some(CONSUMER)
    }

    /// The topics all members subscribe to; none when the group is no consumer group or a blob is unreadable.
    pub(crate) fn subscriptions(&self) -> Option<BTreeSet<Arc<str>>> {
        if !self.is_consumer() {
            return None;
        }
        if self.members.is_empty() {
            return Some(BTreeSet::new());
        }
        let protocol = self.protocol.as_deref()?;
        let mut topics = BTreeSet::new();
        for member in self.members() {
            match subscription::topics(member.metadata(protocol)?) {
                Ok(more) => topics.extend(more),
                Err(error) => {
                    tracing::debug!(group = %self.id, member = %member.id, %error, "subscription is unreadable");
                    return None;
                }
            }
        }
        Some(topics)
    }

    /// Whether a member reads this topic, as far as is known: a consumer group with unreadable subscriptions
    /// may read any.
    pub(crate) fn is_subscribed(&self, topic: &str) -> bool {
        self.subscribed_topics.as_ref().map_or_else(|| self.is_consumer(), |topics| topics.contains(topic))
    }

    /// Everyone, as the leader needs it.
    pub(crate) fn roster(&self) -> Vec<JoinedMember> {
        let protocol = self.protocol.as_deref().unwrap_or("");
        let entry = |member: &Member| JoinedMember {
            member_id: member.id.clone(),
            instance_id: member.instance_id.clone(),
            metadata: member.metadata(protocol).cloned().unwrap_or_default(),
        };
        self.members().map(entry).collect()
    }

    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let pending: usize = self.pending_joins.iter().map(|id| MEMBER_BYTES + id.len()).sum();
        let topics: usize = self.subscribed_topics.iter().flatten().map(|topic| 64 + topic.len()).sum();
        GROUP_BYTES + self.id.len() + pending + topics + self.member_bytes
    }
}
