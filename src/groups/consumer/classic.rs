//! Members of the classic protocol in a consumer group (`GroupMetadataManager.classicGroupJoinToConsumerGroup` and its
//! neighbours). For them a generation is a member epoch: a heartbeat tells them to join again when theirs is to grow, a
//! join is a step towards the target, and a sync reads what they have.

use crate::base::ErrorCode;
use crate::coordinator::Outcome;
use crate::coordinator::Ticket;
use crate::coordinator::TimerChange;
use crate::groups::command::Answer;
use crate::groups::command::Heartbeat;
use crate::groups::command::Join;
use crate::groups::command::Joined;
use crate::groups::command::Leave;
use crate::groups::command::Leaver;
use crate::groups::command::Sync;
use crate::groups::command::Synced;
use crate::groups::consumer::embedded;
use crate::groups::consumer::embedded::Subscription;
use crate::groups::consumer::group::PROTOCOL_TYPE;
use crate::groups::consumer::heartbeat::PatternChange;
use crate::groups::consumer::heartbeat::plain;
use crate::groups::consumer::leave::Rest;
use crate::groups::consumer::member::Member;
use crate::groups::consumer::member::MemberState;
use crate::groups::consumer::record::ClassicValue;
use crate::groups::consumer::turn::Turn;
use crate::groups::machine::Groups;
use crate::groups::machine::Timer;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a join comes to.
struct Step {
    member_id: Arc<str>,
    /// The group is to become a classic one.
    downgrades: bool,
    /// The members of the classic group must come together anew.
    rebalances: bool,
}

impl Turn<'_> {
    /// A client of the classic protocol joins, or comes again because its part has changed.
    pub(crate) fn classic_join(mut self, ticket: Ticket, request: &Join) -> Outcome<Groups> {
        let refuse = |joined: Joined| Outcome::answer(ticket, Answer::Join(Box::new(joined)));
        if request.member_id.is_empty()
            && request.requires_known_member_id
            && request.instance_id.is_none()
            && self.check_classic_join(request).is_ok()
        {
            return refuse(Joined::error(ErrorCode::MemberIdRequired, request.new_member_id.clone()));
        }
        let step = match self.classic_step(request) {
            Ok(step) => step,
            Err(error) => return refuse(Joined::error(error, request.member_id.clone())),
        };
        let joined = self.classic_joined(&step.member_id);
        let mut outcome = if step.downgrades {
            let reason =
                step.rebalances.then_some("the group became classic with an assignment that is stale");
            self.downgrade(&BTreeSet::new(), reason)
        } else {
            let (group, member) = (self.group.id.clone(), step.member_id);
            let join = Timer::ConsumerJoin(group.clone(), member.clone());
            self.outcome.timers.push(TimerChange::Cancel(join));
            if self.group.volatile.awaited.contains(&member) {
                self.touch(|group| group.volatile.awaited.retain(|id| *id != member));
            }
            self.set_timer(Timer::Session(group.clone(), member.clone()), request.session_timeout_ms);
            self.set_timer(Timer::ConsumerSync(group, member), request.rebalance_timeout_ms);
            self.finish()
        };
        outcome.answers.push((ticket, Answer::Join(Box::new(joined))));
        outcome
    }

    fn check_classic_join(&self, request: &Join) -> Result<(), ErrorCode> {
        if self.world.settings.consumer.is_migration_disabled() {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        self.check_size(&request.member_id, request.instance_id.as_deref()).map_err(|fault| fault.code)?;
        let names = request.protocols.iter().map(|protocol| &protocol.name);
        if *request.protocol_type != *PROTOCOL_TYPE || !self.group.supports_one_of(names) {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        Ok(())
    }

    fn classic_step(&mut self, request: &Join) -> Result<Step, ErrorCode> {
        self.check_classic_join(request)?;
        let member_id = match request.member_id.is_empty() {
            true => request.new_member_id.clone(),
            false => request.member_id.clone(),
        };
        let blob = request.protocols.first().map(|protocol| &protocol.metadata);
        let subscription = blob.and_then(|blob| embedded::subscription(blob, self.world.image));
        let subscription = subscription.ok_or(ErrorCode::InconsistentGroupProtocol)?;
        let holder = request.instance_id.as_deref().and_then(|id| self.group.static_member(id)).cloned();
        let downgrades = holder.as_ref().is_some_and(|holder| self.may_downgrade_with(holder));
        let member = match (&request.instance_id, holder) {
            (None, _) => self.group.member(&member_id).cloned(),
            (Some(_), Some(holder)) if request.member_id.is_empty() => {
                Some(self.replace(&holder, &member_id))
            }
            (Some(_), None) if request.member_id.is_empty() => None,
            (Some(instance_id), holder) => {
                let known = self.known_static_member(holder, &member_id, instance_id);
                Some(known.map_err(|fault| fault.code)?)
            }
        };
        let member = member.unwrap_or_else(|| Member::new(member_id.clone()));
        let owned = subscription.owned.clone();
        let bump = self.take_subscription(&member, &joining(&member, request, subscription))?;
        let rebalances = downgrades && self.group.target_epoch < self.group.epoch;
        if !downgrades {
            self.assign();
        }
        if !rebalances {
            self.reconcile(&member_id, bump, Some(&owned)).map_err(|fault| fault.code)?;
        }
        Ok(Step { member_id, downgrades, rebalances })
    }

    /// Takes over what the member says of itself; whether that asks for a new assignment.
    fn take_subscription(&mut self, member: &Member, updated: &Member) -> Result<bool, ErrorCode> {
        let before = Arc::clone(&self.group);
        let pattern = self.pattern_change(&before, member, updated).map_err(|fault| fault.code)?;
        if updated != member {
            self.push_member(updated);
        }
        self.drop_pattern(&before, member, updated);
        self.schedule_resolution(pattern, &before, updated);
        let bump = updated.topics != member.topics || pattern != PatternChange::No;
        self.refresh(bump);
        Ok(bump)
    }

    fn classic_joined(&self, member_id: &Arc<str>) -> Joined {
        let member = self.group.member(member_id);
        let protocol = member.and_then(first_protocol).map(|(name, _)| name.clone());
        Joined {
            error: ErrorCode::None,
            generation: member.map_or(-1, |member| member.epoch),
            protocol_type: Some(Arc::from(PROTOCOL_TYPE)),
            protocol,
            leader: Arc::from(""),
            skip_assignment: false,
            member_id: member_id.clone(),
            members: Vec::new(),
        }
    }

    /// Tells a classic member what it has.
    pub(crate) fn classic_sync(mut self, ticket: Ticket, request: &Sync) -> Outcome<Groups> {
        let synced = self.classic_synced(request).unwrap_or_else(Synced::error);
        self.outcome.answers.push((ticket, Answer::Sync(synced)));
        self.finish()
    }

    fn classic_synced(&mut self, request: &Sync) -> Result<Synced, ErrorCode> {
        let member =
            self.classic_member(&request.member_id, request.instance_id.as_deref(), request.generation)?;
        let (name, metadata) = first_protocol(&member).ok_or(ErrorCode::UnknownServerError)?;
        if request.protocol_type.as_deref().is_some_and(|asked| asked != PROTOCOL_TYPE)
            || request.protocol.as_ref().is_some_and(|asked| asked != name)
        {
            return Err(ErrorCode::InconsistentGroupProtocol);
        }
        if self.group.target_epoch > member.epoch && member.state != MemberState::UnrevokedPartitions {
            self.await_join(&member);
            return Err(ErrorCode::RebalanceInProgress);
        }
        let sync = Timer::ConsumerSync(self.group.id.clone(), member.id.clone());
        self.outcome.timers.push(TimerChange::Cancel(sync));
        self.renew_classic_session(&member);
        let version = embedded::version(metadata);
        let assignment = embedded::write_assignment(version, &plain(&member.assigned), self.world.image);
        Ok(Synced {
            error: ErrorCode::None,
            protocol_type: request.protocol_type.clone(),
            protocol: request.protocol.clone(),
            assignment,
        })
    }

    /// A classic member is alive; it has to join again when there is something new for it.
    pub(crate) fn classic_heartbeat(mut self, ticket: Ticket, request: &Heartbeat) -> Outcome<Groups> {
        let instance_id = request.instance_id.as_deref();
        let error = match self.classic_member(&request.member_id, instance_id, request.generation) {
            Err(error) => error,
            Ok(member) => {
                self.renew_classic_session(&member);
                let rejoins = member.epoch < self.group.target_epoch
                    || member.state == MemberState::UnrevokedPartitions
                    || (member.state == MemberState::UnreleasedPartitions && !self.waits_for_others(&member));
                if rejoins {
                    self.await_join(&member);
                    ErrorCode::RebalanceInProgress
                } else {
                    ErrorCode::None
                }
            }
        };
        self.outcome.answers.push((ticket, Answer::Heartbeat(error)));
        self.finish()
    }

    /// Whether something of the member's target is still another's.
    fn waits_for_others(&self, member: &Member) -> bool {
        self.group.target(&member.id).iter().any(|(topic, target)| {
            let assigned = member.assigned.get(topic);
            let has = |partition: &i32| assigned.is_some_and(|assigned| assigned.contains_key(partition));
            target.iter().any(|one| !has(one) && self.group.owner_epoch(*topic, *one).is_some())
        })
    }

    /// Members go, classic ones or others: an administrator may remove any.
    pub(crate) fn classic_leave(self, ticket: Ticket, request: &Leave) -> Outcome<Groups> {
        let mut gone = BTreeSet::new();
        let mut codes = Vec::with_capacity(request.members.len());
        for leaver in &request.members {
            codes.push(match self.leaving(leaver) {
                Ok(id) => {
                    let reason = leaver.reason.as_deref().unwrap_or("not provided");
                    tracing::info!(group = %self.group.id, member = %id, reason, "member leaves");
                    gone.insert(id);
                    ErrorCode::None
                }
                Err(error) => error,
            });
        }
        let mut outcome = match self.fence(&gone) {
            Rest::Same(turn) => turn.finish(),
            Rest::Classic(outcome) => outcome,
        };
        outcome.answers.push((ticket, Answer::Leave(Ok(codes))));
        outcome
    }

    fn leaving(&self, leaver: &Leaver) -> Result<Arc<str>, ErrorCode> {
        let Some(instance_id) = &leaver.instance_id else {
            let member = self.group.member(&leaver.member_id).ok_or(ErrorCode::UnknownMemberId)?;
            return Ok(member.id.clone());
        };
        let holder = self.group.static_member(instance_id).ok_or(ErrorCode::UnknownMemberId)?;
        if !leaver.member_id.is_empty() && holder.id != leaver.member_id {
            return Err(ErrorCode::FencedInstanceId);
        }
        Ok(holder.id.clone())
    }

    /// The member, when it speaks the classic protocol and its generation is right.
    fn classic_member(
        &self,
        member_id: &str,
        instance_id: Option<&str>,
        generation: i32,
    ) -> Result<Member, ErrorCode> {
        let member = match instance_id {
            None => self.group.member(member_id),
            Some(instance_id) => self.group.static_member(instance_id),
        };
        let member = member.ok_or(ErrorCode::UnknownMemberId)?;
        if *member.id != *member_id {
            return Err(ErrorCode::FencedInstanceId);
        }
        if !member.is_classic() {
            return Err(ErrorCode::UnknownMemberId);
        }
        if member.epoch != generation {
            return Err(ErrorCode::IllegalGeneration);
        }
        Ok(member.clone())
    }

    fn renew_classic_session(&mut self, member: &Member) {
        let timeout_ms = member.classic.as_ref().map_or(0, |classic| classic.session_timeout_ms);
        self.set_timer(Timer::Session(self.group.id.clone(), member.id.clone()), timeout_ms);
    }

    /// From when it is told first, the member has its rebalance time to join again.
    fn await_join(&mut self, member: &Member) {
        if !self.group.volatile.awaited.contains(&member.id) {
            self.touch(|group| group.volatile.awaited.extend([member.id.clone()]));
            let timer = Timer::ConsumerJoin(self.group.id.clone(), member.id.clone());
            self.set_timer(timer, member.rebalance_timeout_ms);
        }
    }
}

/// The member with what the join says of it.
fn joining(member: &Member, request: &Join, subscription: Subscription) -> Member {
    let protocols = request.protocols.iter();
    Member {
        instance_id: request.instance_id.clone().or_else(|| member.instance_id.clone()),
        rack_id: subscription.rack_id.or_else(|| member.rack_id.clone()),
        rebalance_timeout_ms: match request.rebalance_timeout_ms {
            -1 => member.rebalance_timeout_ms,
            timeout_ms => timeout_ms,
        },
        topics: Arc::new(subscription.topics),
        // The classic protocol has no patterns for the coordinator.
        pattern: Some(Arc::from("")),
        client_id: request.client_id.clone(),
        client_host: request.client_host.clone(),
        classic: Some(ClassicValue {
            session_timeout_ms: request.session_timeout_ms,
            protocols: protocols.map(|one| (one.name.clone(), one.metadata.clone())).collect(),
        }),
        ..member.clone()
    }
}

fn first_protocol(member: &Member) -> Option<&(Arc<str>, Bytes)> {
    member.classic.as_ref()?.protocols.first()
}
