//! Quotas and settings that clients set, as the controller takes them, and as the broker reads them afterwards.

use super::Input;
use dohle::base::TopicId;
use dohle::cluster::Image;
use dohle::cluster::command::AlterConfigs;
use dohle::cluster::command::AlterQuotas;
use dohle::cluster::command::AlterResource;
use dohle::cluster::command::ConfigChange;
use dohle::cluster::command::ConfigOperation;
use dohle::cluster::command::QuotaAlteration;
use dohle::cluster::controller::Situation;
use dohle::cluster::controller::configs;
use dohle::cluster::controller::quotas;
use dohle::cluster::effective;
use dohle::cluster::records::Record;
use dohle::cluster::records::TopicRecord;
use dohle::config::Definition;
use dohle::config::ServerConfig;
use dohle::config::broker_keys;
use dohle::config::client_metrics_keys;
use dohle::config::group_keys;
use dohle::config::topic_keys;
use dohle::groups::streams;
use dohle::io::random::Random;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use uuid::Uuid;

static CONFIG: LazyLock<ServerConfig> = LazyLock::new(|| {
    let set = BTreeMap::from([("node.id".to_owned(), "1".to_owned())]);
    ServerConfig::new(&set, "here").expect("settings that work")
});

/// Changes of quotas and of settings, one after the other.
pub(super) fn admin(input: &mut Input<'_>) {
    let mut image = Image::empty("fuzz");
    let topic = TopicRecord { name: "t".to_owned(), topic_id: TopicId(Uuid::from_u128(7)) };
    image.apply(&topic.into()).expect("a new topic");
    for _ in 0..16 {
        if input.is_empty() {
            break;
        }
        if input.u8() & 1 == 0 { quota(input, &mut image) } else { config(input, &mut image) }
    }
    let mut copy = Image::empty("fuzz");
    for record in image.records() {
        copy.apply(&record).expect("an image's own records");
    }
    assert_eq!(text(image.records()), text(copy.records()), "a snapshot is the image");
    let config = effective::server_config(&CONFIG, &image);
    effective::broker_entries(&CONFIG, &image);
    effective::topic_entries(&config, &image, image.topic_configs("t"));
    effective::group_entries(&CONFIG, &image, "g");
    effective::client_metrics_entries(&image, "m");
    let of_group = streams::settings::Settings::of(&CONFIG.groups.streams, CONFIG.node_id, &image, "g");
    assert!(of_group.session_timeout_ms > 0 && of_group.standby_replicas >= 0);
}

/// Records compare by their text: a quota that is no number equals itself.
fn text(records: impl Iterator<Item = Record>) -> Vec<String> {
    records.map(|record| format!("{record:?}")).collect()
}

fn take(image: &mut Image, records: &[Record]) {
    for record in records {
        image.apply(record).expect("what the controller decided");
    }
}

fn name(input: &mut Input<'_>) -> String {
    let length = usize::from(input.u8() % 16);
    String::from_utf8_lossy(input.take(length)).into_owned()
}

fn quota(input: &mut Input<'_>, image: &mut Image) {
    const KINDS: [&str; 4] = ["user", "client-id", "ip", "other"];
    const KEYS: [&str; 6] = [
        "producer_byte_rate",
        "consumer_byte_rate",
        "request_percentage",
        "controller_mutation_rate",
        "connection_creation_rate",
        "other",
    ];
    let mut entity = BTreeMap::new();
    for _ in 0..input.u8() % 4 {
        let kind = KINDS[usize::from(input.u8()) % KINDS.len()].to_owned();
        let of = if input.u8() & 1 == 0 { None } else { Some(name(input)) };
        entity.insert(kind, of);
    }
    let mut changes = Vec::new();
    for _ in 0..input.u8() % 4 {
        let key = KEYS[usize::from(input.u8()) % KEYS.len()].to_owned();
        let value = match input.u8() % 3 {
            0 => None,
            1 => Some(f64::from(input.u16())),
            _ => Some(f64::from_bits(input.i64().cast_unsigned())),
        };
        changes.push((key, value));
    }
    let alterations = vec![QuotaAlteration { entity, changes }];
    let command = AlterQuotas { alterations, validate_only: false };
    let outcome = quotas::alter_quotas(image, &command);
    take(image, &outcome.records);
    let again = quotas::alter_quotas(image, &command);
    assert!(again.records.is_empty(), "the same once more changes nothing");
}

fn config(input: &mut Input<'_>, image: &mut Image) {
    let (resource_type, of, keys): (i8, &str, &[Definition]) = match input.u8() % 6 {
        0 => (2, "t", topic_keys()),
        1 => (4, "1", broker_keys()),
        2 => (4, "", broker_keys()),
        3 => (16, "m", client_metrics_keys()),
        4 => (8, "1", broker_keys()),
        _ => (32, "g", group_keys()),
    };
    let mut operations = Vec::new();
    for _ in 0..input.u8() % 4 {
        let choice = input.u16();
        let key = match keys.get(usize::from(choice & 0xff) % (keys.len() + 1)) {
            Some(definition) if choice < 0xf000 => definition.name.to_owned(),
            _ => name(input),
        };
        let length = usize::from(input.u8());
        let value = String::from_utf8_lossy(input.take(length)).into_owned();
        let operation = i8::try_from(input.u8() % 5).expect("a small number");
        operations.push(ConfigOperation { key, operation, value: (choice & 0x100 == 0).then_some(value) });
    }
    let change = if input.u8() & 1 == 0 {
        ConfigChange::Each(operations)
    } else {
        ConfigChange::Replace(operations.into_iter().map(|one| (one.key, one.value)).collect())
    };
    // A pattern of a subscription may be compiled to a MiB.
    input.allow(8 << 20);
    let resources = vec![AlterResource { resource_type, name: of.to_owned(), change }];
    let command = AlterConfigs { resources, validate_only: false };
    let records = {
        let mut random = Random::seeded(7);
        let situation = Situation { image, config: &CONFIG, random: &mut random, permit: None };
        configs::alter_configs(&situation, &command).records
    };
    take(image, &records);
}
