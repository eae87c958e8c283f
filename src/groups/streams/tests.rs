//! Whole groups under random schedules of members, topics, passing time and coordinators that are lost, against the
//! rules that must always hold:
//! an active task has one owner, also among those that run it, and one for each epoch at which it was given; no process
//! runs a task twice; epochs do not go back; the log tells the same group; left alone, every task is given, with its
//! standbys, and everybody runs what they shall.
//!
//! `SIM_SEEDS=n` runs n seeds instead of 200; `SIM_SEED=s` runs seed s alone.

mod plants;

use super::*;
use crate::base::ErrorCode;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::base::seeds;
use crate::cluster::Image;
use crate::cluster::records::RemoveTopicRecord;
use crate::cluster::testing::add_topic;
use crate::config::ServerConfig;
use crate::coordinator::Machine;
use crate::coordinator::Memory;
use crate::coordinator::Now;
use crate::coordinator::Ticket;
use crate::groups;
use command::Alive;
use command::Refusal;
use command::StreamsHeartbeat;
use group::Group;
use heartbeat::Before;
use heartbeat::Deadline;
use heartbeat::Decision;
use plants::Plant;
use proptest::prelude::*;
use record::StreamsRecord;
use settings::Settings;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;
use tasks::Role;
use tasks::Tasks;
use topology::Subtopology;
use topology::TopicInfo;
use topology::Topology;

fn text(value: &str) -> Arc<str> {
    Arc::from(value)
}

fn with_topic(image: &Image, name: &str, partitions: i32) -> Image {
    let id = TopicId::random_from(crate::io::random::uuid);
    let mut image = image.clone();
    add_topic(&mut image, (name, id), partitions, |partition| partition);
    image
}

/// An application: parts one behind the other, with a repartition topic between them; the first reads `in`.
#[derive(Clone, Debug)]
struct Shape {
    partitions: i32,
    /// Which of its parts keep state.
    stateful: Vec<bool>,
}

/// `in` (3 partitions), then a stateful part behind a repartition topic.
fn word_count() -> Shape {
    Shape { partitions: 3, stateful: vec![false, true] }
}

fn topology() -> Topology {
    word_count().topology()
}

impl Shape {
    fn topology(&self) -> Topology {
        let internal = |prefix: &str, number: usize| match number {
            1 => text(prefix),
            _ => text(&format!("{prefix}{number}")),
        };
        let topic = |name: Arc<str>| TopicInfo { name, ..TopicInfo::default() };
        let part = |(number, is_stateful): (usize, &bool)| {
            let is_last = number + 1 == self.stateful.len();
            let subtopology = Subtopology {
                source_topics: (number == 0).then(|| text("in")).into_iter().collect(),
                repartition_source_topics: (number > 0)
                    .then(|| topic(internal("re", number)))
                    .into_iter()
                    .collect(),
                repartition_sink_topics: (!is_last).then(|| internal("re", number + 1)).into_iter().collect(),
                state_changelog_topics: is_stateful
                    .then(|| topic(internal("log", number)))
                    .into_iter()
                    .collect(),
                ..Subtopology::default()
            };
            (text(&number.to_string()), subtopology)
        };
        Topology { epoch: 0, subtopologies: self.stateful.iter().enumerate().map(part).collect() }
    }

    /// The parts, each with the number of its tasks and whether it keeps state.
    fn parts(&self) -> impl Iterator<Item = (String, i32, bool)> {
        let partitions = self.partitions;
        let parts = self.stateful.iter().enumerate();
        parts.map(move |(number, is_stateful)| (number.to_string(), partitions, *is_stateful))
    }
}
const SESSION_MS: i32 = 45_000;

fn settings(standby_replicas: i32) -> Settings {
    Settings {
        session_timeout_ms: SESSION_MS,
        heartbeat_interval_ms: 5_000,
        group_size_max: 6,
        standby_replicas,
        rack_aware_tags: Vec::new(),
        initial_rebalance_delay_ms: 3_000,
        assignment_interval_ms: 1_000,
        task_offset_interval_ms: 60_000,
        acceptable_recovery_lag: 10_000,
    }
}

struct Client {
    id: Arc<str>,
    instance: Option<Arc<str>>,
    process: Arc<str>,
    epoch: i32,
    assigned: Tasks,
    running: Tasks,
    /// The coordinator knows what it runs.
    told: bool,
    alive: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Session(Arc<str>),
    Rebalance(Arc<str>),
    Initial,
}

struct World {
    group: Option<Group>,
    log: Vec<StreamsRecord>,
    now_ms: i64,
    image: Arc<Image>,
    settings: Settings,
    clients: Vec<Client>,
    deadlines: BTreeMap<Timer, i64>,
    /// Who was given which active task at which epoch.
    given: BTreeMap<(Arc<str>, i32, i32), Arc<str>>,
    ids: usize,
    shape: Shape,
    highest: i32,
    plant: Option<Plant>,
}

#[derive(Clone, Debug)]
enum Step {
    Start {
        process: usize,
        is_static: bool,
    },
    Heartbeat {
        client: prop::sample::Index,
        is_lost: bool,
    },
    Work(prop::sample::Index),
    Leave {
        client: prop::sample::Index,
        for_a_while: bool,
    },
    Kill(prop::sample::Index),
    MakeTopics,
    /// One of the internal topics is deleted.
    DeleteTopic(prop::sample::Index),
    Standbys(i32),
    Pass(i64),
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let which = || any::<prop::sample::Index>();
    prop_oneof![
        3 => (0usize..3, prop::bool::weighted(0.2)).prop_map(|(process, is_static)| Step::Start { process, is_static }),
        9 => (which(), prop::bool::weighted(0.15)).prop_map(|(client, is_lost)| Step::Heartbeat { client, is_lost }),
        6 => which().prop_map(Step::Work),
        1 => (which(), any::<bool>()).prop_map(|(client, for_a_while)| Step::Leave { client, for_a_while }),
        1 => which().prop_map(Step::Kill),
        2 => Just(Step::MakeTopics),
        1 => which().prop_map(Step::DeleteTopic),
        1 => (0i32..3).prop_map(Step::Standbys),
        3 => prop_oneof![1i64..1_500, 1_500i64..6_000, 20_000i64..50_000].prop_map(Step::Pass),
        1 => Just(Step::Crash),
    ]
}

impl World {
    fn new() -> World {
        World::of(word_count())
    }

    fn of(shape: Shape) -> World {
        World {
            group: None,
            log: Vec::new(),
            now_ms: 1_700_000_000_000,
            image: Arc::new(with_topic(&Image::empty("c"), "in", shape.partitions)),
            settings: settings(1),
            shape,
            highest: 0,
            plant: None,
            clients: Vec::new(),
            deadlines: BTreeMap::new(),
            given: BTreeMap::new(),
            ids: 0,
        }
    }

    fn now(&self) -> Now {
        Now(Timestamp(self.now_ms))
    }

    fn request(&self, index: usize, epoch: i32) -> StreamsHeartbeat {
        let client = &self.clients[index];
        let joins = epoch == 0;
        StreamsHeartbeat {
            group: text("g"),
            member_id: client.id.clone(),
            member_epoch: epoch,
            endpoint_epoch: 0,
            instance_id: client.instance.clone(),
            rack_id: None,
            rebalance_timeout_ms: joins.then_some(20_000),
            client_id: text("c"),
            client_host: text("/127.0.0.1"),
            topology: joins.then(|| self.shape.topology()),
            owned: (joins || !client.told).then(|| client.running.clone()),
            process_id: joins.then(|| client.process.clone()),
            endpoint: None,
            client_tags: None,
            task_offsets: None,
            task_end_offsets: None,
            shutdown: false,
            knows_missing_tags: true,
            image: Arc::clone(&self.image),
            settings: self.settings.clone(),
        }
    }

    fn write(&mut self, mut records: Vec<StreamsRecord>) {
        if let Some(plant) = self.plant {
            records.iter_mut().for_each(|record| plant.record(record, self.group.as_ref()));
        }
        for record in records {
            assert_eq!(StreamsRecord::read(&record.write()), Ok(Some(record.clone())));
            self.apply(&record);
            if self.plant.is_none_or(|plant| plant.keeps(&record)) {
                self.log.push(record);
            }
        }
    }

    fn apply(&mut self, record: &StreamsRecord) {
        let group = self.group.get_or_insert_with(|| Group::new(text("g")));
        if !group.apply(record) {
            self.group = None;
        }
    }

    fn take(&mut self, decision: Decision) -> Alive {
        self.write(decision.records);
        if let (Some(soft), Some(group)) = (decision.soft, &mut self.group) {
            group.soft = soft;
        }
        for (deadline, after) in decision.deadlines {
            let timer = match deadline {
                Deadline::Session(member) => Timer::Session(member),
                Deadline::Rebalance(member) => Timer::Rebalance(member),
                Deadline::Initial => Timer::Initial,
            };
            let after = after.filter(|_| !matches!(timer, Timer::Session(_)) || self.has_sessions());
            match after {
                Some(after) => {
                    self.deadlines.insert(timer, self.now_ms + i64::try_from(after.as_millis()).unwrap())
                }
                None => self.deadlines.remove(&timer),
            };
        }
        self.check();
        decision.alive
    }

    fn ask(&mut self, index: usize, epoch: i32) -> Result<Alive, Refusal> {
        let request = self.request(index, epoch);
        let fresh = Group::new(text("g"));
        let group = match &self.group {
            None if epoch != 0 => return Err(ErrorCode::GroupIdNotFound.into()),
            group => group.as_ref().unwrap_or(&fresh),
        };
        let decision = if epoch < 0 {
            leave::leave(group, &request)?
        } else {
            let before = if self.group.is_some() { Before::Group } else { Before::Nothing };
            heartbeat::heartbeat(self.now(), group, before, &request)?
        };
        Ok(self.take(decision))
    }

    fn heartbeat(&mut self, index: usize, is_lost: bool) {
        let epoch = self.clients[index].epoch;
        let answer = self.ask(index, epoch);
        let client = &mut self.clients[index];
        if is_lost {
            client.told = false;
            return;
        }
        match answer {
            Ok(alive) => {
                client.told = true;
                assert!(alive.member_epoch >= client.epoch, "a member's epoch went back");
                client.epoch = alive.member_epoch;
                if let Some(tasks) = alive.tasks {
                    client.assigned = tasks;
                }
            }
            Err(refusal) if refusal.error == ErrorCode::GroupMaxSizeReached => {}
            Err(refusal) if refusal.error == ErrorCode::UnreleasedInstanceId => {}
            Err(refusal) => {
                assert!(
                    matches!(
                        refusal.error,
                        ErrorCode::UnknownMemberId
                            | ErrorCode::FencedMemberEpoch
                            | ErrorCode::FencedInstanceId
                            | ErrorCode::GroupIdNotFound
                    ),
                    "{refusal:?}"
                );
                // As a client that is fenced does: it drops everything and joins anew.
                client.epoch = 0;
                client.assigned = Tasks::default();
                client.running = Tasks::default();
                client.told = false;
                if refusal.error == ErrorCode::FencedInstanceId {
                    client.alive = false;
                }
            }
        }
    }

    /// Starts and stops tasks as it was told.
    fn work(&mut self, index: usize) {
        let client = &mut self.clients[index];
        if client.running != client.assigned {
            client.running = client.assigned.clone();
            client.told = false;
        }
        self.check_running();
    }

    fn has_sessions(&self) -> bool {
        self.plant != Some(Plant::SessionsNeverEnd)
    }

    fn start(&mut self, process: usize, is_static: bool) {
        self.ids += 1;
        self.clients.push(Client {
            id: text(&format!("m{}", self.ids)),
            instance: is_static.then(|| text(&format!("i{process}"))),
            process: text(&format!("p{process}")),
            epoch: 0,
            assigned: Tasks::default(),
            running: Tasks::default(),
            told: false,
            alive: true,
        });
        self.heartbeat(self.clients.len() - 1, false);
    }

    fn stop(&mut self, index: usize) {
        let client = &mut self.clients[index];
        client.alive = false;
        client.running = Tasks::default();
    }

    fn make_topics(&mut self) {
        let configured = self.group.as_ref().and_then(|group| group.soft.configured.clone());
        for topic in configured.iter().flat_map(|configured| configured.missing.values()) {
            if self.image.topic(&topic.name).is_none() {
                self.image = Arc::new(with_topic(&self.image, &topic.name, topic.partitions));
            }
        }
    }

    fn delete_topic(&mut self, which: prop::sample::Index) {
        let topics: Vec<TopicId> =
            self.image.topics().filter(|topic| &*topic.name != "in").map(|topic| topic.id).collect();
        if topics.is_empty() {
            return;
        }
        let mut image = (*self.image).clone();
        let topic_id = topics[which.index(topics.len())];
        image.apply(&RemoveTopicRecord { topic_id }.into()).unwrap();
        self.image = Arc::new(image);
    }

    fn pass(&mut self, ms: i64) {
        let until = self.now_ms + ms;
        while let Some((timer, at)) =
            self.deadlines.iter().min_by_key(|(_, at)| **at).map(|(timer, at)| (timer.clone(), *at))
        {
            if at > until {
                break;
            }
            self.now_ms = self.now_ms.max(at);
            self.deadlines.remove(&timer);
            self.fire(&timer);
        }
        self.now_ms = until;
    }

    fn fire(&mut self, timer: &Timer) {
        let Some(group) = &self.group else { return };
        match timer {
            Timer::Initial => {
                let (records, soft) = leave::initial_delay_is_over(Timestamp(self.now_ms), group);
                self.write(records);
                self.group.as_mut().unwrap().soft = soft;
            }
            Timer::Session(id) | Timer::Rebalance(id) => {
                let Some(member) = group.member(id) else { return };
                if matches!(timer, Timer::Session(_)) || member.has_to_revoke() {
                    let (records, _) = leave::fence(group, member);
                    self.write(records);
                }
            }
        }
        self.check();
    }

    /// Another coordinator reads the log.
    fn crash(&mut self) {
        self.deadlines.clear();
        let before = self.group.take();
        for record in self.log.clone() {
            self.apply(&record);
        }
        assert_eq!(self.group.as_ref().map(kept), before.as_ref().map(kept), "the log tells another group");
        if self.plant == Some(Plant::NoSessionsAfterLoad) || !self.has_sessions() {
            return;
        }
        let members: Vec<_> =
            self.group.iter().flat_map(|group| group.members().cloned().collect::<Vec<_>>()).collect();
        for member in members {
            self.deadlines.insert(Timer::Session(member.id.clone()), self.now_ms + i64::from(SESSION_MS));
            if member.has_to_revoke() {
                self.deadlines.insert(Timer::Rebalance(member.id.clone()), self.now_ms + 20_000);
            }
        }
    }

    fn alive(&self, which: prop::sample::Index) -> Option<usize> {
        let alive: Vec<usize> = (0..self.clients.len()).filter(|index| self.clients[*index].alive).collect();
        (!alive.is_empty()).then(|| alive[which.index(alive.len())])
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Start { process, is_static } => self.start(process, is_static),
            Step::Heartbeat { client, is_lost } => {
                if let Some(index) = self.alive(client) {
                    self.heartbeat(index, is_lost);
                }
            }
            Step::Work(client) => {
                if let Some(index) = self.alive(client) {
                    self.work(index);
                }
            }
            Step::Leave { client, for_a_while } => {
                if let Some(index) = self.alive(client) {
                    let stays = for_a_while && self.clients[index].instance.is_some();
                    self.stop(index);
                    let _may_be_unknown = self.ask(index, if stays { -2 } else { -1 });
                }
            }
            Step::Kill(client) => {
                if let Some(index) = self.alive(client) {
                    self.stop(index);
                }
            }
            Step::MakeTopics => self.make_topics(),
            Step::DeleteTopic(which) => self.delete_topic(which),
            Step::Standbys(replicas) => self.settings.standby_replicas = replicas,
            Step::Pass(ms) => self.pass(ms),
            Step::Crash => self.crash(),
        }
    }

    /// What must hold at every moment.
    fn check(&mut self) {
        let Some(group) = &self.group else { return };
        let epoch = group.metadata.epoch;
        assert!(epoch >= self.highest, "the group's epoch went back");
        self.highest = epoch;
        assert!(group.target_metadata.epoch <= epoch, "an assignment of an epoch to come");
        let mut owners: BTreeMap<(&str, i32), &str> = BTreeMap::new();
        let mut on_process: BTreeSet<(&str, Arc<str>, i32)> = BTreeSet::new();
        for member in group.members() {
            let (id, process) = (&*member.id, &*member.profile.process_id);
            assert!(member.current.epoch <= epoch, "{id} is ahead of the group");
            let (assigned, revoking) = (&member.current.assigned, &member.current.revoking);
            for (part, partitions) in assigned.active.iter().chain(&revoking.active) {
                for partition in partitions.keys() {
                    let other = owners.insert((part, *partition), id);
                    assert!(other.is_none(), "{part}_{partition} has two owners: {id} and {other:?}");
                }
            }
            for (part, partitions) in &assigned.active {
                for (partition, epoch) in partitions.iter().filter(|(_, epoch)| **epoch != 0) {
                    let key = (part.clone(), *partition, *epoch);
                    let holder = self.given.entry(key).or_insert_with(|| member.id.clone());
                    let inherits = member.profile.instance_id.is_some();
                    assert!(*holder == member.id || inherits, "{part}_{partition} given twice at {epoch}");
                }
            }
            let active = assigned.active_role();
            for role in [&active, &assigned.standby, &assigned.warmup] {
                for (part, partitions) in role {
                    for partition in partitions {
                        let is_new = on_process.insert((process, part.clone(), *partition));
                        assert!(is_new, "{process} has {part}_{partition} twice");
                    }
                }
            }
        }
    }

    /// Nobody who is in the group runs what another one runs. Who was removed and does not know may go on for a while.
    fn check_running(&self) {
        let Some(group) = &self.group else { return };
        let stands = |client: &&Client| group.member(&client.id).is_some_and(|one| one.current.epoch > 0);
        let mut running: BTreeMap<(&str, i32), &str> = BTreeMap::new();
        for client in self.clients.iter().filter(stands) {
            for (part, partitions) in &client.running.active {
                for partition in partitions {
                    let other = running.insert((part, *partition), &client.id);
                    assert!(other.is_none(), "{part}_{partition} is run by {} and {other:?}", client.id);
                }
            }
        }
    }

    /// What must hold once everybody was left alone.
    fn settles(&mut self) {
        for _ in 0..40 {
            self.pass(5_000);
            for index in 0..self.clients.len() {
                if self.clients[index].alive {
                    self.heartbeat(index, false);
                    self.work(index);
                }
            }
            self.make_topics();
        }
        let Some(group) = &self.group else { return };
        let known: Vec<&Client> =
            self.clients.iter().filter(|one| one.alive && group.member(&one.id).is_some()).collect();
        assert_eq!(known.len(), group.members().len(), "only who lives is in the group");
        if known.is_empty() {
            return;
        }
        assert_eq!(group.state().name(), "Stable");
        let processes: BTreeSet<&str> = known.iter().map(|client| &*client.process).collect();
        let standbys = usize::try_from(self.settings.standby_replicas).unwrap().min(processes.len() - 1);
        let count = |role: fn(&Tasks) -> &Role, part: &str, partition: i32| {
            known.iter().filter(|client| super::tasks::has(role(&client.running), part, partition)).count()
        };
        for (part, tasks, is_stateful) in self.shape.parts() {
            for partition in 0..tasks {
                assert_eq!(count(|tasks| &tasks.active, &part, partition), 1, "owners of {part}_{partition}");
                let wanted = if is_stateful { standbys } else { 0 };
                assert_eq!(
                    count(|tasks| &tasks.standby, &part, partition),
                    wanted,
                    "standbys of {part}_{partition}"
                );
            }
        }
        for client in known {
            assert_eq!(client.running, group.target(&client.id), "{}", client.id);
        }
    }
}

/// What the log keeps of a group.
fn kept(group: &Group) -> Group {
    let mut kept = group.clone();
    kept.soft = group::Soft::default();
    kept
}

fn shape() -> impl Strategy<Value = Shape> {
    (1i32..5, prop::collection::vec(any::<bool>(), 1..4))
        .prop_map(|(partitions, stateful)| Shape { partitions, stateful })
}

fn steps() -> impl Strategy<Value = (Shape, Vec<Step>)> {
    (shape(), prop::collection::vec(step(), 1..60))
}

fn run((shape, steps): (Shape, Vec<Step>), plant: Option<Plant>) {
    let mut world = World::of(shape);
    world.plant = plant;
    // The second half begins with everything in its place, where the first seldom comes to.
    let middle = steps.len() / 2;
    for (number, step) in steps.into_iter().enumerate() {
        if number == middle {
            world.settles();
        }
        world.run(step);
    }
    world.settles();
}

#[test]
fn groups_hold_their_rules_and_settle() {
    seeds::run_drawn("a streams group", 200, &steps(), |steps| run(steps, None));
}

#[test]
fn each_planted_fault_is_noticed() {
    let steps = steps();
    for plant in Plant::ALL {
        let noticed = seeds::notices(1_000, |seed| run(seeds::drawn(&steps, seed), Some(plant)));
        assert!(noticed, "{plant:?} is not noticed");
    }
}

fn joined(world: &mut World, index: usize) -> Alive {
    world.ask(index, 0).unwrap()
}

/// A world with members of these processes that has settled.
fn settled(processes: &[usize]) -> World {
    let mut world = World::new();
    for process in processes {
        world.start(*process, false);
    }
    world.settles();
    world
}

#[test]
fn a_new_group_waits_for_topics_and_for_members() {
    let mut world = World::new();
    world.start(0, false);
    let alive = joined(&mut world, 0);
    let codes: Vec<i8> = alive.statuses.iter().map(command::Status::code).collect();
    assert_eq!((codes, alive.member_epoch), (vec![5, 3], 1), "delayed, and topics are missing");
    let missing: Vec<(&str, i32)> =
        alive.missing_topics.iter().map(|one| (&*one.name, one.partitions)).collect();
    assert_eq!(missing, [("log", 3), ("re", 3)]);
    assert_eq!(world.group.as_ref().unwrap().state().name(), "NotReady");
    world.make_topics();
    world.pass(4_000);
    world.heartbeat(0, false);
    assert_eq!(world.clients[0].assigned.active.values().map(BTreeSet::len).sum::<usize>(), 6);
}

#[test]
fn what_a_source_topic_lacks_is_said_and_repaired() {
    let mut world = World::new();
    world.image = Arc::new(Image::empty("c"));
    world.start(0, false);
    world.pass(4_000);
    let alive = joined(&mut world, 0);
    assert_eq!(alive.statuses[0].detail(), "Source topics in are missing.");
    assert!(alive.missing_topics.is_empty());
    world.image = Arc::new(with_topic(&world.image, "in", 3));
    world.settles();
}

#[test]
fn a_topology_is_not_changed_and_an_older_one_is_told_so() {
    let mut world = settled(&[0]);
    world.start(1, false);
    let mut request = world.request(1, 0);
    request.topology.as_mut().unwrap().subtopologies.remove("1");
    let group = world.group.as_ref().unwrap();
    let refusal = heartbeat::heartbeat(world.now(), group, Before::Group, &request).err().unwrap();
    assert_eq!(refusal, Refusal::new(ErrorCode::InvalidRequest, "Topology updates are not supported yet."));
    let mut group = group.clone();
    let newer = Topology { epoch: 4, ..topology() };
    group.apply(&StreamsRecord::Topology(text("g"), Some(newer)));
    let decision = heartbeat::heartbeat(world.now(), &group, Before::Group, &world.request(1, 0)).unwrap();
    let words = "The member's topology epoch 0 is behind the group's topology epoch 4.";
    assert!(decision.alive.statuses.contains(&command::Status::StaleTopology(words.to_owned())));
}

#[test]
fn epochs_that_do_not_fit_are_fenced_and_a_lost_answer_is_not() {
    let mut world = settled(&[0, 1]);
    let epoch = world.clients[0].epoch;
    assert_eq!(world.ask(0, epoch + 1).unwrap_err().error, ErrorCode::FencedMemberEpoch);
    let previous = world.group.as_ref().unwrap().member(&world.clients[0].id).unwrap().current.previous_epoch;
    assert!(previous < epoch);
    world.clients[0].told = false;
    assert!(world.ask(0, previous).is_ok(), "it owns no more than it was given");
    world.clients[0].told = true;
    assert_eq!(
        world.ask(0, previous).unwrap_err().error,
        ErrorCode::FencedMemberEpoch,
        "it does not say what it owns"
    );
}

#[test]
fn tasks_that_do_not_exist_are_refused() {
    let mut world = settled(&[0]);
    world.clients[0].told = false;
    tasks::put(&mut world.clients[0].running.active, &text("1"), 3);
    let epoch = world.clients[0].epoch;
    let refusal = world.ask(0, epoch).unwrap_err();
    let words = "Task 3 for subtopology 1 is invalid. Number of tasks for this subtopology: 3";
    assert_eq!(refusal, Refusal::new(ErrorCode::InvalidRequest, words));
    tasks::put(&mut world.clients[0].running.active, &text("9"), 0);
    tasks::take(&mut world.clients[0].running.active, "1", 3);
    let words = "Subtopology 9 does not exist in the topology.";
    assert_eq!(world.ask(0, epoch).unwrap_err(), Refusal::new(ErrorCode::InvalidRequest, words));
}

#[test]
fn everybody_hears_that_the_application_shall_stop_until_all_are_gone() {
    let mut world = settled(&[0, 1]);
    let mut request = world.request(0, world.clients[0].epoch);
    request.shutdown = true;
    let decision =
        heartbeat::heartbeat(world.now(), world.group.as_ref().unwrap(), Before::Group, &request).unwrap();
    world.take(decision);
    let epoch = world.clients[1].epoch;
    assert_eq!(world.ask(1, epoch).unwrap().statuses[0].code(), 4);
    for index in [0, 1] {
        world.ask(index, -1).unwrap();
        world.stop(index);
    }
    world.start(0, false);
    assert!(joined(&mut world, 2).statuses.iter().all(|status| status.code() != 4));
}

#[test]
fn a_new_group_needs_memory_for_itself_beside_its_first_member() {
    let mut world = World::new();
    world.start(0, false);
    let request = world.request(0, 0);
    let ask = |bytes: usize| {
        let config = ServerConfig::new(&BTreeMap::new(), "machine").unwrap();
        let memory = Memory::new(i64::try_from(bytes).unwrap(), "members", "a.setting");
        let settings = groups::Settings { memory, ..groups::Settings::of(&config) };
        let machine = groups::Groups::new(Arc::new(settings), Arc::clone(&world.image));
        let command = groups::command::Command::StreamsHeartbeat(Box::new(request.clone()));
        let mut outcome = machine.decide(world.now(), Ticket(1), command);
        match outcome.answers.remove(0).1 {
            groups::command::Answer::StreamsHeartbeat(answer) => {
                answer.map(drop).map_err(|refusal| refusal.error)
            }
            other => panic!("{other:?}"),
        }
    };
    let alone = leave::bytes(&request);
    assert_eq!(ask(alone), Err(ErrorCode::CoordinatorNotAvailable));
    assert_eq!(ask(alone + Group::new(text("g")).bytes()), Ok(()));
}

#[test]
fn a_static_member_comes_back_to_its_tasks() {
    let mut world = World::new();
    world.start(0, true);
    world.start(1, false);
    world.settles();
    let before = world.clients[0].running.clone();
    assert!(!before.is_empty());
    world.stop(0);
    assert_eq!(world.ask(0, -2).unwrap().member_epoch, -2);
    world.start(0, true);
    assert_eq!(world.clients[2].assigned, before, "under its new id, at once");
    world.clients[0].epoch = 5;
    assert_eq!(world.ask(0, 5).unwrap_err().error, ErrorCode::FencedInstanceId);
    world.start(0, true);
    assert_eq!(world.ask(3, 0).unwrap_err().error, ErrorCode::UnreleasedInstanceId);
    world.stop(3);
    world.settles();
}

#[test]
fn a_static_member_that_leaves_for_a_while_owes_no_tasks() {
    let mut world = World::new();
    world.start(0, true);
    world.settles();
    world.start(1, false);
    world.pass(2_000);
    // The next answers tell the first member to give tasks up, which it does not say to have done.
    let told = (0..3).find(|_| {
        world.heartbeat(1, false);
        world.heartbeat(0, false);
        world.group.as_ref().unwrap().members().any(|member| member.has_to_revoke())
    });
    assert!(told.is_some(), "it has to give tasks up");
    world.stop(0);
    assert_eq!(world.ask(0, -2).unwrap().member_epoch, -2);
    let id = world.clients[0].id.clone();
    world.pass(30_000);
    assert!(
        world.group.as_ref().unwrap().member(&id).is_some(),
        "it keeps its place until its session is over"
    );
    world.pass(SESSION_MS.into());
    assert!(world.group.as_ref().unwrap().member(&id).is_none());
}

#[test]
fn a_change_of_a_member_without_a_name_makes_a_new_epoch_and_of_a_static_one_where_tasks_depend_on_it() {
    for (is_static, endpoint, rack) in [(false, 1, 1), (true, 0, 1)] {
        let mut world = World::new();
        world.start(0, is_static);
        world.settles();
        let group = world.group.clone().unwrap();
        let before = group.metadata.epoch;
        let epoch_after = |change: fn(&mut StreamsHeartbeat)| {
            let mut request = world.request(0, world.clients[0].epoch);
            change(&mut request);
            let decision = heartbeat::heartbeat(world.now(), &group, Before::Group, &request).unwrap();
            let mut epochs = decision.records.iter().filter_map(|record| match record {
                StreamsRecord::Metadata(_, Some(metadata)) => Some(metadata.epoch),
                _ => None,
            });
            epochs.next_back().unwrap_or(before)
        };
        assert_eq!(epoch_after(|_| {}), before);
        let moved =
            epoch_after(|request| request.endpoint = Some(member::Endpoint { host: text("h"), port: 7 }));
        assert_eq!(moved, before + endpoint, "static {is_static}");
        assert_eq!(epoch_after(|request| request.rebalance_timeout_ms = Some(7)), before + endpoint);
        assert_eq!(epoch_after(|request| request.rack_id = Some(text("r"))), before + rack);
    }
}

#[test]
fn tasks_go_by_who_runs_them_and_not_by_who_shall() {
    let mut world = settled(&[0]);
    world.settings.assignment_interval_ms = 0;
    world.start(1, false);
    world.start(2, false);
    // The first still runs all six; two are meant to stay. The second has none of those that were meant for it before
    // the third came, so that the four are given out in their order.
    let group = world.group.as_ref().unwrap();
    let meant = |index: usize| {
        let active = group.target(&world.clients[index].id).active;
        active.iter().map(|(part, all)| (part.to_string(), all.clone())).collect::<Vec<_>>()
    };
    let both = |partition: i32| {
        vec![("0".to_owned(), BTreeSet::from([partition])), ("1".to_owned(), BTreeSet::from([partition]))]
    };
    assert_eq!([meant(0), meant(1), meant(2)], [both(0), both(1), both(2)]);
}

#[test]
fn endpoints_are_told_when_they_change() {
    let mut world = settled(&[0]);
    let epoch = world.clients[0].epoch;
    let mut request = world.request(0, epoch);
    request.endpoint = Some(member::Endpoint { host: text("h"), port: 7 });
    let decision =
        heartbeat::heartbeat(world.now(), world.group.as_ref().unwrap(), Before::Group, &request).unwrap();
    let alive = world.take(decision);
    let endpoints = alive.endpoints.unwrap();
    assert_eq!((alive.endpoint_epoch, endpoints.len()), (1, 1));
    assert_eq!(endpoints[0].active, [(text("in"), vec![0, 1, 2]), (text("re"), vec![0, 1, 2])]);
    let mut request = world.request(0, alive.member_epoch);
    request.endpoint_epoch = 1;
    let decision =
        heartbeat::heartbeat(world.now(), world.group.as_ref().unwrap(), Before::Group, &request).unwrap();
    assert_eq!(decision.alive.endpoints, None);
}

#[test]
fn what_the_first_heartbeat_of_a_group_wants_is_answered_and_forgotten() {
    let mut world = World::new();
    world.start(0, false);
    let mut request = world.request(0, 0);
    request.shutdown = true;
    request.endpoint = Some(member::Endpoint { host: text("h"), port: 7 });
    let group = Group::new(text("g"));
    for (before, told, kept) in [(Before::Nothing, 0, 0), (Before::Classic, 1, 0), (Before::Group, 1, 1)] {
        let decision = heartbeat::heartbeat(world.now(), &group, before, &request).unwrap();
        assert!(decision.alive.statuses.iter().any(|status| status.code() == 4));
        assert_eq!(decision.alive.endpoint_epoch, told, "{before:?}");
        let soft = decision.soft.unwrap();
        assert_eq!((soft.endpoint_epoch, soft.shutdown_by.is_some()), (kept, kept == 1), "{before:?}");
    }
}

#[test]
fn tags_that_are_missing_are_told_to_who_understands() {
    let mut world = settled(&[0]);
    world.settings.rack_aware_tags = vec!["zone".to_owned(), "rack".to_owned()];
    let mut request = world.request(0, world.clients[0].epoch);
    request.client_tags = Some(BTreeMap::from([(text("rack"), text("r"))]));
    let group = world.group.clone().unwrap();
    let decision = heartbeat::heartbeat(world.now(), &group, Before::Group, &request).unwrap();
    let words = "Missing required client tags for rack-aware standby assignment: [zone]. Configure them via 'client.tag.<tagKey>' in your Streams config.";
    assert!(decision.alive.statuses.contains(&command::Status::MissingClientTags(words.to_owned())));
    request.knows_missing_tags = false;
    let decision = heartbeat::heartbeat(world.now(), &group, Before::Group, &request).unwrap();
    assert!(decision.alive.statuses.iter().all(|status| status.code() != 6));
}

#[test]
fn a_full_group_takes_nobody_new() {
    let mut world = settled(&[0, 0, 0, 1, 1, 2]);
    world.start(2, false);
    let refusal = world.ask(6, 0).unwrap_err();
    let words = "The streams group has reached its maximum capacity of 6 members.";
    assert_eq!(refusal, Refusal::new(ErrorCode::GroupMaxSizeReached, words));
    assert!(world.ask(5, 0).is_ok(), "who is in may come again");
}

#[test]
fn groups_are_shown_with_members_and_tasks() {
    let world = settled(&[0, 1]);
    let group = world.group.as_ref().unwrap();
    let shown = show::describe(group);
    assert_eq!((shown.state, shown.members.len()), ("Stable", 2));
    let parts = shown.topology.unwrap().subtopologies;
    assert_eq!(parts[1].state_changelog_topics[0].partitions, 3);
    assert!(shown.members.iter().all(|member| member.assignment == member.target));
}
