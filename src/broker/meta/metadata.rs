//! Metadata: which brokers there are, which topics, and who leads their partitions. Every client uses it.

use super::operations;
use super::partition_view;
use super::partition_view::Faults;
use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::base::TopicId;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::topic_creation;
use crate::broker::wire;
use crate::cluster::Image;
use crate::cluster::Topic;
use crate::cluster::controller::topic_names;
use crate::cluster::image::is_internal;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::MetadataRequest;
use kafka_protocol::messages::MetadataResponse;
use kafka_protocol::messages::metadata_response::MetadataResponseBroker;
use kafka_protocol::messages::metadata_response::MetadataResponsePartition;
use kafka_protocol::messages::metadata_response::MetadataResponseTopic;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// From this version on topics can be asked for by id, and names may be null.
const BY_ID: i16 = 12;

/// What a request asks for.
#[derive(Debug, PartialEq, Eq)]
enum Wanted {
    All,
    Ids(BTreeSet<TopicId>),
    Names(BTreeSet<String>),
}

/// Answers a Metadata request.
pub(crate) async fn handle(
    broker: &Arc<Broker>,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let version = context.version();
    let request: MetadataRequest = codec::decode(&context.header, body)?;
    let wanted = match wanted(&request, version) {
        Ok(wanted) => wanted,
        Err(refused) => return Ok(codec::encode(&context.header, &refusal(&request, version, &refused))?),
    };
    let mut failed = BTreeMap::new();
    if let Wanted::Names(names) = &wanted
        && broker.config.topics.auto_create
        && (version < 4 || request.allow_auto_topic_creation)
    {
        failed = topic_creation::create_missing(broker, context, names).await;
    }
    let image = broker.publisher.current();
    let scope = Scope {
        image: &image,
        listener: &context.connection.listener,
        version,
        operations: operations::on_topic(version >= 8 && request.include_topic_authorized_operations),
    };
    let mut room = broker.answer_memory.begin();
    let mut topics = scope.topics(&wanted, &failed);
    for topic in &mut topics {
        if !room.take(size(topic)) {
            topic.partitions = Vec::new();
            topic.error_code = ErrorCode::LeaderNotAvailable.code();
        }
    }
    let asked_cluster = (8..=10).contains(&version) && request.include_cluster_authorized_operations;
    let response = MetadataResponse::default()
        .with_brokers(scope.brokers())
        .with_cluster_id(Some(wire::text(&image.cluster_id)))
        .with_controller_id(wire::broker_id(controller(&image)))
        .with_topics(topics)
        .with_cluster_authorized_operations(operations::on_cluster(asked_cluster));
    Ok(room.tie_to(codec::encode(&context.header, &response)?))
}

/// How many bytes of an answer a topic takes, about.
fn size(topic: &MetadataResponseTopic) -> usize {
    let ids = |one: &MetadataResponsePartition| {
        one.replica_nodes.len() + one.isr_nodes.len() + one.offline_replicas.len()
    };
    let partitions = topic.partitions.iter().map(|one| 32 + 4 * ids(one));
    64 + topic.name.as_ref().map_or(0, |name| name.len()) + partitions.sum::<usize>()
}

fn wanted(request: &MetadataRequest, version: i16) -> Result<Wanted, Refused> {
    let Some(topics) = &request.topics else { return Ok(Wanted::All) };
    if version == 0 && topics.is_empty() {
        return Ok(Wanted::All);
    }
    let mut names = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for topic in topics {
        let id = wire::topic_id(topic.topic_id);
        if version < BY_ID && topic.name.is_none() {
            let message = format!("Topic name can not be null for version {version}");
            return Err(Refused::new(ErrorCode::InvalidRequest, message));
        }
        if version < BY_ID && !id.is_zero() {
            let message = format!("Topic IDs are not supported in requests for version {version}");
            return Err(Refused::new(ErrorCode::InvalidRequest, message));
        }
        if !id.is_zero() {
            ids.insert(id);
        }
        names.extend(topic.name.as_ref().map(|name| name.to_string()));
    }
    Ok(if ids.is_empty() { Wanted::Names(names) } else { Wanted::Ids(ids) })
}

/// The answer to a request that is wrong as a whole: the code stands at every topic, and since version 13 on top; nothing
/// else is told (`MetadataRequest.getErrorResponse`).
fn refusal(request: &MetadataRequest, version: i16, refused: &Refused) -> MetadataResponse {
    let mut topics = Vec::new();
    for topic in request.topics.iter().flatten() {
        let name = topic.name.as_ref().map(|name| name.as_str());
        // A null name cannot be said before version 12.
        let name = if version < BY_ID { Some(name.unwrap_or_default()) } else { name };
        let bare = bare(refused.code, name, wire::topic_id(topic.topic_id));
        topics.push(bare.with_is_internal(false));
    }
    let code = if version >= 13 { refused.code.code() } else { 0 };
    MetadataResponse::default().with_topics(topics).with_error_code(code)
}

/// A topic of which there is only an error to tell.
fn bare(code: ErrorCode, name: Option<&str>, id: TopicId) -> MetadataResponseTopic {
    MetadataResponseTopic::default()
        .with_error_code(code.code())
        .with_name(name.map(wire::topic_name))
        .with_topic_id(id.0)
        .with_is_internal(name.is_some_and(is_internal))
}

/// Where clients send what is for "the controller": the first broker that can be reached. The one node there is is
/// broker and controller at once.
fn controller(image: &Image) -> BrokerId {
    image.brokers().find(|broker| !broker.fenced).map_or(BrokerId::NONE, |broker| broker.id)
}

struct Scope<'a> {
    image: &'a Image,
    listener: &'a str,
    version: i16,
    operations: i32,
}

impl Scope<'_> {
    /// The brokers that clients of this listener can reach, at the address that this listener advertises.
    fn brokers(&self) -> Vec<MetadataResponseBroker> {
        let mut brokers = Vec::new();
        for broker in self.image.brokers().filter(|broker| !broker.fenced) {
            if let Some(endpoint) = broker.endpoint(self.listener) {
                brokers.push(
                    MetadataResponseBroker::default()
                        .with_node_id(wire::broker_id(broker.id))
                        .with_host(wire::text(&endpoint.host))
                        .with_port(i32::from(endpoint.port))
                        .with_rack(wire::some_text(broker.rack.as_deref())),
                );
            }
        }
        brokers
    }

    /// The topics, with those that could not be created.
    fn topics(&self, wanted: &Wanted, failed: &BTreeMap<String, ErrorCode>) -> Vec<MetadataResponseTopic> {
        match wanted {
            Wanted::All => self.image.topics().map(|topic| self.topic(topic)).collect(),
            Wanted::Ids(ids) => {
                let unknown = ids.iter().filter(|id| self.image.topic_by_id(**id).is_none());
                let unknown = unknown.map(|id| bare(ErrorCode::UnknownTopicId, None, *id));
                let known = ids.iter().filter_map(|id| self.image.topic_by_id(*id));
                unknown.chain(known.map(|topic| self.topic(topic))).collect()
            }
            Wanted::Names(names) => names.iter().map(|name| self.named(name, failed)).collect(),
        }
    }

    fn named(&self, name: &str, failed: &BTreeMap<String, ErrorCode>) -> MetadataResponseTopic {
        if let Some(topic) = self.image.topic(name) {
            return self.topic(topic);
        }
        let code = match failed.get(name) {
            Some(code) => *code,
            None if topic_names::check(name).is_err() => ErrorCode::InvalidTopicException,
            None => ErrorCode::UnknownTopicOrPartition,
        };
        bare(code, Some(name), TopicId::ZERO).with_topic_authorized_operations(self.operations)
    }

    fn topic(&self, topic: &Topic) -> MetadataResponseTopic {
        let faults = Faults { unavailable_replicas: self.version == 0, missing_listener: self.version >= 6 };
        let mut partitions = Vec::with_capacity(topic.partitions.len());
        for partition in &topic.partitions {
            let view = partition_view::view(self.image, partition, self.listener, faults);
            partitions.push(
                MetadataResponsePartition::default()
                    .with_error_code(view.error.code())
                    .with_partition_index(partition.index.0)
                    .with_leader_id(wire::broker_id(view.leader))
                    .with_leader_epoch(partition.leader_epoch.0)
                    .with_replica_nodes(wire::broker_ids(&view.replicas))
                    .with_isr_nodes(wire::broker_ids(&view.isr))
                    .with_offline_replicas(wire::broker_ids(&view.offline)),
            );
        }
        MetadataResponseTopic::default()
            .with_name(Some(wire::topic_name(&topic.name)))
            .with_topic_id(topic.id.0)
            .with_is_internal(topic.internal())
            .with_partitions(partitions)
            .with_topic_authorized_operations(self.operations)
    }
}
