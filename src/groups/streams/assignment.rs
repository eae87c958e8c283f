//! When a new assignment is due, and what it says (Kafka's `TargetAssignmentBuilder`).

use crate::base::Timestamp;
use crate::groups::assign::sticky;
use crate::groups::streams::group::Group;
use crate::groups::streams::member::Member;
use crate::groups::streams::record::StreamsRecord;
use crate::groups::streams::record::TargetMetadata;
use crate::groups::streams::settings::STANDBY_REPLICAS;
use crate::groups::streams::tasks::Tasks;
use crate::groups::streams::topics::Configured;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What everybody shall have from an epoch on.
pub(crate) struct Assignment {
    pub(crate) epoch: i32,
    pub(crate) records: Vec<StreamsRecord>,
    pub(crate) targets: BTreeMap<Arc<str>, Tasks>,
}

/// Works out what everybody shall have. `joining` is a member as it will be, in place of what the group knows of it,
/// and the member whose tasks it takes over, if any.
pub(crate) fn assign(
    now: Timestamp,
    group: &Group,
    epoch: i32,
    joining: Option<(&Member, Option<&Member>)>,
    configured: &Configured,
    configs: &BTreeMap<Arc<str>, Arc<str>>,
) -> Assignment {
    let mut targets = compute(group, joining, configured, configs);
    let mut records = Vec::new();
    for (id, tasks) in &mut targets {
        let before = group.targets.get(id);
        if before.is_none_or(|before| **before != *tasks) {
            records.push(StreamsRecord::Target(group.id.clone(), id.clone(), Some(tasks.clone())));
        }
    }
    let metadata = TargetMetadata { epoch, timestamp_ms: now.0 };
    records.push(StreamsRecord::TargetMetadata(group.id.clone(), Some(metadata)));
    Assignment { epoch, records, targets }
}

fn compute(
    group: &Group,
    joining: Option<(&Member, Option<&Member>)>,
    configured: &Configured,
    configs: &BTreeMap<Arc<str>, Arc<str>>,
) -> BTreeMap<Arc<str>, Tasks> {
    let mut members: BTreeMap<&Arc<str>, &Member> =
        group.members().map(|member| (&member.id, &**member)).collect();
    if let Some((member, replaced)) = joining {
        if let Some(replaced) = replaced {
            members.remove(&replaced.id);
        }
        members.insert(&member.id, member);
    }
    let Some(subtopologies) = configured.subtopologies.as_ref().filter(|_| configured.is_ready()) else {
        return members.keys().map(|id| ((*id).clone(), Tasks::default())).collect();
    };
    // Who runs a task keeps it, whatever was meant to be before: nothing moves twice because a move was not finished.
    let held: Vec<Tasks> = members.values().map(|member| member.current.assigned.tasks()).collect();
    let candidates: Vec<sticky::Candidate<'_>> = members
        .iter()
        .zip(&held)
        .map(|((id, member), held)| sticky::Candidate {
            id,
            process: &member.profile.process_id,
            before: held,
            offsets: group.soft.progress.get(*id).map(|progress| &progress.offsets),
        })
        .collect();
    let parts: Vec<sticky::Part<'_>> = subtopologies
        .iter()
        .map(|(id, part)| sticky::Part { id, tasks: part.tasks, stateful: part.is_stateful() })
        .collect();
    let replicas = configs.get(STANDBY_REPLICAS).and_then(|value| value.parse().ok()).unwrap_or(0);
    sticky::assign(&candidates, &parts, replicas)
}
