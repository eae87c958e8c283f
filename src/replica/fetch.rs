//! Reading several partitions as one answer, and waiting until that answer is worth sending.

use crate::base::Instant;
use crate::io::Clock;
use crate::replica::error::Error;
use crate::replica::partition::Partition;
use crate::replica::read::Available;
use crate::replica::read::ReadAnswer;
use crate::replica::read::ReadRequest;
use crate::replica::waiters::Wait;
use std::sync::Arc;

/// One partition of a fetch. `request.max_bytes` is the partition's own limit; `at_least_one` is set here.
#[derive(Clone, Debug)]
pub struct Target {
    /// The partition.
    pub partition: Arc<Partition>,
    /// What is wanted of it.
    pub request: ReadRequest,
}

/// When a fetch is answered, and how large the answer becomes.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    /// Bytes that are worth an answer; 0 for an answer at once.
    pub min_bytes: u64,
    /// Bytes of the whole answer; only its first batch may be larger.
    pub max_bytes: usize,
    /// Until when to wait for `min_bytes`.
    pub deadline: Instant,
}

/// Several partitions that are read together, in order.
#[derive(Debug)]
pub struct Fetch {
    /// The partitions.
    pub targets: Vec<Target>,
    /// The limits.
    pub limits: FetchLimits,
}

/// The outcome for each target, in order.
pub type Outcomes = Vec<Result<ReadAnswer, Error>>;

impl Fetch {
    /// Reads what is there now. The first batch of the first partition that has one comes whole whatever its size
    /// (KIP-74); the others obey what is left. `Ok` when it is worth an answer, `Err` with what was read when it may
    /// be waited for.
    pub fn read(&self) -> Result<Outcomes, Outcomes> {
        let (outcomes, complete) = self.read_once();
        if complete { Ok(outcomes) } else { Err(outcomes) }
    }

    fn read_once(&self) -> (Outcomes, bool) {
        let mut left = self.limits.max_bytes;
        let mut at_least_one = true;
        let mut bytes: u64 = 0;
        let mut now = false;
        let mut outcomes = Vec::with_capacity(self.targets.len());
        for target in &self.targets {
            let max_bytes = target.request.max_bytes.min(left);
            let request = ReadRequest { max_bytes, at_least_one, ..target.request };
            let outcome = target.partition.read(&request);
            match &outcome {
                Ok(answer) => {
                    now |= answer.diverging.is_some();
                    at_least_one &= answer.bytes == 0;
                    bytes = bytes.saturating_add(answer.bytes);
                    left = left.saturating_sub(usize::try_from(answer.bytes).unwrap_or(usize::MAX));
                }
                Err(_) => now = true,
            }
            outcomes.push(outcome);
        }
        let complete = now || bytes >= self.limits.min_bytes || self.targets.is_empty();
        (outcomes, complete)
    }

    /// Waits until the partitions hold `min_bytes`, one of them must be answered, or the deadline is over; then
    /// reads. Nothing runs while nothing happens on these partitions.
    pub async fn wait_and_read(&self, clock: &Clock) -> Outcomes {
        if clock.now() < self.limits.deadline {
            self.wait(clock).await;
        }
        self.read_once().0
    }

    async fn wait(&self, clock: &Clock) {
        let wait = Wait::on(self.targets.iter().map(|target| Arc::clone(&target.partition)));
        let left = self.limits.deadline.since(clock.now());
        let _in_time = clock.timeout(left, self.enough(&wait)).await;
    }

    /// Returns when there is enough. Each partition is looked at once at the beginning, because it may have gained
    /// records before the wait hung on it, and then only after progress.
    async fn enough(&self, wait: &Wait<Partition>) {
        let mut held = vec![0u64; self.targets.len()];
        let mut sum: u64 = 0;
        let mut places: Vec<usize> = (0..self.targets.len()).collect();
        loop {
            for place in &places {
                let (Some(target), Some(held)) = (self.targets.get(*place), held.get_mut(*place)) else {
                    continue;
                };
                let missing = self.limits.min_bytes.saturating_sub(sum.saturating_sub(*held));
                match target.partition.available(&target.request, missing) {
                    Available::AnswerNow => return,
                    Available::Bytes(bytes) => {
                        sum = sum.saturating_sub(*held).saturating_add(bytes);
                        *held = bytes;
                    }
                }
            }
            if sum >= self.limits.min_bytes {
                return;
            }
            wait.progress(&mut places).await;
        }
    }
}
