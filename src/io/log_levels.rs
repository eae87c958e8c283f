//! How much the process writes to its log: levels that can be changed while it runs, by the part of the program.
//!
//! They are the process's, as standard error is: who changes one here is heard by whoever writes the lines.

use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use tokio::sync::watch;

/// The logger that all others follow that have no level of their own.
pub const ROOT: &str = "root";

/// The parts of the program that have a level of their own.
const PARTS: [&str; 16] = [
    "admin",
    "broker",
    "cli",
    "cluster",
    "config",
    "coordinator",
    "groups",
    "io",
    "log",
    "net",
    "quota",
    "record",
    "replica",
    "server",
    "share",
    "txn",
];

/// Names that a part goes by in tools.
const PREFIX: &str = "dohle.";

/// A level, from few lines to many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What a person has to act on.
    Error,
    /// What may become a trouble.
    Warn,
    /// What happens now and then.
    Info,
    /// What happens with each request.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    /// The level with one of Kafka's names (`LogLevelConfig`).
    pub fn from_name(name: &str) -> Option<Level> {
        match name {
            "FATAL" | "ERROR" => Some(Level::Error),
            "WARN" => Some(Level::Warn),
            "INFO" => Some(Level::Info),
            "DEBUG" => Some(Level::Debug),
            "TRACE" => Some(Level::Trace),
            _ => None,
        }
    }

    /// Kafka's name.
    pub fn name(self) -> &'static str {
        match self {
            Level::Error => "ERROR",
            Level::Warn => "WARN",
            Level::Info => "INFO",
            Level::Debug => "DEBUG",
            Level::Trace => "TRACE",
        }
    }
}

/// The levels that were changed, by logger.
type Changed = BTreeMap<&'static str, Level>;

static AT_THE_START: OnceLock<&str> = OnceLock::new();
static CHANGED: Mutex<Changed> = Mutex::new(BTreeMap::new());
static CHANGES: Mutex<Option<watch::Sender<Changed>>> = Mutex::new(None);

/// Remembers the most lines that any part may write until levels are changed: a level's name, or `OFF`.
pub fn started_with(level: &'static str) {
    AT_THE_START.set(level).unwrap_or(());
}

/// The level of the loggers that were given none; `INFO` for a process that does not say.
pub fn at_the_start() -> &'static str {
    AT_THE_START.get().copied().unwrap_or("INFO")
}

/// The names of all loggers, the root first.
pub fn loggers() -> impl Iterator<Item = String> {
    std::iter::once(ROOT.to_owned()).chain(PARTS.iter().map(|part| format!("{PREFIX}{part}")))
}

/// The program's part that a logger stands for: `root`, or the name of a room; `None` for no logger.
fn part_of(logger: &str) -> Option<&'static str> {
    if logger == ROOT {
        return Some(ROOT);
    }
    let part = logger.strip_prefix(PREFIX)?;
    PARTS.iter().find(|known| **known == part).copied()
}

/// Whether there is such a logger.
pub fn is_logger(logger: &str) -> bool {
    part_of(logger).is_some()
}

/// The level that a logger was given while the process runs; `None` where it has none of its own.
pub fn level_of(logger: &str) -> Option<Level> {
    CHANGED.lock().get(part_of(logger)?).copied()
}

/// Gives a logger a level, or with `None` takes it away. Loggers that do not exist are passed over.
pub fn set(logger: &str, level: Option<Level>) {
    let Some(part) = part_of(logger) else { return };
    let mut changed = CHANGED.lock();
    match level {
        Some(level) => changed.insert(part, level),
        None => changed.remove(part),
    };
    if let Some(changes) = CHANGES.lock().as_ref() {
        changes.send_replace(changed.clone());
    }
}

/// Sees each later state of the levels that were changed.
pub fn watch() -> watch::Receiver<Changed> {
    let changed = CHANGED.lock().clone();
    let mut changes = CHANGES.lock();
    changes.get_or_insert_with(|| watch::channel(changed).0).subscribe()
}

/// The filter that gives these levels on top of another one.
pub fn filter(base: &str, changed: &Changed) -> String {
    let mut filter = base.to_owned();
    for (part, level) in changed {
        let level = level.name().to_lowercase();
        let one = if *part == ROOT { level } else { format!("dohle::{part}={level}") };
        filter.push(',');
        filter.push_str(&one);
    }
    filter
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_room_that_writes_to_the_log_has_a_level() {
        let rooms = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src")).unwrap();
        for room in rooms.map(|room| room.unwrap().path()).filter(|path| path.is_dir()) {
            let mut folders = vec![room.clone()];
            let mut logs = false;
            while let Some(folder) = folders.pop() {
                for path in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                    if path.is_dir() {
                        folders.push(path);
                    } else {
                        logs |=
                            std::fs::read_to_string(path).is_ok_and(|text| text.contains("use tracing::"));
                    }
                }
            }
            let name = room.file_name().unwrap().to_str().unwrap();
            assert!(!logs || PARTS.contains(&name), "{name} has no level");
        }
    }

    #[test]
    fn a_filter_has_the_root_and_each_part_that_was_changed() {
        let changed = Changed::from([("root", Level::Warn), ("net", Level::Trace)]);
        assert_eq!(filter("info,dohle::log=debug", &changed), "info,dohle::log=debug,dohle::net=trace,warn");
        assert_eq!(Level::from_name("FATAL"), Some(Level::Error));
        assert_eq!(Level::from_name("info"), None);
    }

    #[test]
    fn only_loggers_that_exist_take_a_level_and_watchers_see_it() {
        let mut levels = watch();
        set("dohle.cli", Some(Level::Debug));
        set("nobody", Some(Level::Debug));
        assert!(levels.has_changed().unwrap());
        assert_eq!(levels.borrow_and_update().get("cli"), Some(&Level::Debug));
        assert_eq!((level_of("dohle.cli"), level_of("nobody")), (Some(Level::Debug), None));
        set("dohle.cli", None);
        assert_eq!(level_of("dohle.cli"), None);
        assert!(loggers().all(|logger| is_logger(&logger)));
    }
}
