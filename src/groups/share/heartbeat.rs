//! The rules of ShareGroupHeartbeat (`GroupMetadataManager.shareGroupHeartbeat`).

use crate::base::ErrorCode;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::coordinator::Outcome;
use crate::coordinator::TimerChange;
use crate::groups::assign;
use crate::groups::assign::Partitions;
use crate::groups::consumer::command::Fault;
use crate::groups::consumer::record::EpochValue;
use crate::groups::consumer::record::TargetEpochValue;
use crate::groups::consumer::subscription;
use crate::groups::consumer::turn::World;
use crate::groups::machine::Change;
use crate::groups::machine::Groups;
use crate::groups::machine::Timer;
use crate::groups::record;
use crate::groups::share::command::Beaten;
use crate::groups::share::command::Heartbeat;
use crate::groups::share::group::Group;
use crate::groups::share::group::LEFT;
use crate::groups::share::group::Member;
use crate::groups::share::limits;
use crate::groups::share::record::Fact;
use crate::groups::share::record::Record;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// Whether the request can be one at all.
pub(crate) fn validate(request: &Heartbeat) -> Result<(), Fault> {
    let invalid = |message: &str| Err(Fault::new(ErrorCode::InvalidRequest, message));
    if request.member_id.trim().is_empty() {
        return invalid("MemberId can't be empty.");
    }
    if request.group.trim().is_empty() {
        return invalid("GroupId can't be empty.");
    }
    if request.rack_id.as_ref().is_some_and(|rack| rack.trim().is_empty()) {
        return invalid("RackId can't be empty.");
    }
    match request.epoch {
        0 if request.topics.as_ref().is_none_or(BTreeSet::is_empty) => {
            invalid("SubscribedTopicNames must be set in first request.")
        }
        epoch if epoch < LEFT => invalid("MemberEpoch is invalid."),
        _ => Ok(()),
    }
}

/// A draft of a group with what follows from it. Nothing of it counts before [`Turn::finish`].
pub(crate) struct Turn<'a> {
    pub(crate) world: World<'a>,
    pub(crate) group: Arc<Group>,
    pub(crate) outcome: Outcome<Groups>,
    /// Something changed that no record tells.
    touched: bool,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(world: World<'a>, group: Arc<Group>) -> Turn<'a> {
        Turn { world, group, outcome: Outcome::nothing(), touched: false }
    }

    /// The outcome, with the draft where records do not tell all of it.
    pub(crate) fn finish(mut self) -> Outcome<Groups> {
        if self.touched {
            self.outcome.changes.push(Change::put(Arc::unwrap_or_clone(self.group)));
        }
        self.outcome
    }

    /// Writes a fact, and lets the draft follow it.
    pub(crate) fn push(&mut self, fact: Fact) {
        let record = Record { group: self.group.id.clone(), fact };
        Arc::make_mut(&mut self.group).apply(&record);
        self.outcome.records.push(record::Record::Share(record));
    }

    /// Remembers when the share coordinator was asked for partitions of a topic.
    pub(crate) fn note_asked(&mut self, topic: TopicId, at: Option<Timestamp>) {
        let group = Arc::make_mut(&mut self.group);
        self.touched |= match at {
            Some(at) => group.asked.insert(topic, at) != Some(at),
            None => group.asked.remove(&topic).is_some(),
        };
    }

    /// Expects the next sign of life of a member.
    pub(crate) fn renew_session(&mut self, member_id: &Arc<str>) {
        let timeout_ms = limits::session_timeout_ms(self.world, &self.group.id);
        let after = Duration::from_millis(u64::try_from(timeout_ms).unwrap_or(0));
        let timer = Timer::Session(self.group.id.clone(), member_id.clone());
        self.outcome.timers.push(TimerChange::Set(timer, after));
    }

    /// Takes a heartbeat of a member that stays.
    pub(crate) fn heartbeat(&mut self, request: &Heartbeat) -> Result<Beaten, Fault> {
        let joins = request.epoch == 0;
        let id = &request.member_id;
        let member = self.known_member(request)?;
        let updated = Member {
            rack_id: request.rack_id.clone().or_else(|| member.rack_id.clone()),
            topics: request.topics.clone().map_or_else(|| Arc::clone(&member.topics), Arc::new),
            client_id: request.client_id.clone(),
            client_host: request.client_host.clone(),
            ..member.clone()
        };
        let topics_changed = updated.topics != member.topics;
        let pending = self.group.target_epoch >= self.group.epoch && self.group.has_unassigned();
        if updated != member || self.group.member(id).is_none() {
            self.push(Fact::Member(id.clone(), Some(Box::new(updated.to_value()))));
        }
        let metadata_hash = subscription::hash_of(self.group.subscribed_topics(), self.world.image);
        let bump = topics_changed || pending || metadata_hash != self.group.metadata_hash;
        if bump {
            self.bump(metadata_hash);
        }
        self.assign();
        self.reconcile(id, bump);
        self.renew_session(id);
        let initialize = self.initialize_subscribed();
        let now = self.group.member(id).cloned().unwrap_or_else(Member::new);
        let tells = joins || request.topics.is_some() || now.assigned != member.assigned;
        Ok(Beaten {
            epoch: now.epoch,
            interval_ms: limits::heartbeat_interval_ms(self.world, &self.group.id),
            assignment: tells.then(|| (*now.assigned).clone()),
            initialize,
        })
    }

    /// The member as it was before the request.
    fn known_member(&self, request: &Heartbeat) -> Result<Member, Fault> {
        let (group, id) = (&self.group, &request.member_id);
        let member = group.member(id);
        let size_max = self.world.settings.share.size_max;
        if member.is_none() && group.size() >= size_max {
            let message = format!("The share group has reached its maximum capacity of {size_max} members.");
            return Err(Fault::new(ErrorCode::GroupMaxSizeReached, message));
        }
        match member {
            None if request.epoch == 0 => Ok(Member::new()),
            None => Err(Fault::unknown_member(&group.id, id)),
            Some(member) => check_epoch(member, request.epoch).map(|()| member.clone()),
        }
    }

    fn bump(&mut self, metadata_hash: i64) {
        let epoch = self.group.epoch.saturating_add(1);
        tracing::debug!(group = %self.group.id, epoch, "group epoch grows");
        self.push(Fact::Epoch(Some(EpochValue { epoch, metadata_hash })));
    }

    /// Makes a new target assignment when the group epoch has grown, but not too soon after the one before
    /// (KIP-1263).
    fn assign(&mut self) {
        if self.group.target_epoch >= self.group.epoch {
            return;
        }
        let interval_ms = i64::from(limits::assignment_interval_ms(self.world, &self.group.id));
        let (now, made) = (self.world.now.0, self.group.target_made.0);
        if made != 0 && interval_ms != 0 && now.0 < made.saturating_add(interval_ms) {
            return;
        }
        let mut assignment = assign::simple(&self.spec(), &self.group.initialized());
        let ids: Vec<Arc<str>> = self.group.members().map(|(id, _)| id.clone()).collect();
        for id in ids {
            let target = assignment.remove(&id).unwrap_or_default();
            if self.group.target(&id).is_none_or(|before| **before != target) {
                self.push(Fact::Target(id, Some(target)));
            }
        }
        let epoch = self.group.epoch;
        self.push(Fact::TargetEpoch(Some(TargetEpochValue { epoch, made: now })));
        tracing::info!(group = %self.group.id, epoch, members = self.group.size(), "new target assignment");
    }

    /// The members as the assignor sees them.
    fn spec(&self) -> BTreeMap<Arc<str>, assign::Member> {
        let one = |(id, member): (&Arc<str>, &Arc<Member>)| {
            let spec = assign::Member {
                instance_id: None,
                topics: Arc::new(self.ids_of(member)),
                assigned: self.group.target(id).cloned().unwrap_or_default(),
            };
            (id.clone(), spec)
        };
        self.group.members().map(one).collect()
    }

    fn ids_of(&self, member: &Member) -> BTreeSet<TopicId> {
        let topics = member.topics.iter().filter_map(|name| self.world.image.topic(name));
        topics.map(|topic| topic.id).collect()
    }

    /// Gives a member what it is to have.
    fn reconcile(&mut self, id: &Arc<str>, subscription_changed: bool) {
        let Some(member) = self.group.member(id) else { return };
        let arrives = member.epoch != self.group.target_epoch;
        if !arrives && !subscription_changed {
            return;
        }
        let subscribed = self.ids_of(member);
        let mut assigned: Partitions =
            self.group.target(id).map_or_else(Partitions::new, |one| (**one).clone());
        assigned.retain(|topic, _| subscribed.contains(topic));
        let mut next = Member { assigned: Arc::new(assigned), ..member.clone() };
        if arrives {
            (next.previous_epoch, next.epoch) = (member.epoch, self.group.target_epoch);
        }
        if next != *member {
            self.push(Fact::Current(id.clone(), Some(next.to_current())));
        }
    }

    /// Takes a member out; the others share what it had with their next heartbeats.
    pub(crate) fn remove(&mut self, id: &Arc<str>) {
        self.push(Fact::Current(id.clone(), None));
        self.push(Fact::Target(id.clone(), None));
        self.push(Fact::Member(id.clone(), None));
        self.bump(subscription::hash_of(self.group.subscribed_topics(), self.world.image));
        if self.group.is_empty() {
            // Who comes next does not wait for the time between two assignments.
            let epoch = self.group.epoch;
            self.push(Fact::TargetEpoch(Some(TargetEpochValue { epoch, made: Timestamp(0) })));
        }
        let timer = Timer::Session(self.group.id.clone(), id.clone());
        self.outcome.timers.push(TimerChange::Cancel(timer));
    }
}

/// Whether a member may go on with this epoch. It may bring the one before: then it has missed an answer.
fn check_epoch(member: &Member, epoch: i32) -> Result<(), Fault> {
    let known = member.epoch;
    if epoch > known {
        return Err(Fault::fenced(format!(
            "The share group member has a greater member epoch ({epoch}) than the one known by the group \
             coordinator ({known}). The member must abandon all its partitions and rejoin."
        )));
    }
    if epoch == 0 || epoch == known || epoch == member.previous_epoch {
        return Ok(());
    }
    Err(Fault::fenced(format!(
        "The share group member has a smaller member epoch ({epoch}) than the one known by the group coordinator \
         ({known}), and it does not match the previous member epoch ({}). The member must abandon all its partitions \
         and rejoin.",
        member.previous_epoch
    )))
}
