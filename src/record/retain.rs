//! What compaction leaves of a batch (`MemoryRecords.filterTo`): records fall, offsets, sequences and producer stay.
//!
//! A batch from which nothing falls keeps its bytes. Otherwise the records that stay keep theirs, and the header keeps
//! first and last offset, so that holes are seen as such and a producer's last sequence is not lost. Only where a
//! delete horizon begins are the time deltas written anew, because they count from it then; the times stay.

use crate::base::Offset;
use crate::base::Timestamp;
use crate::config::TimestampType;
use crate::record::batch::Header;
use crate::record::codec;
use crate::record::codec::Codec;
use crate::record::layout;
use crate::record::layout::HEADER_SIZE;
use crate::record::records::Error;
use crate::record::records::RawRecord;
use crate::record::records::RawRecords;
use crate::record::rewrite;
use crate::record::varint;
use bytes::Bytes;
use std::borrow::Cow;

/// What is left of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// The batch as it is, with this many records.
    Whole(usize),
    /// A new batch with this many of the records.
    Part(Bytes, usize),
    /// No record.
    Nothing,
}

/// When a delete horizon begins in a batch that has none.
#[derive(Clone, Copy, Debug)]
pub struct Horizon {
    /// The horizon.
    pub at: Timestamp,
    /// Whether it begins in any case; otherwise where a tombstone stays.
    pub always: bool,
}

/// At most this many records are shown at once.
const WINDOW: usize = 64;

/// A record with its offset.
pub type Placed<'a> = (Offset, RawRecord<'a>);

/// Keeps the records of one whole batch for which `keep` says so; the codec stays. `keep` is shown some records at a
/// time, in their order, and pushes one answer for each of them. `decompressed_max` bounds the bytes after
/// decompression.
///
/// # Errors
/// [`Error::NotOneBatch`], [`Error::UnknownCodec`], [`Error::Compressed`], and those of records that are not what the
/// header says.
pub fn retain(
    batch: &[u8],
    decompressed_max: usize,
    horizon: Horizon,
    mut keep: impl FnMut(&[Placed<'_>], &mut Vec<bool>),
) -> Result<Left, Error> {
    let (header, codec, body) = open(batch, decompressed_max)?;
    let mut kept = Kept::default();
    let mut answers = Vec::with_capacity(WINDOW);
    windows(&header, &body, |records| {
        answers.clear();
        keep(records, &mut answers);
        for ((_, record), stays) in records.iter().zip(&answers) {
            if *stays { kept.add(&header, record) } else { kept.fallen += 1 }
        }
        true
    })?;
    if kept.count == 0 {
        return Ok(Left::Nothing);
    }
    let records = usize::try_from(kept.count).unwrap_or(0);
    let begins = header.delete_horizon().is_none() && (horizon.always || kept.has_tombstone);
    if kept.fallen == 0 && !begins {
        return Ok(Left::Whole(records));
    }
    Ok(Left::Part(kept.build(header, codec, begins.then_some(horizon.at))?, records))
}

/// Shows the records of one whole batch, some at a time, until `go_on` says no.
///
/// # Errors
/// As [`retain`].
pub fn look(
    batch: &[u8],
    decompressed_max: usize,
    go_on: impl FnMut(&[Placed<'_>]) -> bool,
) -> Result<(), Error> {
    let (header, _, body) = open(batch, decompressed_max)?;
    windows(&header, &body, go_on)
}

fn windows(header: &Header, body: &[u8], mut go_on: impl FnMut(&[Placed<'_>]) -> bool) -> Result<(), Error> {
    let mut records = RawRecords::new(body, header.record_count)?;
    let mut window = Vec::with_capacity(WINDOW);
    loop {
        window.clear();
        for record in records.by_ref().take(WINDOW) {
            let record = record?;
            let offset = Offset(header.base_offset.wrapping_add(i64::from(record.offset_delta)));
            window.push((offset, record));
        }
        if window.is_empty() || !go_on(&window) {
            return Ok(());
        }
    }
}

/// One whole batch's header, codec, and records as they are when decompressed.
fn open(batch: &[u8], decompressed_max: usize) -> Result<(Header, Codec, Cow<'_, [u8]>), Error> {
    let header = Header::parse(batch).filter(|header| header.total_size() == batch.len());
    let (Some(header), Some(body)) = (header, batch.get(HEADER_SIZE..)) else {
        return Err(Error::NotOneBatch);
    };
    let codec = header.codec()?;
    let body = match codec {
        Codec::None => Cow::Borrowed(body),
        codec => Cow::Owned(codec::decompress(codec, body, decompressed_max)?.into()),
    };
    Ok((header, codec, body))
}

/// The header that stays where no record does and the batch must (`DefaultRecordBatch.writeEmptyHeader`): it tells the
/// last offset, and its producer's last sequence.
pub fn emptied(header: &Header) -> Bytes {
    let mut empty = *header;
    empty.attributes &= !(layout::CODEC_MASK | layout::DELETE_HORIZON_FLAG);
    empty.base_timestamp = Timestamp::NONE.0;
    empty.record_count = 0;
    rewrite::assemble(empty, &[], Timestamp::NONE).bytes().clone()
}

/// The records that stay, as they are.
#[derive(Debug)]
struct Kept {
    bytes: Vec<u8>,
    count: i32,
    fallen: usize,
    has_tombstone: bool,
    max_timestamp: i64,
}

impl Default for Kept {
    fn default() -> Kept {
        let max_timestamp = Timestamp::NONE.0;
        Kept { bytes: Vec::new(), count: 0, fallen: 0, has_tombstone: false, max_timestamp }
    }
}

impl Kept {
    fn add(&mut self, header: &Header, record: &RawRecord<'_>) {
        self.bytes.extend_from_slice(record.bytes);
        self.count = self.count.saturating_add(1);
        self.has_tombstone |= record.value.is_none();
        let timestamp = header.base_timestamp.wrapping_add(record.timestamp_delta);
        self.max_timestamp = self.max_timestamp.max(timestamp);
    }

    fn build(self, mut header: Header, codec: Codec, horizon: Option<Timestamp>) -> Result<Bytes, Error> {
        let mut body = self.bytes;
        if let Some(horizon) = horizon {
            body = rebase(&body, self.count, (header.base_timestamp, horizon.0))?;
            header.base_timestamp = horizon.0;
            header.attributes |= layout::DELETE_HORIZON_FLAG;
        }
        if header.timestamp_type() == TimestampType::CreateTime {
            header.max_timestamp = self.max_timestamp;
        }
        header.record_count = self.count;
        let body = match codec {
            Codec::None => Bytes::from(body),
            codec => codec::compress(codec, codec::DEFAULT_LEVEL, &body),
        };
        Ok(rewrite::assemble(header, &body, Timestamp::NONE).bytes().clone())
    }
}

/// The records with time deltas that count from another base.
fn rebase(body: &[u8], count: i32, (from, to): (i64, i64)) -> Result<Vec<u8>, Error> {
    let mut rebased = Vec::with_capacity(body.len());
    let mut fields = Vec::new();
    for record in RawRecords::new(body, count)? {
        let record = record?;
        fields.clear();
        fields.push(record.attributes);
        let timestamp = from.wrapping_add(record.timestamp_delta);
        varint::put_varlong(&mut fields, timestamp.wrapping_sub(to));
        varint::put_varint(&mut fields, record.offset_delta);
        fields.extend_from_slice(record.payload);
        varint::put_nullable_bytes(&mut rebased, Some(&fields));
    }
    Ok(rebased)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::ProducerEpoch;
    use crate::base::ProducerId;
    use crate::record::BatchBuilder;
    use crate::record::Record;
    use crate::record::is_intact;
    use crate::record::records_of;
    use proptest::prelude::*;

    const NEVER: Horizon = Horizon { at: Timestamp(1 << 41), always: false };

    /// Ten records from offset 0 on, every third a tombstone, with headers and odd times.
    fn batch(codec: Codec) -> Bytes {
        let mut builder =
            BatchBuilder::new(codec, Timestamp(5_000)).producer(ProducerId(4), ProducerEpoch(1), 70);
        for number in 0..10u8 {
            let value = [number; 40];
            let value = if number % 3 == 2 { None } else { Some(&value[..]) };
            let time = Timestamp(5_000 - 37 * i64::from(number % 4));
            builder.push(Some(&[number]), value, &[(b"h", Some(b"1")), (b"h", None)], time);
        }
        builder.build().bytes().clone()
    }

    fn each(keep: impl Fn(Offset) -> bool) -> impl FnMut(&[Placed<'_>], &mut Vec<bool>) {
        move |records, answers| answers.extend(records.iter().map(|(offset, _)| keep(*offset)))
    }

    fn read(batch: &Bytes) -> Vec<Record> {
        records_of(batch, 1 << 20).unwrap().map(|record| record.unwrap()).collect()
    }

    #[test]
    fn a_batch_from_which_nothing_falls_is_left_as_it_is() {
        let mut builder = BatchBuilder::new(Codec::Zstd, Timestamp(1));
        builder.push(Some(b"k"), Some(b"v"), &[], Timestamp(1));
        let batch = builder.build();
        let left = retain(batch.bytes(), 1 << 20, NEVER, each(|_| true)).unwrap();
        assert_eq!(left, Left::Whole(1));
        assert_eq!(retain(batch.bytes(), 1 << 20, NEVER, each(|_| false)).unwrap(), Left::Nothing);
    }

    #[test]
    fn an_emptied_batch_keeps_offsets_sequences_and_producer() {
        let original = batch(Codec::Lz4);
        let empty = emptied(&Header::parse(&original).unwrap());
        assert!(is_intact(&empty) && empty.len() == HEADER_SIZE);
        let (header, before) = (Header::parse(&empty).unwrap(), Header::parse(&original).unwrap());
        assert_eq!(
            (header.last_offset(), header.last_sequence()),
            (before.last_offset(), before.last_sequence())
        );
        assert_eq!((header.producer_id, header.max_timestamp), (4, before.max_timestamp));
        assert_eq!(header.codec(), Ok(Codec::None));
        assert_eq!(read(&empty), []);
    }

    #[test]
    fn every_record_of_a_long_batch_is_shown_in_its_turn() {
        let mut builder = BatchBuilder::new(Codec::Lz4, Timestamp(1));
        for number in 0..150u8 {
            builder.push(Some(&[number]), Some(&[number; 9]), &[], Timestamp(1));
        }
        let batch = builder.build();
        let mut shown = Vec::new();
        look(batch.bytes(), 1 << 20, |records| {
            shown.extend(records.iter().map(|(offset, record)| (offset.0, record.key.unwrap().to_vec())));
            shown.len() < 128
        })
        .unwrap();
        assert_eq!(shown, (0..128u8).map(|number| (i64::from(number), vec![number])).collect::<Vec<_>>());
        let Left::Part(left, 50) =
            retain(batch.bytes(), 1 << 20, NEVER, each(|offset| offset.0 % 3 == 0)).unwrap()
        else {
            panic!("a third stays")
        };
        let offsets: Vec<i64> = read(&left).iter().map(|record| record.offset.0).collect();
        assert_eq!(offsets, (0..150).step_by(3).collect::<Vec<_>>());
    }

    #[test]
    fn a_horizon_begins_once_and_times_stay() {
        let original = batch(Codec::Snappy);
        let begun = Horizon { at: Timestamp(1 << 41), always: false };
        let Left::Part(first, 10) = retain(&original, 1 << 20, begun, each(|_| true)).unwrap() else {
            panic!("a tombstone stays, so the horizon begins")
        };
        assert_eq!(Header::parse(&first).unwrap().delete_horizon(), Some(begun.at));
        assert_eq!(read(&first), read(&original));
        let later = Horizon { at: Timestamp(1 << 42), always: true };
        assert_eq!(retain(&first, 1 << 20, later, each(|_| true)).unwrap(), Left::Whole(10));
        let Left::Part(second, 9) = retain(&first, 1 << 20, later, each(|offset| offset.0 != 0)).unwrap()
        else {
            panic!("one record falls")
        };
        assert_eq!(Header::parse(&second).unwrap().delete_horizon(), Some(begun.at), "it does not move");
    }

    #[test]
    fn damage_and_bombs_are_refused() {
        let whole = batch(Codec::Gzip);
        assert!(matches!(retain(&whole, 10, NEVER, each(|_| true)), Err(Error::Compressed(_))));
        assert!(matches!(retain(&whole[..80], 1 << 20, NEVER, each(|_| true)), Err(Error::NotOneBatch)));
        let mut count = batch(Codec::None).to_vec();
        count[layout::RECORD_COUNT..HEADER_SIZE].copy_from_slice(&11i32.to_be_bytes());
        assert!(retain(&count, 1 << 20, NEVER, each(|_| true)).is_err());
    }

    proptest! {
        #[test]
        fn what_stays_is_as_it_was(
            codec in proptest::sample::select(Codec::ALL.to_vec()),
            stays in proptest::collection::vec(any::<bool>(), 10),
            always in any::<bool>(),
        ) {
            let original = batch(codec);
            let horizon = Horizon { at: Timestamp(1 << 41), always };
            let keep = |offset: Offset| stays[usize::try_from(offset.0).unwrap()];
            let expect: Vec<Record> = read(&original).into_iter().filter(|record| keep(record.offset)).collect();
            let before = Header::parse(&original).unwrap();
            match retain(&original, 1 << 20, horizon, each(keep)).unwrap() {
                Left::Whole(count) => prop_assert_eq!(expect.len(), count),
                Left::Nothing => prop_assert!(expect.is_empty()),
                Left::Part(part, count) => {
                    prop_assert!(is_intact(&part));
                    prop_assert_eq!(expect.len(), count);
                    let header = Header::parse(&part).unwrap();
                    let newest = expect.iter().map(|record| record.timestamp.0).max();
                    prop_assert_eq!(Some(header.max_timestamp), newest);
                    prop_assert_eq!(read(&part), expect);
                    let stable = |h: &Header| {
                        (h.base_offset, h.last_offset_delta, h.producer_id, h.producer_epoch, h.base_sequence)
                    };
                    prop_assert_eq!(stable(&header), stable(&before));
                    prop_assert_eq!(header.codec(), before.codec());
                }
            }
        }
    }
}
