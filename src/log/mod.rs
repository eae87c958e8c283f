//! One partition's bytes on local disk, in Apache Kafka's own layout.
//!
//! Promises:
//! - What [`Log::synced`] confirmed is readable, once and in order, after any crash; what [`Log::written`] confirmed
//!   after a crash of the process. Batches are stored as they came, behind a fresh 16-byte head.
//! - Offsets strictly increase, and the order is fixed when [`Log::append`] returns.
//! - Readers need no lock and never see a half-written batch; a [`FileSlice`](crate::io::FileSlice) keeps its file.
//! - A failed write or sync takes the log directory offline until the process starts anew; only a full device is
//!   forgiven: those appends fail, what was acknowledged stays readable, and appends work again once there is room.
//!
//! Never: knows who leads, who follows, what a consumer or an acknowledgement level is, or what the high watermark
//! means (it only keeps its number, as a bound for retention and compaction).
//!
//! Called by: `replica/` (partitions), `cluster/` (the metadata log), `server/` ([`Dirs`]).

mod aborted_index;
mod append;
mod checkpoint;
mod checkpoints;
mod compact;
mod copy;
mod delete;
mod directory;
mod dirs;
mod door;
mod epochs;
mod error;
mod flush;
mod home;
mod index_cache;
mod layout;
mod load;
mod lookup;
mod meta;
mod offset_index;
mod open_files;
mod pace;
#[cfg(feature = "fuzz")]
pub mod probe;
mod producer_snapshot;
mod producers;
mod prove;
mod published;
mod read;
mod recover;
mod relocate;
mod retention;
mod roll;
mod scan;
mod segment;
mod time_index;
mod truncate;
mod upkeep;
mod wait;
mod writer;

pub use aborted_index::AbortedTransaction;
pub use append::Append;
pub use append::Appended;
pub use compact::Cleaning;
pub use directory::DirectoryState;
#[cfg(feature = "sim")]
pub use directory::Faults;
pub use dirs::Description;
pub use dirs::Dirs;
pub use dirs::Found;
pub use dirs::LogSize;
pub use dirs::Threads;
pub use door::Entry;
pub use error::Error;
pub use error::ProducerError;
pub use lookup::OffsetAtTime;
pub use meta::DirectoryId;
pub use producers::FirstBatch;
pub use producers::Guard;
pub use producers::Origin;
pub use producers::ProducerEntry;
pub use producers::Proof;
pub use read::ReadResult;
pub use relocate::Relocation;
use wait::Progress;

use crate::base::Instant;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::base::TopicPartition;
use crate::config::TopicConfig;
use arc_swap::ArcSwap;
use directory::Directory;
use door::Door;
use epochs::Epochs;
use parking_lot::Condvar;
use parking_lot::Mutex;
use producers::Producers;
use published::End;
use published::Published;
use recover::Recovered;
use segment::Place;
use segment::Segment;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Weak;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicI64;
use std::sync::atomic::Ordering;
use tokio::sync::watch;
use writer::Queued;

/// The ordered segments of a log; the last one is active. Never empty.
pub(crate) type Segments = Vec<Arc<Segment>>;

/// One partition's log. Made by [`Dirs::open_log`]; all methods may be called from any thread.
#[derive(Debug)]
pub struct Log {
    me: Weak<Log>,
    partition: TopicPartition,
    topic_id: TopicId,
    directory: Arc<Directory>,
    place: Arc<Place>,
    config: ArcSwap<TopicConfig>,
    /// The partition's short lock.
    core: Mutex<Core>,
    /// Signalled with the core's lock when a round of writing ends and somebody waits.
    round_ended: Condvar,
    /// Held by whoever flushes, truncates or removes segments; taken before the core's lock.
    shape: Mutex<()>,
    view: ArcSwap<Segments>,
    published: Published,
    start: AtomicI64,
    /// The start that the epochs on stable storage know, with all records before it.
    start_saved: AtomicI64,
    high_watermark: AtomicI64,
    /// Below it everything, indexes included, is on stable storage.
    recovery_point: AtomicI64,
    progress: watch::Sender<Progress>,
    door: Door,
    /// The damaged file that the log of this process named last, so that readers who ask again do not fill it.
    damage_said: Mutex<Option<PathBuf>>,
    /// The end that was found on disk needs no look at the file (any more).
    end_confirmed: AtomicBool,
}

/// What the partition's lock guards.
#[derive(Debug)]
pub(crate) struct Core {
    /// The offset of the next batch: beyond the published end while something is queued.
    next: Offset,
    queue: Vec<Queued>,
    /// Somebody writes this log's queue; only one at a time does.
    writing: bool,
    /// The disk thread has this log on its list.
    listed: bool,
    /// The disk thread met a combining writer and waits for its end.
    disk_waits: bool,
    /// Threads that wait for the end of a round.
    blocked: u32,
    /// Up to here a sync is asked for, and up to here it is done.
    sync_to: Offset,
    synced: Offset,
    /// Segments with bytes that were not synced.
    dirty: Vec<Arc<Segment>>,
    /// Records appended since the last sync (`flush.messages`), and when the last sync was (`flush.ms`).
    unsynced_records: i64,
    last_sync: Instant,
    /// Bytes appended since a flush was last asked for.
    unflushed_bytes: u64,
    /// Counts how often appends were taken back; the ends that held then.
    generation: u64,
    taken_back: VecDeque<(u64, Offset)>,
    /// An epoch that began while the log was not loaded.
    begun: Option<LeaderEpoch>,
    closed: bool,
    /// A copy takes its place: there are no appends meanwhile, and its start stays.
    resting: bool,
    /// The log's next offset when it was last looked at, and how often it has not changed since.
    seen: Offset,
    idle_looks: u32,
    /// What only an active log needs in memory; `None` until the first append (or question) needs it.
    warm: Option<Box<Warm>>,
}

/// The loaded part of a log: producers, epochs, and the growing end of the active segment.
#[derive(Debug)]
pub(crate) struct Warm {
    producers: Producers,
    epochs: Epochs,
    epochs_dirty: bool,
    active: Active,
    /// Producer snapshots taken at rolls, not yet in their files.
    snapshots: Vec<(Offset, Vec<u8>)>,
    /// The index files hold entries that the log no longer has; the next flush writes them anew.
    indexes_stale: bool,
    /// The offset of the newest snapshot that is in its file.
    last_snapshot: Option<Offset>,
}

/// Where the active segment grows; counts what is queued, too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Active {
    position: u64,
    since_entry: u64,
    /// The largest timestamp of the first batch: from it counts `segment.ms`.
    first_timestamp: Option<Timestamp>,
    created: Timestamp,
}

impl Core {
    fn at(end: Offset, now: Instant) -> Core {
        Core {
            next: end,
            queue: Vec::new(),
            writing: false,
            listed: false,
            disk_waits: false,
            blocked: 0,
            sync_to: end,
            synced: end,
            dirty: Vec::new(),
            unsynced_records: 0,
            last_sync: now,
            unflushed_bytes: 0,
            generation: 0,
            taken_back: VecDeque::new(),
            begun: None,
            closed: false,
            resting: false,
            seen: end,
            idle_looks: 0,
            warm: None,
        }
    }
}

impl Log {
    /// A log over what was found (or made) on disk; nothing is read yet.
    fn assemble(
        (partition, topic_id): (TopicPartition, TopicId),
        (directory, place): (Arc<Directory>, Arc<Place>),
        config: Arc<TopicConfig>,
        found: Recovered,
        high_watermark: Offset,
    ) -> Arc<Log> {
        let Recovered { segments, start, end } = found;
        let last = segments.last().cloned().expect("a log has at least one segment");
        let core = Core::at(end, directory.clock.now());
        let progress = Progress { end, synced: end, ended: false, generation: 0 };
        let end_confirmed = AtomicBool::new(last.size() == 0);
        last.proof.note_active();
        Arc::new_cyclic(|me| Log {
            me: me.clone(),
            partition,
            topic_id,
            directory,
            place,
            config: ArcSwap::new(config),
            core: Mutex::new(core),
            round_ended: Condvar::new(),
            shape: Mutex::new(()),
            published: Published::new(End { offset: end, segment: last.base, position: last.size() }),
            view: ArcSwap::from_pointee(segments),
            start: AtomicI64::new(start.0),
            start_saved: AtomicI64::new(start.0),
            high_watermark: AtomicI64::new(high_watermark.clamp(start, end).0),
            recovery_point: AtomicI64::new(end.0),
            progress: watch::Sender::new(progress),
            damage_said: Mutex::new(None),
            door: Door::default(),
            end_confirmed,
        })
    }

    /// Its folder.
    pub(crate) fn path(&self) -> Arc<std::path::Path> {
        self.place.path()
    }

    /// Whether its start lies above its first segment's base: then the start needs a checkpoint.
    fn starts_inside_segment(&self) -> bool {
        let first = self.view.load().first().map(|segment| segment.base);
        first.is_some_and(|base| self.log_start_offset() > base)
    }

    /// The start that its checkpoint may tell; `None` when the first segment's name tells it. Never one that a loss of
    /// power could leave behind the log's end, or before that of the epochs.
    fn start_to_write(&self) -> Option<Offset> {
        let saved = Offset(self.start_saved.load(Ordering::Acquire));
        self.starts_inside_segment().then(|| self.log_start_offset().min(saved))
    }

    /// Makes the start safe, so that its checkpoint may tell it.
    fn save_start(&self) -> Result<(), Error> {
        let saved = Offset(self.start_saved.load(Ordering::Acquire));
        if !self.starts_inside_segment() || self.log_start_offset() <= saved {
            return Ok(());
        }
        self.warm(&mut self.core.lock())?;
        self.flush()
    }

    /// The partition.
    pub fn partition(&self) -> &TopicPartition {
        &self.partition
    }

    /// The topic's id, as `partition.metadata` holds it.
    pub fn topic_id(&self) -> TopicId {
        self.topic_id
    }

    /// The log directory it lies in.
    pub fn directory_id(&self) -> DirectoryId {
        self.directory.id
    }

    /// The topic's settings in force.
    pub fn config(&self) -> Arc<TopicConfig> {
        self.config.load_full()
    }

    /// Puts new settings in force, from the next append on.
    pub fn set_config(&self, config: Arc<TopicConfig>) {
        self.config.store(config);
    }

    /// The first offset that may be read.
    pub fn log_start_offset(&self) -> Offset {
        Offset(self.start.load(Ordering::Acquire))
    }

    /// The offset after the last written record.
    pub fn log_end_offset(&self) -> Offset {
        self.published.offset()
    }

    /// The number last given to [`Log::set_high_watermark`], or read from the checkpoint.
    pub fn high_watermark(&self) -> Offset {
        Offset(self.high_watermark.load(Ordering::Acquire))
    }

    /// Notes the high watermark: a bound for retention and DeleteRecords, the line below which transactions are
    /// stable, and the content of `replication-offset-checkpoint`. Never beyond the log's end.
    pub fn set_high_watermark(&self, offset: Offset) {
        let offset = offset.min(self.log_end_offset());
        if self.high_watermark.swap(offset.0, Ordering::AcqRel) == offset.0 {
            return;
        }
        if let Some(warm) = self.core.lock().warm.as_mut() {
            warm.producers.replicated_to(offset);
        }
    }

    /// Everything below this offset is on stable storage with its indexes; recovery begins here.
    pub fn recovery_point(&self) -> Offset {
        Offset(self.recovery_point.load(Ordering::Acquire))
    }

    /// Bytes of records on disk, in all segments.
    pub fn size_bytes(&self) -> u64 {
        self.view.load().iter().map(|segment| segment.size()).sum()
    }

    /// How many segments there are.
    pub fn segment_count(&self) -> usize {
        self.view.load().len()
    }

    /// Whether its directory works.
    pub fn is_online(&self) -> bool {
        self.directory.check().is_ok()
    }

    /// The largest epoch not above `epoch`, and the offset where it ends (exclusive); `None` when that is not known
    /// here (`UnifiedLog.endOffsetForEpoch`, KIP-101).
    pub fn epoch_end(&self, epoch: LeaderEpoch) -> Result<Option<(LeaderEpoch, Offset)>, Error> {
        let mut core = self.core.lock();
        let end = self.log_end_offset();
        Ok(self.warm(&mut core)?.epochs.end_of(epoch, end))
    }

    /// The epoch of the record at `offset`; `None` when it is not known.
    pub fn epoch_of(&self, offset: Offset) -> Result<Option<LeaderEpoch>, Error> {
        let mut core = self.core.lock();
        Ok(self.warm(&mut core)?.epochs.epoch_of(offset))
    }

    /// A leader's epoch begins at the log's end. Costs nothing on a log that is not loaded: it is remembered and
    /// entered when the log is used. It is on disk with the first record of the epoch at the latest.
    pub fn begin_epoch(&self, epoch: LeaderEpoch) -> Result<(), Error> {
        let mut core = self.core.lock();
        let next = core.next;
        match core.warm.as_mut() {
            Some(warm) => warm.epochs_dirty |= warm.epochs.assign(epoch, next),
            None => core.begun = core.begun.max(Some(epoch)),
        }
        Ok(())
    }

    /// The producers that are remembered, for DescribeProducers.
    pub fn producers(&self) -> Result<Vec<ProducerEntry>, Error> {
        let mut core = self.core.lock();
        Ok(self.warm(&mut core)?.producers.list())
    }

    /// How many producers are remembered, and the last write of the oldest open transaction. A log that is not loaded
    /// stays so, and counts none.
    pub fn producer_figures(&self) -> (usize, Option<Timestamp>) {
        let core = self.core.lock();
        let figures = core.warm.as_ref().map(|warm| warm.producers.figures());
        figures.unwrap_or_default()
    }

    /// Begins to verify a producer's transaction before this batch of it is appended; `None` when the transaction is open
    /// here. What the coordinator says is given with [`Proof::Verified`].
    ///
    /// # Errors
    /// When the log cannot be loaded.
    pub fn verify(&self, first: FirstBatch) -> Result<Option<Guard>, Error> {
        self.check_online()?;
        let now = self.directory.clock.wall();
        let mut core = self.core.lock();
        Ok(self.warm(&mut core)?.producers.verify(first, now))
    }

    /// The first offset of the oldest transaction that is open, or ended by a marker not yet below the high
    /// watermark; `None` when all is stable.
    pub fn first_unstable_offset(&self) -> Result<Option<Offset>, Error> {
        let mut core = self.core.lock();
        let start = self.log_start_offset();
        Ok(self.warm(&mut core)?.producers.first_unstable().map(|offset| offset.max(start)))
    }

    /// The directory's state, and the error while it is offline.
    fn check_online(&self) -> Result<(), Error> {
        self.directory.check()
    }

    fn active_segment(&self) -> Arc<Segment> {
        self.view.load().last().cloned().expect("a log has at least one segment")
    }
}

#[cfg(test)]
mod tests;
