//! ACLs, credentials, delegation tokens and quotas: kept whole, so that a log that has them loses none.

use crate::cluster::records::AccessControlEntryRecord;
use crate::cluster::records::ClientQuotaRecord;
use crate::cluster::records::DelegationTokenRecord;
use crate::cluster::records::UserScramCredentialRecord;
use std::collections::BTreeMap;
use uuid::Uuid;

/// An entity's parts, sorted, as (type, name).
type Entity = Vec<(String, Option<String>)>;

/// Who may do what, and how fast.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Security {
    /// ACLs by id.
    pub acls: BTreeMap<Uuid, AccessControlEntryRecord>,
    /// SCRAM credentials by user and mechanism.
    pub scram: BTreeMap<(String, i8), UserScramCredentialRecord>,
    /// Delegation tokens by id.
    pub tokens: BTreeMap<String, DelegationTokenRecord>,
    /// Quotas by entity and key.
    pub quotas: BTreeMap<(Entity, String), ClientQuotaRecord>,
}

impl Security {
    pub(super) fn set_quota(&mut self, record: &ClientQuotaRecord) {
        let mut entity: Entity = Vec::with_capacity(record.entity.len());
        for part in &record.entity {
            entity.push((part.entity_type.clone(), part.entity_name.clone()));
        }
        entity.sort();
        let key = (entity, record.key.clone());
        if record.remove {
            self.quotas.remove(&key);
        } else {
            self.quotas.insert(key, record.clone());
        }
    }
}
