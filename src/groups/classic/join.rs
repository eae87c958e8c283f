//! The rules of JoinGroup (`GroupMetadataManager.classicGroupJoin`).

use crate::base::ErrorCode;
use crate::coordinator::Ticket;
use crate::groups::classic::group::State;
use crate::groups::classic::member::Member;
use crate::groups::classic::rebalance::Turn;
use crate::groups::command::Join;
use crate::groups::command::Joined;
use crate::groups::machine::Timer;
use crate::groups::settings::NEW_MEMBER_JOIN_TIMEOUT_MS;
use bytes::Bytes;
use std::sync::Arc;

impl Turn<'_> {
    /// Answers the join or lets it wait for the rebalance.
    pub(crate) fn join(&mut self, ticket: Ticket, request: &Join) {
        if !self.has_room_for(&request.member_id) {
            // A member that is one too many goes, so that the others need not wait for it.
            self.remove(&request.member_id, ErrorCode::GroupMaxSizeReached);
            self.group.pending_joins.remove(&request.member_id);
            self.answer_join(ticket, Joined::error(ErrorCode::GroupMaxSizeReached, Arc::from("")));
            self.complete_join_if_ready();
        } else if !self.group.supports(&request.protocol_type, &request.protocols) {
            let error = Joined::error(ErrorCode::InconsistentGroupProtocol, request.member_id.clone());
            self.answer_join(ticket, error);
        } else if request.member_id.is_empty() {
            self.join_new(ticket, request);
        } else {
            self.join_known(ticket, request);
        }
    }

    /// While members are joining those that have joined count, so that the last ones of a group that is too
    /// large are turned away; later all members count.
    fn has_room_for(&self, member_id: &str) -> bool {
        let member = self.group.member(member_id);
        match self.group.state {
            State::Empty => true,
            State::PreparingRebalance => {
                member.is_some_and(|member| member.join.is_some())
                    || self.group.joining() < self.settings.group_size_max
            }
            State::CompletingRebalance | State::Stable => {
                member.is_some() || self.group.size() < self.settings.group_size_max
            }
        }
    }

    fn join_new(&mut self, ticket: Ticket, request: &Join) {
        let member_id = request.new_member_id.clone();
        match &request.instance_id {
            Some(instance_id) => match self.group.static_member(instance_id).cloned() {
                Some(holder) => self.replace_static(ticket, request, &holder),
                None => self.add(ticket, request, member_id),
            },
            None if request.requires_known_member_id => {
                let timer = Timer::Session(self.group.id.clone(), member_id.clone());
                self.set_timer(timer, request.session_timeout_ms);
                self.group.pending_joins.insert(member_id.clone());
                self.answer_join(ticket, Joined::error(ErrorCode::MemberIdRequired, member_id));
            }
            None => self.add(ticket, request, member_id),
        }
    }

    fn add(&mut self, ticket: Ticket, request: &Join, member_id: Arc<str>) {
        if self.group.size() == 0 {
            self.group.protocol_type = Some(request.protocol_type.clone());
            self.group.leader = None;
        }
        if let Some(initial) = &mut self.group.initial {
            initial.extend = true;
        }
        self.group.put(Member {
            id: member_id.clone(),
            instance_id: request.instance_id.clone(),
            client_id: request.client_id.clone(),
            client_host: request.client_host.clone(),
            rebalance_timeout_ms: request.rebalance_timeout_ms,
            session_timeout_ms: request.session_timeout_ms,
            protocols: request.protocols.clone().into(),
            assignment: Bytes::new(),
            is_new: true,
            join: Some(ticket),
            sync: None,
        });
        let timer = Timer::Session(self.group.id.clone(), member_id);
        self.set_timer(timer, NEW_MEMBER_JOIN_TIMEOUT_MS);
        self.rebalance_or_complete_join("a member joins");
    }

    fn join_known(&mut self, ticket: Ticket, request: &Join) {
        let member_id = &request.member_id;
        if self.group.pending_joins.contains(member_id) && request.instance_id.is_none() {
            return self.add(ticket, request, member_id.clone());
        }
        if let Err(error) = self.group.validate_member(member_id, request.instance_id.as_deref()) {
            return self.answer_join(ticket, Joined::error(error, member_id.clone()));
        }
        let unchanged =
            self.group.member(member_id).is_some_and(|member| *member.protocols == *request.protocols);
        match self.group.state {
            State::Empty => {
                let error = Joined::error(ErrorCode::UnknownMemberId, member_id.clone());
                self.answer_join(ticket, error);
            }
            State::PreparingRebalance => self.update_and_rebalance(ticket, request),
            // The member may have missed the answer of its first join.
            State::CompletingRebalance if unchanged => {
                let joined = self.joined(member_id);
                self.answer_join(ticket, joined);
            }
            // A leader comes back to have partitions assigned anew; a follower without news does not.
            State::Stable if unchanged && !self.group.is_leader(member_id) => {
                let joined = self.joined(member_id);
                self.answer_join(ticket, joined);
            }
            State::CompletingRebalance | State::Stable => self.update_and_rebalance(ticket, request),
        }
    }

    fn update_and_rebalance(&mut self, ticket: Ticket, request: &Join) {
        self.update(ticket, request, &request.member_id);
        self.rebalance_or_complete_join("a member joins again");
    }

    /// Takes over the request's properties and lets the member wait. An earlier join of the same member, whose
    /// client has given up on it, is answered first.
    fn update(&mut self, ticket: Ticket, request: &Join, member_id: &Arc<str>) {
        let mut earlier = None;
        self.group.update(member_id, |member| {
            earlier = member.join.replace(ticket);
            member.protocols = request.protocols.clone().into();
            member.rebalance_timeout_ms = request.rebalance_timeout_ms;
            member.session_timeout_ms = request.session_timeout_ms;
            member.client_id = request.client_id.clone();
            member.client_host = request.client_host.clone();
        });
        if let Some(earlier) = earlier {
            let error = Joined::error(ErrorCode::RebalanceInProgress, member_id.clone());
            self.answer_join(earlier, error);
        }
    }

    /// A static member has restarted: it takes its predecessor's place under a new id (KIP-345). In a stable
    /// group with the same protocol nobody else notices.
    fn replace_static(&mut self, ticket: Ticket, request: &Join, old_id: &Arc<str>) {
        let new_id = request.new_member_id.clone();
        let was_leader = self.group.is_leader(old_id);
        let leader_before = self.group.leader.clone();
        let sync_is_pending = self.group.pending_syncs.contains(old_id);
        let Some(old) = self.remove(old_id, ErrorCode::FencedInstanceId) else { return };
        tracing::info!(group = %self.group.id, old = %old_id, new = %new_id, "static member is replaced");
        self.group.put(Member { id: new_id.clone(), join: None, sync: None, ..old });
        if was_leader {
            self.group.leader = Some(new_id.clone());
        }
        if sync_is_pending {
            self.group.pending_syncs.insert(new_id.clone());
        }
        self.update(ticket, request, &new_id);
        self.renew_session(&new_id);
        match self.group.state {
            State::Stable if self.group.select_protocol() == self.group.protocol => {
                self.group.update(&new_id, |member| member.join = None);
                self.group.stored = true;
                self.outcome.records.push(self.group.to_record());
                let joined = self.rejoined_quietly(&new_id, request, leader_before);
                self.answer_join(ticket, joined);
            }
            // The leader may be assigning to the old id at this moment.
            State::Stable | State::CompletingRebalance => self.prepare_rebalance("a static member came back"),
            State::PreparingRebalance | State::Empty => self.complete_join_if_ready(),
        }
    }

    /// A client that cannot skip the assignment is told the leader's former id, so that a returning leader
    /// takes itself for a follower and does not assign (KIP-814 made that explicit).
    fn rejoined_quietly(&self, id: &Arc<str>, request: &Join, leader_before: Option<Arc<str>>) -> Joined {
        let mut joined = self.joined(id);
        if request.skips_assignment {
            joined.skip_assignment = self.group.is_leader(id);
        } else {
            joined.leader = leader_before.unwrap_or_else(|| Arc::from(""));
            joined.members = Vec::new();
        }
        joined
    }
}
