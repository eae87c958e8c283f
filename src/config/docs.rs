//! Makes `docs/config.md` from the tables. A test fails when the file is stale; `DOHLE_BLESS=1` writes it anew.

use crate::config::define::Definition;
use crate::config::define::Mode;
use crate::config::define::Range;
use crate::config::differences::DIFFERENCES;
use crate::config::keys::BROKER_SUBJECTS;
use crate::config::keys::client_metrics_keys;
use crate::config::keys::group_keys;
use crate::config::keys::topic_keys;
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Settings

<!-- Made from src/config by `DOHLE_BLESS=1 cargo test --lib config::docs`. Do not edit. -->

Names, types, defaults and valid values are those of Apache Kafka 4.4; where a default differs, the text says so.

Settings are read from a properties file (`dohle --config server.properties`), then from the environment, then from
`--override key=value`; the later ones count. A variable of the environment begins with `KAFKA_`; behind it `_` is a
dot, `__` an underscore and `___` a dash, so `KAFKA_LOG_DIRS` is `log.dirs`. `CLUSTER_ID` is `cluster.id`.

An unknown name is ignored with a warning that names the nearest known one, if one is near. A value that cannot work stops the start
with one line. Settings marked *no effect yet* are accepted and kept, and change nothing;
those that Apache Kafka takes for internal are not shown by its tools.

The column *change* says how a setting is changed, with Apache Kafka's words: `read-only` in the file, for the next start;
`per-broker` also while the broker runs, for one broker; `cluster-wide` also for all brokers. A change while the broker
runs counts at once, except where the text says otherwise.
";

/// The whole page.
fn page() -> String {
    let mut page = INTRODUCTION.to_owned();
    page.push_str("\n# The broker\n");
    for (subject, keys) in BROKER_SUBJECTS {
        section(&mut page, subject, keys);
    }
    page.push_str(
        "\n# Topics\n\nSet when a topic is made, or later; each counts for its topic alone and at once.\n",
    );
    section(&mut page, "A topic's settings", topic_keys());
    page.push_str("\n# Groups\n");
    section(&mut page, "A group's settings", group_keys());
    page.push_str("\n# Client metrics\n");
    section(&mut page, "A subscription's settings", client_metrics_keys());
    differences(&mut page);
    page
}

fn differences(page: &mut String) {
    page.push_str(
        "\n# What differs from Apache Kafka 4.4\n\nA test compares what both say of every setting, and how both refuse \
         values of every kind; this is all\nthat differs. The loggers of `kafka-configs.sh --entity-type broker-loggers` are \
         named after the rooms of the source,\n`dohle.log` for instance.\n\n| setting | what | why |\n|---|---|---|\n",
    );
    for meant in DIFFERENCES {
        writeln!(page, "| `{}` | {} | {} |", meant.names, meant.aspect.name(), meant.why)
            .expect("writing to a text does not fail");
    }
}

fn section(page: &mut String, title: &str, keys: &[Definition]) {
    let of_resource = keys.iter().all(|definition| definition.mode == Mode::Resource);
    let (column, line) = if of_resource { ("", "") } else { (" change |", "---|") };
    let head = format!("\n## {title}\n\n| setting | type | default | valid |{column} meaning |\n");
    page.push_str(&head);
    writeln!(page, "|---|---|---|---|{line}---|").expect("writing to a text does not fail");
    for definition in keys {
        let change = if of_resource { String::new() } else { format!(" {} |", definition.mode.name()) };
        let row = format!(
            "| `{}` | {} | {} | {} |{change} {} |\n",
            definition.name,
            definition.kind.name().to_lowercase(),
            default(definition),
            valid(definition.range),
            meaning(definition),
        );
        page.push_str(&row);
    }
}

fn default(definition: &Definition) -> String {
    match (definition.synonyms.first(), definition.default) {
        (Some(synonym), _) => format!("`{}`", synonym.name),
        (None, None) => "none".to_owned(),
        (None, Some("")) => "empty".to_owned(),
        (None, Some(default)) => format!("`{default}`"),
    }
}

fn valid(range: Range) -> String {
    match range {
        Range::Any => String::new(),
        Range::AtLeast(least) => format!("{least} or more"),
        Range::Between(least, most) => format!("{least} to {most}"),
        Range::Fraction(least, most) => format!("{least} to {most}"),
        Range::GzipLevel => "1 to 9, or -1".to_owned(),
        Range::OneOf(words) | Range::OneOfIgnoringCase(words) => words.join(", "),
        Range::ListOf(words) => format!("list of {}", words.join(", ")),
        Range::NotEmpty => "not empty".to_owned(),
        Range::OffsetReset => "`earliest`, `latest`, or `by_duration:` with an ISO 8601 duration".to_owned(),
        Range::ThrottledReplicas => "`*`, or list of `PARTITION:BROKER`".to_owned(),
    }
}

fn meaning(definition: &Definition) -> String {
    let mark = if definition.used { "" } else { " *No effect yet.*" };
    format!("{}{mark}", definition.doc)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::keys::broker_keys;

    #[test]
    fn the_page_in_docs_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/config.md");
        if std::env::var_os("DOHLE_BLESS").is_some() {
            std::fs::write(path, page()).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap_or_default();
        let hint = "docs/config.md is stale: DOHLE_BLESS=1 cargo test --lib config::docs";
        assert!(found == page(), "{hint}");
    }

    #[test]
    fn every_setting_has_a_text_and_stands_on_the_page_once() {
        let page = page();
        for keys in [broker_keys(), topic_keys(), group_keys(), client_metrics_keys()] {
            for definition in keys {
                assert!(definition.doc.ends_with('.'), "{}", definition.name);
                assert!(!definition.doc.contains('|'), "{}", definition.name);
            }
        }
        let (page, _) = page.split_once("# What differs").unwrap();
        for definition in broker_keys() {
            let row = format!("| `{}` |", definition.name);
            let rows = page.lines().filter(|line| line.starts_with(&row)).count();
            let shared = topic_keys().iter().filter(|topic| topic.name == definition.name).count();
            assert_eq!(rows, 1 + shared, "{}", definition.name);
        }
    }
}
