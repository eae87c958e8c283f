//! Rounds of the disk thread, stopped between their beginning and their end.

use super::*;
use crate::base::TopicId;
use crate::log::append::Append;
use crate::log::tests::Bench;
use crate::log::tests::append;
use crate::log::tests::batch;
use crate::log::tests::config;
use crate::log::tests::how;
use crate::log::tests::open_log;
use crate::log::tests::partition;
use std::future::Future;
use std::pin::pin;
use std::task::Context;
use std::task::Poll;
use std::task::Waker;

/// Does a round's operations, as a ring would.
fn run(log: &Log, round: &Round, sync: Option<&Sync>) {
    let mut ring = Ring::probe(&log.directory.disk, false);
    let ops = operations(log, round, sync).unwrap();
    assert!(ring.run(ops).into_iter().all(|outcome| outcome.is_ok()));
}

#[test]
fn what_is_appended_while_a_sync_runs_is_not_taken_for_synced() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, |_| {});
    log.append(batch(1, 100, 1000), how(true)).unwrap();
    let (round, sync) = log.begin_disk_round().unwrap();
    append(&log, batch(3, 100, 1000));
    run(&log, &round, sync.as_ref());
    log.end_disk_round(&round, sync);
    dirs.drive_disks();
    log.roll_now().unwrap();
    log.append(batch(1, 100, 1000), how(true)).unwrap();
    let (round, sync) = log.begin_disk_round().unwrap();
    let synced: Vec<Offset> = sync.as_ref().unwrap().segments.iter().map(|segment| segment.base).collect();
    assert_eq!(synced, [Offset(0), Offset(4)], "the segment that was closed meanwhile, too");
    run(&log, &round, sync.as_ref());
    log.end_disk_round(&round, sync);
    assert_eq!(log.core.lock().dirty.len(), 0);
}

#[test]
fn a_segment_that_retention_takes_during_a_round_is_not_missed() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, |config| config.retention_bytes = 0);
    append(&log, batch(1, 100, 1000));
    log.set_high_watermark(log.log_end_offset());
    log.roll_now().unwrap();
    log.append(batch(1, 100, 1000), how(true)).unwrap();
    let (round, sync) = log.begin_disk_round().unwrap();
    assert_eq!(log.retain(bench.clock.wall()).unwrap(), 1);
    run(&log, &round, sync.as_ref());
    log.end_disk_round(&round, sync);
    assert!(log.is_online());
    assert_eq!(log.core.lock().synced, Offset(2));
}

#[test]
fn an_append_that_was_taken_back_is_not_written_when_another_has_its_place() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, |_| {});
    append(&log, batch(1, 100, 1000));
    let held = log.append(batch(1, 100, 1000), Append { hold: true, ..how(false) }).unwrap();
    assert!(!log.is_written(&held));
    log.core.lock().writing = true;
    log.write_failed(&io::ErrorKind::StorageFull.into());
    let other = append(&log, batch(1, 100, 1000));
    assert_eq!((held.end_offset, other.end_offset), (Offset(2), Offset(2)));
    assert!(log.is_written(&other));
    assert!(!log.is_written(&held), "its records are nowhere");
}

#[test]
fn a_log_that_is_deleted_with_appends_under_way_gives_its_room_back() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, |_| {});
    let directory = log.directory.clone();
    let room = directory.queued_bytes();
    log.append(batch(1, 100, 1000), how(true)).unwrap();
    assert!(directory.queued_bytes() > room);
    dirs.delete_log(&partition(0)).unwrap();
    drop(log);
    dirs.drive_disks();
    assert_eq!(directory.queued_bytes(), room);
}

#[test]
fn a_log_has_settled_when_what_was_queued_is_written_or_taken_back() {
    let bench = Bench::new();
    let dirs = bench.open();
    for taken_back in [false, true] {
        let index = i32::from(taken_back);
        let log = dirs.open_log(&partition(index), TopicId::METADATA, config(|_| {})).unwrap();
        append(&log, batch(1, 100, 1000));
        log.append(batch(1, 100, 1000), how(true)).unwrap();
        let mut settled = pin!(log.settled());
        let mut context = Context::from_waker(Waker::noop());
        assert!(settled.as_mut().poll(&mut context).is_pending());
        if taken_back {
            let (round, _) = log.begin_disk_round().unwrap();
            release(&log.directory, &round);
            log.write_failed(&io::ErrorKind::StorageFull.into());
        } else {
            dirs.drive_disks();
        }
        let end = Offset(if taken_back { 1 } else { 2 });
        match settled.as_mut().poll(&mut context) {
            Poll::Ready(settled) => assert_eq!(settled.unwrap(), end),
            Poll::Pending => panic!("still waits"),
        }
    }
}
