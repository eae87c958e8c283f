//! StreamsGroupDescribe 0 and 1 (KIP-1071); version 1 tells the assignor (KIP-1357), and has a place for a description
//! of the topology that no broker without Kafka's plugin keeps (KIP-1331).

use crate::base::ErrorCode;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Response;
use crate::protocol::supplement::streams_group_heartbeat::Endpoint;
use crate::protocol::supplement::streams_group_heartbeat::TaskIds;
use crate::protocol::supplement::streams_group_heartbeat::TaskOffset;
use crate::protocol::supplement::streams_group_heartbeat::TopicInfo;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// Which groups to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// Their ids.
    pub group_ids: Vec<StrBytes>,
    /// Also what may be done with them.
    pub include_authorized_operations: bool,
    /// Also the description of the topology (version 1 on).
    pub include_topology_description: bool,
}

/// Decodes a request.
///
/// # Errors
/// When the bytes are no StreamsGroupDescribe request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let mut reader = codec::reader(header, body)?;
    let count = reader.count(1, "GroupIds")?;
    let mut group_ids = Vec::with_capacity(count);
    for _ in 0..count {
        group_ids.push(reader.string("GroupId")?);
    }
    let include_authorized_operations = reader.bool("IncludeAuthorizedOperations")?;
    let include_topology_description =
        header.api_version >= 1 && reader.bool("IncludeTopologyDescription")?;
    reader.skip_tags()?;
    Ok(Request { group_ids, include_authorized_operations, include_topology_description })
}

/// One group of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What is wrong.
    pub error: ErrorCode,
    /// In words.
    pub error_message: Option<String>,
    /// Its id.
    pub group_id: StrBytes,
    /// The name of its state.
    pub state: StrBytes,
    /// Its epoch.
    pub epoch: i32,
    /// The epoch of the assignment.
    pub assignment_epoch: i32,
    /// The topology.
    pub topology: Option<Topology>,
    /// The members.
    pub members: Vec<Member>,
    /// What may be done with it, one bit for each operation; the lowest number when that was not asked for.
    pub authorized_operations: i32,
    /// Whether a description is there: 0 not asked for, 1 none is kept (version 1 on).
    pub description_status: i8,
    /// The assignor (version 1 on).
    pub assignor: Option<StrBytes>,
}

/// A topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Its epoch.
    pub epoch: i32,
    /// Its parts.
    pub subtopologies: Vec<Subtopology>,
}

/// A part of a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subtopology {
    /// Its id.
    pub id: StrBytes,
    /// The user's topics that it reads.
    pub source_topics: Vec<StrBytes>,
    /// The internal topics that it writes for others.
    pub repartition_sink_topics: Vec<StrBytes>,
    /// The topics that keep its state.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// The internal topics that it reads.
    pub repartition_source_topics: Vec<TopicInfo>,
}

/// A member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub member_id: StrBytes,
    /// Its epoch.
    pub epoch: i32,
    /// The static member's name.
    pub instance_id: Option<StrBytes>,
    /// Its rack.
    pub rack_id: Option<StrBytes>,
    /// The client id of its requests.
    pub client_id: StrBytes,
    /// The address it came from.
    pub client_host: StrBytes,
    /// The epoch of its topology.
    pub topology_epoch: i32,
    /// The process it is part of.
    pub process_id: StrBytes,
    /// Where its state can be asked for.
    pub user_endpoint: Option<Endpoint>,
    /// Where it runs.
    pub client_tags: Vec<(StrBytes, StrBytes)>,
    /// How far its tasks are.
    pub task_offsets: Vec<TaskOffset>,
    /// How far they could be.
    pub task_end_offsets: Vec<TaskOffset>,
    /// Its active, standby and warm-up tasks.
    pub assignment: [Vec<TaskIds>; 3],
    /// What they shall be.
    pub target: [Vec<TaskIds>; 3],
}

/// Encodes an answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, groups: &[Group]) -> Result<Response, Error> {
    let version = header.api_version;
    let mut writer = Writer::response(header, 512);
    writer.i32(0);
    writer.count(groups.len());
    for group in groups {
        encode_group(&mut writer, version, group);
    }
    writer.no_tags();
    writer.finish()
}

/// How many bytes of an answer the group takes.
pub fn size(version: i16, group: &Group) -> usize {
    let mut writer = Writer::plain(true);
    encode_group(&mut writer, version, group);
    writer.buffer().len()
}

fn encode_group(writer: &mut Writer, version: i16, group: &Group) {
    writer.i16(group.error.code());
    writer.nullable_string(group.error_message.as_deref());
    writer.string(&group.group_id);
    writer.string(&group.state);
    writer.i32(group.epoch);
    writer.i32(group.assignment_epoch);
    match &group.topology {
        None => writer.i8(-1),
        Some(topology) => {
            writer.i8(1);
            encode_topology(writer, topology);
        }
    }
    writer.count(group.members.len());
    for member in &group.members {
        encode_member(writer, member);
    }
    writer.i32(group.authorized_operations);
    if version >= 1 {
        writer.i8(-1);
        writer.i8(group.description_status);
        writer.nullable_string(group.assignor.as_deref());
    }
    writer.no_tags();
}

fn encode_topology(writer: &mut Writer, topology: &Topology) {
    writer.i32(topology.epoch);
    writer.nullable_length(Some(topology.subtopologies.len()));
    for part in &topology.subtopologies {
        writer.string(&part.id);
        names(writer, &part.source_topics);
        names(writer, &part.repartition_sink_topics);
        topics(writer, &part.state_changelog_topics);
        topics(writer, &part.repartition_source_topics);
        writer.no_tags();
    }
    writer.no_tags();
}

fn encode_member(writer: &mut Writer, member: &Member) {
    writer.string(&member.member_id);
    writer.i32(member.epoch);
    writer.nullable_string(member.instance_id.as_deref());
    writer.nullable_string(member.rack_id.as_deref());
    writer.string(&member.client_id);
    writer.string(&member.client_host);
    writer.i32(member.topology_epoch);
    writer.string(&member.process_id);
    match &member.user_endpoint {
        None => writer.i8(-1),
        Some(endpoint) => {
            writer.i8(1);
            writer.string(&endpoint.host);
            writer.i16(i16::from_be_bytes(endpoint.port.to_be_bytes()));
            writer.no_tags();
        }
    }
    pairs(writer, &member.client_tags);
    offsets(writer, &member.task_offsets);
    offsets(writer, &member.task_end_offsets);
    for tasks in [&member.assignment, &member.target] {
        for role in tasks {
            encode_tasks(writer, role);
        }
        writer.no_tags();
    }
    // No member of this kind speaks the classic protocol.
    writer.bool(false);
    writer.no_tags();
}

fn encode_tasks(writer: &mut Writer, tasks: &[TaskIds]) {
    writer.count(tasks.len());
    for ids in tasks {
        writer.string(&ids.subtopology_id);
        writer.count(ids.partitions.len());
        for partition in &ids.partitions {
            writer.i32(*partition);
        }
        writer.no_tags();
    }
}

fn names(writer: &mut Writer, names: &[StrBytes]) {
    writer.count(names.len());
    for name in names {
        writer.string(name);
    }
}

fn pairs(writer: &mut Writer, pairs: &[(StrBytes, StrBytes)]) {
    writer.count(pairs.len());
    for (key, value) in pairs {
        writer.string(key);
        writer.string(value);
        writer.no_tags();
    }
}

fn topics(writer: &mut Writer, topics: &[TopicInfo]) {
    writer.count(topics.len());
    for topic in topics {
        writer.string(&topic.name);
        writer.i32(topic.partitions);
        writer.i16(topic.replication_factor);
        pairs(writer, &topic.configs);
        writer.no_tags();
    }
}

fn offsets(writer: &mut Writer, offsets: &[TaskOffset]) {
    writer.count(offsets.len());
    for offset in offsets {
        writer.string(&offset.subtopology_id);
        writer.i32(offset.partition);
        writer.i64(offset.offset);
        writer.no_tags();
    }
}
