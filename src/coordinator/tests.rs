//! The runtime with a small machine (a counter of named sums) and a log in memory whose commits the test gives.

use super::*;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::coordinator::machine::Entry;
use crate::coordinator::memory::Memory;
use crate::io::Clock;
use crate::io::sim::SimClock;
use crate::io::task;
use crate::record::Codec;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::time::Duration;

/// Adds to named sums; `Wait` is answered by the next `Add` of the name or by a timer.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sums {
    sums: BTreeMap<String, i64>,
    waiting: BTreeMap<String, Ticket>,
}

enum Command {
    Add(String, i64),
    AddInTransaction(i64, i64),
    Get(String),
    Wait(String),
    Fill(usize),
}

#[derive(Debug, PartialEq)]
enum Answer {
    Sum(i64),
    TimeIsUp,
}

enum Change {
    Waits(String, Ticket),
    Answered(String),
}

impl Machine for Sums {
    type Command = Command;
    type Answer = Answer;
    type Record = (String, i64);
    type Change = Change;
    type Timer = String;

    fn decide(&self, _now: Now, ticket: Ticket, command: Command) -> Outcome<Sums> {
        let sum = |name: &str| self.sums.get(name).copied().unwrap_or(0);
        match command {
            Command::Add(name, amount) => {
                let mut outcome = Outcome::answer(ticket, Answer::Sum(sum(&name) + amount));
                if let Some(waiting) = self.waiting.get(&name) {
                    outcome.answers.push((*waiting, Answer::Sum(sum(&name) + amount)));
                    outcome.changes.push(Change::Answered(name.clone()));
                    outcome.timers.push(TimerChange::Cancel(name.clone()));
                }
                outcome.records.push((name, amount));
                outcome
            }
            Command::AddInTransaction(producer, amount) => {
                let mut outcome = Outcome::answer(ticket, Answer::Sum(amount));
                let (producer, epoch) = (ProducerId(producer), crate::base::ProducerEpoch(0));
                outcome.transaction =
                    Some(Transaction { producer, epoch, proof: crate::replica::Proof::None });
                outcome.records.push((String::from("in a transaction"), amount));
                outcome
            }
            Command::Get(name) => Outcome::answer(ticket, Answer::Sum(sum(&name))),
            Command::Wait(name) => {
                let mut outcome = Outcome::nothing();
                outcome.timers.push(TimerChange::Set(name.clone(), Duration::from_secs(60)));
                outcome.changes.push(Change::Waits(name, ticket));
                outcome
            }
            Command::Fill(bytes) => {
                let mut outcome = Outcome::answer(ticket, Answer::Sum(0));
                outcome.records.push(("x".repeat(bytes), 1));
                outcome
            }
        }
    }

    fn expired(&self, _now: Now, timer: String) -> Outcome<Sums> {
        let mut outcome = Outcome::nothing();
        if let Some(ticket) = self.waiting.get(&timer) {
            outcome.answers.push((*ticket, Answer::TimeIsUp));
            outcome.changes.push(Change::Answered(timer));
        }
        outcome
    }

    fn loaded(&self, _now: Now) -> Outcome<Sums> {
        Outcome::nothing()
    }

    fn apply(&mut self, place: Place, (name, amount): &(String, i64)) {
        if place.producer == ProducerId::NONE {
            *self.sums.entry(name.clone()).or_default() += amount;
        } else {
            *self.sums.entry(format!("pending {}", place.producer)).or_default() += amount;
        }
    }

    fn install(&mut self, change: Change) {
        match change {
            Change::Waits(name, ticket) => self.waiting.insert(name, ticket),
            Change::Answered(name) => self.waiting.remove(&name),
        };
    }

    fn end_transaction(&mut self, producer: ProducerId, committed: bool) {
        let pending = self.sums.remove(&format!("pending {producer}")).unwrap_or(0);
        *self.sums.entry("ended".to_owned()).or_default() += if committed { pending } else { 0 };
    }

    fn encode((name, amount): &(String, i64)) -> Entry {
        let value = Bytes::copy_from_slice(&amount.to_be_bytes());
        Entry { key: Bytes::copy_from_slice(name.as_bytes()), value: Some(value) }
    }

    fn decode(entry: &Entry) -> Result<Option<(String, i64)>, String> {
        let name = String::from_utf8(entry.key.to_vec()).map_err(|error| error.to_string())?;
        let value = entry.value.as_deref().and_then(|value| <[u8; 8]>::try_from(value).ok());
        Ok(value.map(|value| (name, i64::from_be_bytes(value))))
    }
}

const P: PartitionIndex = PartitionIndex(0);

fn options() -> Options {
    Options {
        name: "sums",
        codec: Codec::None,
        load_bytes_max: 300,
        loading_patience: Duration::from_millis(500),
    }
}

fn runtime() -> Runtime<Sums> {
    Runtime::new(options(), Clock::system())
}

fn lead(runtime: &Runtime<Sums>, epoch: i32, log: &Memory) {
    runtime.lead(P, LeaderEpoch(epoch), log.clone(), Sums::default);
}

fn add(name: &str, amount: i64) -> Command {
    Command::Add(name.to_owned(), amount)
}

fn get(name: &str) -> Command {
    Command::Get(name.to_owned())
}

#[tokio::test(start_paused = true)]
async fn a_partition_that_is_not_led_is_refused() {
    let runtime = runtime();
    assert_eq!(runtime.ask(P, add("a", 1)).await, Err(Error::NotCoordinator));
    lead(&runtime, 0, &Memory::new());
    assert_eq!(runtime.ask(P, add("a", 1)).await, Ok(Answer::Sum(1)));
    assert_eq!(runtime.led(), [(P, LeaderEpoch(0))]);
    runtime.resign(P);
    assert_eq!(runtime.ask(P, add("a", 1)).await, Err(Error::NotCoordinator));
}

#[tokio::test(start_paused = true)]
async fn the_state_is_read_again_by_the_next_leader() {
    let log = Memory::new();
    let first = runtime();
    lead(&first, 0, &log);
    for round in 0..100 {
        first.ask(P, add(&format!("name {}", round % 7), round)).await.unwrap();
    }
    first.stop().await;
    let second = runtime();
    lead(&second, 1, &log);
    assert_eq!(second.ask(P, get("name 1")).await, Ok(Answer::Sum((0..100).filter(|n| n % 7 == 1).sum())));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_answered_before_it_is_committed_not_even_a_read() {
    let log = Memory::new();
    let runtime = runtime();
    lead(&runtime, 0, &log);
    assert!(runtime.ready(P, Duration::from_secs(5)).await);
    log.committed.send_replace(0);
    let clock = Clock::system();
    let writer = task::spawn("ask", {
        let runtime = runtime.clone();
        async move { runtime.ask(P, add("a", 1)).await }
    });
    assert_eq!(clock.timeout(Duration::from_secs(5), runtime.ask(P, get("a"))).await, None);
    assert!(!writer.is_finished());
    log.committed.send_replace(1);
    assert_eq!(writer.join().await.unwrap(), Ok(Answer::Sum(1)));
    assert_eq!(runtime.ask(P, get("a")).await, Ok(Answer::Sum(1)));
}

#[tokio::test(start_paused = true)]
async fn commands_that_wait_together_are_written_together() {
    assert_eq!(batches_of(30).await, 1);
}

#[tokio::test(start_paused = true)]
async fn however_many_commands_wait_each_is_answered() {
    let log = Memory::new();
    let runtime = runtime();
    lead(&runtime, 0, &log);
    assert!(runtime.ready(P, Duration::from_secs(5)).await);
    // The partition's task does not run before all of them wait.
    let ask = |_| Box::pin(tokio::task::unconstrained(runtime.ask(P, get("a"))));
    let mut asks: Vec<_> = (0..100).map(ask).collect();
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(asks.iter_mut().all(|ask| ask.as_mut().poll(&mut context).is_pending()));
    for ask in asks {
        assert_eq!(ask.await, Ok(Answer::Sum(0)));
    }
}

/// Has so many commands wait together, each of which must be answered; how many batches they took.
async fn batches_of(count: i64) -> usize {
    let log = Memory::new();
    let runtime = runtime();
    lead(&runtime, 0, &log);
    assert!(runtime.ready(P, Duration::from_secs(5)).await);
    let before = log.state.lock().batches;
    let asks: Vec<_> = (0..count)
        .map(|_| {
            let runtime = runtime.clone();
            task::spawn("ask", async move { runtime.ask(P, add("a", 1)).await })
        })
        .collect();
    for ask in asks {
        ask.join().await.unwrap().unwrap();
    }
    let batches = log.state.lock().batches - before;
    assert_eq!(runtime.ask(P, get("a")).await, Ok(Answer::Sum(count)));
    batches
}

#[tokio::test(start_paused = true)]
async fn a_failed_append_throws_away_what_is_not_committed_and_reads_again() {
    let log = Memory::new();
    let runtime = runtime();
    lead(&runtime, 0, &log);
    runtime.ask(P, add("a", 1)).await.unwrap();
    let waiting = task::spawn("ask", {
        let runtime = runtime.clone();
        async move { runtime.ask(P, Command::Wait("b".to_owned())).await }
    });
    tokio::task::yield_now().await;
    log.state.lock().refuse = Some(Error::NotAvailable);
    assert_eq!(runtime.ask(P, add("a", 10)).await, Err(Error::NotAvailable));
    assert_eq!(waiting.join().await.unwrap(), Err(Error::NotAvailable));
    Clock::system().sleep(Duration::from_secs(1)).await;
    assert_eq!(runtime.ask(P, get("a")).await, Ok(Answer::Sum(1)));
}

#[tokio::test(start_paused = true)]
async fn a_lost_commit_fails_its_answers_and_what_was_written_is_read_again() {
    let log = Memory::new();
    let runtime = runtime();
    lead(&runtime, 0, &log);
    assert!(runtime.ready(P, Duration::from_secs(5)).await);
    log.state.lock().lose_commits = true;
    assert_eq!(runtime.ask(P, add("a", 1)).await, Err(Error::NotAvailable));
    log.state.lock().lose_commits = false;
    Clock::system().sleep(Duration::from_secs(1)).await;
    assert_eq!(runtime.ask(P, get("a")).await, Ok(Answer::Sum(1)));
}

#[tokio::test(start_paused = true)]
async fn what_was_loaded_is_not_told_before_it_is_committed() {
    let log = Memory::new();
    let first = runtime();
    lead(&first, 0, &log);
    first.ask(P, add("a", 1)).await.unwrap();
    first.stop().await;
    log.committed.send_replace(0);
    let second = runtime();
    lead(&second, 1, &log);
    let clock = Clock::system();
    assert_eq!(clock.timeout(Duration::from_secs(5), second.ask(P, get("a"))).await, None);
    log.committed.send_replace(1);
    assert_eq!(second.ask(P, get("a")).await, Ok(Answer::Sum(1)));
}

#[tokio::test(start_paused = true)]
async fn a_record_that_is_too_large_changes_nothing() {
    let log = Memory::new();
    let runtime = runtime();
    lead(&runtime, 0, &log);
    assert_eq!(runtime.ask(P, Command::Fill(3_000)).await, Err(Error::TooLarge));
    assert_eq!(runtime.ask(P, Command::Fill(1_500)).await, Ok(Answer::Sum(0)));
    assert_eq!(log.end(), Offset(1));
}

#[tokio::test]
async fn a_waiting_command_is_answered_by_a_later_one_or_by_its_timer_whatever_the_wall_clock_does() {
    let clock = SimClock::new();
    let runtime = Runtime::<Sums>::new(options(), Clock::Sim(clock.clone()));
    lead(&runtime, 0, &Memory::new());
    assert!(runtime.ready(P, Duration::from_secs(5)).await);
    let wait = |name: &str| {
        let (runtime, name) = (runtime.clone(), name.to_owned());
        task::spawn("ask", async move { runtime.ask(P, Command::Wait(name)).await })
    };
    let (answered, late) = (wait("a"), wait("b"));
    tokio::task::yield_now().await;
    runtime.ask(P, add("a", 5)).await.unwrap();
    assert_eq!(answered.join().await.unwrap(), Ok(Answer::Sum(5)));
    clock.set_wall(Timestamp(0));
    clock.advance(Duration::from_secs(59));
    clock.set_wall(Timestamp(4_000_000_000_000));
    runtime.ask(P, add("c", 1)).await.unwrap();
    assert!(!late.is_finished());
    clock.advance(Duration::from_secs(1));
    assert_eq!(late.join().await.unwrap(), Ok(Answer::TimeIsUp));
}

#[tokio::test(start_paused = true)]
async fn everyone_who_waits_is_told_when_the_leadership_goes() {
    let log = Memory::new();
    let runtime = runtime();
    lead(&runtime, 0, &log);
    assert!(runtime.ready(P, Duration::from_secs(5)).await);
    log.committed.send_replace(0);
    let ask = |command| {
        let runtime = runtime.clone();
        task::spawn("ask", async move { runtime.ask(P, command).await })
    };
    let asks = [ask(Command::Wait("a".to_owned())), ask(add("b", 1)), ask(get("b"))];
    tokio::task::yield_now().await;
    runtime.resign(P);
    for ask in asks {
        assert_eq!(ask.join().await.unwrap(), Err(Error::NotCoordinator));
    }
}

#[tokio::test(start_paused = true)]
async fn a_newer_epoch_takes_over_and_an_older_one_does_not() {
    let (old, new) = (Memory::new(), Memory::new());
    let runtime = runtime();
    lead(&runtime, 5, &old);
    runtime.ask(P, add("a", 1)).await.unwrap();
    lead(&runtime, 4, &new);
    assert_eq!(runtime.ask(P, get("a")).await, Ok(Answer::Sum(1)));
    lead(&runtime, 6, &new);
    assert_eq!(runtime.ask(P, get("a")).await, Ok(Answer::Sum(0)));
}

#[tokio::test(start_paused = true)]
async fn appends_that_are_not_written_yet_are_waited_for_and_read() {
    let log = Memory::new();
    let first = runtime();
    lead(&first, 0, &log);
    first.ask(P, add("a", 1)).await.unwrap();
    log.written.send_replace(1);
    log.committed.send_replace(1);
    let writing = task::spawn("ask", {
        let first = first.clone();
        async move { first.ask(P, add("a", 10)).await }
    });
    while log.end() < Offset(2) {
        tokio::task::yield_now().await;
    }
    first.stop().await;
    assert_eq!(writing.join().await.unwrap(), Err(Error::NotCoordinator), "nobody knows what becomes of it");

    let second = runtime();
    lead(&second, 1, &log);
    assert_eq!(second.ask(P, get("a")).await, Err(Error::Loading));
    log.written.send_replace(i64::MAX);
    log.committed.send_replace(i64::MAX);
    assert!(second.ready(P, Duration::from_secs(5)).await);
    assert_eq!(second.ask(P, add("a", 100)).await, Ok(Answer::Sum(111)));
    assert_eq!(log.end(), Offset(3), "written once, at the place it was decided for");
}

#[tokio::test(start_paused = true)]
async fn someone_elses_append_is_noticed() {
    let log = Memory::new();
    let runtime = runtime();
    lead(&runtime, 0, &log);
    runtime.ask(P, add("a", 1)).await.unwrap();
    let mut foreign = crate::record::BatchBuilder::new(Codec::None, Timestamp(0));
    foreign.push(Some(b"a"), Some(&7i64.to_be_bytes()), &[], Timestamp(0));
    log.write(&foreign.build());
    assert_eq!(runtime.ask(P, add("a", 1)).await, Err(Error::NotAvailable));
    Clock::system().sleep(Duration::from_secs(1)).await;
    assert_eq!(runtime.ask(P, get("a")).await, Ok(Answer::Sum(9)));
}

#[tokio::test(start_paused = true)]
async fn transactions_and_their_markers_are_read() {
    use crate::base::ProducerEpoch;
    use crate::record::BatchBuilder;
    for (kind, wanted) in [(1u8, 7), (0, 0)] {
        let log = Memory::new();
        let of_nine =
            || BatchBuilder::new(Codec::None, Timestamp(0)).producer(ProducerId(9), ProducerEpoch(0), 0);
        let mut batch = of_nine().transactional();
        batch.push(Some(b"a"), Some(&7i64.to_be_bytes()), &[], Timestamp(0));
        log.write(&batch.build());
        let mut marker = of_nine().transactional().control();
        marker.push(Some(&[0, 0, 0, kind]), Some(&[0, 0, 0, 0, 0, 1]), &[], Timestamp(0));
        log.write(&marker.build());
        let runtime = runtime();
        lead(&runtime, 0, &log);
        assert_eq!(runtime.ask(P, get("ended")).await, Ok(Answer::Sum(wanted)));
        assert_eq!(runtime.ask(P, get("a")).await, Ok(Answer::Sum(0)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_flipped_bit_makes_the_state_unavailable_and_not_another_one() {
    let sums = || {
        let mut batch = crate::record::BatchBuilder::new(Codec::None, Timestamp(0));
        batch.push(Some(b"a"), Some(&7i64.to_be_bytes()), &[], Timestamp(0));
        batch.build()
    };
    let log = Memory::new();
    for _ in 0..3 {
        log.write(&sums());
    }
    let whole = log.bytes();
    let length = whole.len() / 3;
    // The last byte of the second batch's record but its count of headers: the sum's lowest.
    let mut flipped = whole.clone();
    flipped[2 * length - 2] ^= 1;
    for (bytes, wanted) in [(whole, Ok(Answer::Sum(21))), (flipped, Err(Error::Loading))] {
        let runtime = runtime();
        lead(&runtime, 0, &Memory::holding(&bytes));
        assert_eq!(runtime.ask(P, get("a")).await, wanted);
    }
}

fn ending(producer: i64, committed: bool) -> Ending {
    Ending {
        producer: ProducerId(producer),
        epoch: crate::base::ProducerEpoch(0),
        committed,
        coordinator_epoch: 3,
        proof: crate::replica::Proof::None,
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_written_in_a_transaction_counts_from_its_marker_on_also_for_the_next_leader() {
    for (committed, wanted) in [(true, 12), (false, 0)] {
        let log = Memory::new();
        let first = runtime();
        lead(&first, 0, &log);
        for amount in [5, 7] {
            first.ask(P, Command::AddInTransaction(9, amount)).await.unwrap();
        }
        first.ask(P, add("a", 1)).await.unwrap();
        assert_eq!(first.ask(P, get("pending 9")).await, Ok(Answer::Sum(12)));
        first.end_transaction(P, ending(9, committed)).await.unwrap();
        assert_eq!(first.ask(P, get("ended")).await, Ok(Answer::Sum(wanted)));
        first.ask(P, add("a", 1)).await.unwrap();
        first.stop().await;
        let second = runtime();
        lead(&second, 1, &log);
        assert_eq!(second.ask(P, get("ended")).await, Ok(Answer::Sum(wanted)));
        assert_eq!(second.ask(P, get("a")).await, Ok(Answer::Sum(2)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_marker_is_confirmed_when_it_is_committed() {
    let log = Memory::new();
    let runtime = runtime();
    lead(&runtime, 0, &log);
    assert!(runtime.ready(P, Duration::from_secs(5)).await);
    log.committed.send_replace(0);
    let clock = Clock::system();
    let marker = runtime.end_transaction(P, ending(9, true));
    assert_eq!(clock.timeout(Duration::from_secs(5), marker).await, None);
    log.committed.send_replace(9);
    runtime.end_transaction(P, ending(9, true)).await.unwrap();
    assert_eq!(log.end(), Offset(2));
}

#[tokio::test(start_paused = true)]
async fn a_producer_that_the_log_refuses_leaves_everything_as_it_was() {
    let log = Memory::new();
    let runtime = runtime();
    lead(&runtime, 0, &log);
    runtime.ask(P, add("a", 1)).await.unwrap();
    let refuse = |error| log.state.lock().refuse = Some(error);
    for error in [Error::InvalidProducerEpoch, Error::InvalidTransactionState, Error::CoordinatorFenced] {
        refuse(error);
        assert_eq!(runtime.ask(P, Command::AddInTransaction(9, 5)).await, Err(error));
        refuse(error);
        assert_eq!(runtime.end_transaction(P, ending(9, true)).await, Err(error));
        // At once: nothing is read again.
        assert_eq!(runtime.ask(P, get("a")).await, Ok(Answer::Sum(1)));
    }
    assert_eq!(log.end(), Offset(1));
    refuse(Error::NotAvailable);
    assert_eq!(runtime.end_transaction(P, ending(9, true)).await, Err(Error::NotAvailable));
    assert_eq!(runtime.ask(P, add("a", 1)).await, Err(Error::Loading));
}
