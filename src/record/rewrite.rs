//! Putting a batch together again after a rule changed its header or its records.

use crate::base::Timestamp;
use crate::record::CheckedBatch;
use crate::record::batch::Header;
use crate::record::layout;
use crate::record::layout::HEADER_SIZE;
use crate::record::records::Error;
use crate::record::records::RawRecords;
use crate::record::varint;
use bytes::Bytes;

/// The batch of this header and these (already compressed) records; length and checksum are worked out here.
///
/// # Panics
/// When the batch would be 2 GiB or more.
pub(super) fn assemble(mut header: Header, records: &[u8], append_time: Timestamp) -> CheckedBatch {
    let size = HEADER_SIZE + records.len();
    header.length = i32::try_from(size - layout::LENGTH_END).expect("a batch is below 2 GiB");
    let mut bytes = Vec::with_capacity(size);
    bytes.extend_from_slice(&header.encode());
    bytes.extend_from_slice(records);
    header.crc = crc_fast::crc32_iscsi(bytes.get(layout::ATTRIBUTES..).expect("the header is there"));
    bytes
        .get_mut(layout::CRC..layout::ATTRIBUTES)
        .expect("the header is there")
        .copy_from_slice(&header.crc.to_be_bytes());
    CheckedBatch::vouch(header, Bytes::from(bytes), append_time)
}

/// The records with offset deltas 0, 1, 2 ...; everything else in them stays byte for byte.
///
/// # Errors
/// As the records' iterator.
pub(super) fn renumber(body: &[u8], count: i32) -> Result<Vec<u8>, Error> {
    let mut renumbered = Vec::with_capacity(body.len());
    let mut fields = Vec::new();
    for (index, record) in (0..).zip(RawRecords::new(body, count)?) {
        let record = record?;
        fields.clear();
        fields.push(record.attributes);
        varint::put_varlong(&mut fields, record.timestamp_delta);
        varint::put_varint(&mut fields, index);
        fields.extend_from_slice(record.payload);
        varint::put_nullable_bytes(&mut renumbered, Some(&fields));
    }
    Ok(renumbered)
}
