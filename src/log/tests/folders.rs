//! What stands in a data folder: foreign entries, locks, owners, deleted partitions, old segments, a full device.

use super::*;
use crate::io::disk::Open;
use crate::io::sim::Fault;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;
use crate::io::task;
use crate::log::layout;
use std::collections::BTreeSet;

fn names(path: &Path) -> BTreeSet<String> {
    std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn foreign_entries_are_left_alone() {
    let bench = Bench::new();
    bench.open().close(-1);
    for folder in ["lost+found", "..data", "foo", "bar-delete"] {
        std::fs::create_dir_all(bench.path().join(folder)).unwrap();
        std::fs::write(bench.path().join(folder).join("keep"), b"x").unwrap();
    }
    std::fs::write(bench.path().join("stray file"), b"x").unwrap();
    let before = names(&bench.path());
    let dirs = bench.open();
    assert!(dirs.found().is_empty());
    dirs.drive();
    dirs.close(-1);
    let after = names(&bench.path());
    assert_eq!(&before - &after, BTreeSet::new(), "nothing is removed");
    assert!(bench.path().join("bar-delete/keep").exists());
}

#[test]
fn a_topic_deleted_while_its_directory_is_offline_can_be_made_again() {
    let mut bench = Bench::new();
    bench.settings = settings(&[bench.folder.path().join("a"), bench.folder.path().join("b")]);
    let (first, second) = (TopicId::random(), TopicId::random());
    let dirs = bench.open();
    let log = dirs.create_log(&partition(0), first, config(small)).unwrap();
    append(&log, batch(3, 10, 1000));
    dirs.drive();
    let old = log.path();
    log.directory.fail("pulled out");
    dirs.delete_log(&partition(0)).unwrap();
    assert!(dirs.log(&partition(0)).is_none());
    let log = dirs.create_log(&partition(0), second, config(small)).unwrap();
    assert_ne!(log.path().parent(), old.parent());
    append(&log, batch(5, 10, 1000));
    dirs.drive();
    dirs.close(-1);

    let dirs = bench.open();
    let found = dirs.found();
    assert_eq!(found.len(), 2, "both directories work again: {found:?}");
    let stray = found.iter().find(|found| found.topic_id == Some(first)).unwrap();
    dirs.set_aside(stray).unwrap();
    assert!(!old.exists());
    let log = dirs.open_log(&partition(0), second, config(small)).unwrap();
    assert_eq!(log.log_end_offset(), Offset(5));
    dirs.close(-1);
}

#[tokio::test]
async fn a_broker_cannot_go_on_without_its_metadata_log_or_without_any_directory() {
    let mut bench = Bench::new();
    let folders = [bench.folder.path().join("a"), bench.folder.path().join("b")];
    bench.settings = settings(&folders);
    for (failing, told) in [(0, Some("metadata log")), (1, None)] {
        let dirs = bench.open();
        assert_eq!(dirs.why_unusable(), None);
        let waiting = dirs.clone();
        let waiting = task::spawn("waiting", async move { waiting.unusable().await });
        dirs.fail(failing);
        let reason = dirs.why_unusable();
        assert_eq!(reason.is_some(), told.is_some(), "{reason:?}");
        if let Some(told) = told {
            let reason = waiting.join().await.unwrap();
            assert!(reason.contains(told) && reason.contains("pulled out"), "{reason}");
        } else {
            dirs.fail(0);
            assert!(dirs.why_unusable().is_some());
            waiting.join().await.unwrap();
        }
        dirs.close(-1);
    }
    bench.settings.metadata_log_dir = folders[1].clone();
    let dirs = bench.open();
    dirs.fail(0);
    assert_eq!(dirs.why_unusable(), None);
    dirs.close(-1);
}

#[test]
fn nothing_is_made_where_a_directory_was_moved_away() {
    let bench = Bench::new();
    let dirs = bench.open();
    open_log(&dirs, |_| {});
    std::fs::rename(bench.path(), bench.folder.path().join("moved")).unwrap();
    let made = dirs.create_log(&partition(1), TopicId::random(), config(small));
    assert!(matches!(made, Err(Error::Offline { .. })), "{made:?}");
    assert!(!bench.path().exists());
    assert!(dirs.why_unusable().is_some());
    dirs.close(-1);
}

#[test]
fn a_deletion_that_the_last_process_did_not_come_to_is_finished() {
    let bench = Bench::new();
    let (gone, kept) = (TopicId::random(), TopicId::random());
    let dirs = bench.open();
    let paths = [(0, gone), (1, kept), (2, gone)].map(|(index, id)| {
        let log = dirs.create_log(&partition(index), id, config(small)).unwrap();
        append(&log, batch(3, 10, 1000));
        dirs.drive();
        log.path()
    });
    drop(dirs.log(&partition(0)));
    dirs.close(-1);

    let dirs = bench.open();
    dirs.finish_deletions(&BTreeSet::from([gone]));
    let found: Vec<TopicPartition> = dirs.found().into_iter().map(|found| found.partition).collect();
    assert_eq!(found, [partition(1)]);
    dirs.drive();
    assert_eq!(paths.map(|path| path.exists()), [false, true, false]);
    assert!(names(&bench.path()).iter().all(|name| !name.contains("-delete")), "{:?}", names(&bench.path()));
    dirs.close(-1);
}

#[test]
fn a_folder_that_was_not_made_to_its_end_is_not_kept_as_a_stray() {
    let bench = Bench::new();
    drop(bench.open());
    for (index, file) in
        [(0, None), (1, Some("partition.metadata.tmp")), (2, Some("00000000000000000000.log"))]
    {
        let path = bench.path().join(format!("topic-{index}"));
        std::fs::create_dir(&path).unwrap();
        if let Some(file) = file {
            std::fs::write(path.join(file), b"").unwrap();
        }
    }
    let dirs = bench.open();
    for found in dirs.found() {
        dirs.set_aside(&found).unwrap();
    }
    dirs.drive();
    let left: Vec<String> =
        names(&bench.path()).into_iter().filter(|name| name.starts_with("topic-")).collect();
    assert_eq!(left.len(), 1, "{left:?}");
    assert!(left[0].starts_with("topic-2.") && left[0].ends_with("-stray"), "{left:?}");
    dirs.close(-1);
}

#[test]
fn two_folders_of_one_partition_are_refused() {
    let mut bench = Bench::new();
    let (one, two) = (bench.folder.path().join("a"), bench.folder.path().join("b"));
    bench.settings = settings(&[one.clone(), two.clone()]);
    let dirs = bench.open();
    let path = dirs.create_log(&partition(0), TopicId::random(), config(small)).unwrap().path();
    dirs.close(-1);
    let other = if path.starts_with(&one) { two } else { one };
    let copy = other.join(path.file_name().unwrap());
    std::fs::create_dir(&copy).unwrap();
    let id = layout::PARTITION_METADATA;
    std::fs::copy(path.join(id), copy.join(id)).unwrap();
    assert!(matches!(bench.try_open(), Err(Error::Duplicate { .. })));
    std::fs::remove_file(copy.join(id)).unwrap();
    assert!(
        matches!(bench.try_open(), Err(Error::Duplicate { .. })),
        "without an id nobody knows whose it is"
    );
}

#[test]
fn directories_that_are_gone_keep_no_log() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = Arc::downgrade(&open_log(&dirs, |_| {}));
    assert!(log.upgrade().is_some());
    dirs.close(-1);
    drop(dirs);
    assert!(log.upgrade().is_none());
}

#[test]
fn a_second_instance_and_another_owner_are_refused() {
    let bench = Bench::new();
    let dirs = bench.open();
    assert!(matches!(bench.try_open(), Err(Error::Locked(_))));
    let cluster = dirs.cluster_id().to_owned();
    dirs.close(-1);
    let mut other = bench.settings.clone();
    other.node_id = BrokerId(2);
    let open = |settings: StorageSettings| {
        Dirs::open(
            bench.disk.clone(),
            bench.clock.clone(),
            Shutdown::new(),
            settings,
            Threads::Driven,
            crate::metrics::Registry::new().log(),
        )
    };
    assert!(matches!(open(other), Err(Error::Meta { .. })));
    let mut other = bench.settings.clone();
    other.cluster_id = Some("another".to_owned());
    assert!(matches!(open(other), Err(Error::Meta { .. })));
    assert_eq!(bench.open().cluster_id(), cluster);
}

#[test]
fn a_deleted_partition_goes_with_its_checkpoints_and_its_readers_keep_their_bytes() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, |config| config.file_delete_delay_ms = 0);
    for _ in 0..10 {
        append(&log, batch(1, 100, 0));
    }
    dirs.checkpoint_now();
    let slice = log.read(Offset(0), Offset(10), 1 << 20, true).unwrap().slices.remove(0);
    dirs.delete_log(&partition(0)).unwrap();
    assert!(matches!(log.append(batch(1, 100, 0), how(false)), Err(Error::Closed)));
    let left: Vec<String> =
        names(&bench.path()).into_iter().filter(|name| name.starts_with("topic")).collect();
    assert!(left.len() == 1 && left[0].ends_with("-delete"), "{left:?}");
    let mut bytes = vec![0; usize::try_from(slice.length).unwrap()];
    slice.file.read_exact_at(&mut bytes, slice.position).unwrap();
    let again = open_log(&dirs, |_| {});
    assert_eq!((again.log_end_offset(), again.recovery_point()), (Offset(0), Offset(0)));
    drop((again, log, dirs));
    let dirs = bench.open();
    dirs.drive();
    assert!(names(&bench.path()).iter().all(|name| !name.ends_with("-delete")));
    assert_eq!(open_log(&dirs, |_| {}).log_end_offset(), Offset(0), "nothing of the old one is inherited");
}

#[test]
fn a_log_that_retention_emptied_goes_on_at_its_end_after_a_crash() {
    for with_file in [true, false] {
        let bench = Bench::new();
        let dirs = bench.open();
        let log = open_log(&dirs, |config| config.retention_bytes = 0);
        for _ in 0..10 {
            append(&log, batch(1, 100, 1000));
        }
        log.set_high_watermark(log.log_end_offset());
        dirs.retain_now().unwrap();
        assert_eq!((log.log_start_offset(), log.log_end_offset()), (Offset(10), Offset(10)));
        if !with_file {
            // As on a device that was full: what tells the end are the checkpoint and the snapshot.
            dirs.drive();
            let empty = log.path().join("00000000000000000010.log");
            bench.disk.remove_file(&empty).unwrap();
        }
        drop((log, dirs));
        let dirs = bench.open();
        let log = open_log(&dirs, |_| {});
        assert_eq!((log.log_start_offset(), log.log_end_offset()), (Offset(10), Offset(10)), "{with_file}");
        assert_eq!(append(&log, batch(1, 100, 1000)).base_offset, Offset(10));
    }
}

#[test]
fn retention_removes_old_segments_up_to_the_high_watermark() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, |config| {
        small(config);
        config.retention_bytes = 30_000;
        config.retention_ms = -1;
    });
    for _ in 0..500 {
        append(&log, batch(1, 200, 5));
    }
    dirs.retain_now().unwrap();
    assert_eq!(log.log_start_offset(), Offset(0), "nothing is below the high watermark");
    log.set_high_watermark(log.log_end_offset());
    dirs.retain_now().unwrap();
    assert!(log.log_start_offset() > Offset(0));
    assert!(log.size_bytes() < 55_000 && log.size_bytes() >= 30_000, "{}", log.size_bytes());
    let start = log.log_start_offset();
    assert!(matches!(log.read(Offset(0), Offset(500), 100, true), Err(Error::OffsetOutOfRange { .. })));
    let middle = Offset(start.0 + 10);
    assert_eq!(log.delete_records(middle).unwrap(), middle);
    assert!(log.delete_records(Offset(501)).is_err());
    dirs.close(-1);
    drop((log, dirs));
    let log = open_log(&bench.open(), small);
    assert_eq!(log.log_start_offset(), middle);
}

#[test]
fn a_damaged_start_takes_no_record_away() {
    let kept = |config: &mut TopicConfig| {
        small(config);
        config.retention_ms = -1;
    };
    let starts = |text: &str| format!("0\n1\n{TOPIC} 0 {text}\n");
    // What the file says, whether the process died, where the log starts then: 12 is what was asked for, 100 its end.
    for (said, killed, expect) in [
        ("12", false, 12),
        ("12", true, 12),
        ("92", false, 12),
        ("92", true, 12),
        ("112", false, 12),
        ("112", true, 12),
        ("9223372036854775807", false, 12),
        ("9223372036854775807", true, 12),
        ("2", true, 2),
    ] {
        for with_epochs in [true, false] {
            let bench = Bench::new();
            let dirs = bench.open();
            let log = open_log(&dirs, kept);
            for _ in 0..100 {
                append(&log, batch(1, 500, 5));
            }
            log.set_high_watermark(log.log_end_offset());
            log.delete_records(Offset(12)).unwrap();
            if killed {
                dirs.checkpoint_now()
            } else {
                dirs.close(-1)
            }
            let folder = log.path();
            drop((log, dirs));
            let file = bench.path().join(layout::LOG_STARTS);
            assert_eq!(std::fs::read_to_string(&file).unwrap(), starts("12"));
            std::fs::write(&file, starts(said)).unwrap();
            if !with_epochs {
                std::fs::remove_file(folder.join(layout::LEADER_EPOCHS)).unwrap();
            }
            let dirs = bench.open();
            let log = open_log(&dirs, kept);
            let context = format!("{said}, killed {killed}, epochs {with_epochs}");
            // Nothing but the epochs contradicts a start before the end.
            let expect = match (with_epochs, said) {
                (false, "92") => 92,
                (false, "112" | "9223372036854775807") => 0,
                _ => expect,
            };
            assert_eq!((log.log_start_offset().0, log.log_end_offset().0), (expect, 100), "{context}");
            dirs.retain_now().unwrap();
            assert_eq!(read_all(&log, log.log_start_offset(), 5000).len() as i64, 100 - expect, "{context}");
            assert_eq!(append(&log, batch(1, 500, 5)).base_offset, Offset(100), "{context}");
        }
    }
}

#[test]
fn records_deleted_from_a_log_that_was_not_used_stay_deleted() {
    for killed in [true, false] {
        let bench = Bench::new();
        let dirs = bench.open();
        let log = open_log(&dirs, small);
        for _ in 0..20 {
            append(&log, batch(1, 500, 5));
        }
        log.set_high_watermark(log.log_end_offset());
        dirs.close(-1);
        drop((log, dirs));
        let dirs = bench.open();
        let log = open_log(&dirs, small);
        log.delete_records(Offset(12)).unwrap();
        if killed {
            dirs.checkpoint_now()
        } else {
            dirs.close(-1)
        }
        drop((log, dirs));
        let log = open_log(&bench.open(), small);
        assert_eq!((log.log_start_offset(), log.log_end_offset()), (Offset(12), Offset(20)), "{killed}");
    }
}

#[test]
fn a_log_that_lost_its_promised_end_begins_anew_at_its_start() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, small);
    for _ in 0..100 {
        append(&log, batch(1, 500, 5));
    }
    log.set_high_watermark(log.log_end_offset());
    log.delete_records(Offset(70)).unwrap();
    dirs.checkpoint_now();
    let folder = log.path();
    drop((log, dirs));
    let last_kept = "00000000000000000000.log";
    for name in names(&folder).into_iter().filter(|name| name.ends_with(".log") && name != last_kept) {
        std::fs::remove_file(folder.join(name)).unwrap();
    }
    let dirs = bench.open();
    let log = open_log(&dirs, small);
    assert_eq!((log.log_start_offset(), log.log_end_offset()), (Offset(70), Offset(70)));
}

#[test]
fn a_segment_that_cannot_be_renamed_stays_until_it_can_and_leaves_no_hole() {
    let mut struck = 0;
    for operation in 0..30 {
        let time = SimClock::new();
        let machine = SimDisk::new(operation, time.clone());
        let bench = Bench { disk: Disk::Sim(machine.clone()), clock: Clock::Sim(time), ..Bench::new() };
        bench.disk.create_dir_all(bench.folder.path()).unwrap();
        let dirs = bench.open();
        let set = |config: &mut TopicConfig| {
            small(config);
            (config.retention_bytes, config.retention_ms) = (5_000, -1);
        };
        let log = open_log(&dirs, set);
        let fill = || {
            for _ in 0..200 {
                append(&log, batch(1, 200, 5));
            }
            log.set_high_watermark(log.log_end_offset());
        };
        fill();
        machine.fail_at(machine.operations() + operation, Fault::Device);
        let outcome = dirs.retain_now();
        machine.clear_faults();
        if !machine.strikes().iter().any(|strike| strike.verb == "rename") {
            continue;
        }
        struck += usize::from(outcome.is_err());
        assert!(log.is_online());
        fill();
        dirs.retain_now().unwrap();
        let start = log.log_start_offset();
        assert!(start > Offset(200), "operation {operation}: the next run removes what stayed");
        machine.kill_process();
        drop((log, dirs));
        let dirs = bench.open();
        let log = open_log(&dirs, set);
        assert_eq!(
            (log.log_start_offset(), log.log_end_offset()),
            (start, Offset(400)),
            "operation {operation}"
        );
        assert_eq!(read_all(&log, start, 1 << 20).len(), usize::try_from(400 - start.0).unwrap());
    }
    assert!(struck > 1, "the renaming of {struck} logs failed");
}

#[test]
fn a_hole_in_what_was_promised_is_no_torn_end() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, small);
    let fill = || {
        for _ in 0..200 {
            append(&log, batch(1, 200, 5));
        }
    };
    fill();
    dirs.checkpoint_now();
    let promised = log.recovery_point();
    assert_eq!(promised, Offset(200));
    fill();
    let segments = log.view.load_full();
    let behind = segments.iter().position(|segment| segment.base > promised).unwrap();
    let next = segments[behind].base;
    for gone in &segments[1..behind] {
        for kind in layout::Kind::ALL {
            bench.disk.remove_file(&gone.path(kind)).unwrap_or_default();
        }
    }
    drop((log, dirs));
    let dirs = bench.open();
    let log = open_log(&dirs, small);
    assert_eq!(log.log_end_offset(), Offset(400));
    assert_eq!(read_all(&log, next, 1 << 20).len(), usize::try_from(400 - next.0).unwrap());
}

#[test]
fn a_segment_that_recovery_was_renaming_is_recovered_with_its_torn_end() {
    for tail in [&[0; 5000][..], &[7; 300]] {
        let bench = Bench::new();
        let dirs = bench.open();
        let log = open_log(&dirs, |_| {});
        for _ in 0..20 {
            append(&log, batch(1, 200, 5));
        }
        dirs.drive_disks();
        let path = log.active_segment().path(layout::Kind::Log);
        let (size, aside) = (log.size_bytes(), path.with_extension("log.swap"));
        drop((log, dirs));
        bench.disk.rename(&path, &aside).unwrap();
        bench.disk.open(&aside, Open::ReadWrite).unwrap().write_at(tail, size).unwrap();
        let dirs = bench.open();
        let log = open_log(&dirs, |_| {});
        assert_eq!(log.log_end_offset(), Offset(20));
        assert_eq!((log.size_bytes(), file_len(&path)), (size, size));
        assert!(!aside.exists());
    }
}

#[test]
fn a_timestamp_leads_to_the_first_record_at_or_after_it() {
    let bench = Bench::new();
    let dirs = bench.open();
    let log = open_log(&dirs, small);
    for number in 0..300 {
        append(&log, batch(2, 200, 1000 + number * 10));
    }
    for reopened in [false, true] {
        let dirs = if reopened {
            dirs.close(-1);
            Some(bench.open())
        } else {
            None
        };
        let log = dirs.as_ref().map_or_else(|| log.clone(), |dirs| open_log(dirs, small));
        for (timestamp, offset) in [(0, 0), (1000, 0), (1001, 2), (2005, 202), (3990, 598)] {
            let found = log.offset_for_time(Timestamp(timestamp), Offset(600)).unwrap();
            let found = found.unwrap_or_else(|| panic!("nothing at {timestamp}, reopened {reopened}"));
            assert_eq!((found.offset, found.epoch), (Offset(offset), LeaderEpoch(3)), "at {timestamp}");
        }
        assert_eq!(log.offset_for_time(Timestamp(3991), Offset(600)).unwrap(), None);
        assert_eq!(log.offset_for_time(Timestamp(3990), Offset(598)).unwrap(), None, "beyond the limit");
        assert_eq!(log.max_timestamp(Offset(600)).unwrap().unwrap().offset, Offset(598));
    }
}

#[test]
fn a_full_device_fails_appends_and_recovers_without_a_restart() {
    let clock = SimClock::new();
    let disk = SimDisk::new(1, clock.clone());
    let open = || {
        let mut settings = settings(&[PathBuf::from("/a")]);
        settings.metadata_log_dir = PathBuf::from("/a");
        let (disk, clock) = (Disk::Sim(disk.clone()), Clock::Sim(clock.clone()));
        Dirs::open(
            disk,
            clock,
            Shutdown::new(),
            settings,
            Threads::Driven,
            crate::metrics::Registry::new().log(),
        )
        .unwrap()
    };
    let dirs = open();
    let log = open_log(&dirs, |_| {});
    append(&log, batch(3, 100, 0));
    disk.set_capacity(0);
    append(&log, batch(3, 100, 0));
    assert_eq!(log.log_end_offset(), Offset(3), "taken back");
    assert!(log.is_online());
    assert_eq!(read_all(&log, Offset(0), 1000), vec![(0, 2)], "reads go on");
    let (topic, config) = (TopicId::random(), config(|_| {}));
    let refused = dirs.create_log(&partition(7), topic, config.clone()).unwrap_err();
    assert!(refused.may_pass(), "{refused}");
    disk.set_capacity(1 << 30);
    dirs.create_log(&partition(7), topic, config).unwrap();
    assert_eq!(append(&log, batch(1, 100, 0)).base_offset, Offset(3));
    assert_eq!(read_all(&log, Offset(0), 1000), vec![(0, 2), (3, 3)]);
    disk.fail_at(disk.operations(), Fault::Device);
    append(&log, batch(1, 100, 0));
    assert!(!log.is_online(), "a broken device takes the directory offline");
    assert!(matches!(log.append(batch(1, 10, 0), how(false)), Err(Error::Offline { .. })));
}

#[test]
fn a_flush_that_is_due_by_time_comes_though_the_wall_clock_steps_back() {
    let clock = SimClock::new();
    let mut settings = settings(&[PathBuf::from("/a")]);
    settings.metadata_log_dir = PathBuf::from("/a");
    settings.flush_scheduler_interval_ms = 100;
    settings.initial_task_delay_ms = 0;
    let dirs = Dirs::open(
        Disk::Sim(SimDisk::new(1, clock.clone())),
        Clock::Sim(clock.clone()),
        Shutdown::new(),
        settings,
        Threads::Driven,
        crate::metrics::Registry::new().log(),
    )
    .unwrap();
    let log = open_log(&dirs, |config| config.flush_ms = 1000);
    append(&log, batch(3, 100, 0));
    clock.set_wall(Timestamp(-3_600_000));
    clock.advance(std::time::Duration::from_millis(900));
    dirs.drive();
    assert_eq!(log.recovery_point(), Offset(0), "not yet");
    clock.advance(std::time::Duration::from_millis(200));
    dirs.drive();
    assert_eq!(log.recovery_point(), Offset(3));
}

#[test]
fn a_partition_deleted_on_a_full_device_leaves_nothing_to_the_next_one_of_its_name() {
    let clock = SimClock::new();
    let disk = SimDisk::new(1, clock.clone());
    let (dirs, log) = model::open(&disk, &clock);
    for _ in 0..5 {
        append(&log, batch(1, 100, 0));
    }
    dirs.checkpoint_now();
    let checkpoint = PathBuf::from("/a").join(layout::RECOVERY_POINTS);
    let stands_in_it = || {
        let files: std::collections::BTreeMap<_, _> = disk.files().into_iter().collect();
        String::from_utf8(files[&checkpoint].clone()).unwrap().contains("topic 0 5")
    };
    assert!(stands_in_it());
    disk.set_capacity(0);
    assert!(dirs.delete_log(&partition(0)).is_err_and(|error| error.may_pass()));
    disk.set_capacity(1 << 30);
    dirs.create_log(&partition(0), TopicId::METADATA, config(|_| {})).unwrap();
    assert!(!stands_in_it(), "a new log would be trusted up to the old one's recovery point");
}
