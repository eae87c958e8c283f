//! What can be asked of share groups and what they answer, free of protocol versions.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::groups::assign::Partitions;
use crate::groups::consumer::command::DescribedTopic;
use crate::groups::consumer::command::Fault;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A request for a share group.
#[derive(Clone, Debug)]
pub enum Command {
    /// Join, live, leave: everything a member does.
    Heartbeat(Box<Heartbeat>),
    /// Show groups.
    Describe(Vec<Arc<str>>),
    /// The share coordinator has made share-partitions of this group.
    Initialized(Arc<str>, Partitions),
    /// It could not.
    Uninitialized(Arc<str>, Partitions),
    /// Which share-partitions a group has.
    Known(Arc<str>),
    /// Let a group go on at other offsets.
    Alter(Alter),
    /// Begin to forget the share-partitions of these topics.
    Forget(Arc<str>, Vec<Arc<str>>),
    /// The share coordinator has deleted all share-partitions of these topics.
    Forgotten(Arc<str>, BTreeSet<TopicId>),
    /// Begin to delete groups: of each, forget all share-partitions.
    Doom(Vec<Arc<str>>),
}

/// The answer to the command of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Command::Heartbeat`].
    Heartbeat(Result<Beaten, Fault>),
    /// To [`Command::Describe`], in order.
    Describe(Vec<Result<Described, Fault>>),
    /// To [`Command::Known`].
    Known(Partitions),
    /// To [`Command::Alter`].
    Alter(Result<Altered, Fault>),
    /// To [`Command::Forget`].
    Forget(Result<Vec<Forget>, Fault>),
    /// To [`Command::Doom`], in order: the share-partitions that the share coordinator has to delete. A group of another
    /// kind has none.
    Doom(Vec<Result<Partitions, ErrorCode>>),
    /// To commands without a result.
    Done,
}

/// See [`Command::Heartbeat`]. What is `None` is as it was in the heartbeat before.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The group.
    pub group: Arc<str>,
    /// The member's id, of its own choice.
    pub member_id: Arc<str>,
    /// The member's epoch; 0 to join, -1 to leave.
    pub epoch: i32,
    /// Where the member runs.
    pub rack_id: Option<Arc<str>>,
    /// The topics it reads.
    pub topics: Option<BTreeSet<Arc<str>>>,
    /// The client id of the request.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
}

/// The answer to a heartbeat that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beaten {
    /// The epoch for the member's next heartbeat.
    pub epoch: i32,
    /// When that is due; milliseconds, 0 for one that has left.
    pub interval_ms: i32,
    /// All that it has from now on; `None` when that is as before.
    pub assignment: Option<Partitions>,
    /// What the share coordinator is to be asked for.
    pub initialize: Vec<Initialize>,
}

/// A share-partition that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initialize {
    /// The topic.
    pub topic: TopicId,
    /// The partition's number.
    pub partition: i32,
    /// The epoch of its state.
    pub state_epoch: i32,
    /// Where its records begin; -1 where `share.auto.offset.reset` says.
    pub start: i64,
}

/// A group in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The name of its state.
    pub state: &'static str,
    /// Its epoch.
    pub epoch: i32,
    /// The epoch that its target assignment was made for.
    pub target_epoch: i32,
    /// The members.
    pub members: Vec<DescribedMember>,
}

/// A member in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedMember {
    /// The member's id.
    pub member_id: Arc<str>,
    /// Where it runs.
    pub rack_id: Option<Arc<str>>,
    /// Its epoch.
    pub epoch: i32,
    /// The client id of its requests.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
    /// The topics it reads.
    pub topics: Vec<Arc<str>>,
    /// What it has.
    pub assigned: Vec<DescribedTopic>,
}

/// A partition's number, and where its records are to begin.
pub type Start = (i32, i64);

/// See [`Command::Alter`].
#[derive(Clone, Debug)]
pub struct Alter {
    /// The group.
    pub group: Arc<str>,
    /// By topic.
    pub topics: Vec<(Arc<str>, Vec<Start>)>,
}

/// The answer to an alteration that was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Altered {
    /// The topics in order.
    pub topics: Vec<AlteredTopic>,
    /// What the share coordinator is to be asked for.
    pub initialize: Vec<Initialize>,
}

/// One topic of an alteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlteredTopic {
    /// Its name.
    pub name: Arc<str>,
    /// Its id; [`TopicId::ZERO`] when there is none.
    pub id: TopicId,
    /// Partitions, and whether they are there.
    pub partitions: Vec<(i32, ErrorCode)>,
}

/// One topic that is to be forgotten.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forget {
    /// Its name.
    pub name: Arc<str>,
    /// Its id and what the share coordinator has to delete of it, or why that is not done.
    pub what: Result<(TopicId, BTreeSet<i32>), Fault>,
}
