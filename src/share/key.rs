//! What names a share-partition: a group's part in a partition (class `SharePartitionKey`).

use crate::base::PartitionIndex;
use crate::base::TopicId;
use std::fmt;
use std::sync::Arc;

/// A group and a partition of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// The group.
    pub group: Arc<str>,
    /// The topic.
    pub topic: TopicId,
    /// The partition.
    pub partition: PartitionIndex,
}

impl Key {
    /// The key in this text, as FindCoordinator carries it: `group:topic id:partition`. The group may contain colons.
    pub fn parse(text: &str) -> Option<Key> {
        let mut parts = text.rsplitn(3, ':');
        let partition = parts.next()?.parse().ok()?;
        let topic = TopicId::parse(parts.next()?)?;
        let group = parts.next().filter(|group| !group.trim().is_empty())?;
        Some(Key { group: Arc::from(group), topic, partition: PartitionIndex(partition) })
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.group, self.topic, self.partition)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_are_written() {
        let key = Key { group: Arc::from("a:b"), topic: TopicId::METADATA, partition: PartitionIndex(3) };
        assert_eq!(key.to_string(), "a:b:AAAAAAAAAAAAAAAAAAAAAQ:3");
        assert_eq!(Key::parse(&key.to_string()), Some(key));
        for bad in ["", "a", "a:b", ":AAAAAAAAAAAAAAAAAAAAAQ:3", "g:short:3", "g:AAAAAAAAAAAAAAAAAAAAAQ:x"] {
            assert_eq!(Key::parse(bad), None, "{bad}");
        }
    }
}
