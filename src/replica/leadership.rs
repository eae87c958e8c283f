//! Which partitions of a topic this node leads, published for those whose work follows leadership (coordinators).

use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::watch;

/// The partitions of one topic that this node leads, each with its epoch.
pub type Led = Arc<BTreeMap<PartitionIndex, LeaderEpoch>>;

/// One watch for each topic that somebody follows.
#[derive(Debug, Default)]
pub(super) struct Leaderships {
    topics: Mutex<HashMap<String, watch::Sender<Led>>>,
}

impl Leaderships {
    /// Follows a topic; `current` is what is led of it now.
    pub(super) fn follow(&self, topic: &str, current: impl FnOnce() -> Led) -> watch::Receiver<Led> {
        let mut topics = self.topics.lock();
        if let Some(sender) = topics.get(topic) {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(current());
        topics.insert(topic.to_owned(), sender);
        receiver
    }

    /// Publishes what changed; `led` tells what is led of a topic now.
    pub(super) fn publish(&self, led: impl Fn(&str) -> Led) {
        for (topic, sender) in self.topics.lock().iter() {
            let now = led(topic);
            sender.send_if_modified(|before| {
                let changed = *before != now;
                *before = now;
                changed
            });
        }
    }
}
