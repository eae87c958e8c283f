//! The share coordinator's machine: its rules, its records byte by byte, and reading it again after a crash at any place.

use crate::base::ErrorCode;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::coordinator::Machine;
use crate::coordinator::Memory;
use crate::coordinator::Now;
use crate::coordinator::Place;
use crate::coordinator::Ticket;
use crate::coordinator::machine::Entry;
use crate::io::random::Random;
use crate::share::Failure;
use crate::share::Key;
use crate::share::state::batches::Batch;
use crate::share::state::batches::State;
use crate::share::state::command::Answer;
use crate::share::state::command::Command;
use crate::share::state::command::Found;
use crate::share::state::command::Initialize;
use crate::share::state::command::Read;
use crate::share::state::command::Write;
use crate::share::state::machine::ColdSnapshots;
use crate::share::state::machine::States;
use crate::share::state::record::Record;
use crate::share::state::record::Snapshot;
use crate::share::state::record::Update;
use crate::share::state::settings::Settings;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

fn settings() -> Arc<Settings> {
    Arc::new(Settings {
        updates_per_snapshot: 3,
        cold_snapshot_interval: Duration::from_secs(300),
        prune_interval: Duration::from_secs(300),
        write_timeout: Duration::from_secs(5),
        memory: Memory::new(100_000, "states", "a.setting"),
    })
}

fn key(partition: i32) -> Key {
    Key { group: Arc::from("g"), topic: TopicId::METADATA, partition: PartitionIndex(partition) }
}

/// A machine with the log that it writes.
struct World {
    states: States,
    log: Vec<Entry>,
    now: i64,
}

impl World {
    fn new() -> World {
        World { states: States::new(settings()), log: Vec::new(), now: 1_000 }
    }

    fn ask(&mut self, command: Command) -> Answer {
        let mut outcome = self.states.decide(Now(Timestamp(self.now)), Ticket(1), command);
        self.take(&outcome.records);
        outcome.answers.remove(0).1
    }

    fn take(&mut self, records: &[Record]) {
        for record in records {
            let offset = Offset(i64::try_from(self.log.len()).unwrap());
            self.states.apply(Place { offset, producer: ProducerId::NONE }, record);
            self.log.push(States::encode(record));
        }
    }

    /// The machine that reads the log from `start` on.
    fn reloaded(&self, start: usize) -> States {
        let mut states = States::new(settings());
        for (offset, entry) in self.log.iter().enumerate().skip(start) {
            let record = States::decode(entry).unwrap().unwrap();
            let offset = Offset(i64::try_from(offset).unwrap());
            states.apply(Place { offset, producer: ProducerId::NONE }, &record);
        }
        states
    }

    fn initialize(&mut self, partition: i32, state_epoch: i32, start: i64) -> Answer {
        let request = Initialize { key: key(partition), state_epoch, start, known: true };
        self.ask(Command::Initialize(request))
    }

    fn write(&mut self, partition: i32, epochs: (i32, i32), start: i64, batches: Vec<Batch>) -> Answer {
        let (state_epoch, leader_epoch) = epochs;
        let key = key(partition);
        let write = Write { key, state_epoch, leader_epoch, start, complete: 0, batches, known: true };
        self.ask(Command::Write(write))
    }

    fn read(&mut self, partition: i32, leader_epoch: i32) -> Result<Found, Failure> {
        match self.ask(Command::Read(Read { key: key(partition), leader_epoch, known: true })) {
            Answer::Found(result) => result,
            other => panic!("{other:?}"),
        }
    }
}

fn code(answer: Answer) -> ErrorCode {
    match answer {
        Answer::Done(Ok(())) => ErrorCode::None,
        Answer::Done(Err(failure)) => failure.code,
        other => panic!("{other:?}"),
    }
}

fn batch(first: i64, end: i64, state: State) -> Batch {
    Batch { first, end, state, count: 1 }
}

#[test]
fn a_share_partition_is_begun_read_and_written() {
    let mut world = World::new();
    assert_eq!(world.read(0, 1).unwrap_err().code, ErrorCode::InvalidRequest);
    assert_eq!(code(world.write(0, (1, 1), 0, Vec::new())), ErrorCode::InvalidRequest);
    assert_eq!(code(world.initialize(0, 1, -1)), ErrorCode::None);
    assert_eq!(world.read(0, 5), Ok(Found { state_epoch: 1, start: -1, batches: Vec::new() }));
    let acked = batch(2, 4, State::Acknowledged);
    assert_eq!(code(world.write(0, (1, 5), 0, vec![acked])), ErrorCode::None);
    assert_eq!(world.read(0, 5), Ok(Found { state_epoch: 1, start: 0, batches: vec![acked] }));
    let Answer::Summary(Ok(summary)) = world.ask(Command::Summarize(key(0), true)) else { panic!() };
    assert_eq!((summary.start, summary.complete, summary.leader_epoch), (0, 0, 5));
    let Answer::Summary(Ok(unknown)) = world.ask(Command::Summarize(key(9), true)) else { panic!() };
    assert_eq!((unknown.start, unknown.complete), (-1, -1));
}

#[test]
fn older_leaders_and_older_states_are_fenced() {
    let mut world = World::new();
    world.initialize(0, 3, 0);
    world.read(0, 7).unwrap();
    assert_eq!(world.read(0, 6).unwrap_err().code, ErrorCode::FencedLeaderEpoch);
    assert_eq!(code(world.write(0, (3, 6), 0, Vec::new())), ErrorCode::FencedLeaderEpoch);
    assert_eq!(code(world.write(0, (2, 7), 0, Vec::new())), ErrorCode::FencedStateEpoch);
    assert_eq!(code(world.initialize(0, 2, 0)), ErrorCode::FencedStateEpoch);
    assert_eq!(code(world.initialize(0, 3, 9)), ErrorCode::None);
    assert_eq!(world.read(0, 0).unwrap().start, 9, "a state that begins again has no leader yet");
    for (partition, epochs) in [(-1, (0, 0)), (0, (-1, 0)), (0, (0, -1))] {
        assert_eq!(code(world.write(partition, epochs, 0, Vec::new())), ErrorCode::InvalidRequest);
    }
    let unknown = Initialize { key: key(1), state_epoch: 0, start: 0, known: false };
    assert_eq!(code(world.ask(Command::Initialize(unknown))), ErrorCode::UnknownTopicOrPartition);
}

#[test]
fn every_few_updates_there_is_a_snapshot_and_what_is_before_it_can_go() {
    let mut world = World::new();
    world.initialize(0, 1, 0);
    for offset in 0..8 {
        world.write(0, (1, 0), 0, vec![batch(offset * 2 + 1, offset * 2 + 2, State::Acknowledged)]);
    }
    let kinds: Vec<u8> = world.log.iter().map(|entry| entry.key[1]).collect();
    assert_eq!(kinds, [0, 1, 1, 1, 0, 1, 1, 1, 0], "0 is a snapshot, 1 an update");
    assert_eq!(world.ask(Command::Redundant), Answer::Redundant(Some(8)));
    assert_eq!(world.reloaded(8).get(&key(0)), world.states.get(&key(0)));
    world.initialize(1, 1, 0);
    assert_eq!(world.ask(Command::Redundant), Answer::Redundant(Some(8)));
}

#[test]
fn quiet_share_partitions_are_written_anew_once() {
    let mut world = World::new();
    world.initialize(0, 1, 0);
    world.initialize(1, 1, 5);
    world.now += 300_000;
    world.write(0, (1, 0), 3, Vec::new());
    let cold = |world: &mut World| {
        let outcome = world.states.expired(Now(Timestamp(world.now)), ColdSnapshots);
        world.take(&outcome.records);
        outcome.records.len()
    };
    assert_eq!(cold(&mut world), 2, "updates do not count as writing anew");
    assert_eq!(world.ask(Command::Redundant), Answer::Redundant(Some(3)));
    world.now += 300_000;
    assert_eq!(cold(&mut world), 0);
    assert_eq!(world.reloaded(3).get(&key(0)), world.states.get(&key(0)));
}

#[test]
fn what_is_deleted_is_forgotten() {
    let mut world = World::new();
    world.initialize(0, 1, 0);
    world.initialize(1, 1, 0);
    assert_eq!(code(world.ask(Command::Delete(key(0), true))), ErrorCode::None);
    assert_eq!(code(world.ask(Command::Delete(key(0), true))), ErrorCode::None, "it is gone already");
    assert!(world.states.get(&key(0)).is_none());
    let topics = Arc::new(BTreeSet::from([TopicId::METADATA]));
    world.ask(Command::TopicsDeleted(topics));
    assert!(world.states.get(&key(1)).is_none());
    assert_eq!(world.log.len(), 4);
    assert!(world.reloaded(0).get(&key(1)).is_none());
}

/// The bytes are what Kafka 4.4's `ShareSnapshotValue` and `ShareUpdateValue` write for these fields.
#[test]
fn records_are_those_of_kafka() {
    let snapshot = Snapshot {
        snapshot_epoch: 1,
        state_epoch: 2,
        leader_epoch: 3,
        start: 4,
        complete: -1,
        created: Timestamp(5),
        written: Timestamp(6),
        batches: vec![batch(7, 9, State::Archived)],
    };
    let record = Record::Snapshot(key(9), Some(snapshot));
    let entry = record.write();
    let mut expected_key = b"\0\0\0\x01g".to_vec();
    expected_key.extend_from_slice(&[0; 15]);
    expected_key.extend_from_slice(b"\x01\0\0\0\x09");
    assert_eq!(entry.key, expected_key);
    let mut expected = b"\0\0\0\0\0\x01\0\0\0\x02\0\0\0\x03".to_vec();
    for number in [4i64, 5, 6] {
        expected.extend_from_slice(&number.to_be_bytes());
    }
    expected.extend_from_slice(b"\x02\0\0\0\0\0\0\0\x07\0\0\0\0\0\0\0\x08\x04\0\x01\0\0");
    assert_eq!(entry.value.as_deref(), Some(expected.as_slice()));
    assert_eq!(Record::read(&entry), Ok(Some(record)));
    let update = Update { snapshot_epoch: 1, leader_epoch: 3, start: -1, complete: 258, batches: Vec::new() };
    let record = Record::Update(key(9), update);
    let entry = record.write();
    assert_eq!(entry.key[..2], [0, 1]);
    let expected = b"\0\0\0\0\0\x01\0\0\0\x03\xff\xff\xff\xff\xff\xff\xff\xff\x01\x01\x00\x04\0\0\x01\x02";
    assert_eq!(entry.value.as_deref(), Some(expected.as_slice()));
    assert_eq!(Record::read(&entry), Ok(Some(record)));
    let forgotten = Record::Snapshot(key(9), None);
    assert_eq!(Record::read(&forgotten.write()), Ok(Some(forgotten)));
}

#[test]
fn damaged_records_are_refused() {
    let mut random = Random::seeded(1);
    let update = Update {
        snapshot_epoch: 1,
        leader_epoch: 3,
        start: 4,
        complete: 5,
        batches: vec![batch(7, 9, State::Archived)],
    };
    let entry = Record::Update(key(9), update).write();
    let value = entry.value.unwrap();
    for cut in 0..value.len() {
        let torn = Entry { key: entry.key.clone(), value: Some(value.slice(..cut)) };
        assert!(Record::read(&torn).is_err(), "{cut}");
    }
    for _ in 0..2_000 {
        let mut bytes = value.to_vec();
        for _ in 0..=random.below(3) {
            let at = usize::try_from(random.below(bytes.len() as u64)).unwrap();
            bytes[at] = u8::try_from(random.below(256)).unwrap();
        }
        // Whatever comes of it, it is no panic, and what is read can be written.
        let damaged = Entry { key: entry.key.clone(), value: Some(Bytes::from(bytes)) };
        if let Ok(Some(record)) = Record::read(&damaged) {
            assert_eq!(Record::read(&record.write()), Ok(Some(record)));
        }
    }
}

/// What is known of each share-partition, record by record.
#[derive(Clone, Debug, Default)]
struct Model {
    epochs: (i32, i32),
    start: i64,
    records: BTreeMap<i64, (i16, State)>,
}

/// Random commands beside a plain model, and after each the log is read again, from its start and from the first record
/// that is needed: as after a crash.
#[test]
fn agrees_with_a_model_also_after_a_crash_at_any_place() {
    for seed in 0..2_000 {
        let mut random = Random::seeded(seed);
        let mut world = World::new();
        let mut models: BTreeMap<i32, Model> = BTreeMap::new();
        for _ in 0..40 {
            world.now += i64::try_from(random.below(200_000)).unwrap();
            act(&mut random, &mut world, &mut models);
            for (partition, model) in &models {
                let held = &world.states.get(&key(*partition)).unwrap().state;
                assert_eq!((held.state_epoch, held.leader_epoch), model.epochs, "seed {seed}");
                assert_eq!(held.start, model.start, "seed {seed}");
                let mut records = BTreeMap::new();
                for one in &held.batches {
                    records.extend((one.first..one.end).map(|offset| (offset, (one.count, one.state))));
                }
                assert_eq!(records, model.records, "seed {seed}");
            }
            let needed = match world.ask(Command::Redundant) {
                Answer::Redundant(offset) => offset.map_or(0, |offset| usize::try_from(offset).unwrap()),
                other => panic!("{other:?}"),
            };
            for start in [0, needed] {
                let reloaded = world.reloaded(start);
                for partition in 0..3 {
                    let (now, then) = (world.states.get(&key(partition)), reloaded.get(&key(partition)));
                    assert_eq!(now, then, "seed {seed} from {start}");
                }
            }
        }
    }
}

fn act(random: &mut Random, world: &mut World, models: &mut BTreeMap<i32, Model>) {
    let partition = i32::try_from(random.below(3)).unwrap();
    let epoch = |random: &mut Random| i32::try_from(random.below(4)).unwrap();
    match random.below(10) {
        0 => {
            let (state_epoch, start) = (epoch(random), i64::try_from(random.below(20)).unwrap());
            let answer = code(world.initialize(partition, state_epoch, start));
            let fenced = models.get(&partition).is_some_and(|model| model.epochs.0 > state_epoch);
            assert_eq!(answer == ErrorCode::FencedStateEpoch, fenced);
            if !fenced {
                let model = Model { epochs: (state_epoch, 0), start, ..Model::default() };
                models.insert(partition, model);
            }
        }
        1 => {
            let leader_epoch = epoch(random);
            let found = world.read(partition, leader_epoch);
            if let Some(model) = models.get_mut(&partition) {
                assert_eq!(found.is_ok(), model.epochs.1 <= leader_epoch);
                model.epochs.1 = model.epochs.1.max(leader_epoch);
            }
        }
        2 if random.one_in(3) => {
            world.ask(Command::Delete(key(partition), true));
            models.remove(&partition);
        }
        3 => {
            let outcome = world.states.expired(Now(Timestamp(world.now)), ColdSnapshots);
            world.take(&outcome.records);
        }
        _ => {
            let Some(model) = models.get_mut(&partition) else { return };
            let start = model.start + i64::try_from(random.below(4)).unwrap() - 1;
            let first = start.max(0) + i64::try_from(random.below(10)).unwrap();
            let end = first + 1 + i64::try_from(random.below(5)).unwrap();
            let states = [State::Available, State::Acknowledged, State::Archived];
            let state = states[usize::try_from(random.below(3)).unwrap()];
            let count = 1 + i16::try_from(random.below(3)).unwrap();
            let batches = vec![Batch { first, end, state, count }];
            assert_eq!(code(world.write(partition, model.epochs, start, batches)), ErrorCode::None);
            model.start = model.start.max(start);
            for offset in first..end {
                let known = model.records.entry(offset).or_insert((count, state));
                *known = (*known).max((count, state));
            }
            model.records = model.records.split_off(&model.start);
        }
    }
}

#[test]
fn share_partitions_take_bounded_memory_and_those_that_are_there_go_on() {
    let mut world = World::new();
    let many = |count: i64| (0..count).map(|one| batch(one * 2, one * 2 + 1, State::Acknowledged)).collect();
    let full = (0..).find(|index| code(world.initialize(*index, 1, 0)) != ErrorCode::None).unwrap();
    assert_eq!(code(world.initialize(full, 1, 0)), ErrorCode::CoordinatorNotAvailable);
    assert!((300..400).contains(&full), "{full}");
    // What is there can be begun anew, and what is acknowledged is kept; a crowd of ranges is not.
    assert_eq!(code(world.initialize(0, 2, 0)), ErrorCode::None);
    assert_eq!(code(world.write(0, (2, 0), 0, many(100))), ErrorCode::None);
    assert_eq!(code(world.write(1, (1, 0), 0, many(2000))), ErrorCode::CoordinatorNotAvailable);
    for index in 0..20 {
        assert_eq!(code(world.ask(Command::Delete(key(index), true))), ErrorCode::None);
    }
    assert_eq!(code(world.initialize(full, 1, 0)), ErrorCode::None);
    world.states = world.reloaded(0);
    assert_eq!(
        code(world.initialize(1_000_000, 1, 0)),
        ErrorCode::None,
        "a reload counts what is there, once"
    );
}
