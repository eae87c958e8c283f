//! Keeps what all cleaners together read and write below a rate (class `Throttler`).

use crate::base::Instant;
use parking_lot::Mutex;
use std::time::Duration;

/// Shorter pauses wait until they are worth a sleep.
const PAUSE_MIN: Duration = Duration::from_millis(20);

/// The rate, and the moment at which everything done so far is within it.
#[derive(Debug)]
pub(super) struct Throttle {
    bytes_per_second: Mutex<f64>,
    paid_until: Mutex<Option<Instant>>,
}

impl Throttle {
    pub(super) fn new(bytes_per_second: f64) -> Throttle {
        Throttle { bytes_per_second: Mutex::new(bytes_per_second), paid_until: Mutex::new(None) }
    }

    /// Puts another rate in force; what was done beyond the old one is forgiven.
    pub(super) fn set_rate(&self, bytes_per_second: f64) {
        *self.bytes_per_second.lock() = bytes_per_second;
        *self.paid_until.lock() = None;
    }

    /// How long whoever has just read or written these bytes must pause.
    pub(super) fn pause(&self, bytes: f64, now: Instant) -> Duration {
        // A rate that is no rate is no limit.
        let cost =
            Duration::try_from_secs_f64(bytes / *self.bytes_per_second.lock()).unwrap_or(Duration::ZERO);
        let mut paid_until = self.paid_until.lock();
        let until = paid_until.map_or(now, |until| until.max(now)).plus(cost);
        *paid_until = Some(until);
        let pause = until.since(now);
        if pause < PAUSE_MIN { Duration::ZERO } else { pause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_holds_over_many_small_steps_and_idle_time_is_not_saved() {
        let throttle = Throttle::new(1000.0);
        let mut now = Instant(1_000_000_000);
        for _ in 0..1000 {
            now = now.plus(throttle.pause(10.0, now));
        }
        let took = now.since(Instant(1_000_000_000));
        assert!((Duration::from_millis(9_980)..=Duration::from_secs(10)).contains(&took), "{took:?}");
        now = now.plus(Duration::from_secs(100));
        assert_eq!(throttle.pause(500.0, now), Duration::from_millis(500));
    }

    #[test]
    fn a_rate_that_is_none_limits_nothing() {
        for rate in [f64::MAX, f64::INFINITY, f64::NAN, 0.0, -1.0] {
            assert_eq!(Throttle::new(rate).pause(1e9, Instant(5)), Duration::ZERO, "{rate}");
        }
    }
}
