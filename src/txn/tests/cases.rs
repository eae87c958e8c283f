//! One rule after the other.

use super::*;

const T0: &[(&str, i32)] = &[("t", 0)];

#[test]
fn a_transaction_of_version_1_keeps_its_epoch() {
    let mut trial = Trial::new();
    let first = trial.init(None).unwrap();
    assert_eq!(first.epoch.0, 0);
    trial.add(first, T0, 0).unwrap();
    trial.add(first, &[("t", 1), ("u", 3)], 0).unwrap();
    assert_eq!(trial.state(), State::Ongoing);
    assert_eq!(trial.end(first, true, 0), Ok(first));
    assert_eq!(trial.add(first, T0, 0), Err(ErrorCode::ConcurrentTransactions));
    assert_eq!(trial.end(first, true, 0), Err(ErrorCode::ConcurrentTransactions));
    assert_eq!(trial.end(first, false, 0), Err(ErrorCode::InvalidTxnState));
    assert_eq!(trial.init(None), Err(ErrorCode::ConcurrentTransactions));
    let markers = trial.mark().unwrap();
    assert_eq!(markers.partitions, partitions(&[("t", 0), ("t", 1), ("u", 3)]));
    assert!(markers.commit && !markers.epoch_grew && markers.producer == first);
    assert_eq!(trial.state(), State::CompleteCommit);
    assert_eq!(trial.end(first, true, 0), Ok(first), "said once more");
    assert_eq!(trial.end(first, false, 0), Err(ErrorCode::InvalidTxnState));
    let second = trial.init(None).unwrap();
    assert_eq!((second.id, second.epoch.0), (first.id, 1));
    for refused in [trial.add(first, T0, 0).err(), trial.end(first, true, 0).err()] {
        assert_eq!(refused, Some(ErrorCode::ProducerFenced));
    }
}

#[test]
fn each_end_of_a_transaction_of_version_2_gives_an_epoch() {
    let mut trial = Trial::new();
    let first = trial.init(None).unwrap();
    trial.add(first, T0, 2).unwrap();
    let second = trial.end(first, true, 2).unwrap();
    assert_eq!((second.id, second.epoch.0), (first.id, 1));
    assert_eq!(trial.end(first, true, 2), Err(ErrorCode::ConcurrentTransactions));
    assert_eq!(trial.end(second, true, 2), Err(ErrorCode::ConcurrentTransactions), "not before the markers");
    assert_eq!(trial.end(producer(first.id.0, 2), true, 2), Err(ErrorCode::ProducerFenced));
    let markers = trial.mark().unwrap();
    assert!(markers.epoch_grew && markers.producer == second);
    assert_eq!(trial.end(first, true, 2), Ok(second), "said once more");
    assert_eq!(trial.end(first, false, 2), Err(ErrorCode::InvalidTxnState));
    assert_eq!(trial.add(first, T0, 2), Err(ErrorCode::ProducerFenced));
    assert_eq!(trial.end(second, true, 2), Err(ErrorCode::InvalidTxnState), "a commit of nothing");
    let third = trial.end(second, false, 2).unwrap();
    assert_eq!(third.epoch.0, 2, "an abort of nothing gives an epoch too");
    assert_eq!(trial.mark().unwrap().partitions, Partitions::new());
    trial.add(third, T0, 2).unwrap();
}

#[test]
fn who_begins_fences_the_open_transaction_of_another() {
    for version in [0, 2] {
        let mut trial = Trial::new();
        let old = trial.init(None).unwrap();
        trial.add(old, T0, version).unwrap();
        assert_eq!(trial.init(None), Err(ErrorCode::ConcurrentTransactions));
        assert_eq!(trial.rung().as_deref(), Some(ID));
        let markers = trial.mark().unwrap();
        assert!(!markers.commit);
        assert_eq!(markers.producer, producer(old.id.0, 1));
        let new = trial.init(None).unwrap();
        assert_eq!(new, producer(old.id.0, 2));
        assert_eq!(trial.end(old, true, version), Err(ErrorCode::ProducerFenced));
        trial.add(new, T0, version).unwrap();
    }
}

#[test]
fn a_transaction_whose_time_is_up_is_aborted_also_when_the_leader_changes() {
    for crashes in [false, true] {
        let mut trial = Trial::new();
        let first = trial.init(None).unwrap();
        trial.add(first, T0, 0).unwrap();
        trial.pass(Duration::from_secs(59));
        trial.add(first, &[("t", 1)], 0).unwrap();
        if crashes {
            trial.crash();
        }
        assert_eq!(trial.state(), State::Ongoing);
        trial.pass(Duration::from_secs(1));
        assert_eq!(trial.state(), State::PrepareAbort);
        assert_eq!(trial.end(first, true, 0), Err(ErrorCode::ProducerFenced));
        assert!(!trial.mark().unwrap().commit);
        // An end in time needs no abort.
        let next = trial.init(None).unwrap();
        trial.add(next, T0, 0).unwrap();
        trial.end(next, true, 0).unwrap();
        trial.pass(Duration::from_secs(100));
        assert_eq!(trial.state(), State::PrepareCommit);
    }
}

#[test]
fn a_client_of_version_2_whose_time_is_up_goes_on_with_the_next_epoch() {
    let mut trial = Trial::new();
    let first = trial.init(None).unwrap();
    trial.add(first, T0, 2).unwrap();
    trial.pass(Duration::from_secs(60));
    assert_eq!(trial.end(first, false, 2), Err(ErrorCode::ConcurrentTransactions));
    trial.mark().unwrap();
    assert_eq!(trial.end(first, true, 2), Err(ErrorCode::InvalidTxnState));
    assert_eq!(trial.end(first, false, 2), Ok(producer(first.id.0, 1)));
}

#[test]
fn markers_are_announced_until_they_are_written() {
    let mut trial = Trial::new();
    let first = trial.init(None).unwrap();
    trial.add(first, T0, 2).unwrap();
    assert_eq!((trial.markers(), trial.rung()), (None, None));
    trial.end(first, true, 2).unwrap();
    assert_eq!(trial.rung().as_deref(), Some(ID));
    let markers = trial.markers().unwrap();
    for _ in 0..3 {
        trial.crash();
        assert_eq!(trial.rung().as_deref(), Some(ID));
        assert_eq!(trial.markers(), Some(markers.clone()));
    }
    assert_eq!(trial.ask(Command::Marked(ID.into(), producer(first.id.0, 7))), Answer::Done(Ok(())));
    assert_eq!(trial.state(), State::PrepareCommit, "markers of another epoch mean nothing");
    trial.mark().unwrap();
    trial.crash();
    assert_eq!((trial.markers(), trial.rung()), (None, None));
    assert_eq!(trial.state(), State::CompleteCommit);
}

#[test]
fn an_id_with_used_up_epochs_gets_another_producer_id() {
    let last = i16::MAX - 1;
    // By the next producer that begins.
    let mut trial = Trial::new();
    let first = trial.init(None).unwrap();
    trial.set_epoch(last);
    let next = trial.init(None).unwrap();
    assert_eq!((next.id != first.id, next.epoch.0), (true, 0));
    // By the end of a transaction of version 2, also when the answer was lost.
    trial.set_epoch(last);
    let used_up = producer(next.id.0, last);
    trial.add(used_up, T0, 2).unwrap();
    let fresh = trial.end(used_up, true, 2).unwrap();
    assert_eq!((fresh.id != next.id, fresh.epoch.0), (true, 0));
    assert_eq!(trial.add(fresh, T0, 2), Err(ErrorCode::ConcurrentTransactions));
    assert_eq!(trial.mark().unwrap().producer, producer(next.id.0, i16::MAX));
    assert_eq!(trial.end(used_up, true, 2), Ok(fresh));
    trial.add(fresh, T0, 2).unwrap();
    assert_eq!(trial.end(used_up, true, 2), Err(ErrorCode::InvalidProducerIdMapping));
    // A transaction that is aborted at the last epoch has one epoch left to fence with.
    trial.set_epoch(last);
    trial.pass(Duration::from_secs(60));
    assert_eq!(trial.mark().unwrap().producer, producer(fresh.id.0, i16::MAX));
    let after = trial.init(None).unwrap();
    assert_eq!((after.id != fresh.id, after.epoch.0), (true, 0));
}

#[test]
fn a_producer_goes_on_with_the_id_and_epoch_it_names() {
    let mut trial = Trial::new();
    let first = trial.init(None).unwrap();
    let second = trial.init(Some(first)).unwrap();
    assert_eq!(second, producer(first.id.0, 1));
    assert_eq!(trial.init(Some(first)), Ok(second), "said once more");
    assert_eq!(trial.init(Some(second)), Ok(producer(first.id.0, 2)));
    assert_eq!(trial.init(Some(first)), Err(ErrorCode::ProducerFenced));
    assert_eq!(trial.init(Some(producer(5, 0))), Err(ErrorCode::ProducerFenced));
    trial.init(None).unwrap();
    assert_eq!(trial.init(Some(second)), Err(ErrorCode::ProducerFenced), "another has begun meanwhile");
    // Whoever asks aborts an open transaction, as in Kafka, also one that was fenced; it gets nothing from that.
    let holder = trial.init(None).unwrap();
    trial.add(holder, T0, 0).unwrap();
    assert_eq!(trial.init(Some(second)), Err(ErrorCode::ConcurrentTransactions));
    assert_eq!(trial.state(), State::PrepareAbort);
    assert!(!trial.mark().unwrap().commit);
    assert_eq!(trial.init(Some(second)), Err(ErrorCode::ProducerFenced));
    assert_eq!(trial.add(holder, T0, 0), Err(ErrorCode::ProducerFenced));
    // The aborted one learns the epoch that it was aborted with.
    assert_eq!(trial.init(Some(holder)), Ok(producer(holder.id.0, holder.epoch.0 + 1)));
    // The id was forgotten: whoever names what it had gets a fresh one.
    trial.pass(8 * DAY);
    assert_eq!(trial.shown(), None);
    assert_eq!(trial.init(Some(producer(5, 3))).unwrap().epoch.0, 0);
}

#[test]
fn only_what_was_added_is_verified() {
    let mut trial = Trial::new();
    let first = trial.init(None).unwrap();
    assert_eq!(trial.verify(producer(1, 0), T0), Err(ErrorCode::InvalidProducerIdMapping));
    assert_eq!(trial.verify(producer(first.id.0, 4), T0), Err(ErrorCode::ProducerFenced));
    assert_eq!(trial.verify(first, T0), Ok(partitions(T0)));
    trial.add(first, T0, 0).unwrap();
    assert_eq!(trial.verify(first, &[("t", 0), ("t", 1), ("u", 0)]), Ok(partitions(&[("t", 1), ("u", 0)])));
    trial.end(first, true, 0).unwrap();
    assert_eq!(trial.verify(first, T0), Err(ErrorCode::ConcurrentTransactions));
    trial.mark().unwrap();
    assert_eq!(trial.verify(first, T0), Ok(partitions(T0)), "nothing is left of it");
}

#[test]
fn unknown_ids_and_impossible_requests_are_refused() {
    let mut trial = Trial::new();
    let nobody = producer(1, 0);
    assert_eq!(trial.add(nobody, T0, 0), Err(ErrorCode::InvalidProducerIdMapping));
    assert_eq!(trial.end(nobody, true, 0), Err(ErrorCode::InvalidProducerIdMapping));
    assert_eq!(trial.verify(nobody, T0), Err(ErrorCode::InvalidProducerIdMapping));
    let init = |id: &str, timeout_ms| {
        Command::Init(Init { id: id.into(), timeout_ms, expected: None, fresh: Some(ProducerId(1)) })
    };
    for (request, error) in [
        (init("", 1), ErrorCode::InvalidRequest),
        (init("x", 0), ErrorCode::InvalidTransactionTimeout),
        (init("x", -1), ErrorCode::InvalidTransactionTimeout),
        (init("x", 900_001), ErrorCode::InvalidTransactionTimeout),
    ] {
        assert_eq!(trial.ask(request), Answer::Producer(Err(error)));
    }
    let first = trial.init(None).unwrap();
    assert_eq!(trial.end(first, true, 0), Err(ErrorCode::InvalidTxnState), "there is none");
    assert_eq!(trial.end(first, true, 2), Err(ErrorCode::InvalidTxnState));
}

#[test]
fn an_id_that_nobody_uses_is_forgotten_but_not_an_open_transaction() {
    let mut trial = Trial::new();
    let first = trial.init(None).unwrap();
    trial.add(first, T0, 0).unwrap();
    trial.end(first, true, 0).unwrap();
    trial.pass(30 * DAY);
    assert_eq!(trial.state(), State::PrepareCommit, "its markers are still to be written");
    trial.mark().unwrap();
    trial.pass(7 * DAY - Duration::from_secs(3600));
    assert_eq!(trial.state(), State::CompleteCommit);
    trial.pass(Duration::from_secs(7200));
    assert_eq!(trial.shown(), None);
    trial.crash();
    assert_eq!(trial.shown(), None);
    assert_eq!(trial.end(first, true, 0), Err(ErrorCode::InvalidProducerIdMapping));
}

#[test]
fn markers_that_are_written_are_not_shown_or_written_again_until_the_leader_changes() {
    let mut trial = Trial::new();
    let first = trial.init(None).unwrap();
    trial.add(first, &[("t", 0), ("t", 1), ("u", 0)], 2).unwrap();
    let next = trial.end(first, true, 2).unwrap();
    let some = |of: &[(&str, i32)], producer| Command::SomeMarked(ID.into(), producer, partitions(of));
    trial.ask(some(&[("u", 0)], first));
    assert_eq!(trial.markers().unwrap().partitions.len(), 2, "markers of another epoch mean nothing");
    trial.ask(some(&[("u", 0)], next));
    trial.ask(some(&[("t", 1)], next));
    assert_eq!(trial.markers().unwrap().partitions, partitions(T0));
    assert_eq!(trial.shown().unwrap().partitions, partitions(T0));
    trial.crash();
    assert_eq!(trial.markers().unwrap().partitions.len(), 2);
    trial.ask(some(&[("u", 0)], next));
    trial.mark().unwrap();
    trial.add(next, &[("u", 0)], 2).unwrap();
    assert_eq!(trial.shown().unwrap().partitions, partitions(&[("u", 0)]));
}

#[test]
fn a_transaction_that_another_coordinator_leads_has_no_deadline() {
    let mut trial = Trial::new();
    let first = trial.init(None).unwrap();
    trial.set(|transaction| transaction.timeout_ms = i32::MAX);
    trial.add(first, T0, 2).unwrap();
    for _ in 0..2 {
        trial.pass(400 * DAY);
        assert_eq!(trial.state(), State::Ongoing);
        trial.crash();
    }
}

#[test]
fn an_abort_by_the_coordinator_follows_the_version_of_the_cluster() {
    for (level, may_go_on) in [(1, false), (2, true)] {
        let mut trial = Trial::new();
        trial.settings.level.store(level, Ordering::Relaxed);
        let first = trial.init(None).unwrap();
        trial.add(first, T0, 0).unwrap();
        trial.pass(Duration::from_secs(60));
        let markers = trial.mark().unwrap();
        assert_eq!((markers.epoch_grew, markers.producer), (level == 2, producer(first.id.0, 1)));
        assert_eq!(trial.end(first, false, 0), Err(ErrorCode::ProducerFenced));
        let next = trial.init(Some(first));
        assert_eq!(next, if may_go_on { Ok(markers.producer) } else { Err(ErrorCode::ProducerFenced) });
    }
}

#[test]
fn lists_are_filtered_by_state_producer_duration_and_name() {
    let mut trial = Trial::new();
    let first = trial.init(None).unwrap();
    trial.add(first, T0, 0).unwrap();
    trial.pass(Duration::from_secs(10));
    let mut listed = |filters: List| match trial.ask(Command::List(filters)) {
        Answer::Listed(listed) => listed.len(),
        other => panic!("{other:?}"),
    };
    let pattern = |text: &str| List { pattern: Some(regex::Regex::new(text).unwrap()), ..List::default() };
    for (filters, found) in [
        (List::default(), 1),
        (List { states: vec![State::Ongoing, State::Empty], ..List::default() }, 1),
        (List { states: vec![State::PrepareAbort], ..List::default() }, 0),
        (List { producers: vec![first.id], ..List::default() }, 1),
        (List { producers: vec![ProducerId(1)], ..List::default() }, 0),
        (List { longer_than_ms: Some(9_999), ..List::default() }, 1),
        (List { longer_than_ms: Some(10_000), ..List::default() }, 0),
        (pattern("^(?:t.)$"), 1),
        (pattern("^(?:t)$"), 0),
    ] {
        assert_eq!(listed(filters.clone()), found, "{filters:?}");
    }
}

#[test]
fn a_cluster_of_the_first_version_of_transactions_writes_records_that_every_kafka_reads() {
    let mut trial = Trial::new();
    trial.settings.level.store(0, Ordering::Relaxed);
    let first = trial.init(None).unwrap();
    trial.init(Some(first)).unwrap();
    assert!(trial.log.iter().all(|entry| entry.value.as_ref().unwrap()[..2] == [0, 0]));
    trial.settings.level.store(1, Ordering::Relaxed);
    trial.init(None).unwrap();
    assert_eq!(trial.log.last().unwrap().value.as_ref().unwrap()[..2], [0, 1]);
}

#[test]
fn ids_take_bounded_memory_and_those_that_are_there_go_on() {
    let mut trial = Trial::new();
    let memory = Memory::new(10_000, "ids", "a.setting");
    trial.settings = Arc::new(Settings { memory, ..Arc::into_inner(settings()).unwrap() });
    trial.machine = Transactions::new(Arc::clone(&trial.settings));
    let first = trial.init(None).unwrap();
    let init = |trial: &mut Trial, number: i64| {
        let id = format!("{number:0100}").into();
        let fresh = Some(ProducerId(1000 + number));
        trial.ask(Command::Init(Init { id, timeout_ms: TIMEOUT_MS, expected: None, fresh }))
    };
    let refused = Answer::Producer(Err(ErrorCode::CoordinatorNotAvailable));
    let full = (0..).find(|number| init(&mut trial, *number) == refused).unwrap();
    assert!((20..30).contains(&full), "{full}");
    assert_eq!(trial.add(first, T0, 2), Ok(()), "a partition more is little");
    let wide: Vec<(&str, i32)> = (0..100).map(|index| ("wide", index)).collect();
    assert_eq!(trial.add(first, &wide, 2), Err(ErrorCode::CoordinatorNotAvailable));
    trial.end(first, true, 2).unwrap();
    trial.mark().unwrap();
    assert!(trial.init(None).is_ok(), "an id that is there goes on");
    assert_eq!(init(&mut trial, full), refused);
}
