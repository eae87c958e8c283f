//! How idle the workers are: the part of their time over the last minute.

use crate::base::Instant;
use std::collections::VecDeque;
use std::time::Duration;

/// How far back is looked.
const WINDOW: Duration = Duration::from_secs(60);
/// Looks that lie closer together than this are one: somebody who asks all the time gets no more samples.
const STEP: Duration = Duration::from_secs(1);

/// Samples of how long the workers were busy, added up since their start.
#[derive(Debug)]
pub(super) struct Idle {
    samples: VecDeque<(Instant, Duration)>,
}

impl Idle {
    /// Begins with what is so now.
    pub(super) fn new(now: Instant, busy: Duration) -> Idle {
        Idle { samples: VecDeque::from([(now, busy)]) }
    }

    /// The idle part since the sample that is about a minute old, from 0 to 1; `None` when no time has passed.
    pub(super) fn look(&mut self, now: Instant, (workers, busy): (usize, Duration)) -> Option<f64> {
        while self.samples.get(1).is_some_and(|(at, _)| now.since(*at) >= WINDOW) {
            self.samples.pop_front();
        }
        let (since, busy_then) = *self.samples.front()?;
        if self.samples.back().is_some_and(|(at, _)| now.since(*at) >= STEP) {
            self.samples.push_back((now, busy));
        }
        let workers = u32::try_from(workers).unwrap_or(u32::MAX);
        let time = now.since(since).as_secs_f64() * f64::from(workers);
        let worked = busy.saturating_sub(busy_then).as_secs_f64();
        (time > 0.0).then(|| (1.0 - worked / time).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn the_last_minute_counts_and_nothing_before_it() {
        let start = Instant(5_000_000_000);
        let mut idle = Idle::new(start, seconds(0));
        assert_eq!(idle.look(start, (2, seconds(0))), None);
        // Two workers, half of their time busy.
        assert_eq!(idle.look(start.plus(seconds(30)), (2, seconds(30))), Some(0.5));
        assert_eq!(idle.look(start.plus(seconds(60)), (2, seconds(60))), Some(0.5));
        // Idle from then on: the first half of the minute is still in the window, later it is not.
        assert_eq!(idle.look(start.plus(seconds(90)), (2, seconds(60))), Some(0.75));
        assert_eq!(idle.look(start.plus(seconds(120)), (2, seconds(60))), Some(1.0));
    }

    #[test]
    fn asking_all_the_time_keeps_few_samples() {
        let start = Instant(5_000_000_000);
        let mut idle = Idle::new(start, seconds(0));
        for step in 0..100_000 {
            idle.look(start.plus(Duration::from_millis(step)), (2, seconds(0)));
        }
        assert!(idle.samples.len() <= 62, "{}", idle.samples.len());
    }
}
