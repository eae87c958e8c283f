//! DescribeLogDirs in all versions that the crate knows.

use super::Bench;
use super::admin::create;
use crate::broker::wire;
use crate::protocol::versions;
use kafka_protocol::messages::DescribeLogDirsRequest;
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
