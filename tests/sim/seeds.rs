//! Seeds that found a fault once; they run on every change.

/// Past failures.
pub(crate) const PAST: &[u64] = &[134, 197, 317, 318, 546, 721];
