//! The APIs of transactions: from wire types to the verbs of [`crate::txn::Service`], and the writing of markers.

pub(crate) mod add_offsets_to_txn;
pub(crate) mod add_partitions_to_txn;
pub(crate) mod describe_transactions;
pub(crate) mod end_txn;
pub(crate) mod init_producer_id;
pub(crate) mod list_transactions;
mod marker;
mod marking;
pub(crate) mod txn_offset_commit;
pub(crate) mod verification;
pub(crate) mod write_txn_markers;

pub use marking::Marking;

use crate::base::ErrorCode;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::txn::command::Producer;

/// The first versions of AddPartitionsToTxn, AddOffsetsToTxn and EndTxn whose clients know PRODUCER_FENCED.
const FENCED_FROM: i16 = 2;

fn producer(id: i64, epoch: i16) -> Producer {
    Producer { id: ProducerId(id), epoch: ProducerEpoch(epoch) }
}

/// Older clients learn that they are fenced by another code.
fn known_code(error: ErrorCode, version: i16, fenced_from: i16) -> ErrorCode {
    match error {
        ErrorCode::ProducerFenced if version < fenced_from => ErrorCode::InvalidProducerEpoch,
        other => other,
    }
}
