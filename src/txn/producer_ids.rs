//! Producer ids for this broker's clients, taken from blocks that the controller gives (KIP-730).

use crate::base::ErrorCode;
use crate::base::ProducerId;
use crate::cluster::ControllerClient;
use parking_lot::Mutex;
use std::ops::Range;
use tokio::sync::Semaphore;
use tracing::warn;

/// Hands out ids that no other broker hands out.
#[derive(Debug)]
pub(super) struct ProducerIds {
    controller: ControllerClient,
    /// What is left of the block.
    left: Mutex<Range<i64>>,
    /// One caller at a time fetches the next block.
    fetching: Semaphore,
}

impl ProducerIds {
    /// Starts without a block; the first client fetches one.
    pub(super) fn new(controller: ControllerClient) -> ProducerIds {
        ProducerIds { controller, left: Mutex::new(0..0), fetching: Semaphore::new(1) }
    }

    /// A fresh id.
    ///
    /// # Errors
    /// COORDINATOR_LOAD_IN_PROGRESS while the controller gives no block.
    pub(super) async fn next(&self) -> Result<ProducerId, ErrorCode> {
        loop {
            if let Some(id) = self.take() {
                return Ok(id);
            }
            let _turn = self.fetching.acquire().await.expect("the semaphore is never closed");
            // Another caller may have fetched a block while this one waited for its turn.
            if let Some(id) = self.take() {
                return Ok(id);
            }
            // What Kafka answers while a broker has no block: clients try again.
            let block = self.controller.allocate_producer_ids().await.map_err(|error| {
                warn!(%error, "no block of producer ids");
                ErrorCode::CoordinatorLoadInProgress
            });
            let block = block?.value;
            let end = block.first.0.saturating_add(i64::from(block.count));
            *self.left.lock() = block.first.0..end;
        }
    }

    fn take(&self) -> Option<ProducerId> {
        self.left.lock().next().map(ProducerId)
    }
}
