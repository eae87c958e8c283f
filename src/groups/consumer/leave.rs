//! How members leave consumer groups: by their own will, by an administrator's, or by silence
//! (`GroupMetadataManager.consumerGroupLeave` and `consumerGroupFenceMembers`).

use crate::base::Timestamp;
use crate::coordinator::Outcome;
use crate::groups::consumer::command::Beaten;
use crate::groups::consumer::command::Fault;
use crate::groups::consumer::command::Heartbeat;
use crate::groups::consumer::member::LEFT_STATIC;
use crate::groups::consumer::member::Member;
use crate::groups::consumer::record::Fact;
use crate::groups::consumer::record::Owned;
use crate::groups::consumer::record::TargetEpochValue;
use crate::groups::consumer::subscription;
use crate::groups::consumer::turn::Turn;
use crate::groups::machine::Groups;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What became of the group when members have left.
pub(crate) enum Rest<'a> {
    /// It is still a consumer group.
    Same(Turn<'a>),
    /// Only classic members were left, so it is a classic group now.
    Classic(Outcome<Groups>),
}

impl<'a> Turn<'a> {
    /// A member leaves, for good or, as a static one, for a while.
    pub(crate) fn leave(mut self, request: &Heartbeat) -> Result<(Rest<'a>, Beaten), Fault> {
        let beaten = Beaten {
            member_id: request.member_id.clone(),
            epoch: request.epoch,
            interval_ms: 0,
            assignment: None,
        };
        let member = match &request.instance_id {
            None => {
                let member = self.group.member(&request.member_id).cloned();
                member.ok_or_else(|| Fault::unknown_member(&self.group.id, &request.member_id))?
            }
            Some(instance_id) => {
                let holder = self.group.static_member(instance_id).cloned();
                self.known_static_member(holder, &request.member_id, instance_id)?
            }
        };
        if request.instance_id.is_some() && request.epoch == LEFT_STATIC {
            tracing::info!(group = %self.group.id, member = %member.id, "static member leaves for a while");
            self.leave_for_a_while(&member);
            return Ok((Rest::Same(self), beaten));
        }
        tracing::info!(group = %self.group.id, member = %member.id, "member leaves the consumer group");
        Ok((self.fence(&BTreeSet::from([member.id.clone()])), beaten))
    }

    /// Keeps the member's place until its session ends. What it has was given out at no epoch: its commits are late.
    fn leave_for_a_while(&mut self, member: &Member) {
        let forget = |partitions: &std::collections::BTreeMap<i32, i32>| {
            partitions.keys().map(|partition| (*partition, 0)).collect()
        };
        let assigned: Owned =
            member.assigned.iter().map(|(topic, partitions)| (*topic, forget(partitions))).collect();
        self.push_current(&Member {
            epoch: LEFT_STATIC,
            assigned: Arc::new(assigned),
            pending_revocation: Arc::default(),
            ..member.clone()
        });
    }

    /// Takes members out, and lets the others share what they had.
    pub(crate) fn fence(mut self, members: &BTreeSet<Arc<str>>) -> Rest<'a> {
        if members.is_empty() {
            return Rest::Same(self);
        }
        if self.may_downgrade(members) {
            return Rest::Classic(
                self.downgrade(members, Some("the last member of the newer protocol leaves")),
            );
        }
        let patterns: BTreeSet<Arc<str>> =
            members.iter().filter_map(|id| self.group.member(id)?.pattern().cloned()).collect();
        for id in members {
            self.cancel_timers(id);
            self.remove(id);
        }
        for pattern in patterns {
            if self.group.pattern_members(&pattern) == 0 {
                self.push(Fact::Pattern(pattern, None));
            }
        }
        self.bump(subscription::metadata_hash(&self.group, self.world.image));
        if self.group.size() == 0 {
            // Who comes next does not wait for the time between two assignments.
            let epoch = self.group.epoch;
            self.push(Fact::TargetEpoch(Some(TargetEpochValue { epoch, made: Timestamp(0) })));
        }
        Rest::Same(self)
    }
}
