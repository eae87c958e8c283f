//! Logs that move to another directory, also when the power goes in between.

use super::*;
use crate::io::sim::Fault;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;

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
    let log = open_log(dirs, small);
    for number in 0..10 {
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
    relocation.finish()
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
    let moved = relocation.finish().unwrap();
    assert_ne!(moved.directory_id(), log.directory_id());
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
    let moved = relocation.finish().unwrap();
    assert_eq!(moved.log_start_offset(), log.log_start_offset());
    assert_eq!(read_all(&moved, moved.log_start_offset(), 5000), kept);
    assert_eq!(moved.segment_count(), log.segment_count());
}

#[test]
fn a_failure_of_the_other_directory_leaves_the_log_where_it_is() {
    let machine = Machine::new(3);
    let dirs = machine.open().unwrap();
    let log = filled(&dirs);
    let relocation = dirs.begin_move(&partition(0), other(&dirs, &log)).unwrap();
    while relocation.copy_some(10_000).unwrap() > 0 {}
    dirs.drive();
    // The third operation of what is left to do is in the copy.
    machine.disk.fail_at(machine.disk.operations() + 12, Fault::NoSpace);
    let kept = relocation.finish().unwrap();
    machine.disk.clear_faults();
    assert_eq!((kept.directory_id(), kept.log_end_offset()), (log.directory_id(), Offset(101)));
    append(&kept, batch(1, 1, 4000));
    dirs.drive();
    assert_eq!(read_all(&kept, Offset(0), 5000).len(), 12);
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
        let unfinished = dirs.unfinished_moves();
        assert!(unfinished.len() <= 1, "cut at {operation}");
        let log = open_log(&dirs, small);
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
