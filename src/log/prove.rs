//! Batches that an earlier process wrote are looked at once before they are served: their headers follow each other
//! without overlap as far as the next batch or segment, and the index names the batch that it points at.
//!
//! A checksum covers a batch's bytes but not its base offset, and it is for the reader to check. Damage that would
//! give good bytes a wrong offset is found here; what lies before it stays readable. Bytes that this process wrote, or
//! has looked at, cost one load.

use crate::base::Offset;
use crate::io::disk::File;
use crate::log::Log;
use crate::log::error::Error;
use crate::log::layout::Kind;
use crate::log::load::stopped;
use crate::log::read::Bounds;
use crate::log::scan::OFFSET_BEYOND;
use crate::log::scan::OFFSET_GOES_BACK;
use crate::log::scan::OFFSET_TOO_FAR;
use crate::log::scan::Scan;
use crate::log::scan::Stop;
use crate::log::scan::after;
use crate::log::segment::Segment;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering;

/// A read looks at no more than this before it answers; the rest comes with the reader's next question.
const LOOK_MAX: u64 = 1 << 20;

/// How much of a segment's file needs no look (any more).
#[derive(Debug)]
pub(crate) struct Proof {
    /// Bytes that an earlier process wrote; none when all of them were looked at.
    found: AtomicU64,
    /// A range that was looked at, as `from << 32 | to`.
    looked: AtomicU64,
    /// The segment was the last one when it was found: compaction never takes batches out of that.
    was_active: AtomicBool,
}

/// A range of a segment's file that is about to be served; it begins and ends at a batch's border.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Range {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// Where the segment's batches end.
    pub(crate) segment_end: u64,
}

/// What a look found.
enum Look {
    /// Everything up to here may be served.
    Good(u64),
    /// Only what lies before may be; `reason` at `position` says why.
    Damage { good: u64, position: u64, reason: &'static str },
}

impl Proof {
    /// For a file that has `size` bytes already.
    pub(crate) fn of_found(size: u64) -> Proof {
        Proof { found: AtomicU64::new(size), looked: AtomicU64::new(0), was_active: AtomicBool::new(false) }
    }

    /// The segment is the last one that was found.
    pub(crate) fn note_active(&self) {
        self.was_active.store(true, Ordering::Relaxed);
    }

    /// Whether a range may be served without a look.
    pub(crate) fn holds(&self, from: u64, to: u64) -> bool {
        let found = self.found.load(Ordering::Relaxed);
        from >= found || {
            let (looked_from, looked_to) = unpacked(self.looked.load(Ordering::Relaxed));
            from >= looked_from && to.min(found) <= looked_to
        }
    }

    /// A range was looked at. One that does not touch the range known so far takes its place when it is larger.
    pub(crate) fn note(&self, from: u64, to: u64) {
        let merged = |known: u64| {
            let (known_from, known_to) = unpacked(known);
            let touches = from <= known_to && to >= known_from;
            match (touches, to - from > known_to - known_from) {
                (true, _) => packed(from.min(known_from), to.max(known_to)),
                (false, true) => packed(from, to),
                (false, false) => None,
            }
        };
        let noted = self.looked.fetch_update(Ordering::Relaxed, Ordering::Relaxed, merged);
        let (looked_from, looked_to) = noted.ok().and_then(merged).map_or((0, 0), unpacked);
        if looked_from == 0 && looked_to > 0 && looked_to >= self.found.load(Ordering::Relaxed) {
            self.found.store(0, Ordering::Relaxed);
        }
    }

    /// The file was cut: what follows now is this process's own.
    pub(crate) fn cut(&self, size: u64) {
        self.found.fetch_min(size, Ordering::Relaxed);
    }
}

/// `None` for a file that is larger than its index could say; it is looked at each time.
fn packed(from: u64, to: u64) -> Option<u64> {
    Some(u64::from(u32::try_from(from).ok()?) << 32 | u64::from(u32::try_from(to).ok()?))
}

fn unpacked(bits: u64) -> (u64, u64) {
    (bits >> 32, bits & u64::from(u32::MAX))
}

impl Log {
    /// Where the part of a range ends that may be served.
    ///
    /// # Errors
    /// [`Error::Damaged`] when that is not even its first batch; [`Error::Io`].
    pub(crate) fn proven(
        &self,
        segment: &Segment,
        file: &File,
        bounds: &Bounds,
        range: Range,
    ) -> Result<u64, Error> {
        if segment.proof.holds(range.from, range.to) || self.directory.serves_unproven() {
            return Ok(range.to);
        }
        match self.look(segment, file, bounds, range)? {
            Look::Good(to) => Ok(to),
            Look::Damage { good, .. } if good > range.from => Ok(good),
            Look::Damage { position, reason, .. } => {
                Err(Error::damaged(&segment.path(Kind::Log), position, reason))
            }
        }
    }

    /// Walks a range and one batch more, from the index entry on that led to it.
    fn look(&self, segment: &Segment, file: &File, bounds: &Bounds, range: Range) -> Result<Look, Error> {
        let entry = segment.floor_entry(&self.directory, bounds.from)?;
        let start = entry.map_or(0, |entry| u64::from(entry.position)).min(range.from);
        let named = entry.map(|entry| entry.relative);
        let gapless = segment.proof.was_active.load(Ordering::Relaxed) && !self.config.load().cleanup.compact;
        let enough = range.to.min(range.from.saturating_add(LOOK_MAX));
        let mut scan = Scan::new(file, start, range.segment_end, segment.base);
        let mut before = start;
        loop {
            let (position, expected) = (scan.position(), scan.next_offset());
            let damage = |good: u64, reason: &'static str| Ok(Look::Damage { good, position, reason });
            let good = match scan.next_header() {
                Ok(Some((_, header))) => {
                    let last = Offset(after(&header).0.saturating_sub(1));
                    let relative = segment.relative(last);
                    let (is_first, is_known) = (position == start, position > start || start == 0);
                    if position >= range.to {
                        Some(range.to)
                    } else if relative.is_none() {
                        return damage(position, OFFSET_TOO_FAR);
                    } else if is_first && named.is_some() && named != relative {
                        return damage(position, "the index names another batch");
                    } else if last >= bounds.beyond {
                        return damage(position, OFFSET_BEYOND);
                    } else if gapless && is_known && header.base_offset > expected.0 {
                        return damage(position, "offsets leave a gap");
                    } else {
                        (position >= enough).then_some(position)
                    }
                }
                Ok(None) => Some(range.to),
                Err(Stop::Bad(reason)) if reason == OFFSET_GOES_BACK => return damage(before, reason),
                Err(Stop::Bad(reason)) if position < range.to => return damage(position, reason),
                // Whoever reads on will meet it.
                Err(Stop::Bad(_)) => Some(range.to),
                Err(stop @ Stop::Io(_)) => return Err(stopped(stop, &segment.path(Kind::Log), position)),
            };
            if let Some(good) = good {
                segment.proof.note(start, good);
                return Ok(Look::Good(good));
            }
            before = position;
        }
    }

    /// A log that was found on disk ends where its checkpoint says, and a checkpoint has no checksum: before anybody
    /// is told of the end, the file is asked once.
    pub fn confirm_end(&self) {
        if self.end_confirmed.load(Ordering::Acquire) {
            return;
        }
        // Who comes meanwhile waits here for the same look.
        let mut core = self.core.lock();
        if let Err(error) = self.warm(&mut core)
            && !matches!(error, Error::Closed)
        {
            tracing::warn!(partition = %self.partition, %error, "cannot tell where the log ends");
        }
        self.end_confirmed.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_looked_at_once_needs_no_second_look() {
        let proof = Proof::of_found(1000);
        assert!(!proof.holds(0, 10) && proof.holds(1000, 1010), "only what was found needs one");
        proof.note(200, 300);
        assert!(proof.holds(200, 300) && !proof.holds(100, 300) && !proof.holds(200, 301));
        proof.note(300, 500);
        assert!(proof.holds(250, 450), "ranges that touch are one");
        proof.note(0, 100);
        assert!(proof.holds(200, 500) && !proof.holds(0, 100), "the larger of two is kept");
        proof.note(500, 1000);
        assert!(proof.holds(200, 5000), "it goes on with what this process wrote");
        proof.note(0, 200);
        assert_eq!(proof.found.load(Ordering::Relaxed), 0, "all of it was looked at");
        assert!(proof.holds(0, 1000));
    }

    #[test]
    fn what_follows_a_cut_is_new() {
        let proof = Proof::of_found(1000);
        proof.cut(400);
        assert!(proof.holds(400, 600) && !proof.holds(399, 600));
    }

    #[test]
    fn a_range_that_cannot_be_noted_is_looked_at_again() {
        let proof = Proof::of_found(u64::MAX);
        proof.note(0, u64::from(u32::MAX) + 1);
        assert!(!proof.holds(0, 1));
    }
}
