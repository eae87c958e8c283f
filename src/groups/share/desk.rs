//! What the machine does with commands and deadlines of share groups.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::cluster::Image;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::Ticket;
use crate::groups::assign::Partitions;
use crate::groups::command;
use crate::groups::consumer::command::DescribedTopic;
use crate::groups::consumer::command::Fault;
use crate::groups::kind::Kind;
use crate::groups::machine::Groups;
use crate::groups::share::command::Alter;
use crate::groups::share::command::Altered;
use crate::groups::share::command::Answer;
use crate::groups::share::command::Beaten;
use crate::groups::share::command::Command;
use crate::groups::share::command::Described;
use crate::groups::share::command::DescribedMember;
use crate::groups::share::command::Heartbeat;
use crate::groups::share::group::Group;
use crate::groups::share::group::LEFT;
use crate::groups::share::group::Member;
use crate::groups::share::heartbeat;
use crate::groups::share::heartbeat::Turn;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Groups {
    /// What follows from a command for share groups.
    pub(crate) fn decide_share(&self, now: Now, ticket: Ticket, command: Command) -> Outcome<Groups> {
        let (mut outcome, answer) = match command {
            Command::Heartbeat(request) => {
                let (outcome, answer) = split(self.share_heartbeat(now, &request));
                if let Err(fault) = &answer {
                    tracing::debug!(group = %request.group, member = %request.member_id, code = %fault.code,
                        "heartbeat is refused: {}", fault.message);
                }
                (outcome, Answer::Heartbeat(answer))
            }
            Command::Describe(ids) => {
                let shown = ids.iter().map(|id| self.describe_share(id)).collect();
                (Outcome::nothing(), Answer::Describe(shown))
            }
            Command::Initialized(id, partitions) => {
                (self.share_outcome(now, &id, |turn| turn.initialized(&partitions)), Answer::Done)
            }
            Command::Uninitialized(id, partitions) => {
                (self.share_outcome(now, &id, |turn| turn.uninitialized(&partitions)), Answer::Done)
            }
            Command::Known(id) => {
                let known = self.share_group(&id).map_or_else(Partitions::new, |group| group.initialized());
                (Outcome::nothing(), Answer::Known(known))
            }
            Command::Alter(request) => {
                let (outcome, answer) = split(self.alter_share(now, &request));
                (outcome, Answer::Alter(answer))
            }
            Command::Forget(id, topics) => {
                let forgotten = self.share_by_name(now, &id).and_then(|mut turn| {
                    let answers = turn.forget(&topics)?;
                    Ok((turn.finish(), answers))
                });
                let (outcome, answer) = split(forgotten);
                (outcome, Answer::Forget(answer))
            }
            Command::Forgotten(id, topics) => {
                (self.share_outcome(now, &id, |turn| turn.forgotten(&topics)), Answer::Done)
            }
            Command::Doom(ids) => {
                let mut outcome = Outcome::nothing();
                let mut doomed = Vec::with_capacity(ids.len());
                for id in ids {
                    let Some(group) = self.share_group(&id) else {
                        doomed.push(Ok(Partitions::new()));
                        continue;
                    };
                    let mut turn = Turn::new(self.world(now), Arc::clone(group));
                    doomed.push(turn.doom());
                    add(&mut outcome, turn.finish());
                }
                (outcome, Answer::Doom(doomed))
            }
        };
        outcome.answers.push((ticket, command::Answer::Share(answer)));
        outcome
    }

    /// The group, when it is a share group.
    pub(crate) fn share_group(&self, id: &str) -> Option<&Arc<Group>> {
        match self.kind(id)? {
            Kind::Share(group) => Some(group),
            _ => None,
        }
    }

    fn share_heartbeat(&self, now: Now, request: &Heartbeat) -> Result<(Outcome<Groups>, Beaten), Fault> {
        heartbeat::validate(request)?;
        if request.epoch == LEFT {
            let mut turn = self.share_by_name(now, &request.group)?;
            if turn.group.member(&request.member_id).is_none() {
                return Err(Fault::unknown_member(&request.group, &request.member_id));
            }
            tracing::info!(group = %request.group, member = %request.member_id, "member leaves the share group");
            turn.remove(&request.member_id);
            let (epoch, initialize) = (request.epoch, Vec::new());
            return Ok((turn.finish(), Beaten { epoch, interval_ms: 0, assignment: None, initialize }));
        }
        let mut turn = self.open_share(now, &request.group, request.epoch == 0)?;
        self.check_share_memory(&turn.group, request)?;
        if request.epoch == 0 {
            tracing::info!(group = %request.group, member = %request.member_id, "member joins the share group");
        }
        let beaten = turn.heartbeat(request)?;
        Ok((turn.finish(), beaten))
    }

    /// Members whose requests would take more memory than is left are refused for now.
    fn check_share_memory(&self, group: &Group, request: &Heartbeat) -> Result<(), Fault> {
        let known = group.member(&request.member_id).map_or(0, Member::bytes);
        let topics = request.topics.iter().flatten().map(|topic| 64 + topic.len()).sum::<usize>();
        let rack = request.rack_id.as_ref().map_or(0, |rack| rack.len());
        let more = (1024 + topics + rack).saturating_sub(known);
        self.check_room(more.saturating_add(self.group_bytes(&request.group)), &request.group)
    }

    fn check_room(&self, more: usize, id: &str) -> Result<(), Fault> {
        if more == 0 || self.settings().memory.has_room_for(more, id) {
            return Ok(());
        }
        Err(Fault::new(ErrorCode::CoordinatorNotAvailable, "The memory for members of groups is used up."))
    }

    /// Lets a group go on at other offsets, if there is memory for what is then remembered of it. A group that is made so
    /// stays until somebody deletes it.
    fn alter_share(&self, now: Now, request: &Alter) -> Result<(Outcome<Groups>, Altered), Fault> {
        let mut turn = self.open_share(now, &request.group, true)?;
        let altered = turn.alter(request)?;
        if !turn.outcome.records.is_empty() {
            let known = self.share_group(&request.group).map_or(0, |group| group.bytes());
            self.check_room(turn.group.bytes().saturating_sub(known), &request.group)?;
        }
        Ok((turn.finish(), altered))
    }

    /// The share group, which with `creates` is made when there is none.
    fn open_share(&self, now: Now, id: &Arc<str>, creates: bool) -> Result<Turn<'_>, Fault> {
        let world = self.world(now);
        match self.kind(id) {
            Some(Kind::Share(group)) => Ok(Turn::new(world, Arc::clone(group))),
            Some(_) => Err(not_share(id)),
            None if creates => Ok(Turn::new(world, Arc::new(Group::new(id.clone())))),
            None => Err(Fault::new(ErrorCode::GroupIdNotFound, format!("Share group {id} not found."))),
        }
    }

    /// The share group, where the words for a missing one are those of any group.
    fn share_by_name(&self, now: Now, id: &Arc<str>) -> Result<Turn<'_>, Fault> {
        match self.kind(id) {
            Some(Kind::Share(group)) => Ok(Turn::new(self.world(now), Arc::clone(group))),
            Some(_) => Err(not_share(id)),
            None => Err(not_found(id)),
        }
    }

    fn share_outcome(&self, now: Now, id: &str, act: impl FnOnce(&mut Turn<'_>)) -> Outcome<Groups> {
        let Some(group) = self.share_group(id) else { return Outcome::nothing() };
        let mut turn = Turn::new(self.world(now), Arc::clone(group));
        act(&mut turn);
        turn.finish()
    }

    fn describe_share(&self, id: &Arc<str>) -> Result<Described, Fault> {
        match self.kind(id) {
            Some(Kind::Share(group)) => Ok(describe(group, self.image())),
            Some(_) => Err(not_share(id)),
            None => Err(not_found(id)),
        }
    }

    /// A member was silent for too long.
    pub(crate) fn share_session_is_over(&self, now: Now, id: &str, member: &Arc<str>) -> Outcome<Groups> {
        self.share_outcome(now, id, |turn| {
            if turn.group.member(member).is_some() {
                tracing::info!(group = id, %member, "member is removed from the share group: its session is over");
                turn.remove(member);
            }
        })
    }

    /// Members that are loaded get a full session.
    pub(crate) fn wake_share(&self, now: Now, group: &Arc<Group>) -> Outcome<Groups> {
        let mut turn = Turn::new(self.world(now), Arc::clone(group));
        for (id, _) in group.members() {
            turn.renew_session(id);
        }
        turn.finish()
    }

    /// Share groups forget the share-partitions of topics that are gone.
    pub(crate) fn share_topics_deleted(&self, now: Now, topics: &[(Arc<str>, TopicId)]) -> Outcome<Groups> {
        let topics: BTreeSet<TopicId> = topics.iter().map(|(_, id)| *id).collect();
        let mut outcome = Outcome::nothing();
        for kind in self.all() {
            if let Kind::Share(group) = kind {
                let mut turn = Turn::new(self.world(now), Arc::clone(group));
                turn.topics_deleted(&topics);
                add(&mut outcome, turn.finish());
            }
        }
        outcome
    }
}

fn not_share(id: &str) -> Fault {
    Fault::new(ErrorCode::GroupIdNotFound, format!("Group {id} is not a share group."))
}

fn not_found(id: &str) -> Fault {
    Fault::new(ErrorCode::GroupIdNotFound, format!("Group {id} not found."))
}

fn split<T>(result: Result<(Outcome<Groups>, T), Fault>) -> (Outcome<Groups>, Result<T, Fault>) {
    match result {
        Ok((outcome, answer)) => (outcome, Ok(answer)),
        Err(fault) => (Outcome::nothing(), Err(fault)),
    }
}

fn add(outcome: &mut Outcome<Groups>, more: Outcome<Groups>) {
    outcome.records.extend(more.records);
    outcome.changes.extend(more.changes);
    outcome.timers.extend(more.timers);
}

/// A group in full.
fn describe(group: &Group, image: &Image) -> Described {
    Described {
        state: group.state_name(),
        epoch: group.epoch,
        target_epoch: group.target_epoch,
        members: group.members().map(|(id, member)| describe_member(id, member, image)).collect(),
    }
}

fn describe_member(id: &Arc<str>, member: &Member, image: &Image) -> DescribedMember {
    DescribedMember {
        member_id: id.clone(),
        rack_id: member.rack_id.clone(),
        epoch: member.epoch,
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        topics: member.topics.iter().cloned().collect(),
        assigned: topics(&member.assigned, image),
    }
}

/// Topics that are gone are left out.
fn topics(partitions: &Partitions, image: &Image) -> Vec<DescribedTopic> {
    let one = |(id, partitions): (&TopicId, &BTreeSet<i32>)| {
        let name = image.topic_by_id(*id)?.name.clone();
        Some(DescribedTopic { id: *id, name, partitions: partitions.iter().copied().collect() })
    };
    partitions.iter().filter_map(one).collect()
}
