//! A member of a classic group.

use crate::coordinator::Ticket;
use crate::groups::command::Protocol;
use crate::groups::record::MemberValue;
use bytes::Bytes;
use std::sync::Arc;

/// A member with its properties and, while it waits, the tickets of its requests.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) id: Arc<str>,
    pub(crate) instance_id: Option<Arc<str>>,
    pub(crate) client_id: Arc<str>,
    pub(crate) client_host: Arc<str>,
    pub(crate) rebalance_timeout_ms: i32,
    pub(crate) session_timeout_ms: i32,
    pub(crate) protocols: Arc<[Protocol]>,
    pub(crate) assignment: Bytes,
    /// Has joined for the first time and does not know its id yet, so its heartbeats cannot be expected.
    pub(crate) is_new: bool,
    pub(crate) join: Option<Ticket>,
    pub(crate) sync: Option<Ticket>,
}

/// What a member takes beside its texts and blobs, about: itself, its place in the group, its timer.
pub(crate) const MEMBER_BYTES: usize = 512;

impl Member {
    /// The memory it takes, about.
    pub(crate) fn bytes(&self) -> usize {
        let instance_id = self.instance_id.as_ref().map_or(0, |id| id.len());
        let texts = self.id.len() + instance_id + self.client_id.len() + self.client_host.len();
        MEMBER_BYTES + texts + protocols_bytes(&self.protocols) + self.assignment.len()
    }

    pub(crate) fn metadata(&self, protocol: &str) -> Option<&Bytes> {
        self.protocols.iter().find(|own| &*own.name == protocol).map(|own| &own.metadata)
    }

    pub(crate) fn supports(&self, protocol: &str) -> bool {
        self.metadata(protocol).is_some()
    }

    /// Whether a passed session deadline does not count against the member: while a request of its waits here,
    /// the client cannot send heartbeats on that connection.
    pub(crate) fn is_excused(&self) -> bool {
        !self.is_new && (self.join.is_some() || self.sync.is_some())
    }

    pub(crate) fn to_value(&self, protocol: Option<&str>) -> MemberValue {
        let subscription = protocol.and_then(|name| self.metadata(name)).cloned().unwrap_or_default();
        MemberValue {
            id: self.id.clone(),
            instance_id: self.instance_id.clone(),
            client_id: self.client_id.clone(),
            client_host: self.client_host.clone(),
            rebalance_timeout_ms: self.rebalance_timeout_ms,
            session_timeout_ms: self.session_timeout_ms,
            subscription,
            assignment: self.assignment.clone(),
        }
    }

    /// A stored member knows only the protocol that was chosen.
    pub(crate) fn from_value(value: &MemberValue, protocol: &Arc<str>) -> Member {
        let rebalance_timeout_ms = if value.rebalance_timeout_ms == -1 {
            value.session_timeout_ms
        } else {
            value.rebalance_timeout_ms
        };
        let protocols = [Protocol { name: protocol.clone(), metadata: value.subscription.clone() }];
        Member {
            id: value.id.clone(),
            instance_id: value.instance_id.clone(),
            client_id: value.client_id.clone(),
            client_host: value.client_host.clone(),
            rebalance_timeout_ms,
            session_timeout_ms: value.session_timeout_ms,
            protocols: Arc::from(protocols),
            assignment: value.assignment.clone(),
            is_new: false,
            join: None,
            sync: None,
        }
    }
}

/// The memory that protocols take, about.
pub(crate) fn protocols_bytes(protocols: &[Protocol]) -> usize {
    protocols
        .iter()
        .map(|protocol| size_of::<Protocol>() + protocol.name.len() + protocol.metadata.len())
        .sum()
}
