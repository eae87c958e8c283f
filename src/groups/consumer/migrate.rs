//! From a classic group to a consumer group and back while members are in it (KIP-848, `group.consumer.migration.policy`).
//!
//! A classic group becomes a consumer group when its first member of the newer protocol joins; the classic members stay
//! and are told what is theirs through the classic protocol. When the last member of the newer protocol leaves, it
//! becomes a classic group again.

use crate::base::ErrorCode;
use crate::base::Timestamp;
use crate::coordinator::Outcome;
use crate::coordinator::TimerChange;
use crate::groups::classic::group::Group as ClassicGroup;
use crate::groups::classic::group::State as ClassicState;
use crate::groups::classic::member::Member as ClassicMember;
use crate::groups::classic::rebalance::Turn as ClassicTurn;
use crate::groups::command::Answer;
use crate::groups::command::Joined;
use crate::groups::command::Protocol;
use crate::groups::command::Synced;
use crate::groups::consumer::command::Fault;
use crate::groups::consumer::embedded;
use crate::groups::consumer::embedded::Foreign;
use crate::groups::consumer::group::Group;
use crate::groups::consumer::group::PROTOCOL_TYPE;
use crate::groups::consumer::member::Member;
use crate::groups::consumer::record::ClassicValue;
use crate::groups::consumer::record::EpochValue;
use crate::groups::consumer::record::Fact;
use crate::groups::consumer::record::TargetEpochValue;
use crate::groups::consumer::subscription;
use crate::groups::consumer::turn::Turn;
use crate::groups::consumer::turn::World;
use crate::groups::machine::Groups;
use crate::groups::machine::Timer;
use crate::groups::record::Record;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Makes a consumer group of a classic one.
///
/// # Errors
/// GROUP_ID_NOT_FOUND when that cannot be: to a member of the newer protocol there is no group then.
pub(crate) fn upgrade<'a>(world: World<'a>, classic: &ClassicGroup) -> Result<Turn<'a>, Fault> {
    let refuse = |why: &str| {
        let message = format!("Cannot upgrade classic group {} to consumer group because {why}.", classic.id);
        tracing::info!(group = %classic.id, why, "classic group stays as it is");
        Err(Fault::new(ErrorCode::GroupIdNotFound, message))
    };
    let settings = &world.settings.consumer;
    if !settings.upgrades {
        return refuse("online upgrade is disabled");
    }
    if !classic.is_consumer() {
        return refuse("the group does not use the consumer embedded protocol");
    }
    if classic.size() > usize::try_from(settings.max_size).unwrap_or(0) {
        return refuse("the group size exceeds the consumer group maximum size");
    }
    let mut turn = Turn::new(world, Arc::new(Group::new(classic.id.clone())));
    let members = match classic.members().map(|member| taken_over(world, classic, member)).collect() {
        Ok(members) => members,
        Err(Foreign::Malformed) => return refuse("the embedded consumer protocol is malformed"),
        Err(Foreign::UserData) => {
            return refuse(
                "an unsupported custom assignor is in use. Please refer to the documentation or switch to a default \
                 assignor before re-attempting the upgrade",
            );
        }
    };
    turn.end_classic(classic);
    turn.begin_with(classic.generation, members);
    tracing::info!(group = %classic.id, members = classic.size(), "classic group becomes a consumer group");
    Ok(turn)
}

/// The member with its last assignment.
fn taken_over(world: World<'_>, group: &ClassicGroup, member: &ClassicMember) -> Result<Member, Foreign> {
    let metadata = match &group.protocol {
        Some(protocol) => member.metadata(protocol),
        None => member.protocols.first().map(|protocol| &protocol.metadata),
    };
    let subscription = metadata.and_then(|blob| embedded::subscription(blob, world.image));
    let subscription = subscription.ok_or(Foreign::Malformed)?;
    let assigned = embedded::assignment(&member.assignment, world.image)?;
    let since = |all: BTreeSet<i32>| all.into_iter().map(|one| (one, group.generation)).collect();
    let protocols = member.protocols.iter();
    Ok(Member {
        epoch: group.generation,
        previous_epoch: group.generation,
        instance_id: member.instance_id.clone(),
        rack_id: subscription.rack_id,
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        topics: Arc::new(subscription.topics),
        rebalance_timeout_ms: member.rebalance_timeout_ms,
        assigned: Arc::new(assigned.into_iter().map(|(topic, all)| (topic, since(all))).collect()),
        classic: Some(ClassicValue {
            session_timeout_ms: member.session_timeout_ms,
            protocols: protocols.map(|one| (one.name.clone(), one.metadata.clone())).collect(),
        }),
        ..Member::new(member.id.clone())
    })
}

impl Turn<'_> {
    /// Deletes the classic group; whoever waits for its rebalance is told to begin anew.
    pub(crate) fn end_classic(&mut self, classic: &ClassicGroup) {
        for member in classic.members() {
            if let Some(ticket) = member.join {
                let error = Joined::error(ErrorCode::RebalanceInProgress, member.id.clone());
                self.outcome.answers.push((ticket, Answer::Join(Box::new(error))));
            }
            if let Some(ticket) = member.sync {
                let error = Synced::error(ErrorCode::RebalanceInProgress);
                self.outcome.answers.push((ticket, Answer::Sync(error)));
            }
        }
        let id = &classic.id;
        let expected = classic.pending_joins.iter().map(|member| Timer::Session(id.clone(), member.clone()));
        let timers = expected.chain([Timer::Join(id.clone()), Timer::Sync(id.clone())]);
        self.outcome.timers.extend(timers.map(TimerChange::Cancel));
        self.outcome.records.push(Record::Group(id.clone(), None));
    }

    /// The records of a group that begins with these members, each at what it has.
    fn begin_with(&mut self, epoch: i32, members: Vec<Member>) {
        for member in &members {
            self.push_member(member);
            // What they have counts before the hash is made, and is written below.
            Arc::make_mut(&mut self.group).put(member.clone());
        }
        let metadata_hash = subscription::metadata_hash(&self.group, self.world.image);
        self.push(Fact::Epoch(Some(EpochValue { epoch, metadata_hash })));
        for member in &members {
            let target = crate::groups::consumer::heartbeat::plain(&member.assigned);
            self.push(Fact::Target(member.id.clone(), Some(target)));
        }
        self.push(Fact::TargetEpoch(Some(TargetEpochValue { epoch, made: Timestamp(0) })));
        for member in &members {
            self.push_current(member);
            let timeout_ms = member.classic.as_ref().map_or(0, |classic| classic.session_timeout_ms);
            self.set_timer(Timer::Session(self.group.id.clone(), member.id.clone()), timeout_ms);
        }
    }

    /// Whether the group becomes a classic one when these members are gone.
    pub(crate) fn may_downgrade(&self, leaving: &BTreeSet<Arc<str>>) -> bool {
        let classic = leaving.iter().filter_map(|id| self.group.member(id)).filter(|one| one.is_classic());
        let left = self.group.size().saturating_sub(leaving.len());
        let classic_left = self.group.classic_members().saturating_sub(classic.count());
        left > 0 && classic_left == left && self.is_downgrade_allowed(left)
    }

    /// Whether the group becomes a classic one when a classic member takes the place of this static one.
    pub(crate) fn may_downgrade_with(&self, replaced: &Member) -> bool {
        self.group.classic_members() + 1 == self.group.size()
            && !replaced.is_classic()
            && self.is_downgrade_allowed(self.group.size())
    }

    fn is_downgrade_allowed(&self, size: usize) -> bool {
        let group = &self.group.id;
        if !self.world.settings.consumer.downgrades {
            tracing::info!(%group, "consumer group stays as it is: online downgrade is disabled");
            return false;
        }
        if size > self.world.settings.group_size_max {
            tracing::info!(%group, "consumer group stays as it is: it is larger than group.max.size");
            return false;
        }
        true
    }

    /// Makes a classic group of a consumer group whose members but the leaving ones are all classic. With `reason` its
    /// members have to come together anew.
    pub(crate) fn downgrade(mut self, leaving: &BTreeSet<Arc<str>>, reason: Option<&str>) -> Outcome<Groups> {
        for member in self.group.members() {
            let (group, id) = (&self.group.id, &member.id);
            let timers = [Timer::Rebalance, Timer::ConsumerJoin, Timer::ConsumerSync];
            let cancels = timers.map(|timer| TimerChange::Cancel(timer(group.clone(), id.clone())));
            self.outcome.timers.extend(cancels);
            if leaving.contains(id) {
                let session = Timer::Session(group.clone(), id.clone());
                self.outcome.timers.push(TimerChange::Cancel(session));
            }
        }
        self.outcome.timers.push(TimerChange::Cancel(Timer::Patterns(self.group.id.clone())));
        let group = self.to_classic(leaving);
        let tombstones = self.group.tombstones().into_iter().map(Record::Consumer);
        self.outcome.records.extend(tombstones);
        self.outcome.records.push(group.to_record());
        tracing::info!(group = %group.id, members = group.size(), "consumer group becomes a classic group");
        let ids = group.member_ids();
        let mut turn = ClassicTurn::new(self.world.settings, self.world.now, group);
        turn.outcome = self.outcome;
        for id in &ids {
            turn.renew_session(id);
        }
        if let Some(reason) = reason {
            turn.prepare_rebalance(reason);
        }
        turn.finish()
    }

    fn to_classic(&self, leaving: &BTreeSet<Arc<str>>) -> ClassicGroup {
        let mut group = ClassicGroup::new(self.group.id.clone(), self.world.now.0);
        group.state = ClassicState::Stable;
        group.stored = true;
        group.generation = self.group.epoch;
        group.protocol_type = Some(Arc::from(PROTOCOL_TYPE));
        for member in self.group.members().filter(|member| !leaving.contains(&member.id)) {
            let Some(classic) = &member.classic else { continue };
            let protocol = |(name, metadata): &(Arc<str>, bytes::Bytes)| Protocol {
                name: name.clone(),
                metadata: metadata.clone(),
            };
            group.put(ClassicMember {
                id: member.id.clone(),
                instance_id: member.instance_id.clone(),
                client_id: member.client_id.clone(),
                client_host: member.client_host.clone(),
                rebalance_timeout_ms: member.rebalance_timeout_ms,
                session_timeout_ms: classic.session_timeout_ms,
                protocols: classic.protocols.iter().map(protocol).collect(),
                assignment: bytes::Bytes::new(),
                is_new: false,
                join: None,
                sync: None,
            });
        }
        group.protocol = group.select_protocol();
        group.subscribed_topics = group.subscriptions();
        for id in group.member_ids() {
            let metadata =
                group.protocol.as_ref().and_then(|name| group.member(&id)?.metadata(name).cloned());
            let version = metadata.as_ref().map_or(0, embedded::version);
            let target = self.group.target(&id);
            let assignment = embedded::write_assignment(version, &target, self.world.image);
            group.update(&id, |member| member.assignment = assignment);
        }
        group
    }
}
