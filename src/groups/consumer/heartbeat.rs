//! The rules of ConsumerGroupHeartbeat (`GroupMetadataManager.consumerGroupHeartbeat`).

use crate::base::ErrorCode;
use crate::groups::assign::Partitions;
use crate::groups::consumer::command::Beaten;
use crate::groups::consumer::command::Fault;
use crate::groups::consumer::command::Heartbeat;
use crate::groups::consumer::group::Group;
use crate::groups::consumer::limits;
use crate::groups::consumer::member::LEFT_STATIC;
use crate::groups::consumer::member::Member;
use crate::groups::consumer::patterns;
use crate::groups::consumer::record::Fact;
use crate::groups::consumer::record::Owned;
use crate::groups::consumer::turn::Turn;
use crate::groups::machine::Timer;
use crate::groups::settings::Settings;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Patterns are not resolved more often than this, whatever asks for it; milliseconds.
const RESOLVE_INTERVAL_MIN_MS: i64 = 10_000;

/// Whether the request can be one at all.
pub(crate) fn validate(request: &Heartbeat, settings: &Settings) -> Result<(), Fault> {
    let invalid = |message: &str| Err(Fault::new(ErrorCode::InvalidRequest, message));
    let blank = |text: &Option<Arc<str>>| text.as_ref().is_some_and(|text| text.trim().is_empty());
    let brings_id = request.brings_member_id || request.epoch > 0 || request.epoch == -1;
    if brings_id && request.member_id.trim().is_empty() {
        return invalid("MemberId can't be empty.");
    }
    if request.group.trim().is_empty() {
        return invalid("GroupId can't be empty.");
    }
    if blank(&request.instance_id) {
        return invalid("InstanceId can't be empty.");
    }
    if blank(&request.rack_id) {
        return invalid("RackId can't be empty.");
    }
    match request.epoch {
        0 if request.rebalance_timeout_ms.is_none() => {
            return invalid("RebalanceTimeoutMs must be provided in first request.");
        }
        0 if request.owned.as_ref().is_none_or(|owned| !owned.is_empty()) => {
            return invalid("TopicPartitions must be empty when (re-)joining.");
        }
        0 if request.topics.is_none() && request.pattern.is_none() => {
            return invalid(
                "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
            );
        }
        LEFT_STATIC if request.instance_id.is_none() => return invalid("InstanceId can't be null."),
        ..LEFT_STATIC => return invalid("MemberEpoch is invalid."),
        _ => {}
    }
    let names = || settings.assignors.iter().map(|assignor| assignor.name());
    match &request.assignor {
        Some(asked) if !names().any(|name| *name == **asked) => {
            let supported = names().collect::<Vec<_>>().join(", ");
            let message =
                format!("ServerAssignor {asked} is not supported. Supported assignors: {supported}.");
            Err(Fault::new(ErrorCode::UnsupportedAssignor, message))
        }
        _ => Ok(()),
    }
}

/// What became of a member's pattern.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatternChange {
    /// It is the same.
    No,
    /// It is another one.
    Updated,
    /// It is another one, or none, and what it stands for is known.
    UpdatedAndResolved,
}

impl Turn<'_> {
    /// Takes a heartbeat of a member that stays.
    pub(crate) fn heartbeat(&mut self, request: &Heartbeat) -> Result<Beaten, Fault> {
        let joins = request.epoch == 0;
        let member_id = match request.member_id.is_empty() {
            true => &request.new_member_id,
            false => &request.member_id,
        };
        self.check_size(&request.member_id, request.instance_id.as_deref())?;
        let member = match &request.instance_id {
            None => self.dynamic_member(member_id, request)?,
            Some(instance_id) => self.static_member(member_id, instance_id, request)?,
        };
        if joins {
            tracing::info!(group = %self.group.id, member = %member_id, "member joins the consumer group");
        }
        let updated = updated(&member, request);
        let before = Arc::clone(&self.group);
        let pattern = self.pattern_change(&before, &member, &updated)?;
        self.newcomer = updated.assignor.clone().filter(|name| !before.has_assignor(name));
        if updated != member {
            self.push_member(&updated);
        }
        self.drop_pattern(&before, &member, &updated);
        self.schedule_resolution(pattern, &before, &updated);
        let topics_changed = updated.topics != member.topics;
        let assignor_changed = {
            let name = |group: &Group, newcomer| group.preferred_assignor(newcomer).cloned();
            let default = || Arc::from(self.world.settings.default_assignor().name());
            let now = name(&self.group, self.newcomer.as_deref());
            name(&before, None).unwrap_or_else(default) != now.unwrap_or_else(default)
        };
        let changed = topics_changed || pattern != PatternChange::No;
        self.refresh(topics_changed || pattern == PatternChange::UpdatedAndResolved || assignor_changed);
        self.assign();
        self.reconcile(member_id, changed, request.owned.as_ref())?;
        self.renew_session(member_id);
        let is_full = request.rebalance_timeout_ms.is_some()
            && (request.topics.is_some() || request.pattern.is_some())
            && request.owned.is_some();
        Ok(self.beaten(member_id, &member.assigned, joins || is_full))
    }

    fn beaten(&self, member_id: &Arc<str>, assigned_before: &Owned, tell: bool) -> Beaten {
        let member = self.group.member(member_id);
        let assigned = member.map(|member| &member.assigned);
        let tell = tell || assigned.is_some_and(|assigned| **assigned != *assigned_before);
        Beaten {
            member_id: member_id.clone(),
            epoch: member.map_or(0, |member| member.epoch),
            interval_ms: limits::heartbeat_interval_ms(self.world, &self.group.id),
            assignment: assigned.filter(|_| tell).map(|assigned| plain(assigned)),
        }
    }

    pub(crate) fn check_size(&self, member_id: &str, instance_id: Option<&str>) -> Result<(), Fault> {
        if instance_id.is_some_and(|instance_id| self.group.static_member(instance_id).is_some()) {
            return Ok(());
        }
        let max = usize::try_from(self.world.settings.consumer.max_size).unwrap_or(1);
        if self.group.size() >= max && self.group.member(member_id).is_none() {
            let message = format!("The consumer group has reached its maximum capacity of {max} members.");
            return Err(Fault::new(ErrorCode::GroupMaxSizeReached, message));
        }
        Ok(())
    }

    fn dynamic_member(&self, member_id: &Arc<str>, request: &Heartbeat) -> Result<Member, Fault> {
        match self.group.member(member_id) {
            Some(member) => {
                check_epoch(member, request.epoch, request.owned.as_ref())?;
                Ok(member.clone())
            }
            None if request.epoch == 0 => Ok(Member::new(member_id.clone())),
            None => Err(Fault::unknown_member(&self.group.id, member_id)),
        }
    }

    fn static_member(
        &mut self,
        member_id: &Arc<str>,
        instance_id: &Arc<str>,
        request: &Heartbeat,
    ) -> Result<Member, Fault> {
        let holder = self.group.static_member(instance_id).cloned();
        if request.epoch != 0 {
            let holder = self.known_static_member(holder, member_id, instance_id)?;
            check_epoch(&holder, request.epoch, request.owned.as_ref())?;
            return Ok(holder);
        }
        match holder {
            None => {
                let member = self.group.member(member_id).cloned();
                Ok(member.unwrap_or_else(|| Member::new(member_id.clone())))
            }
            // Only one that has said that it leaves makes room; members of the classic protocol never say so.
            Some(holder) if !holder.is_classic() && holder.epoch != LEFT_STATIC => {
                let message = format!(
                    "Static member {member_id} with instance id {instance_id} cannot join the group because the \
                     instance id is owned by {} member.",
                    holder.id
                );
                Err(Fault::new(ErrorCode::UnreleasedInstanceId, message))
            }
            Some(holder) => Ok(self.replace(&holder, member_id)),
        }
    }

    /// The holder of an instance id, when that is this member.
    pub(crate) fn known_static_member(
        &self,
        holder: Option<Member>,
        member_id: &str,
        instance_id: &str,
    ) -> Result<Member, Fault> {
        let holder = holder.ok_or_else(|| {
            Fault::new(ErrorCode::UnknownMemberId, format!("Instance id {instance_id} is unknown."))
        })?;
        if *holder.id == *member_id {
            return Ok(holder);
        }
        let message = format!(
            "Static member {member_id} with instance id {instance_id} was fenced by member {}.",
            holder.id
        );
        Err(Fault::new(ErrorCode::FencedInstanceId, message))
    }

    /// A static member comes back under another id and takes over all that its predecessor has.
    pub(crate) fn replace(&mut self, holder: &Member, member_id: &Arc<str>) -> Member {
        let member = Member { id: member_id.clone(), epoch: 0, previous_epoch: 0, ..holder.clone() };
        let target = self.group.target(&holder.id);
        tracing::info!(group = %self.group.id, old = %holder.id, new = %member_id, "static member is replaced");
        self.cancel_timers(&holder.id);
        self.remove(&holder.id);
        self.push_member(&member);
        self.push(Fact::Target(member_id.clone(), Some((*target).clone())));
        self.push_current(&member);
        member
    }

    /// What a change of the member's pattern means.
    pub(crate) fn pattern_change(
        &self,
        before: &Group,
        member: &Member,
        updated: &Member,
    ) -> Result<PatternChange, Fault> {
        if member.pattern == updated.pattern {
            return Ok(PatternChange::No);
        }
        match updated.pattern() {
            Some(new) if before.pattern_members(new) == 0 => {
                patterns::check(new)?;
                Ok(PatternChange::Updated)
            }
            Some(new) if before.resolved(new).is_some() => Ok(PatternChange::UpdatedAndResolved),
            Some(_) => Ok(PatternChange::Updated),
            None if member.pattern().is_some() => Ok(PatternChange::UpdatedAndResolved),
            None => Ok(PatternChange::Updated),
        }
    }

    /// Forgets what the member's pattern stood for, if nobody else subscribes to it.
    pub(crate) fn drop_pattern(&mut self, before: &Group, member: &Member, updated: &Member) {
        if let Some(old) = member.pattern()
            && member.pattern != updated.pattern
            && before.pattern_members(old) == 1
        {
            self.push(Fact::Pattern(old.clone(), None));
        }
    }

    /// Lets patterns be resolved when one is new, when there are new topics or when it is time; all together, so that
    /// one new assignment follows.
    pub(crate) fn schedule_resolution(&mut self, change: PatternChange, before: &Group, updated: &Member) {
        if self.group.patterns().len() == 0 || self.group.volatile.resolving {
            return;
        }
        let (count, last) = before.resolution();
        let (last_ms, version) = last.map_or((i64::MIN, 0), |value| (value.resolved.0, value.version));
        let now_ms = self.world.now.0.0;
        if now_ms <= last_ms.saturating_add(RESOLVE_INTERVAL_MIN_MS) {
            return;
        }
        let is_new = change != PatternChange::No
            && updated.pattern().is_some_and(|pattern| before.pattern_members(pattern) == 0);
        let interval_ms = i64::from(self.world.settings.consumer.regex_refresh_interval_ms);
        if is_new
            || self.group.patterns().len() != count
            || version < self.world.new_topics_at
            || now_ms > last_ms.saturating_add(interval_ms)
        {
            self.touch(|group| group.volatile.resolving = true);
            self.set_timer(Timer::Patterns(self.group.id.clone()), 0);
        }
    }
}

/// The member with what the request says of it.
fn updated(member: &Member, request: &Heartbeat) -> Member {
    let or = |new: &Option<Arc<str>>, old: &Option<Arc<str>>| new.clone().or_else(|| old.clone());
    Member {
        instance_id: or(&request.instance_id, &member.instance_id),
        rack_id: or(&request.rack_id, &member.rack_id),
        rebalance_timeout_ms: request.rebalance_timeout_ms.unwrap_or(member.rebalance_timeout_ms),
        assignor: or(&request.assignor, &member.assignor),
        topics: request.topics.clone().map_or_else(|| Arc::clone(&member.topics), Arc::new),
        pattern: or(&request.pattern, &member.pattern),
        client_id: request.client_id.clone(),
        client_host: request.client_host.clone(),
        classic: None,
        ..member.clone()
    }
}

/// Whether a member may go on with this epoch. It may bring the one before when it has not got more than it was given:
/// then it has missed an answer.
fn check_epoch(member: &Member, epoch: i32, owned: Option<&Partitions>) -> Result<(), Fault> {
    let refuse = |what: &str| {
        Err(Fault::fenced(format!(
            "The consumer group member has a {what} member epoch ({epoch}) than the one known by the group \
             coordinator ({}). The member must abandon all its partitions and rejoin.",
            member.epoch
        )))
    };
    match epoch {
        0 => Ok(()),
        _ if epoch > member.epoch => refuse("greater"),
        _ if epoch == member.epoch => Ok(()),
        _ if epoch == member.previous_epoch && is_within(owned, &member.assigned) => Ok(()),
        _ => refuse("smaller"),
    }
}

fn is_within(owned: Option<&Partitions>, assigned: &Owned) -> bool {
    owned.is_some_and(|owned| {
        owned.iter().all(|(topic, partitions)| {
            let assigned = assigned.get(topic);
            assigned.is_some_and(|assigned| partitions.iter().all(|one| assigned.contains_key(one)))
        })
    })
}

/// Partitions without the epochs at which they were given.
pub(crate) fn plain(owned: &BTreeMap<crate::base::TopicId, BTreeMap<i32, i32>>) -> Partitions {
    owned.iter().map(|(topic, partitions)| (*topic, partitions.keys().copied().collect())).collect()
}
