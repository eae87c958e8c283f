//! When offsets are no longer kept (KIP-211, `ClassicGroup.offsetExpirationCondition`).

use crate::base::Timestamp;
use crate::groups::classic::group::Group;
use crate::groups::classic::group::State;
use crate::groups::kind::Kind;
use crate::groups::offsets::Committed;
use crate::groups::offsets::Offsets;
use crate::groups::record::Record;
use std::time::Duration;

/// From when on the retention of an offset counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Start {
    /// Since the group lost its last member.
    Empty(Timestamp),
    /// Since the commit.
    Commit,
    /// Not at all: the group is in use.
    Never,
}

fn start(kind: &Kind) -> Start {
    match kind {
        Kind::Classic(group) => classic_start(group),
        // What a member reads is kept by its subscription.
        Kind::Consumer(_) | Kind::Streams(_) => Start::Commit,
        // It has no offsets.
        Kind::Share(_) => Start::Never,
    }
}

fn classic_start(group: &Group) -> Start {
    match (&group.protocol_type, group.state) {
        // Members of other types manage themselves; only the end of the group counts.
        (Some(_), State::Empty) if group.since == Timestamp::NONE => Start::Commit,
        (Some(_), State::Empty) => Start::Empty(group.since),
        // A stable consumer group loses offsets of topics it no longer reads.
        (Some(_), State::Stable) if group.is_consumer() && group.subscribed_topics.is_some() => Start::Commit,
        (Some(_), State::Stable | State::PreparingRebalance | State::CompletingRebalance) => Start::Never,
        // Nobody ever joined: the group only keeps offsets.
        (None, _) => Start::Commit,
    }
}

fn is_expired(start: Start, committed: &Committed, now: Timestamp, retention_ms: i64) -> bool {
    let since = match start {
        Start::Never => return false,
        // An offset with its own expiry, from requests before version 5, goes by that.
        Start::Empty(_) | Start::Commit if committed.value.expires != Timestamp::NONE => {
            return now >= committed.value.expires;
        }
        Start::Empty(since) => since,
        Start::Commit => committed.value.committed,
    };
    now.0.saturating_sub(since.0) >= retention_ms
}

/// Tombstones for the group's expired offsets, and whether none is left.
pub(crate) fn expired(
    group: &Kind,
    offsets: &Offsets,
    now: Timestamp,
    retention: Duration,
) -> (Vec<Record>, bool) {
    let retention_ms = i64::try_from(retention.as_millis()).unwrap_or(i64::MAX);
    let start = start(group);
    let mut kept = 0usize;
    let mut expired = Vec::new();
    for (topic, partitions) in offsets.of(group.id()).into_iter().flatten() {
        for (partition, committed) in partitions {
            let goes = !group.is_subscribed(topic)
                && is_expired(start, committed, now, retention_ms)
                && !offsets.is_pending(group.id(), topic, *partition);
            if goes {
                expired.push(crate::groups::offsets::tombstone(group.id(), topic, *partition));
            } else {
                kept += 1;
            }
        }
    }
    (expired, kept == 0 && !offsets.has_open_transactions(group.id()))
}
