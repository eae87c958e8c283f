//! Measurements of logs.

use crate::metrics::Counter;
use crate::metrics::Gauge;
use crate::metrics::Seconds;
use crate::metrics::registry::Collectors;

/// Handles of the logs' measurements.
#[derive(Clone, Debug)]
pub struct Log {
    /// How long a sync took.
    pub flush_seconds: Seconds,
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
}

impl Log {
    pub(super) fn new(collectors: &mut Collectors) -> Log {
        Log {
            flush_seconds: collectors
                .seconds("kafka_log_logflushstats_logflush_seconds", "How long a sync took.", &[])
                .with_label_values(&[] as &[&str]),
            written_bytes: collectors
                .counter("dohle_log_written_bytes_total", "Bytes of batches written since the start."),
            segments_rolled: collectors
                .counter("dohle_log_segments_rolled_total", "Segments begun since the start."),
            segments_deleted: collectors
                .counter("dohle_log_segments_deleted_total", "Segments removed since the start."),
            recovery_cut_bytes: collectors.counter(
                "dohle_log_recovery_cut_bytes_total",
                "Bytes cut from the ends of logs by recovery since the start.",
            ),
            offline_directories: collectors
                .gauge("kafka_log_logmanager_offlinelogdirectorycount", "Log directories out of use."),
        }
    }
}
