//! Writing one marker: the end of a producer's transaction on one partition.
//!
//! A partition of an internal topic is written through its coordinator, which acts on the marker in the order of its
//! log: the offsets of a transaction count from then on.

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::errors::Refused;
use crate::coordinator::Ending;
use crate::groups;
use crate::record::control::EndTransaction;
use crate::replica;
use crate::replica::Acks;
use crate::replica::Origin;
use crate::txn;
use std::time::Duration;

/// How long a marker may take to be committed.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Writes a marker and waits until it is committed.
///
/// # Errors
/// Kafka's codes of WriteTxnMarkers. A coordinator that is not ready counts as a partition that is not led here: it is
/// to be tried again (`KafkaApis.handleWriteTxnMarkersRequest`).
pub(super) async fn write(
    broker: &Broker,
    topic: &str,
    index: PartitionIndex,
    ending: Ending,
) -> Result<(), ErrorCode> {
    if broker.publisher.current().partition(topic, index).is_none() {
        return Err(ErrorCode::UnknownTopicOrPartition);
    }
    let written = match topic {
        groups::service::TOPIC => broker.groups.end_transaction(index, ending).await,
        txn::TOPIC => broker.transactions.end_transaction(index, ending).await,
        _ => append(broker, topic, index, ending).await.map_err(|error| Refused::from(&error).code),
    };
    written.map_err(|error| match error {
        ErrorCode::CoordinatorNotAvailable
        | ErrorCode::CoordinatorLoadInProgress
        | ErrorCode::NotCoordinator => ErrorCode::NotLeaderOrFollower,
        other => other,
    })
}

async fn append(
    broker: &Broker,
    topic: &str,
    index: PartitionIndex,
    ending: Ending,
) -> Result<(), replica::Error> {
    let Ending { producer, epoch, committed, coordinator_epoch, proof } = ending;
    let partition = broker.replicas.by_name(topic, index)?;
    let marker = EndTransaction { committed, coordinator_epoch };
    let batch = marker.batch(producer, epoch, broker.clock.wall());
    let pending = partition.append_batch(batch, Acks::All, (Origin::Coordinator, proof), None)?;
    pending.done(broker.clock.now().plus(TIMEOUT)).await.map(|_| ())
}
