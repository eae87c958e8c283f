//! How a group comes from one generation to the next (`GroupMetadataManager.prepareRebalance` and after).
//!
//! ```text
//!  Empty --join--> PreparingRebalance --all joined, or time is up--> CompletingRebalance --leader syncs--> Stable
//!    ^                 ^     |                                          |                                    |
//!    +-- nobody left --|-----+         join, leave, silence             |          join, leave, silence      |
//!                      +------------------------------------------------+------------------------------------+
//! ```

use crate::base::ErrorCode;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::Ticket;
use crate::coordinator::TimerChange;
use crate::groups::classic::group::Group;
use crate::groups::classic::group::InitialDelay;
use crate::groups::classic::group::State;
use crate::groups::classic::member::Member;
use crate::groups::command::Answer;
use crate::groups::command::Joined;
use crate::groups::command::Synced;
use crate::groups::machine::Change;
use crate::groups::machine::Groups;
use crate::groups::machine::Timer;
use crate::groups::settings::Settings;
use bytes::Bytes;
use std::sync::Arc;
use std::time::Duration;

/// One command's work on a draft of a group. Nothing of it counts before [`Turn::finish`].
pub(crate) struct Turn<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) now: Now,
    pub(crate) group: Group,
    pub(crate) outcome: Outcome<Groups>,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(settings: &'a Settings, now: Now, group: Group) -> Turn<'a> {
        Turn { settings, now, group, outcome: Outcome::nothing() }
    }

    /// The outcome with the draft as the group's new state.
    pub(crate) fn finish(mut self) -> Outcome<Groups> {
        self.outcome.changes.push(Change::put(self.group));
        self.outcome
    }

    /// The outcome without a change of the group.
    pub(crate) fn finish_unchanged(self) -> Outcome<Groups> {
        self.outcome
    }

    /// A group is there from the first request to join it, also when nobody comes of it, until the next look at groups
    /// without members and offsets.
    pub(crate) fn store_new(&mut self) {
        if !self.group.stored {
            self.group.stored = true;
            self.outcome.records.push(self.group.to_first_record());
        }
    }

    pub(crate) fn answer(&mut self, ticket: Ticket, answer: Answer) {
        self.outcome.answers.push((ticket, answer));
    }

    pub(crate) fn set_timer(&mut self, timer: Timer, after_ms: i32) {
        let after = Duration::from_millis(u64::try_from(after_ms).unwrap_or(0));
        self.outcome.timers.push(TimerChange::Set(timer, after));
    }

    pub(crate) fn cancel_timer(&mut self, timer: Timer) {
        self.outcome.timers.push(TimerChange::Cancel(timer));
    }

    /// Expects the next sign of life within the member's session time.
    pub(crate) fn renew_session(&mut self, member_id: &Arc<str>) {
        if let Some(timeout_ms) = self.group.member(member_id).map(|member| member.session_timeout_ms) {
            self.set_timer(Timer::Session(self.group.id.clone(), member_id.clone()), timeout_ms);
        }
    }

    pub(crate) fn end_session(&mut self, member_id: &Arc<str>) {
        self.cancel_timer(Timer::Session(self.group.id.clone(), member_id.clone()));
    }

    pub(crate) fn answer_join(&mut self, ticket: Ticket, joined: Joined) {
        self.answer(ticket, Answer::Join(Box::new(joined)));
    }

    /// What a member learns when it has joined the present generation.
    pub(crate) fn joined(&self, member_id: &Arc<str>) -> Joined {
        Joined {
            error: ErrorCode::None,
            generation: self.group.generation,
            protocol_type: self.group.protocol_type.clone(),
            protocol: self.group.protocol.clone(),
            leader: self.group.leader.clone().unwrap_or_else(|| Arc::from("")),
            skip_assignment: false,
            member_id: member_id.clone(),
            members: if self.group.is_leader(member_id) { self.group.roster() } else { Vec::new() },
        }
    }

    /// Takes a member out and fails its waiting requests with `error`.
    pub(crate) fn remove(&mut self, member_id: &Arc<str>, error: ErrorCode) -> Option<Member> {
        let member = self.group.take(member_id)?;
        self.end_session(member_id);
        let told = if error == ErrorCode::FencedInstanceId { member_id.clone() } else { Arc::from("") };
        if let Some(ticket) = member.join {
            self.answer_join(ticket, Joined::error(error, told));
        }
        if let Some(ticket) = member.sync {
            self.answer(ticket, Answer::Sync(Synced::error(error)));
        }
        Some(member)
    }

    /// Begins a rebalance, or ends the join phase if this was all it waited for.
    pub(crate) fn rebalance_or_complete_join(&mut self, reason: &str) {
        match self.group.state {
            State::Empty | State::CompletingRebalance | State::Stable => self.prepare_rebalance(reason),
            State::PreparingRebalance => self.complete_join_if_ready(),
        }
    }

    /// Ends the join phase when everyone has joined; an initial rebalance waits for its delay all the same.
    pub(crate) fn complete_join_if_ready(&mut self) {
        let preparing = self.group.state == State::PreparingRebalance;
        if preparing && self.group.initial.is_none() && self.group.has_all_joined() {
            self.complete_join();
        }
    }

    pub(crate) fn prepare_rebalance(&mut self, reason: &str) {
        if self.group.state == State::CompletingRebalance {
            self.propagate_assignments(ErrorCode::RebalanceInProgress);
        }
        self.group.pending_syncs.clear();
        self.cancel_timer(Timer::Sync(self.group.id.clone()));
        let first = self.group.state == State::Empty;
        self.group.enter(State::PreparingRebalance, self.now.0);
        tracing::info!(group = %self.group.id, generation = self.group.generation, reason, "preparing rebalance");
        if first {
            let delay_ms = self.settings.initial_rebalance_delay_ms;
            let remaining_ms = self.group.rebalance_timeout_ms().saturating_sub(delay_ms).max(0);
            self.group.initial = Some(InitialDelay { delay_ms, remaining_ms, extend: false });
            self.set_timer(Timer::Join(self.group.id.clone()), delay_ms);
        } else if self.group.has_all_joined() {
            self.complete_join();
        } else {
            let timeout_ms = self.group.rebalance_timeout_ms();
            self.set_timer(Timer::Join(self.group.id.clone()), timeout_ms);
        }
    }

    /// The time for joining is up. A new group waits on while more members keep coming, up to the rebalance
    /// timeout (KIP-134).
    pub(crate) fn join_time_is_up(&mut self) {
        if self.group.state != State::PreparingRebalance {
            return;
        }
        if let Some(InitialDelay { delay_ms, remaining_ms, extend: true }) = self.group.initial
            && remaining_ms > 0
        {
            let next_ms = self.settings.initial_rebalance_delay_ms.min(remaining_ms);
            let remaining_ms = remaining_ms.saturating_sub(delay_ms).max(0);
            self.group.initial = Some(InitialDelay { delay_ms: next_ms, remaining_ms, extend: false });
            self.set_timer(Timer::Join(self.group.id.clone()), next_ms);
            return;
        }
        self.complete_join();
    }

    /// Leaves the stragglers behind and begins the next generation with those that joined.
    fn complete_join(&mut self) {
        self.cancel_timer(Timer::Join(self.group.id.clone()));
        self.group.initial = None;
        let late: Vec<Arc<str>> = self
            .group
            .members()
            .filter(|member| member.join.is_none() && member.instance_id.is_none())
            .map(|member| member.id.clone())
            .collect();
        for member_id in &late {
            tracing::info!(group = %self.group.id, member = %member_id, "removed a member that did not rejoin");
            self.remove(member_id, ErrorCode::UnknownMemberId);
        }
        if self.group.size() > 0 && !self.elect_joined_leader() {
            // Only static members are left and none of them is back: wait on, until their sessions end.
            let timeout_ms = self.group.rebalance_timeout_ms();
            self.set_timer(Timer::Join(self.group.id.clone()), timeout_ms);
            return;
        }
        self.begin_generation();
    }

    /// Makes sure that the leader is one that has joined.
    fn elect_joined_leader(&mut self) -> bool {
        let joined = |member: &Member| member.join.is_some();
        let leader = self.group.leader.as_ref().and_then(|id| self.group.member(id));
        if leader.is_some_and(joined) {
            return true;
        }
        let next = self.group.members().find(|member| joined(member)).map(|member| member.id.clone());
        let found = next.is_some();
        if found {
            self.group.leader = next;
        }
        found
    }

    fn begin_generation(&mut self) {
        self.group.generation = self.group.generation.saturating_add(1);
        self.group.pending_syncs.clear();
        self.group.protocol = self.group.select_protocol();
        self.group.subscribed_topics = self.group.subscriptions();
        let generation = self.group.generation;
        if self.group.size() == 0 {
            self.group.enter(State::Empty, self.now.0);
            self.group.stored = true;
            self.outcome.records.push(self.group.to_record());
            tracing::info!(group = %self.group.id, generation, "group is empty");
            return;
        }
        self.group.enter(State::CompletingRebalance, self.now.0);
        tracing::info!(group = %self.group.id, generation, members = self.group.size(), "generation begins");
        for member_id in self.group.member_ids() {
            let mut waiting = None;
            self.group.update(&member_id, |member| {
                waiting = member.join.take();
                member.is_new = false;
            });
            if let Some(ticket) = waiting {
                let joined = self.joined(&member_id);
                self.answer_join(ticket, joined);
            }
            self.renew_session(&member_id);
            self.group.pending_syncs.insert(member_id);
        }
        let timeout_ms = self.group.rebalance_timeout_ms();
        self.set_timer(Timer::Sync(self.group.id.clone()), timeout_ms);
    }

    /// Members that have not synced in time are removed and the rest begins anew (KIP-389's sync expiry).
    pub(crate) fn sync_time_is_up(&mut self) {
        let awaited = matches!(self.group.state, State::CompletingRebalance | State::Stable);
        if !awaited || self.group.pending_syncs.is_empty() {
            return;
        }
        for member_id in std::mem::take(&mut self.group.pending_syncs) {
            tracing::info!(group = %self.group.id, member = %member_id, "removed a member that did not sync");
            self.remove(&member_id, ErrorCode::UnknownMemberId);
        }
        self.prepare_rebalance("members did not sync in time");
    }

    /// The leader's assignment: everyone gets his part, nobody else's; who is not mentioned gets nothing.
    pub(crate) fn assign(&mut self, assignments: Vec<(Arc<str>, Bytes)>) {
        for member_id in self.group.member_ids() {
            self.group.update(&member_id, |member| member.assignment = Bytes::new());
        }
        for (member_id, assignment) in assignments {
            // Copied, so that an assignment does not keep the whole request in memory.
            let assignment = Bytes::copy_from_slice(&assignment);
            self.group.update(&member_id, |member| member.assignment = assignment);
        }
        self.group.enter(State::Stable, self.now.0);
        self.group.stored = true;
        self.outcome.records.push(self.group.to_record());
        self.propagate_assignments(ErrorCode::None);
    }

    /// Answers all waiting syncs.
    fn propagate_assignments(&mut self, error: ErrorCode) {
        for member_id in self.group.member_ids() {
            let mut waiting = None;
            self.group.update(&member_id, |member| {
                waiting = member.sync.take();
                if error != ErrorCode::None {
                    member.assignment = Bytes::new();
                }
            });
            if let Some(ticket) = waiting {
                let synced = self.synced(&member_id, error);
                self.answer(ticket, Answer::Sync(synced));
                self.renew_session(&member_id);
            }
        }
    }

    /// What a member learns from a sync.
    pub(crate) fn synced(&self, member_id: &str, error: ErrorCode) -> Synced {
        let Some(member) = self.group.member(member_id).filter(|_| error == ErrorCode::None) else {
            return Synced::error(error);
        };
        Synced {
            error,
            protocol_type: self.group.protocol_type.clone(),
            protocol: self.group.protocol.clone(),
            assignment: member.assignment.clone(),
        }
    }
}
