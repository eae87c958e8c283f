//! Moves partitions between the log directories of this node (KIP-113): one at a time, behind what is served.
//!
//! The copy grows in the background. When it is nearly as long as the log, the task that follows the images ends the
//! partition, puts the copy in place of the log and opens the partition anew; the controller then begins a new leader
//! epoch, by which coordinators notice. Requests meanwhile are told to look for the leader again, and find it here.

use crate::base::TopicPartition;
use crate::cluster::ControllerClient;
use crate::cluster::Publisher;
use crate::cluster::command::AssignDirectory;
use crate::cluster::effective;
use crate::config::ServerConfig;
use crate::io::Clock;
use crate::io::task;
use crate::io::task::Shutdown;
use crate::io::task::Task;
use crate::log;
use crate::log::DirectoryId;
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
use tracing::warn;

/// Bytes that are copied before the task looks up.
const STEP: u64 = 4 << 20;
/// A copy that lacks less than this is completed while the partition rests.
const REST: u64 = 256 << 10;
/// Moves that wait at most.
const WAITING_MAX: usize = 100_000;
/// The pause after a failure of the controller, and how often it is asked.
const RETRY: Duration = Duration::from_millis(200);
const TRIES: usize = 25;

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
    wanted: Mutex<BTreeMap<TopicPartition, DirectoryId>>,
    bell: Notify,
}

/// The task that moves.
struct Mover {
    shared: Arc<Shared>,
    dirs: Dirs,
    swaps: mpsc::Sender<Swap>,
    controller: ControllerClient,
    publisher: Publisher,
    config: Arc<ServerConfig>,
    clock: Clock,
}

impl Moves {
    /// Begins, with what the process before this one did not finish.
    pub fn start(
        replicas: &Replicas,
        (controller, publisher): (ControllerClient, Publisher),
        config: Arc<ServerConfig>,
        clock: Clock,
        shutdown: Shutdown,
    ) -> (Moves, Task<()>) {
        let (dirs, swaps) = replicas.movable();
        let unfinished = dirs.as_ref().map(Dirs::unfinished_moves).unwrap_or_default();
        let wanted = Mutex::new(unfinished.into_iter().collect());
        let shared = Arc::new(Shared { dirs: dirs.clone(), wanted, bell: Notify::new() });
        let moves = Moves { shared: Arc::clone(&shared) };
        let task = task::spawn("move-logs", async move {
            let Some(dirs) = dirs else { return };
            let mover = Mover { shared, dirs, swaps, controller, publisher, config, clock };
            tokio::select! {
                () = shutdown.triggered() => {}
                () = mover.run() => {}
            }
        });
        (moves, task)
    }

    /// Nothing can be moved, for tests of the rooms above.
    #[cfg(test)]
    pub(crate) fn none() -> Moves {
        Moves { shared: Arc::new(Shared { dirs: None, wanted: Mutex::default(), bell: Notify::new() }) }
    }

    /// Asks for a partition's log to be moved to the directory at this path; in its own directory it stays, and a move
    /// that goes on is given up. For a partition that is not here the wish is kept until it is made.
    ///
    /// # Errors
    /// [`Error::UnknownDirectory`], [`Error::Offline`] for a directory that does not work, [`Error::Cordoned`], or
    /// [`Error::NotLeaderOrFollower`] for a partition that is not here.
    pub fn ask(&self, replicas: &Replicas, partition: &TopicPartition, path: &str) -> Result<(), Error> {
        let dirs = self.shared.dirs.as_ref().ok_or(Error::UnknownDirectory)?;
        let (id, online) = dirs.directory_at(path).ok_or(Error::UnknownDirectory)?;
        let target = id.filter(|_| online).ok_or(Error::Offline)?;
        if dirs.cordoned().contains(&target) {
            return Err(Error::Cordoned);
        }
        let hosted = match replicas.by_name(&partition.topic, partition.partition) {
            Ok(hosted) => hosted,
            Err(Error::Offline) => return Err(Error::Offline),
            Err(_) => {
                dirs.prefer(partition, target);
                return Err(Error::NotLeaderOrFollower);
            }
        };
        let mut wanted = self.shared.wanted.lock();
        if hosted.log().directory_id() == target {
            wanted.remove(partition);
        } else if wanted.len() < WAITING_MAX || wanted.contains_key(partition) {
            wanted.insert(partition.clone(), target);
        } else {
            return Err(Error::RequestTimedOut);
        }
        drop(wanted);
        self.shared.bell.notify_one();
        Ok(())
    }
}

impl Mover {
    async fn run(self) {
        loop {
            let next = self.shared.wanted.lock().iter().next().map(|(name, target)| (name.clone(), *target));
            let Some((partition, target)) = next else {
                self.shared.bell.notified().await;
                continue;
            };
            match self.relocate(&partition, target).await {
                Ok(()) => {}
                Err(log::Error::Closed) => {
                    // The partition is not open: deleted, or its directory went offline.
                    warn!(%partition, "a partition that is not open is not moved");
                }
                Err(error) => warn!(%partition, %error, "a log stays in its directory"),
            }
            let mut wanted = self.shared.wanted.lock();
            if wanted.get(&partition) == Some(&target) {
                wanted.remove(&partition);
            }
        }
    }

    fn is_wanted(&self, partition: &TopicPartition, target: DirectoryId) -> bool {
        self.shared.wanted.lock().get(partition) == Some(&target)
    }

    async fn relocate(&self, partition: &TopicPartition, target: DirectoryId) -> Result<(), log::Error> {
        if self.dirs.log(partition).is_some_and(|log| log.directory_id() == target) {
            return Ok(());
        }
        let (dirs, name) = (self.dirs.clone(), partition.clone());
        let relocation = task::run_blocking(move || dirs.begin_move(&name, target)).await?;
        let copied = self.copy(&relocation).await;
        if !matches!(copied, Ok(true)) {
            relocation.throw_away();
            return copied.map(|_| ());
        }
        let (done, moved) = oneshot::channel();
        let swap = Swap { relocation: Arc::clone(&relocation), done };
        if self.swaps.send(swap).await.is_err() {
            return Err(log::Error::Closed);
        }
        if moved.await.unwrap_or(false) {
            self.tell(&relocation).await;
        }
        Ok(())
    }

    /// Copies until next to nothing is missing; false when the move is not wanted any more.
    async fn copy(&self, relocation: &Arc<Relocation>) -> Result<bool, log::Error> {
        loop {
            if !self.is_wanted(relocation.partition(), relocation.target()) {
                return Ok(false);
            }
            let (step, began) = (Arc::clone(relocation), self.clock.now());
            let rate = self.bytes_per_second();
            // A slow copy looks up often enough to be stopped.
            let bytes = rate.map_or(STEP, |rate| STEP.min(rate.max(64 << 10)));
            let copied = task::run_blocking(move || step.copy_some(bytes)).await?;
            if copied < REST.min(bytes) {
                return Ok(true);
            }
            if let Some(rate) = rate {
                let cost = Duration::from_millis(copied.saturating_mul(1000) / rate.max(1));
                self.clock.sleep_until(began.plus(cost)).await;
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
        for _ in 0..TRIES {
            match self.controller.assign_directory(assignment).await {
                Ok(_) => return,
                Err(error) => warn!(%partition, %error, "the cluster is not told yet that a log moved"),
            }
            self.clock.sleep(RETRY).await;
        }
    }
}
