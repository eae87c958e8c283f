//! Every setting and every refusal of one, beside those of Apache Kafka 4.4, which `compat-tests/differ/configs.py` kept.

use super::Bench;
use super::admin::create;
use super::admin::describe;
use crate::broker::wire;
use crate::config::differences::Aspect;
use crate::config::differences::DIFFERENCES;
use kafka_protocol::messages::IncrementalAlterConfigsRequest;
use kafka_protocol::messages::describe_configs_response::DescribeConfigsResourceResult;
use kafka_protocol::messages::incremental_alter_configs_request::AlterConfigsResource;
use kafka_protocol::messages::incremental_alter_configs_request::AlterableConfig;
use std::collections::BTreeMap;
use std::collections::BTreeSet;

/// The same that Kafka was started with.
const SETTINGS: &[(&str, &str)] = &[
    ("offsets.topic.replication.factor", "1"),
    ("offsets.topic.num.partitions", "4"),
    ("group.initial.rebalance.delay.ms", "100"),
    ("log.retention.hours", "100"),
    ("message.max.bytes", "2000000"),
    ("log.roll.ms", "500000"),
    ("ssl.keystore.password", "secret"),
];

async fn bench() -> Bench {
    let bench = Bench::new(SETTINGS).await;
    create(&bench, "t", 1).await;
    bench
}

fn rows(file: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    file.lines().filter(|line| !line.starts_with('#')).map(|line| line.split('\t').collect())
}

fn plain(text: &str) -> Option<String> {
    let lines = |text: &str| text.replace("\\t", "\t").replace("\\n", "\n").replace("\\\\", "\\");
    (text != "\\N").then(|| lines(text))
}

fn escaped(text: Option<&str>) -> String {
    text.map_or_else(
        || "\\N".to_owned(),
        |text| text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n"),
    )
}

/// The differences that were met, so that none is kept that is no more.
#[derive(Default)]
struct Judge {
    met: BTreeSet<usize>,
    told: Vec<String>,
}

impl Judge {
    fn tell(&mut self, name: &str, aspect: Aspect, what: String) {
        match DIFFERENCES.iter().position(|meant| meant.aspect == aspect && meant.is_of(name)) {
            Some(place) => {
                self.met.insert(place);
            }
            None => self.told.push(what),
        }
    }

    fn compare(&mut self, name: &str, aspect: Aspect, kafka: &str, ours: &str) {
        if kafka != ours {
            self.tell(name, aspect, format!("{name} {aspect:?}: Kafka {kafka}, Dohle {ours}"));
        }
    }

    fn end(self, aspects: &[Aspect]) {
        assert!(self.told.is_empty(), "{} differ:\n{}", self.told.len(), self.told.join("\n"));
        for (place, meant) in DIFFERENCES.iter().enumerate() {
            let idle = aspects.contains(&meant.aspect) && !self.met.contains(&place);
            assert!(!idle, "{} {:?} does not differ", meant.names, meant.aspect);
        }
    }
}

/// What stands for the folder of the test.
const FOLDER: &str = "FOLDER";

/// The columns behind the setting's name.
fn columns(one: &DescribeConfigsResourceResult, folder: &str) -> [String; 7] {
    let synonym = |synonym: &kafka_protocol::messages::describe_configs_response::DescribeConfigsSynonym| {
        let value = synonym.value.as_deref().unwrap_or_default().replace(folder, FOLDER);
        format!("{}={value}@{}", synonym.name, synonym.source)
    };
    let synonyms: Vec<String> = one.synonyms.iter().map(synonym).collect();
    let word = |is: bool, yes: &str, no: &str| if is { yes.to_owned() } else { no.to_owned() };
    [
        one.config_type.to_string(),
        escaped(one.value.as_deref()).replace(folder, FOLDER),
        one.config_source.to_string(),
        word(one.read_only, "read-only", "dynamic"),
        word(one.is_sensitive, "sensitive", "plain"),
        word(one.documentation.as_ref().is_some_and(|text| !text.is_empty()), "text", "no text"),
        escaped(Some(&synonyms.join(";"))),
    ]
}

const ASPECTS: [Aspect; 7] =
    [Aspect::Type, Aspect::Value, Aspect::Value, Aspect::Change, Aspect::Type, Aspect::Type, Aspect::Value];

#[tokio::test]
async fn every_setting_is_described_as_kafka_describes_it() {
    let bench = bench().await;
    let mut kafkas: BTreeMap<(i8, &str), BTreeMap<&str, Vec<&str>>> = BTreeMap::new();
    for row in rows(include_str!("kafka-4.4-configs.tsv")) {
        let [kind, resource, name, columns @ ..] = row.as_slice() else { panic!("{row:?}") };
        let settings = kafkas.entry((kind.parse().unwrap(), resource)).or_default();
        settings.insert(name, columns.to_vec());
    }
    assert!(kafkas.len() > 4 && kafkas[&(2, "t")].len() > 30 && kafkas[&(4, "1")].len() > 200);
    let mut judge = Judge::default();
    let folder = bench.folder();
    for ((kind, resource), kafkas) in kafkas {
        let found = describe(&bench, kind, resource, None).await;
        assert_eq!(found.error_code, 0);
        let found = found.configs;
        let ours: BTreeMap<&str, [String; 7]> =
            found.iter().map(|one| (one.name.as_str(), columns(one, &folder))).collect();
        for (name, kafka) in &kafkas {
            let Some(ours) = ours.get(name) else {
                judge.tell(name, Aspect::OnlyKafka, format!("{name} of {kind} is missing"));
                continue;
            };
            for ((aspect, kafka), ours) in ASPECTS.into_iter().zip(kafka).zip(ours) {
                judge.compare(name, aspect, kafka, ours);
            }
        }
        for name in ours.keys().filter(|name| !kafkas.contains_key(*name)) {
            judge.tell(name, Aspect::OnlyHere, format!("{name} of {kind} is nothing that Kafka has"));
        }
    }
    judge.end(&[Aspect::Type, Aspect::Value, Aspect::Change, Aspect::OnlyKafka, Aspect::OnlyHere]);
}

async fn alter(bench: &Bench, kind: i8, resource: &str, name: &str, value: &str) -> (String, String) {
    let config = AlterableConfig::default()
        .with_name(wire::text(name))
        .with_config_operation(0)
        .with_value(wire::some_text(Some(value)));
    let resource = AlterConfigsResource::default()
        .with_resource_type(kind)
        .with_resource_name(wire::text(resource))
        .with_configs(vec![config]);
    let request =
        IncrementalAlterConfigsRequest::default().with_resources(vec![resource]).with_validate_only(true);
    let response = bench.ask(&request, 1).await.responses.remove(0);
    (response.error_code.to_string(), escaped(response.error_message.as_deref()))
}

#[tokio::test]
async fn every_bad_value_is_refused_in_kafkas_words_and_every_good_one_is_taken() {
    let bench = bench().await;
    let mut judge = Judge::default();
    let mut asked = 0;
    for row in rows(include_str!("kafka-4.4-refusals.tsv")) {
        let [kind, resource, name, value, code, message] = row[..] else { panic!("{row:?}") };
        let given = plain(value).unwrap();
        let ours = alter(&bench, kind.parse().unwrap(), resource, name, &given).await;
        let what = || format!("{kind} {resource:?} {name}={given:?}: Kafka {code} {message}, Dohle {ours:?}");
        if (code, message) != (ours.0.as_str(), ours.1.as_str()) {
            judge.tell(name, Aspect::Refusal, what());
        }
        asked += 1;
    }
    assert!(asked > 1000);
    judge.end(&[Aspect::Refusal]);
}
