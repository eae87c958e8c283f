//! Share-partitions with all that belongs to them: members, the leader's memory, the share coordinator and its log.

mod lives;
