//! Tells who writes markers that the end of a transaction is decided.

use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::Notify;

/// The transactional ids whose transactions wait for markers, each as often as it was announced.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    waiting: Mutex<VecDeque<Arc<str>>>,
    rung: Notify,
}

impl Bell {
    /// Announces a transactional id.
    pub(crate) fn ring(&self, id: Arc<str>) {
        self.waiting.lock().push_back(id);
        self.rung.notify_one();
    }

    /// The next id; waits for one. For one listener.
    pub(crate) async fn next(&self) -> Arc<str> {
        loop {
            let id = self.waiting.lock().pop_front();
            if let Some(id) = id {
                return id;
            }
            self.rung.notified().await;
        }
    }
}
