//! Times: one monotonic clock for every thread, and the date for record timestamps.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

static START: OnceLock<Instant> = OnceLock::new();

/// Nanoseconds since the first call.
pub fn now_ns() -> u64 {
    START.get_or_init(Instant::now).elapsed().as_nanos() as u64
}

pub fn unix_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// Sleeps until `at` on this clock; a time in the past returns at once.
pub fn sleep_until(at: u64) {
    let now = now_ns();
    if at > now {
        std::thread::sleep(Duration::from_nanos(at - now));
    }
}

/// Lets sleeps of this thread end within a microsecond instead of fifty.
pub fn sharp_sleep() {
    // SAFETY: PR_SET_TIMERSLACK takes one number and changes this thread only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1_000u64) };
}
