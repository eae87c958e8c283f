//! What a group subscribes to, and the hash by which a change of it is noticed (KIP-1101, `Utils.computeGroupHash`).

use crate::base::TopicId;
use crate::cluster::Image;
use crate::cluster::Topic;
use crate::groups::consumer::group::Group;
use crate::groups::consumer::member::Member;
use std::collections::BTreeSet;
use std::sync::Arc;
use twox_hash::XxHash3_64;

/// The topics that a member reads by name or by its pattern, as far as they exist.
pub(crate) fn topics_of(group: &Group, member: &Member, image: &Image) -> BTreeSet<TopicId> {
    let matched = member.pattern().and_then(|pattern| group.resolved(pattern));
    let matched = matched.into_iter().flat_map(|value| value.topics.iter());
    member.topics.iter().chain(matched).filter_map(|name| image.topic(name)).map(|topic| topic.id).collect()
}

/// The hash of all that counts for assignments: ids, names, numbers of partitions and racks of the subscribed topics.
pub(crate) fn metadata_hash(group: &Group, image: &Image) -> i64 {
    hash_of(group.subscribed_topics(), image)
}

/// The same of the topics with these names, sorted.
pub(crate) fn hash_of<'a>(names: impl IntoIterator<Item = &'a Arc<str>>, image: &Image) -> i64 {
    let topics: Vec<&Arc<Topic>> = names.into_iter().filter_map(|name| image.topic(name)).collect();
    if topics.is_empty() {
        return 0;
    }
    let mut stream = Stream::default();
    for topic in topics {
        stream.long(topic_hash(topic, image));
    }
    stream.hash()
}

fn topic_hash(topic: &Topic, image: &Image) -> i64 {
    let mut stream = Stream::default();
    // The version of the hash.
    stream.bytes.push(0);
    let (high, low) = topic.id.0.as_u64_pair();
    stream.long(high.cast_signed());
    stream.long(low.cast_signed());
    stream.text(&topic.name);
    stream.int(topic.partitions.len());
    for (number, partition) in topic.partitions.iter().enumerate() {
        stream.int(number);
        let mut racks: Vec<&str> =
            partition.replicas.iter().filter_map(|id| image.broker(*id)?.rack.as_deref()).collect();
        racks.sort_unstable();
        for rack in racks {
            stream.int(rack.encode_utf16().count());
            stream.text(rack);
        }
    }
    stream.hash()
}

/// The bytes that Kafka's hash library feeds to XXH3: numbers with the low byte first, texts as UTF-16 and their length
/// behind.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
}

impl Stream {
    fn int(&mut self, number: usize) {
        self.bytes.extend(u32::try_from(number).unwrap_or(u32::MAX).to_le_bytes());
    }

    fn long(&mut self, number: i64) {
        self.bytes.extend(number.to_le_bytes());
    }

    fn text(&mut self, text: &str) {
        let before = self.bytes.len();
        text.encode_utf16().for_each(|unit| self.bytes.extend(unit.to_le_bytes()));
        self.int((self.bytes.len() - before) / 2);
    }

    fn hash(&self) -> i64 {
        XxHash3_64::oneshot(&self.bytes).cast_signed()
    }
}
