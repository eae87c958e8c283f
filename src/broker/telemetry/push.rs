//! PushTelemetry: the figures of a client, which go out with ours.

use super::instances::Push;
use super::subscriptions::shown;
use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::metrics::Figure;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::protocol::otlp;
use crate::record::Codec;
use crate::record::decompress;
use bytes::Bytes;
use kafka_protocol::messages::PushTelemetryRequest;
use kafka_protocol::messages::PushTelemetryResponse;
use tracing::debug;
use uuid::Uuid;

/// How much larger a push may become when it is opened.
const OPENED_TIMES: usize = 16;

/// Answers a PushTelemetry request.
pub(crate) fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: PushTelemetryRequest = codec::decode(&context.header, body)?;
    let (metrics, series_max) = broker.telemetry.metrics();
    let code = match take(broker, context, &request) {
        Ok(figures) => {
            metrics.pushes.inc();
            let instance = shown(request.client_instance_id);
            metrics.push(&instance, context.client_id(), figures, series_max);
            ErrorCode::None
        }
        Err(refused) => {
            metrics.refused.inc();
            debug!(peer = %context.connection.peer, "figures of a client refused: {refused}");
            refused.code
        }
    };
    Ok(codec::encode(&context.header, &PushTelemetryResponse::default().with_error_code(code.code()))?)
}

fn take(broker: &Broker, context: &Context, request: &PushTelemetryRequest) -> Result<Vec<Figure>, Refused> {
    // Kafka keeps the ids 0 and 1 for itself.
    if [Uuid::nil(), Uuid::from_u128(1)].contains(&request.client_instance_id) {
        return Err(Refused::new(ErrorCode::InvalidRequest, "no client has this instance id"));
    }
    let compression = Codec::from_id(i16::from(request.compression_type));
    let push = Push {
        instance: request.client_instance_id,
        subscription_id: request.subscription_id,
        terminating: request.terminating,
        known_compression: compression.is_ok(),
        bytes: request.metrics.len(),
    };
    broker.telemetry.judge(&broker.publisher.current(), context, &push)?;
    broker.telemetry.tie(context, push.instance);
    let invalid = |message: String| Refused::new(ErrorCode::InvalidRecord, message);
    let most = broker.telemetry.bytes_max().saturating_mul(OPENED_TIMES);
    let opened = decompress(compression.unwrap_or(Codec::None), &request.metrics, most)
        .map_err(|error| invalid(error.to_string()))?;
    let points = otlp::points(&opened).map_err(|error| invalid(error.to_string()))?;
    Ok(points.into_iter().map(figure).collect())
}

fn figure(point: otlp::Point) -> Figure {
    let attributes: Vec<String> =
        point.attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    Figure { name: point.name, attributes: attributes.join(","), value: point.value, delta: point.delta }
}
