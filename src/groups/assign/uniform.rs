//! `uniform`: shares that differ by one partition at most, and as few moves as that allows.
//!
//! When all members subscribe to the same topics, each keeps what it has up to its share and the rest fills the gaps.
//! Otherwise everybody keeps what he still subscribes to, what is free goes to the least loaded subscriber, and then
//! partitions move from the most to the least loaded subscriber of each topic until that helps no more.

use crate::base::TopicId;
use crate::groups::assign::Assignment;
use crate::groups::assign::Group;
use crate::groups::assign::Partitions;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// How often all topics are gone through to balance overlapping subscriptions; each time halves what is uneven, about.
const ROUNDS_MAX: usize = 16;

pub(super) fn assign(group: &Group) -> Assignment {
    if group.is_homogeneous() { equal_shares(group) } else { Balance::new(group).run() }
}

fn equal_shares(group: &Group) -> Assignment {
    let Some(first) = group.members.values().next() else { return Assignment::new() };
    let counts: BTreeMap<TopicId, i32> = first
        .topics
        .iter()
        .filter_map(|topic| Some((*topic, group.partitions.get(topic).copied()?)))
        .collect();
    let all = |(topic, count): (&TopicId, &i32)| {
        let topic = *topic;
        (0..*count).map(move |partition| (topic, partition))
    };
    let mut free: BTreeSet<(TopicId, i32)> = counts.iter().flat_map(all).collect();
    let (share, mut larger) = (free.len() / group.members.len(), free.len() % group.members.len());
    let mut owned: Vec<Vec<(TopicId, i32)>> = Vec::with_capacity(group.members.len());
    for member in group.members.values() {
        let all =
            member.assigned.iter().flat_map(|(topic, all)| all.iter().map(|partition| (*topic, *partition)));
        owned.push(all.filter(|partition| free.remove(partition)).collect());
    }
    // What nobody had goes out before what somebody must give away.
    let mut free: Vec<(TopicId, i32)> = free.into_iter().collect();
    let mut assignment = Assignment::new();
    let mut gaps: Vec<(&Arc<str>, usize)> = Vec::new();
    for (place, (id, mut owned)) in group.members.keys().zip(owned).enumerate() {
        let may_be_larger = larger > 0;
        let share_max = share + usize::from(may_be_larger);
        free.extend(owned.drain(owned.len().min(share_max)..));
        let mut room = share_max - owned.len();
        if room > 0 && may_be_larger && group.members.len() - place > larger {
            // Enough members follow: one that already has as many may keep them.
            room -= 1;
        } else if may_be_larger {
            larger -= 1;
        }
        if room > 0 {
            gaps.push((id, room));
        }
        let own: &mut Partitions = assignment.entry(id.clone()).or_default();
        for (topic, partition) in owned {
            own.entry(topic).or_default().insert(partition);
        }
    }
    let mut free = free.into_iter();
    for (id, room) in gaps {
        let own = assignment.entry(id.clone()).or_default();
        for (topic, partition) in free.by_ref().take(room) {
            own.entry(topic).or_default().insert(partition);
        }
    }
    assignment
}

/// The members by number, what each has, and who subscribes to what.
struct Balance<'a> {
    group: &'a Group,
    ids: Vec<&'a Arc<str>>,
    sizes: Vec<usize>,
    subscribers: BTreeMap<TopicId, Vec<usize>>,
    /// Who has each partition of each topic.
    owners: BTreeMap<TopicId, Vec<Option<usize>>>,
}

impl<'a> Balance<'a> {
    fn new(group: &'a Group) -> Balance<'a> {
        let ids: Vec<&Arc<str>> = group.members.keys().collect();
        let mut subscribers: BTreeMap<TopicId, Vec<usize>> = BTreeMap::new();
        let mut owners = BTreeMap::new();
        for (number, member) in group.members.values().enumerate() {
            for topic in member.topics.iter() {
                subscribers.entry(*topic).or_default().push(number);
                let count = group.partitions.get(topic).copied().unwrap_or(0);
                let count = usize::try_from(count).unwrap_or(0);
                owners.entry(*topic).or_insert_with(|| vec![None; count]);
            }
        }
        let sizes = vec![0; ids.len()];
        Balance { group, ids, sizes, subscribers, owners }
    }

    fn run(mut self) -> Assignment {
        self.keep();
        let topics = self.in_order();
        for topic in &topics {
            self.hand_out(*topic);
        }
        for _ in 0..ROUNDS_MAX {
            let moved = topics.iter().map(|topic| self.even_out(*topic)).sum::<usize>();
            if moved == 0 {
                break;
            }
        }
        self.assignment()
    }

    /// Everybody keeps what he has of topics he still subscribes to.
    fn keep(&mut self) {
        for (number, member) in self.group.members.values().enumerate() {
            for (topic, partitions) in member.assigned.iter() {
                if !member.topics.contains(topic) {
                    continue;
                }
                for partition in partitions {
                    if self.owner(*topic, *partition).is_some_and(|owner| owner.is_none()) {
                        self.give(*topic, *partition, number);
                    }
                }
            }
        }
    }

    /// The topics whose subscribers have most to carry first.
    fn in_order(&self) -> Vec<TopicId> {
        let mut topics: Vec<(&TopicId, usize, usize)> = self
            .subscribers
            .iter()
            .map(|(topic, all)| (topic, self.owners.get(topic).map_or(0, Vec::len), all.len()))
            .collect();
        // Of two fractions the larger one first, compared without dividing.
        topics.sort_by(|(one, count, all), (other, other_count, other_all)| {
            let (mine, others) = (count.saturating_mul(*other_all), other_count.saturating_mul(*all));
            others.cmp(&mine).then(all.cmp(other_all)).then(one.cmp(other))
        });
        topics.into_iter().map(|(topic, _, _)| *topic).collect()
    }

    /// Gives each free partition to the subscriber that has least.
    fn hand_out(&mut self, topic: TopicId) {
        let free: Vec<i32> = self.partitions_of(topic, None);
        if free.is_empty() {
            return;
        }
        let mut queue = self.loads(topic);
        for partition in free {
            let Some((load, number)) = queue.pop_first() else { return };
            self.give(topic, partition, number);
            queue.insert((load + 1, number));
        }
    }

    /// Moves partitions of a topic from the subscriber that has most to the one that has least; how many.
    fn even_out(&mut self, topic: TopicId) -> usize {
        let mut loads = self.loads(topic);
        // From the most loaded down; of equals the later one.
        let mut givers: BTreeSet<Reverse<(usize, usize)>> = loads.iter().copied().map(Reverse).collect();
        let uneven = |loads: &BTreeSet<(usize, usize)>, most: usize| {
            loads.first().is_some_and(|(least, _)| most > least + 1)
        };
        if loads.last().is_none_or(|(most, _)| !uneven(&loads, *most)) {
            return 0;
        }
        let mut owned: BTreeMap<usize, Vec<i32>> = BTreeMap::new();
        for (partition, owner) in (0i32..).zip(self.owners.get(&topic).into_iter().flatten()) {
            owned.entry(owner.unwrap_or(usize::MAX)).or_default().push(partition);
        }
        let mut moved = 0;
        while let Some(Reverse((most, giver))) = givers.pop_first() {
            let Some((least, taker)) = loads.first().copied().filter(|_| uneven(&loads, most)) else { break };
            let Some(partition) = owned.get_mut(&giver).and_then(Vec::pop) else { continue };
            self.give(topic, partition, taker);
            loads.remove(&(most, giver));
            loads.remove(&(least, taker));
            loads.insert((most - 1, giver));
            loads.insert((least + 1, taker));
            givers.remove(&Reverse((least, taker)));
            givers.insert(Reverse((most - 1, giver)));
            givers.insert(Reverse((least + 1, taker)));
            owned.entry(taker).or_default().push(partition);
            moved += 1;
        }
        moved
    }

    /// The subscribers of a topic by how much each has of all topics.
    fn loads(&self, topic: TopicId) -> BTreeSet<(usize, usize)> {
        let subscribers = self.subscribers.get(&topic).into_iter().flatten();
        subscribers.map(|number| (self.sizes.get(*number).copied().unwrap_or(0), *number)).collect()
    }

    fn owner(&self, topic: TopicId, partition: i32) -> Option<Option<usize>> {
        self.owners.get(&topic)?.get(usize::try_from(partition).ok()?).copied()
    }

    fn partitions_of(&self, topic: TopicId, owner: Option<usize>) -> Vec<i32> {
        let owners = (0i32..).zip(self.owners.get(&topic).into_iter().flatten());
        owners.filter(|(_, has)| **has == owner).map(|(partition, _)| partition).collect()
    }

    /// Gives a partition to a member, and takes it from who had it.
    fn give(&mut self, topic: TopicId, partition: i32, number: usize) {
        let Ok(place) = usize::try_from(partition) else { return };
        let slot = self.owners.get_mut(&topic).and_then(|owners| owners.get_mut(place));
        let Some(before) = slot.map(|slot| slot.replace(number)) else { return };
        if let Some(size) = before.and_then(|before| self.sizes.get_mut(before)) {
            *size -= 1;
        }
        if let Some(size) = self.sizes.get_mut(number) {
            *size += 1;
        }
    }

    fn assignment(self) -> Assignment {
        let mut assignment: Assignment =
            self.ids.iter().map(|id| (Arc::clone(id), Partitions::new())).collect();
        for (topic, owners) in self.owners {
            for (partition, owner) in (0i32..).zip(owners) {
                let id = owner.and_then(|number| self.ids.get(number));
                if let Some(own) = id.and_then(|id| assignment.get_mut(*id)) {
                    own.entry(topic).or_default().insert(partition);
                }
            }
        }
        assignment
    }
}
