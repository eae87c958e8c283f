//! Clients that are asked for figures, and what becomes of those they push.

use crate::base::ErrorCode;
use crate::broker::tests::Bench;
use crate::metrics::Observed;
use crate::protocol::otlp::tests::push;
use crate::record::Codec;
use crate::record::codec::DEFAULT_LEVEL;
use crate::record::compress;
use bytes::Bytes;
use kafka_protocol::messages::GetTelemetrySubscriptionsRequest;
use kafka_protocol::messages::GetTelemetrySubscriptionsResponse;
use kafka_protocol::messages::IncrementalAlterConfigsRequest;
use kafka_protocol::messages::PushTelemetryRequest;
use kafka_protocol::messages::incremental_alter_configs_request::AlterConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_request::AlterableConfig;
use kafka_protocol::protocol::StrBytes;
use uuid::Uuid;

async fn subscribe(bench: &Bench, name: &str, settings: &[(&str, &str)]) -> i16 {
    let text = |text: &str| StrBytes::from_string(text.to_owned());
    let setting = |(key, value): &(&str, &str)| {
        AlterableConfig::default().with_name(text(key)).with_value(Some(text(value)))
    };
    let resource = AlterConfigsResource::default()
        .with_resource_type(16)
        .with_resource_name(text(name))
        .with_configs(settings.iter().map(setting).collect());
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
    bench.ask(&request, 1).await.responses[0].error_code
}

async fn get(bench: &Bench, instance: Uuid) -> GetTelemetrySubscriptionsResponse {
    let request = GetTelemetrySubscriptionsRequest::default().with_client_instance_id(instance);
    bench.ask(&request, 0).await
}

fn pushed(instance: Uuid, subscription_id: i32, codec: Codec, metrics: Vec<u8>) -> PushTelemetryRequest {
    PushTelemetryRequest::default()
        .with_client_instance_id(instance)
        .with_subscription_id(subscription_id)
        .with_compression_type(i8::try_from(codec.id()).unwrap())
        .with_metrics(Bytes::from(metrics))
}

#[tokio::test]
async fn a_client_is_told_what_matches_it() {
    let bench = Bench::new(&[]).await;
    let nothing = get(&bench, Uuid::nil()).await;
    assert_eq!(
        (nothing.error_code, nothing.push_interval_ms, nothing.requested_metrics.len()),
        (0, 300_000, 0)
    );
    assert!(!nothing.client_instance_id.is_nil() && nothing.delta_temporality);
    assert_eq!(nothing.accepted_compression_types, [4, 3, 1, 2]);
    let here = "client_source_address=127\\.0\\.0\\.1";
    assert_eq!(
        subscribe(&bench, "a", &[("metrics", "x.,y."), ("interval.ms", "200000"), ("match", here)]).await,
        0
    );
    assert_eq!(subscribe(&bench, "b", &[("metrics", "*"), ("match", "client_source_address=9.*")]).await, 0);
    let told = get(&bench, nothing.client_instance_id).await;
    let names: Vec<&str> = told.requested_metrics.iter().map(|name| name.as_str()).collect();
    assert_eq!((told.push_interval_ms, names), (200_000, vec!["x.", "y."]));
    assert_ne!(told.subscription_id, nothing.subscription_id);
    let again = get(&bench, nothing.client_instance_id).await;
    assert_eq!(again.error_code, ErrorCode::ThrottlingQuotaExceeded.code());
    assert_eq!(subscribe(&bench, "c", &[("metrics", "*"), ("interval.ms", "100")]).await, 0);
    let all = get(&bench, nothing.client_instance_id).await;
    assert_eq!((all.push_interval_ms, all.requested_metrics.len()), (100, 1));
    assert_eq!(subscribe(&bench, "d", &[("match", "client_id=(")]).await, ErrorCode::InvalidConfig.code());
}

#[tokio::test]
async fn figures_go_out_with_ours_in_every_compression_until_the_client_is_gone() {
    let mut bench = Bench::new(&[]).await;
    subscribe(&bench, "a", &[("metrics", "*"), ("interval.ms", "100")]).await;
    for codec in Codec::ALL {
        let told = get(&bench, Uuid::nil()).await;
        let (id, subscription) = (told.client_instance_id, told.subscription_id);
        let bytes = compress(codec, DEFAULT_LEVEL, &push("connection.total", 7, true)).to_vec();
        assert_eq!(bench.ask(&pushed(id, subscription, codec, bytes), 0).await.error_code, 0, "{codec:?}");
    }
    let text = |bench: &Bench| bench.registry().text(&Observed::default());
    let count = |text: &str| text.matches("dohle_client_metrics{metric=\"connection.total\"").count();
    // Each of them was the connection's client, and the last one still is.
    assert_eq!(count(&text(&bench)), 1, "{}", text(&bench));
    assert!(text(&bench).contains("attributes=\"node=1\"} 7"));
    bench.through("PLAINTEXT");
    assert_eq!(count(&text(&bench)), 0);
}

#[tokio::test]
async fn what_kafka_refuses_is_refused() {
    let bench = Bench::new(&[("telemetry.max.bytes", "1000")]).await;
    subscribe(&bench, "a", &[("metrics", "*"), ("interval.ms", "3600000")]).await;
    let code = async |request: PushTelemetryRequest| {
        ErrorCode::from_code(bench.ask(&request, 0).await.error_code).unwrap()
    };
    let good = || push("a", 1, true);
    assert_eq!(code(pushed(Uuid::nil(), 0, Codec::None, good())).await, ErrorCode::InvalidRequest);
    let told = get(&bench, Uuid::nil()).await;
    let (id, subscription) = (told.client_instance_id, told.subscription_id);
    let unknown = pushed(id, subscription + 1, Codec::None, good());
    assert_eq!(code(unknown).await, ErrorCode::UnknownSubscriptionId);
    let told = get(&bench, id).await;
    assert_eq!(told.error_code, 0, "whoever is told that it errs may ask again at once");
    // But it pushes when its next push is due, whatever is in it.
    let again = pushed(id, subscription + 1, Codec::None, good());
    assert_eq!(code(again).await, ErrorCode::ThrottlingQuotaExceeded);
    let told = get(&bench, Uuid::nil()).await;
    let (id, subscription) = (told.client_instance_id, told.subscription_id);
    let unknown = pushed(id, subscription, Codec::None, good()).with_compression_type(9);
    assert_eq!(code(unknown).await, ErrorCode::UnsupportedCompressionType);
    let told = get(&bench, Uuid::nil()).await;
    let (id, subscription) = (told.client_instance_id, told.subscription_id);
    assert_eq!(
        code(pushed(id, subscription, Codec::None, vec![0; 1001])).await,
        ErrorCode::TelemetryTooLarge
    );
    assert_eq!(code(pushed(id, subscription, Codec::None, good())).await, ErrorCode::ThrottlingQuotaExceeded);
    let last = pushed(id, subscription, Codec::Gzip, good()).with_terminating(true);
    assert_eq!(code(last).await, ErrorCode::InvalidRecord, "it is not gzip");
    assert_eq!(code(pushed(id, subscription, Codec::None, good())).await, ErrorCode::InvalidRequest);
}

#[tokio::test]
async fn what_a_client_was_told_counts_until_its_subscription_changes() {
    let bench = Bench::new(&[]).await;
    subscribe(&bench, "a", &[("metrics", "*"), ("interval.ms", "3600000")]).await;
    let code = async |request: PushTelemetryRequest| {
        ErrorCode::from_code(bench.ask(&request, 0).await.error_code).unwrap()
    };
    let first = get(&bench, Uuid::nil()).await;
    let good = |told: &GetTelemetrySubscriptionsResponse| {
        pushed(told.client_instance_id, told.subscription_id, Codec::None, push("a", 1, true))
    };
    assert_eq!(code(good(&first)).await, ErrorCode::None);
    // Another client on the same connection, and settings of other things, change nothing for the first.
    let second = get(&bench, Uuid::nil()).await;
    assert_eq!(code(good(&second)).await, ErrorCode::None);
    let setting = AlterableConfig::default()
        .with_name(StrBytes::from_static_str("share.auto.offset.reset"))
        .with_value(Some(StrBytes::from_static_str("earliest")));
    let resource = AlterConfigsResource::default()
        .with_resource_type(32)
        .with_resource_name(StrBytes::from_static_str("g"))
        .with_configs(vec![setting]);
    let request = IncrementalAlterConfigsRequest::default().with_resources(vec![resource]);
    assert_eq!(bench.ask(&request, 1).await.responses[0].error_code, 0);
    assert_eq!(code(good(&first)).await, ErrorCode::ThrottlingQuotaExceeded);
    assert_eq!(code(good(&second)).await, ErrorCode::ThrottlingQuotaExceeded);
    subscribe(&bench, "a", &[("interval.ms", "1800000")]).await;
    assert_ne!(code(good(&first)).await, ErrorCode::ThrottlingQuotaExceeded);
}
