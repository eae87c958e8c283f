//! One run over one log (class `Cleaner`): the last offsets of the dirty part's keys go into a map, then every segment
//! up to where the map reaches is copied without the records that a later one of their key, or an aborted transaction,
//! makes needless, and the copy takes its place.

use crate::base::Offset;
use crate::base::Timestamp;
use crate::log::Log;
use crate::log::compact::choose;
use crate::log::compact::choose::GroupMax;
use crate::log::compact::choose::Part;
use crate::log::compact::keep::DECOMPRESSED_MAX;
use crate::log::compact::keep::Fate;
use crate::log::compact::keep::Known;
use crate::log::compact::keep::Rules;
use crate::log::compact::keep::first_key;
use crate::log::compact::offset_map::OffsetMap;
use crate::log::compact::output::Finished;
use crate::log::compact::output::Output;
use crate::log::compact::transactions::Transactions;
use crate::log::error::Error;
use crate::log::layout::Kind;
use crate::log::load::stopped;
use crate::log::offset_index;
use crate::log::offset_index::Entries;
use crate::log::scan::Scan;
use crate::log::segment::Segment;
use crate::log::time_index;
use crate::record::Header;
use crate::record::records;
use crate::record::retain::Placed;
use crate::record::retain::look;
use std::sync::Arc;

/// Why a run ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The cleaner ends, or the log changed in a way that makes the run pointless.
    Ended,
    /// It could not go on.
    Failed(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Failed(error)
    }
}

/// What a run may use.
#[derive(Clone, Copy, Debug)]
pub(super) struct Means {
    /// Memory for the map, in bytes.
    pub(super) map_bytes: usize,
    pub(super) load_factor: f64,
    /// Bytes that are read, and written, at once.
    pub(super) buffer_bytes: usize,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stats {
    pub(super) map_read: u64,
    pub(super) read: u64,
    pub(super) written: u64,
    pub(super) records_read: u64,
    pub(super) records_kept: u64,
    /// Records without a key, which a compacted log cannot keep.
    pub(super) keyless: u64,
    pub(super) map_percent: usize,
}

/// A run.
pub(super) struct Run<'a> {
    pub(super) log: &'a Log,
    pub(super) means: Means,
    pub(super) now: Timestamp,
    /// Below it nothing is dirty.
    pub(super) first_dirty: Offset,
    /// The base of the first segment that must not be touched.
    pub(super) end: Offset,
    /// Takes part in the rate for these bytes; [`Stop::Ended`] when it is time to end.
    pub(super) go_on: &'a dyn Fn(u64) -> Result<(), Stop>,
    pub(super) stats: Stats,
}

impl Run<'_> {
    /// Compacts the log; where its dirty part begins afterwards.
    pub(super) fn run(&mut self) -> Result<Offset, Stop> {
        let first = |log: &Log| log.view.load().first().map(|segment| segment.base);
        let before = first(self.log);
        let reached = self.run_to_the_end();
        // What retention took away meanwhile cannot be read and is no damage.
        reached.map_err(|stop| if first(self.log) == before { stop } else { Stop::Ended })
    }

    fn run_to_the_end(&mut self) -> Result<Offset, Stop> {
        let segments = self.log.view.load_full();
        let closed: Vec<Arc<Segment>> =
            segments.iter().take_while(|segment| segment.base < self.end).cloned().collect();
        let known = self.known(&closed)?;
        let below = |segment: &&Arc<Segment>| segment.base <= known.last;
        let touched: Vec<Arc<Segment>> = closed.iter().take_while(below).cloned().collect();
        let mut parts = Vec::new();
        for (index, segment) in touched.iter().enumerate() {
            let end = closed.get(index + 1).map_or(self.end, |next| next.base);
            parts.push(self.part(segment, end)?);
        }
        let config = self.log.config();
        let max = GroupMax {
            bytes: u64::try_from(config.segment_bytes).unwrap_or(0),
            index_bytes: u64::try_from(config.segment_index_bytes).unwrap_or(0),
        };
        let (mut rest, mut transactions) = (touched.as_slice(), Transactions::default());
        let mut ends = parts.as_slice();
        for count in choose::groups(&parts, max) {
            let (group, behind) = rest.split_at(count.min(rest.len()));
            let (parts, parts_behind) = ends.split_at(count.min(ends.len()));
            (rest, ends) = (behind, parts_behind);
            let (Some(first), Some(last)) = (group.first(), parts.last()) else { continue };
            transactions.add(self.log.aborted(first.base, last.end)?);
            self.clean_group(group, &known, &mut transactions)?;
        }
        Ok(Offset(known.last.0.saturating_add(1)))
    }

    fn part(&self, segment: &Segment, end: Offset) -> Result<Part, Error> {
        let index = segment.file_index(&self.log.directory)?;
        let times = segment.time_index(&self.log.directory)?;
        let size =
            |count: usize, entry: usize| u64::try_from(count.saturating_mul(entry)).unwrap_or(u64::MAX);
        Ok(Part {
            base: segment.base,
            end,
            bytes: segment.size(),
            index_bytes: size(usize::try_from(index.count()).unwrap_or(usize::MAX), offset_index::ENTRY_SIZE),
            time_index_bytes: size(times.len(), time_index::ENTRY_SIZE),
        })
    }

    /// Fills the map from the dirty part, as far as there is room.
    fn known(&mut self, closed: &[Arc<Segment>]) -> Result<Known, Stop> {
        let dirty_offsets = u64::try_from(self.end.0.saturating_sub(self.first_dirty.0)).unwrap_or(0);
        let map = OffsetMap::new(self.means.map_bytes, self.means.load_factor, dirty_offsets);
        let map = map.map_err(|error| Error::io(&self.log.path(), error))?;
        let mut known = Known { map, last: Offset(self.first_dirty.0.saturating_sub(1)) };
        let mut transactions = Transactions::default();
        transactions.add(self.log.aborted(self.first_dirty, self.end)?);
        let first = closed.partition_point(|segment| segment.base <= self.first_dirty).saturating_sub(1);
        for (index, segment) in closed.iter().enumerate().skip(first) {
            if !self.map_segment(segment, &mut known, &mut transactions)? {
                break;
            }
            // Offsets that were given and are not there are known, too.
            let end = closed.get(index + 1).map_or(self.end, |next| next.base);
            known.last = known.last.max(Offset(end.0.saturating_sub(1)));
        }
        self.stats.map_percent = known.map.percent();
        Ok(known)
    }

    /// Enters one segment's keys; `false` when the map is full.
    fn map_segment(
        &mut self,
        segment: &Segment,
        known: &mut Known,
        transactions: &mut Transactions,
    ) -> Result<bool, Stop> {
        if segment.size() == 0 {
            return Ok(true);
        }
        let directory = &self.log.directory;
        let path = segment.path(Kind::Log);
        let file = segment.file(directory).map_err(|error| Error::io(&path, error))?;
        let from =
            if self.first_dirty <= segment.base { 0 } else { segment.floor(directory, self.first_dirty)? };
        let scan = Scan::new(&file, from, segment.size(), segment.base);
        let mut scan = scan.in_chunks_of(self.means.buffer_bytes);
        let mut hashes = Vec::new();
        loop {
            let at = scan.position();
            let next = scan.next_bytes().map_err(|stop| stopped(stop, &path, at))?;
            let Some((position, header, batch)) = next else { return Ok(true) };
            let damaged =
                |error: records::Error| Stop::Failed(Error::damaged(&path, position, error.to_string()));
            let mut full = false;
            if header.is_control() {
                let key = first_key(batch).map_err(damaged)?;
                transactions.control(&header, key.as_deref());
            } else if !transactions.batch(&header) {
                let first_dirty = self.first_dirty;
                let enter = |records: &[Placed<'_>]| {
                    let dirty = records.iter().filter(|(offset, _)| *offset >= first_dirty);
                    let keyed = dirty.filter_map(|(offset, record)| Some((*offset, record.key?)));
                    known.map.hashes(keyed.clone().map(|(_, key)| key), &mut hashes);
                    for ((offset, _), hash) in keyed.zip(&hashes) {
                        full = !known.map.put(*hash, offset);
                        if full {
                            break;
                        }
                        known.last = offset;
                    }
                    !full
                };
                look(batch, DECOMPRESSED_MAX, enter).map_err(damaged)?;
            }
            if full {
                return Ok(false);
            }
            known.last = known.last.max(Offset(header.last_offset()));
            let bytes = u64::try_from(header.total_size()).unwrap_or(u64::MAX);
            self.stats.map_read = self.stats.map_read.saturating_add(bytes);
            (self.go_on)(bytes)?;
        }
    }

    /// Copies a group of segments into one and puts that in their place.
    fn clean_group(
        &mut self,
        group: &[Arc<Segment>],
        known: &Known,
        transactions: &mut Transactions,
    ) -> Result<(), Stop> {
        let Some(first) = group.first() else { return Ok(()) };
        let copied = self.copy_group(first.base, group, known, transactions);
        if let Ok(Some(new)) = &copied
            && self.log.replace(group, new)?
        {
            return Ok(());
        }
        // Once the renames have begun nothing is taken away any more: the next start ends them.
        if let Err(error) = self.log.discard(first.base) {
            tracing::debug!(partition = %self.log.partition, %error, "the next start removes an unfinished segment");
        }
        match copied {
            Ok(Some(_)) => Err(Stop::Ended),
            Ok(None) => Ok(()),
            Err(stop) => Err(stop),
        }
    }

    /// The copy; `None` where it would be the same segment.
    fn copy_group(
        &mut self,
        base: Offset,
        group: &[Arc<Segment>],
        known: &Known,
        transactions: &mut Transactions,
    ) -> Result<Option<Finished>, Stop> {
        let rules = Rules {
            known,
            producers: self.log.last_records()?,
            now: self.now,
            round_end: self.end,
            delete_retention_ms: self.log.config().delete_retention_ms,
        };
        let mut output = Output::new(self.log, base, self.means.buffer_bytes)?;
        let mut changed = group.len() > 1;
        for segment in group {
            changed |= self.copy_segment(segment, &rules, transactions, &mut output)?;
        }
        let aborted = transactions.take_index();
        let only = group.first().filter(|_| !changed);
        if let Some(only) = only
            && *self.log.aborted_of(only)? == aborted
        {
            return Ok(None);
        }
        let finished = output.finish(aborted)?;
        self.stats.written = self.stats.written.saturating_add(finished.bytes);
        Ok(Some(finished))
    }

    /// Copies what stays of one segment; whether anything is different.
    fn copy_segment(
        &mut self,
        segment: &Segment,
        rules: &Rules<'_>,
        transactions: &mut Transactions,
        output: &mut Output<'_>,
    ) -> Result<bool, Stop> {
        if segment.size() == 0 {
            return Ok(false);
        }
        let path = segment.path(Kind::Log);
        let file = segment.file(&self.log.directory).map_err(|error| Error::io(&path, error))?;
        let scan = Scan::new(&file, 0, segment.size(), segment.base);
        let mut scan = scan.in_chunks_of(self.means.buffer_bytes);
        let mut changed = false;
        loop {
            let at = scan.position();
            let next = scan.next_bytes().map_err(|stop| stopped(stop, &path, at))?;
            let Some((position, header, batch)) = next else { return Ok(changed) };
            let fate = rules.fate((&header, batch), transactions, &mut self.stats);
            let fate = fate.map_err(|error| Error::damaged(&path, position, error.to_string()))?;
            let before = u64::try_from(batch.len()).unwrap_or(u64::MAX);
            let after = match fate {
                Fate::Stays => {
                    output.push(&header, batch)?;
                    before
                }
                Fate::Becomes(new) => {
                    changed = true;
                    let header = Header::parse(&new).unwrap_or(header);
                    output.push(&header, &new)?;
                    u64::try_from(new.len()).unwrap_or(u64::MAX)
                }
                Fate::Goes => {
                    changed = true;
                    0
                }
            };
            self.stats.read = self.stats.read.saturating_add(before);
            (self.go_on)(before.saturating_add(after))?;
        }
    }
}
