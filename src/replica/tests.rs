//! The room as its callers see it: real log directories, images published by hand.

use super::*;
use crate::base::BrokerId;
use crate::base::Instant;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::OffsetAndEpoch;
use crate::base::PartitionIndex;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::cluster::Image;
use crate::cluster::records::ConfigRecord;
use crate::cluster::records::PartitionChangeRecord;
use crate::cluster::records::PartitionRecord;
use crate::cluster::records::Record;
use crate::cluster::records::RemoveTopicRecord;
use crate::cluster::records::TopicRecord;
use crate::io::task;
use crate::record::BatchBuilder;
use crate::record::Codec;
use crate::record::control::EndTransaction;
use crate::replica::testing::LONG;
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A node (broker 0) on a temporary folder.
struct Node {
    node: testing::Node,
    folder: tempfile::TempDir,
}

impl std::ops::Deref for Node {
    type Target = testing::Node;
    fn deref(&self) -> &testing::Node {
        &self.node
    }
}

impl Node {
    async fn start(settings: &[(&str, &str)]) -> Node {
        Node::start_on(tempfile::tempdir().unwrap(), Image::empty("cluster"), settings).await
    }

    async fn start_on(folder: tempfile::TempDir, image: Image, settings: &[(&str, &str)]) -> Node {
        let settings = [settings, &[("node.id", "0")]].concat();
        let node = testing::Node::start(testing::config(folder.path(), &settings), image).await;
        Node { node, folder }
    }

    /// Applies records to the image, publishes it, and waits until the node has acted on it.
    async fn apply(&self, records: &[Record]) {
        let apply = |image: &mut Image| records.iter().for_each(|record| image.apply(record).unwrap());
        self.node.change(apply).await;
    }

    async fn create(&self, name: &str, partitions: i32, replicas: &[i32]) -> TopicId {
        let id = TopicId::random_from(crate::io::random::uuid);
        let mut records = vec![Record::from(TopicRecord { name: name.to_owned(), topic_id: id })];
        records.extend((0..partitions).map(|index| partition_record(id, index, replicas)));
        self.apply(&records).await;
        id
    }

    async fn change(&self, id: TopicId, change: impl FnOnce(&mut PartitionChangeRecord)) {
        let mut record = PartitionChangeRecord::new(id, PartitionIndex(0));
        change(&mut record);
        self.apply(&[record.into()]).await;
    }

    fn partition(&self, topic: &str, index: i32) -> Arc<Partition> {
        self.replicas.by_name(topic, PartitionIndex(index)).unwrap()
    }

    fn soon(&self) -> Instant {
        self.clock.now().plus(LONG)
    }

    async fn stop(self) -> tempfile::TempDir {
        self.node.end().await;
        self.folder
    }
}

fn partition_record(id: TopicId, index: i32, replicas: &[i32]) -> Record {
    let replicas: Vec<BrokerId> = replicas.iter().map(|id| BrokerId(*id)).collect();
    Record::from(PartitionRecord {
        partition_id: PartitionIndex(index),
        topic_id: id,
        isr: replicas.clone(),
        removing_replicas: Vec::new(),
        adding_replicas: Vec::new(),
        leader: BrokerId(0),
        leader_epoch: LeaderEpoch(3),
        partition_epoch: 0,
        directories: vec![uuid::Uuid::nil(); replicas.len()],
        replicas,
        leader_recovery_state: 0,
        eligible_leader_replicas: None,
        last_known_elr: None,
    })
}

fn batch(values: &[&str]) -> Bytes {
    batch_at(values, 1_000_000)
}

fn batch_at(values: &[&str], time: i64) -> Bytes {
    let mut builder = BatchBuilder::new(Codec::None, Timestamp(time));
    for value in values {
        builder.push(Some(b"key"), Some(value.as_bytes()), &[], Timestamp(time));
    }
    builder.build().bytes().clone()
}

fn large(bytes: usize) -> Bytes {
    batch(&["x".repeat(bytes).as_str()])
}

async fn produce(node: &Node, partition: &Arc<Partition>, records: Bytes, acks: Acks) -> AppendInfo {
    partition.append(records, acks, Origin::Client, Proof::None).unwrap().done(node.soon()).await.unwrap()
}

fn read_from(from: i64, reader: Reader) -> ReadRequest {
    ReadRequest {
        from: Offset(from),
        max_bytes: 1 << 20,
        at_least_one: true,
        reader,
        leader_epoch: None,
        last_fetched_epoch: None,
    }
}

fn fetch(node: &Node, targets: Vec<Target>, min_bytes: u64, max_bytes: usize) -> Fetch {
    Fetch { targets, limits: FetchLimits { min_bytes, max_bytes, deadline: node.soon() } }
}

fn target(partition: &Arc<Partition>, from: i64) -> Target {
    Target { partition: Arc::clone(partition), request: read_from(from, Reader::Consumer) }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_acknowledged_is_visible_to_consumers() {
    let node = Node::start(&[]).await;
    node.create("t", 1, &[0]).await;
    let partition = node.partition("t", 0);
    let first = produce(&node, &partition, batch(&["a", "b"]), Acks::All).await;
    let second = produce(&node, &partition, batch(&["c"]), Acks::Leader).await;
    assert_eq!((first.base_offset, first.end_offset), (Offset(0), Offset(2)));
    assert_eq!((second.base_offset, second.append_time), (Offset(2), Timestamp::NONE));
    assert_eq!(partition.high_watermark(), Offset(3));
    let answer = partition.read(&read_from(0, Reader::Consumer)).unwrap();
    assert_eq!(answer.bytes, u64::try_from(batch(&["a", "b"]).len() + batch(&["c"]).len()).unwrap());
    assert!(answer.aborted.is_none());
    let committed = partition.read(&read_from(1, Reader::Committed)).unwrap();
    assert_eq!(committed.bytes, answer.bytes, "a whole batch, also from its middle");
    assert_eq!(committed.aborted, Some(Vec::new()));
    assert_eq!(partition.read(&read_from(3, Reader::Consumer)).unwrap().bytes, 0);
    for outside in [-1, 4] {
        let refused = partition.read(&read_from(outside, Reader::Consumer));
        assert!(matches!(refused, Err(Error::OffsetOutOfRange { .. })), "{outside}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_log_directory_offline_new_partitions_are_made_in_another_and_old_ones_are_not() {
    let folder = tempfile::tempdir().unwrap();
    let (one, two) = (folder.path().join("one"), folder.path().join("two"));
    let both = format!("{},{}", one.display(), two.display());
    let settings = [("log.dirs", both.as_str())];
    let node = Node::start_on(folder, Image::empty("cluster"), &settings).await;
    let old = node.create("old", 2, &[0]).await;
    assert!(one.join("old-0").is_dir() && two.join("old-1").is_dir(), "one partition in each directory");
    let image = node.publisher.current().as_ref().clone();
    let folder = node.stop().await;
    std::fs::rename(&two, folder.path().join("elsewhere")).unwrap();
    std::fs::write(&two, "no directory").unwrap();

    let node = Node::start_on(folder, image, &settings).await;
    produce(&node, &node.partition("old", 0), batch(&["a"]), Acks::All).await;
    let lost = node.replicas.by_name("old", PartitionIndex(1));
    assert!(matches!(lost, Err(Error::Offline)), "{lost:?}");
    assert!(!one.join("old-1").exists(), "its records lie elsewhere: no empty one takes its place");
    node.create("new", 1, &[0]).await;
    produce(&node, &node.partition("new", 0), batch(&["b"]), Acks::All).await;
    node.apply(&[partition_record(old, 2, &[0])]).await;
    produce(&node, &node.partition("old", 2), batch(&["c"]), Acks::All).await;
    assert!(one.join("new-0").is_dir() && one.join("old-2").is_dir());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_sent_twice_is_stored_once_and_answered_alike() {
    let node = Node::start(&[]).await;
    node.create("t", 1, &[0]).await;
    let partition = node.partition("t", 0);
    let sequenced = |sequence: i32| {
        let builder = BatchBuilder::new(Codec::None, Timestamp(5));
        let mut builder = builder.producer(ProducerId(7), ProducerEpoch(0), sequence);
        builder.push(None, Some(b"v"), &[], Timestamp(5));
        builder.build().bytes().clone()
    };
    let first = produce(&node, &partition, sequenced(0), Acks::All).await;
    let again = produce(&node, &partition, sequenced(0), Acks::All).await;
    assert_eq!(first.base_offset, again.base_offset);
    assert_eq!(partition.log_end_offset(), Offset(1));
    let gap = partition.append(sequenced(5), Acks::All, Origin::Client, Proof::None);
    assert!(matches!(gap, Err(Error::Log(crate::log::Error::Producer(_)))));
}

#[tokio::test(flavor = "multi_thread")]
async fn records_beyond_the_followers_are_neither_visible_nor_acknowledged() {
    let node = Node::start(&[("min.insync.replicas", "2")]).await;
    let id = node.create("t", 1, &[0, 1]).await;
    let partition = node.partition("t", 0);
    let pending = partition.append(batch(&["a", "b"]), Acks::All, Origin::Client, Proof::None).unwrap();
    assert!(!pending.is_done());
    assert_eq!((partition.log_end_offset(), partition.high_watermark()), (Offset(2), Offset(0)));
    assert_eq!(partition.read(&read_from(0, Reader::Consumer)).unwrap().bytes, 0);
    let timed_out = pending.done(node.clock.now()).await;
    assert!(matches!(timed_out, Err(Error::RequestTimedOut)));

    let follower = |from| read_from(from, Reader::Follower { id: BrokerId(1), log_start: Some(Offset(0)) });
    let waiting = pending.done(node.soon());
    let fetching = async {
        assert!(partition.read(&follower(0)).unwrap().bytes > 0, "a follower reads to the log's end");
        assert_eq!(partition.high_watermark(), Offset(0));
        partition.read(&follower(2)).unwrap();
    };
    let (acknowledged, ()) = tokio::join!(waiting, fetching);
    assert_eq!(acknowledged.unwrap().end_offset, Offset(2));
    assert_eq!(partition.high_watermark(), Offset(2));
    let stranger = read_from(0, Reader::Follower { id: BrokerId(9), log_start: None });
    assert!(matches!(partition.read(&stranger), Err(Error::NotLeaderOrFollower)));

    node.change(id, |change| change.isr = Some(vec![BrokerId(0)])).await;
    let too_few = partition.append(batch(&["c"]), Acks::All, Origin::Client, Proof::None);
    assert!(matches!(too_few, Err(Error::NotEnoughReplicas { in_sync: 1, min_isr: 2 })));
    produce(&node, &partition, batch(&["c"]), Acks::Leader).await;
    assert_eq!(partition.high_watermark(), Offset(2), "below min.insync.replicas it stands still");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_waits_is_woken_by_what_consumers_do_not_see_yet() {
    let node = Node::start(&[]).await;
    node.create("t", 1, &[0, 1]).await;
    let partition = node.partition("t", 0);
    let follower = |from| Target {
        partition: Arc::clone(&partition),
        request: read_from(from, Reader::Follower { id: BrokerId(1), log_start: Some(Offset(0)) }),
    };
    for (from, acks) in [(0, Acks::Leader), (1, Acks::All)] {
        let waiting = fetch(&node, vec![follower(from)], 1, 1 << 20);
        assert!(waiting.read().is_err());
        let appending = async {
            let pending = partition.append(batch(&["a"]), acks, Origin::Client, Proof::None).unwrap();
            let in_time = pending.done(node.clock.now()).await;
            assert_eq!(in_time.is_ok(), acks == Acks::Leader);
        };
        let (outcomes, ()) = tokio::join!(waiting.wait_and_read(&node.clock), appending);
        assert!(node.clock.now() < waiting.limits.deadline, "woken, not timed out");
        assert!(outcomes[0].as_ref().unwrap().bytes > 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_whose_log_diverges_does_not_count_as_having_it() {
    let node = Node::start(&[]).await;
    let id = node.create("t", 1, &[0, 1]).await;
    let partition = node.partition("t", 0);
    produce(&node, &partition, batch(&["a"]), Acks::Leader).await;
    node.change(id, |change| change.leader = BrokerId(0)).await;
    produce(&node, &partition, batch(&["b"]), Acks::Leader).await;
    let follower = Reader::Follower { id: BrokerId(1), log_start: Some(Offset(0)) };
    let last = |from, epoch| ReadRequest {
        last_fetched_epoch: Some(LeaderEpoch(epoch)),
        ..read_from(from, follower)
    };
    assert!(partition.read(&last(2, 3)).unwrap().diverging.is_some());
    assert_eq!(partition.high_watermark(), Offset(0));
    assert!(partition.read(&last(1, 3)).unwrap().diverging.is_none());
    assert_eq!(partition.high_watermark(), Offset(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_smaller_isr_lets_waiting_appends_go() {
    let node = Node::start(&[]).await;
    let id = node.create("t", 1, &[0, 1]).await;
    let partition = node.partition("t", 0);
    let pending = partition.append(batch(&["a"]), Acks::All, Origin::Client, Proof::None).unwrap();
    let shrink = node.change(id, |change| change.isr = Some(vec![BrokerId(0)]));
    let (acknowledged, ()) = tokio::join!(pending.done(node.soon()), shrink);
    assert_eq!(acknowledged.unwrap().end_offset, Offset(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn epochs_fence_readers_and_lost_leadership_fails_who_waits() {
    let node = Node::start(&[]).await;
    let id = node.create("t", 1, &[0, 1]).await;
    let partition = node.partition("t", 0);
    let with_epoch =
        |epoch| ReadRequest { leader_epoch: Some(LeaderEpoch(epoch)), ..read_from(0, Reader::Consumer) };
    assert!(partition.read(&with_epoch(3)).is_ok());
    assert!(matches!(partition.read(&with_epoch(2)), Err(Error::FencedLeaderEpoch { .. })));
    assert!(matches!(partition.read(&with_epoch(4)), Err(Error::UnknownLeaderEpoch { .. })));

    let pending = partition.append(batch(&["a"]), Acks::All, Origin::Client, Proof::None).unwrap();
    let lose = node.change(id, |change| change.leader = BrokerId(1));
    let (acknowledged, ()) = tokio::join!(pending.done(node.soon()), lose);
    assert!(matches!(acknowledged, Err(Error::NotLeaderOrFollower)));
    assert!(!partition.is_leader());
    let refused = partition.append(batch(&["a"]), Acks::Leader, Origin::Client, Proof::None);
    assert!(matches!(refused, Err(Error::NotLeaderOrFollower)));

    node.change(id, |change| change.leader = BrokerId(0)).await;
    assert_eq!(partition.leader_epoch(), LeaderEpoch(5));
    let mut stale = BatchBuilder::new(Codec::None, Timestamp(1));
    stale.push(None, Some(b"v"), &[], Timestamp(1));
    let refused = partition.append_batch(
        stale.build(),
        Acks::All,
        (Origin::Coordinator, Proof::Waived),
        Some(LeaderEpoch(3)),
    );
    assert!(matches!(refused, Err(Error::NotLeaderOrFollower)), "an old leadership's write");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_whose_log_diverges_learns_where_to_truncate() {
    let node = Node::start(&[]).await;
    let id = node.create("t", 1, &[0]).await;
    let partition = node.partition("t", 0);
    produce(&node, &partition, batch(&["a", "b"]), Acks::All).await;
    node.change(id, |change| change.leader = BrokerId(0)).await;
    produce(&node, &partition, batch(&["c"]), Acks::All).await;
    let fetched = |from, epoch| ReadRequest {
        last_fetched_epoch: Some(LeaderEpoch(epoch)),
        ..read_from(from, Reader::Consumer)
    };
    let answer = partition.read(&fetched(3, 3)).unwrap();
    assert_eq!(answer.diverging, Some(OffsetAndEpoch { offset: Offset(2), epoch: LeaderEpoch(3) }));
    assert_eq!(answer.bytes, 0);
    assert!(partition.read(&fetched(2, 3)).unwrap().bytes > 0);
    let end = |epoch| partition.epoch_end(None, LeaderEpoch(epoch)).unwrap();
    assert_eq!(end(3), Some(OffsetAndEpoch { offset: Offset(2), epoch: LeaderEpoch(3) }));
    assert_eq!(end(4), Some(OffsetAndEpoch { offset: Offset(3), epoch: LeaderEpoch(4) }));
    assert_eq!(end(5), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fetch_waits_for_its_bytes_and_no_longer() {
    let node = Node::start(&[]).await;
    node.create("t", 3, &[0]).await;
    let partitions: Vec<_> = (0..3).map(|index| node.partition("t", index)).collect();
    let targets = || partitions.iter().map(|partition| target(partition, 0)).collect::<Vec<_>>();
    let size = u64::try_from(batch(&["a"]).len()).unwrap();

    let one = fetch(&node, targets(), 1, 1 << 20);
    assert!(one.read().is_err(), "nothing is there");
    let waiting = one.wait_and_read(&node.clock);
    let producing = produce(&node, &partitions[2], batch(&["a"]), Acks::Leader);
    let (outcomes, _) = tokio::join!(waiting, producing);
    let bytes: Vec<u64> = outcomes.into_iter().map(|outcome| outcome.unwrap().bytes).collect();
    assert_eq!(bytes, [0, 0, size]);

    let three = fetch(&node, targets(), 3 * size, 1 << 20);
    let waiting = three.wait_and_read(&node.clock);
    let producing = async {
        produce(&node, &partitions[0], batch(&["a"]), Acks::Leader).await;
        tokio::task::yield_now().await;
        produce(&node, &partitions[0], batch(&["a"]), Acks::Leader).await;
    };
    let (outcomes, ()) = tokio::join!(waiting, producing);
    let bytes: u64 = outcomes.into_iter().map(|outcome| outcome.unwrap().bytes).sum();
    assert_eq!(bytes, 3 * size);

    let deadline = node.clock.now().plus(Duration::from_millis(20));
    let limits = FetchLimits { min_bytes: 1 << 20, max_bytes: 1 << 20, deadline };
    let never = Fetch { targets: targets(), limits };
    let outcomes = never.wait_and_read(&node.clock).await;
    assert!(node.clock.now() >= deadline);
    let bytes: u64 = outcomes.into_iter().map(|outcome| outcome.unwrap().bytes).sum();
    assert_eq!(bytes, 3 * size, "at the deadline it gets what there is");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_batch_comes_whole_and_the_rest_obeys_the_limits() {
    let node = Node::start(&[("message.max.bytes", "5242880")]).await;
    node.create("t", 4, &[0]).await;
    let partitions: Vec<_> = (0..4).map(|index| node.partition("t", index)).collect();
    for partition in partitions.iter().skip(1) {
        produce(&node, partition, large(20_000), Acks::Leader).await;
    }
    let size = u64::try_from(large(20_000).len()).unwrap();
    let bytes = |max_bytes, partition_max| {
        let mut targets: Vec<_> = partitions.iter().map(|partition| target(partition, 0)).collect();
        targets.iter_mut().for_each(|target| target.request.max_bytes = partition_max);
        let outcomes = fetch(&node, targets, 1, max_bytes).read().unwrap();
        outcomes.into_iter().map(|outcome| outcome.unwrap().bytes).collect::<Vec<_>>()
    };
    assert_eq!(bytes(1024, 1024), [0, size, 0, 0]);
    assert_eq!(bytes(1 << 20, 1024), [0, size, 0, 0]);
    assert_eq!(bytes(50_000, 1 << 20), [0, size, size, 0]);
    assert_eq!(bytes(1 << 20, 1 << 20), [0, size, size, size]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_topic_is_gone_for_all_and_its_name_is_free() {
    let node = Node::start(&[]).await;
    let first = node.create("t", 1, &[0]).await;
    let partition = node.partition("t", 0);
    produce(&node, &partition, batch(&["a"]), Acks::All).await;
    let waiting = fetch(&node, vec![target(&partition, 1)], 1, 1 << 20);
    let records = [RemoveTopicRecord { topic_id: first }.into()];
    let delete = node.apply(&records);
    let (outcomes, ()) = tokio::join!(waiting.wait_and_read(&node.clock), delete);
    assert!(matches!(outcomes.first(), Some(Err(Error::NotLeaderOrFollower))));
    let index = PartitionIndex(0);
    assert!(matches!(node.replicas.by_name("t", index), Err(Error::UnknownTopicOrPartition)));
    assert!(matches!(node.replicas.by_id(first, index), Err(Error::UnknownTopicId)));

    let second = node.create("t", 2, &[0]).await;
    assert_eq!(node.replicas.by_id(second, index).unwrap().log_end_offset(), Offset(0));
    assert!(matches!(node.replicas.by_id(second, PartitionIndex(2)), Err(Error::UnknownTopicOrPartition)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_made_anew_within_one_image_starts_empty() {
    let node = Node::start(&[]).await;
    let first = node.create("t", 1, &[0]).await;
    produce(&node, &node.partition("t", 0), batch(&["a"]), Acks::All).await;
    let second = TopicId::random_from(crate::io::random::uuid);
    node.apply(&[
        RemoveTopicRecord { topic_id: first }.into(),
        TopicRecord { name: "t".to_owned(), topic_id: second }.into(),
        partition_record(second, 0, &[0]),
    ])
    .await;
    let partition = node.partition("t", 0);
    assert_eq!((partition.topic_id(), partition.log_end_offset()), (second, Offset(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_reach_the_logs_while_they_run() {
    let node = Node::start(&[]).await;
    node.create("t", 1, &[0]).await;
    let partition = node.partition("t", 0);
    let set = |kind: i8, resource: &str, name: &str, value: &str| {
        Record::from(ConfigRecord {
            resource_type: kind,
            resource_name: resource.to_owned(),
            name: name.to_owned(),
            value: Some(value.to_owned()),
        })
    };
    node.apply(&[set(4, "", "message.max.bytes", "1000")]).await;
    assert_eq!(partition.log().config().max_message_bytes, 1000);
    node.apply(&[set(2, "t", "max.message.bytes", "100")]).await;
    assert_eq!(partition.log().config().max_message_bytes, 100);
    let refused = partition.append(large(200), Acks::Leader, Origin::Client, Proof::None);
    assert!(matches!(refused, Err(Error::Batch(crate::record::check::Error::TooLarge { .. }))));
}

#[tokio::test(flavor = "multi_thread")]
async fn offsets_are_found_at_the_ends_and_by_time() {
    let node = Node::start(&[]).await;
    node.create("t", 1, &[0]).await;
    let partition = node.partition("t", 0);
    let find = |spot, view| partition.list_offset(spot, view, None).unwrap();
    assert_eq!(find(Spot::At(Timestamp(0)), View::Consumer), None, "an empty log");
    produce(&node, &partition, batch_at(&["a", "b"], 1_000), Acks::All).await;
    produce(&node, &partition, batch_at(&["c"], 3_000), Acks::All).await;
    produce(&node, &partition, batch_at(&["d"], 2_000), Acks::All).await;
    let offset = |spot| find(spot, View::Consumer).map(|found| found.offset.0);
    assert_eq!(offset(Spot::Earliest), Some(0));
    assert_eq!(offset(Spot::Latest), Some(4));
    assert_eq!(offset(Spot::MaxTimestamp), Some(2));
    assert_eq!(offset(Spot::At(Timestamp(1_500))), Some(2));
    assert_eq!(offset(Spot::At(Timestamp(3_001))), None);
    assert_eq!(offset(Spot::LatestTiered), Some(-1));
    assert_eq!(find(Spot::Latest, View::Committed).unwrap().epoch, Some(LeaderEpoch(3)));

    assert_eq!(partition.delete_records(Some(Offset(3))).unwrap(), Offset(3));
    assert_eq!(offset(Spot::Earliest), Some(3));
    assert!(matches!(partition.delete_records(Some(Offset(5))), Err(Error::OffsetOutOfRange { .. })));
    assert_eq!(partition.delete_records(None).unwrap(), Offset(4));
    assert_eq!(offset(Spot::At(Timestamp(0))), None, "everything is deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn leadership_is_published_with_its_epochs() {
    let node = Node::start(&[]).await;
    let mut led = node.replicas.leadership("t");
    assert!(led.borrow_and_update().is_empty());
    let id = node.create("t", 2, &[0, 1]).await;
    node.clock.timeout(LONG, led.changed()).await.unwrap().unwrap();
    let two = BTreeMap::from([(PartitionIndex(0), LeaderEpoch(3)), (PartitionIndex(1), LeaderEpoch(3))]);
    assert_eq!(**led.borrow_and_update(), two);
    node.change(id, |change| change.leader = BrokerId(1)).await;
    node.clock.timeout(LONG, led.changed()).await.unwrap().unwrap();
    assert_eq!(**led.borrow_and_update(), BTreeMap::from([(PartitionIndex(1), LeaderEpoch(3))]));
    node.apply(&[RemoveTopicRecord { topic_id: id }.into()]).await;
    node.clock.timeout(LONG, led.changed()).await.unwrap().unwrap();
    assert!(led.borrow_and_update().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_keeps_what_was_acknowledged_and_sets_strays_aside() {
    let node = Node::start(&[]).await;
    node.create("kept", 1, &[0]).await;
    let kept = node.publisher.current().as_ref().clone();
    produce(&node, &node.partition("kept", 0), batch(&["a", "b"]), Acks::All).await;
    node.create("stray", 1, &[0]).await;
    produce(&node, &node.partition("stray", 0), batch(&["a"]), Acks::All).await;
    let folder = node.stop().await;

    let node = Node::start_on(folder, kept, &[]).await;
    assert_eq!(node.partition("kept", 0).high_watermark(), Offset(2));
    let names: Vec<String> = std::fs::read_dir(node.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert!(names.iter().any(|name| name.starts_with("stray-0.") && name.ends_with("-stray")), "{names:?}");
    assert!(!names.contains(&"stray-0".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_told_of_offsets_that_only_a_checkpoint_knows() {
    let node = Node::start(&[]).await;
    node.create("t", 1, &[0]).await;
    let image = node.publisher.current().as_ref().clone();
    produce(&node, &node.partition("t", 0), batch(&["a", "b"]), Acks::All).await;
    let folder = node.stop().await;
    let file = folder.path().join("recovery-point-offset-checkpoint");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("t 0 2\n", "t 0 90\n")).unwrap();

    let node = Node::start_on(folder, image, &[]).await;
    let partition = node.partition("t", 0);
    assert_eq!(partition.log_end_offset(), Offset(90), "the checkpoint was not changed");
    let latest = partition.list_offset(Spot::Latest, View::Consumer, None).unwrap().unwrap();
    assert_eq!(
        (latest.offset, partition.high_watermark(), partition.log_end_offset()),
        (Offset(2), Offset(2), Offset(2))
    );
    produce(&node, &partition, batch(&["c"]), Acks::All).await;
    assert_eq!(partition.high_watermark(), Offset(3));
    assert_eq!(partition.last_stable_offset().unwrap(), Offset(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_epoch_of_the_same_leader_leaves_acknowledgements_as_they_are() {
    let node = Node::start(&[]).await;
    let id = node.create("t", 1, &[0]).await;
    let partition = node.partition("t", 0);
    let pending = partition.append(batch(&["a"]), Acks::All, Origin::Client, Proof::None).unwrap();
    node.change(id, |change| change.leader = BrokerId(0)).await;
    assert_eq!(partition.leader_epoch(), LeaderEpoch(4));
    assert_eq!(pending.done(node.soon()).await.unwrap().base_offset, Offset(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_appended_before_its_log_moved_counts() {
    let node = Node::start(&[]).await;
    node.create("t", 1, &[0]).await;
    let partition = node.partition("t", 0);
    let epoch = partition.leader_epoch();
    let append =
        |partition: &Arc<Partition>| partition.append(batch(&["a"]), Acks::All, Origin::Client, Proof::None);
    let pending = append(&partition).unwrap();
    partition.log().flush().unwrap();
    partition.move_away();
    assert_eq!(pending.done(node.soon()).await.unwrap().base_offset, Offset(0));
    partition.committed(Offset(1), epoch, node.soon()).await.unwrap();
    for (end, epoch) in [(2, epoch), (1, LeaderEpoch(epoch.0 + 1))] {
        let waited = partition.committed(Offset(end), epoch, node.soon()).await;
        assert!(matches!(waited, Err(Error::NotLeaderOrFollower)));
    }
    assert!(matches!(append(&partition), Err(Error::NotLeaderOrFollower)));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_writers_leave_no_gap_and_a_reader_sees_only_whole_batches() {
    let node = Node::start(&[]).await;
    node.create("t", 1, &[0]).await;
    let partition = node.partition("t", 0);
    let mut writers = Vec::new();
    for writer in 0..4 {
        let (partition, clock) = (Arc::clone(&partition), node.clock.clone());
        writers.push(task::spawn("writer", async move {
            for _ in 0..50 {
                let acks = if writer % 2 == 0 { Acks::All } else { Acks::Leader };
                let pending =
                    partition.append(batch(&["a", "b", "c"]), acks, Origin::Client, Proof::None).unwrap();
                pending.done(clock.now().plus(LONG)).await.unwrap();
            }
        }));
    }
    let mut from = 0;
    while from < 600 {
        let waiting = fetch(&node, vec![target(&partition, from)], 1, 1 << 20);
        let outcome = waiting.wait_and_read(&node.clock).await.remove(0).unwrap();
        let high_watermark = outcome.high_watermark.0;
        assert!(outcome.bytes > 0 && high_watermark >= from && high_watermark <= 600);
        assert_eq!(outcome.bytes % u64::try_from(batch(&["a", "b", "c"]).len()).unwrap(), 0);
        let batches = outcome.bytes / u64::try_from(batch(&["a", "b", "c"]).len()).unwrap();
        from += i64::try_from(batches).unwrap() * 3;
    }
    for writer in writers {
        assert_eq!(node.clock.timeout(60 * SECOND, writer.join()).await, Some(Some(())));
    }
    assert_eq!(partition.high_watermark(), Offset(600));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_committed_reader_stops_at_open_transactions_and_learns_of_aborted_ones() {
    let node = Node::start(&[]).await;
    node.create("t", 1, &[0]).await;
    let partition = node.partition("t", 0);
    let append = async |batch: crate::record::CheckedBatch| {
        let pending =
            partition.append_batch(batch, Acks::All, (Origin::Coordinator, Proof::Waived), None).unwrap();
        pending.done(node.soon()).await.unwrap();
    };
    let open = async |id: i64| {
        let builder = BatchBuilder::new(Codec::None, Timestamp(5));
        let mut builder = builder.producer(ProducerId(id), ProducerEpoch(0), 0).transactional();
        builder.push(None, Some(&[b'x'; 500]), &[], Timestamp(5));
        append(builder.build()).await;
    };
    let abort = async |id: i64| {
        let marker = EndTransaction { committed: false, coordinator_epoch: 0 };
        append(marker.batch(ProducerId(id), ProducerEpoch(0), Timestamp(5))).await;
    };
    open(1).await;
    let client = BatchBuilder::new(Codec::None, Timestamp(5)).producer(ProducerId(9), ProducerEpoch(0), 0);
    let mut client = client.transactional();
    client.push(None, Some(b"v"), &[], Timestamp(5));
    let refused = partition.append(client.build().bytes().clone(), Acks::All, Origin::Client, Proof::None);
    assert!(matches!(
        refused,
        Err(Error::Log(crate::log::Error::Producer(crate::log::ProducerError::Unverified { .. })))
    ));
    assert_eq!(partition.high_watermark(), Offset(1));
    assert_eq!(partition.last_stable_offset().unwrap(), Offset(0));
    assert_eq!(partition.read(&read_from(0, Reader::Committed)).unwrap().bytes, 0);
    let latest = |view| partition.list_offset(Spot::Latest, view, None).unwrap().unwrap().offset.0;
    assert_eq!((latest(View::Committed), latest(View::Consumer)), (0, 1));
    assert_eq!(partition.list_offset(Spot::At(Timestamp(0)), View::Committed, None).unwrap(), None);

    abort(1).await;
    open(2).await;
    abort(2).await;
    open(3).await;
    assert_eq!((latest(View::Committed), latest(View::Consumer)), (4, 5));
    let aborted = |max_bytes| {
        let request = ReadRequest { max_bytes, ..read_from(0, Reader::Committed) };
        let answer = partition.read(&request).unwrap();
        answer.aborted.unwrap().iter().map(|one| (one.producer.0, one.first.0)).collect::<Vec<_>>()
    };
    assert_eq!(aborted(1 << 20), [(1, 0), (2, 2)]);
    assert_eq!(aborted(100), [(1, 0)], "what was not read is not named");
    let left = |max_bytes| {
        let request = ReadRequest { max_bytes, at_least_one: false, ..read_from(0, Reader::Committed) };
        let answer = partition.read(&request).unwrap();
        (answer.bytes, answer.aborted.map(|aborted| aborted.len()))
    };
    assert_eq!(left(0), (0, Some(0)), "nothing was to be read");
    assert_eq!(left(100), (0, None), "no batch is that small");
    assert!(partition.read(&read_from(0, Reader::Consumer)).unwrap().aborted.is_none());
}
