//! InitProducerId: an id for an idempotent producer (KIP-98).

use crate::base::ErrorCode;
use crate::base::ProducerId;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors;
use crate::broker::errors::Refused;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages;
use kafka_protocol::messages::InitProducerIdRequest;
use kafka_protocol::messages::InitProducerIdResponse;
use std::sync::Arc;
use tracing::debug;

/// Answers an InitProducerId request.
pub(crate) async fn handle(
    broker: &Arc<Broker>,
    context: &Context,
    body: Bytes,
) -> Result<Response, Refused> {
    let request: InitProducerIdRequest = codec::decode(&context.header, body)?;
    let answer = match next(broker, &request).await {
        Ok(id) => InitProducerIdResponse::default()
            .with_producer_id(messages::ProducerId(id.0))
            .with_producer_epoch(0),
        Err(refused) => {
            debug!(%refused, "no producer id");
            InitProducerIdResponse::default()
                .with_error_code(refused.code.code())
                .with_producer_id(messages::ProducerId(-1))
                .with_producer_epoch(-1)
        }
    };
    Ok(codec::encode(&context.header, &answer)?)
}

/// Without a transactional id there is always a fresh id with epoch 0, also when the producer has one already and
/// asks for a higher epoch (KIP-360, `TransactionCoordinator.handleInitProducerId`).
async fn next(broker: &Broker, request: &InitProducerIdRequest) -> Result<ProducerId, Refused> {
    // An id without an epoch, or the other way round, is no producer.
    if (request.producer_id.0 == -1) != (request.producer_epoch == -1) {
        return Err(ErrorCode::InvalidRequest.into());
    }
    match &request.transactional_id {
        None => broker.producer_ids.next().await,
        Some(id) if id.is_empty() => Err(ErrorCode::InvalidRequest.into()),
        Some(_) => Err(errors::no_transactions()),
    }
}
