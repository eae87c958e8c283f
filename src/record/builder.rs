//! Batches of our own making, for internal topics. The same calls give the same bytes, and they are those that
//! Kafka's `MemoryRecordsBuilder` makes.

use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::record::CheckedBatch;
use crate::record::batch::Header;
use crate::record::codec;
use crate::record::codec::Codec;
use crate::record::layout;
use crate::record::rewrite;
use crate::record::varint;

/// Gathers records; [`build`](BatchBuilder::build) makes the batch.
#[derive(Clone, Debug)]
pub struct BatchBuilder {
    header: Header,
    codec: Codec,
    body: Vec<u8>,
    record: Vec<u8>,
}

impl BatchBuilder {
    /// An empty batch whose records' times are kept relative to `timestamp` (Kafka takes the first record's).
    pub fn new(codec: Codec, timestamp: Timestamp) -> BatchBuilder {
        let header = Header {
            base_offset: 0,
            length: 0,
            leader_epoch: -1,
            magic: layout::MAGIC_V2,
            crc: 0,
            attributes: codec.id(),
            last_offset_delta: -1,
            base_timestamp: timestamp.0,
            max_timestamp: Timestamp::NONE.0,
            producer_id: layout::NO_PRODUCER_ID,
            producer_epoch: layout::NO_PRODUCER_EPOCH,
            base_sequence: layout::NO_SEQUENCE,
            record_count: 0,
        };
        BatchBuilder { header, codec, body: Vec::new(), record: Vec::new() }
    }

    /// Names the producer; `sequence` is the first record's, or -1.
    #[must_use]
    pub fn producer(mut self, id: ProducerId, epoch: ProducerEpoch, sequence: i32) -> BatchBuilder {
        self.header.producer_id = id.0;
        self.header.producer_epoch = epoch.0;
        self.header.base_sequence = sequence;
        self
    }

    /// Makes the batch part of its producer's transaction.
    #[must_use]
    pub fn transactional(mut self) -> BatchBuilder {
        self.header.attributes |= layout::TRANSACTIONAL_FLAG;
        self
    }

    /// Makes the batch one of control records, see [`control`](crate::record::control).
    #[must_use]
    pub fn control(mut self) -> BatchBuilder {
        self.header.attributes |= layout::CONTROL_FLAG;
        self
    }

    /// Adds a record behind those that are there.
    ///
    /// # Panics
    /// When the record or the batch grows to 2 GiB.
    pub fn push(
        &mut self,
        key: Option<&[u8]>,
        value: Option<&[u8]>,
        headers: &[(&[u8], Option<&[u8]>)],
        timestamp: Timestamp,
    ) {
        let record = &mut self.record;
        record.clear();
        record.push(0);
        varint::put_varlong(record, timestamp.0.wrapping_sub(self.header.base_timestamp));
        varint::put_varint(record, self.header.record_count);
        varint::put_nullable_bytes(record, key);
        varint::put_nullable_bytes(record, value);
        varint::put_varint(
            record,
            i32::try_from(headers.len()).expect("a record has fewer than 2^31 headers"),
        );
        for (key, value) in headers {
            varint::put_nullable_bytes(record, Some(key));
            varint::put_nullable_bytes(record, *value);
        }
        varint::put_nullable_bytes(&mut self.body, Some(record));
        self.header.max_timestamp = self.header.max_timestamp.max(timestamp.0);
        self.header.record_count += 1;
        self.header.last_offset_delta += 1;
    }

    /// How many records there are.
    pub fn record_count(&self) -> i32 {
        self.header.record_count
    }

    /// Whether there is no record yet.
    pub fn is_empty(&self) -> bool {
        self.header.record_count == 0
    }

    /// Bytes of the batch if it were not compressed.
    pub fn size(&self) -> usize {
        layout::HEADER_SIZE + self.body.len()
    }

    /// The batch, with base offset 0 and no leader epoch; the log gives both.
    ///
    /// # Panics
    /// When no record was added: there is no such batch.
    pub fn build(self) -> CheckedBatch {
        assert!(!self.is_empty(), "a batch has at least one record");
        let body = match self.codec {
            Codec::None => self.body,
            codec => codec::compress(codec, codec::DEFAULT_LEVEL, &self.body).into(),
        };
        rewrite::assemble(self.header, &body, Timestamp::NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::Offset;
    use crate::record::Record;
    use crate::record::is_intact;
    use crate::record::records_of;
    use bytes::Bytes;
    use proptest::prelude::*;

    #[test]
    fn the_bytes_are_those_of_kafka() {
        let mut builder =
            BatchBuilder::new(Codec::None, Timestamp(1_000)).producer(ProducerId(9), ProducerEpoch(1), 5);
        builder.push(Some(b"k"), Some(b"v"), &[(b"h", None)], Timestamp(1_000));
        builder.push(None, None, &[], Timestamp(1_064));
        let batch = builder.build();
        let records = [18, 0, 0, 0, 2, b'k', 2, b'v', 2, 2, b'h', 1];
        let expected = [&records[..1], &records[1..], &[14, 0, 0x80, 1, 2, 1, 1, 0]].concat();
        assert_eq!(batch.bytes()[layout::HEADER_SIZE..layout::HEADER_SIZE + 1], [22]);
        assert_eq!(batch.bytes()[layout::HEADER_SIZE + 1..], expected[1..]);
        let header = batch.header();
        assert_eq!((header.record_count, header.last_offset_delta, header.max_timestamp), (2, 1, 1_064));
        assert_eq!((header.producer_id, header.producer_epoch, header.base_sequence), (9, 1, 5));
        assert!(is_intact(batch.bytes()));
    }

    #[test]
    #[should_panic(expected = "at least one record")]
    fn an_empty_batch_is_not_built() {
        BatchBuilder::new(Codec::None, Timestamp(0)).build();
    }

    fn bytes() -> impl Strategy<Value = Bytes> {
        proptest::collection::vec(any::<u8>(), 0..200).prop_map(Bytes::from)
    }

    fn record() -> impl Strategy<Value = Record> {
        let headers = proptest::collection::vec((bytes(), proptest::option::of(bytes())), 0..5);
        let fields = (any::<i64>(), proptest::option::of(bytes()), proptest::option::of(bytes()), headers);
        fields.prop_map(|(timestamp, key, value, headers)| Record {
            offset: Offset(0),
            timestamp: Timestamp(timestamp),
            key,
            value,
            headers,
        })
    }

    proptest! {
        #[test]
        fn what_is_pushed_is_read_back(
            codec in proptest::sample::select(Codec::ALL.to_vec()),
            base in any::<i64>(),
            mut pushed in proptest::collection::vec(record(), 1..20),
        ) {
            let mut builder = BatchBuilder::new(codec, Timestamp(base));
            for (index, record) in pushed.iter_mut().enumerate() {
                record.offset = Offset(i64::try_from(index).unwrap());
                let headers: Vec<_> = record.headers.iter().map(|(key, value)| (&key[..], value.as_deref())).collect();
                builder.push(record.key.as_deref(), record.value.as_deref(), &headers, record.timestamp);
            }
            let batch = builder.build();
            prop_assert!(is_intact(batch.bytes()));
            let read: Vec<Record> = records_of(batch.bytes(), 1 << 20).unwrap().map(|record| record.unwrap()).collect();
            prop_assert_eq!(read, pushed);
        }
    }
}
