//! The engine where io_uring is forbidden: unsynced writes on the calling thread (they go to the page cache), synced
//! ones spread over a few threads, because syncs of many files share one commit of the file system's journal.

use crate::io::ring::WriteOp;
use crate::io::task;
use crate::io::task::Thread;
use std::io;
use std::sync::mpsc;
use tracing::warn;

/// Threads beside the caller's. They start with the first batch that has use for them.
const WORKERS: usize = 3;
/// Jobs that wait for one thread; the caller stops handing out beyond that.
const WAITING_MAX: usize = 64;

/// A few threads that write and sync.
#[derive(Debug, Default)]
pub struct Pool {
    workers: Vec<Worker>,
}

#[derive(Debug)]
struct Worker {
    jobs: mpsc::SyncSender<Job>,
    thread: Thread,
}

#[derive(Debug)]
struct Job {
    index: usize,
    op: WriteOp,
    answers: mpsc::SyncSender<(usize, io::Result<()>)>,
}

impl Pool {
    /// A pool that has not started its threads.
    pub(in crate::io) fn new() -> Pool {
        Pool::default()
    }

    /// See [`crate::io::ring::Ring::run`].
    pub(in crate::io) fn run(&mut self, ops: Vec<WriteOp>) -> Vec<io::Result<()>> {
        if ops.iter().filter(|op| op.sync).count() < 2 {
            return ops.iter().map(WriteOp::run_inline).collect();
        }
        self.start_workers();
        let mut outcomes: Vec<io::Result<()>> = ops.iter().map(|_| Err(ended())).collect();
        let (answers, answered) = mpsc::sync_channel(ops.len());
        let mut own = Vec::new();
        for (index, op) in ops.into_iter().enumerate() {
            // The lanes are the workers and, as the last one, this thread.
            match self.workers.get(index % (self.workers.len() + 1)).filter(|_| op.sync) {
                Some(worker) => {
                    let job = Job { index, op, answers: answers.clone() };
                    if let Err(mpsc::SendError(job)) = worker.jobs.send(job) {
                        own.push((job.index, job.op));
                    }
                }
                None => own.push((index, op)),
            }
        }
        drop(answers);
        let own = own.into_iter().map(|(index, op)| (index, op.run_inline()));
        for (index, outcome) in own.chain(answered) {
            if let Some(place) = outcomes.get_mut(index) {
                *place = outcome;
            }
        }
        outcomes
    }

    fn start_workers(&mut self) {
        while self.workers.len() < WORKERS {
            let (jobs, waiting) = mpsc::sync_channel::<Job>(WAITING_MAX);
            match task::spawn_thread("disk-sync", move || work(&waiting)) {
                Ok(thread) => self.workers.push(Worker { jobs, thread }),
                Err(error) => {
                    warn!(%error, workers = self.workers.len(), "no more threads for syncing");
                    return;
                }
            }
        }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for worker in self.workers.drain(..) {
            drop(worker.jobs);
            worker.thread.join();
        }
    }
}

/// A thread's life: until the pool drops its end of the queue.
fn work(waiting: &mpsc::Receiver<Job>) {
    while let Ok(job) = waiting.recv() {
        let outcome = job.op.run_inline();
        if job.answers.send((job.index, outcome)).is_err() {
            return;
        }
    }
}

fn ended() -> io::Error {
    io::Error::other("the thread that should write ended before it did")
}
