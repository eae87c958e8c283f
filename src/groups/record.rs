//! The records of `__consumer_offsets`, byte for byte as Kafka 4.4 writes and reads them.
//!
//! ```text
//! key    [version i16][fields]     0 and 1: an offset, 2: a classic group; the other kinds have their own `record.rs`
//! value  [version i16][fields]     no value: the key is deleted
//!
//! offset key      group string, topic string, partition i32
//! offset value    v0 offset i64, metadata, committed i64      v1 + expires i64      v2 as v0
//!                 v3 offset, leader epoch i32, metadata, committed
//!                 v4 as v3 with compact metadata, then tagged fields: 0 = topic id
//! group key       group string
//! group value     protocol type, generation i32, protocol (nullable), leader (nullable),
//!                 v2+ since i64, members: id, v3+ instance (nullable), client id, client host,
//!                 v1+ rebalance timeout i32, session timeout i32, subscription bytes, assignment bytes
//! ```
//! Written are offset values v4 (v1 when the offset has its own expiry) and group values v3, the versions of
//! Kafka 4.4's `GroupCoordinatorRecordHelpers`. Group value v4 (flexible) is read.

use crate::base::Timestamp;
use crate::base::TopicId;
use crate::coordinator::Malformed;
use crate::coordinator::Reader;
use crate::coordinator::Writer;
use crate::coordinator::machine::Entry;
use crate::groups::consumer;
use crate::groups::share;
use crate::groups::streams::record::StreamsRecord;
use bytes::Bytes;
use std::sync::Arc;

/// A fact of `__consumer_offsets`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The committed offset of a partition; `None` deletes it.
    Offset(OffsetKey, Option<OffsetValue>),
    /// The members and generation of a classic group; `None` deletes the group.
    Group(Arc<str>, Option<GroupValue>),
    /// Of a consumer group.
    Consumer(consumer::record::Record),
    /// Of a share group.
    Share(share::record::Record),
    /// Of a streams group.
    Streams(StreamsRecord),
}

/// Whose offset of which partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OffsetKey {
    /// The group.
    pub group: Arc<str>,
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's number.
    pub partition: i32,
}

/// A committed offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffsetValue {
    /// The next offset the group will read.
    pub offset: i64,
    /// Leader epoch of the last record read; -1 when not known.
    pub leader_epoch: i32,
    /// The client's own note.
    pub metadata: Arc<str>,
    /// When it was committed.
    pub committed: Timestamp,
    /// When it expires by the client's wish (requests before version 5); [`Timestamp::NONE`] otherwise.
    pub expires: Timestamp,
    /// The topic's id; [`TopicId::ZERO`] when the client named the topic only.
    pub topic_id: TopicId,
}

/// A classic group's last stored generation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupValue {
    /// For example `consumer`; empty for a group that never had members.
    pub protocol_type: Arc<str>,
    /// The generation.
    pub generation: i32,
    /// The chosen protocol.
    pub protocol: Option<Arc<str>>,
    /// The leader's member id.
    pub leader: Option<Arc<str>>,
    /// When the group came into its state; [`Timestamp::NONE`] when not known.
    pub since: Timestamp,
    /// The members.
    pub members: Vec<MemberValue>,
}

/// A member as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberValue {
    /// The member's id.
    pub id: Arc<str>,
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// The client id of its requests.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
    /// How long a rebalance waits for it; milliseconds.
    pub rebalance_timeout_ms: i32,
    /// How long it may be silent; milliseconds.
    pub session_timeout_ms: i32,
    /// Its metadata for the chosen protocol.
    pub subscription: Bytes,
    /// What the leader gave it.
    pub assignment: Bytes,
}

const OFFSET_KEY_VERSION: i16 = 1;
const OFFSET_VALUE_VERSION: i16 = 4;
const OFFSET_VALUE_VERSION_EXPIRING: i16 = 1;
const GROUP_KEY_VERSION: i16 = 2;
const GROUP_VALUE_VERSION: i16 = 3;

impl Record {
    /// The record's bytes.
    pub fn write(&self) -> Entry {
        match self {
            Record::Offset(key, value) => {
                Entry { key: write_offset_key(key), value: value.as_ref().map(write_offset_value) }
            }
            Record::Group(group, value) => {
                let mut key = Writer::new(GROUP_KEY_VERSION);
                key.string(group);
                Entry { key: key.finish(), value: value.as_ref().map(write_group_value) }
            }
            Record::Consumer(record) => record.write(),
            Record::Share(record) => record.write(),
            Record::Streams(record) => record.write(),
        }
    }

    /// The record in these bytes; `None` when its key is of a kind that no group uses.
    pub fn read(entry: &Entry) -> Result<Option<Record>, Malformed> {
        let mut key = Reader::new(&entry.key);
        let version = key.i16()?;
        match version {
            0 | OFFSET_KEY_VERSION => {
                let key = OffsetKey { group: key.string()?, topic: key.string()?, partition: key.i32()? };
                let value = entry.value.as_ref().map(read_offset_value).transpose()?;
                Ok(Some(Record::Offset(key, value)))
            }
            GROUP_KEY_VERSION => {
                let group = key.string()?;
                let value = entry.value.as_ref().map(read_group_value).transpose()?;
                Ok(Some(Record::Group(group, value)))
            }
            _ if share::record::is_own(version) => {
                let read = share::record::Record::read(version, &mut key, entry.value.as_ref())?;
                Ok(read.map(Record::Share))
            }
            _ => {
                let read = consumer::record::Record::read(version, &mut key, entry.value.as_ref())?;
                match read {
                    Some(record) => Ok(Some(Record::Consumer(record))),
                    None => Ok(StreamsRecord::read(entry)?.map(Record::Streams)),
                }
            }
        }
    }
}

fn write_offset_key(key: &OffsetKey) -> Bytes {
    let mut out = Writer::new(OFFSET_KEY_VERSION);
    out.string(&key.group);
    out.string(&key.topic);
    out.i32(key.partition);
    out.finish()
}

fn write_offset_value(value: &OffsetValue) -> Bytes {
    if value.expires != Timestamp::NONE {
        let mut out = Writer::new(OFFSET_VALUE_VERSION_EXPIRING);
        out.i64(value.offset);
        out.string(&value.metadata);
        out.i64(value.committed.0);
        out.i64(value.expires.0);
        return out.finish();
    }
    let mut out = Writer::new(OFFSET_VALUE_VERSION);
    out.i64(value.offset);
    out.i32(value.leader_epoch);
    out.compact_string(&value.metadata);
    out.i64(value.committed.0);
    if value.topic_id.is_zero() {
        out.unsigned_varint(0);
    } else {
        out.unsigned_varint(1);
        out.unsigned_varint(0);
        out.unsigned_varint(16);
        out.raw(value.topic_id.0.as_bytes());
    }
    out.finish()
}

fn read_offset_value(bytes: &Bytes) -> Result<OffsetValue, Malformed> {
    let mut value = Reader::new(bytes);
    let version = value.i16()?;
    if !(0..=4).contains(&version) {
        return Err(Malformed::Version(version));
    }
    value.set_flexible(version >= 4);
    let offset = value.i64()?;
    let leader_epoch = if version >= 3 { value.i32()? } else { -1 };
    let metadata = value.string()?;
    let committed = Timestamp(value.i64()?);
    let expires = if version == 1 { Timestamp(value.i64()?) } else { Timestamp::NONE };
    let topic_id = match value.tagged(0)? {
        Some(id) => TopicId(Reader::new(&id).uuid()?),
        None => TopicId::ZERO,
    };
    Ok(OffsetValue { offset, leader_epoch, metadata, committed, expires, topic_id })
}

fn write_group_value(value: &GroupValue) -> Bytes {
    let mut out = Writer::new(GROUP_VALUE_VERSION);
    out.string(&value.protocol_type);
    out.i32(value.generation);
    out.nullable_string(value.protocol.as_deref());
    out.nullable_string(value.leader.as_deref());
    out.i64(value.since.0);
    out.count(value.members.len());
    for member in &value.members {
        out.string(&member.id);
        out.nullable_string(member.instance_id.as_deref());
        out.string(&member.client_id);
        out.string(&member.client_host);
        out.i32(member.rebalance_timeout_ms);
        out.i32(member.session_timeout_ms);
        out.bytes(&member.subscription);
        out.bytes(&member.assignment);
    }
    out.finish()
}

fn read_group_value(bytes: &Bytes) -> Result<GroupValue, Malformed> {
    let mut value = Reader::new(bytes);
    let version = value.i16()?;
    if !(0..=4).contains(&version) {
        return Err(Malformed::Version(version));
    }
    value.set_flexible(version >= 4);
    let protocol_type = value.string()?;
    let generation = value.i32()?;
    let protocol = value.nullable_string()?;
    let leader = value.nullable_string()?;
    let since = if version >= 2 { Timestamp(value.i64()?) } else { Timestamp::NONE };
    // A member has at least six length fields and one timeout; twelve bytes in the tightest version.
    let count = value.count_of::<MemberValue>(12)?;
    let mut members = Vec::with_capacity(count);
    for _ in 0..count {
        members.push(read_member(&mut value, version)?);
    }
    value.tagged(u32::MAX)?;
    value.settle()?;
    Ok(GroupValue { protocol_type, generation, protocol, leader, since, members })
}

fn read_member(value: &mut Reader, version: i16) -> Result<MemberValue, Malformed> {
    let id = value.string()?;
    let instance_id = if version >= 3 { value.nullable_string()? } else { None };
    let client_id = value.string()?;
    let client_host = value.string()?;
    let rebalance_timeout_ms = if version >= 1 { value.i32()? } else { -1 };
    let session_timeout_ms = value.i32()?;
    let subscription = value.bytes()?;
    let assignment = value.bytes()?;
    value.tagged(u32::MAX)?;
    Ok(MemberValue {
        id,
        instance_id,
        client_id,
        client_host,
        rebalance_timeout_ms,
        session_timeout_ms,
        subscription,
        assignment,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(value: &str) -> Arc<str> {
        Arc::from(value)
    }

    fn hex(bytes: &Bytes) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn offset(value: OffsetValue) -> Record {
        Record::Offset(OffsetKey { group: text("g"), topic: text("t"), partition: 7 }, Some(value))
    }

    fn plain() -> OffsetValue {
        OffsetValue {
            offset: 5,
            leader_epoch: 2,
            metadata: text("m"),
            committed: Timestamp(9),
            expires: Timestamp::NONE,
            topic_id: TopicId::ZERO,
        }
    }

    #[test]
    fn offset_records_have_kafkas_bytes() {
        let entry = offset(plain()).write();
        assert_eq!(hex(&entry.key), "0001000167000174".to_owned() + "00000007");
        assert_eq!(
            hex(&entry.value.unwrap()),
            ["0004", "0000000000000005", "00000002", "026d", "0000000000000009", "00"].concat()
        );
        let entry = offset(OffsetValue { topic_id: TopicId::METADATA, ..plain() }).write();
        let tail = ["01", "00", "10", "00000000000000000000000000000001"].concat();
        assert!(hex(&entry.value.unwrap()).ends_with(&tail));
        let entry = offset(OffsetValue { expires: Timestamp(11), ..plain() }).write();
        assert_eq!(
            hex(&entry.value.unwrap()),
            ["0001", "0000000000000005", "00016d", "0000000000000009", "000000000000000b"].concat()
        );
    }

    #[test]
    fn every_offset_value_version_is_read() {
        let cases = [
            ("0000 0000000000000005 00016d 0000000000000009", -1, -1),
            ("0001 0000000000000005 00016d 0000000000000009 000000000000000b", -1, 11),
            ("0002 0000000000000005 00016d 0000000000000009", -1, -1),
            ("0003 0000000000000005 00000002 00016d 0000000000000009", 2, -1),
            ("0004 0000000000000005 00000002 026d 0000000000000009 00", 2, -1),
            // An unknown tagged field is passed over.
            ("0004 0000000000000005 00000002 026d 0000000000000009 01 09 02 ffff", 2, -1),
        ];
        for (bytes, epoch, expires) in cases {
            let value = read_offset_value(&unhex(bytes)).unwrap();
            let wanted = OffsetValue { leader_epoch: epoch, expires: Timestamp(expires), ..plain() };
            assert_eq!(value, wanted, "{bytes}");
        }
    }

    fn unhex(text: &str) -> Bytes {
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b' ').collect();
        digits
            .chunks(2)
            .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
            .collect()
    }

    #[test]
    fn every_group_value_version_is_read() {
        let head =
            |version: &str| format!("{version} 0008 636f6e73756d6572 00000003 0005 72616e6765 0001 61");
        let member = "0001 61 0001 63 0001 68";
        let blobs = "00000001 01 00000001 02";
        let cases = [
            (format!("{} 00000001 {member} 00000064 {blobs}", head("0000")), -1, -1),
            (format!("{} 00000001 {member} 000000c8 00000064 {blobs}", head("0001")), 200, -1),
            (
                format!("{} 0000000000000009 00000001 {member} 000000c8 00000064 {blobs}", head("0002")),
                200,
                9,
            ),
            (
                format!(
                    "{} 0000000000000009 00000001 0001 61 ffff 0001 63 0001 68 000000c8 00000064 {blobs}",
                    head("0003")
                ),
                200,
                9,
            ),
            (
                "0004 09 636f6e73756d6572 00000003 06 72616e6765 02 61 0000000000000009 02 \
                 02 61 00 02 63 02 68 000000c8 00000064 02 01 02 02 00 00"
                    .to_owned(),
                200,
                9,
            ),
        ];
        for (bytes, rebalance_timeout_ms, since) in cases {
            let wanted = GroupValue {
                protocol_type: text("consumer"),
                generation: 3,
                protocol: Some(text("range")),
                leader: Some(text("a")),
                since: Timestamp(since),
                members: vec![MemberValue {
                    id: text("a"),
                    instance_id: None,
                    client_id: text("c"),
                    client_host: text("h"),
                    rebalance_timeout_ms,
                    session_timeout_ms: 100,
                    subscription: Bytes::from_static(&[1]),
                    assignment: Bytes::from_static(&[2]),
                }],
            };
            assert_eq!(read_group_value(&unhex(&bytes)), Ok(wanted), "{bytes}");
        }
    }

    #[test]
    fn other_kinds_of_key_are_passed_over_and_unknown_value_versions_refused() {
        for kind in [9u8, 18, 24, 99] {
            let entry = Entry { key: Bytes::from(vec![0, kind, 0, 1, b'g']), value: Some(Bytes::new()) };
            assert_eq!(Record::read(&entry), Ok(None));
        }
        let key = offset(plain()).write().key;
        let value = Some(Bytes::from_static(&[0, 5, 0, 0]));
        assert_eq!(Record::read(&Entry { key, value }), Err(Malformed::Version(5)));
    }

    #[test]
    fn a_claimed_count_beyond_the_bytes_is_refused_before_memory_is_taken() {
        let bytes = unhex("0003 0000 00000001 ffff ffff 0000000000000009 7fffffff");
        assert_eq!(read_group_value(&bytes), Err(Malformed::Length(i64::from(i32::MAX))));
    }

    #[test]
    fn members_of_nothing_but_lengths_are_refused_before_they_fill_the_memory() {
        let head = "0004 01 00000001 01 01 0000000000000009";
        let member = [1u8, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0];
        // 2^17 members; the varint of their count has three bytes.
        let mut bytes = [unhex(head).as_ref(), &[0x80, 0x80, 8]].concat();
        bytes.extend(member.repeat((1 << 17) - 1));
        bytes.push(0);
        assert_eq!(read_group_value(&Bytes::from(bytes.clone())), Err(Malformed::TooLarge(bytes.len())));
    }

    #[test]
    fn what_is_read_can_be_read_again_when_it_was_written() {
        let head = "0004 01 00000001 01 01 0000000000000009";
        let member = [1u8, 1, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1, 0];
        let value = |members: u16, tail: &[u8]| {
            let members = members + 1;
            let count = [u8::try_from(members & 0x7f).unwrap() | 0x80, u8::try_from(members >> 7).unwrap()];
            let members = member.repeat(usize::from(members - 1));
            Bytes::from([unhex(head).as_ref(), &count, &members, tail].concat())
        };
        let behind = [&[0u8][..], &vec![0; 500_000]].concat();
        // One tagged field of 500000 bytes.
        let tagged = [&[1u8, 9, 0xa0, 0xc2, 0x1e][..], &vec![0; 500_000]].concat();
        for (members, tail, fits) in [
            (6_000, &[0u8][..], true),
            (6_000, &behind[..], true),
            (6_000, &tagged[..], true),
            (9_000, &[0][..], false),
            (9_000, &behind[..], false),
            (9_000, &tagged[..], false),
        ] {
            let read = read_group_value(&value(members, tail));
            assert_eq!(read.is_ok(), fits, "{members} members, {} bytes behind", tail.len());
            if let Ok(read) = read {
                assert_eq!(read_group_value(&write_group_value(&read)), Ok(read));
            }
        }
    }

    #[test]
    fn strings_that_could_not_be_written_are_refused() {
        // The varint is the length and one.
        let value = |length: usize, varint: [u8; 3]| {
            let head = unhex("0004 0000000000000005 00000002");
            let text = vec![b'x'; length];
            Bytes::from([head.as_ref(), &varint, &text, &9i64.to_be_bytes(), &[0]].concat())
        };
        let longest = read_offset_value(&value(0x7fff, [0x80, 0x80, 0x02])).unwrap();
        assert_eq!(read_offset_value(&write_offset_value(&longest)), Ok(longest));
        assert_eq!(read_offset_value(&value(0x8000, [0x81, 0x80, 0x02])), Err(Malformed::Length(0x8000)));
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(
            names in proptest::collection::vec("[a-z]{0,9}", 4), numbers in any::<(i64, i32, i32)>(),
            since in any::<i64>(), blob in proptest::collection::vec(any::<u8>(), 0..40), instance in any::<bool>(),
        ) {
            let member = MemberValue {
                id: text(&names[0]), instance_id: instance.then(|| text(&names[1])), client_id: text(&names[2]),
                client_host: text(&names[3]), rebalance_timeout_ms: numbers.1, session_timeout_ms: numbers.2,
                subscription: Bytes::from(blob.clone()), assignment: Bytes::from(blob),
            };
            let group = GroupValue {
                protocol_type: text(&names[1]), generation: numbers.1, protocol: instance.then(|| text(&names[2])),
                leader: None, since: Timestamp(since), members: vec![member.clone(), member],
            };
            let value = OffsetValue {
                offset: numbers.0, leader_epoch: numbers.1, metadata: text(&names[0]), committed: Timestamp(since),
                expires: Timestamp::NONE, topic_id: if instance { TopicId::random_from(crate::io::random::uuid) } else { TopicId::ZERO },
            };
            for record in [
                Record::Group(text(&names[0]), Some(group)), Record::Group(text(&names[0]), None), offset(value),
            ] {
                prop_assert_eq!(Record::read(&record.write()), Ok(Some(record)));
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(key in proptest::collection::vec(any::<u8>(), 0..60),
                                              value in proptest::collection::vec(any::<u8>(), 0..200), kind in 0u8..4, version in 0u8..5) {
            let mut key = key;
            let mut value = value;
            key.splice(0..0, [0, kind]);
            value.splice(0..0, [0, version]);
            let read = Record::read(&Entry { key: Bytes::from(key), value: Some(Bytes::from(value)) });
            let again = |record: Record| Record::read(&record.write()) == Ok(Some(record));
            prop_assert!(read.ok().flatten().is_none_or(again));
        }
    }
}
