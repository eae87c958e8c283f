//! The log against a plain list of batches, under append, roll, kill, close, reopen, truncation, deletion and reads.

use super::*;
use crate::io::sim::SimClock;
use crate::io::sim::SimDisk;
use proptest::prelude::Just;
use proptest::prelude::Strategy;
use proptest::prop_oneof;
use proptest::proptest;

#[derive(Clone, Debug)]
enum Step {
    Append { count: i32, size: usize, sync: bool, hold: bool },
    Checkpoint,
    Kill,
    Close,
    Truncate { back: usize },
    DeleteRecords { ahead: usize },
    Retain,
    Read { from: usize, max_bytes: usize },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let append = (1..5i32, 1..900usize, proptest::bool::ANY, proptest::bool::ANY)
        .prop_map(|(count, size, sync, hold)| Step::Append { count, size, sync, hold });
    let step = prop_oneof![
        12 => append,
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Kill),
        1 => Just(Step::Close),
        1 => (0..8usize).prop_map(|back| Step::Truncate { back }),
        1 => (0..8usize).prop_map(|ahead| Step::DeleteRecords { ahead }),
        1 => Just(Step::Retain),
        3 => (0..100usize, 1..9000usize).prop_map(|(from, max_bytes)| Step::Read { from, max_bytes }),
    ];
    proptest::collection::vec(step, 1..80)
}

struct Model {
    disk: SimDisk,
    clock: SimClock,
    dirs: Dirs,
    log: Arc<Log>,
    /// Base and last offset of every batch.
    batches: Vec<(i64, i64)>,
}

pub(super) fn open(disk: &SimDisk, clock: &SimClock) -> (Dirs, Arc<Log>) {
    let (disk, clock) = (Disk::Sim(disk.clone()), Clock::Sim(clock.clone()));
    let settings = settings(&[PathBuf::from("/a")]);
    let dirs = Dirs::open(
        disk,
        clock,
        Shutdown::new(),
        settings,
        Threads::Driven,
        crate::metrics::Registry::new().log(),
    )
    .unwrap();
    let log = open_log(&dirs, |config| {
        config.segment_bytes = 5000;
        config.index_interval_bytes = 400;
        config.retention_ms = -1;
    });
    (dirs, log)
}

impl Model {
    fn new() -> Model {
        let clock = SimClock::new();
        let disk = SimDisk::new(7, clock.clone());
        let (dirs, log) = open(&disk, &clock);
        Model { disk, clock, dirs, log, batches: Vec::new() }
    }

    fn apply(&mut self, step: &Step) {
        match *step {
            Step::Append { count, size, sync, hold } => {
                for _ in 0..if hold { 3 } else { 1 } {
                    let base = self.batches.last().map_or(0, |last| last.1 + 1);
                    let how = Append { hold, ..how(sync) };
                    let appended = self.log.append(batch(count, size, base), how).unwrap();
                    assert_eq!(appended.base_offset, Offset(base));
                    self.batches.push((base, base + i64::from(count) - 1));
                }
                if hold {
                    self.log.write_held();
                }
                self.dirs.drive_disks();
            }
            Step::Checkpoint => self.dirs.checkpoint_now(),
            Step::Kill => {
                self.disk.kill_process();
                self.reopen();
            }
            Step::Close => {
                self.dirs.close(-1);
                self.reopen();
            }
            Step::Truncate { back } => {
                let keep = self.batches.len().saturating_sub(back);
                let to =
                    self.batches.get(keep).map_or_else(|| self.log.log_end_offset(), |gone| Offset(gone.0));
                if to >= self.log.log_start_offset() {
                    self.log.truncate_to(to).unwrap();
                    self.batches.truncate(keep);
                }
            }
            Step::DeleteRecords { ahead } => {
                self.log.set_high_watermark(self.log.log_end_offset());
                let before = self.batches.get(ahead).map_or(Offset(0), |batch| Offset(batch.0));
                let start = self.log.log_start_offset();
                assert_eq!(self.log.delete_records(before).unwrap(), before.max(start));
            }
            Step::Retain => self.dirs.retain_now().unwrap(),
            Step::Read { from, max_bytes } => {
                let from = self.batches.get(from).map_or(0, |batch| batch.0);
                self.check(Offset(from), max_bytes);
            }
        }
        let end = self.batches.last().map_or(0, |last| last.1 + 1);
        assert_eq!(self.log.log_end_offset(), Offset(end));
    }

    fn reopen(&mut self) {
        (self.dirs, self.log) = open(&self.disk, &self.clock);
        self.check(Offset(0), 700);
    }

    fn check(&self, from: Offset, max_bytes: usize) {
        let from = from.max(self.log.log_start_offset());
        let expect: Vec<_> = self.batches.iter().copied().filter(|batch| batch.1 >= from.0).collect();
        assert_eq!(read_all(&self.log, from, max_bytes), expect);
    }
}

proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(64))]
    #[test]
    fn the_log_is_the_list_of_its_batches(steps in steps()) {
        let mut model = Model::new();
        for step in &steps {
            model.apply(step);
        }
        model.check(Offset(0), 1 << 20);
    }
}

#[tokio::test]
async fn held_appends_are_written_together_and_by_whoever_writes_next() {
    let clock = SimClock::new();
    let disk = SimDisk::new(7, clock.clone());
    let (_dirs, log) = open(&disk, &clock);
    append(&log, batch(1, 100, 0));
    let hold = || log.append(batch(2, 100, 0), Append { hold: true, ..how(false) }).unwrap();
    let before = disk.operations();
    let held = [hold(), hold(), hold()];
    assert_eq!(held.map(|appended| appended.base_offset.0), [1, 3, 5], "places are given at once");
    assert_eq!((log.log_end_offset(), disk.operations()), (Offset(1), before), "nothing is written yet");
    log.write_held();
    assert_eq!((log.log_end_offset(), disk.operations()), (Offset(7), before + 1), "in one write");
    for appended in &held {
        log.written(appended).await.unwrap();
    }
    log.write_held();
    assert_eq!(disk.operations(), before + 1, "nothing is left to write");
    let held = hold();
    append(&log, batch(1, 100, 0));
    assert_eq!((log.log_end_offset(), disk.operations()), (Offset(10), before + 2));
    log.written(&held).await.unwrap();
    assert_eq!(read_all(&log, Offset(0), 1 << 20), [(0, 0), (1, 2), (3, 4), (5, 6), (7, 8), (9, 9)]);
}
