//! UnregisterBroker: takes a broker that is gone for good out of the cluster.

use super::change;
use crate::base::BrokerId;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::UnregisterBrokerRequest;
use kafka_protocol::messages::UnregisterBrokerResponse;

/// Requests of this kind carry no time-out.
const TIMEOUT_MS: i32 = 30_000;

/// Answers an UnregisterBroker request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: UnregisterBrokerRequest = codec::decode(&context.header, body)?;
    let asked = broker.controller.unregister_broker(BrokerId(request.broker_id.0));
    let mut response = UnregisterBrokerResponse::default().with_error_message(None);
    if let Err(refused) = change(broker, TIMEOUT_MS, asked).await {
        response.error_code = refused.code.code();
        response.error_message = wire::some_text(refused.message.as_deref());
    }
    Ok(codec::encode(&context.header, &response)?)
}
