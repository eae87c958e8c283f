//! Ids of the things a cluster is made of, each with a type of its own.

use std::fmt;
use std::sync::Arc;
use uuid::Uuid;

/// A node of the cluster; Kafka writes -1 where there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BrokerId(pub i32);

impl BrokerId {
    /// What the protocol sends where there is no broker.
    pub const NONE: BrokerId = BrokerId(-1);
}

impl fmt::Display for BrokerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A partition's number within its topic, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartitionIndex(pub i32);

impl fmt::Display for PartitionIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The 128-bit id of a topic (KIP-516): survives restarts, changes when a topic is created anew.
/// Shown as Kafka shows it: URL-safe base64 without padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicId(pub Uuid);

impl TopicId {
    /// "No id" in requests and answers.
    pub const ZERO: TopicId = TopicId(Uuid::nil());
    /// The reserved id of `__cluster_metadata` (`Uuid.ONE_UUID` in Kafka).
    pub const METADATA: TopicId = TopicId(Uuid::from_u128(1));

    /// A fresh random id; see [`TopicId::random_from`].
    pub fn random() -> TopicId {
        TopicId::random_from(Uuid::new_v4)
    }

    /// A fresh random id, made from what `draw` gives; never one of the reserved ids, and never one whose text begins
    /// with `-`, as in Kafka's `Uuid.randomUuid`.
    pub fn random_from(mut draw: impl FnMut() -> Uuid) -> TopicId {
        loop {
            let id = TopicId(draw());
            if id.0.as_u128() > 1 && !id.to_string().starts_with('-') {
                return id;
            }
        }
    }

    /// Whether this is [`TopicId::ZERO`].
    pub fn is_zero(self) -> bool {
        self == TopicId::ZERO
    }

    /// Reads Kafka's base64 form; `None` when it is not 16 bytes of it.
    pub fn parse(text: &str) -> Option<TopicId> {
        let mut bits: u128 = 0;
        if text.len() != 22 {
            return None;
        }
        for (place, letter) in text.bytes().enumerate() {
            let digit = BASE64.iter().position(|known| *known == letter)?;
            let digit = u128::try_from(digit).ok()?;
            // 21 digits of 6 bits, then one digit whose upper 2 bits count.
            bits = if place < 21 { (bits << 6) | digit } else { (bits << 2) | (digit >> 4) };
        }
        Some(TopicId(Uuid::from_u128(bits)))
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.as_u128();
        for place in 0..22u32 {
            let digit = if place < 21 { (bits >> (122 - 6 * place)) & 63 } else { (bits & 3) << 4 };
            let letter = usize::try_from(digit).ok().and_then(|digit| BASE64.get(digit)).copied();
            write!(f, "{}", char::from(letter.expect("six bits index 64 letters")))?;
        }
        Ok(())
    }
}

/// A topic's name with a partition number: what a partition's folder is called after.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's number.
    pub partition: PartitionIndex,
}

impl TopicPartition {
    /// Joins a name and a number.
    pub fn new(topic: impl Into<Arc<str>>, partition: PartitionIndex) -> TopicPartition {
        TopicPartition { topic: topic.into(), partition }
    }
}

impl fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// A producer's id (KIP-98); -1 where a batch has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProducerId(pub i64);

impl ProducerId {
    /// What a batch of a producer without idempotence carries.
    pub const NONE: ProducerId = ProducerId(-1);
}

impl fmt::Display for ProducerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The incarnation of a producer id; a higher epoch fences the lower ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProducerEpoch(pub i16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topic_ids_read_and_write_kafkas_text() {
        assert_eq!(TopicId::ZERO.to_string(), "AAAAAAAAAAAAAAAAAAAAAA");
        assert_eq!(TopicId::METADATA.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        for _ in 0..100 {
            let id = TopicId::random();
            assert_eq!(TopicId::parse(&id.to_string()), Some(id));
        }
        assert_eq!(TopicId::parse("too short"), None);
        assert_eq!(TopicId::parse("AAAAAAAAAAAAAAAAAAAA!A"), None);
    }
}
