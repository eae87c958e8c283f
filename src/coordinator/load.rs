//! Reading a partition's log into a machine.

use crate::base::Offset;
use crate::base::ProducerId;
use crate::coordinator::error::Error;
use crate::coordinator::journal::Journal;
use crate::coordinator::machine::Entry;
use crate::coordinator::machine::Machine;
use crate::coordinator::machine::Place;
use crate::io::task;
use crate::record::Header;
use crate::record::is_intact;
use crate::record::records_of;
use crate::record::walk;
use bytes::Bytes;

/// No batch of an internal topic that Kafka or this broker writes is larger than this when decompressed.
const DECOMPRESSED_MAX: usize = 256 << 20;
/// So many bytes of a key name its group in a log line.
const KEY_SHOWN: usize = 200;

/// Reads everything up to the end of the log, and tells the offset behind what was read: the next append's place, so
/// appends that an earlier leadership (or this one, before it failed) left under way are waited for. Records that mean nothing
/// here are logged and passed over, as Kafka does; a log that cannot be read, or a batch whose checksum does not fit,
/// is an error: what a group knew is not guessed.
pub async fn load<M: Machine, J: Journal>(
    mut machine: M,
    journal: &J,
    bytes_max: usize,
) -> Result<(M, Offset), Error> {
    let end = journal.settled().await?;
    let mut position = journal.start();
    while position < end {
        let bytes = journal.read(position, bytes_max).await?;
        let (read, next) = task::run_blocking(move || replay(machine, &bytes, position)).await;
        machine = read;
        if next <= position {
            tracing::error!(%position, %end, "log of a coordinator gives no more batches before its end");
            return Err(Error::NotAvailable);
        }
        position = next;
    }
    Ok((machine, position))
}

/// Applies the batches in `bytes` and tells the offset behind the last of them.
fn replay<M: Machine>(mut machine: M, bytes: &Bytes, mut position: Offset) -> (M, Offset) {
    for found in walk(bytes) {
        let Ok((at, header)) = found else { break };
        let Some(batch) = bytes.get(at..at.saturating_add(header.total_size())) else { break };
        if !is_intact(batch) {
            tracing::error!(offset = header.base_offset, "batch of a coordinator is damaged");
            break;
        }
        replay_batch(&mut machine, &header, &bytes.slice_ref(batch), position);
        position = Offset(header.last_offset().saturating_add(1));
    }
    (machine, position)
}

fn replay_batch<M: Machine>(machine: &mut M, header: &Header, batch: &Bytes, from: Offset) {
    let records = match records_of(batch, DECOMPRESSED_MAX) {
        Ok(records) => records,
        Err(error) => {
            tracing::error!(offset = header.base_offset, %error, "batch of a coordinator is unreadable");
            return;
        }
    };
    let producer = if header.is_transactional() { ProducerId(header.producer_id) } else { ProducerId::NONE };
    for record in records {
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                tracing::error!(offset = header.base_offset, %error, "records of a coordinator are unreadable");
                return;
            }
        };
        if record.offset < from {
            continue;
        }
        let Some(key) = record.key else { continue };
        if header.is_control() {
            if let Some(committed) = transaction_end(&key) {
                machine.end_transaction(producer, committed);
            }
            continue;
        }
        let place = Place { offset: record.offset, producer };
        let entry = Entry { key, value: record.value };
        match M::decode(&entry) {
            Ok(Some(fact)) => machine.apply(place, &fact),
            Ok(None) => tracing::debug!(offset = %record.offset, "record of another kind is passed over"),
            Err(error) => {
                let key = entry.key.slice(..entry.key.len().min(KEY_SHOWN));
                tracing::warn!(offset = %record.offset, ?key, error, "record is unreadable and passed over");
            }
        }
    }
}

/// The key of a control record: version, then type 0 for abort and 1 for commit; other types end nothing.
fn transaction_end(key: &Bytes) -> Option<bool> {
    match key.get(2..4)? {
        [0, 0] => Some(false),
        [0, 1] => Some(true),
        _ => None,
    }
}
