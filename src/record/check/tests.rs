//! What the check takes, refuses and rewrites.

use super::*;
use crate::base::Offset;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::record::BatchBuilder;
use crate::record::Record;
use crate::record::is_intact;
use crate::record::records_of;
use crate::record::varint;
use proptest::prelude::*;

const NOW: i64 = 1_700_000_000_000;

fn policy() -> Policy {
    Policy {
        max_message_bytes: 1_048_588,
        max_decompressed_bytes: 2_147_483_639,
        keys_required: false,
        timestamp_type: TimestampType::CreateTime,
        before_max_ms: i64::MAX,
        after_max_ms: 3_600_000,
        compression: Compression::Producer,
        now: Timestamp(NOW),
        client: true,
    }
}

fn builder(codec: Codec, count: i64) -> BatchBuilder {
    let mut builder = BatchBuilder::new(codec, Timestamp(NOW));
    for index in 0..count {
        let headers: [(&[u8], Option<&[u8]>); 5] =
            [(b"a", Some(b"1")), (b"a", Some(b"2")), (b"b", None), (b"c", Some(b"")), (b"", Some(b"x"))];
        builder.push(Some(b"key"), Some(&[7; 40]), &headers, Timestamp(NOW + index));
    }
    builder
}

fn batch(codec: Codec, count: i64) -> Bytes {
    builder(codec, count).build().bytes().clone()
}

/// The batch with its header changed and its checksum made right again.
fn with(bytes: &Bytes, change: impl FnOnce(&mut Header)) -> Bytes {
    let mut header = Header::parse(bytes).unwrap();
    change(&mut header);
    let mut changed = [&header.encode()[..], &bytes[HEADER_SIZE..]].concat();
    let crc = crc_fast::crc32_iscsi(&changed[layout::ATTRIBUTES..]);
    changed[layout::CRC..layout::ATTRIBUTES].copy_from_slice(&crc.to_be_bytes());
    Bytes::from(changed)
}

fn read(bytes: &Bytes) -> Vec<Record> {
    records_of(bytes, 1 << 26).unwrap().map(|record| record.unwrap()).collect()
}

fn refused(bytes: Bytes, policy: &Policy) -> Error {
    check(bytes, policy).unwrap_err()
}

#[test]
fn a_good_batch_is_stored_byte_for_byte_and_without_a_copy() {
    for codec in Codec::ALL {
        let sent = batch(codec, 5);
        let checked = check(sent.clone(), &policy()).unwrap();
        assert_eq!(checked.bytes(), &sent);
        assert_eq!(checked.bytes().as_ptr(), sent.as_ptr(), "{codec:?} was copied");
        assert_eq!(checked.append_time(), Timestamp::NONE);
    }
}

#[test]
fn there_must_be_exactly_one_whole_batch() {
    let whole = batch(Codec::None, 2);
    assert!(matches!(refused(Bytes::new(), &policy()), Error::NoBatch));
    assert!(matches!(refused(whole.slice(..whole.len() - 1), &policy()), Error::NoBatch));
    let twice = Bytes::from([&whole[..], &whole[..]].concat());
    assert!(matches!(refused(twice, &policy()), Error::SeveralBatches));
    let torn = Bytes::from([&whole[..], &whole[..30]].concat());
    assert_eq!(check(torn, &policy()).unwrap().bytes(), &whole, "the part behind is left off");
}

#[test]
fn old_formats_and_damaged_headers_are_told_apart() {
    let whole = batch(Codec::None, 2);
    for magic in [0, 1] {
        assert!(matches!(refused(with(&whole, |h| h.magic = magic), &policy()), Error::OldFormat(_)));
    }
    for magic in [-1, 3] {
        assert!(matches!(refused(with(&whole, |h| h.magic = magic), &policy()), Error::Damaged { .. }));
    }
    for length in [i32::MIN, -1, 13, 20, 48] {
        assert!(matches!(refused(with(&whole, |h| h.length = length), &policy()), Error::Damaged { .. }));
    }
    let mut flipped = whole.to_vec();
    flipped[70] ^= 1;
    assert!(matches!(refused(flipped.into(), &policy()), Error::Checksum { .. }));
}

#[test]
fn the_largest_batch_counts_compressed_bytes() {
    let sent = batch(Codec::Zstd, 200);
    let size = i32::try_from(sent.len()).unwrap();
    let exact = Policy { max_message_bytes: size, ..policy() };
    check(sent.clone(), &exact).unwrap();
    let less = Policy { max_message_bytes: size - 1, ..policy() };
    assert!(matches!(refused(sent.clone(), &less), Error::TooLarge { .. }));
    let opened = Policy { compression: Compression::Uncompressed, ..exact };
    assert!(matches!(refused(sent, &opened), Error::TooLarge { .. }), "what would be stored counts too");
}

#[test]
fn a_clients_header_must_agree_with_itself() {
    let whole = batch(Codec::None, 2);
    let refuse = |change: fn(&mut Header)| refused(with(&whole, change), &policy());
    assert!(matches!(refuse(|h| h.base_offset = 1), Error::BaseOffset(1)));
    assert!(matches!(refuse(|h| h.last_offset_delta = 2), Error::Count { .. }));
    assert!(matches!(refuse(|h| h.last_offset_delta = i32::MAX), Error::Count { .. }));
    assert!(matches!(refuse(|h| (h.record_count, h.last_offset_delta) = (0, -1)), Error::Count { .. }));
    assert!(matches!(refuse(|h| h.attributes |= layout::CONTROL_FLAG), Error::Control));
    assert!(matches!(refuse(|h| h.producer_id = 4), Error::Sequence { producer_id: 4, sequence: -1 }));
    assert!(matches!(refuse(|h| h.attributes |= 7), Error::Codec(_)));
    let marker = crate::record::control::EndTransaction { committed: true, coordinator_epoch: 0 };
    let marker = marker.batch(ProducerId(1), ProducerEpoch(0), Timestamp(NOW)).bytes().clone();
    assert!(matches!(refused(marker.clone(), &policy()), Error::Control));
    let own = Policy { client: false, compression: Compression::Zstd { level: 3 }, ..policy() };
    assert_eq!(check(marker.clone(), &own).unwrap().bytes(), &marker, "control records are not compressed");
}

#[test]
fn a_count_that_contradicts_the_records_is_refused() {
    let whole = batch(Codec::None, 3);
    for count in [1, 2, 4, i32::MAX] {
        let lying = with(&whole, |h| (h.record_count, h.last_offset_delta) = (count, count - 1));
        assert!(matches!(refused(lying, &policy()), Error::Records(_)), "{count}");
    }
    let opened = Policy { keys_required: true, ..policy() };
    let lying = with(&batch(Codec::Lz4, 3), |h| (h.record_count, h.last_offset_delta) = (4, 3));
    assert!(matches!(
        refused(lying, &opened),
        Error::Records(records::Error::Missing { present: 3, claimed: 4 })
    ));
}

#[test]
fn each_record_without_a_key_in_a_compacted_topic_is_named() {
    for codec in Codec::ALL {
        let mut builder = BatchBuilder::new(codec, Timestamp(NOW));
        for index in 0..5 {
            builder.push((index % 2 == 0).then_some(b""), Some(b"v"), &[], Timestamp(NOW));
        }
        let sent = builder.build().bytes().clone();
        let error = refused(sent.clone(), &Policy { keys_required: true, ..policy() });
        assert_eq!(error.faults().iter().map(|fault| fault.index).collect::<Vec<_>>(), [1, 3], "{codec:?}");
        assert!(!error.is_timestamp());
        assert!(error.to_string().contains("key is missing"), "{error}");
        check(sent, &policy()).unwrap();
    }
}

#[test]
fn the_list_of_faults_is_bounded() {
    let mut builder = BatchBuilder::new(Codec::None, Timestamp(NOW));
    for _ in 0..FAULTS_MAX + 5 {
        builder.push(None, None, &[], Timestamp(NOW));
    }
    let error = refused(builder.build().bytes().clone(), &Policy { keys_required: true, ..policy() });
    assert_eq!(error.faults().len(), FAULTS_MAX);
}

#[test]
fn times_outside_the_limits_are_refused_and_named() {
    let limits = Policy { before_max_ms: 1_000, after_max_ms: 2_000, ..policy() };
    let cases = [(-1_001, false), (-1_000, true), (0, true), (2_000, true), (2_001, false), (-NOW - 1, true)];
    for codec in [Codec::None, Codec::Gzip] {
        for (distance, good) in cases {
            let mut builder = BatchBuilder::new(codec, Timestamp(NOW));
            builder.push(None, None, &[], Timestamp(NOW));
            builder.push(None, None, &[], Timestamp(NOW + distance));
            let result = check(builder.build().bytes().clone(), &limits);
            assert_eq!(result.is_ok(), good, "{codec:?} {distance}");
            if let Err(error) = result {
                assert!(error.is_timestamp());
                assert_eq!(error.faults().iter().map(|fault| fault.index).collect::<Vec<_>>(), [1]);
            }
        }
    }
    let mut far = BatchBuilder::new(Codec::Zstd, Timestamp(NOW));
    far.push(None, None, &[], Timestamp(i64::MAX));
    assert!(refused(far.build().bytes().clone(), &policy()).is_timestamp(), "no overflow");
}

#[test]
fn append_time_is_the_brokers_in_every_record() {
    let topic = Policy { timestamp_type: TimestampType::LogAppendTime, ..policy() };
    for codec in Codec::ALL {
        let mut builder = BatchBuilder::new(codec, Timestamp(NOW - 3_600_000));
        builder.push(None, Some(b"early"), &[], Timestamp(NOW - 3_600_000));
        builder.push(None, Some(b"late"), &[], Timestamp(NOW + 7_200_000));
        let sent = builder.build().bytes().clone();
        let checked = check(sent.clone(), &topic).unwrap();
        assert_eq!(checked.append_time(), Timestamp(NOW));
        assert_eq!(checked.header().max_timestamp, NOW);
        assert_eq!(checked.header().timestamp_type(), TimestampType::LogAppendTime);
        assert!(is_intact(checked.bytes()));
        assert_eq!(Header::parse(checked.bytes()), Some(*checked.header()));
        assert_eq!(checked.bytes()[HEADER_SIZE..], sent[HEADER_SIZE..], "records stay as they were");
        assert!(read(checked.bytes()).iter().all(|record| record.timestamp == Timestamp(NOW)));
    }
    let marked = with(&batch(Codec::None, 2), |h| h.attributes |= layout::APPEND_TIME_FLAG);
    assert!(refused(marked, &topic).is_timestamp());
}

#[test]
fn the_append_time_mark_of_a_client_is_taken_off_where_the_producers_time_counts() {
    for codec in [Codec::None, Codec::Zstd] {
        let marked = with(&batch(codec, 2), |h| {
            h.attributes |= layout::APPEND_TIME_FLAG;
            h.max_timestamp = NOW + 500;
        });
        let checked = check(marked, &policy()).unwrap();
        assert_eq!(checked.bytes(), &batch(codec, 2));
    }
}

#[test]
fn a_wrong_largest_time_is_put_right() {
    for codec in [Codec::None, Codec::Snappy] {
        let sent = with(&batch(codec, 3), |h| h.max_timestamp = -1);
        let checked = check(sent, &policy()).unwrap();
        assert_eq!(checked.bytes(), &batch(codec, 3));
    }
}

#[test]
fn recompression_keeps_header_fields_and_every_byte_of_the_records() {
    let targets = [
        Compression::Uncompressed,
        Compression::Gzip { level: 9 },
        Compression::Snappy,
        Compression::Lz4 { level: 9 },
        Compression::Zstd { level: -1 },
    ];
    for (target, stored) in targets.into_iter().zip(Codec::ALL) {
        for sent in Codec::ALL {
            let producer = builder(sent, 50).producer(ProducerId(6), ProducerEpoch(1), 77).transactional();
            let sent_bytes = producer.build().bytes().clone();
            let checked = check(sent_bytes.clone(), &Policy { compression: target, ..policy() }).unwrap();
            let header = checked.header();
            assert_eq!(header.codec(), Ok(stored));
            assert!(header.is_transactional() && is_intact(checked.bytes()));
            assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence), (6, 1, 77));
            assert_eq!((header.record_count, header.last_offset_delta), (50, 49));
            let body =
                |bytes: &Bytes, codec| codec::decompress(codec, &bytes[HEADER_SIZE..], 1 << 20).unwrap();
            assert_eq!(body(checked.bytes(), stored), body(&sent_bytes, sent), "{sent:?} to {stored:?}");
            if sent == stored {
                assert_eq!(checked.bytes(), &sent_bytes, "the same codec is not compressed again");
            }
        }
    }
}

#[test]
fn offset_deltas_that_do_not_count_up_are_numbered_again() {
    let mut body = Vec::new();
    for delta in [0, 0, 9] {
        let mut record = vec![0, 0];
        varint::put_varint(&mut record, delta);
        record.extend_from_slice(&[2, b'k', 1, 2, 2, b'h', 1]);
        varint::put_nullable_bytes(&mut body, Some(&record));
    }
    let header =
        Header { record_count: 3, last_offset_delta: 2, ..*builder(Codec::None, 1).build().header() };
    let sent = rewrite::assemble(header, &body, Timestamp::NONE).bytes().clone();
    let checked = check(sent, &policy()).unwrap();
    let records = read(checked.bytes());
    assert_eq!(
        records.iter().map(|record| record.offset).collect::<Vec<_>>(),
        [Offset(0), Offset(1), Offset(2)]
    );
    assert!(records.iter().all(|record| record.key.as_deref() == Some(b"k") && record.headers.len() == 1));
    assert!(is_intact(checked.bytes()));
}

#[test]
fn a_bomb_is_refused_without_opening_it_all() {
    let mut builder = BatchBuilder::new(Codec::Zstd, Timestamp(NOW));
    builder.push(Some(b"k"), Some(&vec![0; 80 << 20]), &[], Timestamp(NOW));
    let bomb = builder.build().bytes().clone();
    assert!(bomb.len() < 100_000);
    check(bomb.clone(), &policy()).unwrap();
    let opened = Policy { keys_required: true, ..policy() };
    assert!(matches!(refused(bomb, &opened), Error::DecompressedTooLarge { .. }));
    let small = Policy { max_decompressed_bytes: 100, ..opened };
    assert!(matches!(refused(batch(Codec::Gzip, 5), &small), Error::DecompressedTooLarge { max: 100 }));
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let targets = vec![
        Compression::Producer,
        Compression::Uncompressed,
        Compression::Gzip { level: 1 },
        Compression::Snappy,
        Compression::Zstd { level: 1 },
    ];
    (any::<bool>(), any::<bool>(), any::<bool>(), proptest::sample::select(targets)).prop_map(
        |(keys_required, client, append_time, compression)| Policy {
            keys_required,
            client,
            compression,
            timestamp_type: if append_time {
                TimestampType::LogAppendTime
            } else {
                TimestampType::CreateTime
            },
            ..policy()
        },
    )
}

proptest! {
    /// Whatever comes, the check ends without a panic, and what it lets through is a whole, intact batch of records
    /// that can be read as far as they lie open.
    #[test]
    fn changed_batches_are_refused_or_sound(
        codec in proptest::sample::select(Codec::ALL.to_vec()),
        count in 1i64..6,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4),
        right_checksum in any::<bool>(),
        policy in any_policy(),
    ) {
        let mut bytes = batch(codec, count).to_vec();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if right_checksum {
            let crc = crc_fast::crc32_iscsi(&bytes[layout::ATTRIBUTES..]);
            bytes[layout::CRC..layout::ATTRIBUTES].copy_from_slice(&crc.to_be_bytes());
        }
        if let Ok(checked) = check(Bytes::from(bytes), &policy) {
            let header = Header::parse(checked.bytes()).unwrap();
            prop_assert_eq!(&header, checked.header());
            prop_assert!(is_intact(checked.bytes()));
            prop_assert_eq!(header.total_size(), checked.bytes().len());
            let records: Vec<_> = records_of(checked.bytes(), 1 << 20).into_iter().flatten().collect();
            if header.codec() == Ok(Codec::None) {
                prop_assert!(records.iter().all(|record| record.is_ok()));
                prop_assert_eq!(records.len(), usize::try_from(header.record_count).unwrap());
            }
        }
    }

    #[test]
    fn any_bytes_are_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), policy in any_policy()) {
        prop_assert!(check(Bytes::from(bytes), &policy).is_err());
    }
}
