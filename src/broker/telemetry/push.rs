//! PushTelemetry: the figures of a client, which go out with ours.

use super::instances::Push;
use super::subscriptions::shown;
use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::io::task;
use crate::metrics::Figure;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::protocol::otlp;
use crate::record::Codec;
use crate::record::decompress;
use bytes::Bytes;
use kafka_protocol::messages::PushTelemetryRequest;
use kafka_protocol::messages::PushTelemetryResponse;
use std::sync::Arc;
use tracing::debug;
use uuid::Uuid;

/// How much larger a push may become when it is opened.
const OPENED_TIMES: usize = 16;

/// Answers a PushTelemetry request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: PushTelemetryRequest = codec::decode(&context.header, body)?;
    let (metrics, _) = broker.telemetry.metrics();
    let code = match take(broker, context, request).await {
        Ok(()) => {
            metrics.pushes.inc();
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

async fn take(broker: &Broker, context: &Context, request: PushTelemetryRequest) -> Result<(), Refused> {
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
    if request.metrics.is_empty() {
        // Nothing to open, in any compression.
        return Ok(());
    }
    let (compression, most) = (compression.unwrap_or(Codec::None), broker.telemetry.bytes_max());
    let (metrics, series_max) = broker.telemetry.metrics();
    let (metrics, instance, client_id) =
        (metrics.clone(), shown(push.instance), context.client_id().to_owned());
    // A few kilobytes may open to many, with a hundred thousand figures in them. They are forgotten with their
    // connection, which therefore stays until they are there.
    let connection = Arc::clone(&context.connection);
    let opened = move || {
        let _stays = connection;
        let opened = decompress(compression, &request.metrics, most.saturating_mul(OPENED_TIMES));
        let opened = opened.map_err(|error| error.to_string())?;
        let keep = &mut |point| metrics.push(&instance, &client_id, figure(&point), series_max);
        otlp::points(&opened, keep).map_err(|error| error.to_string())
    };
    let outcome: Result<(), String> = task::run_blocking(opened).await;
    outcome.map_err(|message| Refused::new(ErrorCode::InvalidRecord, message))
}

fn figure(point: &otlp::Point) -> Figure {
    let attributes: Vec<String> =
        point.attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
    let (name, attributes) = (point.name.to_string(), attributes.join(","));
    Figure { name, attributes, value: point.value, delta: point.delta }
}
