//! What the machine does with commands and deadlines of consumer groups.

use crate::base::ErrorCode;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::Ticket;
use crate::groups::command;
use crate::groups::consumer::command::Answer;
use crate::groups::consumer::command::Beaten;
use crate::groups::consumer::command::Command;
use crate::groups::consumer::command::Described;
use crate::groups::consumer::command::Fault;
use crate::groups::consumer::command::Heartbeat;
use crate::groups::consumer::group::Group;
use crate::groups::consumer::heartbeat;
use crate::groups::consumer::leave::Rest;
use crate::groups::consumer::member::LEFT_STATIC;
use crate::groups::consumer::member::Member;
use crate::groups::consumer::migrate;
use crate::groups::consumer::show;
use crate::groups::consumer::turn::Turn;
use crate::groups::kind::Kind;
use crate::groups::machine::Groups;
use crate::groups::machine::Timer;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Groups {
    /// What follows from a command for consumer groups.
    pub(crate) fn decide_consumer(&self, now: Now, ticket: Ticket, command: Command) -> Outcome<Groups> {
        match command {
            Command::Heartbeat(request) => {
                let (mut outcome, answer) = match self.consumer_heartbeat(now, &request) {
                    Ok((outcome, beaten)) => (outcome, Ok(beaten)),
                    Err(fault) => {
                        tracing::debug!(group = %request.group, member = %request.member_id, code = %fault.code,
                            "heartbeat is refused: {}", fault.message);
                        (Outcome::nothing(), Err(fault))
                    }
                };
                let answer = command::Answer::Consumer(Answer::Heartbeat(answer));
                outcome.answers.push((ticket, answer));
                outcome
            }
            Command::Describe(ids) => {
                let shown = ids.iter().map(|id| self.describe_consumer(id)).collect();
                Outcome::answer(ticket, command::Answer::Consumer(Answer::Describe(shown)))
            }
        }
    }

    fn consumer_heartbeat(&self, now: Now, request: &Heartbeat) -> Result<(Outcome<Groups>, Beaten), Fault> {
        heartbeat::validate(request, self.settings())?;
        let leaves = request.epoch == -1 || request.epoch == LEFT_STATIC;
        let turn = self.open_consumer(now, &request.group, request.epoch == 0)?;
        if leaves {
            let (rest, beaten) = turn.leave(request)?;
            return Ok((finish(rest), beaten));
        }
        self.check_memory(&turn.group, request)?;
        let mut turn = turn;
        let beaten = turn.heartbeat(request)?;
        Ok((turn.finish(), beaten))
    }

    /// Members whose requests would take more memory than is left are refused for now.
    fn check_memory(&self, group: &Group, request: &Heartbeat) -> Result<(), Fault> {
        let known = group.member(&request.member_id).map_or(0, |member| member.bytes());
        let topics = request.topics.iter().flatten().map(|topic| 64 + topic.len()).sum::<usize>();
        let text = |text: &Option<Arc<str>>| text.as_ref().map_or(0, |text| text.len());
        let asked =
            1024 + topics + text(&request.pattern) + text(&request.rack_id) + text(&request.instance_id);
        let more = asked.saturating_sub(known).saturating_add(self.group_bytes(&request.group));
        if more == 0 || self.settings().memory.has_room_for(more, &request.group) {
            return Ok(());
        }
        Err(Fault::new(ErrorCode::CoordinatorNotAvailable, "The memory for members of groups is used up."))
    }

    /// The consumer group, which with `creates` is made when there is none: of nothing, of an empty classic group, or
    /// of one with members.
    fn open_consumer(&self, now: Now, id: &Arc<str>, creates: bool) -> Result<Turn<'_>, Fault> {
        let world = self.world(now);
        match self.kind(id) {
            Some(Kind::Consumer(group)) => Ok(Turn::new(world, Arc::clone(group))),
            Some(Kind::Classic(classic)) if creates && self.is_empty_classic(id) => {
                let mut turn = Turn::new(world, Arc::new(Group::new(id.clone())));
                turn.end_classic(classic);
                tracing::info!(group = %id, "empty classic group becomes a consumer group");
                Ok(turn)
            }
            Some(Kind::Classic(classic)) if creates => migrate::upgrade(world, classic),
            Some(_) => {
                let message = format!("Group {id} is not a consumer group.");
                Err(Fault::new(ErrorCode::GroupIdNotFound, message))
            }
            None if creates => Ok(Turn::new(world, Arc::new(Group::new(id.clone())))),
            None => Err(Fault::new(ErrorCode::GroupIdNotFound, format!("Consumer group {id} not found."))),
        }
    }

    fn is_empty_classic(&self, id: &str) -> bool {
        self.kind(id).is_some_and(Kind::is_empty)
    }

    fn describe_consumer(&self, id: &Arc<str>) -> Result<Described, Fault> {
        let refuse = |message| Err(Fault::new(ErrorCode::GroupIdNotFound, message));
        match self.kind(id) {
            Some(Kind::Consumer(group)) => {
                let default = self.settings().default_assignor().name();
                Ok(show::describe(group, default, self.image()))
            }
            Some(_) => refuse(format!("Group {id} is not a consumer group.")),
            None => refuse(format!("Group {id} not found.")),
        }
    }

    /// The group as a draft, when it is a consumer group.
    pub(crate) fn consumer_turn(&self, now: Now, id: &str) -> Option<Turn<'_>> {
        match self.kind(id)? {
            Kind::Consumer(group) => Some(Turn::new(self.world(now), Arc::clone(group))),
            Kind::Classic(_) | Kind::Share(_) | Kind::Streams(_) => None,
        }
    }

    /// A member is to go because a deadline has passed, if `still` holds of it.
    fn expire_member(
        &self,
        now: Now,
        (group, member): (&str, &Arc<str>),
        why: &str,
        still: impl FnOnce(&Member) -> bool,
    ) -> Outcome<Groups> {
        let Some(turn) = self.consumer_turn(now, group) else { return Outcome::nothing() };
        if !turn.group.member(member).is_some_and(still) {
            return Outcome::nothing();
        }
        tracing::info!(group, %member, why, "member is removed from the consumer group");
        finish(turn.fence(&BTreeSet::from([Arc::clone(member)])))
    }

    /// What follows from a deadline of a consumer group.
    pub(crate) fn expired_consumer(&self, now: Now, timer: &Timer) -> Outcome<Groups> {
        let always = |_: &Member| true;
        match timer {
            Timer::Session(group, member) => {
                self.expire_member(now, (group, member), "its session is over", always)
            }
            Timer::Rebalance(group, member) => {
                let why = "it has not given up partitions in time";
                self.expire_member(now, (group, member), why, Member::has_to_revoke)
            }
            Timer::ConsumerJoin(group, member) => {
                self.expire_member(now, (group, member), "it has not joined again in time", always)
            }
            Timer::ConsumerSync(group, member) => {
                self.expire_member(now, (group, member), "it has not synced in time", always)
            }
            Timer::Patterns(group) => {
                let Some(mut turn) = self.consumer_turn(now, group) else { return Outcome::nothing() };
                turn.resolve_patterns();
                turn.finish()
            }
            Timer::Join(_) | Timer::Sync(_) | Timer::Streams(..) | Timer::Expire => Outcome::nothing(),
        }
    }

    /// Members that are loaded get a full session, and those that must give up partitions their full time.
    pub(crate) fn wake_consumer(&self, now: Now, group: &Arc<Group>) -> Outcome<Groups> {
        let mut turn = Turn::new(self.world(now), Arc::clone(group));
        for member in group.members() {
            turn.renew_session(&member.id);
            if member.has_to_revoke() {
                let timer = Timer::Rebalance(group.id.clone(), member.id.clone());
                turn.set_timer(timer, member.rebalance_timeout_ms);
            }
        }
        turn.finish()
    }

    /// The group whose subscribed topics are among the changed ones has to look at them.
    pub(crate) fn with_changed_topics(group: &Arc<Group>, topics: &BTreeSet<Arc<str>>) -> Option<Arc<Group>> {
        let known = group.volatile.refreshed.is_some();
        if !known || !topics.iter().any(|topic| group.is_subscribed(topic)) {
            return None;
        }
        let mut changed = Arc::clone(group);
        Arc::make_mut(&mut changed).volatile.refreshed = None;
        Some(changed)
    }
}

fn finish(rest: Rest<'_>) -> Outcome<Groups> {
    match rest {
        Rest::Same(turn) => turn.finish(),
        Rest::Classic(outcome) => outcome,
    }
}
