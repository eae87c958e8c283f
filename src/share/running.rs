//! The tasks behind the service: the share coordinator's, the ends of locks, and work that was begun.

use crate::base::Instant;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::task;
use crate::io::task::Task;
use crate::io::task::Tasks;
use crate::replica::Replicas;
use crate::share::Service;
use crate::share::state;
use std::sync::Arc;
use std::time::Duration;

/// How often is looked for share-partitions that nobody needs in memory.
const SWEEP: Duration = Duration::from_secs(60);

/// The tasks of a [`Service`]; they end on the shutdown they were given.
#[must_use = "a task without an owner is not allowed"]
pub struct Running {
    states: state::Running,
    locks: Task<()>,
    jobs: Task<()>,
}

impl Running {
    /// Begins to work.
    pub fn start(service: &Service, replicas: Arc<Replicas>, clock: Clock, shutdown: &Shutdown) -> Running {
        let states = state::Running::start(service.states(), replicas, clock.clone(), shutdown);
        Running {
            states,
            locks: task::spawn("share locks", end_locks(service.clone(), clock, shutdown.clone())),
            jobs: task::spawn("share jobs", work(service.clone(), shutdown.clone())),
        }
    }

    /// Waits until all have ended, and all that they ran.
    pub async fn ended(self) {
        self.locks.join().await;
        self.jobs.join().await;
        self.states.ended().await;
    }
}

async fn end_locks(service: Service, clock: Clock, shutdown: Shutdown) {
    let shared = Arc::clone(&service.shared);
    let mut sweep_at = clock.now().plus(SWEEP);
    loop {
        let next: Option<Instant> = shared.locks.lock().next();
        let until = next.map_or(sweep_at, |next| next.min(sweep_at));
        tokio::select! {
            biased;
            () = shutdown.triggered() => return,
            () = clock.sleep_until(until) => {}
            () = shared.locks_changed.notified() => {}
        }
        let now = clock.now();
        loop {
            let due = shared.locks.lock().pop(now);
            let Some(key) = due else { break };
            service.expire(&key);
        }
        if now >= sweep_at {
            service.sweep();
            sweep_at = now.plus(SWEEP);
        }
    }
}

async fn work(service: Service, shutdown: Shutdown) {
    let mut tasks = Tasks::new("share job");
    loop {
        tokio::select! {
            biased;
            () = shutdown.triggered() => break,
            job = service.shared.jobs.next() => {
                tasks.reap();
                tasks.spawn(job);
            }
        }
    }
    tasks.abort_all().await;
}
