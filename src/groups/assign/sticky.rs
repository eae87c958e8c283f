//! The task assignor of streams groups: as even as possible, and as little moved as that allows (Kafka's
//! `StickyTaskAssignor` of 4.4).
//!
//! A task goes to the member that had it, while that member has fewer than its share; else to one that kept its state
//! warm, the furthest first; else to the member with the least to do of the process with the least to do. Standby tasks
//! then go the same way, never to a process that has the task already.

use crate::groups::streams::command::TaskOffsets;
use crate::groups::streams::tasks;
use crate::groups::streams::tasks::Role;
use crate::groups::streams::tasks::Tasks;
use std::cmp::Ordering;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BinaryHeap;
use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;

/// A member that can get tasks.
#[derive(Clone, Debug)]
pub(crate) struct Candidate<'a> {
    /// Its id.
    pub(crate) id: &'a Arc<str>,
    /// The process it is part of.
    pub(crate) process: &'a str,
    /// What it has now.
    pub(crate) before: &'a Tasks,
    /// How far the tasks are whose state it has.
    pub(crate) offsets: Option<&'a TaskOffsets>,
}

/// A subtopology with tasks to give.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part<'a> {
    /// Its id.
    pub(crate) id: &'a Arc<str>,
    /// How many tasks.
    pub(crate) tasks: i32,
    /// Whether they have state to keep.
    pub(crate) stateful: bool,
}

/// What every member shall have. `parts` are sorted by id.
pub(crate) fn assign(
    members: &[Candidate<'_>],
    parts: &[Part<'_>],
    standby_replicas: usize,
) -> BTreeMap<Arc<str>, Tasks> {
    let mut table = Table::new(members, parts, standby_replicas);
    if !members.is_empty() {
        let all = tasks_of(parts, |_| true);
        table.assign_active(all);
        if standby_replicas > 0 {
            table.assign_standby(tasks_of(parts, |part| part.stateful), standby_replicas);
        }
    }
    let given = members.iter().zip(table.members);
    given.map(|(candidate, member)| (candidate.id.clone(), member.into_tasks(parts))).collect()
}

/// A task: the place of its subtopology in the list of parts, and the partition.
type Task = (usize, i32);

fn tasks_of(parts: &[Part<'_>], wanted: impl Fn(&Part<'_>) -> bool) -> Vec<Task> {
    let parts = parts.iter().enumerate().filter(|(_, part)| wanted(part));
    parts.flat_map(|(place, part)| (0..part.tasks).map(move |partition| (place, partition))).collect()
}

struct Member {
    process: usize,
    active: Vec<Task>,
    standby: Vec<Task>,
}

struct Process {
    members: Vec<usize>,
    tasks: HashSet<Task>,
    count: usize,
}

/// How many tasks a member may have while others have not got theirs; grows smaller as members are full.
struct Share {
    tasks: usize,
    members: usize,
    each: usize,
}

struct Table {
    members: Vec<Member>,
    processes: Vec<Process>,
    active: Share,
    total: Share,
    had: HashMap<Task, usize>,
    /// Who kept the state of a task warm, the best first.
    warm: HashMap<Task, Vec<usize>>,
}

impl Share {
    fn new(tasks: usize, members: usize) -> Share {
        Share { tasks, members, each: share(tasks, members) }
    }

    /// A member now has so many tasks; when that is its share, the others share the rest.
    fn took(&mut self, tasks: usize) {
        if tasks == self.each {
            self.members = self.members.saturating_sub(1);
            self.tasks = self.tasks.saturating_sub(tasks);
            self.each = share(self.tasks, self.members);
        }
    }
}

fn share(tasks: usize, members: usize) -> usize {
    if members == 0 { 0 } else { tasks.div_ceil(members) }
}

/// A process by what it has to do for each of its members.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Load {
    tasks: usize,
    members: usize,
}

impl Load {
    fn of(process: &Process) -> Load {
        Load { tasks: process.count, members: process.members.len() }
    }
}

impl Ord for Load {
    fn cmp(&self, other: &Load) -> Ordering {
        self.tasks.saturating_mul(other.members).cmp(&other.tasks.saturating_mul(self.members))
    }
}

impl PartialOrd for Load {
    fn partial_cmp(&self, other: &Load) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

type Queue = BinaryHeap<Reverse<(Load, usize)>>;

impl Table {
    fn new(candidates: &[Candidate<'_>], parts: &[Part<'_>], standby_replicas: usize) -> Table {
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut processes: Vec<Process> = Vec::new();
        let mut members = Vec::with_capacity(candidates.len());
        for (index, candidate) in candidates.iter().enumerate() {
            let process = *places.entry(candidate.process).or_insert_with(|| {
                processes.push(Process { members: Vec::new(), tasks: HashSet::new(), count: 0 });
                processes.len() - 1
            });
            if let Some(process) = processes.get_mut(process) {
                process.members.push(index);
            }
            members.push(Member { process, active: Vec::new(), standby: Vec::new() });
        }
        let count = |part: &Part<'_>| usize::try_from(part.tasks).unwrap_or(0);
        let active: usize = parts.iter().map(count).sum();
        let stateful: usize = parts.iter().filter(|part| part.stateful).map(count).sum();
        let total = active.saturating_add(stateful.saturating_mul(standby_replicas));
        Table {
            active: Share::new(active, members.len()),
            total: Share::new(total, members.len()),
            had: had(candidates, parts),
            warm: warm(candidates, parts),
            members,
            processes,
        }
    }

    fn assign_active(&mut self, mut tasks: Vec<Task>) {
        tasks.sort_by_key(|(part, partition)| (*partition, *part));
        tasks.retain(|task| {
            let member = self.had.get(task).copied();
            !member.is_some_and(|member| self.give_active_within_share(member, *task))
        });
        tasks.retain(|task| {
            let warm = self.warm.get(task).and_then(|members| self.idlest(members, None));
            !warm.is_some_and(|member| self.give_active_within_share(member, *task))
        });
        tasks.sort_unstable();
        let mut queue = self.queue();
        for task in tasks {
            let Some(Reverse((_, process))) = queue.pop() else { return };
            if let Some(member) = self.least_loaded(process) {
                self.give_active(member, task);
            }
            self.requeue(&mut queue, process);
        }
    }

    fn assign_standby(&mut self, mut tasks: Vec<Task>, replicas: usize) {
        tasks.sort_by_key(|(part, partition)| Reverse((*partition, *part)));
        let mut rest: Vec<(Task, usize)> = Vec::new();
        for task in tasks {
            for given in 0..replicas {
                if !self.give_standby_to_former(task) {
                    rest.push((task, replicas - given));
                    break;
                }
            }
        }
        rest.sort_by_key(|(task, _)| Reverse(*task));
        let mut queue = self.queue();
        for (task, wanted) in rest {
            for given in 0..wanted {
                if !self.give_standby_to_least_loaded(&mut queue, task) {
                    let lacking = wanted - given;
                    tracing::debug!(partition = task.1, lacking, "too few processes for standby tasks");
                    break;
                }
            }
        }
    }

    /// To the member that had it as an active one, else to one that kept it warm.
    fn give_standby_to_former(&mut self, task: Task) -> bool {
        let had = self.had.get(&task).copied().filter(|member| !self.process_has(*member, task));
        if had.is_some_and(|member| self.give_standby_within_share(member, task)) {
            return true;
        }
        let warm = self.warm.get(&task).and_then(|members| self.idlest(members, Some(task)));
        warm.is_some_and(|member| self.give_standby_within_share(member, task))
    }

    fn give_standby_to_least_loaded(&mut self, queue: &mut Queue, task: Task) -> bool {
        let mut passed = Vec::new();
        let mut given = false;
        while let Some(Reverse((_, process))) = queue.pop() {
            passed.push(process);
            let has = self.processes.get(process).is_none_or(|process| process.tasks.contains(&task));
            if !has && let Some(member) = self.least_loaded(process) {
                self.give_standby(member, task);
                given = true;
                break;
            }
        }
        for process in passed {
            self.requeue(queue, process);
        }
        given
    }

    /// Of members in the order of their worth the one with the least to do, in its process and by itself; not one
    /// whose process has `without` already.
    fn idlest(&self, members: &[usize], without: Option<Task>) -> Option<usize> {
        let mut best: Option<(usize, Load, usize)> = None;
        for member in members {
            if without.is_some_and(|task| self.process_has(*member, task)) {
                continue;
            }
            let (Some(load), count) = (self.load(*member), self.count(*member)) else { continue };
            if best.is_none_or(|(_, least, fewest)| load < least && count < fewest) {
                best = Some((*member, load, count));
            }
        }
        best.map(|(member, _, _)| member)
    }

    fn give_active_within_share(&mut self, member: usize, task: Task) -> bool {
        let fits = self.count(member) < self.active.each;
        if fits {
            self.give_active(member, task);
        }
        fits
    }

    fn give_standby_within_share(&mut self, member: usize, task: Task) -> bool {
        let fits = self.count(member) < self.total.each;
        if fits {
            self.give_standby(member, task);
        }
        fits
    }

    fn give_active(&mut self, member: usize, task: Task) {
        if let Some(one) = self.members.get_mut(member) {
            one.active.push(task);
        }
        let count = self.gave(member, task);
        self.active.took(count);
        self.total.took(count);
    }

    fn give_standby(&mut self, member: usize, task: Task) {
        if let Some(one) = self.members.get_mut(member) {
            one.standby.push(task);
        }
        let count = self.gave(member, task);
        self.total.took(count);
    }

    fn gave(&mut self, member: usize, task: Task) -> usize {
        let process = self.members.get(member).map(|member| member.process);
        if let Some(process) = process.and_then(|process| self.processes.get_mut(process)) {
            process.tasks.insert(task);
            process.count += 1;
        }
        self.count(member)
    }

    fn count(&self, member: usize) -> usize {
        self.members.get(member).map_or(usize::MAX, |member| member.active.len() + member.standby.len())
    }

    fn process(&self, member: usize) -> Option<&Process> {
        self.members.get(member).and_then(|member| self.processes.get(member.process))
    }

    fn process_has(&self, member: usize, task: Task) -> bool {
        self.process(member).is_none_or(|process| process.tasks.contains(&task))
    }

    fn load(&self, member: usize) -> Option<Load> {
        self.process(member).map(Load::of)
    }

    fn least_loaded(&self, process: usize) -> Option<usize> {
        let members = &self.processes.get(process)?.members;
        members.iter().copied().min_by_key(|member| self.count(*member))
    }

    fn queue(&self) -> Queue {
        let processes = self.processes.iter().enumerate();
        processes.map(|(place, process)| Reverse((Load::of(process), place))).collect()
    }

    fn requeue(&self, queue: &mut Queue, process: usize) {
        if let Some(load) = self.processes.get(process).map(Load::of) {
            queue.push(Reverse((load, process)));
        }
    }
}

impl Member {
    fn into_tasks(self, parts: &[Part<'_>]) -> Tasks {
        let role = |given: Vec<Task>| {
            let mut role = Role::new();
            for (part, partition) in given {
                if let Some(part) = parts.get(part) {
                    tasks::put(&mut role, part.id, partition);
                }
            }
            role
        };
        Tasks { active: role(self.active), standby: role(self.standby), warmup: Role::new() }
    }
}

fn place_of(parts: &[Part<'_>], id: &str) -> Option<usize> {
    parts.binary_search_by(|part| (**part.id).cmp(id)).ok()
}

fn had(candidates: &[Candidate<'_>], parts: &[Part<'_>]) -> HashMap<Task, usize> {
    let mut had = HashMap::new();
    for (index, candidate) in candidates.iter().enumerate() {
        for (id, partitions) in &candidate.before.active {
            let Some(place) = place_of(parts, id) else { continue };
            had.extend(partitions.iter().map(|partition| ((place, *partition), index)));
        }
    }
    had
}

fn warm(candidates: &[Candidate<'_>], parts: &[Part<'_>]) -> HashMap<Task, Vec<usize>> {
    // By task: whether it is only known by its offsets, how far it is, the member.
    let mut found: HashMap<Task, Vec<(bool, Reverse<i64>, usize)>> = HashMap::new();
    let nothing = TaskOffsets::new();
    for (index, candidate) in candidates.iter().enumerate() {
        let offsets = candidate.offsets.unwrap_or(&nothing);
        for (id, partitions) in &candidate.before.standby {
            let Some(place) = place_of(parts, id) else { continue };
            for partition in partitions {
                let offset = offsets.get(id).and_then(|all| all.get(partition)).copied().unwrap_or(0);
                let warm = found.entry((place, *partition)).or_default();
                warm.push((false, Reverse(offset), index));
            }
        }
        for (id, partitions) in offsets {
            let Some(place) = place_of(parts, id) else { continue };
            for (partition, offset) in partitions {
                if !tasks::has(&candidate.before.standby, id, *partition) {
                    let warm = found.entry((place, *partition)).or_default();
                    warm.push((true, Reverse(*offset), index));
                }
            }
        }
    }
    let ranked = found.into_iter().map(|(task, mut warm)| {
        warm.sort_unstable();
        (task, warm.into_iter().map(|(_, _, member)| member).collect())
    });
    ranked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    struct World {
        members: Vec<(Arc<str>, String)>,
        parts: Vec<(Arc<str>, i32, bool)>,
        before: BTreeMap<Arc<str>, Tasks>,
        offsets: BTreeMap<Arc<str>, TaskOffsets>,
        replicas: usize,
    }

    impl World {
        /// Members as `process` names, parts as (tasks, stateful).
        fn new(processes: &[&str], parts: &[(i32, bool)], replicas: usize) -> World {
            let name =
                |(index, process): (usize, &&str)| (Arc::from(format!("m{index}")), (*process).to_owned());
            let part = |(index, part): (usize, &(i32, bool))| (Arc::from(index.to_string()), part.0, part.1);
            World {
                members: processes.iter().enumerate().map(name).collect(),
                parts: parts.iter().enumerate().map(part).collect(),
                before: BTreeMap::new(),
                offsets: BTreeMap::new(),
                replicas,
            }
        }

        fn run(&mut self) -> &BTreeMap<Arc<str>, Tasks> {
            let nothing = Tasks::default();
            let candidates: Vec<Candidate<'_>> = self
                .members
                .iter()
                .map(|(id, process)| Candidate {
                    id,
                    process,
                    before: self.before.get(id).unwrap_or(&nothing),
                    offsets: self.offsets.get(id),
                })
                .collect();
            let parts: Vec<Part<'_>> = self
                .parts
                .iter()
                .map(|(id, tasks, stateful)| Part { id, tasks: *tasks, stateful: *stateful })
                .collect();
            let after = assign(&candidates, &parts, self.replicas);
            self.before = after;
            &self.before
        }

        fn leave(&mut self, index: usize) {
            let (id, _) = self.members.remove(index);
            self.before.remove(&id);
        }

        fn counts(&self) -> Vec<(usize, usize)> {
            let count = |role: &Role| role.values().map(BTreeSet::len).sum();
            self.before.values().map(|tasks| (count(&tasks.active), count(&tasks.standby))).collect()
        }

        fn check(&self) {
            let mut active: BTreeSet<(Arc<str>, i32)> = BTreeSet::new();
            let mut standby: BTreeMap<(Arc<str>, i32), usize> = BTreeMap::new();
            let mut on_process: BTreeSet<(&str, Arc<str>, i32)> = BTreeSet::new();
            for (id, process) in &self.members {
                let tasks = &self.before[id];
                assert!(tasks.warmup.is_empty());
                for (role, is_active) in [(&tasks.active, true), (&tasks.standby, false)] {
                    for (part, partitions) in role {
                        for partition in partitions {
                            assert!(
                                on_process.insert((process, part.clone(), *partition)),
                                "twice on {process}"
                            );
                            if is_active {
                                assert!(active.insert((part.clone(), *partition)), "two owners");
                            } else {
                                *standby.entry((part.clone(), *partition)).or_default() += 1;
                            }
                        }
                    }
                }
            }
            let processes = self.members.iter().map(|(_, process)| process).collect::<BTreeSet<_>>().len();
            for (part, tasks, stateful) in &self.parts {
                for partition in 0..*tasks {
                    let task = (part.clone(), partition);
                    assert!(active.remove(&task), "not assigned: {task:?}");
                    let wanted = if *stateful { self.replicas.min(processes - 1) } else { 0 };
                    assert_eq!(standby.remove(&task).unwrap_or(0), wanted, "standbys of {task:?}");
                }
            }
            assert!(active.is_empty() && standby.is_empty());
        }
    }

    #[test]
    fn tasks_are_spread_evenly_over_members_and_processes() {
        let mut world = World::new(&["p", "q"], &[(4, false), (4, true)], 0);
        world.run();
        world.check();
        assert_eq!(world.counts(), [(4, 0), (4, 0)]);
        // One process has two members, the other one: by members, not by processes.
        let mut world = World::new(&["p", "p", "q"], &[(6, true)], 1);
        world.run();
        world.check();
        assert!(world.counts().iter().all(|(active, _)| *active == 2), "{:?}", world.counts());
    }

    #[test]
    fn a_new_member_takes_its_share_and_nothing_else_moves() {
        let mut world = World::new(&["p", "q"], &[(6, true)], 0);
        world.run();
        let before = world.before.clone();
        world.members.push((Arc::from("m2"), "r".to_owned()));
        world.run();
        world.check();
        assert_eq!(world.counts(), [(2, 0), (2, 0), (2, 0)]);
        for id in ["m0", "m1"] {
            assert!(world.before[id].active["0"].is_subset(&before[id].active["0"]), "{id}");
        }
    }

    #[test]
    fn tasks_of_a_lost_member_go_to_their_standbys() {
        let mut world = World::new(&["p", "q", "r"], &[(6, true)], 1);
        world.run();
        world.check();
        let lost = world.before["m0"].active["0"].clone();
        let warm: BTreeMap<i32, Arc<str>> = lost
            .iter()
            .map(|partition| {
                let holder =
                    world.before.iter().find(|(_, tasks)| tasks::has(&tasks.standby, "0", *partition));
                (*partition, holder.unwrap().0.clone())
            })
            .collect();
        world.leave(0);
        world.run();
        world.check();
        let kept =
            warm.iter().filter(|(partition, id)| tasks::has(&world.before[*id].active, "0", **partition));
        assert!(kept.count() >= 1, "{warm:?} {:?}", world.before);
    }

    #[test]
    fn a_restarted_member_gets_back_the_tasks_whose_state_it_has() {
        let mut world = World::new(&["p", "q"], &[(4, true)], 0);
        world
            .offsets
            .insert(Arc::from("m0"), TaskOffsets::from([(Arc::from("0"), [(2, 90), (3, 70)].into())]));
        world.offsets.insert(Arc::from("m1"), TaskOffsets::from([(Arc::from("0"), [(2, 10)].into())]));
        world.run();
        world.check();
        assert!(
            tasks::has(&world.before["m0"].active, "0", 2) && tasks::has(&world.before["m0"].active, "0", 3)
        );
    }

    #[test]
    fn nobody_gets_nothing_to_fail_about() {
        let mut world = World::new(&[], &[(4, true)], 1);
        assert!(world.run().is_empty());
        let mut world = World::new(&["p"], &[], 1);
        assert!(world.run()["m0"].is_empty());
    }

    proptest! {
        #[test]
        fn every_task_has_one_owner_and_no_process_a_task_twice(
            processes in proptest::collection::vec(0usize..4, 1..9),
            parts in proptest::collection::vec((0i32..9, any::<bool>()), 0..4),
            replicas in 0usize..4,
            steps in proptest::collection::vec((any::<bool>(), any::<prop::sample::Index>(), 0usize..4), 0..6),
        ) {
            let names = ["p", "q", "r", "s"];
            let start: Vec<&str> = processes.iter().map(|process| names[*process]).collect();
            let mut world = World::new(&start, &parts, replicas);
            world.run();
            world.check();
            for (step, (joins, which, process)) in steps.into_iter().enumerate() {
                if joins || world.members.len() < 2 {
                    world.members.push((Arc::from(format!("n{step}")), names[process].to_owned()));
                } else {
                    let index = which.index(world.members.len());
                    world.leave(index);
                }
                world.run();
                world.check();
                // When nothing changes, nothing moves any more after a few times.
                let is_settled = (0..6).any(|_| {
                    let before = world.before.clone();
                    world.run();
                    world.check();
                    world.before == before
                });
                prop_assert!(is_settled, "tasks move without end");
            }
        }
    }
}
