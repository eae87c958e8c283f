//! Work that goes on when nobody waits for it any more: writes that were begun, dead letters.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use tokio::sync::Notify;

/// A piece of work.
pub(super) type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Work that waits for its task. There is about one piece for each request that is answered when the work is done.
#[derive(Default)]
pub(super) struct Jobs {
    waiting: Mutex<VecDeque<Job>>,
    came: Notify,
}

impl fmt::Debug for Jobs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Jobs").field("waiting", &self.waiting.lock().len()).finish_non_exhaustive()
    }
}

impl Jobs {
    pub(super) fn push(&self, job: impl Future<Output = ()> + Send + 'static) {
        self.waiting.lock().push_back(Box::pin(job));
        self.came.notify_one();
    }

    /// The next piece; waits for one. For one task.
    pub(super) async fn next(&self) -> Job {
        loop {
            let job = self.waiting.lock().pop_front();
            if let Some(job) = job {
                return job;
            }
            self.came.notified().await;
        }
    }
}
