//! The hash that spreads groups and transactional ids over the partitions of their topics.

use crate::base::PartitionIndex;

/// The partition of a coordinator's topic that keeps a name: Java's hash of it over the number of partitions
/// (`GroupCoordinatorService.partitionFor`, `TransactionStateManager.partitionFor`).
pub fn coordinator_partition(name: &str, partitions: i32) -> PartitionIndex {
    PartitionIndex(java_hash(name).checked_abs().unwrap_or(0) % partitions.max(1))
}

/// Where a text is in a `java.util.HashMap` of up to twelve texts, which is gone through in this order.
pub fn java_map_place(text: &str) -> i32 {
    let hash = java_hash(text);
    let spread = hash ^ hash.wrapping_shr(16);
    spread & 15
}

/// `String.hashCode` of Java: over UTF-16 units, wrapping.
fn java_hash(text: &str) -> i32 {
    text.encode_utf16().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(i32::from(unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_where_java_puts_them() {
        let places =
            [("range", 9), ("roundrobin", 10), ("sticky", 8), ("cooperative-sticky", 15), ("other", 2)];
        for (text, place) in places {
            assert_eq!(java_map_place(text), place, "{text}");
        }
    }

    #[test]
    fn the_hash_is_javas() {
        let cases = [("", 0), ("a", 97), ("group", 98_629_247), ("polygenelubricants", i32::MIN)];
        for (text, hash) in cases {
            assert_eq!(java_hash(text), hash, "{text}");
        }
        // Letters outside the basic plane count as two units.
        assert_eq!(java_hash("\u{1F600}"), 0xD83D_i32 * 31 + 0xDE00);
        assert_eq!(coordinator_partition("polygenelubricants", 50), PartitionIndex(0));
        assert_eq!(coordinator_partition("a", 50), PartitionIndex(47));
    }
}
