//! Settings of a client metrics subscription (KIP-714).
//!
//! Names, types, defaults and valid values are those of Apache Kafka 4.4; the texts are ours.

use crate::config::define::Definition;
use crate::config::define::Kind;
use crate::config::define::Mode;

pub(super) const KEYS: &[Definition] = &[
    Definition::new(Kind::Int, "interval.ms", Some("300000"))
        .mode(Mode::Resource)
        .used()
        .doc("How often clients of the subscription send their figures."),
    Definition::new(Kind::List, "match", Some(""))
        .mode(Mode::Resource)
        .used()
        .doc("Which clients the subscription is for, as `NAME=PATTERN`."),
    Definition::new(Kind::List, "metrics", Some(""))
        .mode(Mode::Resource)
        .used()
        .doc("Beginnings of the names of figures that are wanted; `*` for all."),
];
