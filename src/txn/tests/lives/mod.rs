//! Seeded lives of a transactional id from end to end: clients of either protocol that lose answers, repeat themselves,
//! die and are replaced, the coordinator's log with its uncommitted end, crashes and reloads between any two steps,
//! deadlines, markers partition by partition. A small history tells at the end what readers may see.
//!
//! `SIM_SEEDS=n` runs n seeds instead of 300; `SIM_SEED=s` runs seed s alone and tells every step.

mod client;
mod data;
mod plants;

use super::*;
use crate::base::seeds;
use crate::io::Random;
use crate::txn::rules::producer_of;
use client::Client;
use data::Data;
use data::Fate;
use data::Tag;
use plants::Plant;
use std::collections::BTreeMap;
use std::collections::VecDeque;

const CLIENTS: usize = 3;
const PARTITIONS: usize = 4;
const STEPS: usize = 250;

/// What is known of a transaction.
#[derive(Clone, Debug, Default)]
struct Told {
    /// Whose it is.
    incarnation: usize,
    /// Its records in each partition that were acknowledged.
    records: [usize; PARTITIONS],
    /// Its records that came late.
    unanswered: usize,
    /// Whether a commit was ever asked for.
    asked: bool,
    /// The acknowledged end.
    committed: Option<bool>,
    /// Another producer began before it was committed.
    fenced: bool,
}

/// Markers on their way.
struct Marking {
    markers: Markers,
    left: Vec<usize>,
}

struct World {
    seed: u64,
    random: Random,
    trial: Trial,
    plant: Option<Plant>,
    version: i16,
    data: Vec<Data>,
    clients: Vec<Client>,
    told: Vec<Told>,
    incarnations: usize,
    /// How much of the coordinator's log is committed.
    committed: usize,
    /// Answers that wait for the log: how long it must be, whose it is, what it says.
    parked: VecDeque<(usize, usize, Answer)>,
    marking: Option<Marking>,
    /// Writes that are still on their way though their client has given them up.
    late: Vec<(Producer, Tag, usize)>,
    /// Whose each producer id and epoch is.
    given: BTreeMap<(i64, i16), usize>,
    verbose: bool,
}

impl World {
    fn new(seed: u64, plant: Option<Plant>) -> World {
        let mut random = Random::seeded(seed ^ 0x7a);
        let version = if random.one_in(2) { 2 } else { 0 };
        let trial = Trial::new();
        // Some clusters have the older version of transactions, and some ids are old.
        if version == 0 && random.one_in(3) {
            trial.settings.level.store(1, Ordering::Relaxed);
        }
        let mut world = World {
            seed,
            random,
            trial,
            plant,
            version,
            data: vec![Data::default(); PARTITIONS],
            clients: Vec::new(),
            told: Vec::new(),
            incarnations: CLIENTS,
            committed: 0,
            parked: VecDeque::new(),
            marking: None,
            late: Vec::new(),
            given: BTreeMap::new(),
            verbose: seeds::is_verbose(),
        };
        world.clients = (0..CLIENTS).map(Client::new).collect();
        if world.random.one_in(4) {
            world.trial.init(None).unwrap();
            world.trial.set_epoch(i16::MAX - 6);
            world.committed = world.trial.log.len();
        }
        world
    }

    fn say(&self, what: &str) {
        if self.verbose {
            println!("[{} ms, log {}/{}] {what}", self.trial.now_ms, self.committed, self.trial.log.len());
        }
    }

    fn pick(&mut self, count: usize) -> usize {
        usize::try_from(self.random.below(u64::try_from(count).unwrap())).unwrap()
    }

    fn is_planted(&self, plant: Plant) -> bool {
        self.plant == Some(plant)
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0..55 => {
                let client = self.pick(CLIENTS);
                self.act(client);
            }
            55..75 => self.commit(),
            75..90 => self.mark(),
            90..94 => {
                let most = if self.random.one_in(4) { 70_000 } else { 500 };
                let ms = 1 + self.random.below(most);
                self.pass(Duration::from_millis(ms));
            }
            94 if !self.late.is_empty() => self.deliver_late(),
            94..95 if self.random.one_in(10) => self.pass(8 * DAY),
            94..97 => self.crash(),
            _ => {
                let client = self.pick(CLIENTS);
                self.replace(client);
            }
        }
    }

    /// The log is committed as far as it goes, and answers go out; some get lost.
    fn commit(&mut self) {
        self.committed = self.trial.log.len();
        while let Some((_, client, answer)) = self.parked.pop_front() {
            if self.random.one_in(12) {
                self.say(&format!("lost for {client}: {answer:?}"));
                self.clients[client].answer_lost();
            } else {
                self.deliver(client, answer);
            }
        }
    }

    /// Asks the machine on behalf of a client; the answer waits for the log.
    fn ask(&mut self, client: usize, mut command: Command) {
        let before = self.trial.machine.get(ID).map(producer_of);
        let mut fresh = None;
        let answer = loop {
            if let Some(plant) = self.plant {
                plant.command(&mut command, before);
            }
            match &mut command {
                Command::Init(init) => init.fresh = fresh,
                Command::End(end) => end.fresh = fresh,
                _ => {}
            }
            let mut outcome = self.trial.machine.decide(self.trial.now(), Ticket(1), command.clone());
            if let Some(plant) = self.plant {
                plant.outcome(&mut outcome, before);
            }
            match self.trial.take(outcome).unwrap() {
                Answer::NeedsProducerId => {
                    assert!(fresh.is_none(), "seed {}: asked twice for a producer id", self.seed);
                    self.trial.next_id += 1;
                    fresh = Some(ProducerId(self.trial.next_id));
                }
                answer => break answer,
            }
        };
        self.say(&format!("{client} asks {command:?}: {answer:?}"));
        self.parked.push_back((self.trial.log.len(), client, answer));
        if self.is_planted(Plant::AnsweredEarly) {
            let (_, client, answer) = self.parked.pop_back().unwrap();
            self.deliver(client, answer);
        }
    }

    /// One marker more, or what has to be done before and after.
    fn mark(&mut self) {
        let Some(mut marking) = self.marking.take() else {
            if self.trial.rung().is_some() {
                // What is not committed is not told to who writes markers.
                self.commit();
                self.marking = self.trial.markers().map(|markers| {
                    let of_topic = markers.partitions.get("t").cloned().unwrap_or_default();
                    let left = of_topic.iter().map(|index| usize::try_from(*index).unwrap()).collect();
                    Marking { markers, left }
                });
            }
            return;
        };
        if self.is_planted(Plant::MarkerLeftOut) && marking.left.len() == 2 {
            marking.left.pop();
        }
        let early = self.is_planted(Plant::CompletedEarly) && marking.left.len() == 1;
        match marking.left.pop().filter(|_| !early) {
            Some(partition) => {
                self.say(&format!("marker in {partition}: {:?}", marking.markers.producer));
                self.data[partition].mark(&marking.markers);
                if self.random.one_in(3) {
                    let written = partitions(&[("t", i32::try_from(partition).unwrap())]);
                    self.trial.ask(Command::SomeMarked(ID.into(), marking.markers.producer, written));
                }
                self.marking = Some(marking);
            }
            None => {
                self.say("all markers are written");
                self.trial.ask(Command::Marked(ID.into(), marking.markers.producer));
            }
        }
    }

    fn pass(&mut self, time: Duration) {
        self.say(&format!("{time:?} pass"));
        self.trial.now_ms += u64::try_from(time.as_millis()).unwrap();
        while let Some(timer) = self.trial.timers.pop(Instant(self.trial.now_ms)) {
            let mut outcome = self.trial.machine.expired(self.trial.now(), timer);
            if let Some(plant) = self.plant {
                plant.expired(&mut outcome);
            }
            self.trial.take(outcome);
        }
    }

    /// The coordinator's process ends; of the log's uncommitted end some is there afterwards, and nobody is answered.
    fn crash(&mut self) {
        let tail = self.trial.log.len() - self.committed;
        let kept = self.committed + self.pick(tail + 1);
        self.say(&format!("crash, {kept} records are kept"));
        self.trial.log.truncate(kept);
        self.committed = kept;
        for (_, client, _) in std::mem::take(&mut self.parked) {
            self.clients[client].answer_lost();
        }
        self.marking = None;
        self.load();
    }

    fn load(&mut self) {
        let mut machine = Transactions::new(Arc::clone(&self.trial.settings));
        for entry in &self.trial.log {
            let mut record = Transactions::decode(entry).unwrap().unwrap();
            if self.plant.is_none_or(|plant| plant.read(&mut record)) {
                machine.apply(Place { offset: Offset(0), producer: ProducerId::NONE }, &record);
            }
        }
        self.trial.machine = machine;
        self.trial.timers = Timers::new();
        while self.trial.rung().is_some() {}
        let mut loaded = self.trial.machine.loaded(self.trial.now());
        if let Some(plant) = self.plant {
            plant.loaded(&mut loaded);
        }
        self.trial.take(loaded);
    }

    /// Another producer begins: what is not committed by now never will be.
    fn began(&mut self, incarnation: usize) {
        for tag in 0..self.told.len() {
            if self.told[tag].incarnation != incarnation && !self.is_seen(tag) {
                self.told[tag].fenced = true;
            }
        }
    }

    /// A client is given a producer.
    fn give(&mut self, client: usize, producer: Producer) {
        let incarnation = self.clients[client].incarnation;
        let owner = *self.given.entry((producer.id.0, producer.epoch.0)).or_insert(incarnation);
        assert_eq!(owner, incarnation, "seed {}: {producer:?} was given to two", self.seed);
    }

    /// A write comes late, and is verified as any other.
    fn deliver_late(&mut self) {
        let at = self.pick(self.late.len());
        let (producer, tag, partition) = self.late.swap_remove(at);
        let guard = self.data[partition].guard(producer);
        let is_let_in = match guard {
            Some(_) if self.is_planted(Plant::Unverified) => true,
            // In version 1 the epoch does not tell it from the next transaction's writes; its sequence number does.
            Some(_) => self.is_open(producer, partition) && self.version >= 2,
            None => self.version >= 2 || self.data[partition].open().all(|open| open == tag),
        };
        let written = is_let_in.then(|| self.data[partition].append(producer, tag, guard));
        self.say(&format!("{tag} comes late to {partition}: {written:?}"));
        if written == Some(Ok(())) {
            self.told[tag].unanswered += 1;
        }
    }

    /// What the coordinator says of a write to a partition.
    fn is_open(&mut self, producer: Producer, partition: usize) -> bool {
        let add = Add {
            id: ID.into(),
            producer,
            partitions: partitions(&[("t", i32::try_from(partition).unwrap())]),
            client_version: self.version,
        };
        let question = if self.version >= 2 { Command::Add(add) } else { Command::Verify(add) };
        let answer = self.trial.ask(question);
        self.commit();
        match answer {
            Answer::Done(result) => result.is_ok(),
            Answer::Verified(result) => result.is_ok_and(|missing| missing.is_empty()),
            other => panic!("{other:?}"),
        }
    }

    fn is_seen(&self, tag: Tag) -> bool {
        self.data.iter().any(|data| data.fates(tag).any(|fate| fate == Fate::Committed))
    }

    /// The end: everybody stops, every deadline passes, every marker is written; then the history is judged.
    fn finish(mut self) -> usize {
        self.commit();
        for _ in 0..3 {
            self.pass(Duration::from_secs(100));
            self.commit();
            for _ in 0..4 * PARTITIONS {
                self.mark();
            }
        }
        for (partition, data) in self.data.iter().enumerate() {
            let open: Vec<Tag> = data.open().collect();
            assert!(open.is_empty(), "seed {}: {open:?} stay open in {partition}", self.seed);
        }
        for tag in 0..self.told.len() {
            self.judge(tag);
        }
        self.told.iter().filter(|told| told.committed == Some(true)).count()
    }

    fn judge(&self, tag: Tag) {
        let (told, seed) = (&self.told[tag], self.seed);
        let mut seen = [0; PARTITIONS];
        for (count, data) in seen.iter_mut().zip(&self.data) {
            *count = data.fates(tag).filter(|fate| *fate == Fate::Committed).count();
        }
        let is_seen = seen.iter().any(|count| *count > 0);
        match told.committed {
            Some(true) => assert_eq!(seen, told.records, "seed {seed}: committed {tag} is lost or torn"),
            Some(false) => assert!(!is_seen, "seed {seed}: aborted {tag} is seen"),
            None if is_seen && told.unanswered == 0 => {
                assert_eq!(seen, told.records, "seed {seed}: {tag} is torn")
            }
            None => {}
        }
        assert!(!is_seen || told.asked, "seed {seed}: nobody asked to commit {tag}");
        assert!(!is_seen || !told.fenced, "seed {seed}: {tag} was committed after another producer began");
    }
}

fn run(seed: u64, plant: Option<Plant>) -> usize {
    let mut world = World::new(seed, plant);
    for _ in 0..STEPS {
        world.step();
    }
    world.finish()
}

#[test]
fn no_seed_tears_loses_or_doubles_a_transaction() {
    let committed: usize = seeds::run("a transactional id", 300, |seed| run(seed, None)).into_iter().sum();
    assert!(committed > 0, "nothing was committed, so nothing was proven");
}

#[test]
fn each_planted_fault_is_noticed() {
    for plant in Plant::ALL {
        let noticed = seeds::notices(300, |seed| run(seed, Some(plant)));
        assert!(noticed, "{plant:?} is not noticed");
    }
}
