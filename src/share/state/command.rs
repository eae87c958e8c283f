//! What the share coordinator is asked, and what it answers.

use crate::base::TopicId;
use crate::share::Failure;
use crate::share::Key;
use crate::share::state::batches::Batch;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What is asked. `known` says whether the cluster has such a partition.
#[derive(Clone, Debug)]
pub enum Command {
    /// A share-partition begins (InitializeShareGroupState).
    Initialize(Initialize),
    /// A leader begins to work with it (ReadShareGroupState).
    Read(Read),
    /// Its leader says what changed (WriteShareGroupState).
    Write(Write),
    /// It is forgotten (DeleteShareGroupState).
    Delete(Key, bool),
    /// How far it is (ReadShareGroupStateSummary).
    Summarize(Key, bool),
    /// These topics are no more.
    TopicsDeleted(Arc<BTreeSet<TopicId>>),
    /// The offset before which nothing in the log is needed.
    Redundant,
}

/// See [`Command::Initialize`].
#[derive(Clone, Debug)]
pub struct Initialize {
    /// The share-partition.
    pub key: Key,
    /// The epoch of the state: of the group when it began.
    pub state_epoch: i32,
    /// Where the group's records begin; -1 leaves that to the first leader.
    pub start: i64,
    /// Whether the cluster has the partition.
    pub known: bool,
}

/// See [`Command::Read`].
#[derive(Clone, Debug)]
pub struct Read {
    /// The share-partition.
    pub key: Key,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// Whether the cluster has the partition.
    pub known: bool,
}

/// See [`Command::Write`].
#[derive(Clone, Debug)]
pub struct Write {
    /// The share-partition.
    pub key: Key,
    /// The epoch of the state that the leader read.
    pub state_epoch: i32,
    /// The leader's epoch.
    pub leader_epoch: i32,
    /// Where the group's records begin; -1 when that is not said.
    pub start: i64,
    /// How many records from there on are dealt with; -1 when that is not said.
    pub complete: i32,
    /// What changed.
    pub batches: Vec<Batch>,
    /// Whether the cluster has the partition.
    pub known: bool,
}

/// What a leader begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The epoch of the state.
    pub state_epoch: i32,
    /// Where the group's records begin; -1 when nobody has said it yet.
    pub start: i64,
    /// The records from there on that something is known of.
    pub batches: Vec<Batch>,
}

/// How far a share-partition is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary {
    /// The epoch of the state.
    pub state_epoch: i32,
    /// The epoch of the leader that wrote last.
    pub leader_epoch: i32,
    /// Where the group's records begin; -1 when that is not known.
    pub start: i64,
    /// How many records from there on are dealt with; -1 when that is not known.
    pub complete: i32,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Whether it is done.
    Done(Result<(), Failure>),
    /// The state.
    Found(Result<Found, Failure>),
    /// The summary.
    Summary(Result<Summary, Failure>),
    /// The offset, if there is one.
    Redundant(Option<i64>),
}
