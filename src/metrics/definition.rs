//! What a measurement is: name, kind, labels, meaning.

/// How a measurement moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Only grows while the process lives.
    Counter,
    /// Goes up and down.
    Gauge,
    /// Counts of values below certain bounds, with their sum.
    Histogram,
}

impl Kind {
    /// Prometheus' word for it.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

/// One measurement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Its name, in the dialect of the JMX exporter's rules for Kafka where Kafka has it.
    pub name: String,
    /// How it moves.
    pub kind: Kind,
    /// Its labels.
    pub labels: &'static [&'static str],
    /// What it means, in one sentence.
    pub help: &'static str,
}
