//! How many partitions, groups or other things one request may name.
//!
//! Each costs some hundred bytes while it is answered, and a frame of 100 MiB has room for millions. No client names
//! more than there are.

use crate::base::ErrorCode;
use crate::broker::errors::Refused;
use crate::cluster::Image;

/// So many are always allowed.
const ALWAYS: usize = 16_384;

/// So many groups, resources or transactional ids are always allowed.
const NAMES: usize = 262_144;

/// Whether a request names far more partitions than the cluster has.
pub(in crate::broker) fn too_many(image: &Image, named: usize) -> bool {
    if named <= ALWAYS {
        return false;
    }
    let there: usize = image.topics().map(|topic| topic.partitions.len()).sum();
    // Twice as many, for clients that still name what was deleted.
    named > there.saturating_mul(2)
}

/// Refuses a request that names far more partitions than the cluster has: its connection is closed.
pub(in crate::broker) fn check_partitions(image: &Image, named: usize) -> Result<(), Refused> {
    if too_many(image, named) {
        return Err(Refused::new(ErrorCode::InvalidRequest, format!("{named} partitions are too many")));
    }
    Ok(())
}

/// Refuses a request with more names than anybody needs: its connection is closed.
pub(in crate::broker) fn check_names(named: usize) -> Result<(), Refused> {
    if named > NAMES {
        return Err(Refused::new(ErrorCode::InvalidRequest, format!("{named} names are too many")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_may_name_twice_what_there_is_and_a_crowd_in_any_case() {
        let image = Image::empty("cluster");
        assert!(check_partitions(&image, ALWAYS).is_ok() && check_partitions(&image, ALWAYS + 1).is_err());
        assert!(check_names(NAMES).is_ok() && check_names(NAMES + 1).is_err());
    }
}
