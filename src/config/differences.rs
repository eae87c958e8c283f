//! Where settings differ from Apache Kafka's and are meant to. `docs/config.md` shows the table, and the test that compares
//! every setting with Kafka's takes nothing else.

/// What differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// The type, whether the value is shown, or whether there is a text.
    Type,
    /// The value where nobody set one, or where it comes from.
    Value,
    /// Whether it can be changed while the broker runs.
    Change,
    /// Kafka does not have it.
    OnlyHere,
    /// Only Kafka has it.
    OnlyKafka,
    /// Which values are refused, and with what words.
    Refusal,
}

impl Aspect {
    /// As the docs say it.
    pub const fn name(self) -> &'static str {
        match self {
            Aspect::Type => "type",
            Aspect::Value => "value",
            Aspect::Change => "change while the broker runs",
            Aspect::OnlyHere => "only here",
            Aspect::OnlyKafka => "only in Apache Kafka",
            Aspect::Refusal => "refused values",
        }
    }
}

/// One difference.
#[derive(Clone, Copy, Debug)]
pub struct Difference {
    /// The setting, or the beginning of several names before `*`.
    pub names: &'static str,
    /// What differs.
    pub aspect: Aspect,
    /// Why.
    pub why: &'static str,
}

impl Difference {
    /// Whether it is about this setting.
    pub fn is_of(&self, name: &str) -> bool {
        match self.names.strip_suffix('*') {
            Some(beginning) => name.starts_with(beginning),
            None => name == self.names,
        }
    }
}

const fn of(names: &'static str, aspect: Aspect, why: &'static str) -> Difference {
    Difference { names, aspect, why }
}

/// All that are meant.
pub const DIFFERENCES: &[Difference] = &[
    of("dohle.*", Aspect::OnlyHere, "Settings of Dohle's own."),
    of("log.flush.acks", Aspect::OnlyHere, "Whether acks=all waits for the disk."),
    of(
        "cluster.id",
        Aspect::OnlyHere,
        "The id of a new cluster; Apache Kafka's folders are formatted by a tool.",
    ),
    of("listeners", Aspect::Value, "Nobody has to authenticate yet, so the default is the loopback address."),
    of("log.dir", Aspect::Value, "The default is a folder that a restart of the machine does not empty."),
    of("node.id", Aspect::Value, "There is a default: one node needs no number."),
    of("process.roles", Aspect::Value, "One node is broker and controller without being told."),
    of("controller.listener.names", Aspect::Value, "One node needs no listener for controllers."),
    of("controller.quorum.voters", Aspect::Value, "One node is the whole quorum."),
    of(
        "config.providers",
        Aspect::Refusal,
        "There are no providers, so that values would be taken as they stand.",
    ),
    of("listener.security.protocol.map", Aspect::Refusal, "The sentence says what to write."),
    of("listeners", Aspect::Refusal, "The sentence says what to write."),
    of("max.connections.per.ip.overrides", Aspect::Refusal, "The sentence says what to write."),
    of(
        "log.cleaner.threads",
        Aspect::Refusal,
        "0 is refused in a sentence; Apache Kafka says that it divides by zero.",
    ),
    of("log.flush.interval.ms", Aspect::Refusal, "A time below 0 is refused."),
    of(
        "log.local.retention.ms",
        Aspect::Refusal,
        "There is no tiered storage: the value is kept and not compared with others.",
    ),
    of(
        "log.remote.copy.lag.ms",
        Aspect::Refusal,
        "There is no tiered storage: the value is kept and not compared with others.",
    ),
];
