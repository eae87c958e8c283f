//! The pages, and what they show.

use crate::admin::idle::Idle;
use crate::admin::observe;
use crate::admin::observe::Rooms;
use crate::admin::stage::Stage;
use crate::io::Clock;
use crate::io::task;
use crate::metrics;
use crate::metrics::Observed;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header;
use axum::response::IntoResponse;
use axum::response::Response;
use axum::routing::get;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::OnceLock;
use tokio::sync::Semaphore;

/// Prometheus' text form.
const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the pages are made from.
#[derive(Debug)]
pub(super) struct Pages {
    metrics: metrics::Registry,
    clock: Clock,
    partitions_max: usize,
    rooms: OnceLock<Rooms>,
    stage: Mutex<Stage>,
    idle: Mutex<Idle>,
    /// One look at a time.
    looking: Semaphore,
}

/// The pages by their path.
pub(super) fn router(pages: Arc<Pages>) -> Router {
    Router::new()
        .route("/metrics", get(show_metrics))
        .route("/live", get(|| async { "live\n" }))
        .route("/ready", get(show_ready))
        .with_state(pages)
}

async fn show_metrics(State(pages): State<Arc<Pages>>) -> Response {
    ([(header::CONTENT_TYPE, TEXT)], pages.look().await).into_response()
}

async fn show_ready(State(pages): State<Arc<Pages>>) -> Response {
    let stage = *pages.stage.lock();
    let code = if stage == Stage::Serving { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, stage.text()).into_response()
}

impl Pages {
    /// The pages of a broker that is starting. To be made within the runtime of its workers.
    pub(super) fn new(metrics: metrics::Registry, clock: Clock, partitions_max: usize) -> Pages {
        let idle = Idle::new(clock.now(), task::busy().1);
        Pages {
            metrics,
            clock,
            partitions_max,
            rooms: OnceLock::new(),
            stage: Mutex::new(Stage::Starting),
            idle: Mutex::new(idle),
            looking: Semaphore::new(1),
        }
    }

    pub(super) fn set_rooms(&self, rooms: Rooms) {
        let _first_wins = self.rooms.set(rooms);
    }

    pub(super) fn set_stage(&self, stage: Stage) {
        *self.stage.lock() = stage;
    }

    /// All figures as they are now.
    async fn look(self: &Arc<Self>) -> String {
        let _turn = self.looking.acquire().await.expect("the turn is never closed");
        let busy = task::busy();
        let idle = self.idle.lock().look(self.clock.now(), busy);
        let state = self.stage.lock().number();
        let mut observed = Observed { partitions_max: self.partitions_max, ..Observed::default() };
        if let Some(rooms) = self.rooms.get() {
            observed.groups = rooms.groups().await;
            observed.transactions = rooms.transactions().await;
            observed.directories = rooms.directories().await;
        }
        let pages = Arc::clone(self);
        // Thousands of partitions take milliseconds: not on a worker, which has requests to serve.
        let text = move || {
            observed.process = observe::process(busy.1, idle, state);
            if let Some(rooms) = pages.rooms.get() {
                observed.cluster = Some(rooms.cluster());
                observed.sessions = Some(rooms.sessions());
                observed.replicas = Some(rooms.replicas());
                observed.limits = rooms.limits();
            }
            pages.metrics.text(&observed)
        };
        task::run_blocking(text).await
    }
}
