//! Our Produce codec against the crate's, version by version.

use super::*;
use crate::protocol::Part;
use crate::protocol::sample;
use kafka_protocol::messages::ProduceRequest;
use kafka_protocol::messages::ProduceResponse;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::protocol::Encodable;

fn header(api_version: i16) -> RequestHeader {
    RequestHeader { api_key: 0, api_version, correlation_id: 7, client_id: None }
}

#[test]
fn requests_are_read_as_the_crate_reads_them() {
    for version in 3..=13 {
        for seed in 0..100 {
            let body = sample::request(0, version, seed).unwrap();
            let ours = decode(&header(version), body.clone()).unwrap();
            let theirs = ProduceRequest::decode(&mut body.clone(), version).unwrap();
            assert_eq!(ours.transactional_id, theirs.transactional_id.map(|id| id.0));
            assert_eq!((ours.acks, ours.timeout_ms), (theirs.acks, theirs.timeout_ms));
            let topics = theirs.topic_data.into_iter().map(|topic| Topic {
                name: topic.name.0,
                id: TopicId(topic.topic_id),
                partitions: topic
                    .partition_data
                    .into_iter()
                    .map(|partition| Partition { index: partition.index, records: partition.records })
                    .collect(),
            });
            assert_eq!(ours.topics, topics.collect::<Vec<_>>(), "{version} {seed}");
        }
    }
}

#[test]
fn records_are_slices_of_the_frame() {
    let mut body = vec![255, 255, 255, 255, 0, 0, 0, 9, 0, 0, 0, 1, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 3];
    body.extend_from_slice(&[0, 0, 0, 5, 1, 2, 3, 4, 5]);
    let body = Bytes::from(body);
    let request = decode(&header(3), body.clone()).unwrap();
    let records = request.topics[0].partitions[0].records.as_ref().unwrap();
    assert_eq!(records.as_ptr(), body[body.len() - 5..].as_ptr());
    assert_eq!((request.acks, request.topics[0].partitions[0].index), (-1, 3));
}

/// An answer with everything in it that a version may carry.
fn answer(leader: bool) -> Answer {
    let partition = PartitionAnswer {
        index: 3,
        error: ErrorCode::NotLeaderOrFollower,
        base_offset: 41,
        log_append_time_ms: 1_700_000_000_000,
        log_start_offset: 5,
        record_errors: vec![
            RecordError { batch_index: 2, message: Some("no key".into()) },
            RecordError { batch_index: 4, message: None },
        ],
        error_message: Some("not here".into()),
        current_leader: leader.then_some(LeaderIdAndEpoch { leader_id: 2, leader_epoch: 9 }),
    };
    let plain = PartitionAnswer {
        index: 0,
        error: ErrorCode::None,
        record_errors: Vec::new(),
        error_message: None,
        current_leader: None,
        ..partition
    };
    let endpoint = NodeEndpoint { node_id: 2, host: "h".into(), port: 9092, rack: Some("r".into()) };
    let topic =
        TopicAnswer { name: "topic".into(), id: TopicId::METADATA, partitions: vec![partition, plain] };
    Answer {
        topics: vec![topic],
        throttle_time_ms: 11,
        node_endpoints: if leader {
            vec![endpoint.clone(), NodeEndpoint { rack: None, ..endpoint }]
        } else {
            vec![]
        },
    }
}

#[test]
fn answers_are_byte_for_byte_those_of_the_crate() {
    for version in 3..=13 {
        for leader in [false, true] {
            let ours = encode(&header(version), &answer(leader)).unwrap();
            let [Part::Bytes(frame)] = ours.parts.as_slice() else { panic!("one part") };
            let head = if version >= 9 { 9 } else { 8 };
            assert_eq!(frame[4..8], [0, 0, 0, 7]);
            let mut body = frame.slice(head..);
            let read = ProduceResponse::decode(&mut body, version).unwrap();
            assert!(body.is_empty(), "{version}");
            let mut again = bytes::BytesMut::new();
            read.encode(&mut again, version).unwrap();
            assert_eq!(again, frame[head..], "{version}");
            let partition = &read.responses[0].partition_responses[0];
            assert_eq!((partition.index, partition.error_code, partition.base_offset), (3, 6, 41));
            assert_eq!(partition.log_append_time_ms, 1_700_000_000_000);
            assert_eq!(partition.log_start_offset, if version >= 5 { 5 } else { -1 });
            assert_eq!(partition.record_errors.len(), if version >= 8 { 2 } else { 0 });
            assert_eq!(partition.current_leader.leader_id.0, if version >= 10 && leader { 2 } else { -1 });
            assert_eq!(read.node_endpoints.len(), if version >= 10 && leader { 2 } else { 0 });
            assert_eq!(read.throttle_time_ms, 11);
            assert_eq!(read.responses[0].topic_id.is_nil(), version < 13);
        }
    }
}
