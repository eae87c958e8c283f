//! Metadata records as the batches of a log or a snapshot.

use crate::base::BrokerId;
use crate::base::Timestamp;
use crate::cluster::controller::RECORDS_PER_COMMAND_MAX;
use crate::cluster::records::Record;
use crate::record::BatchBuilder;
use crate::record::CheckedBatch;
use crate::record::Codec;
use crate::record::control;

/// One batch of these records.
///
/// # Panics
/// Without a record: there is no such batch.
pub(super) fn of_records(records: &[Record], metadata_version: i16, now: Timestamp) -> CheckedBatch {
    let mut builder = BatchBuilder::new(Codec::None, now);
    for record in records {
        builder.push(None, Some(&record.encode(metadata_version)), &[], now);
    }
    builder.build()
}

/// Batches that keep each command's records together; small commands share one.
pub(super) fn of_entries(
    entries: Vec<Vec<Record>>,
    metadata_version: i16,
    now: Timestamp,
) -> Vec<CheckedBatch> {
    let mut batches = Vec::new();
    let mut pending: Vec<Record> = Vec::new();
    for entry in entries {
        if !pending.is_empty() && pending.len() + entry.len() > RECORDS_PER_COMMAND_MAX {
            batches.push(of_records(&pending, metadata_version, now));
            pending.clear();
        }
        pending.extend(entry);
    }
    if !pending.is_empty() {
        batches.push(of_records(&pending, metadata_version, now));
    }
    batches
}

/// The batch that a leader of the metadata log begins its epoch with.
pub(super) fn of_leader(node: BrokerId, now: Timestamp) -> CheckedBatch {
    control::leader_change(node, &[node], &[node], now)
}
