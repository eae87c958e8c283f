//! A partition as clients of one listener see it (`KRaftMetadataCache` of Kafka).

use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::cluster::Image;
use crate::cluster::Partition;

/// A partition with what of it can be reached through a listener.
pub(crate) struct View {
    /// Why there is no leader to talk to, or none.
    pub(crate) error: ErrorCode,
    /// The leader, or [`BrokerId::NONE`].
    pub(crate) leader: BrokerId,
    /// The replicas.
    pub(crate) replicas: Vec<BrokerId>,
    /// The replicas in sync.
    pub(crate) isr: Vec<BrokerId>,
    /// Replicas whose broker cannot be reached.
    pub(crate) offline: Vec<BrokerId>,
}

/// Which faults of a partition a request version can tell.
#[derive(Clone, Copy)]
pub(crate) struct Faults {
    /// Leave out replicas that cannot be reached, and say so (Metadata 0).
    pub(crate) unavailable_replicas: bool,
    /// Tell a leader without this listener from no leader (Metadata 6 and later).
    pub(crate) missing_listener: bool,
}

/// Looks at a partition through a listener.
pub(crate) fn view(image: &Image, partition: &Partition, listener: &str, faults: Faults) -> View {
    let reachable = |id: BrokerId| is_reachable(image, id, listener);
    let shown = |ids: &[BrokerId]| -> Vec<BrokerId> {
        ids.iter().copied().filter(|id| !faults.unavailable_replicas || reachable(*id)).collect()
    };
    let replicas = shown(&partition.replicas);
    let isr = shown(&partition.isr);
    let (error, leader) = if reachable(partition.leader) {
        let complete = replicas.len() == partition.replicas.len() && isr.len() == partition.isr.len();
        (if complete { ErrorCode::None } else { ErrorCode::ReplicaNotAvailable }, partition.leader)
    } else if image.broker(partition.leader).is_some() && faults.missing_listener {
        (ErrorCode::ListenerNotFound, BrokerId::NONE)
    } else {
        (ErrorCode::LeaderNotAvailable, BrokerId::NONE)
    };
    let offline = partition.replicas.iter().copied().filter(|id| !reachable(*id)).collect();
    View { error, leader, replicas, isr, offline }
}

/// Whether clients of this listener can talk to a broker: it is not fenced and has the listener.
fn is_reachable(image: &Image, id: BrokerId, listener: &str) -> bool {
    image.broker(id).is_some_and(|broker| !broker.fenced && broker.endpoint(listener).is_some())
}
