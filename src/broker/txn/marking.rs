//! Writes the markers of every transaction whose end is decided, until all are written, and says so.
//!
//! What is announced again after a restart is written again: a second marker ends nothing.

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::broker::Broker;
use crate::broker::txn::marker;
use crate::coordinator::Ending;
use crate::io::Shutdown;
use crate::io::task;
use crate::io::task::Task;
use crate::io::task::Tasks;
use crate::metrics;
use crate::replica::Proof;
use crate::txn::service::Decided;
use crate::txn::transaction::Partitions;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tracing::debug;
use tracing::info;

/// The pause before what failed is tried again; doubles up to the longest.
const PAUSE: Duration = Duration::from_millis(20);
const PAUSE_MAX: Duration = Duration::from_secs(1);

/// The task that hears of decided transactions; it ends on the shutdown it was given.
#[must_use = "a task without an owner is not allowed"]
pub struct Marking {
    task: Task<()>,
}

impl Marking {
    /// Begins to write markers.
    pub fn start(broker: &Arc<Broker>, shutdown: &Shutdown) -> Marking {
        Marking { task: task::spawn("transaction markers", run(Arc::clone(broker), shutdown.clone())) }
    }

    /// Waits until it has ended, and all that it ran.
    pub async fn ended(self) {
        self.task.join().await;
    }
}

async fn run(broker: Arc<Broker>, shutdown: Shutdown) {
    let mut tasks = Tasks::new("transaction marker");
    let at_work = AtWork::default();
    loop {
        tokio::select! {
            biased;
            () = shutdown.triggered() => break,
            id = broker.transactions.prepared() => {
                tasks.reap();
                if at_work.begin(&id) {
                    tasks.spawn(mark_each(Arc::clone(&broker), id, at_work.clone()));
                }
            }
        }
    }
    tasks.abort_all().await;
}

/// The ids whose markers are being written, each with whether it was announced again meanwhile. No id is worked on
/// twice at a time: in version 1 of transactions a marker that comes late would end the next transaction.
#[derive(Clone, Default)]
struct AtWork(Arc<Mutex<HashMap<Arc<str>, bool>>>);

impl AtWork {
    /// Whether work on this id is to begin; where it is under way, it is done once more.
    fn begin(&self, id: &Arc<str>) -> bool {
        let mut ids = self.0.lock();
        match ids.get_mut(id) {
            Some(again) => {
                *again = true;
                false
            }
            None => {
                ids.insert(Arc::clone(id), false);
                true
            }
        }
    }

    /// Whether the work on this id is done, because it was not announced again.
    fn is_done(&self, id: &str) -> bool {
        let mut ids = self.0.lock();
        let again = ids.get_mut(id).is_some_and(std::mem::take);
        if !again {
            ids.remove(id);
        }
        !again
    }
}

/// Writes the markers of the id's transactions, one after the other.
async fn mark_each(broker: Arc<Broker>, id: Arc<str>, at_work: AtWork) {
    loop {
        mark(&broker, &id).await;
        if at_work.is_done(&id) {
            return;
        }
    }
}

/// Writes the markers of the id's transaction. Ends when they are written, or when the id is coordinated elsewhere:
/// there they are announced again.
async fn mark(broker: &Arc<Broker>, id: &Arc<str>) {
    let figures = &broker.metrics.transacting;
    let mut pause = PAUSE;
    loop {
        let mut waiting = None;
        match broker.transactions.decided(id).await {
            Ok(None) | Err(ErrorCode::NotCoordinator) => return,
            Ok(Some(decided)) => {
                let (written, left) = write_all(broker, &decided).await;
                let producer = decided.markers.producer;
                if left == 0 {
                    match broker.transactions.marked(id, producer).await {
                        Ok(()) | Err(ErrorCode::NotCoordinator) => return,
                        Err(error) => debug!(%id, %error, "the end of a transaction is not recorded yet"),
                    }
                    waiting = Some((&figures.log_append_retries, 1));
                } else {
                    info!(%id, left, "markers of a transaction are to be written again");
                    if let Err(error) = broker.transactions.some_marked(id, producer, written).await {
                        debug!(%id, %error, "all markers of a transaction are to be written again");
                    }
                    waiting = Some((&figures.unknown_destination, left));
                }
            }
            Err(error) => debug!(%id, %error, "the end of a transaction is not known yet"),
        }
        let counted = waiting.map(|(gauge, count)| Counted::new(gauge, count));
        broker.clock.sleep(pause).await;
        drop(counted);
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

/// What waits to be tried again, as long as this lives.
struct Counted<'a> {
    gauge: &'a metrics::Gauge,
    count: i64,
}

impl<'a> Counted<'a> {
    fn new(gauge: &'a metrics::Gauge, count: i64) -> Counted<'a> {
        gauge.add(count);
        Counted { gauge, count }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.gauge.sub(self.count);
    }
}

/// Writes a marker into each of the partitions; where nothing is left to be done, and how many may succeed later.
async fn write_all(broker: &Arc<Broker>, decided: &Decided) -> (Partitions, i64) {
    let markers = &decided.markers;
    let ending = Ending {
        producer: markers.producer.id,
        epoch: markers.producer.epoch,
        committed: markers.commit,
        coordinator_epoch: decided.coordinator_epoch,
        proof: if markers.epoch_grew { Proof::GrownEpoch } else { Proof::None },
    };
    let outcome = Arc::new(Mutex::new((Partitions::new(), 0)));
    let mut tasks = Tasks::new("transaction marker");
    for (topic, of_topic) in &markers.partitions {
        for index in of_topic.iter().copied() {
            let (broker, topic, shared) = (Arc::clone(broker), Arc::clone(topic), Arc::clone(&outcome));
            tasks.spawn(async move {
                let outcome = marker::write(&broker, &topic, PartitionIndex(index), ending).await;
                let again = may_succeed_later(&topic, index, outcome);
                let (written, left) = &mut *shared.lock();
                if again {
                    *left += 1;
                } else {
                    written.entry(topic).or_default().insert(index);
                }
            });
        }
    }
    tasks.join_all().await;
    let mut outcome = outcome.lock();
    std::mem::take(&mut *outcome)
}

/// Whether a marker is still to be written (`TransactionMarkerRequestCompletionHandler`).
fn may_succeed_later(topic: &str, index: i32, outcome: Result<(), ErrorCode>) -> bool {
    match outcome {
        Ok(()) => false,
        // The partition was deleted, and the transaction's records with it.
        Err(ErrorCode::UnknownTopicOrPartition) => false,
        // A newer producer or coordinator has ended the transaction here.
        Err(error @ (ErrorCode::InvalidProducerEpoch | ErrorCode::TransactionCoordinatorFenced)) => {
            info!(topic, index, %error, "a marker is out of date");
            false
        }
        Err(error) => {
            debug!(topic, index, %error, "a marker is not written yet");
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_worked_on_by_one_at_a_time_and_no_announcement_is_lost() {
        let at_work = AtWork::default();
        let (one, other): (Arc<str>, Arc<str>) = (Arc::from("one"), Arc::from("other"));
        assert!(at_work.begin(&one));
        assert!(!at_work.begin(&one) && !at_work.begin(&one));
        assert!(at_work.begin(&other));
        assert!(!at_work.is_done(&one), "it was announced meanwhile");
        assert!(at_work.is_done(&one) && at_work.is_done(&other));
        assert!(at_work.begin(&one));
    }
}
