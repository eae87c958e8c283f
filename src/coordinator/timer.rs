//! Named deadlines on the monotonic clock. Cheap to push back again and again, as heartbeats do.

use crate::base::Instant;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::HashMap;
use std::hash::Hash;

/// A set of named deadlines.
///
/// Each name has at most one deadline. Pushing a deadline back only notes the new one; the queue entry of the
/// old one is moved when its time comes, so the queue holds about one entry a name.
pub struct Timers<T> {
    deadlines: HashMap<T, Planned>,
    queue: BinaryHeap<Reverse<(Instant, T)>>,
}

struct Planned {
    deadline: Instant,
    /// The earliest entry of this name in the queue.
    queued: Instant,
}

impl<T: Clone + Eq + Ord + Hash> Timers<T> {
    /// No deadlines.
    pub fn new() -> Timers<T> {
        Timers { deadlines: HashMap::new(), queue: BinaryHeap::new() }
    }

    /// Sets the deadline of a name, in place of an earlier one.
    pub fn set(&mut self, timer: T, deadline: Instant) {
        if let Some(planned) = self.deadlines.get_mut(&timer) {
            planned.deadline = deadline;
            if planned.queued <= deadline {
                return;
            }
            planned.queued = deadline;
        } else {
            self.deadlines.insert(timer.clone(), Planned { deadline, queued: deadline });
        }
        self.queue.push(Reverse((deadline, timer)));
    }

    /// Forgets the deadline of a name.
    pub fn cancel(&mut self, timer: &T) {
        self.deadlines.remove(timer);
        // Entries of cancelled names stay until their time; clear them when they outweigh the live ones.
        if self.queue.len() > 64 && self.queue.len() > 4 * self.deadlines.len() {
            self.rebuild();
        }
    }

    /// A time at or before the next deadline; `None` without deadlines.
    pub fn next(&self) -> Option<Instant> {
        self.queue.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes one name whose deadline is not after `now`.
    pub fn pop(&mut self, now: Instant) -> Option<T> {
        while let Some(Reverse((at, timer))) = self.queue.pop() {
            if at > now {
                self.queue.push(Reverse((at, timer)));
                return None;
            }
            match self.deadlines.get_mut(&timer) {
                Some(planned) if planned.queued != at => {}
                Some(planned) if planned.deadline > now => {
                    planned.queued = planned.deadline;
                    self.queue.push(Reverse((planned.deadline, timer)));
                }
                Some(_) => {
                    self.deadlines.remove(&timer);
                    return Some(timer);
                }
                None => {}
            }
        }
        None
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.deadlines.clear();
        self.queue.clear();
    }

    fn rebuild(&mut self) {
        self.queue.clear();
        for (timer, planned) in &mut self.deadlines {
            planned.queued = planned.deadline;
            self.queue.push(Reverse((planned.deadline, timer.clone())));
        }
    }
}

impl<T: Clone + Eq + Ord + Hash> Default for Timers<T> {
    fn default() -> Timers<T> {
        Timers::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_deadline_pushed_back_fires_once_at_its_last_time() {
        let mut timers = Timers::new();
        timers.set("a", Instant(10));
        timers.set("a", Instant(30));
        assert_eq!(timers.pop(Instant(20)), None);
        assert_eq!(timers.pop(Instant(30)), Some("a"));
        assert_eq!(timers.pop(Instant(100)), None);
    }

    #[test]
    fn a_deadline_brought_forward_fires_at_the_new_time() {
        let mut timers = Timers::new();
        timers.set("a", Instant(30));
        timers.set("a", Instant(10));
        assert_eq!(timers.next(), Some(Instant(10)));
        assert_eq!(timers.pop(Instant(10)), Some("a"));
        assert_eq!(timers.pop(Instant(100)), None);
    }

    #[test]
    fn the_queue_does_not_grow_with_heartbeats_or_cancelled_names() {
        let mut timers = Timers::new();
        for round in 0..10_000u64 {
            timers.set(0u64, Instant(round + 1000));
            timers.set(round + 1, Instant(1_000_000));
            timers.cancel(&(round + 1));
        }
        assert!(timers.queue.len() <= 66, "{}", timers.queue.len());
    }

    proptest! {
        /// The queue agrees with a plain map from name to deadline.
        #[test]
        fn fires_what_a_plain_map_would(steps in proptest::collection::vec((0u8..3, 0u8..6, 0u64..50), 1..200)) {
            let mut timers = Timers::new();
            let mut model: BTreeMap<u8, u64> = BTreeMap::new();
            let mut now = 0;
            for (act, name, amount) in steps {
                match act {
                    0 => {
                        timers.set(name, Instant(now + amount));
                        model.insert(name, now + amount);
                    }
                    1 => {
                        timers.cancel(&name);
                        model.remove(&name);
                    }
                    _ => {
                        now += amount;
                        let mut fired = Vec::new();
                        while let Some(timer) = timers.pop(Instant(now)) {
                            fired.push(timer);
                        }
                        fired.sort_unstable();
                        let due: Vec<u8> = model.iter().filter(|(_, at)| **at <= now).map(|(name, _)| *name).collect();
                        model.retain(|_, at| *at > now);
                        prop_assert_eq!(fired, due);
                    }
                }
            }
        }
    }
}
