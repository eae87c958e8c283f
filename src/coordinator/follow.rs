//! Keeps a runtime's partitions in step with the leadership of its topic.

use crate::base::PartitionIndex;
use crate::coordinator::led_partition::LedPartition;
use crate::coordinator::machine::Machine;
use crate::coordinator::runtime::Runtime;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::replica::Led;
use crate::replica::Replicas;
use std::sync::Arc;
use std::time::Duration;

/// What is followed, and what new partitions are run with.
pub struct Follow<M, F> {
    /// The runtime to tell.
    pub runtime: M,
    /// The internal topic.
    pub topic: &'static str,
    /// Where partitions are found.
    pub replicas: Arc<Replicas>,
    /// Time.
    pub clock: Clock,
    /// How long a commit may take.
    pub commit_timeout: Duration,
    /// Makes an empty machine.
    pub fresh: F,
}

impl<M: Machine, F: Fn() -> M + Clone + Send + Sync + 'static> Follow<Runtime<M>, F> {
    /// Coordinates what is led now, then follows every change until shutdown, and ends the coordination.
    pub async fn run(self, shutdown: Shutdown) {
        let mut leadership = self.replicas.leadership(self.topic);
        loop {
            let led = leadership.borrow_and_update().clone();
            self.act(&led);
            tokio::select! {
                biased;
                () = shutdown.triggered() => break,
                changed = leadership.changed() => if changed.is_err() { break },
            }
        }
        self.runtime.stop().await;
    }

    /// Tells the runtime what is led.
    pub fn act(&self, led: &Led) {
        for (index, epoch) in self.runtime.led() {
            if led.get(&index).is_none_or(|now| *now < epoch) {
                self.runtime.resign(index);
            }
        }
        for (index, epoch) in led.iter() {
            self.lead(*index, *epoch);
        }
    }

    fn lead(&self, index: PartitionIndex, epoch: crate::base::LeaderEpoch) {
        match self.replicas.by_name(self.topic, index) {
            Ok(partition) => {
                let log = LedPartition::new(partition, epoch, self.clock.clone(), self.commit_timeout);
                self.runtime.lead(index, epoch, log, self.fresh.clone());
            }
            Err(error) => tracing::warn!(topic = self.topic, partition = %index, %error, "cannot coordinate"),
        }
    }
}
