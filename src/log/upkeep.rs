//! Work in the background: closed segments' files, checkpoints, retention, expiry, removal of what was deleted.

use crate::base::Instant;
use crate::base::Timestamp;
use crate::config::StorageSettings;
use crate::io::SteadyWall;
use crate::log::Log;
use crate::log::directory::Directory;
use crate::log::directory::Trash;
use crate::log::dirs::Inner;
use crate::log::error::Error;
use crate::log::home::Home;
use crate::log::layout::Kind;
use std::io;
use std::path::Path;
use std::time::Duration;

/// How soon the file of recovery points follows a flush that a log asked for: until then a crash goes through what was
/// flushed once more.
const RECOVERY_POINTS_AFTER_FLUSH: Duration = Duration::from_secs(1);

/// A kind of work that comes due again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    /// `flush.ms`
    Flush,
    RecoveryPoints,
    LogStarts,
    HighWatermarks,
    Producers,
}

/// When something comes due again and again.
#[derive(Debug)]
struct Due {
    interval: Duration,
    next: Instant,
}

impl Due {
    /// Whether it is due; then it is put off by its interval.
    fn take(&mut self, now: Instant) -> bool {
        let due = self.next <= now;
        if due {
            self.next = now.plus(self.interval);
        }
        due
    }
}

/// When each job is due next.
#[derive(Debug)]
pub(crate) struct Schedule {
    jobs: Vec<(Job, Due)>,
    /// Not one of the jobs, because it does not wait for them.
    retention: Due,
    /// The file of recovery points after flushes that logs asked for; never due when there were none.
    moved: Option<Instant>,
    steady: SteadyWall,
}

impl Schedule {
    /// The first runs come `log.initial.task.delay.ms` and then an interval from now; that of producers, which belongs
    /// to a log and not to the broker in Kafka (`UnifiedLog`), an interval from now.
    pub(crate) fn new(settings: &StorageSettings, now: Instant) -> Schedule {
        let ms = |value: i64| Duration::from_millis(u64::try_from(value).unwrap_or(0).max(1));
        let first = now.plus(ms(settings.initial_task_delay_ms));
        let due = |interval: Duration| Due { interval, next: first.plus(interval) };
        let jobs = [
            (Job::Flush, settings.flush_scheduler_interval_ms),
            (Job::RecoveryPoints, i64::from(settings.recovery_point_interval_ms)),
            (Job::LogStarts, i64::from(settings.start_offset_interval_ms)),
            (Job::HighWatermarks, settings.high_watermark_interval_ms),
        ];
        let producers = ms(i64::from(settings.producer_id_expiration_check_interval_ms));
        let producers = (Job::Producers, Due { interval: producers, next: now.plus(producers) });
        let jobs =
            jobs.into_iter().map(|(job, interval)| (job, due(ms(interval)))).chain([producers]).collect();
        let retention = due(ms(settings.retention_check_interval_ms));
        Schedule { jobs, retention, moved: None, steady: SteadyWall::following_back() }
    }

    /// The jobs that are due.
    fn take_due(&mut self, now: Instant) -> Vec<Job> {
        self.jobs.iter_mut().filter_map(|(job, due)| due.take(now).then_some(*job)).collect()
    }

    /// When the next job is due.
    fn next(&self) -> Instant {
        self.jobs.iter().map(|job| job.1.next).chain(self.moved).fold(self.retention.next, Instant::min)
    }

    /// A recovery point moved; the file has to follow.
    fn recovery_point_moved(&mut self, now: Instant) {
        self.moved.get_or_insert_with(|| now.plus(RECOVERY_POINTS_AFTER_FLUSH));
    }

    /// Whether the file of recovery points has to follow now.
    fn take_moved(&mut self, now: Instant) -> bool {
        self.moved.take_if(|due| *due <= now).is_some()
    }
}

impl Inner {
    /// Does what is due now; returns when to come again.
    pub(crate) fn tend(&self) -> Instant {
        let mut schedule = self.schedule.lock();
        let now = self.clock.now();
        let due = schedule.take_due(now);
        // From the start on, so that a clock that is wrong later is told from one that was always so.
        schedule.steady.observe(self.clock.wall(), now);
        self.delete_due(&mut schedule);
        for home in &self.homes {
            let directory = &home.directory;
            for log in directory.take_upkeep() {
                report(&log, "flush", log.flush());
                schedule.recovery_point_moved(self.clock.now());
                self.write_moved(&mut schedule);
                self.delete_due(&mut schedule);
            }
            for job in &due {
                if directory.check().is_err() {
                    break;
                }
                self.run(*job, home, &mut schedule);
            }
        }
        if due.contains(&Job::RecoveryPoints) {
            self.files.sweep();
        }
        self.write_moved(&mut schedule);
        let trash = self
            .homes
            .iter()
            .flat_map(|home| home.directory.trash.lock().iter().map(|trash| trash.due).min());
        trash.fold(schedule.next(), Instant::min)
    }

    /// Brings the files of recovery points up to flushes that logs asked for, when they are due.
    fn write_moved(&self, schedule: &mut Schedule) {
        if schedule.take_moved(self.clock.now()) {
            for home in self.homes.iter().filter(|home| home.directory.check().is_ok()) {
                home.write_recovery_points();
            }
        }
    }

    fn run(&self, job: Job, home: &Home, schedule: &mut Schedule) {
        match job {
            Job::Flush => {
                for log in home.directory.logs() {
                    report(&log, "flush", log.flush_if_due());
                    self.delete_due(schedule);
                }
            }
            Job::RecoveryPoints => {
                for log in home.directory.logs() {
                    report(&log, "flush", log.flush().and_then(|()| log.cool_if_idle()));
                    self.delete_due(schedule);
                }
                home.write_recovery_points();
            }
            Job::LogStarts => {
                for log in home.directory.logs() {
                    report(&log, "flush", log.save_start());
                }
                home.write_log_starts();
            }
            Job::HighWatermarks => {
                home.write_high_watermarks();
            }
            Job::Producers => {
                let limit_ms =
                    i64::from(self.producer_expiration_ms.load(std::sync::atomic::Ordering::Relaxed));
                let judged = self.judged(schedule, &home.directory);
                home.directory.logs().iter().for_each(|log| log.expire_producers(judged, limit_ms));
            }
        }
    }

    /// Retention and the removal of files, when they are due. They come before the syncs and between any two of them,
    /// so that on a slow disk old segments do not pile up behind the syncs of others, and none is synced that goes.
    fn delete_due(&self, schedule: &mut Schedule) {
        let now = self.clock.now();
        for home in &self.homes {
            empty_trash(&home.directory, now);
        }
        if !schedule.retention.take(now) {
            return;
        }
        for home in self.homes.iter().filter(|home| home.directory.check().is_ok()) {
            let judged = self.judged(schedule, &home.directory);
            for log in home.directory.logs() {
                report(&log, "retention", log.retain(judged).map(|_| ()));
            }
        }
    }

    /// The time that ages are judged by.
    fn judged(&self, schedule: &mut Schedule, directory: &Directory) -> Timestamp {
        let wall = self.clock.wall();
        if directory.judges_by_wall() { wall } else { schedule.steady.observe(wall, self.clock.now()) }
    }
}

impl Log {
    /// Flushes when `flush.ms` has passed since the last sync.
    fn flush_if_due(&self) -> Result<(), Error> {
        let due = {
            let core = self.core.lock();
            let passed = self.directory.clock.now().since(core.last_sync).as_millis();
            let limit = u128::try_from(self.config.load().flush_ms).unwrap_or(0);
            core.next > self.recovery_point() && passed >= limit
        };
        if due { self.flush() } else { Ok(()) }
    }

    /// Gives back the memory of a log that was not appended to during the last looks; its files hold everything, and
    /// nothing but that: zeros written ahead go, because a cold log is not looked at again when it is closed.
    pub(crate) fn cool_if_idle(&self) -> Result<(), Error> {
        const IDLE_LOOKS: u32 = 5;
        let mut core = self.core.lock();
        let next = core.next;
        core.idle_looks = if core.seen == next { core.idle_looks + 1 } else { 0 };
        core.seen = next;
        let busy = core.writing || core.listed || !core.queue.is_empty() || core.idle_looks < IDLE_LOOKS;
        let Some(warm) = core.warm.as_ref() else { return Ok(()) };
        let unsaved = warm.epochs_dirty
            || warm.indexes_stale
            || !warm.snapshots.is_empty()
            || warm.last_snapshot != Some(next)
            || warm.producers.first_unstable().is_some();
        if busy || unsaved || self.recovery_point() != next {
            return Ok(());
        }
        let active = self.active_segment();
        if active.physical() != active.size() {
            let trimmed = active.trim(&self.directory);
            trimmed.map_err(|error| Error::io(&active.path(Kind::Log), error))?;
            active.leave_length_unsynced();
        }
        core.warm = None;
        active.tail.store(None);
        active.close(&self.directory);
        Ok(())
    }
}

/// What did not work is tried again next time.
fn report(log: &Log, what: &str, result: Result<(), Error>) {
    match result {
        Ok(()) | Err(Error::Closed | Error::Offline { .. } | Error::TakenBack) => {}
        Err(error) => tracing::warn!(partition = %log.partition, what, %error, "upkeep failed"),
    }
}

fn empty_trash(directory: &Directory, now: Instant) {
    let due: Vec<Trash> = {
        let mut trash = directory.trash.lock();
        let (due, later) = trash.drain(..).partition(|trash| trash.due <= now);
        *trash = later;
        due
    };
    for path in due.iter().flat_map(|trash| &trash.paths) {
        if let Err(error) = remove(directory, path) {
            tracing::warn!(path = %path.display(), %error, "cannot remove");
        }
    }
}

/// Removes a file or folder that may be gone already (a folder that was deleted takes its files along).
fn remove(directory: &Directory, path: &Path) -> io::Result<()> {
    match directory.disk.stat(path)? {
        None => Ok(()),
        Some(stat) if stat.is_dir => directory.disk.remove_dir_all(path),
        Some(_) => directory.disk.remove_file(path),
    }
}

#[cfg(test)]
mod tests {
    use super::Job;
    use super::Schedule;
    use crate::base::Offset;
    use crate::io::clock::Clock;
    use crate::io::sim::SimClock;
    use crate::log::checkpoint;
    use crate::log::layout;
    use crate::log::tests::Bench;
    use crate::log::tests::append;
    use crate::log::tests::batch;
    use crate::log::tests::open_log;
    use std::sync::Arc;
    use std::time::Duration;

    #[test]
    fn retention_comes_before_the_syncs_of_closed_segments() {
        let time = SimClock::new();
        let bench = Bench { clock: Clock::Sim(time.clone()), ..Bench::new() };
        let dirs = bench.open();
        let log = open_log(&dirs, |config| config.retention_bytes = 0);
        for _ in 0..3 {
            append(&log, batch(1, 100, 1000));
            log.set_high_watermark(log.log_end_offset());
            log.roll_now().unwrap();
        }
        time.advance(Duration::from_secs(3600));
        dirs.drive();
        let entries = bench.disk.list(&log.path()).unwrap();
        let names: Vec<String> =
            entries.iter().map(|entry| entry.name.to_string_lossy().into_owned()).collect();
        let deleted = |kind: &str| names.iter().filter(|name| name.ends_with(kind)).count();
        assert_eq!((deleted(".log.deleted"), deleted(".index.deleted")), (3, 0), "{names:?}");
    }

    #[test]
    fn a_log_that_grew_much_is_flushed_and_a_crash_knows_it_soon() {
        let time = SimClock::new();
        let bench = Bench { clock: Clock::Sim(time.clone()), ..Bench::new() };
        let dirs = bench.open();
        let log = open_log(&dirs, |_| {});
        let grow = |count: usize| {
            for _ in 0..count {
                append(&log, batch(1, 2 << 20, 1000));
            }
            dirs.drive();
            log.recovery_point()
        };
        assert_eq!(grow(10), Offset(0));
        assert_eq!(grow(30), Offset(40));
        let file = bench.path().join(layout::RECOVERY_POINTS);
        let written = || checkpoint::read_text(&bench.disk, &file).unwrap().unwrap_or_default();
        assert!(!written().contains(" 40"), "{}", written());
        time.advance(Duration::from_secs(1));
        dirs.drive();
        assert!(written().contains(" 40"), "{}", written());
    }

    #[test]
    fn producers_are_looked_at_from_the_first_interval_on_and_the_rest_after_the_initial_delay() {
        let mut settings = Bench::new().settings;
        settings.producer_id_expiration_check_interval_ms = 500;
        settings.high_watermark_interval_ms = 500;
        assert_eq!(settings.initial_task_delay_ms, 30_000);
        let start = Clock::Sim(SimClock::new()).now();
        let mut schedule = Schedule::new(&settings, start);
        let mut at = |ms| schedule.take_due(start.plus(Duration::from_millis(ms)));
        assert_eq!(at(499), []);
        assert_eq!(at(500), [Job::Producers]);
        assert_eq!(at(30_500), [Job::HighWatermarks, Job::Producers]);
    }

    #[test]
    fn a_log_that_rolled_often_is_tended_once() {
        let bench = Bench::new();
        let dirs = bench.open();
        let logs = [0, 1].map(|index| {
            let config = crate::log::tests::config(|_| {});
            dirs.open_log(&crate::log::tests::partition(index), crate::base::TopicId::METADATA, config)
                .unwrap()
        });
        for log in logs.iter().cycle().take(10) {
            append(log, batch(1, 100, 1000));
            log.roll_now().unwrap();
        }
        let wanted = logs[0].directory.take_upkeep();
        assert_eq!(wanted.len(), 2);
        assert!(wanted.iter().zip(&logs).all(|(wanted, log)| Arc::ptr_eq(wanted, log)));
    }
}
