//! How many partitions one request may name.
//!
//! Each costs some hundred bytes while it is answered, and a frame of 100 MiB has room for millions. No client names
//! more than there are.

use crate::cluster::Image;

/// So many are always allowed.
const ALWAYS: usize = 16_384;

/// Whether a request names far more partitions than the cluster has.
pub(in crate::broker) fn too_many(image: &Image, named: usize) -> bool {
    if named <= ALWAYS {
        return false;
    }
    let there: usize = image.topics().map(|topic| topic.partitions.len()).sum();
    // Twice as many, for clients that still name what was deleted.
    named > there.saturating_mul(2)
}
