//! The only source of time: the machine's clocks, or a simulated one that moves only when told.

use crate::base::Instant;
use crate::base::Timestamp;
#[cfg(feature = "sim")]
use crate::io::sim::SimClock;
use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;
use std::time::SystemTime;

/// Tells wall-clock and monotonic time, and waits. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Clock {
    /// The machine's clocks.
    System(SystemClock),
    /// A clock that stands still until a test moves it.
    #[cfg(feature = "sim")]
    Sim(SimClock),
}

/// The machine's clocks; holds nothing.
#[derive(Clone, Debug)]
pub struct SystemClock;

impl Clock {
    /// The machine's clocks.
    pub fn system() -> Clock {
        Clock::System(SystemClock)
    }

    /// Milliseconds since 1970. May jump both ways: never measure a duration with it.
    pub fn wall(&self) -> Timestamp {
        match self {
            Clock::System(_) => system_wall(),
            #[cfg(feature = "sim")]
            Clock::Sim(clock) => clock.wall(),
        }
    }

    /// Monotonic time since an arbitrary start.
    pub fn now(&self) -> Instant {
        match self {
            Clock::System(_) => system_now(),
            #[cfg(feature = "sim")]
            Clock::Sim(clock) => clock.now(),
        }
    }

    /// Waits this long.
    pub async fn sleep(&self, duration: Duration) {
        match self {
            Clock::System(_) => system_sleep(duration).await,
            #[cfg(feature = "sim")]
            Clock::Sim(clock) => clock.sleep_until(clock.now().plus(duration)).await,
        }
    }

    /// Waits until this instant; returns at once when it has passed.
    pub async fn sleep_until(&self, deadline: Instant) {
        match self {
            Clock::System(_) => system_sleep(deadline.since(system_now())).await,
            #[cfg(feature = "sim")]
            Clock::Sim(clock) => clock.sleep_until(deadline).await,
        }
    }

    /// The future's value, or `None` when it takes longer than `limit`; the future is then dropped. A future that
    /// is ready wins over a limit that has passed.
    pub async fn timeout<F: Future>(&self, limit: Duration, future: F) -> Option<F::Output> {
        tokio::select! {
            biased;
            value = future => Some(value),
            () = self.sleep(limit) => None,
        }
    }
}

#[allow(clippy::disallowed_methods, reason = "this is the clock")]
fn system_wall() -> Timestamp {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX))
}

#[allow(clippy::disallowed_methods, reason = "this is the clock")]
fn system_now() -> Instant {
    static START: OnceLock<std::time::Instant> = OnceLock::new();
    let start = START.get_or_init(std::time::Instant::now);
    // One second past zero, so that code which subtracts a little from "now" stays within the type.
    Instant(1_000_000_000).plus(start.elapsed())
}

#[allow(clippy::disallowed_methods, reason = "this is the clock")]
async fn system_sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_timeout_gives_the_value_in_time_and_nothing_after_it() {
        let clock = Clock::system();
        let quick = clock.timeout(Duration::from_secs(1), async { 7 }).await;
        assert_eq!(quick, Some(7));
        let never = clock.timeout(Duration::from_secs(1), std::future::pending::<()>()).await;
        assert_eq!(never, None);
    }

    #[test]
    fn the_system_clock_does_not_go_back() {
        let clock = Clock::system();
        let first = clock.now();
        assert!(clock.now() >= first);
        assert!(clock.wall() > Timestamp(1_700_000_000_000), "the wall clock counts from 1970");
    }
}
