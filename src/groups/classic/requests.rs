//! The rules of SyncGroup, Heartbeat, LeaveGroup, of the session's end, and who may commit.

use crate::base::ErrorCode;
use crate::coordinator::Ticket;
use crate::groups::classic::group::Group;
use crate::groups::classic::group::State;
use crate::groups::classic::rebalance::Turn;
use crate::groups::command::Answer;
use crate::groups::command::Commit;
use crate::groups::command::Heartbeat;
use crate::groups::command::Leave;
use crate::groups::command::Leaver;
use crate::groups::command::Sync;
use crate::groups::command::Synced;
use crate::groups::machine::Timer;
use std::sync::Arc;

impl Turn<'_> {
    /// Answers with the assignment, or waits for the leader; the leader's own sync brings it.
    pub(crate) fn sync(&mut self, ticket: Ticket, request: Sync) {
        if let Err(error) = validate_sync(&self.group, &request) {
            return self.answer(ticket, Answer::Sync(Synced::error(error)));
        }
        match self.group.state {
            State::Empty => self.answer(ticket, Answer::Sync(Synced::error(ErrorCode::UnknownMemberId))),
            State::PreparingRebalance => {
                self.answer(ticket, Answer::Sync(Synced::error(ErrorCode::RebalanceInProgress)));
            }
            State::CompletingRebalance => {
                self.has_synced(&request.member_id);
                let mut earlier = None;
                self.group.update(&request.member_id, |member| earlier = member.sync.replace(ticket));
                if let Some(earlier) = earlier {
                    self.answer(earlier, Answer::Sync(Synced::error(ErrorCode::RebalanceInProgress)));
                }
                if self.group.is_leader(&request.member_id) {
                    self.assign(request.assignments);
                }
            }
            State::Stable => {
                self.has_synced(&request.member_id);
                let synced = self.synced(&request.member_id, ErrorCode::None);
                self.answer(ticket, Answer::Sync(synced));
            }
        }
    }

    fn has_synced(&mut self, member_id: &str) {
        self.group.pending_syncs.remove(member_id);
        if self.group.pending_syncs.is_empty() {
            self.cancel_timer(Timer::Sync(self.group.id.clone()));
        }
    }

    /// Takes the members out one by one and then lets the group settle.
    pub(crate) fn leave(&mut self, ticket: Ticket, request: &Leave) {
        let codes: Vec<ErrorCode> = request.members.iter().map(|leaver| self.leave_one(leaver)).collect();
        if codes.contains(&ErrorCode::None) {
            match self.group.state {
                State::Stable | State::CompletingRebalance => self.prepare_rebalance("members leave"),
                State::PreparingRebalance => self.complete_join_if_ready(),
                State::Empty => {}
            }
        }
        self.answer(ticket, Answer::Leave(Ok(codes)));
    }

    fn leave_one(&mut self, leaver: &Leaver) -> ErrorCode {
        let reason = leaver.reason.as_deref().unwrap_or("not provided");
        if leaver.member_id.is_empty() {
            let holder = leaver.instance_id.as_ref().and_then(|instance| self.group.static_member(instance));
            let Some(holder) = holder.cloned() else { return ErrorCode::UnknownMemberId };
            tracing::info!(group = %self.group.id, member = %holder, reason, "static member is removed");
            self.remove(&holder, ErrorCode::UnknownMemberId);
            return ErrorCode::None;
        }
        if self.group.pending_joins.remove(&leaver.member_id) {
            self.end_session(&leaver.member_id);
            return ErrorCode::None;
        }
        if let Err(error) = self.group.validate_member(&leaver.member_id, leaver.instance_id.as_deref()) {
            return error;
        }
        tracing::info!(group = %self.group.id, member = %leaver.member_id, reason, "member leaves");
        self.remove(&leaver.member_id, ErrorCode::UnknownMemberId);
        ErrorCode::None
    }

    /// A member, or one that was expected to come back with its fresh id, has been silent for too long.
    pub(crate) fn session_is_over(&mut self, member_id: &Arc<str>) {
        if self.group.pending_joins.remove(member_id) {
            return self.complete_join_if_ready();
        }
        if self.group.member(member_id).is_none_or(|member| member.is_excused()) {
            return;
        }
        tracing::info!(group = %self.group.id, member = %member_id, "member is silent, removing it");
        self.remove(member_id, ErrorCode::UnknownMemberId);
        match self.group.state {
            State::Stable | State::CompletingRebalance => self.prepare_rebalance("a member's session ended"),
            State::PreparingRebalance => self.complete_join_if_ready(),
            State::Empty => {}
        }
    }
}

fn validate_sync(group: &Group, request: &Sync) -> Result<(), ErrorCode> {
    group.validate_member(&request.member_id, request.instance_id.as_deref())?;
    if request.generation != group.generation {
        return Err(ErrorCode::IllegalGeneration);
    }
    let differs = |asked: &Option<Arc<str>>, own: &Option<Arc<str>>| {
        asked.as_ref().zip(own.as_ref()).is_some_and(|(asked, own)| asked != own)
    };
    if differs(&request.protocol_type, &group.protocol_type) || differs(&request.protocol, &group.protocol) {
        return Err(ErrorCode::InconsistentGroupProtocol);
    }
    Ok(())
}

/// Whether the member's session goes on, and what it is told.
pub(crate) fn heartbeat(group: &Group, request: &Heartbeat) -> (bool, ErrorCode) {
    if let Err(error) = group.validate_member(&request.member_id, request.instance_id.as_deref()) {
        return (false, error);
    }
    if request.generation != group.generation {
        return (false, ErrorCode::IllegalGeneration);
    }
    match group.state {
        State::Empty => (false, ErrorCode::UnknownMemberId),
        State::PreparingRebalance => (true, ErrorCode::RebalanceInProgress),
        State::CompletingRebalance | State::Stable => (true, ErrorCode::None),
    }
}

/// Whether this commit may be stored (`ClassicGroup.validateOffsetCommit`).
pub(crate) fn validate_commit(group: &Group, request: &Commit) -> Result<(), ErrorCode> {
    if request.generation < 0 && group.state == State::Empty {
        return Ok(());
    }
    let in_transaction = request.transaction.is_some();
    if request.generation < 0 && request.member_id.is_empty() && request.instance_id.is_none() {
        // A transactional producer may speak for a group that it says nothing else of (before KIP-447).
        return if in_transaction { Ok(()) } else { Err(ErrorCode::UnknownMemberId) };
    }
    group.validate_member(&request.member_id, request.instance_id.as_deref())?;
    if request.generation != group.generation {
        return Err(ErrorCode::IllegalGeneration);
    }
    if group.state == State::CompletingRebalance && !in_transaction {
        return Err(ErrorCode::RebalanceInProgress);
    }
    Ok(())
}
