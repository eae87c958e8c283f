//! Steps of a member, case by case.

use super::*;
use uuid::Uuid;

fn topic(number: u128) -> TopicId {
    TopicId(Uuid::from_u128(number))
}

fn owned(partitions: &[(u128, &[i32])], since: i32) -> Owned {
    let one = |all: &[i32]| all.iter().map(|partition| (*partition, since)).collect();
    partitions.iter().map(|(number, all)| (topic(*number), one(all))).collect()
}

fn partitions(partitions: &[(u128, &[i32])]) -> Partitions {
    partitions.iter().map(|(number, all)| (topic(*number), all.iter().copied().collect())).collect()
}

fn member(state: MemberState, epoch: i32, assigned: Owned, pending: Owned) -> Member {
    let mut member = Member::new(Arc::from("m"));
    member.state = state;
    member.epoch = epoch;
    member.previous_epoch = epoch;
    member.assigned = Arc::new(assigned);
    member.pending_revocation = Arc::new(pending);
    member
}

struct Case {
    epoch: i32,
    target: Partitions,
    subscribed: BTreeSet<TopicId>,
    changed: bool,
    owned: Option<Partitions>,
    taken: Vec<(u128, i32)>,
}

fn case(epoch: i32, target: &[(u128, &[i32])], owned: Option<&[(u128, &[i32])]>) -> Case {
    Case {
        epoch,
        target: partitions(target),
        subscribed: BTreeSet::from([topic(1), topic(2)]),
        changed: false,
        owned: owned.map(partitions),
        taken: Vec::new(),
    }
}

impl Case {
    fn step(&self, member: &Member) -> Result<Member, Fault> {
        let aim = Aim {
            epoch: self.epoch,
            target: &self.target,
            subscribed: &self.subscribed,
            subscription_changed: self.changed,
            owned: self.owned.as_ref(),
        };
        step(member, &aim, |id, partition| {
            !self.taken.iter().any(|(number, other)| topic(*number) == id && *other == partition)
        })
    }
}

#[test]
fn a_member_at_its_target_stays() {
    let stable = member(MemberState::Stable, 5, owned(&[(1, &[0])], 3), Owned::new());
    assert_eq!(case(5, &[(1, &[0])], None).step(&stable).unwrap(), stable);
}

#[test]
fn partitions_are_given_up_before_the_epoch_grows_and_others_are_handed_out() {
    let stable = member(MemberState::Stable, 5, owned(&[(1, &[0, 1])], 3), Owned::new());
    let revoking = case(6, &[(1, &[1, 2])], None).step(&stable).unwrap();
    assert_eq!((revoking.state, revoking.epoch), (MemberState::UnrevokedPartitions, 5));
    assert_eq!(*revoking.assigned, owned(&[(1, &[1])], 3));
    assert_eq!(*revoking.pending_revocation, owned(&[(1, &[0])], 3));
    // It still has it, or does not say.
    for has in [None, Some(&[(1, &[0][..])][..])] {
        assert_eq!(case(6, &[(1, &[1, 2])], has).step(&revoking).unwrap(), revoking);
    }
    let done = case(7, &[(1, &[1, 2])], Some(&[(1, &[1])])).step(&revoking).unwrap();
    assert_eq!((done.state, done.epoch, done.previous_epoch), (MemberState::Stable, 7, 5));
    let mut wanted = owned(&[(1, &[1])], 3);
    wanted.entry(topic(1)).or_default().insert(2, 7);
    assert_eq!(*done.assigned, wanted);
    assert!(done.pending_revocation.is_empty());
}

#[test]
fn what_another_member_has_is_waited_for() {
    let stable = member(MemberState::Stable, 5, owned(&[(1, &[0])], 3), Owned::new());
    let mut case = case(6, &[(1, &[0, 1]), (2, &[0])], None);
    case.taken = vec![(1, 1)];
    let waiting = case.step(&stable).unwrap();
    assert_eq!((waiting.state, waiting.epoch), (MemberState::UnreleasedPartitions, 6));
    assert_eq!(waiting.assigned.get(&topic(2)), Some(&BTreeMap::from([(0, 6)])));
    assert!(!waiting.assigned[&topic(1)].contains_key(&1));
    let still = case.step(&waiting).unwrap();
    assert_eq!((still.state, still.epoch, &still.assigned), (waiting.state, 6, &waiting.assigned));
    case.taken.clear();
    let done = case.step(&still).unwrap();
    assert_eq!(done.state, MemberState::Stable);
    assert_eq!(done.assigned[&topic(1)], BTreeMap::from([(0, 3), (1, 6)]));
}

#[test]
fn what_a_member_is_giving_up_itself_can_come_back_to_it() {
    let pending = owned(&[(1, &[0])], 3);
    let revoking = member(MemberState::UnrevokedPartitions, 5, Owned::new(), pending);
    let mut case = case(7, &[(1, &[0])], Some(&[]));
    case.taken = vec![(1, 0)];
    let done = case.step(&revoking).unwrap();
    assert_eq!((done.state, &*done.assigned), (MemberState::Stable, &owned(&[(1, &[0])], 7)));
}

#[test]
fn topics_no_longer_subscribed_go_at_once_and_targets_in_them_do_not_count() {
    let stable = member(MemberState::Stable, 5, owned(&[(1, &[0]), (9, &[0])], 3), Owned::new());
    let mut case = case(5, &[(1, &[0]), (9, &[0])], None);
    assert_eq!(case.step(&stable).unwrap(), stable, "nobody looks while the subscription is the same");
    case.changed = true;
    let revoking = case.step(&stable).unwrap();
    assert_eq!((revoking.state, revoking.epoch), (MemberState::UnrevokedPartitions, 5));
    assert_eq!(*revoking.pending_revocation, owned(&[(9, &[0])], 3));
    // A member that has given it up already loses it without a word.
    case.owned = Some(partitions(&[(1, &[0])]));
    let lighter = case.step(&stable).unwrap();
    assert_eq!((lighter.state, &*lighter.assigned), (MemberState::Stable, &owned(&[(1, &[0])], 3)));
    // A new target in that topic is as good as none.
    case.epoch = 6;
    let next = case.step(&lighter).unwrap();
    assert_eq!((next.state, next.epoch, &next.assigned), (MemberState::Stable, 6, &lighter.assigned));
}

#[test]
fn a_member_in_a_state_of_a_later_kafka_must_begin_anew() {
    let unknown = member(MemberState::Unknown, 5, Owned::new(), Owned::new());
    assert!(case(6, &[(1, &[0])], None).step(&unknown).is_err());
    assert!(case(6, &[(1, &[0])], Some(&[(1, &[0])])).step(&unknown).is_err());
    let done = case(6, &[(1, &[0])], Some(&[])).step(&unknown).unwrap();
    assert_eq!((done.state, done.epoch), (MemberState::Stable, 6));
}
