//! Our Fetch codec against the crate's, version by version.

use super::*;
use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::io::Disk;
use crate::io::FileSlice;
use crate::io::Open;
use crate::protocol::Part;
use crate::protocol::RequestHeader;
use crate::protocol::produce::LeaderIdAndEpoch;
use crate::protocol::produce::NodeEndpoint;
use crate::protocol::sample;
use bytes::Bytes;
use bytes::BytesMut;
use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::FetchResponse;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::protocol::Encodable;
use std::path::Path;

fn header(api_version: i16) -> RequestHeader {
    RequestHeader { api_key: 1, api_version, correlation_id: 7, client_id: None }
}

fn from_crate(theirs: FetchRequest, version: i16) -> Request {
    let state = &theirs.replica_state;
    let partition = |partition: kafka_protocol::messages::fetch_request::FetchPartition| Partition {
        index: partition.partition,
        current_leader_epoch: partition.current_leader_epoch,
        fetch_offset: partition.fetch_offset,
        last_fetched_epoch: partition.last_fetched_epoch,
        log_start_offset: partition.log_start_offset,
        partition_max_bytes: partition.partition_max_bytes,
        replica_directory_id: TopicId(partition.replica_directory_id),
        high_watermark: partition.high_watermark,
    };
    Request {
        cluster_id: theirs.cluster_id,
        replica_id: if version >= 15 { state.replica_id.0 } else { theirs.replica_id.0 },
        replica_epoch: state.replica_epoch,
        max_wait_ms: theirs.max_wait_ms,
        min_bytes: theirs.min_bytes,
        max_bytes: theirs.max_bytes,
        isolation_level: theirs.isolation_level,
        session_id: theirs.session_id,
        session_epoch: theirs.session_epoch,
        topics: theirs
            .topics
            .into_iter()
            .map(|topic| Topic {
                name: topic.topic.0,
                id: TopicId(topic.topic_id),
                partitions: topic.partitions.into_iter().map(partition).collect(),
            })
            .collect(),
        forgotten: theirs
            .forgotten_topics_data
            .into_iter()
            .map(|topic| ForgottenTopic {
                name: topic.topic.0,
                id: TopicId(topic.topic_id),
                partitions: topic.partitions,
            })
            .collect(),
        rack_id: theirs.rack_id,
    }
}

#[test]
fn requests_are_read_as_the_crate_reads_them() {
    for version in 4..=18 {
        for seed in 0..100 {
            let body = sample::request(1, version, seed).unwrap();
            let ours = decode(&header(version), body.clone()).unwrap();
            let theirs = FetchRequest::decode(&mut body.clone(), version).unwrap();
            assert_eq!(ours, from_crate(theirs, version), "{version} {seed}");
        }
    }
}

/// An answer with everything in it that a version may carry; `records` go to its first partition.
fn answer(full: bool, records: Vec<Part>) -> Answer {
    let partition = PartitionAnswer {
        index: 3,
        error: ErrorCode::None,
        high_watermark: 100,
        last_stable_offset: 90,
        log_start_offset: 5,
        diverging_epoch: full.then_some(EpochEndOffset { epoch: 4, end_offset: 50 }),
        current_leader: full.then_some(LeaderIdAndEpoch { leader_id: 2, leader_epoch: 9 }),
        snapshot_id: full.then_some(SnapshotId { end_offset: 60, epoch: 5 }),
        aborted_transactions: full
            .then(|| vec![AbortedTransaction { producer_id: 1000, first_offset: 91 }; 2]),
        preferred_read_replica: -1,
        records,
    };
    let empty = PartitionAnswer {
        index: 4,
        error: ErrorCode::OffsetOutOfRange,
        aborted_transactions: Some(Vec::new()),
        records: Vec::new(),
        ..partition
    };
    let topic =
        TopicAnswer { name: "topic".into(), id: TopicId::METADATA, partitions: vec![partition, empty] };
    let endpoint = NodeEndpoint { node_id: 2, host: "h".into(), port: 9092, rack: None };
    Answer {
        throttle_time_ms: 11,
        error: ErrorCode::None,
        session_id: 77,
        topics: vec![topic.clone(), TopicAnswer { partitions: Vec::new(), ..topic }],
        node_endpoints: if full { vec![endpoint] } else { Vec::new() },
    }
}

fn bytes_of(parts: &[Part]) -> Bytes {
    let mut all = BytesMut::new();
    for part in parts {
        match part {
            Part::Bytes(bytes) => all.extend_from_slice(bytes),
            Part::File(slice) => {
                let mut read = vec![0; usize::try_from(slice.length).unwrap()];
                slice.file.read_exact_at(&mut read, slice.position).unwrap();
                all.extend_from_slice(&read);
            }
        }
    }
    all.freeze()
}

#[test]
fn answers_are_byte_for_byte_those_of_the_crate() {
    for version in 4..=18 {
        for full in [false, true] {
            let records = vec![Part::Bytes(Bytes::from(vec![1; 200])), Part::Bytes(Bytes::from(vec![2; 30]))];
            let ours = encode(&header(version), answer(full, records)).unwrap();
            let frame = bytes_of(&ours.parts);
            assert_eq!(ours.len(), frame.len() as u64);
            assert_eq!(frame[..4], u32::try_from(frame.len() - 4).unwrap().to_be_bytes());
            let head = if version >= 12 { 9 } else { 8 };
            let mut body = frame.slice(head..);
            let read = FetchResponse::decode(&mut body, version).unwrap();
            assert!(body.is_empty(), "{version}");
            let mut again = BytesMut::new();
            read.encode(&mut again, version).unwrap();
            assert_eq!(again, frame[head..], "{version}");
            let partition = &read.responses[0].partitions[0];
            assert_eq!(partition.records.as_ref().unwrap().len(), 230);
            assert_eq!((partition.high_watermark, partition.last_stable_offset), (100, 90));
            assert_eq!(partition.diverging_epoch.epoch, if full && version >= 12 { 4 } else { -1 });
            assert_eq!(partition.diverging_epoch.end_offset, if full && version >= 12 { 50 } else { -1 });
            assert_eq!(partition.current_leader.leader_epoch, if full && version >= 12 { 9 } else { -1 });
            assert_eq!(partition.snapshot_id.end_offset, if full && version >= 12 { 60 } else { -1 });
            assert_eq!(partition.aborted_transactions.as_ref().map(Vec::len), full.then_some(2));
            let second = &read.responses[0].partitions[1];
            assert_eq!(second.aborted_transactions, Some(Vec::new()));
            assert_eq!(second.records, Some(Bytes::new()), "no records are empty, not null");
            assert_eq!(read.session_id, if version >= 7 { 77 } else { 0 });
            assert_eq!(read.node_endpoints.len(), usize::from(full && version >= 16));
        }
    }
}

#[test]
fn records_on_disk_are_spliced_in_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let disk = Disk::system();
    let file = disk.open(&folder.path().join(Path::new("a.log")), Open::Create).unwrap();
    file.write_at(&[9; 1000], 0).unwrap();
    let slice = FileSlice { file, position: 100, length: 500 };
    let in_memory = vec![Part::Bytes(Bytes::from(vec![9; 500]))];
    let memory = encode(&header(18), answer(true, in_memory)).unwrap();
    let spliced = encode(&header(18), answer(true, vec![Part::File(slice)])).unwrap();
    assert!(spliced.parts.iter().any(|part| matches!(part, Part::File(slice) if slice.length == 500)));
    assert_eq!(bytes_of(&spliced.parts), bytes_of(&memory.parts));
    assert_eq!(spliced.len(), memory.len());
}
