//! The blobs that members of a classic group exchange: subscription and assignment (ConsumerProtocol v0-3).
//!
//! The broker passes them on unchanged; it reads them to tell which topics a group is subscribed to.

use crate::protocol::error::Error;
use crate::protocol::guard;
use crate::protocol::wire::Reader;
use crate::protocol::wire::mended;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// What a member wants to consume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// The topics.
    pub topics: Vec<StrBytes>,
    /// The assignor's own bytes.
    pub user_data: Option<Bytes>,
    /// The partitions that the member has (version 1 on, KIP-429).
    pub owned: Vec<TopicPartitions>,
    /// The generation in which it had them (version 2 on, KIP-792), -1 when not told.
    pub generation_id: i32,
    /// Where the member is (version 3 on, KIP-881).
    pub rack_id: Option<StrBytes>,
}

/// What a member is to consume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The partitions.
    pub partitions: Vec<TopicPartitions>,
    /// The assignor's own bytes.
    pub user_data: Option<Bytes>,
}

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicPartitions {
    /// The topic's name.
    pub topic: StrBytes,
    /// The partitions' numbers.
    pub partitions: Vec<i32>,
}

/// Reads a subscription. A version above 3 is read as 3: versions only add fields at the end.
///
/// # Errors
/// When the bytes are no subscription, which is a client's own affair unless the broker needs to know.
pub fn subscription(payload: Bytes) -> Result<Subscription, Error> {
    let mut budget = Budget::of(&payload);
    let mut reader = Reader::new(payload, false);
    let version = version(&mut reader)?;
    let count = reader.count(2, "Topics")?;
    budget.charge::<StrBytes>(count, "Topics")?;
    let mut topics = Vec::with_capacity(count);
    for _ in 0..count {
        topics.push(string(&mut reader, &mut budget, "Topics")?);
    }
    let user_data = reader.nullable_bytes("UserData")?;
    Ok(Subscription {
        topics,
        user_data,
        owned: if version >= 1 { topic_partitions(&mut reader, &mut budget)? } else { Vec::new() },
        generation_id: if version >= 2 { reader.i32("GenerationId")? } else { -1 },
        rack_id: if version >= 3 { reader.nullable_string("RackId")? } else { None },
    })
}

/// Reads an assignment. A version above 3 is read as 3.
///
/// # Errors
/// When the bytes are no assignment.
pub fn assignment(payload: Bytes) -> Result<Assignment, Error> {
    let mut budget = Budget::of(&payload);
    let mut reader = Reader::new(payload, false);
    version(&mut reader)?;
    let partitions = topic_partitions(&mut reader, &mut budget)?;
    Ok(Assignment { partitions, user_data: reader.nullable_bytes("UserData")? })
}

/// Bytes that the decoded form may still take; as for requests, see [`guard`].
struct Budget(usize);

/// What a copy of a string takes beside its text.
const COPY_EXTRA: usize = 64;

impl Budget {
    fn of(payload: &Bytes) -> Budget {
        Budget(payload.len().saturating_mul(guard::DECODED_RATIO).saturating_add(guard::DECODED_SLACK))
    }

    fn charge<T>(&mut self, count: usize, field: &'static str) -> Result<(), Error> {
        let left = self.0.checked_sub(count.saturating_mul(size_of::<T>()));
        self.0 = left.ok_or(Error::Malformed { field, what: "far larger when decoded" })?;
        Ok(())
    }
}

fn version(reader: &mut Reader) -> Result<i16, Error> {
    match reader.i16("Version")? {
        version if version < 0 => Err(Error::Malformed { field: "Version", what: "negative version" }),
        version => Ok(version.min(3)),
    }
}

/// A string; one that is no UTF-8 is a copy with U+FFFD in it, three bytes for one at most, and no slice of the payload.
fn string(reader: &mut Reader, budget: &mut Budget, field: &'static str) -> Result<StrBytes, Error> {
    let bytes = reader.string_bytes(field)?;
    let bytes = bytes.ok_or(Error::Malformed { field, what: "null where none is allowed" })?;
    if std::str::from_utf8(&bytes).is_err() {
        budget.charge::<u8>(3 * bytes.len() + COPY_EXTRA, field)?;
    }
    Ok(mended(bytes))
}

fn topic_partitions(reader: &mut Reader, budget: &mut Budget) -> Result<Vec<TopicPartitions>, Error> {
    let count = reader.count(6, "TopicPartitions")?;
    budget.charge::<TopicPartitions>(count, "TopicPartitions")?;
    let mut all = Vec::with_capacity(count);
    for _ in 0..count {
        let topic = string(reader, budget, "Topic")?;
        let count = reader.count(4, "Partitions")?;
        budget.charge::<i32>(count, "Partitions")?;
        let partitions = reader.i32s(count, "Partitions")?;
        all.push(TopicPartitions { topic, partitions });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BufMut;
    use bytes::BytesMut;
    use kafka_protocol::messages::ConsumerProtocolAssignment;
    use kafka_protocol::messages::ConsumerProtocolSubscription;
    use kafka_protocol::messages::TopicName;
    use kafka_protocol::messages::consumer_protocol_assignment;
    use kafka_protocol::messages::consumer_protocol_subscription;
    use kafka_protocol::protocol::Encodable;

    fn encoded(version: i16, message: &impl Encodable) -> Bytes {
        let mut bytes = BytesMut::new();
        bytes.put_i16(version);
        message.encode(&mut bytes, version.min(3)).unwrap();
        bytes.freeze()
    }

    #[test]
    fn subscriptions_of_every_version_are_read() {
        for version in 0..=5i16 {
            let mut sent = ConsumerProtocolSubscription::default();
            sent.topics = vec!["a".into(), "b".into()];
            sent.user_data = Some(Bytes::from_static(b"x"));
            if version >= 1 {
                let mut owned = consumer_protocol_subscription::TopicPartition::default();
                owned.topic = TopicName("a".into());
                owned.partitions = vec![1, 2];
                sent.owned_partitions = vec![owned];
            }
            sent.generation_id = if version >= 2 { 7 } else { -1 };
            sent.rack_id = (version >= 3).then(|| "r".into());
            let read = subscription(encoded(version, &sent)).unwrap();
            assert_eq!(read.topics, sent.topics);
            assert_eq!(read.user_data, sent.user_data);
            assert_eq!(read.owned.len(), sent.owned_partitions.len());
            assert_eq!(read.generation_id, sent.generation_id);
            assert_eq!(read.rack_id, sent.rack_id);
        }
    }

    #[test]
    fn assignments_are_read_and_foreign_bytes_refused() {
        let mut sent = ConsumerProtocolAssignment::default();
        let mut part = consumer_protocol_assignment::TopicPartition::default();
        part.topic = TopicName("a".into());
        part.partitions = vec![3];
        sent.assigned_partitions = vec![part];
        let read = assignment(encoded(1, &sent)).unwrap();
        assert_eq!(read.partitions, vec![TopicPartitions { topic: "a".into(), partitions: vec![3] }]);
        assert_eq!(read.user_data, None);
        for bytes in [&b""[..], b"\0", b"\0\0\x7f\xff\xff\xff", b"\xff\xff\0\0\0\0", b"connect protocol"] {
            assert!(subscription(Bytes::from_static(bytes)).is_err());
            assert!(assignment(Bytes::from_static(bytes)).is_err());
        }
    }

    #[test]
    fn many_names_of_nothing_are_refused_before_they_fill_the_memory() {
        let blob = |element: usize| {
            let mut bytes = vec![0, 0, 0, 0x0f, 0x42, 0x40];
            bytes.resize(6 + 1_000_000 * element, 0);
            Bytes::from(bytes)
        };
        assert!(subscription(blob(2)).is_err());
        assert!(assignment(blob(6)).is_err());
    }

    #[test]
    fn mended_names_and_numbers_of_partitions_count_as_memory() {
        // So many empty names that the memory for them is almost used up.
        let subscribed = |letter: u8| {
            let name = [&[0x03, 0xe8][..], &[letter; 1000]].concat();
            let (empty, names) = (vec![0; 2 * 50_000], name.repeat(100));
            Bytes::from([&[0, 0][..], &50_100u32.to_be_bytes(), &empty, &names, &[255; 4]].concat())
        };
        assert!(subscription(subscribed(b'x')).is_ok(), "slices of the payload");
        assert!(subscription(subscribed(255)).is_err(), "three bytes for each of a payload's");
        let assigned = |count: u32| {
            let (empty, numbers) = (vec![0; 6 * 40_000], 5u32.to_be_bytes().repeat(count as usize));
            let last = [&[0, 0][..], &count.to_be_bytes(), &numbers].concat();
            Bytes::from([&[0, 0][..], &40_001u32.to_be_bytes(), &empty, &last, &[255; 4]].concat())
        };
        assert!(assignment(assigned(25_000)).is_ok(), "its own bytes pay for the numbers");
        assert!(assignment(assigned(17_000)).is_err());
    }
}
