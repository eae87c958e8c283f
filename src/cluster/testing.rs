//! Topics for tests of other rooms.

use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::cluster::Image;
use crate::cluster::records::PartitionRecord;
use crate::cluster::records::TopicRecord;

/// A partition that node 1 has alone and leads.
pub fn partition(topic_id: TopicId, index: i32) -> PartitionRecord {
    PartitionRecord {
        partition_id: PartitionIndex(index),
        topic_id,
        replicas: vec![BrokerId(1)],
        isr: vec![BrokerId(1)],
        removing_replicas: Vec::new(),
        adding_replicas: Vec::new(),
        leader: BrokerId(1),
        leader_epoch: LeaderEpoch(0),
        partition_epoch: 0,
        directories: Vec::new(),
        leader_recovery_state: 0,
        eligible_leader_replicas: None,
        last_known_elr: None,
    }
}

/// Adds a topic with so many of these partitions, each changed by `change`.
pub fn add_topic(
    image: &mut Image,
    (name, topic_id): (&str, TopicId),
    partitions: i32,
    change: impl Fn(PartitionRecord) -> PartitionRecord,
) {
    image.apply(&TopicRecord { name: name.to_owned(), topic_id }.into()).expect("a new topic");
    for index in 0..partitions {
        image.apply(&change(partition(topic_id, index)).into()).expect("a new partition");
    }
}
