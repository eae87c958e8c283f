//! What a client may do, as bits (KIP-430). Without an authorizer everything a resource knows is allowed.

/// "Not asked for" in answers.
pub(crate) const NOT_ASKED: i32 = i32::MIN;

/// Kafka's `AclOperation` numbers that a topic knows: read, write, create, delete, alter, describe, describe configs,
/// alter configs.
const TOPIC: [u32; 8] = [3, 4, 5, 6, 7, 8, 10, 11];
/// Those that the cluster knows: create, alter, describe, cluster action, describe configs, alter configs, idempotent
/// write.
const CLUSTER: [u32; 7] = [5, 7, 8, 9, 10, 11, 12];

/// All that may be done with a topic.
pub(crate) fn on_topic(asked: bool) -> i32 {
    bits(asked, &TOPIC)
}

/// All that may be done with the cluster.
pub(crate) fn on_cluster(asked: bool) -> i32 {
    bits(asked, &CLUSTER)
}

fn bits(asked: bool, operations: &[u32]) -> i32 {
    if !asked {
        return NOT_ASKED;
    }
    operations.iter().fold(0, |bits, operation| bits | (1 << operation))
}

#[cfg(test)]
mod tests {
    /// The numbers that Apache Kafka 4.4 answers.
    #[test]
    fn the_bits_are_kafkas() {
        assert_eq!(super::on_topic(true), 3576);
        assert_eq!(super::on_cluster(true), 8096);
        assert_eq!(super::on_topic(false), i32::MIN);
    }
}
