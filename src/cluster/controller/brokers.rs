//! Brokers come, are unfenced and go (`ClusterControlManager` of Kafka).

use super::Outcome;
use super::Refusal;
use super::command::RegisterBroker;
use super::partitions;
use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::cluster::image::Image;
use crate::cluster::records::BrokerRegistrationChangeRecord;
use crate::cluster::records::LEVEL_CORDONED;
use crate::cluster::records::METADATA_VERSION_LATEST;
use crate::cluster::records::Record;
use crate::cluster::records::RegisterBrokerRecord;
use crate::cluster::records::UnregisterBrokerRecord;
use uuid::Uuid;

/// Checks that a broker speaks for its current registration.
///
/// # Errors
/// `STALE_BROKER_EPOCH` when it is not registered, or with another epoch.
pub fn check_epoch(image: &Image, id: BrokerId, epoch: i64) -> Result<(), Refusal> {
    match image.broker(id) {
        None => Err(Refusal::new(
            ErrorCode::StaleBrokerEpoch,
            format!("No broker registration found for broker id {id}"),
        )),
        Some(broker) if broker.epoch != epoch => Err(Refusal::new(
            ErrorCode::StaleBrokerEpoch,
            format!("Expected broker epoch {epoch}, but got broker epoch {}", broker.epoch),
        )),
        Some(_) => Ok(()),
    }
}

/// Registers a broker; it is fenced until [`unfence`]. `epoch` is the offset its record will have; the answer
/// is that epoch.
///
/// # Errors
/// `UNSUPPORTED_VERSION` when a finalized feature is beyond what the broker announces.
pub fn register(image: &Image, broker: &RegisterBroker, epoch: i64) -> Result<Outcome<i64>, Refusal> {
    for (name, level) in image.features() {
        let able = broker.features.iter().find(|feature| &feature.name == name);
        if able.is_none_or(|feature| *level < feature.level_min || *level > feature.level_max) {
            let (min, max) = able.map_or((0, 0), |feature| (feature.level_min, feature.level_max));
            return Err(Refusal::new(
                ErrorCode::UnsupportedVersion,
                format!(
                    "Unable to register because the broker does not support finalized version {level} of {name}. \
                     The broker wants a version between {min} and {max}, inclusive."
                ),
            ));
        }
    }
    let record = RegisterBrokerRecord {
        broker_id: broker.id,
        is_migrating_zk_broker: false,
        incarnation_id: broker.incarnation_id,
        broker_epoch: epoch,
        end_points: broker.endpoints.clone(),
        features: broker.features.clone(),
        rack: broker.rack.clone(),
        fenced: true,
        in_controlled_shutdown: false,
        log_dirs: broker.log_dirs.clone(),
        cordoned_log_dirs: (image.metadata_version() >= METADATA_VERSION_LATEST).then(Vec::new),
    };
    Ok(Outcome { records: vec![record.into()], response: epoch })
}

/// Lets a registered broker lead, and gives it the partitions that wait for it. After an unclean stop the
/// partitions it led begin a new leader epoch: records that were acknowledged from memory may be gone, and only a
/// new epoch lets clients notice (KIP-320).
///
/// # Errors
/// As [`check_epoch`].
pub fn unfence(image: &Image, id: BrokerId, epoch: i64, unclean: bool) -> Result<Outcome<()>, Refusal> {
    check_epoch(image, id, epoch)?;
    let change = BrokerRegistrationChangeRecord {
        broker_id: id,
        broker_epoch: epoch,
        fenced: -1,
        in_controlled_shutdown: 0,
        log_dirs: Vec::new(),
        cordoned_log_dirs: None,
    };
    let mut records: Vec<Record> = vec![change.into()];
    records.extend(partitions::on_unfence(image, id, unclean));
    Ok(Outcome { records, response: () })
}

/// Keeps a broker from leading from now on: it is shutting down. Its partitions keep their leader, for there is no
/// other; whoever registers it next finds it gone and need not wait for its session to end.
///
/// # Errors
/// As [`check_epoch`].
pub fn fence(image: &Image, id: BrokerId, epoch: i64) -> Result<Outcome<()>, Refusal> {
    check_epoch(image, id, epoch)?;
    let change = BrokerRegistrationChangeRecord {
        broker_id: id,
        broker_epoch: epoch,
        fenced: 1,
        in_controlled_shutdown: 1,
        log_dirs: Vec::new(),
        cordoned_log_dirs: None,
    };
    Ok(Outcome { records: vec![change.into()], response: () })
}

/// Notes which of a broker's log directories get no new partitions (KIP-1066).
///
/// # Errors
/// As [`check_epoch`].
pub fn cordon(image: &Image, id: BrokerId, directories: Vec<Uuid>) -> Result<Outcome<()>, Refusal> {
    let Some(broker) = image.broker(id) else {
        return check_epoch(image, id, -1).map(|()| Outcome { records: Vec::new(), response: () });
    };
    if broker.cordoned_log_dirs == directories || image.metadata_version() < LEVEL_CORDONED {
        return Ok(Outcome { records: Vec::new(), response: () });
    }
    let change = BrokerRegistrationChangeRecord {
        broker_id: id,
        broker_epoch: broker.epoch,
        fenced: 0,
        in_controlled_shutdown: 0,
        log_dirs: Vec::new(),
        cordoned_log_dirs: Some(directories),
    };
    Ok(Outcome { records: vec![change.into()], response: () })
}

/// Takes a broker that is gone for good out of the cluster.
///
/// # Errors
/// `BROKER_ID_NOT_REGISTERED`; `INVALID_REQUEST` for the broker that is the whole cluster (Kafka would take it out and
/// be without any broker until it is started again).
pub fn unregister(image: &Image, own: BrokerId, id: BrokerId) -> Result<Outcome<()>, Refusal> {
    let Some(broker) = image.broker(id) else {
        let message = format!("Broker ID {id} is not currently registered");
        return Err(Refusal::new(ErrorCode::BrokerIdNotRegistered, message));
    };
    if id == own {
        let message = format!("Broker {id} is running and cannot be unregistered.");
        return Err(Refusal::new(ErrorCode::InvalidRequest, message));
    }
    let mut records = partitions::on_unregister(image, id);
    records.push(UnregisterBrokerRecord { broker_id: id, broker_epoch: broker.epoch }.into());
    Ok(Outcome { records, response: () })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::controller::features;

    fn broker(features: Vec<crate::cluster::records::SupportedFeature>) -> RegisterBroker {
        RegisterBroker {
            id: BrokerId(1),
            incarnation_id: Uuid::from_u128(7),
            endpoints: Vec::new(),
            features,
            rack: None,
            log_dirs: Vec::new(),
        }
    }

    #[test]
    fn a_broker_without_a_finalized_feature_is_refused() {
        let mut image = Image::empty("c");
        for record in features::initial() {
            image.apply(&record).unwrap();
        }
        let refused = register(&image, &broker(Vec::new()), 5).unwrap_err();
        assert_eq!(refused.code, ErrorCode::UnsupportedVersion);
        let outcome = register(&image, &broker(features::supported()), 5).unwrap();
        assert_eq!(outcome.response, 5);
        image.apply(&outcome.records[0]).unwrap();
        assert!(!image.is_active(BrokerId(1)));
        assert_eq!(check_epoch(&image, BrokerId(1), 4).unwrap_err().code, ErrorCode::StaleBrokerEpoch);
        assert_eq!(check_epoch(&image, BrokerId(2), 5).unwrap_err().code, ErrorCode::StaleBrokerEpoch);
        for record in unfence(&image, BrokerId(1), 5, false).unwrap().records {
            image.apply(&record).unwrap();
        }
        assert!(image.is_active(BrokerId(1)));
    }

    #[test]
    fn a_broker_that_is_gone_leaves_its_partitions_to_others() {
        use crate::base::PartitionIndex;
        use crate::cluster::controller::partitions::tests;
        let mut image = tests::image_of(|partition| {
            partition.leader = BrokerId(2);
            partition.isr = vec![BrokerId(1), BrokerId(2)];
        });
        let code =
            |image: &Image, id| unregister(image, BrokerId(1), BrokerId(id)).map_err(|refusal| refusal.code);
        assert_eq!(code(&image, 2), Err(ErrorCode::BrokerIdNotRegistered));
        tests::register(&mut image, BrokerId(1));
        tests::register(&mut image, BrokerId(2));
        assert_eq!(code(&image, 1), Err(ErrorCode::InvalidRequest));
        for record in code(&image, 2).unwrap().records {
            image.apply(&record).unwrap();
        }
        assert!(image.broker(BrokerId(2)).is_none());
        let partition = image.partition("t", PartitionIndex(0)).unwrap();
        assert_eq!((partition.leader, partition.isr.as_slice()), (BrokerId(1), [BrokerId(1)].as_slice()));
    }
}
