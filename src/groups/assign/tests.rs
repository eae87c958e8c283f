//! Rules that every assignment keeps, and examples.

use super::*;
use proptest::prelude::*;
use uuid::Uuid;

fn topic(number: u128) -> TopicId {
    TopicId(Uuid::from_u128(number))
}

fn member(topics: &[u128], assigned: &[(u128, &[i32])]) -> Member {
    let assigned = assigned.iter().map(|(number, all)| (topic(*number), all.iter().copied().collect()));
    Member {
        instance_id: None,
        topics: Arc::new(topics.iter().map(|number| topic(*number)).collect()),
        assigned: Arc::new(assigned.collect()),
    }
}

fn group(topics: &[(u128, i32)], members: &[(&str, Member)]) -> Group {
    Group {
        members: members.iter().map(|(id, member)| (Arc::from(*id), member.clone())).collect(),
        partitions: topics.iter().map(|(number, count)| (topic(*number), *count)).collect(),
    }
}

/// The assignment as text: member, topic and partitions.
fn text(assignment: &Assignment) -> String {
    let topics = |partitions: &Partitions| {
        let one = |(topic, all): (&TopicId, &BTreeSet<i32>)| {
            let all: Vec<String> = all.iter().map(ToString::to_string).collect();
            format!("{}:{}", topic.0.as_u128(), all.join(","))
        };
        partitions.iter().map(one).collect::<Vec<_>>().join(" ")
    };
    assignment.iter().map(|(id, own)| format!("{id}={}", topics(own))).collect::<Vec<_>>().join(" | ")
}

#[test]
fn range_gives_runs_and_the_same_numbers_of_like_topics() {
    let both = || member(&[1, 2], &[]);
    let group = group(&[(1, 3), (2, 3)], &[("a", both()), ("b", both())]);
    assert_eq!(text(&Assignor::Range.assign(&group)), "a=1:0,1 2:0,1 | b=1:2 2:2");
}

#[test]
fn range_serves_static_members_first_whatever_their_ids() {
    let named = |name: &str| Member { instance_id: Some(Arc::from(name)), ..member(&[1], &[]) };
    let group = group(&[(1, 5)], &[("a", member(&[1], &[])), ("z", named("i0")), ("b", named("i1"))]);
    assert_eq!(text(&Assignor::Range.assign(&group)), "a=1:4 | b=1:2,3 | z=1:0,1");
}

#[test]
fn range_with_different_subscriptions_divides_each_topic_among_its_subscribers() {
    let members = [("a", member(&[1], &[])), ("b", member(&[1, 2], &[])), ("c", member(&[2], &[]))];
    let group = group(&[(1, 3), (2, 1)], &members);
    assert_eq!(text(&Assignor::Range.assign(&group)), "a=1:0,1 | b=1:2 2:0 | c=");
}

#[test]
fn uniform_moves_only_what_a_new_member_needs() {
    let members = [("a", member(&[1], &[(1, &[0, 1, 2])])), ("b", member(&[1], &[(1, &[3, 4, 5])]))];
    let mut group = group(&[(1, 6)], &members);
    assert_eq!(text(&Assignor::Uniform.assign(&group)), "a=1:0,1,2 | b=1:3,4,5");
    group.members.insert(Arc::from("c"), member(&[1], &[]));
    assert_eq!(text(&Assignor::Uniform.assign(&group)), "a=1:0,1 | b=1:3,4 | c=1:2,5");
    group.members.remove("a");
    assert_eq!(text(&Assignor::Uniform.assign(&group)), "b=1:3,4,5 | c=1:0,1,2");
}

#[test]
fn uniform_lets_who_has_more_keep_it() {
    let newcomer = [("a", member(&[1], &[])), ("b", member(&[1], &[(1, &[0, 1, 2])]))];
    assert_eq!(text(&Assignor::Uniform.assign(&group(&[(1, 3)], &newcomer))), "a=1:2 | b=1:0,1");
    let new = [("a", member(&[1], &[])), ("b", member(&[1], &[])), ("c", member(&[1], &[]))];
    assert_eq!(text(&Assignor::Uniform.assign(&group(&[(1, 4)], &new))), "a=1:0 | b=1:1 | c=1:2,3");
}

#[test]
fn uniform_forgets_topics_that_are_gone_and_partitions_that_two_claim() {
    let members = [("a", member(&[1], &[(1, &[0, 1]), (9, &[0])])), ("b", member(&[1], &[(1, &[1])]))];
    let group = group(&[(1, 2)], &members);
    assert_eq!(text(&Assignor::Uniform.assign(&group)), "a=1:0 | b=1:1");
}

#[test]
fn uniform_evens_out_the_subscribers_of_each_topic() {
    let members = [
        ("a", member(&[1, 2], &[(1, &[0, 1, 2, 3]), (2, &[0, 1])])),
        ("b", member(&[1], &[])),
        ("c", member(&[2], &[])),
    ];
    let group = group(&[(1, 4), (2, 2)], &members);
    assert_eq!(text(&Assignor::Uniform.assign(&group)), "a=1:0 2:0 | b=1:1,2,3 | c=2:1");
}

#[test]
fn nobody_and_nothing_are_no_trouble() {
    for assignor in [Assignor::Uniform, Assignor::Range] {
        assert!(assignor.assign(&Group::default()).is_empty());
        let idle = group(&[], &[("a", member(&[], &[]))]);
        assert_eq!(text(&assignor.assign(&idle)), "a=");
        assert_eq!(Assignor::named(assignor.name()), Some(assignor));
    }
    let class = "org.apache.kafka.coordinator.group.assignor.UniformAssignor";
    assert_eq!(Assignor::named(class), Some(Assignor::Uniform));
    assert_eq!(Assignor::named("sticky"), None);
}

fn size(partitions: &Partitions) -> usize {
    partitions.values().map(BTreeSet::len).sum()
}

/// Every partition of a subscribed topic has one owner, who subscribes to it.
fn check(group: &Group, assignment: &Assignment) {
    let mut seen = BTreeSet::new();
    for (id, own) in assignment {
        for (topic, partitions) in own {
            assert!(group.members[id].topics.contains(topic), "{id} does not subscribe to {topic}");
            for partition in partitions {
                assert!((0..group.partitions[topic]).contains(partition));
                assert!(seen.insert((*topic, *partition)), "{topic}-{partition} has two owners");
            }
        }
    }
    let wanted: BTreeSet<TopicId> =
        group.members.values().flat_map(|member| member.topics.iter().copied()).collect();
    let all: i32 = wanted.iter().map(|topic| group.partitions[topic]).sum();
    assert_eq!(seen.len(), usize::try_from(all).unwrap(), "a partition is left over");
}

/// Whether the subscribers of each topic that have some of it to give are even.
fn is_even(group: &Group, assignment: &Assignment) -> bool {
    group.partitions.keys().all(|topic| {
        let subscribers = || group.members.iter().filter(|(_, member)| member.topics.contains(topic));
        let least = subscribers().map(|(id, _)| size(&assignment[id])).min().unwrap_or(0);
        let givers = subscribers().filter(|(id, _)| assignment[*id].contains_key(topic));
        givers.map(|(id, _)| size(&assignment[id])).all(|load| load <= least + 1)
    })
}

fn groups() -> impl Strategy<Value = Group> {
    any::<bool>().prop_flat_map(groups_of)
}

/// Groups whose members all want the `same` topics, or each its own.
fn groups_of(same: bool) -> impl Strategy<Value = Group> {
    proptest::collection::vec(0i32..9, 1..6).prop_flat_map(move |counts| {
        let topics = counts.len();
        let subscription = proptest::collection::btree_set(0..topics, 0..=topics);
        let before = proptest::collection::vec((0..topics + 1, 0i32..10), 0..12);
        let members = proptest::collection::vec((subscription, before, any::<bool>()), 0..9);
        members.prop_map(move |members| {
            let first = members.first().map(|(topics, _, _)| topics.clone()).unwrap_or_default();
            let members = members.into_iter().enumerate().map(|(number, (own, before, named))| {
                let own = if same { &first } else { &own };
                let mut assigned = Partitions::new();
                for (number, partition) in before {
                    assigned.entry(topic(number as u128)).or_default().insert(partition);
                }
                let member = Member {
                    instance_id: named.then(|| Arc::from(format!("i{number}"))),
                    topics: Arc::new(own.iter().map(|number| topic(*number as u128)).collect()),
                    assigned: Arc::new(assigned),
                };
                (Arc::from(format!("m{number}")), member)
            });
            let partitions = counts.iter().enumerate();
            Group {
                members: members.collect(),
                partitions: partitions.map(|(number, count)| (topic(number as u128), *count)).collect(),
            }
        })
    })
}

proptest! {
    #[test]
    fn all_partitions_are_assigned_once_to_subscribers_and_evenly(group in groups()) {
        check(&group, &Assignor::Range.assign(&group));
        let assignment = Assignor::Uniform.assign(&group);
        check(&group, &assignment);
        prop_assert!(is_even(&group, &assignment), "{}", text(&assignment));
        if group.is_homogeneous() {
            let sizes: Vec<usize> = assignment.values().map(size).collect();
            let (least, most) = (sizes.iter().min(), sizes.iter().max());
            prop_assert!(least.zip(most).is_none_or(|(least, most)| most - least <= 1));
        }
    }

    #[test]
    fn what_is_even_stays(group in groups()) {
        let assignment = Assignor::Uniform.assign(&group);
        let mut again = group;
        for (id, member) in &mut again.members {
            member.assigned = Arc::new(assignment.get(id).cloned().unwrap_or_default());
        }
        prop_assert_eq!(&Assignor::Uniform.assign(&again), &assignment);
        prop_assert_eq!(Assignor::Range.assign(&again), Assignor::Range.assign(&again));
    }

    #[test]
    fn a_leaving_member_moves_nobody_elses_partitions(group in groups_of(true)) {
        let before = Assignor::Uniform.assign(&group);
        let mut after = group;
        after.members.pop_first();
        for (id, member) in &mut after.members {
            member.assigned = Arc::new(before[id].clone());
        }
        let next = Assignor::Uniform.assign(&after);
        // Shares only grow, so everybody keeps all he had.
        for (id, own) in &next {
            for (topic, partitions) in &before[id] {
                prop_assert!(own.get(topic).is_some_and(|now| now.is_superset(partitions)));
            }
        }
    }
}
