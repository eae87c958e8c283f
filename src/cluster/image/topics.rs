//! Topics and their partitions, by name and by id.

use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::cluster::records::NO_LEADER_CHANGE;
use crate::cluster::records::PartitionChangeRecord;
use crate::cluster::records::PartitionRecord;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use uuid::Uuid;

/// Topics that the brokers keep for themselves; Metadata marks them (Kafka's `Topic.isInternal`).
const INTERNAL: [&str; 3] = ["__consumer_offsets", "__transaction_state", "__share_group_state"];

/// Whether brokers keep this topic for themselves.
pub fn is_internal(topic: &str) -> bool {
    INTERNAL.contains(&topic)
}

/// A topic.
#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    /// Its id: another one when it is created anew.
    pub id: TopicId,
    /// Its name.
    pub name: Arc<str>,
    /// Its partitions, sorted by index.
    pub partitions: Vec<Partition>,
}

impl Topic {
    /// Whether brokers keep this topic for themselves.
    pub fn internal(&self) -> bool {
        is_internal(&self.name)
    }

    /// One partition.
    pub fn partition(&self, index: PartitionIndex) -> Option<&Partition> {
        self.place(index).ok().and_then(|place| self.partitions.get(place))
    }

    /// Where the partition lies in `partitions`, or where it belongs.
    fn place(&self, index: PartitionIndex) -> Result<usize, usize> {
        // Indexes are consecutive from 0 except half-way through a replay.
        if let Ok(guess) = usize::try_from(index.0)
            && self.partitions.get(guess).is_some_and(|partition| partition.index == index)
        {
            return Ok(guess);
        }
        self.partitions.binary_search_by_key(&index, |partition| partition.index)
    }

    pub(super) fn put(&mut self, partition: Partition) {
        match self.place(partition.index) {
            Ok(place) => {
                if let Some(slot) = self.partitions.get_mut(place) {
                    *slot = partition;
                }
            }
            Err(place) => self.partitions.insert(place, partition),
        }
    }

    pub(super) fn partition_mut(&mut self, index: PartitionIndex) -> Option<&mut Partition> {
        let place = self.place(index).ok()?;
        self.partitions.get_mut(place)
    }
}

/// A partition's state as the controller decided it.
#[derive(Clone, Debug, PartialEq)]
pub struct Partition {
    /// Its number.
    pub index: PartitionIndex,
    /// All replicas, the preferred leader first.
    pub replicas: Vec<BrokerId>,
    /// The replicas in sync.
    pub isr: Vec<BrokerId>,
    /// What a reassignment takes away.
    pub removing_replicas: Vec<BrokerId>,
    /// What a reassignment adds.
    pub adding_replicas: Vec<BrokerId>,
    /// Replicas that may lead though they are out of sync (KIP-966).
    pub elr: Vec<BrokerId>,
    /// The last replica known in sync.
    pub last_known_elr: Vec<BrokerId>,
    /// The leader, or [`BrokerId::NONE`].
    pub leader: BrokerId,
    /// Whether the leader still recovers from an unclean election.
    pub recovering: bool,
    /// Counts the leaders.
    pub leader_epoch: LeaderEpoch,
    /// Counts all changes.
    pub partition_epoch: i32,
    /// The log directory of each replica, in the order of `replicas`; empty when not known.
    pub directories: Vec<Uuid>,
}

impl Partition {
    /// Whether a reassignment is under way.
    pub fn is_reassigning(&self) -> bool {
        !self.adding_replicas.is_empty() || !self.removing_replicas.is_empty()
    }

    pub(super) fn from_record(record: &PartitionRecord) -> Partition {
        Partition {
            index: record.partition_id,
            replicas: record.replicas.clone(),
            isr: record.isr.clone(),
            removing_replicas: record.removing_replicas.clone(),
            adding_replicas: record.adding_replicas.clone(),
            elr: record.eligible_leader_replicas.clone().unwrap_or_default(),
            last_known_elr: record.last_known_elr.clone().unwrap_or_default(),
            leader: record.leader,
            recovering: record.leader_recovery_state == 1,
            leader_epoch: record.leader_epoch,
            partition_epoch: record.partition_epoch,
            directories: record.directories.clone(),
        }
    }

    /// The record of this whole state.
    pub fn to_record(&self, topic_id: TopicId) -> PartitionRecord {
        let some = |replicas: &Vec<BrokerId>| (!replicas.is_empty()).then(|| replicas.clone());
        PartitionRecord {
            partition_id: self.index,
            topic_id,
            replicas: self.replicas.clone(),
            isr: self.isr.clone(),
            removing_replicas: self.removing_replicas.clone(),
            adding_replicas: self.adding_replicas.clone(),
            leader: self.leader,
            leader_epoch: self.leader_epoch,
            partition_epoch: self.partition_epoch,
            directories: self.directories.clone(),
            leader_recovery_state: i8::from(self.recovering),
            eligible_leader_replicas: some(&self.elr),
            last_known_elr: some(&self.last_known_elr),
        }
    }

    /// As `PartitionRegistration.merge` in Kafka: a named leader raises the leader epoch, even the same leader;
    /// every change raises the partition epoch.
    pub(super) fn merge(&mut self, change: &PartitionChangeRecord) {
        let set = |part: &mut Vec<BrokerId>, new: &Option<Vec<BrokerId>>| {
            if let Some(new) = new {
                part.clone_from(new);
            }
        };
        set(&mut self.isr, &change.isr);
        set(&mut self.replicas, &change.replicas);
        set(&mut self.removing_replicas, &change.removing_replicas);
        set(&mut self.adding_replicas, &change.adding_replicas);
        set(&mut self.elr, &change.eligible_leader_replicas);
        set(&mut self.last_known_elr, &change.last_known_elr);
        if let Some(directories) = &change.directories {
            self.directories.clone_from(directories);
        }
        if change.leader != NO_LEADER_CHANGE {
            self.leader = change.leader;
            self.leader_epoch = LeaderEpoch(self.leader_epoch.0.saturating_add(1));
        }
        match change.leader_recovery_state {
            0 => self.recovering = false,
            1 => self.recovering = true,
            _ => {}
        }
        self.partition_epoch = self.partition_epoch.saturating_add(1);
    }
}

/// All topics.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Topics {
    names: BTreeMap<Arc<str>, Arc<Topic>>,
    ids: HashMap<TopicId, Arc<str>>,
    /// Names with `.` or `_`, under the name with all `.` made `_`.
    collisions: BTreeMap<String, BTreeSet<Arc<str>>>,
}

impl Topics {
    pub(super) fn by_name(&self, name: &str) -> Option<&Arc<Topic>> {
        self.names.get(name)
    }

    pub(super) fn by_id(&self, id: TopicId) -> Option<&Arc<Topic>> {
        self.names.get(self.ids.get(&id)?)
    }

    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = &Arc<Topic>> {
        self.names.values()
    }

    pub(super) fn iter_from(&self, first: &str) -> impl Iterator<Item = &Arc<Topic>> {
        self.names.range::<str, _>((Bound::Included(first), Bound::Unbounded)).map(|(_, topic)| topic)
    }

    pub(super) fn colliding(&self, name: &str) -> Option<&Arc<Topic>> {
        let colliding = self.collisions.get(&unify(name)?)?;
        self.by_name(colliding.first()?)
    }

    /// Adds a topic; false when its name or id is taken.
    pub(super) fn add(&mut self, id: TopicId, name: &str) -> bool {
        if self.names.contains_key(name) || self.ids.contains_key(&id) {
            return false;
        }
        let name: Arc<str> = Arc::from(name);
        if let Some(unified) = unify(&name) {
            self.collisions.entry(unified).or_default().insert(Arc::clone(&name));
        }
        self.ids.insert(id, Arc::clone(&name));
        let topic = Topic { id, name: Arc::clone(&name), partitions: Vec::new() };
        self.names.insert(name, Arc::new(topic));
        true
    }

    pub(super) fn remove(&mut self, id: TopicId) -> Option<Arc<Topic>> {
        let topic = self.names.remove(&self.ids.remove(&id)?)?;
        if let Some(unified) = unify(&topic.name)
            && let Some(names) = self.collisions.get_mut(&unified)
        {
            names.remove(&topic.name);
            if names.is_empty() {
                self.collisions.remove(&unified);
            }
        }
        Some(topic)
    }

    pub(super) fn by_id_mut(&mut self, id: TopicId) -> Option<&mut Topic> {
        self.names.get_mut(self.ids.get(&id)?).map(Arc::make_mut)
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Arc<Topic>> {
        self.names.values_mut()
    }

    pub(super) fn by_name_mut(&mut self, name: &str) -> Option<&mut Topic> {
        self.names.get_mut(name).map(Arc::make_mut)
    }
}

/// The name with all `.` made `_`, when it has one of the two.
fn unify(name: &str) -> Option<String> {
    name.contains(['.', '_']).then(|| name.replace('.', "_"))
}
