//! DescribeTransactions: transactional ids with their producers and open transactions (KIP-664).

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::errors::Refused;
use crate::broker::wire::text;
use crate::broker::wire::topic_name;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::txn::transaction::Transaction;
use bytes::Bytes;
use kafka_protocol::messages::DescribeTransactionsRequest;
use kafka_protocol::messages::DescribeTransactionsResponse;
use kafka_protocol::messages::ProducerId;
use kafka_protocol::messages::TransactionalId;
use kafka_protocol::messages::describe_transactions_response::TopicData;
use kafka_protocol::messages::describe_transactions_response::TransactionState;
use std::sync::Arc;

/// Answers a DescribeTransactions request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: DescribeTransactionsRequest = codec::decode(&context.header, body)?;
    crowd::check_names(request.transactional_ids.len())?;
    let mut states = Vec::with_capacity(request.transactional_ids.len());
    let mut room = broker.answer_memory.begin();
    for id in request.transactional_ids {
        let state = describe(broker, id).await;
        states.push(if room.take(size(&state)) { state } else { without_room(state) });
    }
    let answer = DescribeTransactionsResponse::default().with_transaction_states(states);
    Ok(room.tie_to(codec::encode(&context.header, &answer)?))
}

/// What a transaction takes in an answer, in bytes.
fn size(state: &TransactionState) -> usize {
    state.topics.iter().map(|topic| 16 + topic.topic.len() + 4 * topic.partitions.len()).sum()
}

fn without_room(state: TransactionState) -> TransactionState {
    TransactionState::default()
        .with_transactional_id(state.transactional_id)
        .with_error_code(ErrorCode::InvalidRequest.code())
}

async fn describe(broker: &Broker, id: TransactionalId) -> TransactionState {
    let found = if id.is_empty() {
        Err(ErrorCode::InvalidRequest)
    } else {
        let key = Arc::from(id.as_str());
        broker
            .transactions
            .describe(&key)
            .await
            .and_then(|found| found.ok_or(ErrorCode::TransactionalIdNotFound))
    };
    let state = TransactionState::default().with_transactional_id(id);
    match found {
        Ok(transaction) => shown(state, &transaction),
        Err(error) => state.with_error_code(error.code()),
    }
}

fn shown(state: TransactionState, transaction: &Transaction) -> TransactionState {
    let topics = transaction.partitions.iter().map(|(topic, partitions)| {
        TopicData::default()
            .with_topic(topic_name(topic))
            .with_partitions(partitions.iter().copied().collect())
    });
    state
        .with_producer_id(ProducerId(transaction.producer.0))
        .with_producer_epoch(transaction.epoch.0)
        .with_transaction_state(text(transaction.state.name()))
        .with_transaction_timeout_ms(transaction.timeout_ms)
        .with_transaction_start_time_ms(transaction.started.0)
        .with_topics(topics.collect())
}
