//! The assignor of share groups (`SimpleAssignor`): members share partitions, as evenly as can be, and what they have
//! stays with them as far as that is even.

use crate::base::TopicId;
use crate::groups::assign::Assignment;
use crate::groups::assign::Member;
use crate::groups::assign::Partitions;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

type Place = (TopicId, i32);

/// Who gets what of these partitions. Every partition has a member if one subscribes to its topic, and with more members
/// than partitions every member has one.
pub fn simple(members: &BTreeMap<Arc<str>, Member>, assignable: &Partitions) -> Assignment {
    let mut assignment: Assignment = members.keys().map(|id| (Arc::clone(id), Partitions::new())).collect();
    let mut topics = members.values().map(|member| &*member.topics);
    let first = topics.next();
    if topics.all(|other| Some(other) == first) {
        let wanted = |topic: &TopicId| first.is_some_and(|topics| topics.contains(topic));
        let pool: Vec<Place> =
            assignable.iter().filter(|(topic, _)| wanted(topic)).flat_map(places).collect();
        let all: Vec<(&Arc<str>, &Member)> = members.iter().collect();
        spread(&all, &pool, &mut assignment);
        return assignment;
    }
    // Where members want different topics, each topic is spread among those who want it.
    for of_topic in assignable {
        let pool: Vec<Place> = places(of_topic).collect();
        let wants = |(_, member): &(&Arc<str>, &Member)| member.topics.contains(of_topic.0);
        let subscribed: Vec<(&Arc<str>, &Member)> = members.iter().filter(wants).collect();
        spread(&subscribed, &pool, &mut assignment);
    }
    assignment
}

fn places<'a>((topic, partitions): (&'a TopicId, &'a BTreeSet<i32>)) -> impl Iterator<Item = Place> + 'a {
    partitions.iter().map(|partition| (*topic, *partition))
}

/// Spreads the partitions of a pool among members.
fn spread(members: &[(&Arc<str>, &Member)], pool: &[Place], assignment: &mut Assignment) {
    if members.is_empty() || pool.is_empty() {
        return;
    }
    // So many members a partition, and so many partitions a member: the same number of pairs, told evenly.
    let sharing = members.len().div_ceil(pool.len());
    let pairs = sharing.saturating_mul(pool.len());
    let share = |index: usize| {
        let upto = |index: usize| index.saturating_mul(pairs).div_ceil(members.len());
        upto(index.saturating_add(1)).saturating_sub(upto(index))
    };
    let mut holders: BTreeMap<Place, BTreeSet<usize>> =
        pool.iter().map(|place| (*place, BTreeSet::new())).collect();
    let mut counts = vec![0usize; members.len()];
    for (index, ((_, member), count)) in members.iter().zip(&mut counts).enumerate() {
        let had = member.assigned.iter().flat_map(places);
        for place in had {
            if let Some(holders) = holders.get_mut(&place).filter(|holders| holders.len() < sharing)
                && *count < share(index)
            {
                holders.insert(index);
                *count = count.saturating_add(1);
            }
        }
    }
    let mut hungry: Vec<usize> = counts
        .iter()
        .enumerate()
        .filter(|(index, count)| **count < share(*index))
        .map(|(index, _)| index)
        .collect();
    let mut turn = 0usize;
    for (_, holders) in holders.iter_mut() {
        let mut passed = 0usize;
        while holders.len() < sharing && passed < hungry.len() {
            if turn >= hungry.len() {
                turn = 0;
            }
            let Some(index) = hungry.get(turn).copied() else { break };
            if !holders.insert(index) {
                (turn, passed) = (turn.saturating_add(1), passed.saturating_add(1));
                continue;
            }
            passed = 0;
            let Some(count) = counts.get_mut(index) else { break };
            *count = count.saturating_add(1);
            if *count >= share(index) {
                hungry.remove(turn);
            } else {
                turn = turn.saturating_add(1);
            }
        }
    }
    for ((topic, partition), holders) in holders {
        for index in holders {
            let Some((id, _)) = members.get(index) else { continue };
            let of_member = assignment.entry(Arc::clone(id)).or_default();
            of_member.entry(topic).or_default().insert(partition);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use uuid::Uuid;

    fn topic(number: u128) -> TopicId {
        TopicId(Uuid::from_u128(number))
    }

    fn member(topics: &[u128], assigned: Partitions) -> Member {
        let topics = Arc::new(topics.iter().map(|number| topic(*number)).collect());
        Member { instance_id: None, topics, assigned: Arc::new(assigned) }
    }

    fn partitions(counts: &[(u128, i32)]) -> Partitions {
        counts.iter().map(|(number, count)| (topic(*number), (0..*count).collect())).collect()
    }

    fn members(count: usize, topics: &[u128]) -> BTreeMap<Arc<str>, Member> {
        (0..count).map(|n| (Arc::from(format!("m{n:03}")), member(topics, Partitions::new()))).collect()
    }

    fn sizes(assignment: &Assignment) -> Vec<usize> {
        assignment.values().map(|of| of.values().map(BTreeSet::len).sum()).collect()
    }

    #[test]
    fn members_share_partitions_evenly() {
        assert_eq!(sizes(&simple(&members(10, &[1]), &partitions(&[(1, 1)]))), [1; 10]);
        assert_eq!(sizes(&simple(&members(2, &[1, 2]), &partitions(&[(1, 2), (2, 1)]))), [2, 1]);
        assert_eq!(sizes(&simple(&members(3, &[1]), &partitions(&[(1, 2)]))), [2, 1, 1]);
        assert_eq!(sizes(&simple(&members(2, &[1]), &Partitions::new())), [0, 0]);
    }

    #[test]
    fn what_members_have_stays_with_them() {
        let mut group = members(2, &[1]);
        let before = simple(&group, &partitions(&[(1, 4)]));
        for (id, assigned) in &before {
            group.insert(Arc::clone(id), member(&[1], assigned.clone()));
        }
        assert_eq!(simple(&group, &partitions(&[(1, 4)])), before);
        group.insert(Arc::from("n"), member(&[1], Partitions::new()));
        let after = simple(&group, &partitions(&[(1, 4)]));
        let kept: usize = before
            .iter()
            .flat_map(|(id, assigned)| assigned.iter().map(move |(topic, set)| (id, topic, set)))
            .map(|(id, topic, set)| after[id].get(topic).map_or(0, |now| now.intersection(set).count()))
            .sum();
        assert_eq!((kept, sizes(&after)), (3, vec![2, 1, 1]));
    }

    proptest! {
        /// Everybody has only what it wants and what is there; every wanted partition has somebody; nobody who wants
        /// something has nothing; shares differ by one at most where all want the same.
        #[test]
        fn nobody_and_nothing_is_left_out(
            wants in prop::collection::vec(prop::collection::btree_set(0u128..4, 1..4), 1..12),
            counts in prop::collection::vec(0i32..9, 4),
            rounds in prop::collection::vec(0usize..12, 0..4),
        ) {
            let assignable: Partitions = counts
                .iter()
                .zip(0u128..)
                .filter(|(count, _)| **count > 0)
                .map(|(count, number)| (topic(number), (0..*count).collect()))
                .collect();
            let mut group: BTreeMap<Arc<str>, Member> = wants
                .iter()
                .enumerate()
                .map(|(n, topics)| {
                    let topics: Vec<u128> = topics.iter().copied().collect();
                    (Arc::from(format!("m{n}")), member(&topics, Partitions::new()))
                })
                .collect();
            for leaving in rounds.iter().map(Some).chain([None]) {
                let assignment = simple(&group, &assignable);
                for (id, assigned) in &assignment {
                    let wanted = &group[id].topics;
                    for (topic, set) in assigned {
                        prop_assert!(wanted.contains(topic));
                        prop_assert!(set.is_subset(&assignable[topic]));
                    }
                    let any = wanted.iter().any(|topic| assignable.contains_key(topic));
                    let has: usize = assigned.values().map(BTreeSet::len).sum();
                    prop_assert_eq!(any, has > 0, "{}", id);
                }
                for (topic, set) in &assignable {
                    if !group.values().any(|member| member.topics.contains(topic)) {
                        continue;
                    }
                    for partition in set {
                        let held = assignment.values().any(|of| of.get(topic).is_some_and(|set| set.contains(partition)));
                        prop_assert!(held);
                    }
                }
                if wants.iter().all(|topics| *topics == wants[0]) {
                    let sizes = sizes(&assignment);
                    prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
                }
                for (id, assigned) in assignment {
                    group.get_mut(&id).unwrap().assigned = Arc::new(assigned);
                }
                if let Some(leaving) = leaving && group.len() > 1 {
                    let id = group.keys().nth(leaving % group.len()).unwrap().clone();
                    group.remove(&id);
                }
            }
        }
    }
}
