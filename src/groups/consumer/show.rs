//! How consumer groups are shown to administrators.

use crate::base::TopicId;
use crate::cluster::Image;
use crate::groups::consumer::command::Described;
use crate::groups::consumer::command::DescribedMember;
use crate::groups::consumer::command::DescribedTopic;
use crate::groups::consumer::group::Group;
use crate::groups::consumer::member::Member;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A group in full.
pub(crate) fn describe(group: &Group, default_assignor: &str, image: &Image) -> Described {
    Described {
        state: group.state().name(),
        epoch: group.epoch,
        target_epoch: group.target_epoch,
        assignor: group.preferred_assignor(None).cloned().unwrap_or_else(|| Arc::from(default_assignor)),
        members: group.members().map(|member| describe_member(group, member, image)).collect(),
    }
}

fn describe_member(group: &Group, member: &Member, image: &Image) -> DescribedMember {
    let mut assigned: BTreeMap<TopicId, BTreeSet<i32>> = BTreeMap::new();
    for (topic, partitions) in member.assigned.iter().chain(member.pending_revocation.iter()) {
        assigned.entry(*topic).or_default().extend(partitions.keys());
    }
    DescribedMember {
        member_id: member.id.clone(),
        instance_id: member.instance_id.clone(),
        rack_id: member.rack_id.clone(),
        epoch: member.epoch,
        client_id: member.client_id.clone(),
        client_host: member.client_host.clone(),
        topics: member.topics.iter().cloned().collect(),
        pattern: member.pattern.clone(),
        assigned: topics(&assigned, image),
        target: topics(&group.target(&member.id), image),
        is_classic: member.is_classic(),
    }
}

/// Topics that are gone are left out.
fn topics(partitions: &BTreeMap<TopicId, BTreeSet<i32>>, image: &Image) -> Vec<DescribedTopic> {
    let one = |(id, partitions): (&TopicId, &BTreeSet<i32>)| {
        let name = image.topic_by_id(*id)?.name.clone();
        Some(DescribedTopic { id: *id, name, partitions: partitions.iter().copied().collect() })
    };
    partitions.iter().filter_map(one).collect()
}
