//! The features a new cluster begins with, and how their levels change (KIP-584).

use super::Outcome;
use super::Records;
use super::Refusal;
use super::Situation;
use super::command::FeatureUpdate;
use super::command::UpdateFeatures;
use super::eligible;
use super::eligible::ELIGIBLE_VERSION;
use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::cluster::image::Image;
use crate::cluster::image::METADATA_VERSION;
use crate::cluster::records::FeatureLevelRecord;
use crate::cluster::records::METADATA_VERSION_LATEST;
use crate::cluster::records::METADATA_VERSION_MINIMUM;
use crate::cluster::records::Record;
use crate::cluster::records::SupportedFeature;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The feature whose level says how transactions work: with 2 each end of a transaction gives a new epoch, and
/// partitions join by the first write (KIP-890).
pub const TRANSACTION_VERSION: &str = "transaction.version";
const TRANSACTION_VERSION_LATEST: i16 = 2;

/// The feature whose level says whether consumer groups of the newer protocol are there (KIP-848).
pub const GROUP_VERSION: &str = "group.version";
const GROUP_VERSION_LATEST: i16 = 1;
/// The feature whose level says whether groups of Kafka Streams applications are on (KIP-1071).
pub const STREAMS_VERSION: &str = "streams.version";
const STREAMS_VERSION_LATEST: i16 = 1;

/// The feature whose level says what share groups can do (KIP-932); from 2 on there are dead-letter topics (KIP-1191).
pub const SHARE_VERSION: &str = "share.version";
const SHARE_VERSION_LATEST: i16 = 2;

const ELIGIBLE_VERSION_LATEST: i16 = 1;

/// The features this version knows, from the lowest to the highest level it can work at. Grows with what is
/// built: clients switch code paths by them.
pub fn supported() -> Vec<SupportedFeature> {
    let feature =
        |name: &str, level_min, level_max| SupportedFeature { name: name.to_owned(), level_min, level_max };
    vec![
        feature(METADATA_VERSION, METADATA_VERSION_MINIMUM, METADATA_VERSION_LATEST),
        feature(ELIGIBLE_VERSION, 0, ELIGIBLE_VERSION_LATEST),
        feature(GROUP_VERSION, 0, GROUP_VERSION_LATEST),
        feature(SHARE_VERSION, 0, SHARE_VERSION_LATEST),
        feature(TRANSACTION_VERSION, 0, TRANSACTION_VERSION_LATEST),
        feature(STREAMS_VERSION, 0, STREAMS_VERSION_LATEST),
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

/// What may be done to a feature's level (Kafka's `FeatureUpdate.UpgradeType`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upgrade {
    /// Only raise it.
    Upgrade,
    /// Lower it where nothing is lost.
    SafeDowngrade,
    /// Lower it also where something is lost.
    UnsafeDowngrade,
}

impl Upgrade {
    /// The kind with Kafka's number.
    pub fn from_code(code: i8) -> Option<Upgrade> {
        match code {
            1 => Some(Upgrade::Upgrade),
            2 => Some(Upgrade::SafeDowngrade),
            3 => Some(Upgrade::UnsafeDowngrade),
            _ => None,
        }
    }
}

/// What Kafka 4.4 has beside the features here; level 0 is none of it.
const ELSEWHERE: [&str; 1] = ["kraft.version"];

/// Levels of `metadata.version` at which records got fields or types, so that going below one could lose something
/// (`MetadataVersion.didMetadataChange`).
const METADATA_CHANGED: [i16; 11] = [7, 8, 11, 13, 14, 15, 17, 23, 30, 32, 33];

/// Changes the levels of features, all or none (`FeatureControlManager` of Kafka).
///
/// # Errors
/// `INVALID_UPDATE_VERSION` for the first that cannot be.
pub fn update(situation: &Situation<'_>, command: &UpdateFeatures) -> Result<Outcome<()>, Refusal> {
    let (image, node) = (situation.image, situation.config.node_id);
    let mut records = Records::default();
    for update in &command.updates {
        check(image, node, update).map_err(|refusal| {
            let message = refusal.message.unwrap_or_default();
            let all = "The update failed for all features since the following feature had an error";
            Refusal::new(refusal.code, format!("{all}: {message}"))
        })?;
        let record = FeatureLevelRecord { name: update.name.clone(), feature_level: update.level };
        records.add(vec![record.into()])?;
        if update.name == ELIGIBLE_VERSION && update.level > 0 {
            records.add(eligible::safety_records(situation.config, image))?;
        }
    }
    Ok(records.into_outcome(command.validate_only, ()))
}

fn check(image: &Image, node: BrokerId, update: &FeatureUpdate) -> Result<(), Refusal> {
    let FeatureUpdate { name, level, upgrade } = update;
    let refuse = |reason: &str| {
        let message = format!("Invalid update version {level} for feature {name}. {reason}");
        Err(Refusal::new(ErrorCode::InvalidUpdateVersion, message))
    };
    let Some(upgrade) = Upgrade::from_code(*upgrade) else {
        return refuse("The controller does not support the given upgrade type.");
    };
    let metadata = name == METADATA_VERSION;
    let current =
        if metadata { image.metadata_version() } else { image.features().get(name).copied().unwrap_or(0) };
    if *level < 0 {
        return refuse("A feature version cannot be less than 0.");
    }
    if let Some(reason) = unsupported(image, node, update) {
        return refuse(&reason);
    }
    if !ELSEWHERE.contains(&name.as_str()) && !supported().iter().any(|feature| feature.name == *name) {
        return refuse(&format!("Feature {name} not found."));
    }
    match (level.cmp(&current), upgrade) {
        (Ordering::Less, Upgrade::Upgrade) => refuse(
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe \
             downgrade.",
        ),
        (Ordering::Greater, Upgrade::SafeDowngrade | Upgrade::UnsafeDowngrade) => {
            refuse("Can't downgrade to a newer version.")
        }
        (Ordering::Less, Upgrade::SafeDowngrade | Upgrade::UnsafeDowngrade) if metadata => {
            check_metadata_downgrade(current, *level, upgrade)
        }
        (Ordering::Less | Ordering::Equal | Ordering::Greater, _) => Ok(()),
    }
}

/// Why the level cannot be: this controller, or a registered broker, does not know it.
fn unsupported(image: &Image, node: BrokerId, update: &FeatureUpdate) -> Option<String> {
    let own = (format!("Local controller {node}"), supported());
    // What another Kafka finalized in this log may stay, but nothing here gives it a meaning.
    let brokers = image.brokers().map(|broker| (format!("Broker {}", broker.id), broker.features.clone()));
    for (who, features) in std::iter::once(own).chain(brokers) {
        let able = features.iter().find(|feature| feature.name == update.name);
        let (min, max) = able.map_or((0, 0), |feature| (feature.level_min, feature.level_max));
        if !(min..=max).contains(&update.level) {
            return Some(match (max, min == max) {
                (0, _) => format!("{who} does not support this feature."),
                (_, true) => format!("{who} only supports versions {min}"),
                (_, false) => format!("{who} only supports versions {min}-{max}"),
            });
        }
    }
    None
}

fn check_metadata_downgrade(from: i16, to: i16, upgrade: Upgrade) -> Result<(), Refusal> {
    if !METADATA_CHANGED.iter().any(|changed| (to + 1..=from).contains(changed)) {
        return Ok(());
    }
    let why = if upgrade == Upgrade::UnsafeDowngrade {
        "Unsafe metadata downgrade is not supported in this version."
    } else {
        "Refusing to perform the requested downgrade because it might delete metadata information."
    };
    let message = format!("Unsupported metadata.version downgrade from {from} to {to}. {why}");
    Err(Refusal::new(ErrorCode::InvalidUpdateVersion, message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServerConfig;
    use crate::io::random::Random;

    #[test]
    fn features_of_another_kafka_are_kept_but_not_its_metadata_version() {
        let finalized = BTreeMap::from([("group.version".to_owned(), 1), (METADATA_VERSION.to_owned(), 99)]);
        let announced = announced(&finalized);
        let level = |name: &str| announced.iter().find(|one| one.name == name).map(|one| one.level_max);
        assert_eq!(level("group.version"), Some(1));
        assert_eq!(level(METADATA_VERSION), Some(METADATA_VERSION_LATEST));
    }

    fn decide(image: &Image, name: &str, level: i16, upgrade: i8) -> Result<usize, String> {
        let updates = vec![FeatureUpdate { name: name.to_owned(), level, upgrade }];
        let config = ServerConfig::new(&BTreeMap::new(), "machine").unwrap();
        let mut random = Random::seeded(7);
        let situation = Situation { config: &config, image, random: &mut random, permit: None };
        let outcome = update(&situation, &UpdateFeatures { updates, validate_only: false });
        outcome.map(|outcome| outcome.records.len()).map_err(|refusal| {
            assert_eq!(refusal.code, ErrorCode::InvalidUpdateVersion);
            let message = refusal.message.unwrap();
            let all = "The update failed for all features since the following feature had an error: ";
            message.strip_prefix(all).unwrap().to_owned()
        })
    }

    #[test]
    fn levels_change_by_kafkas_rules_and_are_refused_in_its_words() {
        let mut image = Image::empty("c");
        for record in initial() {
            image.apply(&record).unwrap();
        }
        let check = |name: &str, level, upgrade, expect: &str| {
            assert_eq!(decide(&image, name, level, upgrade), Err(expect.to_owned()));
        };
        let txn = |rest: &str| format!("Invalid update version {rest}");
        let unknown = txn("1 for feature x. Local controller 1 does not support this feature.");
        check("x", 1, 1, &unknown);
        check("x", 0, 2, &txn("0 for feature x. Feature x not found."));
        let high = txn("9 for feature transaction.version. Local controller 1 only supports versions 0-2");
        check(TRANSACTION_VERSION, 9, 1, &high);
        let negative = txn("-1 for feature transaction.version. A feature version cannot be less than 0.");
        check(TRANSACTION_VERSION, -1, 1, &negative);
        let kind =
            txn("1 for feature transaction.version. The controller does not support the given upgrade type.");
        check(TRANSACTION_VERSION, 1, 7, &kind);
        assert!(
            decide(&image, TRANSACTION_VERSION, 1, 1).unwrap_err().contains("Can't downgrade the version")
        );
        assert_eq!(decide(&image, TRANSACTION_VERSION, 1, 2), Ok(1));
        let lossy = "Unsupported metadata.version downgrade from 33 to 32. Refusing to perform the \
                     requested downgrade because it might delete metadata information.";
        check(METADATA_VERSION, 32, 2, lossy);
        assert!(decide(&image, METADATA_VERSION, 32, 3).unwrap_err().contains("Unsafe metadata downgrade"));
        let old = FeatureLevelRecord { name: METADATA_VERSION.to_owned(), feature_level: 31 };
        image.apply(&old.into()).unwrap();
        assert_eq!(decide(&image, METADATA_VERSION, 33, 1), Ok(1));
        assert_eq!(decide(&image, METADATA_VERSION, 30, 2), Ok(1), "31 brought nothing that 30 cannot hold");
        assert!(decide(&image, METADATA_VERSION, 33, 2).unwrap_err().contains("Can't downgrade to a newer"));
    }
}
