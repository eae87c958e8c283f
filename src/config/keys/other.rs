//! Settings of quotas, metrics and plug-ins.
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Class, "alter.config.policy.class.name", None).used().doc(
        "Java class that may refuse changes of settings. Classes cannot be loaded, so a value stops \
         the start.",
    ),
    Definition::new(Kind::Int, "background.threads", Some("10"))
        .at_least(1)
        .mode(Mode::ClusterWide)
        .doc("Threads for upkeep. Work here shares one pool of as many threads as there are cores."),
    Definition::new(Kind::Class, "client.quota.callback.class", None).used().doc(
        "Java class that sets limits for clients. Classes cannot be loaded, so a value stops the \
         start.",
    ),
    Definition::new(Kind::List, "config.providers", Some(""))
        .mode(Mode::ClusterWide)
        .used()
        .doc("Sources of values outside the file. None are there, so a value stops the start."),
    Definition::new(Kind::Class, "create.topic.policy.class.name", None)
        .used()
        .doc("Java class that may refuse new topics. Classes cannot be loaded, so a value stops the start."),
    Definition::new(Kind::Int, "kafka.metrics.polling.interval.secs", Some("10"))
        .at_least(1)
        .doc("How often reporters of the older kind look at the figures."),
    Definition::new(Kind::List, "kafka.metrics.reporters", Some(""))
        .doc("Java classes that report figures of the older kind."),
    Definition::new(Kind::List, "metric.reporters", Some("org.apache.kafka.common.metrics.JmxReporter"))
        .mode(Mode::ClusterWide)
        .doc("Java classes that report figures."),
    Definition::new(Kind::Int, "metrics.num.samples", Some("2")).at_least(1).doc("Samples kept for a rate."),
    Definition::new(Kind::String, "metrics.recording.level", Some("INFO")).doc("Which figures are recorded."),
    Definition::new(Kind::Long, "metrics.sample.window.ms", Some("30000"))
        .at_least(1)
        .doc("Length of one sample of a rate."),
    Definition::new(Kind::Int, "quota.window.num", Some("11"))
        .at_least(1)
        .used()
        .doc("Windows kept for the rate limits of clients."),
    Definition::new(Kind::Int, "quota.window.size.seconds", Some("1"))
        .at_least(1)
        .used()
        .doc("Length of a window of the rate limits of clients."),
    Definition::new(Kind::Int, "telemetry.max.bytes", Some("1048576"))
        .at_least(1)
        .used()
        .doc("Largest report of client metrics (KIP-714)."),
];
