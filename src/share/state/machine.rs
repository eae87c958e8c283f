//! The share-partitions of one partition of `__share_group_state` as a state machine (`ShareCoordinatorShard`).

use crate::base::ErrorCode;
use crate::base::Offset;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::coordinator::Machine;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::Place;
use crate::coordinator::Ticket;
use crate::coordinator::TimerChange;
use crate::coordinator::budget::Share;
use crate::coordinator::machine::Entry;
use crate::share::Failure;
use crate::share::Key;
use crate::share::state::batches;
use crate::share::state::command::Answer;
use crate::share::state::command::Command;
use crate::share::state::command::Found;
use crate::share::state::command::Initialize;
use crate::share::state::command::Read;
use crate::share::state::command::Summary;
use crate::share::state::command::Write;
use crate::share::state::record::Record;
use crate::share::state::record::Snapshot;
use crate::share::state::record::Update;
use crate::share::state::settings::Settings;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is not there: a start offset that nobody has said, a count that nobody has counted.
const NONE: i32 = -1;
const NO_START: i64 = -1;

/// The memory that a batch takes.
const BATCH_BYTES: usize = 32;
/// A write with no more batches than this always finds room.
const BATCHES_FREE: usize = 1000;

/// The memory that a share-partition takes, about.
fn bytes(key: &Key, batches: usize) -> usize {
    256 + key.group.len() + batches.saturating_mul(BATCH_BYTES)
}

/// The one deadline: quiet share-partitions are written anew, so that the log before them can go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ColdSnapshots;

/// There is nothing that is not kept in the log.
#[derive(Clone, Copy, Debug)]
pub enum Never {}

/// A share-partition as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) state: Snapshot,
    /// Updates since the snapshot.
    updates: u32,
    /// Where the snapshot stands in the log.
    at: Offset,
}

/// All share-partitions of a partition.
#[derive(Clone, Debug)]
pub struct States {
    settings: Arc<Settings>,
    held: BTreeMap<Key, Held>,
    /// Where the first record stands that is not known to be superseded.
    first: Option<Offset>,
    share: Share,
}

impl States {
    /// No share-partitions.
    pub fn new(settings: Arc<Settings>) -> States {
        let share = Share::new(Arc::clone(&settings.memory));
        States { settings, held: BTreeMap::new(), first: None, share }
    }

    #[cfg(test)]
    pub(crate) fn get(&self, key: &Key) -> Option<&Held> {
        self.held.get(key)
    }

    fn initialize(&self, now: Timestamp, request: &Initialize) -> Result<Record, Failure> {
        check_key(&request.key)?;
        if request.state_epoch < 0 {
            return Err(invalid("The state epoch cannot be a negative number."));
        }
        let held = self.held.get(&request.key);
        if held.is_some_and(|held| held.state.state_epoch > request.state_epoch) {
            return Err(ErrorCode::FencedStateEpoch.into());
        }
        check_known(request.known)?;
        if held.is_none() {
            self.check_room(&request.key, 0)?;
        }
        let snapshot = Snapshot {
            snapshot_epoch: held.map_or(0, |held| held.state.snapshot_epoch.saturating_add(1)),
            state_epoch: request.state_epoch,
            leader_epoch: 0,
            start: request.start,
            complete: if request.start == NO_START { NONE } else { 0 },
            created: now,
            written: now,
            batches: Vec::new(),
        };
        Ok(Record::Snapshot(request.key.clone(), Some(snapshot)))
    }

    /// The state, and the record that remembers a new leader.
    fn read(&self, now: Timestamp, request: &Read) -> Result<(Found, Option<Record>), Failure> {
        check_key(&request.key)?;
        check_leader_epoch(request.leader_epoch)?;
        let uninitialized = invalid("Read operation on uninitialized share partition not allowed.");
        let held = self.held.get(&request.key).ok_or(uninitialized)?;
        if held.state.leader_epoch > request.leader_epoch {
            return Err(ErrorCode::FencedLeaderEpoch.into());
        }
        check_known(request.known)?;
        let state = &held.state;
        let found =
            Found { state_epoch: state.state_epoch, start: state.start, batches: state.batches.clone() };
        if state.leader_epoch == request.leader_epoch {
            return Ok((found, None));
        }
        tracing::info!(key = %request.key, epoch = request.leader_epoch, "share-partition has a new leader");
        let write = Write {
            key: request.key.clone(),
            state_epoch: state.state_epoch,
            leader_epoch: request.leader_epoch,
            start: state.start,
            complete: state.complete,
            batches: Vec::new(),
            known: true,
        };
        Ok((found, Some(self.record(now, held, &write, request.leader_epoch))))
    }

    fn write(&self, now: Timestamp, request: &Write) -> Result<Record, Failure> {
        check_key(&request.key)?;
        check_leader_epoch(request.leader_epoch)?;
        if request.state_epoch < 0 {
            return Err(invalid("The state epoch cannot be a negative number."));
        }
        let uninitialized = invalid("Write operation on uninitialized share partition not allowed.");
        let held = self.held.get(&request.key).ok_or(uninitialized)?;
        if held.state.leader_epoch > request.leader_epoch {
            return Err(ErrorCode::FencedLeaderEpoch.into());
        }
        if held.state.state_epoch > request.state_epoch {
            return Err(ErrorCode::FencedStateEpoch.into());
        }
        check_known(request.known)?;
        self.check_room(&request.key, request.batches.len())?;
        Ok(self.record(now, held, request, held.state.leader_epoch))
    }

    /// Whether there is memory for a share-partition, or for more of it.
    fn check_room(&self, key: &Key, batches: usize) -> Result<(), Failure> {
        // A few more are no matter, and a full memory must not keep anybody from acknowledging.
        let more = if batches > BATCHES_FREE { batches * BATCH_BYTES } else { 0 };
        let more = if self.held.contains_key(key) { more } else { bytes(key, batches) };
        if more > 0 && !self.settings.memory.has_room_for(more, &key.group) {
            return Err(ErrorCode::CoordinatorNotAvailable.into());
        }
        Ok(())
    }

    /// An update, or a snapshot where there have been many.
    fn record(&self, now: Timestamp, held: &Held, write: &Write, leader_epoch: i32) -> Record {
        let state = &held.state;
        let start = write.start.max(state.start);
        let complete = match write.start.cmp(&state.start) {
            std::cmp::Ordering::Less => state.complete,
            std::cmp::Ordering::Equal => write.complete.max(state.complete),
            std::cmp::Ordering::Greater => write.complete,
        };
        let key = write.key.clone();
        if held.updates < self.settings.updates_per_snapshot {
            let batches = batches::combine(&[], &write.batches, start);
            let snapshot_epoch = state.snapshot_epoch;
            return Record::Update(key, Update { snapshot_epoch, leader_epoch, start, complete, batches });
        }
        let snapshot = Snapshot {
            snapshot_epoch: state.snapshot_epoch.saturating_add(1),
            state_epoch: write.state_epoch,
            leader_epoch,
            start,
            complete,
            created: now,
            written: now,
            batches: batches::combine(&state.batches, &write.batches, start),
        };
        Record::Snapshot(key, Some(snapshot))
    }

    fn delete(&self, key: &Key, known: bool) -> Result<Option<Record>, Failure> {
        check_key(key)?;
        check_known(known)?;
        Ok(self.held.contains_key(key).then(|| Record::Snapshot(key.clone(), None)))
    }

    fn summarize(&self, key: &Key, known: bool) -> Result<Summary, Failure> {
        check_key(key)?;
        check_known(known)?;
        Ok(match self.held.get(key) {
            Some(Held { state, .. }) => Summary {
                state_epoch: state.state_epoch,
                leader_epoch: state.leader_epoch,
                start: state.start,
                complete: state.complete,
            },
            None => Summary { state_epoch: 0, leader_epoch: 0, start: NO_START, complete: NONE },
        })
    }

    fn topics_deleted(&self, topics: &BTreeSet<TopicId>) -> Vec<Record> {
        let gone = self.held.keys().filter(|key| topics.contains(&key.topic));
        gone.map(|key| Record::Snapshot(key.clone(), None)).collect()
    }

    /// Snapshots of what was not written for long; none when all of them are such already, as then nothing has happened.
    fn cold_snapshots(&self, now: Timestamp) -> Vec<Record> {
        if self.held.values().all(|held| held.state.created != held.state.written) {
            return Vec::new();
        }
        let interval = i64::try_from(self.settings.cold_snapshot_interval.as_millis()).unwrap_or(i64::MAX);
        let cold = |held: &Held| now.0.saturating_sub(held.state.written.0) >= interval;
        let snapshot = |(key, held): (&Key, &Held)| {
            let state = &held.state;
            let snapshot_epoch = state.snapshot_epoch.saturating_add(1);
            Record::Snapshot(key.clone(), Some(Snapshot { snapshot_epoch, written: now, ..state.clone() }))
        };
        self.held.iter().filter(|(_, held)| cold(held)).map(snapshot).collect()
    }

    /// The offset before which nothing is needed; `None` when that is not past what is already gone.
    fn redundant(&self) -> Option<i64> {
        let first = self.first?;
        let needed = self.held.values().map(|held| held.at).min()?;
        (needed > first).then_some(needed.0)
    }
}

fn invalid(message: &'static str) -> Failure {
    Failure::new(ErrorCode::InvalidRequest, message)
}

fn check_key(key: &Key) -> Result<(), Failure> {
    if key.partition.0 < 0 {
        return Err(invalid("The partition id cannot be a negative number."));
    }
    Ok(())
}

fn check_leader_epoch(epoch: i32) -> Result<(), Failure> {
    if epoch < 0 {
        return Err(invalid("The leader epoch cannot be a negative number."));
    }
    Ok(())
}

fn check_known(known: bool) -> Result<(), Failure> {
    if known { Ok(()) } else { Err(ErrorCode::UnknownTopicOrPartition.into()) }
}

/// One record, and the answer when it is committed.
fn done(ticket: Ticket, result: Result<Option<Record>, Failure>) -> Outcome<States> {
    match result {
        Ok(record) => {
            let mut outcome = Outcome::answer(ticket, Answer::Done(Ok(())));
            outcome.records.extend(record);
            outcome
        }
        Err(failure) => Outcome::answer(ticket, Answer::Done(Err(failure))),
    }
}

impl Machine for States {
    type Command = Command;
    type Answer = Answer;
    type Record = Record;
    type Change = Never;
    type Timer = ColdSnapshots;

    fn decide(&self, now: Now, ticket: Ticket, command: Command) -> Outcome<States> {
        let Now(now) = now;
        match command {
            Command::Initialize(request) => done(ticket, self.initialize(now, &request).map(Some)),
            Command::Write(request) => done(ticket, self.write(now, &request).map(Some)),
            Command::Delete(key, known) => done(ticket, self.delete(&key, known)),
            Command::Read(request) => match self.read(now, &request) {
                Ok((found, record)) => {
                    let mut outcome = Outcome::answer(ticket, Answer::Found(Ok(found)));
                    outcome.records.extend(record);
                    outcome
                }
                Err(failure) => Outcome::answer(ticket, Answer::Found(Err(failure))),
            },
            Command::Summarize(key, known) => {
                Outcome::answer(ticket, Answer::Summary(self.summarize(&key, known)))
            }
            Command::TopicsDeleted(topics) => {
                let mut outcome = Outcome::answer(ticket, Answer::Done(Ok(())));
                outcome.records = self.topics_deleted(&topics);
                outcome
            }
            Command::Redundant => Outcome::answer(ticket, Answer::Redundant(self.redundant())),
        }
    }

    fn expired(&self, now: Now, timer: ColdSnapshots) -> Outcome<States> {
        let mut outcome = Outcome::nothing();
        outcome.records = self.cold_snapshots(now.0);
        outcome.timers.push(TimerChange::Set(timer, self.settings.cold_snapshot_interval));
        outcome
    }

    fn loaded(&self, _now: Now) -> Outcome<States> {
        let mut outcome = Outcome::nothing();
        outcome.timers.push(TimerChange::Set(ColdSnapshots, self.settings.cold_snapshot_interval));
        outcome
    }

    fn apply(&mut self, place: Place, record: &Record) {
        self.first.get_or_insert(place.offset);
        let (Record::Snapshot(key, _) | Record::Update(key, _)) = record;
        let of = |held: &Held| bytes(key, held.state.batches.len());
        let before = self.held.get(key).map_or(0, of);
        match record {
            Record::Snapshot(key, Some(snapshot)) => {
                let held = Held { state: snapshot.clone(), updates: 0, at: place.offset };
                self.held.insert(key.clone(), held);
            }
            Record::Snapshot(key, None) => {
                self.held.remove(key);
            }
            Record::Update(key, update) => {
                let held = self.held.entry(key.clone()).or_insert_with(|| Held {
                    state: Snapshot {
                        snapshot_epoch: update.snapshot_epoch,
                        state_epoch: 0,
                        leader_epoch: update.leader_epoch,
                        start: update.start,
                        complete: update.complete,
                        created: Timestamp(0),
                        written: Timestamp(0),
                        batches: Vec::new(),
                    },
                    updates: 0,
                    at: place.offset,
                });
                held.updates = held.updates.saturating_add(1);
                let state = &mut held.state;
                state.start = if update.start == NO_START { state.start } else { update.start };
                if update.leader_epoch != NONE {
                    state.leader_epoch = state.leader_epoch.max(update.leader_epoch);
                }
                state.complete = update.complete;
                state.batches = batches::combine(&state.batches, &update.batches, state.start);
            }
        }
        let after = self.held.get(key).map_or(0, of);
        self.share.change(before, after);
    }

    fn install(&mut self, change: Never) {
        match change {}
    }

    fn end_transaction(&mut self, _producer: ProducerId, _committed: bool) {}

    fn encode(record: &Record) -> Entry {
        record.write()
    }

    fn decode(entry: &Entry) -> Result<Option<Record>, String> {
        Record::read(entry).map_err(|error| error.to_string())
    }
}
