//! Images under random records: a snapshot's records rebuild the image, failed records change nothing.

use super::*;
use crate::cluster::records::ConfigRecord;
use crate::cluster::records::FeatureLevelRecord;
use crate::cluster::records::PartitionChangeRecord;
use crate::cluster::records::PartitionRecord;
use crate::cluster::records::ProducerIdsRecord;
use crate::cluster::records::Record;
use crate::cluster::records::RemoveTopicRecord;
use crate::cluster::records::TopicRecord;
use crate::cluster::testing;
use proptest::prelude::*;
use uuid::Uuid;

fn id(number: u128) -> TopicId {
    TopicId(Uuid::from_u128(number))
}

fn partition(topic: u128, index: i32) -> Record {
    PartitionRecord {
        replicas: vec![BrokerId(1), BrokerId(2)],
        eligible_leader_replicas: Some(vec![BrokerId(2)]),
        ..testing::partition(id(topic), index)
    }
    .into()
}

fn config(topic: u128, name: &str, value: Option<&str>) -> Record {
    ConfigRecord {
        resource_type: 2,
        resource_name: format!("t.{topic}"),
        name: name.to_owned(),
        value: value.map(str::to_owned),
    }
    .into()
}

fn record() -> impl Strategy<Value = Record> {
    let topic = 1..6u128;
    prop_oneof![
        topic.clone().prop_map(|n| TopicRecord { name: format!("t.{n}"), topic_id: id(n) }.into()),
        topic.clone().prop_map(|n| RemoveTopicRecord { topic_id: id(n) }.into()),
        (topic.clone(), 0..4i32).prop_map(|(n, index)| partition(n, index)),
        (topic.clone(), 0..4i32, -2..3i32).prop_map(|(n, index, leader)| {
            let mut change = PartitionChangeRecord::new(id(n), PartitionIndex(index));
            change.leader = BrokerId(leader);
            change.isr = Some(vec![BrokerId(2)]);
            change.into()
        }),
        (topic, prop::option::of("[a-z]{0,3}")).prop_map(|(n, value)| config(n, "k", value.as_deref())),
        (0..3i16).prop_map(|level| FeatureLevelRecord { name: "f".to_owned(), feature_level: level }.into()),
        (0..9i64).prop_map(|next| {
            ProducerIdsRecord { broker_id: BrokerId(1), broker_epoch: 0, next_producer_id: next }.into()
        }),
    ]
}

proptest! {
    #[test]
    fn a_snapshots_records_rebuild_the_image(records in prop::collection::vec(record(), 0..80)) {
        let mut image = Image::empty("c");
        for record in &records {
            let before = image.clone();
            if image.apply(record).is_err() {
                prop_assert_eq!(&image, &before, "a refused record changed the image");
            }
        }
        let mut again = Image::empty("c");
        for record in image.records() {
            again.apply(&record).unwrap();
        }
        prop_assert_eq!(again, image);
    }
}

fn built(records: &[Record]) -> Image {
    let mut image = Image::empty("c");
    for record in records {
        image.apply(record).unwrap();
    }
    image
}

#[test]
fn a_named_leader_raises_the_epoch_even_when_it_stays() {
    let topic: Record = TopicRecord { name: "t".to_owned(), topic_id: id(1) }.into();
    let mut image = built(&[topic, partition(1, 0)]);
    let mut change = PartitionChangeRecord::new(id(1), PartitionIndex(0));
    change.leader = BrokerId(1);
    image.apply(&change.into()).unwrap();
    let partition = image.partition("t", PartitionIndex(0)).unwrap();
    assert_eq!((partition.leader_epoch, partition.partition_epoch), (LeaderEpoch(1), 1));
}

#[test]
fn deleting_a_topic_forgets_its_settings_and_its_collisions() {
    let topic: Record = TopicRecord { name: "t.1".to_owned(), topic_id: id(1) }.into();
    let mut image = built(&[topic, config(1, "retention.ms", Some("5"))]);
    assert_eq!(image.colliding_topic("t_1").unwrap().id, id(1));
    assert_eq!(image.topic_configs("t.1").len(), 1);
    image.apply(&RemoveTopicRecord { topic_id: id(1) }.into()).unwrap();
    assert!(image.colliding_topic("t_1").is_none());
    assert!(image.topic_configs("t.1").is_empty());
    assert_eq!(image, Image::empty("c"));
}

#[test]
fn partitions_are_found_in_any_order_of_their_records() {
    let topic: Record = TopicRecord { name: "t".to_owned(), topic_id: id(1) }.into();
    let image = built(&[topic, partition(1, 2), partition(1, 0), partition(1, 1)]);
    let indexes: Vec<i32> = image.topic("t").unwrap().partitions.iter().map(|one| one.index.0).collect();
    assert_eq!(indexes, [0, 1, 2]);
    assert!(image.partition("t", PartitionIndex(3)).is_none());
    assert!(image.partition("t", PartitionIndex(-1)).is_none());
}
