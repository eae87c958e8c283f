//! The task beside the machines: which partitions are led.

use crate::coordinator::follow::Follow;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::task;
use crate::io::task::Task;
use crate::replica::Replicas;
use crate::txn::Service;
use crate::txn::service::TOPIC;
use std::sync::Arc;
use std::time::Duration;

/// How long a change of a transaction may take to be committed (`TransactionStateManager` gives it the time of a
/// request).
const COMMIT_TIMEOUT: Duration = Duration::from_secs(30);

/// The task of a [`Service`]; it ends on the shutdown it was given.
#[must_use = "a task without an owner is not allowed"]
pub struct Running {
    leadership: Task<()>,
}

impl Running {
    /// Coordinates what this broker leads of the topic, and follows changes.
    pub fn start(service: &Service, replicas: Arc<Replicas>, clock: Clock, shutdown: &Shutdown) -> Running {
        let follow = Follow {
            runtime: service.runtime().clone(),
            topic: TOPIC,
            replicas,
            clock,
            commit_timeout: COMMIT_TIMEOUT,
            fresh: service.fresh(),
        };
        // What is led already is known before the first request comes.
        let led = follow.replicas.leadership(TOPIC).borrow().clone();
        follow.act(&led);
        Running { leadership: task::spawn("transaction leadership", follow.run(shutdown.clone())) }
    }

    /// Waits until it has ended, and all that it ran.
    pub async fn ended(self) {
        self.leadership.join().await;
    }
}
