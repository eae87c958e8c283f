//! A log in memory for tests of coordinators.

use crate::base::LeaderEpoch;
use crate::base::Offset;
use crate::coordinator::error::Error;
use crate::coordinator::journal::Appended;
use crate::coordinator::journal::Committing;
use crate::coordinator::journal::Journal;
use crate::record::CheckedBatch;
use crate::record::walk;
use crate::replica::Proof;
use bytes::Bytes;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::watch;

/// A log in memory. Batches are written, and committed, up to offsets that the test gives.
#[derive(Clone)]
pub(crate) struct Memory {
    pub(crate) state: Arc<Mutex<State>>,
    pub(crate) written: Arc<watch::Sender<i64>>,
    pub(crate) committed: Arc<watch::Sender<i64>>,
}

pub(crate) struct State {
    bytes: Vec<u8>,
    starts: Vec<(i64, usize)>,
    end: i64,
    pub(crate) batches: usize,
    pub(crate) refuse: Option<Error>,
    pub(crate) lose_commits: bool,
}

impl Memory {
    pub(crate) fn new() -> Memory {
        let state = State {
            bytes: Vec::new(),
            starts: Vec::new(),
            end: 0,
            batches: 0,
            refuse: None,
            lose_commits: false,
        };
        let unlimited = || Arc::new(watch::Sender::new(i64::MAX));
        Memory { state: Arc::new(Mutex::new(state)), written: unlimited(), committed: unlimited() }
    }

    /// A log that holds these batches.
    pub(crate) fn holding(bytes: &[u8]) -> Memory {
        let memory = Memory::new();
        let mut state = memory.state.lock();
        state.bytes = bytes.to_vec();
        for found in walk(bytes) {
            let (at, header) = found.unwrap();
            state.starts.push((header.base_offset, at));
            state.end = header.last_offset() + 1;
        }
        drop(state);
        memory
    }

    /// The offset behind the last record that is written or on its way.
    pub(crate) fn end(&self) -> Offset {
        Offset(self.state.lock().end)
    }

    /// All batches so far.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.state.lock().bytes.clone()
    }

    pub(crate) fn write(&self, batch: &CheckedBatch) -> Offset {
        let mut state = self.state.lock();
        let base = state.end;
        let at = state.bytes.len();
        state.starts.push((base, at));
        state.bytes.extend_from_slice(&batch.head(Offset(base), LeaderEpoch(0)));
        state.bytes.extend_from_slice(&batch.rest());
        state.end += i64::from(batch.header().record_count);
        state.batches += 1;
        Offset(base)
    }
}

impl Journal for Memory {
    fn start(&self) -> Offset {
        Offset::ZERO
    }

    async fn settled(&self) -> Result<Offset, Error> {
        let (end, mut written) = (self.end(), self.written.subscribe());
        written.wait_for(|offset| *offset >= end.0).await.map_err(|_| Error::NotAvailable)?;
        Ok(end)
    }

    fn batch_bytes_max(&self) -> usize {
        2_000
    }

    async fn read(&self, from: Offset, bytes_max: usize) -> Result<Bytes, Error> {
        let (state, written) = (self.state.lock(), *self.written.borrow());
        let readable = state.starts.iter().find(|(base, _)| *base >= written);
        let readable = readable.map_or(state.bytes.len(), |(_, at)| *at);
        let at = state.starts.iter().rev().find(|(base, _)| *base <= from.0).map_or(0, |(_, at)| *at);
        let later = state.starts.iter().map(|(_, at)| *at).find(|end| *end > at && *end >= at + bytes_max);
        Ok(Bytes::copy_from_slice(&state.bytes[at..later.unwrap_or(readable).min(readable)]))
    }

    fn committed(&self, end: Offset) -> Committing {
        let mut committed = self.committed.subscribe();
        let lost = self.state.lock().lose_commits;
        Box::pin(async move {
            committed.wait_for(|offset| *offset >= end.0).await.map_err(|_| Error::NotAvailable)?;
            if lost { Err(Error::NotAvailable) } else { Ok(()) }
        })
    }

    fn append(&self, batch: CheckedBatch, _proof: Proof) -> Result<Appended, Error> {
        if let Some(error) = self.state.lock().refuse.take() {
            return Err(error);
        }
        let records = i64::from(batch.header().record_count);
        let base = self.write(&batch);
        Ok(Appended { base, committed: self.committed(Offset(base.0 + records)) })
    }
}
