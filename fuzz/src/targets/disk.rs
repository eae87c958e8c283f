//! Files of a log directory: indexes, snapshots, checkpoints, and whole directories as a start finds them.

use super::Input;
use super::records::checksum;
use dohle::base::LeaderEpoch;
use dohle::base::Offset;
use dohle::base::PartitionIndex;
use dohle::base::Timestamp;
use dohle::base::TopicId;
use dohle::base::TopicPartition;
use dohle::config::ServerConfig;
use dohle::config::StorageSettings;
use dohle::config::TopicConfig;
use dohle::io::Clock;
use dohle::io::Disk;
use dohle::io::Open;
use dohle::io::Shutdown;
use dohle::io::sim::SimClock;
use dohle::io::sim::SimDisk;
use dohle::log::Append;
use dohle::log::Dirs;
use dohle::log::Error;
use dohle::log::Log;
use dohle::log::Origin;
use dohle::log::Proof;
use dohle::log::Threads;
use dohle::log::probe;
use dohle::metrics::Registry;
use dohle::record::BatchBuilder;
use dohle::record::Codec;
use dohle::record::is_intact;
use dohle::record::walk;
use std::collections::BTreeMap;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::LazyLock;

/// The binary files beside a segment.
pub(super) fn indexes(input: &mut Input<'_>) {
    let choice = input.u8();
    match choice % 5 {
        0 => {
            let size = u64::from(input.u16()) << (choice >> 4);
            probe::offset_index(input.body(), size);
        }
        1 => {
            probe::time_index(&input.body());
        }
        2 => {
            probe::aborted_index(&input.body());
        }
        3 => {
            probe::producer_snapshot(&input.body());
        }
        _ => {
            // With the right checksum, which no fuzzer finds by chance.
            let body = input.body();
            let snapshot = [&[0, 1][..], &checksum(&body).to_be_bytes(), &body].concat();
            probe::producer_snapshot(&snapshot);
        }
    }
}

/// The text files of a log directory, and names in it.
pub(super) fn checkpoints(input: &mut Input<'_>) {
    let choice = input.u8();
    let text = input.text();
    match choice % 6 {
        0 => probe::offset_checkpoint(&text),
        1 => probe::epoch_checkpoint(&text),
        2 => probe::clean_shutdown(&text),
        3 => probe::partition_metadata(&text),
        4 => probe::meta_properties(&text),
        _ => probe::name(&text),
    };
}

const FOLDER: &str = "/a/t-0";

/// Names of files that a start reads.
const NAMES: &[&str] = &[
    "t-0/00000000000000000000.log",
    "t-0/00000000000000000000.index",
    "t-0/00000000000000000000.timeindex",
    "t-0/00000000000000000000.txnindex",
    "t-0/00000000000000000000.snapshot",
    "t-0/00000000000000000003.log",
    "t-0/00000000000000000003.index",
    "t-0/00000000000000000003.timeindex",
    "t-0/00000000000000000003.txnindex",
    "t-0/00000000000000000003.snapshot",
    "t-0/00000000000000000006.snapshot",
    "t-0/leader-epoch-checkpoint",
    "t-0/partition.metadata",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    ".kafka_cleanshutdown",
    "t-0/00000000000000000000.log.swap",
    "t-0/00000000000000000003.log.cleaned",
    "t-0/00000000000000000003.log.deleted",
];

/// A log directory with files of the fuzzer's making: opened, read, appended to, closed, opened again.
pub(super) fn recovery(input: &mut Input<'_>) {
    let clock = SimClock::new();
    let disk = Disk::Sim(SimDisk::new(1, clock.clone()));
    disk.create_dir_all(Path::new(FOLDER)).expect("a simulated disk");
    let id = TopicId::METADATA;
    let meta = format!("version=1\ncluster.id=fuzz\nnode.id=1\ndirectory.id={id}\n");
    write(&disk, "meta.properties", meta.as_bytes());
    for _ in 0..NAMES.len() {
        if input.is_empty() {
            break;
        }
        let choice = usize::from(input.u8());
        let mut content = input.piece().to_vec();
        if choice >= 128 {
            mend(&mut content, choice);
        }
        write(&disk, NAMES[choice % NAMES.len()], &content);
    }
    let Some((dirs, log)) = open(&disk, &clock) else { return };
    // As before anybody is told of the end: the checkpoint that says it may be wrong.
    log.confirm_end();
    let Some(before) = read(&log) else { return };
    let appended = append(&log);
    if let Some((base, end)) = appended {
        assert!(base >= before.end && end == Offset(base.0 + 1), "an append goes to the end");
        assert_eq!(log.log_end_offset(), end);
    }
    drop(log.offset_for_time(Timestamp(1), log.log_end_offset()));
    drop(log.epoch_end(LeaderEpoch(1)));
    drop(log.aborted(log.log_start_offset(), log.log_end_offset()));
    drop(log.producers());
    let (start, end) = (log.log_start_offset(), log.log_end_offset());
    let gone = Arc::downgrade(&log);
    drop(log);
    dirs.close(-1);
    drop(dirs);
    assert!(gone.upgrade().is_none(), "nobody holds a log of directories that are closed");
    if appended.is_none() {
        return;
    }
    let (_dirs, log) = open(&disk, &clock).expect("a directory that was closed well opens");
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (start, end), "nothing moves over a restart");
    let after = read(&log).expect("what was read once is read again");
    assert!(after.batches > before.batches, "the appended batch is there");
}

/// Gives every whole batch the right checksum, which no fuzzer finds by chance.
fn mend(content: &mut [u8], choice: usize) {
    if choice % NAMES.len() == 4 || choice % NAMES.len() == 9 || choice % NAMES.len() == 10 {
        if content.len() > 6 {
            let sum = checksum(&content[6..]);
            content[2..6].copy_from_slice(&sum.to_be_bytes());
        }
        return;
    }
    let places: Vec<(usize, usize)> =
        walk(content).flatten().map(|(position, header)| (position, header.total_size())).collect();
    for (position, size) in places {
        let one = &mut content[position..position + size];
        let sum = checksum(&one[21..]);
        one[17..21].copy_from_slice(&sum.to_be_bytes());
    }
}

fn write(disk: &Disk, name: &str, content: &[u8]) {
    let path = PathBuf::from("/a").join(name);
    let file = disk.open(&path, Open::Create).expect("a simulated disk");
    file.set_len(0).expect("a simulated disk");
    file.write_at(content, 0).expect("a simulated disk");
    file.sync_data().expect("a simulated disk");
}

fn open(disk: &Disk, clock: &SimClock) -> Option<(Dirs, Arc<Log>)> {
    static SETTINGS: LazyLock<(StorageSettings, Arc<TopicConfig>)> = LazyLock::new(|| {
        let set = BTreeMap::from([
            ("log.dirs".to_owned(), "/a".to_owned()),
            ("node.id".to_owned(), "1".to_owned()),
            ("num.recovery.threads.per.data.dir".to_owned(), "1".to_owned()),
        ]);
        let config = ServerConfig::new(&set, "here").expect("settings that work");
        let topic = TopicConfig::resolve(&config, &BTreeMap::new()).expect("settings that work");
        (config.storage, Arc::new(topic))
    });
    let (storage, topic) = &*SETTINGS;
    static METRICS: LazyLock<Registry> = LazyLock::new(Registry::new);
    let metrics = METRICS.log();
    let clock = Clock::Sim(clock.clone());
    let dirs =
        Dirs::open(disk.clone(), clock, Shutdown::new(), storage.clone(), Threads::Driven, metrics).ok()?;
    let partition = TopicPartition::new("t", PartitionIndex(0));
    let id =
        dirs.found().into_iter().find(|found| found.partition == partition).and_then(|found| found.topic_id);
    let log = dirs.open_log(&partition, id.unwrap_or(TopicId::METADATA), topic.clone()).ok()?;
    Some((dirs, log))
}

/// What a reader met.
struct Met {
    batches: usize,
    end: Offset,
}

/// Reads all of a log; `None` when it says that it is damaged.
fn read(log: &Log) -> Option<Met> {
    let (mut from, end) = (log.log_start_offset(), log.log_end_offset());
    assert!(from <= end, "a log ends where it begins or later");
    let mut met = Met { batches: 0, end };
    while from < end {
        let bytes = match log.read_bytes(from, end, 4096) {
            Ok(bytes) => bytes,
            Err(Error::Damaged { .. }) => return None,
            Err(error) => panic!("reading at {from} of {end}: {error}"),
        };
        let before = from;
        for step in walk(&bytes) {
            let (_, header) = step.expect("readers get whole batches");
            from = Offset(header.last_offset().saturating_add(1));
            met.batches += 1;
        }
        assert!(from > before, "a reader gets on from {before} of {end}");
    }
    Some(met)
}

/// Appends one batch and waits for it; `None` when the log refuses.
fn append(log: &Log) -> Option<(Offset, Offset)> {
    let mut builder = BatchBuilder::new(Codec::None, Timestamp(5));
    builder.push(None, Some(b"value"), &[], Timestamp(5));
    let how = Append {
        epoch: LeaderEpoch(i32::MAX - 1),
        sync: false,
        origin: Origin::Client,
        proof: Proof::Waived,
        hold: false,
    };
    let appended = log.append(builder.build(), how).ok()?;
    let bytes =
        log.read_bytes(appended.base_offset, appended.end_offset, 1 << 16).expect("what was appended");
    assert!(is_intact(&bytes), "what was appended is intact");
    Some((appended.base_offset, appended.end_offset))
}
