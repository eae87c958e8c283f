//! The tasks beside the machines: which partitions are led, what is superseded in their logs, which topics are gone.

use crate::base::Offset;
use crate::base::TopicId;
use crate::cluster::Delta;
use crate::coordinator::follow::Follow;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::task;
use crate::io::task::Task;
use crate::replica::Replicas;
use crate::share::state::Service;
use crate::share::state::TOPIC;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The tasks of a [`Service`]; they end on the shutdown they were given.
#[must_use = "a task without an owner is not allowed"]
pub struct Running {
    leadership: Task<()>,
    pruning: Task<()>,
    deletions: Task<()>,
}

impl Running {
    /// Coordinates what this broker leads of the topic, and follows changes.
    pub fn start(service: &Service, replicas: Arc<Replicas>, clock: Clock, shutdown: &Shutdown) -> Running {
        let follow = Follow {
            runtime: service.runtime().clone(),
            topic: TOPIC,
            replicas: Arc::clone(&replicas),
            clock: clock.clone(),
            commit_timeout: service.settings().write_timeout,
            fresh: service.fresh(),
        };
        // What is led already is known before the first request comes.
        let led = follow.replicas.leadership(TOPIC).borrow().clone();
        follow.act(&led);
        let pruning = prune(service.clone(), Arc::clone(&replicas), clock, shutdown.clone());
        let deletions = forget_deleted_topics(service.clone(), replicas, shutdown.clone());
        Running {
            leadership: task::spawn("share state leadership", follow.run(shutdown.clone())),
            pruning: task::spawn("share state pruning", pruning),
            deletions: task::spawn("share state deletions", deletions),
        }
    }

    /// Waits until all have ended, and all that they ran.
    pub async fn ended(self) {
        self.pruning.join().await;
        self.deletions.join().await;
        self.leadership.join().await;
    }
}

/// Deletes what is superseded from the front of the logs, every now and then.
async fn prune(service: Service, replicas: Arc<Replicas>, clock: Clock, shutdown: Shutdown) {
    let interval = service.settings().prune_interval;
    loop {
        tokio::select! {
            biased;
            () = shutdown.triggered() => return,
            () = clock.sleep(interval) => {}
        }
        for (index, _) in service.runtime().led() {
            let redundant = tokio::select! {
                biased;
                () = shutdown.triggered() => return,
                redundant = service.redundant(index) => redundant,
            };
            let Some(before) = redundant else { continue };
            let deleted = replicas
                .by_name(TOPIC, index)
                .and_then(|partition| partition.delete_records(Some(Offset(before))));
            match deleted {
                Ok(start) => tracing::debug!(partition = %index, %start, "share state is pruned"),
                Err(error) => tracing::warn!(partition = %index, %error, "share state is not pruned"),
            }
        }
    }
}

/// Forgets the share-partitions of topics that were deleted, once their partitions are gone here.
async fn forget_deleted_topics(service: Service, replicas: Arc<Replicas>, shutdown: Shutdown) {
    let mut images = service.publisher().watch();
    let mut before = images.borrow_and_update().clone();
    loop {
        tokio::select! {
            biased;
            () = shutdown.triggered() => return,
            changed = images.changed() => if changed.is_err() { return },
        }
        let now = images.borrow_and_update().clone();
        let deleted: BTreeSet<TopicId> =
            Delta::between(&before, &now).deleted.iter().map(|topic| topic.id).collect();
        before = now;
        if deleted.is_empty() {
            continue;
        }
        let deleted = Arc::new(deleted);
        tokio::select! {
            biased;
            () = shutdown.triggered() => return,
            () = async {
                replicas.applied(before.offset).await;
                service.topics_deleted(&deleted).await;
            } => {}
        }
    }
}
