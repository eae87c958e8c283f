//! Clients beyond their limits: they are told in their answer, and their connection is left alone until then (KIP-219).

use super::Broker;
use super::context::Answer;
use super::context::Connection;
use super::context::Context;
use super::context::Pending;
use super::context::Reply;
use crate::base::ErrorCode;
use crate::cluster::ControllerClient;
use crate::cluster::command::Permit;
use crate::protocol::RequestHeader;
use crate::protocol::Response;
use crate::protocol::versions;
use crate::quota::Kind;
use crate::quota::Who;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

/// Whom the work of a request is charged to.
pub(super) struct Account {
    header: RequestHeader,
    connection: Arc<Connection>,
}

impl Account {
    /// The account of a request; `None` when nobody's time is limited, or this request is free.
    pub(super) fn open(broker: &Broker, context: &Context) -> Option<Account> {
        let free = context.header.api_key == versions::WRITE_TXN_MARKERS;
        if free || !broker.quotas.has(Kind::Request) {
            return None;
        }
        let context = context.clone().detached();
        Some(Account { header: context.header, connection: context.connection })
    }

    fn charge(&self, broker: &Broker, answer: &mut Answer, busy: Duration) {
        // Without an answer the client could not know why it is held up.
        if matches!(answer, Answer::Silent) {
            return;
        }
        let client_id = self.header.client_id.as_deref().unwrap_or_default();
        let who = Who { user: self.connection.user(), client_id };
        let pause = broker.quotas.record(Kind::Request, who, busy.as_secs_f64() * 100.0);
        hold(broker, &self.connection, answer, pause);
    }

    /// Charges the time that a worker had `reply` in hand: `busy` until now, and all that it takes to finish it.
    pub(super) fn settle(self, broker: &Arc<Broker>, reply: Reply, busy: Duration) -> Reply {
        match reply {
            Reply::Now(mut answer) => {
                self.charge(broker, &mut answer, busy);
                Reply::Now(answer)
            }
            Reply::Later(pending) => Reply::Later(self.watched(broker, pending, busy)),
            Reply::Pipelined(pending) => Reply::Pipelined(self.watched(broker, pending, busy)),
        }
    }

    fn watched(self, broker: &Arc<Broker>, mut pending: Pending, mut busy: Duration) -> Pending {
        let broker = Arc::clone(broker);
        Box::pin(async move {
            let mut answer = poll_fn(|task| {
                let began = broker.clock.now();
                let polled = pending.as_mut().poll(task);
                busy = busy.saturating_add(broker.clock.now().since(began));
                polled
            })
            .await;
            self.charge(&broker, &mut answer, busy);
            answer
        })
    }
}

/// Lets a client pause: its answer says so, and nothing more is taken from its connection until then.
pub(super) fn hold(broker: &Broker, connection: &Connection, answer: &mut Answer, pause: Duration) {
    if let Answer::Send(response) = answer {
        hold_with(broker, connection, response, pause);
    } else if !pause.is_zero() {
        connection.mute_until(broker.clock.now().plus(pause));
    }
}

fn hold_with(broker: &Broker, connection: &Connection, response: &mut Response, pause: Duration) {
    if !pause.is_zero() {
        response.raise_throttle(pause);
        connection.mute_until(broker.clock.now().plus(pause));
    }
}

/// A change of topics on behalf of a client whose changes may be limited (KIP-599).
pub(super) struct Mutation<'a> {
    broker: &'a Broker,
    context: &'a Context,
    strict: bool,
    limited: bool,
}

impl<'a> Mutation<'a> {
    /// Begins. Requests from version `strict_since` on are refused when the client has no tokens; those before only
    /// make it pause afterwards.
    pub(super) fn begin(broker: &'a Broker, context: &'a Context, strict_since: i16) -> Mutation<'a> {
        let strict = context.version() >= strict_since;
        Mutation { broker, context, strict, limited: broker.quotas.has(Kind::ControllerMutation) }
    }

    /// Begins one that another request brings about: refused without tokens, and nobody is told to pause.
    pub(super) fn on_the_way(broker: &'a Broker, context: &'a Context) -> Mutation<'a> {
        Mutation::begin(broker, context, 0)
    }

    /// The controller, with the client's tokens at hand.
    pub(super) fn controller(&self) -> ControllerClient {
        let allowance = self.broker.quotas.allowance(self.context.who());
        let permit = allowance.map(|allowance| Permit { allowance, strict: self.strict });
        self.broker.controller.paid_by(permit)
    }

    /// Ends: `codes` are those of the answer's results.
    pub(super) fn end(&self, response: &mut Response, codes: impl IntoIterator<Item = i16>) {
        if !self.limited {
            return;
        }
        let refused = codes.into_iter().any(|code| code == ErrorCode::ThrottlingQuotaExceeded.code());
        if refused || !self.strict {
            let pause = self.broker.quotas.mutation_pause(self.context.who());
            hold_with(self.broker, &self.context.connection, response, pause);
        }
    }
}
