//! Names of folders and files, Kafka's own (classes `LogFileUtils` and `LocalLog`).
//!
//! ```text
//! <log dir>/<topic>-<partition>/<base offset, 20 digits>.log .index .timeindex .txnindex .snapshot
//! <log dir>/<topic>-<partition>.<32 hex digits>-delete|-future|-stray/
//! ```

use crate::base::Offset;
use crate::base::PartitionIndex;
use crate::base::TopicPartition;
use std::path::Path;
use std::path::PathBuf;

pub(crate) const META_PROPERTIES: &str = "meta.properties";
pub(crate) const CLEAN_SHUTDOWN: &str = ".kafka_cleanshutdown";
pub(crate) const RECOVERY_POINTS: &str = "recovery-point-offset-checkpoint";
pub(crate) const LOG_STARTS: &str = "log-start-offset-checkpoint";
pub(crate) const HIGH_WATERMARKS: &str = "replication-offset-checkpoint";
pub(crate) const CLEANER_OFFSETS: &str = "cleaner-offset-checkpoint";
pub(crate) const LEADER_EPOCHS: &str = "leader-epoch-checkpoint";
pub(crate) const PARTITION_METADATA: &str = "partition.metadata";

/// The longest name a file system takes; Kafka cuts the topic's name to fit (`logDirNameWithSuffixCappedLength`).
const NAME_MAX: usize = 255;

/// Kinds of files that belong to a segment or a producer snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Kind {
    Log,
    Index,
    TimeIndex,
    AbortedIndex,
    Snapshot,
}

impl Kind {
    pub(crate) const ALL: [Kind; 5] =
        [Kind::Log, Kind::Index, Kind::TimeIndex, Kind::AbortedIndex, Kind::Snapshot];

    fn extension(self) -> &'static str {
        match self {
            Kind::Log => "log",
            Kind::Index => "index",
            Kind::TimeIndex => "timeindex",
            Kind::AbortedIndex => "txnindex",
            Kind::Snapshot => "snapshot",
        }
    }
}

/// Where in a change a file was left; everything but `None` is ended when a partition is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intermediate {
    None,
    /// `.deleted`: to be removed.
    Deleted,
    /// `.cleaned`: an unfinished result of compaction; removed.
    Cleaned,
    /// `.swap`: a finished result that replaces the files it covers; renamed into place.
    Swap,
}

impl Intermediate {
    pub(crate) fn suffix(self) -> &'static str {
        match self {
            Intermediate::None => "",
            Intermediate::Deleted => ".deleted",
            Intermediate::Cleaned => ".cleaned",
            Intermediate::Swap => ".swap",
        }
    }
}

/// What a file name inside a partition's folder says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileName {
    pub(crate) base: Offset,
    pub(crate) kind: Kind,
    pub(crate) state: Intermediate,
}

impl FileName {
    /// Reads a name; `None` for files that are not a segment's.
    pub(crate) fn parse(name: &str) -> Option<FileName> {
        let (name, state) = [Intermediate::Deleted, Intermediate::Cleaned, Intermediate::Swap]
            .into_iter()
            .find_map(|state| name.strip_suffix(state.suffix()).map(|rest| (rest, state)))
            .unwrap_or((name, Intermediate::None));
        let (digits, extension) = name.split_once('.')?;
        if digits.len() != 20 || !digits.bytes().all(|letter| letter.is_ascii_digit()) {
            return None;
        }
        let kind = Kind::ALL.into_iter().find(|kind| kind.extension() == extension)?;
        Some(FileName { base: Offset(digits.parse().ok()?), kind, state })
    }
}

/// The name of a segment's file: the base offset with 20 digits and the kind's extension.
pub(crate) fn file_name(base: Offset, kind: Kind) -> String {
    format!("{:020}.{}", base.0, kind.extension())
}

/// The path of a segment's file in its partition's folder.
pub(crate) fn file_path(dir: &Path, base: Offset, kind: Kind) -> PathBuf {
    dir.join(file_name(base, kind))
}

/// A folder of a log directory, by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Folder {
    /// A partition in use.
    Partition(TopicPartition),
    /// `-delete`: a deleted partition whose files are still to be removed.
    Deleted,
    /// `-future`: a copy that was being made in another log directory.
    Future(TopicPartition),
    /// `-stray`: a partition that the cluster no longer knew.
    Stray,
    /// Not Kafka's.
    Foreign,
}

impl Folder {
    /// Reads a folder's name as `LocalLog.parseTopicPartitionName` does; what Kafka would refuse is `Foreign`.
    pub(crate) fn parse(name: &str) -> Folder {
        for (suffix, make) in SUFFIXES {
            if let Some(rest) = name.strip_suffix(suffix) {
                let partition = rest.rsplit_once('.').and_then(|(partition, unique)| {
                    let named = !unique.is_empty() && !unique.contains('-');
                    if named { parse_partition(partition) } else { None }
                });
                return partition.map_or(Folder::Foreign, make);
            }
        }
        parse_partition(name).map_or(Folder::Foreign, Folder::Partition)
    }
}

type MakeFolder = fn(TopicPartition) -> Folder;
const SUFFIXES: [(&str, MakeFolder); 3] =
    [("-delete", |_| Folder::Deleted), ("-future", Folder::Future), ("-stray", |_| Folder::Stray)];

fn parse_partition(name: &str) -> Option<TopicPartition> {
    let (topic, number) = name.rsplit_once('-')?;
    let legal = |letter: u8| letter.is_ascii_alphanumeric() || b"._-".contains(&letter);
    if topic.is_empty() || topic.len() > 249 || !topic.bytes().all(legal) {
        return None;
    }
    if number.is_empty() || !number.bytes().all(|letter| letter.is_ascii_digit()) {
        return None;
    }
    Some(TopicPartition::new(topic, PartitionIndex(number.parse().ok()?)))
}

/// The folder's name of a partition in use.
pub(crate) fn folder_name(partition: &TopicPartition) -> String {
    partition.to_string()
}

/// A fresh `-delete` name; the topic's name is cut so that all of it fits into 255 bytes.
pub(crate) fn deleted_folder_name(partition: &TopicPartition) -> String {
    capped(partition, "-delete")
}

/// A fresh `-future` name, cut like a `-delete` name.
pub(crate) fn future_folder_name(partition: &TopicPartition) -> String {
    capped(partition, "-future")
}

/// A fresh `-stray` name, cut like a `-delete` name.
pub(crate) fn stray_folder_name(partition: &TopicPartition) -> String {
    capped(partition, "-stray")
}

fn capped(partition: &TopicPartition, suffix: &str) -> String {
    let tail = format!("-{}.{}{suffix}", partition.partition, crate::io::random::uuid().simple());
    let room = NAME_MAX.saturating_sub(tail.len());
    // Topic names are ASCII, so a cut by letters is a cut by bytes.
    let topic: String = partition.topic.chars().take(room).collect();
    format!("{topic}{tail}")
}

/// Names that file systems, containers and Kafka put beside partitions and that need no warning (F11).
pub(crate) fn is_well_known(name: &str) -> bool {
    let known = [
        META_PROPERTIES,
        RECOVERY_POINTS,
        LOG_STARTS,
        HIGH_WATERMARKS,
        CLEANER_OFFSETS,
        "remote-log-index-cache",
        "bootstrap.checkpoint",
        "lost+found",
        "System Volume Information",
    ];
    name.starts_with('.') || known.contains(&name) || name.ends_with(".tmp")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(topic: &str, number: i32) -> TopicPartition {
        TopicPartition::new(topic, PartitionIndex(number))
    }

    #[test]
    fn segment_files_are_named_by_base_offset() {
        assert_eq!(file_name(Offset(0), Kind::Log), "00000000000000000000.log");
        assert_eq!(file_name(Offset(i64::MAX), Kind::AbortedIndex), "09223372036854775807.txnindex");
        for kind in Kind::ALL {
            for state in
                [Intermediate::None, Intermediate::Deleted, Intermediate::Cleaned, Intermediate::Swap]
            {
                let name = format!("{}{}", file_name(Offset(77), kind), state.suffix());
                assert_eq!(FileName::parse(&name), Some(FileName { base: Offset(77), kind, state }));
            }
        }
    }

    #[test]
    fn other_files_of_a_partition_are_left_alone() {
        for name in [
            "partition.metadata",
            "leader-epoch-checkpoint",
            "00000000000000000000-0000000001.checkpoint",
            "00000000000000000000.checkpoint.deleted",
            "1.log",
            "00000000000000000000",
            "99999999999999999999.log",
        ] {
            assert_eq!(FileName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn folders_are_read_as_kafka_reads_them() {
        let cases = [
            ("foo-0", Folder::Partition(partition("foo", 0))),
            ("a-b.c_d-12", Folder::Partition(partition("a-b.c_d", 12))),
            ("foo-0.0123456789abcdef0123456789abcdef-delete", Folder::Deleted),
            ("foo-3.0123456789abcdef0123456789abcdef-future", Folder::Future(partition("foo", 3))),
            ("foo-0.x-stray", Folder::Stray),
            ("bar-delete", Folder::Foreign),
            ("foo", Folder::Foreign),
            ("-1", Folder::Foreign),
            ("foo-", Folder::Foreign),
            ("foo--1x", Folder::Foreign),
            ("foo-99999999999", Folder::Foreign),
            ("lost+found", Folder::Foreign),
        ];
        for (name, folder) in cases {
            assert_eq!(Folder::parse(name), folder, "{name}");
        }
    }

    #[test]
    fn names_of_deleted_folders_fit_into_255_bytes() {
        let long = partition(&"x".repeat(249), 12345);
        for name in [deleted_folder_name(&long), stray_folder_name(&long)] {
            assert_eq!(name.len(), 255);
        }
        assert_eq!(Folder::parse(&deleted_folder_name(&long)), Folder::Deleted);
        let short = deleted_folder_name(&partition("foo", 1));
        assert!(short.starts_with("foo-1.") && short.ends_with("-delete"));
        assert_ne!(short, deleted_folder_name(&partition("foo", 1)));
    }
}
