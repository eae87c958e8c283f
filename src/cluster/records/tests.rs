//! Metadata records against bytes that Apache Kafka 4.4 wrote, and against themselves.

use super::*;
use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use proptest::prelude::*;
use uuid::Uuid;

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

/// Bytes of a log that Apache Kafka 4.4.0 wrote, next to what its dump tool says they mean.
#[test]
fn kafkas_own_bytes_decode_and_encode_alike() {
    let check = |bytes: &str, record: Record| {
        let bytes = hex(bytes);
        assert_eq!(Record::decode(&bytes).unwrap(), record);
        assert_eq!(record.encode(METADATA_VERSION_LATEST), bytes);
    };
    check(
        "01 0c 00 11 6d65746164617461 2e76657273696f6e 0021 00",
        FeatureLevelRecord { name: "metadata.version".to_owned(), feature_level: 33 }.into(),
    );
    check("01 14 00 00", NoOpRecord {}.into());
    check("01 18 00 00", EndTransactionRecord {}.into());
    check(
        "01 17 00 01 00 12 12 426f6f747374726170207265636f726473",
        BeginTransactionRecord { name: Some("Bootstrap records".to_owned()) }.into(),
    );
    check(
        "01 11 00 00000001 000000000000000b 01 00 01 ff",
        BrokerRegistrationChangeRecord {
            broker_id: BrokerId(1),
            broker_epoch: 11,
            fenced: -1,
            in_controlled_shutdown: 0,
            log_dirs: Vec::new(),
            cordoned_log_dirs: None,
        }
        .into(),
    );
    check(
        "01 11 03 00000001 000000000000000b 01 03 01 01",
        BrokerRegistrationChangeRecord {
            broker_id: BrokerId(1),
            broker_epoch: 11,
            fenced: 0,
            in_controlled_shutdown: 0,
            log_dirs: Vec::new(),
            cordoned_log_dirs: Some(Vec::new()),
        }
        .into(),
    );
}

#[test]
fn what_no_version_knows_is_refused() {
    assert_eq!(Record::decode(&hex("00 14 00 00")), Err(DecodeError::FrameVersion(0)));
    assert_eq!(Record::decode(&hex("01 06 00 00")), Err(DecodeError::UnknownType(6)));
    assert_eq!(Record::decode(&hex("01 14 01 00")), Err(DecodeError::UnknownVersion { key: 20, version: 1 }));
    assert_eq!(Record::decode(&hex("01 14 00 00 00")), Err(DecodeError::Trailing(1)));
    assert_eq!(Record::decode(&hex("01 0c 00 ffffffff0f 00")), Err(DecodeError::Truncated));
    assert_eq!(Record::decode(&[]), Err(DecodeError::Truncated));
}

#[test]
fn unknown_tagged_fields_are_skipped() {
    assert_eq!(Record::decode(&hex("01 14 00 01 63 02 abcd")), Ok(NoOpRecord {}.into()));
}

/// A quota of a million entities without names: three bytes each, sixteen times that when decoded.
#[test]
fn elements_of_nothing_but_lengths_are_refused_before_they_fill_the_memory() {
    let mut bytes = hex("01 0e 00 c1 84 3d");
    bytes.extend([1, 0, 0].repeat(1_000_000));
    assert!(matches!(Record::decode(&bytes), Err(DecodeError::TooLarge(3_000_000))));
}

#[test]
fn what_is_skipped_pays_for_no_memory() {
    let quota = |entities: u32, tags: &[u8]| {
        let count = [0u32, 7, 14].map(|shift| u8::try_from(((entities + 1) >> shift) & 0x7f).unwrap());
        let mut bytes = hex("01 0e 00");
        bytes.extend([count[0] | 0x80, count[1] | 0x80, count[2]]);
        bytes.extend([1, 0, 0].repeat(usize::try_from(entities).unwrap()));
        // No name of a quota, its value, not removed.
        bytes.extend([&[1u8][..], &[0; 8], &[0], tags].concat());
        bytes
    };
    // One tagged field of 500000 bytes, and 127 of none.
    let large = [&[1u8, 9, 0xa0, 0xc2, 0x1e][..], &vec![0; 500_000]].concat();
    let many = [&[127u8][..], &[9u8, 0].repeat(127)].concat();
    for (entities, tags, fits) in [
        (29_000, &[0u8][..], true),
        (29_000, &large[..], true),
        (29_000, &many[..], true),
        (30_000, &[0][..], false),
        (30_000, &large[..], false),
    ] {
        let read = Record::decode(&quota(entities, tags));
        assert_eq!(read.is_ok(), fits, "{entities} entities, {} bytes of tags", tags.len());
        if let Ok(read) = read {
            assert_eq!(Record::decode(&read.encode(METADATA_VERSION_LATEST)), Ok(read));
        }
    }
}

#[test]
fn an_older_metadata_version_gets_older_records() {
    let record: Record = PartitionRecord {
        partition_id: PartitionIndex(0),
        topic_id: TopicId::METADATA,
        replicas: vec![BrokerId(1)],
        isr: vec![BrokerId(1)],
        removing_replicas: Vec::new(),
        adding_replicas: Vec::new(),
        leader: BrokerId(1),
        leader_epoch: LeaderEpoch(3),
        partition_epoch: 4,
        directories: vec![Uuid::from_u128(9)],
        leader_recovery_state: 0,
        eligible_leader_replicas: None,
        last_known_elr: None,
    }
    .into();
    assert_eq!(record.encode(METADATA_VERSION_MINIMUM)[2], 0);
    assert_eq!(record.encode(17)[2], 1);
    assert_eq!(record.encode(METADATA_VERSION_LATEST)[2], 2);
    match Record::decode(&record.encode(METADATA_VERSION_MINIMUM)).unwrap() {
        Record::Partition(old) => assert!(old.directories.is_empty()),
        other => panic!("decoded {other:?}"),
    }
}

fn brokers() -> impl Strategy<Value = Vec<BrokerId>> {
    prop::collection::vec((0..9).prop_map(BrokerId), 0..4)
}

proptest! {
    #[test]
    fn partition_changes_survive_the_round(
        isr in prop::option::of(brokers()), leader in -2..5i32, replicas in prop::option::of(brokers()),
        elr in prop::option::of(brokers()), directories in prop::option::of(prop::collection::vec(any::<u128>(), 0..3)),
    ) {
        let mut change = PartitionChangeRecord::new(TopicId::METADATA, PartitionIndex(7));
        change.isr = isr;
        change.leader = BrokerId(leader);
        change.replicas = replicas;
        change.eligible_leader_replicas = elr;
        change.directories = directories.map(|ids| ids.into_iter().map(Uuid::from_u128).collect());
        let record = Record::from(change);
        prop_assert_eq!(Record::decode(&record.encode(METADATA_VERSION_LATEST)).unwrap(), record);
    }

    #[test]
    fn bytes_from_outside_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), key in 0u8..32) {
        drop(Record::decode(&bytes));
        let mut framed = vec![1, key, 0];
        framed.extend(bytes);
        drop(Record::decode(&framed));
    }
}
