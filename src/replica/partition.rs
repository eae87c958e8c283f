//! A partition on this node: its role, its epochs and how far its records are replicated. Nothing else changes roles.

use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::TopicId;
use crate::base::TopicPartition;
use crate::cluster;
use crate::config::FlushAcks;
use crate::io::Clock;
use crate::log::Log;
use crate::metrics;
use crate::replica::error::Error;
use crate::replica::high_watermark;
use crate::replica::isr::Follower;
use crate::replica::isr::min_isr;
use crate::replica::waiters::Waitable;
use crate::replica::waiters::Waiters;
use parking_lot::Mutex;
use parking_lot::RwLock;
use parking_lot::RwLockReadGuard;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What all partitions of this node share.
#[derive(Debug)]
pub(crate) struct Shared {
    /// This node.
    pub(crate) node_id: BrokerId,
    /// Time.
    pub(crate) clock: Clock,
    /// When a write with acks=all is on stable storage before it counts (`log.flush.acks`).
    pub(crate) flush_acks: FlushAcks,
    /// How long a replica in sync may lag (`replica.lag.time.max.ms`).
    pub(crate) lag_max: Duration,
    /// The counts of topics.
    pub(crate) topics: metrics::Topics,
}

/// One partition that has a replica on this node.
#[derive(Debug)]
pub struct Partition {
    pub(super) name: TopicPartition,
    pub(super) topic_id: TopicId,
    pub(super) log: Arc<Log>,
    pub(super) shared: Arc<Shared>,
    role: RwLock<Role>,
    high_watermark: AtomicI64,
    waiters: Waiters,
    pub(super) traffic: Arc<metrics::Traffic>,
}

/// What this node is for the partition.
#[derive(Debug)]
enum Role {
    Leader(Leader),
    /// A follower in this epoch, or a partition that has no leader: it serves nobody.
    Follower {
        epoch: LeaderEpoch,
        partition_epoch: i32,
    },
    /// Its log lies in another directory, with all that was appended in this epoch.
    Moved {
        epoch: LeaderEpoch,
    },
    /// Deleted, or moved to another node.
    Gone,
}

/// What a leader knows.
#[derive(Debug)]
pub(super) struct Leader {
    pub(super) epoch: LeaderEpoch,
    /// The epoch since which this node leads without a break: what it appended then is still in the log.
    since: LeaderEpoch,
    partition_epoch: i32,
    /// Where the log ended when this epoch began.
    pub(super) epoch_start: Offset,
    /// The replicas in sync, this node included.
    isr: Vec<BrokerId>,
    /// All other replicas.
    followers: Mutex<Vec<Follower>>,
    /// How many replicas there are, this node included.
    replicas: usize,
}

impl Leader {
    /// Whether what this node appended in that epoch as the leader is as good as appended now
    /// (`Partition.checkEnoughReplicasReachOffset` asks for the leader alone).
    pub(super) fn has_led_since(&self, epoch: LeaderEpoch) -> bool {
        self.since <= epoch && epoch <= self.epoch
    }

    pub(super) fn isr_size(&self) -> usize {
        self.isr.len()
    }

    /// How many replicas must be in sync for acks=all.
    pub(super) fn min_isr(&self, log: &Log) -> usize {
        min_isr(log.config().min_insync_replicas, self.replicas)
    }
}

/// The role a partition was given, held so that it does not change meanwhile. Whoever holds it must not call what
/// takes the role again (`lead`, `high_watermark`): a role change that waits between the two would wait for ever.
pub(super) struct Led<'a> {
    guard: RwLockReadGuard<'a, Role>,
}

impl std::ops::Deref for Led<'_> {
    type Target = Leader;
    fn deref(&self) -> &Leader {
        match &*self.guard {
            Role::Leader(leader) => leader,
            Role::Follower { .. } | Role::Moved { .. } | Role::Gone => unreachable!("made for leaders only"),
        }
    }
}

impl Partition {
    /// A partition without a role yet; [`Partition::assume`] gives it one.
    pub(crate) fn new(log: Arc<Log>, shared: Arc<Shared>) -> Partition {
        let high_watermark = log.high_watermark().min(log.log_end_offset());
        let traffic = shared.topics.of(&log.partition().topic);
        Partition {
            name: log.partition().clone(),
            topic_id: log.topic_id(),
            log,
            shared,
            role: RwLock::new(Role::Follower { epoch: LeaderEpoch::NONE, partition_epoch: -1 }),
            high_watermark: AtomicI64::new(high_watermark.0),
            waiters: Waiters::default(),
            traffic,
        }
    }

    /// The counts of the partition's topic.
    pub fn traffic(&self) -> &metrics::Traffic {
        &self.traffic
    }

    /// What this node knows of the replicas; `None` when it does not lead.
    pub fn led(&self) -> Option<metrics::Led> {
        match &*self.role.read() {
            Role::Leader(leader) => Some(metrics::Led {
                replicas: leader.replicas,
                in_sync: leader.isr_size(),
                min_isr: leader.min_isr(&self.log),
            }),
            Role::Follower { .. } | Role::Moved { .. } | Role::Gone => None,
        }
    }

    /// The topic's name and the partition's number.
    pub fn name(&self) -> &TopicPartition {
        &self.name
    }

    /// The topic's id.
    pub fn topic_id(&self) -> TopicId {
        self.topic_id
    }

    /// The partition's log. For what is about files and sizes; what readers may see is decided by [`Partition::read`].
    pub fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Takes the role that the cluster agreed on; true when it changed. States older than the present one are
    /// ignored (`Partition.makeLeader`, `makeFollower`).
    ///
    /// # Errors
    /// When the log cannot begin the epoch.
    pub(crate) fn assume(&self, state: &cluster::Partition) -> Result<bool, Error> {
        let mut role = self.role.write();
        let (epoch, partition_epoch) = match &*role {
            Role::Leader(leader) => (leader.epoch, leader.partition_epoch),
            Role::Follower { epoch, partition_epoch } => (*epoch, *partition_epoch),
            Role::Moved { .. } | Role::Gone => return Ok(false),
        };
        if state.partition_epoch <= partition_epoch {
            return Ok(false);
        }
        if state.leader != self.shared.node_id {
            *role = Role::Follower { epoch: state.leader_epoch, partition_epoch: state.partition_epoch };
        } else if let Role::Leader(leader) = &mut *role
            && epoch == state.leader_epoch
        {
            leader.partition_epoch = state.partition_epoch;
            leader.isr.clone_from(&state.isr);
            leader.replicas = state.replicas.len();
            let known = std::mem::take(leader.followers.get_mut());
            *leader.followers.get_mut() = followers(state, self.shared.node_id, &known);
        } else {
            self.log.begin_epoch(state.leader_epoch)?;
            let since = if let Role::Leader(leader) = &*role { leader.since } else { state.leader_epoch };
            *role = Role::Leader(Leader {
                epoch: state.leader_epoch,
                since,
                partition_epoch: state.partition_epoch,
                epoch_start: self.log.log_end_offset(),
                isr: state.isr.clone(),
                followers: Mutex::new(followers(state, self.shared.node_id, &[])),
                replicas: state.replicas.len(),
            });
        }
        if let Role::Leader(leader) = &*role {
            self.advance(leader);
        }
        drop(role);
        self.waiters.wake();
        Ok(true)
    }

    /// The partition is no longer here: everybody who waits is told.
    pub(crate) fn leave(&self) {
        *self.role.write() = Role::Gone;
        self.waiters.wake();
    }

    /// The log lies in another directory, and nothing is appended here any more: everybody who waits is told, and what was
    /// appended counts.
    pub(crate) fn move_away(&self) {
        let mut role = self.role.write();
        if let Role::Leader(leader) = &*role {
            self.advance(leader);
            *role = Role::Moved { epoch: leader.epoch };
        } else {
            *role = Role::Gone;
        }
        drop(role);
        self.waiters.wake();
    }

    /// Whether the log moved to another directory in this epoch, with everything before `end` committed.
    pub(super) fn moved_with(&self, end: Offset, epoch: LeaderEpoch) -> bool {
        matches!(&*self.role.read(), Role::Moved { epoch: moved } if *moved == epoch)
            && self.high_watermark_now() >= end
    }

    /// The leader's view, when this node leads and the client's epoch is ours
    /// (`Partition.localLogWithEpochOrThrow`).
    pub(super) fn lead(&self, known: Option<LeaderEpoch>) -> Result<Led<'_>, Error> {
        self.confirm_end();
        let guard = self.role.read();
        let (leads, current) = match &*guard {
            Role::Leader(leader) => (true, leader.epoch),
            Role::Follower { epoch, .. } => (false, *epoch),
            Role::Moved { .. } | Role::Gone => return Err(Error::NotLeaderOrFollower),
        };
        if let Some(asked) = known {
            if asked < current {
                return Err(Error::FencedLeaderEpoch { asked, current });
            }
            if asked > current {
                return Err(Error::UnknownLeaderEpoch { asked, current });
            }
        }
        if leads { Ok(Led { guard }) } else { Err(Error::NotLeaderOrFollower) }
    }

    /// Has the log's end looked at once, before anybody is told of it ([`Log::confirm_end`]).
    pub(crate) fn confirm_end(&self) {
        self.log.confirm_end();
        // Read in this order, the end is never the lower one but for a log that ends before its checkpoint.
        let high_watermark = self.high_watermark_now();
        if high_watermark > self.log.log_end_offset() {
            self.lower_to_end();
        }
    }

    fn lower_to_end(&self) {
        let mut role = self.role.write();
        let end = self.log.log_end_offset();
        self.high_watermark.fetch_min(end.0, Ordering::AcqRel);
        if let Role::Leader(leader) = &mut *role {
            leader.epoch_start = leader.epoch_start.min(end);
        }
    }

    /// Moves the high watermark as far as the replicas' positions allow, and wakes who waits for it.
    pub(super) fn advance(&self, leader: &Leader) {
        let leader_end = self.log.log_end_offset();
        let current = self.high_watermark_now();
        if leader_end <= current {
            return;
        }
        let min_isr = leader.min_isr(&self.log);
        let moved = if leader.replicas <= 1 {
            high_watermark::advanced(current, leader_end, std::iter::empty(), leader.isr_size(), min_isr)
        } else {
            let now = self.shared.clock.now();
            let followers = leader.followers.lock();
            let counted = followers.iter().filter(|follower| {
                leader.isr.contains(&follower.id)
                    || follower.is_caught_up(leader_end, now, self.shared.lag_max)
            });
            let ends = counted.map(|follower| follower.end.unwrap_or(Offset::ZERO));
            high_watermark::advanced(current, leader_end, ends, leader.isr_size(), min_isr)
        };
        if let Some(moved) = moved {
            self.publish_high_watermark(moved);
        }
    }

    fn publish_high_watermark(&self, moved: Offset) {
        if self.high_watermark.fetch_max(moved.0, Ordering::AcqRel) >= moved.0 {
            return;
        }
        // Two threads may pass here in either order: whoever comes last leaves the larger number.
        loop {
            let latest = self.high_watermark_now();
            self.log.set_high_watermark(latest);
            if self.high_watermark_now() == latest {
                break;
            }
        }
        self.waiters.wake();
    }

    /// Records were written: moves the high watermark, and wakes the followers, who read beyond it.
    pub(super) fn grown(&self, leader: &Leader) {
        self.advance(leader);
        if leader.replicas > 1 {
            self.waiters.wake();
        }
    }

    /// Refuses those who are no followers of this partition (`Partition.followerReplicaOrThrow`).
    pub(super) fn check_follower(
        &self,
        leader: &Leader,
        follower: BrokerId,
        known: Option<LeaderEpoch>,
    ) -> Result<(), Error> {
        if leader.followers.lock().iter().any(|known| known.id == follower) {
            return Ok(());
        }
        Err(match known {
            Some(asked) => Error::UnknownLeaderEpoch { asked, current: leader.epoch },
            None => Error::NotLeaderOrFollower,
        })
    }

    /// A follower fetched from `end` on, while this log ended at `leader_end`.
    pub(super) fn note_follower(
        &self,
        leader: &Leader,
        follower: BrokerId,
        (end, start): (Offset, Option<Offset>),
        leader_end: Offset,
    ) {
        let now = self.shared.clock.now();
        let mut followers = leader.followers.lock();
        if let Some(follower) = followers.iter_mut().find(|known| known.id == follower) {
            follower.fetched(end, start, leader_end, now);
        }
        drop(followers);
        self.advance(leader);
    }

    /// The least start of all replicas' logs: what is deleted everywhere (`Partition.lowWatermarkIfLeader`).
    pub(super) fn low_watermark(&self, leader: &Leader) -> Offset {
        let own = self.log.log_start_offset();
        let followers = leader.followers.lock();
        followers.iter().map(|follower| follower.start.unwrap_or(Offset::ZERO)).fold(own, Offset::min)
    }

    /// The high watermark as it was last published; for callers that hold the role.
    pub(super) fn high_watermark_now(&self) -> Offset {
        Offset(self.high_watermark.load(Ordering::Acquire))
    }

    /// How far records are held by all replicas in sync (exclusive): what consumers may see.
    pub fn high_watermark(&self) -> Offset {
        // What the disk thread wrote counts from now on, also when its appender has gone away.
        if self.log.log_end_offset() > self.high_watermark_now()
            && let Role::Leader(leader) = &*self.role.read()
        {
            self.advance(leader);
        }
        self.high_watermark_now()
    }

    /// What an append waited for is written.
    pub(super) fn written(&self) {
        if let Role::Leader(leader) = &*self.role.read() {
            self.grown(leader);
        }
    }

    /// Where this node's log ends (exclusive).
    pub fn log_end_offset(&self) -> Offset {
        self.log.log_end_offset()
    }

    /// Where the log begins.
    pub fn log_start_offset(&self) -> Offset {
        self.log.log_start_offset()
    }

    /// Up to where all transactions have ended (exclusive): what committed readers may see.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn last_stable_offset(&self) -> Result<Offset, Error> {
        self.stable_below(self.high_watermark())
    }

    pub(super) fn stable_below(&self, high_watermark: Offset) -> Result<Offset, Error> {
        Ok(match self.log.first_unstable_offset()? {
            Some(unstable) => unstable.min(high_watermark),
            None => high_watermark,
        })
    }

    /// The epoch in force here, whoever leads.
    pub fn leader_epoch(&self) -> LeaderEpoch {
        match &*self.role.read() {
            Role::Leader(leader) => leader.epoch,
            Role::Follower { epoch, .. } | Role::Moved { epoch } => *epoch,
            Role::Gone => LeaderEpoch::NONE,
        }
    }

    /// Whether this node leads the partition.
    pub fn is_leader(&self) -> bool {
        matches!(&*self.role.read(), Role::Leader(_))
    }
}

impl Waitable for Partition {
    fn waiters(&self) -> &Waiters {
        &self.waiters
    }
}

/// The followers of a state, with what was known of them before.
fn followers(state: &cluster::Partition, node_id: BrokerId, known: &[Follower]) -> Vec<Follower> {
    let others = state.replicas.iter().filter(|replica| **replica != node_id);
    others
        .map(|id| {
            let before = known.iter().find(|follower| follower.id == *id);
            before.copied().unwrap_or_else(|| Follower::unknown(*id))
        })
        .collect()
}
