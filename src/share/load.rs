//! Loading share-partitions: side by side, in the background, a limited number of them at once.

use crate::share::Failure;
use crate::share::Key;
use crate::share::Service;
use crate::share::live;
use crate::share::live::Live;
use crate::share::partition::Dead;
use crate::share::slots::Duty;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many share-partitions are loaded at once on this broker.
const LOADS_MAX: usize = 128;

/// What is to be loaded.
#[derive(Default)]
pub(super) struct Loads {
    waiting: VecDeque<Duty<Live>>,
    workers: usize,
}

impl Loads {
    /// How many workers more are needed with these.
    fn add(&mut self, duties: Vec<Duty<Live>>) -> usize {
        self.waiting.extend(duties);
        let more = self.waiting.len().min(LOADS_MAX.saturating_sub(self.workers));
        self.workers = self.workers.saturating_add(more);
        more
    }

    /// The next one for a worker, which ends when there is none.
    fn next(&mut self) -> Option<Duty<Live>> {
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
        if duties.is_empty() {
            return;
        }
        let more = self.shared.loads.lock().add(duties);
        for _ in 0..more {
            let service = self.clone();
            self.in_background(async move {
                while let Some(duty) = service.next_load() {
                    service.load(duty).await;
                }
            });
        }
    }

    fn next_load(&self) -> Option<Duty<Live>> {
        self.shared.loads.lock().next()
    }

    async fn load(&self, duty: Duty<Live>) {
        let mut duty = Some(duty);
        while let Some(one) = duty.take() {
            match self.read_state(one.key()).await {
                Ok((live, dead)) => {
                    let live = Arc::new(live);
                    duty = one.end(Ok(Arc::clone(&live)));
                    if duty.is_none() {
                        dead.into_iter().for_each(|dead| self.bury(&live, dead));
                    }
                }
                Err(failure) => {
                    tracing::debug!(key = %one.key(), code = %failure.code, "share-partition is not loaded");
                    duty = one.end(Err(failure));
                }
            }
        }
    }

    async fn read_state(&self, key: &Key) -> Result<(Live, Vec<Dead>), Failure> {
        let shared = &self.shared;
        let log = shared.replicas.by_id(key.topic, key.partition);
        let log = log.map_err(|error| live::of_replica(&error))?;
        let reset = (self.rules(&key.group).reset, shared.clock.wall());
        Live::load(self.states(), key.clone(), log, reset).await
    }
}
