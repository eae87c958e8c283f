//! `meta.properties` of a log directory (class `MetaProperties`, version 1): whose directory it is.

use crate::base::BrokerId;
use crate::base::Timestamp;
use crate::base::TopicId;

/// The id of a log directory (KIP-858): the same kind of text as a topic's id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DirectoryId(pub uuid::Uuid);

impl DirectoryId {
    /// A fresh id; ids below 100 are reserved (class `DirectoryId`), a random one never is.
    pub fn random() -> DirectoryId {
        DirectoryId(TopicId::random_from(crate::io::random::uuid).0)
    }
}

impl std::fmt::Display for DirectoryId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        TopicId(self.0).fmt(f)
    }
}

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) cluster_id: String,
    pub(crate) node_id: BrokerId,
    pub(crate) directory_id: DirectoryId,
}

impl Meta {
    /// The file's text, as Java's properties writer lays it out.
    pub(crate) fn encode(&self, now: Timestamp) -> String {
        format!(
            "#\n#{now} ms since 1970\ncluster.id={}\ndirectory.id={}\nnode.id={}\nversion=1\n",
            escape(&self.cluster_id),
            self.directory_id,
            self.node_id
        )
    }

    /// Reads the file. A directory id is missing in files written before Kafka 3.7: a fresh one is given.
    pub(crate) fn parse(text: &str) -> Result<Meta, String> {
        let value = |key: &str| properties(text).find(|(name, _)| name == key).map(|(_, value)| value);
        let version = value("version");
        if version.as_deref() != Some("1") {
            return Err(format!("version {} is not 1", version.as_deref().unwrap_or("(none)")));
        }
        let cluster_id = value("cluster.id").ok_or("cluster.id was not found")?;
        let node_id = value("node.id").ok_or("node.id was not found")?;
        let node_id: i32 = node_id.parse().map_err(|_| format!("node.id {node_id} is not a number"))?;
        let directory_id = match value("directory.id") {
            Some(id) => {
                let parsed = TopicId::parse(&id).ok_or_else(|| format!("directory.id {id} is not an id"))?;
                DirectoryId(parsed.0)
            }
            None => DirectoryId::random(),
        };
        Ok(Meta { cluster_id, node_id: BrokerId(node_id), directory_id })
    }

    /// Whether the text names a directory id of its own.
    pub(crate) fn has_directory_id(text: &str) -> bool {
        properties(text).any(|(name, _)| name == "directory.id")
    }
}

/// The keys and values of a properties text: `key=value`, `key:value` or `key value`, comments by `#` or `!`.
fn properties(text: &str) -> impl Iterator<Item = (String, String)> + '_ {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '!'])).map(|line| {
        let (key, value) = line.split_once(['=', ':']).or_else(|| line.split_once(' ')).unwrap_or((line, ""));
        (key.trim().to_owned(), unescape(value.trim()))
    })
}

fn escape(value: &str) -> String {
    let mut text = String::new();
    for letter in value.chars() {
        if matches!(letter, '=' | ':' | '#' | '!' | '\\') {
            text.push('\\');
        }
        text.push(letter);
    }
    text
}

fn unescape(value: &str) -> String {
    let mut text = String::new();
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        if letter == '\\' { text.extend(letters.next()) } else { text.push(letter) }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_written_by_kafka_is_read() {
        let text = "#\n#Wed Oct 02 10:00:00 UTC 2024\ndirectory.id=7OJZ4MFxS3yzXZ4CkL0nQw\nnode.id=1\nversion=1\n\
                    cluster.id=4L6g3nShT-eMCtK--X86sw\n";
        let meta = Meta::parse(text).unwrap();
        assert_eq!(meta.node_id, BrokerId(1));
        assert_eq!(meta.cluster_id, "4L6g3nShT-eMCtK--X86sw");
        assert_eq!(meta.directory_id.to_string(), "7OJZ4MFxS3yzXZ4CkL0nQw");
        assert_eq!(Meta::parse(&meta.encode(Timestamp(5))), Ok(meta));
    }

    #[test]
    fn odd_cluster_ids_survive() {
        let meta = Meta {
            cluster_id: "a=b:c#d\\e".to_owned(),
            node_id: BrokerId(3),
            directory_id: DirectoryId::random(),
        };
        assert_eq!(Meta::parse(&meta.encode(Timestamp(5))), Ok(meta));
    }

    #[test]
    fn what_is_missing_is_named() {
        for (text, expect) in [
            ("version=0\n", "version 0 is not 1"),
            ("version=1\nnode.id=1\n", "cluster.id was not found"),
            ("version=1\ncluster.id=x\n", "node.id was not found"),
        ] {
            assert_eq!(Meta::parse(text), Err(expect.to_owned()));
        }
    }
}
