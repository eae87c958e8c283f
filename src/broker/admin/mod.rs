//! What administrators ask: topics, partitions, settings, directories, ACLs.

pub(super) mod acls;
pub(super) mod alter_configs;
pub(super) mod alter_partition_reassignments;
pub(super) mod alter_replica_log_dirs;
pub(super) mod client_quotas;
pub(super) mod create_partitions;
pub(super) mod create_topics;
pub(super) mod delete_topics;
pub(super) mod describe_configs;
pub(super) mod describe_log_dirs;
pub(super) mod describe_scram;
pub(super) mod elect_leaders;
pub(super) mod list_config_resources;
pub(super) mod list_partition_reassignments;
mod loggers;
pub(super) mod unregister_broker;
pub(super) mod update_features;

use crate::base::ErrorCode;
use crate::base::Offset;
use crate::broker::Broker;
use crate::broker::Refused;
use crate::cluster;
use std::time::Duration;

/// The shortest time-out that a change of the cluster gets. The controller answers within milliseconds; giving up
/// earlier would only hide from the client what became of its request.
const TIMEOUT_MIN_MS: i32 = 1000;

/// Waits until this broker has acted on the metadata up to `offset`: new partitions take records, deleted ones none.
pub(super) async fn until_usable(broker: &Broker, offset: Offset) {
    broker.replicas.applied(offset).await;
}

/// Waits for a change of the cluster's state and until this broker has acted on it, as long as the request allows.
async fn change<T>(
    broker: &Broker,
    timeout_ms: i32,
    asked: impl Future<Output = Result<cluster::Applied<T>, cluster::Error>>,
) -> Result<T, Refused> {
    let limit = Duration::from_millis(u64::from(timeout_ms.max(TIMEOUT_MIN_MS).unsigned_abs()));
    let whole = async {
        let applied = asked.await?;
        until_usable(broker, applied.offset).await;
        Ok(applied.value)
    };
    match broker.clock.timeout(limit, whole).await {
        Some(outcome) => outcome,
        None => Err(ErrorCode::RequestTimedOut.into()),
    }
}
