//! Logs that are compacted, against a plain list of their records: on a simulated disk that is killed, loses its power
//! and fails at every step.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::base::TopicPartition;
use crate::config::ServerConfig;
use crate::config::TopicConfig;
use crate::io::clock::Clock;
use crate::io::disk::Disk;
use crate::io::random::Random;
use crate::io::sim::Fault;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;
use crate::io::task::Shutdown;
use crate::log::Append;
use crate::log::Dirs;
use crate::log::Error;
use crate::log::Log;
use crate::log::Origin;
use crate::log::Proof;
use crate::log::Threads;
use crate::log::compact::clean::Means;
use crate::log::compact::clean::Run;
use crate::log::compact::clean::Stats;
use crate::log::compact::clean::Stop;
use crate::metrics::Registry;
use crate::record::BatchBuilder;
use crate::record::CheckedBatch;
use crate::record::Codec;
use crate::record::Header;
use crate::record::control::EndTransaction;
use crate::record::is_intact;
use crate::record::records_of;
use crate::record::walk;
use bytes::Bytes;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const DELETE_RETENTION_MS: i64 = 60_000;

/// A record as it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Sent {
    offset: i64,
    key: u8,
    value: Option<Vec<u8>>,
    header: Vec<u8>,
    timestamp: i64,
}

/// One compacted log on a simulated disk, and what was sent to it.
struct World {
    disk: SimDisk,
    clock: SimClock,
    registry: Registry,
    dirs: Dirs,
    log: Arc<Log>,
    random: Random,
    sent: Vec<Sent>,
    /// The next sequence of each idempotent producer, with its last batch and where that went.
    producers: BTreeMap<i64, (i32, Option<(CheckedBatch, Offset)>)>,
}

fn partition() -> TopicPartition {
    TopicPartition::new("compacted", PartitionIndex(0))
}

fn open(disk: &SimDisk, clock: &SimClock, registry: &Registry, set: &[(&str, &str)]) -> (Dirs, Arc<Log>) {
    let mut all =
        BTreeMap::from([("log.dirs".to_owned(), "/a".to_owned()), ("node.id".to_owned(), "1".to_owned())]);
    all.extend(set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
    let settings = ServerConfig::new(&all, "localhost").unwrap().storage;
    let (disk, clock) = (Disk::Sim(disk.clone()), Clock::Sim(clock.clone()));
    let dirs = Dirs::open(disk, clock, Shutdown::new(), settings, Threads::Driven, registry.log()).unwrap();
    let defaults = ServerConfig::new(&BTreeMap::new(), "localhost").unwrap();
    let mut config = TopicConfig::resolve(&defaults, &BTreeMap::new()).unwrap();
    config.cleanup.compact = true;
    config.cleanup.delete = false;
    config.segment_bytes = 4000;
    config.index_interval_bytes = 300;
    config.min_cleanable_dirty_ratio = 0.0;
    config.delete_retention_ms = DELETE_RETENTION_MS;
    let log = dirs.open_log(&partition(), TopicId::METADATA, Arc::new(config)).unwrap();
    (dirs, log)
}

impl World {
    fn new(seed: u64) -> World {
        let clock = SimClock::new();
        let disk = SimDisk::new(seed, clock.clone());
        let registry = Registry::new();
        let (dirs, log) = open(&disk, &clock, &registry, &[]);
        let random = Random::seeded(seed ^ 0xc0ffee);
        World { disk, clock, registry, dirs, log, random, sent: Vec::new(), producers: BTreeMap::new() }
    }

    /// The same log on a disk of its own, opened anew.
    fn fork(&self, seed: u64) -> World {
        let clock = SimClock::starting_at(Clock::Sim(self.clock.clone()).wall());
        let disk = self.disk.copy(seed, clock.clone());
        let registry = Registry::new();
        let (dirs, log) = open(&disk, &clock, &registry, &[]);
        let (sent, producers, random) = (self.sent.clone(), self.producers.clone(), self.random.clone());
        World { disk, clock, registry, dirs, log, random, sent, producers }
    }

    fn reopen(&mut self) {
        (self.dirs, self.log) = open(&self.disk, &self.clock, &self.registry, &[]);
        self.all_is_below_the_high_watermark();
    }

    fn all_is_below_the_high_watermark(&self) {
        self.log.set_high_watermark(self.log.log_end_offset());
    }

    fn below(&mut self, end: u64) -> i64 {
        i64::try_from(self.random.below(end)).unwrap()
    }

    /// A batch of one to five records with keys below `keys`; every fourth record is a tombstone.
    fn batch(&mut self, keys: u64) -> (BatchBuilder, Vec<Sent>) {
        let now = Clock::Sim(self.clock.clone()).wall().0;
        let codec = Codec::ALL[usize::try_from(self.below(5)).unwrap()];
        let mut builder = BatchBuilder::new(codec, Timestamp(now));
        let first = self.log.log_end_offset().0;
        let mut records = Vec::new();
        for number in 0..1 + self.below(5) {
            let key = u8::try_from(self.below(keys)).unwrap();
            let size = usize::try_from(self.below(200)).unwrap();
            let value = (self.below(4) > 0).then(|| vec![key; size]);
            let header = vec![u8::try_from(self.below(256)).unwrap(); 3];
            let timestamp = now - self.below(50);
            builder.push(Some(&[key]), value.as_deref(), &[(b"h", Some(&header))], Timestamp(timestamp));
            records.push(Sent { offset: first + number, key, value, header, timestamp });
        }
        (builder, records)
    }

    fn append(&mut self, batch: CheckedBatch) -> Offset {
        let how = Append {
            epoch: LeaderEpoch(0),
            sync: true,
            origin: Origin::Client,
            proof: Proof::Waived,
            hold: false,
        };
        let appended = self.log.append(batch, how).unwrap();
        self.dirs.drive_disks();
        self.all_is_below_the_high_watermark();
        appended.base_offset
    }

    fn send(&mut self, keys: u64) {
        let (builder, records) = self.batch(keys);
        self.append(builder.build());
        self.sent.extend(records);
    }

    /// A batch of an idempotent producer, after its last one once more.
    fn send_idempotent(&mut self, producer: i64, keys: u64) {
        self.send_last_again(producer);
        let (builder, records) = self.batch(keys);
        let sequence = self.producers.get(&producer).map_or(0, |known| known.0);
        let batch = builder.producer(ProducerId(producer), ProducerEpoch(0), sequence).build();
        let base = self.append(batch.clone());
        let next = sequence + i32::try_from(records.len()).unwrap();
        self.sent.extend(records);
        self.producers.insert(producer, (next, Some((batch, base))));
    }

    fn send_last_again(&mut self, producer: i64) {
        let start = self.log.log_start_offset();
        let last = self.producers.get(&producer).and_then(|known| known.1.clone());
        // Whose records were all deleted may be forgotten.
        if let Some((batch, base)) = last.filter(|last| last.1 >= start) {
            let end = self.log.log_end_offset();
            assert_eq!(self.append(batch), base, "the last batch of producer {producer} is known");
            assert_eq!(self.log.log_end_offset(), end);
        }
    }

    /// Compacts until nothing is dirty any more.
    fn compact(&self) {
        while self.dirs.compact_now() {}
    }

    /// All batches from `from` on, as a reader with small fetches meets them.
    fn read(&self, from: Offset) -> Vec<Bytes> {
        let (mut from, mut batches) = (from, Vec::new());
        let end = self.log.log_end_offset();
        while from < end {
            let bytes = self.log.read_bytes(from, end, 700).unwrap();
            let before = from;
            for step in walk(&bytes) {
                let (at, header) = step.unwrap();
                let batch = bytes.slice(at..at + header.total_size());
                assert!(is_intact(&batch));
                from = Offset(header.last_offset() + 1);
                batches.push(batch);
            }
            assert!(from > before, "a reader at {before} of {end} goes on");
        }
        batches
    }

    fn records(&self, from: Offset) -> Vec<Sent> {
        let mut all = Vec::new();
        for batch in self.read(from) {
            if Header::parse(&batch).unwrap().is_control() {
                continue;
            }
            for record in records_of(&batch, 1 << 20).unwrap() {
                let record = record.unwrap();
                all.push(Sent {
                    offset: record.offset.0,
                    key: record.key.unwrap()[0],
                    value: record.value.map(|value| value.to_vec()),
                    header: record.headers[0].1.clone().unwrap().to_vec(),
                    timestamp: record.timestamp.0,
                });
            }
        }
        all.retain(|record| record.offset >= from.0);
        all
    }

    /// The last of each key is there, and all that is there was sent.
    fn check(&self) {
        let start = self.log.log_start_offset();
        let found = self.records(start);
        let by_offset: BTreeMap<i64, &Sent> = self.sent.iter().map(|sent| (sent.offset, sent)).collect();
        let mut before = -1;
        for record in &found {
            assert!(record.offset > before, "offsets ascend");
            before = record.offset;
            assert_eq!(Some(&record), by_offset.get(&record.offset), "as it was sent");
        }
        let now = Clock::Sim(self.clock.clone()).wall().0;
        let there: BTreeMap<i64, &Sent> = found.iter().map(|record| (record.offset, record)).collect();
        let last: BTreeMap<u8, &Sent> = self.sent.iter().map(|sent| (sent.key, sent)).collect();
        for sent in last.values().filter(|sent| sent.offset >= start.0) {
            let may_be_gone = sent.value.is_none() && now - sent.timestamp >= DELETE_RETENTION_MS;
            assert!(
                may_be_gone || there.contains_key(&sent.offset),
                "the last of a key is missing: {sent:?}"
            );
        }
        self.check_places(start, &found);
    }

    /// Reads from every offset, and by time, lead to the record that is next.
    fn check_places(&self, start: Offset, found: &[Sent]) {
        let end = self.log.log_end_offset();
        for from in (start.0..end.0).step_by(7) {
            let next = found.iter().find(|record| record.offset >= from);
            let bytes = self.log.read_bytes(Offset(from), end, 1).unwrap();
            let header = Header::parse(&bytes).unwrap();
            assert!(
                header.last_offset() >= from && next.is_none_or(|next| header.base_offset <= next.offset)
            );
        }
        for time in found.iter().step_by(5).map(|record| record.timestamp) {
            let first = found.iter().find(|record| record.timestamp >= time).unwrap();
            let at = self.log.offset_for_time(Timestamp(time), end).unwrap().unwrap();
            assert_eq!((at.offset.0, at.timestamp.0), (first.offset, first.timestamp));
        }
    }

    /// Below `end` no key has two records.
    fn check_compacted(&self, end: Offset) {
        let mut keys = std::collections::BTreeSet::new();
        for record in self.records(self.log.log_start_offset()).iter().filter(|record| record.offset < end.0)
        {
            assert!(keys.insert(record.key), "two records of one key below {end}: {record:?}");
        }
    }

    /// The base of the active segment.
    fn active(&self) -> Offset {
        self.log.active_segment().base
    }

    fn names(&self) -> Vec<String> {
        let files = self.disk.files().into_iter().filter(|(path, _)| path.starts_with("/a/compacted-0"));
        files.map(|(path, _)| path.file_name().unwrap().to_str().unwrap().to_owned()).collect()
    }

    fn shown(&self, metric: &str) -> i64 {
        let text = self.registry.text(&crate::metrics::Observed::default());
        let line = text.lines().find(|line| line.starts_with(&format!("{metric} "))).unwrap();
        line.rsplit_once(' ').unwrap().1.parse().unwrap()
    }
}

/// A log with a few closed segments.
fn filled(seed: u64) -> World {
    filled_by(seed, 60)
}

fn filled_by(seed: u64, batches: usize) -> World {
    let mut world = World::new(seed);
    for _ in 0..batches {
        world.send(20);
        world.send_idempotent(1, 20);
    }
    world.log.roll_now().unwrap();
    world.send(20);
    world
}

#[test]
fn the_last_record_of_each_key_stays() {
    let mut world = filled(1);
    let (bytes, segments) = (world.log.size_bytes(), world.log.segment_count());
    assert!(segments > 4);
    assert!(world.dirs.compact_now());
    assert!(!world.dirs.compact_now(), "nothing is dirty any more");
    world.check();
    world.check_compacted(world.active());
    assert_eq!(world.shown("kafka_log_logcleanermanager_max_dirty_percent"), 0);
    assert!((1..60).contains(&world.shown("kafka_log_logcleaner_cleaner_recopy_percent")));
    let checkpoint = world.log.directory.checkpoints.get("cleaner-offset-checkpoint", &partition());
    assert_eq!(checkpoint, Some(world.active()));
    let files = world.disk.files();
    let text = files.iter().find(|(path, _)| path == Path::new("/a/cleaner-offset-checkpoint")).unwrap();
    let expect = format!("0\n1\ncompacted 0 {}\n", world.active());
    assert_eq!(std::str::from_utf8(&text.1).unwrap(), expect);
    assert!(world.log.size_bytes() < bytes / 2, "{} of {bytes}", world.log.size_bytes());
    world.send(20);
    world.log.roll_now().unwrap();
    world.compact();
    world.check();
    assert!(world.log.segment_count() < segments, "small segments are joined");
}

#[test]
fn a_log_that_is_compact_already_keeps_its_files() {
    let mut world = World::new(2);
    let now = Clock::Sim(world.clock.clone()).wall();
    for key in 0..100u8 {
        let mut builder = BatchBuilder::new(Codec::None, now);
        builder.push(Some(&[key]), Some(&[key; 100]), &[(b"h", Some(b"x"))], now);
        world.append(builder.build());
    }
    let before: Vec<_> = world.log.view.load().iter().map(|segment| segment.base).collect();
    assert!(before.len() > 2 && world.dirs.compact_now());
    let after: Vec<_> = world.log.view.load().iter().map(|segment| segment.base).collect();
    assert_eq!(before, after);
    assert_eq!(world.shown("dohle_log_compaction_written_bytes_total"), 0);
}

#[test]
fn tombstones_go_when_their_time_has_come() {
    let mut world = World::new(3);
    let now = |world: &World| Clock::Sim(world.clock.clone()).wall();
    let push = |world: &mut World, key: u8, value: Option<&[u8]>| {
        let mut builder = BatchBuilder::new(Codec::Lz4, now(world));
        builder.push(Some(&[key]), value, &[(b"h", Some(b"x"))], now(world));
        world.append(builder.build());
        world.log.roll_now().unwrap();
    };
    push(&mut world, 1, Some(b"a"));
    push(&mut world, 1, None);
    push(&mut world, 2, Some(b"b"));
    world.compact();
    let offsets =
        |world: &World| -> Vec<i64> { world.records(Offset(0)).iter().map(|record| record.offset).collect() };
    assert_eq!(offsets(&world), [1, 2], "the record is gone, its tombstone is not");
    world.clock.advance(Duration::from_millis(u64::try_from(DELETE_RETENTION_MS).unwrap() - 1));
    push(&mut world, 3, Some(b"c"));
    world.compact();
    assert_eq!(offsets(&world), [1, 2, 3], "a millisecond too early");
    world.clock.advance(Duration::from_millis(1));
    push(&mut world, 4, Some(b"d"));
    world.compact();
    assert_eq!(offsets(&world), [2, 3, 4]);
    let at = world.log.offset_for_time(Timestamp(0), Offset(5)).unwrap().unwrap();
    assert_eq!(at.offset, Offset(2));
}

#[test]
fn a_producers_last_batch_stays_without_its_records() {
    let mut world = World::new(4);
    world.send_idempotent(1, 1);
    let last = world.log.log_end_offset();
    world.send_idempotent(2, 1);
    world.send_idempotent(2, 1);
    for _ in 0..40 {
        world.send(1);
    }
    world.log.roll_now().unwrap();
    world.compact();
    let kept: Vec<Header> = world.read(Offset(0)).iter().map(|batch| Header::parse(batch).unwrap()).collect();
    let empty: Vec<(i64, i32)> = kept
        .iter()
        .filter(|header| header.has_producer_id())
        .map(|header| (header.producer_id, header.record_count))
        .collect();
    assert_eq!(empty, [(1, 0), (2, 0)], "one each, emptied");
    assert_eq!(kept[0].last_offset(), last.0 - 1);
    for snapshot in world.names().into_iter().filter(|name| name.ends_with(".snapshot")) {
        world.disk.lose(&Path::new("/a/compacted-0").join(snapshot));
    }
    world.disk.kill_process();
    world.reopen();
    world.send_last_again(1);
    world.send_last_again(2);
    world.send_idempotent(1, 5);
    world.check();
}

#[test]
fn what_a_reader_holds_stays_readable() {
    let world = filled(5);
    let end = world.log.log_end_offset();
    let held = world.log.view.load_full();
    let slices = world.log.read(Offset(0), end, 1 << 20, true).unwrap();
    let read = |file: &crate::io::disk::File, length: u64| {
        let mut bytes = vec![0; usize::try_from(length).unwrap()];
        file.read_exact_at(&mut bytes, 0).unwrap();
        bytes
    };
    let before: Vec<Vec<u8>> = slices.slices.iter().map(|slice| read(&slice.file, slice.length)).collect();
    drop(slices);
    world.compact();
    world.log.directory.files.sweep();
    world.log.directory.files.sweep();
    for (segment, before) in held.iter().zip(&before).take(held.len() - 1) {
        let file = segment.file(&world.log.directory).unwrap();
        assert_eq!(&read(&file, segment.size()), before);
        let middle = Offset(segment.base.0 + 20);
        let found = world.log.locate(segment, middle, segment.size()).unwrap();
        assert!(found.is_none_or(|found| found.header.last_offset() >= middle.0));
    }
}

#[test]
fn a_map_that_is_full_takes_several_runs() {
    let mut world = World::new(6);
    for _ in 0..100 {
        world.send(250);
    }
    let settings =
        [("log.cleaner.dedupe.buffer.size", "1048577"), ("log.cleaner.io.buffer.load.factor", "0.0001")];
    world.dirs.close(-1);
    let (dirs, log) = open(&world.disk, &world.clock, &world.registry, &settings);
    let world = World { dirs, log, ..world };
    world.all_is_below_the_high_watermark();
    let mut runs = 0;
    while world.dirs.compact_now() {
        runs += 1;
        world.check();
    }
    assert!(runs > 4, "{runs}");
    world.check_compacted(world.active());
}

#[test]
fn records_without_a_key_go() {
    let mut world = World::new(7);
    for _ in 0..60 {
        let now = Clock::Sim(world.clock.clone()).wall();
        let mut builder = BatchBuilder::new(Codec::None, now);
        builder.push(None, Some(&[1; 100]), &[], now);
        world.append(builder.build());
    }
    world.compact();
    let end = world.active();
    let left: Vec<i64> = world
        .read(Offset(0))
        .iter()
        .map(|batch| Header::parse(batch).unwrap())
        .filter(|header| header.base_offset < end.0)
        .map(|header| i64::from(header.record_count))
        .collect();
    assert_eq!(left, [0], "the batch that ends the compacted part stays, without its record");
}

#[test]
fn a_damaged_log_is_left_alone_and_counted() {
    let mut world = filled(8);
    world.dirs.checkpoint_now();
    let path = Path::new("/a/compacted-0/00000000000000000000.log");
    world.disk.damage(path, |bytes| bytes[200] ^= 1);
    let before = world.names();
    assert!(!world.dirs.compact_now());
    assert!(!world.dirs.compact_now());
    assert_eq!(world.names(), before, "nothing is left behind");
    let described = world.dirs.describe();
    assert_eq!(described[0].cleaning.uncleanable_partitions, 1);
    assert!(described[0].cleaning.uncleanable_bytes > 0);
    world.send(20);
    let healed = |bytes: &mut Vec<u8>| bytes[200] ^= 1;
    world.disk.damage(path, healed);
    assert!(!world.dirs.compact_now(), "until the next start");
    world.dirs.close(-1);
    world.reopen();
    assert!(world.dirs.compact_now());
    world.check();
}

#[test]
fn deletion_and_deleted_records_end_a_run_or_outlast_it() {
    let world = filled(9);
    world.compact();
    let middle = Offset(world.active().0 / 2);
    world.log.delete_records(middle).unwrap();
    world.dirs.retain_now().unwrap();
    world.compact();
    world.check();
    world.dirs.delete_log(&partition()).unwrap();
    assert_eq!(world.log.directory.checkpoints.get("cleaner-offset-checkpoint", &partition()), None);
    assert!(!world.dirs.compact_now());
    assert!(matches!(world.log.note_cleaned(Offset(5)), Err(Error::Closed)));
}

#[test]
fn retention_during_a_run_ends_it_without_blame() {
    let world = filled(14);
    world.log.flush().unwrap();
    let end = world.active();
    let go_on = |_: u64| {
        world.log.delete_records(Offset(end.0 - 1)).unwrap();
        world.dirs.retain_now().unwrap();
        Ok(())
    };
    let mut run = Run {
        log: &world.log,
        means: Means { map_bytes: 1 << 20, load_factor: 0.9, buffer_bytes: 1 << 10 },
        now: Clock::Sim(world.clock.clone()).wall(),
        first_dirty: Offset(0),
        end,
        go_on: &go_on,
        stats: Stats::default(),
    };
    assert!(matches!(run.run(), Err(Stop::Ended)));
    world.check();
    world.compact();
    world.check();
    assert_eq!(world.dirs.describe()[0].cleaning.uncleanable_partitions, 0);
}

#[test]
fn aborted_records_go_and_markers_stay_as_long_as_they_must() {
    let mut world = World::new(10);
    let transact = |world: &mut World, producer: i64, sequence: i32, key: u8| {
        let now = Clock::Sim(world.clock.clone()).wall();
        let mut builder = BatchBuilder::new(Codec::None, now);
        builder.push(Some(&[key]), Some(&[key; 50]), &[(b"h", Some(b"x"))], now);
        let builder = builder.producer(ProducerId(producer), ProducerEpoch(0), sequence);
        world.append(builder.transactional().build());
    };
    let end = |world: &mut World, producer: i64, committed: bool| {
        let now = Clock::Sim(world.clock.clone()).wall();
        let marker = EndTransaction { committed, coordinator_epoch: 0 };
        let batch = marker.batch(ProducerId(producer), ProducerEpoch(0), now);
        let how = Append {
            epoch: LeaderEpoch(0),
            sync: true,
            origin: Origin::Coordinator,
            proof: Proof::Waived,
            hold: false,
        };
        world.log.append(batch, how).unwrap();
        world.dirs.drive_disks();
        world.all_is_below_the_high_watermark();
    };
    transact(&mut world, 1, 0, 1); // 0, committed at 3
    transact(&mut world, 2, 0, 1); // 1, aborted at 2: does not replace 0
    end(&mut world, 2, false);
    end(&mut world, 1, true);
    for number in 0..60 {
        transact(&mut world, 3, number, u8::try_from(10 + number).unwrap());
    }
    let open = world.log.log_end_offset();
    world.compact();
    assert_eq!(world.records(Offset(0)).len(), 62, "an open transaction holds compaction back");
    end(&mut world, 3, true);
    transact(&mut world, 2, 1, 2);
    world.log.roll_now().unwrap();
    end(&mut world, 2, true);
    world.compact();
    let keys =
        |world: &World| -> Vec<u8> { world.records(Offset(0)).iter().map(|record| record.key).collect() };
    assert_eq!(keys(&world)[..2], [1, 10], "the aborted record is gone, the committed one of its key is not");
    let markers = |world: &World| -> Vec<i64> {
        let headers: Vec<Header> =
            world.read(Offset(0)).iter().map(|batch| Header::parse(batch).unwrap()).collect();
        headers.iter().filter(|header| header.is_control()).map(|header| header.base_offset).collect()
    };
    assert_eq!(markers(&world), [2, 3, open.0, open.0 + 2]);
    assert_eq!(world.log.aborted(Offset(0), open).unwrap().len(), 1, "its index entry goes with the marker");
    for _ in 0..3 {
        world.clock.advance(Duration::from_millis(u64::try_from(DELETE_RETENTION_MS).unwrap()));
        world.send(1);
        world.log.roll_now().unwrap();
        world.compact();
    }
    assert_eq!(markers(&world)[0], 3, "the abort marker is gone");
    assert!(world.log.aborted(Offset(0), open).unwrap().is_empty());
    assert_eq!(keys(&world)[0], 1);
}

/// Compacts a log with a fault at each operation in turn; afterwards the log is whole and compacts to its end.
fn fail_at_every_operation(fault: Fault, end_process: fn(&SimDisk)) -> u64 {
    let filled = filled_by(11, 20);
    filled.dirs.close(-1);
    let mut operations = 0;
    for operation in 0.. {
        let mut world = filled.fork(operation);
        world.all_is_below_the_high_watermark();
        world.disk.fail_at(world.disk.operations() + operation, fault);
        let compacted = world.dirs.compact_now();
        if world.disk.strikes().is_empty() {
            assert!(compacted);
            operations = operation;
            break;
        }
        world.disk.clear_faults();
        end_process(&world.disk);
        world.reopen();
        let odd = |name: &String| name.ends_with(".cleaned") || name.ends_with(".swap");
        assert_eq!(world.names().iter().find(|name| odd(name)), None, "operation {operation}");
        world.check();
        world.compact();
        world.check();
        world.check_compacted(world.active());
        world.send_last_again(1);
    }
    operations
}

#[test]
fn a_power_cut_at_any_moment_leaves_the_log_whole() {
    assert!(fail_at_every_operation(Fault::PowerCut, SimDisk::crash) > 40);
}

#[test]
fn a_device_that_fails_at_any_moment_leaves_the_log_whole() {
    fail_at_every_operation(Fault::Device, SimDisk::kill_process);
    fail_at_every_operation(Fault::FailedSync, SimDisk::crash);
}

#[test]
fn a_full_device_is_met_again_later() {
    let mut world = World::new(12);
    for key in (0..100).chain([0]) {
        let now = Clock::Sim(world.clock.clone()).wall();
        let mut builder = BatchBuilder::new(Codec::None, now);
        builder.push(Some(&[key]), Some(&[key; 100]), &[(b"h", Some(b"x"))], now);
        let offset = world.append(builder.build()).0;
        let (value, header) = (Some(vec![key; 100]), b"x".to_vec());
        world.sent.push(Sent { offset, key, value, header, timestamp: now.0 });
    }
    world.log.roll_now().unwrap();
    world.dirs.checkpoint_now();
    let used: usize = world.disk.files().iter().map(|(_, bytes)| bytes.len()).sum();
    world.disk.set_capacity(u64::try_from(used).unwrap());
    let before = world.names();
    assert!(!world.dirs.compact_now());
    world.check();
    assert_eq!(world.names(), before);
    assert_eq!(world.dirs.describe()[0].cleaning.uncleanable_partitions, 0);
    world.disk.set_capacity(1 << 30);
    assert!(world.dirs.compact_now());
    world.check();
    world.check_compacted(world.active());
}

#[test]
fn a_log_that_kafka_compacted_is_recovered_with_its_holes() {
    let mut world = filled(13);
    world.compact();
    world.send(20);
    let end = world.log.log_end_offset();
    world.check();
    // Kafka notes its recovery points once a minute, and after a run where the dirty part begins.
    for file in ["recovery-point-offset-checkpoint", "cleaner-offset-checkpoint"] {
        world.disk.lose(&Path::new("/a").join(file));
    }
    world.disk.kill_process();
    world.reopen();
    assert_eq!(world.log.log_end_offset(), end);
    world.check();
}

#[test]
fn a_producer_whose_last_batch_reaches_over_the_log_start_goes_on_after_a_crash() {
    let mut reached_over = 0;
    for after in 0..120 {
        let mut world = World::new(2_325_113_206_980_403_182);
        for step in [Step::Pass { ms: 81 }, Step::Roll, Step::DeleteRecords, Step::Idempotent { producer: 3 }]
        {
            world.apply(&step);
        }
        world.apply(&Step::Roll);
        let second = world.log.log_end_offset();
        world.apply(&Step::Idempotent { producer: 3 });
        let behind = world.log.log_end_offset();
        for step in [Step::Checkpoint, Step::Send { keys: 11 }, Step::DeleteRecords] {
            world.apply(&step);
        }
        let start = world.log.log_start_offset();
        reached_over += u32::from(second < start && start < behind);
        world.apply(&Step::CutWhileCompacting { after });
        world.apply(&Step::Idempotent { producer: 3 });
    }
    assert!(reached_over > 0);
}

/// The newest snapshot that a crash leaves knows the producer's first batch; the log's start has passed its second.
#[test]
fn a_producer_whose_last_batch_lies_below_the_log_start_goes_on_after_a_crash() {
    for (seed, retains) in (0..40).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut world = World::new(seed);
        for step in [Step::Idempotent { producer: 3 }, Step::Cut, Step::Idempotent { producer: 3 }] {
            world.apply(&step);
        }
        world.log.roll_now().unwrap();
        world.send(20);
        world.log.delete_records(world.log.log_end_offset()).unwrap();
        if retains {
            world.dirs.retain_now().unwrap();
        } else {
            world.dirs.checkpoint_now();
        }
        world.apply(&Step::Cut);
        world.apply(&Step::Idempotent { producer: 3 });
    }
}

#[derive(Clone, Debug)]
enum Step {
    Send { keys: u64 },
    Idempotent { producer: i64 },
    Roll,
    Compact,
    Pass { ms: u64 },
    DeleteRecords,
    Retain,
    Checkpoint,
    Kill,
    Cut,
    CutWhileCompacting { after: u64 },
    Close,
    Check,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        20 => (1..40u64).prop_map(|keys| Step::Send { keys }),
        10 => (1..4i64).prop_map(|producer| Step::Idempotent { producer }),
        2 => Just(Step::Roll),
        6 => Just(Step::Compact),
        3 => (0..80_000u64).prop_map(|ms| Step::Pass { ms }),
        1 => Just(Step::DeleteRecords),
        1 => Just(Step::Retain),
        2 => Just(Step::Checkpoint),
        1 => Just(Step::Kill),
        1 => Just(Step::Cut),
        3 => (0..120u64).prop_map(|after| Step::CutWhileCompacting { after }),
        1 => Just(Step::Close),
        2 => Just(Step::Check),
    ];
    proptest::collection::vec(step, 1..120)
}

impl World {
    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Send { keys } => self.send(keys),
            Step::Idempotent { producer } => self.send_idempotent(producer, 40),
            Step::Roll => self.log.roll_now().unwrap(),
            Step::Compact => {
                self.compact();
                self.check_compacted(self.active());
            }
            Step::Pass { ms } => self.clock.advance(Duration::from_millis(ms)),
            Step::DeleteRecords => {
                let (start, end) = (self.log.log_start_offset().0, self.log.log_end_offset().0);
                let before = start + (end - start) / 3;
                self.log.delete_records(Offset(before)).unwrap();
                // Its number is on disk at the next checkpoint; until then a power cut takes it back.
                self.dirs.checkpoint_now();
            }
            Step::Retain => self.dirs.retain_now().unwrap(),
            Step::Checkpoint => self.dirs.checkpoint_now(),
            Step::Kill => {
                self.disk.kill_process();
                self.reopen();
            }
            Step::Cut => {
                self.disk.crash();
                self.reopen();
            }
            Step::CutWhileCompacting { after } => {
                self.disk.fail_at(self.disk.operations() + after, Fault::PowerCut);
                self.dirs.compact_now();
                self.disk.clear_faults();
                self.disk.crash();
                self.reopen();
                self.check();
            }
            Step::Close => {
                self.dirs.close(-1);
                self.reopen();
            }
            Step::Check => self.check(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn a_compacted_log_holds_the_last_record_of_each_key(seed in any::<u64>(), steps in steps()) {
        let mut world = World::new(seed);
        for step in &steps {
            world.apply(step);
        }
        world.compact();
        world.check();
        world.check_compacted(world.active());
        for producer in 1..4 {
            world.send_last_again(producer);
        }
    }
}
