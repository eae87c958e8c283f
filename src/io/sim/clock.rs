//! A clock that stands still until a test moves it.

use crate::base::Instant;
use crate::base::Timestamp;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Simulated wall and monotonic time. Clones share it.
#[derive(Clone, Debug)]
pub struct SimClock {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    now: Instant,
    /// The wall clock's reading when `now` was zero.
    wall_at_zero: i64,
    sleepers: BTreeMap<Key, oneshot::Sender<()>>,
    sleepers_ever: u64,
}

/// Sleepers by deadline, then by who came first.
type Key = (Instant, u64);

/// 2025-01-01T00:00:00Z.
const WALL_AT_START: Timestamp = Timestamp(1_735_689_600_000);

impl Default for SimClock {
    fn default() -> Self {
        SimClock::new()
    }
}

impl SimClock {
    /// A clock that shows the first of January 2025.
    pub fn new() -> SimClock {
        SimClock::starting_at(WALL_AT_START)
    }

    /// A clock that shows this wall-clock time.
    pub fn starting_at(wall: Timestamp) -> SimClock {
        let state =
            State { now: Instant(0), wall_at_zero: wall.0, sleepers: BTreeMap::new(), sleepers_ever: 0 };
        SimClock { state: Arc::new(Mutex::new(state)) }
    }

    /// Moves both clocks and wakes everybody whose deadline has come, the earliest first.
    pub fn advance(&self, duration: Duration) {
        let target = self.now().plus(duration);
        self.advance_to(target);
    }

    /// Moves the monotonic clock (and the wall clock with it) to this instant; never back.
    pub fn advance_to(&self, target: Instant) {
        let mut state = self.state.lock();
        state.now = state.now.max(target);
        while let Some(first) = state.sleepers.first_entry().filter(|first| first.key().0 <= target) {
            // A sleeper that was dropped meanwhile needs no waking.
            first.remove().send(()).ok();
        }
    }

    /// Moves to the next deadline somebody waits for; `false` when nobody waits.
    pub fn advance_to_next(&self) -> bool {
        match self.next_deadline() {
            Some(deadline) => {
                self.advance_to(deadline);
                true
            }
            None => false,
        }
    }

    /// The earliest deadline somebody waits for.
    pub fn next_deadline(&self) -> Option<Instant> {
        self.state.lock().sleepers.first_key_value().map(|(key, _)| key.0)
    }

    /// Makes the wall clock jump, forwards or back, while the monotonic one goes on.
    pub fn set_wall(&self, wall: Timestamp) {
        let mut state = self.state.lock();
        state.wall_at_zero = wall.0.saturating_sub(millis(state.now));
    }

    pub(in crate::io) fn wall(&self) -> Timestamp {
        let state = self.state.lock();
        Timestamp(state.wall_at_zero.saturating_add(millis(state.now)))
    }

    pub(in crate::io) fn now(&self) -> Instant {
        self.state.lock().now
    }

    pub(in crate::io) async fn sleep_until(&self, deadline: Instant) {
        let (woken, sleeper) = {
            let mut state = self.state.lock();
            if deadline <= state.now {
                return;
            }
            let (wake, woken) = oneshot::channel();
            let key = (deadline, state.sleepers_ever);
            state.sleepers_ever += 1;
            state.sleepers.insert(key, wake);
            (woken, Sleeper { clock: self, key })
        };
        woken.await.ok();
        drop(sleeper);
    }
}

/// Takes its entry out of the list when the sleep ends or is dropped.
struct Sleeper<'a> {
    clock: &'a SimClock,
    key: Key,
}

impl Drop for Sleeper<'_> {
    fn drop(&mut self) {
        self.clock.state.lock().sleepers.remove(&self.key);
    }
}

fn millis(instant: Instant) -> i64 {
    i64::try_from(instant.0 / 1_000_000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::clock::Clock;
    use crate::io::task;

    #[tokio::test]
    async fn time_stands_still_until_it_is_moved() {
        let sim = SimClock::new();
        let clock = Clock::Sim(sim.clone());
        let waiting = task::spawn("waiter", {
            let clock = clock.clone();
            async move {
                clock.sleep(Duration::from_secs(10)).await;
                clock.now()
            }
        });
        while sim.next_deadline().is_none() {
            tokio::task::yield_now().await;
        }
        sim.advance(Duration::from_secs(9));
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        assert_eq!(sim.next_deadline(), Some(Instant(10_000_000_000)));
        sim.advance(Duration::from_secs(1));
        assert_eq!(waiting.join().await, Some(Instant(10_000_000_000)));
        assert_eq!(clock.wall(), Timestamp(WALL_AT_START.0 + 10_000));
        assert!(!sim.advance_to_next(), "nobody waits any more");
    }

    #[tokio::test]
    async fn a_dropped_sleep_leaves_nothing_behind() {
        let sim = SimClock::new();
        let clock = Clock::Sim(sim.clone());
        let value = clock.timeout(Duration::from_secs(1), async { 5 }).await;
        assert_eq!((value, sim.next_deadline()), (Some(5), None));
    }

    #[test]
    fn the_wall_clock_jumps_alone() {
        let sim = SimClock::new();
        sim.advance(Duration::from_millis(1500));
        sim.set_wall(Timestamp(5));
        assert_eq!((sim.wall(), sim.now()), (Timestamp(5), Instant(1_500_000_000)));
        sim.advance(Duration::from_millis(1));
        assert_eq!(sim.wall(), Timestamp(6));
    }
}
