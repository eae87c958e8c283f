//! Requests that come before the last transaction's markers are written wait for them a little.
//!
//! Kafka refuses them with CONCURRENT_TRANSACTIONS, all but the writes by which partitions join
//! (`AddPartitionsToTxnManager`). Clients then come again after 20 ms and more, kafkajs after 300 ms, and markers are
//! written in less than one.

use crate::base::ErrorCode;
use crate::txn::Service;
use std::future::Future;
use std::sync::Arc;

impl Service {
    /// Asks, and asks again when the id's last transaction is over, as long as the answer is that it is not
    /// (`add.partitions.to.txn.retry.backoff.max.ms`).
    ///
    /// # Errors
    /// Those of the question; CONCURRENT_TRANSACTIONS when the time is up.
    pub async fn patiently<T, F>(&self, id: &Arc<str>, mut ask: impl FnMut() -> F) -> Result<T, ErrorCode>
    where
        F: Future<Output = Result<T, ErrorCode>>,
    {
        let first = ask().await;
        if !is_early(&first) {
            return first;
        }
        let deadline = self.clock.now().plus(self.settings.patience);
        loop {
            // What is told between the question and its answer is heard too.
            let mut end = self.settings.ends.listen(id);
            let outcome = ask().await;
            let left = deadline.since(self.clock.now());
            if !is_early(&outcome) || left.is_zero() {
                return outcome;
            }
            let _told_or_not = self.clock.timeout(left.min(self.settings.pause_max), end.told()).await;
        }
    }
}

fn is_early<T>(outcome: &Result<T, ErrorCode>) -> bool {
    matches!(outcome, Err(ErrorCode::ConcurrentTransactions))
}
