//! A few threads that read what is not in memory, behind everybody else: whoever catches up from the disk must not take
//! the processor from those who follow the ends of the logs.

use crate::io::process;
use crate::io::task;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::mpsc;
use tokio::sync::Semaphore;
use tokio::sync::oneshot;
use tracing::warn;

/// Calls that run at a time.
const WIDTH: usize = 4;
/// Consumers wait for these threads, but those who follow the ends of the logs go first.
const NICENESS: i32 = 10;

type Call = Box<dyn FnOnce() + Send>;

static PLACES: Semaphore = Semaphore::const_new(WIDTH);
/// Where the threads take their calls from; `None` when not one could be started.
static CALLS: OnceLock<Option<mpsc::SyncSender<Call>>> = OnceLock::new();

/// Runs a call on the lane, when it has a place, and waits for its value. The call runs to its end even if the future is
/// dropped.
pub(in crate::io) async fn run<T: Send + 'static>(call: impl FnOnce() -> T + Send + 'static) -> T {
    let Ok(place) = PLACES.acquire().await else { return task::run_blocking(call).await };
    let Some(calls) = CALLS.get_or_init(start) else { return task::run_blocking(call).await };
    let (answer, answered) = oneshot::channel();
    let sent = calls.try_send(Box::new(move || {
        let value = call();
        // The place belongs to the call and not to who waits for it, who may have gone.
        drop(place);
        answer.send(value).ok();
    }));
    assert!(sent.is_ok(), "no more calls wait than there are places, and a thread never ends");
    answered.await.expect("a call on the lane ends with its value")
}

fn start() -> Option<mpsc::SyncSender<Call>> {
    let (calls, waiting) = mpsc::sync_channel::<Call>(WIDTH);
    let waiting = Arc::new(Mutex::new(waiting));
    let mut started = 0;
    for _ in 0..WIDTH {
        let waiting = Arc::clone(&waiting);
        match task::spawn_thread("cold-read", move || work(&waiting)) {
            Ok(_runs_on) => started += 1,
            Err(error) => warn!(%error, started, "no more threads for cold reads"),
        }
    }
    (started > 0).then_some(calls)
}

fn work(waiting: &Mutex<mpsc::Receiver<Call>>) {
    process::lower_priority(NICENESS);
    loop {
        let Ok(call) = waiting.lock().recv() else { return };
        call();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_run_on_threads_of_low_priority_and_give_their_value() {
        let calls = (0..20).map(|number| run(move || (number, process::niceness().unwrap())));
        let mut seen = Vec::new();
        for call in calls {
            seen.push(call.await);
        }
        let expected: Vec<_> = (0..20).map(|number| (number, NICENESS)).collect();
        assert_eq!(seen, expected);
        assert!(process::niceness().unwrap() < NICENESS, "this thread is as it was");
    }

    #[tokio::test]
    async fn a_call_that_nobody_waits_for_keeps_its_place_until_it_has_run() {
        let (go, gate) = std::sync::mpsc::channel::<()>();
        let gate = Arc::new(Mutex::new(gate));
        for _ in 0..WIDTH * 5 {
            let gate = Arc::clone(&gate);
            let mut waits = Box::pin(run(move || gate.lock().recv().is_ok()));
            tokio::select! {
                biased;
                _ = &mut waits => unreachable!("the gate is closed"),
                () = tokio::task::yield_now() => {}
            }
        }
        for _ in 0..WIDTH * 5 {
            go.send(()).unwrap();
        }
        assert!(run(|| true).await);
    }

    #[tokio::test]
    async fn more_calls_than_places_wait_their_turn() {
        let running = Arc::new(Mutex::new((0_usize, 0_usize)));
        let calls: Vec<_> = (0..40)
            .map(|_| {
                let running = Arc::clone(&running);
                task::spawn(
                    "call",
                    run(move || {
                        let mut now = running.lock();
                        now.0 += 1;
                        now.1 = now.1.max(now.0);
                        drop(now);
                        std::thread::yield_now();
                        running.lock().0 -= 1;
                    }),
                )
            })
            .collect();
        for call in calls {
            call.join().await.unwrap();
        }
        let (running, most) = *running.lock();
        assert!(running == 0 && (1..=WIDTH).contains(&most), "{most} at a time");
    }
}
