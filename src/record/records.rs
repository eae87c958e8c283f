//! The records inside a batch. [`RawRecords`] borrows and serves the check; [`records`] serves everybody else.
//!
//! Headers keep their order, their repeats, and the difference between null and empty.

use crate::base::Offset;
use crate::base::Timestamp;
use crate::config::TimestampType;
use crate::record::batch::Header;
use crate::record::codec;
use crate::record::codec::Codec;
use crate::record::layout::HEADER_SIZE;
use crate::record::varint::Cursor;
use bytes::Bytes;
use thiserror::Error;

/// Why the records of a batch cannot be read.
#[derive(Debug, Error)]
pub enum Error {
    /// The bytes are not one whole batch.
    #[error("not one whole batch")]
    NotOneBatch,
    /// The codec's number means nothing.
    #[error(transparent)]
    UnknownCodec(#[from] codec::UnknownCodec),
    /// The compressed bytes cannot be opened.
    #[error(transparent)]
    Compressed(#[from] codec::Error),
    /// The header claims a negative number of records.
    #[error("record count {0}")]
    Count(i32),
    /// A record's fields do not fill exactly the bytes it claims.
    #[error("record {index} is malformed")]
    Malformed {
        /// The record's place in the batch, from 0.
        index: usize,
    },
    /// There are fewer records than the header claims.
    #[error("{present} of {claimed} records")]
    Missing {
        /// Records that are there.
        present: usize,
        /// Records the header claims.
        claimed: usize,
    },
    /// There are bytes behind the last record the header claims.
    #[error("{bytes} bytes behind the last record")]
    Surplus {
        /// How many bytes.
        bytes: usize,
    },
}

/// A record as it lies in the batch. It was checked that its fields fill exactly its length.
#[derive(Clone, Copy, Debug)]
pub struct RawRecord<'a> {
    /// Unused by Kafka.
    pub attributes: u8,
    /// Milliseconds after the batch's base timestamp.
    pub timestamp_delta: i64,
    /// Offsets after the batch's base offset.
    pub offset_delta: i32,
    /// The key; null and empty differ.
    pub key: Option<&'a [u8]>,
    /// The value; null is a tombstone.
    pub value: Option<&'a [u8]>,
    /// How many headers.
    pub header_count: usize,
    /// The headers' bytes, behind their count.
    pub headers: &'a [u8],
    /// Everything from the key's length on.
    pub payload: &'a [u8],
    /// The whole record, its length included.
    pub bytes: &'a [u8],
}

impl<'a> RawRecord<'a> {
    /// The headers in their order.
    pub fn headers(&self) -> impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)> + use<'a> {
        let mut cursor = Cursor::new(self.headers);
        (0..self.header_count).map_while(move |_| {
            let key = cursor.nullable_bytes()??;
            Some((key, cursor.nullable_bytes()?))
        })
    }
}

/// Borrowed records of a decompressed batch body; as many as the header claims, or an error.
#[derive(Clone, Debug)]
pub struct RawRecords<'a> {
    cursor: Cursor<'a>,
    index: usize,
    claimed: usize,
    ended: bool,
}

impl<'a> RawRecords<'a> {
    /// The records in `body`, the decompressed bytes behind a header that claims `count` records.
    ///
    /// # Errors
    /// [`Error::Count`] when the count is negative.
    pub fn new(body: &'a [u8], count: i32) -> Result<RawRecords<'a>, Error> {
        let claimed = usize::try_from(count).map_err(|_| Error::Count(count))?;
        Ok(RawRecords { cursor: Cursor::new(body), index: 0, claimed, ended: false })
    }

    #[inline]
    fn step(&mut self) -> Result<Option<RawRecord<'a>>, Error> {
        if self.index == self.claimed {
            return match self.cursor.rest().len() {
                0 => Ok(None),
                bytes => Err(Error::Surplus { bytes }),
            };
        }
        if self.cursor.rest().is_empty() {
            return Err(Error::Missing { present: self.index, claimed: self.claimed });
        }
        let record = raw_record(&mut self.cursor).ok_or(Error::Malformed { index: self.index })?;
        self.index += 1;
        Ok(Some(record))
    }
}

impl<'a> Iterator for RawRecords<'a> {
    type Item = Result<RawRecord<'a>, Error>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let step = self.step().transpose();
        self.ended = !matches!(step, Some(Ok(_)));
        step
    }
}

/// Reads one record with every length checked (`DefaultRecord.readFrom` of Kafka).
#[inline]
fn raw_record<'a>(cursor: &mut Cursor<'a>) -> Option<RawRecord<'a>> {
    let start = cursor.rest();
    let size = usize::try_from(cursor.varint()?).ok()?;
    let mut fields = Cursor::new(cursor.take(size)?);
    let bytes = start.get(..start.len() - cursor.rest().len())?;
    let attributes = fields.byte()?;
    let timestamp_delta = fields.varlong()?;
    let offset_delta = fields.varint()?;
    let payload = fields.rest();
    let key = fields.nullable_bytes()?;
    let value = fields.nullable_bytes()?;
    let header_count = usize::try_from(fields.varint()?).ok()?;
    let headers = fields.rest();
    for _ in 0..header_count {
        fields.nullable_bytes()??;
        fields.nullable_bytes()?;
    }
    let whole = fields.rest().is_empty();
    let record = RawRecord {
        attributes,
        timestamp_delta,
        offset_delta,
        key,
        value,
        header_count,
        headers,
        payload,
        bytes,
    };
    whole.then_some(record)
}

/// One record with its offset and time worked out. Its bytes are slices of the batch or of the decompressed body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Its offset, by the batch's base offset.
    pub offset: Offset,
    /// Its time: the producer's, or the append time of the batch.
    pub timestamp: Timestamp,
    /// The key; null and empty differ.
    pub key: Option<Bytes>,
    /// The value; null is a tombstone.
    pub value: Option<Bytes>,
    /// The headers in their order, repeats kept; keys are text by custom only.
    pub headers: Vec<(Bytes, Option<Bytes>)>,
}

/// The records of one batch that lies in `batch` (which may have other batches behind it). Copies the records once;
/// see [`records_of`]. `max_decompressed` bounds the bytes after decompression. The checksum is not read.
///
/// # Errors
/// As [`records_of`].
pub fn records(batch: &[u8], max_decompressed: usize) -> Result<Records, Error> {
    let (header, body) = split(batch)?;
    let body = match header.codec()? {
        Codec::None => Bytes::copy_from_slice(body),
        codec => codec::decompress(codec, body, max_decompressed)?,
    };
    Records::new(header, body)
}

/// As [`records`], but an uncompressed batch is not copied: the records are slices of it.
///
/// # Errors
/// [`Error::NotOneBatch`] when the batch is not whole or not of format 2, [`Error::UnknownCodec`],
/// [`Error::Compressed`], [`Error::Count`]; the iterator ends with an error when the records are not what the header says.
pub fn records_of(batch: &Bytes, max_decompressed: usize) -> Result<Records, Error> {
    let (header, body) = split(batch)?;
    let body = match header.codec()? {
        Codec::None => batch.slice_ref(body),
        codec => codec::decompress(codec, body, max_decompressed)?,
    };
    Records::new(header, body)
}

/// The header and the bytes behind it of the first batch.
fn split(batch: &[u8]) -> Result<(Header, &[u8]), Error> {
    let Some(Ok((_, header))) = crate::record::batch::walk(batch).next() else {
        return Err(Error::NotOneBatch);
    };
    let body = batch.get(HEADER_SIZE..header.total_size()).ok_or(Error::NotOneBatch)?;
    Ok((header, body))
}

/// See [`records`].
#[derive(Clone, Debug)]
pub struct Records {
    header: Header,
    body: Bytes,
    position: usize,
    index: usize,
    claimed: usize,
    ended: bool,
}

impl Records {
    fn new(header: Header, body: Bytes) -> Result<Records, Error> {
        let claimed = usize::try_from(header.record_count).map_err(|_| Error::Count(header.record_count))?;
        Ok(Records { header, body, position: 0, index: 0, claimed, ended: false })
    }

    /// The batch's header.
    pub fn header(&self) -> &Header {
        &self.header
    }

    fn step(&mut self) -> Result<Option<Record>, Error> {
        let mut raw = RawRecords {
            cursor: Cursor::new(self.body.get(self.position..).unwrap_or_default()),
            index: self.index,
            claimed: self.claimed,
            ended: false,
        };
        let Some(found) = raw.step()? else {
            return Ok(None);
        };
        let record = self.own(&found);
        self.position += found.bytes.len();
        self.index += 1;
        Ok(Some(record))
    }

    /// The record as slices of the body, with offset and time worked out (wrapping, as Java's numbers do).
    fn own(&self, raw: &RawRecord<'_>) -> Record {
        let slice = |bytes: &[u8]| self.body.slice_ref(bytes);
        let timestamp = match self.header.timestamp_type() {
            TimestampType::CreateTime => self.header.base_timestamp.wrapping_add(raw.timestamp_delta),
            TimestampType::LogAppendTime => self.header.max_timestamp,
        };
        Record {
            offset: Offset(self.header.base_offset.wrapping_add(i64::from(raw.offset_delta))),
            timestamp: Timestamp(timestamp),
            key: raw.key.map(slice),
            value: raw.value.map(slice),
            headers: raw.headers().map(|(key, value)| (slice(key), value.map(slice))).collect(),
        }
    }
}

impl Iterator for Records {
    type Item = Result<Record, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let step = self.step().transpose();
        self.ended = !matches!(step, Some(Ok(_)));
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::BatchBuilder;
    use crate::record::layout;
    use proptest::prelude::*;

    fn batch() -> Bytes {
        let mut builder = BatchBuilder::new(Codec::None, Timestamp(10));
        builder.push(Some(b"key"), None, &[(b"h", Some(b"1")), (b"h", Some(b"2"))], Timestamp(11));
        builder.push(None, Some(b""), &[], Timestamp(9));
        builder.build().bytes().clone()
    }

    /// The batch with another record count in its header.
    fn claiming(count: i32) -> Bytes {
        let mut bytes = batch().to_vec();
        bytes[layout::RECORD_COUNT..HEADER_SIZE].copy_from_slice(&count.to_be_bytes());
        Bytes::from(bytes)
    }

    #[test]
    fn records_are_slices_of_an_uncompressed_batch() {
        let batch = batch();
        let first = records_of(&batch, 0).unwrap().next().unwrap().unwrap();
        let inside = batch.as_ptr_range();
        assert!(inside.contains(&first.key.unwrap().as_ptr()));
        let repeated: Vec<_> =
            first.headers.iter().map(|(key, value)| (&key[..], value.as_deref())).collect();
        assert_eq!(repeated, [(&b"h"[..], Some(&b"1"[..])), (b"h", Some(b"2"))]);
    }

    #[test]
    fn copied_and_borrowed_reads_agree_and_stop_at_the_batch() {
        let two = [&batch()[..], &batch()[..]].concat();
        let copied: Vec<_> = records(&two, 0).unwrap().map(|record| record.unwrap()).collect();
        let sliced: Vec<_> = records_of(&batch(), 0).unwrap().map(|record| record.unwrap()).collect();
        assert_eq!(copied, sliced);
        assert_eq!(copied.iter().map(|record| record.timestamp.0).collect::<Vec<_>>(), [11, 9]);
    }

    #[test]
    fn a_count_that_does_not_fit_ends_with_an_error() {
        let last = |count| records_of(&claiming(count), 0).unwrap().last().unwrap();
        assert!(matches!(last(1), Err(Error::Surplus { .. })));
        assert!(matches!(last(i32::MAX), Err(Error::Missing { present: 2, .. })));
        assert!(matches!(records_of(&claiming(-1), 0), Err(Error::Count(-1))));
    }

    #[test]
    fn every_wrong_length_in_a_record_is_seen() {
        let whole = batch();
        for position in HEADER_SIZE..whole.len() {
            let mut bytes = whole.to_vec();
            bytes[position] = 0x7e;
            let result: Result<Vec<Record>, Error> = records_of(&Bytes::from(bytes), 0).unwrap().collect();
            let is_length = [0, 4, 8, 9, 10, 12, 14, 16, 18, 22, 23, 24].contains(&(position - HEADER_SIZE));
            assert!(!is_length || result.is_err(), "byte {position}: {result:?}");
        }
    }

    proptest! {
        #[test]
        fn any_body_is_walked_to_an_end(
            body in proptest::collection::vec(any::<u8>(), 0..300),
            count in any::<i32>(),
        ) {
            let Ok(walk) = RawRecords::new(&body, count) else { return Ok(()) };
            let mut seen = 0;
            for record in walk {
                let Ok(record) = record else { break };
                seen += record.bytes.len();
                prop_assert_eq!(record.headers().count(), record.header_count);
            }
            prop_assert!(seen <= body.len());
        }
    }
}
