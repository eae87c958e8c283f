//! Settings of a client metrics subscription (KIP-714).
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Int, "interval.ms", Some("300000")).mode(Mode::Resource).doc(""),
    Definition::new(Kind::List, "match", Some("")).mode(Mode::Resource).doc(""),
    Definition::new(Kind::List, "metrics", Some("")).mode(Mode::Resource).doc(""),
];
