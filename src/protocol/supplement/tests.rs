//! Our codecs against the crate's where it has the version, against bytes from the schema where it has not.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::protocol::Part;
use crate::protocol::RequestHeader;
use crate::protocol::Response;
use crate::protocol::sample;
use crate::protocol::supplement::api_versions;
use crate::protocol::supplement::delete_groups;
use crate::protocol::supplement::describe_log_dirs;
use crate::protocol::supplement::offset_commit;
use crate::protocol::supplement::offset_fetch;
use crate::protocol::supplement::txn_offset_commit;
use crate::protocol::supplement::write_txn_markers;
use crate::protocol::versions;
use bytes::Bytes;
use bytes::BytesMut;
use kafka_protocol::messages::ApiVersionsRequest;
use kafka_protocol::messages::ApiVersionsResponse;
use kafka_protocol::messages::DeleteGroupsRequest;
use kafka_protocol::messages::DeleteGroupsResponse;
use kafka_protocol::messages::DescribeLogDirsRequest;
use kafka_protocol::messages::DescribeLogDirsResponse;
use kafka_protocol::messages::OffsetCommitRequest;
use kafka_protocol::messages::OffsetCommitResponse;
use kafka_protocol::messages::OffsetFetchRequest;
use kafka_protocol::messages::OffsetFetchResponse;
use kafka_protocol::messages::TxnOffsetCommitRequest;
use kafka_protocol::messages::WriteTxnMarkersRequest;
use kafka_protocol::protocol::Decodable;
use kafka_protocol::protocol::Encodable;

fn header(api_key: i16, api_version: i16) -> RequestHeader {
    RequestHeader { api_key, api_version, correlation_id: 7, client_id: None }
}

/// The body of an answer, after its header.
fn body(header: &RequestHeader, response: &Response) -> Bytes {
    let [Part::Bytes(frame)] = response.parts.as_slice() else { panic!("one part") };
    let tags = header.flexible() && header.api_key != versions::API_VERSIONS;
    frame.slice(if tags { 9 } else { 8 }..)
}

/// Reads an answer with the crate, writes it with the crate, and expects our bytes.
fn again<T: Decodable + Encodable>(header: &RequestHeader, response: Response) -> T {
    let ours = body(header, &response);
    let mut rest = ours.clone();
    let read = T::decode(&mut rest, header.api_version).unwrap();
    assert!(rest.is_empty(), "version {}", header.api_version);
    let mut theirs = BytesMut::new();
    read.encode(&mut theirs, header.api_version).unwrap();
    assert_eq!(theirs.freeze(), ours, "version {}", header.api_version);
    read
}

/// Random requests in these versions.
fn samples(key: i16, from: i16, to: i16) -> impl Iterator<Item = (RequestHeader, Bytes)> {
    (from..=to).flat_map(move |version| {
        (0..100).map(move |seed| (header(key, version), sample::request(key, version, seed).unwrap()))
    })
}

#[test]
fn offset_commit_requests_are_read_as_the_crate_reads_them() {
    for (header, body) in samples(versions::OFFSET_COMMIT, 2, 9) {
        let ours = offset_commit::decode(&header, body.clone()).unwrap();
        let theirs = OffsetCommitRequest::decode(&mut body.clone(), header.api_version).unwrap();
        assert_eq!(ours.group_id, theirs.group_id.0);
        assert_eq!(ours.generation_id_or_member_epoch, theirs.generation_id_or_member_epoch);
        assert_eq!(ours.member_id, theirs.member_id);
        assert_eq!(ours.group_instance_id, theirs.group_instance_id);
        assert_eq!(ours.retention_time_ms, theirs.retention_time_ms);
        let topics = theirs.topics.into_iter().map(|topic| offset_commit::Topic {
            name: topic.name.0,
            id: TopicId::ZERO,
            partitions: topic
                .partitions
                .into_iter()
                .map(|partition| offset_commit::Partition {
                    index: partition.partition_index,
                    committed_offset: partition.committed_offset,
                    committed_leader_epoch: partition.committed_leader_epoch,
                    committed_metadata: partition.committed_metadata,
                })
                .collect(),
        });
        assert_eq!(ours.topics, topics.collect::<Vec<_>>());
    }
}

#[test]
fn transactional_offsets_and_markers_are_read_as_the_crate_reads_them() {
    for (header, body) in samples(versions::TXN_OFFSET_COMMIT, 0, 5) {
        let ours = txn_offset_commit::decode(&header, body.clone()).unwrap();
        let theirs = TxnOffsetCommitRequest::decode(&mut body.clone(), header.api_version).unwrap();
        assert_eq!(
            (&ours.transactional_id, &ours.group_id),
            (&theirs.transactional_id.0, &theirs.group_id.0)
        );
        assert_eq!((ours.producer_id, ours.producer_epoch), (theirs.producer_id.0, theirs.producer_epoch));
        assert_eq!(ours.generation_id_or_member_epoch, theirs.generation_id);
        assert_eq!((ours.member_id, ours.group_instance_id), (theirs.member_id, theirs.group_instance_id));
        let topics = theirs.topics.into_iter().map(|topic| offset_commit::Topic {
            name: topic.name.0,
            id: TopicId::ZERO,
            partitions: topic
                .partitions
                .into_iter()
                .map(|partition| offset_commit::Partition {
                    index: partition.partition_index,
                    committed_offset: partition.committed_offset,
                    committed_leader_epoch: partition.committed_leader_epoch,
                    committed_metadata: partition.committed_metadata,
                })
                .collect(),
        });
        assert_eq!(ours.topics, topics.collect::<Vec<_>>());
    }
    for (header, body) in samples(versions::WRITE_TXN_MARKERS, 1, 1) {
        let ours = write_txn_markers::decode(&header, body.clone()).unwrap();
        let theirs = WriteTxnMarkersRequest::decode(&mut body.clone(), header.api_version).unwrap();
        let markers = theirs.markers.into_iter().map(|marker| write_txn_markers::Marker {
            producer_id: marker.producer_id.0,
            producer_epoch: marker.producer_epoch,
            committed: marker.transaction_result,
            topics: marker.topics.into_iter().map(|topic| (topic.name.0, topic.partition_indexes)).collect(),
            coordinator_epoch: marker.coordinator_epoch,
            transaction_version: 0,
        });
        assert_eq!(ours, markers.collect::<Vec<_>>());
    }
}

#[test]
fn offset_commit_10_names_topics_by_id() {
    let mut bytes = b"\x02g\0\0\0\x05\x02m\0\x02".to_vec();
    bytes.extend_from_slice(&[7; 16]);
    bytes.extend_from_slice(b"\x02\0\0\0\x01\0\0\0\0\0\0\0\x09\0\0\0\x03\x00\0\0\0");
    let request = offset_commit::decode(&header(8, 10), Bytes::from(bytes)).unwrap();
    assert_eq!(request.generation_id_or_member_epoch, 5);
    assert_eq!(request.topics[0].id.0.as_bytes(), &[7; 16]);
    let partition = &request.topics[0].partitions[0];
    assert_eq!((partition.index, partition.committed_offset, partition.committed_leader_epoch), (1, 9, 3));
    assert_eq!(partition.committed_metadata, None);
}

#[test]
fn offset_commit_answers_are_those_of_the_crate() {
    let topic = offset_commit::TopicAnswer {
        name: "t".into(),
        id: TopicId::METADATA,
        partitions: vec![(0, ErrorCode::None), (1, ErrorCode::IllegalGeneration)],
    };
    let answer = offset_commit::Answer { throttle_time_ms: 3, topics: vec![topic] };
    for version in 2..=9 {
        let header = header(8, version);
        let read: OffsetCommitResponse = again(&header, offset_commit::encode(&header, &answer).unwrap());
        assert_eq!(read.topics[0].partitions[1].error_code, 22);
    }
    let header = header(8, 10);
    let mut expect = b"\0\0\0\x03\x02".to_vec();
    expect.extend_from_slice(TopicId::METADATA.0.as_bytes());
    expect.extend_from_slice(b"\x03\0\0\0\0\0\0\0\0\0\0\x01\0\x16\0\0\0");
    assert_eq!(body(&header, &offset_commit::encode(&header, &answer).unwrap()), expect);
}

#[test]
fn offset_fetch_requests_are_read_as_the_crate_reads_them() {
    for (header, body) in samples(versions::OFFSET_FETCH, 1, 9) {
        let ours = offset_fetch::decode(&header, body.clone()).unwrap();
        let theirs = OffsetFetchRequest::decode(&mut body.clone(), header.api_version).unwrap();
        assert_eq!(ours.require_stable, theirs.require_stable);
        let topic = |name, partitions| offset_fetch::Topic { name, id: TopicId::ZERO, partitions };
        let groups: Vec<offset_fetch::Group> = if header.api_version < 8 {
            let topics = theirs.topics.map(|topics| {
                topics.into_iter().map(|one| topic(one.name.0, one.partition_indexes)).collect()
            });
            vec![offset_fetch::Group {
                group_id: theirs.group_id.0,
                member_id: None,
                member_epoch: -1,
                topics,
            }]
        } else {
            let groups = theirs.groups.into_iter().map(|group| offset_fetch::Group {
                group_id: group.group_id.0,
                member_id: group.member_id,
                member_epoch: group.member_epoch,
                topics: group.topics.map(|topics| {
                    topics.into_iter().map(|one| topic(one.name.0, one.partition_indexes)).collect()
                }),
            });
            groups.collect()
        };
        assert_eq!(ours.groups, groups, "{}", header.api_version);
    }
}

#[test]
fn offset_fetch_answers_are_those_of_the_crate() {
    let partition = offset_fetch::PartitionAnswer {
        index: 1,
        committed_offset: 42,
        committed_leader_epoch: 6,
        metadata: Some("m".into()),
        error: ErrorCode::UnstableOffsetCommit,
    };
    let topic =
        offset_fetch::TopicAnswer { name: "t".into(), id: TopicId::METADATA, partitions: vec![partition] };
    let group = |id: &'static str, error| offset_fetch::GroupAnswer {
        group_id: id.into(),
        error,
        topics: vec![topic.clone()],
    };
    let groups = vec![group("g", ErrorCode::NotCoordinator), group("h", ErrorCode::None)];
    let answer = offset_fetch::Answer { throttle_time_ms: 3, groups };
    for version in 1..=9 {
        let header = header(9, version);
        let read: OffsetFetchResponse = again(&header, offset_fetch::encode(&header, &answer).unwrap());
        if version < 8 {
            let partition = &read.topics[0].partitions[0];
            assert_eq!((partition.committed_offset, partition.error_code), (42, 88));
            assert_eq!(partition.committed_leader_epoch, if version >= 5 { 6 } else { -1 });
            assert_eq!(read.error_code, if version >= 2 { 16 } else { 0 });
        } else {
            assert_eq!(read.groups.len(), 2);
            assert_eq!(read.groups[0].error_code, 16);
            assert_eq!(read.groups[0].topics[0].partitions[0].committed_leader_epoch, 6);
        }
    }
    let header = header(9, 10);
    let one = offset_fetch::Answer { throttle_time_ms: 0, groups: vec![group("g", ErrorCode::None)] };
    let mut expect = b"\0\0\0\0\x02\x02g\x02".to_vec();
    expect.extend_from_slice(TopicId::METADATA.0.as_bytes());
    expect.extend_from_slice(b"\x02\0\0\0\x01\0\0\0\0\0\0\0\x2a\0\0\0\x06\x02m\0\x58\0\0\0\0\0\0");
    assert_eq!(body(&header, &offset_fetch::encode(&header, &one).unwrap()), expect);
    assert!(
        offset_fetch::encode(
            &self::header(9, 7),
            &offset_fetch::Answer { throttle_time_ms: 0, groups: vec![] }
        )
        .is_err()
    );
}

#[test]
fn api_versions_messages_are_those_of_the_crate() {
    for (header, body) in samples(versions::API_VERSIONS, 0, 4) {
        let ours = api_versions::decode(&header, body.clone()).unwrap();
        let theirs = ApiVersionsRequest::decode(&mut body.clone(), header.api_version).unwrap();
        assert_eq!(ours.client_software_name, theirs.client_software_name);
        assert_eq!(ours.client_software_version, theirs.client_software_version);
    }
    let answer = api_versions::Answer {
        error: ErrorCode::None,
        api_keys: vec![api_versions::ApiRange { key: 1, min: 4, max: 18 }],
        throttle_time_ms: 9,
        supported_features: vec![
            api_versions::SupportedFeature { name: "from.one".into(), min: 1, max: 3 },
            api_versions::SupportedFeature { name: "from.zero".into(), min: 0, max: 1 },
        ],
        finalized_features_epoch: 12,
        finalized_features: vec![api_versions::FinalizedFeature { name: "from.one".into(), level: 2 }],
    };
    for version in 0..=4 {
        let header = header(18, version);
        let read: ApiVersionsResponse = again(&header, api_versions::encode(&header, &answer).unwrap());
        // A feature from level 0 on is not shown to clients that cannot read it (KAFKA-17011).
        let features = [0, 0, 0, 1, 2][usize::try_from(version).unwrap()];
        assert_eq!(read.supported_features.len(), features);
        assert_eq!(read.finalized_features_epoch, if version >= 3 { 12 } else { -1 });
        assert_eq!(read.finalized_features.len(), usize::from(version >= 3));
    }
    // The answer of version 5 has the layout of 4.
    let bodies = [4, 5].map(|version| {
        let header = header(18, version);
        body(&header, &api_versions::encode(&header, &answer).unwrap())
    });
    assert_eq!(bodies[0], bodies[1]);
}

#[test]
fn describe_log_dirs_messages_are_those_of_the_crate() {
    for (header, body) in samples(versions::DESCRIBE_LOG_DIRS, 1, 4) {
        let ours = describe_log_dirs::decode(&header, body.clone()).unwrap();
        let theirs = DescribeLogDirsRequest::decode(&mut body.clone(), header.api_version).unwrap();
        let topics = theirs.topics.map(|topics| {
            let topics = topics.into_iter();
            topics
                .map(|one| describe_log_dirs::Topic { name: one.topic.0, partitions: one.partitions })
                .collect()
        });
        assert_eq!(ours.topics, topics);
    }
    let partition =
        describe_log_dirs::DirectoryPartition { index: 2, size: 1000, offset_lag: 3, future: true };
    let directory = describe_log_dirs::Directory {
        error: ErrorCode::None,
        path: "/data".into(),
        topics: vec![describe_log_dirs::DirectoryTopic { name: "t".into(), partitions: vec![partition] }],
        total_bytes: 5000,
        usable_bytes: 4000,
        cordoned: true,
    };
    let answer = describe_log_dirs::Answer {
        throttle_time_ms: 1,
        error: ErrorCode::ClusterAuthorizationFailed,
        directories: vec![directory],
    };
    for version in 1..=4 {
        let header = header(35, version);
        let read: DescribeLogDirsResponse =
            again(&header, describe_log_dirs::encode(&header, &answer).unwrap());
        assert_eq!(read.error_code, if version >= 3 { 31 } else { 0 });
        assert_eq!(read.results[0].total_bytes, if version >= 4 { 5000 } else { -1 });
        assert!(read.results[0].topics[0].partitions[0].is_future_key);
    }
    // Version 5 adds one byte before the tags of each directory.
    let [four, five] = [4, 5].map(|version| {
        let header = header(35, version);
        body(&header, &describe_log_dirs::encode(&header, &answer).unwrap())
    });
    assert_eq!(five[..four.len() - 2], four[..four.len() - 2]);
    assert_eq!(five[four.len() - 2..], [1, 0, 0]);
}

#[test]
fn delete_groups_messages_are_those_of_the_crate() {
    for (header, body) in samples(versions::DELETE_GROUPS, 0, 2) {
        let ours = delete_groups::decode(&header, body.clone()).unwrap();
        let theirs = DeleteGroupsRequest::decode(&mut body.clone(), header.api_version).unwrap();
        assert_eq!(ours, theirs.groups_names.into_iter().map(|id| id.0).collect::<Vec<_>>());
    }
    let result = delete_groups::GroupResult {
        group_id: "g".into(),
        error: ErrorCode::NonEmptyGroup,
        error_message: Some("busy".into()),
    };
    let answer = delete_groups::Answer { throttle_time_ms: 2, results: vec![result] };
    for version in 0..=2 {
        let header = header(42, version);
        let read: DeleteGroupsResponse = again(&header, delete_groups::encode(&header, &answer).unwrap());
        assert_eq!(read.results[0].error_code, 68);
    }
    let header = header(42, 3);
    let ours = body(&header, &delete_groups::encode(&header, &answer).unwrap());
    assert_eq!(ours, b"\0\0\0\x02\x02\x02g\0\x44\x05busy\0\0"[..]);
}
