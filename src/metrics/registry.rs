//! All measurements of one broker.

use crate::metrics::broker;
use crate::metrics::broker::Broker;
use crate::metrics::clients::Clients;
use crate::metrics::cluster;
use crate::metrics::definition::Definition;
use crate::metrics::definition::Kind;
use crate::metrics::family::Family;
use crate::metrics::family::Page;
use crate::metrics::groups;
use crate::metrics::log;
use crate::metrics::log::Log;
use crate::metrics::net::Net;
use crate::metrics::process;
use crate::metrics::quotas;
use crate::metrics::replica;
use crate::metrics::topics::Topics;
use crate::metrics::txn;
use prometheus::core::Collector;
use prometheus::{IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Owns every measurement of a broker; each room gets its struct of handles from here. Clones share them.
#[derive(Clone, Debug)]
pub struct Registry {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    registry: prometheus::Registry,
    definitions: Vec<Definition>,
    net: Net,
    log: Log,
    broker: Broker,
    topics: Topics,
    clients: Clients,
    replicas: replica::Shown,
    cluster: cluster::Shown,
    groups: groups::Shown,
    transactions: txn::Shown,
    quotas: quotas::Shown,
    process: process::Shown,
}

/// What is not counted but looked up at the moment somebody asks. What is `None` is not shown.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The process.
    pub process: process::Process,
    /// The log directories.
    pub directories: Vec<log::Directory>,
    /// What the cluster has agreed on.
    pub cluster: Option<cluster::Cluster>,
    /// The partitions here.
    pub replicas: Option<replica::Replicas>,
    /// The groups coordinated here.
    pub groups: Option<groups::Groups>,
    /// The transactional ids coordinated here.
    pub transactions: Option<txn::Transactions>,
    /// The fetch sessions.
    pub sessions: Option<broker::Sessions>,
    /// The clients whose use is limited.
    pub limits: Vec<quotas::Limit>,
    /// How many partitions and topics are shown by name.
    pub partitions_max: usize,
}

impl Registry {
    /// A fresh set of measurements, all at zero.
    pub fn new() -> Registry {
        let mut collectors = Collectors { registry: prometheus::Registry::new(), definitions: Vec::new() };
        let topics = Topics::new(&mut collectors);
        let broker = Broker::new(&mut collectors);
        let clients = Clients::new(&mut collectors);
        let net = Net::new(&mut collectors);
        let replicas = replica::Shown::new(&mut collectors);
        let log = Log::new(&mut collectors);
        let groups = groups::Shown::new(&mut collectors);
        let transactions = txn::Shown::new(&mut collectors);
        let cluster = cluster::Shown::new(&mut collectors);
        let quotas = quotas::Shown::new(&mut collectors);
        let process = process::Shown::new(&mut collectors);
        let Collectors { registry, definitions } = collectors;
        let shared = Shared {
            registry,
            definitions,
            net,
            log,
            broker,
            topics,
            clients,
            replicas,
            cluster,
            groups,
            transactions,
            quotas,
            process,
        };
        Registry { shared: Arc::new(shared) }
    }

    /// The measurements of connections.
    pub fn net(&self) -> Net {
        self.shared.net.clone()
    }

    /// The measurements of logs.
    pub fn log(&self) -> Log {
        self.shared.log.clone()
    }

    /// The measurements of requests.
    pub fn broker(&self) -> Broker {
        self.shared.broker.clone()
    }

    /// What clients push about themselves.
    pub fn clients(&self) -> Clients {
        self.shared.clients.clone()
    }

    /// The measurements of topics.
    pub fn topics(&self) -> Topics {
        self.shared.topics.clone()
    }

    /// What each measurement is, by subject.
    pub fn definitions(&self) -> &[Definition] {
        &self.shared.definitions
    }

    /// The names of all measurements.
    pub fn names(&self) -> BTreeSet<String> {
        self.shared.definitions.iter().map(|definition| definition.name.clone()).collect()
    }

    /// All measurements in Prometheus' text form, version 0.0.4.
    pub fn text(&self, observed: &Observed) -> String {
        let mut page = Page::default();
        page.extend(self.shared.registry.gather());
        self.shared.topics.show(&mut page, observed.partitions_max);
        self.shared.broker.show(&mut page, observed.sessions);
        self.shared.clients.show(&mut page);
        self.shared.log.show(&mut page, &observed.directories);
        if let Some(replicas) = &observed.replicas {
            self.shared.replicas.show(&mut page, replicas, observed.partitions_max);
        }
        if let Some(cluster) = &observed.cluster {
            self.shared.cluster.show(&mut page, cluster);
        }
        if let Some(groups) = &observed.groups {
            self.shared.groups.show(&mut page, groups);
        }
        if let Some(transactions) = &observed.transactions {
            self.shared.transactions.show(&mut page, transactions);
        }
        self.shared.quotas.show(&mut page, &observed.limits);
        self.shared.process.show(&mut page, &observed.process);
        page.text()
    }
}

impl Default for Registry {
    fn default() -> Registry {
        Registry::new()
    }
}

/// Makes measurements and remembers what they are.
pub(super) struct Collectors {
    registry: prometheus::Registry,
    definitions: Vec<Definition>,
}

impl Collectors {
    pub(super) fn counter(&mut self, name: &str, help: &'static str) -> IntCounter {
        self.define(name.to_owned(), Kind::Counter, &[], help);
        self.keep(IntCounter::new(name, help).expect("the name of a counter is well formed"))
    }

    pub(super) fn counters(
        &mut self,
        name: String,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> IntCounterVec {
        let counters = IntCounterVec::new(Opts::new(&name, help), labels);
        self.define(name, Kind::Counter, labels, help);
        self.keep(counters.expect("the name and the labels of a counter are well formed"))
    }

    pub(super) fn gauge(&mut self, name: &str, help: &'static str) -> IntGauge {
        self.define(name.to_owned(), Kind::Gauge, &[], help);
        self.keep(IntGauge::new(name, help).expect("the name of a gauge is well formed"))
    }

    pub(super) fn gauges(
        &mut self,
        name: String,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> IntGaugeVec {
        let gauges = IntGaugeVec::new(Opts::new(&name, help), labels);
        self.define(name, Kind::Gauge, labels, help);
        self.keep(gauges.expect("the name and the labels of a gauge are well formed"))
    }

    /// A distribution that the room keeps itself, see [`super::spread`].
    pub(super) fn spread(
        &mut self,
        name: &str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Definition {
        self.define(name.to_owned(), Kind::Histogram, labels, help)
    }

    /// A counter whose values are looked up when somebody asks.
    pub(super) fn looked_up_counter(
        &mut self,
        name: String,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Family {
        Family::new(self.define(name, Kind::Counter, labels, help))
    }

    /// A gauge whose values are looked up when somebody asks.
    pub(super) fn looked_up_gauge(
        &mut self,
        name: String,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Family {
        Family::new(self.define(name, Kind::Gauge, labels, help))
    }

    fn define(
        &mut self,
        name: String,
        kind: Kind,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Definition {
        let known = self.definitions.iter().any(|definition| definition.name == name);
        assert!(!known, "every measurement is defined once: {name}");
        let definition = Definition { name, kind, labels, help };
        self.definitions.push(definition.clone());
        definition
    }

    fn keep<C: Collector + Clone + 'static>(&mut self, collector: C) -> C {
        let registered = self.registry.register(Box::new(collector.clone()));
        registered.expect("every measurement is registered once under its own name");
        collector
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn what_is_raised_is_shown_under_its_name() {
        let registry = Registry::new();
        registry.net().listener("PLAINTEXT").connections.set(3);
        let broker = registry.broker();
        broker.request_of(0, "Produce").unwrap().times.took(Duration::from_millis(1));
        let text = registry.text(&Observed::default());
        for line in [
            "kafka_server_socket_server_metrics_connection_count{listener=\"PLAINTEXT\"} 3",
            "kafka_network_requestmetrics_requests_total{request=\"Produce\"} 1",
            "kafka_network_requestmetrics_totaltimems_sum{request=\"Produce\"} 1",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} is missing in\n{text}");
        }
        assert!(registry.names().contains("kafka_network_requestmetrics_requests_total"));
    }

    #[test]
    fn two_brokers_in_one_process_count_apart() {
        let (one, other) = (Registry::new(), Registry::new());
        one.net().listener("A").accepted.inc();
        assert_eq!(other.net().listener("A").accepted.get(), 0);
    }

    #[test]
    fn every_measurement_says_what_it_means_in_one_sentence() {
        for definition in Registry::new().definitions() {
            assert!(definition.help.ends_with('.') && !definition.help.contains('\n'), "{}", definition.name);
        }
    }
}
