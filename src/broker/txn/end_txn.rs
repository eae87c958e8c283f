//! EndTxn 0 to 5: a transaction is committed or aborted. From version 5 on the answer has the producer to go on with.

use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::txn::FENCED_FROM;
use crate::broker::txn::known_code;
use crate::broker::txn::producer;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::txn::command::End;
use bytes::Bytes;
use kafka_protocol::messages::EndTxnRequest;
use kafka_protocol::messages::EndTxnResponse;
use kafka_protocol::messages::ProducerId;
use std::sync::Arc;
use tracing::debug;

/// The first version in which each end gives a new epoch (KIP-890).
const NEW_EPOCH_FROM: i16 = 5;

/// Answers an EndTxn request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: EndTxnRequest = codec::decode(&context.header, body)?;
    let version = context.version();
    let end = End {
        id: Arc::from(request.transactional_id.as_str()),
        producer: producer(request.producer_id.0, request.producer_epoch),
        commit: request.committed,
        client_version: if version >= NEW_EPOCH_FROM { 2 } else { 0 },
        fresh: None,
    };
    let outcome = if end.id.is_empty() {
        Err(crate::base::ErrorCode::InvalidRequest)
    } else {
        broker.transactions.patiently(&end.id, || broker.transactions.end(end.clone())).await
    };
    let answer = match outcome {
        Ok(next) if version >= NEW_EPOCH_FROM => EndTxnResponse::default()
            .with_producer_id(ProducerId(next.id.0))
            .with_producer_epoch(next.epoch.0),
        Ok(_) => EndTxnResponse::default(),
        Err(error) => {
            debug!(id = %request.transactional_id.as_str(), %error, "transaction does not end");
            EndTxnResponse::default().with_error_code(known_code(error, version, FENCED_FROM).code())
        }
    };
    Ok(codec::encode(&context.header, &answer)?)
}
