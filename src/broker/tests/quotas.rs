//! Limits of clients: set, told, and kept to.

use super::Bench;
use crate::base::ErrorCode;
use kafka_protocol::messages::AlterClientQuotasRequest;
use kafka_protocol::messages::CreateTopicsRequest;
use kafka_protocol::messages::DescribeClientQuotasRequest;
use kafka_protocol::messages::FetchRequest;
use kafka_protocol::messages::MetadataRequest;
use kafka_protocol::messages::TopicName;
use kafka_protocol::messages::alter_client_quotas_request;
use kafka_protocol::messages::create_topics_request::CreatableTopic;
use kafka_protocol::messages::describe_client_quotas_request::ComponentData;
use kafka_protocol::messages::metadata_request::MetadataRequestTopic;
use kafka_protocol::protocol::StrBytes;

fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

fn alter(entity: &[(&str, Option<&str>)], key: &str, value: Option<f64>) -> AlterClientQuotasRequest {
    let part = |(kind, name): &(&str, Option<&str>)| {
        alter_client_quotas_request::EntityData::default()
            .with_entity_type(text(kind))
            .with_entity_name(name.map(text))
    };
    let change = alter_client_quotas_request::OpData::default()
        .with_key(text(key))
        .with_value(value.unwrap_or_default())
        .with_remove(value.is_none());
    let entry = alter_client_quotas_request::EntryData::default()
        .with_entity(entity.iter().map(part).collect())
        .with_ops(vec![change]);
    AlterClientQuotasRequest::default().with_entries(vec![entry])
}

async fn set(bench: &Bench, entity: &[(&str, Option<&str>)], key: &str, value: Option<f64>) -> i16 {
    bench.ask(&alter(entity, key, value), 1).await.entries[0].error_code
}

#[tokio::test]
async fn quotas_are_found_by_every_kind_of_filter_also_after_a_restart() {
    let bench = Bench::new(&[]).await;
    let user: &[_] = &[("user", Some("u"))];
    let both: &[_] = &[("user", Some("u")), ("client-id", None)];
    assert_eq!(set(&bench, user, "producer_byte_rate", Some(1000.0)).await, 0);
    assert_eq!(set(&bench, both, "request_percentage", Some(1.5)).await, 0);
    let refused = ErrorCode::InvalidRequest.code();
    assert_eq!(
        set(&bench, &[("ip", Some("no such host!"))], "connection_creation_rate", Some(1.0)).await,
        refused
    );
    let bench = bench.restart().await;
    let found = async |components: Vec<(&str, i8, Option<&str>)>, strict| {
        let component = |(kind, how, name): (&str, i8, Option<&str>)| {
            ComponentData::default()
                .with_entity_type(text(kind))
                .with_match_type(how)
                .with_match(name.map(text))
        };
        let request = DescribeClientQuotasRequest::default()
            .with_components(components.into_iter().map(component).collect())
            .with_strict(strict);
        let answer = bench.ask(&request, 1).await;
        (answer.error_code, answer.entries.map(|entries| entries.len()))
    };
    assert_eq!(found(vec![], false).await, (0, Some(2)));
    assert_eq!(found(vec![("user", 0, Some("u"))], true).await, (0, Some(1)));
    assert_eq!(found(vec![("user", 2, None)], false).await, (0, Some(2)));
    assert_eq!(found(vec![("client-id", 1, None)], false).await, (0, Some(1)));
    assert_eq!(found(vec![("client-id", 0, Some("c"))], false).await, (0, Some(0)));
    assert_eq!(found(vec![("user", 0, None)], false).await, (refused, None));
    assert_eq!(found(vec![("x", 2, None)], false).await, (ErrorCode::UnsupportedVersion.code(), None));
    assert_eq!(found(vec![("ip", 2, None), ("user", 2, None)], false).await, (refused, None));
}

fn topics(names: &[&str]) -> CreateTopicsRequest {
    let topic = |name: &&str| {
        CreatableTopic::default()
            .with_name(TopicName(text(name)))
            .with_num_partitions(3)
            .with_replication_factor(1)
    };
    CreateTopicsRequest::default().with_topics(names.iter().map(topic).collect()).with_timeout_ms(1000)
}

#[tokio::test]
async fn a_client_that_made_too_many_partitions_is_refused_and_told_to_pause() {
    let bench = Bench::new(&[]).await;
    let user: &[_] = &[("user", None)];
    assert_eq!(set(&bench, user, "controller_mutation_rate", Some(0.6)).await, 0);
    // A new client has what all eleven windows hold.
    let made = bench.ask(&topics(&["a", "b", "c"]), 7).await;
    assert!(made.topics.iter().all(|topic| topic.error_code == 0), "{made:?}");
    assert_eq!(made.throttle_time_ms, 0);
    let refused = bench.ask(&topics(&["d"]), 7).await;
    assert_eq!(refused.topics[0].error_code, ErrorCode::ThrottlingQuotaExceeded.code());
    assert!(refused.throttle_time_ms > 1000, "{}", refused.throttle_time_ms);
    assert!(bench.connection.muted_until().is_some());
    let old = bench.ask(&topics(&["e"]), 5).await;
    assert_eq!(old.topics[0].error_code, 0, "an old client is not refused");
    assert!(old.throttle_time_ms > refused.throttle_time_ms);
    assert_eq!(set(&bench, user, "controller_mutation_rate", None).await, 0);
    assert_eq!(bench.ask(&topics(&["d"]), 7).await.topics[0].error_code, 0);
}

#[tokio::test]
async fn topics_made_on_the_way_are_paid_for_too() {
    let bench = Bench::new(&[("num.partitions", "3")]).await;
    assert_eq!(set(&bench, &[("user", None)], "controller_mutation_rate", Some(0.1)).await, 0);
    let named = |name: &str| MetadataRequestTopic::default().with_name(Some(TopicName(text(name))));
    let request = MetadataRequest::default().with_topics(Some(vec![named("a"), named("b")]));
    let found = bench.ask(&request, 12).await;
    let codes: Vec<i16> = found.topics.iter().map(|topic| topic.error_code).collect();
    assert_eq!(codes, [0, ErrorCode::UnknownTopicOrPartition.code()]);
    assert_eq!(found.throttle_time_ms, 0, "Kafka makes nobody pause for that");
    assert!(bench.broker.publisher.current().topic("b").is_none());
    let refused = bench.ask(&topics(&["c"]), 7).await;
    assert_eq!(refused.topics[0].error_code, ErrorCode::ThrottlingQuotaExceeded.code());
    assert_eq!(set(&bench, &[("user", None)], "controller_mutation_rate", None).await, 0);
    assert!(bench.ask(&request, 12).await.topics.iter().all(|topic| topic.error_code == 0));
}

#[tokio::test]
async fn the_time_of_workers_is_limited_for_every_kind_of_request() {
    let bench = Bench::new(&[]).await;
    assert_eq!(bench.ask(&MetadataRequest::default(), 12).await.throttle_time_ms, 0);
    assert!(bench.connection.muted_until().is_none());
    assert_eq!(set(&bench, &[("user", None)], "request_percentage", Some(1e-9)).await, 0);
    let told = bench.ask(&MetadataRequest::default(), 12).await.throttle_time_ms;
    assert!((1..=1000).contains(&told), "{told}");
    assert!(bench.ask(&FetchRequest::default(), 12).await.throttle_time_ms > 0);
    assert!(bench.ask(&DescribeClientQuotasRequest::default(), 0).await.throttle_time_ms > 0);
    assert!(bench.connection.muted_until().is_some());
}

/// The answers that have no place for a pause, or one that is nowhere else, are told apart by the table alone.
#[test]
fn the_place_of_the_pause_is_that_of_the_message_schemas() {
    use crate::protocol::versions;
    use kafka_protocol::messages::ApiKey;
    use kafka_protocol::messages::ResponseKind;
    for api in versions::all() {
        // The crate does not know those that were unstable when it was made.
        let Ok(key) = ApiKey::try_from(api.key) else { continue };
        let most = key.valid_versions().max.min(api.max);
        for version in api.min..=most {
            let Some(at) = versions::throttle_offset(api.key, version) else { continue };
            // One millisecond, then fields of ones and zeros in any way that makes a whole answer with empty lists.
            let shown = (0..50).filter_map(|ones| {
                let mut bytes = vec![0u8; 64];
                bytes[at + 3] = 1;
                bytes[at + 4..at + 4 + ones].fill(1);
                let body = &mut bytes::Bytes::from(bytes);
                Some(format!("{:?}", ResponseKind::decode(key, body, version).ok()?))
            });
            let shown: Vec<String> = shown.collect();
            let right = |shown: &String| shown.contains("throttle_time_ms: 1,");
            assert!(!shown.is_empty() && shown.iter().all(right), "{} {version}: {shown:?}", api.name);
        }
    }
}
