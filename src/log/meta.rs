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
        let head = format!("#\n#{now} ms since 1970\ncluster.id=");
        let tail = format!("\ndirectory.id={}\nnode.id={}\nversion=1\n", self.directory_id, self.node_id);
        let id = escaped(&self.cluster_id);
        let size = id.clone().map(char::len_utf8).sum::<usize>() + head.len() + tail.len();
        let mut text = String::with_capacity(size);
        text.push_str(&head);
        text.extend(id);
        text.push_str(&tail);
        text
    }

    /// Reads the file. A directory id is missing in files written before Kafka 3.7: a fresh one is given.
    pub(crate) fn parse(text: &str) -> Result<Meta, String> {
        let version = value(text, "version")?;
        if version.as_deref() != Some("1") {
            return Err(format!("version {} is not 1", version.as_deref().unwrap_or("(none)")));
        }
        let cluster_id = value(text, "cluster.id")?.ok_or("cluster.id was not found")?;
        let node_id = value(text, "node.id")?.ok_or("node.id was not found")?;
        let node_id: i32 = node_id.parse().map_err(|_| format!("node.id {node_id} is not a number"))?;
        let directory_id = match value(text, "directory.id")? {
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

/// The keys and values of a properties text as they stand there: `key=value`, `key:value` or `key value`, comments by
/// `#` or `!`.
fn properties(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['#', '!'])).map(|line| {
        let (key, value) = line.split_once(['=', ':']).or_else(|| line.split_once(' ')).unwrap_or((line, ""));
        (key.trim(), value.trim())
    })
}

/// The value of a key, in memory of just its size; the last one counts, as in Java.
fn value(text: &str, key: &str) -> Result<Option<String>, String> {
    let Some((_, raw)) = properties(text).filter(|(name, _)| *name == key).last() else { return Ok(None) };
    let letters = Unescape { rest: raw };
    let size = letters.clone().map(|letter| letter.map_or(0, char::len_utf8)).sum();
    let mut value = String::with_capacity(size);
    for letter in letters {
        value.push(letter.ok_or_else(|| format!("{key} has a malformed \\u"))?);
    }
    Ok(Some(value))
}

/// A value's letters as Java's properties writer writes them. What would be taken for space around the value gets a
/// number.
fn escaped(value: &str) -> impl Iterator<Item = char> + Clone {
    let end = value.char_indices().next_back().map_or(0, |(place, _)| place);
    value.char_indices().flat_map(move |(place, letter)| {
        let (escape, number) = match letter {
            '=' | ':' | '#' | '!' | '\\' => (Some(letter), None),
            '\t' => (Some('t'), None),
            '\n' => (Some('n'), None),
            '\r' => (Some('r'), None),
            '\u{c}' => (Some('f'), None),
            // Every letter that counts as space lies below U+FFFF.
            _ if letter.is_whitespace() && (place == 0 || place == end) => {
                (Some('u'), Some(u32::from(letter)))
            }
            _ => (None, None),
        };
        let digits = number.into_iter().flat_map(|number| {
            [12u32, 8, 4, 0]
                .into_iter()
                .filter_map(move |shift| char::from_digit((number >> shift) & 0xf, 16))
        });
        let plain = escape.is_none().then_some(letter);
        escape.map(|_| '\\').into_iter().chain(escape).chain(plain).chain(digits)
    })
}

/// The letters that a value in the file stands for; `None` for a malformed `\uXXXX`.
#[derive(Clone)]
struct Unescape<'a> {
    rest: &'a str,
}

impl Unescape<'_> {
    fn one(&mut self) -> Option<char> {
        let mut letters = self.rest.chars();
        let letter = letters.next();
        self.rest = letters.as_str();
        letter
    }

    /// Two bytes of UTF-16 in four hexadecimal digits.
    fn unit(&mut self) -> Option<u16> {
        let (digits, rest) = self.rest.split_at_checked(4)?;
        self.rest = rest;
        // `from_str_radix` would take a sign.
        digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
        u16::from_str_radix(digits, 16).ok()
    }

    fn numbered(&mut self) -> Option<char> {
        let first = self.unit()?;
        if (0xd800..0xdc00).contains(&first) {
            self.rest = self.rest.strip_prefix("\\u")?;
            let pair = [first, self.unit()?];
            return char::decode_utf16(pair).next()?.ok();
        }
        char::from_u32(u32::from(first))
    }
}

impl Iterator for Unescape<'_> {
    type Item = Option<char>;

    fn next(&mut self) -> Option<Option<char>> {
        let letter = self.one()?;
        if letter != '\\' {
            return Some(Some(letter));
        }
        // A backslash at the end stands for nothing.
        let escape = self.one()?;
        Some(match escape {
            't' => Some('\t'),
            'n' => Some('\n'),
            'r' => Some('\r'),
            'f' => Some('\u{c}'),
            'u' => self.numbered(),
            other => Some(other),
        })
    }
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
        for id in [
            "a=b:c#d\\e",
            " a b ",
            "\u{85}a\u{2028}",
            "\t\n\r\u{c}",
            " ",
            "",
            "\\ ",
            "\u{b}x\u{b}y\u{b}",
            "äß \u{1f600}",
        ] {
            let meta =
                Meta { cluster_id: id.to_owned(), node_id: BrokerId(3), directory_id: DirectoryId::random() };
            assert_eq!(Meta::parse(&meta.encode(Timestamp(5))), Ok(meta));
        }
    }

    #[test]
    fn escapes_are_javas_and_the_last_line_of_a_key_counts() {
        let id = |value: &str| {
            let text = format!("version=1\nnode.id=1\ncluster.id=other\ncluster.id={value}\n");
            Meta::parse(&text).map(|meta| meta.cluster_id)
        };
        for (value, expect) in [
            ("a\\tb\\n\\r\\f", "a\tb\n\r\u{c}"),
            ("\\u0041\\u00e4\\ud83d\\uDE00\\ x", "A\u{e4}\u{1f600} x"),
            ("\\ x\\", " x"),
        ] {
            assert_eq!(id(value).as_deref(), Ok(expect), "{value}");
        }
        for bad in
            ["\\u", "\\u004", "\\u+041", "\\u00\u{e4}", "\\ud83d", "\\ud83dx", "\\ud83d\\u0041", "\\udc00"]
        {
            assert_eq!(id(bad), Err(String::from("cluster.id has a malformed \\u")), "{bad}");
        }
    }

    #[test]
    fn a_long_value_is_held_and_written_in_memory_of_its_size() {
        let size = 1 << 16;
        let meta = Meta::parse(&format!("version=1\nnode.id=1\ncluster.id={}", "=".repeat(size))).unwrap();
        assert_eq!((meta.cluster_id.len(), meta.cluster_id.capacity()), (size, size));
        let text = meta.encode(Timestamp(5));
        assert_eq!(text.len(), text.capacity(), "made once, of the right size");
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
