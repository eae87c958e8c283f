//! The rules of share groups, case by case and by random histories: the log tells the same state, epochs do not go back,
//! members have nothing that they do not read, and when all is quiet every partition is read, no member is without, and
//! only who lives is in the group.
//!
//! `SIM_SEEDS=n` runs n seeds instead of 200; `SIM_SEED=s` runs seed s alone.

mod plants;

use crate::base::ErrorCode;
use crate::base::Offset;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::base::seeds;
use crate::cluster::Image;
use crate::cluster::records::PartitionRecord;
use crate::cluster::records::RemoveTopicRecord;
use crate::cluster::records::TopicRecord;
use crate::cluster::testing::partition;
use crate::config::ServerConfig;
use crate::coordinator::Machine;
use crate::coordinator::Memory;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::Place;
use crate::coordinator::Ticket;
use crate::coordinator::TimerChange;
use crate::groups::Groups;
use crate::groups::Settings;
use crate::groups::assign::Partitions;
use crate::groups::command;
use crate::groups::consumer::command::Fault;
use crate::groups::machine::Timer;
use crate::groups::record::Record;
use crate::groups::share::command::Alter;
use crate::groups::share::command::Altered;
use crate::groups::share::command::Answer;
use crate::groups::share::command::Beaten;
use crate::groups::share::command::Command;
use crate::groups::share::command::Heartbeat;
use crate::groups::share::command::Initialize;
use crate::groups::share::group::Group;
use plants::Plant;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use uuid::Uuid;

const GROUP: &str = "g";
const SESSION_MS: i64 = 45_000;
const RETRY_MS: i64 = 30_000;

fn text(value: &str) -> Arc<str> {
    Arc::from(value)
}

fn id(number: u128) -> TopicId {
    TopicId(Uuid::from_u128(number))
}

fn add_partition(image: &mut Image, topic: u128, index: i32) {
    let record = PartitionRecord { directories: vec![Uuid::nil()], ..partition(id(topic), index) };
    image.apply(&record.into()).unwrap();
}

/// The machine with its log, a clock and timers; and the share-partitions that it asked for.
struct Trial {
    machine: Groups,
    settings: Arc<Settings>,
    image: Image,
    log: Vec<Record>,
    timers: BTreeMap<Timer, i64>,
    now_ms: i64,
    asked: Vec<Initialize>,
    plant: Option<Plant>,
    checks: usize,
}

impl Trial {
    /// Topics `a`, `b`, … with these numbers of partitions.
    fn new(topics: &[i32]) -> Trial {
        let config = ServerConfig::new(&BTreeMap::new(), "machine").unwrap();
        Trial::with(Settings::of(&config), topics)
    }

    fn with(settings: Settings, topics: &[i32]) -> Trial {
        let settings = Arc::new(settings);
        let image = Image::empty("c");
        let mut trial = Trial {
            machine: Groups::new(Arc::clone(&settings), Arc::new(image.clone())),
            settings,
            image,
            log: Vec::new(),
            timers: BTreeMap::new(),
            now_ms: 1_700_000_000_000,
            asked: Vec::new(),
            plant: None,
            checks: 0,
        };
        for (number, partitions) in topics.iter().enumerate() {
            trial.change(|image| add_topic(image, number, *partitions));
        }
        trial
    }

    fn change(&mut self, change: impl FnOnce(&mut Image)) {
        change(&mut self.image);
        self.image.offset = Offset(self.image.offset.0 + 1);
        self.decide(command::Command::Image(Arc::new(self.image.clone())));
    }

    fn now(&self) -> Now {
        Now(Timestamp(self.now_ms))
    }

    fn take(&mut self, mut outcome: Outcome<Groups>) {
        if let Some(plant) = self.plant {
            plant.outcome(&mut outcome, &self.image);
        }
        for record in outcome.records {
            let entry = Groups::encode(&record);
            assert_eq!(Groups::decode(&entry).unwrap().unwrap(), record);
            self.machine.apply(place(self.log.len()), &record);
            self.log.push(record);
        }
        for change in outcome.changes {
            self.machine.install(change);
        }
        for change in outcome.timers {
            match change {
                TimerChange::Set(timer, after) => {
                    self.timers.insert(timer, self.now_ms + i64::try_from(after.as_millis()).unwrap());
                }
                TimerChange::Cancel(timer) => {
                    self.timers.remove(&timer);
                }
            }
        }
        self.check();
    }

    fn decide(&mut self, command: command::Command) -> command::Answer {
        let mut outcome = self.machine.decide(self.now(), Ticket(1), command);
        let (_, answer) = outcome.answers.pop().unwrap();
        self.take(outcome);
        answer
    }

    fn ask(&mut self, command: Command) -> Answer {
        match self.decide(command::Command::Share(command)) {
            command::Answer::Share(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    fn beat(&mut self, member: &str, epoch: i32, topics: Option<&[&str]>) -> Result<Beaten, Fault> {
        let request = Heartbeat {
            group: text(GROUP),
            member_id: text(member),
            epoch,
            rack_id: None,
            topics: topics.map(|topics| topics.iter().map(|topic| text(topic)).collect()),
            client_id: text("client"),
            client_host: text("/127.0.0.1"),
        };
        match self.ask(Command::Heartbeat(Box::new(request))) {
            Answer::Heartbeat(result) => {
                if let Ok(beaten) = &result {
                    self.asked.extend(&beaten.initialize);
                }
                result
            }
            other => panic!("{other:?}"),
        }
    }

    fn alter(&mut self, topic: &str, partition: i32, start: i64) -> Result<Altered, Fault> {
        self.alter_of(GROUP, topic, partition, start)
    }

    fn alter_of(&mut self, group: &str, topic: &str, partition: i32, start: i64) -> Result<Altered, Fault> {
        let request = Alter { group: text(group), topics: vec![(text(topic), vec![(partition, start)])] };
        match self.ask(Command::Alter(request)) {
            Answer::Alter(result) => result,
            other => panic!("{other:?}"),
        }
    }

    /// The share coordinator answers all that it was asked.
    fn make(&mut self, succeeds: bool) {
        let mut partitions = Partitions::new();
        for one in std::mem::take(&mut self.asked) {
            partitions.entry(one.topic).or_default().insert(one.partition);
        }
        let group = text(GROUP);
        let command = match succeeds {
            true => Command::Initialized(group, partitions),
            false => Command::Uninitialized(group, partitions),
        };
        assert_eq!(self.ask(command), Answer::Done);
    }

    fn pass(&mut self, ms: i64) {
        let end = self.now_ms + ms;
        while let Some((timer, due)) = self.timers.iter().min_by_key(|(_, due)| **due) {
            if *due > end {
                break;
            }
            let timer = timer.clone();
            self.now_ms = self.now_ms.max(*due);
            self.timers.remove(&timer);
            let outcome = self.machine.expired(self.now(), timer);
            self.take(outcome);
        }
        self.now_ms = end;
    }

    fn reload(&self) -> Groups {
        let mut machine = Groups::new(Arc::clone(&self.settings), Arc::new(self.image.clone()));
        self.log.iter().enumerate().for_each(|(offset, record)| machine.apply(place(offset), record));
        machine
    }

    fn crash(&mut self) {
        self.machine = self.reload();
        self.timers.clear();
        self.asked.clear();
        let mut outcome = self.machine.loaded(self.now());
        if let Some(plant) = self.plant {
            plant.loaded(&mut outcome);
        }
        self.take(outcome);
    }

    fn group(&self) -> Option<&Arc<Group>> {
        self.machine.share_group(GROUP)
    }

    /// What must hold at any time.
    fn check(&mut self) {
        self.checks += 1;
        // Reading the log again takes long, and what is wrong with it stays wrong.
        if self.checks.is_multiple_of(8) {
            let again = self.reload();
            let kept = |group: &Arc<Group>| {
                let mut group = (**group).clone();
                group.asked.clear();
                group
            };
            assert_eq!(self.group().map(kept), again.share_group(GROUP).map(kept));
        }
        let Some(group) = self.group() else { return };
        assert!(group.target_epoch <= group.epoch);
        for (id, member) in group.members() {
            assert!(member.epoch <= group.epoch && member.previous_epoch <= member.epoch, "{id}");
        }
    }

    fn assigned(&self, member: &str) -> Vec<(TopicId, i32)> {
        let member = self.group().and_then(|group| group.member(member).cloned());
        let assigned = member.iter().flat_map(|member| member.assigned.iter());
        assigned.flat_map(|(topic, set)| set.iter().map(|one| (*topic, *one))).collect()
    }
}

fn add_topic(image: &mut Image, number: usize, partitions: i32) {
    let topic_id = id(u128::try_from(number).unwrap() + 1);
    image.apply(&TopicRecord { name: name(number).to_owned(), topic_id }.into()).unwrap();
    for index in 0..partitions {
        add_partition(image, u128::try_from(number).unwrap() + 1, index);
    }
}

fn name(number: usize) -> &'static str {
    ["a", "b", "c", "d"][number]
}

fn place(offset: usize) -> Place {
    Place { offset: Offset(i64::try_from(offset).unwrap()), producer: ProducerId::NONE }
}

fn code<T>(result: Result<T, Fault>) -> ErrorCode {
    result.err().map_or(ErrorCode::None, |fault| fault.code)
}

#[test]
fn a_member_gets_partitions_when_the_share_coordinator_has_them() {
    let mut trial = Trial::new(&[2]);
    let first = trial.beat("m", 0, Some(&["a"])).unwrap();
    assert_eq!((first.epoch, first.interval_ms, first.assignment), (2, 5_000, Some(Partitions::new())));
    let state_epoch = 2;
    let wanted = |partition| Initialize { topic: id(1), partition, state_epoch, start: -1 };
    assert_eq!(first.initialize, [wanted(0), wanted(1)]);
    // Nobody asks twice before the time is up.
    assert!(trial.beat("m", 2, None).unwrap().initialize.is_empty());
    trial.pass(5_000);
    trial.make(true);
    let second = trial.beat("m", 2, None).unwrap();
    assert_eq!(second.epoch, 3);
    assert_eq!(second.assignment, Some(Partitions::from([(id(1), BTreeSet::from([0, 1]))])));
    assert_eq!(trial.beat("m", 3, None).unwrap().assignment, None);
    // One that has missed the answer may bring the epoch before.
    assert_eq!(trial.beat("m", 2, None).unwrap().epoch, 3);
    // What is asked for again after a failure is read from its beginning in a topic that is known.
    trial.change(|image| add_partition(image, 1, 2));
    let third = trial.beat("m", 3, None).unwrap();
    assert_eq!(third.initialize, [Initialize { topic: id(1), partition: 2, state_epoch: 4, start: 0 }]);
    trial.make(false);
    assert_eq!(trial.beat("m", third.epoch, None).unwrap().initialize.len(), 1);
    trial.pass(RETRY_MS);
    assert_eq!(trial.beat("m", third.epoch, None).unwrap().initialize.len(), 1);
}

#[test]
fn who_cannot_be_a_member_is_told_so() {
    let mut trial = Trial::new(&[1]);
    assert_eq!(code(trial.beat("m", 1, None)), ErrorCode::GroupIdNotFound);
    assert_eq!(code(trial.beat("", 0, Some(&["a"]))), ErrorCode::InvalidRequest);
    assert_eq!(code(trial.beat("m", 0, None)), ErrorCode::InvalidRequest);
    assert_eq!(code(trial.beat("m", -2, None)), ErrorCode::InvalidRequest);
    let epoch = trial.beat("m", 0, Some(&["a"])).unwrap().epoch;
    assert_eq!(code(trial.beat("m", epoch + 1, None)), ErrorCode::FencedMemberEpoch);
    assert_eq!(code(trial.beat("n", epoch, None)), ErrorCode::UnknownMemberId);
    assert_eq!(code(trial.beat("n", -1, None)), ErrorCode::UnknownMemberId);
    for number in 1..200 {
        trial.beat(&format!("m{number}"), 0, Some(&["a"])).unwrap();
    }
    assert_eq!(code(trial.beat("n", 0, Some(&["a"]))), ErrorCode::GroupMaxSizeReached);
    assert_eq!(trial.beat("m", -1, None).unwrap().interval_ms, 0);
    assert_eq!(code(trial.beat("n", 0, Some(&["a"]))), ErrorCode::None);
}

#[test]
fn a_silent_member_goes_and_an_empty_group_stays() {
    let mut trial = Trial::new(&[1]);
    trial.beat("m", 0, Some(&["a"])).unwrap();
    trial.pass(SESSION_MS - 1);
    assert_eq!(trial.group().unwrap().state_name(), "Stable");
    trial.crash();
    trial.pass(SESSION_MS - 1);
    assert_eq!(trial.group().unwrap().size(), 1, "a loaded member has a full session");
    trial.pass(1);
    assert_eq!(trial.group().unwrap().state_name(), "Empty");
    trial.pass(30 * 24 * 3_600_000);
    assert!(trial.group().is_some());
}

#[test]
fn offsets_change_only_when_nobody_reads() {
    let mut trial = Trial::new(&[2]);
    let altered = trial.alter("a", 1, 7).unwrap();
    assert_eq!(altered.initialize, [Initialize { topic: id(1), partition: 1, state_epoch: 1, start: 7 }]);
    trial.asked = altered.initialize;
    trial.make(true);
    let unknown = trial.alter("a", 2, 7).unwrap();
    assert_eq!(unknown.topics[0].partitions, [(2, ErrorCode::UnknownTopicOrPartition)]);
    trial.beat("m", 0, Some(&["a"])).unwrap();
    assert_eq!(trial.asked.iter().map(|one| (one.partition, one.start)).collect::<Vec<_>>(), [(0, 0)]);
    trial.make(true);
    assert_eq!(code(trial.alter("a", 1, 7)), ErrorCode::NonEmptyGroup);
    let forget = |trial: &mut Trial| trial.ask(Command::Forget(text(GROUP), vec![text("a"), text("z")]));
    assert!(
        matches!(forget(&mut trial), Answer::Forget(Err(fault)) if fault.code == ErrorCode::NonEmptyGroup)
    );
    trial.beat("m", -1, None).unwrap();
    let Answer::Forget(Ok(begun)) = forget(&mut trial) else { panic!() };
    assert_eq!(begun[0].what, Ok((id(1), BTreeSet::from([0, 1]))));
    assert_eq!(begun[1].what.as_ref().unwrap_err().code, ErrorCode::UnknownTopicOrPartition);
    trial.ask(Command::Forgotten(text(GROUP), BTreeSet::from([id(1)])));
    assert_eq!(trial.ask(Command::Known(text(GROUP))), Answer::Known(Partitions::new()));
    let Answer::Forget(Ok(begun)) = forget(&mut trial) else { panic!() };
    assert_eq!(begun[0].what.as_ref().unwrap_err().message, "There is no offset information to delete.");
}

#[test]
fn an_alteration_makes_the_group_also_when_no_partition_of_its_topics_is_there() {
    let mut trial = Trial::new(&[2]);
    trial.alter("z", 0, 7).unwrap();
    assert!(trial.group().is_none());
    for partition in [-5, 2] {
        let altered = trial.alter("a", partition, 7).unwrap();
        assert_eq!(altered.topics[0].partitions, [(partition, ErrorCode::UnknownTopicOrPartition)]);
        assert_eq!(altered.initialize, []);
        assert!(trial.group().is_some());
    }
    trial.crash();
    assert!(trial.group().is_some());
    // The topic counts as known, so its partitions are read from their beginning.
    trial.beat("m", 0, Some(&["a"])).unwrap();
    assert_eq!(trial.asked.iter().map(|one| one.start).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn groups_that_are_only_altered_take_no_more_memory_than_there_is() {
    let config = ServerConfig::new(&BTreeMap::new(), "machine").unwrap();
    let memory = Memory::new(20_000, "members", "a.setting");
    let settings = Settings { memory: Arc::clone(&memory), ..Settings::of(&config) };
    let mut trial = Trial::with(settings, &[2, 2]);
    // A partition that is not there is enough to make a group.
    let group = |number: usize| format!("g{number:03}");
    let made = (0..200).take_while(|number| trial.alter_of(&group(*number), "a", 9, 0).is_ok()).count();
    assert!((10..40).contains(&made) && memory.used() >= made * 512, "{made} groups, {}", memory.used());
    assert!(memory.used() <= 20_000);
    let next = group(made);
    assert_eq!(code(trial.alter_of(&next, "a", 0, 0)), ErrorCode::CoordinatorNotAvailable);
    assert_eq!(code(trial.beat("m", 0, Some(&["a"]))), ErrorCode::CoordinatorNotAvailable);
    assert!(trial.machine.share_group(&next).is_none() && trial.group().is_none());
    // Who changes nothing needs nothing, and those that are there go on while there is room.
    assert!(trial.alter_of(&next, "none", 0, 0).is_ok());
    let more = (0..made).take_while(|number| trial.alter_of(&group(*number), "b", 0, 0).is_ok()).count();
    assert!(more < made && memory.used() <= 20_000, "{more} of {made}, {}", memory.used());
    let gone = (0..made).map(|number| text(&group(number))).collect();
    trial.decide(command::Command::DeleteGroups(gone));
    assert_eq!((trial.machine.count(), memory.used()), (0, 0));
    assert!(trial.beat("m", 0, Some(&["a"])).is_ok());
}

#[test]
fn a_group_goes_with_all_that_it_had() {
    let mut trial = Trial::new(&[2]);
    trial.beat("m", 0, Some(&["a"])).unwrap();
    trial.make(true);
    assert_eq!(
        trial.ask(Command::Doom(vec![text(GROUP), text("none")])),
        Answer::Doom(vec![Err(ErrorCode::NonEmptyGroup), Ok(Partitions::new())])
    );
    trial.beat("m", -1, None).unwrap();
    let all = Partitions::from([(id(1), BTreeSet::from([0, 1]))]);
    assert_eq!(trial.ask(Command::Doom(vec![text(GROUP)])), Answer::Doom(vec![Ok(all.clone())]));
    // It is tried again after a failure between.
    assert_eq!(trial.ask(Command::Doom(vec![text(GROUP)])), Answer::Doom(vec![Ok(all)]));
    let deleted = trial.decide(command::Command::DeleteGroups(vec![text(GROUP)]));
    assert_eq!(deleted, command::Answer::DeleteGroups(vec![ErrorCode::None]));
    assert!(trial.group().is_none());
    trial.crash();
    assert!(trial.group().is_none());
}

#[derive(Clone, Debug)]
enum Step {
    Join { member: usize, topics: Vec<usize> },
    Beat { member: usize },
    Change { member: usize, topics: Vec<usize> },
    Leave { member: usize },
    Die { member: usize },
    Make(bool),
    Lose,
    Grow(usize),
    Delete(usize),
    Pass(i64),
    Crash,
}

const MEMBERS: [&str; 5] = ["m0", "m1", "m2", "m3", "m4"];

fn steps() -> impl Strategy<Value = Step> {
    let member = 0..MEMBERS.len();
    let topics = || prop::collection::vec(0usize..4, 1..4);
    prop_oneof![
        4 => (member.clone(), topics()).prop_map(|(member, topics)| Step::Join { member, topics }),
        8 => member.clone().prop_map(|member| Step::Beat { member }),
        2 => (member.clone(), topics()).prop_map(|(member, topics)| Step::Change { member, topics }),
        2 => member.clone().prop_map(|member| Step::Leave { member }),
        1 => member.prop_map(|member| Step::Die { member }),
        4 => prop::bool::weighted(0.7).prop_map(Step::Make),
        1 => Just(Step::Lose),
        1 => (0usize..4).prop_map(Step::Grow),
        1 => (0usize..4).prop_map(Step::Delete),
        4 => prop_oneof![1i64..2_000, 2_000i64..40_000, 40_000i64..99_000].prop_map(Step::Pass),
        1 => Just(Step::Crash),
    ]
}

/// The machine, and what members believe.
struct World {
    trial: Trial,
    epochs: [Option<i32>; MEMBERS.len()],
    /// How many partitions each topic has; none that is gone.
    counts: [Option<i32>; 4],
    highest: i32,
}

impl World {
    fn beat(&mut self, member: usize, epoch: i32, topics: Option<&[usize]>) {
        let topics = topics.map(|topics| topics.iter().map(|topic| name(*topic)).collect::<Vec<_>>());
        let result = self.trial.beat(MEMBERS[member], epoch, topics.as_deref());
        self.epochs[member] = match result {
            Ok(beaten) if epoch >= 0 => Some(beaten.epoch),
            Ok(_) => None,
            Err(fault) => {
                let lost =
                    [ErrorCode::UnknownMemberId, ErrorCode::GroupIdNotFound, ErrorCode::FencedMemberEpoch];
                assert!(lost.contains(&fault.code), "{fault:?}");
                None
            }
        };
        let epoch = self.trial.group().map_or(0, |group| group.epoch);
        assert!(epoch >= self.highest, "the group's epoch went back");
        self.highest = epoch;
        // Whoever was answered has only what it reads.
        if let Some(known) = self.trial.group().and_then(|group| group.member(MEMBERS[member]).cloned()) {
            for topic in known.assigned.keys() {
                let topic = self.trial.image.topic_by_id(*topic);
                assert!(topic.is_none_or(|topic| known.topics.contains(&topic.name)));
            }
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Join { member, topics } => self.beat(member, 0, Some(&topics)),
            Step::Beat { member } => {
                if let Some(epoch) = self.epochs[member] {
                    self.beat(member, epoch, None);
                }
            }
            Step::Change { member, topics } => {
                if let Some(epoch) = self.epochs[member] {
                    self.beat(member, epoch, Some(&topics));
                }
            }
            Step::Leave { member } => {
                if self.epochs[member].is_some() {
                    self.beat(member, -1, None);
                }
            }
            Step::Die { member } => self.epochs[member] = None,
            Step::Make(succeeds) => self.trial.make(succeeds),
            Step::Lose => self.trial.asked.clear(),
            Step::Grow(topic) => {
                if let Some(count) = &mut self.counts[topic] {
                    let index = *count;
                    *count += 1;
                    self.trial.change(|image| add_partition(image, topic as u128 + 1, index));
                }
            }
            Step::Delete(topic) => {
                if self.counts[topic].take().is_some() {
                    let topic_id = id(topic as u128 + 1);
                    self.trial.change(|image| image.apply(&RemoveTopicRecord { topic_id }.into()).unwrap());
                    let gone = vec![(text(name(topic)), topic_id)];
                    self.trial.decide(command::Command::TopicsDeleted(gone));
                }
            }
            Step::Pass(ms) => self.trial.pass(ms),
            Step::Crash => self.trial.crash(),
        }
    }

    /// All that is left do what they should for a while: then everything is given out.
    fn settle(&mut self) {
        for _ in 0..12 {
            self.trial.pass(5_000);
            for member in 0..MEMBERS.len() {
                if let Some(epoch) = self.epochs[member] {
                    self.beat(member, epoch, None);
                }
            }
            self.trial.make(true);
        }
        let members: Vec<usize> = (0..MEMBERS.len()).filter(|one| self.epochs[*one].is_some()).collect();
        let Some(group) = self.trial.group().cloned() else { return assert!(members.is_empty()) };
        assert_eq!(group.size(), members.len(), "only who lives is in the group");
        for member in members.iter().map(|one| MEMBERS[*one]) {
            let mut reads = group.member(member).unwrap().topics.iter();
            let some = reads.any(|name| self.trial.image.topic(name).is_some());
            assert_eq!(some, !self.trial.assigned(member).is_empty(), "{member}");
        }
        for topic in self.trial.image.topics() {
            let given: BTreeSet<i32> = MEMBERS
                .iter()
                .flat_map(|member| self.trial.assigned(member))
                .filter(|(id, _)| *id == topic.id)
                .map(|(_, partition)| partition)
                .collect();
            let count = i32::try_from(topic.partitions.len()).unwrap();
            let wanted: BTreeSet<i32> =
                if group.is_subscribed(&topic.name) { (0..count).collect() } else { BTreeSet::new() };
            assert_eq!(given, wanted, "{}", topic.name);
        }
    }
}

fn run(steps: Vec<Step>, plant: Option<Plant>) {
    let counts = [1, 2, 3, 7];
    let mut trial = Trial::new(&counts);
    trial.plant = plant;
    let mut world = World { trial, epochs: [None; 5], counts: counts.map(Some), highest: 0 };
    for step in steps {
        world.take(step);
    }
    world.settle();
}

fn histories() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(steps(), 1..60)
}

#[test]
fn random_histories_keep_the_rules() {
    seeds::run_drawn("a share group", 200, &histories(), |steps| run(steps, None));
}

#[test]
fn each_planted_fault_is_noticed() {
    let histories = histories();
    for plant in Plant::ALL {
        let noticed = seeds::notices(200, |seed| run(seeds::drawn(&histories, seed), Some(plant)));
        assert!(noticed, "{plant:?} is not noticed");
    }
}
