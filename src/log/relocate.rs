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

use crate::base::TopicId;
use crate::base::TopicPartition;
use crate::io::disk::Disk;
use crate::io::disk::Open;
use crate::io::durable;
use crate::log::Dirs;
use crate::log::Log;
use crate::log::checkpoint;
use crate::log::copy::Copy;
use crate::log::copy::Progress;
use crate::log::directory::Trash;
use crate::log::dirs::Inner;
use crate::log::dirs::open_known;
use crate::log::error::Error;
use crate::log::home::FoundFolder;
use crate::log::home::Home;
use crate::log::layout;
use crate::log::layout::FileName;
use crate::log::layout::Kind;
use crate::log::meta::DirectoryId;
use crate::log::segment::Place;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering;

/// The file in a copy that is whole.
const MOVED_FROM: &str = "moved-from";

/// A copy under way. Nothing comes of it before [`Relocation::finish`]; the next start begins it anew unless it is given
/// up.
#[derive(Debug)]
pub struct Relocation {
    inner: Arc<Inner>,
    partition: TopicPartition,
    topic_id: TopicId,
    target: Arc<Home>,
    copy: Copy,
    given_up: AtomicBool,
}

impl Drop for Relocation {
    fn drop(&mut self) {
        let mut all = self.inner.relocations.lock();
        // There may be a newer one.
        if all.get(&self.partition).is_some_and(|known| known.strong_count() == 0) {
            all.remove(&self.partition);
        }
    }
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

    /// The open log of a partition, also while it goes from one directory to another.
    pub fn placed(&self, partition: &TopicPartition) -> Option<Arc<Log>> {
        let _places = self.inner.places.lock();
        self.log(partition)
    }

    /// Begins to copy an open log into another directory.
    ///
    /// # Errors
    /// [`Error::NoDirectory`] for a directory that is not open, [`Error::Closed`] for a log that is not, or that lies there,
    /// [`Error::Offline`], [`Error::Io`].
    pub fn begin_move(
        &self,
        partition: &TopicPartition,
        target: DirectoryId,
    ) -> Result<Arc<Relocation>, Error> {
        let inner = &self.inner;
        let log = self.placed(partition).filter(|log| log.directory_id() != target).ok_or(Error::Closed)?;
        let target = inner.homes.iter().find(|home| home.directory.id == target).ok_or(Error::NoDirectory)?;
        target.directory.check_in_place()?;
        let folder = target.directory.path.join(layout::future_folder_name(partition));
        durable::create_dir(&inner.disk, &folder).map_err(|error| Error::io(&folder, error))?;
        let relocation = Arc::new(Relocation {
            inner: Arc::clone(inner),
            partition: partition.clone(),
            topic_id: log.topic_id(),
            target: Arc::clone(target),
            copy: Copy::new(inner.disk.clone(), folder),
            given_up: AtomicBool::new(false),
        });
        inner.relocations.lock().insert(partition.clone(), Arc::downgrade(&relocation));
        Ok(relocation)
    }

    /// Begins the moves anew that the process before this one did not finish; what it copied is thrown away.
    pub fn resume_moves(&self) -> Vec<Arc<Relocation>> {
        let mut all = Vec::new();
        for home in &self.inner.homes {
            let futures = std::mem::take(&mut home.unopened.lock().futures);
            for (partition, path) in futures {
                match self.begin_move(&partition, home.directory.id) {
                    Ok(relocation) => all.push(relocation),
                    Err(error) => {
                        tracing::warn!(%partition, %error, "a move that was not finished is given up")
                    }
                }
                let due = self.inner.clock.now();
                home.directory.throw_away(Trash { due, paths: vec![path] });
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

    /// The copy is not wanted any more, and no later start finds it. False when the log lies there by now.
    pub fn give_up(&self) -> bool {
        let _places = self.inner.places.lock();
        if !self.given_up.swap(true, Ordering::AcqRel) {
            self.throw_away();
        }
        self.inner.log(&self.partition).is_none_or(|log| log.directory_id() != self.target())
    }

    /// Who copies still finds no folder to do so.
    fn throw_away(&self) {
        let directory = &self.target.directory;
        let folder = &self.copy.folder;
        let to = directory.path.join(layout::deleted_folder_name(&self.partition));
        match durable::rename(&self.inner.disk, folder, &to) {
            Ok(()) => directory.throw_away(Trash { due: self.inner.clock.now(), paths: vec![to] }),
            // It has taken the log's place.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                tracing::warn!(folder = %folder.display(), %error, "a copy that is not wanted stays until the next start");
            }
        }
    }

    /// Whether nothing comes of it.
    pub fn is_given_up(&self) -> bool {
        self.given_up.load(Ordering::Acquire)
    }

    /// The log, while it is elsewhere.
    fn source(&self) -> Result<Arc<Log>, Error> {
        let elsewhere =
            |log: &Arc<Log>| log.topic_id() == self.topic_id && log.directory_id() != self.target();
        self.inner.log(&self.partition).filter(elsewhere).ok_or(Error::Closed)
    }

    /// `None` once the log is where the copy was to go, or gone, or the copy is not wanted.
    pub(crate) fn progress(&self) -> Option<Progress> {
        let log = self.source().ok().filter(|_| !self.is_given_up())?;
        Some(self.copy.progress(&log))
    }

    /// Copies some more, at most `bytes_max`; how many bytes. None once the copy is as long as the log is.
    ///
    /// # Errors
    /// [`Error::Closed`] when the log is gone, [`Error::Io`].
    pub fn copy_some(&self, bytes_max: u64) -> Result<u64, Error> {
        let log = self.source()?;
        self.target.directory.check()?;
        self.copy.grow(&log, bytes_max)
    }

    /// Copies the rest and opens the log anew in the other directory. From now on no appends go to the one that was there;
    /// what is there can be read until [`Relocation::clear_away`].
    ///
    /// # Errors
    /// Of the copy, with [`Error::Closed`] when it is not wanted any more; then the log goes on as if nothing had been.
    pub fn finish(&self) -> Result<Arc<Log>, Error> {
        let _changes = self.inner.changes.lock();
        let log = self.source()?;
        let home = self.inner.homes.iter().find(|home| home.directory.id == log.directory_id());
        let home = home.ok_or(Error::NoDirectory)?;
        // Nothing may change the old folder from here on.
        let _shape = log.shape.lock();
        let prepared = log.rest().and_then(|()| self.prepare(&log));
        let moved = prepared.and_then(|moved| self.place(home, moved)).inspect_err(|_| log.resume());
        let moved = moved.map_err(|error| if self.is_given_up() { Error::Closed } else { error })?;
        tracing::info!(partition = %self.partition, from = %log.path().display(),
            to = %self.target.directory.path.display(), "moved a log to another directory");
        Ok(moved)
    }

    /// Ends the log as it was before [`Relocation::finish`], and takes what is left of it away. Who waits to append finds
    /// the one in the new place from now on.
    pub fn clear_away(&self, log: &Log) {
        let _changes = self.inner.changes.lock();
        let _shape = log.shape.lock();
        log.end();
        let home = self.inner.homes.iter().find(|home| home.directory.id == log.directory_id());
        if let Some(home) = home.filter(|_| self.target.directory.check().is_ok()) {
            self.leave(home, log);
        }
        // Written soon, a crash does not have all of it read again.
        self.target.write_recovery_points();
        self.target.write_log_starts();
        self.target.write_high_watermarks();
    }

    /// Completes the copy, and opens it.
    fn prepare(&self, log: &Log) -> Result<Arc<Log>, Error> {
        let (disk, directory) = (&self.inner.disk, &self.target.directory);
        let folder = &self.copy.folder;
        self.copy.complete(log, self.topic_id, MOVED_FROM)?;
        directory.checkpoints.remove(directory, &self.partition)?;
        let place = Place::new(folder.clone());
        let (start, end) = (log.log_start_offset(), log.log_end_offset());
        let recovered = open_known(&self.target, &self.partition, &place, (start, Some(end)))?;
        if (recovered.start, recovered.end) != (start, end) {
            return Err(Error::damaged(folder, 0, "the copy is not what the log is"));
        }
        let identity = (self.partition.clone(), self.topic_id);
        let whereabouts = (Arc::clone(directory), place);
        let moved = Log::assemble(identity, whereabouts, log.config(), recovered, log.high_watermark());
        moved.inherit(log)?;
        let mark = folder.join(MOVED_FROM);
        let text = format!("{}\n", log.directory_id());
        checkpoint::write_text(disk, &mark, &text).map_err(|error| Error::io(&mark, error))?;
        Ok(moved)
    }

    /// Gives the copy the partition's name, and puts it in the log's place.
    fn place(&self, home: &Home, moved: Arc<Log>) -> Result<Arc<Log>, Error> {
        let (disk, directory) = (&self.inner.disk, &self.target.directory);
        let path = directory.path.join(layout::folder_name(&self.partition));
        let _places = self.inner.places.lock();
        if self.is_given_up() {
            return Err(Error::Closed);
        }
        disk.rename(&self.copy.folder, &path).map_err(|error| Error::io(&path, error))?;
        moved.place.moved(path);
        home.directory.open.lock().remove(&self.partition);
        directory.open.lock().insert(self.partition.clone(), Arc::clone(&moved));
        if let Err(error) = disk.sync_dir(&directory.path) {
            // It has the name now, but perhaps not after a loss of power: nothing may be appended to either.
            directory.fail(&format!("sync of {} failed: {error}", directory.path.display()));
        }
        Ok(moved)
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
}

impl Log {
    /// Goes on with what is only in memory of the log whose place this one takes.
    fn inherit(&self, from: &Log) -> Result<(), Error> {
        let core = from.core.lock();
        if let Some(warm) = core.warm.as_ref().filter(|warm| warm.producers.has_verifications()) {
            self.warm(&mut self.core.lock())?.producers.inherit(&warm.producers);
        }
        Ok(())
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
    let directory = &origin.directory;
    // A start without the other directory may have gone on with what was left behind.
    let grew = bytes(&directory.disk, &left.path)? > bytes(&directory.disk, &found.path)?;
    let name =
        if grew { layout::stray_folder_name(partition) } else { layout::deleted_folder_name(partition) };
    let to = directory.path.join(name);
    durable::rename(&directory.disk, &left.path, &to).map_err(|error| Error::io(&left.path, error))?;
    origin.forget(partition);
    if grew {
        tracing::error!(%partition, folder = %to.display(), moved = %found.path.display(),
            "a log went on in the directory that it had left; what is there is set aside");
    } else {
        tracing::info!(%partition, folder = %left.path.display(), "finishing a move to another log directory");
        directory.throw_away(Trash { due: directory.clock.now(), paths: vec![to] });
    }
    directory.checkpoints.remove(directory, partition)
}

/// Bytes of a folder's segments.
fn bytes(disk: &Disk, folder: &Path) -> Result<u64, Error> {
    let mut sum = 0u64;
    for entry in disk.list(folder).map_err(|error| Error::io(folder, error))? {
        let name = entry.name.to_string_lossy();
        if FileName::parse(&name).is_some_and(|file| file.kind == Kind::Log) {
            let path = folder.join(&entry.name);
            let length = disk.open(&path, Open::Read).and_then(|file| file.len());
            sum = sum.saturating_add(length.map_err(|error| Error::io(&path, error))?);
        }
    }
    Ok(sum)
}
