//! Registered brokers.

use crate::base::BrokerId;
use crate::cluster::records::BrokerRegistrationChangeRecord;
use crate::cluster::records::Endpoint;
use crate::cluster::records::RegisterBrokerRecord;
use crate::cluster::records::SupportedFeature;
use uuid::Uuid;

/// A broker as it registered, with the changes since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broker {
    /// Its id.
    pub id: BrokerId,
    /// The offset of its registration: grows with each start.
    pub epoch: i64,
    /// Its process: another one after each start.
    pub incarnation_id: Uuid,
    /// Where clients and brokers reach it, one for each listener.
    pub endpoints: Vec<Endpoint>,
    /// What it can do.
    pub features: Vec<SupportedFeature>,
    /// Its rack.
    pub rack: Option<String>,
    /// Whether it may not lead.
    pub fenced: bool,
    /// Whether it is shutting down.
    pub in_controlled_shutdown: bool,
    /// Its log directories.
    pub log_dirs: Vec<Uuid>,
    /// Directories that take no new partitions.
    pub cordoned_log_dirs: Vec<Uuid>,
}

impl Broker {
    /// Where it is reached through this listener.
    pub fn endpoint(&self, listener: &str) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.name == listener)
    }

    pub(super) fn from_record(record: &RegisterBrokerRecord) -> Broker {
        Broker {
            id: record.broker_id,
            epoch: record.broker_epoch,
            incarnation_id: record.incarnation_id,
            endpoints: record.end_points.clone(),
            features: record.features.clone(),
            rack: record.rack.clone(),
            fenced: record.fenced,
            in_controlled_shutdown: record.in_controlled_shutdown,
            log_dirs: record.log_dirs.clone(),
            cordoned_log_dirs: record.cordoned_log_dirs.clone().unwrap_or_default(),
        }
    }

    pub(in crate::cluster) fn to_record(&self) -> RegisterBrokerRecord {
        RegisterBrokerRecord {
            broker_id: self.id,
            is_migrating_zk_broker: false,
            incarnation_id: self.incarnation_id,
            broker_epoch: self.epoch,
            end_points: self.endpoints.clone(),
            features: self.features.clone(),
            rack: self.rack.clone(),
            fenced: self.fenced,
            in_controlled_shutdown: self.in_controlled_shutdown,
            log_dirs: self.log_dirs.clone(),
            cordoned_log_dirs: (!self.cordoned_log_dirs.is_empty()).then(|| self.cordoned_log_dirs.clone()),
        }
    }

    pub(super) fn merge(&mut self, change: &BrokerRegistrationChangeRecord) {
        match change.fenced {
            1 => self.fenced = true,
            -1 => self.fenced = false,
            _ => {}
        }
        if change.in_controlled_shutdown == 1 {
            self.in_controlled_shutdown = true;
        }
        if !change.log_dirs.is_empty() {
            self.log_dirs.clone_from(&change.log_dirs);
        }
        if let Some(cordoned) = &change.cordoned_log_dirs {
            self.cordoned_log_dirs.clone_from(cordoned);
        }
    }
}
