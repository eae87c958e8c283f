//! Who waits for records: a wait hangs on any number of partitions and is woken by those that make progress.
//!
//! A wait costs one allocation, one entry at each of its partitions, and nothing while nothing happens.

use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering;
use tokio::sync::Notify;

const WORD_BITS: usize = 64;

/// What a wait shares with the partitions it hangs on.
#[derive(Debug)]
struct Wake {
    notify: Notify,
    /// One bit for each place of the wait: set when the partition there made progress.
    progressed: Box<[AtomicU64]>,
}

impl Wake {
    fn new(places: usize) -> Wake {
        let words = places.div_ceil(WORD_BITS);
        Wake { notify: Notify::new(), progressed: (0..words).map(|_| AtomicU64::new(0)).collect() }
    }

    fn set(&self, place: usize) {
        let bit = 1u64 << (place % WORD_BITS);
        if let Some(word) = self.progressed.get(place / WORD_BITS)
            && word.fetch_or(bit, Ordering::AcqRel) & bit == 0
        {
            self.notify.notify_one();
        }
    }

    /// Takes the places that made progress since the last call.
    fn take(&self, into: &mut Vec<usize>) {
        for (index, word) in self.progressed.iter().enumerate() {
            if word.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let mut bits = word.swap(0, Ordering::AcqRel);
            while bits != 0 {
                let lowest = usize::try_from(bits.trailing_zeros()).unwrap_or(0);
                into.push(index * WORD_BITS + lowest);
                bits &= bits - 1;
            }
        }
    }
}

/// The waits that hang on one partition.
#[derive(Default)]
pub(crate) struct Waiters {
    /// How many entries there are, so that progress without a waiter costs one load.
    count: AtomicUsize,
    entries: Mutex<Entries>,
}

#[derive(Default)]
struct Entries {
    slots: Vec<Option<(Arc<Wake>, usize)>>,
    free: Vec<usize>,
}

impl fmt::Debug for Waiters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiters").field("count", &self.count).finish_non_exhaustive()
    }
}

impl Waiters {
    /// Wakes all that hang here: records became visible, or the partition's role changed.
    pub(crate) fn wake(&self) {
        // A wait registers first and looks at the partition afterwards, so that a missed count is no missed record.
        if self.count.load(Ordering::SeqCst) == 0 {
            return;
        }
        for (wake, place) in self.entries.lock().slots.iter().flatten() {
            wake.set(*place);
        }
    }

    /// How many waits hang here.
    #[cfg(test)]
    pub(crate) fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    fn add(&self, wake: Arc<Wake>, place: usize) -> usize {
        let mut entries = self.entries.lock();
        self.count.fetch_add(1, Ordering::SeqCst);
        if let Some(slot) = entries.free.pop()
            && let Some(empty) = entries.slots.get_mut(slot)
        {
            *empty = Some((wake, place));
            return slot;
        }
        entries.slots.push(Some((wake, place)));
        entries.slots.len() - 1
    }

    fn remove(&self, slot: usize) {
        let mut entries = self.entries.lock();
        if let Some(taken) = entries.slots.get_mut(slot)
            && taken.take().is_some()
        {
            entries.free.push(slot);
        }
        if self.count.fetch_sub(1, Ordering::SeqCst) == 1 {
            // An idle partition keeps no memory for waits it once had.
            *entries = Entries::default();
        }
    }
}

/// What a wait can hang on.
pub(crate) trait Waitable {
    /// The waits that hang on it.
    fn waiters(&self) -> &Waiters;
}

/// A wait on several partitions. Dropping it takes it off all of them.
pub(crate) struct Wait<P: Waitable> {
    wake: Arc<Wake>,
    hung: Vec<(Arc<P>, usize)>,
}

impl<P: Waitable> Wait<P> {
    /// Hangs a wait on these partitions; a partition's place is its index. Look at the partitions after this call:
    /// what they gain from now on is told by [`Wait::progress`].
    pub(crate) fn on(partitions: impl ExactSizeIterator<Item = Arc<P>>) -> Wait<P> {
        let wake = Arc::new(Wake::new(partitions.len()));
        let hung = partitions
            .enumerate()
            .map(|(place, partition)| {
                let slot = partition.waiters().add(Arc::clone(&wake), place);
                (partition, slot)
            })
            .collect();
        Wait { wake, hung }
    }

    /// Waits until a partition made progress, and gives the places of all that did since the last call. May be
    /// dropped and called again at will.
    pub(crate) async fn progress(&self, places: &mut Vec<usize>) {
        places.clear();
        loop {
            self.wake.take(places);
            if !places.is_empty() {
                return;
            }
            self.wake.notify.notified().await;
        }
    }
}

impl<P: Waitable> Drop for Wait<P> {
    fn drop(&mut self) {
        for (partition, slot) in &self.hung {
            partition.waiters().remove(*slot);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Thing {
        waiters: Waiters,
    }

    impl Waitable for Thing {
        fn waiters(&self) -> &Waiters {
            &self.waiters
        }
    }

    fn things(count: usize) -> Vec<Arc<Thing>> {
        (0..count).map(|_| Arc::default()).collect()
    }

    async fn progress(wait: &Wait<Thing>) -> Vec<usize> {
        let mut places = Vec::new();
        wait.progress(&mut places).await;
        places
    }

    #[tokio::test]
    async fn a_wait_learns_which_partitions_made_progress_each_once() {
        let things = things(130);
        let wait = Wait::on(things.iter().cloned());
        for place in [129, 3, 64, 3] {
            things[place].waiters.wake();
        }
        assert_eq!(progress(&wait).await, [3, 64, 129]);
        things[0].waiters.wake();
        assert_eq!(progress(&wait).await, [0]);
    }

    #[tokio::test]
    async fn nothing_wakes_a_wait_whose_partitions_are_quiet() {
        let (mine, other) = (things(1), things(1));
        let wait = Wait::on(mine.iter().cloned());
        other[0].waiters.wake();
        let mut places = Vec::new();
        tokio::select! {
            biased;
            () = wait.progress(&mut places) => panic!("woken without progress"),
            () = tokio::task::yield_now() => {}
        }
        mine[0].waiters.wake();
        assert_eq!(progress(&wait).await, [0]);
    }

    #[tokio::test]
    async fn a_dropped_wait_leaves_nothing_behind() {
        let things = things(2);
        let first = Wait::on(things.iter().cloned());
        let second = Wait::on(things.iter().take(1).cloned());
        drop(first);
        assert_eq!((things[0].waiters.count(), things[1].waiters.count()), (1, 0));
        things[0].waiters.wake();
        assert_eq!(progress(&second).await, [0]);
        drop(second);
        assert!(things[0].waiters.entries.lock().slots.is_empty());
    }

    #[tokio::test]
    async fn every_one_of_many_waits_is_woken() {
        let things = things(1);
        let waits: Vec<Wait<Thing>> = (0..1000).map(|_| Wait::on(things.iter().cloned())).collect();
        things[0].waiters.wake();
        for wait in &waits {
            assert_eq!(progress(wait).await, [0]);
        }
    }
}
