//! The transactional ids of one partition of `__transaction_state` as a state machine.

use crate::base::ErrorCode;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::coordinator::Machine;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::Place;
use crate::coordinator::Ticket;
use crate::coordinator::TimerChange;
use crate::coordinator::budget::Share;
use crate::coordinator::machine::Entry;
use crate::metrics;
use crate::txn::command::Answer;
use crate::txn::command::Command;
use crate::txn::command::Init;
use crate::txn::command::Listed;
use crate::txn::command::Producer;
use crate::txn::list;
use crate::txn::record::Record;
use crate::txn::rules;
use crate::txn::rules::Move;
use crate::txn::settings::Settings;
use crate::txn::transaction::Partitions;
use crate::txn::transaction::State;
use crate::txn::transaction::Transaction;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The deadlines of transactions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Timer {
    /// The open transaction of an id must have ended.
    End(Arc<str>),
    /// Look for ids that nobody uses any more.
    Expire,
}

/// What changes and is not kept in the log.
#[derive(Clone, Debug)]
pub enum Change {
    /// The end of this id's transaction is to be announced to who writes markers.
    Announce(Arc<str>),
    /// The id's transaction is over, which some may wait for.
    Ended(Arc<str>),
    /// These markers of the id's transaction are written.
    Written(Arc<str>, Partitions),
}

/// All transactional ids of a partition.
#[derive(Clone, Debug)]
pub struct Transactions {
    settings: Arc<Settings>,
    ids: BTreeMap<Arc<str>, Box<Transaction>>,
    /// Where the markers of decided transactions are written already, while others are not. A next leader writes them
    /// all once more, which does no harm.
    written: BTreeMap<Arc<str>, Partitions>,
    share: Share,
}

impl Transactions {
    /// No ids.
    pub fn new(settings: Arc<Settings>) -> Transactions {
        let share = Share::new(Arc::clone(&settings.memory));
        Transactions { settings, ids: BTreeMap::new(), written: BTreeMap::new(), share }
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Transaction> {
        self.ids.get(id).map(Box::as_ref)
    }

    fn init(&self, now: Timestamp, ticket: Ticket, request: &Init) -> Outcome<Transactions> {
        let refuse = |error| Outcome::answer(ticket, Answer::Producer(Err(error)));
        if request.id.is_empty() {
            return refuse(ErrorCode::InvalidRequest);
        }
        if !(1..=self.settings.timeout_max_ms).contains(&request.timeout_ms) {
            return refuse(ErrorCode::InvalidTransactionTimeout);
        }
        if self.get(&request.id).is_none() && !self.has_room_for(&request.id, &Partitions::new()) {
            return refuse(ErrorCode::CoordinatorNotAvailable);
        }
        let step = rules::init(self.get(&request.id), request, now, self.settings.level());
        self.follow(&request.id, ticket, step, Answer::Producer)
    }

    /// Whether there is memory for an id with these partitions.
    fn has_room_for(&self, id: &Arc<str>, partitions: &Partitions) -> bool {
        self.settings.memory.has_room_for(bytes(id, partitions), id)
    }

    /// Whether there is memory for more partitions of an id. A few more are no matter: a full memory must not keep
    /// anybody from going on.
    fn has_room_to_add(&self, id: &Arc<str>, partitions: &Partitions) -> bool {
        partitions.values().map(BTreeSet::len).sum::<usize>() <= PARTITIONS_FREE
            || self.get(id).is_none_or(|known| known.has_all(partitions))
            || self.has_room_for(id, partitions)
    }

    /// Writes down what a move leads to and answers.
    fn follow(
        &self,
        id: &Arc<str>,
        ticket: Ticket,
        step: Move,
        answer: impl Fn(Result<Producer, ErrorCode>) -> Answer,
    ) -> Outcome<Transactions> {
        match step {
            Move::Refuse(error) => Outcome::answer(ticket, answer(Err(error))),
            Move::NeedsProducerId => Outcome::answer(ticket, Answer::NeedsProducerId),
            Move::Already(producer) => Outcome::answer(ticket, answer(Ok(producer))),
            Move::To(next, producer) => {
                let mut outcome = self.put(id, next);
                outcome.answers.push((ticket, answer(Ok(producer))));
                outcome
            }
            Move::Fence(next) => {
                tracing::info!(%id, producer = %next.producer, "an open transaction is aborted for a new producer");
                let mut outcome = self.put(id, next);
                outcome.answers.push((ticket, answer(Err(ErrorCode::ConcurrentTransactions))));
                outcome
            }
        }
    }

    /// The id stands like this from now on.
    fn put(&self, id: &Arc<str>, next: Box<Transaction>) -> Outcome<Transactions> {
        let mut outcome = Outcome::nothing();
        let was_open = self.get(id).is_some_and(|before| before.state == State::Ongoing);
        let is_open = next.state == State::Ongoing;
        if is_open && !was_open {
            if let Some(limit) = next.left(next.started) {
                outcome.timers.push(TimerChange::Set(Timer::End(id.clone()), limit));
            }
        } else if was_open && !is_open {
            outcome.timers.push(TimerChange::Cancel(Timer::End(id.clone())));
        }
        if next.state.is_prepared() {
            outcome.changes.push(Change::Announce(id.clone()));
        }
        let flexible = self.settings.flexible();
        outcome.records.push(Record { id: id.clone(), value: Some(next), flexible });
        outcome
    }

    /// The markers of a transaction are written; what is said of another one is out of date.
    fn marked(
        &self,
        now: Timestamp,
        ticket: Ticket,
        id: &Arc<str>,
        producer: Producer,
    ) -> Outcome<Transactions> {
        let current = self.get(id).filter(|current| current.state.is_prepared());
        let mut outcome = match current.filter(|current| rules::producer_of(current) == producer) {
            Some(current) => self.put(id, Box::new(rules::complete(current, now))),
            None => Outcome::nothing(),
        };
        outcome.changes.push(Change::Ended(id.clone()));
        outcome.answers.push((ticket, Answer::Done(Ok(()))));
        outcome
    }

    /// Some of the markers are written.
    fn some_marked(
        &self,
        ticket: Ticket,
        id: &Arc<str>,
        producer: Producer,
        written: Partitions,
    ) -> Outcome<Transactions> {
        let mut outcome = Outcome::answer(ticket, Answer::Done(Ok(())));
        let current = self.get(id).filter(|current| current.state.is_prepared());
        if current.is_some_and(|current| rules::producer_of(current) == producer) {
            outcome.changes.push(Change::Written(id.clone(), written));
        }
        outcome
    }

    /// The id with those partitions whose markers are still to be written, as Kafka shows it.
    fn shown(&self, id: &str) -> Option<Box<Transaction>> {
        let mut shown = self.ids.get(id).cloned()?;
        if let Some(written) = self.written.get(id) {
            shown.partitions.retain(|topic, partitions| {
                let done = written.get(topic);
                partitions.retain(|partition| !done.is_some_and(|done| done.contains(partition)));
                !partitions.is_empty()
            });
        }
        Some(shown)
    }

    fn count(&self) -> metrics::Transactions {
        let mut count = metrics::Transactions::default();
        for transaction in self.ids.values() {
            match transaction.state {
                State::Empty => count.empty += 1,
                State::Ongoing => count.ongoing += 1,
                State::PrepareCommit => count.prepare_commit += 1,
                State::PrepareAbort => count.prepare_abort += 1,
                State::CompleteCommit => count.complete_commit += 1,
                State::CompleteAbort => count.complete_abort += 1,
            }
        }
        count
    }

    fn time_is_up(&self, now: Timestamp, id: &Arc<str>) -> Outcome<Transactions> {
        match self.get(id).filter(|current| current.state == State::Ongoing) {
            Some(current) => {
                tracing::info!(%id, producer = %current.producer, "a transaction is aborted, its time is up");
                self.put(id, Box::new(rules::fence(current, now, self.settings.level())))
            }
            None => Outcome::nothing(),
        }
    }

    fn expire(&self, now: Timestamp) -> Outcome<Transactions> {
        let mut outcome = Outcome::nothing();
        let limit = now.0.saturating_sub(self.settings.id_expiration_ms);
        for (id, transaction) in &self.ids {
            let idle = match transaction.state {
                State::Empty | State::CompleteCommit | State::CompleteAbort => transaction.updated.0 <= limit,
                State::Ongoing | State::PrepareCommit | State::PrepareAbort => false,
            };
            if idle {
                outcome.records.push(Record { id: id.clone(), value: None, flexible: false });
            }
        }
        if !outcome.records.is_empty() {
            tracing::info!(count = outcome.records.len(), "transactional ids expire");
        }
        let interval = self.settings.id_expiration_interval;
        outcome.timers.push(TimerChange::Set(Timer::Expire, interval));
        outcome
    }
}

/// So many partitions can be added in one request whatever memory there is.
const PARTITIONS_FREE: usize = 64;

/// The memory that an id takes, about.
fn bytes(id: &str, partitions: &Partitions) -> usize {
    let topics = partitions.iter().map(|(topic, partitions)| 96 + topic.len() + 8 * partitions.len());
    320 + id.len() + topics.sum::<usize>()
}

impl Machine for Transactions {
    type Command = Command;
    type Answer = Answer;
    type Record = Record;
    type Change = Change;
    type Timer = Timer;

    fn decide(&self, now: Now, ticket: Ticket, command: Command) -> Outcome<Transactions> {
        let Now(now) = now;
        let done = |result: Result<Producer, ErrorCode>| Answer::Done(result.map(|_| ()));
        match command {
            Command::Init(request) => self.init(now, ticket, &request),
            Command::Add(request) if !self.has_room_to_add(&request.id, &request.partitions) => {
                Outcome::answer(ticket, done(Err(ErrorCode::CoordinatorNotAvailable)))
            }
            Command::Add(request) => {
                self.follow(&request.id, ticket, rules::add(self.get(&request.id), &request, now), done)
            }
            Command::Verify(request) => {
                let verified = rules::verify(self.get(&request.id), &request);
                Outcome::answer(ticket, Answer::Verified(verified))
            }
            Command::End(request) => {
                let step = rules::end(self.get(&request.id), &request, now);
                self.follow(&request.id, ticket, step, Answer::Producer)
            }
            Command::Markers(id) => {
                let shown = self.shown(&id);
                Outcome::answer(ticket, Answer::Markers(shown.as_deref().and_then(rules::markers)))
            }
            Command::SomeMarked(id, producer, written) => self.some_marked(ticket, &id, producer, written),
            Command::Marked(id, producer) => self.marked(now, ticket, &id, producer),
            Command::Describe(id) => Outcome::answer(ticket, Answer::Described(self.shown(&id))),
            Command::Count => Outcome::answer(ticket, Answer::Counted(self.count())),
            Command::List(filters) => {
                let passing = self.ids.iter().filter(|(id, one)| list::passes(&filters, id, one, now));
                let listed = passing.map(|(id, transaction)| Listed {
                    id: id.clone(),
                    producer: transaction.producer,
                    state: transaction.state,
                });
                Outcome::answer(ticket, Answer::Listed(listed.collect()))
            }
        }
    }

    fn expired(&self, now: Now, timer: Timer) -> Outcome<Transactions> {
        match timer {
            Timer::End(id) => self.time_is_up(now.0, &id),
            Timer::Expire => self.expire(now.0),
        }
    }

    fn loaded(&self, now: Now) -> Outcome<Transactions> {
        let mut outcome = Outcome::nothing();
        for (id, transaction) in &self.ids {
            match transaction.state {
                State::Ongoing => {
                    if let Some(left) = transaction.left(now.0) {
                        outcome.timers.push(TimerChange::Set(Timer::End(id.clone()), left));
                    }
                }
                State::PrepareCommit | State::PrepareAbort => {
                    outcome.changes.push(Change::Announce(id.clone()))
                }
                State::Empty | State::CompleteCommit | State::CompleteAbort => {}
            }
        }
        let interval = self.settings.id_expiration_interval;
        outcome.timers.push(TimerChange::Set(Timer::Expire, interval));
        outcome
    }

    fn apply(&mut self, _place: Place, record: &Record) {
        self.written.remove(&record.id);
        let before = match &record.value {
            Some(value) => self.ids.insert(record.id.clone(), value.clone()),
            None => self.ids.remove(&record.id),
        };
        let of = |known: &Transaction| bytes(&record.id, &known.partitions);
        let after = record.value.as_deref().map_or(0, of);
        self.share.change(before.as_deref().map_or(0, of), after);
    }

    fn install(&mut self, change: Change) {
        match change {
            Change::Announce(id) => self.settings.bell.ring(id),
            Change::Ended(id) => self.settings.ends.tell(&id),
            Change::Written(id, partitions) => {
                let written = self.written.entry(id).or_default();
                for (topic, of_topic) in partitions {
                    written.entry(topic).or_default().extend(of_topic);
                }
            }
        }
    }

    fn end_transaction(&mut self, _producer: ProducerId, _committed: bool) {}

    fn encode(record: &Record) -> Entry {
        record.write()
    }

    fn decode(entry: &Entry) -> Result<Option<Record>, String> {
        Record::read(entry).map_err(|error| error.to_string())
    }
}
