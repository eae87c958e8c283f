//! The header of a batch, the walk over batches that lie one behind the other, and the checksum.

use crate::base::Timestamp;
use crate::config::TimestampType;
use crate::record::codec::Codec;
use crate::record::codec::UnknownCodec;
use crate::record::layout;
use crate::record::layout::HEADER_SIZE;
use thiserror::Error;

/// The header of a batch of format 2, as its bytes say it; nothing is verified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The first record's offset.
    pub base_offset: i64,
    /// Bytes that follow the length field.
    pub length: i32,
    /// Epoch of the leader that gave the offsets; -1 when not known.
    pub leader_epoch: i32,
    /// The format.
    pub magic: i8,
    /// CRC-32C from the attributes to the end.
    pub crc: u32,
    /// Codec and flags, see [`layout`].
    pub attributes: i16,
    /// The last record's offset relative to the first; stays when compaction removes the last record.
    pub last_offset_delta: i32,
    /// What the records' time deltas count from, in ms; the delete horizon when that flag is set.
    pub base_timestamp: i64,
    /// The largest time in the batch, or the append time, in ms.
    pub max_timestamp: i64,
    /// The producer, or -1.
    pub producer_id: i64,
    /// The producer's epoch, or -1.
    pub producer_epoch: i16,
    /// The first record's sequence, or -1.
    pub base_sequence: i32,
    /// How many records there are.
    pub record_count: i32,
}

impl Header {
    /// Reads the header at the start of `buf`; `None` when that is shorter than [`HEADER_SIZE`]. No field is judged.
    pub fn parse(buf: &[u8]) -> Option<Header> {
        let bytes: &[u8; HEADER_SIZE] = buf.first_chunk()?;
        Some(Header {
            base_offset: i64::from_be_bytes(field(bytes, layout::BASE_OFFSET)?),
            length: i32::from_be_bytes(field(bytes, layout::LENGTH)?),
            leader_epoch: i32::from_be_bytes(field(bytes, layout::LEADER_EPOCH)?),
            magic: i8::from_be_bytes(field(bytes, layout::MAGIC)?),
            crc: u32::from_be_bytes(field(bytes, layout::CRC)?),
            attributes: i16::from_be_bytes(field(bytes, layout::ATTRIBUTES)?),
            last_offset_delta: i32::from_be_bytes(field(bytes, layout::LAST_OFFSET_DELTA)?),
            base_timestamp: i64::from_be_bytes(field(bytes, layout::BASE_TIMESTAMP)?),
            max_timestamp: i64::from_be_bytes(field(bytes, layout::MAX_TIMESTAMP)?),
            producer_id: i64::from_be_bytes(field(bytes, layout::PRODUCER_ID)?),
            producer_epoch: i16::from_be_bytes(field(bytes, layout::PRODUCER_EPOCH)?),
            base_sequence: i32::from_be_bytes(field(bytes, layout::BASE_SEQUENCE)?),
            record_count: i32::from_be_bytes(field(bytes, layout::RECORD_COUNT)?),
        })
    }

    /// The header's bytes, field by field as they are here.
    pub fn encode(&self) -> [u8; HEADER_SIZE] {
        let mut bytes = [0; HEADER_SIZE];
        put(&mut bytes, layout::BASE_OFFSET, self.base_offset.to_be_bytes());
        put(&mut bytes, layout::LENGTH, self.length.to_be_bytes());
        put(&mut bytes, layout::LEADER_EPOCH, self.leader_epoch.to_be_bytes());
        put(&mut bytes, layout::MAGIC, self.magic.to_be_bytes());
        put(&mut bytes, layout::CRC, self.crc.to_be_bytes());
        put(&mut bytes, layout::ATTRIBUTES, self.attributes.to_be_bytes());
        put(&mut bytes, layout::LAST_OFFSET_DELTA, self.last_offset_delta.to_be_bytes());
        put(&mut bytes, layout::BASE_TIMESTAMP, self.base_timestamp.to_be_bytes());
        put(&mut bytes, layout::MAX_TIMESTAMP, self.max_timestamp.to_be_bytes());
        put(&mut bytes, layout::PRODUCER_ID, self.producer_id.to_be_bytes());
        put(&mut bytes, layout::PRODUCER_EPOCH, self.producer_epoch.to_be_bytes());
        put(&mut bytes, layout::BASE_SEQUENCE, self.base_sequence.to_be_bytes());
        put(&mut bytes, layout::RECORD_COUNT, self.record_count.to_be_bytes());
        bytes
    }

    /// Bytes of the whole batch; 12 when the length is negative, so compare it with [`HEADER_SIZE`] first.
    pub fn total_size(&self) -> usize {
        usize::try_from(self.length).unwrap_or(0).saturating_add(layout::LENGTH_END)
    }

    /// The last record's offset (inclusive, as Kafka counts it).
    pub fn last_offset(&self) -> i64 {
        self.base_offset.wrapping_add(i64::from(self.last_offset_delta))
    }

    /// The last record's sequence, or -1; after 2147483647 comes 0.
    pub fn last_sequence(&self) -> i32 {
        if self.base_sequence == layout::NO_SEQUENCE {
            return layout::NO_SEQUENCE;
        }
        sequence_after(self.base_sequence, self.last_offset_delta)
    }

    /// How the records are compressed.
    ///
    /// # Errors
    /// The number, when it is none of Kafka's codecs.
    pub fn codec(&self) -> Result<Codec, UnknownCodec> {
        Codec::from_id(self.attributes & layout::CODEC_MASK)
    }

    /// Whether the batch belongs to a transaction.
    pub fn is_transactional(&self) -> bool {
        self.attributes & layout::TRANSACTIONAL_FLAG != 0
    }

    /// Whether the batch holds a control record instead of records for consumers.
    pub fn is_control(&self) -> bool {
        self.attributes & layout::CONTROL_FLAG != 0
    }

    /// From when on the batch's tombstones, or its transaction marker, may be forgotten; `None` until compaction has
    /// decided that (KIP-534).
    pub fn delete_horizon(&self) -> Option<Timestamp> {
        (self.attributes & layout::DELETE_HORIZON_FLAG != 0).then_some(Timestamp(self.base_timestamp))
    }

    /// Whether an idempotent producer sent the batch.
    pub fn has_producer_id(&self) -> bool {
        self.producer_id > layout::NO_PRODUCER_ID
    }

    /// Whose clock the records' times come from.
    pub fn timestamp_type(&self) -> TimestampType {
        if self.attributes & layout::APPEND_TIME_FLAG == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        }
    }
}

/// The sequence `count` records after `sequence`, in a ring of 2^31 (`DefaultRecordBatch.incrementSequence`).
pub fn sequence_after(sequence: i32, count: i32) -> i32 {
    let after = (i64::from(sequence) + i64::from(count)).rem_euclid(1 << 31);
    i32::try_from(after).expect("a remainder of 2^31 fits")
}

/// Whether the checksum of this batch (exactly its bytes, header included) is right.
pub fn is_intact(batch: &[u8]) -> bool {
    let stored = batch.get(layout::CRC..layout::ATTRIBUTES).and_then(|bytes| bytes.try_into().ok());
    match (stored, batch.get(layout::ATTRIBUTES..)) {
        (Some(stored), Some(covered)) if batch.len() >= HEADER_SIZE => {
            u32::from_be_bytes(stored) == crc_fast::crc32_iscsi(covered)
        }
        _ => false,
    }
}

/// Why a walk stopped before the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WalkError {
    /// The batch at this position is not whole: the bytes end too early.
    #[error("batch at {position} is cut off: {present} bytes of {needed}")]
    Truncated {
        /// Where the batch begins.
        position: usize,
        /// Bytes that are there.
        present: usize,
        /// Bytes that are needed to go on: the batch's, or its header's.
        needed: usize,
    },
    /// The length at this position is less than a header's.
    #[error("batch at {position} has length {length}")]
    Length {
        /// Where the batch begins.
        position: usize,
        /// What its length field says.
        length: i32,
    },
    /// The format at this position is not 2.
    #[error("batch at {position} has magic {magic}")]
    Magic {
        /// Where the batch begins.
        position: usize,
        /// What its magic field says.
        magic: i8,
    },
}

/// Goes over the batches in `buf`: the position and header of each that is whole. Stops after the first error.
/// Checksums are not read; see [`is_intact`].
pub fn walk(buf: &[u8]) -> Walk<'_> {
    Walk { buf, position: 0, ended: false }
}

/// See [`walk`].
#[derive(Clone, Debug)]
pub struct Walk<'a> {
    buf: &'a [u8],
    position: usize,
    ended: bool,
}

impl Iterator for Walk<'_> {
    type Item = Result<(usize, Header), WalkError>;

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.buf.get(self.position..).unwrap_or_default();
        if self.ended || rest.is_empty() {
            return None;
        }
        let position = self.position;
        let step = one(rest, position);
        match &step {
            Ok(header) => self.position += header.total_size(),
            Err(_) => self.ended = true,
        }
        Some(step.map(|header| (position, header)))
    }
}

/// The header of the whole batch at the start of `rest`.
fn one(rest: &[u8], position: usize) -> Result<Header, WalkError> {
    let present = rest.len();
    let Some(header) = Header::parse(rest) else {
        return Err(WalkError::Truncated { position, present, needed: HEADER_SIZE });
    };
    if header.total_size() < HEADER_SIZE {
        return Err(WalkError::Length { position, length: header.length });
    }
    if header.magic != layout::MAGIC_V2 {
        return Err(WalkError::Magic { position, magic: header.magic });
    }
    if present < header.total_size() {
        return Err(WalkError::Truncated { position, present, needed: header.total_size() });
    }
    Ok(header)
}

/// The bytes of one field.
fn field<const SIZE: usize>(bytes: &[u8; HEADER_SIZE], at: usize) -> Option<[u8; SIZE]> {
    bytes.get(at..at + SIZE)?.try_into().ok()
}

/// Writes one field; the positions and sizes of [`layout`] all lie inside the header.
fn put<const SIZE: usize>(bytes: &mut [u8; HEADER_SIZE], at: usize, value: [u8; SIZE]) {
    bytes.get_mut(at..at + SIZE).expect("a field lies inside the header").copy_from_slice(&value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::BatchBuilder;
    use bytes::Bytes;
    use proptest::prelude::*;

    fn batch(values: &[&'static str]) -> Bytes {
        let mut builder = BatchBuilder::new(Codec::None, Timestamp(1_000));
        for value in values {
            builder.push(None, Some(value.as_bytes()), &[], Timestamp(1_000));
        }
        builder.build().bytes().clone()
    }

    #[test]
    fn every_field_survives_encode_and_parse() {
        let header = Header {
            base_offset: 0x0102_0304_0506_0708,
            length: 49,
            leader_epoch: 7,
            magic: 2,
            crc: 0xdead_beef,
            attributes: 0x55,
            last_offset_delta: 3,
            base_timestamp: -5,
            max_timestamp: i64::MAX,
            producer_id: 99,
            producer_epoch: -2,
            base_sequence: 12,
            record_count: i32::MIN,
        };
        assert_eq!(Header::parse(&header.encode()), Some(header));
        assert_eq!(Header::parse(&header.encode()[..60]), None);
    }

    #[test]
    fn sequences_wrap_from_the_largest_to_zero() {
        assert_eq!(sequence_after(i32::MAX, 1), 0);
        assert_eq!(sequence_after(i32::MAX - 1, 3), 1);
        assert_eq!(sequence_after(5, 0), 5);
    }

    #[test]
    fn a_walk_gives_each_batch_and_its_position() {
        let (first, second) = (batch(&["a"]), batch(&["b", "c"]));
        let both = [first.clone(), second].concat();
        let seen: Vec<(usize, i32)> =
            walk(&both).map(|step| step.unwrap()).map(|(at, h)| (at, h.record_count)).collect();
        assert_eq!(seen, [(0, 1), (first.len(), 2)]);
        assert!(is_intact(&first));
    }

    #[test]
    fn a_walk_tells_a_torn_tail_from_rubbish() {
        let whole = batch(&["a", "b"]);
        for cut in 1..whole.len() {
            let error = walk(&whole[..cut]).next().unwrap().unwrap_err();
            assert!(matches!(error, WalkError::Truncated { position: 0, .. }), "{error}");
        }
        let mut magic = whole.to_vec();
        magic[layout::MAGIC] = 1;
        assert_eq!(walk(&magic).next(), Some(Err(WalkError::Magic { position: 0, magic: 1 })));
        for length in [-1, 0, 48] {
            let mut short = whole.to_vec();
            short[layout::LENGTH..layout::LENGTH_END].copy_from_slice(&i32::to_be_bytes(length));
            let mut steps = walk(&short);
            assert_eq!(steps.next(), Some(Err(WalkError::Length { position: 0, length })));
            assert_eq!(steps.next(), None);
        }
    }

    #[test]
    fn every_flipped_bit_behind_the_checksum_is_seen() {
        let whole = batch(&["value"]).to_vec();
        for position in layout::CRC..whole.len() {
            let mut flipped = whole.clone();
            flipped[position] ^= 1;
            assert!(!is_intact(&flipped), "byte {position}");
        }
        let mut head = whole;
        head[layout::LEADER_EPOCH] ^= 1;
        assert!(is_intact(&head), "the head is not covered");
    }

    proptest! {
        #[test]
        fn a_walk_over_any_bytes_ends_and_stays_inside(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for (position, header) in walk(&bytes).flatten() {
                prop_assert!(position + header.total_size() <= bytes.len());
            }
        }
    }
}
