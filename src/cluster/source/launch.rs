//! The start of the local source: reads what is there, begins an epoch, and makes this broker part of the cluster.

use super::batches;
use super::files::Folder;
use super::replay;
use super::replay::Replay;
use super::snapshot;
use super::store::Store;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::OffsetAndEpoch;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::cluster::Error;
use crate::cluster::controller::brokers;
use crate::cluster::controller::command::RegisterBroker;
use crate::cluster::controller::eligible;
use crate::cluster::controller::eligible::ELIGIBLE_VERSION;
use crate::cluster::controller::features;
use crate::cluster::image::Image;
use crate::cluster::records::AbortTransactionRecord;
use crate::cluster::records::BeginTransactionRecord;
use crate::cluster::records::EndTransactionRecord;
use crate::cluster::records::METADATA_VERSION_LATEST;
use crate::cluster::records::Record;
use crate::config::ServerConfig;
use crate::record::CheckedBatch;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;
use tracing::info;
use tracing::warn;

/// About how much is read at once.
const READ_BYTES: usize = 1 << 20;
/// Where Kafka up to 4.0 keeps the records that a new cluster begins with.
const BOOTSTRAP: &str = "bootstrap.checkpoint";
const BOOTSTRAP_MAX: u64 = 64 << 20;
/// The snapshot that a formatted, never started log has.
const FORMATTED: OffsetAndEpoch = OffsetAndEpoch { offset: Offset::ZERO, epoch: LeaderEpoch(0) };

/// What the start needs to know about this node.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its registration.
    pub(super) broker: RegisterBroker,
    /// The settings that it was started with.
    pub(super) config: Arc<ServerConfig>,
    /// Whether the process before this one stopped without closing its logs.
    pub(super) unclean: bool,
}

/// Everything that the snapshots and the log say.
///
/// # Errors
/// Damage, a record of a newer Kafka, or a log that begins behind every snapshot.
pub(super) fn read_all(folder: &Folder, store: &Store, cluster_id: &str) -> Result<Replay, Error> {
    let image = snapshot::latest(folder, cluster_id)?.unwrap_or_else(|| Image::empty(cluster_id));
    let (start, end) = (store.start(), store.end());
    if start > image.offset {
        return Err(Error::Gap { log_start: start });
    }
    if end < image.offset {
        return Err(Error::Log(format!("the log ends at {end}, before the snapshot at {}", image.offset)));
    }
    let mut replay = Replay::of_log(image);
    while replay.image.offset < end {
        let before = replay.image.offset;
        replay.batches(&store.read(before, READ_BYTES)?)?;
        if replay.image.offset <= before {
            return Err(Error::Log(format!("no whole batch at offset {before}")));
        }
    }
    Ok(replay)
}

/// Which topics the log says were deleted, from its first record on: it holds more than what came after the newest
/// snapshot. What cannot be read any more tells nothing.
pub(super) fn deleted(store: &Store) -> BTreeSet<TopicId> {
    let mut deleted = BTreeSet::new();
    let mut position = store.start();
    while position < store.end() {
        let read = store.read(position, READ_BYTES).and_then(|bytes| replay::removals(&bytes, &mut deleted));
        match read {
            Ok(Some(end)) if end > position => position = end,
            Ok(_) => break,
            Err(error) => {
                warn!(offset = %position, %error, "cannot tell which topics were deleted");
                break;
            }
        }
    }
    deleted
}

/// Begins a new epoch with this node as the leader and the broker registered and active; the image then.
///
/// # Errors
/// The log or a file beside it cannot be written, or the broker cannot work at the cluster's feature levels.
pub(super) async fn activate(
    folder: &Folder,
    store: &Store,
    replay: Replay,
    node: &Node,
    now: Timestamp,
) -> Result<Image, Error> {
    let known = folder.quorum_epoch()?.unwrap_or(LeaderEpoch(0)).max(replay.image.epoch);
    let epoch = LeaderEpoch(known.0.saturating_add(1));
    folder.write_quorum_state(node.broker.id, epoch)?;
    let mut start = Start { next: store.end(), image: replay.image.clone(), batches: Vec::new(), now };
    start.control(batches::of_leader(node.broker.id, now));
    if replay.in_transaction() {
        start.records(vec![AbortTransactionRecord { reason: Some("Controller failover".to_owned()) }.into()]);
    }
    if replay.image.offset == Offset::ZERO || replay.image.features().is_empty() {
        let mut records = first_records(folder, &replay.image, now)?;
        records.extend(eligible_records(&node.config, &start.image, &records));
        start.bootstrap(records);
    }
    let broker =
        RegisterBroker { features: features::announced(start.image.features()), ..node.broker.clone() };
    let registered = brokers::register(&start.image, &broker, start.next.0)?;
    start.records(registered.records);
    let active = brokers::unfence(&start.image, node.broker.id, registered.response, node.unclean)?;
    start.records(active.records);
    let Start { mut image, batches, .. } = start;
    let end = store.append(batches, epoch).await?;
    image.advance(end, epoch);
    info!(%epoch, offset = %end, topics = image.topic_count(), "metadata log is active");
    Ok(image)
}

/// What goes to the log at a start, and the image it makes.
struct Start {
    next: Offset,
    image: Image,
    batches: Vec<CheckedBatch>,
    now: Timestamp,
}

impl Start {
    fn control(&mut self, batch: CheckedBatch) {
        self.next = self.next.checked_add(1).expect("a log has fewer than 2^63 records");
        self.batches.push(batch);
    }

    fn records(&mut self, records: Vec<Record>) {
        for record in &records {
            self.image.apply(record).expect("a decision fits the image it was made from");
        }
        let level = self.image.metadata_version();
        for part in records.chunks(crate::cluster::controller::RECORDS_PER_COMMAND_MAX) {
            let batch = batches::of_records(part, level, self.now);
            let count = i64::from(batch.header().record_count);
            self.next = self.next.checked_add(count).expect("a log has fewer than 2^63 records");
            self.batches.push(batch);
        }
    }

    /// The first records of a log, together or not at all (KIP-868).
    fn bootstrap(&mut self, first: Vec<Record>) {
        let mut records = vec![BeginTransactionRecord { name: Some("Bootstrap records".to_owned()) }.into()];
        records.extend(first);
        records.push(EndTransactionRecord {}.into());
        self.records(records);
    }
}

/// What goes with the feature of eligible leader replicas where a new cluster begins with it.
fn eligible_records(config: &ServerConfig, before: &Image, first: &[Record]) -> Vec<Record> {
    let mut image = before.clone();
    for record in first {
        image.apply(record).expect("what a cluster begins with fits an empty image");
    }
    let on = image.features().get(ELIGIBLE_VERSION).is_some_and(|level| *level > 0);
    if on { eligible::safety_records(config, &image) } else { Vec::new() }
}

/// What a new cluster begins with: what the folder was formatted with, else this version's features. A folder that
/// nobody formatted is formatted here, so that Apache Kafka can open it too.
fn first_records(folder: &Folder, image: &Image, now: Timestamp) -> Result<Vec<Record>, Error> {
    if !image.features().is_empty() {
        return Ok(image.records().collect());
    }
    let above = folder.above();
    if let Some(bytes) = above.read(BOOTSTRAP, BOOTSTRAP_MAX)? {
        let image = snapshot::decode(Bytes::from(bytes), &image.cluster_id)?;
        if !image.features().is_empty() {
            return Ok(image.records().collect());
        }
    }
    let records = features::initial();
    let bytes = snapshot::encode_records(&records, METADATA_VERSION_LATEST, FORMATTED.epoch, (now, now));
    folder.write(&snapshot::name(FORMATTED), &bytes)?;
    Ok(records)
}
