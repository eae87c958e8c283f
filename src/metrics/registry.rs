//! All measurements of one broker.

use crate::metrics::broker::Broker;
use crate::metrics::log::Log;
use crate::metrics::net::Net;
use prometheus::core::Collector;
use prometheus::{HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts};
use std::collections::BTreeSet;

/// Owns every measurement of a broker; each room gets its struct of handles from here.
pub struct Registry {
    collectors: Collectors,
    net: Net,
    log: Log,
    broker: Broker,
}

impl Registry {
    /// A fresh set of measurements, all at zero.
    pub fn new() -> Registry {
        let mut collectors = Collectors { registry: prometheus::Registry::new(), names: BTreeSet::new() };
        let net = Net::new(&mut collectors);
        let log = Log::new(&mut collectors);
        let broker = Broker::new(&mut collectors);
        Registry { collectors, net, log, broker }
    }

    /// The measurements of connections.
    pub fn net(&self) -> Net {
        self.net.clone()
    }

    /// The measurements of logs.
    pub fn log(&self) -> Log {
        self.log.clone()
    }

    /// The measurements of requests and of what topics take in and give out.
    pub fn broker(&self) -> Broker {
        self.broker.clone()
    }

    /// The names of all measurements.
    pub fn names(&self) -> BTreeSet<String> {
        self.collectors.names.clone()
    }

    /// All measurements in Prometheus' text form, version 0.0.4.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let families = self.collectors.registry.gather();
        prometheus::TextEncoder::new()
            .encode_utf8(&families, &mut text)
            .expect("a gathered measurement has a name and a type");
        text
    }
}

impl Default for Registry {
    fn default() -> Registry {
        Registry::new()
    }
}

/// Makes measurements and remembers their names.
pub(super) struct Collectors {
    registry: prometheus::Registry,
    names: BTreeSet<String>,
}

impl Collectors {
    pub(super) fn counter(&mut self, name: &str, help: &str) -> IntCounter {
        self.keep(IntCounter::new(name, help).expect("the name of a counter is well formed"))
    }

    pub(super) fn counters(&mut self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        let counters = IntCounterVec::new(Opts::new(name, help), labels);
        self.keep(counters.expect("the name and the labels of a counter are well formed"))
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str) -> IntGauge {
        self.keep(IntGauge::new(name, help).expect("the name of a gauge is well formed"))
    }

    pub(super) fn seconds(&mut self, name: &str, help: &str, labels: &[&str]) -> HistogramVec {
        let buckets = prometheus::exponential_buckets(0.000_1, 4.0, 10).expect("the buckets ascend");
        let histogram = HistogramVec::new(HistogramOpts::new(name, help).buckets(buckets), labels);
        self.keep(histogram.expect("the name and the labels of a histogram are well formed"))
    }

    fn keep<C: Collector + Clone + 'static>(&mut self, collector: C) -> C {
        self.names.extend(collector.desc().iter().map(|desc| desc.fq_name.clone()));
        let registered = self.registry.register(Box::new(collector.clone()));
        registered.expect("every measurement is registered once under its own name");
        collector
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_raised_is_shown_under_its_name() {
        let registry = Registry::new();
        registry.net().connections.set(3);
        registry.broker().request("Produce").received.inc();
        let text = registry.text();
        assert!(text.contains("\nkafka_server_socket_server_metrics_connection_count 3\n"), "{text}");
        assert!(
            text.contains("kafka_network_requestmetrics_requests_total{request=\"Produce\"} 1"),
            "{text}"
        );
        assert!(registry.names().contains("kafka_network_requestmetrics_requests_total"));
    }

    #[test]
    fn two_brokers_in_one_process_count_apart() {
        let (one, other) = (Registry::new(), Registry::new());
        one.net().accepted.inc();
        assert_eq!(other.net().accepted.get(), 0);
    }
}
