//! Kafka's small text files (classes `OffsetCheckpointFile`, `CleanShutdownFileHandler`, `PartitionMetadataFile`).
//!
//! Offset checkpoints: version `0`, the number of lines, then `topic partition offset` on each line.

use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::base::TopicPartition;
use crate::io::disk::Disk;
use crate::io::durable;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Text files larger than this are refused: about two million partitions.
const SIZE_MAX: u64 = 256 << 20;

/// Offsets by partition.
pub(crate) type Offsets = BTreeMap<TopicPartition, Offset>;

/// The lines after version and count; `None` when version is not 0 or lines are missing or left over. They are
/// counted without being held: a list of short lines is many times larger than its text.
pub(crate) fn parse_lines(text: &str) -> Option<impl Iterator<Item = &str>> {
    let mut lines = text.lines();
    if lines.next()?.trim() != "0" {
        return None;
    }
    let count: usize = lines.next()?.trim().parse().ok()?;
    let rest = lines.map(str::trim).filter(|line| !line.is_empty());
    (rest.clone().count() == count).then_some(rest)
}

/// The text of an offset checkpoint.
pub(crate) fn encode_offsets(offsets: &Offsets) -> String {
    let mut text = format!("0\n{}\n", offsets.len());
    for (partition, offset) in offsets {
        text.push_str(&format!("{} {} {offset}\n", partition.topic, partition.partition));
    }
    text
}

/// Reads an offset checkpoint; `None` when it is not a whole one.
pub(crate) fn parse_offsets(text: &str) -> Option<Offsets> {
    let mut offsets = Offsets::new();
    for line in parse_lines(text)? {
        let mut words = line.split_whitespace();
        let (topic, index, offset) = (words.next()?, words.next()?, words.next()?);
        let offset: i64 = offset.parse().ok()?;
        if words.next().is_some() || offset < 0 {
            return None;
        }
        let partition = TopicPartition::new(topic, PartitionIndex(index.parse().ok()?));
        offsets.insert(partition, Offset(offset));
    }
    Some(offsets)
}

/// The text of `.kafka_cleanshutdown`; the broker epoch is -1 when there is none (KIP-966).
pub(crate) fn encode_clean_shutdown(broker_epoch: i64) -> String {
    format!("{{\"version\":0,\"brokerEpoch\":{broker_epoch}}}")
}

/// The broker epoch of `.kafka_cleanshutdown`; `None` when it names none. The file counts by its presence alone.
pub(crate) fn parse_clean_shutdown(text: &str) -> Option<i64> {
    let (_, rest) = text.split_once("\"brokerEpoch\"")?;
    let number = rest.trim_start().strip_prefix(':')?.trim_start();
    let end = number.find(|letter: char| letter != '-' && !letter.is_ascii_digit()).unwrap_or(number.len());
    number.get(..end)?.parse().ok()
}

/// The text of `partition.metadata`.
pub(crate) fn encode_partition_metadata(topic: TopicId) -> String {
    format!("version: 0\ntopic_id: {topic}")
}

/// The topic id of `partition.metadata`; `None` when it is not one of version 0.
pub(crate) fn parse_partition_metadata(text: &str) -> Option<TopicId> {
    let mut lines = text.lines();
    if lines.next()?.trim() != "version: 0" {
        return None;
    }
    TopicId::parse(lines.next()?.strip_prefix("topic_id:")?.trim()).filter(|id| !id.is_zero())
}

/// Reads a small text file; `None` when there is none.
pub(crate) fn read_text(disk: &Disk, path: &Path) -> io::Result<Option<String>> {
    let bytes = match disk.read(path, SIZE_MAX) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    String::from_utf8(bytes).map(Some).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

/// Writes a small text file so that a crash leaves the old or the new one.
pub(crate) fn write_text(disk: &Disk, path: &Path, text: &str) -> io::Result<()> {
    durable::write_atomically(disk, path, text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offset_checkpoints_are_kafkas_text() {
        let mut offsets = Offsets::new();
        offsets.insert(TopicPartition::new("b", PartitionIndex(0)), Offset(7));
        offsets.insert(TopicPartition::new("a-1", PartitionIndex(12)), Offset(1 << 40));
        let text = encode_offsets(&offsets);
        assert_eq!(text, "0\n2\na-1 12 1099511627776\nb 0 7\n");
        assert_eq!(parse_offsets(&text), Some(offsets));
    }

    #[test]
    fn torn_or_foreign_checkpoints_are_refused() {
        for bad in
            ["", "0\n", "0\n1\n", "0\n1\na 0\n", "0\n1\na 0 x\n", "0\n1\na 0 -1\n", "1\n0\n", "0\n0\na 0 1\n"]
        {
            assert_eq!(parse_offsets(bad), None, "{bad:?}");
        }
        assert_eq!(parse_offsets("0\n0\n"), Some(Offsets::new()));
    }

    #[test]
    fn the_clean_shutdown_file_is_kafkas_json() {
        assert_eq!(encode_clean_shutdown(-1), "{\"version\":0,\"brokerEpoch\":-1}");
        assert_eq!(parse_clean_shutdown(&encode_clean_shutdown(42)), Some(42));
        assert_eq!(parse_clean_shutdown("{ \"brokerEpoch\" : 5 , \"version\":0}"), Some(5));
        assert_eq!(parse_clean_shutdown(""), None);
    }

    #[test]
    fn partition_metadata_names_the_topic_id() {
        let id = TopicId::random_from(crate::io::random::uuid);
        let text = encode_partition_metadata(id);
        assert_eq!(text, format!("version: 0\ntopic_id: {id}"));
        assert_eq!(parse_partition_metadata(&text), Some(id));
        assert_eq!(parse_partition_metadata("version: 1\ntopic_id: x"), None);
        assert_eq!(parse_partition_metadata(&encode_partition_metadata(TopicId::ZERO)), None);
    }
}
