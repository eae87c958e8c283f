//! The share coordinator with its log, the leader's memory, and what is on its way between the two.

use super::*;
use crate::base::ErrorCode;
use crate::base::Offset;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::coordinator::Machine;
use crate::coordinator::Memory;
use crate::coordinator::Now;
use crate::coordinator::Place;
use crate::coordinator::Ticket;
use crate::coordinator::machine::Entry;
use crate::share::partition::Change;
use crate::share::partition::Partition;
use crate::share::state::command::Answer;
use crate::share::state::command::Command;
use crate::share::state::command::Initialize;
use crate::share::state::command::Read;
use crate::share::state::command::Write;
use crate::share::state::machine::ColdSnapshots;
use crate::share::state::machine::States;
use crate::share::state::record::Record;
use crate::share::state::settings::Settings;
use std::ops::Range;
use std::time::Duration;
use truth::Noted;

const COLD_MS: u64 = 300_000;

/// The state machine, its log, and what was written to it in other words.
pub(super) struct Coordinator {
    states: States,
    settings: Arc<Settings>,
    log: Vec<Entry>,
    noted: Vec<(usize, Noted)>,
    committed: usize,
    /// What lies before this is deleted.
    pruned: usize,
    now: u64,
    cold_at: u64,
    state_epoch: i32,
}

impl Coordinator {
    pub(super) fn new(updates_per_snapshot: u32) -> Coordinator {
        let settings = Arc::new(Settings {
            updates_per_snapshot,
            cold_snapshot_interval: Duration::from_millis(COLD_MS),
            prune_interval: Duration::from_secs(300),
            write_timeout: Duration::from_secs(5),
            memory: Memory::new(1 << 30, "states", "a.setting"),
        });
        Coordinator {
            states: States::new(Arc::clone(&settings)),
            settings,
            log: Vec::new(),
            noted: Vec::new(),
            committed: 0,
            pruned: 0,
            now: 0,
            cold_at: COLD_MS,
            state_epoch: 0,
        }
    }

    pub(super) fn tell(&self) -> String {
        format!("{}/{}", self.committed, self.log.len())
    }

    fn now(&self) -> Now {
        Now(Timestamp(int(self.now)))
    }

    fn append(&mut self, records: &[Record]) {
        for record in records {
            let place =
                Place { offset: Offset(i64::try_from(self.log.len()).unwrap()), producer: ProducerId::NONE };
            self.states.apply(place, record);
            self.log.push(States::encode(record));
        }
    }

    fn ask(&mut self, command: Command) -> Answer {
        let mut outcome = self.states.decide(self.now(), Ticket(1), command);
        self.append(&outcome.records);
        outcome.answers.remove(0).1
    }

    pub(super) fn state_epoch(&self) -> i32 {
        self.state_epoch
    }

    /// The group begins to read the partition. That is committed before anything else happens.
    pub(super) fn begin(&mut self, state_epoch: i32, start: i64) {
        let request = Initialize { key: key(), state_epoch, start, known: true };
        assert_eq!(self.ask(Command::Initialize(request)), Answer::Done(Ok(())));
        self.state_epoch = state_epoch;
        self.noted.push((self.log.len(), Noted::Begin(start)));
        self.commit();
    }

    /// Where the log ends after this write, or why it is refused.
    fn write(&mut self, write: Write) -> Result<usize, ErrorCode> {
        match self.ask(Command::Write(write.clone())) {
            Answer::Done(Ok(())) => {
                self.noted.push((self.log.len(), Noted::Write(Box::new(write))));
                Ok(self.log.len())
            }
            Answer::Done(Err(failure)) => Err(failure.code),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn pass(&mut self, now: u64) {
        self.now = now;
        if now >= self.cold_at {
            self.cold_at = now + COLD_MS;
            let outcome = self.states.expired(self.now(), ColdSnapshots);
            self.append(&outcome.records);
        }
    }

    pub(super) fn commit(&mut self) {
        self.committed = self.log.len();
    }

    pub(super) fn uncommitted(&self) -> usize {
        self.log.len() - self.committed
    }

    /// What nobody needs is deleted from the front of the log.
    pub(super) fn prune(&mut self) {
        let needed = match self.ask(Command::Redundant) {
            Answer::Redundant(offset) => offset.map_or(0, |offset| usize::try_from(offset).unwrap()),
            other => panic!("{other:?}"),
        };
        self.pruned = self.pruned.max(needed);
    }

    /// The log is read again, without its last records. Gives its end.
    pub(super) fn crash(&mut self, lost: usize) -> usize {
        let end = self.log.len() - lost;
        self.log.truncate(end);
        self.noted.retain(|(at, _)| *at <= end);
        self.committed = end;
        self.states = States::new(Arc::clone(&self.settings));
        for (offset, entry) in self.log.iter().enumerate().skip(self.pruned) {
            let record = States::decode(entry).unwrap().unwrap();
            let place = Place { offset: Offset(i64::try_from(offset).unwrap()), producer: ProducerId::NONE };
            self.states.apply(place, &record);
        }
        end
    }

    /// What is written of the records, committed or not.
    pub(super) fn kept(&self) -> Kept {
        Kept::of(self.noted.iter().map(|(_, noted)| noted))
    }
}

/// The memory of a leader.
#[derive(Debug)]
pub(super) struct Life {
    pub(super) partition: Partition,
    leader_epoch: i32,
    state_epoch: i32,
    era: usize,
}

/// A change on its way to the coordinator and back.
pub(super) struct Flight {
    id: usize,
    life: usize,
    era: usize,
    change: Change,
    client: Option<usize>,
    /// The records that it says are dealt with.
    ends: Vec<i64>,
    /// Where the log ended when it was written.
    pub(super) sent: Option<usize>,
    /// Who waits for it was told that it failed, though it is written.
    given_up: bool,
}

impl World {
    /// The memory of today's leader, if there is one.
    pub(super) fn leader(&mut self) -> Option<&mut Life> {
        self.lives.last_mut().filter(|_| self.led)
    }

    /// As the service does after each change of the memory.
    pub(super) fn note_locks(&mut self) {
        if let Some(next) = self.leader().and_then(|life| life.partition.next_lock()) {
            self.lock_timer = Some(next.0);
        }
    }

    /// Sends a change on its way; gives its number.
    pub(super) fn fly(&mut self, change: Change, client: Option<usize>, ends: Vec<i64>) {
        self.flown += 1;
        if change.is_empty() {
            return;
        }
        for offset in &ends {
            self.truths.get_mut(offset).unwrap().asked += 1;
        }
        let life = self.lives.len() - 1;
        let (id, era) = (self.flown, self.era);
        self.flights.push(Flight { id, life, era, change, client, ends, sent: None, given_up: false });
    }

    /// What a flight says will never be kept.
    pub(super) fn unsay(&mut self, flight: &Flight) {
        if flight.era != self.era {
            return;
        }
        for offset in &flight.ends {
            if let Some(truth) = self.truths.get_mut(offset) {
                truth.asked -= 1;
            }
        }
    }

    /// One change, whichever it is, reaches the coordinator.
    pub(super) fn send_one(&mut self) {
        self.send_next(true);
    }

    pub(super) fn send_next(&mut self, fails: bool) {
        let waiting: Vec<usize> =
            (0..self.flights.len()).filter(|at| self.flights[*at].sent.is_none()).collect();
        if waiting.is_empty() {
            return;
        }
        let at = waiting[self.pick(waiting.len())];
        if fails && self.random.one_in(12) {
            let flight = self.flights.remove(at);
            self.fail(&flight, ErrorCode::CoordinatorNotAvailable);
            return;
        }
        let flight = &self.flights[at];
        let life = &self.lives[flight.life];
        let mut write = Write {
            key: key(),
            state_epoch: life.state_epoch,
            leader_epoch: life.leader_epoch,
            start: life.partition.start(),
            complete: life.partition.complete_count(),
            batches: flight.change.batches.clone(),
            known: true,
        };
        if let Some(plant) = self.plant {
            plant.write(&mut write, (self.leader_epoch, life.partition.end()));
        }
        if self.is_planted(Plant::AnsweredNotKept) && flight.client.is_some() {
            self.flights[at].sent = Some(self.coordinator.committed);
            return;
        }
        match self.coordinator.write(write) {
            Ok(end) => {
                self.flights[at].sent = Some(end);
                if self.is_planted(Plant::AnsweredEarly) {
                    let flight = self.flights.remove(at);
                    self.settle(&flight);
                } else if fails && self.random.one_in(15) {
                    // It is written, and who waits has waited too long.
                    let flight = &mut self.flights[at];
                    flight.given_up = true;
                    let (life, era, change) = (flight.life, flight.era, flight.change.clone());
                    self.take_back(life, &change);
                    self.bury_given_up(life, era, &change);
                    self.restore(at);
                }
            }
            Err(code) => {
                let flight = self.flights.remove(at);
                self.fail(&flight, code);
            }
        }
    }

    fn take_back(&mut self, life: usize, change: &Change) {
        let kept = self.is_planted(Plant::FailureIgnored);
        self.lives[life].partition.settle(change, kept, Instant(self.now), &self.rules);
        if life + 1 == self.lives.len() {
            self.note_locks();
        }
    }

    /// As the service does where a change cannot be kept: what is given up all the same gets its dead letters.
    fn bury_given_up(&mut self, life: usize, era: usize, change: &Change) {
        for dead in &change.dead {
            for dead in self.lives[life].partition.given_up(*dead) {
                self.letters.push_back((life, dead.first, dead.end));
                if era == self.era {
                    // Until that is kept it may be forgotten again.
                    self.given_up.extend(dead.first..dead.end);
                }
            }
        }
    }

    /// The records of a flight that failed are what they were.
    fn restore(&mut self, at: usize) {
        let (id, life) = (self.flights[at].id, self.flights[at].life);
        self.end_moving(id, life, false);
    }

    fn fail(&mut self, flight: &Flight, code: ErrorCode) {
        self.say(|| format!("{:?} of {:?} fails: {code:?}", flight.change.batches, flight.client));
        self.take_back(flight.life, &flight.change);
        self.end_moving(flight.id, flight.life, false);
        self.unsay(flight);
        if !matches!(code, ErrorCode::FencedLeaderEpoch | ErrorCode::FencedStateEpoch) {
            self.bury_given_up(flight.life, flight.era, &flight.change);
        } else if flight.life + 1 == self.lives.len() {
            self.let_go();
        }
    }

    /// The log is committed as far as it goes, and who waits is answered.
    pub(super) fn commit(&mut self) {
        self.coordinator.commit();
        let committed = self.coordinator.committed;
        let flights = std::mem::take(&mut self.flights);
        let (done, open) =
            flights.into_iter().partition(|flight| flight.sent.is_some_and(|sent| sent <= committed));
        self.flights = open;
        let done: Vec<Flight> = done;
        for flight in done.iter().filter(|flight| !flight.given_up) {
            self.settle(flight);
        }
    }

    fn settle(&mut self, flight: &Flight) {
        self.say(|| format!("{:?} of {:?} is kept", flight.change.batches, flight.client));
        let now = Instant(self.now);
        self.lives[flight.life].partition.settle(&flight.change, true, now, &self.rules);
        if flight.life + 1 == self.lives.len() {
            self.note_locks();
        }
        for dead in &flight.change.dead {
            self.letters.push_back((flight.life, dead.first, dead.end));
            if flight.era == self.era {
                self.given_up.extend(dead.first..dead.end);
                self.note_owed(dead.first..dead.end);
            }
        }
        self.end_moving(flight.id, flight.life, true);
        if flight.era == self.era {
            for offset in &flight.ends {
                if let Some(truth) = self.truths.get_mut(offset) {
                    truth.ended = true;
                }
            }
        }
    }

    fn end_moving(&mut self, flight: usize, life: usize, kept: bool) {
        if !self.led || life + 1 != self.lives.len() {
            return;
        }
        let (now, limit) = (self.now, self.rules.delivery_limit);
        for truth in self.truths.values_mut() {
            let At::Moving { flight: of, to, member, lock } = truth.at else { continue };
            if of != flight {
                continue;
            }
            truth.at = match (kept, to) {
                (true, State::Available) => At::Free,
                (true, to) => At::Done(to),
                (false, _) if lock > now => At::Held { member, lock },
                (false, _) if truth.count >= limit => At::Done(State::Archived),
                (false, _) => At::Free,
            };
        }
    }

    /// One of those that were given up gets its dead letter, and then counts as dealt with.
    pub(super) fn write_letters(&mut self) {
        let Some((life, first, end)) = self.letters.pop_front() else { return };
        self.say(|| format!("dead letters of {first}..{end}"));
        if !self.is_planted(Plant::LetterLost) && self.lives[life].era == self.era {
            for offset in first..end {
                *self.written.entry(offset).or_default() += 1;
            }
        }
        let change = self.lives[life].partition.bury(first, end);
        let is_led = self.led && life + 1 == self.lives.len();
        for (_, truth) in self.truths.range_mut(first..end).filter(|_| is_led) {
            if truth.at == At::Done(State::Archiving) {
                truth.at = At::Done(State::Archived);
            }
        }
        if change.is_empty() {
            return;
        }
        self.flown += 1;
        let (id, era) = (self.flown, self.era);
        let (client, ends) = (None, Vec::new());
        self.flights.push(Flight { id, life, era, change, client, ends, sent: None, given_up: false });
    }

    /// The leader reads what is kept, when it has not yet.
    pub(super) fn load(&mut self) {
        if self.led {
            return;
        }
        let read = Read { key: key(), leader_epoch: self.leader_epoch, known: true };
        let Answer::Found(Ok(mut found)) = self.coordinator.ask(Command::Read(read)) else { panic!() };
        // What it begins with is committed first.
        self.commit();
        if let Some(plant) = self.plant {
            plant.read(&mut found);
        }
        let start = if found.start >= 0 { found.start } else { self.log_start };
        let (partition, dead) = Partition::load(start, &found.batches).unwrap();
        let (leader_epoch, state_epoch, era) = (self.leader_epoch, found.state_epoch, self.era);
        self.lives.push(Life { partition, leader_epoch, state_epoch, era });
        self.led = true;
        for dead in dead {
            self.letters.push_back((self.lives.len() - 1, dead.first, dead.end));
        }
        self.adopt(start);
        self.say(|| format!("a leader begins at {start} with {:?}", found.batches));
    }

    /// What is kept as on its way to the dead-letter topic has to arrive there, whoever leads. A write that was given up
    /// and landed all the same may have said before that the record is done.
    fn note_owed(&mut self, range: Range<i64>) {
        let kept = self.coordinator.kept().records;
        let archiving = kept.range(range).filter(|(_, (_, state))| *state == State::Archiving);
        self.owed.extend(archiving.map(|(offset, _)| *offset));
    }

    /// What a new leader can know of the records.
    fn adopt(&mut self, start: i64) {
        self.note_owed(0..i64::MAX);
        let kept = self.coordinator.kept();
        for offset in kept.records.keys() {
            self.truths.entry(*offset).or_insert_with(Truth::new);
        }
        for (offset, truth) in &mut self.truths {
            let known = kept.records.get(offset);
            truth.count = known.map_or(0, |(count, _)| *count);
            truth.at = match known {
                Some((_, State::Available)) | None => At::Free,
                Some((_, state)) => At::Done(*state),
            };
            if *offset < start {
                truth.at = At::Done(State::Archived);
            }
        }
    }
}
