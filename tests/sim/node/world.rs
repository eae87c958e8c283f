//! A node with its clients: every act asks the broker and writes into the model what the answer promises.

use crate::history::Promise;
use crate::node::machine::Machine;
use crate::node::machine::NoAnswer;
use crate::node::machine::Sent;
use crate::node::model::Batch;
use crate::node::model::Known;
use crate::node::model::Model;
use crate::node::model::Partition;
use crate::node::model::Presence;
use crate::node::model::Topic;
use crate::node::requests as ask;
use dohle::base::ErrorCode;
use dohle::base::ProducerEpoch;
use dohle::base::ProducerId;
use dohle::io::Clock;
use dohle::io::Random;
use dohle::record::BatchBuilder;
use dohle::record::Codec;
use kafka_protocol::messages as m;
use std::time::Duration;

/// The groups that commit.
pub(crate) const GROUPS: [&str; 2] = ["readers", "others"];
const TOPICS: [&str; 4] = ["t0", "t1", "t2", "t3"];
/// Attempts of a producer or an admin client before it gives up.
const ATTEMPTS: usize = 3;

pub(crate) struct World {
    pub(crate) machine: Machine,
    pub(crate) model: Model,
    pub(crate) random: Random,
    values: u64,
    /// Faults that had struck when this life of the node began: only later ones excuse an error.
    strikes_before: usize,
    /// The device was full in this life.
    pub(crate) was_full: bool,
    /// Topics stay: several tasks follow the end of one, and the runtime wakes them in an order of its own.
    pub(crate) keeps_topics: bool,
    verbose: bool,
}

/// A produce request under way.
struct Produced {
    topic: String,
    partition: i32,
    acks: i16,
    value: u64,
    count: i64,
    sequence: i32,
    sent: Sent<m::ProduceRequest>,
}

impl World {
    pub(crate) fn new(seed: u64) -> World {
        World::on(Machine::new(seed), seed)
    }

    pub(crate) fn on(machine: Machine, seed: u64) -> World {
        World {
            machine,
            model: Model::default(),
            random: Random::seeded(seed ^ 0x0de),
            values: 0,
            strikes_before: 0,
            was_full: false,
            keeps_topics: false,
            verbose: std::env::var("SIM_SEED").is_ok(),
        }
    }

    pub(crate) fn say(&self, what: &str) {
        if self.verbose {
            println!("[{}] {what}", self.machine.disk.operations());
        }
    }

    /// Whether something went wrong in this life, so that errors are to be expected.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.was_full || self.machine.disk.strikes().len() > self.strikes_before
    }

    /// The faults that happened since the node was started.
    pub(crate) fn strikes_of_this_life(&self) -> Vec<dohle::io::sim::Strike> {
        self.machine.disk.strikes().split_off(self.strikes_before)
    }

    /// A new life: what went wrong before excuses nothing any more.
    pub(crate) fn begin_life(&mut self) {
        self.strikes_before = self.machine.disk.strikes().len();
        self.was_full = false;
    }

    /// An error is one that clients know how to handle, and has a reason.
    fn excuse(&self, api: &str, code: i16, allowed: &[ErrorCode]) {
        assert!(
            self.is_disturbed() || self.machine.is_dark(),
            "{api}: error {code} though nothing went wrong"
        );
        assert!(
            allowed.iter().any(|known| known.code() == code),
            "{api}: error {code} after {:?}",
            self.machine.disk.strikes().last()
        );
    }

    /// One random act; no faults.
    pub(crate) fn act(&mut self) {
        match self.random.below(100) {
            0..50 => self.produce_some(),
            50..60 => self.commit(),
            60..66 => self.create_topic(),
            66..69 if !self.keeps_topics => self.delete_topic(),
            69..74 => self.delete_records(),
            74..80 => self.change_setting(),
            80..90 => {
                let seconds = 1 + self.random.below(40);
                self.idle(seconds);
            }
            90..92 => self.idle(400),
            92..96 => self.look_at_one(),
            _ => self.check_offsets(),
        }
    }

    pub(crate) fn idle(&mut self, seconds: u64) {
        self.say(&format!("{seconds} s pass"));
        self.machine.idle(Duration::from_secs(seconds));
    }

    fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(u64::try_from(count).unwrap())).unwrap()
    }

    /// A partition of a topic that is there.
    fn pick_partition(&mut self) -> Option<(String, i32)> {
        let sure: Vec<(String, usize)> = self
            .model
            .topics
            .iter()
            .filter(|(_, topic)| topic.presence == Presence::Sure)
            .map(|(name, topic)| (name.clone(), topic.partitions.len()))
            .collect();
        if sure.is_empty() {
            return None;
        }
        let (name, partitions) = sure[self.pick(sure.len())].clone();
        Some((name, i32::try_from(self.pick(partitions)).unwrap()))
    }

    pub(crate) fn partition(&mut self, topic: &str, partition: i32) -> &mut Partition {
        let topic = self.model.topics.get_mut(topic).unwrap();
        &mut topic.partitions[usize::try_from(partition).unwrap()]
    }

    /// One to three batches at once, each to another partition.
    pub(crate) fn produce_some(&mut self) {
        let mut under_way: Vec<Produced> = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let Some((topic, partition)) = self.pick_partition() else { return };
            if under_way.iter().any(|other| other.topic == topic && other.partition == partition) {
                continue;
            }
            let acks = if self.random.one_in(3) { 1 } else { -1 };
            let size = 8 + self.pick(900);
            let count = 1 + i64::try_from(self.random.below(4)).unwrap();
            if let Some(produced) = self.send_batch(&topic, partition, acks, count, size) {
                under_way.push(produced);
            }
        }
        for produced in under_way {
            self.finish_batch(produced);
        }
    }

    /// One batch to one partition, with the answer.
    pub(crate) fn produce(&mut self, topic: &str, partition: i32, acks: i16, count: i64, size: usize) {
        if let Some(produced) = self.send_batch(topic, partition, acks, count, size) {
            self.finish_batch(produced);
        }
    }

    fn send_batch(
        &mut self,
        topic: &str,
        partition: i32,
        acks: i16,
        count: i64,
        size: usize,
    ) -> Option<Produced> {
        if self.partition(topic, partition).producer.id < 0 {
            self.new_producer(topic, partition)?;
        }
        self.values += 1;
        let value = self.values;
        let producer = &mut self.partition(topic, partition).producer;
        let sequence = producer.sequence;
        producer.sequence += i32::try_from(count).unwrap();
        let batch = self.batch((topic, partition), value, count, sequence, size);
        self.partition(topic, partition).maybe.insert(value, count);
        let sent = self.machine.send(&ask::produce(topic, partition, acks, batch), ask::PRODUCE);
        Some(Produced { topic: topic.to_owned(), partition, acks, value, count, sequence, sent })
    }

    fn batch(
        &mut self,
        (topic, partition): (&str, i32),
        value: u64,
        count: i64,
        sequence: i32,
        size: usize,
    ) -> bytes::Bytes {
        let now = Clock::Sim(self.machine.clock.clone()).wall();
        let mut content = vec![0; size.max(8)];
        content[..8].copy_from_slice(&value.to_be_bytes());
        let mut builder = BatchBuilder::new(Codec::None, now);
        for _ in 0..count {
            builder.push(None, Some(&content), &[], now);
        }
        let producer = &self.partition(topic, partition).producer;
        let (id, epoch) = (ProducerId(producer.id), ProducerEpoch(producer.epoch));
        builder.producer(id, epoch, sequence).build().bytes().clone()
    }

    /// Waits for the answer; after an error that may pass, sends the same batch again as clients do.
    fn finish_batch(&mut self, produced: Produced) {
        let Produced { topic, partition, acks, value, count, sequence, mut sent } = produced;
        for attempt in 0..ATTEMPTS {
            let Ok(answer) = self.machine.finish(sent) else {
                assert!(self.is_disturbed() || self.machine.is_dark(), "produce: no answer");
                break;
            };
            let answer = &answer.responses[0].partition_responses[0];
            let code = answer.error_code;
            self.say(&format!(
                "produce {value}x{count} to {topic}-{partition} acks {acks}: {code} {}",
                answer.base_offset
            ));
            if code == ErrorCode::None.code() || code == ErrorCode::DuplicateSequenceNumber.code() {
                if code == 0 && answer.base_offset >= 0 {
                    let promise = if acks == 1 { Promise::Written } else { Promise::Synced };
                    let partition = self.partition(&topic, partition);
                    partition.maybe.remove(&value);
                    partition.batches.push(Batch { base: answer.base_offset, count, value, promise });
                    partition.batches.sort_by_key(|batch| batch.base);
                }
                return;
            }
            let allowed = [
                ErrorCode::KafkaStorageError,
                ErrorCode::RequestTimedOut,
                ErrorCode::NotLeaderOrFollower,
                ErrorCode::OutOfOrderSequenceNumber,
                ErrorCode::NotEnoughReplicas,
            ];
            if code == ErrorCode::OutOfOrderSequenceNumber.code() && attempt == 0 {
                // What was acknowledged with acks=1 went with the power, or an earlier batch failed.
                break;
            }
            self.excuse("produce", code, &allowed);
            if attempt + 1 == ATTEMPTS || !self.machine.is_running() {
                break;
            }
            self.idle(1);
            let batch = self.batch((&topic, partition), value, count, sequence, 8 + 100);
            sent = self.machine.send(&ask::produce(&topic, partition, acks, batch), ask::PRODUCE);
        }
        // The producer begins anew, with an id of its own.
        self.partition(&topic, partition).producer.id = -1;
    }

    /// Sends the last batch of a partition's producer again; the code and the base offset of the answer.
    pub(crate) fn send_last_again(&mut self, topic: &str, partition: i32, count: i64) -> (i16, i64) {
        let sequence = self.partition(topic, partition).producer.sequence - i32::try_from(count).unwrap();
        let batch = self.batch((topic, partition), 0, count, sequence, 8);
        let answer = self.machine.ask(&ask::produce(topic, partition, -1, batch), ask::PRODUCE).unwrap();
        let answer = &answer.responses[0].partition_responses[0];
        (answer.error_code, answer.base_offset)
    }

    fn new_producer(&mut self, topic: &str, partition: i32) -> Option<()> {
        let answer = self.admin("InitProducerId", |world| {
            world
                .machine
                .ask(&ask::init_producer_id(), ask::INIT_PRODUCER_ID)
                .map(|answer| ((answer.producer_id.0, answer.producer_epoch), answer.error_code))
        });
        let (id, epoch) = answer?;
        let producer = &mut self.partition(topic, partition).producer;
        (producer.id, producer.epoch, producer.sequence) = (id, epoch, 0);
        Some(())
    }

    /// Asks until there is a clear answer; `None` when there is none.
    fn admin<T>(
        &mut self,
        api: &str,
        mut request: impl FnMut(&mut World) -> Result<(T, i16), NoAnswer>,
    ) -> Option<T> {
        let allowed = [
            ErrorCode::NotController,
            ErrorCode::KafkaStorageError,
            ErrorCode::RequestTimedOut,
            ErrorCode::CoordinatorNotAvailable,
            ErrorCode::CoordinatorLoadInProgress,
            ErrorCode::NotCoordinator,
            ErrorCode::NotLeaderOrFollower,
            ErrorCode::UnknownTopicOrPartition,
            ErrorCode::TopicAlreadyExists,
            ErrorCode::LeaderNotAvailable,
        ];
        for attempt in 0..ATTEMPTS {
            match request(self) {
                Ok((value, 0)) => return Some(value),
                Ok((_, code)) => {
                    self.say(&format!("{api}: error {code}"));
                    self.excuse(api, code, &allowed);
                }
                Err(NoAnswer(why)) => {
                    self.say(&format!("{api}: {why}"));
                    assert!(self.is_disturbed() || self.machine.is_dark(), "{api}: {why}");
                }
            }
            if attempt + 1 < ATTEMPTS {
                self.idle(1);
            }
        }
        None
    }

    pub(crate) fn create_topic(&mut self) {
        let name = TOPICS[self.pick(TOPICS.len())];
        if !self.model.topics.contains_key(name) {
            let partitions = 1 + i32::try_from(self.random.below(2)).unwrap();
            self.create(name, partitions, &[("internal.segment.bytes", "4000")]);
        }
    }

    pub(crate) fn create(&mut self, name: &str, partitions: i32, configs: &[(&str, &str)]) {
        let topic = Topic {
            presence: Presence::Unsure,
            id: uuid::Uuid::nil(),
            partitions: vec![Partition::default(); usize::try_from(partitions).unwrap()],
            setting: Known::sure(-1),
        };
        self.model.topics.insert(name.to_owned(), topic);
        let id = self.admin("CreateTopics", |world| {
            let answer =
                world.machine.ask(&ask::create_topic(name, partitions, configs), ask::CREATE_TOPICS)?;
            Ok((answer.topics[0].topic_id, answer.topics[0].error_code))
        });
        self.say(&format!("create {name} with {partitions}: {id:?}"));
        if let Some(id) = id {
            let topic = self.model.topics.get_mut(name).unwrap();
            (topic.presence, topic.id) = (Presence::Sure, id);
        }
    }

    pub(crate) fn delete_topic(&mut self) {
        if self.model.topics.len() > 1
            && let Some((name, _)) = self.pick_partition()
        {
            self.delete(&name);
        }
    }

    pub(crate) fn delete(&mut self, name: &str) {
        self.model.topics.get_mut(name).unwrap().presence = Presence::Unsure;
        self.model.topic_may_go(name);
        let done = self.admin("DeleteTopics", |world| {
            let answer = world.machine.ask(&ask::delete_topic(name), ask::DELETE_TOPICS)?;
            Ok(((), answer.responses[0].error_code))
        });
        self.say(&format!("delete {name}: {done:?}"));
        if done.is_some() {
            self.model.topic_is_gone(name);
        }
    }

    pub(crate) fn delete_records(&mut self) {
        let Some((name, index)) = self.pick_partition() else { return };
        let partition = self.partition(&name, index);
        let borders: Vec<i64> = partition.batches.iter().map(Batch::end).collect();
        if borders.is_empty() {
            return;
        }
        let before = borders[self.pick(borders.len())];
        self.delete_records_before(&name, index, before);
    }

    pub(crate) fn delete_records_before(&mut self, name: &str, index: i32, before: i64) {
        let partition = self.partition(name, index);
        partition.start_max = partition.start_max.max(before);
        let low = self.admin("DeleteRecords", |world| {
            let answer = world.machine.ask(&ask::delete_records(name, index, before), ask::DELETE_RECORDS)?;
            let answer = &answer.topics[0].partitions[0];
            Ok((answer.low_watermark, answer.error_code))
        });
        self.say(&format!("delete records of {name}-{index} before {before}: {low:?}"));
    }

    pub(crate) fn change_setting(&mut self) {
        let Some((name, _)) = self.pick_partition() else { return };
        let value = 1_000_000 + i64::try_from(self.random.below(1_000_000)).unwrap();
        self.set(&name, value);
    }

    pub(crate) fn set(&mut self, name: &str, value: i64) {
        let done = self.admin("IncrementalAlterConfigs", |world| {
            let request = ask::set_config(name, "retention.bytes", &value.to_string());
            let answer = world.machine.ask(&request, ask::ALTER_CONFIGS)?;
            Ok(((), answer.responses[0].error_code))
        });
        self.say(&format!("set {name} to {value}: {done:?}"));
        let topic = self.model.topics.get_mut(name).unwrap();
        topic.setting.changed(value, done.is_some());
    }

    pub(crate) fn commit(&mut self) {
        let Some((name, index)) = self.pick_partition() else { return };
        let group = GROUPS[self.pick(GROUPS.len())];
        let offset = i64::try_from(self.random.below(1000)).unwrap();
        self.commit_offset(group, &name, index, offset);
    }

    pub(crate) fn commit_offset(&mut self, group: &'static str, name: &str, index: i32, offset: i64) {
        let found = self.admin("FindCoordinator", |world| {
            let answer = world.machine.ask(&ask::find_coordinator(group), ask::FIND_COORDINATOR)?;
            Ok(((), answer.error_code))
        });
        if found.is_none() {
            return;
        }
        let done = self.admin("OffsetCommit", |world| {
            let request = ask::commit(group, ("", -1), name, index, offset);
            let answer = world.machine.ask(&request, ask::OFFSET_COMMIT)?;
            Ok(((), answer.topics[0].partitions[0].error_code))
        });
        self.say(&format!("commit {offset} of {name}-{index} in {group}: {done:?}"));
        let key = (group, name.to_owned(), index);
        let known = self.model.offsets.entry(key).or_insert_with(|| Known::sure(-1));
        known.changed(offset, done.is_some());
    }
}
