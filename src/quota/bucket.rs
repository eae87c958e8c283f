//! How fast something came: a rate over sliding windows, and a bucket of tokens (Kafka's `Rate` and `TokenBucket`).

use crate::base::Instant;
use crate::cluster::command::Allowance;
use std::collections::VecDeque;
use std::time::Duration;

/// The windows that a rate is measured over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Windows {
    /// How many, the current one included; at least one.
    pub(super) count: u32,
    /// How long each is.
    pub(super) length: Duration,
}

impl Windows {
    /// All windows but the current one, in seconds.
    pub(super) fn whole_seconds(self) -> f64 {
        self.length.as_secs_f64() * f64::from(self.count.saturating_sub(1))
    }

    /// All windows.
    pub(super) fn span(self) -> Duration {
        self.length.saturating_mul(self.count)
    }
}

/// Amounts of the last windows. A window begins with what comes first after the one before has ended.
#[derive(Debug, Default)]
pub(super) struct Rate {
    samples: VecDeque<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    begin: Instant,
    amount: f64,
}

impl Rate {
    /// Adds an amount; a negative one takes back what was added.
    pub(super) fn record(&mut self, windows: Windows, amount: f64, now: Instant) {
        self.forget(windows, now);
        match self.samples.back_mut().filter(|last| now.since(last.begin) < windows.length) {
            Some(last) => last.amount += amount,
            None => self.samples.push_back(Sample { begin: now, amount }),
        }
    }

    /// How fast it comes, in units a second.
    pub(super) fn rate(&mut self, windows: Windows, now: Instant) -> f64 {
        self.forget(windows, now);
        // A sum of nothing is -0.
        self.samples.iter().fold(0.0, |sum, sample| sum + sample.amount) / self.seconds(windows, now)
    }

    /// How long to pause until the rate is back at `limit`, in units a second; zero while it is not above.
    pub(super) fn pause(&mut self, windows: Windows, limit: f64, now: Instant) -> Duration {
        let rate = self.rate(windows, now);
        if rate <= limit {
            return Duration::ZERO;
        }
        seconds_of((rate - limit) / limit * self.seconds(windows, now))
    }

    /// Whether nothing came in all the windows.
    pub(super) fn is_idle(&mut self, windows: Windows, now: Instant) -> bool {
        self.forget(windows, now);
        self.samples.is_empty()
    }

    fn forget(&mut self, windows: Windows, now: Instant) {
        while self.samples.front().is_some_and(|oldest| now.since(oldest.begin) >= windows.span()) {
            self.samples.pop_front();
        }
    }

    /// The time that the samples stand for: from the oldest on, and never less than all windows but the current one,
    /// so that a first burst is not taken for a rate.
    fn seconds(&self, windows: Windows, now: Instant) -> f64 {
        let elapsed = self.samples.front().map_or(Duration::ZERO, |oldest| now.since(oldest.begin));
        let full = u32::try_from(elapsed.as_nanos() / windows.length.as_nanos().max(1)).unwrap_or(u32::MAX);
        let missing = windows.count.saturating_sub(1).saturating_sub(full);
        let whole = elapsed.saturating_add(windows.length.saturating_mul(missing));
        whole.max(Duration::from_millis(1)).as_secs_f64()
    }
}

/// The mean of what was told in the last windows (Kafka's `Avg`).
#[derive(Debug, Default)]
pub(super) struct Mean {
    sum: Rate,
    count: Rate,
}

impl Mean {
    /// Adds a value.
    pub(super) fn record(&mut self, windows: Windows, value: f64, now: Instant) {
        self.sum.record(windows, value, now);
        self.count.record(windows, 1.0, now);
    }

    /// The mean; `None` where nothing was told.
    pub(super) fn value(&mut self, windows: Windows, now: Instant) -> Option<f64> {
        let (sum, count) = (self.sum.rate(windows, now), self.count.rate(windows, now));
        (count > 0.0).then(|| sum / count)
    }
}

/// Tokens that come back at a steady rate, up to what all windows hold. They may go below zero: whoever finds some
/// may take more than there are, and everybody waits until they are back at zero (KIP-599).
#[derive(Debug)]
pub(super) struct TokenBucket {
    tokens: Allowance,
    refilled: Instant,
}

impl TokenBucket {
    /// A bucket as a new client finds it: full. The first refill says how much that is.
    pub(super) fn new(now: Instant) -> TokenBucket {
        TokenBucket { tokens: Allowance::new(f64::INFINITY), refilled: now }
    }

    /// The tokens, with what came back since.
    pub(super) fn refill(&mut self, windows: Windows, limit: f64, now: Instant) -> &Allowance {
        let most = limit * windows.span().as_secs_f64();
        let back = limit * now.since(self.refilled).as_secs_f64();
        self.refilled = now;
        self.tokens.put_back(back, most);
        &self.tokens
    }

    /// Whether all tokens are back, so that a new bucket would refuse no more than this one.
    pub(super) fn is_full(&mut self, windows: Windows, limit: f64, now: Instant) -> bool {
        self.refill(windows, limit, now).tokens() >= limit * windows.span().as_secs_f64()
    }

    /// How long until there are tokens again.
    pub(super) fn pause(&mut self, windows: Windows, limit: f64, now: Instant) -> Duration {
        let tokens = self.refill(windows, limit, now).tokens();
        if tokens >= 0.0 { Duration::ZERO } else { seconds_of(-tokens / limit) }
    }
}

/// A span in whole milliseconds, as answers carry it.
fn seconds_of(seconds: f64) -> Duration {
    let millis =
        Duration::try_from_secs_f64(seconds).map_or(u128::MAX, |span| span.as_micros().div_ceil(500) / 2);
    Duration::from_millis(u64::try_from(millis).unwrap_or(u64::MAX).min(i32::MAX.unsigned_abs().into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOWS: Windows = Windows { count: 11, length: Duration::from_secs(1) };

    fn at(millis: u64) -> Instant {
        Instant(millis * 1_000_000)
    }

    #[test]
    fn a_rate_counts_ten_whole_windows_at_least_and_says_how_long_to_pause() {
        let mut rate = Rate::default();
        rate.record(WINDOWS, 5000.0, at(0));
        // 5000 in the time of ten windows is the limit of 500 a second, not above it.
        assert_eq!(rate.pause(WINDOWS, 500.0, at(0)), Duration::ZERO);
        rate.record(WINDOWS, 600.0, at(500));
        // As Kafka's own test has it: 5600 bytes in 10.5 s at 500 a second are 0.7 s too early.
        assert_eq!(rate.pause(WINDOWS, 500.0, at(500)), Duration::from_millis(700));
        assert!((rate.rate(WINDOWS, at(500)) - 5600.0 / 10.5).abs() < 1e-9);
        rate.record(WINDOWS, -600.0, at(500));
        assert_eq!(rate.pause(WINDOWS, 500.0, at(500)), Duration::ZERO);
        assert!(!rate.is_idle(WINDOWS, at(10_999)));
        assert!(rate.is_idle(WINDOWS, at(11_000)));
    }

    #[test]
    fn a_mean_forgets_what_is_older_than_all_windows() {
        let mut mean = Mean::default();
        assert_eq!(mean.value(WINDOWS, at(0)), None);
        mean.record(WINDOWS, 10.0, at(0));
        mean.record(WINDOWS, 30.0, at(5000));
        assert_eq!(mean.value(WINDOWS, at(5000)), Some(20.0));
        assert_eq!(mean.value(WINDOWS, at(11_000)), Some(30.0));
        assert_eq!(mean.value(WINDOWS, at(16_000)), None);
    }

    #[test]
    fn a_bucket_begins_full_lets_one_go_beyond_and_then_waits_until_the_tokens_are_back() {
        let mut bucket = TokenBucket::new(at(0));
        assert_eq!(bucket.refill(WINDOWS, 2.0, at(0)).tokens(), 22.0);
        assert!(bucket.refill(WINDOWS, 2.0, at(0)).take(20, true));
        assert!(bucket.refill(WINDOWS, 2.0, at(0)).take(32, true));
        assert!(!bucket.refill(WINDOWS, 2.0, at(1000)).take(1, true));
        assert_eq!(bucket.pause(WINDOWS, 2.0, at(1000)), Duration::from_secs(14));
        assert!(bucket.refill(WINDOWS, 2.0, at(1000)).take(1, false), "a permissive one never refuses");
        assert_eq!(bucket.pause(WINDOWS, 2.0, at(1000)), Duration::from_millis(14_500));
        assert_eq!(bucket.pause(WINDOWS, 2.0, at(16_000)), Duration::ZERO);
        assert_eq!(bucket.refill(WINDOWS, 2.0, at(1_000_000)).tokens(), 22.0);
    }
}
