//! Settings: properties files, the environment, the command line, and the values in them.

use super::Input;
use dohle::config::ServerConfig;
use dohle::config::Sources;
use dohle::config::TopicConfig;
use dohle::config::load;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Settings whose values are small languages of their own.
const KEYS: &[&str] = &[
    "listeners",
    "advertised.listeners",
    "listener.security.protocol.map",
    "inter.broker.listener.name",
    "controller.listener.names",
    "controller.quorum.voters",
    "controller.quorum.bootstrap.servers",
    "max.connections.per.ip.overrides",
    "log.dirs",
    "node.id",
    "process.roles",
    "log.cleanup.policy",
    "compression.type",
    "log.message.timestamp.after.max.ms",
    "sasl.enabled.mechanisms",
    "ssl.cipher.suites",
];

pub(super) fn settings(input: &mut Input<'_>) {
    let choice = input.u8();
    match choice % 4 {
        0 => {
            let body = input.body();
            // The parser is given a byte above ASCII as six, in a text that grew, and takes lines apart in copies.
            input.allow(body.len() * 32);
            file(&body);
        }
        1 => values(input),
        2 => environment(input),
        _ => topic(&input.text()),
    }
}

fn from(file: Option<&[u8]>, environment: &[(String, String)], overrides: &[String]) {
    let sources = Sources { file, environment, overrides, host_name: "here" };
    match load(&sources) {
        Ok(loaded) => {
            assert!(!loaded.config.listeners.is_empty(), "there is a listener");
            for listener in &loaded.config.listeners {
                assert!(!listener.advertised.host.is_empty(), "an address that is told can be reached");
            }
            assert!(loaded.warnings.iter().all(|line| !line.contains('\n')), "one line for each warning");
        }
        Err(error) => assert!(!error.to_string().is_empty(), "an error says something"),
    }
}

fn file(bytes: &[u8]) {
    from(Some(bytes), &[], &[]);
}

/// Values for the settings that have a syntax.
fn values(input: &mut Input<'_>) {
    let mut overrides = Vec::new();
    while !input.is_empty() && overrides.len() < 4 {
        let key = KEYS[usize::from(input.u8()) % KEYS.len()];
        let length = usize::from(input.u8());
        overrides.push(format!("{key}={}", String::from_utf8_lossy(input.take(length))));
    }
    from(None, &[], &overrides);
}

fn environment(input: &mut Input<'_>) {
    let text = input.text();
    let pairs = text.lines().take(64).filter_map(|line| line.split_once('='));
    let pairs: Vec<(String, String)> = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    from(None, &pairs, &[]);
}

/// What a client sets for a topic.
fn topic(text: &str) {
    static DEFAULTS: LazyLock<ServerConfig> =
        LazyLock::new(|| ServerConfig::new(&BTreeMap::new(), "here").expect("the defaults"));
    let pairs = text.lines().take(64).filter_map(|line| line.split_once('='));
    let set: BTreeMap<String, String> =
        pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    if let Ok(config) = TopicConfig::resolve(&DEFAULTS, &set) {
        let again = TopicConfig::resolve(&DEFAULTS, &set).expect("the same settings");
        assert_eq!(format!("{config:?}"), format!("{again:?}"));
        assert!(config.segment_bytes > 0 && config.max_message_bytes >= 0);
    }
}
