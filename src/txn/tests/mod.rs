//! The machine with a log of bytes, a clock and timers that move only when told.

mod cases;
mod lives;
mod records;
mod simulation;

use crate::base::ErrorCode;
use crate::base::Instant;
use crate::base::Offset;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::coordinator::Machine;
use crate::coordinator::Memory;
use crate::coordinator::Now;
use crate::coordinator::Outcome;
use crate::coordinator::Place;
use crate::coordinator::Ticket;
use crate::coordinator::TimerChange;
use crate::coordinator::machine::Entry;
use crate::coordinator::timer::Timers;
use crate::txn::bell::Bell;
use crate::txn::command::Add;
use crate::txn::command::Answer;
use crate::txn::command::Command;
use crate::txn::command::End;
use crate::txn::command::Init;
use crate::txn::command::List;
use crate::txn::command::Markers;
use crate::txn::command::Producer;
use crate::txn::machine::Timer;
use crate::txn::machine::Transactions;
use crate::txn::settings::Settings;
use crate::txn::transaction::Partitions;
use crate::txn::transaction::State;
use crate::txn::transaction::Transaction;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicI16;
use std::sync::atomic::Ordering;
use std::time::Duration;

const ID: &str = "tx";
const TIMEOUT_MS: i32 = 60_000;
const DAY: Duration = Duration::from_secs(24 * 3600);
/// A wall clock start, so that ages can be large.
const EPOCH_MS: i64 = 1_700_000_000_000;

fn settings() -> Arc<Settings> {
    Arc::new(Settings {
        timeout_max_ms: 900_000,
        id_expiration_ms: 7 * 24 * 3_600_000,
        id_expiration_interval: Duration::from_secs(3600),
        level: AtomicI16::new(2),
        patience: Duration::ZERO,
        pause_max: Duration::ZERO,
        bell: Bell::default(),
        ends: Arc::default(),
        memory: Memory::new(1 << 30, "ids", "a.setting"),
    })
}

fn partitions(of: &[(&str, i32)]) -> Partitions {
    let mut all = Partitions::new();
    for (topic, partition) in of {
        all.entry(Arc::from(*topic)).or_default().insert(*partition);
    }
    all
}

fn producer(id: i64, epoch: i16) -> Producer {
    Producer { id: ProducerId(id), epoch: ProducerEpoch(epoch) }
}

struct Trial {
    machine: Transactions,
    settings: Arc<Settings>,
    log: Vec<Entry>,
    timers: Timers<Timer>,
    now_ms: u64,
    next_id: i64,
}

impl Trial {
    fn new() -> Trial {
        let settings = settings();
        let machine = Transactions::new(Arc::clone(&settings));
        let mut trial =
            Trial { machine, settings, log: Vec::new(), timers: Timers::new(), now_ms: 0, next_id: 1000 };
        let loaded = trial.machine.loaded(trial.now());
        trial.take(loaded);
        trial
    }

    fn now(&self) -> Now {
        Now(Timestamp(EPOCH_MS + i64::try_from(self.now_ms).unwrap()))
    }

    fn take(&mut self, outcome: Outcome<Transactions>) -> Option<Answer> {
        assert!(outcome.transaction.is_none());
        for record in &outcome.records {
            self.log.push(Transactions::encode(record));
            let offset = Offset(i64::try_from(self.log.len()).unwrap());
            self.machine.apply(Place { offset, producer: ProducerId::NONE }, record);
        }
        outcome.changes.into_iter().for_each(|change| self.machine.install(change));
        for change in outcome.timers {
            match change {
                TimerChange::Set(timer, after) => {
                    let after = u64::try_from(after.as_millis()).unwrap();
                    self.timers.set(timer, Instant(self.now_ms + after));
                }
                TimerChange::Cancel(timer) => self.timers.cancel(&timer),
            }
        }
        outcome.answers.into_iter().next().map(|(_, answer)| answer)
    }

    fn ask(&mut self, command: Command) -> Answer {
        let outcome = self.machine.decide(self.now(), Ticket(1), command);
        self.take(outcome).unwrap()
    }

    /// Time passes, and timers fire.
    fn pass(&mut self, time: Duration) {
        self.now_ms += u64::try_from(time.as_millis()).unwrap();
        while let Some(timer) = self.timers.pop(Instant(self.now_ms)) {
            let outcome = self.machine.expired(self.now(), timer);
            self.take(outcome);
        }
    }

    /// The next leader reads the log.
    fn crash(&mut self) {
        let mut machine = Transactions::new(Arc::clone(&self.settings));
        for entry in &self.log {
            let record = Transactions::decode(entry).unwrap().unwrap();
            machine.apply(Place { offset: Offset(0), producer: ProducerId::NONE }, &record);
        }
        self.machine = machine;
        self.timers = Timers::new();
        while self.rung().is_some() {}
        let loaded = self.machine.loaded(self.now());
        self.take(loaded);
    }

    /// An id whose end was announced.
    fn rung(&self) -> Option<Arc<str>> {
        let mut next = std::pin::pin!(self.settings.bell.next());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match next.as_mut().poll(&mut context) {
            std::task::Poll::Ready(id) => Some(id),
            std::task::Poll::Pending => None,
        }
    }

    /// Asks for a producer, with a fresh id where that is needed.
    fn producer(&mut self, command: impl Fn(Option<ProducerId>) -> Command) -> Result<Producer, ErrorCode> {
        let mut fresh = None;
        loop {
            match self.ask(command(fresh)) {
                Answer::Producer(result) => return result,
                Answer::NeedsProducerId => {
                    assert!(fresh.is_none());
                    self.next_id += 1;
                    fresh = Some(ProducerId(self.next_id));
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn init(&mut self, expected: Option<Producer>) -> Result<Producer, ErrorCode> {
        self.producer(|fresh| Command::Init(Init { id: ID.into(), timeout_ms: TIMEOUT_MS, expected, fresh }))
    }

    fn add(&mut self, producer: Producer, of: &[(&str, i32)], client_version: i16) -> Result<(), ErrorCode> {
        let add = Add { id: ID.into(), producer, partitions: partitions(of), client_version };
        match self.ask(Command::Add(add)) {
            Answer::Done(result) => result,
            other => panic!("{other:?}"),
        }
    }

    fn verify(&mut self, producer: Producer, of: &[(&str, i32)]) -> Result<Partitions, ErrorCode> {
        let add = Add { id: ID.into(), producer, partitions: partitions(of), client_version: 0 };
        match self.ask(Command::Verify(add)) {
            Answer::Verified(result) => result,
            other => panic!("{other:?}"),
        }
    }

    fn end(&mut self, producer: Producer, commit: bool, client_version: i16) -> Result<Producer, ErrorCode> {
        self.producer(|fresh| Command::End(End { id: ID.into(), producer, commit, client_version, fresh }))
    }

    fn markers(&mut self) -> Option<Markers> {
        match self.ask(Command::Markers(ID.into())) {
            Answer::Markers(markers) => markers,
            other => panic!("{other:?}"),
        }
    }

    /// All markers are written.
    fn mark(&mut self) -> Option<Markers> {
        let markers = self.markers()?;
        assert_eq!(self.ask(Command::Marked(ID.into(), markers.producer)), Answer::Done(Ok(())));
        Some(markers)
    }

    fn shown(&mut self) -> Option<Transaction> {
        match self.ask(Command::Describe(ID.into())) {
            Answer::Described(found) => found.map(|found| *found),
            other => panic!("{other:?}"),
        }
    }

    fn state(&mut self) -> State {
        self.shown().unwrap().state
    }

    /// As if so many transactions had been before.
    fn set_epoch(&mut self, epoch: i16) {
        self.set(|transaction| transaction.epoch = ProducerEpoch(epoch));
    }

    /// As if the log said so.
    fn set(&mut self, change: impl Fn(&mut Transaction)) {
        let mut transaction = self.shown().unwrap();
        change(&mut transaction);
        let record =
            crate::txn::record::Record { id: ID.into(), value: Some(Box::new(transaction)), flexible: true };
        let mut outcome = Outcome::nothing();
        outcome.records.push(record);
        self.take(outcome);
    }
}
