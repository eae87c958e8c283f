//! The answers that a connection owes, in the order of their requests.

use crate::broker::Answer;
use crate::broker::Reply;
use crate::broker::context::Pending;
use crate::net::budget::Lease;
use crate::protocol::Response;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::future::poll_fn;
use std::task::Context;
use std::task::Poll;

/// Requests that wait for their answers, at most. Produce alone is pipelined, so this bounds unanswered produces.
const PENDING_MAX: usize = 64;

/// The answers owed.
#[derive(Debug, Default)]
pub(super) struct Owed {
    queue: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    state: State,
    /// Held until the answer is there.
    #[expect(dead_code, reason = "held for its drop")]
    lease: Lease,
}

enum State {
    Done(Answer),
    /// The connection takes nothing more until this is there.
    Alone(Pending),
    Pipelined(Pending),
}

/// Answers that can go out now.
#[derive(Debug, Default)]
pub(super) struct Ready {
    pub(super) responses: Vec<Response>,
    /// After them the connection is closed, for this reason.
    pub(super) close: Option<Cow<'static, str>>,
}

impl Owed {
    /// Adds what a request was given, behind those before it.
    pub(super) fn push(&mut self, reply: Reply, lease: Lease) {
        let state = match reply {
            Reply::Now(answer) => State::Done(answer),
            Reply::Later(pending) => State::Alone(pending),
            Reply::Pipelined(pending) => State::Pipelined(pending),
        };
        self.queue.push_back(Entry { state, lease });
    }

    /// Whether nothing is owed.
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether the connection may take one more request: a Produce, when answers are owed.
    pub(super) fn may_take_more(&self) -> bool {
        let alone = self.queue.back().is_some_and(|last| matches!(last.state, State::Alone(_)));
        let closing =
            self.queue.back().is_some_and(|last| matches!(last.state, State::Done(Answer::Close(_))));
        !alone && !closing && self.queue.len() < PENDING_MAX
    }

    /// Waits for the first answer, and takes those behind it that are there too. Waits for ever when nothing is
    /// owed. May be dropped at will: no answer is lost.
    pub(super) async fn ready(&mut self) -> Ready {
        poll_fn(|context| self.poll_ready(context)).await
    }

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Ready> {
        let mut ready = Ready::default();
        let mut taken = 0;
        while let Some(first) = self.queue.front_mut() {
            if let State::Alone(pending) | State::Pipelined(pending) = &mut first.state {
                match pending.as_mut().poll(context) {
                    Poll::Ready(answer) => first.state = State::Done(answer),
                    Poll::Pending => break,
                }
            }
            let Some(Entry { state: State::Done(answer), .. }) = self.queue.pop_front() else { break };
            taken += 1;
            match answer {
                Answer::Send(response) => ready.responses.push(response),
                Answer::Silent => {}
                Answer::Close(reason) => {
                    ready.close = Some(reason);
                    self.queue.clear();
                }
            }
        }
        if taken == 0 { Poll::Pending } else { Poll::Ready(ready) }
    }
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            State::Done(_) => "Done",
            State::Alone(_) => "Alone",
            State::Pipelined(_) => "Pipelined",
        })
    }
}
