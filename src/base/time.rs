//! Points in time: the wall clock's and the monotonic clock's are different types.

use std::fmt;
use std::time::Duration;

/// Wall-clock time in milliseconds since 1970, as records carry it; -1 where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// What the protocol sends where there is no timestamp.
    pub const NONE: Timestamp = Timestamp(-1);
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Monotonic time in nanoseconds since an arbitrary start; only differences mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Instant(pub u64);

impl Instant {
    /// This instant moved into the future; saturates.
    pub fn plus(self, duration: Duration) -> Instant {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Instant(self.0.saturating_add(nanos))
    }

    /// How long after `earlier` this instant is; zero when it is not after it.
    pub fn since(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}
