//! One session: its partitions, in the order in which they get their turn.

use super::Key;
use super::News;
use super::Wanted;
use std::collections::BTreeMap;
use std::collections::HashMap;

/// What is remembered of one partition.
#[derive(Debug)]
struct Cached {
    key: Key,
    wanted: Wanted,
    /// The high watermark that the client was told last; -1 after an error.
    high_watermark: i64,
    /// The log's start that the client was told last.
    log_start: i64,
}

/// A session. Partitions that were answered with records go to the end of the line, so that none starves.
#[derive(Debug)]
pub(crate) struct Session {
    /// Whether topics are named by id.
    pub(super) topic_ids: bool,
    /// The epoch of the next request.
    pub(super) epoch: i32,
    line: BTreeMap<u64, Cached>,
    turns: HashMap<Key, u64>,
    next_turn: u64,
}

impl Session {
    pub(super) fn new(topic_ids: bool, epoch: i32) -> Session {
        Session { topic_ids, epoch, line: BTreeMap::new(), turns: HashMap::new(), next_turn: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.turns.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turns.is_empty()
    }

    /// Remembers a partition with what the client was told of it.
    pub(super) fn insert(&mut self, key: Key, wanted: Wanted, told: News) {
        let high_watermark = if told.error { -1 } else { told.high_watermark };
        self.put(Cached { key, wanted, high_watermark, log_start: told.log_start });
    }

    fn put(&mut self, cached: Cached) {
        let turn = self.next_turn;
        self.next_turn += 1;
        if let Some(before) = self.turns.insert(cached.key.clone(), turn) {
            self.line.remove(&before);
        }
        self.line.insert(turn, cached);
    }

    /// Takes in a request: new partitions stand at the end, known ones keep their place.
    pub(super) fn update(&mut self, named: &[(Key, Wanted)], forgotten: &[Key]) {
        for (key, wanted) in named {
            match self.turns.get(key).and_then(|turn| self.line.get_mut(turn)) {
                Some(cached) => cached.wanted = *wanted,
                None => {
                    self.put(Cached { key: key.clone(), wanted: *wanted, high_watermark: -1, log_start: -1 })
                }
            }
        }
        for key in forgotten {
            if let Some(turn) = self.turns.remove(key) {
                self.line.remove(&turn);
            }
        }
    }

    /// All that is to be fetched, in order.
    pub(super) fn wanted(&self) -> Vec<(Key, Wanted)> {
        self.line.values().map(|cached| (cached.key.clone(), cached.wanted)).collect()
    }

    /// Whether the client needs to see this answer (`CachedPartition.maybeUpdateResponseData`).
    pub(super) fn answered(&mut self, key: &Key, news: News) -> bool {
        let Some(turn) = self.turns.get(key).copied() else { return true };
        let Some(cached) = self.line.get_mut(&turn) else { return true };
        let mut show = news.records || news.error || news.redirect;
        if cached.high_watermark != news.high_watermark {
            show = true;
            cached.high_watermark = news.high_watermark;
        }
        if cached.log_start != news.log_start {
            show = true;
            cached.log_start = news.log_start;
        }
        if news.error {
            // Makes sure that the end of the error is news.
            cached.high_watermark = -1;
        }
        if news.records
            && let Some(cached) = self.line.remove(&turn)
        {
            self.put(cached);
        }
        show
    }
}
