//! The handle by which records of share groups are fetched and acknowledged.

use crate::base::ErrorCode;
use crate::base::Instant;
use crate::cluster::ControllerClient;
use crate::cluster::Publisher;
use crate::cluster::controller::features::SHARE_VERSION;
use crate::config::ServerConfig;
use crate::coordinator::timer::Timers;
use crate::io::Clock;
use crate::replica::Replicas;
use crate::share::Acknowledgement;
use crate::share::Failure;
use crate::share::GroupRules;
use crate::share::Key;
use crate::share::jobs::Jobs;
use crate::share::live;
use crate::share::live::Live;
use crate::share::load::Loads;
use crate::share::partition::Change;
use crate::share::partition::Dead;
use crate::share::rules::Defaults;
use crate::share::sessions::Member;
use crate::share::sessions::Place;
use crate::share::sessions::Sessions;
use crate::share::slots::Slots;
use crate::share::state;
use crate::share::state::settings::number;
use parking_lot::Mutex;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::oneshot;

/// How often a write is tried that the share coordinator cannot take now (`PersisterStateManager`), and the pause
/// between, which doubles.
const WRITE_ATTEMPTS: u32 = 6;
const WRITE_PAUSE: Duration = Duration::from_millis(100);

/// Cheap to clone.
#[derive(Clone)]
pub struct Service {
    pub(super) shared: Arc<Shared>,
}

/// See [`Service`].
pub(super) struct Shared {
    pub(super) clock: Clock,
    pub(super) publisher: Publisher,
    pub(super) controller: ControllerClient,
    pub(super) config: Arc<ServerConfig>,
    pub(super) replicas: Arc<Replicas>,
    states: state::Service,
    sessions: Sessions,
    defaults: Defaults,
    pub(super) slots: Arc<Slots<Live>>,
    pub(super) loads: Mutex<Loads>,
    pub(super) jobs: Jobs,
    pub(super) locks: Mutex<Timers<Key>>,
    pub(super) locks_changed: Notify,
}

impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partitions = self.shared.slots.count();
        f.debug_struct("Service").field("partitions", &partitions).finish_non_exhaustive()
    }
}

/// Somebody acknowledges what was never given out here.
const NOT_HERE: Failure =
    Failure::new(ErrorCode::UnknownTopicOrPartition, "This server does not host this topic-partition.");
/// Somebody acknowledges to a broker that no longer leads.
const NOT_LED: Failure =
    Failure::new(ErrorCode::NotLeaderOrFollower, "This server is not the leader of the partition.");

impl Service {
    /// A service that has loaded nothing yet.
    pub fn new(
        config: Arc<ServerConfig>,
        publisher: Publisher,
        controller: ControllerClient,
        (replicas, clock): (Arc<Replicas>, Clock),
    ) -> Service {
        let states = state::Service::new(&config, publisher.clone(), controller.clone(), clock.clone());
        Service {
            shared: Arc::new(Shared {
                clock,
                publisher,
                controller,
                replicas,
                states,
                sessions: Sessions::new(number(&config, "group.share.max.share.sessions")),
                defaults: Defaults::of(&config),
                config,
                slots: Slots::new(),
                loads: Mutex::default(),
                jobs: Jobs::default(),
                locks: Mutex::new(Timers::new()),
                locks_changed: Notify::new(),
            }),
        }
    }

    /// The share coordinator.
    pub fn states(&self) -> &state::Service {
        &self.shared.states
    }

    /// The share sessions.
    pub fn sessions(&self) -> &Sessions {
        &self.shared.sessions
    }

    /// Whether the cluster has share groups.
    pub fn is_enabled(&self) -> bool {
        self.shared.publisher.current().features().get(SHARE_VERSION).is_some_and(|level| *level >= 1)
    }

    /// A group's settings as they are now.
    pub fn rules(&self, group: &str) -> GroupRules {
        GroupRules::of(self.shared.defaults, &self.shared.publisher.current(), group)
    }

    /// Takes what a member says of its records of one partition. Answered when it is kept.
    ///
    /// # Errors
    /// Kafka's codes of ShareAcknowledge for a partition; then nothing has changed.
    pub async fn acknowledge(
        &self,
        member: &Member,
        place: Place,
        said: &[Acknowledgement],
    ) -> Result<(), Failure> {
        let key = Key { group: Arc::clone(&member.group), topic: place.0, partition: place.1 };
        let live = self.shared.loaded(&key).ok_or(NOT_HERE)?;
        if !live.is_led() {
            self.shared.forget(&live);
            return Err(NOT_LED);
        }
        let rules = self.rules(&key.group);
        let now = self.shared.clock.now();
        let lock = now.plus(rules.lock_duration);
        let change = live.with(|memory| memory.acknowledge(&member.id, said, (now, lock), &rules.rules))?;
        self.shared.note_locks(&live);
        if change.is_empty() {
            return Ok(());
        }
        let kept = self.keep(live, change);
        kept.await.unwrap_or_else(|_| Err(ErrorCode::CoordinatorNotAvailable.into()))
    }

    /// Ends a member's session and releases all that it holds.
    pub fn close(&self, member: &Member) {
        if let Some(places) = self.shared.sessions.close(member) {
            self.release(member, places);
        }
    }

    /// A connection has gone, on which this member had its session.
    pub(crate) fn departed(&self, member: &Member, connection: u64) {
        if let Some(places) = self.shared.sessions.close_of(member, connection) {
            tracing::debug!(group = %member.group, member = %member.id, "a member's connection has gone");
            self.release(member, places);
        }
    }

    fn release(&self, member: &Member, places: Vec<Place>) {
        for (topic, partition) in places {
            let key = Key { group: Arc::clone(&member.group), topic, partition };
            let Some(live) = self.shared.loaded(&key) else { continue };
            let rules = self.rules(&key.group);
            let change = live.with(|memory| memory.release(&member.id, &rules.rules));
            if !change.is_empty() {
                drop(self.keep(live, change));
            }
        }
    }

    /// Forgets what is in memory of a group: its state was changed by other means.
    pub fn forget_group(&self, group: &str) {
        self.shared.slots.forget_all(|key| *key.group == *group);
    }

    /// Has work done that goes on when nobody waits for it.
    pub(crate) fn in_background(&self, job: impl Future<Output = ()> + Send + 'static) {
        self.shared.jobs.push(job);
    }

    /// Has pieces of work done at the same time; their results in order. COORDINATOR_NOT_AVAILABLE when the broker stops.
    pub(crate) async fn together<T: Send + 'static, F>(
        &self,
        pieces: impl Iterator<Item = F>,
    ) -> Vec<Result<T, Failure>>
    where
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let mut results = Vec::new();
        let mut waiting = Vec::new();
        for piece in pieces {
            let (tell, told) = oneshot::channel();
            self.in_background(async move {
                let _who_asked_may_be_gone = tell.send(piece.await);
            });
            waiting.push(told);
        }
        for told in waiting {
            results.push(told.await.unwrap_or_else(|_| Err(ErrorCode::CoordinatorNotAvailable.into())));
        }
        results
    }

    /// Ends the locks of a share-partition whose time is up.
    pub(super) fn expire(&self, key: &Key) {
        let Some(live) = self.shared.loaded(key) else { return };
        let rules = self.rules(&key.group);
        let now = self.shared.clock.now();
        let change = live.with(|memory| memory.expire(now, &rules.rules));
        self.shared.note_locks(&live);
        if !change.is_empty() {
            tracing::debug!(%key, batches = change.batches.len(), "locks of records have ended");
            live.wake();
            drop(self.keep(live, change));
        }
    }

    /// Forgets share-partitions of groups that have no member here, as far as nothing is under way.
    pub(super) fn sweep(&self) {
        let sessions = &self.shared.sessions;
        self.shared.slots.sweep(|key, live| sessions.has_group(&key.group) || !live.is_quiet());
    }

    /// Has a change written, whatever becomes of who asked for it. Tells when it is kept or cannot be.
    fn keep(&self, live: Arc<Live>, change: Change) -> oneshot::Receiver<Result<(), Failure>> {
        let (tell, told) = oneshot::channel();
        let service = self.clone();
        self.shared.jobs.push(async move {
            let result = service.write(&live, change).await;
            let _who_asked_may_be_gone = tell.send(result);
        });
        told
    }

    /// Writes a change and settles it.
    async fn write(&self, live: &Arc<Live>, change: Change) -> Result<(), Failure> {
        let result = self.shared.write_patiently(live, &change).await;
        let rules = self.rules(&live.key.group);
        let now = self.shared.clock.now();
        live.with(|memory| memory.settle(&change, result.is_ok(), now, &rules.rules));
        self.shared.note_locks(live);
        match result {
            Ok(()) => change.dead.iter().for_each(|dead| self.bury(live, *dead)),
            Err(failure) => {
                tracing::warn!(key = %live.key, code = %failure.code, "share state is not written");
                if failure.fences() {
                    self.shared.forget(live);
                } else {
                    let dead = change.dead.iter();
                    let given_up = dead.flat_map(|dead| live.with(|memory| memory.given_up(*dead)));
                    given_up.for_each(|dead| self.bury(live, dead));
                }
            }
        }
        live.wake();
        result
    }

    /// Has records written to the dead-letter topic, and given up then.
    pub(super) fn bury(&self, live: &Arc<Live>, dead: Dead) {
        let (service, live) = (self.clone(), Arc::clone(live));
        self.shared.jobs.push(async move {
            if let Err(failure) = service.write_dead_letters(&live, dead).await {
                tracing::error!(
                    key = %live.key,
                    first = dead.first,
                    end = dead.end,
                    %failure,
                    "records are given up without a dead letter"
                );
            }
            let change = live.with(|memory| memory.bury(dead.first, dead.end));
            if !change.is_empty() {
                // Who is told is the log only.
                let _told = service.write(&live, change).await;
            }
        });
    }
}

impl Shared {
    pub(super) fn loaded(&self, key: &Key) -> Option<Arc<Live>> {
        self.slots.get(key)
    }

    /// The share-partition is not this broker's any more, or must be read again.
    pub(super) fn forget(&self, live: &Arc<Live>) {
        if self.slots.forget(&live.key, live) {
            tracing::info!(key = %live.key, "share-partition is let go of");
        }
    }

    /// Sees to it that the locks of a share-partition end in time.
    pub(super) fn note_locks(&self, live: &Live) {
        let Some(next) = live.next_lock() else { return };
        let mut locks = self.locks.lock();
        let before: Option<Instant> = locks.next();
        locks.set(live.key.clone(), next);
        drop(locks);
        if before.is_none_or(|before| next < before) {
            self.locks_changed.notify_one();
        }
    }

    async fn write_patiently(&self, live: &Live, change: &Change) -> Result<(), Failure> {
        let mut pause = WRITE_PAUSE;
        for attempt in 1..=WRITE_ATTEMPTS {
            match self.states.write(live.to_write(change)).await {
                Err(failure) if attempt < WRITE_ATTEMPTS && may_pass(failure) => {
                    self.clock.sleep(pause).await;
                    pause = pause.saturating_mul(2);
                }
                result => return result.map_err(live::for_client),
            }
        }
        Err(ErrorCode::CoordinatorNotAvailable.into())
    }
}

/// Whether the share coordinator may take it a moment later.
pub(super) fn may_pass(failure: Failure) -> bool {
    matches!(
        failure.code,
        ErrorCode::NotCoordinator | ErrorCode::CoordinatorNotAvailable | ErrorCode::CoordinatorLoadInProgress
    )
}
