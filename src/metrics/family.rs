//! Measurements that are looked up when somebody asks, rather than kept.

use crate::metrics::definition::Definition;
use crate::metrics::definition::Kind;
use prometheus::proto;

/// One measurement with any number of label values.
#[derive(Clone, Debug)]
pub(super) struct Family {
    definition: Definition,
}

/// Families with their values, as they are shown.
#[derive(Debug, Default)]
pub(super) struct Page {
    families: Vec<proto::MetricFamily>,
}

/// One value with its labels' values, in the order of the definition. Without labels the list is empty: a family may
/// show a sum beside its parts, as Kafka's do.
pub(super) type Row<'a> = (&'a [&'a str], f64);

impl Family {
    pub(super) fn new(definition: Definition) -> Family {
        Family { definition }
    }

    /// Adds what was found to the page; a family without a value is left out.
    pub(super) fn show<'a>(&self, page: &mut Page, rows: impl IntoIterator<Item = Row<'a>>) {
        let metrics = rows.into_iter().map(|(labels, value)| self.metric(labels, value)).collect();
        page.add(&self.definition, metrics);
    }

    /// Adds one value without labels.
    pub(super) fn show_one(&self, page: &mut Page, value: f64) {
        self.show(page, [(&[] as &[&str], value)]);
    }

    fn metric(&self, values: &[&str], value: f64) -> proto::Metric {
        let mut metric = proto::Metric::from_label(pairs(&self.definition, values));
        match self.definition.kind {
            Kind::Counter => {
                let mut counter = proto::Counter::default();
                counter.set_value(value);
                metric.set_counter(counter);
            }
            Kind::Gauge | Kind::Histogram => {
                let mut gauge = proto::Gauge::default();
                gauge.set_value(value);
                metric.set_gauge(gauge);
            }
        }
        metric
    }
}

impl Page {
    pub(super) fn add(&mut self, definition: &Definition, metrics: Vec<proto::Metric>) {
        if metrics.is_empty() {
            return;
        }
        let mut family = proto::MetricFamily::default();
        family.set_name(definition.name.clone());
        family.set_help(definition.help.to_owned());
        family.set_field_type(match definition.kind {
            Kind::Counter => proto::MetricType::COUNTER,
            Kind::Gauge => proto::MetricType::GAUGE,
            Kind::Histogram => proto::MetricType::HISTOGRAM,
        });
        family.set_metric(metrics);
        self.families.push(family);
    }

    pub(super) fn extend(&mut self, families: Vec<proto::MetricFamily>) {
        self.families.extend(families.into_iter().filter(|family| !family.get_metric().is_empty()));
    }

    /// All of it in Prometheus' text form, version 0.0.4, sorted by name.
    pub(super) fn text(mut self) -> String {
        self.families.sort_by(|one, other| one.name().cmp(other.name()));
        let mut text = String::new();
        prometheus::TextEncoder::new()
            .encode_utf8(&self.families, &mut text)
            .expect("every family has a name, a type and a value");
        text
    }
}

/// The labels with their values.
pub(super) fn pairs(definition: &Definition, values: &[&str]) -> Vec<proto::LabelPair> {
    let pair = |(name, value): (&&'static str, &&str)| {
        let mut pair = proto::LabelPair::default();
        pair.set_name((*name).to_owned());
        pair.set_value((*value).to_owned());
        pair
    };
    definition.labels.iter().zip(values).map(pair).collect()
}

/// A count as Prometheus has it; exact up to 2^53.
#[allow(clippy::cast_precision_loss, reason = "Prometheus has no other numbers")]
pub(super) fn number(count: u64) -> f64 {
    count as f64
}
