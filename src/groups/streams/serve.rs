//! Streams groups among the groups of a partition: who they are asked by, and what is due in them.

use crate::base::ErrorCode;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::Ticket;
use crate::coordinator::TimerChange;
use crate::groups::command::Answer;
use crate::groups::kind::Kind;
use crate::groups::machine::Change;
use crate::groups::machine::Groups;
use crate::groups::machine::Timer;
use crate::groups::record::Record;
use crate::groups::streams::command::Refusal;
use crate::groups::streams::command::StreamsDescribed;
use crate::groups::streams::command::StreamsHeartbeat;
use crate::groups::streams::group::Group;
use crate::groups::streams::heartbeat;
use crate::groups::streams::heartbeat::Before;
use crate::groups::streams::heartbeat::Deadline;
use crate::groups::streams::heartbeat::Decision;
use crate::groups::streams::leave;
use crate::groups::streams::settings::Settings;
use crate::groups::streams::show;
use std::sync::Arc;
use std::time::Duration;

impl Groups {
    /// A member joins, stays or leaves.
    pub(crate) fn streams_heartbeat(
        &self,
        now: Now,
        ticket: Ticket,
        request: &StreamsHeartbeat,
    ) -> Outcome<Groups> {
        let mut outcome = Outcome::nothing();
        let answer = match self.decide_streams(now, request, &mut outcome) {
            Ok(decision) => {
                let group = &request.group;
                outcome.records.extend(decision.records.into_iter().map(Record::Streams));
                outcome.changes.extend(decision.soft.map(|soft| Change::streams(group.clone(), soft)));
                outcome.timers.extend(timers(group, decision.deadlines));
                Ok(Box::new(decision.alive))
            }
            Err(refusal) => {
                outcome = Outcome::nothing();
                Err(refusal)
            }
        };
        outcome.answers.push((ticket, Answer::StreamsHeartbeat(answer)));
        outcome
    }

    fn decide_streams(
        &self,
        now: Now,
        request: &StreamsHeartbeat,
        outcome: &mut Outcome<Groups>,
    ) -> Result<Decision, Refusal> {
        let id = &request.group;
        let joins = request.member_epoch == 0;
        let group_bytes = if joins { self.group_bytes(id) } else { 0 };
        let more = leave::bytes(request).saturating_add(group_bytes);
        if more > 0 && !self.settings().memory.has_room_for(more, id) {
            return Err(ErrorCode::CoordinatorNotAvailable.into());
        }
        let missing = |what: String| Err(Refusal::new(ErrorCode::GroupIdNotFound, what));
        match self.kind(id) {
            Some(Kind::Streams(group)) if request.member_epoch < 0 => leave::leave(group, request),
            Some(Kind::Streams(group)) => heartbeat::heartbeat(now, group, Before::Group, request),
            None if request.member_epoch < 0 => missing(format!("Group {id} not found.")),
            None if request.member_epoch > 0 => missing(format!("Streams group {id} not found.")),
            Some(other @ Kind::Classic(_)) if request.member_epoch == 0 && other.is_empty() => {
                tracing::info!(group = %id, "an empty classic group becomes a streams group");
                outcome.records.extend(other.tombstones());
                heartbeat::heartbeat(now, &Group::new(id.clone()), Before::Classic, request)
            }
            Some(_) => missing(format!("Group {id} is not a streams group.")),
            None => heartbeat::heartbeat(now, &Group::new(id.clone()), Before::Nothing, request),
        }
    }

    /// A group in full.
    pub(crate) fn streams_describe(&self, id: &str) -> Result<StreamsDescribed, Refusal> {
        let missing = |what: String| Err(Refusal::new(ErrorCode::GroupIdNotFound, what));
        match self.kind(id) {
            Some(Kind::Streams(group)) => Ok(show::describe(group)),
            Some(_) => missing(format!("Group {id} is not a streams group.")),
            None => missing(format!("Group {id} not found.")),
        }
    }

    /// What was due has come.
    pub(crate) fn streams_deadline(&self, now: Now, id: &Arc<str>, deadline: &Deadline) -> Outcome<Groups> {
        let Some(Kind::Streams(group)) = self.kind(id) else { return Outcome::nothing() };
        let mut outcome = Outcome::nothing();
        let (member, is_late) = match deadline {
            Deadline::Initial => {
                let (records, soft) = leave::initial_delay_is_over(now.0, group);
                outcome.records.extend(records.into_iter().map(Record::Streams));
                outcome.changes.push(Change::streams(id.clone(), soft));
                return outcome;
            }
            Deadline::Session(member) => (group.member(member), true),
            Deadline::Rebalance(member) => {
                let member = group.member(member);
                (member, member.is_some_and(|member| member.has_to_revoke()))
            }
        };
        let Some(member) = member.filter(|_| is_late) else { return outcome };
        tracing::info!(group = %id, member = %member.id, ?deadline, "streams member is removed from its group");
        let (records, deadlines) = leave::fence(group, member);
        outcome.records.extend(records.into_iter().map(Record::Streams));
        outcome.timers.extend(timers(id, deadlines));
        outcome
    }

    /// Members that are loaded get a full session.
    pub(crate) fn streams_wake(&self, group: &Group) -> Outcome<Groups> {
        let mut outcome = Outcome::nothing();
        let millis = |value: i32| Duration::from_millis(u64::try_from(value).unwrap_or(0));
        let (broker, node_id) = (&self.settings().streams, self.settings().node_id);
        let session = millis(Settings::of(broker, node_id, self.image(), &group.id).session_timeout_ms);
        for member in group.members() {
            let mut deadlines = vec![(Deadline::Session(member.id.clone()), Some(session))];
            if member.has_to_revoke() {
                let timeout = millis(member.profile.rebalance_timeout_ms);
                deadlines.push((Deadline::Rebalance(member.id.clone()), Some(timeout)));
            }
            outcome.timers.extend(timers(&group.id, deadlines));
        }
        outcome
    }
}

/// Deadlines of a group as timers.
pub(crate) fn timers(
    group: &Arc<str>,
    deadlines: Vec<(Deadline, Option<Duration>)>,
) -> impl Iterator<Item = TimerChange<Timer>> {
    deadlines.into_iter().map(|(deadline, after)| {
        let timer = Timer::Streams(group.clone(), deadline);
        match after {
            Some(after) => TimerChange::Set(timer, after),
            None => TimerChange::Cancel(timer),
        }
    })
}
