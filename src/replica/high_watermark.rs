//! How far a partition's records are held by every replica in sync: pure rules over the replicas' positions.

use crate::base::Offset;

/// The high watermark that follows from the positions, or `None` when it stays where it is
/// (`Partition.maybeIncrementLeaderHW` of Kafka).
///
/// `counted` are the log end offsets of the followers that count: those in sync, and those that are about to be.
/// With fewer replicas in sync than `min_isr` it does not move (KIP-966). It never goes back.
pub(crate) fn advanced(
    current: Offset,
    leader_end: Offset,
    counted: impl Iterator<Item = Offset>,
    isr_size: usize,
    min_isr: usize,
) -> Option<Offset> {
    if isr_size < min_isr {
        return None;
    }
    let least = counted.fold(leader_end, Offset::min);
    (least > current).then_some(least)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(current: i64, leader: i64, followers: &[i64], isr: usize, min_isr: usize) -> Option<i64> {
        let followers = followers.iter().map(|end| Offset(*end));
        advanced(Offset(current), Offset(leader), followers, isr, min_isr).map(|offset| offset.0)
    }

    #[test]
    fn a_leader_alone_in_sync_moves_it_to_its_own_end() {
        assert_eq!(check(3, 10, &[], 1, 1), Some(10));
        assert_eq!(check(10, 10, &[], 1, 1), None);
    }

    #[test]
    fn the_slowest_replica_in_sync_holds_it_back() {
        assert_eq!(check(3, 10, &[7, 9], 3, 2), Some(7));
        assert_eq!(check(3, 10, &[2, 9], 3, 2), None);
    }

    #[test]
    fn below_the_least_number_of_replicas_in_sync_it_does_not_move() {
        assert_eq!(check(3, 10, &[], 1, 2), None);
    }

    proptest! {
        #[test]
        fn it_never_goes_back_and_never_passes_a_replica(
            current in 0i64..100, leader in 0i64..100, followers in prop::collection::vec(0i64..100, 0..4)
        ) {
            if let Some(moved) = check(current, leader, &followers, followers.len() + 1, 1) {
                prop_assert!(moved > current && moved <= leader);
                prop_assert!(followers.iter().all(|end| moved <= *end));
            }
        }
    }
}
