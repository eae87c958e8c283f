//! From a timestamp to an offset (`UnifiedLog.fetchOffsetByTimestamp`, KIP-79, KIP-734).

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::Timestamp;
use crate::log::Log;
use crate::log::error::Error;
use crate::log::layout::Kind;
use crate::log::load::stopped;
use crate::log::scan::Scan;
use crate::log::scan::after;
use crate::log::segment::Segment;
use crate::record::Header;
use crate::record::records;
use std::sync::Arc;

/// A record's place and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OffsetAtTime {
    /// Its offset.
    pub offset: Offset,
    /// Its timestamp.
    pub timestamp: Timestamp,
    /// The leader epoch of its batch; [`LeaderEpoch::NONE`] when unknown.
    pub epoch: LeaderEpoch,
}

impl Log {
    /// The first record below `limit` whose timestamp is at or after `timestamp`; `None` when there is none.
    ///
    /// # Errors
    /// [`Error::Offline`], [`Error::Io`], [`Error::Damaged`].
    pub fn offset_for_time(
        &self,
        timestamp: Timestamp,
        limit: Offset,
    ) -> Result<Option<OffsetAtTime>, Error> {
        self.check_online()?;
        let (segments, first) = self.segments_from(self.log_start_offset());
        for segment in segments.iter().skip(first).take_while(|segment| segment.base < limit) {
            if segment.size() == 0 || segment.max_timestamp(&self.directory)?.timestamp < timestamp {
                continue;
            }
            if let Some(found) = self.search(segment, timestamp, limit)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// The record with the largest timestamp below `limit`, the first of them; `None` in an empty log. (-3 in
    /// ListOffsets.)
    ///
    /// # Errors
    /// As [`Log::offset_for_time`].
    pub fn max_timestamp(&self, limit: Offset) -> Result<Option<OffsetAtTime>, Error> {
        self.check_online()?;
        let (segments, first) = self.segments_from(self.log_start_offset());
        let mut largest: Option<(Timestamp, Arc<Segment>)> = None;
        for segment in segments.iter().skip(first).take_while(|segment| segment.base < limit) {
            if segment.size() == 0 {
                continue;
            }
            let max = segment.max_timestamp(&self.directory)?;
            if largest.as_ref().is_none_or(|largest| max.timestamp > largest.0) {
                largest = Some((max.timestamp, segment.clone()));
            }
        }
        match largest {
            Some((timestamp, segment)) if timestamp.0 >= 0 => self.search(&segment, timestamp, limit),
            _ => Ok(None),
        }
    }

    /// The first record of one segment at or after a timestamp.
    fn search(
        &self,
        segment: &Arc<Segment>,
        timestamp: Timestamp,
        limit: Offset,
    ) -> Result<Option<OffsetAtTime>, Error> {
        // Up to the entry before it, every timestamp is smaller.
        let before = Timestamp(timestamp.0.saturating_sub(1));
        let entry = segment.time_index(&self.directory)?.floor(before);
        let from = entry.map_or(segment.base, |entry| Offset(segment.base.0 + i64::from(entry.relative)));
        let from = from.max(self.log_start_offset());
        let position = segment.floor(&self.directory, from)?;
        let path = segment.path(Kind::Log);
        let file = segment.file(&self.directory).map_err(|error| Error::io(&path, error))?;
        let mut scan = Scan::new(&file, position, segment.size(), segment.base);
        loop {
            let at = scan.position();
            let next = scan.next_header().map_err(|stop| stopped(stop, &path, at))?;
            let Some((position, header)) = next.filter(|(_, header)| header.base_offset < limit.0) else {
                return Ok(None);
            };
            if header.max_timestamp < timestamp.0 || after(&header) <= from {
                continue;
            }
            let mut batch = vec![0; header.total_size()];
            file.read_exact_at(&mut batch, position).map_err(|error| Error::io(&path, error))?;
            let damaged = |reason: String| Error::damaged(&path, position, reason);
            if let Some(found) = first_at(&header, &batch, (timestamp, from, limit)).map_err(damaged)? {
                return Ok(Some(found));
            }
        }
    }
}

/// What a batch may decompress to while a timestamp is looked for.
const DECOMPRESSED_MAX: usize = 256 << 20;

fn first_at(
    header: &Header,
    batch: &[u8],
    (timestamp, from, limit): (Timestamp, Offset, Offset),
) -> Result<Option<OffsetAtTime>, String> {
    for record in records(batch, DECOMPRESSED_MAX).map_err(|error| error.to_string())? {
        let record = record.map_err(|error| error.to_string())?;
        if record.timestamp >= timestamp && record.offset >= from && record.offset < limit {
            let epoch = LeaderEpoch(header.leader_epoch);
            return Ok(Some(OffsetAtTime { offset: record.offset, timestamp: record.timestamp, epoch }));
        }
    }
    Ok(None)
}
