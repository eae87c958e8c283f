//! `CheckedBatch`: one batch of which the check, or our own builder, says that it may be stored.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::Timestamp;
use crate::record::batch::Header;
use crate::record::layout;
use bytes::Bytes;

/// One whole batch of format 2 with a right checksum that follows its topic's rules.
/// Only [`check`](crate::record::check::check) and [`BatchBuilder`](crate::record::BatchBuilder) make one.
#[derive(Clone, Debug)]
pub struct CheckedBatch {
    header: Header,
    bytes: Bytes,
    append_time: Timestamp,
}

impl CheckedBatch {
    /// Vouches for `bytes`, which begin with `header` and are exactly that batch.
    pub(super) fn vouch(header: Header, bytes: Bytes, append_time: Timestamp) -> CheckedBatch {
        assert!(header.total_size() == bytes.len() && header.magic == layout::MAGIC_V2);
        CheckedBatch { header, bytes, append_time }
    }

    /// The header; its base offset and leader epoch are not the log's yet.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The batch as it came or was built.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The first [`layout::HEAD_SIZE`] bytes, afresh: with the log's offset for the first record and its leader's epoch.
    pub fn head(&self, base: Offset, epoch: LeaderEpoch) -> Bytes {
        let mut head = Vec::with_capacity(layout::HEAD_SIZE);
        head.extend_from_slice(&base.0.to_be_bytes());
        head.extend_from_slice(&self.header.length.to_be_bytes());
        head.extend_from_slice(&epoch.0.to_be_bytes());
        Bytes::from(head)
    }

    /// All bytes behind the head, not copied.
    pub fn rest(&self) -> Bytes {
        self.bytes.slice(layout::HEAD_SIZE..)
    }

    /// The broker's time that the topic gave the records; [`Timestamp::NONE`] where they keep the producer's.
    pub fn append_time(&self) -> Timestamp {
        self.append_time
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::BatchBuilder;
    use crate::record::Codec;
    use crate::record::is_intact;

    #[test]
    fn head_and_rest_are_the_batch_with_the_logs_offset_and_epoch() {
        let mut builder = BatchBuilder::new(Codec::None, Timestamp(5));
        builder.push(Some(b"k"), Some(b"v"), &[], Timestamp(5));
        let batch = builder.build();
        let stored = [batch.head(Offset(1_000), LeaderEpoch(4)), batch.rest()].concat();
        assert!(is_intact(&stored));
        let header = Header::parse(&stored).unwrap();
        assert_eq!((header.base_offset, header.leader_epoch), (1_000, 4));
        assert_eq!(header, Header { base_offset: 1_000, leader_epoch: 4, ..*batch.header() });
    }
}
