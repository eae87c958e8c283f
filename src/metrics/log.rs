//! Measurements of logs and their directories.

use crate::metrics::Cleaner;
use crate::metrics::Counter;
use crate::metrics::Gauge;
use crate::metrics::definition::Definition;
use crate::metrics::family::Family;
use crate::metrics::family::Page;
use crate::metrics::family::number;
use crate::metrics::registry::Collectors;
use crate::metrics::spread;
use crate::metrics::spread::Spread;

/// Handles of the logs' measurements.
#[derive(Clone, Debug)]
pub struct Log {
    /// How long a sync took.
    pub flush: Spread,
    /// Bytes of batches written.
    pub written_bytes: Counter,
    /// Segments begun.
    pub segments_rolled: Counter,
    /// Segments removed by retention or by DeleteRecords.
    pub segments_deleted: Counter,
    /// Bytes cut from the ends of logs by recovery.
    pub recovery_cut_bytes: Counter,
    /// Log directories out of use.
    pub offline_directories: Gauge,
    /// Compaction.
    pub cleaner: Cleaner,
    flush_shown: Definition,
    offline: Family,
    total_bytes: Family,
    free_bytes: Family,
    uncleanable_partitions: Family,
    uncleanable_bytes: Family,
    since_last_run: Family,
}

/// What a log directory is like at this moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directory {
    /// Where it is.
    pub path: String,
    /// Whether it is out of use.
    pub offline: bool,
    /// Size of its file system, and what of it may still be filled; in bytes, when they can be told.
    pub space: Option<(u64, u64)>,
    /// Partitions that could not be compacted, and what of them should be, in bytes.
    pub uncleanable: (u64, u64),
    /// Milliseconds since compaction looked for work; the same in all directories.
    pub since_last_run_ms: Option<u64>,
}

impl Log {
    pub(super) fn new(collectors: &mut Collectors) -> Log {
        const LABELS: &[&str] = &["logDirectory"];
        let mut of_directory = |name: &str, help| collectors.looked_up_gauge(name.to_owned(), LABELS, help);
        let offline = of_directory(
            "kafka_log_logmanager_logdirectoryoffline",
            "1 for a log directory out of use, else 0.",
        );
        let total_bytes =
            of_directory("dohle_log_directory_total_bytes", "Size of the directory's file system.");
        let uncleanable_partitions = of_directory(
            "kafka_log_logcleanermanager_uncleanable_partitions_count",
            "Partitions that could not be compacted and are left alone until the next start.",
        );
        let uncleanable_bytes = of_directory(
            "kafka_log_logcleanermanager_uncleanable_bytes",
            "Bytes of those partitions that should be compacted.",
        );
        let free_bytes = of_directory(
            "dohle_log_directory_free_bytes",
            "What may still be filled of the directory's file system.",
        );
        let since_last_run = collectors.looked_up_gauge(
            "kafka_log_logcleanermanager_time_since_last_run_ms".to_owned(),
            &[],
            "Milliseconds since compaction looked for work.",
        );
        Log {
            cleaner: Cleaner::new(collectors),
            flush: Spread::times(),
            flush_shown: collectors.spread(
                "kafka_log_logflushstats_logflushrateandtimems",
                &[],
                "How long a sync took, in milliseconds.",
            ),
            written_bytes: collectors.counter("dohle_log_written_bytes_total", "Bytes of batches written."),
            segments_rolled: collectors.counter("dohle_log_segments_rolled_total", "Segments begun."),
            segments_deleted: collectors.counter(
                "dohle_log_segments_deleted_total",
                "Segments removed by retention or by DeleteRecords.",
            ),
            recovery_cut_bytes: collectors.counter(
                "dohle_log_recovery_cut_bytes_total",
                "Bytes cut from the ends of logs by recovery.",
            ),
            offline_directories: collectors
                .gauge("kafka_log_logmanager_offlinelogdirectorycount", "Log directories out of use."),
            offline,
            total_bytes,
            free_bytes,
            uncleanable_partitions,
            uncleanable_bytes,
            since_last_run,
        }
    }

    pub(super) fn show(&self, page: &mut Page, directories: &[Directory]) {
        spread::show(page, &self.flush_shown, [(&[] as &[&str], &self.flush)]);
        let labels: Vec<[&str; 1]> = directories.iter().map(|directory| [directory.path.as_str()]).collect();
        let each = || labels.iter().map(<[&str; 1]>::as_slice).zip(directories);
        self.offline.show(page, each().map(|(labels, one)| (labels, number(u64::from(one.offline)))));
        let partitions = each().map(|(labels, one)| (labels, number(one.uncleanable.0)));
        self.uncleanable_partitions.show(page, partitions);
        let bytes = each().map(|(labels, one)| (labels, number(one.uncleanable.1)));
        self.uncleanable_bytes.show(page, bytes);
        if let Some(since) = directories.iter().find_map(|one| one.since_last_run_ms) {
            self.since_last_run.show_one(page, number(since));
        }
        let space = || each().filter_map(|(labels, one)| Some((labels, one.space?)));
        self.total_bytes.show(page, space().map(|(labels, (total, _))| (labels, number(total))));
        self.free_bytes.show(page, space().map(|(labels, (_, free))| (labels, number(free))));
    }
}
