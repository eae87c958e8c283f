//! The log directories of a broker: opened and locked together, holding every partition's log.

use crate::base::Offset;
use crate::base::TopicId;
use crate::base::TopicPartition;
use crate::config::StorageSettings;
use crate::config::TopicConfig;
use crate::io::clock::Clock;
use crate::io::disk::Disk;
use crate::io::disk::Space;
use crate::io::durable;
use crate::io::process;
use crate::io::ring::Ring;
use crate::io::task;
use crate::io::task::Shutdown;
use crate::io::task::Task;
use crate::io::task::Thread;
use crate::log::Log;
use crate::log::checkpoint;
use crate::log::compact::Cleaner;
use crate::log::compact::Cleaning;
use crate::log::directory::DirectoryState;
#[cfg(feature = "sim")]
use crate::log::directory::Faults;
use crate::log::directory::Services;
use crate::log::directory::Trash;
use crate::log::error::Error;
use crate::log::home;
use crate::log::home::FoundFolder;
use crate::log::home::Home;
use crate::log::home::Locked;
use crate::log::home::Owner;
use crate::log::index_cache::IndexCache;
use crate::log::layout;
use crate::log::load;
use crate::log::meta::DirectoryId;
use crate::log::open_files::OpenFiles;
use crate::log::recover::Known;
use crate::log::recover::Recovered;
use crate::log::recover::recover;
use crate::log::relocate;
use crate::log::relocate::Relocation;
use crate::log::segment::Place;
use crate::log::segment::Segment;
use crate::log::upkeep::Schedule;
use crate::log::writer;
use crate::metrics;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::AtomicI32;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::Notify;

/// Memory for the offset indexes of closed segments.
const INDEX_CACHE_BYTES: usize = 32 << 20;

/// Logs of a directory that are closed at the same time.
const CLOSE_THREADS: usize = 8;
/// Nobody waits for a compaction: with less niceness a cleaner has its turn while a producer waits for an answer.
const CLEANER_NICENESS: i32 = 19;

/// Who drives the disk work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threads {
    /// A thread per log directory and a task for upkeep; needs a runtime.
    Own,
    /// A task per log directory and one for upkeep on the caller's runtime; needs a runtime, and one whose tasks may
    /// do I/O themselves. For simulation of a whole node on one thread.
    Tasks,
    /// The caller, with [`Dirs::drive`]: everything happens on its thread, in an order that repeats. For simulation.
    Driven,
}

/// A partition found on disk at the start.
#[derive(Clone, Debug)]
pub struct Found {
    /// The partition.
    pub partition: TopicPartition,
    /// The topic's id as its folder says; `None` when it does not.
    pub topic_id: Option<TopicId>,
    /// The log directory it lies in.
    pub directory: DirectoryId,
    /// Its folder.
    pub path: PathBuf,
}

/// One log's size.
#[derive(Clone, Debug)]
pub struct LogSize {
    /// The partition.
    pub partition: TopicPartition,
    /// Its bytes on disk.
    pub bytes: u64,
    /// How far it is behind the log that it will take the place of; `None` for a log that serves.
    pub behind: Option<i64>,
}

/// A log directory, for DescribeLogDirs.
#[derive(Clone, Debug)]
pub struct Description {
    /// Where it is.
    pub path: PathBuf,
    /// Its id; `None` when it could not be opened at the start.
    pub id: Option<DirectoryId>,
    /// Whether it works.
    pub state: DirectoryState,
    /// The file system it is on, when that can be told.
    pub space: Option<Space>,
    /// How compaction goes in it.
    pub cleaning: Cleaning,
    /// The open logs in it.
    pub logs: Vec<LogSize>,
}

#[cfg(feature = "sim")]
type Plants = Arc<Faults>;
#[cfg(not(feature = "sim"))]
type Plants = ();

/// All log directories. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Dirs {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    pub(crate) disk: Disk,
    pub(crate) clock: Clock,
    pub(crate) settings: StorageSettings,
    pub(crate) homes: Vec<Arc<Home>>,
    pub(crate) files: Arc<OpenFiles>,
    pub(crate) schedule: Mutex<Schedule>,
    /// Directories that could not be opened at the start, and why.
    pub(crate) failed: Vec<(PathBuf, Arc<str>)>,
    cluster_id: String,
    /// The directories that get no new logs: `cordoned.log.dirs`, which may change.
    cordoned: Mutex<Vec<DirectoryId>>,
    /// `producer.id.expiration.ms`, which may change.
    pub(crate) producer_expiration_ms: AtomicI32,
    /// Compaction has threads of its own.
    has_cleaner_threads: bool,
    /// Held while a log is opened, made or deleted.
    pub(crate) changes: Mutex<()>,
    /// Held while a log goes from one directory to another, so that who lists them finds it in one.
    pub(crate) places: Mutex<()>,
    /// Logs that are on the way to another directory.
    pub(crate) relocations: Mutex<BTreeMap<TopicPartition, Weak<Relocation>>>,
    /// Where partitions shall be made that do not exist yet.
    pub(crate) preferred: Mutex<BTreeMap<TopicPartition, DirectoryId>>,
    /// Told when a directory fails.
    fallen: Arc<Notify>,
    disk_threads: Mutex<Vec<Thread>>,
    disk_tasks: Mutex<Vec<Task<()>>>,
    upkeep: Mutex<Option<Task<()>>>,
    cleaner: Arc<Cleaner>,
    cleaner_threads: Mutex<Vec<Thread>>,
    cleaner_task: Mutex<Option<Task<()>>>,
}

impl Drop for Inner {
    /// A directory lists its open logs and each of them holds its directory: without this they would keep each other.
    fn drop(&mut self) {
        self.cleaner.stop();
        for home in &self.homes {
            drop(std::mem::take(&mut *home.directory.open.lock()));
        }
    }
}

impl Dirs {
    /// Opens the log directories: makes what is missing, locks them, reads `meta.properties` (written, with a fresh
    /// cluster id where none is given, into new ones), recovers partitions after an unclean shutdown, and starts
    /// the disk threads and the upkeep task. A directory that fails is offline from the start, as long as another
    /// one works.
    ///
    /// # Errors
    /// [`Error::Locked`], [`Error::Meta`], [`Error::Duplicate`], and the first error when no directory works.
    pub fn open(
        disk: Disk,
        clock: Clock,
        shutdown: Shutdown,
        settings: StorageSettings,
        threads: Threads,
        metrics: metrics::Log,
    ) -> Result<Dirs, Error> {
        Dirs::open_all((disk, clock, metrics), shutdown, settings, threads, Plants::default())
    }

    /// As [`Dirs::open`], with faults that tests planted: they are in force during recovery, too.
    ///
    /// # Errors
    /// As [`Dirs::open`].
    #[cfg(feature = "sim")]
    pub fn open_faulty(
        disk: Disk,
        clock: Clock,
        settings: StorageSettings,
        faults: Arc<Faults>,
    ) -> Result<Dirs, Error> {
        let metrics = metrics::Registry::new().log();
        Dirs::open_all((disk, clock, metrics), Shutdown::new(), settings, Threads::Driven, faults)
    }

    /// As [`Dirs::open`], with planted faults and any [`Threads`].
    ///
    /// # Errors
    /// As [`Dirs::open`].
    #[cfg(feature = "sim")]
    pub(crate) fn open_with(
        outside: (Disk, Clock, metrics::Log),
        shutdown: Shutdown,
        settings: StorageSettings,
        threads: Threads,
        faults: Arc<Faults>,
    ) -> Result<Dirs, Error> {
        Dirs::open_all(outside, shutdown, settings, threads, faults)
    }

    #[cfg_attr(not(feature = "sim"), allow(unused_variables, reason = "there are no faults to plant"))]
    fn open_all(
        (disk, clock, metrics): (Disk, Clock, metrics::Log),
        shutdown: Shutdown,
        settings: StorageSettings,
        threads: Threads,
        plants: Plants,
    ) -> Result<Dirs, Error> {
        let files = Arc::new(OpenFiles::new(usize::try_from(settings.open_files_max).unwrap_or(1)));
        let services = Services {
            disk: disk.clone(),
            clock: clock.clone(),
            files: files.clone(),
            indexes: Arc::new(IndexCache::new(INDEX_CACHE_BYTES)),
            upkeep: Arc::new(Notify::new()),
            fallen: Arc::new(Notify::new()),
            metrics,
            #[cfg(feature = "sim")]
            faults: plants,
        };
        let (homes, failed, cluster_id) = open_homes(&services, &settings)?;
        relocate::finish_moves(&homes)?;
        refuse_duplicates(&homes)?;
        if threads != Threads::Own {
            for home in &homes {
                home.directory.drive_with(Ring::probe(&disk, settings.io_uring));
            }
        }
        let opened: Vec<Arc<Home>> = homes.into_iter().map(Arc::new).collect();
        recover_unclean(&opened, &settings, threads)?;
        let schedule = Mutex::new(Schedule::new(&settings, clock.now()));
        let may_sleep = threads == Threads::Own;
        let cleaner = Cleaner::new(&settings.cleaner, &clock, services.metrics.cleaner.clone(), may_sleep);
        let inner = Arc::new(Inner {
            disk,
            clock,
            cordoned: Mutex::new(of_paths(&opened, &settings.cordoned_log_dirs)),
            producer_expiration_ms: AtomicI32::new(settings.producer_id_expiration_ms),
            has_cleaner_threads: threads == Threads::Own,
            settings,
            homes: opened,
            files,
            schedule,
            failed,
            cluster_id,
            changes: Mutex::new(()),
            places: Mutex::new(()),
            relocations: Mutex::default(),
            preferred: Mutex::default(),
            fallen: services.fallen.clone(),
            disk_threads: Mutex::new(Vec::new()),
            disk_tasks: Mutex::new(Vec::new()),
            upkeep: Mutex::new(None),
            cleaner: Arc::new(cleaner),
            cleaner_threads: Mutex::new(Vec::new()),
            cleaner_task: Mutex::new(None),
        });
        match threads {
            Threads::Own => {
                inner.start_threads()?;
                inner.start_cleaners()?;
                inner.start_upkeep(&services.upkeep, shutdown);
            }
            Threads::Tasks => {
                inner.start_tasks();
                inner.start_cleaner_task();
                inner.start_upkeep(&services.upkeep, shutdown);
            }
            Threads::Driven => {}
        }
        Ok(Dirs { inner })
    }

    /// The cluster's id, from the settings, the directories, or made up for new ones.
    pub fn cluster_id(&self) -> &str {
        &self.inner.cluster_id
    }

    /// The broker epoch of the last clean shutdown (KIP-966); `None` when the last shutdown of any directory was not
    /// clean, or named no epoch.
    pub fn previous_broker_epoch(&self) -> Option<i64> {
        let epochs = self.inner.homes.iter().map(|home| home.unopened.lock().broker_epoch);
        epochs.reduce(|one, other| one.filter(|_| one == other)).flatten()
    }

    /// The partitions on disk that are not open.
    pub fn found(&self) -> Vec<Found> {
        let mut all = Vec::new();
        for home in &self.inner.homes {
            let unopened = home.unopened.lock();
            all.extend(unopened.found.iter().map(|(partition, folder)| Found {
                partition: partition.clone(),
                topic_id: folder.topic_id,
                directory: home.directory.id,
                path: folder.path.clone(),
            }));
        }
        all
    }

    /// How far a partition's log reached at least when the process before this one wrote its checkpoints; `None`
    /// where they do not name it.
    pub fn promised_end(&self, partition: &TopicPartition) -> Option<Offset> {
        self.inner.homes.iter().filter_map(|home| home.unopened.lock().promised.get(partition).copied()).max()
    }

    /// Takes the directories offline whose checkpoints promise more of a partition than there is, so that nobody writes
    /// there that less was promised.
    pub fn keep_promise(&self, partition: &TopicPartition) {
        for home in &self.inner.homes {
            if home.unopened.lock().promised.contains_key(partition) {
                home.directory.fail(&format!("{partition} ends before what its checkpoint promises"));
            }
        }
    }

    /// The log of a partition: the open one, the one on disk, or a new one in the online directory with the fewest
    /// partitions (the metadata log: in its own directory). Files of an existing one are not opened before they are
    /// needed.
    ///
    /// While a directory is offline, nothing is made new here: the partition may lie there. Whoever knows that it is
    /// new calls [`Dirs::create_log`].
    ///
    /// # Errors
    /// [`Error::WrongTopicId`] when the folder belongs to another topic of that name; [`Error::NoDirectory`];
    /// [`Error::Offline`]; [`Error::Io`] and [`Error::Damaged`] of the partition's files.
    pub fn open_log(
        &self,
        partition: &TopicPartition,
        topic_id: TopicId,
        config: Arc<TopicConfig>,
    ) -> Result<Arc<Log>, Error> {
        let inner = &self.inner;
        let _changes = inner.changes.lock();
        if let Some(log) = self.log(partition) {
            check_topic_id(&log.path(), Some(log.topic_id()), topic_id)?;
            log.set_config(config);
            return Ok(log);
        }
        let holder = inner
            .homes
            .iter()
            .find_map(|home| home.unopened.lock().found.get(partition).cloned().map(|found| (home, found)));
        match holder {
            Some((home, found)) => {
                home.directory.check()?;
                check_topic_id(&found.path, found.topic_id, topic_id)?;
                inner.open_existing(home, (partition, topic_id), found, config)
            }
            None => {
                inner.refuse_while_offline()?;
                inner.create(partition, topic_id, config)
            }
        }
    }

    /// As [`Dirs::open_log`], for a partition that the cluster has just made: it is made in an online directory even
    /// while another one is offline (`LogManager.getOrCreateLog` with `isNew`).
    ///
    /// # Errors
    /// As [`Dirs::open_log`].
    pub fn create_log(
        &self,
        partition: &TopicPartition,
        topic_id: TopicId,
        config: Arc<TopicConfig>,
    ) -> Result<Arc<Log>, Error> {
        let known = self.log(partition).is_some()
            || self.inner.homes.iter().any(|home| home.unopened.lock().found.contains_key(partition));
        if known {
            return self.open_log(partition, topic_id, config);
        }
        let _changes = self.inner.changes.lock();
        match self.log(partition) {
            Some(log) => Ok(log),
            None => self.inner.create(partition, topic_id, config),
        }
    }

    /// The log of a partition, if it is open.
    pub fn log(&self, partition: &TopicPartition) -> Option<Arc<Log>> {
        self.inner.log(partition)
    }

    /// Deletes a partition's log, open or not: its folder is renamed to `-delete` now and removed after
    /// `file.delete.delay.ms`. Readers keep the files they hold. Nothing happens when there is none. In a directory
    /// that is offline the folder stays as it is and is forgotten, so that a new partition may take the name; the
    /// next start finds it under an id that the cluster does not know.
    ///
    /// # Errors
    /// [`Error::Io`] of the rename.
    pub fn delete_log(&self, partition: &TopicPartition) -> Result<(), Error> {
        let _changes = self.inner.changes.lock();
        self.inner.cleaner.forget(partition);
        for home in &self.inner.homes {
            let open = home.directory.open.lock().get(partition).cloned();
            if home.directory.check().is_err() {
                if home.directory.open.lock().remove(partition).is_some() || home.has_unopened(partition) {
                    let directory = home.directory.path.display();
                    tracing::warn!(%partition, %directory, "a deleted partition's folder stays in a directory that is offline");
                }
                home.forget(partition);
                continue;
            }
            if let Some(log) = open {
                log.delete()?;
                home.directory.open.lock().remove(partition);
                home.directory.checkpoints.remove(&home.directory, partition)?;
                continue;
            }
            let found = home.unopened.lock().found.get(partition).cloned();
            if let Some(found) = found {
                self.discard(home, partition, &found)?;
            }
        }
        Ok(())
    }

    /// Deletes the folders of topics that the cluster has deleted: the process before this one ended before it came
    /// to that. Apache Kafka sets such folders aside for good (`LogManager.isStrayKraftReplica`), because its brokers
    /// do not hold the log that tells of the deletion.
    pub fn finish_deletions(&self, deleted: &BTreeSet<TopicId>) {
        let _changes = self.inner.changes.lock();
        for home in &self.inner.homes {
            let unfinished: Vec<(TopicPartition, FoundFolder)> = {
                let unopened = home.unopened.lock();
                let gone = |found: &FoundFolder| found.topic_id.is_some_and(|id| deleted.contains(&id));
                let found = unopened.found.iter().filter(|(_, found)| gone(found));
                found.map(|(partition, found)| (partition.clone(), found.clone())).collect()
            };
            for (partition, found) in unfinished {
                tracing::info!(%partition, "finishing the deletion of a topic");
                if let Err(error) = self.discard(home, &partition, &found) {
                    tracing::warn!(%partition, %error, "cannot delete the folder");
                }
            }
        }
    }

    /// Takes a folder that is not open out of the way, to be removed.
    fn discard(&self, home: &Home, partition: &TopicPartition, found: &FoundFolder) -> Result<(), Error> {
        let to = home.directory.path.join(layout::deleted_folder_name(partition));
        self.move_folder(home, partition, &found.path, &to)?;
        let due = self.inner.clock.now();
        home.directory.throw_away(Trash { due, paths: vec![to] });
        Ok(())
    }

    /// Sets a folder that the cluster does not know aside (`-stray`): it keeps its bytes and is not opened again. One
    /// without any segment is deleted: the process ended while it made the partition. A folder of the same name in
    /// another directory stays.
    ///
    /// # Errors
    /// [`Error::Io`] of the rename.
    pub fn set_aside(&self, stray: &Found) -> Result<(), Error> {
        let partition = &stray.partition;
        let _changes = self.inner.changes.lock();
        for home in self.inner.homes.iter().filter(|home| home.directory.id == stray.directory) {
            let found = home.unopened.lock().found.get(partition).cloned();
            if let Some(found) = found {
                if holds_no_segment(&self.inner.disk, &found.path)? {
                    tracing::info!(%partition, "deleting the folder of a partition that was not made to its end");
                    self.discard(home, partition, &found)?;
                    continue;
                }
                let to = home.directory.path.join(layout::stray_folder_name(partition));
                tracing::warn!(%partition, path = %to.display(), "setting a partition aside that the cluster does not know");
                self.move_folder(home, partition, &found.path, &to)?;
            }
        }
        Ok(())
    }

    fn move_folder(
        &self,
        home: &Home,
        partition: &TopicPartition,
        from: &Path,
        to: &Path,
    ) -> Result<(), Error> {
        durable::rename(&self.inner.disk, from, to).map_err(|error| Error::io(from, error))?;
        home.forget(partition);
        home.directory.checkpoints.remove(&home.directory, partition)
    }

    /// Every directory with its state and its logs' sizes.
    pub fn describe(&self) -> Vec<Description> {
        let inner = &self.inner;
        let logs: Vec<(Vec<LogSize>, Cleaning)> = {
            let _places = inner.places.lock();
            inner.homes.iter().map(|home| (inner.logs_in(home), inner.cleaner.describe(home))).collect()
        };
        let opened = inner.homes.iter().zip(logs).map(|(home, (logs, cleaning))| {
            let directory = &home.directory;
            Description {
                path: directory.path.to_path_buf(),
                id: Some(directory.id),
                state: directory.state(),
                space: directory.disk.space(&directory.path).ok(),
                cleaning,
                logs,
            }
        });
        let failed = inner.failed.iter().map(|(path, reason)| Description {
            path: path.clone(),
            id: None,
            state: DirectoryState::Offline(reason.clone()),
            space: None,
            cleaning: Cleaning::default(),
            logs: Vec::new(),
        });
        opened.chain(failed).collect()
    }

    /// The ids of the directories that work.
    pub fn online(&self) -> Vec<DirectoryId> {
        let online = self.inner.homes.iter().filter(|home| home.directory.check().is_ok());
        online.map(|home| home.directory.id).collect()
    }

    /// Why a broker cannot go on with these directories: none works any more, or the metadata log's does not
    /// (`LogManager.handleLogDirFailure`, `ReplicaManager.handleLogDirFailure`). `None` while it can.
    pub fn why_unusable(&self) -> Option<String> {
        let state = |home: &Arc<Home>| match home.directory.state() {
            DirectoryState::Offline(reason) => Some((home.directory.path.display().to_string(), reason)),
            DirectoryState::Online => None,
        };
        let homes = &self.inner.homes;
        let metadata =
            homes.iter().find(|home| *home.directory.path == *self.inner.settings.metadata_log_dir);
        if let Some((path, reason)) = metadata.and_then(state) {
            return Some(format!("the metadata log's directory {path} has failed: {reason}"));
        }
        let failed: Vec<(String, Arc<str>)> = homes.iter().filter_map(state).collect();
        let (path, reason) = failed.first().filter(|_| failed.len() == homes.len())?;
        Some(format!("all log directories have failed, {path} with: {reason}"))
    }

    /// Waits until a broker cannot go on with these directories, for one caller at a time; the reason.
    pub async fn unusable(&self) -> String {
        loop {
            if let Some(reason) = self.why_unusable() {
                return reason;
            }
            self.inner.fallen.notified().await;
        }
    }

    /// As if a directory had failed.
    #[cfg(test)]
    pub(crate) fn fail(&self, index: usize) {
        let home = self.inner.homes.get(index).expect("a directory of the test");
        home.directory.fail("pulled out");
    }

    /// Does the disk work that waits, and the upkeep that is due; whether there was any disk work. Only with
    /// [`Threads::Driven`].
    pub fn drive(&self) -> bool {
        let worked = self.inner.drive_disks();
        self.inner.tend();
        worked | self.inner.drive_disks()
    }

    /// Does the disk work that waits and nothing else. Only with [`Threads::Driven`].
    pub fn drive_disks(&self) -> bool {
        self.inner.drive_disks()
    }

    /// The directories at these paths, as far as they were opened.
    pub fn at(&self, paths: &[PathBuf]) -> Vec<DirectoryId> {
        of_paths(&self.inner.homes, paths)
    }

    /// The directories that get no new logs.
    pub fn cordoned(&self) -> Vec<DirectoryId> {
        self.inner.cordoned.lock().clone()
    }

    /// Puts those settings in force that may change while the broker runs: `log.cleaner.*`, `cordoned.log.dirs` and
    /// `producer.id.expiration.ms`. The others keep their values until the next start.
    pub fn reconfigure(&self, settings: &StorageSettings) {
        *self.inner.cordoned.lock() = of_paths(&self.inner.homes, &settings.cordoned_log_dirs);
        self.inner.producer_expiration_ms.store(settings.producer_id_expiration_ms, Ordering::Relaxed);
        self.inner.cleaner.reconfigure(&settings.cleaner);
        if self.inner.has_cleaner_threads
            && let Err(error) = self.inner.start_cleaners()
        {
            tracing::warn!(%error, "no more threads for compaction");
        }
    }

    /// Runs retention now, whatever the schedule says.
    ///
    /// # Errors
    /// The first error; the other logs are still looked at.
    pub fn retain_now(&self) -> Result<(), Error> {
        let now = self.inner.clock.wall();
        let mut result = Ok(());
        for home in &self.inner.homes {
            for log in home.directory.logs() {
                let retained = log.retain(now).map(|_| ());
                result = result.and(retained);
            }
        }
        result
    }

    /// Compacts the log with the largest dirty share now, on the caller's thread, if one is worth it. Whether one was.
    pub fn compact_now(&self) -> bool {
        self.inner.cleaner.clean_dirtiest(&self.inner.homes)
    }

    /// Writes all checkpoints now, after flushing every log.
    pub fn checkpoint_now(&self) {
        self.inner.drive_disks();
        for home in &self.inner.homes {
            for log in home.directory.logs() {
                if let Err(error) = log.save_start().and_then(|()| log.flush()) {
                    tracing::warn!(partition = %log.partition(), %error, "cannot flush");
                }
            }
            home.write_recovery_points();
            home.write_log_starts();
            home.write_high_watermarks();
        }
    }

    /// Closes every log and directory in good order, so that the next start recovers nothing. `broker_epoch` is
    /// written into `.kafka_cleanshutdown`; -1 when there is none. May block for as long as the disk takes.
    pub fn close(&self, broker_epoch: i64) {
        self.inner.end_cleaners();
        self.inner.drive_disks();
        let upkeep = self.inner.upkeep.lock().take();
        if let Some(upkeep) = upkeep {
            upkeep.abort();
        }
        for home in &self.inner.homes {
            home.close(broker_epoch);
            home.directory.stop();
        }
        let threads = std::mem::take(&mut *self.inner.disk_threads.lock());
        threads.into_iter().for_each(Thread::join);
        let tasks = std::mem::take(&mut *self.inner.disk_tasks.lock());
        tasks.into_iter().for_each(Task::abort);
        for home in &self.inner.homes {
            home.lock.lock().take();
        }
    }
}

impl Inner {
    pub(crate) fn log(&self, partition: &TopicPartition) -> Option<Arc<Log>> {
        self.homes.iter().find_map(|home| home.directory.open.lock().get(partition).cloned())
    }

    /// The logs of a directory, and the copies that grow in it.
    fn logs_in(&self, home: &Home) -> Vec<LogSize> {
        let size = |log: &Arc<Log>| LogSize {
            partition: log.partition().clone(),
            bytes: log.size_bytes(),
            behind: None,
        };
        let mut logs: Vec<LogSize> = home.directory.logs().iter().map(size).collect();
        logs.extend(self.futures_in(home));
        logs
    }

    /// The copies that grow in a directory.
    fn futures_in(&self, home: &Home) -> Vec<LogSize> {
        let relocations: Vec<Arc<Relocation>> =
            self.relocations.lock().values().filter_map(Weak::upgrade).collect();
        let here = relocations.iter().filter(|relocation| relocation.is_to(home));
        let size = |relocation: &Arc<Relocation>| {
            let progress = relocation.progress()?;
            let partition = relocation.partition().clone();
            Some(LogSize { partition, bytes: progress.bytes, behind: Some(progress.lag) })
        };
        here.filter_map(size).collect()
    }

    fn start_threads(&self) -> Result<(), Error> {
        for home in &self.homes {
            let directory = home.directory.clone();
            let mut ring = Ring::probe(&self.disk, self.settings.io_uring);
            let thread = task::spawn_thread("log-disk", move || {
                while directory.wait_for_work() {
                    writer::turn(&directory, &mut ring);
                }
            });
            let thread = thread.map_err(|error| Error::io(&home.directory.path, error))?;
            self.disk_threads.lock().push(thread);
            home.directory.thread_started();
        }
        Ok(())
    }

    fn start_tasks(&self) {
        for home in &self.homes {
            let directory = home.directory.clone();
            let task = task::spawn("log-disk", async move {
                loop {
                    directory.listed().await;
                    directory.drive();
                }
            });
            self.disk_tasks.lock().push(task);
        }
    }

    /// Starts the cleaner threads that are missing.
    fn start_cleaners(self: &Arc<Inner>) -> Result<(), Error> {
        let mut running = self.cleaner_threads.lock();
        for number in running.len()..self.cleaner.threads() {
            let (cleaner, inner) = (self.cleaner.clone(), Arc::downgrade(self));
            let thread = task::spawn_thread("log-cleaner", move || {
                process::lower_priority(CLEANER_NICENESS);
                loop {
                    let Some(inner) = inner.upgrade() else { return };
                    // One beyond their number rests, should there be more of them again.
                    let cleaned = number < cleaner.threads() && cleaner.clean_dirtiest(&inner.homes);
                    drop(inner);
                    let pause = if cleaned { Duration::ZERO } else { cleaner.backoff() };
                    if !cleaner.wait(pause) {
                        return;
                    }
                }
            });
            let thread = thread.map_err(|error| Error::io(&self.settings.metadata_log_dir, error))?;
            running.push(thread);
        }
        Ok(())
    }

    /// In place of threads: one task.
    fn start_cleaner_task(self: &Arc<Inner>) {
        if self.cleaner.threads() == 0 {
            return;
        }
        let inner = self.clone();
        *self.cleaner_task.lock() = Some(task::spawn("log-cleaner", async move {
            loop {
                inner.clock.sleep(inner.cleaner.backoff()).await;
                let cleaning = inner.clone();
                let clean = move || while cleaning.cleaner.clean_dirtiest(&cleaning.homes) {};
                task::run_blocking(clean).await;
            }
        }));
    }

    /// Ends compaction: a run under way leaves its log as it is.
    fn end_cleaners(&self) {
        self.cleaner.stop();
        let task = self.cleaner_task.lock().take();
        if let Some(task) = task {
            task.abort();
        }
        let threads = std::mem::take(&mut *self.cleaner_threads.lock());
        threads.into_iter().for_each(Thread::join);
    }

    fn start_upkeep(self: &Arc<Inner>, wanted: &Arc<Notify>, shutdown: Shutdown) {
        let (inner, wanted) = (self.clone(), wanted.clone());
        *self.upkeep.lock() = Some(task::spawn("log-upkeep", async move {
            while !shutdown.is_triggered() {
                let tended = inner.clone();
                let next = task::run_blocking(move || tended.tend()).await;
                tokio::select! {
                    biased;
                    () = shutdown.triggered() => {}
                    () = wanted.notified() => {}
                    () = inner.clock.sleep_until(next) => {}
                }
            }
        }));
    }

    fn drive_disks(&self) -> bool {
        self.homes.iter().fold(false, |worked, home| home.directory.drive() | worked)
    }

    pub(crate) fn open_existing(
        &self,
        home: &Arc<Home>,
        (partition, topic_id): (&TopicPartition, TopicId),
        found: FoundFolder,
        config: Arc<TopicConfig>,
    ) -> Result<Arc<Log>, Error> {
        if found.topic_id.is_none() {
            write_partition_metadata(&self.disk, &found.path, topic_id)?;
        }
        let place = Place::new(found.path);
        let recovered = home.unopened.lock().recovered.remove(partition);
        let recovered = match recovered {
            Some(Ok(recovered)) => recovered,
            Some(Err(error)) => {
                // Tried again where there was no room, and never taken for a log that was closed in good order.
                let again = if error.may_pass() { home.recover_one(partition) } else { Err(error) };
                again.inspect_err(|error| {
                    home.unopened.lock().recovered.insert(partition.clone(), Err(error.clone()));
                })?
            }
            None => open_clean(home, partition, &place)?,
        };
        let high_watermark = home.unopened.lock().high_watermarks.get(partition).copied();
        let log = Log::assemble(
            (partition.clone(), topic_id),
            (home.directory.clone(), place),
            config,
            recovered,
            high_watermark.unwrap_or(Offset::ZERO),
        );
        home.forget(partition);
        home.directory.open.lock().insert(partition.clone(), log.clone());
        Ok(log)
    }

    fn create(
        &self,
        partition: &TopicPartition,
        topic_id: TopicId,
        config: Arc<TopicConfig>,
    ) -> Result<Arc<Log>, Error> {
        let home = self.choose_home(partition)?;
        home.directory.check_in_place()?;
        home.directory.checkpoints.remove(&home.directory, partition)?;
        let path = home.directory.path.join(layout::folder_name(partition));
        let made = durable::create_dir(&self.disk, &path).map_err(|error| Error::io(&path, error));
        let made = made.and_then(|()| write_partition_metadata(&self.disk, &path, topic_id));
        if let Err(error) = made {
            // Half a folder belongs to nobody; when it cannot be removed either, the next start sets it aside.
            if let Err(left) = self.disk.remove_dir_all(&path) {
                tracing::warn!(path = %path.display(), error = %left, "cannot remove an unfinished partition");
            }
            return Err(error);
        }
        let place = Place::new(path);
        let segments = vec![Segment::fresh(place.clone(), Offset::ZERO)];
        let fresh = Recovered { segments, start: Offset::ZERO, end: Offset::ZERO };
        let identity = (partition.clone(), topic_id);
        let log = Log::assemble(identity, (home.directory.clone(), place), config, fresh, Offset::ZERO);
        home.directory.open.lock().insert(partition.clone(), log.clone());
        Ok(log)
    }

    /// The error of a directory that is offline, if there is one.
    fn refuse_while_offline(&self) -> Result<(), Error> {
        if let Some((path, reason)) = self.failed.first() {
            return Err(Error::Offline { dir: path.as_path().into(), reason: reason.clone() });
        }
        self.homes.iter().try_for_each(|home| home.directory.check())
    }

    fn choose_home(&self, partition: &TopicPartition) -> Result<&Arc<Home>, Error> {
        let is_metadata = &*partition.topic == METADATA_TOPIC;
        let own = self.homes.iter().find(|home| *home.directory.path == *self.settings.metadata_log_dir);
        if let Some(home) = own.filter(|_| is_metadata) {
            home.directory.check()?;
            return Ok(home);
        }
        let preferred = self.preferred.lock().remove(partition);
        let wanted = self.homes.iter().find(|home| preferred == Some(home.directory.id));
        if let Some(home) = wanted.filter(|home| home.directory.check().is_ok()) {
            return Ok(home);
        }
        let count = |home: &Home| home.directory.open.lock().len() + home.unopened.lock().found.len();
        let cordoned = self.cordoned.lock().clone();
        let online = self.homes.iter().filter(|home| home.directory.check().is_ok());
        // Where the cluster wants one here although all are cordoned, it has to go somewhere.
        online
            .min_by_key(|home| (cordoned.contains(&home.directory.id), count(home)))
            .ok_or(Error::NoDirectory)
    }
}

/// The ids of the directories at these paths.
fn of_paths(homes: &[Arc<Home>], paths: &[PathBuf]) -> Vec<DirectoryId> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let wanted: Vec<PathBuf> = paths.iter().map(|path| absolute(path)).collect();
    let homes = homes.iter().filter(|home| wanted.contains(&absolute(&home.directory.path)));
    homes.map(|home| home.directory.id).collect()
}

pub(crate) const METADATA_TOPIC: &str = "__cluster_metadata";

impl Home {
    fn has_unopened(&self, partition: &TopicPartition) -> bool {
        self.unopened.lock().found.contains_key(partition)
    }

    /// A partition is open (or gone): it is no longer among the unopened.
    pub(crate) fn forget(&self, partition: &TopicPartition) {
        let mut unopened = self.unopened.lock();
        unopened.found.remove(partition);
        unopened.recovered.remove(partition);
        unopened.recovery_points.remove(partition);
        unopened.log_starts.remove(partition);
        unopened.high_watermarks.remove(partition);
    }

    fn close(self: &Arc<Home>, broker_epoch: i64) {
        let mut clean = true;
        for recovered in self.unopened.lock().recovered.values() {
            // A partition that could not be recovered, or not be made safe, is looked at again by the next start.
            clean &= recovered.as_ref().is_ok_and(|recovered| {
                recovered.segments.iter().all(|segment| segment.sync_length(&self.directory).is_ok())
            });
        }
        clean &= self.close_logs(if self.directory.is_driven() { 1 } else { CLOSE_THREADS });
        // A clean start takes a log's end from its checkpoint, so a stale one must not be trusted.
        clean &= self.write_recovery_points();
        clean &= self.write_log_starts();
        clean &= self.write_high_watermarks();
        if clean
            && self.directory.check().is_ok()
            && let Err(error) = self.write_clean_mark(broker_epoch)
        {
            tracing::warn!(directory = %self.directory.path.display(), %error, "cannot mark the clean shutdown");
        }
    }
}

/// A log after a clean shutdown: listed, not read. Without a checkpoint that fits, it is recovered after all.
fn open_clean(home: &Home, partition: &TopicPartition, place: &Arc<Place>) -> Result<Recovered, Error> {
    let (start, checkpoint) = {
        let unopened = home.unopened.lock();
        let start = unopened.log_starts.get(partition).copied().unwrap_or(Offset::ZERO);
        (start, unopened.recovery_points.get(partition).copied())
    };
    open_known(home, partition, place, (start, checkpoint))
}

/// A folder of which its checkpoints say where the log starts and ends.
pub(crate) fn open_known(
    home: &Home,
    partition: &TopicPartition,
    place: &Arc<Place>,
    (start, checkpoint): (Offset, Option<Offset>),
) -> Result<Recovered, Error> {
    let listing = load::list(&home.directory, place)?;
    let Some(first_base) = listing.segments.first().map(|segment| segment.base) else {
        let known = start.max(checkpoint.unwrap_or(Offset::ZERO));
        return Ok(Recovered::without_segments(place, &listing.snapshots, known));
    };
    let start = load::credible_start(&home.directory, place, start, first_base)?.max(first_base);
    let last = listing.segments.last().cloned();
    let fits = |end: &Offset| {
        let last_fits = last
            .as_ref()
            .is_some_and(|last| if last.size() == 0 { *end == last.base } else { *end > last.base });
        last_fits && *end >= start
    };
    match checkpoint.filter(fits) {
        Some(end) => Ok(Recovered { segments: listing.segments, start, end }),
        None => {
            let cleaned = home.directory.checkpoints.get(layout::CLEANER_OFFSETS, partition);
            let recovery_point = checkpoint.unwrap_or(Offset::ZERO);
            recover(
                &home.directory,
                place,
                Known { start, recovery_point, cleaned: cleaned.unwrap_or(Offset::ZERO) },
            )
        }
    }
}

type Opened = (Vec<Home>, Vec<(PathBuf, Arc<str>)>, String);

fn open_homes(services: &Services, settings: &StorageSettings) -> Result<Opened, Error> {
    let owner = Owner { node_id: settings.node_id, cluster_id: settings.cluster_id.clone() };
    let mut failed: Vec<(PathBuf, Error)> = Vec::new();
    let mut locked = Vec::new();
    for path in directories(settings) {
        match home::lock(services, &path, &owner) {
            Ok(home) => locked.push(home),
            Err(error @ Error::Io { .. }) => failed.push((path, error)),
            Err(error) => return Err(error),
        }
    }
    let known = locked.iter().find_map(|home| home.meta.as_ref().map(|meta| meta.0.cluster_id.clone()));
    if known.is_none() {
        refuse_unnamed_data(services, &locked, owner.cluster_id.as_deref())?;
    }
    let cluster_id = owner
        .cluster_id
        .or(known)
        .unwrap_or_else(|| TopicId::random_from(crate::io::random::uuid).to_string());
    let mut homes = Vec::new();
    for locked in locked {
        let path = locked.path.clone();
        match locked.open(services, &cluster_id, owner.node_id) {
            Ok(home) => homes.push(home),
            Err(error @ Error::Io { .. }) => failed.push((path, error)),
            Err(error) => return Err(error),
        }
    }
    for (path, error) in &failed {
        tracing::error!(directory = %path.display(), %error, "log directory is offline");
    }
    if homes.is_empty() {
        return Err(failed.into_iter().next().map_or(Error::NoDirectory, |failed| failed.1));
    }
    let failed = failed.into_iter().map(|(path, error)| (path, error.to_string().into())).collect();
    Ok((homes, failed, cluster_id))
}

/// Data of which nobody says whose it is does not become another cluster's in silence. Apache Kafka does not start
/// without `meta.properties` at all.
fn refuse_unnamed_data(
    services: &Services,
    locked: &[Locked],
    cluster_id: Option<&str>,
) -> Result<(), Error> {
    for home in locked {
        let Some(folder) = home.holds_partition(services)? else { continue };
        let path = home.path.join(layout::META_PROPERTIES);
        match cluster_id {
            Some(cluster_id) => {
                tracing::warn!(file = %path.display(), folder, cluster_id, "the file is gone, the data counts as that of the cluster that cluster.id names");
            }
            None => {
                let reason = format!(
                    "the file is gone, but {folder} lies beside it: whose data it is cannot be told. Bring the \
                     file back, or set cluster.id to the id that the cluster had"
                );
                return Err(Error::Meta { path, reason });
            }
        }
    }
    Ok(())
}

/// The log directories, and the metadata log's when it is another one.
fn directories(settings: &StorageSettings) -> Vec<PathBuf> {
    let mut paths = settings.log_dirs.clone();
    if !paths.contains(&settings.metadata_log_dir) {
        paths.push(settings.metadata_log_dir.clone());
    }
    paths
}

/// A partition has one folder. Folders of two topics that had the name one after the other are no duplicates: one was
/// deleted while its directory was offline, and is set aside when the cluster's image is known.
fn refuse_duplicates(homes: &[Home]) -> Result<(), Error> {
    let mut seen: HashMap<TopicPartition, Vec<FoundFolder>> = HashMap::new();
    for home in homes {
        for (partition, found) in &home.unopened.lock().found {
            let others = seen.entry(partition.clone()).or_default();
            let same = |other: &&FoundFolder| {
                other.topic_id.is_none() || found.topic_id.is_none() || other.topic_id == found.topic_id
            };
            if let Some(other) = others.iter().find(same) {
                let (partition, first) = (partition.to_string(), other.path.clone());
                return Err(Error::Duplicate { partition, first, second: found.path.clone() });
            }
            others.push(found.clone());
        }
    }
    Ok(())
}

/// Recovers the directories that were not closed in good order, each on its own threads.
fn recover_unclean(homes: &[Arc<Home>], settings: &StorageSettings, threads: Threads) -> Result<(), Error> {
    let per_home = match threads {
        Threads::Own => usize::try_from(settings.recovery_threads).unwrap_or(1).max(1),
        Threads::Tasks | Threads::Driven => 1,
    };
    let mut running = Vec::new();
    for home in homes {
        if home.take_clean_mark()? {
            continue;
        }
        let recover = {
            let home = home.clone();
            move || {
                if let Err(error) = home.recover_all(per_home) {
                    home.directory.fail(&format!("recovery failed: {error}"));
                }
                home.write_recovery_points();
            }
        };
        if threads == Threads::Own && homes.len() > 1 {
            let thread = task::spawn_thread("log-recovery", recover);
            running.push(thread.map_err(|error| Error::io(&home.directory.path, error))?);
        } else {
            recover();
        }
    }
    running.into_iter().for_each(Thread::join);
    Ok(())
}

fn check_topic_id(path: &Path, found: Option<TopicId>, expected: TopicId) -> Result<(), Error> {
    match found.filter(|found| *found != expected) {
        None => Ok(()),
        Some(found) => Err(Error::WrongTopicId {
            path: path.to_owned(),
            found: found.to_string(),
            expected: expected.to_string(),
        }),
    }
}

/// Whether a partition's folder is as it is before the first append: nothing but its metadata is in it.
fn holds_no_segment(disk: &Disk, folder: &Path) -> Result<bool, Error> {
    let entries = disk.list(folder).map_err(|error| Error::io(folder, error))?;
    Ok(entries.iter().all(|entry| {
        let name = entry.name.to_string_lossy();
        !entry.is_dir && name.trim_end_matches(".tmp") == layout::PARTITION_METADATA
    }))
}

pub(crate) fn write_partition_metadata(disk: &Disk, folder: &Path, topic_id: TopicId) -> Result<(), Error> {
    let file = folder.join(layout::PARTITION_METADATA);
    let text = checkpoint::encode_partition_metadata(topic_id);
    checkpoint::write_text(disk, &file, &text).map_err(|error| Error::io(&file, error))
}
