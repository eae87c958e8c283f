//! The clients that were asked for figures (`ClientMetricsManager` of Kafka).

use super::subscriptions::Subscriptions;
use super::subscriptions::Wanted;
use super::subscriptions::shown;
use crate::base::ErrorCode;
use crate::base::Instant;
use crate::broker::Context;
use crate::broker::Refused;
use crate::cluster::Image;
use crate::io::Clock;
use crate::metrics;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::hash::DefaultHasher;
use std::hash::Hash;
use std::hash::Hasher;
use std::sync::Arc;
use std::time::Duration;
use tracing::debug;
use uuid::Uuid;

/// Clients that are remembered at most; the one that was quiet the longest goes for another one.
const INSTANCES_MAX: usize = 16_384;
/// How long a client that does not come again is remembered at least.
const EXPIRY_MIN: Duration = Duration::from_secs(60);

/// All clients that were asked for figures. Clones share them.
#[derive(Clone, Debug)]
pub struct Telemetry {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    clock: Clock,
    metrics: metrics::Clients,
    /// `telemetry.max.bytes`.
    bytes_max: usize,
    /// `dohle.client.metrics.series.max`.
    series_max: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    instances: HashMap<Uuid, Instance>,
    subscriptions: Subscriptions,
    /// The image that the subscriptions are from.
    image: Option<Arc<Image>>,
    /// Counts the changes of subscriptions.
    version: u64,
    swept: Instant,
}

/// What is known of a client.
#[derive(Debug)]
struct Instance {
    wanted: Wanted,
    subscription_id: i32,
    version: u64,
    last_get: Option<Instant>,
    last_push: Option<Instant>,
    last_seen: Instant,
    terminating: bool,
    /// Whether its last push was refused in a way that asks it to look for its subscription anew.
    misled: bool,
}

/// What a client is told.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) subscription_id: i32,
    pub(super) wanted: Wanted,
}

/// What a client pushes, as far as it is judged before it is read.
#[derive(Debug)]
pub(super) struct Push {
    pub(super) instance: Uuid,
    pub(super) subscription_id: i32,
    pub(super) terminating: bool,
    pub(super) known_compression: bool,
    pub(super) bytes: usize,
}

/// Lets a client be forgotten when its connection ends.
#[derive(Debug)]
pub(in crate::broker) struct Tie {
    telemetry: Telemetry,
    instance: Uuid,
    /// Another client is the connection's.
    is_replaced: bool,
}

impl Tie {
    /// Another client takes the connection. The figures of this one go; what it was told still counts for it.
    pub(in crate::broker) fn replaced(mut self) {
        self.is_replaced = true;
    }
}

impl Drop for Tie {
    fn drop(&mut self) {
        match self.is_replaced {
            true => self.telemetry.shared.metrics.forget(&shown(self.instance)),
            false => self.telemetry.forget(self.instance),
        }
    }
}

impl Telemetry {
    /// Nobody is known yet.
    pub fn new(
        settings: &crate::config::TelemetrySettings,
        metrics: metrics::Clients,
        clock: Clock,
    ) -> Telemetry {
        let state = State {
            instances: HashMap::new(),
            subscriptions: Subscriptions::default(),
            image: None,
            version: 0,
            swept: clock.now(),
        };
        let shared = Shared {
            clock,
            metrics,
            bytes_max: usize::try_from(settings.bytes_max).unwrap_or(0),
            series_max: usize::try_from(settings.series_max).unwrap_or(0),
            state: Mutex::new(state),
        };
        Telemetry { shared: Arc::new(shared) }
    }

    /// The largest push, in bytes as they come.
    pub(super) fn bytes_max(&self) -> usize {
        self.shared.bytes_max
    }

    /// The measurements.
    pub(super) fn metrics(&self) -> (&metrics::Clients, usize) {
        (&self.shared.metrics, self.shared.series_max)
    }

    /// Which figures are wanted of a client.
    ///
    /// One that was misled is told at once; the time of its next push is as before
    /// (`ClientMetricsInstance.maybeUpdateGetRequestTimestamp`).
    ///
    /// # Errors
    /// THROTTLING_QUOTA_EXCEEDED for one that asks again too early.
    pub(super) fn get(
        &self,
        image: &Arc<Image>,
        context: &Context,
        instance: Uuid,
    ) -> Result<Told, ErrorCode> {
        let now = self.shared.clock.now();
        let mut state = self.shared.state.lock();
        let known = self.instance(&mut state, image, context, (instance, now));
        let interval = interval(&known.wanted);
        let last = known.last_get.max(known.last_push);
        if last.is_none_or(|last| now.since(last) >= interval) {
            known.last_get = Some(now);
        } else if !known.misled {
            return Err(ErrorCode::ThrottlingQuotaExceeded);
        }
        known.misled = false;
        Ok(Told { subscription_id: known.subscription_id, wanted: known.wanted.clone() })
    }

    /// Whether a push may be read.
    ///
    /// # Errors
    /// Kafka's code for one that comes too early, after the last one, for another subscription, in no known
    /// compression, or too large.
    pub(super) fn judge(&self, image: &Arc<Image>, context: &Context, push: &Push) -> Result<(), Refused> {
        let now = self.shared.clock.now();
        let mut state = self.shared.state.lock();
        let known = self.instance(&mut state, image, context, (push.instance, now));
        let judged = known.judge(push, now, self.shared.bytes_max);
        known.terminating = push.terminating;
        let code = judged.as_ref().err().map(|refused| refused.code);
        known.misled =
            matches!(code, Some(ErrorCode::UnknownSubscriptionId | ErrorCode::UnsupportedCompressionType));
        judged
    }

    /// The client, as the subscriptions of this image want it.
    fn instance<'a>(
        &self,
        state: &'a mut State,
        image: &Arc<Image>,
        context: &Context,
        (id, now): (Uuid, Instant),
    ) -> &'a mut Instance {
        state.follow(image);
        let shared = &self.shared;
        if !state.instances.contains_key(&id) {
            for gone in state.make_room(now) {
                shared.metrics.forget(&shown(gone));
            }
        }
        let (version, subscriptions) = (state.version, &state.subscriptions);
        let fresh = || {
            let wanted = subscriptions.wanted(id, context);
            Instance {
                subscription_id: subscription_id(&wanted, id),
                wanted,
                version,
                last_get: None,
                last_push: None,
                last_seen: now,
                terminating: false,
                misled: false,
            }
        };
        let known = state.instances.entry(id).or_insert_with(fresh);
        if known.version != version {
            *known = fresh();
        }
        known.last_seen = now;
        let count = state.instances.len();
        shared.metrics.instances.set(i64::try_from(count).unwrap_or(i64::MAX));
        state.instances.get_mut(&id).expect("it was put there just now")
    }

    /// Lets the client be forgotten when this connection ends.
    pub(super) fn tie(&self, context: &Context, instance: Uuid) {
        context.connection.tie(instance, || Tie { telemetry: self.clone(), instance, is_replaced: false });
    }

    fn forget(&self, instance: Uuid) {
        let mut state = self.shared.state.lock();
        if state.instances.remove(&instance).is_some() {
            debug!(client = shown(instance), "client is gone, and its figures with it");
        }
        let count = i64::try_from(state.instances.len()).unwrap_or(i64::MAX);
        drop(state);
        self.shared.metrics.instances.set(count);
        self.shared.metrics.forget(&shown(instance));
    }
}

impl State {
    /// Takes the subscriptions of this image, where they may differ.
    fn follow(&mut self, image: &Arc<Image>) {
        if self.image.as_ref().is_some_and(|known| known.same_configs(image)) {
            return;
        }
        self.image = Some(Arc::clone(image));
        if !self.subscriptions.are_of(image) {
            self.subscriptions = Subscriptions::of(image);
            self.version += 1;
        }
    }

    /// Forgets those that have not come for long, now and then; and one when there is no room for another.
    fn make_room(&mut self, now: Instant) -> Vec<Uuid> {
        let mut gone: Vec<Uuid> = Vec::new();
        if now.since(self.swept) >= EXPIRY_MIN {
            self.swept = now;
            let expired = |known: &Instance| {
                now.since(known.last_seen) >= EXPIRY_MIN.max(interval(&known.wanted).saturating_mul(3))
            };
            gone.extend(self.instances.iter().filter(|(_, known)| expired(known)).map(|(id, _)| *id));
        }
        if self.instances.len() >= INSTANCES_MAX && gone.is_empty() {
            let oldest = self.instances.iter().min_by_key(|(_, known)| known.last_seen);
            gone.extend(oldest.map(|(id, _)| *id));
        }
        for id in &gone {
            self.instances.remove(id);
        }
        gone
    }
}

impl Instance {
    fn judge(&mut self, push: &Push, now: Instant, bytes_max: usize) -> Result<(), Refused> {
        let id = shown(push.instance);
        let refuse = |code, message: String| Err(Refused::new(code, message));
        if self.terminating {
            let message = format!("client {id} has said before that it ends");
            return refuse(ErrorCode::InvalidRequest, message);
        }
        // Right after it was told what is wanted a client may push at any time, because it spreads its pushes.
        let told_since = self.last_get.is_some() && self.last_get > self.last_push;
        let due = self.last_push.is_none_or(|last| now.since(last) >= interval(&self.wanted));
        if told_since || due {
            self.last_push = Some(now);
        } else if !push.terminating {
            return refuse(ErrorCode::ThrottlingQuotaExceeded, format!("client {id} pushes too early"));
        }
        if push.subscription_id != self.subscription_id {
            return refuse(ErrorCode::UnknownSubscriptionId, format!("client {id} has another subscription"));
        }
        if !push.known_compression {
            return refuse(
                ErrorCode::UnsupportedCompressionType,
                format!("client {id} compresses in an unknown way"),
            );
        }
        if push.bytes > bytes_max {
            return refuse(
                ErrorCode::TelemetryTooLarge,
                format!("client {id} pushes more than {bytes_max} bytes"),
            );
        }
        Ok(())
    }
}

fn interval(wanted: &Wanted) -> Duration {
    Duration::from_millis(u64::try_from(wanted.interval_ms).unwrap_or(0))
}

/// A number that differs where what is wanted, or of whom, differs.
fn subscription_id(wanted: &Wanted, instance: Uuid) -> i32 {
    let mut hasher = DefaultHasher::new();
    (&wanted.metrics, wanted.interval_ms, instance).hash(&mut hasher);
    let [a, b, c, d, ..] = hasher.finish().to_be_bytes();
    i32::from_be_bytes([a, b, c, d])
}
