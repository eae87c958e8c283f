//! Sets of tasks: a task is a partition of a subtopology.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Tasks of one role: the partitions of each subtopology. No subtopology has an empty set.
pub type Role = BTreeMap<Arc<str>, BTreeSet<i32>>;

/// Active tasks: each partition with the epoch at which it was given to its owner.
pub type Active = BTreeMap<Arc<str>, BTreeMap<i32, i32>>;

/// What a member should run (`TasksTuple`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    /// Those that process records.
    pub active: Role,
    /// Those that keep state warm.
    pub standby: Role,
    /// Those that restore state before they become active.
    pub warmup: Role,
}

/// What a member has, or has to give back (`TasksTupleWithEpochs`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Those that process records.
    pub active: Active,
    /// Those that keep state warm.
    pub standby: Role,
    /// Those that restore state before they become active.
    pub warmup: Role,
}

impl Tasks {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.standby.is_empty() && self.warmup.is_empty()
    }

    /// Whether any of these tasks is there in the same role.
    pub(crate) fn contains_any(&self, held: &Held) -> bool {
        let active = held.active.iter().any(|(subtopology, partitions)| {
            let own = self.active.get(subtopology);
            own.is_some_and(|own| partitions.keys().any(|partition| own.contains(partition)))
        });
        active || overlap(&self.standby, &held.standby) || overlap(&self.warmup, &held.warmup)
    }

    /// The memory they take, about.
    pub(crate) fn bytes(&self) -> usize {
        role_bytes(&self.active) + role_bytes(&self.standby) + role_bytes(&self.warmup)
    }
}

impl Held {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.active.is_empty() && self.standby.is_empty() && self.warmup.is_empty()
    }

    /// Whether all of these tasks are there in the same role.
    pub(crate) fn contains_all(&self, owned: &Tasks) -> bool {
        let active = owned.active.iter().all(|(subtopology, partitions)| {
            let own = self.active.get(subtopology);
            own.is_some_and(|own| partitions.iter().all(|partition| own.contains_key(partition)))
        });
        active && within(&owned.standby, &self.standby) && within(&owned.warmup, &self.warmup)
    }

    /// The epoch at which the task was given, when it is there as an active one.
    pub(crate) fn active_epoch(&self, subtopology: &str, partition: i32) -> Option<i32> {
        self.active.get(subtopology)?.get(&partition).copied()
    }

    /// Takes over all tasks of another.
    pub(crate) fn merge(&mut self, other: Held) {
        for (subtopology, partitions) in other.active {
            self.active.entry(subtopology).or_default().extend(partitions);
        }
        for (subtopology, partitions) in other.standby {
            self.standby.entry(subtopology).or_default().extend(partitions);
        }
        for (subtopology, partitions) in other.warmup {
            self.warmup.entry(subtopology).or_default().extend(partitions);
        }
    }

    /// The tasks without the epochs of the active ones.
    pub(crate) fn tasks(&self) -> Tasks {
        Tasks { active: self.active_role(), standby: self.standby.clone(), warmup: self.warmup.clone() }
    }

    /// The active tasks without their epochs.
    pub(crate) fn active_role(&self) -> Role {
        let partitions = |tasks: &BTreeMap<i32, i32>| tasks.keys().copied().collect();
        self.active.iter().map(|(subtopology, tasks)| (subtopology.clone(), partitions(tasks))).collect()
    }

    /// The memory they take, about.
    pub(crate) fn bytes(&self) -> usize {
        let active: usize = self.active.values().map(|partitions| ROLE_BYTES + partitions.len() * 16).sum();
        active + role_bytes(&self.standby) + role_bytes(&self.warmup)
    }
}

/// What a subtopology's entry takes beside its partitions, about; the names are shared.
const ROLE_BYTES: usize = 64;

fn role_bytes(role: &Role) -> usize {
    role.values().map(|partitions| ROLE_BYTES + partitions.len() * 8).sum()
}

/// Whether the task is in the role.
pub(crate) fn has(role: &Role, subtopology: &str, partition: i32) -> bool {
    role.get(subtopology).is_some_and(|partitions| partitions.contains(&partition))
}

/// Puts a task into a role.
pub(crate) fn put(role: &mut Role, subtopology: &Arc<str>, partition: i32) {
    role.entry(subtopology.clone()).or_default().insert(partition);
}

/// Takes a task out of a role.
pub(crate) fn take(role: &mut Role, subtopology: &str, partition: i32) {
    let Some(partitions) = role.get_mut(subtopology) else { return };
    partitions.remove(&partition);
    if partitions.is_empty() {
        role.remove(subtopology);
    }
}

fn overlap(one: &Role, other: &Role) -> bool {
    one.iter().any(|(subtopology, partitions)| {
        other.get(subtopology).is_some_and(|others| !partitions.is_disjoint(others))
    })
}

fn within(inner: &Role, outer: &Role) -> bool {
    inner.iter().all(|(subtopology, partitions)| {
        outer.get(subtopology).is_some_and(|others| partitions.is_subset(others))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(tasks: &[(&str, i32)]) -> Role {
        let mut role = Role::new();
        for (subtopology, partition) in tasks {
            put(&mut role, &Arc::from(*subtopology), *partition);
        }
        role
    }

    #[test]
    fn a_role_without_tasks_has_no_entries() {
        let mut one = role(&[("a", 1), ("a", 2)]);
        take(&mut one, "a", 1);
        assert!(has(&one, "a", 2) && !has(&one, "a", 1));
        take(&mut one, "a", 2);
        take(&mut one, "b", 0);
        assert!(one.is_empty());
    }

    #[test]
    fn owned_and_held_tasks_are_compared_role_by_role() {
        let held = Held {
            active: BTreeMap::from([(Arc::from("a"), BTreeMap::from([(0, 3), (1, 4)]))]),
            standby: role(&[("a", 2)]),
            warmup: Role::new(),
        };
        let owned = |active: &[(&str, i32)], standby: &[(&str, i32)]| Tasks {
            active: role(active),
            standby: role(standby),
            warmup: Role::new(),
        };
        assert!(held.contains_all(&owned(&[("a", 0)], &[("a", 2)])));
        assert!(!held.contains_all(&owned(&[("a", 2)], &[])));
        assert!(!held.contains_all(&owned(&[("b", 0)], &[])));
        assert!(owned(&[("a", 1)], &[]).contains_any(&held));
        assert!(owned(&[], &[("a", 2)]).contains_any(&held));
        assert!(!owned(&[("a", 2)], &[("a", 0)]).contains_any(&held));
        assert_eq!((held.active_epoch("a", 1), held.active_epoch("a", 2)), (Some(4), None));
        assert_eq!(held.active_role(), role(&[("a", 0), ("a", 1)]));
    }
}
