//! Waiting for an append: until it is written, until it is on stable storage, until there is room for another.

use crate::base::Offset;
use crate::log::Core;
use crate::log::Log;
use crate::log::append::Appended;
use crate::log::error::Error;

/// How far a log has come; published on every change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The log end offset: written, and visible to readers.
    pub(crate) end: Offset,
    /// Below it everything is on stable storage.
    pub(crate) synced: Offset,
    /// The log's directory is offline, or the log is closed: nothing will come any more.
    pub(crate) ended: bool,
    pub(crate) generation: u64,
}

/// What an append is waited for.
#[derive(Clone, Copy, Debug)]
enum Level {
    Written,
    Synced,
}

impl Log {
    /// Waits until the append is in its file (it survives the end of this process). Where `flush.messages` asks for
    /// it, until it is synced.
    ///
    /// # Errors
    /// [`Error::TakenBack`] or [`Error::Full`] when it was taken back, [`Error::Offline`], [`Error::Closed`].
    pub async fn written(&self, append: &Appended) -> Result<(), Error> {
        let level = if append.flush { Level::Synced } else { Level::Written };
        self.reached(append, level).await
    }

    /// Whether [`Log::written`] has nothing to wait for and no error to tell. The log's end alone would not say: another
    /// append may have taken the place of one that was taken back.
    pub fn is_written(&self, append: &Appended) -> bool {
        let level = if append.flush { Level::Synced } else { Level::Written };
        matches!(self.outcome(append, level), Some(Ok(())))
    }

    /// Waits until the append is on stable storage. It must have been made with `sync`.
    ///
    /// # Errors
    /// As [`Log::written`].
    pub async fn synced(&self, append: &Appended) -> Result<(), Error> {
        self.reached(append, Level::Synced).await
    }

    /// Waits until every append made before this call is in its file or was taken back, and tells the log end offset
    /// then: unless somebody has appended since, the next append goes there.
    ///
    /// # Errors
    /// [`Error::Offline`], [`Error::Closed`].
    pub async fn settled(&self) -> Result<Offset, Error> {
        let mut watch = self.progress.subscribe();
        let (mut target, mut generation) = self.next()?;
        loop {
            let end = self.log_end_offset();
            if end >= target {
                return Ok(end);
            }
            if watch.changed().await.is_err() {
                return Err(Error::Closed);
            }
            let (next, now) = self.next()?;
            if now != generation {
                (target, generation) = (next, now);
            }
        }
    }

    /// The next append's offset, and how often appends were taken back.
    fn next(&self) -> Result<(Offset, u64), Error> {
        self.check_online()?;
        let core = self.core.lock();
        if core.closed { Err(Error::Closed) } else { Ok((core.next, core.generation)) }
    }

    /// Whether [`Log::room`] would not wait.
    pub fn has_room(&self) -> bool {
        self.directory.has_room()
    }

    /// Waits until the directory's queue of unwritten bytes has room. Whoever appends what came from a connection
    /// waits for this first, so that a slow disk slows its clients and takes no memory.
    pub async fn room(&self) {
        self.directory.room().await;
    }

    async fn reached(&self, append: &Appended, level: Level) -> Result<(), Error> {
        if let Some(outcome) = self.outcome(append, level) {
            return outcome;
        }
        let mut watch = self.progress.subscribe();
        loop {
            // The watch was subscribed before this look, so no change is missed.
            if let Some(outcome) = self.outcome(append, level) {
                return outcome;
            }
            if watch.changed().await.is_err() {
                return Err(Error::Closed);
            }
        }
    }

    fn outcome(&self, append: &Appended, level: Level) -> Option<Result<(), Error>> {
        let progress = *self.progress.borrow();
        if let Err(offline) = self.check_online() {
            return Some(Err(offline));
        }
        if progress.generation != append.generation && self.was_taken_back(append) {
            return Some(Err(Error::TakenBack));
        }
        let reached = match level {
            Level::Written => progress.end,
            Level::Synced => progress.synced,
        };
        if reached >= append.end_offset {
            return Some(Ok(()));
        }
        progress.ended.then_some(Err(Error::Closed))
    }

    /// Whether a failure or truncation since the append took it back. What is too long ago to know counts as taken
    /// back: the client tries again and meets its duplicate.
    fn was_taken_back(&self, append: &Appended) -> bool {
        let core = self.core.lock();
        if core.generation == append.generation {
            return false;
        }
        let known = core.taken_back.front().is_some_and(|first| first.0 <= append.generation);
        let since = core.taken_back.iter().filter(|entry| entry.0 >= append.generation);
        !known || since.map(|entry| entry.1).min().is_none_or(|kept| append.end_offset > kept)
    }

    /// Publishes how far the log has come; called under its lock.
    pub(crate) fn announce(&self, core: &Core) {
        self.progress.send_replace(Progress {
            end: self.published.offset(),
            synced: core.synced.min(self.published.offset()),
            ended: core.closed || self.directory.check().is_err(),
            generation: core.generation,
        });
    }

    /// The directory failed: everybody who waits looks again.
    pub(crate) fn announce_failure(&self) {
        self.progress.send_modify(|progress| progress.ended = true);
    }
}
