//! Reads batches of a metadata log or snapshot into an image.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::Timestamp;
use crate::base::TopicId;
use crate::cluster::Error;
use crate::cluster::image::Image;
use crate::cluster::records::Record;
use crate::record;
use bytes::Bytes;
use std::collections::BTreeSet;

/// The most bytes that one batch of metadata may have after decompression: far more than 10 000 records need.
const DECOMPRESSED_MAX: usize = 256 << 20;

/// An image being built from batches in their order.
#[derive(Debug)]
pub(super) struct Replay {
    /// Everything applied so far; its offset is the end of the last batch.
    pub(super) image: Image,
    /// The time of the last batch.
    pub(super) last_timestamp: Timestamp,
    /// Records of a transaction that has not ended (KIP-868).
    transaction: Option<Vec<(Offset, Record)>>,
    /// Whether the batches are a snapshot's: their offsets count from 0 and mean nothing.
    snapshot: bool,
}

impl Replay {
    /// Continues from an image.
    pub(super) fn of_log(image: Image) -> Replay {
        Replay { image, last_timestamp: Timestamp(0), transaction: None, snapshot: false }
    }

    /// Begins with nothing, to read a snapshot.
    pub(super) fn of_snapshot(cluster_id: &str) -> Replay {
        Replay { snapshot: true, ..Replay::of_log(Image::empty(cluster_id)) }
    }

    /// Whether a transaction was begun that has not ended.
    pub(super) fn in_transaction(&self) -> bool {
        self.transaction.is_some()
    }

    /// Applies whole batches; those before the image's end are passed over. Gives back how many bytes it used: an
    /// incomplete batch at the end is left.
    ///
    /// # Errors
    /// [`Error::Log`] for bytes that are no batches, [`Error::Record`], [`Error::Apply`].
    pub(super) fn batches(&mut self, bytes: &Bytes) -> Result<usize, Error> {
        let mut used = 0;
        for batch in record::walk(bytes) {
            let (position, header) = match batch {
                Ok(batch) => batch,
                Err(record::WalkError::Truncated { .. }) if used > 0 => break,
                Err(error) => return Err(Error::Log(error.to_string())),
            };
            let end = position.saturating_add(header.total_size());
            let batch = bytes.slice(position..end);
            if !record::is_intact(&batch) {
                return Err(Error::Log(format!("batch at offset {} is damaged", header.base_offset)));
            }
            self.batch(&header, &batch)?;
            used = end;
        }
        Ok(used)
    }

    fn batch(&mut self, header: &record::Header, batch: &Bytes) -> Result<(), Error> {
        let end = Offset(header.last_offset().saturating_add(1));
        if !self.snapshot && end <= self.image.offset {
            return Ok(());
        }
        if !header.is_control() {
            let damaged = |error: record::records::Error| {
                Error::Log(format!("batch at offset {}: {error}", header.base_offset))
            };
            for one in record::records_of(batch, DECOMPRESSED_MAX).map_err(damaged)? {
                let one = one.map_err(damaged)?;
                if self.snapshot || one.offset >= self.image.offset {
                    self.value(one.offset, one.value.as_deref().unwrap_or_default())?;
                }
            }
        }
        self.last_timestamp = Timestamp(header.max_timestamp);
        if !self.snapshot {
            self.image.advance(end, LeaderEpoch(header.leader_epoch));
        }
        Ok(())
    }

    fn value(&mut self, offset: Offset, value: &[u8]) -> Result<(), Error> {
        let record = Record::decode(value).map_err(|error| Error::Record { offset, error })?;
        match (record, &mut self.transaction) {
            (Record::BeginTransaction(_), transaction) => *transaction = Some(Vec::new()),
            (Record::AbortTransaction(_), transaction) => *transaction = None,
            (Record::EndTransaction(_), transaction) => {
                for (offset, record) in transaction.take().unwrap_or_default() {
                    self.apply(offset, &record)?;
                }
            }
            (record, Some(pending)) => pending.push((offset, record)),
            (record, None) => self.apply(offset, &record)?,
        }
        Ok(())
    }

    fn apply(&mut self, offset: Offset, record: &Record) -> Result<(), Error> {
        self.image.apply(record).map_err(|error| Error::Apply { offset, error })
    }
}

/// Adds the topics whose removal is among these batches; the offset behind the last whole batch.
///
/// # Errors
/// As [`Replay::batches`].
pub(super) fn removals(bytes: &Bytes, into: &mut BTreeSet<TopicId>) -> Result<Option<Offset>, Error> {
    let mut end = None;
    for batch in record::walk(bytes) {
        let Ok((position, header)) = batch else { break };
        let batch = bytes.slice(position..position.saturating_add(header.total_size()));
        let damaged = |error: record::records::Error| {
            Error::Log(format!("batch at offset {}: {error}", header.base_offset))
        };
        end = Some(Offset(header.last_offset().saturating_add(1)));
        if header.is_control() {
            continue;
        }
        for one in record::records_of(&batch, DECOMPRESSED_MAX).map_err(damaged)? {
            let one = one.map_err(damaged)?;
            let record = Record::decode(one.value.as_deref().unwrap_or_default())
                .map_err(|error| Error::Record { offset: one.offset, error })?;
            if let Record::RemoveTopic(removed) = record {
                into.insert(removed.topic_id);
            }
        }
    }
    Ok(end)
}
