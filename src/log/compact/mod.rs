//! Compaction: of each key the last record stays (class `LogCleaner`).
//!
//! Promises:
//! - A reader from the log's start to its end meets the last record of every key, at its offset, with its bytes;
//!   tombstones and markers for `delete.retention.ms` after they were compacted first; offsets are never given anew.
//! - A log is whole after a crash at any moment: a segment is replaced as a whole or not at all.
//! - Memory is bounded: the map of keys by `log.cleaner.dedupe.buffer.size`, what is read by
//!   `log.cleaner.io.buffer.size` or one batch.
//! - A log that cannot be compacted is named, counted and left alone until the next start; the others go on.
//!
//! Never: holds a partition's lock during I/O, touches the active segment or what is not stable, or knows a topic's
//! meaning. Called by: [`Dirs`](crate::log::Dirs), which owns the [`Cleaner`].
//!
//! Reading order: `choose` (which log, how far), `clean` (one run), `keep` (the rules), `output` (how a segment is
//! replaced).

mod choose;
mod clean;
mod facts;
mod keep;
mod offset_map;
mod output;
#[cfg(test)]
mod tests;
mod throttle;
mod transactions;

use crate::base::Instant;
use crate::base::Offset;
use crate::base::TopicPartition;
use crate::config::CleanerSettings;
use crate::io::clock::Clock;
use crate::log::Log;
use crate::log::error::Error;
use crate::log::home::Home;
use crate::log::layout;
use crate::metrics;
use arc_swap::ArcSwap;
use choose::Cleanable;
use clean::Means;
use clean::Run;
use clean::Stats;
use clean::Stop;
use parking_lot::Condvar;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use throttle::Throttle;

/// One thread's part of the map's memory at most, as in Kafka.
const MAP_BYTES_MAX: i64 = 2 << 30;

/// What all cleaner threads share.
#[derive(Debug)]
pub(crate) struct Cleaner {
    settings: ArcSwap<CleanerSettings>,
    clock: Clock,
    metrics: metrics::Cleaner,
    throttle: Throttle,
    /// A throttled run sleeps; where nobody moves the clock meanwhile it must not.
    may_sleep: bool,
    state: Mutex<State>,
    /// Signalled when `state.stopping` is set.
    stopped: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// Partitions with a run under way.
    busy: BTreeSet<TopicPartition>,
    /// Partitions that could not be compacted, until they are deleted or the process starts anew.
    uncleanable: BTreeSet<TopicPartition>,
    last_run: Option<Instant>,
    stopping: bool,
}

/// A log with a run under way.
struct Chosen {
    home: Arc<Home>,
    log: Arc<Log>,
}

impl Cleaner {
    pub(crate) fn new(
        settings: &CleanerSettings,
        clock: &Clock,
        metrics: metrics::Cleaner,
        may_sleep: bool,
    ) -> Cleaner {
        Cleaner {
            settings: ArcSwap::from_pointee(settings.clone()),
            clock: clock.clone(),
            metrics,
            throttle: Throttle::new(settings.io_max_bytes_per_second),
            may_sleep,
            state: Mutex::new(State::default()),
            stopped: Condvar::new(),
        }
    }

    /// How many threads there should be.
    pub(crate) fn threads(&self) -> usize {
        let settings = self.settings.load();
        if settings.enable { usize::try_from(settings.threads).unwrap_or(0) } else { 0 }
    }

    /// Puts other settings in force, from the next run on; the rate at once. Threads beyond their number end when they
    /// look for work the next time.
    pub(crate) fn reconfigure(&self, settings: &CleanerSettings) {
        self.throttle.set_rate(settings.io_max_bytes_per_second);
        self.settings.store(Arc::new(settings.clone()));
        self.stopped.notify_all();
    }

    /// How long to wait when there is nothing to do.
    pub(crate) fn backoff(&self) -> Duration {
        Duration::from_millis(u64::try_from(self.settings.load().backoff_ms).unwrap_or(0).max(1))
    }

    /// Waits; `false` when it is time to end.
    pub(crate) fn wait(&self, duration: Duration) -> bool {
        let mut state = self.state.lock();
        if !state.stopping {
            self.stopped.wait_for(&mut state, duration);
        }
        !state.stopping
    }

    /// Ends runs that are under way at their next batch, and all waiting.
    pub(crate) fn stop(&self) {
        self.state.lock().stopping = true;
        self.stopped.notify_all();
    }

    /// Compacts the log with the largest dirty share, if one is worth it (`cleanFilthiestLog`). Whether one was.
    pub(crate) fn clean_dirtiest(&self, homes: &[Arc<Home>]) -> bool {
        let Some(chosen) = self.choose(homes) else { return false };
        let partition = chosen.log.partition().clone();
        let cleaned = self.clean(&chosen);
        let mut state = self.state.lock();
        state.busy.remove(&partition);
        match cleaned {
            Ok(()) => true,
            Err(Stop::Ended) => false,
            Err(Stop::Failed(Error::Closed | Error::Offline { .. } | Error::TakenBack)) => false,
            Err(Stop::Failed(error)) if error.may_pass() => {
                tracing::warn!(%partition, %error, "compaction waits");
                false
            }
            Err(Stop::Failed(error)) => {
                let is_gone = chosen.log.core.lock().closed;
                if !is_gone && chosen.home.directory.check().is_ok() {
                    tracing::error!(%partition, %error, "cannot compact, leaving the partition as it is until the next start");
                    state.uncleanable.insert(partition);
                }
                false
            }
        }
    }

    /// The dirtiest log that is worth a run and has none under way; marked as busy.
    fn choose(&self, homes: &[Arc<Home>]) -> Option<Chosen> {
        let mut state = self.state.lock();
        state.last_run = Some(self.clock.now());
        let mut dirtiest: Option<(f64, Option<Chosen>)> = None;
        let (mut share_max, mut delay_max) = (0.0f64, 0);
        for home in homes.iter().filter(|home| home.directory.check().is_ok()) {
            for log in home.directory.logs().into_iter().filter(|log| log.config().cleanup.compact) {
                let partition = log.partition();
                if state.busy.contains(partition) || state.uncleanable.contains(partition) {
                    continue;
                }
                let found = match self.look(home, &log) {
                    Ok(found) => found,
                    Err(error) => {
                        tracing::debug!(%partition, %error, "cannot tell whether it needs compaction");
                        continue;
                    }
                };
                let ratio = found.ratio();
                share_max = share_max.max(ratio);
                delay_max = delay_max.max(found.delay_ms);
                if found.is_due() && dirtiest.as_ref().is_none_or(|best| ratio > best.0) {
                    dirtiest = Some((ratio, Some(Chosen { home: home.clone(), log })));
                }
            }
        }
        self.metrics.dirty_share(share_max);
        self.metrics.max_compaction_delay_secs.set(delay_max / 1000);
        let chosen = dirtiest.and_then(|best| best.1)?;
        state.busy.insert(chosen.log.partition().clone());
        Some(chosen)
    }

    fn look(&self, home: &Home, log: &Log) -> Result<Cleanable, Error> {
        let checkpoint = home.directory.checkpoints.get(layout::CLEANER_OFFSETS, log.partition());
        Ok(choose::cleanable(&log.cleaning_facts(checkpoint, self.clock.wall())?))
    }

    /// One run over the chosen log.
    fn clean(&self, chosen: &Chosen) -> Result<(), Stop> {
        let Chosen { home, log } = chosen;
        // What is replaced must lie below the recovery point, in its file too: recovery takes a hole above it for a
        // tail that was lost.
        log.flush()?;
        if !home.write_recovery_points() {
            return Err(Stop::Ended);
        }
        // Loads the log, so that its open transactions are known.
        log.first_unstable_offset()?;
        let found = self.look(home, log)?;
        let end = log.sealed_below(found.end);
        if end <= found.first_dirty {
            return Err(Stop::Ended);
        }
        let started = self.clock.now();
        let go_on = |bytes: u64| self.go_on(log, bytes);
        let mut run = Run {
            log,
            means: self.means(),
            now: self.clock.wall(),
            first_dirty: found.first_dirty,
            end,
            go_on: &go_on,
            stats: Stats::default(),
        };
        let reached = run.run()?;
        let stats = run.stats;
        log.note_cleaned(reached)?;
        self.tell(log, (found.first_dirty, reached), started, stats);
        Ok(())
    }

    fn means(&self) -> Means {
        let settings = self.settings.load();
        let threads = i64::from(settings.threads.max(1));
        let share = (settings.dedupe_buffer_bytes / threads).clamp(0, MAP_BYTES_MAX);
        let buffer = i64::from(settings.io_buffer_bytes) / threads / 2;
        Means {
            map_bytes: usize::try_from(share).unwrap_or(0),
            load_factor: settings.load_factor,
            buffer_bytes: usize::try_from(buffer).unwrap_or(0),
        }
    }

    /// After each batch: is there a reason to end, and how long is the pause?
    fn go_on(&self, log: &Log, bytes: u64) -> Result<(), Stop> {
        log.directory.check()?;
        if log.core.lock().closed {
            return Err(Stop::Ended);
        }
        let bytes = f64::from(u32::try_from(bytes).unwrap_or(u32::MAX));
        let pause = self.throttle.pause(bytes, self.clock.now());
        let pause = if self.may_sleep { pause } else { Duration::ZERO };
        let goes_on = if pause.is_zero() { !self.state.lock().stopping } else { self.wait(pause) };
        if goes_on { Ok(()) } else { Err(Stop::Ended) }
    }

    fn tell(&self, log: &Log, (from, to): (Offset, Offset), started: Instant, stats: Stats) {
        let took = self.clock.now().since(started);
        let Stats { map_read, read, written, records_read, records_kept, keyless, map_percent } = stats;
        let partition = log.partition();
        tracing::info!(%partition, %from, %to, map_read, read, written, records_read, records_kept, map_percent, ?took, "compacted");
        if keyless > 0 {
            tracing::warn!(%partition, keyless, "dropped records without a key from a compacted log");
        }
        self.metrics.runs.inc();
        self.metrics.read_bytes.inc_by(map_read.saturating_add(read));
        self.metrics.written_bytes.inc_by(written);
        let percent = written.saturating_mul(100).checked_div(read.max(1)).unwrap_or(0);
        self.metrics.recopy_percent.set(i64::try_from(percent).unwrap_or(i64::MAX));
        self.metrics.max_buffer_utilization_percent.set(i64::try_from(map_percent).unwrap_or(i64::MAX));
        self.metrics.max_clean_time_secs.set(i64::try_from(took.as_secs()).unwrap_or(i64::MAX));
    }

    /// A partition is deleted: one of its name may be compacted again.
    pub(crate) fn forget(&self, partition: &TopicPartition) {
        self.state.lock().uncleanable.remove(partition);
    }

    /// What a directory's metrics show.
    pub(crate) fn describe(&self, home: &Home) -> Cleaning {
        let state = self.state.lock();
        let since_last_run = state.last_run.map(|last| self.clock.now().since(last));
        let logs = home.directory.logs();
        let stuck = logs.iter().filter(|log| state.uncleanable.contains(log.partition()));
        let stuck: Vec<Arc<Log>> = stuck.cloned().collect();
        drop(state);
        let bytes =
            stuck.iter().filter_map(|log| self.look(home, log).ok()).map(|found| found.cleanable_bytes);
        Cleaning {
            uncleanable_partitions: stuck.len(),
            uncleanable_bytes: bytes.sum(),
            since_last_run_ms: since_last_run.and_then(|since| u64::try_from(since.as_millis()).ok()),
        }
    }
}

/// How compaction goes in one directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cleaning {
    /// Partitions that could not be compacted.
    pub uncleanable_partitions: usize,
    /// What of them should be.
    pub uncleanable_bytes: u64,
    /// Milliseconds since a thread looked for work; `None` when none has. The same in all directories.
    pub since_last_run_ms: Option<u64>,
}
