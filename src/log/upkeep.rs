//! Work in the background: closed segments' files, checkpoints, retention, expiry, removal of what was deleted.

use crate::base::Instant;
use crate::config::StorageSettings;
use crate::log::Log;
use crate::log::directory::Directory;
use crate::log::directory::Trash;
use crate::log::dirs::Inner;
use crate::log::error::Error;
use crate::log::home::Home;
use crate::log::layout::Kind;
use crate::log::retention::SteadyWall;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A kind of work that comes due again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    /// `flush.ms`
    Flush,
    RecoveryPoints,
    LogStarts,
    HighWatermarks,
    Retention,
    Producers,
}

/// When each job is due next.
#[derive(Debug)]
pub(crate) struct Schedule {
    jobs: Vec<(Job, Duration, Instant)>,
    steady: SteadyWall,
}

impl Schedule {
    /// The first runs come `log.initial.task.delay.ms` and then an interval from now.
    pub(crate) fn new(settings: &StorageSettings, now: Instant) -> Schedule {
        let ms = |value: i64| Duration::from_millis(u64::try_from(value).unwrap_or(0).max(1));
        let first = now.plus(ms(settings.initial_task_delay_ms));
        let jobs = [
            (Job::Flush, settings.flush_scheduler_interval_ms),
            (Job::RecoveryPoints, i64::from(settings.recovery_point_interval_ms)),
            (Job::LogStarts, i64::from(settings.start_offset_interval_ms)),
            (Job::HighWatermarks, settings.high_watermark_interval_ms),
            (Job::Retention, settings.retention_check_interval_ms),
            (Job::Producers, i64::from(settings.producer_id_expiration_check_interval_ms)),
        ];
        let jobs =
            jobs.into_iter().map(|(job, interval)| (job, ms(interval), first.plus(ms(interval)))).collect();
        Schedule { jobs, steady: SteadyWall::default() }
    }

    /// The jobs that are due, each put off by its interval.
    fn take_due(&mut self, now: Instant) -> Vec<Job> {
        let mut due = Vec::new();
        for (job, interval, next) in &mut self.jobs {
            if *next <= now {
                *next = now.plus(*interval);
                due.push(*job);
            }
        }
        due
    }

    /// When the next job is due.
    fn next(&self) -> Option<Instant> {
        self.jobs.iter().map(|job| job.2).min()
    }
}

impl Inner {
    /// Does what is due now; returns when to come again.
    pub(crate) fn tend(&self) -> Instant {
        let mut schedule = self.schedule.lock();
        let now = self.clock.now();
        let due = schedule.take_due(now);
        let judged = schedule.steady.observe(self.clock.wall(), now);
        for home in &self.homes {
            let directory = &home.directory;
            for log in directory.take_upkeep() {
                report(&log, "flush after a roll", log.flush());
            }
            empty_trash(directory, now);
            for job in &due {
                if directory.check().is_err() {
                    break;
                }
                match job {
                    Job::Flush => self.each(home, |log| report(log, "flush", log.flush_if_due())),
                    Job::RecoveryPoints => {
                        self.each(home, |log| {
                            report(log, "flush", log.flush().and_then(|()| log.cool_if_idle()))
                        });
                        home.write_recovery_points();
                    }
                    Job::LogStarts => {
                        home.write_log_starts();
                    }
                    Job::HighWatermarks => {
                        home.write_high_watermarks();
                    }
                    Job::Retention => {
                        self.each(home, |log| report(log, "retention", log.retain(judged).map(|_| ())));
                    }
                    Job::Producers => {
                        let limit_ms = i64::from(self.settings.producer_id_expiration_ms);
                        self.each(home, |log| log.expire_producers(limit_ms));
                    }
                }
            }
        }
        if due.contains(&Job::RecoveryPoints) {
            self.files.sweep();
        }
        let trash = self
            .homes
            .iter()
            .flat_map(|home| home.directory.trash.lock().iter().map(|trash| trash.due).min());
        schedule.next().into_iter().chain(trash).min().unwrap_or_else(|| now.plus(Duration::from_secs(60)))
    }

    fn each(&self, home: &Home, mut act: impl FnMut(&Arc<Log>)) {
        for log in home.directory.logs() {
            act(&log);
        }
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
