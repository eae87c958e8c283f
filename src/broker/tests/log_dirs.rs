//! DescribeLogDirs in all versions that the crate knows, and moves between log directories.

use super::Bench;
use super::admin::change;
use super::admin::create;
use super::admin::set;
use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::broker::wire;
use crate::protocol::versions;
use kafka_protocol::messages::AlterReplicaLogDirsRequest;
use kafka_protocol::messages::DescribeLogDirsRequest;
use kafka_protocol::messages::alter_replica_log_dirs_request::AlterReplicaLogDir;
use kafka_protocol::messages::alter_replica_log_dirs_request::AlterReplicaLogDirTopic;
use kafka_protocol::messages::describe_log_dirs_request::DescribableLogDirTopic;
use kafka_protocol::messages::describe_log_dirs_response::DescribeLogDirsResult;

fn partitions(directory: &DescribeLogDirsResult) -> Vec<(String, Vec<i32>)> {
    let indexes = |topic: &kafka_protocol::messages::describe_log_dirs_response::DescribeLogDirsTopic| {
        topic.partitions.iter().map(|partition| partition.partition_index).collect()
    };
    directory.topics.iter().map(|topic| (topic.name.to_string(), indexes(topic))).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn directories_tell_their_partitions_and_space() {
    let bench = Bench::new(&[]).await;
    create(&bench, "a", 3).await;
    create(&bench, "b", 1).await;
    for version in Bench::versions(versions::DESCRIBE_LOG_DIRS).filter(|version| *version <= 4) {
        let all = bench.ask(&DescribeLogDirsRequest::default().with_topics(None), version).await;
        let [directory] = all.results.as_slice() else { panic!("one directory: {all:?}") };
        assert_eq!((all.error_code, directory.error_code), (0, 0));
        assert!(directory.log_dir.starts_with('/') && directory.log_dir.ends_with("/data"));
        // The metadata log lies there too, and is not shown.
        let expect = vec![(String::from("a"), vec![0, 1, 2]), (String::from("b"), vec![0])];
        assert_eq!(partitions(directory), expect, "{version}");
        let first = &directory.topics[0].partitions[0];
        assert_eq!((first.partition_size, first.offset_lag, first.is_future_key), (0, 0, false));
        let known = version >= 4;
        assert_eq!(directory.total_bytes > 0 && directory.usable_bytes > 0, known, "{version}");

        // Only what is asked for, without complaint about what does not exist; an empty list is no partition at all.
        let some = |name: &'static str, indexes: Vec<i32>| {
            DescribableLogDirTopic::default().with_topic(wire::topic_name(name)).with_partitions(indexes)
        };
        let topics = vec![some("a", vec![2, 7]), some("nowhere", vec![0])];
        let request = DescribeLogDirsRequest::default().with_topics(Some(topics));
        let few = bench.ask(&request, version).await;
        assert_eq!(partitions(&few.results[0]), vec![(String::from("a"), vec![2])]);
        let none = bench.ask(&DescribeLogDirsRequest::default().with_topics(Some(Vec::new())), version).await;
        assert_eq!((none.results.len(), partitions(&none.results[0])), (1, Vec::new()));
    }
}

async fn alter(bench: &Bench, path: &str, topic: &str, version: i16) -> ErrorCode {
    let topic =
        AlterReplicaLogDirTopic::default().with_name(wire::topic_name(topic)).with_partitions(vec![0]);
    let directory = AlterReplicaLogDir::default().with_path(wire::text(path)).with_topics(vec![topic]);
    let answer = bench.ask(&AlterReplicaLogDirsRequest::default().with_dirs(vec![directory]), version).await;
    ErrorCode::from_code(answer.results[0].partitions[0].error_code).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_partition_moves_to_another_directory_and_goes_on_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let dirs = format!("{},{}", path("one"), path("two"));
    let bench = Bench::new(&[("log.dirs", &dirs)]).await;
    create(&bench, "t", 1).await;
    let place = |bench: &Bench| {
        let partition = bench.broker.replicas.by_name("t", PartitionIndex(0)).unwrap();
        partition.log().directory_id()
    };
    for version in Bench::versions(versions::ALTER_REPLICA_LOG_DIRS) {
        super::data::produce_some(&bench, "t").await;
        let (from, epoch) = (place(&bench), bench.epoch("t"));
        let nowhere = path("three");
        assert_eq!(alter(&bench, &nowhere, "t", version).await, ErrorCode::LogDirNotFound);
        assert_eq!(alter(&bench, &path("one"), "x", version).await, ErrorCode::UnknownTopicOrPartition);
        // The folder of the copy has a name that is 40 longer than `topic-0`.
        let (short, long) = ("x".repeat(213), "x".repeat(214));
        assert_eq!(alter(&bench, &path("one"), &short, version).await, ErrorCode::UnknownTopicOrPartition);
        assert_eq!(alter(&bench, &nowhere, &long, version).await, ErrorCode::InvalidTopicException);
        // To its own directory it does not move; to the other it does, and with the new epoch that is known.
        let other = if bench.directory(&path("one")) == from { path("two") } else { path("one") };
        let own = if other == path("one") { path("two") } else { path("one") };
        for path in [own, other.clone()] {
            assert_eq!(alter(&bench, &path, "t", version).await, ErrorCode::None);
        }
        while bench.epoch("t") == epoch || place(&bench) == from {
            bench.broker.clock.sleep(std::time::Duration::from_millis(5)).await;
        }
        assert_eq!(place(&bench), bench.directory(&other));
        let image = bench.broker.publisher.current();
        assert_eq!(image.partition("t", PartitionIndex(0)).unwrap().directories, [place(&bench).0]);
    }
    super::data::produce_some(&bench, "t").await;
    assert_eq!(alter(&bench, &path("two"), "later", 2).await, ErrorCode::UnknownTopicOrPartition);
    assert_eq!(alter(&bench, &path("two"), "", 2).await, ErrorCode::UnknownTopicOrPartition);
    create(&bench, "later", 1).await;
    let later = bench.broker.replicas.by_name("later", PartitionIndex(0)).unwrap();
    assert_eq!(later.log().directory_id(), bench.directory(&path("two")), "the wish was kept");
    let (end, before) =
        (bench.broker.replicas.by_name("t", PartitionIndex(0)).unwrap().log_end_offset(), place(&bench));
    let bench = bench.restart().await;
    let after = bench.broker.replicas.by_name("t", PartitionIndex(0)).unwrap();
    assert_eq!((after.log_end_offset(), place(&bench)), (end, before));
}

async fn alter_all(bench: &Bench, paths: &[(String, i32)]) {
    let dirs = paths.iter().map(|(path, index)| {
        let topic =
            AlterReplicaLogDirTopic::default().with_name(wire::topic_name("t")).with_partitions(vec![*index]);
        AlterReplicaLogDir::default().with_path(wire::text(path)).with_topics(vec![topic])
    });
    let answer = bench.ask(&AlterReplicaLogDirsRequest::default().with_dirs(dirs.collect()), 2).await;
    assert!(answer.results.iter().flat_map(|topic| &topic.partitions).all(|one| one.error_code == 0));
}

/// The copies that grow, by the names of their directories.
async fn futures(bench: &Bench) -> Vec<(String, i32)> {
    let answer = bench.ask(&DescribeLogDirsRequest::default().with_topics(None), 4).await;
    let mut found = Vec::new();
    for directory in &answer.results {
        let of = directory.topics.iter().flat_map(|topic| &topic.partitions);
        let copies = of.filter(|partition| partition.is_future_key);
        found.extend(copies.map(|partition| (directory.log_dir.to_string(), partition.partition_index)));
    }
    found.sort();
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn moves_that_wait_are_shown_cancelled_and_known_to_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let dirs = format!("{},{}", path("one"), path("two"));
    let rate = "replica.alter.log.dirs.io.max.bytes.per.second";
    let bench = Bench::new(&[("log.dirs", &dirs), (rate, "1")]).await;
    create(&bench, "t", 3).await;
    let directory = |bench: &Bench, index: i32| {
        let partition = bench.broker.replicas.by_name("t", PartitionIndex(index)).unwrap();
        partition.log().directory_id()
    };
    // The first takes long, the others wait for it.
    let large = "x".repeat(150_000);
    super::data::produce_values(&bench, "t", &[&large, &large]).await;
    let own = |bench: &Bench, index: i32| {
        let is_one = bench.directory(&path("one")) == directory(bench, index);
        (path(if is_one { "one" } else { "two" }), index)
    };
    let other = |bench: &Bench, index: i32| {
        let (own, index) = own(bench, index);
        (path(if own == path("one") { "two" } else { "one" }), index)
    };
    let mut wanted: Vec<(String, i32)> = (0..3).map(|index| other(&bench, index)).collect();
    alter_all(&bench, &wanted).await;
    wanted.sort();
    assert_eq!(futures(&bench).await, wanted);
    alter_all(&bench, &[own(&bench, 1)]).await;
    wanted.retain(|(_, index)| *index != 1);
    assert_eq!(futures(&bench).await, wanted);
    let bench = bench.restart().await;
    assert_eq!(futures(&bench).await, wanted);
    // The first one sleeps a day, and hears of it.
    let stays = directory(&bench, 1);
    assert_eq!(change(&bench, 4, "1", vec![set(rate, 0, Some("100000000"))], false).await, (0, None));
    for (path, index) in &wanted {
        while directory(&bench, *index) != bench.directory(path) {
            bench.broker.clock.sleep(std::time::Duration::from_millis(5)).await;
        }
    }
    assert_eq!(directory(&bench, 1), stays);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_fails_at_its_last_step_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let dirs = format!("{},{}", path("one"), path("two"));
    let bench = Bench::new(&[("log.dirs", &dirs)]).await;
    create(&bench, "t", 1).await;
    super::data::produce_some(&bench, "t").await;
    let before = bench.broker.replicas.by_name("t", PartitionIndex(0)).unwrap();
    let is_one = bench.directory(&path("one")) == before.log().directory_id();
    let other = path(if is_one { "two" } else { "one" });
    std::fs::create_dir_all(format!("{other}/t-0/x")).unwrap();
    assert_eq!(alter(&bench, &other, "t", 2).await, ErrorCode::None);
    while !futures(&bench).await.is_empty() {
        bench.broker.clock.sleep(std::time::Duration::from_millis(5)).await;
    }
    // Whoever holds the partition, as coordinators do, goes on with it.
    let after = bench.broker.replicas.by_name("t", PartitionIndex(0)).unwrap();
    assert!(std::sync::Arc::ptr_eq(&before, &after));
    super::data::produce_some(&bench, "t").await;
    assert_eq!(before.log_end_offset().0, 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cordoned_directory_gets_nothing_new_by_the_file_or_by_a_change() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let dirs = format!("{},{}", path("one"), path("two"));
    let bench = Bench::new(&[("log.dirs", &dirs), ("cordoned.log.dirs", &path("one"))]).await;
    create(&bench, "a", 4).await;
    let all_in = |topic: &str, name: &str| {
        let directory = bench.directory(&path(name));
        (0..4).all(|index| {
            let partition = bench.broker.replicas.by_name(topic, PartitionIndex(index)).unwrap();
            partition.log().directory_id() == directory
        })
    };
    assert!(all_in("a", "two"));
    assert_eq!(alter(&bench, &path("one"), "a", 2).await, ErrorCode::InvalidReplicaAssignment);
    let changed = change(&bench, 4, "1", vec![set("cordoned.log.dirs", 0, Some(&path("two")))], false).await;
    assert_eq!(changed, (0, None));
    create(&bench, "b", 4).await;
    assert!(all_in("b", "one"));
    assert_eq!(alter(&bench, &path("one"), "a", 2).await, ErrorCode::None);
}
