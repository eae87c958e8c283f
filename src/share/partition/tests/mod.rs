//! A share-partition in cases, and beside a plain model of records.

mod cases;
mod model;

use super::Acquire;
use super::Acquired;
use super::Found;
use super::Partition;
use super::Rules;
use crate::base::Instant;
use std::sync::Arc;

const RULES: Rules = Rules { delivery_limit: 5, locks_max: 2000, renews: true, dead_letters: false };

fn member(name: &str) -> Arc<str> {
    Arc::from(name)
}

/// Batches that lie one behind the other from `first` on, with so many records each.
fn batches(mut first: i64, sizes: &[i64]) -> Vec<Found> {
    let batch = |size: &i64| {
        let found = Found { first, end: first + size, aborted: false };
        first = found.end;
        found
    };
    sizes.iter().map(batch).collect()
}

fn wants(name: &str, records_max: i64, from: i64) -> Acquire {
    let (member, lock) = (member(name), Instant(1_000));
    Acquire { member, records_max, batch_size: records_max, exact: false, from, lock }
}

fn ranges(acquired: &[Acquired]) -> Vec<(i64, i64, i16)> {
    acquired.iter().map(|one| (one.first, one.end, one.count)).collect()
}

fn empty() -> Partition {
    Partition::load(0, &[]).unwrap().0
}
