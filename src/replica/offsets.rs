//! Offsets for times and for the ends of a partition (ListOffsets), and deleting what lies before an offset.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::Timestamp;
use crate::log::ProducerEntry;
use crate::replica::error::Error;
use crate::replica::partition::Partition;

/// Whose view of a partition's end counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    /// A consumer's: the high watermark.
    Consumer,
    /// A committed reader's: the last stable offset.
    Committed,
    /// A broker's or a tool's: the log's end.
    LogEnd,
}

/// Which offset is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spot {
    /// The end of what the asker sees.
    Latest,
    /// The log's start.
    Earliest,
    /// The record with the largest timestamp.
    MaxTimestamp,
    /// The first record that is kept here; the log's start, as long as nothing is kept elsewhere.
    EarliestLocal,
    /// The last record that is kept elsewhere.
    LatestTiered,
    /// The first record that still has to be copied elsewhere.
    EarliestPendingUpload,
    /// The first record with this timestamp or a later one.
    At(Timestamp),
}

/// An offset that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The offset; -1 when nothing is kept elsewhere.
    pub offset: Offset,
    /// The record's timestamp, where a record was looked for.
    pub timestamp: Timestamp,
    /// The record's epoch, where it is known.
    pub epoch: Option<LeaderEpoch>,
}

impl Partition {
    /// Finds an offset; `None` when no record is late enough, or none is visible
    /// (`Partition.fetchOffsetForTimestamp`).
    ///
    /// # Errors
    /// NOT_LEADER_OR_FOLLOWER, the leader epoch's errors, OFFSET_NOT_AVAILABLE, storage errors.
    pub fn list_offset(
        &self,
        spot: Spot,
        view: View,
        known: Option<LeaderEpoch>,
    ) -> Result<Option<Found>, Error> {
        let leader = self.lead(known)?;
        self.advance(&leader);
        let end = match view {
            View::Consumer => self.high_watermark_now(),
            View::Committed => self.stable_below(self.high_watermark_now())?,
            View::LogEnd => self.log.log_end_offset(),
        };
        let settled = view == View::LogEnd || leader.epoch_start <= self.high_watermark_now();
        match spot {
            Spot::Latest if !settled => Err(Error::OffsetNotAvailable),
            Spot::Latest => {
                Ok(Some(Found { offset: end, timestamp: Timestamp::NONE, epoch: Some(leader.epoch) }))
            }
            Spot::Earliest | Spot::EarliestLocal => self.earliest().map(Some),
            Spot::LatestTiered | Spot::EarliestPendingUpload => Ok(Some(NOTHING_ELSEWHERE)),
            Spot::MaxTimestamp | Spot::At(_) => {
                drop(leader);
                let found = self.search(spot, end)?.filter(|found| found.offset < end);
                if found.is_none() && !settled { Err(Error::OffsetNotAvailable) } else { Ok(found) }
            }
        }
    }

    fn earliest(&self) -> Result<Found, Error> {
        let offset = self.log.log_start_offset();
        Ok(Found { offset, timestamp: Timestamp::NONE, epoch: self.log.epoch_of(offset)? })
    }

    fn search(&self, spot: Spot, end: Offset) -> Result<Option<Found>, Error> {
        let found = match spot {
            Spot::At(time) => self.log.offset_for_time(time, end)?,
            _ => self.log.max_timestamp(end)?,
        };
        Ok(found.map(|found| Found {
            offset: found.offset,
            timestamp: found.timestamp,
            epoch: Some(found.epoch).filter(|epoch| epoch.0 >= 0),
        }))
    }

    /// Deletes what lies before an offset; `None` stands for the high watermark. Gives the low watermark: what is
    /// deleted on all replicas (`Partition.deleteRecordsOnLeader`).
    ///
    /// # Errors
    /// POLICY_VIOLATION unless the topic is cleaned by deletion, OFFSET_OUT_OF_RANGE beyond the high watermark,
    /// NOT_LEADER_OR_FOLLOWER, storage errors.
    pub fn delete_records(&self, before: Option<Offset>) -> Result<Offset, Error> {
        let leader = self.lead(None)?;
        if !self.log.config().cleanup.delete {
            return Err(Error::NotDeletable);
        }
        self.advance(&leader);
        let high_watermark = self.high_watermark_now();
        let before = before.unwrap_or(high_watermark);
        if before < Offset::ZERO || before > high_watermark {
            let start = self.log.log_start_offset();
            return Err(Error::OffsetOutOfRange { offset: before, start, end: high_watermark });
        }
        self.log.delete_records(before)?;
        Ok(self.low_watermark(&leader))
    }

    /// The producers that this partition remembers.
    ///
    /// # Errors
    /// NOT_LEADER_OR_FOLLOWER, storage errors.
    pub fn producers(&self) -> Result<Vec<ProducerEntry>, Error> {
        drop(self.lead(None)?);
        Ok(self.log.producers()?)
    }
}

/// What Kafka answers for topics of which nothing is kept elsewhere.
const NOTHING_ELSEWHERE: Found =
    Found { offset: Offset(-1), timestamp: Timestamp::NONE, epoch: Some(LeaderEpoch::NONE) };
