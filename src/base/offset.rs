//! Positions in a log and the epochs that order its leaders.

use std::fmt;

/// A record's number in its partition. Ends are exclusive everywhere in this code base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Offset(pub i64);

impl Offset {
    /// The first offset of a new log.
    pub const ZERO: Offset = Offset(0);

    /// The offset `count` records further on; `None` past the largest offset.
    pub fn checked_add(self, count: i64) -> Option<Offset> {
        self.0.checked_add(count).map(Offset)
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Counts the leaders a partition has had; -1 where it is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LeaderEpoch(pub i32);

impl LeaderEpoch {
    /// "Not known" in requests, answers and batches.
    pub const NONE: LeaderEpoch = LeaderEpoch(-1);
}

impl fmt::Display for LeaderEpoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An offset together with the epoch it belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct OffsetAndEpoch {
    /// The offset.
    pub offset: Offset,
    /// The leader epoch.
    pub epoch: LeaderEpoch,
}
