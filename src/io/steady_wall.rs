//! Wall-clock time that does not believe a jump at once.

use crate::base::Instant;
use crate::base::Timestamp;
use std::time::Duration;

/// How long a jump of the wall clock must last before it is believed.
const BELIEVE_AFTER: Duration = Duration::from_secs(3600);
/// Differences below this are drift and small corrections, not jumps.
const JUMP_MS: i64 = 5 * 60 * 1000;

/// Follows the wall clock, but a jump only when it has lasted an hour (F20); until then it goes on as the monotonic
/// clock does. What is older than a limit by a clock that is wrong for a while is not lost then.
#[derive(Debug)]
pub struct SteadyWall {
    follows_back: bool,
    last: Option<(Timestamp, Instant)>,
    jump: Option<Jump>,
}

/// A jump that is not believed yet.
#[derive(Clone, Copy, Debug)]
struct Jump {
    ahead_ms: i64,
    since: Instant,
}

impl SteadyWall {
    /// For ages of what others wrote down: a jump back is followed at once, because everything looks younger then.
    pub fn following_back() -> SteadyWall {
        SteadyWall { follows_back: true, last: None, jump: None }
    }

    /// For times that are written down and ages told by them: a jump back is doubted, too. What were written down then
    /// would look old as soon as the clock is right again.
    pub fn doubting() -> SteadyWall {
        SteadyWall { follows_back: false, last: None, jump: None }
    }

    /// The time now, from the two clocks' readings.
    pub fn observe(&mut self, wall: Timestamp, now: Instant) -> Timestamp {
        let Some((last_told, last_now)) = self.last else {
            self.last = Some((wall, now));
            return wall;
        };
        let passed_ms = i64::try_from(now.since(last_now).as_millis()).unwrap_or(i64::MAX);
        let expected = Timestamp(last_told.0.saturating_add(passed_ms));
        let ahead_ms = wall.0.saturating_sub(expected.0);
        let is_jump = ahead_ms > JUMP_MS || (!self.follows_back && ahead_ms < -JUMP_MS);
        let is_believed = !is_jump || self.lasts(ahead_ms, now);
        if is_believed {
            self.jump = None;
        }
        let told = if is_believed { wall } else { expected };
        self.last = Some((told, now));
        told
    }

    /// Whether the clock has shown this same jump for long enough. One that goes to and fro never does.
    fn lasts(&mut self, ahead_ms: i64, now: Instant) -> bool {
        let same = self.jump.filter(|jump| jump.ahead_ms.saturating_sub(ahead_ms).abs() <= JUMP_MS);
        if self.jump.is_none() {
            tracing::warn!(ahead_ms, "wall clock jumped, ages wait an hour before they follow");
        }
        let jump = *self.jump.insert(same.unwrap_or(Jump { ahead_ms, since: now }));
        let lasts = now.since(jump.since) >= BELIEVE_AFTER;
        if lasts {
            tracing::warn!(ahead_ms, "ages follow the wall clock's jump now");
        }
        lasts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000;

    /// What is told, minute by minute of the monotonic clock, for what the wall clock shows.
    fn check(mut steady: SteadyWall, readings: &[(u64, i64, i64)]) {
        for (minute, shown, told) in readings {
            let now = Instant(minute * 60_000_000_000);
            assert_eq!(steady.observe(Timestamp(*shown), now), Timestamp(*told), "minute {minute}");
        }
    }

    #[test]
    fn a_jump_forward_is_believed_only_after_an_hour_and_a_jump_back_at_once() {
        let readings = [
            (0, 0, 0),
            // Drift is followed.
            (1, 61_000, 61_000),
            (2, DAY, 121_000),
            // Right again.
            (3, 180_000, 180_000),
            (4, DAY, 240_000),
            // It lasted an hour.
            (64, DAY + 60 * 60_000, DAY + 60 * 60_000),
            (65, 5, 5),
        ];
        check(SteadyWall::following_back(), &readings);
    }

    #[test]
    fn what_is_written_down_does_not_follow_a_jump_back_either() {
        let readings = [
            (0, DAY, DAY),
            (1, 5, DAY + 60_000),
            // Right again.
            (2, DAY + 120_000, DAY + 120_000),
            (3, 5, DAY + 180_000),
            (63, 3_600_005, 3_600_005),
        ];
        check(SteadyWall::doubting(), &readings);
    }

    #[test]
    fn a_clock_that_goes_to_and_fro_is_never_believed() {
        let readings: Vec<(u64, i64, i64)> = (0..300)
            .map(|minute| {
                let right = i64::try_from(minute).unwrap() * 60_000;
                let lie = if minute == 0 { 0 } else { i64::try_from(minute % 3).unwrap() + 1 };
                (minute, right + lie * DAY, right)
            })
            .collect();
        check(SteadyWall::doubting(), &readings);
        check(SteadyWall::following_back(), &readings);
    }
}
