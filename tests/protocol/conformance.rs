//! Every API at every version it is offered in.

use crate::node::Client;
use crate::node::Node;
use crate::requests::GROUP;
use crate::requests::TOPIC;
use crate::requests::batch;
use crate::requests::request;
use bytes::BufMut;
use bytes::Bytes;
use bytes::BytesMut;
use dohle::protocol::sample;
use dohle::protocol::versions;
use kafka_protocol::messages as m;
use kafka_protocol::messages::ApiKey;
use kafka_protocol::messages::RequestKind;
use kafka_protocol::messages::ResponseKind;
use kafka_protocol::protocol::StrBytes;
use std::io::Write;
use uuid::Uuid;

fn node() -> Node {
    Node::start(&[
        ("offsets.topic.num.partitions", "1"),
        ("transaction.state.log.num.partitions", "1"),
        ("group.initial.rebalance.delay.ms", "0"),
    ])
}

/// The version whose layout the crate has.
fn layout(key: i16, version: i16) -> i16 {
    let max = match key {
        versions::OFFSET_COMMIT | versions::OFFSET_FETCH => 9,
        // The crate does not know those that were unstable when it was made.
        _ => ApiKey::try_from(key).map_or(-1, |key| key.valid_versions().max),
    };
    version.min(max)
}

fn encode(request: &RequestKind, version: i16) -> BytesMut {
    let mut body = BytesMut::new();
    request.encode(&mut body, version).unwrap();
    body
}

/// The answer as the crate reads it, which must take every byte.
fn decode(key: i16, version: i16, mut body: Bytes) -> ResponseKind {
    let response = ResponseKind::decode(ApiKey::try_from(key).unwrap(), &mut body, version).unwrap();
    assert!(body.is_empty(), "bytes behind the answer of api {key} version {version}");
    response
}

/// Every error code in an answer.
fn error_codes(response: &ResponseKind) -> Vec<i16> {
    let text = format!("{response:?}");
    let places = text.split("error_code: ").skip(1);
    places.map(|rest| rest.split([',', ' ', '}']).next().unwrap().parse().unwrap()).collect()
}

/// The codes that a request of this API may be answered with here.
fn expected(key: i16, version: i16) -> &'static [i16] {
    match key {
        // Version 4 on makes a new member come back with an id.
        versions::JOIN_GROUP if version >= 4 => &[79],
        // Version 5 on must name protocol type and name (KIP-559).
        versions::SYNC_GROUP if version >= 5 => &[23],
        versions::HEARTBEAT | versions::SYNC_GROUP => &[25],
        versions::LEAVE_GROUP => &[0, 25],
        versions::DELETE_TOPICS => &[3],
        versions::DESCRIBE_ACLS | versions::CREATE_ACLS | versions::DELETE_ACLS => &[54],
        versions::DELETE_GROUPS => &[69],
        // Nobody has begun to work with the transactional id.
        versions::ADD_PARTITIONS_TO_TXN
        | versions::ADD_OFFSETS_TO_TXN
        | versions::END_TXN
        | versions::TXN_OFFSET_COMMIT => &[0, 49],
        versions::DESCRIBE_TRANSACTIONS => &[105],
        versions::UNREGISTER_BROKER => &[102],
        // Without a member id; of no kind that these describe; without a session; without a group id.
        versions::CONSUMER_GROUP_HEARTBEAT | versions::SHARE_GROUP_HEARTBEAT | versions::PUSH_TELEMETRY => {
            &[42]
        }
        versions::CONSUMER_GROUP_DESCRIBE | versions::SHARE_GROUP_DESCRIBE => &[69],
        versions::SHARE_ACKNOWLEDGE => &[0, 123],
        versions::ALTER_SHARE_GROUP_OFFSETS | versions::DELETE_SHARE_GROUP_OFFSETS => &[24],
        _ => &[0],
    }
}

/// Creates the topic, and waits for the coordinator; the topic's id.
fn prepare(client: &mut Client) -> Uuid {
    let topic = m::create_topics_request::CreatableTopic::default()
        .with_name(m::TopicName(StrBytes::from_static_str(TOPIC)))
        .with_num_partitions(1)
        .with_replication_factor(1);
    let create = m::CreateTopicsRequest::default().with_topics(vec![topic]).with_timeout_ms(5_000);
    let body = client.ask(19, 7, &encode(&RequestKind::CreateTopics(create), 7)).unwrap();
    let ResponseKind::CreateTopics(created) = decode(19, 7, body) else { panic!("another answer") };
    assert_eq!(created.topics[0].error_code, 0);
    for key_type in [0, 1] {
        assert!((0..1000).any(|_| has_coordinator(client, key_type)), "no coordinator of type {key_type}");
    }
    created.topics[0].topic_id
}

fn has_coordinator(client: &mut Client, key_type: i8) -> bool {
    let RequestKind::FindCoordinator(find) = request(versions::FIND_COORDINATOR, 4, Uuid::nil()) else {
        panic!("another request")
    };
    let find = RequestKind::FindCoordinator(find.with_key_type(key_type));
    let body = client.ask(10, 4, &encode(&find, 4)).unwrap();
    error_codes(&decode(10, 4, body)).iter().all(|code| *code == 0)
}

#[test]
fn every_api_answers_every_version_it_offers() {
    let node = node();
    let mut client = node.client();
    let id = prepare(&mut client);
    let mut others = Vec::new();
    // By ascending key: what later requests look at is produced and committed before.
    for api in versions::all().iter().filter(|api| ApiKey::try_from(api.key).is_ok()) {
        for version in api.min..=api.max {
            let wire = layout(api.key, version);
            let by_hand = wire != version
                && [
                    versions::OFFSET_COMMIT,
                    versions::OFFSET_FETCH,
                    versions::WRITE_TXN_MARKERS,
                    versions::TXN_OFFSET_COMMIT,
                    versions::SHARE_FETCH,
                    versions::SHARE_ACKNOWLEDGE,
                    versions::WRITE_SHARE_GROUP_STATE,
                    versions::READ_SHARE_GROUP_STATE_SUMMARY,
                    versions::DESCRIBE_SHARE_GROUP_OFFSETS,
                ]
                .contains(&api.key);
            if by_hand {
                continue;
            }
            let mut body = encode(&request(api.key, version.min(wire), id), wire);
            if api.key == versions::API_VERSIONS && version == 5 {
                body.truncate(body.len() - 1);
                body.put_slice(&[0, 255, 255, 255, 255, 0]);
            }
            let answer = client.ask(api.key, version, &body);
            let mut answer = answer.unwrap_or_else(|| panic!("{} version {version} closed", api.name));
            match (api.key, version) {
                // The answers of these versions are longer than what the crate knows: by one byte and one string.
                (versions::DESCRIBE_LOG_DIRS, 5) | (versions::DELETE_GROUPS, 3) => {
                    assert!(answer.len() > 10);
                    continue;
                }
                _ => {}
            }
            if api.key == versions::FETCH {
                // The crate copies; the bytes are what was produced but for the offset and the epoch before the CRC.
                let records = &batch()[16..];
                let found = answer.windows(records.len()).any(|window| window == records);
                assert!(found, "Fetch version {version} gives back the batch");
            }
            let response = decode(api.key, wire, answer.split_to(answer.len()));
            let codes = error_codes(&response);
            let expected = expected(api.key, version);
            if !codes.iter().all(|code| expected.contains(code)) {
                others.push(format!("{} {version}: {response:?}", api.name));
            }
        }
    }
    assert!(others.is_empty(), "{}", others.join("\n"));
}

#[test]
fn offsets_by_topic_id_come_back() {
    let node = node();
    let mut client = node.client();
    let id = prepare(&mut client);
    let mut group = vec![u8::try_from(GROUP.len() + 1).unwrap()];
    group.extend_from_slice(GROUP.as_bytes());
    // OffsetCommit 10: group, generation -1, no member, no instance, one topic with one partition.
    let mut commit = group.clone();
    commit.extend_from_slice(&[255, 255, 255, 255, 1, 0, 2]);
    commit.extend_from_slice(id.as_bytes());
    commit.extend_from_slice(&[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 42, 255, 255, 255, 255, 2, b'm', 0, 0, 0]);
    let answer = client.ask(versions::OFFSET_COMMIT, 10, &commit).unwrap();
    let mut expect = vec![0, 0, 0, 0, 2];
    expect.extend_from_slice(id.as_bytes());
    expect.extend_from_slice(&[2, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(answer, expect);
    // OffsetFetch 10 of the same partition.
    let mut fetch = vec![2];
    fetch.extend_from_slice(&group);
    fetch.extend_from_slice(&[0, 255, 255, 255, 255, 2]);
    fetch.extend_from_slice(id.as_bytes());
    fetch.extend_from_slice(&[2, 0, 0, 0, 0, 0, 0, 0, 0]);
    let answer = client.ask(versions::OFFSET_FETCH, 10, &fetch).unwrap();
    let mut expect = vec![0, 0, 0, 0, 2];
    expect.extend_from_slice(&group);
    expect.push(2);
    expect.extend_from_slice(id.as_bytes());
    expect.extend_from_slice(&[
        2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 42, 255, 255, 255, 255, 2, b'm', 0, 0, 0, 0,
    ]);
    expect.extend_from_slice(&[0, 0, 0, 0]);
    assert_eq!(answer, expect);
}

#[test]
fn the_newest_markers_and_transactional_offsets_are_answered() {
    let node = node();
    let mut client = node.client();
    let id = prepare(&mut client);
    // WriteTxnMarkers 2: producer 7 of epoch 1 aborts on partition 0 of the topic and on 5, which is not there.
    let mut markers = vec![2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 1, 0, 2, u8::try_from(TOPIC.len() + 1).unwrap()];
    markers.extend_from_slice(TOPIC.as_bytes());
    markers.extend_from_slice(&[3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 2, 0, 0]);
    let answer = client.ask(versions::WRITE_TXN_MARKERS, 2, &markers).unwrap();
    let mut expect = vec![2, 0, 0, 0, 0, 0, 0, 0, 7, 2, u8::try_from(TOPIC.len() + 1).unwrap()];
    expect.extend_from_slice(TOPIC.as_bytes());
    expect.extend_from_slice(&[3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, 0]);
    assert_eq!(answer, expect);
    // TxnOffsetCommit 6 by topic id, of a producer that nobody knows.
    let mut commit = vec![2, b'x', 2, b'g', 0, 0, 0, 0, 0, 0, 0, 7, 0, 1, 255, 255, 255, 255, 1, 0, 2];
    commit.extend_from_slice(id.as_bytes());
    commit.extend_from_slice(&[2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 42, 255, 255, 255, 255, 1, 0, 0, 0]);
    let answer = client.ask(versions::TXN_OFFSET_COMMIT, 6, &commit).unwrap();
    let mut expect = vec![0, 0, 0, 0, 2];
    expect.extend_from_slice(id.as_bytes());
    expect.extend_from_slice(&[2, 0, 0, 0, 0, 0, 49, 0, 0, 0]);
    assert_eq!(answer, expect);
}

#[test]
fn streams_groups_are_answered_as_the_schema_says() {
    let node = node();
    let mut client = node.client();
    prepare(&mut client);
    // A member of the group `g` that joins without a topology.
    let mut heartbeat = vec![2, b'g', 2, b'm', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 255];
    heartbeat.extend_from_slice(&[0, 0, 0, 0, 255, 0, 0, 0, 0, 0]);
    for version in [0, 1] {
        let answer = client.ask(versions::STREAMS_GROUP_HEARTBEAT, version, &heartbeat).unwrap();
        let words = b"Topology must be non-null when (re-)joining.";
        let mut expect = vec![0, 0, 0, 0, 0, 42, u8::try_from(words.len() + 1).unwrap()];
        expect.extend_from_slice(words);
        // No member id, epoch 0, interval 0; then the old lag and the interval of offsets, or that and the new lag.
        expect.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0, 0]);
        expect.extend_from_slice(if version == 0 {
            &[0; 8][..]
        } else {
            &[0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]
        });
        // No statuses, tasks null, whether a description is wanted, the epoch of endpoints, none of them.
        expect.extend_from_slice(&[1, 0, 0, 0]);
        expect.extend_from_slice(if version == 0 { &[][..] } else { &[0] });
        expect.extend_from_slice(&[0, 0, 0, 0, 0, 0]);
        assert_eq!(answer, expect, "version {version}");
    }
    // Of a group that is not there, in both versions; 1 also tells that no description was asked for, and no assignor.
    for (version, body, end) in
        [(0, &[2, 2, b'g', 0, 0][..], &[][..]), (1, &[2, 2, b'g', 0, 0, 0], &[255, 0, 0])]
    {
        let answer = client.ask(versions::STREAMS_GROUP_DESCRIBE, version, body).unwrap();
        let words = b"Group g not found.";
        let mut expect = vec![0, 0, 0, 0, 2, 0, 69, u8::try_from(words.len() + 1).unwrap()];
        expect.extend_from_slice(words);
        expect.extend_from_slice(&[2, b'g', 1, 0, 0, 0, 0, 0, 0, 0, 0, 255, 1, 128, 0, 0, 0]);
        expect.extend_from_slice(end);
        expect.extend_from_slice(&[0, 0]);
        assert_eq!(answer, expect, "version {version}");
    }
    let update = [2, b'g', 2, b'm', 0, 0, 0, 1, 1, 1, 0, 0];
    let answer = client.ask(versions::STREAMS_GROUP_TOPOLOGY_DESCRIPTION_UPDATE, 0, &update).unwrap();
    assert_eq!(answer[..6], [0, 0, 0, 0, 0, 35]);
}

#[test]
fn versions_out_of_range_close_and_never_hang() {
    let node = node();
    for api in versions::all().iter().filter(|api| api.key != versions::API_VERSIONS) {
        for version in [api.min - 1, api.max + 1, i16::MAX, i16::MIN] {
            let body = [0; 64];
            assert_eq!(node.client().ask(api.key, version, &body), None, "{} {version}", api.name);
        }
    }
    for key in [-1, 4, 5, 6, 7, 17, 38, 52, 58, 70, 81, 999, i16::MAX] {
        assert_eq!(node.client().ask(key, 0, &[0; 64]), None, "{key}");
    }
    // ApiVersions is the exception, and its answer says which versions to use (KIP-511).
    let mut client = node.client();
    for version in [6, 99, i16::MAX, -1] {
        client.send(versions::API_VERSIONS, version, &[1, 2, 3]);
        let answer = client.receive().unwrap();
        assert_eq!(answer[4..], [0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5], "{version}");
    }
}

#[test]
fn answers_come_in_the_order_of_the_requests() {
    let node = node();
    let mut client = node.client();
    let id = prepare(&mut client);
    let mut expect = Vec::new();
    for round in 0..40 {
        // A produce waits for the disk, a fetch at the end for its time; the quick ones between do not pass them.
        let (key, version) = [(0, 13), (3, 12), (18, 0), (1, 17), (0, 9), (60, 1)][round % 6];
        expect.push(client.send(key, version, &encode(&request(key, version, id), version)));
    }
    for correlation in expect {
        let answer = client.receive().unwrap();
        assert_eq!(answer[..4], correlation.to_be_bytes());
    }
}

#[test]
fn no_answer_goes_out_for_acks_0() {
    let node = node();
    let mut client = node.client();
    let id = prepare(&mut client);
    let RequestKind::Produce(produce) = request(versions::PRODUCE, 13, id) else { panic!("another request") };
    client.send(0, 13, &encode(&RequestKind::Produce(produce.clone().with_acks(0)), 13));
    let body = client.ask(0, 13, &encode(&RequestKind::Produce(produce), 13)).unwrap();
    let ResponseKind::Produce(answer) = decode(0, 13, body) else { panic!("another answer") };
    let partition = &answer.responses[0].partition_responses[0];
    assert_eq!((partition.error_code, partition.base_offset), (0, 1), "the first one was written too");
    // An error without a way to tell it closes the connection.
    let RequestKind::Produce(produce) = request(versions::PRODUCE, 13, Uuid::from_u128(99)) else {
        panic!("another request")
    };
    client.send(0, 13, &encode(&RequestKind::Produce(produce.with_acks(0)), 13));
    assert_eq!(client.receive(), None);
}

#[test]
fn requests_at_random_are_answered_or_closed() {
    let node = node();
    let mut client = node.client();
    prepare(&mut client);
    let mut answered = 0;
    for api in versions::all() {
        // A fetch may rightly wait for the days that a random number asks for.
        for version in (api.min..=api.max).filter(|_| api.key != versions::FETCH) {
            for seed in 0..5 {
                let body = sample::request(api.key, version, seed).unwrap();
                let Some(answer) = client.ask(api.key, version, &body) else {
                    client = node.client();
                    continue;
                };
                answered += 1;
                let wire = layout(api.key, version);
                if wire == version {
                    decode(api.key, version, answer);
                }
            }
        }
    }
    assert!(answered > 300, "most are answered: {answered}");
    client.stream.flush().unwrap();
    assert!(client.ask(versions::API_VERSIONS, 0, &[]).is_some());
}
