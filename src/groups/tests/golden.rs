//! A segment of `__consumer_offsets` that Apache Kafka 4.4 wrote: a static member of a classic group whose
//! session ended, a classic group that has left, and a consumer of the newer protocol (KIP-848); each read `gold` to its end.
//!
//! Made with `kafka-broker start DIR PORT offsets.topic.num.partitions=1`, then three records in the two partitions
//! of `gold`, `kcat -G classic-group gold -X group.instance.id=static-1 -X client.id=golden`, `kcat -G classic-two`,
//! and `kafka-console-consumer --group modern-group --command-property group.protocol=consumer`.

use super::*;
use crate::coordinator::load::load;
use crate::coordinator::machine::Entry;
use crate::coordinator::memory::Memory;
use crate::record::records;
use crate::record::walk;

fn empty() -> Groups {
    Groups::new(Arc::new(settings()), Arc::new(crate::cluster::Image::empty("c")))
}

const SEGMENT: &[u8] = include_bytes!("kafka-4.4-consumer-offsets.log");

#[tokio::test]
async fn kafkas_own_log_is_read() {
    let (machine, end) = load(empty(), &Memory::holding(SEGMENT), 500).await.unwrap();
    assert!(end > Offset(20), "{end}");
    let offset =
        |group: &str, partition| machine.offsets().get(group, "gold", partition).map(|one| one.value.offset);
    for group in ["classic-group", "classic-two", "modern-group"] {
        assert_eq!((offset(group, 0), offset(group, 1)), (Some(2), Some(1)), "{group}");
    }
    assert_eq!(machine.classic("classic-group").unwrap().state.name(), "Empty", "its session ended");
    assert_eq!(machine.classic("classic-two").unwrap().state.name(), "Empty");
    let modern = machine.kind("modern-group").unwrap();
    assert_eq!((modern.name(), modern.state_name()), ("consumer", "Empty"), "it has left");
}

#[tokio::test]
async fn every_beginning_of_kafkas_log_is_read_as_the_group_stood_then() {
    let mut states = Vec::new();
    for found in walk(SEGMENT) {
        let (at, header) = found.unwrap();
        let log = Memory::holding(&SEGMENT[..at + header.total_size()]);
        let (machine, _) = load(empty(), &log, 500).await.unwrap();
        let Some(group) = machine.classic("classic-group") else { continue };
        states.push(group.state.name());
        if let Some(member) = group.members().next() {
            assert_eq!((group.protocol.as_deref(), group.size()), (Some("range"), 1));
            assert_eq!((member.instance_id.as_deref(), &*member.client_id), (Some("static-1"), "golden"));
            assert!(group.is_subscribed("gold") && !group.is_subscribed("other"));
        }
    }
    states.dedup();
    assert_eq!(states, ["Empty", "Stable", "Empty"]);
}

/// The newer group went from its first member to none.
#[tokio::test]
async fn every_beginning_tells_the_newer_group_as_it_stood_then() {
    let mut states = Vec::new();
    for found in walk(SEGMENT) {
        let (at, header) = found.unwrap();
        let log = Memory::holding(&SEGMENT[..at + header.total_size()]);
        let (machine, _) = load(empty(), &log, 500).await.unwrap();
        let Some(group) = machine.kind("modern-group") else { continue };
        states.push(group.state_name());
        assert!(group.is_empty() || group.is_subscribed("gold") && !group.is_subscribed("other"));
    }
    states.dedup();
    assert_eq!(states, ["Stable", "Empty"]);
}

#[test]
fn what_kafka_wrote_is_what_we_would_write() {
    let (mut same, mut other) = (0, 0);
    for found in walk(SEGMENT) {
        let (at, header) = found.unwrap();
        for record in records(&SEGMENT[at..at + header.total_size()], 1 << 20).unwrap() {
            let record = record.unwrap();
            let entry = Entry { key: record.key.unwrap(), value: record.value };
            match Record::read(&entry).unwrap_or_else(|error| panic!("{entry:?}: {error}")) {
                Some(read) => {
                    assert_eq!(read.write(), entry);
                    same += 1;
                }
                None => other += 1,
            }
        }
    }
    assert!(same >= 13 && other == 0, "{same} records are read and written alike, {other} are not known");
}

/// The id of the topic `gold`, and the hash of the newer group's topics.
pub(super) fn topic_and_hash() -> (TopicId, i64) {
    use crate::groups::consumer::record::Fact;
    let (mut id, mut hash) = (None, None);
    for found in walk(SEGMENT) {
        let (at, header) = found.unwrap();
        for record in records(&SEGMENT[at..at + header.total_size()], 1 << 20).unwrap() {
            let record = record.unwrap();
            let entry = Entry { key: record.key.unwrap(), value: record.value };
            let Ok(Some(Record::Consumer(record))) = Record::read(&entry) else { continue };
            match record.fact {
                Fact::Target(_, Some(target)) => id = target.keys().next().copied().or(id),
                Fact::Epoch(Some(value)) if value.metadata_hash != 0 => hash = Some(value.metadata_hash),
                _ => {}
            }
        }
    }
    (id.unwrap(), hash.unwrap())
}
