//! Measurements of the partitions on this node.

use crate::metrics::family::Family;
use crate::metrics::family::Page;
use crate::metrics::family::number;
use crate::metrics::registry::Collectors;
use std::sync::Arc;

/// The partitions on this node at one moment.
#[derive(Clone, Debug, Default)]
pub struct Replicas {
    /// Partitions that serve here, in the order of their names.
    pub partitions: Vec<Partition>,
    /// Partitions that should be here and could not be opened.
    pub offline: usize,
}

/// One partition at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's number.
    pub index: i32,
    /// What its leader knows; `None` where another node leads.
    pub led: Option<Led>,
    /// Bytes of its segments.
    pub size: u64,
    /// The first offset.
    pub start: i64,
    /// The offset after the last record.
    pub end: i64,
    /// How many segments it has.
    pub segments: usize,
    /// How many producers it remembers.
    pub producers: usize,
    /// Whether a transaction has been open here for longer than any may be.
    pub has_late_transaction: bool,
}

/// What a leader knows of its replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Led {
    /// How many there are, the leader included.
    pub replicas: usize,
    /// How many are in sync.
    pub in_sync: usize,
    /// How many must be in sync for acks=all.
    pub min_isr: usize,
}

impl Led {
    fn is_under_replicated(self) -> bool {
        self.in_sync < self.replicas
    }

    fn is_under_min_isr(self) -> bool {
        self.in_sync < self.min_isr
    }

    fn is_at_min_isr(self) -> bool {
        self.in_sync == self.min_isr
    }
}

/// The names of what is shown of partitions.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    leaders: Family,
    partitions: Family,
    offline: Family,
    under_replicated: Family,
    under_min_isr: Family,
    at_min_isr: Family,
    producers: Family,
    late: Family,
    each: [Each; 7],
    named: Family,
}

/// A measurement of each partition.
#[derive(Clone, Debug)]
struct Each {
    family: Family,
    value: fn(&Partition) -> Option<f64>,
}

impl Shown {
    pub(super) fn new(collectors: &mut Collectors) -> Shown {
        let mut sum = |name: &str, help| {
            collectors.looked_up_gauge(format!("kafka_server_replicamanager_{name}"), &[], help)
        };
        Shown {
            leaders: sum("leadercount", "Partitions that this node leads."),
            partitions: sum("partitioncount", "Partitions that have a replica on this node."),
            offline: sum("offlinereplicacount", "Partitions of this node that cannot be opened."),
            under_replicated: sum("underreplicatedpartitions", "Led partitions with replicas out of sync."),
            under_min_isr: sum(
                "underminisrpartitioncount",
                "Led partitions with fewer replicas in sync than min.insync.replicas.",
            ),
            at_min_isr: sum(
                "atminisrpartitioncount",
                "Led partitions with just as many replicas in sync as min.insync.replicas.",
            ),
            producers: sum(
                "produceridcount",
                "Producers that the partitions' logs remember, one for each partition.",
            ),
            late: sum(
                "partitionswithlatetransactionscount",
                "Led partitions where a transaction is open for longer than transaction.max.timeout.ms allows.",
            ),
            each: each(collectors),
            named: collectors.looked_up_gauge(
                String::from("dohle_metrics_partitions_left_out"),
                &[],
                "Partitions not shown by name because of dohle.metrics.partitions.max.",
            ),
        }
    }

    pub(super) fn show(&self, page: &mut Page, replicas: &Replicas, limit: usize) {
        let partitions = &replicas.partitions;
        let led = || partitions.iter().filter_map(|partition| partition.led);
        self.leaders.show_one(page, wide(led().count()));
        self.partitions.show_one(page, wide(partitions.len().saturating_add(replicas.offline)));
        self.offline.show_one(page, wide(replicas.offline));
        self.under_replicated.show_one(page, wide(led().filter(|led| led.is_under_replicated()).count()));
        self.under_min_isr.show_one(page, wide(led().filter(|led| led.is_under_min_isr()).count()));
        self.at_min_isr.show_one(page, wide(led().filter(|led| led.is_at_min_isr()).count()));
        self.producers.show_one(page, wide(partitions.iter().map(|partition| partition.producers).sum()));
        let late =
            partitions.iter().filter(|partition| partition.led.is_some() && partition.has_late_transaction);
        self.late.show_one(page, wide(late.count()));
        self.named.show_one(page, wide(partitions.len().saturating_sub(limit)));
        let shown = partitions.get(..limit.min(partitions.len())).unwrap_or_default();
        let numbers: Vec<String> = shown.iter().map(|partition| partition.index.to_string()).collect();
        let labels: Vec<[&str; 2]> = shown
            .iter()
            .zip(&numbers)
            .map(|(partition, index)| [&*partition.topic, index.as_str()])
            .collect();
        for Each { family, value } in &self.each {
            let rows = labels.iter().zip(shown);
            let rows = rows.filter_map(|(labels, partition)| Some((labels.as_slice(), value(partition)?)));
            family.show(page, rows);
        }
    }
}

fn each(collectors: &mut Collectors) -> [Each; 7] {
    let mut one = |name: &str, help, value| {
        let family = collectors.looked_up_gauge(name.to_owned(), &["topic", "partition"], help);
        Each { family, value }
    };
    [
        one("kafka_log_log_size", "Bytes of the partition's segments.", |partition| {
            Some(number(partition.size))
        }),
        one("kafka_log_log_logstartoffset", "The partition's first offset.", |partition| {
            Some(offset(partition.start))
        }),
        one("kafka_log_log_logendoffset", "The offset after the partition's last record.", |partition| {
            Some(offset(partition.end))
        }),
        one("kafka_log_log_numlogsegments", "The partition's segments.", |partition| {
            Some(wide(partition.segments))
        }),
        one("kafka_cluster_partition_underreplicated", "1 for replicas out of sync, else 0.", |partition| {
            partition.led.map(|led| flag(led.is_under_replicated()))
        }),
        one(
            "kafka_cluster_partition_underminisr",
            "1 for fewer replicas in sync than min.insync.replicas, else 0.",
            |partition| partition.led.map(|led| flag(led.is_under_min_isr())),
        ),
        one(
            "kafka_cluster_partition_atminisr",
            "1 for just as many replicas in sync as min.insync.replicas, else 0.",
            |partition| partition.led.map(|led| flag(led.is_at_min_isr())),
        ),
    ]
}

fn flag(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

fn offset(offset: i64) -> f64 {
    number(u64::try_from(offset).unwrap_or(0))
}

fn wide(count: usize) -> f64 {
    number(u64::try_from(count).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Observed;
    use crate::metrics::Registry;

    #[test]
    fn partitions_beyond_the_limit_count_without_a_name() {
        let partition = |topic: &str, in_sync| Partition {
            topic: Arc::from(topic),
            index: 0,
            led: Some(Led { replicas: 3, in_sync, min_isr: 2 }),
            size: 10,
            start: 1,
            end: 5,
            segments: 1,
            producers: 2,
            has_late_transaction: in_sync == 1,
        };
        let follower = Partition { led: None, ..partition("c", 0) };
        let replicas =
            Replicas { partitions: vec![partition("a", 2), partition("b", 1), follower], offline: 1 };
        let observed = Observed { replicas: Some(replicas), partitions_max: 1, ..Observed::default() };
        let text = Registry::new().text(&observed);
        for line in [
            "kafka_server_replicamanager_leadercount 2",
            "kafka_server_replicamanager_partitioncount 4",
            "kafka_server_replicamanager_offlinereplicacount 1",
            "kafka_server_replicamanager_underreplicatedpartitions 2",
            "kafka_server_replicamanager_underminisrpartitioncount 1",
            "kafka_server_replicamanager_atminisrpartitioncount 1",
            "kafka_cluster_partition_atminisr{topic=\"a\",partition=\"0\"} 1",
            "kafka_log_log_logendoffset{topic=\"a\",partition=\"0\"} 5",
            "dohle_metrics_partitions_left_out 2",
            "kafka_server_replicamanager_produceridcount 6",
            "kafka_server_replicamanager_partitionswithlatetransactionscount 1",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} is missing in\n{text}");
        }
        assert!(!text.contains("topic=\"b\""));
    }
}
