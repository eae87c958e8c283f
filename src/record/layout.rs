//! The record batch of format 2, byte by byte. All numbers are big-endian.
//!
//! ```text
//!  0        8        12       16 17     21  23       27        35        43        51 53     57     61
//!  +--------+--------+--------+--+------+---+--------+---------+---------+---------+--+------+------+-----
//!  | base   | length | leader |m |crc   |att| last   | base    | max     | producer|pe|base  |record|records
//!  | offset |        | epoch  |  |      |   | delta  | time    | time    | id      |  |seq   |count | ...
//!  +--------+--------+--------+--+------+---+--------+---------+---------+---------+--+------+------+-----
//!  \_______ the head _________/         \________________ covered by the checksum (CRC-32C) ______________
//! ```
//! `length` counts what follows it. The head lies before the checksum, so that a broker gives a batch its offset and
//! epoch without reading the rest. `m` is the format, 2; `pe` the producer's epoch.
//!
//! Attributes: bits 0-2 codec, 3 append time, 4 transactional, 5 control, 6 delete horizon in `base time`.
//!
//! A record, of varints (`v`, zigzag) unless noted; -1 as a length means null:
//! ```text
//! length v | attributes 1 byte | time delta v | offset delta v | key length v, key | value length v, value
//!          | header count v | { key length v, key | value length v, value } ...
//! ```
//! (KIP-98; `DefaultRecordBatch` and `DefaultRecord` of Kafka.)

/// Position of the first record's offset, i64.
pub const BASE_OFFSET: usize = 0;
/// Position of the length of what follows it, i32.
pub const LENGTH: usize = BASE_OFFSET + 8;
/// Position of the leader epoch, i32.
pub const LEADER_EPOCH: usize = LENGTH + 4;
/// Position of the format, i8.
pub const MAGIC: usize = LEADER_EPOCH + 4;
/// Position of the checksum, u32.
pub const CRC: usize = MAGIC + 1;
/// Position of the attributes, i16: the first byte the checksum covers.
pub const ATTRIBUTES: usize = CRC + 4;
/// Position of the last record's offset relative to the first one's, i32.
pub const LAST_OFFSET_DELTA: usize = ATTRIBUTES + 2;
/// Position of the time the records' deltas count from, i64.
pub const BASE_TIMESTAMP: usize = LAST_OFFSET_DELTA + 4;
/// Position of the largest time, or the append time, i64.
pub const MAX_TIMESTAMP: usize = BASE_TIMESTAMP + 8;
/// Position of the producer id, i64.
pub const PRODUCER_ID: usize = MAX_TIMESTAMP + 8;
/// Position of the producer's epoch, i16.
pub const PRODUCER_EPOCH: usize = PRODUCER_ID + 8;
/// Position of the first record's sequence, i32.
pub const BASE_SEQUENCE: usize = PRODUCER_EPOCH + 2;
/// Position of the number of records, i32.
pub const RECORD_COUNT: usize = BASE_SEQUENCE + 4;

/// Bytes a broker writes afresh in front of each batch: base offset, length, leader epoch.
pub const HEAD_SIZE: usize = MAGIC;
/// Bytes of the whole header; records follow.
pub const HEADER_SIZE: usize = RECORD_COUNT + 4;
/// Bytes that the length does not count: base offset and the length itself.
pub const LENGTH_END: usize = LENGTH + 4;

/// The format this room reads and writes.
pub const MAGIC_V2: i8 = 2;
/// Attribute bits of the codec.
pub const CODEC_MASK: i16 = 0b111;
/// Attribute bit: the records' time is the broker's, in `max_timestamp`.
pub const APPEND_TIME_FLAG: i16 = 1 << 3;
/// Attribute bit: part of a transaction.
pub const TRANSACTIONAL_FLAG: i16 = 1 << 4;
/// Attribute bit: the record is a control record.
pub const CONTROL_FLAG: i16 = 1 << 5;

/// Attribute bit: the base timestamp is the time from which on the batch's tombstones, or its transaction marker, may
/// be forgotten (KIP-534).
pub const DELETE_HORIZON_FLAG: i16 = 1 << 6;

/// "None" in the producer id field.
pub const NO_PRODUCER_ID: i64 = -1;
/// "None" in the producer epoch field.
pub const NO_PRODUCER_EPOCH: i16 = -1;
/// "None" in the base sequence field.
pub const NO_SEQUENCE: i32 = -1;

const _: () = assert!(LENGTH == 8 && LENGTH_END == 12 && LEADER_EPOCH == 12);
const _: () = assert!(HEAD_SIZE == 16 && MAGIC == 16 && CRC == 17);
const _: () = assert!(ATTRIBUTES == 21 && LAST_OFFSET_DELTA == 23 && BASE_TIMESTAMP == 27);
const _: () = assert!(MAX_TIMESTAMP == 35 && PRODUCER_ID == 43 && PRODUCER_EPOCH == 51);
const _: () = assert!(BASE_SEQUENCE == 53 && RECORD_COUNT == 57 && HEADER_SIZE == 61);
