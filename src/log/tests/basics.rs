//! Append, read, roll, close, reopen.

use super::*;
use crate::io::ring::Ring;
use crate::io::sim::Fault;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;

#[test]
fn what_was_appended_is_read_back_over_rolls_and_reopens() {
    let bench = Bench::new();
    let mut expect = Vec::new();
    for round in 0..4 {
        let dirs = bench.open();
        let log = open_log(&dirs, small);
        assert_eq!(log.log_end_offset(), Offset(round * 150));
        for number in 0..50 {
            let appended = append(&log, batch(3, 200, 1000 + number));
            expect.push((appended.base_offset.0, appended.end_offset.0 - 1));
        }
        for max_bytes in [1, 700, 5000, 1 << 20] {
            assert_eq!(read_all(&log, Offset(0), max_bytes), expect, "in pieces of {max_bytes}");
        }
        for from in (0..log.log_end_offset().0).step_by(7) {
            let seen = read_all(&log, Offset(from), 3000);
            let rest: Vec<_> = expect.iter().copied().filter(|batch| batch.1 >= from).collect();
            assert_eq!(seen, rest, "from {from}");
        }
        assert!(log.segment_count() > 1);
        dirs.close(-1);
    }
}

#[test]
fn a_reader_stops_at_the_limit_and_is_told_when_it_is_out_of_range() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, |_| {});
    for _ in 0..10 {
        append(&log, batch(5, 100, 0));
    }
    let read = |from: i64, limit: i64| log.read(Offset(from), Offset(limit), 1 << 20, true);
    assert_eq!(read(0, 25).unwrap().bytes, log.size_bytes() / 2);
    assert_eq!(read(25, 25).unwrap().bytes, 0);
    assert_eq!(read(30, 25).unwrap().bytes, 0);
    assert_eq!(read(50, 50).unwrap().bytes, 0);
    assert!(matches!(
        read(51, 60),
        Err(Error::OffsetOutOfRange { offset: Offset(51), start: Offset(0), end: Offset(50) })
    ));
    let one = log.read(Offset(0), Offset(50), 10, false).unwrap();
    assert_eq!(one.bytes, 0, "the first batch is larger than allowed");
    assert_eq!(log.read(Offset(0), Offset(50), 10, true).unwrap().bytes, log.size_bytes() / 10);
}

#[test]
fn synced_appends_take_zeros_ahead_and_a_clean_close_cuts_them() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, |_| {});
    let first = log.append(batch(1, 100, 0), how(true)).unwrap();
    assert_eq!(log.log_end_offset(), Offset(0), "not written before the disk's turn");
    assert!(dirs.drive_disks());
    assert_eq!(log.log_end_offset(), Offset(1));
    let file = bench.path().join("topic-0/00000000000000000000.log");
    assert!(file_len(&file) > log.size_bytes());
    for _ in 0..5 {
        log.append(batch(1, 100, 0), how(true)).unwrap();
    }
    dirs.drive_disks();
    assert_eq!(read_all(&log, Offset(0), 1 << 20).len(), 6);
    assert_eq!(first.end_offset, Offset(1));
    dirs.close(7);
    assert_eq!(file_len(&file), log.size_bytes());
    let text = std::fs::read_to_string(bench.path().join(".kafka_cleanshutdown")).unwrap();
    assert_eq!(text, "{\"version\":0,\"brokerEpoch\":7}");
    drop((log, dirs));
    let dirs = bench.open();
    assert_eq!(dirs.previous_broker_epoch(), Some(7));
    assert!(!bench.path().join(".kafka_cleanshutdown").exists());
}

#[test]
fn a_log_that_cooled_is_closed_without_the_zeros_ahead_and_goes_on_after_a_start() {
    let bench = Bench::new();
    let file = bench.path().join("topic-0/00000000000000000000.log");
    for round in 1..4 {
        let dirs = bench.open();
        let log = open_log(&dirs, |_| {});
        log.append(batch(1, 100, 0), how(true)).unwrap();
        assert!(dirs.drive_disks());
        assert_eq!(log.log_end_offset(), Offset(round), "the log goes on where it was");
        assert!(file_len(&file) > log.size_bytes());
        for _ in 0..10 {
            log.flush().unwrap();
            log.cool_if_idle().unwrap();
        }
        assert!(log.core.lock().warm.is_none(), "an idle log gives its memory back");
        assert_eq!(file_len(&file), log.size_bytes());
        dirs.close(-1);
        assert_eq!(file_len(&file), log.size_bytes());
        assert_eq!(read_all(&log, Offset(0), 1 << 20).len(), usize::try_from(round).unwrap());
    }
}

#[test]
fn zeros_behind_the_last_batch_of_a_cleanly_closed_log_are_cut_and_other_bytes_are_damage() {
    for (tail, is_space) in [(vec![0u8; 5000], true), (vec![1u8; 5000], false)] {
        let bench = Bench::new();
        let file = bench.path().join("topic-0/00000000000000000000.log");
        let dirs = bench.open();
        let log = open_log(&dirs, |_| {});
        append(&log, batch(3, 100, 0));
        let size = log.size_bytes();
        dirs.close(-1);
        drop((log, dirs));
        let mut bytes = std::fs::read(&file).unwrap();
        bytes.extend(tail);
        std::fs::write(&file, bytes).unwrap();
        let dirs = bench.open();
        let log = open_log(&dirs, |_| {});
        let appended = log.append(batch(1, 100, 0), how(false));
        assert_eq!(appended.is_ok(), is_space);
        if is_space {
            assert_eq!(read_all(&log, Offset(0), 1 << 20), [(0, 2), (3, 3)]);
            assert!(log.size_bytes() > size);
        }
    }
}

#[test]
fn where_a_file_became_shorter_readers_get_an_error_and_not_nothing() {
    let bench = Bench::new();
    let file = bench.path().join("topic-0/00000000000000000000.log");
    let dirs = bench.open();
    let log = open_log(&dirs, |_| {});
    for _ in 0..3 {
        append(&log, batch(1, 100, 0));
    }
    let whole = log.size_bytes();
    dirs.close(-1);
    drop((log, dirs));
    // In the middle of the last batch, and exactly before it.
    for length in [whole - 10, whole / 3 * 2] {
        std::fs::File::options().write(true).open(&file).unwrap().set_len(length).unwrap();
        let dirs = bench.open();
        let log = open_log(&dirs, |_| {});
        let read = |from: i64| log.read(Offset(from), Offset(3), 200, true);
        assert!(read(0).unwrap().bytes > 0, "what is whole is read");
        assert!(matches!(read(2), Err(Error::Damaged { .. })), "{length} of {whole} bytes");
        assert_eq!(
            log.read(Offset(2), Offset(2), 200, true).unwrap().bytes,
            0,
            "at the limit there is nothing"
        );
        dirs.close(-1);
    }
}

#[test]
fn a_partition_that_was_only_read_leaves_no_index_files() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, |_| {});
    assert!(log.producers().unwrap().is_empty(), "a question that loads the log");
    log.flush().unwrap();
    dirs.close(-1);
    let names = std::fs::read_dir(bench.path().join("topic-0")).unwrap();
    let names: Vec<_> = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.ends_with("index")), "{names:?}");
}

#[test]
fn after_a_kill_everything_written_is_there_and_zeros_ahead_are_cut() {
    let bench = Bench::new();
    let expect = {
        let dirs = bench.open();
        let log = open_log(&dirs, small);
        for number in 0..100 {
            log.append(batch(2, 150, number), how(number % 3 == 0)).unwrap();
            dirs.drive_disks();
        }
        read_all(&log, Offset(0), 1 << 20)
    };
    let dirs = bench.open();
    let log = open_log(&dirs, small);
    assert_eq!(read_all(&log, Offset(0), 1 << 20), expect);
    let last = log.segment_count();
    assert!(last > 1);
    let physical: u64 = std::fs::read_dir(bench.path().join("topic-0"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|kind| kind == "log"))
        .map(|path| file_len(&path))
        .sum();
    assert_eq!(physical, log.size_bytes());
}

#[tokio::test]
async fn both_engines_sync_and_confirm() {
    let bench = Bench::new();
    for io_uring in [false, true] {
        let mut settings = bench.settings.clone();
        settings.io_uring = io_uring;
        let (shutdown, metrics) = (Shutdown::new(), crate::metrics::Registry::new().log());
        let dirs = Dirs::open(
            bench.disk.clone(),
            bench.clock.clone(),
            shutdown,
            settings,
            Threads::Own,
            metrics.clone(),
        )
        .unwrap();
        let log = open_log(&dirs, |_| {});
        let before = log.log_end_offset();
        let mut waiting = Vec::new();
        for _ in 0..20 {
            waiting.push(log.append(batch(1, 100, 0), how(true)).unwrap());
        }
        for append in &waiting {
            log.synced(append).await.unwrap();
        }
        assert_eq!(log.log_end_offset(), Offset(before.0 + 20));
        let unsynced = append(&log, batch(1, 100, 0));
        log.written(&unsynced).await.unwrap();
        assert!(metrics.flush.count() > 0, "syncs are measured");
        assert!(metrics.written_bytes.get() > 21 * 100, "bytes are counted");
        assert!(!Ring::probe(&bench.disk, io_uring).name().is_empty());
        dirs.close(-1);
    }
}

#[test]
fn a_damaged_mark_of_a_clean_shutdown_means_recovery_not_refusal() {
    let bench = Bench::new();
    let dirs = bench.open();
    append(&open_log(&dirs, |_| {}), batch(3, 100, 0));
    dirs.close(7);
    let mark = bench.path().join(".kafka_cleanshutdown");
    std::fs::write(&mark, [0xff, 0xfe, 0]).unwrap();
    let dirs = bench.open();
    assert!(!mark.exists(), "the next start would trust it");
    assert_eq!(dirs.previous_broker_epoch(), None);
    assert_eq!(open_log(&dirs, |_| {}).log_end_offset(), Offset(3));
}

#[test]
fn a_partition_that_was_never_written_is_recovered_without_writing_a_file() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, |_| {});
    let folder = log.path();
    let names = || {
        let entries = std::fs::read_dir(&folder).unwrap();
        entries.map(|entry| entry.unwrap().file_name()).collect::<std::collections::BTreeSet<_>>()
    };
    let before = names();
    drop((log, dirs));
    let dirs = bench.open();
    assert_eq!(names(), before);
    let log = open_log(&dirs, |_| {});
    append(&log, batch(2, 100, 0));
    assert_eq!(log.log_end_offset(), Offset(2));
}

#[tokio::test]
async fn many_logs_close_together_and_none_is_left_out() {
    let bench = Bench::new();
    let dirs = Dirs::open(
        bench.disk.clone(),
        bench.clock.clone(),
        Shutdown::new(),
        bench.settings.clone(),
        Threads::Own,
        crate::metrics::Registry::new().log(),
    )
    .unwrap();
    for index in 0..40 {
        let log = dirs.open_log(&partition(index), TopicId::METADATA, config(|_| {})).unwrap();
        append(&log, batch(1, 100, 0));
    }
    dirs.close(3);
    assert!(bench.path().join(".kafka_cleanshutdown").exists());
    let points = std::fs::read_to_string(bench.path().join("recovery-point-offset-checkpoint")).unwrap();
    for index in 0..40 {
        assert!(points.contains(&format!("{TOPIC} {index} 1\n")), "{index} in {points}");
    }
}

#[test]
fn a_file_whose_first_write_failed_has_a_name_after_the_next_synced_append() {
    for (seed, step) in (0..4).flat_map(|seed| (0..8).map(move |step| (seed, step))) {
        let clock = SimClock::new();
        let disk = SimDisk::new(seed, clock.clone());
        let (dirs, log) = model::open(&disk, &clock);
        disk.fail_at(disk.operations() + step, Fault::Device);
        log.append(batch(1, 100, 0), how(false)).ok();
        dirs.drive_disks();
        disk.kill_process();
        disk.clear_faults();
        let (dirs, log) = model::open(&disk, &clock);
        let synced = log.append(batch(1, 100, 0), how(true)).unwrap();
        dirs.drive_disks();
        disk.crash();
        let (_dirs, log) = model::open(&disk, &clock);
        assert_eq!(log.log_end_offset(), synced.end_offset, "seed {seed}, fault at step {step}");
    }
}
