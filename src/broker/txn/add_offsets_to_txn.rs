//! AddOffsetsToTxn 0 to 4: the offsets of a group join a transaction. They lie in the group's partition, which joins.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::txn::FENCED_FROM;
use crate::broker::txn::known_code;
use crate::broker::txn::producer;
use crate::groups;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::txn::command::Add;
use crate::txn::transaction::Partitions;
use bytes::Bytes;
use kafka_protocol::messages::AddOffsetsToTxnRequest;
use kafka_protocol::messages::AddOffsetsToTxnResponse;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Answers an AddOffsetsToTxn request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: AddOffsetsToTxnRequest = codec::decode(&context.header, body)?;
    let error = add(broker, &request).await.err().unwrap_or(ErrorCode::None);
    let code = known_code(error, context.version(), FENCED_FROM).code();
    let answer = AddOffsetsToTxnResponse::default().with_error_code(code);
    Ok(codec::encode(&context.header, &answer)?)
}

async fn add(broker: &Broker, request: &AddOffsetsToTxnRequest) -> Result<(), ErrorCode> {
    if request.transactional_id.is_empty() {
        return Err(ErrorCode::InvalidRequest);
    }
    if !broker.groups.ensure_topic(&broker.controller).await {
        return Err(ErrorCode::CoordinatorNotAvailable);
    }
    let index = broker.groups.partition_of(&request.group_id);
    let partitions = Partitions::from([(Arc::from(groups::service::TOPIC), BTreeSet::from([index.0]))]);
    let add = Add {
        id: Arc::from(request.transactional_id.as_str()),
        producer: producer(request.producer_id.0, request.producer_epoch),
        partitions,
        client_version: 0,
    };
    broker.transactions.patiently(&add.id, || broker.transactions.add(add.clone())).await
}
