//! Distributions that cost two relaxed additions for each value.

use crate::metrics::definition::Definition;
use crate::metrics::family::Page;
use crate::metrics::family::number;
use crate::metrics::family::pairs;
use prometheus::proto;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Upper bounds of times, in microseconds: from 50 µs to 30 s.
const TIMES: &[u64] = &[
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    2_500_000, 5_000_000, 10_000_000, 30_000_000,
];
/// Upper bounds of sizes, in bytes: from 100 B to 100 MiB.
const SIZES: &[u64] =
    &[100, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864, 104_857_600];

/// A distribution. Clones share it.
#[derive(Clone, Debug)]
pub struct Spread {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    bounds: &'static [u64],
    /// How many units of a bound make one unit of what is shown.
    per_unit: f64,
    /// Values up to each bound and above the one before; the last one is without bound.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Spread {
    /// A distribution of times, shown in milliseconds.
    pub(super) fn times() -> Spread {
        Spread::new(TIMES, 1_000.0)
    }

    /// A distribution of sizes, shown in bytes.
    pub(super) fn sizes() -> Spread {
        Spread::new(SIZES, 1.0)
    }

    fn new(bounds: &'static [u64], per_unit: f64) -> Spread {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Spread { inner: Arc::new(Inner { bounds, per_unit, counts, sum: AtomicU64::new(0) }) }
    }

    /// Adds a time.
    pub fn took(&self, time: Duration) {
        self.add(u64::try_from(time.as_micros()).unwrap_or(u64::MAX));
    }

    /// Adds a size in bytes.
    pub fn sized(&self, bytes: usize) {
        self.add(u64::try_from(bytes).unwrap_or(u64::MAX));
    }

    fn add(&self, value: u64) {
        let place = self.inner.bounds.partition_point(|bound| *bound < value);
        if let Some(count) = self.inner.counts.get(place) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.inner.sum.fetch_add(value, Ordering::Relaxed);
    }

    /// How many values were added.
    pub fn count(&self) -> u64 {
        self.inner.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    fn metric(&self, definition: &Definition, labels: &[&str]) -> proto::Metric {
        let mut metric = proto::Metric::from_label(pairs(definition, labels));
        let mut histogram = proto::Histogram::default();
        let mut below = 0;
        let mut buckets = Vec::with_capacity(self.inner.bounds.len());
        let counts: Vec<u64> = self.inner.counts.iter().map(|count| count.load(Ordering::Relaxed)).collect();
        for (bound, count) in self.inner.bounds.iter().zip(&counts) {
            below += count;
            let mut bucket = proto::Bucket::default();
            bucket.set_upper_bound(number(*bound) / self.inner.per_unit);
            bucket.set_cumulative_count(below);
            buckets.push(bucket);
        }
        histogram.set_bucket(buckets);
        histogram.set_sample_count(counts.iter().sum());
        histogram.set_sample_sum(number(self.inner.sum.load(Ordering::Relaxed)) / self.inner.per_unit);
        metric.set_histogram(histogram);
        metric
    }
}

/// Adds distributions of one name to the page, each with its labels' values.
pub(super) fn show<'a>(
    page: &mut Page,
    definition: &Definition,
    spreads: impl IntoIterator<Item = (&'a [&'a str], &'a Spread)>,
) {
    let metrics = spreads.into_iter().map(|(labels, spread)| spread.metric(definition, labels)).collect();
    page.add(definition, metrics);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::definition::Kind;

    #[test]
    fn values_are_counted_below_their_bound_and_shown_in_milliseconds() {
        let spread = Spread::times();
        for micros in [50, 51, 2_000, 60_000_000] {
            spread.took(Duration::from_micros(micros));
        }
        let name = String::from("t");
        let definition = Definition { name, kind: Kind::Histogram, labels: &["request"], help: "T." };
        let mut page = Page::default();
        show(&mut page, &definition, [(&["Fetch"] as &[&str], &spread)]);
        let text = page.text();
        for line in [
            "# TYPE t histogram",
            "t_bucket{request=\"Fetch\",le=\"0.05\"} 1",
            "t_bucket{request=\"Fetch\",le=\"0.1\"} 2",
            "t_bucket{request=\"Fetch\",le=\"2.5\"} 3",
            "t_bucket{request=\"Fetch\",le=\"30000\"} 3",
            "t_bucket{request=\"Fetch\",le=\"+Inf\"} 4",
            "t_sum{request=\"Fetch\"} 60002.101",
            "t_count{request=\"Fetch\"} 4",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} is missing in\n{text}");
        }
    }

    #[test]
    fn no_value_has_no_place() {
        let spread = Spread::sizes();
        for bytes in [0, 100, 101, usize::MAX] {
            spread.sized(bytes);
        }
        assert_eq!(spread.count(), 4);
    }
}
