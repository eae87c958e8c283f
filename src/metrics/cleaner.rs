//! Measurements of compaction.

use crate::metrics::Counter;
use crate::metrics::Gauge;
use crate::metrics::registry::Collectors;

/// Handles of the measurements of compaction, of all threads together.
#[derive(Clone, Debug)]
pub struct Cleaner {
    max_dirty_percent: Gauge,
    /// What the last run wrote, in percent of what it read.
    pub recopy_percent: Gauge,
    /// How full the map of keys was in the last run.
    pub max_buffer_utilization_percent: Gauge,
    /// How long the last run took.
    pub max_clean_time_secs: Gauge,
    /// How long ago the log that has waited for longest was due by `max.compaction.lag.ms`.
    pub max_compaction_delay_secs: Gauge,
    /// Runs that ended well.
    pub runs: Counter,
    /// Bytes read, for the map of keys and for copying.
    pub read_bytes: Counter,
    /// Bytes written.
    pub written_bytes: Counter,
}

impl Cleaner {
    pub(super) fn new(collectors: &mut Collectors) -> Cleaner {
        Cleaner {
            max_dirty_percent: collectors.gauge(
                "kafka_log_logcleanermanager_max_dirty_percent",
                "Share of the dirtiest log that is not compacted, in percent.",
            ),
            recopy_percent: collectors.gauge(
                "kafka_log_logcleaner_cleaner_recopy_percent",
                "What the last compaction wrote, in percent of what it read.",
            ),
            max_buffer_utilization_percent: collectors.gauge(
                "kafka_log_logcleaner_max_buffer_utilization_percent",
                "How full the map of keys was in the last compaction, in percent.",
            ),
            max_clean_time_secs: collectors
                .gauge("kafka_log_logcleaner_max_clean_time_secs", "How long the last compaction took."),
            max_compaction_delay_secs: collectors.gauge(
                "kafka_log_logcleaner_max_compaction_delay_secs",
                "How long a log has been due by max.compaction.lag.ms.",
            ),
            runs: collectors.counter("dohle_log_compactions_total", "Compactions of a log that ended well."),
            read_bytes: collectors.counter(
                "dohle_log_compaction_read_bytes_total",
                "Bytes that compaction read, for the map of keys and for copying.",
            ),
            written_bytes: collectors
                .counter("dohle_log_compaction_written_bytes_total", "Bytes that compaction wrote."),
        }
    }

    /// The largest share of a log that is dirty, from 0 to 1.
    pub fn dirty_share(&self, share: f64) {
        let percent = (0..=100).rev().find(|percent| f64::from(*percent) <= share * 100.0);
        self.max_dirty_percent.set(percent.map_or(0, i64::from));
    }
}
