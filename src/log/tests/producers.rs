//! Producer state across restarts, crashes and failures.

use super::*;
use crate::log::ProducerError;
use crate::log::layout;
use crate::log::layout::Kind;
use crate::record::control::EndTransaction;

#[test]
fn duplicates_are_known_after_a_clean_restart_and_after_a_kill() {
    let bench = Bench::new();
    for clean in [true, false, true] {
        let dirs = bench.open();
        let log = open_log(&dirs, small);
        let end = log.log_end_offset().0;
        let sequence = i32::try_from(end).unwrap();
        // All that a producer may have had in flight, although a roll or a close lies in between.
        for back in (1..=5).rev().take_while(|_| end > 0).map(|number| number * 5) {
            let again = append(&log, idempotent(5, 0, sequence - back));
            assert!(again.duplicate, "{back} records back");
            let base = end - i64::from(back);
            assert_eq!((again.base_offset, again.end_offset), (Offset(base), Offset(base + 5)));
        }
        for number in 0..200 {
            let appended = append(&log, idempotent(5, 0, sequence + number * 5));
            assert!(!appended.duplicate);
        }
        let gap = log.append(idempotent(5, 0, sequence + 1005), how(false));
        assert!(matches!(gap, Err(Error::Producer(ProducerError::OutOfOrderSequence { .. }))));
        if clean {
            dirs.close(-1);
        }
    }
}

#[test]
fn transactions_are_rebuilt_after_a_kill_with_their_aborted_list() {
    let bench = Bench::new();
    let expect = {
        let dirs = bench.open();
        let log = open_log(&dirs, small);
        for round in 0..30 {
            transaction(&log, round);
            if round == 14 {
                dirs.checkpoint_now();
            }
        }
        assert!(log.segment_count() > 1);
        log.set_high_watermark(log.log_end_offset());
        assert_eq!(log.first_unstable_offset().unwrap(), None);
        let open = builder(1, 10, 7).producer(WRITER.0, WRITER.1, 300).transactional().build();
        append(&log, open);
        log.aborted(Offset(0), Offset(10_000)).unwrap()
    };
    assert_eq!(expect.len(), 10);
    let dirs = bench.open();
    let log = open_log(&dirs, small);
    assert_eq!(log.aborted(Offset(0), Offset(10_000)).unwrap(), expect);
    let some = log.aborted(Offset(14), Offset(60)).unwrap();
    assert_eq!(some.len(), 1, "{some:?}");
    let last = log.log_end_offset().0 - 1;
    log.set_high_watermark(log.log_end_offset());
    assert_eq!(log.first_unstable_offset().unwrap(), Some(Offset(last)));
    let producers = log.producers().unwrap();
    assert_eq!(producers.len(), 1);
    assert_eq!(producers[0].transaction_start, Some(Offset(last)));
}

const WRITER: (ProducerId, ProducerEpoch) = (ProducerId(9), ProducerEpoch(0));

/// One transaction of 15 records; each third one is aborted.
fn transaction(log: &Log, round: i32) {
    let (id, epoch) = WRITER;
    append(log, builder(10, 100, 5).producer(id, epoch, round * 10).transactional().build());
    append(log, batch_of_others(3));
    let end = EndTransaction { committed: round % 3 != 0, coordinator_epoch: 1 };
    let coordinator = Append { origin: Origin::Coordinator, ..how(false) };
    log.append(end.batch(id, epoch, Timestamp(6)), coordinator).unwrap();
}

#[test]
fn a_damaged_list_of_aborted_transactions_is_made_anew() {
    for (clean, damage) in [(true, 0), (true, 34), (false, 0), (false, 34)] {
        let bench = Bench::new();
        let dirs = bench.open();
        let log = open_log(&dirs, small);
        (0..30).for_each(|round| transaction(&log, round));
        let expect = log.aborted(Offset(0), Offset(10_000)).unwrap();
        let bases: Vec<Offset> = log.view.load().iter().map(|segment| segment.base).collect();
        let folder = log.path();
        drop(log);
        if clean {
            dirs.close(-1)
        } else {
            dirs.checkpoint_now()
        }
        drop(dirs);
        let mut damaged = 0;
        for base in &bases {
            let path = layout::file_path(&folder, *base, Kind::AbortedIndex);
            let Ok(mut bytes) = std::fs::read(&path) else { continue };
            if let Some(byte) = bytes.get_mut(damage) {
                *byte = 0xff;
                damaged += 1;
                std::fs::write(&path, bytes).unwrap();
            }
        }
        assert!(damaged > 1, "{bases:?}");
        let dirs = bench.open();
        let log = open_log(&dirs, small);
        assert_eq!(log.aborted(Offset(0), Offset(10_000)).unwrap(), expect, "{clean} {damage}");
        // Transactions end here as before, and what is made anew is kept.
        transaction(&log, 30);
        let expect = log.aborted(Offset(0), Offset(10_000)).unwrap();
        assert_eq!(expect.len(), 11);
        dirs.close(-1);
        let log = open_log(&bench.open(), small);
        assert_eq!(log.aborted(Offset(0), Offset(10_000)).unwrap(), expect);
    }
}

fn batch_of_others(count: i32) -> CheckedBatch {
    batch(count, 100, 5)
}
