//! Whether the inline writes of a directory hold up their threads, so that its disk thread should write instead.
//!
//! A long write says little by itself: its thread may have been ready to go on and only not had a turn, and then a
//! hand-over would make a busy machine busier. So the first long write only arouses suspicion; for a while every
//! write is then looked at more closely, and one that is long because it slept proves the disk slow.

use crate::base::Instant;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A write that sleeps this long holds up a worker.
const LONG: Duration = Duration::from_millis(5);
/// How long suspicion lasts.
const SUSPECTED_FOR: Duration = Duration::from_secs(1);
/// How long the disk thread writes.
const SLOW_FOR: Duration = Duration::from_millis(500);

/// The pace of a directory's inline writes.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    suspected_until: AtomicU64,
    slow_until: AtomicU64,
}

/// A write under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timed {
    began: Instant,
    /// How often its thread had slept before, where that was looked at.
    slept: Option<u64>,
}

impl Pace {
    /// A write begins; `sleeps` tells how often this thread has slept.
    pub(crate) fn begin(&self, now: Instant, sleeps: impl FnOnce() -> u64) -> Timed {
        let suspected = now < Instant(self.suspected_until.load(Ordering::Relaxed));
        Timed { began: now, slept: suspected.then(sleeps) }
    }

    /// It has ended.
    pub(crate) fn end(&self, write: Timed, now: Instant, sleeps: impl FnOnce() -> u64) {
        if now.since(write.began) <= LONG {
            return;
        }
        self.suspected_until.store(now.plus(SUSPECTED_FOR).0, Ordering::Relaxed);
        if write.slept.is_some_and(|before| sleeps() > before) {
            self.slow_until.store(now.plus(SLOW_FOR).0, Ordering::Relaxed);
        }
    }

    /// Whether the disk thread should write.
    pub(crate) fn is_slow(&self, now: impl FnOnce() -> Instant) -> bool {
        let until = self.slow_until.load(Ordering::Relaxed);
        until != 0 && now() < Instant(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(pace: &Pace, began: u64, took: u64, slept: bool) {
        let at = |ms: u64| Instant(0).plus(Duration::from_millis(ms));
        let timed = pace.begin(at(began), || 7);
        pace.end(timed, at(began + took), || if slept { 8 } else { 7 });
    }

    fn is_slow(pace: &Pace, ms: u64) -> bool {
        pace.is_slow(|| Instant(0).plus(Duration::from_millis(ms)))
    }

    #[test]
    fn two_long_writes_that_slept_prove_a_slow_disk_for_a_while() {
        let pace = Pace::default();
        write(&pace, 1000, 6, true);
        assert!(!is_slow(&pace, 1006), "the first is not looked at closely");
        write(&pace, 1500, 4, true);
        assert!(!is_slow(&pace, 1504), "short");
        write(&pace, 1900, 6, true);
        assert!(is_slow(&pace, 1906) && is_slow(&pace, 2405));
        assert!(!is_slow(&pace, 2406));
        write(&pace, 2500, 20, true);
        assert!(is_slow(&pace, 2520), "still under suspicion");
    }

    #[test]
    fn a_thread_that_only_had_no_turn_proves_nothing() {
        let pace = Pace::default();
        for turn in 0..10 {
            write(&pace, 1000 + turn * 100, 50, false);
            assert!(!is_slow(&pace, 1051 + turn * 100));
        }
    }

    #[test]
    fn suspicion_ends() {
        let pace = Pace::default();
        write(&pace, 1000, 6, true);
        write(&pace, 2006, 6, true);
        assert!(!is_slow(&pace, 2012));
        write(&pace, 3011, 6, true);
        assert!(is_slow(&pace, 3017));
    }
}
