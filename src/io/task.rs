//! Tasks, threads and their end: the only place that spawns.
//!
//! Every task and thread has a name and an owner (who holds its [`Task`], [`Tasks`] or [`Thread`]) and ends on the
//! [`Shutdown`] token it was given. Panics are passed on to whoever joins; the release build aborts on them.

use std::future::Future;
use std::io;
use std::sync::Arc;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::task::JoinHandle;
use tokio::task::JoinSet;

/// Says once and for all that it is time to end. Clones share the state.
#[derive(Clone, Debug)]
pub struct Shutdown {
    state: Arc<watch::Sender<bool>>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Shutdown::new()
    }
}

impl Shutdown {
    /// A token that has not been triggered.
    pub fn new() -> Shutdown {
        Shutdown { state: Arc::new(watch::Sender::new(false)) }
    }

    /// Tells everybody to end. More calls change nothing.
    pub fn trigger(&self) {
        self.state.send_replace(true);
    }

    /// Whether it is time to end.
    pub fn is_triggered(&self) -> bool {
        *self.state.borrow()
    }

    /// Waits until it is time to end. May be dropped and called again at will.
    pub async fn triggered(&self) {
        let mut receiver = self.state.subscribe();
        receiver.wait_for(|triggered| *triggered).await.expect("the sender lives as long as self");
    }
}

/// The workers that run tasks. Dropping it cancels tasks that still run.
#[derive(Debug)]
pub struct Runtime {
    inner: tokio::runtime::Runtime,
}

impl Runtime {
    /// Starts `workers` threads (at least one).
    pub fn start(workers: usize) -> io::Result<Runtime> {
        let inner = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(workers.max(1))
            .thread_name("worker")
            .enable_all()
            .build()?;
        Ok(Runtime { inner })
    }

    /// Runs a future on the calling thread until it is done, and what it spawns on the workers.
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.inner.block_on(future)
    }

    /// Ends without waiting for blocking work that hangs longer than `limit`.
    pub fn end(self, limit: std::time::Duration) {
        self.inner.shutdown_timeout(limit);
    }
}

/// How many processor cores this process may use; 1 when it cannot be told.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

/// How many workers the current runtime has, and how long they were busy since it started, added up.
///
/// Panics when called outside a runtime.
pub fn busy() -> (usize, std::time::Duration) {
    let metrics = tokio::runtime::Handle::current().metrics();
    let workers = metrics.num_workers();
    (workers, (0..workers).map(|worker| metrics.worker_total_busy_duration(worker)).sum())
}

/// A running task. Whoever holds it owns it: join it, or abort it.
#[derive(Debug)]
#[must_use = "a task without an owner is not allowed"]
pub struct Task<T> {
    name: &'static str,
    handle: JoinHandle<T>,
}

/// Starts a task on the current runtime.
///
/// Panics when called outside a runtime.
#[allow(clippy::disallowed_methods, reason = "the one place that spawns tasks")]
pub fn spawn<T: Send + 'static>(
    name: &'static str,
    future: impl Future<Output = T> + Send + 'static,
) -> Task<T> {
    Task { name, handle: tokio::spawn(future) }
}

impl<T> Task<T> {
    /// The name it was started under.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Waits for the task's value; `None` when it was aborted or the runtime ends. A panic goes on here.
    pub async fn join(self) -> Option<T> {
        value_or_panic(self.handle.await)
    }

    /// Ends the task at its next `.await`.
    pub fn abort(self) {
        self.handle.abort();
    }
}

/// Tasks of one kind under one owner, for example the connections of a listener. Dropping it aborts them all.
#[derive(Debug)]
pub struct Tasks {
    name: &'static str,
    set: JoinSet<()>,
}

impl Tasks {
    /// An empty set.
    pub fn new(name: &'static str) -> Tasks {
        Tasks { name, set: JoinSet::new() }
    }

    /// The name the tasks run under.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Starts one more on the current runtime.
    pub fn spawn(&mut self, future: impl Future<Output = ()> + Send + 'static) {
        self.set.spawn(future);
    }

    /// How many have not been reaped.
    pub fn len(&self) -> usize {
        self.set.len()
    }

    /// Whether none is left.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// Forgets those that have ended, without waiting. A panic goes on here.
    pub fn reap(&mut self) {
        while let Some(ended) = self.set.try_join_next() {
            value_or_panic(ended);
        }
    }

    /// Waits until one ends; returns at once when there is none.
    pub async fn join_next(&mut self) {
        if let Some(ended) = self.set.join_next().await {
            value_or_panic(ended);
        }
    }

    /// Waits until all have ended.
    pub async fn join_all(&mut self) {
        while !self.set.is_empty() {
            self.join_next().await;
        }
    }

    /// Ends all at their next `.await`, and waits for that.
    pub async fn abort_all(&mut self) {
        self.set.abort_all();
        self.join_all().await;
    }
}

fn value_or_panic<T>(ended: Result<T, JoinError>) -> Option<T> {
    match ended.map_err(JoinError::try_into_panic) {
        Ok(value) => Some(value),
        Err(Ok(panic)) => std::panic::resume_unwind(panic),
        Err(Err(_cancelled)) => None,
    }
}

/// A running thread; joined by its owner.
#[derive(Debug)]
#[must_use = "a thread without an owner is not allowed"]
pub struct Thread {
    handle: std::thread::JoinHandle<()>,
}

/// Starts a thread. Linux shows the first 15 bytes of its name. Errors: no more threads allowed.
pub fn spawn_thread(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<Thread> {
    let handle = std::thread::Builder::new().name(name.to_owned()).spawn(body)?;
    Ok(Thread { handle })
}

impl Thread {
    /// Waits until the thread ends. A panic goes on here.
    pub fn join(self) {
        if let Err(panic) = self.handle.join() {
            std::panic::resume_unwind(panic);
        }
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }
}

/// Runs a call that may block on a thread for such calls, and waits for its value. The call runs to its end even if
/// the future is dropped; `None` only when the runtime ends before it began.
pub async fn try_run_blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    #[cfg(feature = "sim")]
    if crate::io::sim::thread::is_simulated() {
        return Some(call());
    }
    value_or_panic(tokio::task::spawn_blocking(call).await)
}

/// Lets others have their turn, in the middle of long work on a worker.
pub async fn yield_now() {
    tokio::task::yield_now().await;
}

/// As [`try_run_blocking`], for callers that have no answer to a runtime that ends: waits for ever then, which ends
/// with the runtime.
pub async fn run_blocking<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    match try_run_blocking(call).await {
        Some(value) => value,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn everybody_who_waits_sees_the_shutdown_also_those_who_come_late() {
        let shutdown = Shutdown::new();
        let clone = shutdown.clone();
        let waiting = spawn("waiter", async move { clone.triggered().await });
        assert!(!shutdown.is_triggered());
        shutdown.trigger();
        shutdown.trigger();
        assert_eq!(waiting.join().await, Some(()));
        shutdown.triggered().await;
        assert!(shutdown.is_triggered());
    }

    #[tokio::test]
    async fn a_panic_of_a_task_reaches_its_owner() {
        let task = spawn("panics", async { panic!("on purpose") });
        let owner = spawn("owner", async move { task.join().await });
        assert!(owner.handle.await.unwrap_err().is_panic());
    }

    #[tokio::test]
    async fn tasks_are_joined_and_aborted_together() {
        let mut tasks = Tasks::new("test");
        for _ in 0..3 {
            tasks.spawn(async {});
        }
        tasks.join_all().await;
        assert!(tasks.is_empty());
        tasks.spawn(std::future::pending());
        assert_eq!(tasks.len(), 1);
        tasks.abort_all().await;
        assert!(tasks.is_empty());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn workers_that_work_were_busy() {
        let work = spawn("work", async {
            for _ in 0..1000 {
                std::hint::black_box((0..10_000).map(std::hint::black_box).sum::<u64>());
                tokio::task::yield_now().await;
            }
        });
        work.join().await;
        let (workers, busy) = busy();
        assert_eq!(workers, 2);
        assert!(!busy.is_zero());
    }

    #[tokio::test]
    async fn blocking_calls_give_their_value() {
        assert_eq!(run_blocking(|| 5).await, 5);
    }

    #[test]
    fn threads_carry_their_name() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let thread = spawn_thread("disk", move || {
            sender.send(std::thread::current().name().map(str::to_owned)).unwrap();
        })
        .unwrap();
        thread.join();
        assert_eq!(receiver.recv().unwrap().as_deref(), Some("disk"));
    }
}
