//! The seed corpus: from the schemas, from batches that Apache Kafka wrote (`tests/golden`), and from our own writers.
//! A file's name is its content's checksum.

mod newer;

use bytes::Bytes;
use bytes::BytesMut;
use dohle::base::BrokerId;
use dohle::base::LeaderEpoch;
use dohle::base::Offset;
use dohle::base::PartitionIndex;
use dohle::base::ProducerEpoch;
use dohle::base::ProducerId;
use dohle::base::Timestamp;
use dohle::base::TopicId;
use dohle::cluster::records as metadata;
use dohle::groups::record as group;
use dohle::protocol::sample;
use dohle::protocol::versions;
use dohle::record::BatchBuilder;
use dohle::record::Codec;
use dohle::record::HEADER_SIZE;
use dohle::record::codec::DEFAULT_LEVEL;
use dohle::record::compress;
use dohle::record::control::EndTransaction;
use kafka_protocol::messages::ConsumerProtocolAssignment;
use kafka_protocol::messages::ConsumerProtocolSubscription;
use kafka_protocol::messages::TopicName;
use kafka_protocol::messages::consumer_protocol_assignment;
use kafka_protocol::messages::consumer_protocol_subscription;
use kafka_protocol::protocol::Encodable;
use std::path::Path;
use std::path::PathBuf;
use std::sync::Arc;
use uuid::Uuid;

struct Corpus {
    folder: PathBuf,
    count: usize,
    bytes: usize,
}

impl Corpus {
    fn put(&mut self, target: &str, parts: &[&[u8]]) {
        let content = parts.concat();
        let folder = self.folder.join(target);
        std::fs::create_dir_all(&folder).expect("a folder for seeds");
        let name = format!("seed-{:08x}", crc_fast::crc32_iscsi(&content));
        std::fs::write(folder.join(name), &content).expect("a seed");
        self.count += 1;
        self.bytes += content.len();
    }
}

/// Writes the seeds below `folder`, a folder for each target, and gives their count and bytes.
pub fn write(folder: &Path) -> (usize, usize) {
    let mut corpus = Corpus { folder: folder.to_owned(), count: 0, bytes: 0 };
    requests(&mut corpus);
    answers(&mut corpus);
    payloads(&mut corpus);
    batches(&mut corpus);
    codecs(&mut corpus);
    indexes(&mut corpus);
    checkpoints(&mut corpus);
    directories(&mut corpus);
    metadata_records(&mut corpus);
    group_records(&mut corpus);
    settings(&mut corpus);
    newer::members(&mut corpus);
    newer::other_records(&mut corpus);
    newer::clients(&mut corpus);
    (corpus.count, corpus.bytes)
}

fn byte(number: usize) -> u8 {
    u8::try_from(number).expect("a small number")
}

fn requests(corpus: &mut Corpus) {
    let key = |key: i16| byte(usize::try_from(key).expect("keys are small"));
    for api in versions::all() {
        for version in api.min..=api.max {
            let step = byte(usize::try_from(version - api.min).expect("a small number"));
            let body = sample::request(api.key, version, 3).expect("an API that is served");
            corpus.put("request", &[&[key(api.key), step], &body]);
            match api.key {
                versions::PRODUCE => corpus.put("produce", &[&[step], &body]),
                versions::FETCH => corpus.put("fetch", &[&[step], &body]),
                _ => {}
            }
        }
        let body = sample::request(api.key, api.max, 5).expect("an API that is served");
        let mut frame = BytesMut::new();
        frame.extend_from_slice(&api.key.to_be_bytes());
        frame.extend_from_slice(&api.max.to_be_bytes());
        frame.extend_from_slice(&[0, 0, 0, 9, 0, 1, b'c']);
        if api.flexible(api.max) {
            frame.extend_from_slice(&[0]);
        }
        frame.extend_from_slice(&body);
        let size = u32::try_from(frame.len()).expect("a small frame").to_be_bytes();
        corpus.put("request", &[&[255], &size, &frame]);
    }
    // DeleteGroups 2 with 30,000 empty names, the request that grows most when it is decoded.
    corpus.put("request", &[&[key(versions::DELETE_GROUPS), 2, 0xfe, 0, 0x75, 0x2f, 0xb1, 0xea, 0x01, 1]]);
}

fn answers(corpus: &mut Corpus) {
    let mut state = 1u32;
    for seed in 0..24 {
        let length = 80 + seed * 40;
        let content: Vec<u8> = (0..length)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                state.to_be_bytes()[0] & 0x3f
            })
            .collect();
        corpus.put("answers", &[&[byte(seed % 2), byte(seed)], &content]);
    }
}

fn payloads(corpus: &mut Corpus) {
    for version in 0..=3i16 {
        let topics = vec!["first".into(), "second".into()];
        let mut part = consumer_protocol_subscription::TopicPartition::default();
        part.topic = TopicName("first".into());
        part.partitions = vec![0, 1];
        let mut sent = ConsumerProtocolSubscription::default().with_topics(topics);
        sent.user_data = Some(Bytes::from_static(b"user"));
        if version >= 1 {
            sent.owned_partitions = vec![part];
        }
        if version >= 2 {
            sent.generation_id = 4;
        }
        let mut body = BytesMut::new();
        sent.encode(&mut body, version).expect("a subscription");
        for reader in [0u8, 2] {
            corpus.put("payloads", &[&[reader], &version.to_be_bytes(), &body]);
        }
        let mut part = consumer_protocol_assignment::TopicPartition::default();
        part.topic = TopicName("first".into());
        part.partitions = vec![3, 4, 5];
        let assigned = ConsumerProtocolAssignment::default().with_assigned_partitions(vec![part]);
        let mut body = BytesMut::new();
        assigned.encode(&mut body, version).expect("an assignment");
        corpus.put("payloads", &[&[1], &version.to_be_bytes(), &body]);
    }
    // Many empty names.
    corpus.put("payloads", &[&[2, 0xfe, 1, 0x9c, 0x40], &[0, 0, 0, 0, 0x9c, 0x41, 0, 0]]);
    corpus.put("payloads", &[&[0, 0xfe, 1, 0x9c, 0x40], &[0, 0, 0, 0, 0x9c, 0x40, 0, 0]]);
    corpus.put("payloads", &[&[1, 0xfe, 5, 0x40, 0], &[0, 0, 0, 0, 0x3f, 0xff, 0, 0, 0, 0, 0, 0]]);
}

/// Batches that Apache Kafka 4.4 wrote.
fn golden() -> Vec<Vec<u8>> {
    let lines = include_str!("../../tests/golden/record_batches.txt").lines();
    let hex = lines.filter_map(|line| line.split_once(' ')).map(|(_, hex)| hex.trim());
    let bytes = |hex: &str| {
        let digits: Vec<u32> = hex.chars().filter_map(|digit| digit.to_digit(16)).collect();
        digits.chunks(2).map(|pair| byte(usize::try_from(pair[0] * 16 + pair[1]).expect("a byte"))).collect()
    };
    hex.map(bytes).collect()
}

fn batches(corpus: &mut Corpus) {
    for batch in golden() {
        corpus.put("batch", &[&[0, 0, 0, 1], &batch]);
        for (rules, level) in
            [(0, 0), (0x02, 0), (0x04, 0), (0x40, 0), (0x60, 3), (0x80, 0), (0xa0, 0), (0xc0, 2)]
        {
            corpus.put("batch", &[&[3, rules, level, 0], &batch]);
        }
        if let Some(body) = batch.get(HEADER_SIZE..)
            && batch[22] & 7 == 0
        {
            corpus.put("records", &[&batch[HEADER_SIZE - 4..HEADER_SIZE], body]);
        }
    }
    let marker = EndTransaction { committed: true, coordinator_epoch: 3 };
    let marker = marker.batch(ProducerId(9), ProducerEpoch(1), Timestamp(1));
    corpus.put("batch", &[&[0, 0, 0, 1], marker.bytes(), marker.bytes()]);
    corpus.put("records", &[&[0, 0, 0x40, 1, 0xfe, 6, 0x40, 0], &[12, 0, 0, 0, 1, 1, 0]]);
}

fn codecs(corpus: &mut Corpus) {
    let text = b"a text that repeats, a text that repeats, a text that repeats".repeat(9);
    for (index, codec) in Codec::ALL.into_iter().enumerate() {
        for plain in [&b""[..], b"short", &text] {
            let packed = compress(codec, DEFAULT_LEVEL, plain);
            corpus.put("codecs", &[&[byte(index), 0xff, 0xff], &packed]);
            corpus.put("codecs", &[&[byte(index), 0, 4], &packed]);
            corpus.put("codecs", &[&[byte(index) | 0x80, 0, 0], plain]);
        }
        let packed = compress(codec, DEFAULT_LEVEL, &vec![7; 300_000]);
        if packed.len() < 5000 {
            corpus.put("codecs", &[&[byte(index), 0xff, 0xff], &packed]);
        }
    }
    let raw = snap_block(b"one raw block of snappy");
    corpus.put("codecs", &[&[2, 0xff, 0xff], &raw]);
}

/// A raw block of Snappy with one literal.
fn snap_block(text: &[u8]) -> Vec<u8> {
    let length = byte(text.len());
    let mut block = vec![length, (length - 1) << 2];
    block.extend_from_slice(text);
    block
}

fn producers() -> Vec<u8> {
    let mut body = 2i32.to_be_bytes().to_vec();
    for id in [4i64, 9] {
        body.extend_from_slice(&id.to_be_bytes());
        body.extend_from_slice(&1i16.to_be_bytes());
        body.extend_from_slice(&7i32.to_be_bytes());
        body.extend_from_slice(&2i64.to_be_bytes());
        body.extend_from_slice(&1i32.to_be_bytes());
        body.extend_from_slice(&1000i64.to_be_bytes());
        body.extend_from_slice(&(-1i32).to_be_bytes());
        body.extend_from_slice(&(if id == 4 { -1i64 } else { 1 }).to_be_bytes());
    }
    body
}

fn indexes(corpus: &mut Corpus) {
    let offsets: Vec<u8> = [(2i32, 0i32), (5, 300), (9, 700)]
        .iter()
        .flat_map(|(relative, position)| [relative.to_be_bytes(), position.to_be_bytes()].concat())
        .collect();
    corpus.put("indexes", &[&[0, 0xff, 0xff], &offsets]);
    corpus.put("indexes", &[&[0, 0xff, 0xff], &offsets, &[0; 24]]);
    let times: Vec<u8> = [(1000i64, 2i32), (1500, 5)]
        .iter()
        .flat_map(|(time, relative)| [&time.to_be_bytes()[..], &relative.to_be_bytes()].concat())
        .collect();
    corpus.put("indexes", &[&[1], &times]);
    corpus.put("indexes", &[&[1], &times, &[0; 24]]);
    let aborted: Vec<u8> = [(7i64, 0i64, 5i64, 6i64), (8, 3, 9, 10)]
        .iter()
        .flat_map(|(id, first, last, stable)| {
            [&[0, 0][..], &id.to_be_bytes(), &first.to_be_bytes(), &last.to_be_bytes(), &stable.to_be_bytes()]
                .concat()
        })
        .collect();
    corpus.put("indexes", &[&[2], &aborted]);
    corpus.put("indexes", &[&[2, 0xfe, 33, 0x10, 0], &aborted]);
    corpus.put("indexes", &[&[4], &producers()]);
    let many = [&0x1000i32.to_be_bytes()[..], &producers()[4..50]].concat();
    corpus.put("indexes", &[&[4, 0xfe, 45, 0x0f, 0xff], &many]);
}

fn checkpoints(corpus: &mut Corpus) {
    let texts: [(u8, &str); 16] = [
        (0, "0\n2\nfirst 0 7\nsecond-1 12 1099511627776\n"),
        (0, "0\n0\n"),
        (1, "0\n3\n0 0\n1 10\n4 25\n"),
        (1, "0\n0\n"),
        (2, "{\"version\":0,\"brokerEpoch\":42}"),
        (2, "{\"version\":0,\"brokerEpoch\":-1}"),
        (3, "version: 0\ntopic_id: 4L6g3nShT-eMCtK--X86sw"),
        (
            4,
            "#\n#Wed Oct 02 10:00:00 UTC 2024\ndirectory.id=7OJZ4MFxS3yzXZ4CkL0nQw\nnode.id=1\nversion=1\ncluster.id=abc\n",
        ),
        (4, "version=1\ncluster.id=a\\=b\\:c\nnode.id=3\n"),
        (5, "00000000000000000000.log"),
        (5, "00000000000000000123.timeindex.deleted"),
        (5, "00000000000000000123.snapshot"),
        (5, "topic-0"),
        (5, "a-b.c_d-12.0123456789abcdef0123456789abcdef-delete"),
        (5, "topic-3.0123456789abcdef0123456789abcdef-future"),
        (5, "topic-3.0123456789abcdef0123456789abcdef-stray"),
    ];
    for (reader, text) in texts {
        corpus.put("checkpoints", &[&[reader], text.as_bytes()]);
    }
    corpus.put("checkpoints", &[&[0, 0xfe, 5, 0x20, 0], b"0\n8193\na 0 0\n"]);
    corpus.put("checkpoints", &[&[1, 0xfe, 3, 0x40, 0], b"0\n16385\n0 0\n"]);
}

fn file(number: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len()).expect("a small file");
    [&[number][..], &length.to_be_bytes(), content].concat()
}

fn stored(base: i64, count: i32, producer: Option<i32>) -> Vec<u8> {
    let mut builder = BatchBuilder::new(Codec::None, Timestamp(1000 + base));
    for _ in 0..count {
        builder.push(Some(b"key"), Some(b"value"), &[], Timestamp(1000 + base));
    }
    if let Some(sequence) = producer {
        builder = builder.producer(ProducerId(4), ProducerEpoch(1), sequence);
    }
    let batch = builder.build();
    [batch.head(Offset(base), LeaderEpoch(1)), batch.rest()].concat()
}

fn directories(corpus: &mut Corpus) {
    let first = [stored(0, 2, Some(0)), stored(2, 1, Some(2))].concat();
    let second = [stored(3, 2, None), stored(5, 1, None)].concat();
    let index =
        [2i32.to_be_bytes(), i32::try_from(stored(0, 2, None).len()).expect("small").to_be_bytes()].concat();
    let snapshot = producers();
    let log = [file(0, &first), file(5, &second)].concat();
    let clean = file(16, b"{\"version\":0,\"brokerEpoch\":-1}");
    let point = |offset: &str| file(13, format!("0\n1\nt 0 {offset}\n").as_bytes());
    corpus.put("recovery", &[&log]);
    corpus.put("recovery", &[&log, &point("3")]);
    corpus.put("recovery", &[&log, &point("6"), &clean]);
    corpus.put("recovery", &[&file(0, &first), &file(1, &index), &point("3"), &clean]);
    corpus.put("recovery", &[&file(0, &first), &file(1, &index), &file(2, &[0; 24]), &point("3")]);
    corpus.put("recovery", &[&log, &file(129, &[&[0, 1, 0, 0, 0, 0][..], &snapshot].concat())]);
    corpus.put("recovery", &[&file(0, &[&first[..], &[0; 100]].concat())]);
    corpus.put("recovery", &[&file(0, &first[..first.len() - 5]), &file(11, b"0\n1\n1 0\n")]);
    corpus.put("recovery", &[&log, &file(14, b"0\n1\nt 0 1\n"), &file(15, b"0\n1\nt 0 4\n")]);
    corpus.put("recovery", &[&file(17, &first), &file(5, &second), &file(18, &second), &file(19, b"x")]);
    let open = BatchBuilder::new(Codec::None, Timestamp(5))
        .producer(ProducerId(4), ProducerEpoch(1), 0)
        .transactional();
    let mut open = open;
    open.push(None, Some(b"v"), &[], Timestamp(5));
    let open = open.build();
    let end = EndTransaction { committed: false, coordinator_epoch: 1 };
    let end = end.batch(ProducerId(4), ProducerEpoch(1), Timestamp(6));
    let parts =
        [open.head(Offset(0), LeaderEpoch(1)), open.rest(), end.head(Offset(1), LeaderEpoch(1)), end.rest()];
    corpus.put("recovery", &[&file(0, &parts.concat())]);
    for batch in golden().into_iter().take(5) {
        corpus.put("recovery", &[&file(0, &batch)]);
    }
}

fn metadata_records(corpus: &mut Corpus) {
    let topic_id = TopicId(Uuid::from_u128(77));
    let all: Vec<metadata::Record> = vec![
        metadata::FeatureLevelRecord { name: "metadata.version".to_owned(), feature_level: 33 }.into(),
        metadata::RegisterBrokerRecord {
            broker_id: BrokerId(1),
            is_migrating_zk_broker: false,
            incarnation_id: Uuid::from_u128(5),
            broker_epoch: 3,
            end_points: vec![metadata::Endpoint {
                name: "PLAINTEXT".to_owned(),
                host: "here".to_owned(),
                port: 9092,
                security_protocol: 0,
            }],
            features: vec![metadata::SupportedFeature {
                name: "metadata.version".to_owned(),
                level_min: 7,
                level_max: 33,
            }],
            rack: Some("rack".to_owned()),
            fenced: true,
            in_controlled_shutdown: false,
            log_dirs: vec![Uuid::from_u128(9)],
            cordoned_log_dirs: None,
        }
        .into(),
        metadata::TopicRecord { name: "topic".to_owned(), topic_id }.into(),
        metadata::PartitionRecord {
            partition_id: PartitionIndex(0),
            topic_id,
            replicas: vec![BrokerId(1)],
            isr: vec![BrokerId(1)],
            removing_replicas: Vec::new(),
            adding_replicas: Vec::new(),
            leader: BrokerId(1),
            leader_epoch: LeaderEpoch(0),
            partition_epoch: 0,
            directories: vec![Uuid::from_u128(9)],
            leader_recovery_state: 0,
            eligible_leader_replicas: Some(Vec::new()),
            last_known_elr: None,
        }
        .into(),
        metadata::ConfigRecord {
            resource_type: 2,
            resource_name: "topic".to_owned(),
            name: "retention.ms".to_owned(),
            value: Some("1000".to_owned()),
        }
        .into(),
        metadata::UnfenceBrokerRecord { id: BrokerId(1), epoch: 3 }.into(),
        metadata::ProducerIdsRecord { broker_id: BrokerId(1), broker_epoch: 3, next_producer_id: 1000 }
            .into(),
        metadata::RemoveTopicRecord { topic_id }.into(),
    ];
    let mut pieces = vec![0];
    for record in &all {
        let value = record.encode(metadata::METADATA_VERSION_LATEST);
        corpus.put("metadata", &[&[53], &value]);
        pieces.extend_from_slice(&u16::try_from(value.len()).expect("a small record").to_be_bytes());
        pieces.extend_from_slice(&value);
        corpus.put("metadata", &[&pieces]);
    }
    let mut builder = BatchBuilder::new(Codec::None, Timestamp(1));
    for record in &all {
        builder.push(None, Some(&record.encode(metadata::METADATA_VERSION_LATEST)), &[], Timestamp(1));
    }
    corpus.put("metadata", &[&[2], builder.build().bytes()]);
    // Keys that the list above has not: type, version, and some fields.
    for key in 0..30u8 {
        corpus.put("metadata", &[&[53, 1, key, 0], &[2; 60]]);
    }
}

fn group_records(corpus: &mut Corpus) {
    let text = |text: &str| Arc::<str>::from(text);
    let key = group::OffsetKey { group: text("group"), topic: text("topic"), partition: 7 };
    let value = |expires, topic_id| group::OffsetValue {
        offset: 5,
        leader_epoch: 2,
        metadata: text("note"),
        committed: Timestamp(9),
        expires,
        topic_id,
    };
    let member = group::MemberValue {
        id: text("member"),
        instance_id: Some(text("static")),
        client_id: text("client"),
        client_host: text("/127.0.0.1"),
        rebalance_timeout_ms: 1000,
        session_timeout_ms: 100,
        subscription: Bytes::from_static(&[0, 1, 0, 0, 0, 1, 0, 1, b't', 255, 255, 255, 255, 0, 0, 0, 0]),
        assignment: Bytes::from_static(&[0, 1, 0, 0, 0, 0, 255, 255, 255, 255]),
    };
    let generation = group::GroupValue {
        protocol_type: text("consumer"),
        generation: 3,
        protocol: Some(text("range")),
        leader: Some(text("member")),
        since: Timestamp(9),
        members: vec![member],
    };
    let records = [
        group::Record::Offset(key.clone(), Some(value(Timestamp::NONE, TopicId::ZERO))),
        group::Record::Offset(key.clone(), Some(value(Timestamp(11), TopicId::ZERO))),
        group::Record::Offset(key.clone(), Some(value(Timestamp::NONE, TopicId::METADATA))),
        group::Record::Group(text("group"), Some(generation)),
        group::Record::Group(text("group"), None),
        group::Record::Offset(key, None),
    ];
    let mut all = vec![0];
    for record in records {
        let entry = record.write();
        if let Some(value) = &entry.value {
            corpus.put("coordinator", &[&[1], &newer::piece(&entry.key), value]);
        }
        newer::entry(&mut all, &entry.key, entry.value.as_deref());
        corpus.put("coordinator", &[&all]);
    }
    newer::kafkas_records(corpus);
    // A group of many members with nothing in their names, in the tightest version.
    let key = newer::piece(&[0, 2, 0, 1, b'g']);
    let head = [0, 4, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0x81, 0x40];
    let member = [1u8, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0];
    corpus.put("coordinator", &[&[1], &key, &[0xfe, 14, 0x1f, 0xff], &head, &member]);
}

fn settings(corpus: &mut Corpus) {
    let file = "# note\n! note\nprocess.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093\n\
                advertised.listeners=PLAINTEXT://localhost:9092\ncontroller.listener.names=CONTROLLER\n\
                controller.quorum.bootstrap.servers=localhost:9093\nlog.dirs = /a\\u0062c,\\\n    /d\\ e\n\
                log.retention.hours:168\nnum.partition=3\n";
    corpus.put("settings", &[&[0], file.as_bytes()]);
    corpus.put("settings", &[&[0], b"log.dirs=\\u00zz\n"]);
    let value = |key: u8, text: &str| [&[key, byte(text.len())][..], text.as_bytes()].concat();
    for texts in [
        vec![value(0, "PLAINTEXT://:0,A://[::1]:9093"), value(2, "PLAINTEXT:PLAINTEXT,A:PLAINTEXT")],
        vec![value(0, "PLAINTEXT://0.0.0.0:9092"), value(1, "PLAINTEXT://host.name:19092")],
        vec![value(7, "127.0.0.1:200,here:3,[::1]:4")],
        vec![value(8, "/a,/b,/a"), value(9, "2147483647")],
        vec![value(11, "compact,delete"), value(12, "zstd")],
        vec![value(3, "A"), value(0, "A://:1,B://:2"), value(4, "B"), value(2, "A:PLAINTEXT,B:PLAINTEXT")],
        vec![value(5, "1@localhost:9093"), value(13, "9223372036854775807")],
    ] {
        corpus.put("settings", &[&[1], &texts.concat()]);
    }
    corpus.put(
        "settings",
        &[
            &[2],
            b"KAFKA_NUM_PARTITIONS=3\nKAFKA_LISTENER_NAME_SECURE__PLAIN_X___Y=1\nCLUSTER_ID=x\nPATH=/bin\n",
        ],
    );
    corpus.put("settings", &[&[3], b"retention.ms=-1\ncleanup.policy=compact,delete\ncompression.type=gzip\ncompression.gzip.level=9\n"]);
    corpus.put("settings", &[&[3], b"segment.bytes=1048576\nleader.replication.throttled.replicas=0:1,1:2\nmin.cleanable.dirty.ratio=0.5\n"]);
    // A setting of many lines.
    corpus.put("settings", &[&[0, 0xfe, 3, 0x40, 0], b"log.dirs=/a,\\\n/b,\\\n"]);
}
