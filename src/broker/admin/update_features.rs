//! UpdateFeatures: the levels that the cluster works at (KIP-584).

use super::change;
use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::Context;
use crate::broker::Refused;
use crate::broker::wire;
use crate::cluster::command::FeatureUpdate;
use crate::cluster::command::UpdateFeatures;
use crate::protocol::Response;
use crate::protocol::codec;
use bytes::Bytes;
use kafka_protocol::messages::UpdateFeaturesRequest;
use kafka_protocol::messages::UpdateFeaturesResponse;
use kafka_protocol::messages::update_features_response::UpdatableFeatureResult;

/// Up to this version the answer has a result for each feature.
const WITH_RESULTS: i16 = 1;

/// Answers an UpdateFeatures request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: UpdateFeaturesRequest = codec::decode(&context.header, body)?;
    let updates = request.feature_updates.iter().map(|update| FeatureUpdate {
        name: update.feature.to_string(),
        level: update.max_version_level,
        upgrade: update.upgrade_type,
    });
    let command = UpdateFeatures { updates: updates.collect(), validate_only: request.validate_only };
    let outcome = change(broker, request.timeout_ms, broker.controller.update_features(command)).await;
    let mut response = UpdateFeaturesResponse::default().with_error_message(None);
    match outcome {
        Err(refused) => {
            response.error_code = refused.code.code();
            response.error_message = wire::some_text(refused.message.as_deref());
        }
        Ok(()) if context.version() <= WITH_RESULTS => {
            let result = |name: &str| {
                UpdatableFeatureResult::default()
                    .with_feature(wire::text(name))
                    .with_error_message(Some(wire::text(&ErrorCode::None.to_string())))
            };
            response.results = request.feature_updates.iter().map(|update| result(&update.feature)).collect();
        }
        Ok(()) => {}
    }
    Ok(codec::encode(&context.header, &response)?)
}
