//! Moves a log to another log directory: a copy grows beside it while it serves, and takes its place in one step.
//!
//! ```text
//! other/t-0.<32 hex digits>-future/     the copy
//! other/t-0.<32 hex digits>-future/moved-from    the copy is whole: the directory that it takes the place of
//! other/t-0/moved-from                  the log is here now; what is left in that directory is to be deleted
//! other/t-0/                            done
//! ```
//!
//! A crash before the second line leaves the log where it was, and the copy is made anew. After it both folders hold the
//! same records, for nothing was appended since; the next start ends the move.

use crate::base::Offset;
use crate::base::TopicId;
use crate::base::TopicPartition;
use crate::io::disk::Disk;
use crate::io::disk::Open;
use crate::io::durable;
use crate::log::Dirs;
use crate::log::Log;
use crate::log::checkpoint;
use crate::log::directory::Trash;
use crate::log::dirs::Inner;
use crate::log::dirs::write_partition_metadata;
use crate::log::error::Error;
use crate::log::home::FoundFolder;
use crate::log::home::Home;
use crate::log::layout;
use crate::log::layout::FileName;
use crate::log::layout::Intermediate;
use crate::log::layout::Kind;
use crate::log::meta::DirectoryId;
use crate::log::segment::Segment;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// The file in a copy that is whole.
const MOVED_FROM: &str = "moved-from";
/// Bytes that are read and written at once.
const STEP: usize = 1 << 20;

/// A copy under way. Nothing comes of it before [`Relocation::finish`].
#[derive(Debug)]
pub struct Relocation {
    inner: Arc<Inner>,
    partition: TopicPartition,
    topic_id: TopicId,
    target: Arc<Home>,
    folder: PathBuf,
    copied: Mutex<BTreeMap<Offset, Copied>>,
}

/// How much of a segment is copied. Compaction puts another segment in its place, whose bytes are others.
#[derive(Debug)]
struct Copied {
    segment: Arc<Segment>,
    bytes: u64,
}

/// A copy as it is now, for DescribeLogDirs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    pub(crate) bytes: u64,
    /// Records that are not copied yet, as far as whole segments tell.
    pub(crate) lag: i64,
}

impl Dirs {
    /// The log directory at this path, and whether it works; `None` when the settings have no such directory.
    pub fn directory_at(&self, path: &str) -> Option<(Option<DirectoryId>, bool)> {
        let same = |other: &Path| std::path::absolute(other).is_ok_and(|other| other == Path::new(path));
        let home = self.inner.homes.iter().find(|home| same(&home.directory.path));
        match home {
            Some(home) => Some((Some(home.directory.id), home.directory.check().is_ok())),
            None => self.inner.failed.iter().any(|(failed, _)| same(failed)).then_some((None, false)),
        }
    }

    /// Begins to copy an open log into another directory.
    ///
    /// # Errors
    /// [`Error::NoDirectory`] for a directory that is not open, [`Error::Closed`] for a log that is not,
    /// [`Error::Offline`], [`Error::Io`].
    pub fn begin_move(
        &self,
        partition: &TopicPartition,
        target: DirectoryId,
    ) -> Result<Arc<Relocation>, Error> {
        let inner = &self.inner;
        let log = self.log(partition).ok_or(Error::Closed)?;
        let target = inner.homes.iter().find(|home| home.directory.id == target).ok_or(Error::NoDirectory)?;
        target.directory.check_in_place()?;
        let folder = target.directory.path.join(layout::future_folder_name(partition));
        durable::create_dir(&inner.disk, &folder).map_err(|error| Error::io(&folder, error))?;
        let relocation = Arc::new(Relocation {
            inner: Arc::clone(inner),
            partition: partition.clone(),
            topic_id: log.topic_id(),
            target: Arc::clone(target),
            folder,
            copied: Mutex::default(),
        });
        let mut all = inner.relocations.lock();
        all.retain(|known| known.strong_count() > 0);
        all.push(Arc::downgrade(&relocation));
        Ok(relocation)
    }

    /// Moves that the process before this one did not finish, with the directories they went to. Their copies are thrown
    /// away: they are made anew.
    pub fn unfinished_moves(&self) -> Vec<(TopicPartition, DirectoryId)> {
        let mut all = Vec::new();
        for home in &self.inner.homes {
            let futures = std::mem::take(&mut home.unopened.lock().futures);
            for (partition, path) in futures {
                let due = self.inner.clock.now();
                home.directory.throw_away(Trash { due, paths: vec![path] });
                all.push((partition, home.directory.id));
            }
        }
        all
    }

    /// A partition that does not exist yet shall be made in this directory.
    pub fn prefer(&self, partition: &TopicPartition, directory: DirectoryId) {
        let mut preferred = self.inner.preferred.lock();
        if preferred.len() < PREFERRED_MAX || preferred.contains_key(partition) {
            preferred.insert(partition.clone(), directory);
        }
    }
}

/// Wishes that are kept for partitions that do not exist.
const PREFERRED_MAX: usize = 10_000;

impl Relocation {
    /// The partition.
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// The topic's id.
    pub fn topic_id(&self) -> TopicId {
        self.topic_id
    }

    /// The directory that the log goes to.
    pub fn target(&self) -> DirectoryId {
        self.target.directory.id
    }

    pub(crate) fn is_to(&self, home: &Home) -> bool {
        self.target.directory.id == home.directory.id
    }

    /// `None` once the log is where the copy was to go, or gone.
    pub(crate) fn progress(&self) -> Option<Progress> {
        let log = self.inner.log(&self.partition).filter(|log| log.directory_id() != self.target())?;
        let copied = self.copied.lock();
        let segments = log.view.load_full();
        let whole = |segment: &&Arc<Segment>| {
            copied.get(&segment.base).is_some_and(|done| done.bytes >= segment.size())
        };
        let first_missing = segments.iter().find(|segment| !whole(segment)).map(|segment| segment.base);
        let end = log.log_end_offset();
        let lag = first_missing.map_or(0, |base| end.0.saturating_sub(base.0).max(0));
        Some(Progress { bytes: copied.values().map(|done| done.bytes).sum(), lag })
    }

    /// Copies some more, at most `bytes_max`; how many bytes. None once the copy is as long as the log is.
    ///
    /// # Errors
    /// [`Error::Closed`] when the log is gone, [`Error::Io`].
    pub fn copy_some(&self, bytes_max: u64) -> Result<u64, Error> {
        let log = self.inner.log(&self.partition).ok_or(Error::Closed)?;
        self.target.directory.check()?;
        let mut moved = 0;
        for segment in log.view.load_full().iter() {
            if moved >= bytes_max {
                break;
            }
            moved += self.copy_segment(&log, segment, bytes_max - moved)?;
        }
        Ok(moved)
    }

    fn copy_segment(&self, log: &Log, segment: &Arc<Segment>, bytes_max: u64) -> Result<u64, Error> {
        let mut copied = self.copied.lock();
        let known = copied.get(&segment.base).filter(|known| Arc::ptr_eq(&known.segment, segment));
        let done = known.map_or(0, |known| known.bytes);
        let end = segment.size().min(done.saturating_add(bytes_max));
        if end <= done && known.is_some() || !segment.exists() {
            return Ok(0);
        }
        let path = layout::file_path(&self.folder, segment.base, Kind::Log);
        let failed = |error| Error::io(&path, error);
        let source = match segment.file(&log.directory) {
            Ok(source) => source,
            // Retention or compaction took it away meanwhile: it will not be among the segments next time.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
            Err(error) => return Err(Error::io(&segment.path(Kind::Log), error)),
        };
        let target = self.inner.disk.open(&path, Open::Create).map_err(failed)?;
        if done == 0 {
            target.set_len(0).map_err(failed)?;
        }
        let mut buffer = vec![0; STEP];
        let mut position = done;
        while position < end {
            let length = usize::try_from(end - position).unwrap_or(STEP).min(STEP);
            let part = buffer.get_mut(..length).unwrap_or_default();
            source
                .read_exact_at(part, position)
                .map_err(|error| Error::io(&segment.path(Kind::Log), error))?;
            target.write_at(part, position).map_err(failed)?;
            position = position.saturating_add(u64::try_from(length).unwrap_or(0));
        }
        copied.insert(segment.base, Copied { segment: Arc::clone(segment), bytes: end });
        Ok(end.saturating_sub(done))
    }

    /// Ends the log where it is, copies the rest, and opens it anew in the other directory; where that cannot be done,
    /// in its own. No appends may be under way.
    ///
    /// # Errors
    /// Those of opening the log; then it is open nowhere.
    pub fn finish(&self) -> Result<Arc<Log>, Error> {
        let _changes = self.inner.changes.lock();
        let log = self.inner.log(&self.partition).ok_or(Error::Closed)?;
        let home = self.inner.homes.iter().find(|home| home.directory.id == log.directory_id());
        let home = home.ok_or(Error::NoDirectory)?;
        log.close()?;
        // Nothing may change the old folder from here on.
        let _shape = log.shape.lock();
        let placed = match self.place(&log) {
            Ok(path) => (&self.target, path),
            Err(error) => {
                tracing::warn!(partition = %self.partition, %error, "a log stays in its directory");
                self.throw_away();
                (home, log.path().to_path_buf())
            }
        };
        let places = self.inner.places.lock();
        home.directory.open.lock().remove(&self.partition);
        let moved = !Arc::ptr_eq(placed.0, home);
        if moved {
            tracing::info!(partition = %self.partition, from = %log.path().display(),
                to = %self.target.directory.path.display(), "moved a log to another directory");
            self.leave(home, &log);
        }
        let found = FoundFolder { topic_id: Some(self.topic_id), path: placed.1 };
        {
            let mut unopened = placed.0.unopened.lock();
            unopened.found.insert(self.partition.clone(), found.clone());
            unopened.recovery_points.insert(self.partition.clone(), log.log_end_offset());
            unopened.log_starts.insert(self.partition.clone(), log.log_start_offset());
            unopened.high_watermarks.insert(self.partition.clone(), log.high_watermark());
        }
        let identity = (&self.partition, self.topic_id);
        let opened = self.inner.open_existing(placed.0, identity, found, log.config());
        drop(places);
        // Written soon, a crash does not have all of it read again.
        placed.0.write_recovery_points();
        placed.0.write_log_starts();
        placed.0.write_high_watermarks();
        opened
    }

    /// Completes the copy, makes it safe, and gives it the partition's name; its path then.
    fn place(&self, log: &Log) -> Result<PathBuf, Error> {
        let segments = log.view.load_full();
        for segment in segments.iter() {
            self.copy_segment(log, segment, u64::MAX)?;
        }
        let disk = &self.inner.disk;
        let list = |path: &Path| disk.list(path).map_err(|error| Error::io(path, error));
        let kept = |name: &str| match FileName::parse(name) {
            Some(file) if file.state != Intermediate::None => false,
            Some(file) if file.kind == Kind::Snapshot => true,
            Some(file) => segments.iter().any(|segment| segment.base == file.base),
            None => !name.ends_with(".tmp"),
        };
        // What was copied of segments that have gone.
        for entry in list(&self.folder)?.iter().filter(|entry| !kept(&entry.name.to_string_lossy())) {
            let path = self.folder.join(&entry.name);
            disk.remove_file(&path).map_err(|error| Error::io(&path, error))?;
        }
        let from = log.path();
        for entry in list(&from)?.iter().filter(|entry| !entry.is_dir) {
            let name = entry.name.to_string_lossy();
            let is_log = FileName::parse(&name).is_some_and(|file| file.kind == Kind::Log);
            if !is_log && kept(&name) && name != MOVED_FROM {
                copy_file(disk, &from.join(&entry.name), &self.folder.join(&entry.name))?;
            }
        }
        write_partition_metadata(disk, &self.folder, self.topic_id)?;
        for entry in list(&self.folder)? {
            let path = self.folder.join(&entry.name);
            let synced = disk.open(&path, Open::ReadWrite).and_then(|file| file.sync_all());
            synced.map_err(|error| Error::io(&path, error))?;
        }
        disk.sync_dir(&self.folder).map_err(|error| Error::io(&self.folder, error))?;
        self.target.directory.checkpoints.remove(&self.target.directory, &self.partition)?;
        let mark = self.folder.join(MOVED_FROM);
        let text = format!("{}\n", log.directory_id());
        checkpoint::write_text(disk, &mark, &text).map_err(|error| Error::io(&mark, error))?;
        let path = self.target.directory.path.join(layout::folder_name(&self.partition));
        durable::rename(disk, &self.folder, &path).map_err(|error| Error::io(&path, error))?;
        Ok(path)
    }

    /// Takes what is left out of the old directory, and says that the move is done.
    fn leave(&self, home: &Home, log: &Log) {
        let old = log.path();
        let to = home.directory.path.join(layout::deleted_folder_name(&self.partition));
        let left = durable::rename(&self.inner.disk, &old, &to);
        match left {
            Ok(()) => {
                log.place.moved(to.clone());
                let due = self.inner.clock.now();
                home.directory.throw_away(Trash { due, paths: vec![to] });
                let mark =
                    self.target.directory.path.join(layout::folder_name(&self.partition)).join(MOVED_FROM);
                if let Err(error) = durable::remove(&self.inner.disk, &mark) {
                    tracing::warn!(file = %mark.display(), %error, "cannot remove the mark of a move, which is done");
                }
            }
            Err(error) => {
                tracing::warn!(folder = %old.display(), %error, "the next start deletes what is left of a log that moved");
            }
        }
        if let Err(error) = home.directory.checkpoints.remove(&home.directory, &self.partition) {
            tracing::warn!(partition = %self.partition, %error, "cannot remove a partition from the checkpoints");
        }
    }

    /// The copy is not wanted any more.
    pub fn throw_away(&self) {
        let due = self.inner.clock.now();
        self.target.directory.throw_away(Trash { due, paths: vec![self.folder.clone()] });
    }
}

/// Ends moves whose copies were whole when the process before this one ended: what they were moved from is deleted.
pub(crate) fn finish_moves(homes: &[Home]) -> Result<(), Error> {
    for home in homes {
        let moved: Vec<(TopicPartition, FoundFolder, String)> = {
            let unopened = home.unopened.lock();
            let mark = |(partition, found): (&TopicPartition, &FoundFolder)| {
                let text =
                    checkpoint::read_text(&home.directory.disk, &found.path.join(MOVED_FROM)).ok()??;
                Some((partition.clone(), found.clone(), text.trim().to_owned()))
            };
            unopened.found.iter().filter_map(mark).collect()
        };
        for (partition, found, from) in moved {
            let origin = homes.iter().find(|other| other.directory.id.to_string() == from);
            if let Some(origin) = origin {
                leave_behind(origin, &partition, &found)?;
            }
            let mark = found.path.join(MOVED_FROM);
            durable::remove(&home.directory.disk, &mark).map_err(|error| Error::io(&mark, error))?;
        }
    }
    Ok(())
}

fn leave_behind(origin: &Home, partition: &TopicPartition, found: &FoundFolder) -> Result<(), Error> {
    let left = origin.unopened.lock().found.get(partition).cloned();
    let Some(left) = left.filter(|left| left.topic_id == found.topic_id && left.path != found.path) else {
        return Ok(());
    };
    tracing::info!(%partition, folder = %left.path.display(), "finishing a move to another log directory");
    let directory = &origin.directory;
    let to = directory.path.join(layout::deleted_folder_name(partition));
    durable::rename(&directory.disk, &left.path, &to).map_err(|error| Error::io(&left.path, error))?;
    origin.forget(partition);
    directory.throw_away(Trash { due: directory.clock.now(), paths: vec![to] });
    directory.checkpoints.remove(directory, partition)
}

fn copy_file(disk: &Disk, from: &Path, to: &Path) -> Result<(), Error> {
    let source = disk.open(from, Open::Read).map_err(|error| Error::io(from, error))?;
    let target = disk.open(to, Open::Create).map_err(|error| Error::io(to, error))?;
    let length = source.len().map_err(|error| Error::io(from, error))?;
    target.set_len(0).map_err(|error| Error::io(to, error))?;
    let mut buffer = vec![0; STEP];
    let mut position = 0u64;
    while position < length {
        let size = usize::try_from(length - position).unwrap_or(STEP).min(STEP);
        let part = buffer.get_mut(..size).unwrap_or_default();
        source.read_exact_at(part, position).map_err(|error| Error::io(from, error))?;
        target.write_at(part, position).map_err(|error| Error::io(to, error))?;
        position = position.saturating_add(u64::try_from(size).unwrap_or(0));
    }
    Ok(())
}
