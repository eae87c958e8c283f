//! How many lines about closed connections the log gets: whoever opens bad connections all the time must not fill it.

use crate::base::Instant;
use parking_lot::Mutex;
use std::time::Duration;

/// So many lines in [`WINDOW`].
const LINES: u32 = 20;
const WINDOW: Duration = Duration::from_secs(10);

/// Counts lines. All connections of a broker share one.
#[derive(Debug)]
pub(super) struct Lines(Mutex<Counted>);

#[derive(Debug)]
struct Counted {
    since: Instant,
    written: u32,
    left_out: u64,
}

impl Lines {
    pub(super) fn new(now: Instant) -> Lines {
        Lines(Mutex::new(Counted { since: now, written: 0, left_out: 0 }))
    }

    /// Asks for a line; how many were left out before it, or `None` when it is to be left out, too.
    pub(super) fn ask(&self, now: Instant) -> Option<u64> {
        let mut counted = self.0.lock();
        if now.since(counted.since) >= WINDOW {
            *counted = Counted { since: now, written: 0, ..*counted };
        }
        if counted.written == LINES {
            counted.left_out = counted.left_out.saturating_add(1);
            return None;
        }
        counted.written += 1;
        Some(std::mem::take(&mut counted.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_beyond_the_limit_are_counted_and_told_with_the_next() {
        let start = Instant(1_000_000_000);
        let lines = Lines::new(start);
        for _ in 0..LINES {
            assert_eq!(lines.ask(start), Some(0));
        }
        for _ in 0..1000 {
            assert_eq!(lines.ask(start), None);
        }
        let later = start.plus(WINDOW);
        assert_eq!((lines.ask(later), lines.ask(later)), (Some(1000), Some(0)));
    }
}
