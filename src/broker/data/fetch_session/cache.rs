//! The sessions that there is room for, and who must go when there is none.
//!
//! A new session may take the place of another one that (a) was not used for two minutes, or (b) is a consumer's
//! while the new one is a follower's, or (c) is older than two minutes and has fewer partitions
//! (`FetchSessionCacheShard.tryEvict`).

use super::session::Session;
use crate::base::Instant;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// `FetchSessionCache` of Kafka: after this long a session may be evicted.
const EVICT_AFTER: Duration = Duration::from_secs(120);
/// How many partitions all sessions remember together; bounds memory, since one request may name millions.
const PARTITIONS_MAX: usize = 1 << 20;

#[derive(Debug)]
struct Entry {
    session: Arc<Mutex<Session>>,
    privileged: bool,
    created: Instant,
    last_used: Instant,
    size: usize,
}

impl Entry {
    /// Who is worth less comes first.
    fn rank(&self, id: i32) -> Rank {
        (self.privileged, self.size, id)
    }
}

type Rank = (bool, usize, i32);

#[derive(Debug)]
pub(super) struct Cache {
    slots: usize,
    sessions: HashMap<i32, Entry>,
    by_use: BTreeSet<(Instant, i32)>,
    /// Sessions that any new one may replace: old enough.
    evictable_by_all: BTreeSet<Rank>,
    /// Sessions that a follower's may replace: those, and all of consumers.
    evictable_by_privileged: BTreeSet<Rank>,
    partitions: usize,
    /// Sessions that had to go for another one.
    evicted: u64,
}

impl Cache {
    pub(super) fn new(slots: usize) -> Cache {
        Cache {
            slots,
            sessions: HashMap::new(),
            by_use: BTreeSet::new(),
            evictable_by_all: BTreeSet::new(),
            evictable_by_privileged: BTreeSet::new(),
            partitions: 0,
            evicted: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    pub(super) fn partitions(&self) -> usize {
        self.partitions
    }

    pub(super) fn evicted(&self) -> u64 {
        self.evicted
    }

    pub(super) fn get(&self, id: i32) -> Option<Arc<Mutex<Session>>> {
        self.sessions.get(&id).map(|entry| Arc::clone(&entry.session))
    }

    /// Whether this session with `size` partitions is more than can be remembered.
    pub(super) fn exceeds(&self, id: i32, size: usize) -> bool {
        let before = self.sessions.get(&id).map_or(0, |entry| entry.size);
        self.partitions.saturating_sub(before).saturating_add(size) > PARTITIONS_MAX
    }

    /// Whether there is room for one more with `size` partitions, after evicting at most one.
    pub(super) fn make_room(&mut self, privileged: bool, size: usize, now: Instant) -> bool {
        if self.partitions.saturating_add(size) > PARTITIONS_MAX {
            return false;
        }
        self.sessions.len() < self.slots || self.evict(privileged, size, now)
    }

    fn evict(&mut self, privileged: bool, size: usize, now: Instant) -> bool {
        let Some((last_used, oldest)) = self.by_use.first().copied() else { return false };
        if now.since(last_used) > EVICT_AFTER {
            self.remove(oldest);
            self.evicted += 1;
            return true;
        }
        let candidates = if privileged { &self.evictable_by_privileged } else { &self.evictable_by_all };
        let Some(least) = candidates.first().copied() else { return false };
        if (privileged, size, 0) < least {
            return false;
        }
        self.remove(least.2);
        self.evicted += 1;
        true
    }

    /// Adds a session and gives its id.
    pub(super) fn insert(&mut self, session: Session, privileged: bool, now: Instant) -> i32 {
        let id = self.fresh_id();
        let size = session.len();
        let session = Arc::new(Mutex::new(session));
        self.sessions.insert(id, Entry { session, privileged, created: now, last_used: now, size });
        self.partitions += size;
        self.touch(id, size, now);
        id
    }

    /// Ids are random, so that a client with an id of before a restart does not step into another one's session.
    fn fresh_id(&self) -> i32 {
        loop {
            let random = crate::io::random::uuid().as_u128() & 0x7fff_ffff;
            if let Ok(id) = i32::try_from(random)
                && id != super::NO_SESSION
                && !self.sessions.contains_key(&id)
            {
                return id;
            }
        }
    }

    /// Notes that a session was used and how large it is now.
    pub(super) fn touch(&mut self, id: i32, size: usize, now: Instant) {
        let Some(entry) = self.sessions.get_mut(&id) else { return };
        self.by_use.remove(&(entry.last_used, id));
        self.evictable_by_all.remove(&entry.rank(id));
        self.evictable_by_privileged.remove(&entry.rank(id));
        self.partitions = self.partitions.saturating_sub(entry.size).saturating_add(size);
        entry.last_used = now;
        entry.size = size;
        self.by_use.insert((now, id));
        let old = now.since(entry.created) > EVICT_AFTER;
        if old {
            self.evictable_by_all.insert(entry.rank(id));
        }
        if old || !entry.privileged {
            self.evictable_by_privileged.insert(entry.rank(id));
        }
    }

    pub(super) fn remove(&mut self, id: i32) {
        if let Some(entry) = self.sessions.remove(&id) {
            self.by_use.remove(&(entry.last_used, id));
            self.evictable_by_all.remove(&entry.rank(id));
            self.evictable_by_privileged.remove(&entry.rank(id));
            self.partitions = self.partitions.saturating_sub(entry.size);
        }
    }
}
