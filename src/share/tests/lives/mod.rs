//! Seeded lives of a share-partition from end to end: members with sessions that fetch, acknowledge and are lost, locks
//! that end, a leader whose memory goes and older leaders whose writes come late, the share coordinator's log with its
//! uncommitted end that a crash cuts anywhere, records that are produced, deleted and aborted, a dead-letter topic,
//! offsets that are altered. A map of records tells what may be delivered, how often, and what must have been in the end.
//!
//! `SIM_SEEDS=n` runs n seeds instead of 150; `SIM_SEED=s` runs seed s alone and tells every step.

mod clients;
mod coordinator;
mod plants;
mod truth;

use crate::base::Instant;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::base::seeds;
use crate::io::random::Random;
use crate::share::Key;
use crate::share::partition::Found;
use crate::share::partition::Rules;
use crate::share::sessions::Sessions;
use crate::share::state::batches::State;
use clients::Client;
use coordinator::Coordinator;
use coordinator::Flight;
use coordinator::Life;
use plants::Plant;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::VecDeque;
use std::sync::Arc;
use truth::At;
use truth::Kept;
use truth::Truth;

const CLIENTS: usize = 4;
const STEPS: usize = 250;

fn key() -> Key {
    Key { group: Arc::from("g"), topic: TopicId::METADATA, partition: PartitionIndex(0) }
}

fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap()
}

struct World {
    random: Random,
    plant: Option<Plant>,
    rules: Rules,
    now: u64,
    /// The batches that are in the log, and where it begins.
    log: Vec<Found>,
    log_start: i64,
    log_end: i64,
    /// Records that somebody should get.
    wanted: BTreeSet<i64>,
    truths: BTreeMap<i64, Truth>,
    clients: Vec<Client>,
    sessions: Sessions,
    connections: u64,
    coordinator: Coordinator,
    /// Every memory of a leader since the last crash; the last one counts when `led` says so.
    lives: Vec<Life>,
    led: bool,
    leader_epoch: i32,
    /// How often offsets were altered: what was said before that counts no more.
    era: usize,
    flights: Vec<Flight>,
    flown: usize,
    /// When the locks are looked at.
    lock_timer: Option<u64>,
    /// Records on their way to the dead-letter topic: the memory that sent them, and which.
    letters: VecDeque<(usize, i64, i64)>,
    written: BTreeMap<i64, usize>,
    /// Records that must have a dead letter in the end, and such that may have one.
    owed: BTreeSet<i64>,
    given_up: BTreeSet<i64>,
    delivered: u64,
    verbose: bool,
}

impl World {
    fn new(seed: u64, plant: Option<Plant>) -> World {
        let mut random = Random::seeded(seed ^ 0x5a);
        let rules = Rules {
            delivery_limit: i16::try_from(2 + random.below(4)).unwrap(),
            locks_max: 10 + int(random.below(40)),
            renews: true,
            dead_letters: random.one_in(2),
        };
        let coordinator = Coordinator::new(1 + u32::try_from(random.below(5)).unwrap());
        let mut world = World {
            random,
            plant,
            rules,
            now: 1,
            log: Vec::new(),
            log_start: 0,
            log_end: 0,
            wanted: BTreeSet::new(),
            truths: BTreeMap::new(),
            clients: (0..CLIENTS).map(|_| Client::default()).collect(),
            sessions: Sessions::new(CLIENTS),
            connections: 0,
            coordinator,
            lives: Vec::new(),
            led: false,
            leader_epoch: 0,
            era: 0,
            flights: Vec::new(),
            flown: 0,
            lock_timer: None,
            letters: VecDeque::new(),
            written: BTreeMap::new(),
            owed: BTreeSet::new(),
            given_up: BTreeSet::new(),
            delivered: 0,
            verbose: seeds::is_verbose(),
        };
        world.coordinator.begin(1, if world.random.one_in(2) { -1 } else { 0 });
        world.coordinator.commit();
        (0..8).for_each(|_| world.produce());
        world
    }

    fn say(&self, what: impl FnOnce() -> String) {
        if self.verbose {
            println!("[{}, log {}] {}", self.now, self.coordinator.tell(), what());
        }
    }

    fn is_planted(&self, plant: Plant) -> bool {
        self.plant == Some(plant)
    }

    fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(u64::try_from(count).unwrap())).unwrap()
    }

    /// A batch more; compaction has left holes, and some batches belong to aborted transactions.
    fn produce(&mut self) {
        let first = self.log_end + int(self.random.below(6).saturating_sub(4));
        let end = first + 1 + int(self.random.below(6));
        let aborted = self.random.one_in(10);
        self.log.push(Found { first, end, aborted });
        self.log_end = end;
        if !aborted {
            self.wanted.extend(first..end);
        }
    }

    fn step(&mut self) {
        let client = self.pick(CLIENTS);
        match self.random.below(100) {
            0..26 => self.fetch(client),
            26..48 => self.acknowledge(client),
            48..66 => self.send_one(),
            66..78 => self.commit(),
            78..83 => {
                let most = if self.random.one_in(6) { 400_000 } else { 300 };
                let time = 1 + self.random.below(most);
                self.pass(time);
            }
            83..88 => self.write_letters(),
            88..92 => self.produce(),
            92..95 => self.leave(client),
            95..96 => self.change_leader(),
            96..98 => self.crash(),
            98..99 => self.delete_records(),
            _ if self.random.one_in(3) => self.alter(),
            _ => {
                // What is not committed is not told to who deletes.
                self.commit();
                self.coordinator.prune();
            }
        }
        self.check();
    }

    /// Time passes, and what is due is done when it is due.
    fn pass(&mut self, time: u64) {
        let until = self.now + time;
        while let Some(due) = self.lock_timer.filter(|due| *due <= until) {
            self.now = self.now.max(due);
            self.lock_timer = None;
            if !self.is_planted(Plant::LocksNeverEnd) {
                self.expire();
            }
        }
        self.now = until;
        self.coordinator.pass(self.now);
    }

    fn expire(&mut self) {
        let (now, rules) = (self.now, self.rules);
        let Some(life) = self.leader() else { return };
        let change = life.partition.expire(Instant(now), &rules);
        self.note_locks();
        self.say(|| format!("locks end: {:?}", change.batches));
        for truth in self.truths.values_mut() {
            if matches!(truth.at, At::Held { lock, .. } if lock <= now) {
                truth.at = match truth::outcome(crate::share::Kind::Release, truth.count, &rules) {
                    None | Some(State::Available) => At::Free,
                    Some(state) => At::Done(state),
                };
            }
        }
        self.fly(change, None, Vec::new());
    }

    /// The broker ends: its memory is gone, and of the uncommitted end of the coordinator's log some may be there after.
    fn crash(&mut self) {
        let flights = std::mem::take(&mut self.flights);
        let most = self.coordinator.uncommitted();
        let lost = self.pick(most + 1);
        let end = self.coordinator.crash(lost);
        self.say(|| format!("crash, {lost} records are lost"));
        for flight in flights.iter().filter(|flight| flight.sent.is_none_or(|sent| sent > end)) {
            self.unsay(flight);
        }
        self.lives.clear();
        self.led = false;
        self.lock_timer = None;
        self.letters.clear();
        self.leader_epoch += 1;
        self.forget_sessions();
    }

    /// Another broker leads the partition. What this one has under way goes on.
    fn change_leader(&mut self) {
        self.say(|| String::from("another leader"));
        self.leader_epoch += 1;
        self.let_go();
        self.forget_sessions();
    }

    fn let_go(&mut self) {
        self.led = false;
        self.lock_timer = None;
    }

    /// The log is cut at its front.
    fn delete_records(&mut self) {
        let most = u64::try_from(self.log_end - self.log_start).unwrap();
        self.log_start += int(self.random.below(most / 3 + 1));
        let start = self.log_start;
        self.say(|| format!("the log begins at {start}"));
        self.log.retain(|batch| batch.end > start);
        self.wanted = self.wanted.split_off(&start);
    }

    /// Somebody lets the group go on at another offset, with nobody in it.
    fn alter(&mut self) {
        (0..CLIENTS).for_each(|client| self.leave(client));
        let span = u64::try_from(self.log_end - self.log_start).unwrap();
        let start = self.log_start + int(self.random.below(span + 1));
        self.say(|| format!("the group goes on at {start}"));
        let epoch = self.coordinator.state_epoch() + 1;
        self.coordinator.begin(epoch, start);
        self.let_go();
        self.era += 1;
        self.truths.clear();
        self.owed.clear();
        self.given_up.clear();
        self.written.clear();
        self.clients.iter_mut().for_each(|client| client.has.clear());
        // What lies before is not for this group any more.
        self.wanted = self.wanted.split_off(&start);
        self.commit();
    }

    /// What must hold at every moment.
    fn check(&mut self) {
        let now = self.now;
        let wanted = &self.wanted;
        let Some(life) = self.lives.last().filter(|_| self.led) else { return };
        for (offset, truth) in &self.truths {
            if let At::Held { lock, member } = truth.at {
                assert!(lock > now, "{offset} is still {member}'s");
            }
        }
        let start = life.partition.start();
        for offset in wanted.range(..start) {
            let truth = self.truths.get(offset);
            let done = truth.is_some_and(Truth::may_be_done);
            assert!(done, "the start {start} is past {offset}, which is {truth:?}");
        }
    }

    /// The end: nothing fails any more, one member takes and accepts all that is left; then everything is judged.
    fn finish(mut self) -> u64 {
        self.leave_all();
        for _ in 0..3 {
            self.calm();
            self.pass(1_000_000);
        }
        for round in 0.. {
            assert!(round < 5_000, "it never ends: {:?}", self.lives.last());
            self.load();
            let before = self.progress();
            self.take_all(0);
            self.calm();
            self.pass(1_000);
            if self.progress() == before {
                break;
            }
        }
        self.check();
        self.judge();
        self.delivered
    }

    /// How many deliveries there were, and the leader's start and end.
    fn progress(&self) -> (u64, i64, i64) {
        let partition = &self.lives.last().unwrap().partition;
        (self.delivered, partition.start(), partition.end())
    }

    /// Everything that is under way arrives.
    fn calm(&mut self) {
        while !self.flights.is_empty() || !self.letters.is_empty() {
            while self.flights.iter().any(|flight| flight.sent.is_none()) {
                self.send_next(false);
            }
            self.commit();
            self.write_letters();
        }
    }

    fn judge(&self) {
        let partition = &self.lives.last().unwrap().partition;
        let (start, end) = (partition.start(), partition.end());
        assert_eq!(start, end, "nothing is left unfinished: {partition:?}");
        for offset in &self.wanted {
            let truth = self.truths.get(offset);
            assert!(*offset < start, "{offset} was never delivered: {truth:?}");
            assert!(truth.is_some_and(Truth::may_be_done), "{offset} is lost: {truth:?}");
        }
        for offset in &self.owed {
            let gone = *offset < self.log_start;
            assert!(gone || self.written.contains_key(offset), "there is no dead letter of {offset}");
        }
        for offset in self.written.keys() {
            let may = self.owed.contains(offset) || self.given_up.contains(offset);
            assert!(may, "nobody gave {offset} up");
        }
        let kept = self.coordinator.kept();
        assert!(kept.start <= end, "{} is kept, and the end is {end}", kept.start);
    }
}

fn run(seed: u64, plant: Option<Plant>) -> u64 {
    let mut world = World::new(seed, plant);
    for _ in 0..STEPS {
        world.step();
    }
    world.finish()
}

#[test]
fn no_seed_loses_a_record_or_delivers_one_that_is_dealt_with() {
    let delivered: u64 = seeds::run("a share-partition", 150, |seed| run(seed, None)).into_iter().sum();
    assert!(delivered > 100, "{delivered} records were delivered, so nothing was proven");
}

#[test]
fn each_planted_fault_is_noticed() {
    for plant in Plant::ALL {
        let noticed = seeds::notices(100, |seed| run(seed, Some(plant)));
        assert!(noticed, "{plant:?} is not noticed");
    }
}
