//! `range`: of each topic every subscriber gets one run of partitions, in the order of the members. When all subscribe to
//! the same topics and these have as many partitions each, a member gets the same numbers of all (co-partitioning).

use crate::base::TopicId;
use crate::groups::assign::Assignment;
use crate::groups::assign::Group;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How far a topic has been handed out.
struct Supply {
    count: i32,
    subscribers: i32,
    /// Who comes next among the subscribers.
    turn: i32,
}

impl Supply {
    /// The next subscriber's run: the first ones get one more each while the division leaves a rest.
    fn take(&mut self) -> std::ops::Range<i32> {
        let (least, rest) = (self.count / self.subscribers.max(1), self.count % self.subscribers.max(1));
        let start = self.turn * least + self.turn.min(rest);
        self.turn += 1;
        start..self.turn * least + self.turn.min(rest)
    }
}

pub(super) fn assign(group: &Group) -> Assignment {
    let mut supplies: BTreeMap<TopicId, Supply> = BTreeMap::new();
    for member in group.members.values() {
        for topic in member.topics.iter() {
            let count = group.partitions.get(topic).copied().unwrap_or(0);
            supplies.entry(*topic).or_insert(Supply { count, subscribers: 0, turn: 0 }).subscribers += 1;
        }
    }
    let mut assignment = Assignment::new();
    for (id, topics) in in_order(group) {
        let own = assignment.entry(id.clone()).or_default();
        for topic in topics.iter() {
            let run = supplies.get_mut(topic).map_or(0..0, Supply::take);
            if !run.is_empty() {
                own.insert(*topic, run.collect());
            }
        }
    }
    assignment
}

type Topics = Arc<std::collections::BTreeSet<TopicId>>;

/// Static members come first, by their instance ids: they keep their runs when they come back under another id.
fn in_order(group: &Group) -> Vec<(&Arc<str>, &Topics)> {
    let mut members: Vec<_> = group.members.iter().collect();
    members.sort_by_key(|(id, member)| match &member.instance_id {
        Some(instance_id) => (false, instance_id.clone()),
        None => (true, Arc::clone(id)),
    });
    members.into_iter().map(|(id, member)| (id, &member.topics)).collect()
}
