//! DescribeTopicPartitions: topics with their partitions, page by page (KIP-966).

use super::operations;
use super::partition_view;
use super::partition_view::Faults;
use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::cluster::Image;
use crate::cluster::Partition;
use crate::cluster::controller::topic_names;
use crate::cluster::image::is_internal;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::DescribeTopicPartitionsRequest;
use kafka_protocol::messages::DescribeTopicPartitionsResponse;
use kafka_protocol::messages::describe_topic_partitions_response::Cursor;
use kafka_protocol::messages::describe_topic_partitions_response::DescribeTopicPartitionsResponsePartition;
use kafka_protocol::messages::describe_topic_partitions_response::DescribeTopicPartitionsResponseTopic;
use std::collections::BTreeSet;

/// Answers a DescribeTopicPartitions request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: DescribeTopicPartitionsRequest = codec::decode(&context.header, body)?;
    let names: BTreeSet<&str> = request.topics.iter().map(|topic| topic.name.as_str()).collect();
    if let Err(refused) = check(&request, &names) {
        return Ok(codec::encode(&context.header, &refusal(&names, &refused))?);
    }
    let image = broker.publisher.current();
    let limit = request.response_partition_limit.min(broker.config.network.request_partitions_max).max(1);
    let first = request.cursor.as_ref().map_or("", |cursor| cursor.topic_name.as_str());
    let mut page = Page {
        image: &image,
        listener: &context.connection.listener,
        remaining: usize::try_from(limit).unwrap_or(1),
        response: DescribeTopicPartitionsResponse::default(),
    };
    let start = |name: &str| match &request.cursor {
        Some(cursor) if cursor.topic_name.as_str() == name => {
            usize::try_from(cursor.partition_index).unwrap_or(0)
        }
        _ => 0,
    };
    if request.topics.is_empty() {
        page.fill(image.topics_from(first).map(|topic| &*topic.name), start);
    } else {
        page.fill(names.range(first..).copied(), start);
    }
    Ok(codec::encode(&context.header, &page.response)?)
}

fn check(request: &DescribeTopicPartitionsRequest, names: &BTreeSet<&str>) -> Result<(), Refused> {
    let Some(cursor) = &request.cursor else { return Ok(()) };
    let name = cursor.topic_name.as_str();
    if !names.is_empty() && !names.contains(name) {
        let message =
            format!("DescribeTopicPartitionsRequest topic list should contain the cursor topic: {name}");
        return Err(Refused::new(ErrorCode::InvalidRequest, message));
    }
    if cursor.partition_index < 0 {
        let message = format!(
            "DescribeTopicPartitionsRequest cursor partition must be valid: Cursor(topicName='{name}', partitionIndex={})",
            cursor.partition_index
        );
        return Err(Refused::new(ErrorCode::InvalidRequest, message));
    }
    Ok(())
}

fn refusal(names: &BTreeSet<&str>, refused: &Refused) -> DescribeTopicPartitionsResponse {
    let topics = names.iter().map(|name| {
        DescribeTopicPartitionsResponseTopic::default()
            .with_error_code(refused.code.code())
            .with_name(Some(wire::topic_name(name)))
    });
    DescribeTopicPartitionsResponse::default().with_topics(topics.collect())
}

/// An answer being filled until it has as many partitions as it may.
struct Page<'a> {
    image: &'a Image,
    listener: &'a str,
    remaining: usize,
    response: DescribeTopicPartitionsResponse,
}

impl Page<'_> {
    fn fill<'n>(&mut self, names: impl Iterator<Item = &'n str>, start: impl Fn(&str) -> usize) {
        for name in names {
            if self.remaining == 0 {
                self.stop(name, 0);
                return;
            }
            let from = start(name);
            if let Some(next) = self.add(name, from) {
                self.stop(name, next);
                return;
            }
        }
    }

    fn stop(&mut self, name: &str, partition: i32) {
        let cursor =
            Cursor::default().with_topic_name(wire::topic_name(name)).with_partition_index(partition);
        self.response.next_cursor = Some(cursor);
    }

    /// Adds a topic from one of its partitions on; the first partition that found no place, if any.
    fn add(&mut self, name: &str, from: usize) -> Option<i32> {
        let operations = operations::on_topic(true);
        let Some(topic) = self.image.topic(name) else {
            let invalid = topic_names::check(name).is_err();
            let code =
                if invalid { ErrorCode::InvalidTopicException } else { ErrorCode::UnknownTopicOrPartition };
            let topic = DescribeTopicPartitionsResponseTopic::default()
                .with_error_code(code.code())
                .with_name(Some(wire::topic_name(name)))
                .with_is_internal(is_internal(name))
                .with_topic_authorized_operations(operations);
            self.response.topics.push(topic);
            return None;
        };
        let shown = topic.partitions.iter().skip(from).take(self.remaining);
        let partitions: Vec<_> = shown.map(|partition| self.partition(partition)).collect();
        let next = from.saturating_add(partitions.len());
        self.remaining = self.remaining.saturating_sub(partitions.len());
        self.response.topics.push(
            DescribeTopicPartitionsResponseTopic::default()
                .with_name(Some(wire::topic_name(&topic.name)))
                .with_topic_id(topic.id.0)
                .with_is_internal(topic.internal())
                .with_partitions(partitions)
                .with_topic_authorized_operations(operations),
        );
        topic.partitions.get(next).map(|partition| partition.index.0)
    }

    fn partition(&self, partition: &Partition) -> DescribeTopicPartitionsResponsePartition {
        let faults = Faults { unavailable_replicas: false, missing_listener: true };
        let view = partition_view::view(self.image, partition, self.listener, faults);
        // As in Kafka, a partition without a leader is shown without an error.
        DescribeTopicPartitionsResponsePartition::default()
            .with_partition_index(partition.index.0)
            .with_leader_id(wire::broker_id(view.leader))
            .with_leader_epoch(partition.leader_epoch.0)
            .with_replica_nodes(wire::broker_ids(&view.replicas))
            .with_isr_nodes(wire::broker_ids(&view.isr))
            .with_eligible_leader_replicas(Some(wire::broker_ids(&partition.elr)))
            .with_last_known_elr(Some(wire::broker_ids(&partition.last_known_elr)))
            .with_offline_replicas(wire::broker_ids(&view.offline))
    }
}
