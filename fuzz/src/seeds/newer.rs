//! Seeds of what members, coordinators and clients of the newer protocols write and send.

use super::super::targets::groups::life as begin;
use super::Corpus;
use super::byte;
use bytes::Bytes;
use bytes::BytesMut;
use dohle::base::PartitionIndex;
use dohle::base::Timestamp;
use dohle::base::TopicId;
use dohle::protocol::versions;
use dohle::record::Codec;
use dohle::record::codec::DEFAULT_LEVEL;
use dohle::record::compress;
use dohle::share::Key;
use dohle::share::state::batches as shares;
use dohle::share::state::batches::State;
use dohle::share::state::record as share;
use kafka_protocol::messages::ConsumerGroupHeartbeatRequest;
use kafka_protocol::messages::GroupId;
use kafka_protocol::messages::ShareGroupHeartbeatRequest;
use kafka_protocol::messages::TopicName;
use kafka_protocol::protocol::Encodable;
use kafka_protocol::protocol::StrBytes;
use std::sync::Arc;

/// Records of a log that Apache Kafka 4.4 wrote, among them those of a consumer group.
pub(super) fn kafkas_records(corpus: &mut Corpus) {
    let segment = include_bytes!("../../../src/groups/tests/kafka-4.4-consumer-offsets.log");
    let mut all = vec![0];
    for (at, header) in dohle::record::walk(segment).flatten() {
        let batch = &segment[at..at + header.total_size()];
        for record in dohle::record::records(batch, 1 << 20).expect("records").flatten() {
            entry(&mut all, &record.key.unwrap_or_default(), record.value.as_deref());
        }
        if all.len() > 1500 {
            corpus.put("coordinator", &[&all]);
            all.truncate(1);
        }
    }
    corpus.put("coordinator", &[&all]);
}

pub(super) fn piece(bytes: &[u8]) -> Vec<u8> {
    [&u16::try_from(bytes.len()).expect("small").to_be_bytes()[..], bytes].concat()
}

/// A record as target `coordinator` takes it.
pub(super) fn entry(all: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    all.extend_from_slice(&piece(key));
    match value {
        Some(value) => all.extend_from_slice(&[&[0][..], &piece(value)].concat()),
        None => all.push(1),
    }
}

/// A text with its compact length.
fn short(text: &str) -> Vec<u8> {
    [&[byte(text.len() + 1)][..], text.as_bytes()].concat()
}

/// A streams member's heartbeat; it joins with a topology, or says which tasks it has.
fn streams_heartbeat(member: &str, epoch: i32, joins: bool) -> Vec<u8> {
    let topic =
        |name: &str| [&short(name)[..], &[0, 0, 0, 0, 0, 0, 2], &short("a"), &short("b"), &[0, 0]].concat();
    let mut body = [short("g"), short(member), epoch.to_be_bytes().to_vec(), vec![0; 4], vec![0, 0]].concat();
    if joins {
        body.extend_from_slice(&1000i32.to_be_bytes());
        // A subtopology that writes a topic, which another one reads.
        let first =
            [&short("0")[..], &[2], &short("in"), &[1, 2], &topic("log"), &[2], &short("re"), &[1, 1, 0]];
        let group = [2, 0, 0, 1, 2, 0, 0, 0];
        let second =
            [&short("1")[..], &[2], &short("other"), &[1, 1, 1, 2], &topic("re"), &[2], &group, &[0]]
                .concat();
        body.extend_from_slice(&[&[1, 0, 0, 0, 1, 3][..], &first.concat(), &second, &[0]].concat());
        body.extend_from_slice(&[1, 1, 1]);
    } else {
        body.extend_from_slice(&(-1i32).to_be_bytes());
        body.push(0xff);
        let tasks = [&[2][..], &short("0"), &[3, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 1]].concat();
        body.extend_from_slice(&tasks);
    }
    body.extend_from_slice(&short("process"));
    body.extend_from_slice(&[&[1][..], &short("host"), &[0x1f, 0x90, 0]].concat());
    body.extend_from_slice(&[&[2][..], &short("zone"), &short("a"), &[0]].concat());
    let offsets = [&[2][..], &short("0"), &[0; 11], &[9, 0]].concat();
    body.extend_from_slice(&[&offsets[..], &offsets, &[0, 0]].concat());
    body
}

fn consumer_heartbeat(member: &'static str, epoch: i32, pattern: bool) -> Vec<u8> {
    let mut request = ConsumerGroupHeartbeatRequest::default()
        .with_group_id(GroupId("g".into()))
        .with_member_id(StrBytes::from_static_str(member))
        .with_member_epoch(epoch)
        .with_rebalance_timeout_ms(1000);
    if epoch == 0 {
        request.topic_partitions = Some(Vec::new());
        request.subscribed_topic_names = Some(vec![TopicName("in".into()), TopicName("other".into())]);
        request.subscribed_topic_regex = pattern.then(|| StrBytes::from_static_str("o.*"));
        request.server_assignor = pattern.then(|| StrBytes::from_static_str("range"));
    }
    let mut body = BytesMut::new();
    request.encode(&mut body, 1).expect("a heartbeat");
    body.to_vec()
}

fn share_heartbeat(member: &'static str, epoch: i32) -> Vec<u8> {
    let request = ShareGroupHeartbeatRequest::default()
        .with_group_id(GroupId("g".into()))
        .with_member_id(StrBytes::from_static_str(member))
        .with_member_epoch(epoch)
        .with_subscribed_topic_names((epoch == 0).then(|| vec![TopicName("in".into())]));
    let mut body = BytesMut::new();
    request.encode(&mut body, 1).expect("a heartbeat");
    body.to_vec()
}

/// Lives of groups; and the records that groups of each kind write, for target `coordinator`.
pub(super) fn members(corpus: &mut Corpus) {
    let beat = |kind: u8, body: &[u8]| [&[kind | 0x80][..], &piece(body)].concat();
    let (expires, restarts) = (|place: u8| vec![1, place], || vec![0]);
    let consumers = [
        beat(2, &consumer_heartbeat("m", 0, false)),
        beat(2, &consumer_heartbeat("n", 0, true)),
        beat(2, &consumer_heartbeat("m", 1, false)),
        expires(0),
        beat(2, &consumer_heartbeat("n", 2, false)),
        restarts(),
        beat(2, &consumer_heartbeat("m", 2, false)),
        beat(2, &consumer_heartbeat("n", -1, false)),
    ];
    let shares = [
        beat(4, &share_heartbeat("m", 0)),
        beat(4, &share_heartbeat("n", 0)),
        beat(4, &share_heartbeat("m", 1)),
        restarts(),
        expires(1),
        beat(4, &share_heartbeat("m", -1)),
    ];
    let streams = [
        beat(5, &streams_heartbeat("m", 0, true)),
        expires(0),
        beat(5, &streams_heartbeat("m", 1, false)),
        beat(5, &streams_heartbeat("n", 0, true)),
        beat(5, &streams_heartbeat("m", 2, false)),
        restarts(),
        beat(5, &streams_heartbeat("n", 2, false)),
        beat(5, &streams_heartbeat("m", -1, false)),
    ];
    for life in [&consumers[..], &shares, &streams] {
        for count in 1..=life.len() {
            corpus.put("members", &[&life[..count].concat()]);
        }
    }
    // Many subtopologies in one line.
    let mut chain = streams_heartbeat("m", 0, true);
    chain.truncate(20);
    corpus.put("members", &[&[0xc5, 0xfe, 3, 0x10, 0], &chain]);
    let mut life = begin();
    let mut all = vec![0];
    for (key, body) in [
        (versions::STREAMS_GROUP_HEARTBEAT, streams_heartbeat("m", 0, true)),
        (versions::STREAMS_GROUP_HEARTBEAT, streams_heartbeat("n", 0, true)),
        (versions::STREAMS_GROUP_HEARTBEAT, streams_heartbeat("m", 2, false)),
    ] {
        assert!(life.heartbeat(key, 1, Bytes::from(body)), "a seed reaches its group");
    }
    life.entries().for_each(|one| entry(&mut all, &one.key, one.value.as_deref()));
    corpus.put("coordinator", &[&all]);
    let mut life = begin();
    all.truncate(1);
    for body in [share_heartbeat("m", 0), share_heartbeat("n", 0), share_heartbeat("m", 1)] {
        assert!(
            life.heartbeat(versions::SHARE_GROUP_HEARTBEAT, 1, Bytes::from(body)),
            "a seed reaches its group"
        );
    }
    life.entries().for_each(|one| entry(&mut all, &one.key, one.value.as_deref()));
    corpus.put("coordinator", &[&all]);
}

/// Records of the coordinators of transactions and of share-partitions.
pub(super) fn other_records(corpus: &mut Corpus) {
    let batch = |first: i64, state: State| shares::Batch { first, end: first + 5, state, count: 2 };
    let key = || Key { group: Arc::from("g"), topic: TopicId::METADATA, partition: PartitionIndex(3) };
    let snapshot = share::Snapshot {
        snapshot_epoch: 1,
        state_epoch: 2,
        leader_epoch: 3,
        start: 10,
        complete: 4,
        created: Timestamp(5),
        written: Timestamp(6),
        batches: vec![batch(10, State::Available), batch(15, State::Acknowledged)],
    };
    let update = share::Update {
        snapshot_epoch: 1,
        leader_epoch: 3,
        start: -1,
        complete: -1,
        batches: vec![batch(12, State::Archived)],
    };
    let mut all = vec![0];
    for record in [
        share::Record::Snapshot(key(), Some(snapshot)),
        share::Record::Update(key(), update),
        share::Record::Snapshot(key(), None),
    ] {
        let one = record.write();
        entry(&mut all, &one.key, one.value.as_deref());
        corpus.put("coordinator", &[&all]);
    }
    let mut all = vec![0];
    for state in 0..6u8 {
        let head = [&[0, 0, 0, 0, 0, 0, 0, 9, 0, 4, 0, 0, 3, 0xe8][..], &[state]].concat();
        let partitions: &[u8] = &[0, 0, 0, 1, 0, 1, b'a', 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 1];
        let compact: &[u8] = &[2, 2, b'a', 3, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        let tags: &[u8] = &[3, 0, 8, 0, 0, 0, 0, 0, 0, 0, 9, 1, 8, 0, 0, 0, 0, 0, 0, 0, 9, 2, 2, 0, 2];
        for (version, partitions, tags) in [(0u8, partitions, &[][..]), (1, compact, tags)] {
            let value = [&[0, version][..], &head, partitions, &[0; 16], tags].concat();
            entry(&mut all, &[0, 0, 0, 2, b't', b'0' + state], Some(&value));
            corpus.put("coordinator", &[&[1], &piece(&[0, 0, 0, 1, b't']), &value]);
        }
    }
    corpus.put("coordinator", &[&all]);
}

/// A field of a protocol buffer.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    [&[(number << 3) | 2, byte(bytes.len())][..], bytes].concat()
}

/// What clients say of themselves, ask for and set.
pub(super) fn clients(corpus: &mut Corpus) {
    let number =
        [&[0x31][..], &7u64.to_le_bytes(), &field(7, &[field(1, b"a"), field(2, &field(1, b"b"))].concat())];
    let spread = [
        &[0x21][..],
        &3u64.to_le_bytes(),
        &[0x29],
        &1.5f64.to_bits().to_le_bytes(),
        &field(9, &field(1, b"k")),
    ];
    let metric = |of: u8, point: &[u8]| {
        let points = [field(1, point), vec![2 << 3, 1]].concat();
        field(2, &[field(1, b"org.apache.kafka.x"), field(of, &points)].concat())
    };
    let all =
        [metric(7, &number.concat()), metric(5, &number.concat()), metric(9, &spread.concat())].concat();
    let push = field(1, &field(2, &all)[..]);
    for (index, codec) in Codec::ALL.into_iter().enumerate() {
        corpus.put("telemetry", &[&[byte(index)], &compress(codec, DEFAULT_LEVEL, &push)]);
    }
    // Many points of one long name, and many attributes of one point.
    let points = field(2, &[field(1, &[b'n'; 60]), field(7, &[0x0a, 0])].concat());
    corpus.put("telemetry", &[&[0], &field(1, &field(2, &points))]);
    corpus.put("telemetry", &[&[0, 0xfe, 1, 0x80, 0], &field(1, &field(2, &points))]);
    for text in [
        "in|o.*",
        "^foo-[a-z]{2,3}$",
        r"\Qa.b\E|(?i)X\d+",
        r"\pL+(?:a|b)*?",
        "(",
        "a{500}",
        "[^a-c&&[b]]",
        "",
    ] {
        corpus.put("patterns", &[text.as_bytes()]);
    }
    corpus.put("patterns", &[&[0xfe, 3, 0x20, 0], b"(a|b)"]);
    let quota = |parts: &[u8], changes: &[u8]| [&[0][..], parts, changes].concat();
    for seed in [
        quota(&[2, 0, 1, 1, b'u', 1, 0], &[2, 0, 1, 0, 9, 2, 1, 0, 50]),
        quota(&[1, 2, 1, 9, b'1', b'2', b'7', b'.', b'0', b'.', b'0', b'.', b'1'], &[1, 4, 1, 0, 9]),
        quota(&[1, 0, 0], &[1, 1, 2, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0]),
    ] {
        corpus.put("admin", &[&seed, &seed]);
    }
    for resource in 0..6u8 {
        for (number, value) in
            [(0u8, "1000"), (1, "client_id=a.*"), (2, "*"), (3, "true"), (9, "5,6"), (14, "0.5")]
        {
            for operation in [0u8, 2] {
                let set =
                    [&[1, resource, 1, 0, number, byte(value.len())][..], value.as_bytes(), &[operation, 0]];
                corpus.put("admin", &[&set.concat(), &set.concat()]);
            }
        }
    }
}
