//! One step of a member towards what it is to have (`CurrentAssignmentBuilder` in Kafka).
//!
//! ```text
//!                      has something to give up
//!   Stable  ------------------------------------------->  UnrevokedPartitions   (keeps its epoch)
//!     ^  \                                                     |
//!     |   \  something is not free yet                         | no longer owns it
//!     |    \------------->  UnreleasedPartitions  <------------+
//!     |                           |    (has the target's epoch)|
//!     +---------------------------+----------------------------+
//!                    everything is there
//! ```
//! Partitions are given up before the epoch grows, and handed out only when nobody has them: so that no partition has
//! two owners.

use crate::base::TopicId;
use crate::groups::assign::Partitions;
use crate::groups::consumer::command::Fault;
use crate::groups::consumer::member::Member;
use crate::groups::consumer::member::MemberState;
use crate::groups::consumer::record::Owned;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a step depends on beside the member.
pub(crate) struct Aim<'a> {
    /// The epoch of the target assignment.
    pub(crate) epoch: i32,
    /// What the member is to have.
    pub(crate) target: &'a Partitions,
    /// The topics that the member subscribes to now.
    pub(crate) subscribed: &'a BTreeSet<TopicId>,
    /// The member has just changed its subscription.
    pub(crate) subscription_changed: bool,
    /// What the member says it has; `None` when it does not say.
    pub(crate) owned: Option<&'a Partitions>,
}

/// The member after the step; the same when it cannot get on.
///
/// # Errors
/// FENCED_MEMBER_EPOCH when its state is one of a later Kafka and it has not given up everything.
pub(crate) fn step(
    member: &Member,
    aim: &Aim<'_>,
    is_free: impl Fn(TopicId, i32) -> bool,
) -> Result<Member, Fault> {
    match member.state {
        MemberState::Stable if member.epoch != aim.epoch => Ok(next(member, member.epoch, aim, is_free)),
        MemberState::UnrevokedPartitions if !still_owns(aim.owned, &member.pending_revocation) => {
            Ok(next(member, member.epoch, aim, is_free))
        }
        MemberState::Stable | MemberState::UnrevokedPartitions if aim.subscription_changed => {
            Ok(without_unsubscribed(member, aim))
        }
        MemberState::Stable | MemberState::UnrevokedPartitions => Ok(member.clone()),
        MemberState::UnreleasedPartitions => Ok(next(member, member.epoch, aim, is_free)),
        MemberState::Unknown if aim.owned.is_some_and(BTreeMap::is_empty) => {
            Ok(next(member, aim.epoch, aim, is_free))
        }
        MemberState::Unknown => Err(Fault::fenced(
            "The consumer group member is in a unknown state. The member must abandon all its partitions and rejoin.",
        )),
    }
}

/// Whether the member has any of these, or does not say.
fn still_owns(owned: Option<&Partitions>, revoked: &Owned) -> bool {
    let Some(owned) = owned else { return true };
    owned.iter().any(|(topic, partitions)| {
        revoked.get(topic).is_some_and(|revoked| partitions.iter().any(|one| revoked.contains_key(one)))
    })
}

/// Takes partitions of topics that the member no longer subscribes to, without waiting for a new target.
fn without_unsubscribed(member: &Member, aim: &Aim<'_>) -> Member {
    let mut assigned = Owned::new();
    let mut revoked = (*member.pending_revocation).clone();
    for (topic, partitions) in member.assigned.iter() {
        if aim.subscribed.contains(topic) {
            assigned.insert(*topic, partitions.clone());
        } else {
            revoked.entry(*topic).or_default().extend(partitions);
        }
    }
    if assigned == *member.assigned {
        return member.clone();
    }
    let mut next = member.clone();
    next.enter(member.epoch);
    next.assigned = Arc::new(assigned);
    if still_owns(aim.owned, &revoked) {
        next.state = MemberState::UnrevokedPartitions;
        next.pending_revocation = Arc::new(revoked);
    }
    next
}

fn next(member: &Member, epoch: i32, aim: &Aim<'_>, is_free: impl Fn(TopicId, i32) -> bool) -> Member {
    let mut kept = Owned::new();
    let mut revoked = Owned::new();
    for (topic, partitions) in member.assigned.iter() {
        let target = aim.target.get(topic).filter(|_| aim.subscribed.contains(topic));
        for (partition, since) in partitions {
            let stays = target.is_some_and(|target| target.contains(partition));
            let side = if stays { &mut kept } else { &mut revoked };
            side.entry(*topic).or_default().insert(*partition, *since);
        }
    }
    let mut member = member.clone();
    if !revoked.is_empty() && still_owns(aim.owned, &revoked) {
        member.state = MemberState::UnrevokedPartitions;
        member.enter(epoch);
        member.assigned = Arc::new(kept);
        member.pending_revocation = Arc::new(revoked);
        return member;
    }
    let mut waits = false;
    for (topic, target) in aim.target.iter().filter(|(topic, _)| aim.subscribed.contains(topic)) {
        for partition in target {
            if kept.get(topic).is_some_and(|kept| kept.contains_key(partition)) {
                continue;
            }
            // What it is giving up itself is nobody else's.
            let own = member.pending_revocation.get(topic).is_some_and(|own| own.contains_key(partition));
            if own || is_free(*topic, *partition) {
                kept.entry(*topic).or_default().insert(*partition, aim.epoch);
            } else {
                waits = true;
            }
        }
    }
    member.state = if waits { MemberState::UnreleasedPartitions } else { MemberState::Stable };
    member.enter(aim.epoch);
    member.assigned = Arc::new(kept);
    member.pending_revocation = Arc::default();
    member
}

#[cfg(test)]
mod tests;
