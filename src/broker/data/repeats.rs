//! A partition that a Produce request names more than once: the last of its records count, and are answered once, as
//! in Kafka, which gathers the records of a request by partition (`KafkaApis.handleProduceRequest`).

use crate::protocol::fetch;
use crate::protocol::produce::Topic;
use std::collections::HashMap;
use std::collections::HashSet;
use tracing::debug;

/// Drops all but the last of each partition's records. Topics are told apart by what the version names them by; the
/// other of name and id is the same for all.
pub(super) fn keep_last(topics: &mut Vec<Topic>) {
    if topics.len() < 2 && topics.iter().all(ascending) {
        return;
    }
    let mut numbers = HashMap::with_capacity(topics.len());
    let mut seen = HashSet::new();
    let mut dropped = 0_usize;
    for topic in topics.iter_mut().rev() {
        let next = numbers.len();
        let number = *numbers.entry((topic.name.clone(), topic.id)).or_insert(next);
        let before = topic.partitions.len();
        topic.partitions.reverse();
        topic.partitions.retain(|partition| seen.insert((number, partition.index)));
        topic.partitions.reverse();
        dropped += before - topic.partitions.len();
    }
    if dropped > 0 {
        topics.retain(|topic| !topic.partitions.is_empty());
        debug!(dropped, "a produce request names partitions more than once; the last records count");
    }
}

/// Whether a Fetch request may name a partition more than once; true for some that do not.
pub(super) fn any(topics: &[fetch::Topic]) -> bool {
    let mut seen = HashSet::with_capacity(topics.len());
    topics.iter().any(|topic| {
        let ascending = topic.partitions.is_sorted_by(|one, next| one.index < next.index);
        !seen.insert((&topic.name, topic.id)) || !ascending
    })
}

fn ascending(topic: &Topic) -> bool {
    topic.partitions.is_sorted_by(|one, next| one.index < next.index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::TopicId;
    use crate::protocol::produce::Partition;
    use bytes::Bytes;
    use kafka_protocol::protocol::StrBytes;

    type Plain = Vec<(&'static str, Vec<(i32, &'static str)>)>;

    fn check(topics: Plain, expected: Plain) {
        let built = |topics: Plain| -> Vec<Topic> {
            let partition = |(index, records): (i32, &'static str)| Partition {
                index,
                records: Some(Bytes::from_static(records.as_bytes())),
            };
            let topic = |(name, partitions): (&'static str, Vec<_>)| Topic {
                name: StrBytes::from_static_str(name),
                id: TopicId::ZERO,
                partitions: partitions.into_iter().map(partition).collect(),
            };
            topics.into_iter().map(topic).collect()
        };
        let mut kept = built(topics);
        keep_last(&mut kept);
        assert_eq!(kept, built(expected));
    }

    #[test]
    fn the_last_records_of_a_partition_count() {
        check(vec![], vec![]);
        check(vec![("a", vec![(0, "x"), (1, "y")])], vec![("a", vec![(0, "x"), (1, "y")])]);
        check(vec![("a", vec![(1, "x"), (0, "y")])], vec![("a", vec![(1, "x"), (0, "y")])]);
        check(vec![("a", vec![(0, "x"), (0, "y")])], vec![("a", vec![(0, "y")])]);
        check(vec![("a", vec![(0, "x"), (1, "y"), (0, "z")])], vec![("a", vec![(1, "y"), (0, "z")])]);
        check(
            vec![("a", vec![(0, "x")]), ("b", vec![(0, "y")])],
            vec![("a", vec![(0, "x")]), ("b", vec![(0, "y")])],
        );
        check(
            vec![("a", vec![(0, "x")]), ("b", vec![(0, "y")]), ("a", vec![(0, "z")])],
            vec![("b", vec![(0, "y")]), ("a", vec![(0, "z")])],
        );
    }
}
