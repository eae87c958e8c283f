//! The tasks beside the machines: which partitions are led, and which topics are gone.

use crate::base::TopicId;
use crate::cluster::Delta;
use crate::coordinator::follow::Follow;
use crate::groups::Service;
use crate::groups::service::TOPIC;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::task;
use crate::io::task::Task;
use crate::replica::Replicas;
use std::sync::Arc;
use std::time::Duration;

/// The tasks of a [`Service`]; they end on the shutdown they were given.
#[must_use = "a task without an owner is not allowed"]
pub struct Running {
    leadership: Task<()>,
    images: Task<()>,
}

impl Running {
    /// Coordinates what this broker leads of the topic, and follows changes.
    pub fn start(
        service: &Service,
        replicas: Arc<Replicas>,
        clock: Clock,
        commit_timeout: Duration,
        shutdown: &Shutdown,
    ) -> Running {
        let follow = Follow {
            runtime: service.runtime().clone(),
            topic: TOPIC,
            replicas,
            clock,
            commit_timeout,
            fresh: service.fresh(),
        };
        // What is led already is known before the first request comes.
        let led = follow.replicas.leadership(TOPIC).borrow().clone();
        follow.act(&led);
        let replicas = Arc::clone(&follow.replicas);
        let images = follow_images(service.clone(), replicas, shutdown.clone());
        Running {
            leadership: task::spawn("group leadership", follow.run(shutdown.clone())),
            images: task::spawn("group images", images),
        }
    }

    /// Waits until both have ended, and all that they ran.
    pub async fn ended(self) {
        self.images.join().await;
        self.leadership.join().await;
    }
}

/// Tells the groups what is new in the cluster, and removes the offsets of topics that were deleted, once their partitions
/// are gone here.
async fn follow_images(service: Service, replicas: Arc<Replicas>, shutdown: Shutdown) {
    let mut images = service.publisher().watch();
    let mut before = images.borrow_and_update().clone();
    loop {
        tokio::select! {
            biased;
            () = shutdown.triggered() => return,
            changed = images.changed() => if changed.is_err() { return },
        }
        let now = images.borrow_and_update().clone();
        let deleted: Vec<(Arc<str>, TopicId)> = Delta::between(&before, &now)
            .deleted
            .iter()
            .map(|topic| (topic.name.clone(), topic.id))
            .collect();
        before = now;
        tokio::select! {
            biased;
            () = shutdown.triggered() => return,
            () = service.image_changed() => {}
        }
        if !deleted.is_empty() {
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
}
