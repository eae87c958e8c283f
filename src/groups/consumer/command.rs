//! What can be asked of consumer groups and what they answer, free of protocol versions.

use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::groups::assign::Partitions;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A request for a consumer group.
#[derive(Clone, Debug)]
pub enum Command {
    /// Join, live, follow the assignment, leave: everything a member does.
    Heartbeat(Box<Heartbeat>),
    /// Show groups.
    Describe(Vec<Arc<str>>),
}

/// The answer to the command of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// To [`Command::Heartbeat`].
    Heartbeat(Result<Beaten, Fault>),
    /// To [`Command::Describe`], in order.
    Describe(Vec<Result<Described, Fault>>),
}

/// A refusal: the code, and words for whoever reads the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The code.
    pub code: ErrorCode,
    /// What is wrong, as Kafka words it.
    pub message: String,
}

impl Fault {
    /// A refusal with its words.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Fault {
        Fault { code, message: message.into() }
    }

    pub(crate) fn fenced(message: impl Into<String>) -> Fault {
        Fault::new(ErrorCode::FencedMemberEpoch, message)
    }

    pub(crate) fn unknown_member(group: &str, member: &str) -> Fault {
        let message = format!("Member {member} is not a member of group {group}.");
        Fault::new(ErrorCode::UnknownMemberId, message)
    }
}

/// See [`Command::Heartbeat`]. What is `None` is as it was in the heartbeat before.
#[derive(Clone, Debug)]
pub struct Heartbeat {
    /// The group.
    pub group: Arc<str>,
    /// The member's id, from version 1 on its own choice; empty when the coordinator is to choose one.
    pub member_id: Arc<str>,
    /// The id to give if the member has none.
    pub new_member_id: Arc<str>,
    /// The member must bring its id.
    pub brings_member_id: bool,
    /// The member's epoch; 0 to join, -1 to leave, -2 to leave for a while as a static member.
    pub epoch: i32,
    /// The static member's name.
    pub instance_id: Option<Arc<str>>,
    /// Where the member runs.
    pub rack_id: Option<Arc<str>>,
    /// How long it may take to give up partitions; milliseconds.
    pub rebalance_timeout_ms: Option<i32>,
    /// The topics it names.
    pub topics: Option<BTreeSet<Arc<str>>>,
    /// The pattern of further topics; an empty one stands for none.
    pub pattern: Option<Arc<str>>,
    /// The assignor it asks for.
    pub assignor: Option<Arc<str>>,
    /// The partitions it has.
    pub owned: Option<Partitions>,
    /// The client id of the request.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
}

/// The answer to a heartbeat that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beaten {
    /// The member's id.
    pub member_id: Arc<str>,
    /// The epoch for its next heartbeat.
    pub epoch: i32,
    /// When that is due; milliseconds, 0 for one that has left.
    pub interval_ms: i32,
    /// All that it has from now on; `None` when that is as before.
    pub assignment: Option<Partitions>,
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
    /// The assignor that most members ask for, or the default one.
    pub assignor: Arc<str>,
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
    /// Where it runs.
    pub rack_id: Option<Arc<str>>,
    /// Its epoch.
    pub epoch: i32,
    /// The client id of its requests.
    pub client_id: Arc<str>,
    /// The address it came from.
    pub client_host: Arc<str>,
    /// The topics it names.
    pub topics: Vec<Arc<str>>,
    /// Its pattern of topics.
    pub pattern: Option<Arc<str>>,
    /// What it has, with what it has not given up yet.
    pub assigned: Vec<DescribedTopic>,
    /// What it is to have.
    pub target: Vec<DescribedTopic>,
    /// Whether it speaks the classic protocol.
    pub is_classic: bool,
}

/// Partitions of one topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedTopic {
    /// The topic's id.
    pub id: TopicId,
    /// Its name.
    pub name: Arc<str>,
    /// The partitions' numbers.
    pub partitions: Vec<i32>,
}
