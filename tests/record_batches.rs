//! Batches that Kafka 4.4 wrote (`golden/RecordBatches.java`) against ours: read back alike, and built byte for byte
//! where no compressor stands between. The same against the encoder of the `kafka-protocol` crate.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    reason = "the whole file is a test; clippy excuses only its test functions"
)]

use bytes::Bytes;
use bytes::BytesMut;
use dohle::base::BrokerId;
use dohle::base::LeaderEpoch;
use dohle::base::Offset;
use dohle::base::ProducerEpoch;
use dohle::base::ProducerId;
use dohle::base::Timestamp;
use dohle::config::Compression;
use dohle::config::TimestampType;
use dohle::record::BatchBuilder;
use dohle::record::CheckedBatch;
use dohle::record::Codec;
use dohle::record::Header;
use dohle::record::Policy;
use dohle::record::Record;
use dohle::record::check;
use dohle::record::control;
use dohle::record::is_intact;
use dohle::record::records_of;
use kafka_protocol::indexmap::IndexMap;
use kafka_protocol::records::Compression as CrateCompression;
use kafka_protocol::records::Record as CrateRecord;
use kafka_protocol::records::RecordBatchEncoder;
use kafka_protocol::records::RecordEncodeOptions;
use kafka_protocol::records::TimestampType as CrateTimestampType;
use proptest::prelude::*;

const TIME: i64 = 1_700_000_000_000;

/// The batch that Kafka wrote under this name.
fn golden(name: &str) -> Bytes {
    let lines = include_str!("golden/record_batches.txt").lines();
    let hex = lines.filter_map(|line| line.split_once(' ')).find(|(found, _)| *found == name).unwrap().1;
    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
    bytes.collect::<Vec<u8>>().into()
}

/// The records of all golden batches for consumers.
fn contents() -> Vec<Record> {
    let text = |text: &'static str| Bytes::from_static(text.as_bytes());
    let headers = vec![
        (text("a"), Some(text("1"))),
        (text("a"), Some(text("2"))),
        (text("b"), None),
        (text("c"), Some(text(""))),
        (text(""), Some(text("x"))),
    ];
    let record = |offset, timestamp, key, value, headers| Record {
        offset: Offset(offset),
        timestamp: Timestamp(timestamp),
        key,
        value,
        headers,
    };
    vec![
        record(0, TIME, Some(text("key")), Some(Bytes::from("value ".repeat(30))), headers),
        record(1, TIME + 1_500, None, Some(text("")), vec![]),
        record(2, TIME - 20, Some(text("")), None, vec![]),
    ]
}

fn read(batch: &Bytes) -> Vec<Record> {
    records_of(batch, 1 << 20).unwrap().map(|record| record.unwrap()).collect()
}

fn push(builder: &mut BatchBuilder, record: &Record) {
    let headers: Vec<_> = record.headers.iter().map(|(key, value)| (&key[..], value.as_deref())).collect();
    builder.push(record.key.as_deref(), record.value.as_deref(), &headers, record.timestamp);
}

fn policy(compression: Compression) -> Policy {
    Policy {
        max_message_bytes: 1 << 20,
        max_decompressed_bytes: i32::MAX,
        keys_required: false,
        timestamp_type: TimestampType::CreateTime,
        before_max_ms: i64::MAX,
        after_max_ms: i64::MAX,
        compression,
        now: Timestamp(TIME),
        client: true,
    }
}

#[test]
fn what_kafka_wrote_in_any_codec_reads_alike() {
    for (name, codec) in ["none", "gzip", "snappy", "lz4", "zstd"].into_iter().zip(Codec::ALL) {
        let batch = golden(name);
        assert_eq!(Header::parse(&batch).unwrap().codec(), Ok(codec));
        assert!(is_intact(&batch), "{name}");
        assert_eq!(read(&batch), contents(), "{name}");
        assert_eq!(check(batch.clone(), &policy(Compression::Producer)).unwrap().bytes(), &batch, "{name}");
    }
}

#[test]
fn taking_kafkas_compression_off_gives_kafkas_uncompressed_batch() {
    for name in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let stored = check(golden(name), &policy(Compression::Uncompressed)).unwrap();
        assert_eq!(stored.bytes(), &golden("none"), "{name}");
    }
}

#[test]
fn snappy_is_written_in_the_framing_of_java() {
    let stored = check(golden("none"), &policy(Compression::Snappy)).unwrap();
    let (ours, kafkas) = (&stored.bytes()[61..], &golden("snappy")[61..]);
    assert_eq!(ours[..16], kafkas[..16]);
    assert_eq!(read(stored.bytes()), contents());
}

#[test]
fn built_batches_are_kafkas_byte_for_byte() {
    let mut builder = BatchBuilder::new(Codec::None, Timestamp(TIME));
    contents().iter().for_each(|record| push(&mut builder, record));
    assert_eq!(builder.build().bytes(), &golden("none"));
    let builder = BatchBuilder::new(Codec::None, Timestamp(TIME));
    let mut builder = builder.producer(ProducerId(4000), ProducerEpoch(3), 17).transactional();
    contents().iter().for_each(|record| push(&mut builder, record));
    assert_eq!(builder.build().bytes(), &golden("transactional"));
}

#[test]
fn the_append_time_batch_is_kafkas_byte_for_byte() {
    let topic = Policy { timestamp_type: TimestampType::LogAppendTime, ..policy(Compression::Producer) };
    let stored = check(golden("none"), &topic).unwrap();
    assert_eq!(stored.bytes(), &golden("append-time"));
    assert!(read(stored.bytes()).iter().all(|record| record.timestamp == Timestamp(TIME)));
}

#[test]
fn control_batches_are_kafkas_byte_for_byte() {
    for (name, committed) in [("commit", true), ("abort", false)] {
        let marker = control::EndTransaction { committed, coordinator_epoch: 12 };
        let batch = marker.batch(ProducerId(4000), ProducerEpoch(3), Timestamp(TIME));
        assert_eq!(batch.bytes(), &golden(name));
    }
    let voters = [BrokerId(1)];
    let time = Timestamp(TIME);
    let of_epoch_1 = |batch: CheckedBatch| [batch.head(Offset(0), LeaderEpoch(1)), batch.rest()].concat();
    let leader_change = control::leader_change(BrokerId(1), &voters, &voters, time);
    assert_eq!(of_epoch_1(leader_change), golden("leader-change"));
    assert_eq!(of_epoch_1(control::snapshot_header(Timestamp(TIME - 1), time)), golden("snapshot-header"));
    assert_eq!(of_epoch_1(control::snapshot_footer(time)), golden("snapshot-footer"));
}

fn bytes() -> impl Strategy<Value = Option<Vec<u8>>> {
    proptest::option::of(proptest::collection::vec(any::<u8>(), 0..300))
}

proptest! {
    /// Header keys differ here, because the crate keeps only one header of each key; and no record is older than the
    /// first, because the crate counts times from the smallest one, Kafka and we from the first.
    #[test]
    fn built_batches_are_those_of_the_crate(
        records in proptest::collection::vec((bytes(), bytes(), 0i64..1_000, bytes()), 1..20),
        sequence in 0i32..1_000_000,
    ) {
        let builder = BatchBuilder::new(Codec::None, Timestamp(TIME));
        let mut builder = builder.producer(ProducerId(5), ProducerEpoch(2), sequence);
        let mut theirs = Vec::new();
        for (index, (key, value, distance, header)) in (0..).zip(&records) {
            let distance = if index == 0 { 0 } else { *distance };
            let headers = [(&b"first"[..], header.as_deref()), (&b"second"[..], Some(&b"2"[..]))];
            builder.push(key.as_deref(), value.as_deref(), &headers, Timestamp(TIME + distance));
            theirs.push(crate_record(index, sequence, (key, value, TIME + distance, header)));
        }
        let mut encoded = BytesMut::new();
        let options = RecordEncodeOptions { version: 2, compression: CrateCompression::None };
        RecordBatchEncoder::encode(&mut encoded, &theirs, &options).unwrap();
        let ours = builder.build();
        let stored = [ours.head(Offset(0), LeaderEpoch(0)), ours.rest()].concat();
        prop_assert_eq!(stored, encoded.to_vec());
    }
}

type Fields<'a> = (&'a Option<Vec<u8>>, &'a Option<Vec<u8>>, i64, &'a Option<Vec<u8>>);

fn crate_record(index: i32, sequence: i32, (key, value, timestamp, header): Fields<'_>) -> CrateRecord {
    let mut headers = IndexMap::new();
    headers.insert("first".to_owned().into(), header.clone().map(Bytes::from));
    headers.insert("second".to_owned().into(), Some(Bytes::from_static(b"2")));
    CrateRecord {
        transactional: false,
        control: false,
        delete_horizon: false,
        partition_leader_epoch: 0,
        producer_id: 5,
        producer_epoch: 2,
        timestamp_type: CrateTimestampType::Creation,
        offset: index.into(),
        sequence: sequence + index,
        timestamp,
        key: key.clone().map(Bytes::from),
        value: value.clone().map(Bytes::from),
        headers,
    }
}
