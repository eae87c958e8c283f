//! Bytes of consumer groups' records.

use super::*;
use proptest::prelude::*;

fn text(value: &str) -> Arc<str> {
    Arc::from(value)
}

fn hex(bytes: &Bytes) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn read(entry: &Entry) -> Result<Option<Record>, Malformed> {
    let mut key = Reader::new(&entry.key);
    let version = key.i16()?;
    Record::read(version, &mut key, entry.value.as_ref())
}

fn bytes_of(fact: Fact) -> (String, Option<String>) {
    let entry = Record { group: text("g"), fact }.write();
    (hex(&entry.key), entry.value.as_ref().map(hex))
}

#[test]
fn records_have_kafkas_bytes() {
    let epoch = |metadata_hash| Fact::Epoch(Some(EpochValue { epoch: 7, metadata_hash }));
    let value = |bytes: &[&str]| Some(bytes.concat());
    assert_eq!(bytes_of(epoch(0)), ("0003000167".into(), value(&["0000", "00000007", "00"])));
    assert_eq!(bytes_of(epoch(5)).1, value(&["0000", "00000007", "01", "00", "08", "0000000000000005"]));
    assert_eq!(bytes_of(Fact::OldMetadata(false)), ("0004000167".into(), None));
    let target = Partitions::from([(TopicId::METADATA, BTreeSet::from([1, 2]))]);
    let topic = "00000000000000000000000000000001";
    assert_eq!(
        bytes_of(Fact::Target(text("m"), Some(target))),
        ("000700016700016d".into(), value(&["0000", "02", topic, "03", "00000001", "00000002", "00", "00"]))
    );
    let current = CurrentValue {
        epoch: 7,
        previous_epoch: 6,
        state: 1,
        assigned: Owned::from([(TopicId::METADATA, BTreeMap::from([(1, 5)]))]),
        pending_revocation: Owned::new(),
    };
    let epochs = ["01", "00", "05", "02", "00000005"].concat();
    assert_eq!(
        bytes_of(Fact::Current(text("m"), Some(Box::new(current)))).1,
        value(&["0000", "00000007", "00000006", "01", "02", topic, "02", "00000001", &epochs, "01", "00"])
    );
}

#[test]
fn epochs_of_partitions_that_kafka_did_not_write_are_the_members() {
    let topic = [0u8; 15].into_iter().chain([1]);
    let head = [0, 0, 0, 0, 0, 7, 0, 0, 0, 6, 0, 2].into_iter();
    // One partition without tagged fields, nothing pending.
    let rest = [2, 0, 0, 0, 3, 0, 1, 0];
    let value: Bytes = head.clone().chain(topic.clone()).chain(rest).collect();
    let current = read_current(&value).unwrap();
    assert_eq!(current.assigned, Owned::from([(TopicId::METADATA, BTreeMap::from([(3, 7)]))]));
    // Null epochs, and a count that does not fit.
    let null: Bytes = head.clone().chain(topic.clone()).chain([2, 0, 0, 0, 3, 1, 0, 1, 0, 1, 0]).collect();
    assert_eq!(read_current(&null).unwrap().assigned, current.assigned);
    let wrong: Bytes = head.chain(topic).chain([2, 0, 0, 0, 3, 1, 0, 1, 1, 1, 0]).collect();
    assert_eq!(read_current(&wrong), Err(Malformed::Length(0)));
}

#[test]
fn unknown_versions_and_claimed_counts_are_refused() {
    assert_eq!(read_epoch(&Bytes::from_static(&[0, 1, 0, 0, 0, 7, 0])), Err(Malformed::Version(1)));
    let many = Bytes::from_static(&[0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]);
    assert_eq!(read_target(&many), Err(Malformed::Length(0xffff_fffe)));
    let empty_names = [&[0u8, 0, 0x80, 0x80, 0x40][..], &vec![1; 1 << 20]].concat();
    assert!(matches!(read_pattern(&Bytes::from(empty_names)), Err(Malformed::TooLarge(_))));
}

fn names() -> impl Strategy<Value = BTreeSet<Arc<str>>> {
    proptest::collection::btree_set("[a-z]{0,9}".prop_map(|name| text(&name)), 0..4)
}

fn owned() -> impl Strategy<Value = Owned> {
    let topic = any::<u128>().prop_map(|id| TopicId(uuid::Uuid::from_u128(id)));
    let partitions = proptest::collection::btree_map(any::<i32>(), any::<i32>(), 0..4);
    proptest::collection::btree_map(topic, partitions, 0..3)
}

fn optional() -> impl Strategy<Value = Option<Arc<str>>> {
    proptest::option::of("[a-z]{0,9}".prop_map(|name| text(&name)))
}

fn member() -> impl Strategy<Value = MemberValue> {
    let protocol = ("[a-z]{0,5}", proptest::collection::vec(any::<u8>(), 0..20));
    let protocol = protocol.prop_map(|(name, blob)| (text(&name), Bytes::from(blob)));
    let classic = (any::<i32>(), proptest::collection::vec(protocol, 0..3));
    let options = (optional(), optional(), optional(), optional());
    (options, names(), any::<i32>(), proptest::option::of(classic)).prop_map(
        |(options, topics, ms, classic)| MemberValue {
            instance_id: options.0,
            rack_id: options.1,
            client_id: text("c"),
            client_host: text("h"),
            topics,
            pattern: options.2,
            rebalance_timeout_ms: ms,
            assignor: options.3,
            classic: classic.map(|(session_timeout_ms, protocols)| ClassicValue {
                session_timeout_ms,
                protocols: protocols.into(),
            }),
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        names in names(), member in member(), owned in owned(), pending in owned(), numbers in any::<(i32, i64, i8)>(),
    ) {
        let partitions: Partitions =
            owned.iter().map(|(topic, partitions)| (*topic, partitions.keys().copied().collect())).collect();
        let id = text("m");
        let current = CurrentValue {
            epoch: numbers.0, previous_epoch: -1, state: numbers.2, assigned: owned, pending_revocation: pending,
        };
        let made = Timestamp(numbers.1);
        for fact in [
            Fact::Epoch(Some(EpochValue { epoch: numbers.0, metadata_hash: numbers.1 })), Fact::Epoch(None),
            Fact::OldMetadata(true), Fact::OldMetadata(false),
            Fact::Member(id.clone(), Some(Box::new(member))), Fact::Member(id.clone(), None),
            Fact::TargetEpoch(Some(TargetEpochValue { epoch: numbers.0, made })), Fact::TargetEpoch(None),
            Fact::Target(id.clone(), Some(partitions)), Fact::Target(id.clone(), None),
            Fact::Current(id.clone(), Some(Box::new(current))), Fact::Current(id.clone(), None),
            Fact::Pattern(id.clone(), Some(PatternValue { topics: names, version: numbers.1, resolved: made })),
            Fact::Pattern(id, None),
        ] {
            let record = Record { group: text("g"), fact };
            prop_assert_eq!(read(&record.write()), Ok(Some(record)));
        }
    }

    #[test]
    fn any_bytes_are_read_without_a_panic(
        value in proptest::collection::vec(any::<u8>(), 0..200), kind in prop_oneof![3u8..9, Just(16)],
    ) {
        let key = Bytes::from(vec![0, kind, 0, 1, b'g', 0, 1, b'm']);
        let value = Some(Bytes::from([&[0, 0][..], &value].concat()));
        if let Ok(Some(record)) = read(&Entry { key, value }) {
            prop_assert_eq!(read(&record.write()), Ok(Some(record)));
        }
    }
}
