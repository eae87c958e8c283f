//! Our ShareFetch codec against the crate's where it has the version, and against the schema where it has not.

use super::*;
use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::protocol::Part;
use crate::protocol::RequestHeader;
use crate::protocol::produce::LeaderIdAndEpoch;
use crate::protocol::produce::NodeEndpoint;
use crate::protocol::sample;
use bytes::Bytes;
use bytes::BytesMut;
use kafka_protocol::messages::ShareFetchRequest;
use kafka_protocol::messages::ShareFetchResponse;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::protocol::Encodable;

fn header(api_version: i16) -> RequestHeader {
    RequestHeader { api_key: 78, api_version, correlation_id: 7, client_id: None }
}

fn from_crate(theirs: ShareFetchRequest) -> Request {
    let batch =
        |batch: kafka_protocol::messages::share_fetch_request::AcknowledgementBatch| AcknowledgementBatch {
            first_offset: batch.first_offset,
            last_offset: batch.last_offset,
            types: batch.acknowledge_types,
        };
    let partition = |partition: kafka_protocol::messages::share_fetch_request::FetchPartition| Partition {
        index: partition.partition_index,
        acknowledgements: partition.acknowledgement_batches.into_iter().map(batch).collect(),
    };
    Request {
        group_id: theirs.group_id.map(|id| id.0),
        member_id: theirs.member_id,
        session_epoch: theirs.share_session_epoch,
        max_wait_ms: theirs.max_wait_ms,
        min_bytes: theirs.min_bytes,
        max_bytes: theirs.max_bytes,
        max_records: theirs.max_records,
        batch_size: theirs.batch_size,
        acquire_mode: 0,
        is_renew: false,
        topics: theirs
            .topics
            .into_iter()
            .map(|topic| Topic {
                id: TopicId(topic.topic_id),
                partitions: topic.partitions.into_iter().map(partition).collect(),
            })
            .collect(),
        forgotten: theirs
            .forgotten_topics_data
            .into_iter()
            .map(|topic| ForgottenTopic { id: TopicId(topic.topic_id), partitions: topic.partitions })
            .collect(),
    }
}

#[test]
fn requests_are_read_as_the_crate_reads_them() {
    for seed in 0..200 {
        let body = sample::request(78, 1, seed).unwrap();
        let ours = decode(&header(1), body.clone()).unwrap();
        let theirs = ShareFetchRequest::decode(&mut body.clone(), 1).unwrap();
        assert_eq!(ours, from_crate(theirs), "{seed}");
    }
}

#[test]
fn version_2_has_the_acquire_mode_and_renewals() {
    let mut body =
        b"\x02g\x02m\0\0\0\x03\0\0\0\x04\0\0\0\x05\0\0\0\x06\0\0\0\x07\0\0\0\x08\x01\x01\x02".to_vec();
    body.extend_from_slice(&[9; 16]);
    body.extend_from_slice(b"\x02\0\0\0\x02\x02\0\0\0\0\0\0\0\x0a\0\0\0\0\0\0\0\x0b\x03\x04\x04\0\0\0\x01\0");
    let request = decode(&header(2), Bytes::from(body)).unwrap();
    assert_eq!((request.acquire_mode, request.is_renew, request.batch_size), (1, true, 8));
    let partition = &request.topics[0].partitions[0];
    assert_eq!(partition.index, 2);
    let batch = AcknowledgementBatch { first_offset: 10, last_offset: 11, types: vec![4, 4] };
    assert_eq!(partition.acknowledgements, [batch]);
}

#[test]
fn answers_are_byte_for_byte_those_of_the_crate() {
    for full in [false, true] {
        let partition = PartitionAnswer {
            index: 3,
            error: ErrorCode::NotLeaderOrFollower,
            error_message: full.then(|| String::from("moved")),
            acknowledge_error: ErrorCode::InvalidRecordState,
            acknowledge_error_message: full.then(|| String::from("not yours")),
            current_leader: full.then_some(LeaderIdAndEpoch { leader_id: 2, leader_epoch: 9 }),
            records: vec![Part::Bytes(Bytes::from(vec![1; 200])), Part::Bytes(Bytes::from(vec![2; 30]))],
            acquired: vec![AcquiredRecords { first_offset: 5, last_offset: 9, delivery_count: 2 }; 2],
        };
        let empty = PartitionAnswer { records: Vec::new(), acquired: Vec::new(), ..partition.clone() };
        let endpoint = NodeEndpoint { node_id: 2, host: "h".into(), port: 9092, rack: None };
        let answer = Answer {
            throttle_time_ms: 11,
            error: ErrorCode::ShareSessionNotFound,
            error_message: full.then(|| String::from("none")),
            lock_timeout_ms: 30_000,
            topics: vec![TopicAnswer { id: TopicId::METADATA, partitions: vec![partition, empty] }],
            node_endpoints: if full { vec![endpoint] } else { Vec::new() },
        };
        let ours = encode(&header(1), answer).unwrap();
        let mut frame = BytesMut::new();
        for part in &ours.parts {
            let Part::Bytes(bytes) = part else { panic!("in memory") };
            frame.extend_from_slice(bytes);
        }
        let frame = frame.freeze();
        let mut body = frame.slice(9..);
        let read = ShareFetchResponse::decode(&mut body, 1).unwrap();
        assert!(body.is_empty());
        let mut again = BytesMut::new();
        read.encode(&mut again, 1).unwrap();
        assert_eq!(again, frame[9..]);
        let first = &read.responses[0].partitions[0];
        assert_eq!(first.records.as_ref().unwrap().len(), 230);
        assert_eq!((first.error_code, first.acknowledge_error_code), (6, 121));
        assert_eq!((first.acquired_records[1].last_offset, first.acquired_records[1].delivery_count), (9, 2));
        assert_eq!(read.acquisition_lock_timeout_ms, 30_000);
        assert_eq!(read.responses[0].partitions[1].records, Some(Bytes::new()));
    }
}
