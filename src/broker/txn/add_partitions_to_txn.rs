//! AddPartitionsToTxn 0 to 5: partitions join a transaction. From version 4 on it is for brokers, which ask for many
//! transactions at once, and may ask only whether partitions have joined (KIP-890).

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::txn::FENCED_FROM;
use crate::broker::txn::known_code;
use crate::broker::txn::producer;
use crate::cluster::Image;
use crate::cluster::image::is_internal;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::txn::command::Add;
use crate::txn::transaction::Partitions;
use bytes::Bytes;
use kafka_protocol::messages::AddPartitionsToTxnRequest;
use kafka_protocol::messages::AddPartitionsToTxnResponse;
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTopic;
use kafka_protocol::messages::add_partitions_to_txn_request::AddPartitionsToTxnTransaction;
use kafka_protocol::messages::add_partitions_to_txn_response::AddPartitionsToTxnPartitionResult;
use kafka_protocol::messages::add_partitions_to_txn_response::AddPartitionsToTxnResult;
use kafka_protocol::messages::add_partitions_to_txn_response::AddPartitionsToTxnTopicResult;
use std::sync::Arc;

/// The first version that brokers send, with many transactions.
const MANY_FROM: i16 = 4;

/// Answers an AddPartitionsToTxn request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: AddPartitionsToTxnRequest = codec::decode(&context.header, body)?;
    let version = context.version();
    let answer = if version < MANY_FROM {
        let one = AddPartitionsToTxnTransaction::default()
            .with_transactional_id(request.v3_and_below_transactional_id)
            .with_producer_id(request.v3_and_below_producer_id)
            .with_producer_epoch(request.v3_and_below_producer_epoch)
            .with_topics(request.v3_and_below_topics);
        let results = add(broker, &one, version).await;
        AddPartitionsToTxnResponse::default().with_results_by_topic_v3_and_below(results)
    } else {
        let mut results = Vec::with_capacity(request.transactions.len());
        for one in &request.transactions {
            let topics = add(broker, one, version).await;
            let result = AddPartitionsToTxnResult::default()
                .with_transactional_id(one.transactional_id.clone())
                .with_topic_results(topics);
            results.push(result);
        }
        AddPartitionsToTxnResponse::default().with_results_by_transaction(results)
    };
    Ok(codec::encode(&context.header, &answer)?)
}

async fn add(
    broker: &Broker,
    request: &AddPartitionsToTxnTransaction,
    version: i16,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let image = broker.publisher.current();
    let unknown = |topic: &AddPartitionsToTxnTopic, index: i32| !exists(&image, topic, index);
    // Clients may not write to internal topics; brokers add for those who may (`KafkaApis.handleAddPartitionsToTxnRequest`).
    let forbidden = |topic: &AddPartitionsToTxnTopic| version < MANY_FROM && is_internal(&topic.name);
    let refused = |topic: &AddPartitionsToTxnTopic, index: i32| forbidden(topic) || unknown(topic, index);
    let any = request.topics.iter().any(|topic| topic.partitions.iter().any(|index| refused(topic, *index)));
    if any {
        // One that does not exist, or must not be written to, keeps all of them out.
        return results(request, |topic, index| {
            if forbidden(topic) {
                ErrorCode::TopicAuthorizationFailed
            } else if unknown(topic, index) {
                ErrorCode::UnknownTopicOrPartition
            } else {
                ErrorCode::OperationNotAttempted
            }
        });
    }
    match ask(broker, request, version).await {
        Ok(missing) => results(request, |topic, index| {
            let absent = missing.get(topic.name.as_str()).is_some_and(|absent| absent.contains(&index));
            if absent { ErrorCode::TransactionAbortable } else { ErrorCode::None }
        }),
        Err(error) => {
            let error = known_code(error, version, FENCED_FROM);
            results(request, |_, _| error)
        }
    }
}

/// Adds, or only looks; the partitions that are not in the transaction.
async fn ask(
    broker: &Broker,
    request: &AddPartitionsToTxnTransaction,
    version: i16,
) -> Result<Partitions, ErrorCode> {
    if request.transactional_id.is_empty() {
        return Err(ErrorCode::InvalidRequest);
    }
    let mut partitions = Partitions::new();
    for topic in &request.topics {
        partitions.entry(Arc::from(topic.name.as_str())).or_default().extend(&topic.partitions);
    }
    let add = Add {
        id: Arc::from(request.transactional_id.as_str()),
        producer: producer(request.producer_id.0, request.producer_epoch),
        partitions,
        // Brokers add for clients of version 2 only.
        client_version: if version >= MANY_FROM { 2 } else { 0 },
    };
    if request.verify_only {
        broker.transactions.verify(add).await
    } else {
        let added = broker.transactions.patiently(&add.id, || broker.transactions.add(add.clone())).await;
        added.map(|()| Partitions::new())
    }
}

fn exists(image: &Image, topic: &AddPartitionsToTxnTopic, index: i32) -> bool {
    image.partition(&topic.name, PartitionIndex(index)).is_some()
}

fn results(
    request: &AddPartitionsToTxnTransaction,
    code: impl Fn(&AddPartitionsToTxnTopic, i32) -> ErrorCode,
) -> Vec<AddPartitionsToTxnTopicResult> {
    let of_topic = |topic: &AddPartitionsToTxnTopic| {
        let one = |index: &i32| {
            AddPartitionsToTxnPartitionResult::default()
                .with_partition_index(*index)
                .with_partition_error_code(code(topic, *index).code())
        };
        AddPartitionsToTxnTopicResult::default()
            .with_name(topic.name.clone())
            .with_results_by_partition(topic.partitions.iter().map(one).collect())
    };
    request.topics.iter().map(of_topic).collect()
}
