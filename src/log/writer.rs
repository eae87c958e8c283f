//! From the queue to the file: the combining writer for unsynced appends, the disk thread for synced ones.
//!
//! Whoever appends and finds no writer at work writes all that is queued, in one vectored write, and again what came
//! meanwhile. Appends that must be synced wait for the directory's disk thread: it takes what waits of all
//! partitions and hands writes and syncs to the ring in one submission. Only one writer works on a log at a time
//! (`Core::writing`); completion publishes the new end and wakes whoever waits.

use crate::base::Offset;
use crate::io::process;
use crate::io::ring::Ring;
use crate::io::ring::WriteOp;
use crate::io::ring::failed_in_sync;
use crate::log::Core;
use crate::log::Log;
use crate::log::directory::Directory;
use crate::log::published::End;
use crate::log::segment::Segment;
use bytes::Bytes;
use parking_lot::MutexGuard;
use std::io;
use std::sync::Arc;

/// A batch on its way: the fresh head and the rest, as they came.
#[derive(Debug)]
pub(crate) struct Queued {
    pub(crate) segment: Arc<Segment>,
    pub(crate) position: u64,
    pub(crate) parts: [Bytes; 2],
    pub(crate) bytes: u64,
    pub(crate) end: Offset,
}

/// Consecutive bytes for one segment.
#[derive(Debug)]
struct Write {
    segment: Arc<Segment>,
    position: u64,
    parts: Vec<Bytes>,
    bytes: u64,
    end: Offset,
}

/// Everything that was queued at one moment, one write per segment.
#[derive(Debug)]
pub(crate) struct Round {
    writes: Vec<Write>,
}

/// Rounds after which a combining writer leaves the rest to the disk thread: its own append waits long enough.
const ROUNDS_MAX: u32 = 64;

/// Synced writes up to this size get zeros written ahead of them, because a sync over blocks that were written
/// before is much faster; larger ones would only double the work.
const AHEAD_BELOW: u64 = 64 << 10;
const AHEAD_MIN: u64 = 64 << 10;
const AHEAD_MAX: usize = 1 << 20;
static ZEROS: [u8; AHEAD_MAX] = [0; AHEAD_MAX];

impl Log {
    /// After an append: who writes it. A round for the caller to write, or `None` when somebody else will.
    pub(crate) fn choose_writer(&self, core: &mut Core, sync: bool) -> Option<Round> {
        if sync {
            core.sync_to = core.next;
            self.list_for_disk(core);
            return None;
        }
        if core.writing {
            return None;
        }
        if self.directory.is_slow() {
            self.list_for_disk(core);
            return None;
        }
        core.writing = true;
        Some(take(core))
    }

    /// Puts the log on the disk thread's list, once.
    pub(crate) fn list_for_disk(&self, core: &mut Core) {
        if !core.listed {
            core.listed = true;
            self.directory.list(self.me.clone());
        }
    }

    /// The combining writer: writes rounds until the queue is empty.
    pub(crate) fn write_rounds(&self, mut round: Round) {
        for count in 1.. {
            let (pace, clock) = (&self.directory.pace, &self.directory.clock);
            let timed = pace.begin(clock.now(), process::times_slept);
            let outcome = round.writes.iter().try_for_each(|write| {
                write.segment.file(&self.directory)?.write_vectored_at(&write.parts, write.position)
            });
            pace.end(timed, clock.now(), process::times_slept);
            if let Err(error) = outcome {
                release(&self.directory, &round);
                return self.write_failed(&error);
            }
            let mut core = self.core.lock();
            self.publish(&mut core, &round);
            if !core.queue.is_empty() && !core.disk_waits && count < ROUNDS_MAX {
                round = take(&mut core);
                continue;
            }
            return self.end_writing(&mut core);
        }
    }

    /// Waits, with the lock given back, until somebody has ended a round. Where no thread does the disk work, does it.
    pub(crate) fn wait_for_round(&self, core: &mut MutexGuard<'_, Core>) {
        core.blocked += 1;
        if self.directory.is_driven() {
            MutexGuard::unlocked(core, || self.directory.drive());
        } else {
            self.round_ended.wait(core);
        }
        core.blocked -= 1;
    }

    /// Nobody writes any more; what is left is the disk thread's.
    pub(crate) fn end_writing(&self, core: &mut Core) {
        core.writing = false;
        core.disk_waits = false;
        let offline = self.directory.check().is_err();
        if !core.queue.is_empty() || (core.sync_to > core.synced && !offline) {
            self.list_for_disk(core);
        }
        if core.blocked > 0 {
            self.round_ended.notify_all();
        }
    }

    /// The round's bytes are in their files: readers may see them.
    fn publish(&self, core: &mut Core, round: &Round) {
        for write in &round.writes {
            let position = write.position.saturating_add(write.bytes);
            write.segment.set_size(position);
            self.published.store(End { offset: write.end, segment: write.segment.base, position });
            self.directory.written(write.bytes);
            self.directory.metrics.written_bytes.inc_by(write.bytes);
        }
        self.announce(core);
    }

    /// The disk thread's part of one log: everything queued, and what must be synced.
    fn begin_disk_round(&self) -> Option<(Round, Option<Sync>)> {
        let mut core = self.core.lock();
        core.listed = false;
        if core.writing {
            core.disk_waits = true;
            return None;
        }
        if core.closed || self.directory.check().is_err() {
            self.take_back(&mut core);
            self.announce(&core);
            self.round_ended.notify_all();
            return None;
        }
        let sync = (core.sync_to > core.synced).then(|| Sync { to: core.next, segments: core.dirty.clone() });
        if core.queue.is_empty() && sync.is_none() {
            return None;
        }
        core.writing = true;
        Some((take(&mut core), sync))
    }

    /// The ring has done the round.
    fn end_disk_round(&self, round: &Round, sync: Option<Sync>) {
        let synced_names = sync.as_ref().map_or(Ok(()), |sync| self.sync_names(&sync.segments));
        if let Err(error) = synced_names {
            return self.sync_failed(&error);
        }
        let mut core = self.core.lock();
        if let Some(sync) = sync {
            core.synced = core.synced.max(sync.to);
            core.last_sync = self.directory.clock.now();
            // What came since is queued, and not synced: it may be in the segment that just was.
            core.unsynced_records = core.next.0.saturating_sub(sync.to.0);
            core.dirty = core.queue.iter().map(|queued| queued.segment.clone()).collect();
            core.dirty.dedup_by(|one, other| Arc::ptr_eq(one, other));
        }
        self.publish(&mut core, round);
        self.end_writing(&mut core);
    }

    /// Makes the names of new segment files safe.
    pub(crate) fn sync_names(&self, segments: &[Arc<Segment>]) -> io::Result<()> {
        if segments.iter().any(|segment| segment.name_unsynced()) {
            self.directory.disk.sync_dir(&self.place.path())?;
            segments.iter().for_each(|segment| segment.name_synced());
        }
        Ok(())
    }

    /// A write failed. On a full device the appends are taken back and the directory stays online; everything else
    /// takes it offline.
    fn write_failed(&self, error: &io::Error) {
        let mut core = self.core.lock();
        self.take_back(&mut core);
        if is_full(error) {
            tracing::warn!(partition = %self.partition, %error, "append taken back");
            let end = self.log_end_offset();
            if let Err(error) = self.shorten(&mut core, end) {
                self.directory.fail(&format!("cannot cut back after a full device: {error}"));
            }
        } else {
            self.directory.fail(&format!("write to {} failed: {error}", self.partition));
            self.cut_to_published();
        }
        self.announce(&core);
        self.end_writing(&mut core);
    }

    /// A sync failed: nothing of the directory can be trusted before it is read anew.
    fn sync_failed(&self, error: &io::Error) {
        self.directory.fail(&format!("sync of {} failed: {error}", self.partition));
        let mut core = self.core.lock();
        self.take_back(&mut core);
        self.announce(&core);
        self.end_writing(&mut core);
    }

    /// All that is queued or was being written counts as never appended.
    pub(crate) fn take_back(&self, core: &mut Core) {
        let end = self.published.load().offset;
        for queued in core.queue.drain(..) {
            self.directory.written(queued.bytes);
        }
        core.note_taken_back(end);
        core.next = end;
        core.sync_to = core.sync_to.min(end);
    }

    /// Cuts the active file back to its last good batch, as far as the disk still lets us.
    fn cut_to_published(&self) {
        let end = self.published.load();
        let segments = self.view.load();
        let Some(segment) = segments.iter().find(|segment| segment.base == end.segment) else { return };
        if let Err(error) = segment.cut(&self.directory, end.position) {
            tracing::warn!(partition = %self.partition, %error, "cannot cut back after a failed write");
        }
    }
}

impl Core {
    /// Appends beyond `end` made so far are void.
    pub(crate) fn note_taken_back(&mut self, end: Offset) {
        const KEPT: usize = 16;
        if self.taken_back.len() == KEPT {
            self.taken_back.pop_front();
        }
        self.taken_back.push_back((self.generation, end));
        self.generation += 1;
    }
}

/// What a disk round syncs.
#[derive(Debug)]
struct Sync {
    to: Offset,
    segments: Vec<Arc<Segment>>,
}

fn take(core: &mut Core) -> Round {
    let mut writes: Vec<Write> = Vec::with_capacity(1);
    for queued in core.queue.drain(..) {
        let Queued { segment, position, parts, bytes, end } = queued;
        match writes.last_mut().filter(|write| Arc::ptr_eq(&write.segment, &segment)) {
            Some(write) => {
                write.parts.extend(parts);
                write.bytes = write.bytes.saturating_add(bytes);
                write.end = end;
            }
            None => writes.push(Write { segment, position, parts: parts.into(), bytes, end }),
        }
    }
    Round { writes }
}

/// One log's share of a submission.
struct Share {
    log: Arc<Log>,
    round: Round,
    sync: Option<Sync>,
    ops: usize,
}

/// One turn of a directory's disk thread: what waits of all its logs, in one submission. Whether there was work.
pub(crate) fn turn(directory: &Directory, ring: &mut Ring) -> bool {
    let logs = directory.take_listed();
    let mut shares = Vec::with_capacity(logs.len());
    let mut ops = Vec::new();
    for log in logs {
        let Some((round, sync)) = log.begin_disk_round() else { continue };
        match operations(&log, &round, sync.as_ref()) {
            Ok(own) => {
                shares.push(Share { log, round, sync, ops: own.len() });
                ops.extend(own);
            }
            Err(error) => {
                release(directory, &round);
                log.write_failed(&error);
            }
        }
    }
    let worked = !shares.is_empty();
    let mut outcomes = submit(directory, ring, ops).into_iter();
    for share in shares {
        let failure = outcomes.by_ref().take(share.ops).filter_map(Result::err).reduce(|first, _| first);
        finish(directory, share, failure);
    }
    worked
}

/// Runs the operations, and measures how long those took that sync.
fn submit(directory: &Directory, ring: &mut Ring, ops: Vec<WriteOp>) -> Vec<io::Result<()>> {
    if ops.is_empty() {
        return Vec::new();
    }
    let syncs = ops.iter().any(|op| op.sync);
    let before = directory.clock.now();
    let outcomes = ring.run(ops);
    if syncs {
        directory.metrics.flush.took(directory.clock.now().since(before));
    }
    outcomes
}

fn finish(directory: &Directory, share: Share, failure: Option<io::Error>) {
    let Share { log, round, sync, .. } = share;
    match failure {
        None if directory.check().is_ok() => log.end_disk_round(&round, sync),
        None => {
            release(directory, &round);
            log.sync_failed(&io::Error::other("the directory failed meanwhile"));
        }
        Some(error) if directory.ignores_failed_sync() && failed_in_sync(&error) => {
            log.end_disk_round(&round, sync);
        }
        Some(error) => {
            release(directory, &round);
            if failed_in_sync(&error) { log.sync_failed(&error) } else { log.write_failed(&error) }
        }
    }
}

fn release(directory: &Directory, round: &Round) {
    for write in &round.writes {
        directory.written(write.bytes);
    }
}

/// The ring's operations for one log: a write for each segment, with zeros ahead where that pays, and a sync of
/// every segment that has bytes not synced.
fn operations(log: &Log, round: &Round, sync: Option<&Sync>) -> io::Result<Vec<WriteOp>> {
    let directory = &log.directory;
    let with_sync = sync.is_some() && !directory.skips_sync();
    let mut ops = Vec::new();
    for write in &round.writes {
        let file = write.segment.file(directory)?;
        let mut parts = write.parts.clone();
        if sync.is_some()
            && let Some(zeros) = ahead(log, write)
        {
            write.segment.grown_to(write.position + write.bytes + u64::try_from(zeros.len()).unwrap_or(0));
            parts.push(zeros);
        }
        ops.push(WriteOp { file, position: write.position, parts, sync: with_sync });
    }
    if !with_sync {
        return Ok(ops);
    }
    for segment in sync.map(|sync| sync.segments.as_slice()).unwrap_or_default() {
        if round.writes.iter().any(|write| Arc::ptr_eq(&write.segment, segment)) {
            continue;
        }
        match segment.file(directory) {
            Ok(file) => ops.push(WriteOp { file, position: 0, parts: Vec::new(), sync: true }),
            // Retention took it since the round began, and nobody needs it synced.
            Err(_) if segment.is_deleted() => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ops)
}

/// The zeros to write behind a small synced write that reaches the end of its file.
fn ahead(log: &Log, write: &Write) -> Option<Bytes> {
    let end = write.position.saturating_add(write.bytes);
    let limit = u64::try_from(log.config.load().segment_bytes).unwrap_or(0);
    if write.bytes > AHEAD_BELOW || end <= write.segment.physical() || end >= limit {
        return None;
    }
    let wanted = usize::try_from((end / 4).max(AHEAD_MIN).min(limit - end)).unwrap_or(AHEAD_MAX);
    ZEROS.get(..wanted.min(AHEAD_MAX)).map(Bytes::from_static)
}

/// Whether something has run out that may come back, and nothing is broken: room on the device (or of a quota on
/// it), or files that this process may open.
pub(crate) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        || process::is_out_of_files(error)
}

#[cfg(test)]
mod tests;
