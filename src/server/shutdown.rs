//! Stopping: no more connections, requests in work are finished, then everything below ends and the folders are
//! closed. Each step has an end; all of them take five seconds at most.

use crate::io::task;
use crate::server::Server;
use std::time::Duration;
use tracing::info;
use tracing::warn;

/// How long requests may go on before groups let go of members that wait in theirs.
const REQUESTS: Duration = Duration::from_millis(500);
/// How long one step below the connections may take.
const STEP: Duration = Duration::from_millis(400);
/// How long closing the folders may take before the next start has to recover.
const CLOSE: Duration = Duration::from_millis(2500);

impl Server {
    /// Ends the broker in good order.
    pub async fn stop(self) {
        let clock = self.clock.clone();
        info!("stopping: no more connections, requests in work are finished");
        self.admin.draining();
        self.connections.trigger();
        let mut listeners = self.listeners;
        let ended = async {
            for listener in listeners.drain(..) {
                listener.join().await;
            }
        };
        let mut ended = std::pin::pin!(ended);
        if clock.timeout(REQUESTS, &mut ended).await.is_none() {
            // Members that wait for a rebalance are told to look for another coordinator.
            self.groups.runtime().stop().await;
            ended.await;
        }
        let image = self.local.publisher().current();
        let broker_epoch = image.broker(self.node_id).map_or(-1, |broker| broker.epoch);
        self.groups.runtime().stop().await;
        self.transactions.runtime().stop().await;
        self.share.states().runtime().stop().await;
        self.below.trigger();
        let below = async {
            self.marking.ended().await;
            self.following.join().await;
            self.moving.join().await;
            self.limiting.join().await;
            self.cordoning.join().await;
            self.coordination.ended().await;
            self.transacting.ended().await;
            self.sharing.ended().await;
            self.replicas.ended().await;
            self.local.ended().await;
        };
        if clock.timeout(STEP, below).await.is_none() {
            warn!("a task did not end in time");
        }
        let dirs = self.dirs;
        let closed = clock.timeout(CLOSE, task::run_blocking(move || dirs.close(broker_epoch))).await;
        match closed {
            Some(()) => info!("stopped"),
            None => warn!("the folders were not closed in time, the next start recovers them"),
        }
        self.admin.stop().await;
    }
}
