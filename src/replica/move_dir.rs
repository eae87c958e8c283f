//! Moves partitions between the log directories of this node (KIP-113): one at a time, behind what is served.
//!
//! Each move has the folder of its copy from the moment on that it is asked for, so that DescribeLogDirs shows it and a
//! restart goes on with it. The copy grows in the background. When it is nearly as long as the log, the task that follows
//! the images puts it in place of the log and opens the partition anew; the controller then begins a new leader epoch, by
//! which coordinators notice. Producers wait meanwhile at the log's door; readers are told to look for the leader again.

use crate::base::Instant;
use crate::base::TopicPartition;
use crate::cluster::ControllerClient;
use crate::cluster::Image;
use crate::cluster::Publisher;
use crate::cluster::command::AssignDirectory;
use crate::cluster::effective;
use crate::config::ServerConfig;
use crate::io::Clock;
use crate::io::task;
use crate::io::task::Shutdown;
use crate::io::task::Task;
use crate::log;
use crate::log::Dirs;
use crate::log::Relocation;
use crate::replica::error::Error;
use crate::replica::replicas::Replicas;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;
use tokio::sync::mpsc;
use tokio::sync::oneshot;
use tokio::sync::watch;
use tracing::warn;

/// Bytes that are copied before the task looks up: those of a second where the rate is limited, within these bounds.
const STEP: u64 = 4 << 20;
const STEP_MIN: u64 = 64 << 10;
/// A copy that lacks less than this is completed while the partition rests.
const REST: u64 = 256 << 10;
/// Moves that wait at most.
const WAITING_MAX: usize = 100_000;
/// The pause after a failure of the controller.
const RETRY: Duration = Duration::from_millis(200);

/// What the task that follows the images is asked for.
#[derive(Debug)]
pub(super) struct Swap {
    pub(super) relocation: Arc<Relocation>,
    /// Whether the log lies in the new directory now.
    pub(super) done: oneshot::Sender<bool>,
}

/// Where moves between log directories are asked for. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Moves {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    dirs: Option<Dirs>,
    wanted: Mutex<BTreeMap<TopicPartition, Arc<Relocation>>>,
    /// Held by who asks, also while folders are made.
    asking: Mutex<()>,
    bell: Notify,
}

impl Shared {
    fn new(dirs: Option<Dirs>) -> Arc<Shared> {
        let (wanted, asking) = (Mutex::default(), Mutex::default());
        Arc::new(Shared { dirs, wanted, asking, bell: Notify::new() })
    }

    /// Wants this and no other move of the partition.
    fn want(&self, relocation: Arc<Relocation>) {
        let before = self.wanted.lock().insert(relocation.partition().clone(), relocation);
        give_up(before);
        self.bell.notify_one();
    }
}

/// False when the log lies where it was to go by now.
fn give_up(relocation: Option<Arc<Relocation>>) -> bool {
    relocation.is_none_or(|relocation| relocation.give_up())
}

/// The task that moves.
struct Mover {
    shared: Arc<Shared>,
    swaps: mpsc::Sender<Swap>,
    controller: ControllerClient,
    publisher: Publisher,
    config: Arc<ServerConfig>,
    clock: Clock,
}

impl Moves {
    /// Begins, with what the process before this one did not finish. Makes the folders of those moves.
    pub fn start(
        replicas: &Replicas,
        (controller, publisher): (ControllerClient, Publisher),
        config: Arc<ServerConfig>,
        clock: Clock,
        shutdown: Shutdown,
    ) -> (Moves, Task<()>) {
        let (dirs, swaps) = replicas.movable();
        let shared = Shared::new(dirs.clone());
        let unfinished = dirs.as_ref().map(Dirs::resume_moves).unwrap_or_default();
        unfinished.into_iter().for_each(|relocation| shared.want(relocation));
        let moves = Moves { shared: Arc::clone(&shared) };
        let task = task::spawn("move-logs", async move {
            if shared.dirs.is_none() {
                return;
            }
            let mover = Mover { shared, swaps, controller, publisher, config, clock };
            tokio::select! {
                biased;
                () = shutdown.triggered() => {}
                () = mover.run() => {}
            }
        });
        (moves, task)
    }

    /// Nothing can be moved, for tests of the rooms above.
    #[cfg(test)]
    pub(crate) fn none() -> Moves {
        Moves { shared: Shared::new(None) }
    }

    /// Asks for a partition's log to be moved to the directory at this path (`ReplicaManager.alterReplicaLogDirs`); in its
    /// own directory it stays, and a move that goes on is given up. For a partition that is not here the wish is kept until
    /// it is made. Makes a folder, so it may take as long as the disk does.
    ///
    /// # Errors
    /// [`Error::UnknownDirectory`], [`Error::Offline`] for a directory that does not work, [`Error::Cordoned`],
    /// [`Error::NotLeaderOrFollower`] for a partition that is not here, storage errors.
    pub fn ask(&self, replicas: &Replicas, partition: &TopicPartition, path: &str) -> Result<(), Error> {
        let dirs = self.shared.dirs.as_ref().ok_or(Error::UnknownDirectory)?;
        let (id, online) = dirs.directory_at(path).ok_or(Error::UnknownDirectory)?;
        let target = id.filter(|_| online).ok_or(Error::Offline)?;
        if dirs.cordoned().contains(&target) {
            return Err(Error::Cordoned);
        }
        let _turn = self.shared.asking.lock();
        match replicas.by_name(&partition.topic, partition.partition) {
            Ok(_) => {}
            Err(Error::Offline) => return Err(Error::Offline),
            Err(_) => {
                dirs.prefer(partition, target);
                return Err(Error::NotLeaderOrFollower);
            }
        }
        let log = dirs.placed(partition).ok_or(Error::NotLeaderOrFollower)?;
        let (known, waiting) = {
            let wanted = self.shared.wanted.lock();
            (wanted.get(partition).cloned(), wanted.len())
        };
        if log.directory_id() == target {
            let given_up = self.shared.wanted.lock().remove(partition);
            self.shared.bell.notify_one();
            if give_up(given_up) || dirs.placed(partition).is_some_and(|log| log.directory_id() == target) {
                return Ok(());
            }
        }
        let same = |known: &Arc<Relocation>| {
            (known.topic_id(), known.target()) == (log.topic_id(), target) && !known.is_given_up()
        };
        if known.as_ref().is_some_and(same) {
            return Ok(());
        }
        if known.is_none() && waiting >= WAITING_MAX {
            return Err(Error::RequestTimedOut);
        }
        self.shared.want(dirs.begin_move(partition, target)?);
        Ok(())
    }
}

impl Mover {
    async fn run(self) {
        let mut images = self.publisher.watch();
        loop {
            let next = self.shared.wanted.lock().values().next().cloned();
            let Some(relocation) = next else {
                self.shared.bell.notified().await;
                continue;
            };
            let partition = relocation.partition();
            match self.relocate(&relocation, &mut images).await {
                Ok(()) => {}
                Err(_) if relocation.is_given_up() => {}
                Err(log::Error::Closed) => {
                    // The partition is not open: deleted, or its directory went offline.
                    warn!(%partition, "a partition that is not open is not moved");
                }
                Err(error) => warn!(%partition, %error, "a log stays in its directory"),
            }
            // Moved, it has no copy any more.
            relocation.give_up();
            let mut wanted = self.shared.wanted.lock();
            if wanted.get(partition).is_some_and(|wanted| Arc::ptr_eq(wanted, &relocation)) {
                wanted.remove(partition);
            }
        }
    }

    async fn relocate(
        &self,
        relocation: &Arc<Relocation>,
        images: &mut watch::Receiver<Arc<Image>>,
    ) -> Result<(), log::Error> {
        if !self.copy(relocation, images).await? {
            return Ok(());
        }
        let (done, moved) = oneshot::channel();
        let swap = Swap { relocation: Arc::clone(relocation), done };
        if self.swaps.send(swap).await.is_err() {
            return Err(log::Error::Closed);
        }
        if moved.await.unwrap_or(false) {
            self.tell(relocation).await;
        }
        Ok(())
    }

    /// Copies until next to nothing is missing; false when the move is not wanted any more.
    async fn copy(
        &self,
        relocation: &Arc<Relocation>,
        images: &mut watch::Receiver<Arc<Image>>,
    ) -> Result<bool, log::Error> {
        while !relocation.is_given_up() {
            let (step, began) = (Arc::clone(relocation), self.clock.now());
            let bytes = self.bytes_per_second().map_or(STEP, |rate| rate.clamp(STEP_MIN, STEP));
            let copied = task::run_blocking(move || step.copy_some(bytes)).await?;
            if copied < REST.min(bytes) {
                return Ok(true);
            }
            self.pause(relocation, (began, copied), images).await;
        }
        Ok(false)
    }

    /// Waits until so many bytes are what the rate allows, as it is now and as it becomes.
    async fn pause(
        &self,
        relocation: &Relocation,
        (began, copied): (Instant, u64),
        images: &mut watch::Receiver<Arc<Image>>,
    ) {
        while let Some(rate) = self.bytes_per_second().filter(|_| !relocation.is_given_up()) {
            let cost = Duration::from_millis(copied.saturating_mul(1000) / rate.max(1));
            tokio::select! {
                () = self.clock.sleep_until(began.plus(cost)) => return,
                () = self.shared.bell.notified() => {}
                _changed = images.changed() => {}
            }
        }
    }

    /// `replica.alter.log.dirs.io.max.bytes.per.second`, as it is now; `None` for no limit.
    fn bytes_per_second(&self) -> Option<u64> {
        let image = self.publisher.current();
        let config = effective::server_config(&self.config, &image);
        let rate = config.get("replica.alter.log.dirs.io.max.bytes.per.second")?.parse::<u64>().ok()?;
        Some(rate).filter(|rate| *rate < u64::MAX / 2)
    }

    /// Lets the cluster know; the new epoch lets everybody here know.
    async fn tell(&self, relocation: &Relocation) {
        let partition = relocation.partition();
        let assignment = AssignDirectory {
            topic: relocation.topic_id(),
            partition: partition.partition,
            directory: relocation.target().0,
        };
        while self.publisher.current().topic_by_id(relocation.topic_id()).is_some() {
            match self.controller.assign_directory(assignment).await {
                Ok(_) => return,
                Err(error) => warn!(%partition, %error, "the cluster is not told yet that a log moved"),
            }
            self.clock.sleep(RETRY).await;
        }
    }
}
