//! One node as the whole cluster: its own log is the order of the records.
//!
//! One task takes the commands that wait, decides them on a draft, appends their records, and when they are durable
//! publishes the draft and answers. When the log fails, the draft is dropped and the task ends: what was not agreed is
//! never seen, and every later command fails.

use super::batches;
use super::files::Folder;
use super::launch;
use super::launch::Node;
use super::snapshot;
use super::store::Store;
use crate::base::Offset;
use crate::base::OffsetAndEpoch;
use crate::base::PartitionIndex;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::base::TopicPartition;
use crate::cluster::ControllerClient;
use crate::cluster::Error;
use crate::cluster::Publisher;
use crate::cluster::controller::brokers;
use crate::cluster::controller::command::RegisterBroker;
use crate::cluster::controller::features;
use crate::cluster::controller::topic_names::CLUSTER_METADATA_TOPIC;
use crate::cluster::controller::turn::Command;
use crate::cluster::controller::turn::Turn;
use crate::cluster::controller_client;
use crate::cluster::image::Image;
use crate::cluster::records::Endpoint;
use crate::config::Cleanup;
use crate::config::ListenerConfig;
use crate::config::MetadataSettings;
use crate::config::ServerConfig;
use crate::config::TopicConfig;
use crate::io::Clock;
use crate::io::Disk;
use crate::io::random::Random;
use crate::io::task;
use crate::io::task::Shutdown;
use crate::io::task::Task;
use crate::log::Dirs;
use crate::log::Log;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::mpsc;
use tracing::error;
use tracing::info;
use tracing::warn;
use uuid::Uuid;

/// How many commands one turn takes at most.
const COMMANDS_PER_TURN: usize = 256;

/// The running source. Its task ends on the shutdown token.
#[derive(Debug)]
pub struct Local {
    publisher: Publisher,
    controller: ControllerClient,
    deleted: BTreeSet<TopicId>,
    task: Task<()>,
}

/// What the source is opened with.
pub struct Opening {
    /// The settings.
    pub config: Arc<ServerConfig>,
    /// Where this broker is reached, with the ports it really listens on.
    pub listeners: Vec<ListenerConfig>,
    /// Where files are: the disk that the log directories are on.
    pub disk: Disk,
    /// Time.
    pub clock: Clock,
    /// Ends the controller.
    pub shutdown: Shutdown,
}

/// What is known about the log directories.
pub(super) struct Storage {
    /// The cluster's id, as in `meta.properties`.
    pub(super) cluster_id: String,
    /// The ids of the directories that work.
    pub(super) log_dirs: Vec<Uuid>,
    /// The folder of the metadata log.
    pub(super) folder: PathBuf,
    /// Whether the process before this one stopped without closing its logs. Partitions then begin a new leader
    /// epoch, so that clients notice records that went with it (KIP-320).
    pub(super) unclean: bool,
    /// The topics that partitions on disk belong to.
    pub(super) found: Vec<TopicId>,
}

impl Opening {
    fn node(&self, storage: &Storage) -> Node {
        let endpoint = |listener: &ListenerConfig| Endpoint {
            name: listener.name.clone(),
            host: listener.advertised.host.clone(),
            port: listener.advertised.port,
            security_protocol: listener.protocol.code(),
        };
        let broker = RegisterBroker {
            id: self.config.node_id,
            incarnation_id: TopicId::random_from(crate::io::random::uuid).0,
            endpoints: self.listeners.iter().map(endpoint).collect(),
            features: features::supported(),
            rack: self.config.rack.clone(),
            log_dirs: storage.log_dirs.clone(),
        };
        Node { broker, config: Arc::clone(&self.config), unclean: storage.unclean }
    }
}

impl Local {
    /// Reads the metadata log in these directories, begins an epoch, registers this broker and starts the controller.
    ///
    /// # Errors
    /// The log or a file beside it cannot be read or written, or holds what this version does not know.
    pub async fn open(dirs: &Dirs, opening: Opening) -> Result<Local, Error> {
        let partition = TopicPartition::new(CLUSTER_METADATA_TOPIC, PartitionIndex(0));
        let config = Arc::new(log_config(&opening.config));
        let log = open_whole(dirs, &partition, config)?;
        let storage = Storage {
            cluster_id: dirs.cluster_id().to_owned(),
            log_dirs: dirs.online().into_iter().map(|id| id.0).collect(),
            folder: opening.config.storage.metadata_log_dir.join(partition.to_string()),
            unclean: dirs.previous_broker_epoch().is_none(),
            found: dirs.found().into_iter().filter_map(|found| found.topic_id).collect(),
        };
        Local::start(opening, storage, Store::Log(log)).await
    }

    /// Reads the log, begins an epoch, registers this broker and starts the controller.
    pub(super) async fn start(opening: Opening, storage: Storage, store: Store) -> Result<Local, Error> {
        let node = opening.node(&storage);
        let folder = Folder::new(opening.disk, storage.folder);
        let replay = launch::read_all(&folder, &store, &storage.cluster_id)?;
        let unknown = |id: &TopicId| *id != TopicId::METADATA && replay.image.topic_by_id(*id).is_none();
        let mut deleted: BTreeSet<TopicId> = storage.found.into_iter().filter(unknown).collect();
        if !deleted.is_empty() {
            let told = launch::deleted(&store);
            deleted.retain(|id| told.contains(id));
        }
        let now = opening.clock.wall();
        let image = launch::activate(&folder, &store, replay, &node, now).await?;
        let random =
            Random::from_kernel().map_err(|error| Error::Log(format!("no random numbers: {error}")))?;
        let publisher = Publisher::new(image.clone());
        let (sender, commands) = mpsc::channel(controller_client::QUEUE);
        let controller = ControllerClient::new(sender, node.broker.id);
        let snapshots = Snapshots::new(folder, opening.config.metadata.clone(), now);
        let active = Active {
            image,
            store,
            config: opening.config,
            clock: opening.clock,
            random,
            publisher: publisher.clone(),
            snapshots,
        };
        let task = task::spawn("metadata-controller", active.run(commands, opening.shutdown));
        Ok(Local { publisher, controller, deleted, task })
    }

    /// Where images come out.
    pub fn publisher(&self) -> &Publisher {
        &self.publisher
    }

    /// Where changes are asked for.
    pub fn controller(&self) -> &ControllerClient {
        &self.controller
    }

    /// The topics with partitions on disk whose deletion the log told of when it was opened: the process before this
    /// one ended before it came to them.
    pub fn deleted(&self) -> &BTreeSet<TopicId> {
        &self.deleted
    }

    /// Waits until the controller has ended, which it does on the shutdown token or when the log fails.
    pub async fn ended(self) {
        self.task.join().await;
    }
}

/// Opens the metadata log unless it ends before what was on disk already: an empty cluster in its place would set all
/// partitions aside.
fn open_whole(dirs: &Dirs, partition: &TopicPartition, config: Arc<TopicConfig>) -> Result<Arc<Log>, Error> {
    let promised = dirs.promised_end(partition).unwrap_or(Offset::ZERO);
    let there =
        dirs.log(partition).is_some() || dirs.found().iter().any(|found| found.partition == *partition);
    let (end, log) = if there || promised == Offset::ZERO {
        let log = dirs.open_log(partition, TopicId::METADATA, config);
        let log = log.map_err(|error| Error::Log(error.to_string()))?;
        (log.log_end_offset(), Some(log))
    } else {
        (Offset::ZERO, None)
    };
    match log.filter(|_| end >= promised) {
        Some(log) => Ok(log),
        None => {
            dirs.keep_promise(partition);
            Err(Error::Lost { end, promised })
        }
    }
}

/// The settings of the metadata log: nothing of it goes by age or size, only snapshots let it go.
fn log_config(config: &ServerConfig) -> TopicConfig {
    TopicConfig {
        segment_bytes: config.metadata.segment_bytes,
        segment_ms: config.metadata.segment_ms,
        segment_jitter_ms: 0,
        retention_ms: -1,
        retention_bytes: -1,
        cleanup: Cleanup { delete: true, compact: false },
        max_message_bytes: i32::MAX,
        ..config.log.clone()
    }
}

/// The controller's task.
struct Active {
    image: Image,
    store: Store,
    config: Arc<ServerConfig>,
    clock: Clock,
    random: Random,
    publisher: Publisher,
    snapshots: Snapshots,
}

impl Active {
    async fn run(mut self, mut commands: mpsc::Receiver<Command>, shutdown: Shutdown) {
        let mut waiting = Vec::with_capacity(COMMANDS_PER_TURN);
        loop {
            let received = tokio::select! {
                biased;
                () = shutdown.triggered() => 0,
                received = commands.recv_many(&mut waiting, COMMANDS_PER_TURN) => received,
            };
            if received == 0 {
                break;
            }
            if let Err(failed) = self.turn(waiting.drain(..)).await {
                error!("the metadata log failed, the controller stops: {failed}");
                break;
            }
        }
        if shutdown.is_triggered() {
            self.leave().await;
        }
        self.snapshots.finish().await;
    }

    /// After a failed append: goes on when all of it was taken back and the log takes appends again (the device was
    /// full). Else what the log holds is no longer what the image says, and only a new start can tell.
    fn survive(&self, failed: Error) -> Result<(), Error> {
        if !self.store.is_online() || self.store.end() != self.image.offset {
            return Err(failed);
        }
        warn!("a change of the cluster was not written and is dropped: {failed}");
        Ok(())
    }

    /// Writes that this broker is gone, for whoever opens the log next. Nobody here needs to see it any more.
    async fn leave(&mut self) {
        let id = self.config.node_id;
        let epoch = self.image.broker(id).map_or(-1, |broker| broker.epoch);
        let Ok(fenced) = brokers::fence(&self.image, id, epoch) else { return };
        let batches =
            batches::of_entries(vec![fenced.records], self.image.metadata_version(), self.clock.wall());
        if let Err(failed) = self.store.append(batches, self.image.epoch).await {
            warn!("the end of this broker was not written: {failed}");
        }
    }

    async fn turn(&mut self, commands: impl Iterator<Item = Command>) -> Result<(), Error> {
        let mut turn = Turn::new(&self.image);
        for command in commands {
            turn.take(command, &self.config, &mut self.random);
        }
        let entries = std::mem::take(&mut turn.entries);
        if !entries.is_empty() {
            let now = self.clock.wall();
            let batches = batches::of_entries(entries, turn.draft.metadata_version(), now);
            let bytes = batches.iter().map(|batch| batch.bytes().len()).sum();
            let end = match self.store.append(batches, self.image.epoch).await {
                Ok(end) => end,
                Err(failed) => {
                    turn.answer(None);
                    return self.survive(failed);
                }
            };
            turn.draft.advance(end, self.image.epoch);
            self.image = turn.draft.clone();
            self.publisher.publish(self.image.clone());
            self.snapshots.appended(bytes, now);
        }
        turn.answer(Some(self.image.offset));
        self.snapshots.take_when_due(&self.image, &self.store, self.clock.wall()).await;
        Ok(())
    }
}

/// When snapshots are taken, and what they make superfluous.
struct Snapshots {
    folder: Folder,
    settings: MetadataSettings,
    bytes_since: u64,
    last_taken: Timestamp,
    last_record: Timestamp,
    writing: Option<Task<()>>,
}

impl Snapshots {
    fn new(folder: Folder, settings: MetadataSettings, now: Timestamp) -> Snapshots {
        Snapshots { folder, settings, bytes_since: 0, last_taken: now, last_record: now, writing: None }
    }

    fn appended(&mut self, bytes: usize, now: Timestamp) {
        self.bytes_since = self.bytes_since.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
        self.last_record = now;
    }

    async fn take_when_due(&mut self, image: &Image, store: &Store, now: Timestamp) {
        let by_bytes =
            u64::try_from(self.settings.snapshot_after_bytes).is_ok_and(|limit| self.bytes_since >= limit);
        let limit = self.settings.snapshot_after_ms;
        let by_time = limit > 0 && self.bytes_since > 0 && now.0.saturating_sub(self.last_taken.0) >= limit;
        if !by_bytes && !by_time {
            return;
        }
        if self.writing.as_ref().is_some_and(|writing| !writing.is_finished()) {
            return;
        }
        self.finish().await;
        self.bytes_since = 0;
        self.last_taken = now;
        let work = SnapshotWork {
            folder: self.folder.clone(),
            store: store.clone(),
            image: image.clone(),
            times: (self.last_record, now),
            retention_bytes: self.settings.retention_bytes,
        };
        self.writing = Some(task::spawn("metadata-snapshot", task::run_blocking(move || work.run())));
    }

    async fn finish(&mut self) {
        if let Some(writing) = self.writing.take() {
            writing.join().await;
        }
    }
}

/// One snapshot to write, away from the controller's task.
struct SnapshotWork {
    folder: Folder,
    store: Store,
    image: Image,
    times: (Timestamp, Timestamp),
    retention_bytes: i64,
}

impl SnapshotWork {
    fn run(self) {
        if let Err(failed) = self.write() {
            warn!("no snapshot of the metadata was written, the log keeps everything: {failed}");
        }
    }

    fn write(&self) -> Result<(), Error> {
        let id = OffsetAndEpoch { offset: self.image.offset, epoch: self.image.epoch };
        let bytes = snapshot::encode(&self.image, id, self.times.0, self.times.1);
        self.folder.write(&snapshot::name(id), &bytes)?;
        // Only a snapshot that reads back may stand for the log before it.
        let read = snapshot::load(&self.folder, id, &self.image.cluster_id)?;
        if read != self.image {
            return Err(Error::Log(format!("snapshot {} does not read back as it was", snapshot::name(id))));
        }
        info!(snapshot = snapshot::name(id), bytes = bytes.len(), "wrote a snapshot of the metadata");
        let older = snapshot::list(&self.folder)?.into_iter().filter(|other| *other < id);
        self.let_go(&older.collect::<Vec<_>>())
    }

    /// Keeps the snapshot before the newest as well, with the log from there on: should the newest be damaged, that
    /// one still leads to the end of the log.
    fn let_go(&self, older: &[OffsetAndEpoch]) -> Result<(), Error> {
        let Some((previous, superfluous)) = older.split_last() else { return Ok(()) };
        let limit = u64::try_from(self.retention_bytes).unwrap_or(u64::MAX);
        if self.store.size_bytes() > limit {
            self.store.trim(previous.offset)?;
        }
        for id in superfluous {
            self.folder.remove(&snapshot::name(*id))?;
        }
        Ok(())
    }
}
