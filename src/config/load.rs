//! Settings from a properties file, the environment and the command line; the later ones are stronger.

use crate::config::define::Invalid;
use crate::config::keys::broker_key;
use crate::config::keys::broker_keys;
use crate::config::server::ServerConfig;
use java_properties::PropertiesIter;
use std::collections::BTreeMap;

/// Where settings come from. The file and the environment are given as they were read.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The bytes of a `server.properties`.
    pub file: Option<&'a [u8]>,
    /// Names and values of the environment.
    pub environment: &'a [(String, String)],
    /// `key=value` texts of the command line.
    pub overrides: &'a [String],
    /// What clients are told where a listener names no host.
    pub host_name: &'a str,
}

/// Settings that can work, and what the user should know about them.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub config: ServerConfig,
    /// One line for each setting that means nothing here.
    pub warnings: Vec<String>,
}

/// Why settings were not taken.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file is not a properties file.
    #[error("the settings file cannot be read{}: {message}", line.map(|line| format!(", line {line}")).unwrap_or_default())]
    File {
        /// The line, where it is known.
        line: Option<usize>,
        /// What is wrong with it.
        message: String,
    },
    /// A text of the command line is not `key=value`.
    #[error("--override takes key=value, but got {0:?}")]
    Override(String),
    /// A setting cannot work.
    #[error("{0}")]
    Setting(#[from] Invalid),
}

/// Reads all sources and builds the settings.
///
/// # Errors
/// [`LoadError`] when a source cannot be read or a setting cannot work.
pub fn load(sources: &Sources<'_>) -> Result<Loaded, LoadError> {
    let mut set = BTreeMap::new();
    if let Some(bytes) = sources.file {
        read_properties(bytes, &mut set)?;
    }
    set.extend(
        sources
            .environment
            .iter()
            .filter_map(|(name, value)| environment_key(name).map(|key| (key, value.clone()))),
    );
    for text in sources.overrides {
        let (key, value) = text.split_once('=').ok_or_else(|| LoadError::Override(text.clone()))?;
        if key.trim().is_empty() {
            return Err(LoadError::Override(text.clone()));
        }
        set.insert(key.trim().to_owned(), value.trim().to_owned());
    }
    let unknown: Vec<String> = set.keys().filter(|key| !is_known(key)).cloned().collect();
    let mut warnings = Vec::new();
    for key in unknown {
        set.remove(&key);
        warnings.push(warning(&key));
    }
    warnings.extend(IDLE.iter().filter(|idle| idle.is_asked(&set)).map(Idle::warning));
    OF_AUTHORIZERS.iter().for_each(|key| drop(set.remove(*key)));
    let config = ServerConfig::new(&set, sources.host_name)?;
    Ok(Loaded { config, warnings })
}

fn read_properties(bytes: &[u8], set: &mut BTreeMap<String, String>) -> Result<(), LoadError> {
    let text = prepared(bytes);
    let read = PropertiesIter::new(text.as_slice()).read_into(|key, value| {
        if !key.is_empty() {
            set.insert(key, value);
        }
    });
    read.map_err(|error| LoadError::File { line: error.line_number(), message: error.to_string() })
}

/// The file as the parser can take it: comments are empty, because Java never looks into them and the parser would
/// refuse `\u` in one; bytes above ASCII are written as `\u00xx`, because Java reads them as ISO 8859-1 wherever they
/// stand, while the parser takes some at the start for marks of another encoding.
fn prepared(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut continues = false;
    for line in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
        if line == b"\n" && text.ends_with(b"\r") {
            // The second half of a line's end.
            text.push(b'\n');
            continue;
        }
        let content = line.trim_ascii_start();
        if !continues && matches!(content.first(), Some(b'#' | b'!')) {
            text.extend(line.last().filter(|byte| matches!(byte, b'\n' | b'\r')));
            continue;
        }
        let mut escaped = false;
        for byte in line {
            match byte {
                0x80.. => {
                    let escape = format!("\\u{byte:04x}");
                    // Behind a backslash the escape's own is there already.
                    text.extend_from_slice(escape.get(usize::from(escaped)..).unwrap_or_default().as_bytes());
                    escaped = false;
                }
                b'\n' | b'\r' => text.push(*byte),
                _ => {
                    text.push(*byte);
                    escaped = *byte == b'\\' && !escaped;
                }
            }
        }
        continues = escaped;
    }
    text
}

/// Variables that the images of Kafka keep for their own scripts.
const OF_SCRIPTS: &[&str] = &[
    "KAFKA_VERSION",
    "KAFKA_HOME",
    "KAFKA_USER",
    "KAFKA_DEBUG",
    "KAFKA_OPTS",
    "KAFKA_HEAP_OPTS",
    "KAFKA_LOG4J_OPTS",
    "KAFKA_LOG4J_CMD_OPTS",
    "KAFKA_LOG4J_ROOT_LOGLEVEL",
    "KAFKA_LOG4J_LOGGERS",
    "KAFKA_TOOLS_LOG4J_LOGLEVEL",
    "KAFKA_JMX_OPTS",
    "KAFKA_JMX_HOSTNAME",
    "KAFKA_JMX_PORT",
    "KAFKA_JVM_PERFORMANCE_OPTS",
    "KAFKA_GC_LOG_OPTS",
];

/// The setting that a variable of the environment means, by the rule of both images: behind `KAFKA_`, `_` is a
/// dot, `__` an underscore and `___` a dash.
fn environment_key(name: &str) -> Option<String> {
    if name == "CLUSTER_ID" {
        return Some("cluster.id".to_owned());
    }
    let rest = name.strip_prefix("KAFKA_")?;
    if OF_SCRIPTS.contains(&name) || rest.is_empty() || is_of_kubernetes(rest) {
        return None;
    }
    let dashes = rest.to_lowercase().replace("___", "-");
    Some(dashes.replace("__", "\u{0}").replace('_', ".").replace('\u{0}', "_"))
}

/// Kubernetes gives every pod variables like `KAFKA_PORT=tcp://…` for a service named `kafka`.
fn is_of_kubernetes(rest: &str) -> bool {
    let is_service = rest.ends_with("SERVICE_HOST") || rest.contains("SERVICE_PORT");
    is_service || rest == "PORT" || rest.starts_with("PORT_") || rest.contains("_PORT_9")
}

/// Prefixes behind which settings of plug-ins and of single listeners stand.
const OPEN_PREFIXES: &[&str] = &["listener.name.", "rsm.config.", "rlmm.config.", "config.providers."];

fn is_known(key: &str) -> bool {
    broker_key(key).is_some()
        || OF_AUTHORIZERS.contains(&key)
        || OPEN_PREFIXES.iter().any(|prefix| key.starts_with(prefix))
}

/// Settings that Kafka's authorizers read; they are none of the broker's own.
const OF_AUTHORIZERS: &[&str] = &["super.users", "allow.everyone.if.no.acl.found"];

/// A setting that asks for protection and cannot give any, because what it belongs to is missing.
struct Idle {
    key: &'static str,
    /// The value that asks for protection; `None` for every value.
    value: Option<&'static str>,
    missing: &'static str,
}

const IDLE: &[Idle] = &[
    Idle { key: "super.users", value: None, missing: "authorizer" },
    Idle { key: "allow.everyone.if.no.acl.found", value: Some("false"), missing: "authorizer" },
    Idle { key: "principal.builder.class", value: None, missing: "authorizer" },
    Idle { key: "ssl.client.auth", value: Some("required"), missing: "TLS listener" },
];

impl Idle {
    fn is_asked(&self, set: &BTreeMap<String, String>) -> bool {
        let value = set.get(self.key).filter(|value| !value.is_empty());
        value.is_some_and(|value| self.value.is_none_or(|asked| value.eq_ignore_ascii_case(asked)))
    }

    fn warning(&self) -> String {
        format!("{} has no effect: there is no {}", self.key, self.missing)
    }
}

fn warning(key: &str) -> String {
    match nearest(key) {
        Some(nearest) => format!("unknown setting {key} is ignored; did you mean {nearest}?"),
        None => format!("unknown setting {key} is ignored"),
    }
}

/// The known setting that differs least, if it differs little.
fn nearest(key: &str) -> Option<&'static str> {
    let limit = key.len().div_ceil(4).min(5);
    let letters = key.chars().count();
    broker_keys()
        .iter()
        // Names differ by at least the difference of their lengths; what is far longer is not worth the work.
        .filter(|definition| definition.name.len().abs_diff(letters) <= limit)
        .map(|definition| (distance(key, definition.name), definition.name))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, name)| name)
}

/// How many letters must be put in, taken out or changed to turn one name into the other.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (place, letter) in one.chars().enumerate() {
        let mut next = vec![place + 1];
        for ((theirs, above_left), above) in other.iter().zip(&row).zip(row.iter().skip(1)) {
            let left = next.last().copied().unwrap_or(place);
            let changed = above_left + usize::from(*theirs != letter);
            next.push(changed.min(left + 1).min(above + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_from(file: &str, environment: &[(&str, &str)], overrides: &[&str]) -> Result<Loaded, LoadError> {
        let environment: Vec<(String, String)> =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let overrides: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
        load(&Sources {
            file: Some(file.as_bytes()),
            environment: &environment,
            overrides: &overrides,
            host_name: "machine",
        })
    }

    #[test]
    fn the_environment_counts_over_the_file_and_the_command_line_over_both() {
        let file = "num.partitions=2\nmessage.max.bytes = 3000\nlog.segment.bytes:2000000\n";
        let environment = [("KAFKA_NUM_PARTITIONS", "3"), ("KAFKA_MESSAGE_MAX_BYTES", "4000")];
        let config = load_from(file, &environment, &["num.partitions=4"]).unwrap().config;
        assert_eq!(config.topics.num_partitions, 4);
        assert_eq!(config.log.max_message_bytes, 4000);
        assert_eq!(config.log.segment_bytes, 2_000_000);
    }

    #[test]
    fn the_file_has_javas_escapes() {
        let file =
            "# note\n! note\nlog.dirs = /a\\u0062c,\\\n    /d\\ e\nbroker.rack\\=x=1\nbroker.rack: r=1\n";
        let config = load_from(file, &[], &[]).unwrap().config;
        let dirs: Vec<&str> = config.storage.log_dirs.iter().filter_map(|path| path.to_str()).collect();
        assert_eq!(dirs, ["/abc", "/d e"]);
        assert_eq!(config.rack.as_deref(), Some("r=1"));
    }

    #[test]
    fn bytes_above_ascii_are_latin_letters_wherever_they_stand() {
        let check = |file: &[u8], rack: Option<&str>| {
            let sources = Sources { file: Some(file), environment: &[], overrides: &[], host_name: "here" };
            assert_eq!(load(&sources).unwrap().config.rack.as_deref(), rack, "{file:?}");
        };
        check(b"broker.rack=\xe9", Some("\u{e9}"));
        check(b"broker.rack=a\\\xe9b", Some("a\u{e9}b"));
        check(b"broker.rack=a\\\\\xe9b", Some("a\\\u{e9}b"));
        // What begins like a mark of another encoding is none, also where nothing follows.
        for start in [&b"\xff"[..], b"\xfe", b"\xef\xbb", b"\xef\xbb\xbf", b"\xff\xfe"] {
            check(start, None);
            check(&[start, b"\nbroker.rack=b"].concat(), Some("b"));
        }
    }

    #[test]
    fn a_comment_ends_with_its_line_whatever_ends_the_line() {
        let rack = |file: &str| load_from(file, &[], &[]).unwrap().config.rack;
        for file in ["#\\u\rbroker.rack=b", "#\\\nbroker.rack=b", "x=1\\\r\n#2\r\nbroker.rack=b\r\n"] {
            assert_eq!(rack(file).as_deref(), Some("b"), "{file:?}");
        }
    }

    #[test]
    fn a_broken_escape_names_its_line() {
        let message = load_from("num.partitions=1\nlog.dirs=\\u00zz\n", &[], &[]).unwrap_err().to_string();
        assert!(message.contains("line 2"), "{message}");
    }

    #[test]
    fn variables_become_settings_by_the_rule_of_the_images() {
        let check = |name: &str, expect: Option<&str>| assert_eq!(environment_key(name).as_deref(), expect);
        check("KAFKA_LOG_DIRS", Some("log.dirs"));
        check("KAFKA_LISTENER_NAME_SECURE__PLAIN_X___Y", Some("listener.name.secure_plain.x-y"));
        check("CLUSTER_ID", Some("cluster.id"));
        check("KAFKA_HEAP_OPTS", None);
        check("KAFKA_PORT", None);
        check("KAFKA_PORT_9092_TCP_ADDR", None);
        check("KAFKA_SERVICE_HOST", None);
        check("PATH", None);
    }

    #[test]
    fn an_unknown_setting_is_ignored_with_the_nearest_known_name() {
        let loaded = load_from("num.partition=3\nzebra.crossing.enabled.now=x\n", &[], &[]).unwrap();
        assert_eq!(
            loaded.warnings,
            [
                "unknown setting num.partition is ignored; did you mean num.partitions?",
                "unknown setting zebra.crossing.enabled.now is ignored",
            ]
        );
        assert_eq!(loaded.config.set_value("num.partition"), None);
    }

    #[test]
    fn an_endless_unknown_setting_costs_no_search() {
        let name = "x".repeat(10_000_000);
        let loaded = load_from(&format!("{name}=1\n"), &[], &[]).unwrap();
        assert_eq!(loaded.warnings, [format!("unknown setting {name} is ignored")]);
    }

    #[test]
    fn settings_of_a_protection_that_is_not_there_are_taken_with_a_warning() {
        let file = "super.users=User:a\nallow.everyone.if.no.acl.found=false\nprincipal.builder.class=x.Y\n\
                    ssl.client.auth=required\n";
        let loaded = load_from(file, &[], &[]).unwrap();
        assert_eq!(
            loaded.warnings,
            [
                "super.users has no effect: there is no authorizer",
                "allow.everyone.if.no.acl.found has no effect: there is no authorizer",
                "principal.builder.class has no effect: there is no authorizer",
                "ssl.client.auth has no effect: there is no TLS listener",
            ]
        );
        assert_eq!(loaded.config.set_value("super.users"), None);
        let quiet =
            load_from("allow.everyone.if.no.acl.found=true\nssl.client.auth=none\n", &[], &[]).unwrap();
        assert_eq!(quiet.warnings, Vec::<String>::new());
    }

    #[test]
    fn settings_of_plug_ins_and_single_listeners_are_taken_without_warning() {
        let loaded = load_from("rsm.config.x=1\nlistener.name.a.max.connections=4\n", &[], &[]).unwrap();
        assert_eq!(loaded.warnings, Vec::<String>::new());
    }

    #[test]
    fn a_setting_that_cannot_work_stops_with_one_line() {
        let check = |file: &str, overrides: &[&str], part: &str| {
            let message = load_from(file, &[], overrides).unwrap_err().to_string();
            assert!(message.contains(part) && !message.contains('\n'), "{message}");
        };
        check("num.partitions=many\n", &[], "Not a number of type INT");
        check("", &["nothing"], "--override takes key=value");
        check("", &["=1"], "--override takes key=value");
        check("listeners=SASL_SSL://:9092\n", &[], "does not have yet");
        check(
            "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n",
            &[],
            "authorizer",
        );
    }

    /// The settings that ship with Kafka 4.4 for one node, and those that test libraries set.
    #[test]
    fn what_kafka_ships_and_test_libraries_set_is_taken() {
        let shipped = "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.bootstrap.servers=localhost:9093\n\
             listeners=PLAINTEXT://:9092,CONTROLLER://:9093\ninter.broker.listener.name=PLAINTEXT\n\
             advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\n\
             controller.listener.names=CONTROLLER\nnum.network.threads=3\nlog.dirs=/tmp/kraft-combined-logs\n\
             listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL\n\
             num.partitions=1\noffsets.topic.replication.factor=1\nlog.retention.hours=168\nlog.segment.bytes=1073741824\n";
        let loaded = load_from(shipped, &[], &[]).unwrap();
        assert_eq!(loaded.warnings, Vec::<String>::new());
        assert_eq!(loaded.config.listeners[0].advertised.to_string(), "localhost:9092");
        let environment = [
            ("KAFKA_LISTENERS", "PLAINTEXT://:9092,BROKER://:9093,CONTROLLER://:9094"),
            ("KAFKA_ADVERTISED_LISTENERS", "PLAINTEXT://localhost:32768,BROKER://abc:9093"),
            (
                "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP",
                "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            ),
            ("KAFKA_INTER_BROKER_LISTENER_NAME", "BROKER"),
            ("KAFKA_CONTROLLER_LISTENER_NAMES", "CONTROLLER"),
            ("KAFKA_PROCESS_ROLES", "broker,controller"),
            ("KAFKA_NODE_ID", "1"),
            ("KAFKA_CONTROLLER_QUORUM_VOTERS", "1@localhost:9094"),
            ("CLUSTER_ID", "4L6g3nShT-eMCtK--X86sw"),
            ("KAFKA_LOG_FLUSH_INTERVAL_MESSAGES", "9223372036854775807"),
            ("KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS", "0"),
        ];
        let loaded = load_from("", &environment, &[]).unwrap();
        assert_eq!(loaded.warnings, Vec::<String>::new());
        assert_eq!(loaded.config.cluster_id.as_deref(), Some("4L6g3nShT-eMCtK--X86sw"));
        assert_eq!(loaded.config.listeners.len(), 2);
    }
}
