//! Measurements of transactions: what is counted, and the transactional ids that this node coordinates.

use crate::metrics::Counter;
use crate::metrics::Gauge;
use crate::metrics::definition::Definition;
use crate::metrics::family::Family;
use crate::metrics::family::Page;
use crate::metrics::family::number;
use crate::metrics::registry::Collectors;
use crate::metrics::spread;
use crate::metrics::spread::Spread;
use std::time::Duration;

/// Handles of what is counted of transactions.
#[derive(Clone, Debug)]
pub struct Transacting {
    /// Markers that are to be written again because their partition did not take them.
    pub unknown_destination: Gauge,
    /// Transactions whose markers are written and whose completion is to be recorded again.
    pub log_append_retries: Gauge,
    /// Partitions whose part in a transaction was not confirmed.
    pub verification_failures: Counter,
    /// How long the question took whether partitions take part in a transaction.
    pub verification_times: Spread,
    verification_times_shown: Definition,
}

impl Transacting {
    pub(super) fn new(collectors: &mut Collectors) -> Transacting {
        Transacting {
            unknown_destination: collectors.gauge(
                "kafka_coordinator_transaction_transactionmarkerchannelmanager_unknowndestinationqueuesize",
                "Markers to be written again because their partition did not take them.",
            ),
            log_append_retries: collectors.gauge(
                "kafka_coordinator_transaction_transactionmarkerchannelmanager_logappendretryqueuesize",
                "Transactions whose markers are written and whose completion is to be recorded again.",
            ),
            verification_failures: collectors.counter(
                "kafka_server_addpartitionstotxnmanager_verificationfailurerate_count",
                "Partitions whose part in a transaction was not confirmed.",
            ),
            verification_times: Spread::times(),
            verification_times_shown: collectors.spread(
                "kafka_server_addpartitionstotxnmanager_verificationtimems",
                &[],
                "Milliseconds that the question took whether partitions take part in a transaction.",
            ),
        }
    }

    pub(super) fn show(&self, page: &mut Page) {
        spread::show(page, &self.verification_times_shown, [(&[] as &[&str], &self.verification_times)]);
    }
}

/// The transactional ids coordinated here at one moment, by the state of their latest transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transactions {
    /// No transaction yet.
    pub empty: usize,
    /// Open.
    pub ongoing: usize,
    /// Committed, with markers to be written.
    pub prepare_commit: usize,
    /// Aborted, with markers to be written.
    pub prepare_abort: usize,
    /// Committed.
    pub complete_commit: usize,
    /// Aborted.
    pub complete_abort: usize,
    /// How the partitions that keep them were loaded.
    pub loads: Loads,
}

impl Transactions {
    /// Takes another partition's ids in.
    pub fn add(&mut self, more: &Transactions) {
        self.empty += more.empty;
        self.ongoing += more.ongoing;
        self.prepare_commit += more.prepare_commit;
        self.prepare_abort += more.prepare_abort;
        self.complete_commit += more.complete_commit;
        self.complete_abort += more.complete_abort;
    }

    fn states(&self) -> [(&'static str, usize); 6] {
        [
            ("Empty", self.empty),
            ("Ongoing", self.ongoing),
            ("PrepareCommit", self.prepare_commit),
            ("PrepareAbort", self.prepare_abort),
            ("CompleteCommit", self.complete_commit),
            ("CompleteAbort", self.complete_abort),
        ]
    }
}

/// The loads of a coordinator's partitions since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loads {
    /// How many there were.
    pub count: u32,
    /// What they took together.
    pub total: Duration,
    /// What the longest took.
    pub longest: Duration,
}

/// The names of what is shown of transactional ids.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    ids: Family,
    longest_load: Family,
    mean_load: Family,
}

impl Shown {
    pub(super) fn new(collectors: &mut Collectors) -> Shown {
        let mut load = |name: &str, help| {
            let name = format!("kafka_server_transaction_coordinator_metrics_partition_load_time_{name}");
            collectors.looked_up_gauge(name, &[], help)
        };
        Shown {
            longest_load: load("max", "Milliseconds of the longest load of transactions since the start."),
            mean_load: load("avg", "Milliseconds of a load of transactions since the start, on average."),
            ids: collectors.looked_up_gauge(
                String::from("dohle_transaction_ids"),
                &["state"],
                "Transactional ids coordinated here, by the state of their latest transaction.",
            ),
        }
    }

    pub(super) fn show(&self, page: &mut Page, transactions: &Transactions) {
        let states = transactions.states();
        let labels: Vec<[&str; 1]> = states.iter().map(|(name, _)| [*name]).collect();
        let counts = states.iter().map(|(_, count)| number(u64::try_from(*count).unwrap_or(u64::MAX)));
        self.ids.show(page, labels.iter().map(<[&str; 1]>::as_slice).zip(counts));
        let Loads { count, total, longest } = transactions.loads;
        if count > 0 {
            self.longest_load.show_one(page, longest.as_secs_f64() * 1_000.0);
            self.mean_load.show_one(page, total.as_secs_f64() * 1_000.0 / f64::from(count));
        }
    }
}
