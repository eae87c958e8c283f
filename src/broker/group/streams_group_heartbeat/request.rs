//! What a heartbeat must look like, in Kafka's words, and what it becomes.

use crate::base::ErrorCode;
use crate::broker::context::Context;
use crate::broker::group::optional_text;
use crate::broker::group::text;
use crate::cluster::Image;
use crate::cluster::controller::topic_names;
use crate::cluster::image::is_internal;
use crate::groups::streams::command::Refusal;
use crate::groups::streams::command::StreamsHeartbeat;
use crate::groups::streams::command::TaskOffsets;
use crate::groups::streams::member::Endpoint;
use crate::groups::streams::settings::Settings;
use crate::groups::streams::tasks::Role;
use crate::groups::streams::tasks::Tasks;
use crate::groups::streams::topology::Copartition;
use crate::groups::streams::topology::Subtopology;
use crate::groups::streams::topology::TopicInfo;
use crate::groups::streams::topology::Topology;
use crate::protocol::supplement::streams_group_heartbeat as message;
use kafka_protocol::protocol::StrBytes;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The first version whose members understand that tags are missing.
const MISSING_TAGS_FROM: i16 = 1;

fn invalid<T>(words: &str) -> Result<T, Refusal> {
    Err(Refusal::new(ErrorCode::InvalidRequest, words))
}

/// Whether the request says what it must and nothing it must not.
///
/// # Errors
/// INVALID_REQUEST or STREAMS_INVALID_TOPOLOGY.
pub(in crate::broker) fn check(request: &message::Request) -> Result<(), Refusal> {
    let topology = request.topology.as_ref();
    if let Some(topology) = topology {
        check_names(topology)?;
        if topology.subtopologies.iter().any(|part| !part.source_topic_regex.is_empty()) {
            return invalid("Regular expressions for source topics are not supported yet.");
        }
    }
    let empty = |text: &str| text.trim().is_empty();
    if empty(&request.member_id) {
        return invalid("MemberId can't be empty.");
    }
    if empty(&request.group_id) {
        return invalid("GroupId can't be empty.");
    }
    if request.instance_id.as_ref().is_some_and(|id| empty(id)) {
        return invalid("InstanceId can't be empty.");
    }
    if request.rack_id.as_ref().is_some_and(|id| empty(id)) {
        return invalid("RackId can't be empty.");
    }
    match request.member_epoch {
        0 => check_joining(request)?,
        -2 if request.instance_id.is_none() => return invalid("InstanceId can't be null."),
        epoch if epoch < -2 => {
            return invalid(&format!("MemberEpoch is {epoch}, but must be greater than or equal to -2."));
        }
        _ => {}
    }
    let roles = [&request.active_tasks, &request.standby_tasks, &request.warmup_tasks];
    if roles.iter().any(|role| role.is_some()) && roles.iter().any(|role| role.is_none()) {
        return invalid("If one task-type is non-null, all must be non-null.");
    }
    if request.member_epoch != 0 && topology.is_some() {
        return invalid("Topology can only be provided when (re-)joining.");
    }
    Ok(())
}

fn check_joining(request: &message::Request) -> Result<(), Refusal> {
    let has_tasks = |role: &Option<Vec<message::TaskIds>>| role.as_ref().is_some_and(|all| !all.is_empty());
    if request.rebalance_timeout_ms == -1 {
        return invalid("RebalanceTimeoutMs must be provided in first request.");
    }
    if has_tasks(&request.active_tasks) {
        return invalid("ActiveTasks must be empty when (re-)joining.");
    }
    if has_tasks(&request.standby_tasks) {
        return invalid("StandbyTasks must be empty when (re-)joining.");
    }
    if has_tasks(&request.warmup_tasks) {
        return invalid("WarmupTasks must be empty when (re-)joining.");
    }
    if request.topology.is_none() {
        return invalid("Topology must be non-null when (re-)joining.");
    }
    Ok(())
}

/// Whether all topics of a topology may be used by it.
fn check_names(topology: &message::Topology) -> Result<(), Refusal> {
    let mut names: Vec<&str> = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for part in &topology.subtopologies {
        let internal = part.repartition_source_topics.iter().chain(&part.state_changelog_topics);
        let all = part.source_topics.iter().chain(&part.repartition_sink_topics);
        for name in all.map(|name| &**name).chain(internal.map(|topic| &*topic.name)) {
            if seen.insert(name) {
                names.push(name);
            }
        }
    }
    let wrong = |what: String| Err(Refusal::new(ErrorCode::StreamsInvalidTopology, what));
    let internal: Vec<&str> = names.iter().copied().filter(|name| is_internal(name)).collect();
    if !internal.is_empty() {
        let names = internal.join(",");
        return wrong(format!(
            "Use of Kafka internal topics {names} in a Kafka Streams topology is prohibited."
        ));
    }
    let illegal: Vec<&str> = names.into_iter().filter(|name| topic_names::check(name).is_err()).collect();
    if !illegal.is_empty() {
        return wrong(format!("Topic names {} are not valid topic names.", illegal.join(",")));
    }
    Ok(())
}

/// The request as the group takes it, but for what the cluster has and what holds for the group.
///
/// # Errors
/// STREAMS_INVALID_TOPOLOGY, or INVALID_REQUEST for offsets that are told twice.
pub(in crate::broker) fn command(
    context: &Context,
    request: message::Request,
) -> Result<impl FnOnce(Arc<Image>, Settings) -> StreamsHeartbeat, Refusal> {
    let topology = request.topology.map(topology).transpose()?;
    let owned = match (&request.active_tasks, &request.standby_tasks, &request.warmup_tasks) {
        (Some(active), Some(standby), Some(warmup)) => {
            Some(Tasks { active: role(active), standby: role(standby), warmup: role(warmup) })
        }
        _ => None,
    };
    let task_offsets = request.task_offsets.as_deref().map(offsets).transpose()?;
    let task_end_offsets = request.task_end_offsets.as_deref().map(offsets).transpose()?;
    let client_id = Arc::from(context.client_id());
    let client_host = Arc::from(context.client_host());
    let knows_missing_tags = context.version() >= MISSING_TAGS_FROM;
    let timeout = Some(request.rebalance_timeout_ms).filter(|timeout| *timeout != -1);
    let tags = request.client_tags;
    let tags = tags.map(|tags| tags.iter().map(|(name, value)| (text(name), text(value))).collect());
    Ok(move |image, settings| StreamsHeartbeat {
        group: text(&request.group_id),
        member_id: text(&request.member_id),
        member_epoch: request.member_epoch,
        endpoint_epoch: request.endpoint_information_epoch,
        instance_id: optional_text(request.instance_id.as_ref()),
        rack_id: optional_text(request.rack_id.as_ref()),
        rebalance_timeout_ms: timeout,
        client_id,
        client_host,
        topology,
        owned,
        process_id: optional_text(request.process_id.as_ref()),
        endpoint: request.user_endpoint.map(|one| Endpoint { host: text(&one.host), port: one.port }),
        client_tags: tags,
        task_offsets,
        task_end_offsets,
        shutdown: request.shutdown_application,
        knows_missing_tags,
        image,
        settings,
    })
}

fn topology(topology: message::Topology) -> Result<Topology, Refusal> {
    let mut subtopologies = BTreeMap::new();
    for part in topology.subtopologies {
        let id = text(&part.id);
        if subtopologies.insert(id.clone(), subtopology(&part)).is_some() {
            let words = format!("Subtopology {id} is there twice.");
            return Err(Refusal::new(ErrorCode::StreamsInvalidTopology, words));
        }
    }
    let topology = Topology { epoch: topology.epoch, subtopologies };
    topology.check()?;
    Ok(topology)
}

fn subtopology(part: &message::Subtopology) -> Subtopology {
    let names = |names: &[StrBytes]| names.iter().map(text).collect();
    let topics = |topics: &[message::TopicInfo]| topics.iter().map(topic).collect();
    let group = |group: &[Vec<i16>; 3]| {
        let [source_topics, source_topic_regex, repartition_source_topics] = group.clone();
        Copartition { source_topics, source_topic_regex, repartition_source_topics }
    };
    Subtopology {
        source_topics: names(&part.source_topics),
        source_topic_regex: names(&part.source_topic_regex),
        state_changelog_topics: topics(&part.state_changelog_topics),
        repartition_sink_topics: names(&part.repartition_sink_topics),
        repartition_source_topics: topics(&part.repartition_source_topics),
        copartition_groups: part.copartition_groups.iter().map(group).collect(),
    }
}

fn topic(topic: &message::TopicInfo) -> TopicInfo {
    TopicInfo {
        name: text(&topic.name),
        partitions: topic.partitions,
        replication_factor: topic.replication_factor,
        configs: topic.configs.iter().map(|(name, value)| (text(name), text(value))).collect(),
    }
}

fn role(ids: &[message::TaskIds]) -> Role {
    let mut role = Role::new();
    for ids in ids.iter().filter(|ids| !ids.partitions.is_empty()) {
        role.entry(text(&ids.subtopology_id)).or_default().extend(&ids.partitions);
    }
    role
}

fn offsets(offsets: &[message::TaskOffset]) -> Result<TaskOffsets, Refusal> {
    let mut sorted = TaskOffsets::new();
    for one in offsets {
        let partitions = sorted.entry(text(&one.subtopology_id)).or_default();
        if partitions.insert(one.partition, one.offset).is_some() {
            return Err(Refusal::new(
                ErrorCode::InvalidRequest,
                format!(
                    "Task offsets contain a duplicate entry for subtopology {} and partition {}.",
                    one.subtopology_id, one.partition
                ),
            ));
        }
    }
    Ok(sorted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(value: &str) -> StrBytes {
        StrBytes::from_string(value.to_owned())
    }

    fn joining() -> message::Request {
        let part = message::Subtopology {
            id: wire("0"),
            source_topics: vec![wire("in")],
            source_topic_regex: Vec::new(),
            state_changelog_topics: Vec::new(),
            repartition_sink_topics: Vec::new(),
            repartition_source_topics: Vec::new(),
            copartition_groups: Vec::new(),
        };
        message::Request {
            group_id: wire("g"),
            member_id: wire("m"),
            member_epoch: 0,
            endpoint_information_epoch: 0,
            instance_id: None,
            rack_id: None,
            rebalance_timeout_ms: 5,
            topology: Some(message::Topology { epoch: 0, subtopologies: vec![part] }),
            active_tasks: Some(Vec::new()),
            standby_tasks: Some(Vec::new()),
            warmup_tasks: Some(Vec::new()),
            process_id: None,
            user_endpoint: None,
            client_tags: None,
            task_offsets: None,
            task_end_offsets: None,
            shutdown_application: false,
        }
    }

    fn refused(change: impl FnOnce(&mut message::Request)) -> (ErrorCode, String) {
        let mut request = joining();
        change(&mut request);
        let refusal = check(&request).unwrap_err();
        (refusal.error, refusal.message.unwrap())
    }

    #[test]
    fn requests_that_say_too_little_or_too_much_are_refused_in_kafkas_words() {
        assert_eq!(check(&joining()), Ok(()));
        let task = || Some(vec![message::TaskIds { subtopology_id: wire("0"), partitions: vec![0] }]);
        type Change = Box<dyn FnOnce(&mut message::Request)>;
        let cases: Vec<(Change, &str)> = vec![
            (Box::new(|it| it.member_id = wire("")), "MemberId can't be empty."),
            (Box::new(|it| it.group_id = wire(" ")), "GroupId can't be empty."),
            (Box::new(|it| it.instance_id = Some(wire(""))), "InstanceId can't be empty."),
            (Box::new(|it| it.rack_id = Some(wire(""))), "RackId can't be empty."),
            (
                Box::new(|it| it.rebalance_timeout_ms = -1),
                "RebalanceTimeoutMs must be provided in first request.",
            ),
            (Box::new(move |it| it.active_tasks = task()), "ActiveTasks must be empty when (re-)joining."),
            (Box::new(|it| it.topology = None), "Topology must be non-null when (re-)joining."),
            (
                Box::new(|it| it.member_epoch = -3),
                "MemberEpoch is -3, but must be greater than or equal to -2.",
            ),
            (Box::new(|it| it.member_epoch = -2), "InstanceId can't be null."),
            (Box::new(|it| it.standby_tasks = None), "If one task-type is non-null, all must be non-null."),
            (Box::new(|it| it.member_epoch = 3), "Topology can only be provided when (re-)joining."),
        ];
        for (change, words) in cases {
            assert_eq!(refused(change), (ErrorCode::InvalidRequest, words.to_owned()));
        }
    }

    #[test]
    fn topologies_name_topics_that_they_may_use() {
        let source = |name: &'static str| {
            move |it: &mut message::Request| {
                it.topology.as_mut().unwrap().subtopologies[0].source_topics = vec![wire(name), wire("ok")];
            }
        };
        let code = ErrorCode::StreamsInvalidTopology;
        let words =
            "Use of Kafka internal topics __consumer_offsets in a Kafka Streams topology is prohibited.";
        assert_eq!(refused(source("__consumer_offsets")), (code, words.to_owned()));
        assert_eq!(refused(source("a b")), (code, "Topic names a b are not valid topic names.".to_owned()));
        let regex = |it: &mut message::Request| {
            it.topology.as_mut().unwrap().subtopologies[0].source_topic_regex = vec![wire("x.*")];
        };
        assert_eq!(refused(regex).1, "Regular expressions for source topics are not supported yet.");
    }

    #[test]
    fn offsets_that_are_told_twice_are_refused() {
        let offset = |partition| message::TaskOffset { subtopology_id: wire("0"), partition, offset: 7 };
        assert_eq!(offsets(&[offset(0), offset(1)]).unwrap()["0"], BTreeMap::from([(0, 7), (1, 7)]));
        let words = "Task offsets contain a duplicate entry for subtopology 0 and partition 1.";
        assert_eq!(offsets(&[offset(1), offset(1)]).unwrap_err().message.unwrap(), words);
    }
}
