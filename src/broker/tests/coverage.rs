//! What is offered, beside what Apache Kafka 4.4 offers.

use crate::broker::dispatch::is_offered;
use crate::protocol::versions;

/// Logins, tokens and the setting of credentials.
const SECURITY: &[i16] = &[17, 36, 38, 39, 40, 41, 51];
/// Voters of a quorum of several nodes.
const SEVERAL_NODES: &[i16] = &[80, 81, 94];
/// Consumer groups of the newer protocol (KIP-848), share groups (KIP-932), streams groups (KIP-1071): what of them is
/// not offered yet.
const GROUPS_TO_COME: &[i16] = &[68, 69, 76, 77, 78, 79, 83, 84, 85, 86, 87, 88, 89, 90, 91, 92, 93];

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
            None if later || GROUPS_TO_COME.contains(key) => {}
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
