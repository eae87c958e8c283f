//! The share-partitions in memory. One that is missing is loaded once, however many want it and whoever of them goes; so
//! there is one memory of a share-partition at most that gives out records.

use crate::base::ErrorCode;
use crate::replica::Waitable;
use crate::replica::Waiters;
use crate::share::Failure;
use crate::share::Key;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::OnceLock;

/// What is kept of a share-partition.
pub(super) trait Entry {
    /// It is let go of: who still has it at hand gets nothing from it any more.
    fn end(&self);
}

/// A load that is under way. Those who wait for it hang on it.
pub(super) struct Loading<T> {
    waiters: Waiters,
    ended: OnceLock<Result<Arc<T>, Failure>>,
}

impl<T> Loading<T> {
    fn new() -> Loading<T> {
        Loading { waiters: Waiters::default(), ended: OnceLock::new() }
    }

    /// What became of it; `None` while it goes on.
    pub(super) fn ended(&self) -> Option<&Result<Arc<T>, Failure>> {
        self.ended.get()
    }
}

impl<T> Waitable for Loading<T> {
    fn waiters(&self) -> &Waiters {
        &self.waiters
    }
}

enum Slot<T> {
    There(Arc<T>),
    /// With `stale`, what is being read may not be so any more.
    Loading {
        load: Arc<Loading<T>>,
        stale: bool,
    },
}

/// See the module.
pub(super) struct Slots<T> {
    all: Mutex<HashMap<Key, Slot<T>>>,
}

/// A share-partition that is wanted.
pub(super) enum Opened<T: Entry> {
    There(Arc<T>),
    /// Whoever gets the duty has it loaded.
    Loading(Arc<Loading<T>>, Option<Duty<T>>),
}

impl<T: Entry> Slots<T> {
    pub(super) fn new() -> Arc<Slots<T>> {
        Arc::new(Slots { all: Mutex::default() })
    }

    /// How many there are, those that are being loaded too.
    pub(super) fn count(&self) -> usize {
        self.all.lock().len()
    }

    /// The share-partition, when it is loaded.
    pub(super) fn get(&self, key: &Key) -> Option<Arc<T>> {
        match self.all.lock().get(key)? {
            Slot::There(entry) => Some(Arc::clone(entry)),
            Slot::Loading { .. } => None,
        }
    }

    /// The share-partition, or its load; that begins with this when there is neither.
    pub(super) fn open(self: &Arc<Self>, key: &Key) -> Opened<T> {
        let mut all = self.all.lock();
        match all.get(key) {
            Some(Slot::There(entry)) => Opened::There(Arc::clone(entry)),
            Some(Slot::Loading { load, .. }) => Opened::Loading(Arc::clone(load), None),
            None => {
                let load = Arc::new(Loading::new());
                all.insert(key.clone(), Slot::Loading { load: Arc::clone(&load), stale: false });
                let duty = Duty { slots: Arc::clone(self), key: key.clone(), load: Arc::clone(&load) };
                Opened::Loading(load, Some(duty))
            }
        }
    }

    /// Lets go of this very entry; whether it was there.
    pub(super) fn forget(&self, key: &Key, entry: &Arc<T>) -> bool {
        let mut all = self.all.lock();
        let same = matches!(all.get(key), Some(Slot::There(there)) if Arc::ptr_eq(there, entry));
        if same {
            all.remove(key);
            // As long as nobody can load it again.
            entry.end();
        }
        same
    }

    /// Lets go of those that `which` tells. What is being loaded of them is loaded again.
    pub(super) fn forget_all(&self, which: impl Fn(&Key) -> bool) {
        self.all.lock().retain(|key, slot| match slot {
            _ if !which(key) => true,
            Slot::There(entry) => {
                entry.end();
                false
            }
            Slot::Loading { stale, .. } => {
                *stale = true;
                true
            }
        });
    }

    /// Lets go of what nobody has at hand and `needed` does not keep.
    pub(super) fn sweep(&self, needed: impl Fn(&Key, &T) -> bool) {
        self.all.lock().retain(|key, slot| match slot {
            Slot::There(entry) => Arc::strong_count(entry) > 1 || needed(key, entry),
            Slot::Loading { .. } => true,
        });
    }

    /// The end of a load; whether it must be done again.
    fn settle(&self, key: &Key, load: &Loading<T>, result: Result<Arc<T>, Failure>) -> bool {
        let mut all = self.all.lock();
        if let Some(Slot::Loading { stale, .. }) = all.get_mut(key)
            && std::mem::take(stale)
            && result.is_ok()
        {
            return true;
        }
        match &result {
            Ok(entry) => drop(all.insert(key.clone(), Slot::There(Arc::clone(entry)))),
            Err(_) => drop(all.remove(key)),
        }
        drop(all);
        let set = load.ended.set(result);
        debug_assert!(set.is_ok(), "a load of {key} ended twice");
        load.waiters.wake();
        false
    }
}

/// The one load of a share-partition. Until it has ended the slot is this load's.
pub(super) struct Duty<T: Entry> {
    slots: Arc<Slots<T>>,
    key: Key,
    load: Arc<Loading<T>>,
}

impl<T: Entry> Duty<T> {
    /// What is to be loaded.
    pub(super) fn key(&self) -> &Key {
        &self.key
    }

    /// It is loaded, or cannot be: who waits learns it. Gives the duty back when it must be loaded once more.
    pub(super) fn end(self, result: Result<Arc<T>, Failure>) -> Option<Duty<T>> {
        self.slots.settle(&self.key, &self.load, result).then_some(self)
    }
}

impl<T: Entry> Drop for Duty<T> {
    /// Nobody loads it any more: the broker stops.
    fn drop(&mut self) {
        if self.load.ended().is_none() {
            self.slots.settle(&self.key, &self.load, Err(ErrorCode::CoordinatorNotAvailable.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::PartitionIndex;
    use crate::base::TopicId;
    use crate::base::seeds;
    use crate::io::random::Random;
    use crate::replica::Wait;
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering;

    #[derive(Debug, Default)]
    struct Thing {
        ended: AtomicBool,
    }

    impl Entry for Thing {
        fn end(&self) {
            self.ended.store(true, Ordering::Relaxed);
        }
    }

    const FAILURE: Failure = Failure { code: ErrorCode::CoordinatorNotAvailable, message: None };

    fn key(group: &str) -> Key {
        Key { group: Arc::from(group), topic: TopicId::METADATA, partition: PartitionIndex(0) }
    }

    fn loading(opened: Opened<Thing>) -> (Arc<Loading<Thing>>, Option<Duty<Thing>>) {
        match opened {
            Opened::Loading(load, duty) => (load, duty),
            Opened::There(_) => panic!("it is there"),
        }
    }

    #[tokio::test]
    async fn a_load_that_fails_fails_for_all_and_the_next_one_is_the_only_one() {
        let slots = Slots::new();
        let (first, duty) = loading(slots.open(&key("g")));
        let (second, none) = loading(slots.open(&key("g")));
        assert!(none.is_none() && Arc::ptr_eq(&first, &second));
        let wait = Wait::on([Arc::clone(&first), second].into_iter());
        assert!(duty.unwrap().end(Err(FAILURE)).is_none());
        let mut places = Vec::new();
        wait.progress(&mut places).await;
        assert_eq!(places, [0, 1]);
        assert_eq!(first.ended().unwrap().as_ref().unwrap_err(), &FAILURE);
        let (third, duty) = loading(slots.open(&key("g")));
        assert!(third.ended().is_none() && loading(slots.open(&key("g"))).1.is_none());
        let thing = Arc::new(Thing::default());
        assert!(duty.unwrap().end(Ok(Arc::clone(&thing))).is_none());
        assert!(Arc::ptr_eq(third.ended().unwrap().as_ref().unwrap(), &thing));
        assert!(matches!(slots.open(&key("g")), Opened::There(there) if Arc::ptr_eq(&there, &thing)));
    }

    #[test]
    fn what_is_forgotten_while_it_is_read_is_read_again() {
        let slots = Slots::new();
        let (load, duty) = loading(slots.open(&key("g")));
        let (other, others_duty) = loading(slots.open(&key("h")));
        slots.forget_all(|key| &*key.group == "g");
        let duty = duty.unwrap().end(Ok(Arc::default())).expect("another load");
        assert!(load.ended().is_none() && slots.get(&key("g")).is_none());
        assert!(others_duty.unwrap().end(Ok(Arc::default())).is_none() && other.ended().is_some());
        assert!(duty.end(Ok(Arc::default())).is_none());
        let thing = slots.get(&key("g")).unwrap();
        slots.forget_all(|key| &*key.group == "g");
        assert!(thing.ended.load(Ordering::Relaxed) && slots.count() == 1);
    }

    #[test]
    fn a_load_that_is_dropped_leaves_no_slot_behind() {
        let slots = Slots::new();
        let (load, duty) = loading(slots.open(&key("g")));
        drop(duty);
        assert!(load.ended().unwrap().is_err() && slots.count() == 0);
        assert!(loading(slots.open(&key("g"))).1.is_some());
    }

    /// Members open, loads end well or not, groups are forgotten, at random: never are there two that give out records.
    fn live(seed: u64) -> usize {
        let mut random = Random::seeded(seed);
        let slots = Slots::new();
        let (mut duties, mut loads, mut things) = (Vec::new(), Vec::new(), Vec::<Arc<Thing>>::new());
        for _ in 0..100 {
            match random.below(10) {
                0..4 => match slots.open(&key("g")) {
                    Opened::There(thing) => things.push(thing),
                    Opened::Loading(load, duty) => {
                        loads.push(load);
                        duties.extend(duty);
                    }
                },
                end @ 4..7 => {
                    let result = if end < 6 { Ok(Arc::default()) } else { Err(FAILURE) };
                    let duty = duties.pop();
                    duties.extend(duty.and_then(|duty: Duty<Thing>| duty.end(result)));
                }
                7 => drop(duties.pop()),
                8 => slots.forget_all(|_| true),
                _ => drop(things.pop().filter(|thing| slots.forget(&key("g"), thing))),
            }
            if random.one_in(9) {
                slots.sweep(|_, _| false);
            }
            loads.retain(|load| {
                things.extend(load.ended().and_then(|end| end.as_ref().ok().cloned()));
                load.ended().is_none()
            });
            things.retain(|thing| !thing.ended.load(Ordering::Relaxed));
            assert!(duties.len() <= 1, "{} load at once", duties.len());
            let first = things.first();
            let one = first.is_none_or(|first| things.iter().all(|thing| Arc::ptr_eq(first, thing)));
            assert!(one, "several give out records");
        }
        things.len()
    }

    #[test]
    fn no_history_makes_two_memories_of_a_share_partition() {
        let given: usize = seeds::run("share-partitions in memory", 200, live).into_iter().sum();
        assert!(given > 100, "{given} were given");
    }
}
