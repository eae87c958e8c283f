//! One command's work on a draft of a consumer group. Nothing of it counts before [`Turn::finish`].

use crate::cluster::Image;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::TimerChange;
use crate::groups::assign::Assignor;
use crate::groups::assign::Partitions;
use crate::groups::consumer::command::Fault;
use crate::groups::consumer::group::Group;
use crate::groups::consumer::limits;
use crate::groups::consumer::member::Member;
use crate::groups::consumer::member::MemberState;
use crate::groups::consumer::reconcile;
use crate::groups::consumer::reconcile::Aim;
use crate::groups::consumer::record::EpochValue;
use crate::groups::consumer::record::Fact;
use crate::groups::consumer::record::Record;
use crate::groups::consumer::record::TargetEpochValue;
use crate::groups::consumer::subscription;
use crate::groups::consumer::target;
use crate::groups::machine::Change;
use crate::groups::machine::Groups;
use crate::groups::machine::Timer;
use crate::groups::record;
use crate::groups::settings::Settings;
use std::sync::Arc;
use std::time::Duration;

/// What the rules know beside the group.
#[derive(Clone, Copy)]
pub(crate) struct World<'a> {
    pub(crate) settings: &'a Settings,
    /// The topics, and the settings of groups.
    pub(crate) image: &'a Image,
    /// The end of the metadata log when topics were created last.
    pub(crate) new_topics_at: i64,
    pub(crate) now: Now,
}

/// A draft with what follows from it.
pub(crate) struct Turn<'a> {
    pub(crate) world: World<'a>,
    pub(crate) group: Arc<Group>,
    pub(crate) outcome: Outcome<Groups>,
    /// Something changed that no record tells.
    touched: bool,
    /// The assignor that the request asks for and nobody did before.
    pub(crate) newcomer: Option<Arc<str>>,
}

impl<'a> Turn<'a> {
    pub(crate) fn new(world: World<'a>, group: Arc<Group>) -> Turn<'a> {
        Turn { world, group, outcome: Outcome::nothing(), touched: false, newcomer: None }
    }

    /// The outcome, with the draft where records do not tell all of it.
    pub(crate) fn finish(mut self) -> Outcome<Groups> {
        if self.touched {
            self.outcome.changes.push(Change::put(Arc::unwrap_or_clone(self.group)));
        }
        self.outcome
    }

    /// Writes a fact, and lets the draft follow it.
    pub(crate) fn push(&mut self, fact: Fact) {
        let record = Record { group: self.group.id.clone(), fact };
        Arc::make_mut(&mut self.group).apply(&record);
        self.outcome.records.push(record::Record::Consumer(record));
    }

    /// Changes what the log does not keep.
    pub(crate) fn touch(&mut self, change: impl FnOnce(&mut Group)) {
        change(Arc::make_mut(&mut self.group));
        self.touched = true;
    }

    pub(crate) fn push_member(&mut self, member: &Member) {
        self.push(Fact::Member(member.id.clone(), Some(Box::new(member.to_value()))));
    }

    pub(crate) fn push_current(&mut self, member: &Member) {
        self.push(Fact::Current(member.id.clone(), Some(Box::new(member.to_current()))));
    }

    /// Deletes all that the log has of a member.
    pub(crate) fn remove(&mut self, member_id: &Arc<str>) {
        self.push(Fact::Current(member_id.clone(), None));
        self.push(Fact::Target(member_id.clone(), None));
        self.push(Fact::Member(member_id.clone(), None));
        if self.group.volatile.awaited.contains(member_id) {
            self.touch(|group| group.volatile.awaited.retain(|id| id != member_id));
        }
    }

    pub(crate) fn set_timer(&mut self, timer: Timer, after_ms: i32) {
        let after = Duration::from_millis(u64::try_from(after_ms).unwrap_or(0));
        self.outcome.timers.push(TimerChange::Set(timer, after));
    }

    /// Expects the next sign of life of a member of the newer protocol.
    pub(crate) fn renew_session(&mut self, member_id: &Arc<str>) {
        let timeout_ms = limits::session_timeout_ms(self.world, &self.group.id);
        self.set_timer(Timer::Session(self.group.id.clone(), member_id.clone()), timeout_ms);
    }

    pub(crate) fn cancel_timers(&mut self, member_id: &Arc<str>) {
        let (group, member) = (&self.group.id, member_id);
        let timers = [Timer::Session, Timer::Rebalance, Timer::ConsumerJoin, Timer::ConsumerSync];
        let cancels = timers.map(|timer| TimerChange::Cancel(timer(group.clone(), member.clone())));
        self.outcome.timers.extend(cancels);
    }

    /// Looks at the metadata of the subscribed topics, when somebody's subscription has changed or the metadata may
    /// have; a new group epoch asks for a new assignment.
    pub(crate) fn refresh(&mut self, bump: bool) {
        if !bump && !self.group.needs_refresh() {
            return;
        }
        let metadata_hash = subscription::metadata_hash(&self.group, self.world.image);
        if bump || metadata_hash != self.group.metadata_hash {
            self.bump(metadata_hash);
        }
        let epoch = self.group.epoch;
        self.touch(|group| group.volatile.refreshed = Some(epoch));
        if self.group.has_old_metadata {
            self.push(Fact::OldMetadata(false));
        }
    }

    pub(crate) fn bump(&mut self, metadata_hash: i64) {
        let epoch = self.group.epoch.saturating_add(1);
        tracing::debug!(group = %self.group.id, epoch, "group epoch grows");
        self.push(Fact::Epoch(Some(EpochValue { epoch, metadata_hash })));
    }

    /// The assignor that the group uses.
    pub(crate) fn assignor(&self) -> Assignor {
        let preferred =
            self.group.preferred_assignor(self.newcomer.as_deref()).and_then(|name| Assignor::named(name));
        preferred.unwrap_or_else(|| self.world.settings.default_assignor())
    }

    /// Makes a new target assignment when the group epoch has grown, but not too soon after the one before
    /// (KIP-1263).
    pub(crate) fn assign(&mut self) {
        if self.group.target_epoch >= self.group.epoch {
            return;
        }
        let interval_ms = i64::from(limits::assignment_interval_ms(self.world, &self.group.id));
        let now = self.world.now.0;
        let made = self.group.target_made.0;
        if made != 0 && interval_ms != 0 && now.0 < made.saturating_add(interval_ms) {
            return;
        }
        let assignor = self.assignor();
        let mut assignment = target::assignment(&self.group, self.world.image, assignor);
        let ids: Vec<Arc<str>> = self.group.members().map(|member| member.id.clone()).collect();
        for id in ids {
            let target = assignment.remove(&id).unwrap_or_default();
            if self.group.known_target(&id).is_none_or(|before| **before != target) {
                self.push(Fact::Target(id, Some(target)));
            }
        }
        let epoch = self.group.epoch;
        self.push(Fact::TargetEpoch(Some(TargetEpochValue { epoch, made: now })));
        tracing::info!(
            group = %self.group.id, epoch, assignor = assignor.name(), members = self.group.size(),
            "new target assignment"
        );
    }

    /// Lets a member take a step towards the target.
    ///
    /// # Errors
    /// See [`reconcile::step`].
    pub(crate) fn reconcile(
        &mut self,
        member_id: &Arc<str>,
        subscription_changed: bool,
        owned: Option<&Partitions>,
    ) -> Result<(), Fault> {
        let Some(member) = self.group.member(member_id) else { return Ok(()) };
        let epoch = self.group.target_epoch;
        if !subscription_changed && member.is_reconciled_to(epoch) {
            return Ok(());
        }
        let target = self.group.target(member_id);
        let subscribed = subscription::topics_of(&self.group, member, self.world.image);
        let aim = Aim { epoch, target: &target, subscribed: &subscribed, subscription_changed, owned };
        let is_free = |topic, partition| self.group.owner_epoch(topic, partition).is_none();
        let next = reconcile::step(member, &aim, is_free)?;
        if next == *member {
            return Ok(());
        }
        self.push_current(&next);
        if !next.is_classic() {
            let timer = Timer::Rebalance(self.group.id.clone(), member_id.clone());
            if next.state == MemberState::UnrevokedPartitions {
                self.set_timer(timer, next.rebalance_timeout_ms);
            } else {
                self.outcome.timers.push(TimerChange::Cancel(timer));
            }
        }
        Ok(())
    }
}
