//! Bytes of share groups' records.

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

const TOPIC: &str = "00000000000000000000000000000001";

#[test]
fn records_have_kafkas_bytes() {
    let value = |bytes: &[&str]| Some(bytes.concat());
    let member = MemberValue {
        rack_id: None,
        client_id: text("c"),
        client_host: text("h"),
        topics: BTreeSet::from([text("t")]),
    };
    assert_eq!(
        bytes_of(Fact::Member(text("m"), Some(Box::new(member)))),
        ("000a00016700016d".into(), value(&["0000", "00", "0263", "0268", "02", "0274", "00"]))
    );
    let epoch = EpochValue { epoch: 7, metadata_hash: 5 };
    assert_eq!(
        bytes_of(Fact::Epoch(Some(epoch))),
        ("000b000167".into(), value(&["0000", "00000007", "0000000000000005", "00"]))
    );
    let made = TargetEpochValue { epoch: 7, made: crate::base::Timestamp(5) };
    let tag = ["01", "00", "08", "0000000000000005"].concat();
    assert_eq!(
        bytes_of(Fact::TargetEpoch(Some(made))),
        ("000c000167".into(), value(&["0000", "00000007", &tag]))
    );
    let some = Partitions::from([(TopicId::METADATA, BTreeSet::from([1, 2]))]);
    let partitions = ["02", TOPIC, "03", "00000001", "00000002", "00"].concat();
    assert_eq!(
        bytes_of(Fact::Target(text("m"), Some(some.clone()))),
        ("000d00016700016d".into(), value(&["0000", &partitions, "00"]))
    );
    let current = CurrentValue { epoch: 7, previous_epoch: 6, state: 0, assigned: some };
    assert_eq!(
        bytes_of(Fact::Current(text("m"), Some(current))),
        ("000e00016700016d".into(), value(&["0000", "00000007", "00000006", "00", &partitions, "00"]))
    );
    let topic = Topic { name: text("t"), partitions: BTreeSet::from([1]) };
    let states = StatesValue {
        initializing: Topics::new(),
        initialized: Topics::from([(TopicId::METADATA, topic)]),
        deleting: BTreeMap::from([(TopicId::METADATA, text("u"))]),
    };
    let initialized = ["02", TOPIC, "0274", "02", "00000001", "00"].concat();
    let deleting = ["02", TOPIC, "0275", "00"].concat();
    assert_eq!(
        bytes_of(Fact::States(Some(Arc::new(states)))),
        ("000f000167".into(), value(&["0000", "01", &initialized, &deleting, "00"]))
    );
    assert_eq!(bytes_of(Fact::States(None)), ("000f000167".into(), None));
}

#[test]
fn unknown_versions_and_claimed_counts_are_refused() {
    assert_eq!(read_epoch(&Bytes::from_static(&[0, 1, 0, 0, 0, 7])), Err(Malformed::Version(1)));
    let many = Bytes::from_static(&[0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f, 0]);
    assert_eq!(read_states(&many), Err(Malformed::Length(0xffff_fffe)));
}

fn names() -> impl Strategy<Value = BTreeSet<Arc<str>>> {
    prop::collection::btree_set("[a-z]{0,9}".prop_map(|name| text(&name)), 0..4)
}

fn ids() -> impl Strategy<Value = TopicId> {
    any::<u128>().prop_map(|id| TopicId(uuid::Uuid::from_u128(id)))
}

fn partitions() -> impl Strategy<Value = Partitions> {
    prop::collection::btree_map(ids(), prop::collection::btree_set(any::<i32>(), 0..4), 0..4)
}

fn topics() -> impl Strategy<Value = Topics> {
    let topic = ("[a-z]{0,9}", prop::collection::btree_set(any::<i32>(), 0..4));
    let topic = topic.prop_map(|(name, partitions)| Topic { name: text(&name), partitions });
    prop::collection::btree_map(ids(), topic, 0..4)
}

fn facts() -> impl Strategy<Value = Fact> {
    let id = || "[a-z]{0,9}".prop_map(|id| text(&id));
    let rack = prop::option::of("[a-z]{0,9}".prop_map(|rack| text(&rack)));
    let member = (rack, id(), id(), names()).prop_map(|(rack_id, client_id, client_host, topics)| {
        Box::new(MemberValue { rack_id, client_id, client_host, topics })
    });
    let epoch =
        (any::<i32>(), any::<i64>()).prop_map(|(epoch, metadata_hash)| EpochValue { epoch, metadata_hash });
    let target = (any::<i32>(), any::<i64>())
        .prop_map(|(epoch, made)| TargetEpochValue { epoch, made: crate::base::Timestamp(made) });
    let current = (any::<i32>(), any::<i32>(), any::<i8>(), partitions()).prop_map(
        |(epoch, previous_epoch, state, assigned)| CurrentValue { epoch, previous_epoch, state, assigned },
    );
    let deleting = prop::collection::btree_map(ids(), id(), 0..4);
    let states = (topics(), topics(), deleting).prop_map(|(initializing, initialized, deleting)| {
        Arc::new(StatesValue { initializing, initialized, deleting })
    });
    prop_oneof![
        (id(), prop::option::of(member)).prop_map(|(id, value)| Fact::Member(id, value)),
        prop::option::of(epoch).prop_map(Fact::Epoch),
        prop::option::of(target).prop_map(Fact::TargetEpoch),
        (id(), prop::option::of(partitions())).prop_map(|(id, value)| Fact::Target(id, value)),
        (id(), prop::option::of(current)).prop_map(|(id, value)| Fact::Current(id, value)),
        prop::option::of(states).prop_map(Fact::States),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read(fact in facts()) {
        let record = Record { group: text("g"), fact };
        prop_assert_eq!(read(&record.write()), Ok(Some(record)));
    }

    #[test]
    fn nothing_that_is_read_panics(version in 10i16..16, bytes in prop::collection::vec(any::<u8>(), 0..99)) {
        let mut key = Writer::new(version);
        key.string("g");
        key.string("m");
        let value = [&[0, 0][..], &bytes].concat();
        let _refused_or_not = read(&Entry { key: key.finish(), value: Some(Bytes::from(value)) });
    }
}
