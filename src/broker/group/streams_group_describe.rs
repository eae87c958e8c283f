//! StreamsGroupDescribe 0 and 1: topology, members and tasks of streams groups.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::errors::Refused;
use crate::broker::group::optional_wire;
use crate::broker::group::text;
use crate::broker::group::wire;
use crate::groups::streams::command::DescribedSubtopology;
use crate::groups::streams::command::DescribedTopology;
use crate::groups::streams::command::Refusal;
use crate::groups::streams::command::StreamsDescribed;
use crate::groups::streams::command::StreamsDescribedMember;
use crate::groups::streams::command::TaskOffsets;
use crate::groups::streams::command::lists;
use crate::groups::streams::tasks::Role;
use crate::groups::streams::tasks::Tasks;
use crate::groups::streams::topics::InternalTopic;
use crate::protocol::Response;
use crate::protocol::supplement::streams_group_describe as message;
use crate::protocol::supplement::streams_group_heartbeat::Endpoint;
use crate::protocol::supplement::streams_group_heartbeat::TaskIds;
use crate::protocol::supplement::streams_group_heartbeat::TaskOffset;
use crate::protocol::supplement::streams_group_heartbeat::TopicInfo;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;

/// What anybody may do with a group where there is no authorizer (`AclOperation`).
const ALL_OPERATIONS: i32 = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11;
/// A description of the topology was not asked for.
const NOT_REQUESTED: i8 = 0;
/// None is kept.
const NOT_STORED: i8 = 1;
/// The only assignor.
const ASSIGNOR: &str = "sticky";

/// Answers a StreamsGroupDescribe request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request = message::decode(&context.header, body)?;
    crowd::check_names(request.group_ids.len())?;
    let ids: Vec<Arc<str>> = request.group_ids.iter().map(text).collect();
    // One that is named more than once is answered as often, as in Kafka, but looked up once.
    let once: Vec<Arc<str>> = ids.iter().cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let shown = if broker.groups.has_streams_groups() {
        broker.groups.describe_streams(&once).await
    } else {
        vec![Err(Refusal::from(ErrorCode::UnsupportedVersion)); once.len()]
    };
    let shown: HashMap<Arc<str>, Result<StreamsDescribed, Refusal>> = once.into_iter().zip(shown).collect();
    let status = if request.include_topology_description { NOT_STORED } else { NOT_REQUESTED };
    let mut room = broker.answer_memory.begin();
    let groups = ids.iter().map(|id| {
        let unknown = || Err(Refusal::from(ErrorCode::UnknownServerError));
        let mut group = match shown.get(id).cloned().unwrap_or_else(unknown) {
            _ if id.is_empty() => failed(id, ErrorCode::InvalidGroupId.into()),
            Err(refusal) => failed(id, refusal),
            Ok(shown) => described(id, shown, status),
        };
        if group.error == ErrorCode::None && request.include_authorized_operations {
            group.authorized_operations = ALL_OPERATIONS;
        }
        if room.take(message::size(context.version(), &group)) {
            return group;
        }
        failed(id, Refusal::from(ErrorCode::InvalidRequest))
    });
    let groups: Vec<message::Group> = groups.collect();
    Ok(room.tie_to(message::encode(&context.header, &groups)?))
}

pub(in crate::broker) fn failed(id: &str, refusal: Refusal) -> message::Group {
    message::Group {
        error: refusal.error,
        error_message: refusal.message,
        group_id: wire(id),
        state: StrBytes::new(),
        epoch: 0,
        assignment_epoch: 0,
        topology: None,
        members: Vec::new(),
        authorized_operations: i32::MIN,
        description_status: NOT_REQUESTED,
        assignor: None,
    }
}

pub(in crate::broker) fn described(
    id: &str,
    shown: StreamsDescribed,
    description_status: i8,
) -> message::Group {
    message::Group {
        error: ErrorCode::None,
        error_message: None,
        group_id: wire(id),
        state: StrBytes::from_static_str(shown.state),
        epoch: shown.epoch,
        assignment_epoch: shown.assignment_epoch,
        topology: shown.topology.map(topology),
        members: shown.members.into_iter().map(member).collect(),
        authorized_operations: i32::MIN,
        description_status,
        assignor: Some(StrBytes::from_static_str(ASSIGNOR)),
    }
}

fn topology(topology: DescribedTopology) -> message::Topology {
    let part = |part: DescribedSubtopology| message::Subtopology {
        id: wire(&part.id),
        source_topics: names(&part.source_topics),
        repartition_sink_topics: names(&part.repartition_sink_topics),
        state_changelog_topics: topics(part.state_changelog_topics),
        repartition_source_topics: topics(part.repartition_source_topics),
    };
    message::Topology {
        epoch: topology.epoch,
        subtopologies: topology.subtopologies.into_iter().map(part).collect(),
    }
}

fn names(names: &[Arc<str>]) -> Vec<StrBytes> {
    names.iter().map(|name| wire(name)).collect()
}

fn topics(topics: Vec<InternalTopic>) -> Vec<TopicInfo> {
    let topic = |topic: InternalTopic| TopicInfo {
        name: wire(&topic.name),
        partitions: topic.partitions,
        replication_factor: topic.replication_factor,
        configs: topic.configs.iter().map(|(name, value)| (wire(name), wire(value))).collect(),
    };
    topics.into_iter().map(topic).collect()
}

fn member(member: StreamsDescribedMember) -> message::Member {
    message::Member {
        member_id: wire(&member.id),
        epoch: member.epoch,
        instance_id: optional_wire(member.instance_id.as_ref()),
        rack_id: optional_wire(member.rack_id.as_ref()),
        client_id: wire(&member.client_id),
        client_host: wire(&member.client_host),
        topology_epoch: member.topology_epoch,
        process_id: wire(&member.process_id),
        user_endpoint: member.endpoint.map(|one| Endpoint { host: wire(&one.host), port: one.port }),
        client_tags: member.client_tags.iter().map(|(name, value)| (wire(name), wire(value))).collect(),
        task_offsets: offsets(&member.task_offsets),
        task_end_offsets: offsets(&member.task_end_offsets),
        assignment: tasks(&member.assignment),
        target: tasks(&member.target),
    }
}

fn offsets(offsets: &TaskOffsets) -> Vec<TaskOffset> {
    let of_part = |(id, partitions): (&Arc<str>, &std::collections::BTreeMap<i32, i64>)| {
        let id = wire(id);
        let one = |(partition, offset): (&i32, &i64)| TaskOffset {
            subtopology_id: id.clone(),
            partition: *partition,
            offset: *offset,
        };
        partitions.iter().map(one).collect::<Vec<_>>()
    };
    offsets.iter().flat_map(of_part).collect()
}

fn tasks(tasks: &Tasks) -> [Vec<TaskIds>; 3] {
    [ids(&tasks.active), ids(&tasks.standby), ids(&tasks.warmup)]
}

/// Tasks of one role as they are sent.
pub(super) fn ids(role: &Role) -> Vec<TaskIds> {
    lists(role).map(|(id, partitions)| TaskIds { subtopology_id: wire(id), partitions }).collect()
}
