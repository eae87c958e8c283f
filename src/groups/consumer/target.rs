//! The target assignment of a group (`TargetAssignmentBuilder` in Kafka).

use crate::base::TopicId;
use crate::cluster::Image;
use crate::groups::assign;
use crate::groups::assign::Assignment;
use crate::groups::assign::Assignor;
use crate::groups::consumer::group::Group;
use crate::groups::consumer::subscription;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Assigns all partitions that the members subscribe to.
pub(crate) fn assignment(group: &Group, image: &Image, assignor: Assignor) -> Assignment {
    let mut partitions: BTreeMap<TopicId, i32> = BTreeMap::new();
    // Members that subscribe alike share one set: most groups have one subscription.
    let mut known: Vec<Arc<BTreeSet<TopicId>>> = Vec::new();
    let mut members = BTreeMap::new();
    for member in group.members() {
        let topics = subscription::topics_of(group, member, image);
        let topics = match known.iter().find(|other| ***other == topics) {
            Some(known) => Arc::clone(known),
            None => {
                let topics = Arc::new(topics);
                known.push(Arc::clone(&topics));
                topics
            }
        };
        let spec = assign::Member {
            instance_id: member.instance_id.clone(),
            topics,
            assigned: group.target(&member.id),
        };
        members.insert(member.id.clone(), spec);
    }
    for topic in known.iter().flat_map(|topics| topics.iter()) {
        let count = image.topic_by_id(*topic).map_or(0, |topic| topic.partitions.len());
        partitions.insert(*topic, i32::try_from(count).unwrap_or(i32::MAX));
    }
    assignor.assign(&assign::Group { members, partitions })
}
