//! Fetch sessions (KIP-227): what a client fetches is remembered, so that a request names only what changed and an
//! answer only what has news (classes `FetchManager`, `FetchContext`, `FetchSessionCache` of Kafka).

mod cache;
mod session;

use crate::base::ErrorCode;
use crate::base::Instant;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::TopicId;
use crate::metrics;
use parking_lot::Mutex;
use std::sync::Arc;

use cache::Cache;
use session::Session;

/// The id of "no session".
pub(crate) const NO_SESSION: i32 = 0;
/// The epoch that opens a session, in place of the one that is named.
const OPEN: i32 = 0;
/// The epoch that closes the named session and opens none.
const CLOSE: i32 = -1;

/// How a request names a topic: by id from version 13 on, else by name. The two never meet in one session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum TopicKey {
    /// By id.
    Id(TopicId),
    /// By name.
    Name(Arc<str>),
}

/// A partition as a request names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The topic.
    pub(crate) topic: TopicKey,
    /// The partition's number, as sent.
    pub(crate) partition: i32,
}

/// What a client wants of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// From which offset on.
    pub(crate) offset: Offset,
    /// How many bytes at most.
    pub(crate) max_bytes: i32,
    /// The leader epoch the client knows.
    pub(crate) leader_epoch: Option<LeaderEpoch>,
    /// The epoch of the last record it has.
    pub(crate) last_fetched_epoch: Option<LeaderEpoch>,
    /// Where a follower's log begins; -1 from a consumer.
    pub(crate) log_start: Offset,
}

/// The part of an answer that decides whether the client needs to see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct News {
    /// Whether there are records.
    pub(crate) records: bool,
    /// The high watermark; -1 on errors.
    pub(crate) high_watermark: i64,
    /// The log's start; -1 on errors.
    pub(crate) log_start: i64,
    /// Whether there is an error.
    pub(crate) error: bool,
    /// Whether the client's log diverges, or it is sent to another replica.
    pub(crate) redirect: bool,
}

/// A partition's answer, as far as sessions look at it.
pub(crate) trait Answered {
    /// The partition.
    fn key(&self) -> &Key;
    /// What was wanted of it.
    fn wanted(&self) -> &Wanted;
    /// What came of it.
    fn news(&self) -> News;
}

/// The part of a request that is about its session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    /// The session, 0 for none.
    pub(crate) session_id: i32,
    /// The request's number within the session; 0 opens, -1 closes.
    pub(crate) epoch: i32,
    /// Whether topics are named by id.
    pub(crate) topic_ids: bool,
    /// Whether a follower asks; its session is kept longer.
    pub(crate) follower: bool,
}

/// What a request is part of, from its beginning to its answer.
#[derive(Debug)]
pub(crate) enum Context {
    /// No session: everything is named and answered.
    Sessionless,
    /// A session is opened with the answer, if there is room.
    Full(Ask),
    /// A step of a session.
    Incremental {
        /// The session.
        session: Arc<Mutex<Session>>,
        /// Its id.
        id: i32,
        /// The epoch it has until the next request.
        next_epoch: i32,
    },
}

/// What goes into the answer.
#[derive(Debug)]
pub(crate) struct Finished<T> {
    /// The session, 0 for none.
    pub(crate) session_id: i32,
    /// An error of the whole request.
    pub(crate) error: ErrorCode,
    /// The partitions that have news.
    pub(crate) answers: Vec<T>,
}

/// All sessions of this broker.
#[derive(Debug)]
pub struct FetchSessions {
    cache: Mutex<Cache>,
}

impl FetchSessions {
    /// Room for this many sessions (`max.incremental.fetch.session.cache.slots`); 0 for none at all.
    pub fn new(slots: usize) -> FetchSessions {
        FetchSessions { cache: Mutex::new(Cache::new(slots)) }
    }

    /// The sessions there are, for those who watch.
    pub fn sizes(&self) -> metrics::Sessions {
        let cache = self.cache.lock();
        metrics::Sessions { count: cache.len(), partitions: cache.partitions(), evicted: cache.evicted() }
    }

    /// Begins a request: what it is part of, and all that is to be fetched, in order.
    ///
    /// # Errors
    /// FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR: the whole request's.
    pub(crate) fn begin(
        &self,
        ask: Ask,
        named: Vec<(Key, Wanted)>,
        forgotten: &[Key],
        now: Instant,
    ) -> Result<(Context, Vec<(Key, Wanted)>), ErrorCode> {
        if ask.epoch == OPEN || ask.epoch == CLOSE {
            if ask.session_id != NO_SESSION {
                self.cache.lock().remove(ask.session_id);
            }
            let context = if ask.epoch == CLOSE { Context::Sessionless } else { Context::Full(ask) };
            return Ok((context, named));
        }
        let mut cache = self.cache.lock();
        let Some(shared) = cache.get(ask.session_id) else {
            return Err(ErrorCode::FetchSessionIdNotFound);
        };
        let mut session = shared.lock();
        if session.epoch != ask.epoch {
            return Err(ErrorCode::InvalidFetchSessionEpoch);
        }
        if session.topic_ids != ask.topic_ids {
            return Err(ErrorCode::FetchSessionTopicIdError);
        }
        session.update(&named, forgotten);
        if session.is_empty() || cache.exceeds(ask.session_id, session.len()) {
            let full = !session.is_empty();
            drop(session);
            cache.remove(ask.session_id);
            // Too large to remember: the client opens another one, and is told when there is no room for it.
            return if full {
                Err(ErrorCode::FetchSessionIdNotFound)
            } else {
                Ok((Context::Sessionless, named))
            };
        }
        session.epoch = next_epoch(session.epoch);
        let next_epoch = session.epoch;
        let wanted = session.wanted();
        let size = session.len();
        drop(session);
        cache.touch(ask.session_id, size, now);
        drop(cache);
        Ok((Context::Incremental { session: shared, id: ask.session_id, next_epoch }, wanted))
    }

    /// Ends a request: opens the session if that was asked for, and drops the answers without news.
    pub(crate) fn finish<T: Answered>(&self, context: Context, answers: Vec<T>, now: Instant) -> Finished<T> {
        match context {
            Context::Sessionless => Finished { session_id: NO_SESSION, error: ErrorCode::None, answers },
            Context::Full(ask) => {
                let session_id = self.open(ask, &answers, now);
                Finished { session_id, error: ErrorCode::None, answers }
            }
            Context::Incremental { session, id, next_epoch } => {
                let mut session = session.lock();
                if session.epoch != next_epoch {
                    // A duplicate of the request was answered meanwhile.
                    let error = ErrorCode::InvalidFetchSessionEpoch;
                    return Finished { session_id: id, error, answers: Vec::new() };
                }
                let mut answers = answers;
                answers.retain(|answer| session.answered(answer.key(), answer.news()));
                Finished { session_id: id, error: ErrorCode::None, answers }
            }
        }
    }

    /// Ends a request that is answered without any partition because the client has to pause. What it wanted it gets
    /// next time, and a session that it wanted is not opened yet.
    pub(crate) fn hold_back<T>(&self, context: Context) -> Finished<T> {
        let answers = Vec::new();
        match context {
            Context::Sessionless | Context::Full(_) => {
                Finished { session_id: NO_SESSION, error: ErrorCode::None, answers }
            }
            Context::Incremental { session, id, next_epoch } => {
                let known = session.lock().epoch == next_epoch;
                let error = if known { ErrorCode::None } else { ErrorCode::InvalidFetchSessionEpoch };
                Finished { session_id: id, error, answers }
            }
        }
    }

    fn open<T: Answered>(&self, ask: Ask, answers: &[T], now: Instant) -> i32 {
        let mut cache = self.cache.lock();
        if !cache.make_room(ask.follower, answers.len(), now) {
            return NO_SESSION;
        }
        let mut session = Session::new(ask.topic_ids, next_epoch(OPEN));
        for answer in answers {
            session.insert(answer.key().clone(), *answer.wanted(), answer.news());
        }
        cache.insert(session, ask.follower, now)
    }
}

/// The epoch of the request after the one with this epoch; 0 is left out when it wraps.
fn next_epoch(epoch: i32) -> i32 {
    if epoch == i32::MAX { 1 } else { epoch + 1 }
}

#[cfg(test)]
mod tests;
