//! The features a new cluster begins with.

use crate::cluster::image::METADATA_VERSION;
use crate::cluster::records::FeatureLevelRecord;
use crate::cluster::records::METADATA_VERSION_LATEST;
use crate::cluster::records::METADATA_VERSION_MINIMUM;
use crate::cluster::records::Record;
use crate::cluster::records::SupportedFeature;
use std::collections::BTreeMap;

/// The feature whose level says how transactions work: with 2 each end of a transaction gives a new epoch, and
/// partitions join by the first write (KIP-890).
pub const TRANSACTION_VERSION: &str = "transaction.version";
const TRANSACTION_VERSION_LATEST: i16 = 2;

/// The features this version knows, from the lowest to the highest level it can work at. Grows with what is
/// built: clients switch code paths by them.
pub fn supported() -> Vec<SupportedFeature> {
    let feature =
        |name: &str, level_min, level_max| SupportedFeature { name: name.to_owned(), level_min, level_max };
    vec![
        feature(METADATA_VERSION, METADATA_VERSION_MINIMUM, METADATA_VERSION_LATEST),
        feature(TRANSACTION_VERSION, 0, TRANSACTION_VERSION_LATEST),
    ]
}

/// What this broker announces to a cluster with these finalized levels: what it supports, and beyond that the levels
/// that an Apache Kafka finalized in this log before us. Those stay for the way back, and are not offered to clients.
/// The level of `metadata.version` is never stretched: it says which records the log may hold.
pub fn announced(finalized: &BTreeMap<String, i16>) -> Vec<SupportedFeature> {
    let mut features = supported();
    for (name, level) in finalized.iter().filter(|(name, _)| *name != METADATA_VERSION) {
        match features.iter_mut().find(|feature| feature.name == **name) {
            Some(feature) => feature.level_max = feature.level_max.max(*level),
            None => features.push(SupportedFeature { name: name.clone(), level_min: 0, level_max: *level }),
        }
    }
    features
}

/// The levels that a new cluster finalizes: all at the highest this version knows.
pub fn initial() -> Vec<Record> {
    let level = |feature: SupportedFeature| {
        FeatureLevelRecord { name: feature.name, feature_level: feature.level_max }.into()
    };
    supported().into_iter().map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_of_another_kafka_are_kept_but_not_its_metadata_version() {
        let finalized = BTreeMap::from([("group.version".to_owned(), 1), (METADATA_VERSION.to_owned(), 99)]);
        let announced = announced(&finalized);
        let level = |name: &str| announced.iter().find(|one| one.name == name).map(|one| one.level_max);
        assert_eq!(level("group.version"), Some(1));
        assert_eq!(level(METADATA_VERSION), Some(METADATA_VERSION_LATEST));
    }
}
