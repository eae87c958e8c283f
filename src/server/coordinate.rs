//! Gives coordinators their partitions: those of the internal topic that this node leads, and no others.

use crate::coordinator::LedPartition;
use crate::groups;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::task;
use crate::io::task::Task;
use crate::replica::Led;
use crate::replica::Replicas;
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

/// What follows leadership, and with what.
pub(super) struct Coordination {
    pub(super) replicas: Arc<Replicas>,
    pub(super) groups: groups::Service,
    pub(super) clock: Clock,
    /// How long a coordinator's write may take (`offsets.commit.timeout.ms`).
    pub(super) commit_timeout: Duration,
}

/// Follows the leadership of the offsets topic until shutdown.
pub(super) fn follow(this: Coordination, shutdown: Shutdown) -> Task<()> {
    let mut leadership = this.replicas.leadership(groups::service::TOPIC);
    task::spawn("coordination", async move {
        loop {
            let led = leadership.borrow_and_update().clone();
            this.act(&led);
            tokio::select! {
                () = shutdown.triggered() => return,
                changed = leadership.changed() => if changed.is_err() { return },
            }
        }
    })
}

impl Coordination {
    fn act(&self, led: &Led) {
        let runtime = self.groups.runtime();
        for (index, _) in runtime.led() {
            if !led.contains_key(&index) {
                runtime.resign(index);
            }
        }
        for (index, epoch) in led.iter() {
            match self.replicas.by_name(groups::service::TOPIC, *index) {
                Ok(partition) => {
                    let journal =
                        LedPartition::new(partition, *epoch, self.clock.clone(), self.commit_timeout);
                    runtime.lead(*index, *epoch, journal, self.groups.fresh());
                }
                Err(error) => {
                    warn!(partition = %index, %error, "cannot coordinate the groups of a partition")
                }
            }
        }
    }
}
