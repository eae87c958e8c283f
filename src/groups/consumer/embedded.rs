//! What members of the classic protocol send each other (`ConsumerProtocol`), as far as the coordinator takes part when
//! such members are in a consumer group: it reads their subscriptions and writes their assignments.

use crate::base::PartitionIndex;
use crate::cluster::Image;
use crate::coordinator::Writer;
use crate::groups::assign::Partitions;
use crate::protocol::client_payload;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The newest version of both blobs.
const LATEST: i16 = 3;

/// A member's subscription.
pub(crate) struct Subscription {
    pub(crate) topics: BTreeSet<Arc<str>>,
    pub(crate) owned: Partitions,
    pub(crate) rack_id: Option<Arc<str>>,
}

/// Reads a subscription; topics that do not exist own nothing.
pub(crate) fn subscription(blob: &Bytes, image: &Image) -> Option<Subscription> {
    let read = client_payload::subscription(blob.clone()).ok()?;
    Some(Subscription {
        topics: read.topics.iter().map(|topic| Arc::from(topic.as_str())).collect(),
        owned: by_id(&read.owned, image),
        rack_id: read.rack_id.as_ref().map(|rack| Arc::from(rack.as_str())),
    })
}

/// Why an assignment cannot be taken over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    /// It is no assignment.
    Malformed,
    /// A custom assignor put data of its own in, which would be lost.
    UserData,
}

/// Reads an assignment; partitions that do not exist are left out.
pub(crate) fn assignment(blob: &Bytes, image: &Image) -> Result<Partitions, Foreign> {
    if blob.is_empty() {
        return Ok(Partitions::new());
    }
    let read = client_payload::assignment(blob.clone()).map_err(|_| Foreign::Malformed)?;
    if read.user_data.is_some_and(|data| !data.is_empty()) {
        return Err(Foreign::UserData);
    }
    Ok(by_id(&read.partitions, image))
}

fn by_id(all: &[client_payload::TopicPartitions], image: &Image) -> Partitions {
    let mut partitions = Partitions::new();
    for one in all {
        let Some(topic) = image.topic(&one.topic) else { continue };
        let exists = |index: &&i32| topic.partition(PartitionIndex(**index)).is_some();
        partitions.entry(topic.id).or_default().extend(one.partitions.iter().filter(exists));
    }
    partitions
}

/// The version of a blob, as far as it can be told.
pub(crate) fn version(blob: &Bytes) -> i16 {
    let version = blob.get(..2).and_then(|head| <[u8; 2]>::try_from(head).ok()).map(i16::from_be_bytes);
    version.unwrap_or(0).clamp(0, LATEST)
}

/// Writes an assignment; partitions of topics that are gone are left out.
pub(crate) fn write_assignment(version: i16, partitions: &Partitions, image: &Image) -> Bytes {
    let topics: Vec<_> =
        partitions.iter().filter_map(|(id, all)| Some((image.topic_by_id(*id)?, all))).collect();
    let mut out = Writer::new(version);
    out.count(topics.len());
    for (topic, all) in topics {
        out.string(&topic.name);
        out.count(all.len());
        all.iter().for_each(|partition| out.i32(*partition));
    }
    // No data of an assignor's own.
    out.i32(-1);
    out.finish()
}
