//! A thread that plays a whole node: blocking calls run on it at once, and its chance comes from a seed.

use crate::io::random::Random;
use std::cell::RefCell;

thread_local! {
    static CHANCE: RefCell<Option<Random>> = const { RefCell::new(None) };
}

/// Makes the current thread a simulated one until it is dropped: what would go to threads of its own (blocking calls)
/// happens here and now, and random numbers are drawn from the seed, so that a run can be repeated.
#[derive(Debug)]
#[must_use = "the thread is simulated only while this lives"]
pub struct SimThread {
    /// Stays on its thread.
    _here: std::marker::PhantomData<*const ()>,
}

impl SimThread {
    /// Begins; one at a time on each thread.
    pub fn enter(seed: u64) -> SimThread {
        let before = CHANCE.replace(Some(Random::seeded(seed)));
        assert!(before.is_none(), "this thread is simulated already");
        SimThread { _here: std::marker::PhantomData }
    }
}

impl Drop for SimThread {
    fn drop(&mut self) {
        CHANCE.replace(None);
    }
}

/// Whether the current thread is a simulated one.
pub(in crate::io) fn is_simulated() -> bool {
    CHANCE.with_borrow(Option::is_some)
}

/// The next random number of a simulated thread; `None` on any other.
pub(in crate::io) fn next_u64() -> Option<u64> {
    CHANCE.with_borrow_mut(|chance| chance.as_mut().map(Random::next_u64))
}
