//! Settings of quotas, metrics and plug-ins.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Class, "alter.config.policy.class.name", None).doc(""),
    Definition::new(Kind::Int, "background.threads", Some("10")).at_least(1).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Class, "client.quota.callback.class", None).doc(""),
    Definition::new(Kind::List, "config.providers", Some("")).mode(Mode::ClusterWide).doc(""),
    Definition::new(Kind::Class, "create.topic.policy.class.name", None).doc(""),
    Definition::new(Kind::Int, "kafka.metrics.polling.interval.secs", Some("10")).at_least(1).doc(""),
    Definition::new(Kind::List, "kafka.metrics.reporters", Some("")).doc(""),
    Definition::new(Kind::List, "metric.reporters", Some("org.apache.kafka.common.metrics.JmxReporter"))
        .mode(Mode::ClusterWide)
        .doc(""),
    Definition::new(Kind::Int, "metrics.num.samples", Some("2")).at_least(1).doc(""),
    Definition::new(Kind::String, "metrics.recording.level", Some("INFO")).doc(""),
    Definition::new(Kind::Long, "metrics.sample.window.ms", Some("30000")).at_least(1).doc(""),
    Definition::new(Kind::Int, "quota.window.num", Some("11")).at_least(1).doc(""),
    Definition::new(Kind::Int, "quota.window.size.seconds", Some("1")).at_least(1).doc(""),
    Definition::new(Kind::Int, "telemetry.max.bytes", Some("1048576")).at_least(1).doc(""),
];
