//! One log directory: its services, its queue for the disk thread, and whether it still works.

use crate::base::Instant;
use crate::base::TopicPartition;
use crate::io::clock::Clock;
use crate::io::disk::Disk;
use crate::io::ring::Ring;
use crate::log::Log;
use crate::log::checkpoints::Checkpoints;
use crate::log::error::Error;
use crate::log::index_cache::IndexCache;
use crate::log::layout;
use crate::log::meta::DirectoryId;
use crate::log::open_files::OpenFiles;
use crate::log::pace::Pace;
use crate::log::writer;
use crate::metrics;
use parking_lot::Condvar;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::HashSet;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::Weak;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use tokio::sync::Notify;

/// Bytes appended but not written, over all logs of a directory, beyond which appenders wait.
const QUEUED_MAX: u64 = 64 << 20;
/// `index.interval.bytes` where an index is built without its topic's settings at hand.
const INDEX_INTERVAL: u64 = 4096;

/// Whether a log directory works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DirectoryState {
    /// It does.
    Online,
    /// It failed, for this first reason, and stays offline until the process starts anew.
    Offline(Arc<str>),
}

/// Faults for tests to switch on: each breaks one promise, and a test proves that its check notices.
#[cfg(feature = "sim")]
#[derive(Debug, Default)]
pub struct Faults {
    /// Synced appends are confirmed without a sync.
    pub skip_sync: AtomicBool,
    /// Recovery leaves a torn tail in the file and goes on after it.
    pub keep_torn_tail: AtomicBool,
    /// Synced appends are confirmed though their sync failed.
    pub ignore_failed_sync: AtomicBool,
    /// Ages are judged by what the wall clock shows just now.
    pub judge_by_wall: AtomicBool,
    /// What an earlier process wrote is served without a look at it.
    pub serve_unproven: AtomicBool,
}

/// The shared services of all directories.
#[derive(Clone, Debug)]
pub(crate) struct Services {
    pub(crate) disk: Disk,
    pub(crate) clock: Clock,
    pub(crate) files: Arc<OpenFiles>,
    pub(crate) indexes: Arc<IndexCache>,
    /// Wakes the upkeep task.
    pub(crate) upkeep: Arc<Notify>,
    /// Wakes who waits for directories to fail.
    pub(crate) fallen: Arc<Notify>,
    pub(crate) metrics: metrics::Log,
    #[cfg(feature = "sim")]
    pub(crate) faults: Arc<Faults>,
}

/// Files to remove later.
#[derive(Debug)]
pub(crate) struct Trash {
    pub(crate) due: Instant,
    pub(crate) paths: Vec<PathBuf>,
}

/// One log directory.
#[derive(Debug)]
pub(crate) struct Directory {
    pub(crate) path: Arc<Path>,
    pub(crate) id: DirectoryId,
    pub(crate) disk: Disk,
    pub(crate) clock: Clock,
    pub(crate) files: Arc<OpenFiles>,
    pub(crate) indexes: Arc<IndexCache>,
    pub(crate) metrics: metrics::Log,
    pub(crate) open: Mutex<BTreeMap<TopicPartition, Arc<Log>>>,
    pub(crate) trash: Mutex<Vec<Trash>>,
    pub(crate) checkpoints: Checkpoints,
    failure: OnceLock<Arc<str>>,
    listed: Mutex<Listed>,
    work: Condvar,
    wants_upkeep: Mutex<Vec<Weak<Log>>>,
    upkeep: Arc<Notify>,
    fallen: Arc<Notify>,
    queued: AtomicU64,
    room: Notify,
    pub(crate) pace: Pace,
    /// A disk thread of its own can take over when writes are slow.
    has_thread: AtomicBool,
    /// Does the disk work where there is no thread for it: whoever must wait for a round does it.
    driven: OnceLock<Mutex<Ring>>,
    /// Wakes the task that does the disk work in place of a thread.
    listed_some: Notify,
    #[cfg(feature = "sim")]
    faults: Arc<Faults>,
}

#[derive(Debug, Default)]
struct Listed {
    logs: Vec<Weak<Log>>,
    stopping: bool,
}

impl Directory {
    pub(crate) fn new(path: &Path, id: DirectoryId, services: &Services) -> Arc<Directory> {
        let services = services.clone();
        Arc::new(Directory {
            path: path.into(),
            id,
            disk: services.disk,
            clock: services.clock,
            files: services.files,
            indexes: services.indexes,
            metrics: services.metrics,
            open: Mutex::new(BTreeMap::new()),
            trash: Mutex::new(Vec::new()),
            checkpoints: Checkpoints::default(),
            failure: OnceLock::new(),
            listed: Mutex::new(Listed::default()),
            work: Condvar::new(),
            wants_upkeep: Mutex::new(Vec::new()),
            upkeep: services.upkeep,
            fallen: services.fallen,
            queued: AtomicU64::new(0),
            room: Notify::new(),
            pace: Pace::default(),
            has_thread: AtomicBool::new(false),
            driven: OnceLock::new(),
            listed_some: Notify::new(),
            #[cfg(feature = "sim")]
            faults: services.faults,
        })
    }

    /// The error of an offline directory.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.failure.get() {
            None => Ok(()),
            Some(reason) => Err(Error::Offline { dir: self.path.clone(), reason: reason.clone() }),
        }
    }

    /// Takes the directory offline when it is no longer where it was: somebody moved it, or its file system is gone.
    /// Nothing may be made in what stands in its place.
    pub(crate) fn check_in_place(&self) -> Result<(), Error> {
        let file = self.path.join(layout::META_PROPERTIES);
        match self.disk.stat(&file) {
            Ok(Some(_)) => {}
            Ok(None) => self.fail(&format!("{} is gone", file.display())),
            Err(error) => self.fail(&format!("{}: {error}", file.display())),
        }
        self.check()
    }

    pub(crate) fn state(&self) -> DirectoryState {
        self.failure.get().map_or(DirectoryState::Online, |reason| DirectoryState::Offline(reason.clone()))
    }

    /// Takes the directory offline, for good. Everybody who waits on one of its logs is woken.
    pub(crate) fn fail(&self, reason: &str) {
        if self.failure.set(reason.into()).is_err() {
            return;
        }
        tracing::error!(directory = %self.path.display(), reason, "log directory is offline");
        self.metrics.offline_directories.inc();
        self.room.notify_waiters();
        let open: Vec<Arc<Log>> = self.open.lock().values().cloned().collect();
        for log in open {
            log.announce_failure();
        }
        self.upkeep.notify_one();
        self.fallen.notify_one();
    }

    /// All logs that are open here.
    pub(crate) fn logs(&self) -> Vec<Arc<Log>> {
        self.open.lock().values().cloned().collect()
    }

    /// Puts a log on the disk thread's list.
    pub(crate) fn list(&self, log: Weak<Log>) {
        self.listed.lock().logs.push(log);
        self.work.notify_one();
        self.listed_some.notify_one();
    }

    /// There will be no disk thread: the work is done by [`Directory::drive`].
    pub(crate) fn drive_with(&self, ring: Ring) {
        self.driven.set(Mutex::new(ring)).expect("a directory is made driven once");
    }

    /// Whether [`Directory::drive`] does the disk work.
    pub(crate) fn is_driven(&self) -> bool {
        self.driven.get().is_some()
    }

    /// Does the disk work that waits, where no thread does it; whether there was any.
    pub(crate) fn drive(&self) -> bool {
        let Some(ring) = self.driven.get() else { return false };
        let mut worked = false;
        while writer::turn(self, &mut ring.lock()) {
            worked = true;
        }
        worked
    }

    /// Waits until some log is put on the list.
    pub(crate) async fn listed(&self) {
        self.listed_some.notified().await;
    }

    /// The logs that wait for the disk thread.
    pub(crate) fn take_listed(&self) -> Vec<Arc<Log>> {
        let logs = std::mem::take(&mut self.listed.lock().logs);
        logs.into_iter().filter_map(|log| log.upgrade()).collect()
    }

    /// Waits for work; `false` when the directory closes and nothing is left.
    pub(crate) fn wait_for_work(&self) -> bool {
        let mut listed = self.listed.lock();
        while listed.logs.is_empty() && !listed.stopping {
            self.work.wait(&mut listed);
        }
        !listed.logs.is_empty()
    }

    /// Ends the disk thread once its list is empty.
    pub(crate) fn stop(&self) {
        self.listed.lock().stopping = true;
        self.work.notify_all();
    }

    /// Has files removed when they are due.
    pub(crate) fn throw_away(&self, trash: Trash) {
        self.trash.lock().push(trash);
        self.upkeep.notify_one();
    }

    /// A log has closed segments whose indexes and snapshots must be brought to disk.
    pub(crate) fn request_upkeep(&self, log: Weak<Log>) {
        self.wants_upkeep.lock().push(log);
        self.upkeep.notify_one();
    }

    /// The logs that asked for upkeep, each once however often it asked.
    pub(crate) fn take_upkeep(&self) -> Vec<Arc<Log>> {
        let logs = std::mem::take(&mut *self.wants_upkeep.lock());
        let mut seen = HashSet::new();
        let logs = logs.into_iter().filter(|log| seen.insert(log.as_ptr()));
        logs.filter_map(|log| log.upgrade()).collect()
    }

    /// Bytes were queued.
    pub(crate) fn queued(&self, bytes: u64) {
        self.queued.fetch_add(bytes, Ordering::AcqRel);
    }

    /// Queued bytes were written, or given up.
    pub(crate) fn written(&self, bytes: u64) {
        let before = self.queued.fetch_sub(bytes, Ordering::AcqRel);
        if before >= QUEUED_MAX && before.saturating_sub(bytes) < QUEUED_MAX {
            self.room.notify_waiters();
        }
    }

    /// Bytes that are queued now.
    #[cfg(test)]
    pub(crate) fn queued_bytes(&self) -> u64 {
        self.queued.load(Ordering::Acquire)
    }

    /// Whether there is room in the queue.
    pub(crate) fn has_room(&self) -> bool {
        self.queued.load(Ordering::Acquire) < QUEUED_MAX || self.check().is_err()
    }

    /// Waits for room in the queue.
    pub(crate) async fn room(&self) {
        while self.queued.load(Ordering::Acquire) >= QUEUED_MAX {
            let room = self.room.notified();
            tokio::pin!(room);
            room.as_mut().enable();
            if self.queued.load(Ordering::Acquire) < QUEUED_MAX || self.check().is_err() {
                return;
            }
            room.await;
        }
    }

    /// The directory got its disk thread.
    pub(crate) fn thread_started(&self) {
        self.has_thread.store(true, Ordering::Relaxed);
    }

    /// Whether inline writes would hold up their threads and there is another that can write.
    pub(crate) fn is_slow(&self) -> bool {
        self.pace.is_slow(|| self.clock.now()) && self.has_thread.load(Ordering::Relaxed)
    }

    /// `index.interval.bytes` for indexes that are built anew.
    pub(crate) fn index_interval_bytes(&self) -> u64 {
        INDEX_INTERVAL
    }

    /// Whether a test switched syncs off.
    pub(crate) fn skips_sync(&self) -> bool {
        #[cfg(feature = "sim")]
        return self.faults.skip_sync.load(Ordering::Relaxed);
        #[cfg(not(feature = "sim"))]
        false
    }

    /// Whether a test made failed syncs count as good ones.
    pub(crate) fn ignores_failed_sync(&self) -> bool {
        #[cfg(feature = "sim")]
        return self.faults.ignore_failed_sync.load(Ordering::Relaxed);
        #[cfg(not(feature = "sim"))]
        false
    }

    /// Whether a test made ages go by the bare wall clock.
    pub(crate) fn judges_by_wall(&self) -> bool {
        #[cfg(feature = "sim")]
        return self.faults.judge_by_wall.load(Ordering::Relaxed);
        #[cfg(not(feature = "sim"))]
        false
    }

    /// Whether a test switched the look at what an earlier process wrote off.
    pub(crate) fn serves_unproven(&self) -> bool {
        #[cfg(feature = "sim")]
        return self.faults.serve_unproven.load(Ordering::Relaxed);
        #[cfg(not(feature = "sim"))]
        false
    }

    /// Whether a test switched the cut of torn tails off.
    pub(crate) fn keeps_torn_tail(&self) -> bool {
        #[cfg(feature = "sim")]
        return self.faults.keep_torn_tail.load(Ordering::Relaxed);
        #[cfg(not(feature = "sim"))]
        false
    }
}
