//! Assignors: who of a group's members gets which partitions, as pure functions.
//!
//! An assignor knows the members with their topics and what each has now, and how many partitions there are. It gives
//! every partition of a subscribed topic to a member that subscribes to the topic. Nothing here knows racks: Kafka's
//! own assignors have not looked at them since 4.0.

mod range;
mod simple;
pub(crate) mod sticky;
mod uniform;

#[cfg(test)]
mod tests;

pub use simple::simple;

use crate::base::TopicId;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Partitions by topic.
pub type Partitions = BTreeMap<TopicId, BTreeSet<i32>>;

/// Which member gets what; members that get nothing may be left out.
pub type Assignment = BTreeMap<Arc<str>, Partitions>;

/// A member as assignors see it.
#[derive(Clone, Debug)]
pub struct Member {
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// The topics it subscribes to; each is in [`Group::partitions`].
    pub topics: Arc<BTreeSet<TopicId>>,
    /// What it is to have by the assignment before.
    pub assigned: Arc<Partitions>,
}

/// What there is to assign.
#[derive(Clone, Debug, Default)]
pub struct Group {
    /// The members by id.
    pub members: BTreeMap<Arc<str>, Member>,
    /// How many partitions each subscribed topic has.
    pub partitions: BTreeMap<TopicId, i32>,
}

impl Group {
    /// Whether all members subscribe to the same topics.
    fn is_homogeneous(&self) -> bool {
        let mut topics = self.members.values().map(|member| &member.topics);
        let Some(first) = topics.next() else { return true };
        topics.all(|other| Arc::ptr_eq(first, other) || first == other)
    }
}

/// An assignor by its name in requests and settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assignor {
    /// Equal shares, and as few moves as possible.
    Uniform,
    /// Ranges of each topic, the same of all topics where that can be.
    Range,
}

impl Assignor {
    /// The assignor with this name, or with this name of Kafka's class for it.
    pub fn named(name: &str) -> Option<Assignor> {
        match name.strip_prefix("org.apache.kafka.coordinator.group.assignor.").unwrap_or(name) {
            "uniform" | "UniformAssignor" => Some(Assignor::Uniform),
            "range" | "RangeAssignor" => Some(Assignor::Range),
            _ => None,
        }
    }

    /// Its name in requests.
    pub fn name(self) -> &'static str {
        match self {
            Assignor::Uniform => "uniform",
            Assignor::Range => "range",
        }
    }

    /// Assigns every partition.
    pub fn assign(self, group: &Group) -> Assignment {
        match self {
            Assignor::Uniform => uniform::assign(group),
            Assignor::Range => range::assign(group),
        }
    }
}
