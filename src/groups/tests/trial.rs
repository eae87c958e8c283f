//! The machine with a log, a clock and timers that move only when told, and short ways to ask.

use super::plants::Plant;
use super::*;
use crate::base::BrokerId;
use crate::base::Instant;
use crate::base::Timestamp;
use crate::cluster::Image;
use crate::config::ConsumerGroupSettings;
use crate::config::ServerConfig;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::TimerChange;
use crate::coordinator::budget::Memory;
use crate::coordinator::timer::Timers;
use crate::groups::assign::Assignor;
use crate::groups::machine::Timer;
use crate::groups::share::ShareSettings;

pub(super) const GROUP: &str = "g";

pub(super) fn text(value: &str) -> Arc<str> {
    Arc::from(value)
}

pub(super) fn settings() -> Settings {
    Settings {
        node_id: BrokerId(1),
        session_timeout_min_ms: 6_000,
        session_timeout_max_ms: 1_800_000,
        initial_rebalance_delay_ms: 3_000,
        group_size_max: 1_000,
        offset_metadata_max: 4_096,
        offsets_retention: Duration::from_secs(7 * 24 * 3600),
        retention_check_interval: Duration::from_secs(600),
        streams: ServerConfig::new(&BTreeMap::new(), "machine").unwrap().groups.streams,
        memory: Memory::new(1 << 30, "members", "a.setting"),
        offsets_memory: Memory::new(1 << 30, "offsets", "a.setting"),
        assignors: vec![Assignor::Uniform, Assignor::Range],
        consumer: ConsumerGroupSettings {
            enabled: true,
            session_timeout_ms: 45_000,
            session_timeouts_ms: 45_000..=60_000,
            heartbeat_interval_ms: 5_000,
            heartbeat_intervals_ms: 5_000..=15_000,
            assignment_interval_ms: 0,
            assignment_intervals_ms: 0..=15_000,
            max_size: 1_000,
            assignors: Vec::new(),
            regex_refresh_interval_ms: 600_000,
            upgrades: true,
            downgrades: true,
        },
        share: ShareSettings::of(&ServerConfig::new(&BTreeMap::new(), "machine").unwrap()),
    }
}

pub(super) struct Trial {
    pub(super) machine: Groups,
    pub(super) settings: Arc<Settings>,
    pub(super) log: Vec<Record>,
    /// What the cluster has agreed on.
    pub(super) image: Arc<Image>,
    /// A fault around the machine.
    pub(super) plant: Option<Plant>,
    timers: Timers<Timer>,
    now_ms: u64,
    tickets: u64,
    answers: BTreeMap<Ticket, Answer>,
}

/// A wall clock start, so that ages can be large.
const EPOCH_MS: i64 = 1_700_000_000_000;

impl Trial {
    pub(super) fn new(settings: Settings) -> Trial {
        let settings = Arc::new(settings);
        let image = Arc::new(Image::empty("c"));
        let mut trial = Trial {
            machine: Groups::new(settings.clone(), Arc::clone(&image)),
            image,
            settings,
            log: Vec::new(),
            plant: None,
            timers: Timers::new(),
            now_ms: 0,
            tickets: 0,
            answers: BTreeMap::new(),
        };
        let outcome = trial.machine.loaded(trial.now());
        trial.take(outcome);
        trial
    }

    pub(super) fn now(&self) -> Now {
        Now(Timestamp(EPOCH_MS + i64::try_from(self.now_ms).unwrap()))
    }

    fn instant(&self) -> Instant {
        Instant(self.now_ms * 1_000_000)
    }

    fn take(&mut self, mut outcome: Outcome<Groups>) {
        if let Some(plant) = self.plant {
            plant.outcome(&mut outcome, &self.machine);
        }
        for record in outcome.records {
            let entry = Groups::encode(&record);
            assert_eq!(Groups::decode(&entry).unwrap().unwrap(), record);
            let place = Place { offset: Offset(self.log.len() as i64), producer: ProducerId::NONE };
            self.machine.apply(place, &record);
            self.log.push(record);
        }
        for change in outcome.changes {
            self.machine.install(change);
        }
        for change in outcome.timers {
            match change {
                TimerChange::Set(timer, after) => self.timers.set(timer, self.instant().plus(after)),
                TimerChange::Cancel(timer) => self.timers.cancel(&timer),
            }
        }
        for (ticket, answer) in outcome.answers {
            assert!(self.answers.insert(ticket, answer).is_none(), "answered twice");
        }
        if let Some(plant) = self.plant {
            plant.after(&mut self.machine);
        }
    }

    /// Sends a command; the answer may come later.
    pub(super) fn send(&mut self, mut command: Command) -> Ticket {
        if let Some(plant) = self.plant {
            plant.command(&mut command, &self.machine);
        }
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        let outcome = self.machine.decide(self.now(), ticket, command);
        self.take(outcome);
        ticket
    }

    pub(super) fn answered(&mut self, ticket: Ticket) -> Option<Answer> {
        self.answers.remove(&ticket)
    }

    pub(super) fn ask(&mut self, command: Command) -> Answer {
        let ticket = self.send(command);
        self.answered(ticket).expect("an answer at once")
    }

    /// Lets time pass and timers fire in order.
    pub(super) fn pass(&mut self, ms: u64) {
        let end = self.now_ms + ms;
        loop {
            while let Some(timer) = self.timers.pop(self.instant()) {
                let outcome = self.machine.expired(self.now(), timer);
                self.take(outcome);
            }
            match self.timers.next() {
                Some(next) if next.0.div_ceil(1_000_000) <= end => self.now_ms = next.0.div_ceil(1_000_000),
                _ => break,
            }
        }
        self.now_ms = end;
    }

    /// The broker is gone with everything that is not in the log, and comes back.
    pub(super) fn crash(&mut self) {
        self.machine = reload_with(&self.settings, &self.image, &self.log);
        self.timers.clear();
        self.answers.clear();
        let mut outcome = self.machine.loaded(self.now());
        if let Some(plant) = self.plant {
            plant.loaded(&mut outcome);
        }
        self.take(outcome);
    }

    pub(super) fn state(&self) -> &'static str {
        self.machine.kind(GROUP).map_or("Dead", |group| group.state_name())
    }

    pub(super) fn generation(&self) -> i32 {
        self.machine.classic(GROUP).unwrap().generation
    }

    pub(super) fn joined(&mut self, ticket: Ticket) -> Option<Joined> {
        match self.answered(ticket)? {
            Answer::Join(joined) => Some(*joined),
            other => panic!("not a join: {other:?}"),
        }
    }

    pub(super) fn synced(&mut self, ticket: Ticket) -> Option<Synced> {
        match self.answered(ticket)? {
            Answer::Sync(synced) => Some(synced),
            other => panic!("not a sync: {other:?}"),
        }
    }

    pub(super) fn heartbeat(&mut self, member: &str, generation: i32) -> ErrorCode {
        match self.ask(heartbeat(member, None, generation)) {
            Answer::Heartbeat(error) => error,
            other => panic!("not a heartbeat: {other:?}"),
        }
    }

    pub(super) fn commit(&mut self, commit: Commit) -> Result<Vec<Vec<ErrorCode>>, ErrorCode> {
        match self.ask(Command::Commit(Box::new(commit))) {
            Answer::Commit(result) => result,
            other => panic!("not a commit: {other:?}"),
        }
    }

    pub(super) fn fetch_one(&mut self, topic: &str, partition: i32) -> FetchedPartition {
        let topics = vec![FetchTopic { name: text(topic), id: TopicId::ZERO, partitions: vec![partition] }];
        let fetch = Fetch {
            group: text(GROUP),
            member_id: None,
            member_epoch: -1,
            topics: Some(topics),
            require_stable: true,
        };
        match self.ask(Command::Fetch(fetch)) {
            Answer::Fetch(Ok(mut topics)) => topics.remove(0).partitions.remove(0),
            other => panic!("not a fetch: {other:?}"),
        }
    }

    pub(super) fn leave(
        &mut self,
        member: &str,
        instance: Option<&str>,
    ) -> Result<Vec<ErrorCode>, ErrorCode> {
        match self.ask(leave(member, instance)) {
            Answer::Leave(result) => result,
            other => panic!("not a leave: {other:?}"),
        }
    }

    /// Members with these names, instance ids where given, in a stable group; gives their ids.
    pub(super) fn stable(&mut self, members: &[(&str, Option<&str>)]) -> Vec<Arc<str>> {
        let tickets: Vec<Ticket> =
            members.iter().map(|(name, instance)| self.send(join_as(name, *instance).build())).collect();
        self.pass(u64::try_from(self.settings.initial_rebalance_delay_ms).unwrap() * 2);
        let joined: Vec<Joined> = tickets.into_iter().map(|ticket| self.joined(ticket).unwrap()).collect();
        let leader = joined[0].leader.clone();
        let generation = joined[0].generation;
        let parts: Vec<(Arc<str>, Bytes)> =
            joined.iter().map(|joined| (joined.member_id.clone(), part(&joined.member_id))).collect();
        for joined in &joined {
            if joined.member_id != leader {
                self.send(sync(&joined.member_id, generation, Vec::new()));
            }
        }
        self.send(sync(&leader, generation, parts));
        assert_eq!(self.state(), "Stable");
        joined.into_iter().map(|joined| joined.member_id).collect()
    }
}

/// The state that a log of records tells.
pub(super) fn reload(settings: &Arc<Settings>, log: &[Record]) -> Groups {
    reload_with(settings, &Arc::new(Image::empty("c")), log)
}

/// The same in a cluster with topics.
pub(super) fn reload_with(settings: &Arc<Settings>, image: &Arc<Image>, log: &[Record]) -> Groups {
    let mut machine = Groups::new(settings.clone(), Arc::clone(image));
    for (offset, record) in log.iter().enumerate() {
        machine.apply(Place { offset: Offset(offset as i64), producer: ProducerId::NONE }, record);
    }
    machine
}

/// The assignment that tests give a member.
pub(super) fn part(member: &str) -> Bytes {
    Bytes::from(format!("part of {member}"))
}

/// A consumer's subscription to the topics.
pub(super) fn subscription(topics: &[&str]) -> Bytes {
    let mut blob = vec![0, 0];
    blob.extend(i32::try_from(topics.len()).unwrap().to_be_bytes());
    for topic in topics {
        blob.extend(i16::try_from(topic.len()).unwrap().to_be_bytes());
        blob.extend(topic.as_bytes());
    }
    blob.extend([255, 255, 255, 255]);
    Bytes::from(blob)
}

/// A join request that tests bend as they need.
pub(super) struct JoinWith(pub(super) Join);

/// A join of a member without id that gets `name` as its id at once.
pub(super) fn join(name: &str) -> JoinWith {
    join_as(name, None)
}

pub(super) fn join_as(name: &str, instance: Option<&str>) -> JoinWith {
    JoinWith(Join {
        group: text(GROUP),
        member_id: text(""),
        new_member_id: text(name),
        instance_id: instance.map(text),
        client_id: text("client"),
        client_host: text("/127.0.0.1"),
        session_timeout_ms: 600_000,
        rebalance_timeout_ms: 60_000,
        protocol_type: text("consumer"),
        protocols: vec![Protocol { name: text("range"), metadata: subscription(&["t"]) }],
        requires_known_member_id: false,
        skips_assignment: true,
        reason: None,
    })
}

impl JoinWith {
    /// With an id, as a member that comes back.
    pub(super) fn known(mut self) -> JoinWith {
        self.0.member_id = self.0.new_member_id.clone();
        self
    }

    pub(super) fn with(mut self, change: impl FnOnce(&mut Join)) -> JoinWith {
        change(&mut self.0);
        self
    }

    pub(super) fn protocols(self, names: &[&str]) -> JoinWith {
        let protocols =
            names.iter().map(|name| Protocol { name: text(name), metadata: subscription(&["t"]) });
        let protocols = protocols.collect();
        self.with(|join| join.protocols = protocols)
    }

    pub(super) fn build(self) -> Command {
        Command::Join(Box::new(self.0))
    }
}

pub(super) fn sync(member: &str, generation: i32, assignments: Vec<(Arc<str>, Bytes)>) -> Command {
    Command::Sync(Box::new(Sync {
        group: text(GROUP),
        member_id: text(member),
        instance_id: None,
        generation,
        protocol_type: Some(text("consumer")),
        protocol: None,
        assignments,
    }))
}

pub(super) fn heartbeat(member: &str, instance: Option<&str>, generation: i32) -> Command {
    let instance_id = instance.map(text);
    Command::Heartbeat(Heartbeat { group: text(GROUP), member_id: text(member), instance_id, generation })
}

pub(super) fn leave(member: &str, instance: Option<&str>) -> Command {
    let leaver = Leaver { member_id: text(member), instance_id: instance.map(text), reason: None };
    Command::Leave(Leave { group: text(GROUP), members: vec![leaver] })
}

/// A commit of offset 5 for partition 0 of topic `t`.
pub(super) fn commit(member: &str, generation: i32) -> Commit {
    Commit {
        group: text(GROUP),
        member_id: text(member),
        instance_id: None,
        generation,
        retention_ms: None,
        knows_group_id_not_found: true,
        transaction: None,
        topics: vec![CommitTopic {
            name: text("t"),
            id: TopicId::ZERO,
            partitions: vec![CommitPartition { partition: 0, offset: 5, leader_epoch: 3, metadata: None }],
        }],
    }
}
