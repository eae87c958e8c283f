//! The bytes of `__transaction_state`.

use super::*;
use crate::coordinator::Malformed;
use crate::txn::record::Record;
use bytes::Bytes;
use proptest::prelude::*;

fn hex(bytes: &Bytes) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Bytes {
    let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

fn ongoing() -> Transaction {
    Transaction {
        epoch: ProducerEpoch(3),
        state: State::Ongoing,
        partitions: partitions(&[("t", 1), ("t", 4)]),
        started: Timestamp(8),
        client_version: 2,
        ..Transaction::new(ProducerId(7), 60_000, Timestamp(9))
    }
}

fn record(value: Transaction, flexible: bool) -> Record {
    Record { id: Arc::from("tx"), value: Some(Box::new(value)), flexible }
}

#[test]
fn records_have_kafkas_bytes() {
    let plain = Transaction { client_version: 0, ..ongoing() };
    let entry = record(plain, false).write();
    assert_eq!(hex(&entry.key), "000000027478");
    let head = "0000000000000007 0003 0000ea60 01";
    let times = "0000000000000009 0000000000000008";
    let wanted = format!("0000 {head} 00000001 0001 74 00000002 00000001 00000004 {times}");
    assert_eq!(entry.value, Some(unhex(&wanted)));
    let value = Transaction { previous_producer: ProducerId(5), next_producer: ProducerId(6), ..ongoing() };
    let wanted = format!(
        "0001 {head} 02 0274 03 00000001 00000004 00 {times} 03 00 08 0000000000000005 01 08 0000000000000006 02 02 0002"
    );
    assert_eq!(record(value, true).write().value, Some(unhex(&wanted)));
    let empty = Transaction::new(ProducerId(7), 60_000, Timestamp(9));
    let tail = "0000000000000009 ffffffffffffffff";
    let wanted = format!("0001 0000000000000007 ffff 0000ea60 00 00 {tail} 00");
    assert_eq!(record(empty.clone(), true).write().value, Some(unhex(&wanted)), "null where nothing is open");
    let wanted = format!("0000 0000000000000007 ffff 0000ea60 00 ffffffff {tail}");
    assert_eq!(record(empty, false).write().value, Some(unhex(&wanted)));
}

#[test]
fn what_a_later_kafka_adds_is_passed_over_and_what_makes_no_sense_refused() {
    let key = record(ongoing(), true).write().key;
    let read = |value: &str| Record::read(&Entry { key: key.clone(), value: Some(unhex(value)) });
    let head = "0000000000000007 0003 0000ea60";
    let times = "0000000000000009 0000000000000008";
    // The next producer's epoch (KIP-939), and a tag that nobody knows.
    let value = read(&format!("0001 {head} 04 01 {times} 02 03 02 0001 09 01 ff")).unwrap().unwrap();
    assert_eq!(value.value.unwrap().state, State::CompleteCommit);
    assert_eq!(read(&format!("0001 {head} 06 01 {times} 00")), Err(Malformed::Value(6)));
    assert_eq!(read("0002 00"), Err(Malformed::Version(2)));
    assert_eq!(read(&format!("0000 {head} 01 7fffffff")), Err(Malformed::Length(i64::from(i32::MAX))));
    let other = Entry { key: unhex("0001 0002 7478"), value: None };
    assert_eq!(Record::read(&other), Ok(None));
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        numbers in any::<(i64, i64, i64, i16, i32, i64, i64)>(), state in 0usize..6, flexible in any::<bool>(),
        of in proptest::collection::vec(("[a-z]{0,3}", 0i32..5), 0..8), version in 0i16..3,
    ) {
        let (producer, previous, next, epoch, timeout_ms, started, updated) = numbers;
        let some = |id: i64| if flexible { ProducerId(id) } else { ProducerId::NONE };
        let state = State::ALL[state];
        let of: Vec<(&str, i32)> = of.iter().map(|(topic, partition)| (topic.as_str(), *partition)).collect();
        let value = Transaction {
            producer: ProducerId(producer), previous_producer: some(previous), next_producer: some(next),
            epoch: ProducerEpoch(epoch), last_epoch: ProducerEpoch(-1), timeout_ms, state,
            partitions: if state == State::Empty { Partitions::new() } else { partitions(&of) },
            started: Timestamp(started), updated: Timestamp(updated), client_version: if flexible { version } else { 0 },
        };
        let record = record(value, flexible);
        prop_assert_eq!(Record::read(&record.write()), Ok(Some(record)));
        let gone = Record { id: Arc::from("x"), value: None, flexible: false };
        prop_assert_eq!(Record::read(&gone.write()), Ok(Some(gone)));
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(key in proptest::collection::vec(any::<u8>(), 0..40),
                                          value in proptest::collection::vec(any::<u8>(), 0..200), version in 0u8..3) {
        let key = [&[0, 0][..], &key].concat();
        let value = [&[0, version][..], &value].concat();
        let _either = Record::read(&Entry { key: Bytes::from(key), value: Some(Bytes::from(value)) });
    }
}
