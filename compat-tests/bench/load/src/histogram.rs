//! Durations counted in buckets that are at most 1 % wide.

const FINE: u32 = 7;

/// Counts nanoseconds; merging adds.
#[derive(Clone, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    most: u64,
}

fn bucket(ns: u64) -> usize {
    let shift = (64 - ns.leading_zeros()).saturating_sub(FINE + 1);
    ((shift as usize) << FINE) + (ns >> shift) as usize
}

fn upper(bucket: usize) -> u64 {
    let per = 1usize << FINE;
    if bucket < 2 * per {
        return bucket as u64;
    }
    let shift = bucket / per - 1;
    ((bucket - shift * per + 1) as u64) << shift
}

impl Histogram {
    pub fn add(&mut self, ns: u64) {
        let at = bucket(ns);
        if at >= self.counts.len() {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        self.total += 1;
        self.most = self.most.max(ns);
    }

    pub fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.most = self.most.max(other.most);
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// The least duration that `share` of all do not exceed, in milliseconds.
    pub fn at_ms(&self, share: f64) -> f64 {
        let wanted = (self.total as f64 * share).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (at, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return upper(at).min(self.most) as f64 / 1e6;
            }
        }
        self.most as f64 / 1e6
    }

    /// Percentiles as members of a JSON object, each name behind `prefix`.
    pub fn json(&self, prefix: &str) -> String {
        let of = |name: &str, share: f64| format!("\"{prefix}{name}\":{:.4}", self.at_ms(share));
        [of("p50", 0.5), of("p99", 0.99), of("p999", 0.999), of("p9999", 0.9999), of("max", 1.0)].join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::{Histogram, bucket, upper};

    #[test]
    fn a_bucket_holds_its_durations_within_one_percent() {
        for ns in (0..5_000).chain((1..60).map(|bits| (1u64 << bits) + 12_345)) {
            let end = upper(bucket(ns));
            assert!(end >= ns && end - ns <= ns / 100 + 1, "{ns} {end}");
        }
    }

    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        let mut counted = Histogram::default();
        (1..=10_000u64).for_each(|n| counted.add(n * 1_000));
        assert!((counted.at_ms(0.5) - 5.0).abs() < 0.05);
        assert!((counted.at_ms(0.99) - 9.9).abs() < 0.1);
        assert_eq!(counted.at_ms(1.0), 10.0);
    }
}
