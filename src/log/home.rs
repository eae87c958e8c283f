//! One log directory as [`Dirs`](crate::log::Dirs) keeps it: its lock, the partitions found in it, its checkpoints.

use crate::base::BrokerId;
use crate::base::Offset;
use crate::base::TopicId;
use crate::base::TopicPartition;
use crate::io::disk::DirLock;
use crate::io::durable;
use crate::io::task;
use crate::log::Log;
use crate::log::checkpoint;
use crate::log::checkpoint::Offsets;
use crate::log::checkpoints;
use crate::log::directory::Directory;
use crate::log::directory::Services;
use crate::log::directory::Trash;
use crate::log::dirs::METADATA_TOPIC;
use crate::log::error::Error;
use crate::log::layout;
use crate::log::layout::Folder;
use crate::log::meta::DirectoryId;
use crate::log::meta::Meta;
use crate::log::recover::Known;
use crate::log::recover::Recovered;
use crate::log::recover::recover;
use crate::log::segment::Place;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

/// A partition's folder that is not open (yet).
#[derive(Clone, Debug)]
pub(crate) struct FoundFolder {
    pub(crate) topic_id: Option<TopicId>,
    pub(crate) path: PathBuf,
}

/// What is known of partitions that are not open.
#[derive(Debug, Default)]
pub(crate) struct Unopened {
    /// The broker's epoch at the last clean shutdown.
    pub(crate) broker_epoch: Option<i64>,
    pub(crate) found: BTreeMap<TopicPartition, FoundFolder>,
    /// Copies that were being made by the process before this one.
    pub(crate) futures: Vec<(TopicPartition, PathBuf)>,
    pub(crate) recovered: BTreeMap<TopicPartition, Result<Recovered, Error>>,
    pub(crate) recovery_points: Offsets,
    /// The recovery points as the last process left them, also of partitions that are gone.
    pub(crate) promised: Offsets,
    pub(crate) log_starts: Offsets,
    pub(crate) high_watermarks: Offsets,
}

/// One log directory.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) directory: Arc<Directory>,
    pub(crate) unopened: Mutex<Unopened>,
    /// Held until the directory is closed.
    pub(crate) lock: Mutex<Option<DirLock>>,
}

/// Whose directory it must be.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) node_id: BrokerId,
    pub(crate) cluster_id: Option<String>,
}

/// A directory that is locked and whose `meta.properties` was read.
pub(crate) struct Locked {
    pub(crate) path: PathBuf,
    pub(crate) meta: Option<(Meta, bool)>,
    lock: DirLock,
}

/// Makes, locks and identifies a log directory.
pub(crate) fn lock(services: &Services, path: &Path, owner: &Owner) -> Result<Locked, Error> {
    let disk = &services.disk;
    let io = |error| Error::io(path, error);
    if disk.stat(path).map_err(io)?.is_none() {
        durable::create_dir(disk, path).map_err(io)?;
    }
    let lock = disk.lock(path).map_err(io)?.ok_or_else(|| Error::Locked(path.to_owned()))?;
    let file = path.join(layout::META_PROPERTIES);
    let wrong = |reason: String| Error::Meta { path: file.clone(), reason };
    let text = checkpoint::read_text(disk, &file).map_err(|error| Error::io(&file, error))?;
    let meta = match text {
        Some(text) => {
            let meta = Meta::parse(&text).map_err(wrong)?;
            if meta.node_id != owner.node_id {
                return Err(wrong(format!("node.id {} does not match {}", meta.node_id, owner.node_id)));
            }
            Some((meta, Meta::has_directory_id(&text)))
        }
        None => None,
    };
    Ok(Locked { path: path.to_owned(), meta, lock })
}

impl Locked {
    /// A folder in it that belongs to a broker, if there is one.
    pub(crate) fn holds_partition(&self, services: &Services) -> Result<Option<String>, Error> {
        let entries = services.disk.list(&self.path).map_err(|error| Error::io(&self.path, error))?;
        let folders = entries.into_iter().filter(|entry| entry.is_dir);
        let mut names = folders.map(|entry| entry.name.to_string_lossy().into_owned());
        Ok(names.find(|name| matches!(Folder::parse(name), Folder::Partition(_))))
    }

    /// Opens the directory for the cluster it belongs to from now on.
    pub(crate) fn open(
        self,
        services: &Services,
        cluster_id: &str,
        node_id: BrokerId,
    ) -> Result<Home, Error> {
        let file = self.path.join(layout::META_PROPERTIES);
        let meta = match self.meta {
            Some((meta, _)) if meta.cluster_id != cluster_id => {
                let reason = format!("cluster.id {} does not match {cluster_id}", meta.cluster_id);
                return Err(Error::Meta { path: file, reason });
            }
            Some((meta, true)) => meta,
            known => {
                let meta = known.map_or_else(
                    || Meta {
                        cluster_id: cluster_id.to_owned(),
                        node_id,
                        directory_id: DirectoryId::random(),
                    },
                    |known| known.0,
                );
                let text = meta.encode(services.clock.wall());
                checkpoint::write_text(&services.disk, &file, &text)
                    .map_err(|error| Error::io(&file, error))?;
                meta
            }
        };
        let directory = Directory::new(&self.path, meta.directory_id, services);
        let home =
            Home { directory, unopened: Mutex::new(Unopened::default()), lock: Mutex::new(Some(self.lock)) };
        home.find()?;
        Ok(home)
    }
}

impl Home {
    /// Reads what is in the directory: partitions, leftovers, checkpoints. Foreign entries are left alone.
    fn find(&self) -> Result<(), Error> {
        let directory = &self.directory;
        let path = &directory.path;
        let mut unopened = self.unopened.lock();
        for entry in directory.disk.list(path).map_err(|error| Error::io(path, error))? {
            let full = path.join(&entry.name);
            let name = entry.name.to_string_lossy();
            let folder = if entry.is_dir { Folder::parse(&name) } else { Folder::Foreign };
            match folder {
                Folder::Partition(partition) => {
                    let topic_id = self.read_topic_id(&full);
                    unopened.found.insert(partition, FoundFolder { topic_id, path: full });
                }
                Folder::Deleted => {
                    let due = directory.clock.now();
                    directory.trash.lock().push(Trash { due, paths: vec![full] });
                }
                Folder::Future(partition) => {
                    tracing::info!(path = %full.display(), %partition, "found an unfinished move between log directories");
                    unopened.futures.push((partition, full));
                }
                Folder::Stray => {
                    tracing::warn!(path = %full.display(), "leaving a partition that was set aside as it is");
                }
                Folder::Foreign if layout::is_well_known(&name) => {}
                Folder::Foreign => {
                    tracing::warn!(path = %full.display(), "not a partition, leaving it as it is")
                }
            }
        }
        for name in checkpoints::NAMES {
            let mut offsets = self.read_offsets(name)?;
            if name == layout::CLEANER_OFFSETS {
                // A partition that is gone must not leave its offset to a new one of its name.
                offsets.retain(|partition, _| unopened.found.contains_key(partition));
            }
            directory.checkpoints.seed(name, offsets);
        }
        unopened.recovery_points = self.read_offsets(layout::RECOVERY_POINTS)?;
        unopened.promised = unopened.recovery_points.clone();
        unopened.log_starts = self.read_offsets(layout::LOG_STARTS)?;
        unopened.high_watermarks = self.read_offsets(layout::HIGH_WATERMARKS)?;
        let Unopened { found, recovery_points, log_starts, high_watermarks, .. } = &mut *unopened;
        for offsets in [log_starts, high_watermarks] {
            offsets.retain(|partition, _| found.contains_key(partition));
        }
        // What was promised of the metadata log is not forgotten with its folder.
        let kept = |partition: &TopicPartition| found.contains_key(partition) || is_metadata(partition);
        recovery_points.retain(|partition, _| kept(partition));
        Ok(())
    }

    fn read_topic_id(&self, folder: &Path) -> Option<TopicId> {
        let file = folder.join(layout::PARTITION_METADATA);
        match checkpoint::read_text(&self.directory.disk, &file) {
            Ok(Some(text)) => {
                let id = checkpoint::parse_partition_metadata(&text);
                if id.is_none() {
                    tracing::warn!(file = %file.display(), "no topic id in it");
                }
                id
            }
            Ok(None) => None,
            Err(error) => {
                tracing::warn!(file = %file.display(), %error, "cannot read the topic id");
                None
            }
        }
    }

    /// A checkpoint that is not whole counts as empty: then more is recovered than needed. One that the device does
    /// not give is no reason to guess.
    fn read_offsets(&self, name: &str) -> Result<Offsets, Error> {
        let file = self.directory.path.join(name);
        let text = match checkpoint::read_text(&self.directory.disk, &file) {
            Ok(Some(text)) => text,
            Ok(None) => return Ok(Offsets::new()),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => String::new(),
            Err(error) => return Err(Error::io(&file, error)),
        };
        // Apache Kafka leaves the cleaner's empty until something was compacted.
        if text.is_empty() && name == layout::CLEANER_OFFSETS {
            return Ok(Offsets::new());
        }
        Ok(checkpoint::parse_offsets(&text).unwrap_or_else(|| {
            tracing::warn!(file = %file.display(), "not a whole checkpoint, starting without");
            Offsets::new()
        }))
    }

    /// Whether the last process closed the directory in good order. The mark is removed: should this process crash
    /// from now on, the next one recovers.
    pub(crate) fn take_clean_mark(&self) -> Result<bool, Error> {
        let file = self.directory.path.join(layout::CLEAN_SHUTDOWN);
        let io = |error| Error::io(&file, error);
        let text = match checkpoint::read_text(&self.directory.disk, &file) {
            Ok(Some(text)) => Some(text),
            Ok(None) => {
                // The start before this one may have removed the mark and ended before that was safe.
                self.directory.disk.sync_dir(&self.directory.path).map_err(io)?;
                return Ok(false);
            }
            // A mark that is no text was damaged: nothing is known about the files beside it either.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                tracing::warn!(file = %file.display(), "the mark of a clean shutdown is damaged, recovering");
                None
            }
            Err(error) => return Err(io(error)),
        };
        self.unopened.lock().broker_epoch =
            text.as_deref().and_then(checkpoint::parse_clean_shutdown).filter(|epoch| *epoch >= 0);
        durable::remove(&self.directory.disk, &file).map_err(io)?;
        Ok(text.is_some())
    }

    /// Says that the directory was closed in good order (KIP-966: with the broker's epoch).
    pub(crate) fn write_clean_mark(&self, broker_epoch: i64) -> Result<(), Error> {
        let file = self.directory.path.join(layout::CLEAN_SHUTDOWN);
        let text = checkpoint::encode_clean_shutdown(broker_epoch);
        checkpoint::write_text(&self.directory.disk, &file, &text).map_err(|error| Error::io(&file, error))
    }

    /// Closes every open log, on this many threads (a close is a handful of syncs, which the file system joins when
    /// they come together); whether all of them ended in good order.
    pub(crate) fn close_logs(self: &Arc<Home>, threads: usize) -> bool {
        let waiting = Arc::new(Mutex::new(self.directory.logs().into_iter()));
        let mut running = Vec::new();
        let clean = Arc::new(AtomicBool::new(true));
        for _ in 1..threads {
            let (waiting, clean) = (waiting.clone(), clean.clone());
            match task::spawn_thread("log-close", move || close_waiting(&waiting, &clean)) {
                Ok(thread) => running.push(thread),
                Err(error) => tracing::debug!(%error, "no thread to close logs with, going on with fewer"),
            }
        }
        close_waiting(&waiting, &clean);
        running.into_iter().for_each(task::Thread::join);
        clean.load(Ordering::Acquire)
    }

    /// Recovers every partition found, on this many threads.
    pub(crate) fn recover_all(self: &Arc<Home>, threads: usize) -> Result<(), Error> {
        let partitions: Vec<TopicPartition> = self.unopened.lock().found.keys().cloned().collect();
        let total = partitions.len();
        if total == 0 {
            return Ok(());
        }
        tracing::info!(directory = %self.directory.path.display(), partitions = total, "recovering after an unclean shutdown");
        let waiting = Arc::new(Mutex::new(partitions.into_iter()));
        let mut running = Vec::new();
        for _ in 1..threads.min(total) {
            let (home, waiting) = (self.clone(), waiting.clone());
            let thread = task::spawn_thread("log-recovery", move || home.recover_waiting(&waiting, total));
            running.push(thread.map_err(|error| Error::io(&self.directory.path, error))?);
        }
        self.recover_waiting(&waiting, total);
        running.into_iter().for_each(task::Thread::join);
        Ok(())
    }

    fn recover_waiting(&self, waiting: &Mutex<std::vec::IntoIter<TopicPartition>>, total: usize) {
        loop {
            let (partition, left) = {
                let mut waiting = waiting.lock();
                let Some(partition) = waiting.next() else { return };
                (partition, waiting.len())
            };
            let recovered = self.recover_one(&partition);
            if let Err(error) = &recovered {
                tracing::error!(%partition, %error, "cannot recover partition");
            }
            let mut unopened = self.unopened.lock();
            if let Ok(recovered) = &recovered {
                let promised = unopened.promised.get(&partition).filter(|_| is_metadata(&partition)).copied();
                let end = recovered.end.max(promised.unwrap_or(Offset::ZERO));
                unopened.recovery_points.insert(partition.clone(), end);
            }
            unopened.recovered.insert(partition, recovered);
            if left > 0 && left % 1000 == 0 {
                tracing::info!(directory = %self.directory.path.display(), left, total, "recovering");
            }
        }
    }

    /// Recovers one partition's log, from its recovery point on.
    pub(crate) fn recover_one(&self, partition: &TopicPartition) -> Result<Recovered, Error> {
        let (path, start, recovery_point) = {
            let unopened = self.unopened.lock();
            let path = unopened.found.get(partition).map(|found| found.path.clone());
            let offset = |of: &Offsets| of.get(partition).copied().unwrap_or(Offset::ZERO);
            (path, offset(&unopened.log_starts), offset(&unopened.recovery_points))
        };
        let path = path.unwrap_or_else(|| self.directory.path.join(layout::folder_name(partition)));
        let cleaned = self.directory.checkpoints.get(layout::CLEANER_OFFSETS, partition);
        let known = Known { start, recovery_point, cleaned: cleaned.unwrap_or(Offset::ZERO) };
        recover(&self.directory, &Place::new(path), known)
    }

    /// Writes `recovery-point-offset-checkpoint`; whether the file says what it should now.
    pub(crate) fn write_recovery_points(&self) -> bool {
        self.write(
            layout::RECOVERY_POINTS,
            |unopened| &unopened.recovery_points,
            |log| Some(log.recovery_point()),
        )
    }

    /// Writes `log-start-offset-checkpoint`: logs that start above their first segment, as in Kafka.
    pub(crate) fn write_log_starts(&self) -> bool {
        self.write(layout::LOG_STARTS, |unopened| &unopened.log_starts, |log| log.start_to_write())
    }

    /// Writes `replication-offset-checkpoint`.
    pub(crate) fn write_high_watermarks(&self) -> bool {
        self.write(
            layout::HIGH_WATERMARKS,
            |unopened| &unopened.high_watermarks,
            |log| Some(log.high_watermark()),
        )
    }

    /// Writes a checkpoint: what was read for partitions that are not open, and what the open logs say.
    fn write(
        &self,
        name: &'static str,
        of_unopened: impl FnOnce(&Unopened) -> &Offsets,
        of_log: impl Fn(&Log) -> Option<Offset>,
    ) -> bool {
        self.directory.checkpoints.write(&self.directory, name, || {
            let mut offsets = of_unopened(&self.unopened.lock()).clone();
            for log in self.directory.logs() {
                if let Some(offset) = of_log(&log) {
                    offsets.insert(log.partition().clone(), offset);
                }
            }
            offsets
        })
    }
}

fn is_metadata(partition: &TopicPartition) -> bool {
    &*partition.topic == METADATA_TOPIC
}

/// Closes logs until none waits.
fn close_waiting(waiting: &Mutex<std::vec::IntoIter<Arc<Log>>>, clean: &AtomicBool) {
    loop {
        let Some(log) = waiting.lock().next() else { return };
        if let Err(error) = log.close() {
            tracing::warn!(partition = %log.partition(), %error, "not closed in good order");
            clean.store(false, Ordering::Release);
        }
    }
}
