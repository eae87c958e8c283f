//! Logs that move to another directory, also when the power goes in between.

use super::*;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::io::disk::Open;
use crate::io::sim::Fault;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;
use crate::log::FirstBatch;
use crate::log::Relocation;
use crate::log::layout::Kind;

struct Machine {
    disk: SimDisk,
    clock: SimClock,
}

impl Machine {
    fn new(seed: u64) -> Machine {
        let clock = SimClock::new();
        Machine { disk: SimDisk::new(seed, clock.clone()), clock }
    }

    fn open(&self) -> Result<Dirs, Error> {
        Dirs::open(
            Disk::Sim(self.disk.clone()),
            Clock::Sim(self.clock.clone()),
            Shutdown::new(),
            settings(&[PathBuf::from("/a"), PathBuf::from("/b")]),
            Threads::Driven,
            crate::metrics::Registry::new().log(),
        )
    }

    /// The folders of the partition that have its own name.
    fn folders(&self) -> Vec<PathBuf> {
        let inside = |(path, _): (PathBuf, Vec<u8>)| path.parent().map(Path::to_path_buf);
        let mut folders: Vec<PathBuf> = self.disk.files().into_iter().filter_map(inside).collect();
        folders.retain(|folder| folder.ends_with("topic-0"));
        folders.sort();
        folders.dedup();
        folders
    }
}

/// Ten batches over several segments, all on disk, with a producer that is remembered.
fn filled(dirs: &Dirs) -> Arc<Log> {
    filled_with(dirs, 10)
}

fn filled_with(dirs: &Dirs, batches: i64) -> Arc<Log> {
    let log = open_log(dirs, small);
    for number in 0..batches {
        append(&log, batch(10, 600, 1000 + number));
        dirs.drive();
    }
    append(&log, idempotent(1, 0, 0));
    dirs.drive();
    log.flush().unwrap();
    log.set_high_watermark(log.log_end_offset());
    log
}

fn other(dirs: &Dirs, log: &Log) -> crate::log::DirectoryId {
    *dirs.online().iter().find(|id| **id != log.directory_id()).unwrap()
}

fn move_all(dirs: &Dirs, log: &Log) -> Result<Arc<Log>, Error> {
    let relocation = dirs.begin_move(&partition(0), other(dirs, log))?;
    while relocation.copy_some(10_000)? > 0 {}
    dirs.drive();
    finish(&relocation, log)
}

fn finish(relocation: &Relocation, log: &Log) -> Result<Arc<Log>, Error> {
    let moved = relocation.finish()?;
    relocation.clear_away(log);
    Ok(moved)
}

#[test]
fn a_moved_log_goes_on_where_it_was_and_nothing_is_left_behind() {
    let machine = Machine::new(1);
    let dirs = machine.open().unwrap();
    let log = filled(&dirs);
    let (before, producers) = (read_all(&log, Offset(0), 5000), log.producers().unwrap());
    let relocation = dirs.begin_move(&partition(0), other(&dirs, &log)).unwrap();
    assert!(relocation.copy_some(1000).unwrap() > 0);
    let described = dirs.describe();
    let futures: Vec<_> =
        described.iter().flat_map(|one| &one.logs).filter(|log| log.behind.is_some()).collect();
    assert!(matches!(futures.as_slice(), [one] if one.behind > Some(0) && one.bytes == 1000), "{futures:?}");
    while relocation.copy_some(10_000).unwrap() > 0 {}
    append(&log, batch(5, 100, 3000));
    dirs.drive();
    let moved = finish(&relocation, &log).unwrap();
    assert_ne!(moved.directory_id(), log.directory_id());
    assert!(log.is_online(), "nothing has failed");
    assert!(dirs.describe().iter().flat_map(|one| &one.logs).all(|log| log.behind.is_none()));
    assert!(matches!(log.append(batch(1, 1, 1), how(false)), Err(Error::Closed)));
    assert_eq!(moved.high_watermark(), Offset(101));
    let mut expect = before;
    expect.push((101, 105));
    assert_eq!(read_all(&moved, Offset(0), 5000), expect);
    assert_eq!(moved.producers().unwrap().len(), producers.len());
    append(&moved, batch(1, 1, 4000));
    dirs.drive();
    assert_eq!(machine.folders(), [moved.path().to_path_buf()]);
    let back = move_all(&dirs, &moved).unwrap();
    assert_eq!((back.path(), back.log_end_offset()), (log_path(&log), Offset(107)));
    dirs.close(-1);
    let again = open_log(&machine.open().unwrap(), small);
    assert_eq!((again.path(), again.log_end_offset()), (back.path(), Offset(107)));
}

fn log_path(log: &Log) -> Arc<Path> {
    // Its folder was renamed when it went; the name it had is the partition's.
    log.directory.path.join(partition(0).to_string()).into()
}

#[test]
fn a_log_that_moves_is_described_in_one_directory_at_any_time() {
    let machine = Machine::new(3);
    let dirs = machine.open().unwrap();
    let log = filled(&dirs);
    std::thread::scope(|scope| {
        let moving = scope.spawn(|| (0..50).fold(log, |log, _| move_all(&dirs, &log).unwrap()));
        while !moving.is_finished() {
            let described = dirs.describe();
            let places = described.iter().flat_map(|one| &one.logs);
            assert_eq!(places.filter(|log| log.behind.is_none()).count(), 1, "{described:?}");
        }
        moving.join().unwrap();
    });
}

#[test]
fn who_is_inside_is_waited_for_and_who_comes_later_finds_the_log_in_its_new_place() {
    let machine = Machine::new(1);
    let dirs = machine.open().unwrap();
    let log = filled(&dirs);
    let first = FirstBatch { id: ProducerId(77), epoch: ProducerEpoch(0), sequence: 0, joins: false };
    let guard = log.verify(first).unwrap();
    let relocation = dirs.begin_move(&partition(0), other(&dirs, &log)).unwrap();
    while relocation.copy_some(10_000).unwrap() > 0 {}
    let entry = log.enter().unwrap();
    std::thread::scope(|scope| {
        let moving = scope.spawn(|| relocation.finish().unwrap());
        while log.enter().is_some() {}
        append(&log, batch(1, 1, 4000));
        drop(entry);
        let moved = moving.join().unwrap();
        assert_eq!(moved.log_end_offset(), log.log_end_offset(), "what was appended inside is there");
        assert_eq!(moved.verify(first).unwrap(), guard, "a verification goes on");
        assert!(log.enter().is_none());
        let mut opened = std::pin::pin!(log.opened());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(opened.as_mut().poll(&mut context).is_pending());
        relocation.clear_away(&log);
        assert!(opened.as_mut().poll(&mut context).is_ready());
        assert!(moved.enter().is_some());
    });
}

#[test]
fn what_went_on_in_the_directory_that_a_log_left_is_set_aside_and_not_deleted() {
    let machine = Machine::new(1);
    let dirs = machine.open().unwrap();
    let log = filled(&dirs);
    let relocation = dirs.begin_move(&partition(0), other(&dirs, &log)).unwrap();
    while relocation.copy_some(10_000).unwrap() > 0 {}
    // The process ends before the old folder is taken away.
    let moved = relocation.finish().unwrap();
    let (old, new) = (log.path().to_path_buf(), moved.path().to_path_buf());
    let last = log.active_segment().path(Kind::Log);
    dirs.close(-1);
    let disk = Disk::Sim(machine.disk.clone());
    // A start without the other directory goes on where the log was.
    let file = disk.open(&last, Open::ReadWrite).unwrap();
    file.write_at(batch(1, 1, 5000).bytes(), file.len().unwrap()).unwrap();
    drop((log, moved, relocation, dirs));
    let dirs = machine.open().unwrap();
    assert_eq!(*open_log(&dirs, small).path(), *new);
    dirs.drive();
    let parent = old.parent().unwrap();
    let left: Vec<String> =
        disk.list(parent).unwrap().iter().map(|entry| entry.name.to_string_lossy().into_owned()).collect();
    assert!(
        left.iter().any(|name| name.ends_with("-stray")) && !left.contains(&"topic-0".to_owned()),
        "{left:?}"
    );
}

#[test]
fn compaction_or_retention_in_between_are_followed() {
    let machine = Machine::new(2);
    let dirs = machine.open().unwrap();
    let log = filled(&dirs);
    let relocation = dirs.begin_move(&partition(0), other(&dirs, &log)).unwrap();
    while relocation.copy_some(10_000).unwrap() > 0 {}
    log.delete_records(Offset(75)).unwrap();
    log.set_config(config(|config| {
        small(config);
        config.retention_bytes = 1;
    }));
    dirs.retain_now().unwrap();
    dirs.drive();
    let kept = read_all(&log, log.log_start_offset(), 5000);
    let moved = finish(&relocation, &log).unwrap();
    assert_eq!(moved.log_start_offset(), log.log_start_offset());
    assert_eq!(read_all(&moved, moved.log_start_offset(), 5000), kept);
    assert_eq!(moved.segment_count(), log.segment_count());
}

#[test]
fn whatever_fails_when_the_copy_takes_its_place_the_log_goes_on() {
    const OPERATIONS: u64 = 200;
    let faults = [Fault::NoSpace, Fault::Device].into_iter();
    let mut failures = 0;
    for (fault, operation) in faults.flat_map(|fault| (0..OPERATIONS).map(move |at| (fault, at))) {
        let machine = Machine::new(operation);
        let dirs = machine.open().unwrap();
        let log = filled(&dirs);
        let relocation = dirs.begin_move(&partition(0), other(&dirs, &log)).unwrap();
        while relocation.copy_some(10_000).unwrap() > 0 {}
        // The files do not say all of it.
        append(&log, batch(5, 100, 3000));
        dirs.drive();
        machine.disk.fail_at(machine.disk.operations() + operation, fault);
        let finished = finish(&relocation, &log);
        let strikes = machine.disk.strikes();
        machine.disk.clear_faults();
        let at = format!("{strikes:?}");
        let in_old = strikes.iter().any(|strike| strike.path.starts_with(&log.directory.path));
        let needs_room = strikes.iter().any(|strike| ["write", "set_len"].contains(&strike.verb));
        assert!(finished.is_ok() || !(in_old && needs_room), "a full directory can be left: {at}");
        let now = dirs.log(&partition(0)).unwrap();
        assert!(Arc::ptr_eq(&now, finished.as_ref().unwrap_or(&log)), "{at}");
        let now = if now.is_online() {
            now
        } else {
            assert!(fault == Fault::Device || !needs_room, "{at}");
            dirs.close(-1);
            drop((relocation, finished, log, now, dirs));
            open_log(&machine.open().unwrap(), small)
        };
        append(&now, batch(1, 1, 4000));
        now.directory.drive();
        assert_eq!(read_all(&now, Offset(0), 5000).last(), Some(&(106, 106)), "{at}");
        failures += strikes.len();
        assert!(operation + 1 < OPERATIONS || strikes.is_empty(), "there are more operations: {at}");
    }
    assert!(failures > 140, "{failures}");
}

#[test]
fn next_to_nothing_is_left_to_do_when_the_copy_takes_its_place() {
    let operations = |batches| {
        let machine = Machine::new(1);
        let dirs = machine.open().unwrap();
        let log = filled_with(&dirs, batches);
        let relocation = dirs.begin_move(&partition(0), other(&dirs, &log)).unwrap();
        while relocation.copy_some(10_000).unwrap() > 0 {}
        let before = machine.disk.operations();
        finish(&relocation, &log).unwrap();
        (log.segment_count(), machine.disk.operations() - before)
    };
    let (few, many) = (operations(10), operations(80));
    assert!(many.0 > few.0 + 10, "{few:?} {many:?}");
    assert_eq!(few.1, many.1);
}

#[test]
fn what_follows_where_a_segment_was_cut_after_it_was_copied_is_in_the_copy() {
    let machine = Machine::new(1);
    let dirs = machine.open().unwrap();
    let log = filled(&dirs);
    let (active, size) = (log.active_segment(), log.active_segment().size());
    dirs.close(-1);
    let disk = Disk::Sim(machine.disk.clone());
    let file = disk.open(&active.path(Kind::Log), Open::ReadWrite).unwrap();
    file.write_at(&[0; 5000], size).unwrap();
    drop((log, active, dirs));
    let dirs = machine.open().unwrap();
    let log = open_log(&dirs, small);
    let relocation = dirs.begin_move(&partition(0), other(&dirs, &log)).unwrap();
    while relocation.copy_some(10_000).unwrap() > 0 {}
    for number in 0..2 {
        append(&log, batch(3, 1000, 2000 + number));
    }
    let before = read_all(&log, Offset(0), 5000);
    while relocation.copy_some(10_000).unwrap() > 0 {}
    let moved = finish(&relocation, &log).unwrap();
    assert_eq!(read_all(&moved, Offset(0), 5000), before);
}

#[test]
fn a_copy_that_is_given_up_goes_and_one_that_is_not_is_begun_anew() {
    let machine = Machine::new(1);
    let futures = || {
        let files = machine.disk.files().into_iter();
        let is_future = |path: &PathBuf| path.to_string_lossy().contains("-future");
        files.map(|(path, _)| path).filter(is_future).count()
    };
    let dirs = machine.open().unwrap();
    let log = filled(&dirs);
    let relocation = dirs.begin_move(&partition(0), other(&dirs, &log)).unwrap();
    while relocation.copy_some(10_000).unwrap() > 0 {}
    relocation.give_up();
    assert!(matches!(relocation.finish(), Err(Error::Closed)));
    assert!(dirs.describe().iter().flat_map(|one| &one.logs).all(|log| log.behind.is_none()));
    assert_eq!(futures(), 0, "the next start would begin it anew");
    dirs.drive();
    assert!(machine.disk.files().iter().all(|(path, _)| !path.to_string_lossy().contains("-delete")));
    drop(relocation);
    append(&log, batch(1, 1, 4000));
    let target = other(&dirs, &log);
    drop(dirs.begin_move(&partition(0), target).unwrap());
    dirs.close(-1);
    drop((log, dirs));
    let dirs = machine.open().unwrap();
    let log = open_log(&dirs, small);
    let resumed = dirs.resume_moves();
    assert!(matches!(resumed.as_slice(), [one] if one.target() == target));
    while resumed[0].copy_some(10_000).unwrap() > 0 {}
    assert_eq!(finish(&resumed[0], &log).unwrap().log_end_offset(), log.log_end_offset());
}

#[test]
fn whenever_the_power_goes_the_log_is_whole_and_in_one_place() {
    let mut cuts = 0;
    for operation in 0.. {
        let machine = Machine::new(operation);
        let dirs = machine.open().unwrap();
        let log = filled(&dirs);
        dirs.checkpoint_now();
        machine.disk.fail_at(machine.disk.operations() + operation, Fault::PowerCut);
        let moved = move_all(&dirs, &log);
        let done = machine.disk.strikes().is_empty();
        drop((moved, log));
        drop(dirs);
        machine.disk.crash();
        machine.disk.clear_faults();
        let dirs = machine.open().unwrap_or_else(|error| panic!("cut at {operation}: {error}"));
        let log = open_log(&dirs, small);
        assert!(dirs.resume_moves().len() <= 1, "cut at {operation}");
        assert_eq!(log.log_end_offset(), Offset(101), "cut at {operation}");
        let read: i64 = read_all(&log, Offset(0), 5000).iter().map(|(first, last)| last - first + 1).sum();
        assert_eq!(read, 101, "cut at {operation}");
        dirs.drive();
        assert_eq!(machine.folders(), [log.path().to_path_buf()], "cut at {operation}");
        if done {
            break;
        }
        cuts += 1;
    }
    assert!(cuts > 40, "{cuts}");
}
