//! WriteTxnMarkers 1 and 2; version 2 tells the version of transactions (KIP-1228).

use crate::base::ErrorCode;
use crate::protocol::codec;
use crate::protocol::error::Error;
use crate::protocol::header::RequestHeader;
use crate::protocol::response::Response;
use crate::protocol::wire::Reader;
use crate::protocol::wire::Writer;
use bytes::Bytes;
use kafka_protocol::protocol::StrBytes;

/// The end of one producer's transaction on some partitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The producer's id.
    pub producer_id: i64,
    /// The producer's epoch.
    pub producer_epoch: i16,
    /// Whether the records count.
    pub committed: bool,
    /// The partitions by topic.
    pub topics: Vec<(StrBytes, Vec<i32>)>,
    /// The epoch of the coordinator that says so.
    pub coordinator_epoch: i32,
    /// The version of transactions that the producer follows; 0 before version 2.
    pub transaction_version: i8,
}

/// Decodes a request.
///
/// # Errors
/// When the bytes are no WriteTxnMarkers request of this version.
pub fn decode(header: &RequestHeader, body: Bytes) -> Result<Vec<Marker>, Error> {
    let mut reader = codec::reader(header, body)?;
    let count = reader.count(17, "Markers")?;
    let mut markers = Vec::with_capacity(count);
    for _ in 0..count {
        markers.push(marker(&mut reader, header.api_version)?);
    }
    reader.skip_tags()?;
    Ok(markers)
}

fn marker(reader: &mut Reader, version: i16) -> Result<Marker, Error> {
    let mut marker = Marker {
        producer_id: reader.i64("ProducerId")?,
        producer_epoch: reader.i16("ProducerEpoch")?,
        committed: reader.bool("TransactionResult")?,
        topics: Vec::new(),
        coordinator_epoch: 0,
        transaction_version: 0,
    };
    let count = reader.count(3, "Topics")?;
    marker.topics.reserve_exact(count);
    for _ in 0..count {
        let name = reader.string("Name")?;
        let partitions = reader.i32_array("PartitionIndexes")?;
        reader.skip_tags()?;
        marker.topics.push((name, partitions));
    }
    marker.coordinator_epoch = reader.i32("CoordinatorEpoch")?;
    if version >= 2 {
        marker.transaction_version = reader.i8("TransactionVersion")?;
    }
    reader.skip_tags()?;
    Ok(marker)
}

/// What became of one marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The producer's id.
    pub producer_id: i64,
    /// By topic: each partition with what happened.
    pub topics: Vec<(StrBytes, Vec<(i32, ErrorCode)>)>,
}

/// Encodes an answer.
///
/// # Errors
/// [`Error::Encode`] when it is larger than a frame can be.
pub fn encode(header: &RequestHeader, outcomes: &[Outcome]) -> Result<Response, Error> {
    let mut writer = Writer::response(header, 64);
    writer.count(outcomes.len());
    for outcome in outcomes {
        writer.i64(outcome.producer_id);
        writer.count(outcome.topics.len());
        for (name, partitions) in &outcome.topics {
            writer.string(name);
            writer.count(partitions.len());
            for (index, error) in partitions {
                writer.i32(*index);
                writer.i16(error.code());
                writer.no_tags();
            }
            writer.no_tags();
        }
        writer.no_tags();
    }
    writer.no_tags();
    writer.finish()
}
