//! The codecs of share groups against the crate's where it has the version, against bytes from the schema where not.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::protocol::Part;
use crate::protocol::RequestHeader;
use crate::protocol::Response;
use crate::protocol::produce::LeaderIdAndEpoch;
use crate::protocol::sample;
use crate::protocol::supplement::share_acknowledge;
use crate::protocol::supplement::share_offsets;
use crate::protocol::supplement::share_state;
use crate::protocol::versions;
use bytes::Bytes;
use bytes::BytesMut;
use kafka_protocol::messages::DescribeShareGroupOffsetsRequest;
use kafka_protocol::messages::DescribeShareGroupOffsetsResponse;
use kafka_protocol::messages::ReadShareGroupStateSummaryRequest;
use kafka_protocol::messages::ReadShareGroupStateSummaryResponse;
use kafka_protocol::messages::ShareAcknowledgeRequest;
use kafka_protocol::messages::ShareAcknowledgeResponse;
use kafka_protocol::messages::WriteShareGroupStateRequest;
use kafka_protocol::messages::WriteShareGroupStateResponse;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::protocol::Encodable;
use kafka_protocol::protocol::StrBytes;

fn header(api_key: i16, api_version: i16) -> RequestHeader {
    RequestHeader { api_key, api_version, correlation_id: 7, client_id: None }
}

fn body(response: &Response) -> Bytes {
    let [Part::Bytes(frame)] = response.parts.as_slice() else { panic!("one part") };
    frame.slice(9..)
}

/// What the crate reads in our bytes, which it would write the same.
fn again<T: Decodable + Encodable>(version: i16, response: &Response) -> T {
    let ours = body(response);
    let mut rest = ours.clone();
    let read = T::decode(&mut rest, version).unwrap();
    assert!(rest.is_empty());
    let mut theirs = BytesMut::new();
    read.encode(&mut theirs, version).unwrap();
    assert_eq!(theirs.freeze(), ours);
    read
}

fn samples(key: i16, version: i16) -> impl Iterator<Item = (RequestHeader, Bytes)> {
    (0..100).map(move |seed| (header(key, version), sample::request(key, version, seed).unwrap()))
}

/// The bytes of a newer version: those of the older one with more after `at`.
fn with(older: &Bytes, at: usize, more: &[u8]) -> Bytes {
    [&older[..at], more, &older[at..]].concat().into()
}

#[test]
fn acknowledgements_are_read_and_answered_as_the_crate_does() {
    for (header, body) in samples(versions::SHARE_ACKNOWLEDGE, 1) {
        let ours = share_acknowledge::decode(&header, body.clone()).unwrap();
        let theirs = ShareAcknowledgeRequest::decode(&mut body.clone(), 1).unwrap();
        assert_eq!((ours.group_id, ours.member_id), (theirs.group_id.map(|id| id.0), theirs.member_id));
        assert_eq!((ours.session_epoch, ours.is_renew), (theirs.share_session_epoch, false));
        assert_eq!(ours.topics.len(), theirs.topics.len());
        for (ours, theirs) in ours.topics.iter().zip(&theirs.topics) {
            assert_eq!((ours.id.0, ours.partitions.len()), (theirs.topic_id, theirs.partitions.len()));
            for (ours, theirs) in ours.partitions.iter().zip(&theirs.partitions) {
                assert_eq!(ours.index, theirs.partition_index);
                let theirs = theirs.acknowledgement_batches.iter();
                let theirs: Vec<_> = theirs
                    .map(|one| (one.first_offset, one.last_offset, one.acknowledge_types.clone()))
                    .collect();
                let ours = ours.acknowledgements.iter();
                let ours: Vec<_> =
                    ours.map(|one| (one.first_offset, one.last_offset, one.types.clone())).collect();
                assert_eq!(ours, theirs);
            }
        }
    }
    // Version 2: whether locks are renewed, between session epoch and topics.
    let older = Bytes::from_static(&[2, b'g', 2, b'm', 0, 0, 0, 5, 1, 0]);
    let newer = with(&older, 8, &[1]);
    let read = share_acknowledge::decode(&header(versions::SHARE_ACKNOWLEDGE, 2), newer).unwrap();
    assert_eq!((read.session_epoch, read.is_renew, read.topics.len()), (5, true, 0));
    let partition = share_acknowledge::PartitionAnswer {
        index: 3,
        error: ErrorCode::NotLeaderOrFollower,
        error_message: Some(String::from("no")),
        current_leader: Some(LeaderIdAndEpoch { leader_id: 2, leader_epoch: 9 }),
    };
    let answer = share_acknowledge::Answer {
        error: ErrorCode::None,
        error_message: None,
        lock_timeout_ms: 30_000,
        topics: vec![(TopicId::METADATA, vec![partition])],
        node_endpoints: Vec::new(),
    };
    let older = share_acknowledge::encode(&header(versions::SHARE_ACKNOWLEDGE, 1), &answer).unwrap();
    let read: ShareAcknowledgeResponse = again(1, &older);
    let leader = &read.responses[0].partitions[0].current_leader;
    assert_eq!((leader.leader_id, leader.leader_epoch), (2, 9));
    let newer = share_acknowledge::encode(&header(versions::SHARE_ACKNOWLEDGE, 2), &answer).unwrap();
    assert_eq!(body(&newer), with(&body(&older), 7, &30_000i32.to_be_bytes()));
}

#[test]
fn described_offsets_are_read_and_answered_as_the_crate_does() {
    let key = versions::DESCRIBE_SHARE_GROUP_OFFSETS;
    for (header, body) in samples(key, 0) {
        let ours = share_offsets::decode(&header, body.clone()).unwrap();
        let theirs = DescribeShareGroupOffsetsRequest::decode(&mut body.clone(), 0).unwrap();
        let theirs = theirs.groups.into_iter().map(|group| share_offsets::Group {
            id: group.group_id.0,
            topics: group.topics.map(|topics| {
                topics.into_iter().map(|topic| (topic.topic_name.0, topic.partitions)).collect()
            }),
        });
        assert_eq!(ours, theirs.collect::<Vec<_>>());
        assert_eq!(share_offsets::decode(&RequestHeader { api_version: 1, ..header }, body).unwrap(), ours);
    }
    let partition = share_offsets::PartitionAnswer {
        index: 3,
        start_offset: 7,
        leader_epoch: 2,
        lag: 5,
        error: ErrorCode::None,
        error_message: None,
    };
    let topic = share_offsets::TopicAnswer {
        name: "t".to_owned(),
        id: TopicId::METADATA,
        partitions: vec![partition],
    };
    let group = share_offsets::GroupAnswer {
        id: StrBytes::from_static_str("g"),
        topics: vec![topic],
        error: ErrorCode::None,
        error_message: None,
    };
    let older = share_offsets::encode(&header(key, 0), std::slice::from_ref(&group)).unwrap();
    let read: DescribeShareGroupOffsetsResponse = again(0, &older);
    let partition = &read.groups[0].topics[0].partitions[0];
    assert_eq!((partition.start_offset, partition.leader_epoch), (7, 2));
    // Version 1: the lag behind the leader epoch, which ends 46 bytes in.
    let newer = share_offsets::encode(&header(key, 1), &[group]).unwrap();
    assert_eq!(body(&newer), with(&body(&older), 43, &5i64.to_be_bytes()));
}

#[test]
fn states_are_read_and_answered_as_the_crate_does() {
    let key = versions::WRITE_SHARE_GROUP_STATE;
    for (header, body) in samples(key, 0) {
        let ours = share_state::decode_write(&header, body.clone()).unwrap();
        let theirs = WriteShareGroupStateRequest::decode(&mut body.clone(), 0).unwrap();
        let topics = theirs.topics.into_iter().map(|topic| {
            let partitions = topic.partitions.into_iter().map(|one| share_state::Write {
                index: one.partition,
                state_epoch: one.state_epoch,
                leader_epoch: one.leader_epoch,
                start_offset: one.start_offset,
                delivery_complete_count: -1,
                batches: one
                    .state_batches
                    .into_iter()
                    .map(|batch| share_state::StateBatch {
                        first_offset: batch.first_offset,
                        last_offset: batch.last_offset,
                        delivery_state: batch.delivery_state,
                        delivery_count: batch.delivery_count,
                    })
                    .collect(),
            });
            (TopicId(topic.topic_id), partitions.collect())
        });
        assert_eq!(ours, share_state::Request { group_id: theirs.group_id, topics: topics.collect() });
    }
    // Version 1: complete deliveries between start offset and batches.
    let id = [0u8; 16];
    let head =
        [&[2, b'g', 2][..], &id, &[2, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4]].concat();
    let newer = Bytes::from([&head[..], &[0, 0, 0, 9, 1, 0, 0, 0]].concat());
    let read = share_state::decode_write(&header(key, 1), newer).unwrap();
    let write = &read.topics[0].1[0];
    assert_eq!((write.index, write.start_offset, write.delivery_complete_count), (1, 4, 9));
    let written = share_state::Written { index: 1, error: ErrorCode::None, error_message: None };
    let topics = [(TopicId::METADATA, vec![written])];
    let read: WriteShareGroupStateResponse =
        again(0, &share_state::encode_write(&header(key, 0), &topics).unwrap());
    assert_eq!(read.results[0].partitions[0].partition, 1);
    let key = versions::READ_SHARE_GROUP_STATE_SUMMARY;
    for (header, body) in samples(key, 0) {
        let ours = share_state::decode_summarize(&header, body.clone()).unwrap();
        let theirs = ReadShareGroupStateSummaryRequest::decode(&mut body.clone(), 0).unwrap();
        let topics = theirs.topics.into_iter().map(|topic| {
            let one =
                |one: kafka_protocol::messages::read_share_group_state_summary_request::PartitionData| {
                    share_state::Summarize { index: one.partition, leader_epoch: one.leader_epoch }
                };
            (TopicId(topic.topic_id), topic.partitions.into_iter().map(one).collect())
        });
        assert_eq!(ours, share_state::Request { group_id: theirs.group_id, topics: topics.collect() });
    }
    let summary = share_state::Summary {
        index: 1,
        error: ErrorCode::None,
        error_message: None,
        state_epoch: 2,
        leader_epoch: 3,
        start_offset: 4,
        delivery_complete_count: 9,
    };
    let topics = [(TopicId::METADATA, vec![summary])];
    let older = share_state::encode_summary(&header(key, 0), &topics).unwrap();
    let read: ReadShareGroupStateSummaryResponse = again(0, &older);
    assert_eq!(read.results[0].partitions[0].start_offset, 4);
    let newer = share_state::encode_summary(&header(key, 1), &topics).unwrap();
    let older = body(&older);
    assert_eq!(body(&newer), with(&older, older.len() - 3, &9i32.to_be_bytes()));
}
