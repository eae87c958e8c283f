//! StreamsGroupHeartbeat 0 and 1: a member of a streams group joins, stays or leaves. Internal topics that its topology
//! lacks are made here, by the controller.

pub(in crate::broker) mod request;

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::admin;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::streams_group_describe::ids;
use crate::broker::group::wire;
use crate::broker::throttling::Mutation;
use crate::cluster::command::CreateTopics;
use crate::cluster::command::NewTopic;
use crate::groups::streams::command::Alive;
use crate::groups::streams::command::EndpointPartitions;
use crate::groups::streams::command::Refusal;
use crate::groups::streams::command::Status;
use crate::groups::streams::topics::InternalTopic;
use crate::protocol::Response;
use crate::protocol::supplement::streams_group_heartbeat as message;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;
use std::sync::Arc;
use tracing::debug;
use tracing::info;

/// Answers a StreamsGroupHeartbeat request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request = message::decode(&context.header, body)?;
    let known_epoch = request.endpoint_information_epoch;
    let mut room = broker.answer_memory.begin();
    let answer = match heartbeat(broker, context, request).await {
        Ok(mut alive) => {
            let endpoints = alive.endpoints.as_deref().unwrap_or_default();
            if !room.take(endpoints.iter().map(size).sum()) {
                (alive.endpoints, alive.endpoint_epoch) = (None, known_epoch);
            }
            answer(alive)
        }
        Err(refusal) => refused(refusal),
    };
    Ok(room.tie_to(message::encode(&context.header, &answer)?))
}

/// How many bytes of an answer an endpoint takes, about.
fn size(one: &EndpointPartitions) -> usize {
    let topics = one.active.iter().chain(&one.standby);
    32 + one.endpoint.host.len()
        + topics.map(|(topic, partitions)| 8 + topic.len() + 4 * partitions.len()).sum::<usize>()
}

async fn heartbeat(broker: &Broker, context: &Context, request: message::Request) -> Result<Alive, Refusal> {
    if !broker.groups.has_streams_groups() {
        return Err(ErrorCode::UnsupportedVersion.into());
    }
    request::check(&request)?;
    let group = request.group_id.clone();
    let command = request::command(context, request)?;
    let mut alive = broker.groups.streams_heartbeat(&group, command).await?;
    if !alive.missing_topics.is_empty() {
        let missing = std::mem::take(&mut alive.missing_topics);
        let failed = create(broker, context, missing).await;
        tell(&mut alive, &failed);
    }
    Ok(alive)
}

/// Makes the internal topics, which the client pays for, and gives back those that could not be made, with the reasons.
/// The next heartbeat finds what was made.
async fn create(broker: &Broker, context: &Context, missing: Vec<InternalTopic>) -> Vec<(String, String)> {
    let topics: Vec<NewTopic> = missing.into_iter().map(new_topic).collect();
    let names: Vec<String> = topics.iter().map(|topic| topic.name.clone()).collect();
    let controller = Mutation::on_the_way(broker, context).controller();
    match controller.create_topics(CreateTopics { topics, validate_only: false }).await {
        Ok(applied) => {
            info!(topics = ?names, "internal topics of a streams group are made");
            admin::until_usable(broker, applied.offset).await;
            let failed = applied.value.into_iter().filter_map(|creation| {
                let refusal = creation.result.err()?;
                // Another member was faster.
                let is_there = refusal.code == ErrorCode::TopicAlreadyExists;
                (!is_there)
                    .then(|| (creation.name, refusal.message.unwrap_or_else(|| refusal.code.to_string())))
            });
            failed.collect()
        }
        Err(error) => {
            debug!("internal topics were not made: {error}");
            names.into_iter().map(|name| (name, error.to_string())).collect()
        }
    }
}

fn new_topic(topic: InternalTopic) -> NewTopic {
    let config = |(name, value): (Arc<str>, Arc<str>)| (name.to_string(), Some(value.to_string()));
    NewTopic {
        name: topic.name.to_string(),
        num_partitions: topic.partitions,
        replication_factor: if topic.replication_factor == 0 { -1 } else { topic.replication_factor },
        assignments: Vec::new(),
        configs: topic.configs.into_iter().map(config).collect(),
    }
}

/// Adds to the status of missing topics why they could not be made: of the first three, and how many more.
fn tell(alive: &mut Alive, failed: &[(String, String)]) {
    const SHOWN: usize = 3;
    if failed.is_empty() {
        return;
    }
    let shown: Vec<String> =
        failed.iter().take(SHOWN).map(|(name, reason)| format!("{name} ({reason})")).collect();
    let mut shown = shown.join(", ");
    if let Some(more) = failed.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        shown = format!("{shown} and {more} more");
    }
    for status in &mut alive.statuses {
        if let Status::MissingInternalTopics(detail) = status {
            *detail = format!("{detail}; Creation failed: {shown}.");
        }
    }
}

pub(in crate::broker) fn refused(refusal: Refusal) -> message::Answer {
    message::Answer {
        error: refusal.error,
        error_message: refusal.message,
        member_id: StrBytes::new(),
        member_epoch: 0,
        heartbeat_interval_ms: 0,
        task_offset_interval_ms: 0,
        acceptable_recovery_lag: -1,
        status: Some(Vec::new()),
        tasks: None,
        endpoint_information_epoch: 0,
        partitions_by_user_endpoint: None,
    }
}

pub(in crate::broker) fn answer(alive: Alive) -> message::Answer {
    let endpoints = alive.endpoints.map(|all| all.into_iter().map(endpoint).collect());
    message::Answer {
        error: ErrorCode::None,
        error_message: None,
        member_id: wire(&alive.member_id),
        member_epoch: alive.member_epoch,
        heartbeat_interval_ms: alive.heartbeat_interval_ms,
        task_offset_interval_ms: alive.task_offset_interval_ms,
        acceptable_recovery_lag: alive.acceptable_recovery_lag,
        status: Some(alive.statuses.iter().map(|one| (one.code(), one.detail().to_owned())).collect()),
        tasks: alive.tasks.map(|tasks| [ids(&tasks.active), ids(&tasks.standby), ids(&tasks.warmup)]),
        endpoint_information_epoch: alive.endpoint_epoch,
        partitions_by_user_endpoint: endpoints,
    }
}

fn endpoint(one: EndpointPartitions) -> message::EndpointPartitions {
    let topics = |topics: Vec<(Arc<str>, Vec<i32>)>| {
        topics.into_iter().map(|(topic, partitions)| (wire(&topic), partitions)).collect()
    };
    message::EndpointPartitions {
        endpoint: message::Endpoint { host: wire(&one.endpoint.host), port: one.endpoint.port },
        active: topics(one.active),
        standby: topics(one.standby),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broker::tests::Bench;
    use crate::protocol::RequestHeader;
    use crate::protocol::versions;
    use kafka_protocol::messages::AlterClientQuotasRequest;
    use kafka_protocol::messages::alter_client_quotas_request::EntityData;
    use kafka_protocol::messages::alter_client_quotas_request::EntryData;
    use kafka_protocol::messages::alter_client_quotas_request::OpData;

    #[tokio::test]
    async fn internal_topics_are_paid_for() {
        let bench = Bench::new(&[]).await;
        let rate =
            OpData::default().with_key(StrBytes::from_static_str("controller_mutation_rate")).with_value(0.1);
        let user = EntityData::default().with_entity_type(StrBytes::from_static_str("user"));
        let entry = EntryData::default().with_entity(vec![user.with_entity_name(None)]).with_ops(vec![rate]);
        let request = AlterClientQuotasRequest::default().with_entries(vec![entry]);
        assert_eq!(bench.ask(&request, 1).await.entries[0].error_code, 0);
        let header = RequestHeader {
            api_key: versions::STREAMS_GROUP_HEARTBEAT,
            api_version: 0,
            correlation_id: 7,
            client_id: None,
        };
        let context = Context { header, connection: Arc::clone(&bench.connection), followed: false };
        let topic = |name: &str| InternalTopic {
            name: Arc::from(name),
            partitions: 3,
            replication_factor: 0,
            configs: Vec::new(),
        };
        let failed = create(&bench.broker, &context, vec![topic("a"), topic("b")]).await;
        assert_eq!(failed.len(), 1);
        assert!(failed[0].0 == "b" && failed[0].1.contains("throttling quota"), "{failed:?}");
        assert!(bench.broker.publisher.current().topic("a").is_some());
    }
}
