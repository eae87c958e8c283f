//! The next step of a member towards what it shall have (Kafka's `CurrentAssignmentBuilder`).
//!
//! ```text
//!              must give tasks back                       has given them back
//!   Stable ──────────────────────────▶ UnrevokedTasks ───────────────────────────▶ the next epoch
//!     │  ▲                                                                         gives what is free
//!     │  └──────────────────────────────────────┐
//!     └───────────▶ UnreleasedTasks ────────────┘ as others let go
//!   some tasks are not free
//! ```
//! Tasks that change their role within the member are handed over at once, so that the client keeps their state: an
//! active task becomes a standby, a standby a warm-up or the other way round. A standby or warm-up that becomes active
//! stays until the active task is free.

use crate::base::ErrorCode;
use crate::groups::streams::command::Refusal;
use crate::groups::streams::member::Current;
use crate::groups::streams::member::Member;
use crate::groups::streams::member::MemberState;
use crate::groups::streams::tasks;
use crate::groups::streams::tasks::Active;
use crate::groups::streams::tasks::Held;
use crate::groups::streams::tasks::Role;
use crate::groups::streams::tasks::Tasks;
use std::collections::HashMap;
use std::collections::HashSet;
use std::sync::Arc;

type Task<'a> = (&'a str, i32);

/// Which process runs which task now, also those that are to be given back.
#[derive(Debug, Default)]
pub(crate) struct Holders<'a> {
    active: HashMap<Task<'a>, &'a str>,
    standby: HashMap<Task<'a>, HashSet<&'a str>>,
    warmup: HashMap<Task<'a>, HashSet<&'a str>>,
}

impl<'a> Holders<'a> {
    /// What these members hold.
    pub(crate) fn of(members: impl Iterator<Item = &'a Member>) -> Holders<'a> {
        let mut holders = Holders::default();
        for member in members {
            let process = &*member.profile.process_id;
            for held in [&member.current.assigned, &member.current.revoking] {
                for (subtopology, partitions) in &held.active {
                    for partition in partitions.keys() {
                        holders.active.insert((subtopology, *partition), process);
                    }
                }
                add(&mut holders.standby, &held.standby, process);
                add(&mut holders.warmup, &held.warmup, process);
            }
        }
        holders
    }
}

fn add<'a>(held: &mut HashMap<Task<'a>, HashSet<&'a str>>, role: &'a Role, process: &'a str) {
    for (subtopology, partitions) in role {
        for partition in partitions {
            held.entry((subtopology, *partition)).or_default().insert(process);
        }
    }
}

/// Where a member shall go.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Target<'a> {
    pub(crate) epoch: i32,
    pub(crate) tasks: &'a Tasks,
}

/// The member's next step; `owned` is what it says it runs, `None` when it says nothing.
///
/// # Errors
/// FENCED_MEMBER_EPOCH for a member in a state that this version does not know, unless it runs nothing.
pub(crate) fn reconcile(
    member: &Member,
    target: Target<'_>,
    holders: &Holders<'_>,
    owned: Option<&Tasks>,
) -> Result<Current, Refusal> {
    let current = &member.current;
    let step = Step { member, target, holders, owned };
    match current.state {
        MemberState::Stable if current.epoch == target.epoch => Ok(current.clone()),
        MemberState::Stable | MemberState::UnreleasedTasks => Ok(step.take(current.epoch)),
        MemberState::UnrevokedTasks => {
            let given_back = owned.is_some_and(|owned| !owned.contains_any(&current.revoking));
            if given_back { Ok(step.take(current.epoch.saturating_add(1))) } else { Ok(current.clone()) }
        }
        MemberState::Unknown if owned.is_some_and(Tasks::is_empty) => Ok(step.take(target.epoch)),
        MemberState::Unknown => Err(Refusal::new(
            ErrorCode::FencedMemberEpoch,
            "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin.",
        )),
    }
}

#[derive(Clone, Copy)]
struct Step<'a> {
    member: &'a Member,
    target: Target<'a>,
    holders: &'a Holders<'a>,
    owned: Option<&'a Tasks>,
}

/// What becomes of the tasks of one role.
#[derive(Default)]
struct Change<R> {
    kept: R,
    revoking: R,
    given: R,
}

impl Step<'_> {
    fn take(&self, epoch: i32) -> Current {
        let held = &self.member.current.assigned;
        let wanted = self.target.tasks;
        let (mut active, active_waits) = self.active(held, &wanted.active);
        let (mut standby, standby_waits) =
            role(&held.standby, &wanted.standby, |id, partition| self.standby_is_held(id, partition));
        let (mut warmup, warmup_waits) =
            role(&held.warmup, &wanted.warmup, |id, partition| self.warmup_is_held(id, partition));
        demote(held, &mut standby);
        convert(&held.standby, &mut standby.revoking, &mut warmup);
        convert(&held.warmup, &mut warmup.revoking, &mut standby);
        for (role, change) in [(&held.standby, &mut standby), (&held.warmup, &mut warmup)] {
            each(role, |id, partition| {
                if tasks::has(&wanted.active, id, partition) {
                    tasks::take(&mut change.revoking, id, partition);
                }
            });
        }
        let revoking = Held {
            active: std::mem::take(&mut active.revoking),
            standby: std::mem::take(&mut standby.revoking),
            warmup: std::mem::take(&mut warmup.revoking),
        };
        let must_revoke =
            !revoking.is_empty() && self.owned.is_none_or(|owned| owned.contains_any(&revoking));
        for (role, change) in [(&held.standby, &mut standby), (&held.warmup, &mut warmup)] {
            each(role, |id, partition| {
                let given = active.given.get(id).is_some_and(|given| given.contains_key(&partition));
                if tasks::has(&wanted.active, id, partition) && (must_revoke || !given) {
                    tasks::put(&mut change.kept, id, partition);
                }
            });
        }
        let kept = Held { active: active.kept, standby: standby.kept, warmup: warmup.kept };
        let given = Held { active: active.given, standby: standby.given, warmup: warmup.given };
        let waits = active_waits || standby_waits || warmup_waits;
        self.next(epoch, (must_revoke, revoking), kept, (given, waits))
    }

    fn next(
        &self,
        epoch: i32,
        (must_revoke, revoking): (bool, Held),
        mut kept: Held,
        (given, waits): (Held, bool),
    ) -> Current {
        let mut next = self.member.current.clone();
        if must_revoke {
            next.reach(epoch);
            return Current { state: MemberState::UnrevokedTasks, assigned: kept, revoking, ..next };
        }
        kept.merge(given);
        next.reach(self.target.epoch);
        let state = if waits { MemberState::UnreleasedTasks } else { MemberState::Stable };
        Current { state, assigned: kept, revoking: Held::default(), ..next }
    }

    fn active(&self, held: &Held, wanted: &Role) -> (Change<Active>, bool) {
        let mut change = Change::<Active>::default();
        let mut waits = false;
        for (id, partitions) in &held.active {
            for (partition, epoch) in partitions {
                let stays = tasks::has(wanted, id, *partition);
                let side = if stays { &mut change.kept } else { &mut change.revoking };
                side.entry(id.clone()).or_default().insert(*partition, *epoch);
            }
        }
        each(wanted, |id, partition| {
            if held.active_epoch(id, partition).is_some() {
                return;
            }
            if self.active_is_held(id, partition) {
                waits = true;
            } else {
                let given = change.given.entry(id.clone()).or_default();
                given.insert(partition, self.target.epoch);
            }
        });
        (change, waits)
    }

    /// An active task is free when nobody runs it, and the process does not have it in another member's hands.
    fn active_is_held(&self, id: &str, partition: i32) -> bool {
        let held = &self.member.current.assigned;
        self.holders.active.contains_key(&(id, partition))
            || self.other_on_process(&self.holders.standby, &held.standby, id, partition)
            || self.other_on_process(&self.holders.warmup, &held.warmup, id, partition)
    }

    fn standby_is_held(&self, id: &str, partition: i32) -> bool {
        let held = &self.member.current.assigned;
        let active_here = self.active_on_process(id, partition);
        (active_here && held.active_epoch(id, partition).is_none())
            || self.on_process(&self.holders.standby, id, partition)
            || self.other_on_process(&self.holders.warmup, &held.warmup, id, partition)
    }

    fn warmup_is_held(&self, id: &str, partition: i32) -> bool {
        let held = &self.member.current.assigned;
        self.active_on_process(id, partition)
            || self.other_on_process(&self.holders.standby, &held.standby, id, partition)
            || self.on_process(&self.holders.warmup, id, partition)
    }

    fn active_on_process(&self, id: &str, partition: i32) -> bool {
        self.holders.active.get(&(id, partition)) == Some(&&*self.member.profile.process_id)
    }

    fn on_process(&self, held: &HashMap<Task<'_>, HashSet<&str>>, id: &str, partition: i32) -> bool {
        held.get(&(id, partition)).is_some_and(|on| on.contains(&*self.member.profile.process_id))
    }

    /// The member's process has the task, and not by this member.
    fn other_on_process(
        &self,
        held: &HashMap<Task<'_>, HashSet<&str>>,
        own: &Role,
        id: &str,
        partition: i32,
    ) -> bool {
        self.on_process(held, id, partition) && !tasks::has(own, id, partition)
    }
}

fn each(role: &Role, mut act: impl FnMut(&Arc<str>, i32)) {
    for (id, partitions) in role {
        for partition in partitions {
            act(id, *partition);
        }
    }
}

fn role(held: &Role, wanted: &Role, is_held: impl Fn(&str, i32) -> bool) -> (Change<Role>, bool) {
    let mut change = Change::<Role>::default();
    let mut waits = false;
    each(held, |id, partition| {
        let stays = tasks::has(wanted, id, partition);
        tasks::put(if stays { &mut change.kept } else { &mut change.revoking }, id, partition);
    });
    each(wanted, |id, partition| {
        if tasks::has(held, id, partition) {
            return;
        }
        if is_held(id, partition) {
            waits = true;
        } else {
            tasks::put(&mut change.given, id, partition);
        }
    });
    (change, waits)
}

/// The member's own active task becomes a standby at once; it is still to be given back as an active one, so that the
/// next owner waits for that.
fn demote(held: &Held, standby: &mut Change<Role>) {
    for (id, partitions) in &held.active {
        for partition in partitions.keys() {
            if tasks::has(&standby.given, id, *partition) {
                tasks::take(&mut standby.given, id, *partition);
                tasks::put(&mut standby.kept, id, *partition);
            }
        }
    }
}

/// The member's own task changes between standby and warm-up: both are the same to the client.
fn convert(held: &Role, revoking: &mut Role, into: &mut Change<Role>) {
    each(held, |id, partition| {
        if tasks::has(&into.given, id, partition) {
            tasks::take(&mut into.given, id, partition);
            tasks::put(&mut into.kept, id, partition);
            tasks::take(revoking, id, partition);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a0 s1 w2` stands for active partition 0, standby 1 and warm-up 2 of subtopology `x`.
    fn tasks_of(text: &str) -> Tasks {
        let mut tasks = Tasks::default();
        for word in text.split_whitespace() {
            let (role, partition) = word.split_at(1);
            let role = match role {
                "a" => &mut tasks.active,
                "s" => &mut tasks.standby,
                _ => &mut tasks.warmup,
            };
            super::tasks::put(role, &Arc::from("x"), partition.parse().unwrap());
        }
        tasks
    }

    fn held_of(text: &str, epoch: i32) -> Held {
        let tasks = tasks_of(text);
        let active = tasks.active.into_iter();
        let active =
            active.map(|(id, all)| (id, all.into_iter().map(|one| (one, epoch)).collect())).collect();
        Held { active, standby: tasks.standby, warmup: tasks.warmup }
    }

    fn shown(held: &Held) -> String {
        let active = held.active_role();
        let mut words = Vec::new();
        for (letter, role) in [("a", &active), ("s", &held.standby), ("w", &held.warmup)] {
            each(role, |_, partition| words.push(format!("{letter}{partition}")));
        }
        words.join(" ")
    }

    fn member(process: &str, assigned: &str, revoking: &str, state: MemberState) -> Member {
        let mut member = Member::new(Arc::from("m"));
        member.profile.process_id = Arc::from(process);
        member.current = Current {
            epoch: 5,
            previous_epoch: 4,
            state,
            assigned: held_of(assigned, 3),
            revoking: held_of(revoking, 3),
        };
        member
    }

    /// The step of a member of process `p` from (assigned, revoking) to the target of epoch 7; others hold
    /// `process: tasks`. Gives (epoch, state, assigned, revoking).
    fn step(
        state: MemberState,
        have: (&str, &str),
        want: &str,
        owned: Option<&str>,
        others: &[(&str, &str)],
    ) -> (i32, MemberState, String, String) {
        let member = member("p", have.0, have.1, state);
        let others: Vec<Member> = others
            .iter()
            .map(|(process, tasks)| self::member(process, tasks, "", MemberState::Stable))
            .collect();
        let holders = Holders::of(others.iter().chain(std::iter::once(&member)));
        let want = tasks_of(want);
        let owned = owned.map(tasks_of);
        let target = Target { epoch: 7, tasks: &want };
        let next = reconcile(&member, target, &holders, owned.as_ref()).unwrap();
        assert!(next.previous_epoch <= next.epoch);
        (next.epoch, next.state, shown(&next.assigned), shown(&next.revoking))
    }

    use MemberState::Stable;
    use MemberState::UnreleasedTasks;
    use MemberState::UnrevokedTasks;

    fn is(
        epoch: i32,
        state: MemberState,
        assigned: &str,
        revoking: &str,
    ) -> (i32, MemberState, String, String) {
        (epoch, state, assigned.to_owned(), revoking.to_owned())
    }

    #[test]
    fn free_tasks_are_taken_at_once_and_tasks_to_give_back_first() {
        assert_eq!(step(Stable, ("a0", ""), "a0 a1", None, &[]), is(7, Stable, "a0 a1", ""));
        assert_eq!(step(Stable, ("a0 a1", ""), "a0", None, &[]), is(5, UnrevokedTasks, "a0", "a1"));
        assert_eq!(step(Stable, ("a0", ""), "a1", Some("a0"), &[]), is(5, UnrevokedTasks, "", "a0"));
        // It has stopped it already.
        assert_eq!(step(Stable, ("a0", ""), "a1", Some(""), &[]), is(7, Stable, "a1", ""));
    }

    #[test]
    fn a_member_waits_until_it_has_given_back_what_it_must() {
        let have = ("a0", "a1");
        assert_eq!(step(UnrevokedTasks, have, "a0", None, &[]), is(5, UnrevokedTasks, "a0", "a1"));
        assert_eq!(step(UnrevokedTasks, have, "a0", Some("a0 a1"), &[]), is(5, UnrevokedTasks, "a0", "a1"));
        assert_eq!(step(UnrevokedTasks, have, "a0", Some("a0"), &[]), is(7, Stable, "a0", ""));
        // A further task must go meanwhile: the next epoch, and the same again.
        assert_eq!(step(UnrevokedTasks, have, "", Some("a0"), &[]), is(6, UnrevokedTasks, "", "a0"));
    }

    #[test]
    fn tasks_of_others_are_waited_for() {
        assert_eq!(step(Stable, ("a0", ""), "a0 a1", None, &[("q", "a1")]), is(7, UnreleasedTasks, "a0", ""));
        assert_eq!(
            step(UnreleasedTasks, ("a0", ""), "a0 a1", None, &[("q", "a1")]),
            is(7, UnreleasedTasks, "a0", "")
        );
        assert_eq!(step(UnreleasedTasks, ("a0", ""), "a0 a1", None, &[]), is(7, Stable, "a0 a1", ""));
        // Standbys elsewhere are no obstacle, on the own process they are.
        assert_eq!(step(Stable, ("", ""), "a1", None, &[("q", "s1")]), is(7, Stable, "a1", ""));
        for role in ["s1", "w1"] {
            assert_eq!(step(Stable, ("", ""), "a1", None, &[("p", role)]), is(7, UnreleasedTasks, "", ""));
        }
        for (wanted, obstacle) in
            [("s1", "a1"), ("s1", "s1"), ("s1", "w1"), ("w1", "a1"), ("w1", "s1"), ("w1", "w1")]
        {
            assert_eq!(
                step(Stable, ("", ""), wanted, None, &[("p", obstacle)]),
                is(7, UnreleasedTasks, "", "")
            );
            assert_eq!(step(Stable, ("", ""), wanted, None, &[("q", obstacle)]), is(7, Stable, wanted, ""));
        }
    }

    #[test]
    fn a_role_changes_in_place() {
        // Down: the standby is there at once, the active task still counts as running until it is given back.
        assert_eq!(step(Stable, ("a0", ""), "s0", None, &[]), is(5, UnrevokedTasks, "s0", "a0"));
        assert_eq!(step(Stable, ("s0", ""), "w0", None, &[]), is(7, Stable, "w0", ""));
        assert_eq!(step(Stable, ("w0", ""), "s0", None, &[]), is(7, Stable, "s0", ""));
        // Up: when the active task is free.
        assert_eq!(step(Stable, ("s0", ""), "a0", None, &[]), is(7, Stable, "a0", ""));
        assert_eq!(step(Stable, ("w0", ""), "a0", None, &[]), is(7, Stable, "a0", ""));
        assert_eq!(step(Stable, ("s0", ""), "a0", None, &[("q", "a0")]), is(7, UnreleasedTasks, "s0", ""));
        // And not while something else must be given back.
        assert_eq!(step(Stable, ("s0 a1", ""), "a0", None, &[]), is(5, UnrevokedTasks, "s0", "a1"));
    }

    #[test]
    fn members_in_unknown_states_start_again_with_nothing() {
        let unknown = member("p", "a0", "", MemberState::Unknown);
        let holders = Holders::of(std::iter::once(&unknown));
        let target = Target { epoch: 7, tasks: &tasks_of("a0") };
        for owned in [None, Some(tasks_of("a0"))] {
            let refusal = reconcile(&unknown, target, &holders, owned.as_ref()).unwrap_err();
            assert_eq!(refusal.error, ErrorCode::FencedMemberEpoch);
        }
        let next = reconcile(&unknown, target, &holders, Some(&Tasks::default())).unwrap();
        assert_eq!((next.epoch, next.state), (7, Stable));
    }

    #[test]
    fn epochs_of_tasks_that_stay_do_not_change() {
        let member = member("p", "a0", "", Stable);
        let holders = Holders::of(std::iter::once(&member));
        let target = Target { epoch: 7, tasks: &tasks_of("a0 a1") };
        let next = reconcile(&member, target, &holders, None).unwrap();
        assert_eq!(
            (next.assigned.active_epoch("x", 0), next.assigned.active_epoch("x", 1)),
            (Some(3), Some(7))
        );
    }
}
