//! Whole logs on real folders: what several files of this room do together.

mod basics;
mod folders;
mod model;
mod producers;
mod proof;
mod relocate;

use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::base::TopicPartition;
use crate::config::ServerConfig;
use crate::config::StorageSettings;
use crate::config::TopicConfig;
use crate::io::clock::Clock;
use crate::io::disk::Disk;
use crate::io::task::Shutdown;
use crate::log::Append;
use crate::log::Appended;
use crate::log::Dirs;
use crate::log::Error;
use crate::log::Log;
use crate::log::Origin;
use crate::log::Proof;
use crate::log::Threads;
use crate::record::BatchBuilder;
use crate::record::CheckedBatch;
use crate::record::Codec;
use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;

/// A data folder with the means to open it again and again.
pub(super) struct Bench {
    pub(super) disk: Disk,
    pub(super) clock: Clock,
    pub(super) settings: StorageSettings,
    pub(super) folder: tempfile::TempDir,
}

pub(super) const TOPIC: &str = "topic";

impl Bench {
    pub(super) fn new() -> Bench {
        let folder = tempfile::tempdir().unwrap();
        let settings = settings(&[folder.path().join("a")]);
        Bench { disk: Disk::system(), clock: Clock::system(), settings, folder }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join("a")
    }

    pub(super) fn try_open(&self) -> Result<Dirs, Error> {
        let (disk, clock) = (self.disk.clone(), self.clock.clone());
        Dirs::open(
            disk,
            clock,
            Shutdown::new(),
            self.settings.clone(),
            Threads::Driven,
            crate::metrics::Registry::new().log(),
        )
    }

    pub(super) fn open(&self) -> Dirs {
        self.try_open().unwrap()
    }
}

pub(super) fn settings(folders: &[PathBuf]) -> StorageSettings {
    let text = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let dirs: Vec<String> = folders.iter().map(text).collect();
    let set =
        BTreeMap::from([("log.dirs".to_owned(), dirs.join(",")), ("node.id".to_owned(), "1".to_owned())]);
    let mut storage = ServerConfig::new(&set, "localhost").unwrap().storage;
    storage.node_id = BrokerId(1);
    storage
}

/// A topic's settings, changed after the defaults: tests want smaller segments than a user may set.
pub(super) fn config(change: impl FnOnce(&mut TopicConfig)) -> Arc<TopicConfig> {
    let defaults = ServerConfig::new(&BTreeMap::new(), "localhost").unwrap();
    let mut config = TopicConfig::resolve(&defaults, &BTreeMap::new()).unwrap();
    change(&mut config);
    Arc::new(config)
}

/// Small segments with dense indexes.
pub(super) fn small(config: &mut TopicConfig) {
    config.segment_bytes = 20_000;
    config.index_interval_bytes = 1000;
}

pub(super) fn partition(index: i32) -> TopicPartition {
    TopicPartition::new(TOPIC, PartitionIndex(index))
}

pub(super) fn open_log(dirs: &Dirs, change: impl FnOnce(&mut TopicConfig)) -> Arc<Log> {
    dirs.open_log(&partition(0), TopicId::METADATA, config(change)).unwrap()
}

/// A batch of `count` records of about `size` bytes at `timestamp`.
pub(super) fn batch(count: i32, size: usize, timestamp: i64) -> CheckedBatch {
    builder(count, size, timestamp).build()
}

pub(super) fn builder(count: i32, size: usize, timestamp: i64) -> BatchBuilder {
    let mut builder = BatchBuilder::new(Codec::None, Timestamp(timestamp));
    for number in 0..count {
        let value = vec![u8::try_from(number % 251).unwrap(); size];
        builder.push(None, Some(&value), &[], Timestamp(timestamp));
    }
    builder
}

pub(super) fn idempotent(count: i32, epoch: i16, sequence: i32) -> CheckedBatch {
    builder(count, 10, 1000).producer(ProducerId(7), ProducerEpoch(epoch), sequence).build()
}

pub(super) fn how(sync: bool) -> Append {
    Append { epoch: LeaderEpoch(3), sync, origin: Origin::Client, proof: Proof::Waived, hold: false }
}

pub(super) fn append(log: &Log, batch: CheckedBatch) -> Appended {
    log.append(batch, how(false)).unwrap()
}

/// The first offset of every batch a reader meets from `from` on, with small fetches.
pub(super) fn read_all(log: &Log, from: Offset, max_bytes: usize) -> Vec<(i64, i64)> {
    let (mut from, mut seen) = (from, Vec::new());
    while from < log.log_end_offset() {
        let bytes = {
            let result = log.read(from, log.log_end_offset(), max_bytes, true).unwrap();
            assert!(!result.slices.is_empty(), "nothing at {from}");
            let mut all = Vec::new();
            for slice in &result.slices {
                let mut part = vec![0; usize::try_from(slice.length).unwrap()];
                slice.file.read_exact_at(&mut part, slice.position).unwrap();
                all.extend(part);
            }
            assert_eq!(u64::try_from(all.len()).unwrap(), result.bytes);
            all
        };
        for walked in crate::record::walk(&bytes) {
            let (position, header) = walked.unwrap();
            let whole = &bytes[position..position + header.total_size()];
            assert!(crate::record::is_intact(whole));
            from = Offset(header.last_offset() + 1);
            seen.push((header.base_offset, header.last_offset()));
        }
    }
    seen
}

pub(super) fn file_len(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().len()
}
