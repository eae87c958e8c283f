//! How a streams group is shown to administrators.

use crate::groups::streams::command::DescribedSubtopology;
use crate::groups::streams::command::DescribedTopology;
use crate::groups::streams::command::StreamsDescribed;
use crate::groups::streams::command::StreamsDescribedMember;
use crate::groups::streams::group::Group;
use crate::groups::streams::member::Member;
use crate::groups::streams::topics::Configured;
use crate::groups::streams::topics::InternalTopic;
use crate::groups::streams::topology::TopicInfo;
use crate::groups::streams::topology::Topology;
use std::sync::Arc;

/// The group in full.
pub(crate) fn describe(group: &Group) -> StreamsDescribed {
    let ready = group.soft.configured.as_ref().filter(|configured| configured.is_ready());
    let topology = match (ready, &group.topology) {
        (Some(configured), _) => Some(configured_topology(configured)),
        (None, Some(topology)) => Some(plain_topology(topology)),
        (None, None) => None,
    };
    StreamsDescribed {
        state: group.state().name(),
        epoch: group.metadata.epoch,
        assignment_epoch: group.target_metadata.epoch,
        topology,
        members: group.members().map(|one| member(group, one)).collect(),
    }
}

/// With the numbers that were worked out.
fn configured_topology(configured: &Configured) -> DescribedTopology {
    let parts = configured.subtopologies.iter().flatten().map(|(id, part)| DescribedSubtopology {
        id: id.clone(),
        source_topics: part.source_topics.iter().cloned().collect(),
        repartition_sink_topics: part.repartition_sink_topics.iter().cloned().collect(),
        state_changelog_topics: part.state_changelog_topics.values().cloned().collect(),
        repartition_source_topics: part.repartition_source_topics.values().cloned().collect(),
    });
    DescribedTopology { epoch: configured.epoch, subtopologies: parts.collect() }
}

/// As the application brought it.
fn plain_topology(topology: &Topology) -> DescribedTopology {
    let parts = topology.subtopologies.iter().map(|(id, part)| DescribedSubtopology {
        id: id.clone(),
        source_topics: sorted(&part.source_topics),
        repartition_sink_topics: sorted(&part.repartition_sink_topics),
        state_changelog_topics: topics(&part.state_changelog_topics),
        repartition_source_topics: topics(&part.repartition_source_topics),
    });
    DescribedTopology { epoch: topology.epoch, subtopologies: parts.collect() }
}

fn sorted(names: &[Arc<str>]) -> Vec<Arc<str>> {
    let mut names = names.to_vec();
    names.sort_unstable();
    names
}

fn topics(topics: &[TopicInfo]) -> Vec<InternalTopic> {
    let topic = |topic: &TopicInfo| InternalTopic {
        name: topic.name.clone(),
        partitions: topic.partitions,
        replication_factor: topic.replication_factor,
        configs: topic.configs.clone(),
    };
    let mut topics: Vec<InternalTopic> = topics.iter().map(topic).collect();
    topics.sort_by(|one, other| one.name.cmp(&other.name));
    topics
}

fn member(group: &Group, member: &Member) -> StreamsDescribedMember {
    let profile = &member.profile;
    let progress = group.soft.progress.get(&member.id);
    StreamsDescribedMember {
        id: member.id.clone(),
        epoch: member.current.epoch,
        instance_id: profile.instance_id.clone(),
        rack_id: profile.rack_id.clone(),
        client_id: profile.client_id.clone(),
        client_host: profile.client_host.clone(),
        topology_epoch: profile.topology_epoch,
        process_id: profile.process_id.clone(),
        endpoint: profile.endpoint.clone(),
        client_tags: profile.client_tags.clone(),
        task_offsets: progress.map(|progress| progress.offsets.clone()).unwrap_or_default(),
        task_end_offsets: progress.map(|progress| progress.end_offsets.clone()).unwrap_or_default(),
        assignment: member.current.assigned.tasks(),
        target: group.target(&member.id),
    }
}
