//! What is offered, beside what Apache Kafka 4.4 offers.

use super::Bench;
use crate::broker::dispatch::is_offered;
use crate::protocol::versions;
use kafka_protocol::messages::ApiVersionsRequest;
use kafka_protocol::protocol::StrBytes;

/// Logins, tokens and the setting of credentials.
const SECURITY: &[i16] = &[17, 36, 38, 39, 40, 41, 51];
/// Voters of a quorum of several nodes.
const SEVERAL_NODES: &[i16] = &[80, 81, 94];

/// Key, name, lowest and highest version.
fn kafkas() -> Vec<(i16, &'static str, i16, i16)> {
    let lines = include_str!("kafka-4.4-apis.tsv").lines().filter(|line| !line.starts_with('#'));
    let row = |line: &'static str| {
        let mut fields = line.split('\t');
        let key = fields.next().unwrap().parse().unwrap();
        let name = fields.next().unwrap();
        let versions: Vec<i16> = fields.map(|field| field.parse().unwrap()).collect();
        (key, name, versions[0], versions[1])
    };
    lines.map(row).collect()
}

#[test]
fn every_request_of_kafka_4_4_is_offered_in_its_versions_but_for_those_named_here() {
    let kafkas = kafkas();
    assert!(kafkas.len() > 70);
    let mut wrong = Vec::new();
    for (key, name, min, max) in &kafkas {
        let later = SECURITY.contains(key) || SEVERAL_NODES.contains(key);
        match versions::api(*key).filter(|_| is_offered(*key)) {
            Some(api) if later => wrong.push(format!("{} is offered and named as missing", api.name)),
            Some(api) if (api.name, api.min, api.max) != (*name, *min, *max) => {
                wrong.push(format!("{name} {min}-{max} is offered as {} {}-{}", api.name, api.min, api.max));
            }
            Some(_) => {}
            None if later => {}
            None => wrong.push(format!("{name} ({key}) is missing")),
        }
    }
    for api in versions::all().iter().filter(|api| is_offered(api.key)) {
        if !kafkas.iter().any(|(key, ..)| *key == api.key) {
            wrong.push(format!("{} is nothing that Kafka offers", api.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Produce is shown from 0 on for old clients, by Kafka as well (KAFKA-18659).
#[tokio::test]
async fn clients_are_told_of_the_same_requests_in_the_same_versions() {
    let bench = Bench::new(&[]).await;
    let name = StrBytes::from_static_str("test");
    let request = ApiVersionsRequest::default()
        .with_client_software_name(name.clone())
        .with_client_software_version(name);
    let told = bench.ask(&request, 4).await.api_keys;
    let told: Vec<(i16, i16, i16)> =
        told.iter().map(|api| (api.api_key, api.min_version, api.max_version)).collect();
    let later = |key: &i16| SECURITY.contains(key) || SEVERAL_NODES.contains(key);
    let mut wanted: Vec<(i16, i16, i16)> = kafkas()
        .into_iter()
        .filter(|(key, ..)| !later(key))
        .map(|(key, _, min, max)| (key, if key == 0 { 0 } else { min }, max))
        .collect();
    wanted.sort_unstable();
    assert_eq!(told, wanted);
}

#[test]
fn the_docs_tell_of_the_features_and_levels_that_clients_are_told_of() {
    let page = crate::protocol::docs::page();
    let supported = crate::cluster::controller::features::supported();
    for feature in &supported {
        let row = format!("| `{}` | {}-{} |", feature.name, feature.level_min, feature.level_max);
        assert!(page.contains(&row), "{row}");
    }
    assert_eq!(page.matches(".version` | ").count(), supported.len());
}
