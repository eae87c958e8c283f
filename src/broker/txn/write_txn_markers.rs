//! WriteTxnMarkers 1 and 2: another broker's coordinator, or an administrator who ends a hanging transaction, writes
//! markers here.

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::txn::marker;
use crate::coordinator::Ending;
use crate::protocol::Response;
use crate::protocol::supplement::write_txn_markers;
use crate::protocol::supplement::write_txn_markers::Marker;
use crate::protocol::supplement::write_txn_markers::Outcome;
use crate::replica::Proof;
use bytes::Bytes;

/// The version of transactions in which a marker's epoch is higher than that of the records (KIP-1228).
const GROWN_EPOCH_FROM: i8 = 2;

/// Answers a WriteTxnMarkers request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let markers = write_txn_markers::decode(&context.header, body)?;
    let mut outcomes = Vec::with_capacity(markers.len());
    for marker in &markers {
        let outcome = write(broker, marker).await;
        // Kafka answers for partitions, and names what they belong to: without one nothing is named.
        if !outcome.topics.is_empty() {
            outcomes.push(outcome);
        }
    }
    Ok(write_txn_markers::encode(&context.header, &outcomes)?)
}

async fn write(broker: &Broker, marker: &Marker) -> Outcome {
    let grew = marker.transaction_version >= GROWN_EPOCH_FROM;
    let ending = Ending {
        producer: ProducerId(marker.producer_id),
        epoch: ProducerEpoch(marker.producer_epoch),
        committed: marker.committed,
        coordinator_epoch: marker.coordinator_epoch,
        proof: if grew { Proof::GrownEpoch } else { Proof::None },
    };
    let mut topics = Vec::with_capacity(marker.topics.len());
    for (topic, indexes) in &marker.topics {
        let mut partitions = Vec::with_capacity(indexes.len());
        for index in indexes {
            let written = if marker.producer_id < 0 {
                // It would be a batch of no producer, and end nothing.
                Err(ErrorCode::InvalidProducerIdMapping)
            } else {
                marker::write(broker, topic, PartitionIndex(*index), ending).await
            };
            partitions.push((*index, written.err().unwrap_or(ErrorCode::None)));
        }
        if !partitions.is_empty() {
            topics.push((topic.clone(), partitions));
        }
    }
    Outcome { producer_id: marker.producer_id, topics }
}
