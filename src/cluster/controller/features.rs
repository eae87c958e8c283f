//! The features a new cluster begins with.

use crate::cluster::image::METADATA_VERSION;
use crate::cluster::records::BeginTransactionRecord;
use crate::cluster::records::EndTransactionRecord;
use crate::cluster::records::FeatureLevelRecord;
use crate::cluster::records::METADATA_VERSION_LATEST;
use crate::cluster::records::METADATA_VERSION_MINIMUM;
use crate::cluster::records::Record;
use crate::cluster::records::SupportedFeature;

/// The features this version knows, from the lowest to the highest level it can work at. Grows with what is
/// built: clients switch code paths by them.
pub fn supported() -> Vec<SupportedFeature> {
    let feature =
        |name: &str, level_min, level_max| SupportedFeature { name: name.to_owned(), level_min, level_max };
    vec![feature(METADATA_VERSION, METADATA_VERSION_MINIMUM, METADATA_VERSION_LATEST)]
}

/// The levels that a new cluster finalizes: all at the highest this version knows.
pub fn initial() -> Vec<Record> {
    let level = |feature: SupportedFeature| {
        FeatureLevelRecord { name: feature.name, feature_level: feature.level_max }.into()
    };
    supported().into_iter().map(level).collect()
}

/// The first records of a new cluster's log, together or not at all (KIP-868).
pub fn bootstrap() -> Vec<Record> {
    let mut records: Vec<Record> =
        vec![BeginTransactionRecord { name: Some("Bootstrap records".to_owned()) }.into()];
    records.extend(initial());
    records.push(EndTransactionRecord {}.into());
    records
}
