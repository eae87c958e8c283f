//! GetTelemetrySubscriptions: which figures are wanted of a client.

use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::io::random;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::record::Codec;
use bytes::Bytes;
use kafka_protocol::messages::GetTelemetrySubscriptionsRequest;
use kafka_protocol::messages::GetTelemetrySubscriptionsResponse;
use uuid::Uuid;

/// The compressions that a push may have, the best first, as Kafka lists them.
const COMPRESSIONS: [Codec; 4] = [Codec::Zstd, Codec::Lz4, Codec::Gzip, Codec::Snappy];

/// Answers a GetTelemetrySubscriptions request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: GetTelemetrySubscriptionsRequest = codec::decode(&context.header, body)?;
    let given = Some(request.client_instance_id).filter(|id| !id.is_nil());
    let instance = given.unwrap_or_else(|| Uuid::from_u128(random::uuid().as_u128()));
    let image = broker.publisher.current();
    let response = match broker.telemetry.get(&image, context, instance) {
        Err(code) => GetTelemetrySubscriptionsResponse::default().with_error_code(code.code()),
        Ok(told) => {
            broker.telemetry.tie(context, instance);
            let codes = COMPRESSIONS.iter().filter_map(|codec| i8::try_from(codec.id()).ok());
            let metrics = told.wanted.metrics.iter().map(|name| wire::text(name));
            GetTelemetrySubscriptionsResponse::default()
                .with_client_instance_id(instance)
                .with_subscription_id(told.subscription_id)
                .with_accepted_compression_types(codes.collect())
                .with_push_interval_ms(told.wanted.interval_ms)
                .with_telemetry_max_bytes(i32::try_from(broker.telemetry.bytes_max()).unwrap_or(i32::MAX))
                .with_delta_temporality(true)
                .with_requested_metrics(metrics.collect())
        }
    };
    Ok(codec::encode(&context.header, &response)?)
}
