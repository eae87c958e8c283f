//! Doors to the readers of this room's files for `fuzz/`: each reads bytes that nobody checked, and panics when what
//! was read does not survive being written and read again.

use crate::base::Timestamp;
use crate::log::aborted_index;
use crate::log::checkpoint;
use crate::log::epochs::Epochs;
use crate::log::layout;
use crate::log::layout::FileName;
use crate::log::layout::Folder;
use crate::log::meta::Meta;
use crate::log::offset_index;
use crate::log::offset_index::Entries;
use crate::log::offset_index::FileIndex;
use crate::log::offset_index::TailIndex;
use crate::log::producer_snapshot;
use crate::log::time_index::TimeIndex;
use bytes::Bytes;

/// An `.index` file of a segment with `log_size` bytes. Whether it was taken.
pub fn offset_index(bytes: Bytes, log_size: u64) -> bool {
    let Some(index) = FileIndex::parse(bytes.clone(), log_size) else { return false };
    let entries: Vec<offset_index::Entry> = index.iter().collect();
    for (one, other) in entries.iter().zip(entries.iter().skip(1)) {
        assert!(one.relative < other.relative && one.position < other.position, "entries ascend");
    }
    for entry in &entries {
        assert!(u64::from(entry.position) < log_size, "an entry lies in its segment");
        assert_eq!(index.floor(entry.relative), Some(*entry));
        assert_eq!(index.floor_position(entry.position), Some(*entry));
    }
    let tail = TailIndex::with(entries);
    let written = tail.encode_from(0);
    assert_eq!(bytes.get(..written.len()), Some(written.as_slice()), "entries are written as they were read");
    true
}

/// A `.timeindex` file. Whether it was taken.
pub fn time_index(bytes: &[u8]) -> bool {
    let Some(index) = TimeIndex::parse(bytes) else { return false };
    let written = index.encode_from(0);
    assert_eq!(bytes.get(..written.len()), Some(written.as_slice()), "entries are written as they were read");
    if let Some(last) = index.last() {
        assert_eq!(index.floor(last.timestamp), Some(last));
        assert_eq!(index.floor(Timestamp(i64::MAX)), Some(last));
    }
    true
}

/// A `.txnindex` file. How many entries were taken.
pub fn aborted_index(bytes: &[u8]) -> usize {
    let (entries, good) = aborted_index::parse(bytes);
    let written = aborted_index::encode(&entries);
    assert_eq!(bytes.get(..good), Some(written.as_slice()), "entries are written as they were read");
    entries.len()
}

/// A `.snapshot` file of producers. Whether it was taken.
pub fn producer_snapshot(bytes: &[u8]) -> bool {
    let Ok(read) = producer_snapshot::decode(bytes) else { return false };
    let again = producer_snapshot::decode(&producer_snapshot::encode(&read));
    let again = again.expect("what was written is read");
    let sorted = |producers: &crate::log::producers::Producers| {
        let mut list = producers.list();
        list.sort_by_key(|producer| producer.id);
        list
    };
    assert_eq!(sorted(&read), sorted(&again));
    assert_eq!(read.first_unstable(), again.first_unstable());
    true
}

/// An offset checkpoint. Whether it was taken.
pub fn offset_checkpoint(text: &str) -> bool {
    let Some(offsets) = checkpoint::parse_offsets(text) else { return false };
    assert_eq!(checkpoint::parse_offsets(&checkpoint::encode_offsets(&offsets)), Some(offsets));
    true
}

/// A `leader-epoch-checkpoint`. Whether it was taken.
pub fn epoch_checkpoint(text: &str) -> bool {
    let Some(epochs) = Epochs::parse(text) else { return false };
    assert_eq!(Epochs::parse(&epochs.encode()), Some(epochs));
    true
}

/// A `.kafka_cleanshutdown`. Whether it names a broker epoch.
pub fn clean_shutdown(text: &str) -> bool {
    let Some(epoch) = checkpoint::parse_clean_shutdown(text) else { return false };
    assert_eq!(checkpoint::parse_clean_shutdown(&checkpoint::encode_clean_shutdown(epoch)), Some(epoch));
    true
}

/// A `partition.metadata`. Whether it was taken.
pub fn partition_metadata(text: &str) -> bool {
    let Some(id) = checkpoint::parse_partition_metadata(text) else { return false };
    assert_eq!(checkpoint::parse_partition_metadata(&checkpoint::encode_partition_metadata(id)), Some(id));
    true
}

/// A `meta.properties`. Whether it was taken.
pub fn meta_properties(text: &str) -> bool {
    let Ok(meta) = Meta::parse(text) else { return false };
    assert_eq!(Meta::parse(&meta.encode(Timestamp(7))), Ok(meta));
    true
}

/// The name of a folder in a log directory, and of a file in a partition's folder. Whether it is one of Kafka's.
pub fn name(name: &str) -> bool {
    let file = FileName::parse(name);
    if let Some(file) = file {
        let written = format!("{}{}", layout::file_name(file.base, file.kind), file.state.suffix());
        assert_eq!(FileName::parse(&written), Some(file));
    }
    let folder = Folder::parse(name);
    if let Folder::Partition(partition) = &folder {
        let text = format!("{}-{}", partition.topic, partition.partition);
        assert_eq!(Folder::parse(&text), folder);
    }
    file.is_some() || folder != Folder::Foreign
}
