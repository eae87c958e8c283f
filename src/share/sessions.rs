//! Share sessions: which partitions a member fetches, told once and changed step by step (`ShareSessionCache`).

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::TopicId;
use crate::share::Failure;
use crate::share::fetch::Outcomes;
use crate::share::lineup::Lineup;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::collections::HashMap;
use std::sync::Arc;

/// The step that opens a session.
pub const INITIAL_EPOCH: i32 = 0;
/// The step that closes it.
pub const FINAL_EPOCH: i32 = -1;

/// How many partitions all sessions remember together; each step of one may name more, whether they exist or not.
const PARTITIONS_MAX: usize = 1 << 20;

/// A member of a group.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Member {
    /// The group.
    pub group: Arc<str>,
    /// The member's id.
    pub id: Arc<str>,
}

/// A partition of a topic.
pub type Place = (TopicId, PartitionIndex);

/// What a step of a session is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The partitions that the session has now, in the order in which they are served; none in the last step.
    pub places: Vec<Place>,
    /// Those of them of which the answer has a word also when there are no records.
    pub news: BTreeSet<Place>,
}

#[derive(Debug)]
struct Session {
    /// The step that comes next.
    epoch: i32,
    partitions: Lineup,
    /// The connection it was opened on.
    connection: u64,
}

/// All sessions of this broker.
#[derive(Debug)]
pub struct Sessions {
    max: usize,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    sessions: HashMap<Member, Session>,
    /// How many sessions each group has.
    groups: BTreeMap<Arc<str>, usize>,
    /// How many partitions all of them have.
    partitions: usize,
}

impl Open {
    fn remove(&mut self, member: &Member) -> Option<Session> {
        let session = self.sessions.remove(member)?;
        self.partitions = self.partitions.saturating_sub(session.partitions.len());
        if let Some(count) = self.groups.get_mut(&member.group) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.groups.remove(&member.group);
            }
        }
        Some(session)
    }

    /// Whether a session that had `before` partitions may have `after`.
    fn has_room(&self, before: usize, after: usize) -> bool {
        after <= before || self.partitions.saturating_sub(before).saturating_add(after) <= PARTITIONS_MAX
    }
}

impl Sessions {
    /// At most `max` sessions.
    pub(crate) fn new(max: usize) -> Sessions {
        Sessions { max, open: Mutex::default() }
    }

    /// Takes a step of a session by a fetch: opens it, goes on with it, or takes its last.
    ///
    /// # Errors
    /// SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, SHARE_SESSION_LIMIT_REACHED; INVALID_REQUEST for
    /// acknowledgements in the first step.
    pub fn fetch(
        &self,
        member: &Member,
        epoch: i32,
        (named, forgotten): (&[Place], &[Place]),
        acknowledges: bool,
        connection: u64,
    ) -> Result<Step, Failure> {
        let mut open = self.open.lock();
        match epoch {
            FINAL_EPOCH if open.sessions.contains_key(member) => Ok(Step::default()),
            FINAL_EPOCH => Err(ErrorCode::ShareSessionNotFound.into()),
            INITIAL_EPOCH if acknowledges => Err(ErrorCode::InvalidRequest.into()),
            INITIAL_EPOCH => {
                open.remove(member);
                if open.sessions.len() >= self.max {
                    return Err(ErrorCode::ShareSessionLimitReached.into());
                }
                let mut partitions = Lineup::default();
                partitions.add(named, false);
                if !open.has_room(0, partitions.len()) {
                    return Err(ErrorCode::ShareSessionLimitReached.into());
                }
                open.partitions = open.partitions.saturating_add(partitions.len());
                let places = partitions.places();
                let news = places.iter().copied().collect();
                *open.groups.entry(Arc::clone(&member.group)).or_default() += 1;
                open.sessions.insert(member.clone(), Session { epoch: 1, partitions, connection });
                Ok(Step { places, news })
            }
            _ => {
                let before = open.sessions.get(member).map_or(0, |session| session.partitions.len());
                // At most: some may be known, or forgotten at once.
                if !named.is_empty() && !open.has_room(before, before.saturating_add(named.len())) {
                    return Err(ErrorCode::ShareSessionLimitReached.into());
                }
                let session = step(&mut open, member, epoch)?;
                session.partitions.add(named, true);
                session.partitions.remove(forgotten);
                let (places, news) = (session.partitions.places(), session.partitions.news());
                open.partitions = open.partitions.saturating_sub(before).saturating_add(places.len());
                Ok(Step { places, news })
            }
        }
    }

    /// Remembers what a step that did not open the session was answered, unless the session has gone on meanwhile.
    pub fn answered(&self, member: &Member, epoch: i32, outcomes: &Outcomes) {
        if epoch == INITIAL_EPOCH || epoch == FINAL_EPOCH {
            return;
        }
        let mut open = self.open.lock();
        if let Some(session) = open.sessions.get_mut(member).filter(|session| session.epoch == next(epoch)) {
            session.partitions.answered(outcomes);
        }
    }

    /// Takes a step of a session by a ShareAcknowledge.
    ///
    /// # Errors
    /// SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH.
    pub fn acknowledge(&self, member: &Member, epoch: i32) -> Result<(), Failure> {
        let mut open = self.open.lock();
        if epoch == INITIAL_EPOCH {
            return Err(ErrorCode::InvalidShareSessionEpoch.into());
        }
        if epoch == FINAL_EPOCH {
            let known = open.sessions.contains_key(member);
            return if known { Ok(()) } else { Err(ErrorCode::ShareSessionNotFound.into()) };
        }
        step(&mut open, member, epoch).map(drop)
    }

    /// Ends a session; gives its partitions.
    pub(crate) fn close(&self, member: &Member) -> Option<Vec<Place>> {
        let session = self.open.lock().remove(member)?;
        Some(session.partitions.places())
    }

    /// As [`Sessions::close`], when the session is still this connection's.
    pub(crate) fn close_of(&self, member: &Member, connection: u64) -> Option<Vec<Place>> {
        let mut open = self.open.lock();
        let session = open.sessions.get(member).filter(|session| session.connection == connection);
        session?;
        let session = open.remove(member)?;
        Some(session.partitions.places())
    }

    /// Whether the session is there, and this connection's.
    pub(crate) fn is_of(&self, member: &Member, connection: u64) -> bool {
        let open = self.open.lock();
        open.sessions.get(member).is_some_and(|session| session.connection == connection)
    }

    /// Whether a group has sessions here.
    pub(crate) fn has_group(&self, group: &str) -> bool {
        self.open.lock().groups.contains_key(group)
    }
}

fn step<'a>(open: &'a mut Open, member: &Member, epoch: i32) -> Result<&'a mut Session, Failure> {
    let session =
        open.sessions.get_mut(member).ok_or_else(|| Failure::from(ErrorCode::ShareSessionNotFound))?;
    if session.epoch != epoch {
        return Err(ErrorCode::InvalidShareSessionEpoch.into());
    }
    session.epoch = next(session.epoch);
    Ok(session)
}

/// After the largest comes 1, as 0 would open a session (`ShareRequestMetadata.nextEpoch`).
fn next(epoch: i32) -> i32 {
    epoch.checked_add(1).unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::share::Fetched;

    fn member(id: &str) -> Member {
        Member { group: Arc::from("g"), id: Arc::from(id) }
    }

    fn place(index: i32) -> Place {
        (TopicId::METADATA, PartitionIndex(index))
    }

    #[test]
    fn a_session_goes_step_by_step() {
        let sessions = Sessions::new(2);
        let (a, none) = (member("a"), (&[][..], &[][..]));
        let code = |result: Result<Step, Failure>| result.unwrap_err().code;
        assert_eq!(code(sessions.fetch(&a, 1, none, false, 1)), ErrorCode::ShareSessionNotFound);
        assert_eq!(code(sessions.fetch(&a, 0, none, true, 1)), ErrorCode::InvalidRequest);
        let opened = sessions.fetch(&a, 0, (&[place(1), place(0)], &[]), false, 1).unwrap();
        assert_eq!(opened.places, [place(1), place(0)]);
        assert_eq!(opened.news.len(), 2);
        assert_eq!(code(sessions.fetch(&a, 2, none, false, 1)), ErrorCode::InvalidShareSessionEpoch);
        let changed = sessions.fetch(&a, 1, (&[place(2)], &[place(0)]), true, 1).unwrap();
        assert_eq!((changed.places, changed.news), (vec![place(1), place(2)], BTreeSet::from([place(2)])));
        let records = Fetched { bytes: 1, ..Fetched::default() };
        sessions.answered(&a, 0, &vec![(place(2), Ok(Fetched::default()))]);
        sessions.answered(&a, 1, &vec![(place(1), Ok(records))]);
        assert_eq!(sessions.acknowledge(&a, 2), Ok(()));
        assert_eq!(sessions.acknowledge(&a, 2).unwrap_err().code, ErrorCode::InvalidShareSessionEpoch);
        assert_eq!(sessions.acknowledge(&a, 0).unwrap_err().code, ErrorCode::InvalidShareSessionEpoch);
        let further = sessions.fetch(&a, 3, none, false, 1).unwrap();
        assert_eq!((further.places, further.news), (vec![place(2), place(1)], BTreeSet::from([place(2)])));
        assert_eq!(sessions.fetch(&a, -1, none, true, 1), Ok(Step::default()));
        assert_eq!(sessions.close(&a), Some(vec![place(2), place(1)]));
        assert_eq!(sessions.acknowledge(&a, -1).unwrap_err().code, ErrorCode::ShareSessionNotFound);
    }

    #[test]
    fn what_sessions_remember_together_is_bounded() {
        let sessions = Sessions::new(100);
        let (a, b) = (member("a"), member("b"));
        let many = |from: usize, count: usize| -> Vec<Place> {
            (from..from + count).map(|index| place(i32::try_from(index).unwrap())).collect()
        };
        let code = |result: Result<Step, Failure>| result.unwrap_err().code;
        let half = PARTITIONS_MAX / 2;
        sessions.fetch(&a, 0, (&many(0, half), &[]), false, 1).unwrap();
        sessions.fetch(&b, 0, (&many(0, half - 1), &[]), false, 1).unwrap();
        assert_eq!(sessions.fetch(&a, 1, (&many(half, 1), &[]), false, 1).unwrap().places.len(), half + 1);
        let limit = ErrorCode::ShareSessionLimitReached;
        assert_eq!(code(sessions.fetch(&b, 1, (&many(half, 1), &[]), false, 1)), limit);
        assert_eq!(code(sessions.fetch(&member("c"), 0, (&many(0, 1), &[]), false, 1)), limit);
        // What was refused took no step, and what goes makes room.
        assert_eq!(sessions.fetch(&b, 1, (&[], &many(0, 10)), false, 1).unwrap().places.len(), half - 11);
        sessions.fetch(&b, 2, (&many(half, 10), &[]), false, 1).unwrap();
        sessions.close(&a).unwrap();
        sessions.fetch(&member("c"), 0, (&many(0, half), &[]), false, 1).unwrap();
    }

    #[test]
    fn sessions_are_limited_and_end_with_their_connection() {
        let sessions = Sessions::new(1);
        let (a, b, none) = (member("a"), member("b"), (&[][..], &[][..]));
        sessions.fetch(&a, 0, none, false, 1).unwrap();
        let refused = sessions.fetch(&b, 0, none, false, 2).unwrap_err();
        assert_eq!(refused.code, ErrorCode::ShareSessionLimitReached);
        sessions.fetch(&a, 0, none, false, 2).unwrap();
        assert_eq!(sessions.close_of(&a, 1), None, "it was opened anew on another connection");
        assert!(sessions.has_group("g"));
        assert_eq!(sessions.close_of(&a, 2), Some(Vec::new()));
        assert!(!sessions.has_group("g"));
    }
}
