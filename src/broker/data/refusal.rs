//! Why a partition's records were refused, in the words and places of Kafka's Produce answer.

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::data::produce::find;
use crate::broker::errors::Refused;
use crate::protocol::produce;
use crate::protocol::produce::RecordError;
use crate::record::Codec;
use crate::record::Header;
use crate::record::check;
use crate::replica;
use crate::replica::Partition;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// The first version whose clients know zstd (KIP-110).
const ZSTD_FROM: i16 = 7;

/// So many faults of records are told with the words of a refusal; all are in a list of their own.
const FAULTS_TOLD: usize = 3;

/// Why a partition's records were refused.
pub(super) struct Refusal {
    pub(super) refused: Refused,
    /// Whether the client gets the words. Kafka keeps them for itself but for records that break a topic's rules and for
    /// transactions that could not be verified (`LogAppendResult.hasCustomErrorMessage`).
    pub(super) told: bool,
    pub(super) record_errors: Vec<RecordError>,
    pub(super) log_start_offset: i64,
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Refusal {
        Refusal { refused, told: false, record_errors: Vec::new(), log_start_offset: -1 }
    }
}

/// A partition's refusal when the whole request is refused. `acks` is looked at last: a topic that is not there and
/// records that are no batch are told before it (`KafkaApis.handleProduceRequest`).
pub(super) fn of_all(
    broker: &Broker,
    context: &Context,
    (topic, index): (&produce::Topic, PartitionIndex),
    records: Option<&Bytes>,
    code: ErrorCode,
) -> Refusal {
    let version = context.version();
    let own = || -> Result<(), Refused> {
        find(broker, topic, index, version).map_err(|error| Refused::from(&error))?;
        check_form(records, version)
    };
    if code == ErrorCode::CorruptMessage {
        // Kafka looks at the first bytes of all batches before it knows whose they are.
        let message = "a record batch of the request has a length or a format that no batch has";
        return Refusal { told: true, ..Refused::new(code, message).into() };
    }
    let refused = match code {
        ErrorCode::InvalidRequiredAcks => own().err().unwrap_or_else(|| code.into()),
        _ => code.into(),
    };
    refused.into()
}

/// What Kafka looks at before anything else, a transaction for instance: that there is one batch of today's format, with
/// a codec that this version knows (`ProduceRequest.validateRecords`).
pub(super) fn check_form(records: Option<&Bytes>, version: i16) -> Result<(), Refused> {
    let bytes = records.map_or(&[] as &[u8], |bytes| bytes);
    check::one_batch(bytes).map_err(|error| Refused::from(&replica::Error::from(error)))?;
    check_codec(records, version)
}

/// Clients below a version do not know zstd, so nobody may write it with such a version.
pub(super) fn check_codec(records: Option<&Bytes>, version: i16) -> Result<(), Refused> {
    let zstd = records
        .and_then(|records| Header::parse(records))
        .is_some_and(|header| header.codec().is_ok_and(|codec| codec == Codec::Zstd));
    if version < ZSTD_FROM && zstd {
        let message =
            format!("Produce requests with version {version} are not allowed to use ZStandard compression");
        return Err(Refused::new(ErrorCode::UnsupportedCompressionType, message));
    }
    Ok(())
}

/// A partition's refusal in Kafka's terms: with the records at fault, where they are known (KIP-467), and with the log's
/// start where Kafka has looked at the log (`ReplicaManager.appendToLocalLog`).
pub(super) fn of_records(error: &replica::Error, partition: &Partition) -> Refusal {
    let mut refusal = Refusal::from(Refused::from(error));
    if has_seen_log(error) {
        refusal.log_start_offset = partition.log_start_offset().0;
    }
    if let replica::Error::Batch(batch @ check::Error::Rejected(_)) = error {
        refusal.told = true;
        refusal.refused.message = Some(rejection(batch));
        let fault = |fault: &crate::record::check::RecordFault| RecordError {
            batch_index: fault.index,
            message: Some(StrBytes::from_string(fault.fault.to_string())),
        };
        refusal.record_errors = batch.faults().iter().map(fault).collect();
    }
    refusal
}

/// What Kafka says of records that break their topic's rules (`LogValidator.processRecordErrors`).
fn rejection(error: &check::Error) -> String {
    if error.is_timestamp() {
        return "One or more records have been rejected due to invalid timestamp".to_owned();
    }
    let faults = error.faults();
    let first = faults.iter().take(FAULTS_TOLD);
    let first = first.map(|one| format!("RecordError(batchIndex={}, message='{}')", one.index, one.fault));
    format!(
        "One or more records have been rejected due to {} record errors in total, and only showing the first three \
         errors at most: [{}]",
        faults.len(),
        first.collect::<Vec<_>>().join(", ")
    )
}

fn has_seen_log(error: &replica::Error) -> bool {
    use check::Error as Batch;
    let known = matches!(
        Refused::from(error).code,
        ErrorCode::UnknownTopicOrPartition
            | ErrorCode::UnknownTopicId
            | ErrorCode::NotLeaderOrFollower
            | ErrorCode::MessageTooLarge
            | ErrorCode::RecordListTooLarge
            | ErrorCode::CorruptMessage
            | ErrorCode::KafkaStorageError
    );
    let at_the_door =
        matches!(error, replica::Error::Batch(Batch::NoBatch | Batch::SeveralBatches | Batch::OldFormat(_)));
    !known && !at_the_door
}
