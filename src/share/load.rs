//! Loading share-partitions: side by side, in the background, a limited number of them at once.

use crate::share::Failure;
use crate::share::Key;
use crate::share::Service;
use crate::share::live;
use crate::share::live::Live;
use crate::share::partition::Dead;
use crate::share::service::may_pass;
use crate::share::slots::Duty;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// How many share-partitions are loaded at once on this broker.
const LOADS_MAX: usize = 128;
/// How often a load is tried that the share coordinator cannot answer now, and the pause between, which doubles up to a
/// longest one. Together about 15 s, as in `PersisterStateManager`.
const ATTEMPTS: u32 = 15;
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// A share-partition that is to be loaded, and which attempt this is.
struct Load {
    duty: Duty<Live>,
    attempt: u32,
}

/// What is to be loaded.
#[derive(Default)]
pub(super) struct Loads {
    waiting: VecDeque<Load>,
    workers: usize,
}

impl Loads {
    /// How many workers more are needed with these.
    fn add(&mut self, loads: Vec<Load>) -> usize {
        self.waiting.extend(loads);
        let more = self.waiting.len().min(LOADS_MAX.saturating_sub(self.workers));
        self.workers = self.workers.saturating_add(more);
        more
    }

    /// The next one for a worker, which ends when there is none.
    fn next(&mut self) -> Option<Load> {
        let next = self.waiting.pop_front();
        if next.is_none() {
            self.workers = self.workers.saturating_sub(1);
        }
        next
    }
}

impl Service {
    /// Has share-partitions loaded, whatever becomes of who asked for it.
    pub(super) fn have_loaded(&self, duties: Vec<Duty<Live>>) {
        self.queue(duties.into_iter().map(|duty| Load { duty, attempt: 1 }).collect());
    }

    fn queue(&self, loads: Vec<Load>) {
        if loads.is_empty() {
            return;
        }
        let more = self.shared.loads.lock().add(loads);
        for _ in 0..more {
            let service = self.clone();
            self.in_background(async move {
                while let Some(load) = service.next_load() {
                    service.load(load).await;
                }
            });
        }
    }

    fn next_load(&self) -> Option<Load> {
        self.shared.loads.lock().next()
    }

    async fn load(&self, load: Load) {
        let again = match self.read_state(load.duty.key()).await {
            Ok((live, dead)) => {
                let live = Arc::new(live);
                let again = load.duty.end(Ok(Arc::clone(&live)));
                if again.is_none() {
                    dead.into_iter().for_each(|dead| self.bury(&live, dead));
                }
                again
            }
            Err(failure) if load.attempt < ATTEMPTS && may_pass(failure) => return self.load_later(load),
            Err(failure) => {
                tracing::debug!(key = %load.duty.key(), code = %failure.code, "share-partition is not loaded");
                load.duty.end(Err(failure))
            }
        };
        self.have_loaded(again.into_iter().collect());
    }

    /// Tries once more after a pause, in which the worker loads others.
    fn load_later(&self, Load { duty, attempt }: Load) {
        let service = self.clone();
        self.in_background(async move {
            let doubled = PAUSE.saturating_mul(2_u32.saturating_pow(attempt.saturating_sub(1)));
            service.shared.clock.sleep(doubled.min(PAUSE_MAX)).await;
            service.queue(vec![Load { duty, attempt: attempt.saturating_add(1) }]);
        });
    }

    async fn read_state(&self, key: &Key) -> Result<(Live, Vec<Dead>), Failure> {
        let shared = &self.shared;
        let log = shared.replicas.by_id(key.topic, key.partition);
        let log = log.map_err(|error| live::of_replica(&error))?;
        let reset = (self.rules(&key.group).reset, shared.clock.wall());
        Live::load(self.states(), key.clone(), log, reset).await
    }
}
