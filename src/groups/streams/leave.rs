//! Members that go: by their own wish, for a while, or because they were silent or held on to tasks for too long.

use crate::base::ErrorCode;
use crate::base::Timestamp;
use crate::groups::streams::assignment;
use crate::groups::streams::command::Alive;
use crate::groups::streams::command::Refusal;
use crate::groups::streams::command::StreamsHeartbeat;
use crate::groups::streams::group::Group;
use crate::groups::streams::group::Soft;
use crate::groups::streams::heartbeat::Deadline;
use crate::groups::streams::heartbeat::Decision;
use crate::groups::streams::heartbeat::static_holder;
use crate::groups::streams::member::LEFT_FOR_A_WHILE;
use crate::groups::streams::member::Member;
use crate::groups::streams::record::Metadata;
use crate::groups::streams::record::StreamsRecord;
use crate::groups::streams::record::TargetMetadata;
use crate::groups::streams::tasks::Held;
use std::sync::Arc;

/// What follows from a member's word that it goes (epoch -1), or goes for a while (-2).
///
/// # Errors
/// Of the whole request.
pub(crate) fn leave(group: &Group, request: &StreamsHeartbeat) -> Result<Decision, Refusal> {
    let mut soft: Option<Soft> = None;
    if request.shutdown && group.soft.shutdown_by.is_none() {
        let shutdown_by = Some(request.member_id.clone());
        soft = Some(Soft { shutdown_by, ..group.soft.clone() });
    }
    let member = match &request.instance_id {
        None => group.member(&request.member_id).ok_or_else(|| {
            let words = format!("Member {} is not a member of group {}.", request.member_id, group.id);
            Refusal::new(ErrorCode::UnknownMemberId, words)
        })?,
        Some(instance_id) => {
            static_holder(group.static_member(instance_id), &request.member_id, instance_id)?
        }
    };
    let stays = request.instance_id.is_some() && request.member_epoch == LEFT_FOR_A_WHILE;
    tracing::info!(group = %group.id, member = %member.id, for_a_while = stays, "member leaves the streams group");
    let (records, deadlines) =
        if stays { (vec![for_a_while(group, member)], Vec::new()) } else { fence(group, member) };
    Ok(Decision { records, soft, deadlines, alive: farewell(request) })
}

/// The answer to a member that goes has nothing but its name.
fn farewell(request: &StreamsHeartbeat) -> Alive {
    Alive {
        member_id: request.member_id.clone(),
        member_epoch: request.member_epoch,
        heartbeat_interval_ms: 0,
        task_offset_interval_ms: 0,
        acceptable_recovery_lag: -1,
        statuses: Vec::new(),
        tasks: None,
        endpoint_epoch: 0,
        endpoints: None,
        missing_topics: Vec::new(),
    }
}

/// A static member that will be back keeps its tasks, until its session ends.
fn for_a_while(group: &Group, member: &Member) -> StreamsRecord {
    let mut current = member.current.clone();
    current.epoch = LEFT_FOR_A_WHILE;
    current.revoking = Held::default();
    for partitions in current.assigned.active.values_mut() {
        partitions.values_mut().for_each(|epoch| *epoch = 0);
    }
    StreamsRecord::Current(group.id.clone(), member.id.clone(), Some(current))
}

/// Removes a member: the group gets a new epoch, so that others get its tasks.
pub(crate) fn fence(
    group: &Group,
    member: &Member,
) -> (Vec<StreamsRecord>, Vec<(Deadline, Option<std::time::Duration>)>) {
    let id = || group.id.clone();
    let epoch = group.metadata.epoch.saturating_add(1);
    let mut records = vec![
        StreamsRecord::Current(id(), member.id.clone(), None),
        StreamsRecord::Target(id(), member.id.clone(), None),
        StreamsRecord::Member(id(), member.id.clone(), None),
        StreamsRecord::Metadata(id(), Some(Metadata { epoch, ..group.metadata.clone() })),
    ];
    if group.members().len() == 1 {
        let nothing = TargetMetadata { epoch, timestamp_ms: 0 };
        records.push(StreamsRecord::TargetMetadata(id(), Some(nothing)));
    }
    let deadlines =
        vec![(Deadline::Session(member.id.clone()), None), (Deadline::Rebalance(member.id.clone()), None)];
    (records, deadlines)
}

/// What the end of a new group's wait for members brings.
pub(crate) fn initial_delay_is_over(now: Timestamp, group: &Group) -> (Vec<StreamsRecord>, Soft) {
    let soft = Soft { is_delayed: false, ..group.soft.clone() };
    let mut records = Vec::new();
    if let Some(configured) = group.soft.configured.as_ref()
        && !group.is_empty()
        && group.metadata.epoch > group.target_metadata.epoch
    {
        let (epoch, configs) = (group.metadata.epoch, &group.metadata.assignment_configs);
        records = assignment::assign(now, group, epoch, None, configured, configs).records;
        tracing::info!(group = %group.id, epoch, "streams group has its first assignment");
    }
    (records, soft)
}

/// The memory that a request may add to a group, about.
pub(crate) fn bytes(request: &StreamsHeartbeat) -> usize {
    let topology = request.topology.as_ref().map_or(0, |topology| topology.bytes());
    let offsets = |offsets: &Option<crate::groups::streams::command::TaskOffsets>| {
        offsets.iter().flatten().map(|(id, all)| 64 + id.len() + 24 * all.len()).sum::<usize>()
    };
    let member = if request.member_epoch == 0 {
        let mut member = Member::new(request.member_id.clone());
        member.profile.client_id = request.client_id.clone();
        member.profile.process_id = request.process_id.clone().unwrap_or_else(|| Arc::from(""));
        member.profile.client_tags = request.client_tags.clone().unwrap_or_default();
        member.bytes()
    } else {
        0
    };
    topology + offsets(&request.task_offsets) + offsets(&request.task_end_offsets) + member
}
