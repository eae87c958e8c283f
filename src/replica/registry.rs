//! All partitions that have a replica on this node, found by topic id or name without a copy of the name.

use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::cluster::Image;
use crate::replica::error::Error;
use crate::replica::partition::Partition;
use arc_swap::ArcSwap;
use dashmap::DashMap;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is here of one partition.
#[derive(Clone, Debug)]
pub(super) enum Hosted {
    /// It serves.
    Online(Arc<Partition>),
    /// Its log could not be opened.
    Offline,
}

/// The partitions of one topic that are here.
#[derive(Debug)]
pub(super) struct Hosting {
    pub(super) id: TopicId,
    pub(super) name: Arc<str>,
    partitions: ArcSwap<BTreeMap<PartitionIndex, Hosted>>,
}

/// The partitions that are here. Only `reconcile` changes it.
#[derive(Debug, Default)]
pub(super) struct Registry {
    by_id: DashMap<TopicId, Arc<Hosting>>,
    by_name: DashMap<Arc<str>, Arc<Hosting>>,
}

impl Registry {
    /// The partition of this topic id.
    pub(super) fn by_id(&self, id: TopicId, index: PartitionIndex) -> Option<Hosted> {
        let hosting = self.by_id.get(&id)?;
        hosting.partitions.load().get(&index).cloned()
    }

    /// The partition of this topic name.
    pub(super) fn by_name(&self, name: &str, index: PartitionIndex) -> Option<Hosted> {
        let hosting = self.by_name.get(name)?;
        hosting.partitions.load().get(&index).cloned()
    }

    /// Adds what was opened of a topic.
    pub(super) fn put(&self, id: TopicId, name: &Arc<str>, opened: Vec<(PartitionIndex, Hosted)>) {
        if opened.is_empty() {
            return;
        }
        let hosting = Arc::clone(&self.by_id.entry(id).or_insert_with(|| {
            let (name, partitions) = (Arc::clone(name), ArcSwap::default());
            Arc::new(Hosting { id, name, partitions })
        }));
        let mut partitions = hosting.partitions.load().as_ref().clone();
        partitions.extend(opened);
        hosting.partitions.store(Arc::new(partitions));
        self.by_name.insert(Arc::clone(&hosting.name), hosting);
    }

    /// Takes out one partition.
    pub(super) fn take(&self, id: TopicId, index: PartitionIndex) -> Option<Hosted> {
        let hosting = self.by_id.get(&id)?;
        let mut partitions = hosting.partitions.load().as_ref().clone();
        let taken = partitions.remove(&index);
        hosting.partitions.store(Arc::new(partitions));
        taken
    }

    /// Takes out a whole topic.
    pub(super) fn take_topic(&self, id: TopicId) -> Vec<(PartitionIndex, Hosted)> {
        let Some((_, hosting)) = self.by_id.remove(&id) else { return Vec::new() };
        // The name may already belong to a topic that was created anew.
        self.by_name.remove_if(&hosting.name, |_, named| named.id == id);
        hosting.partitions.load().iter().map(|(index, hosted)| (*index, hosted.clone())).collect()
    }

    /// What is here of one topic.
    pub(super) fn topic(&self, id: TopicId) -> Vec<(PartitionIndex, Hosted)> {
        let Some(hosting) = self.by_id.get(&id) else { return Vec::new() };
        hosting.partitions.load().iter().map(|(index, hosted)| (*index, hosted.clone())).collect()
    }

    /// How many partitions could not be opened.
    pub(super) fn offline(&self) -> usize {
        let of = |hosting: &Hosting| {
            hosting.partitions.load().values().filter(|hosted| matches!(hosted, Hosted::Offline)).count()
        };
        self.by_id.iter().map(|hosting| of(&hosting)).sum()
    }

    /// Every partition that serves.
    pub(super) fn online(&self) -> Vec<Arc<Partition>> {
        let mut all = Vec::new();
        for hosting in &self.by_id {
            all.extend(hosting.partitions.load().values().filter_map(|hosted| match hosted {
                Hosted::Online(partition) => Some(Arc::clone(partition)),
                Hosted::Offline => None,
            }));
        }
        all
    }
}

/// What is answered for a partition that is or is not here.
pub(super) fn found(hosted: Option<Hosted>, known: impl FnOnce() -> Error) -> Result<Arc<Partition>, Error> {
    match hosted {
        Some(Hosted::Online(partition)) => Ok(partition),
        Some(Hosted::Offline) => Err(Error::Offline),
        None => Err(known()),
    }
}

/// Why a partition named by topic name is not here.
pub(super) fn missing_name(image: &Image, name: &str, index: PartitionIndex) -> Error {
    match image.partition(name, index) {
        Some(_) => Error::NotLeaderOrFollower,
        None => Error::UnknownTopicOrPartition,
    }
}

/// Why a partition named by topic id is not here.
pub(super) fn missing_id(image: &Image, id: TopicId, index: PartitionIndex) -> Error {
    match image.topic_by_id(id) {
        None => Error::UnknownTopicId,
        Some(topic) if topic.partition(index).is_none() => Error::UnknownTopicOrPartition,
        Some(_) => Error::NotLeaderOrFollower,
    }
}
