//! What people and their machines ask over HTTP: `/metrics`, `/live`, `/ready`.
//!
//! Promises: answers from the first moment of the start to the last of the stop; `/ready` says yes only while clients
//! are served; figures are looked up when somebody asks, aside from the workers, one look at a time. Never: changes
//! anything, or takes more connections than a few. Called by: `server/`, which says when the broker is ready and when
//! it stops.

mod error;
mod idle;
mod listener;
mod observe;
mod pages;
mod stage;

pub use error::Error;
pub use listener::Bound;
pub use observe::Rooms;

use crate::config::AdminSettings;
use crate::io::Clock;
use crate::io::Shutdown;
use crate::io::net::Patience;
use crate::io::task;
use crate::io::task::Task;
use crate::metrics;
use listener::Taken;
use pages::Pages;
use parking_lot::Mutex;
use stage::Stage;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tracing::warn;

/// Connections at a time, over all addresses; more wait.
const CONNECTIONS_MAX: usize = 256;
/// Who keeps others waiting longer is closed.
const PATIENCE: Patience = Patience { request: Duration::from_secs(10), idle: Duration::from_secs(75) };
/// How long an answer may hold up the end.
const END: Duration = Duration::from_millis(250);

/// The pages, served until [`Admin::stop`]. Clones share them.
#[derive(Clone, Debug)]
pub struct Admin {
    pages: Arc<Pages>,
    clock: Clock,
    shutdown: Shutdown,
    addresses: Vec<SocketAddr>,
    taken: Arc<Vec<Taken>>,
    /// Connections that may still come.
    #[cfg(test)]
    room: Arc<Semaphore>,
    tasks: Arc<Mutex<Vec<Task<()>>>>,
}

impl Admin {
    /// Takes the addresses and serves the pages of a broker that is starting.
    ///
    /// # Errors
    /// [`Error`] when an address that was set cannot be listened on. A default address that is taken is left out,
    /// with a warning once the broker is ready: one that may not start at all has other news.
    pub async fn start(
        settings: &AdminSettings,
        metrics: metrics::Registry,
        clock: Clock,
    ) -> Result<Admin, Error> {
        Admin::start_with(settings, metrics, clock, PATIENCE).await
    }

    async fn start_with(
        settings: &AdminSettings,
        metrics: metrics::Registry,
        clock: Clock,
        patience: Patience,
    ) -> Result<Admin, Error> {
        let (bound, taken) = listener::bind(settings).await?;
        let pages = Arc::new(Pages::new(metrics, clock.clone(), settings.partitions_max));
        let shutdown = Shutdown::new();
        let room = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let addresses = bound.iter().map(Bound::address).collect();
        let serve = |bound: Bound| {
            let listener = bound.limited(Arc::clone(&room), patience, clock.clone());
            let ending = shutdown.clone();
            let served = axum::serve(listener, pages::router(Arc::clone(&pages)))
                .with_graceful_shutdown(async move { ending.triggered().await });
            // Serving ends with the shutdown and with nothing else: accepting goes on after an error.
            task::spawn("admin", async move { served.await.unwrap_or(()) })
        };
        let tasks = Arc::new(Mutex::new(bound.into_iter().map(serve).collect()));
        Ok(Admin {
            pages,
            clock,
            shutdown,
            addresses,
            taken: Arc::new(taken),
            #[cfg(test)]
            room,
            tasks,
        })
    }

    /// The addresses, with the ports they really have.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Clients are served from now on; the figures of these rooms are shown.
    pub fn ready(&self, rooms: Rooms) {
        for Taken { address, error } in self.taken.iter() {
            warn!(%address, %error, "no /metrics, /live and /ready: the default of dohle.admin.listeners is taken");
        }
        self.pages.set_rooms(rooms);
        self.pages.set_stage(Stage::Serving);
    }

    /// The broker stops: no new work is to be sent here.
    pub fn draining(&self) {
        self.pages.set_stage(Stage::Draining);
    }

    /// Ends: answers that have begun are finished, within a moment.
    pub async fn stop(&self) {
        self.shutdown.trigger();
        let tasks = std::mem::take(&mut *self.tasks.lock());
        let ended = async {
            for task in tasks {
                task.join().await;
            }
        };
        if self.clock.timeout(END, ended).await.is_none() {
            tracing::debug!("a connection of the admin port is broken off");
        }
    }
}

#[cfg(test)]
mod tests;
