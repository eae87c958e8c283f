//! StreamsGroupHeartbeat 0 and 1 (KIP-1071); version 1 tells the acceptable lag as a long.

use crate::base::ErrorCode;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Response;
use crate::protocol::wire::Reader;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// A member's sign of life. `None` stands for "as before" or "not there".
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The group.
    pub group_id: StrBytes,
    /// The member's own id.
    pub member_id: StrBytes,
    /// 0 to join, -1 to leave, -2 to leave for a while.
    pub member_epoch: i32,
    /// The epoch of the endpoints that it knows.
    pub endpoint_information_epoch: i32,
    /// The static member's name.
    pub instance_id: Option<StrBytes>,
    /// Its rack.
    pub rack_id: Option<StrBytes>,
    /// How long the group waits for it to give tasks back; -1 as before.
    pub rebalance_timeout_ms: i32,
    /// The application's topology.
    pub topology: Option<Topology>,
    /// The active tasks it runs.
    pub active_tasks: Option<Vec<TaskIds>>,
    /// The standby tasks it runs.
    pub standby_tasks: Option<Vec<TaskIds>>,
    /// The warm-up tasks it runs.
    pub warmup_tasks: Option<Vec<TaskIds>>,
    /// The process it is part of.
    pub process_id: Option<StrBytes>,
    /// Where its state can be asked for.
    pub user_endpoint: Option<Endpoint>,
    /// Where it runs.
    pub client_tags: Option<Vec<(StrBytes, StrBytes)>>,
    /// How far its tasks are.
    pub task_offsets: Option<Vec<TaskOffset>>,
    /// How far they could be.
    pub task_end_offsets: Option<Vec<TaskOffset>>,
    /// The whole application shall stop.
    pub shutdown_application: bool,
}

/// An application's topology.
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
    /// Patterns of topics that it reads.
    pub source_topic_regex: Vec<StrBytes>,
    /// The topics that keep its state.
    pub state_changelog_topics: Vec<TopicInfo>,
    /// The internal topics that it writes for others.
    pub repartition_sink_topics: Vec<StrBytes>,
    /// The internal topics that it reads.
    pub repartition_source_topics: Vec<TopicInfo>,
    /// Which sources must have the same number of partitions: places in the three lists of sources.
    pub copartition_groups: Vec<[Vec<i16>; 3]>,
}

/// An internal topic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicInfo {
    /// Its name.
    pub name: StrBytes,
    /// How many partitions; 0 for what the broker works out.
    pub partitions: i32,
    /// How many replicas; 0 for the broker's default.
    pub replication_factor: i16,
    /// Its settings.
    pub configs: Vec<(StrBytes, StrBytes)>,
}

/// Tasks of one subtopology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskIds {
    /// The subtopology.
    pub subtopology_id: StrBytes,
    /// The partitions.
    pub partitions: Vec<i32>,
}

/// Where an instance can be reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// Host name or address.
    pub host: StrBytes,
    /// Port.
    pub port: u16,
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskOffset {
    /// The subtopology.
    pub subtopology_id: StrBytes,
    /// The partition.
    pub partition: i32,
    /// The sum of its changelogs' offsets.
    pub offset: i64,
}

/// Decodes a request.
///
/// # Errors
/// When the bytes are no StreamsGroupHeartbeat request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Request, Error> {
    let mut reader = codec::reader(header, body)?;
    let reader = &mut reader;
    let request = Request {
        group_id: reader.string("GroupId")?,
        member_id: reader.string("MemberId")?,
        member_epoch: reader.i32("MemberEpoch")?,
        endpoint_information_epoch: reader.i32("EndpointInformationEpoch")?,
        instance_id: reader.nullable_string("InstanceId")?,
        rack_id: reader.nullable_string("RackId")?,
        rebalance_timeout_ms: reader.i32("RebalanceTimeoutMs")?,
        topology: optional(reader, "Topology", topology)?,
        active_tasks: nullable_list(reader, 3, "ActiveTasks", task_ids)?,
        standby_tasks: nullable_list(reader, 3, "StandbyTasks", task_ids)?,
        warmup_tasks: nullable_list(reader, 3, "WarmupTasks", task_ids)?,
        process_id: reader.nullable_string("ProcessId")?,
        user_endpoint: optional(reader, "UserEndpoint", endpoint)?,
        client_tags: nullable_list(reader, 3, "ClientTags", pair)?,
        task_offsets: nullable_list(reader, 14, "TaskOffsets", task_offset)?,
        task_end_offsets: nullable_list(reader, 14, "TaskEndOffsets", task_offset)?,
        shutdown_application: reader.bool("ShutdownApplication")?,
    };
    reader.skip_tags()?;
    Ok(request)
}

fn optional<T>(
    reader: &mut Reader,
    field: &'static str,
    read: impl Fn(&mut Reader) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    if reader.i8(field)? < 0 { Ok(None) } else { read(reader).map(Some) }
}

fn nullable_list<T>(
    reader: &mut Reader,
    element_min: usize,
    field: &'static str,
    read: impl Fn(&mut Reader) -> Result<T, Error>,
) -> Result<Option<Vec<T>>, Error> {
    let Some(count) = reader.nullable_count(element_min, field)? else { return Ok(None) };
    let mut items = Vec::with_capacity(count);
    for _ in 0..count {
        items.push(read(reader)?);
    }
    Ok(Some(items))
}

fn list<T>(
    reader: &mut Reader,
    element_min: usize,
    field: &'static str,
    read: impl Fn(&mut Reader) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let items = nullable_list(reader, element_min, field, read)?;
    items.ok_or(Error::Malformed { field, what: "null where none is allowed" })
}

fn topology(reader: &mut Reader) -> Result<Topology, Error> {
    let epoch = reader.i32("Epoch")?;
    let subtopologies = list(reader, 8, "Subtopologies", subtopology)?;
    reader.skip_tags()?;
    Ok(Topology { epoch, subtopologies })
}

fn subtopology(reader: &mut Reader) -> Result<Subtopology, Error> {
    let name = |reader: &mut Reader| reader.string("Topic");
    let subtopology = Subtopology {
        id: reader.string("SubtopologyId")?,
        source_topics: list(reader, 1, "SourceTopics", name)?,
        source_topic_regex: list(reader, 1, "SourceTopicRegex", name)?,
        state_changelog_topics: list(reader, 9, "StateChangelogTopics", topic_info)?,
        repartition_sink_topics: list(reader, 1, "RepartitionSinkTopics", name)?,
        repartition_source_topics: list(reader, 9, "RepartitionSourceTopics", topic_info)?,
        copartition_groups: list(reader, 4, "CopartitionGroups", copartition)?,
    };
    reader.skip_tags()?;
    Ok(subtopology)
}

fn topic_info(reader: &mut Reader) -> Result<TopicInfo, Error> {
    let topic = TopicInfo {
        name: reader.string("Name")?,
        partitions: reader.i32("Partitions")?,
        replication_factor: reader.i16("ReplicationFactor")?,
        configs: list(reader, 3, "TopicConfigs", pair)?,
    };
    reader.skip_tags()?;
    Ok(topic)
}

fn copartition(reader: &mut Reader) -> Result<[Vec<i16>; 3], Error> {
    let place = |reader: &mut Reader| reader.i16("Place");
    let group = [
        list(reader, 2, "SourceTopics", place)?,
        list(reader, 2, "SourceTopicRegex", place)?,
        list(reader, 2, "RepartitionSourceTopics", place)?,
    ];
    reader.skip_tags()?;
    Ok(group)
}

fn pair(reader: &mut Reader) -> Result<(StrBytes, StrBytes), Error> {
    let pair = (reader.string("Key")?, reader.string("Value")?);
    reader.skip_tags()?;
    Ok(pair)
}

fn task_ids(reader: &mut Reader) -> Result<TaskIds, Error> {
    let subtopology_id = reader.string("SubtopologyId")?;
    let partitions = reader.i32_array("Partitions")?;
    reader.skip_tags()?;
    Ok(TaskIds { subtopology_id, partitions })
}

fn endpoint(reader: &mut Reader) -> Result<Endpoint, Error> {
    let host = reader.string("Host")?;
    let port = u16::from_be_bytes(reader.i16("Port")?.to_be_bytes());
    reader.skip_tags()?;
    Ok(Endpoint { host, port })
}

fn task_offset(reader: &mut Reader) -> Result<TaskOffset, Error> {
    let subtopology_id = reader.string("SubtopologyId")?;
    let partition = reader.i32("Partition")?;
    let offset = reader.i64("Offset")?;
    reader.skip_tags()?;
    Ok(TaskOffset { subtopology_id, partition, offset })
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What is wrong.
    pub error: ErrorCode,
    /// In words.
    pub error_message: Option<String>,
    /// The member.
    pub member_id: StrBytes,
    /// Its epoch.
    pub member_epoch: i32,
    /// How often it shall speak.
    pub heartbeat_interval_ms: i32,
    /// How often it shall tell offsets.
    pub task_offset_interval_ms: i32,
    /// How far behind counts as caught up (version 1 on); -1 for no word on it.
    pub acceptable_recovery_lag: i64,
    /// What it should know of the group: a number and words.
    pub status: Option<Vec<(i8, String)>>,
    /// Its active, standby and warm-up tasks.
    pub tasks: Option<[Vec<TaskIds>; 3]>,
    /// The epoch of the endpoints.
    pub endpoint_information_epoch: i32,
    /// Whose state can be asked for where.
    pub partitions_by_user_endpoint: Option<Vec<EndpointPartitions>>,
}

/// The partitions whose state is at an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointPartitions {
    /// Where.
    pub endpoint: Endpoint,
    /// Those of active tasks, by topic.
    pub active: Vec<(StrBytes, Vec<i32>)>,
    /// Those of other tasks, by topic.
    pub standby: Vec<(StrBytes, Vec<i32>)>,
}

/// Encodes an answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, answer: &Answer) -> Result<Response, Error> {
    let version = header.api_version;
    let mut writer = Writer::response(header, 256);
    writer.i32(0);
    writer.i16(answer.error.code());
    writer.nullable_string(answer.error_message.as_deref());
    writer.string(&answer.member_id);
    writer.i32(answer.member_epoch);
    writer.i32(answer.heartbeat_interval_ms);
    if version == 0 {
        // A field that Kafka gave up, with a value that it never set.
        writer.i32(0);
    }
    writer.i32(answer.task_offset_interval_ms);
    if version >= 1 {
        writer.i64(answer.acceptable_recovery_lag);
    }
    writer.nullable_length(answer.status.as_ref().map(Vec::len));
    for (code, detail) in answer.status.iter().flatten() {
        writer.i8(*code);
        writer.string(detail);
        writer.no_tags();
    }
    for role in 0..3 {
        encode_tasks(&mut writer, answer.tasks.as_ref().and_then(|tasks| tasks.get(role)));
    }
    if version >= 1 {
        // No description of the topology is kept here (KIP-1331).
        writer.bool(false);
    }
    writer.i32(answer.endpoint_information_epoch);
    let endpoints = answer.partitions_by_user_endpoint.as_ref();
    writer.nullable_length(endpoints.map(Vec::len));
    for one in endpoints.into_iter().flatten() {
        writer.string(&one.endpoint.host);
        writer.i16(i16::from_be_bytes(one.endpoint.port.to_be_bytes()));
        writer.no_tags();
        encode_topics(&mut writer, &one.active);
        encode_topics(&mut writer, &one.standby);
        writer.no_tags();
    }
    writer.no_tags();
    writer.finish()
}

fn encode_tasks(writer: &mut Writer, tasks: Option<&Vec<TaskIds>>) {
    writer.nullable_length(tasks.map(Vec::len));
    for ids in tasks.into_iter().flatten() {
        writer.string(&ids.subtopology_id);
        numbers(writer, &ids.partitions);
        writer.no_tags();
    }
}

fn encode_topics(writer: &mut Writer, topics: &[(StrBytes, Vec<i32>)]) {
    writer.count(topics.len());
    for (topic, partitions) in topics {
        writer.string(topic);
        numbers(writer, partitions);
        writer.no_tags();
    }
}

fn numbers(writer: &mut Writer, numbers: &[i32]) {
    writer.count(numbers.len());
    for number in numbers {
        writer.i32(*number);
    }
}
