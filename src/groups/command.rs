//! What can be asked of a group coordinator and what it answers, free of protocol versions.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::cluster::Image;
use crate::coordinator::Transaction;
use crate::groups::classic::member::MEMBER_BYTES;
use crate::groups::classic::member::protocols_bytes;
use crate::groups::consumer;
use crate::groups::share;
use crate::groups::streams::command::Alive;
use crate::groups::streams::command::Refusal;
use crate::groups::streams::command::StreamsDescribed;
use crate::groups::streams::command::StreamsHeartbeat;
use crate::metrics;
use bytes::Bytes;
use std::sync::Arc;

/// A request to the coordinator of one partition of `__consumer_offsets`.
#[derive(Clone, Debug)]
pub enum Command {
    /// Become a member, or come back as one, and wait for the rebalance to end.
    Join(Box<Join>),
    /// Fetch the assignment; from the leader also: hand in everybody's.
    Sync(Box<Sync>),
    /// Sign of life.
    Heartbeat(Heartbeat),
    /// Members go, or are removed by an administrator.
    Leave(Leave),
    /// Store offsets.
    Commit(Box<Commit>),
    /// Read offsets.
    Fetch(Fetch),
    /// Delete offsets of partitions.
    DeleteOffsets(DeleteOffsets),
    /// Delete groups with all their offsets.
    DeleteGroups(Vec<Arc<str>>),
    /// Show classic groups.
    Describe(Vec<Arc<str>>),
    /// A streams member's sign of life.
    StreamsHeartbeat(Box<StreamsHeartbeat>),
    /// Show streams groups.
    StreamsDescribe(Vec<Arc<str>>),
    /// Show the names and states of groups.
    List(List),
    /// Count groups and offsets.
    Count,
    /// For consumer groups.
    Consumer(consumer::command::Command),
    /// For share groups.
    Share(share::command::Command),
    /// The cluster has agreed on something new.
    Image(Arc<Image>),
    /// These topics no longer exist: their offsets go.
    TopicsDeleted(Vec<(Arc<str>, TopicId)>),
}

/// The answer to the command of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Command::Join`].
    Join(Box<Joined>),
    /// To [`Command::Sync`].
    Sync(Synced),
    /// To [`Command::Heartbeat`].
    Heartbeat(ErrorCode),
    /// To [`Command::Leave`]: an error of the whole request, or one code for each identity in order.
    Leave(Result<Vec<ErrorCode>, ErrorCode>),
    /// To [`Command::Commit`]: an error of the whole request, or the codes of the partitions in order.
    Commit(Result<Vec<Vec<ErrorCode>>, ErrorCode>),
    /// To [`Command::Fetch`]: an error of the whole request, or the offsets.
    Fetch(Result<Vec<FetchedTopic>, ErrorCode>),
    /// To [`Command::DeleteOffsets`]: an error of the whole request, or the codes of the partitions in order.
    DeleteOffsets(Result<Vec<Vec<ErrorCode>>, ErrorCode>),
    /// To [`Command::DeleteGroups`]: one code for each group in order.
    DeleteGroups(Vec<ErrorCode>),
    /// To [`Command::Describe`], in order.
    Describe(Vec<Result<Described, Missing>>),
    /// To [`Command::StreamsHeartbeat`].
    StreamsHeartbeat(Result<Box<Alive>, Refusal>),
    /// To [`Command::StreamsDescribe`], in order.
    StreamsDescribe(Vec<Result<StreamsDescribed, Refusal>>),
    /// To [`Command::List`].
    List(Vec<Listed>),
    /// To [`Command::Count`].
    Count(metrics::Groups),
    /// To [`Command::Consumer`].
    Consumer(consumer::command::Answer),
    /// To [`Command::Share`].
    Share(share::command::Answer),
    /// To commands without a result.
    Done,
}

/// A way of assigning that a member supports, with its metadata for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// For example `range`.
    pub name: Arc<str>,
    /// The member's subscription, the client's business.
    pub metadata: Bytes,
}

/// See [`Command::Join`].
#[derive(Clone, Debug)]
pub struct Join {
    /// The group.
    pub group: Arc<str>,
    /// The member's id; empty when it has none yet.
    pub member_id: Arc<str>,
    /// The id to give if the member has none.
    pub new_member_id: Arc<str>,
    /// The static member's name (KIP-345).
    pub instance_id: Option<Arc<str>>,
    /// The client id of the request.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
    /// How long the member may be silent; milliseconds.
    pub session_timeout_ms: i32,
    /// How long a rebalance waits for it; milliseconds.
    pub rebalance_timeout_ms: i32,
    /// For example `consumer`.
    pub protocol_type: Arc<str>,
    /// In order of preference.
    pub protocols: Vec<Protocol>,
    /// A dynamic member without id must come again with the id it is given (KIP-394).
    pub requires_known_member_id: bool,
    /// The client understands [`Joined::skip_assignment`] (KIP-814).
    pub skips_assignment: bool,
    /// Why the client joins, for the log.
    pub reason: Option<Arc<str>>,
}

impl Join {
    /// The memory that the member will take, about.
    pub(crate) fn bytes(&self) -> usize {
        let texts =
            self.group.len() + self.new_member_id.len() + self.client_id.len() + self.client_host.len();
        MEMBER_BYTES + texts + protocols_bytes(&self.protocols)
    }
}

/// The end of a join.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// The outcome.
    pub error: ErrorCode,
    /// The generation; -1 with an error.
    pub generation: i32,
    /// The group's protocol type.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen protocol.
    pub protocol: Option<Arc<str>>,
    /// The leader's member id; empty with an error.
    pub leader: Arc<str>,
    /// The leader must not assign anew (KIP-814).
    pub skip_assignment: bool,
    /// This member's id.
    pub member_id: Arc<str>,
    /// For the leader: everyone with metadata of the chosen protocol.
    pub members: Vec<JoinedMember>,
}

impl Joined {
    /// A failed join.
    pub fn error(error: ErrorCode, member_id: Arc<str>) -> Joined {
        Joined {
            error,
            generation: -1,
            protocol_type: None,
            protocol: None,
            leader: Arc::from(""),
            skip_assignment: false,
            member_id,
            members: Vec::new(),
        }
    }
}

/// A member as the leader sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JoinedMember {
    /// The member's id.
    pub member_id: Arc<str>,
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// Its metadata for the chosen protocol.
    pub metadata: Bytes,
}

/// See [`Command::Sync`].
#[derive(Clone, Debug)]
pub struct Sync {
    /// The group.
    pub group: Arc<str>,
    /// The member.
    pub member_id: Arc<str>,
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// The generation the member joined.
    pub generation: i32,
    /// The protocol type it believes in, from request version 5 on.
    pub protocol_type: Option<Arc<str>>,
    /// The protocol it believes in, from request version 5 on.
    pub protocol: Option<Arc<str>>,
    /// From the leader: member id and assignment.
    pub assignments: Vec<(Arc<str>, Bytes)>,
}

/// The end of a sync.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Synced {
    /// The outcome.
    pub error: ErrorCode,
    /// The group's protocol type; none with an error.
    pub protocol_type: Option<Arc<str>>,
    /// The chosen protocol; none with an error.
    pub protocol: Option<Arc<str>>,
    /// What the leader gave this member.
    pub assignment: Bytes,
}

impl Synced {
    /// A failed sync.
    pub fn error(error: ErrorCode) -> Synced {
        Synced { error, protocol_type: None, protocol: None, assignment: Bytes::new() }
    }
}

/// See [`Command::Heartbeat`].
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The group.
    pub group: Arc<str>,
    /// The member.
    pub member_id: Arc<str>,
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// The member's generation.
    pub generation: i32,
}

/// See [`Command::Leave`].
#[derive(Clone, Debug)]
pub struct Leave {
    /// The group.
    pub group: Arc<str>,
    /// Who goes.
    pub members: Vec<Leaver>,
}

/// One that leaves: by member id, or by instance id alone.
#[derive(Clone, Debug)]
pub struct Leaver {
    /// The member; empty to remove the holder of the instance id.
    pub member_id: Arc<str>,
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// Why, for the log.
    pub reason: Option<Arc<str>>,
}

/// See [`Command::Commit`].
#[derive(Clone, Debug)]
pub struct Commit {
    /// The group.
    pub group: Arc<str>,
    /// The member; empty for a committer outside the group.
    pub member_id: Arc<str>,
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// The member's generation; negative for a committer outside the group.
    pub generation: i32,
    /// How long the offsets are to be kept, from requests before version 5; milliseconds.
    pub retention_ms: Option<i64>,
    /// Requests of version 9 and later learn that a group does not exist by its own code.
    pub knows_group_id_not_found: bool,
    /// The transaction whose end decides whether the offsets count; `None` for offsets that count at once.
    pub transaction: Option<Transaction>,
    /// What to store.
    pub topics: Vec<CommitTopic>,
}

/// Offsets of one topic.
#[derive(Clone, Debug)]
pub struct CommitTopic {
    /// The topic's name.
    pub name: Arc<str>,
    /// The topic's id; [`TopicId::ZERO`] when the request had none.
    pub id: TopicId,
    /// Its partitions.
    pub partitions: Vec<CommitPartition>,
}

/// The offset of one partition.
#[derive(Clone, Debug)]
pub struct CommitPartition {
    /// The partition's number.
    pub partition: i32,
    /// The next offset to read.
    pub offset: i64,
    /// Leader epoch of the last record read; -1 when not known.
    pub leader_epoch: i32,
    /// The client's own note.
    pub metadata: Option<Arc<str>>,
}

/// See [`Command::Fetch`].
#[derive(Clone, Debug)]
pub struct Fetch {
    /// The group.
    pub group: Arc<str>,
    /// The member of a consumer group that asks; `None` for anybody else.
    pub member_id: Option<Arc<str>>,
    /// The member's epoch; negative for anybody else.
    pub member_epoch: i32,
    /// Partitions of topics; `None` for everything the group has.
    pub topics: Option<Vec<FetchTopic>>,
    /// Refuse offsets with a transactional commit pending (KIP-447).
    pub require_stable: bool,
}

/// Partitions of one topic.
#[derive(Clone, Debug)]
pub struct FetchTopic {
    /// The topic's name.
    pub name: Arc<str>,
    /// The topic's id; [`TopicId::ZERO`] when the request had none.
    pub id: TopicId,
    /// Their numbers.
    pub partitions: Vec<i32>,
}

/// Offsets of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedTopic {
    /// The topic's name.
    pub name: Arc<str>,
    /// The topic's id as asked, or as committed; may be [`TopicId::ZERO`].
    pub id: TopicId,
    /// Its partitions.
    pub partitions: Vec<FetchedPartition>,
}

/// The offset of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FetchedPartition {
    /// The partition's number.
    pub partition: i32,
    /// [`ErrorCode::None`] or [`ErrorCode::UnstableOffsetCommit`].
    pub error: ErrorCode,
    /// The next offset to read; -1 when none is stored.
    pub offset: i64,
    /// Leader epoch of the last record read; -1 when not known.
    pub leader_epoch: i32,
    /// The client's own note.
    pub metadata: Arc<str>,
}

/// See [`Command::DeleteOffsets`].
#[derive(Clone, Debug)]
pub struct DeleteOffsets {
    /// The group.
    pub group: Arc<str>,
    /// Topics and partitions.
    pub topics: Vec<(Arc<str>, Vec<i32>)>,
}

/// See [`Command::List`]. Empty filters let everything pass.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// States, in any case of letters.
    pub states: Vec<Arc<str>>,
    /// Group types, in any case of letters.
    pub types: Vec<Arc<str>>,
}

/// One group of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The group.
    pub group: Arc<str>,
    /// Its protocol type; empty for one that only keeps offsets.
    pub protocol_type: Arc<str>,
    /// The name of its state.
    pub state: &'static str,
    /// The name of its type, for instance `classic`.
    pub group_type: &'static str,
}

/// Why there is nothing to show of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// There is no group of this id.
    Group,
    /// The group is of another kind.
    OfKind,
}

/// A classic group in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The name of its state.
    pub state: &'static str,
    /// Its protocol type.
    pub protocol_type: Arc<str>,
    /// The chosen protocol; empty unless the group is stable.
    pub protocol: Arc<str>,
    /// The members.
    pub members: Vec<DescribedMember>,
}

/// A member in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedMember {
    /// The member's id.
    pub member_id: Arc<str>,
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// The client id of its requests.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
    /// Its metadata for the chosen protocol; empty unless the group is stable.
    pub metadata: Bytes,
    /// What the leader gave it.
    pub assignment: Bytes,
}
