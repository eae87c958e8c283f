//! Measurements of what the cluster has agreed on.

use crate::metrics::Counter;
use crate::metrics::family::Family;
use crate::metrics::family::Page;
use crate::metrics::family::number;
use crate::metrics::registry::Collectors;

/// The cluster's state at one moment, as this node knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cluster {
    /// Whether this node is the controller.
    pub is_controller: bool,
    /// The controller's id.
    pub leader: i32,
    /// The controller's epoch.
    pub epoch: i32,
    /// The offset after the last record of the metadata log that counts.
    pub metadata_end: i64,
    /// Brokers that may lead partitions.
    pub active_brokers: usize,
    /// Brokers that may not.
    pub fenced_brokers: usize,
    /// Topics.
    pub topics: usize,
    /// Partitions.
    pub partitions: usize,
    /// Partitions without a leader.
    pub leaderless: usize,
    /// Partitions that are led by another replica than the first.
    pub not_preferred: usize,
}

/// A measurement with what it shows.
type Showing = (Family, fn(&Cluster) -> f64);

/// Handles of the controller's measurements, and the names of what is shown of the cluster.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    families: [Showing; 10],
    /// Kept for its place on the page: while one node is the cluster no election is unclean.
    #[expect(dead_code, reason = "registered and shown")]
    unclean_elections: Counter,
}

impl Shown {
    pub(super) fn new(collectors: &mut Collectors) -> Shown {
        let mut one = |name: &str, help, value: fn(&Cluster) -> f64| {
            (collectors.looked_up_gauge(name.to_owned(), &[], help), value)
        };
        let families = [
            one(
                "kafka_controller_kafkacontroller_activecontrollercount",
                "1 on the controller, else 0.",
                |it| number(u64::from(it.is_controller)),
            ),
            one("kafka_controller_kafkacontroller_activebrokercount", "Brokers that may lead.", |it| {
                wide(it.active_brokers)
            }),
            one("kafka_controller_kafkacontroller_fencedbrokercount", "Brokers that may not lead.", |it| {
                wide(it.fenced_brokers)
            }),
            one("kafka_controller_kafkacontroller_globaltopiccount", "Topics of the cluster.", |it| {
                wide(it.topics)
            }),
            one(
                "kafka_controller_kafkacontroller_globalpartitioncount",
                "Partitions of the cluster.",
                |it| wide(it.partitions),
            ),
            one(
                "kafka_controller_kafkacontroller_offlinepartitionscount",
                "Partitions without a leader.",
                |it| wide(it.leaderless),
            ),
            one(
                "kafka_controller_kafkacontroller_preferredreplicaimbalancecount",
                "Partitions that are led by another replica than the first.",
                |it| wide(it.not_preferred),
            ),
            one("kafka_server_raftmetrics_current_leader", "The id of the controller.", |it| {
                f64::from(it.leader)
            }),
            one("kafka_server_raftmetrics_current_epoch", "The controller's epoch.", |it| {
                f64::from(it.epoch)
            }),
            one(
                "kafka_server_raftmetrics_high_watermark",
                "The offset after the last record of the metadata log that counts.",
                |it| number(u64::try_from(it.metadata_end).unwrap_or(0)),
            ),
        ];
        let unclean_elections = collectors.counter(
            "kafka_controller_controllerstats_uncleanleaderelections_total",
            "Leaders elected out of sync; none while one node is the cluster.",
        );
        Shown { families, unclean_elections }
    }

    pub(super) fn show(&self, page: &mut Page, cluster: &Cluster) {
        for (family, value) in &self.families {
            family.show_one(page, value(cluster));
        }
    }
}

fn wide(count: usize) -> f64 {
    number(u64::try_from(count).unwrap_or(u64::MAX))
}
