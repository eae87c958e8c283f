//! What a reader may see: the one place that decides what is visible.

use crate::base::BrokerId;
use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::base::OffsetAndEpoch;
use crate::io::FileSlice;
use crate::log::AbortedTransaction;
use crate::log::ReadResult;
use crate::replica::error::Error;
use crate::replica::partition::Partition;

/// Who reads, and so how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// A consumer: up to the high watermark.
    Consumer,
    /// A consumer that wants committed records only: up to the last stable offset.
    Committed,
    /// A follower: up to the log's end. Its request is also its position report.
    Follower {
        /// Which one.
        id: BrokerId,
        /// Where its log begins; `None` when it does not say.
        log_start: Option<Offset>,
    },
}

/// What is read.
#[derive(Clone, Copy, Debug)]
pub struct ReadRequest {
    /// From which offset on.
    pub from: Offset,
    /// How many bytes at most.
    pub max_bytes: usize,
    /// Whether the first batch comes whole even when it is larger (KIP-74).
    pub at_least_one: bool,
    /// Who reads.
    pub reader: Reader,
    /// The leader epoch the reader knows (KIP-320).
    pub leader_epoch: Option<LeaderEpoch>,
    /// The epoch of the last record the reader has (KIP-595).
    pub last_fetched_epoch: Option<LeaderEpoch>,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct ReadAnswer {
    /// The record batches, still on disk.
    pub slices: Vec<FileSlice>,
    /// Their size.
    pub bytes: u64,
    /// Offsets at the moment of the read.
    pub high_watermark: Offset,
    /// The last stable offset.
    pub last_stable_offset: Offset,
    /// The log's start.
    pub log_start_offset: Offset,
    /// The log's end.
    pub log_end_offset: Offset,
    /// The reader's log goes another way: no records, but where to truncate to.
    pub diverging: Option<OffsetAndEpoch>,
    /// The transactions aborted in what was read; `None` for readers that take everything, and where the first batch is
    /// larger than what the reader takes (`ReplicaManager.readFromLog`).
    pub aborted: Option<Vec<AbortedTransaction>>,
}

/// How much there is to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Available {
    /// So many bytes; never more than the request's limit.
    Bytes(u64),
    /// The reader must be answered now: an error, a divergence, an offset that is gone.
    AnswerNow,
}

impl Partition {
    /// Reads. An empty answer means: nothing visible there yet.
    ///
    /// # Errors
    /// NOT_LEADER_OR_FOLLOWER, the leader epoch's errors, OFFSET_OUT_OF_RANGE, storage errors.
    pub fn read(&self, request: &ReadRequest) -> Result<ReadAnswer, Error> {
        let leader = self.lead(request.leader_epoch)?;
        if let Reader::Follower { id, .. } = request.reader {
            self.check_follower(&leader, id, request.leader_epoch)?;
        }
        self.advance(&leader);
        let mut answer = self.offsets()?;
        if let Some(diverging) = self.divergence(request)? {
            answer.diverging = Some(diverging);
            return Ok(answer);
        }
        self.check_range(request.from)?;
        if let Reader::Follower { id, log_start } = request.reader {
            self.note_follower(&leader, id, (request.from, log_start), answer.log_end_offset);
        }
        drop(leader);
        let limit = visible_end(&answer, request.reader);
        let found = if request.from < limit {
            self.log.read(request.from, limit, request.max_bytes, request.at_least_one)?
        } else {
            ReadResult::default()
        };
        if request.reader == Reader::Committed && !found.too_large {
            answer.aborted = Some(self.aborted_within(request.from, limit, &found)?);
        }
        answer.slices = found.slices;
        answer.bytes = found.bytes;
        Ok(answer)
    }

    /// The transactions aborted within what was read. Those behind it are left out where that is known: a reader far
    /// behind would get all of them with each answer.
    fn aborted_within(
        &self,
        from: Offset,
        limit: Offset,
        read: &ReadResult,
    ) -> Result<Vec<AbortedTransaction>, Error> {
        if read.bytes == 0 {
            return Ok(Vec::new());
        }
        let mut aborted = self.log.aborted(from, limit)?;
        if !aborted.is_empty()
            && let Some(end) = self.log.following(read)
        {
            aborted.retain(|transaction| transaction.first < end);
        }
        Ok(aborted)
    }

    /// How much there is to read, for whoever waits for a certain amount. With `enough` at most 1 the files are not
    /// looked at.
    pub fn available(&self, request: &ReadRequest, enough: u64) -> Available {
        let visible = || -> Result<Option<Offset>, Error> {
            let leader = self.lead(request.leader_epoch)?;
            self.advance(&leader);
            if self.divergence(request)?.is_some() {
                return Ok(None);
            }
            self.check_range(request.from)?;
            Ok(Some(visible_end(&self.offsets()?, request.reader)))
        };
        let limit = match visible() {
            Ok(Some(limit)) => limit,
            Ok(None) | Err(_) => return Available::AnswerNow,
        };
        if request.from >= limit {
            return Available::Bytes(0);
        }
        if enough <= 1 {
            return Available::Bytes(1);
        }
        match self.log.read(request.from, limit, request.max_bytes, request.at_least_one) {
            Ok(found) => Available::Bytes(found.bytes),
            Err(_) => Available::AnswerNow,
        }
    }

    fn offsets(&self) -> Result<ReadAnswer, Error> {
        let high_watermark = self.high_watermark_now();
        Ok(ReadAnswer {
            slices: Vec::new(),
            bytes: 0,
            high_watermark,
            last_stable_offset: self.stable_below(high_watermark)?,
            log_start_offset: self.log.log_start_offset(),
            log_end_offset: self.log.log_end_offset(),
            diverging: None,
            aborted: None,
        })
    }

    /// An offset is in the log from its start to its end, the end included: there one waits.
    fn check_range(&self, offset: Offset) -> Result<(), Error> {
        let (start, end) = (self.log.log_start_offset(), self.log.log_end_offset());
        if offset < start || offset > end {
            return Err(Error::OffsetOutOfRange { offset, start, end });
        }
        Ok(())
    }

    /// Where the reader's log goes another way than this one (`Partition.readRecords`, KIP-595).
    fn divergence(&self, request: &ReadRequest) -> Result<Option<OffsetAndEpoch>, Error> {
        let Some(fetched) = request.last_fetched_epoch else { return Ok(None) };
        let (start, end) = (self.log.log_start_offset(), self.log.log_end_offset());
        let out_of_range = Error::OffsetOutOfRange { offset: request.from, start, end };
        let Some((epoch, offset)) = self.log.epoch_end(fetched)? else { return Err(out_of_range) };
        if request.from < start {
            return Err(out_of_range);
        }
        let diverges = epoch < fetched || offset < request.from;
        Ok(diverges.then_some(OffsetAndEpoch { offset, epoch }))
    }

    /// The largest epoch not above `epoch` and where it ends, for a reader that wants to know where to truncate
    /// (OffsetForLeaderEpoch, KIP-279); `None` when it is not known here.
    ///
    /// # Errors
    /// NOT_LEADER_OR_FOLLOWER, the leader epoch's errors, storage errors.
    pub fn epoch_end(
        &self,
        known: Option<LeaderEpoch>,
        epoch: LeaderEpoch,
    ) -> Result<Option<OffsetAndEpoch>, Error> {
        let leader = self.lead(known)?;
        // The present epoch ends where the log ends, also before its first record.
        if epoch == leader.epoch {
            return Ok(Some(OffsetAndEpoch { offset: self.log.log_end_offset(), epoch }));
        }
        let end = self.log.epoch_end(epoch)?;
        Ok(end.map(|(epoch, offset)| OffsetAndEpoch { offset, epoch }))
    }
}

/// The end (exclusive) of what this reader sees.
fn visible_end(offsets: &ReadAnswer, reader: Reader) -> Offset {
    match reader {
        Reader::Consumer => offsets.high_watermark,
        Reader::Committed => offsets.last_stable_offset,
        Reader::Follower { .. } => offsets.log_end_offset,
    }
}
