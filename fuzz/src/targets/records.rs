//! Batches from producers and from disk, and the records in them.

use super::Input;
use super::codecs::block_memory;
use bytes::Bytes;
use dohle::base::ProducerEpoch;
use dohle::base::ProducerId;
use dohle::base::Timestamp;
use dohle::config::Compression;
use dohle::config::TimestampType;
use dohle::record;
use dohle::record::HEADER_SIZE;
use dohle::record::Header;
use dohle::record::Policy;
use dohle::record::check;
use dohle::record::control::ControlType;
use dohle::record::control::EndTransaction;
use dohle::record::is_intact;
use dohle::record::layout;
use dohle::record::records::RawRecords;
use dohle::record::walk;

/// Bytes that records may have after decompression; small, so that the budget of memory shows what ignores it.
const DECOMPRESSED_MAX: i32 = 64 * 1024;

/// What a producer sends, under any policy; and the same bytes as a reader of segments meets them.
pub(super) fn batch(input: &mut Input<'_>) {
    let choice = input.u8();
    let policy = policy(input);
    let bytes = input.body();
    let bytes = if choice & 1 == 0 { bytes } else { mended(&bytes, choice & 2 != 0) };
    input.allow(block_memory(&bytes));
    walk_all(&bytes);
    let Ok(checked) = check(bytes, &policy) else { return };
    let stored = checked.bytes().clone();
    assert!(is_intact(&stored), "what is stored is intact");
    let header = Header::parse(&stored).expect("what is stored is whole");
    assert_eq!(header, *checked.header());
    assert_eq!(header.total_size(), stored.len());
    assert!(stored.len() <= usize::try_from(policy.max_message_bytes).expect("a batch was taken"));
    if policy.client {
        assert!(header.record_count > 0 && !header.is_control() && header.base_offset == 0);
    }
    // What was taken once is taken again as it is, by the rules of a topic that changes nothing.
    let lenient = Policy {
        compression: Compression::Producer,
        keys_required: false,
        timestamp_type: header.timestamp_type(),
        before_max_ms: i64::MAX,
        after_max_ms: i64::MAX,
        ..policy
    };
    if header.timestamp_type() == TimestampType::CreateTime {
        let again = check(stored.clone(), &lenient).expect("what is stored is a good batch");
        assert!(again.header().record_count == header.record_count);
    }
    read_all(&stored);
}

fn policy(input: &mut Input<'_>) -> Policy {
    let choice = input.u8();
    let level = i32::from(input.u8() % 9) + 1;
    Policy {
        max_message_bytes: if choice & 1 == 0 { 1 << 20 } else { i32::from(input.u16()) },
        max_decompressed_bytes: DECOMPRESSED_MAX,
        keys_required: choice & 2 != 0,
        timestamp_type: if choice & 4 == 0 {
            TimestampType::CreateTime
        } else {
            TimestampType::LogAppendTime
        },
        before_max_ms: if choice & 8 == 0 { i64::MAX } else { input.i64() },
        after_max_ms: if choice & 16 == 0 { 3_600_000 } else { input.i64() },
        compression: match choice >> 5 {
            0 | 1 => Compression::Producer,
            2 => Compression::Uncompressed,
            3 => Compression::Gzip { level },
            4 => Compression::Snappy,
            5 => Compression::Lz4 { level },
            // Levels above need more working memory than the budget.
            _ => Compression::Zstd { level: level.min(3) },
        },
        now: Timestamp(1_700_000_000_000),
        client: input.u8() & 1 == 0,
    }
}

/// The bytes with a length that fits and the right checksum, which no fuzzer finds by chance.
fn mended(bytes: &[u8], one_count: bool) -> Bytes {
    let mut bytes = bytes.to_vec();
    if bytes.len() < HEADER_SIZE {
        return Bytes::from(bytes);
    }
    let length = i32::try_from(bytes.len() - layout::LENGTH_END).expect("inputs are small");
    bytes[layout::LENGTH..layout::LENGTH_END].copy_from_slice(&length.to_be_bytes());
    bytes[layout::MAGIC] = 2;
    if one_count {
        let mut delta = [0; 4];
        delta.copy_from_slice(&bytes[layout::LAST_OFFSET_DELTA..layout::BASE_TIMESTAMP]);
        let count = i32::from_be_bytes(delta).wrapping_add(1);
        bytes[layout::RECORD_COUNT..HEADER_SIZE].copy_from_slice(&count.to_be_bytes());
        bytes[..8].fill(0);
    }
    let crc = checksum(&bytes[layout::ATTRIBUTES..]);
    bytes[layout::CRC..layout::ATTRIBUTES].copy_from_slice(&crc.to_be_bytes());
    Bytes::from(bytes)
}

/// CRC-32C.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(bytes)
}

fn walk_all(bytes: &Bytes) {
    let mut end = 0;
    for step in walk(bytes) {
        let Ok((position, header)) = step else { break };
        assert_eq!(position, end, "batches lie one behind the other");
        end = position + header.total_size();
        assert!(end <= bytes.len(), "a batch lies inside the bytes");
        let one = bytes.slice(position..end);
        assert_eq!(header.encode()[..], one[..HEADER_SIZE], "a header is written as it was read");
        read_all(&one);
    }
}

/// The records of one batch, borrowed, copied and sliced: all the same.
fn read_all(batch: &Bytes) {
    let max = usize::try_from(DECOMPRESSED_MAX).expect("a small number");
    let Ok(sliced) = record::records_of(batch, max) else {
        assert!(record::records(batch, max).is_err());
        return;
    };
    let copied = record::records(batch, max).expect("the same bytes");
    let mut count = 0;
    for (one, other) in sliced.zip(copied) {
        let (Ok(one), Ok(other)) = (one, other) else { break };
        assert_eq!(one, other);
        let (key, value) = (one.key.as_deref(), one.value.as_deref());
        if let Some(Ok(kind)) = key.map(ControlType::parse) {
            assert_eq!(ControlType::parse(&kind.key()), Ok(kind), "a type is written as it was read");
        }
        if let Ok(end) = EndTransaction::parse(key, value) {
            let marker = end.batch(ProducerId(1), ProducerEpoch(0), Timestamp(1));
            let record = record::records_of(marker.bytes(), max).expect("our own").next();
            let record = record.expect("one record").expect("our own");
            assert_eq!(EndTransaction::parse(record.key.as_deref(), record.value.as_deref()), Ok(end));
        }
        count += 1;
    }
    let header = Header::parse(batch).expect("a batch that was read");
    assert!(count <= usize::try_from(header.record_count).expect("a count that was taken"));
}

/// A decompressed body of records.
pub(super) fn records(input: &mut Input<'_>) {
    let count = input.i32();
    let body = input.body();
    let Ok(walk) = RawRecords::new(&body, count) else {
        assert!(count < 0);
        return;
    };
    let (mut seen, mut good) = (0, 0);
    for step in walk {
        let Ok(raw) = step else { return };
        seen += raw.bytes.len();
        good += 1;
        assert!(seen <= body.len(), "records lie inside the body");
        assert_eq!(raw.headers().count(), raw.header_count, "every header that is claimed is there");
        let fields = raw.key.map_or(0, <[u8]>::len) + raw.value.map_or(0, <[u8]>::len) + raw.headers.len();
        assert!(fields < raw.bytes.len(), "fields lie inside their record");
    }
    assert_eq!((seen, good), (body.len(), count), "a walk without an error used every byte");
}
