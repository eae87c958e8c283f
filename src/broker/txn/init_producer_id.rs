//! InitProducerId 0 to 5: an id for an idempotent producer (KIP-98), or the next epoch of a transactional id.
//!
//! Version 6, for two-phase commit (KIP-939), is marked unstable in Kafka 4.4 and not offered there either, so nobody can
//! ask for a transaction without a time-out there, and `transaction.two.phase.commit.enable` changes nothing. Such a
//! transaction in a log that another broker wrote has no deadline here either (`Transaction::left`).

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::txn::known_code;
use crate::broker::txn::producer;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::txn::command::Init;
use crate::txn::command::Producer;
use bytes::Bytes;
use kafka_protocol::messages;
use kafka_protocol::messages::InitProducerIdRequest;
use kafka_protocol::messages::InitProducerIdResponse;
use std::sync::Arc;
use tracing::debug;

/// The first version whose clients know PRODUCER_FENCED.
const FENCED_FROM: i16 = 4;

/// Answers an InitProducerId request.
pub(crate) async fn handle(
    broker: &Arc<Broker>,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let request: InitProducerIdRequest = codec::decode(&context.header, body)?;
    let answer = match next(broker, &request).await {
        Ok(producer) => InitProducerIdResponse::default()
            .with_producer_id(messages::ProducerId(producer.id.0))
            .with_producer_epoch(producer.epoch.0),
        Err(error) => {
            debug!(%error, "no producer id");
            InitProducerIdResponse::default()
                .with_error_code(known_code(error, context.version(), FENCED_FROM).code())
                .with_producer_id(messages::ProducerId(-1))
                .with_producer_epoch(-1)
        }
    };
    Ok(codec::encode(&context.header, &answer)?)
}

/// Without a transactional id there is always a fresh id with epoch 0, also when the producer has one already and
/// asks for a higher epoch (KIP-360, `TransactionCoordinator.handleInitProducerId`).
async fn next(broker: &Broker, request: &InitProducerIdRequest) -> Result<Producer, ErrorCode> {
    let expected = match (request.producer_id.0, request.producer_epoch) {
        (-1, -1) => None,
        // An id without an epoch, or the other way round, is no producer.
        (-1, _) | (_, -1) => return Err(ErrorCode::InvalidRequest),
        (id, epoch) => Some(producer(id, epoch)),
    };
    match &request.transactional_id {
        None => Ok(producer(broker.transactions.new_producer_id().await?.0, 0)),
        Some(id) if id.is_empty() => Err(ErrorCode::InvalidRequest),
        Some(id) => {
            let init = Init {
                id: Arc::from(id.as_str()),
                timeout_ms: request.transaction_timeout_ms,
                expected,
                fresh: None,
            };
            broker.transactions.patiently(&init.id, || broker.transactions.init(init.clone())).await
        }
    }
}
