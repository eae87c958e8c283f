//! One seed's world: a disk, a clock, log directories, and the histories of a few partitions.

use crate::check;
use crate::history::Batch;
use crate::history::History;
use crate::history::Promise;
use dohle::base::BrokerId;
use dohle::base::LeaderEpoch;
use dohle::base::Offset;
use dohle::base::PartitionIndex;
use dohle::base::ProducerEpoch;
use dohle::base::ProducerId;
use dohle::base::Timestamp;
use dohle::base::TopicId;
use dohle::base::TopicPartition;
use dohle::config::ServerConfig;
use dohle::config::StorageSettings;
use dohle::config::TopicConfig;
use dohle::io::Clock;
use dohle::io::Disk;
use dohle::io::Random;
use dohle::io::sim::Fault;
use dohle::io::sim::SimClock;
use dohle::io::sim::SimDisk;
use dohle::log::Append;
use dohle::log::Dirs;
use dohle::log::Error;
use dohle::log::Faults;
use dohle::log::Log;
use dohle::log::Origin;
use dohle::log::Proof;
use dohle::record::BatchBuilder;
use dohle::record::Codec;
use std::collections::BTreeMap;
use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Context;
use std::task::Poll;
use std::task::Waker;
use std::time::Duration;

/// Faults planted in the code under test.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Switches {
    pub(crate) skip_sync: bool,
    pub(crate) keep_torn_tail: bool,
}

pub(crate) struct World {
    seed: u64,
    random: Random,
    disk: SimDisk,
    clock: SimClock,
    settings: StorageSettings,
    switches: Switches,
    dirs: Option<Dirs>,
    logs: Vec<Arc<Log>>,
    histories: Vec<History>,
    values: u64,
    verbose: bool,
}

const PARTITIONS: i32 = 3;
const FOLDERS: [&str; 2] = ["/a", "/b"];

impl World {
    pub(crate) fn new(seed: u64, switches: Switches) -> World {
        let clock = SimClock::new();
        let disk = SimDisk::new(seed, clock.clone());
        let mut world = World {
            seed,
            random: Random::seeded(seed ^ 0x5eed),
            disk,
            clock,
            settings: settings(),
            switches,
            dirs: None,
            logs: Vec::new(),
            histories: (0..PARTITIONS).map(|_| History::default()).collect(),
            values: 0,
            verbose: std::env::var("SIM_SEED").is_ok(),
        };
        world.format();
        world.open();
        world
    }

    /// Directory ids come from here, not from chance: the same seed must give the same bytes.
    fn format(&self) {
        let disk = Disk::Sim(self.disk.clone());
        for (number, folder) in FOLDERS.iter().enumerate() {
            let folder = PathBuf::from(folder);
            dohle::io::durable::create_dir(&disk, &folder).unwrap();
            let id = TopicId(uuid::Uuid::from_u128(1000 + u128::try_from(number).unwrap()));
            let text = format!("version=1\ncluster.id=sim\nnode.id=1\ndirectory.id={id}\n");
            dohle::io::durable::write_atomically(&disk, &folder.join("meta.properties"), text.as_bytes())
                .unwrap();
        }
    }

    fn say(&self, what: &str) {
        if self.verbose {
            println!("[{}] {what}", self.disk.operations());
        }
    }

    /// One random act.
    pub(crate) fn step(&mut self) {
        match self.random.below(100) {
            0..55 => self.append(),
            55..68 => {
                self.dirs().drive_disks();
            }
            68..74 => self.pass_time(),
            74..78 => self.dirs().checkpoint_now(),
            78..82 => self.plant_fault(),
            82..85 => self.end_process("kill", Promise::Written, SimDisk::kill_process),
            85..88 => self.end_process("power cut", Promise::Synced, SimDisk::crash),
            88..90 => self.close_and_open(),
            90..92 => self.truncate(),
            92..94 => self.delete_records(),
            94..96 => self.dirs().retain_now().unwrap_or(()),
            96..98 => self.fill_up(),
            _ => self.check_reads(),
        }
        self.settle();
    }

    /// The last act: everything is closed, opened and compared once more. The trace of the whole run.
    pub(crate) fn finish(mut self) -> u64 {
        self.disk.clear_faults();
        self.disk.set_capacity(1 << 30);
        self.end_process("power cut", Promise::Synced, SimDisk::crash);
        self.close_and_open();
        self.check_reads();
        self.disk.trace()
    }

    fn dirs(&self) -> &Dirs {
        self.dirs.as_ref().unwrap()
    }

    fn append(&mut self) {
        let index = self.pick();
        self.values += 1;
        let value = self.values;
        let count = 1 + i32::try_from(self.random.below(5)).unwrap();
        let size = 8 + usize::try_from(self.random.below(600)).unwrap();
        let sync = self.random.one_in(2);
        let now = Clock::Sim(self.clock.clone()).wall();
        let history = &self.histories[index];
        let (sequence, epoch) = (history.sequence, history.epoch);
        let mut content = vec![0; size];
        content[..8].copy_from_slice(&value.to_be_bytes());
        let mut builder = BatchBuilder::new(Codec::None, now);
        for _ in 0..count {
            builder.push(None, Some(&content), &[], now);
        }
        let batch = builder.producer(ProducerId(7), ProducerEpoch(epoch), sequence).build();
        let how =
            Append { epoch: LeaderEpoch(0), sync, origin: Origin::Client, proof: Proof::Waived, hold: false };
        match self.logs[index].append(batch, how) {
            Ok(appended) => {
                assert!(!appended.duplicate, "a fresh batch was taken for a duplicate");
                let batch = Batch { appended, value, sequence, sync, promise: Promise::None, open: true };
                let history = &mut self.histories[index];
                history.batches.push(batch);
                history.sequence += count;
                self.say(&format!(
                    "append to {index}: {}..{} sync {sync}",
                    appended.base_offset, appended.end_offset
                ));
            }
            Err(Error::Offline { .. } | Error::Io { .. }) => {}
            Err(error) => panic!("append: {error}"),
        }
    }

    /// Asks after every append that has no answer yet.
    fn settle(&mut self) {
        for (log, history) in self.logs.iter().zip(&mut self.histories) {
            let mut lost = None;
            for batch in &mut history.batches {
                let asked = if batch.sync { Promise::Synced } else { Promise::Written };
                if !batch.open {
                    continue;
                }
                let answer = match asked {
                    Promise::Synced => now_or_never(log.synced(&batch.appended)),
                    _ => now_or_never(log.written(&batch.appended)),
                };
                match answer {
                    Some(Ok(())) => {
                        batch.promise = asked;
                        batch.open = false;
                    }
                    Some(Err(Error::TakenBack)) => {
                        lost = lost.or(Some(batch.appended.base_offset));
                    }
                    // Offline: what was appended may be there or not, once the process starts anew.
                    Some(Err(_)) | None => {}
                }
            }
            if let Some(lost) = lost {
                history.cut(lost);
            }
        }
        let offline = self.dirs().online().len() < FOLDERS.len();
        if offline && self.random.one_in(4) {
            let power_cut = self.random.one_in(2);
            if power_cut {
                self.end_process("power cut after a failure", Promise::Synced, SimDisk::crash);
            } else {
                self.end_process("kill after a failure", Promise::Written, SimDisk::kill_process);
            }
        }
    }

    fn pass_time(&mut self) {
        let seconds = self.random.below(90);
        self.say(&format!("{seconds} s pass"));
        self.clock.advance(Duration::from_secs(seconds));
        self.dirs().drive();
    }

    fn plant_fault(&mut self) {
        let fault = match self.random.below(5) {
            0 => Fault::Device,
            1 => Fault::NoSpace,
            2 => Fault::ShortWrite,
            3 => Fault::FailedSync,
            _ => Fault::PowerCut,
        };
        let operation = self.disk.operations() + self.random.below(30);
        self.say(&format!("fault {fault:?} at {operation}"));
        self.disk.fail_at(operation, fault);
    }

    /// The device is full for a few appends, then there is room again.
    fn fill_up(&mut self) {
        self.say("the device fills up");
        self.disk.set_capacity(0);
        for _ in 0..3 {
            self.append();
            self.dirs().drive_disks();
            self.settle();
        }
        self.check_reads();
        self.disk.set_capacity(1 << 30);
    }

    fn truncate(&mut self) {
        self.dirs().drive_disks();
        self.settle();
        let index = self.pick();
        let history = &self.histories[index];
        let borders: Vec<i64> = history.batches.iter().map(|batch| batch.appended.base_offset.0).collect();
        let keep = borders.len().saturating_sub(1 + usize::try_from(self.random.below(6)).unwrap());
        let Some(to) = borders.get(keep).map(|to| Offset(*to)).filter(|to| to.0 > history.start) else {
            return;
        };
        self.say(&format!("truncate {index} to {to}"));
        match self.logs[index].truncate_to(to) {
            Ok(()) => {
                self.histories[index].cut(to);
                assert_eq!(self.logs[index].log_end_offset(), to);
            }
            // Half of the work may be done: the process starts anew, and the promises above the line are void.
            Err(_) => {
                self.histories[index]
                    .batches
                    .iter_mut()
                    .filter(|batch| batch.appended.end_offset > to)
                    .for_each(|batch| batch.promise = Promise::None);
                self.end_process("kill after a failed truncation", Promise::Written, SimDisk::kill_process);
            }
        }
    }

    fn delete_records(&mut self) {
        let index = self.pick();
        let log = &self.logs[index];
        log.set_high_watermark(log.log_end_offset());
        let borders: Vec<Offset> =
            self.histories[index].batches.iter().map(|batch| batch.appended.base_offset).collect();
        let pick = usize::try_from(self.random.below(1 + u64::try_from(borders.len()).unwrap() / 2)).unwrap();
        let Some(before) = borders.get(pick).filter(|before| **before <= log.log_end_offset()) else {
            return;
        };
        if let Ok(start) = log.delete_records(*before) {
            self.say(&format!("delete records of {index} before {start}"));
            self.histories[index].start = self.histories[index].start.max(start.0);
        }
    }

    fn pick(&mut self) -> usize {
        usize::try_from(self.random.below(u64::try_from(PARTITIONS).unwrap())).unwrap()
    }

    fn close_and_open(&mut self) {
        self.say("clean close");
        self.dirs().drive_disks();
        self.settle();
        let dirs = self.dirs.take().unwrap();
        dirs.close(-1);
        self.logs.clear();
        drop(dirs);
        // A close that met a fault is no better than a kill.
        for history in &mut self.histories {
            history.forget_promises_below(Promise::Written);
        }
        self.disk.clear_faults();
        self.crash_if_dark();
        check::files(&Disk::Sim(self.disk.clone()), &FOLDERS);
        self.open();
    }

    /// A power cut that a fault brought about must be followed by the crash it stands for.
    fn crash_if_dark(&mut self) {
        if Disk::Sim(self.disk.clone()).stat(&PathBuf::from("/a")).is_err() {
            self.disk.crash();
            for history in &mut self.histories {
                history.forget_promises_below(Promise::Synced);
            }
        }
    }

    fn end_process(&mut self, what: &str, survives: Promise, end: impl Fn(&SimDisk)) {
        self.say(what);
        self.logs.clear();
        self.dirs = None;
        let dark = Disk::Sim(self.disk.clone()).stat(&PathBuf::from("/a")).is_err();
        let survives = if dark { Promise::Synced } else { survives };
        for history in &mut self.histories {
            history.forget_promises_below(survives);
        }
        if dark {
            self.disk.crash()
        } else {
            end(&self.disk)
        }
        self.disk.clear_faults();
        self.open();
    }

    /// Opens everything; sometimes a fault strikes on the way, and it is tried again.
    fn open(&mut self) {
        // Recovery needs room for indexes and checkpoints.
        self.disk.set_capacity(1 << 30);
        while self.random.one_in(5) {
            let fault = if self.random.one_in(2) { Fault::PowerCut } else { Fault::Device };
            let operation = self.disk.operations() + self.random.below(150);
            self.say(&format!("opening with {fault:?} at {operation}"));
            self.disk.fail_at(operation, fault);
            let opened = self.try_open();
            self.logs.clear();
            self.dirs = None;
            drop(opened);
            if self.random.one_in(2) || fault == Fault::PowerCut {
                self.disk.crash();
                for history in &mut self.histories {
                    history.forget_promises_below(Promise::Synced);
                }
            } else {
                self.disk.kill_process();
            }
            self.disk.clear_faults();
        }
        self.try_open().unwrap();
        for (log, history) in self.logs.iter().zip(&mut self.histories) {
            check::recovered(log, history, self.seed);
            history.cut(log.log_end_offset());
            history.start = log.log_start_offset().0;
            history.all_synced();
        }
        self.check_reads();
        self.check_duplicates();
    }

    fn try_open(&mut self) -> Result<(), Error> {
        let (disk, clock) = (Disk::Sim(self.disk.clone()), Clock::Sim(self.clock.clone()));
        let faults = Arc::new(Faults::default());
        faults.skip_sync.store(self.switches.skip_sync, Ordering::Relaxed);
        faults.keep_torn_tail.store(self.switches.keep_torn_tail, Ordering::Relaxed);
        let dirs = Dirs::open_faulty(disk, clock, self.settings.clone(), faults)?;
        let mut logs = Vec::new();
        for index in 0..PARTITIONS {
            let partition = TopicPartition::new("t", PartitionIndex(index));
            logs.push(dirs.open_log(&partition, TopicId::METADATA, config(index))?);
        }
        self.logs = logs;
        self.dirs = Some(dirs);
        Ok(())
    }

    fn check_reads(&mut self) {
        for (log, history) in self.logs.iter().zip(&self.histories) {
            if !log.is_online() {
                continue;
            }
            let max_bytes = 1 + usize::try_from(self.random.below(4000)).unwrap();
            check::reads(log, history, max_bytes);
        }
    }

    /// The producer's last batch, sent again, is a duplicate with its old offsets.
    fn check_duplicates(&mut self) {
        for (log, history) in self.logs.iter().zip(&self.histories) {
            let Some(last) = history.batches.last() else { continue };
            if last.appended.base_offset.0 < history.start || !history.is_current(last) {
                continue;
            }
            let count = last.appended.end_offset.0 - last.appended.base_offset.0;
            let mut builder = BatchBuilder::new(Codec::None, Timestamp(1));
            for _ in 0..count {
                builder.push(None, Some(b"again"), &[], Timestamp(1));
            }
            let again = builder.producer(ProducerId(7), ProducerEpoch(history.epoch), last.sequence).build();
            let how = Append {
                epoch: LeaderEpoch(0),
                sync: false,
                origin: Origin::Client,
                proof: Proof::Waived,
                hold: false,
            };
            let answer = log.append(again, how).unwrap();
            assert!(answer.duplicate, "the last batch was not known any more");
            assert_eq!(answer.base_offset, last.appended.base_offset);
        }
    }
}

/// The future's value, if it has one already.
fn now_or_never<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}

fn settings() -> StorageSettings {
    let set = BTreeMap::from([("log.dirs".to_owned(), FOLDERS.join(","))]);
    let mut settings = ServerConfig::new(&set, "localhost").unwrap().storage;
    settings.node_id = BrokerId(1);
    settings.open_files_max = 4;
    settings
}

fn config(index: i32) -> Arc<TopicConfig> {
    let mut config = ServerConfig::new(&BTreeMap::new(), "localhost").unwrap().log;
    config.segment_bytes = 6_000 + 4_000 * index;
    config.index_interval_bytes = 500;
    config.file_delete_delay_ms = 30_000;
    if index == 1 {
        config.retention_bytes = 20_000;
    }
    if index == 2 {
        config.segment_ms = 60_000;
        config.flush_messages = 20;
    }
    Arc::new(config)
}
