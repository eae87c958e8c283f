//! Connections: accepting, cutting requests out of the stream, handing them to the broker in order, sending answers
//! in that order, and ending.
//!
//! Promises: one task a connection; requests of a connection are taken one at a time, except that Produce is
//! pipelined; answers go out in the order of their requests; what a connection holds in memory follows what it
//! sent, not what it claims; an idle one holds no buffer; a request in flight is finished before a connection ends
//! on the shutdown token. Never: knows what a request means (beyond "is it Produce?"). Called by: `server/`.

mod budget;
mod connection;
mod limits;
mod lines;
mod listener;
mod pending;
mod reader;
mod writer;

pub use listener::Bound;
pub use listener::Service;
pub use listener::bind;

use crate::broker::Broker;
use crate::broker::Connection;
use crate::broker::Reply;
use bytes::Bytes;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

/// Who answers the requests: the broker, or a test's stand-in.
pub trait Handler: Send + Sync + 'static {
    /// Takes one request, a whole frame without its length. See [`Broker::handle`].
    fn handle(self: &Arc<Self>, connection: &Arc<Connection>, frame: Bytes, followed: bool) -> Reply;

    /// No further request follows at once. See [`Broker::write_held`].
    fn write_held(&self, connection: &Connection);

    /// Counts a new connection; more than nothing when it may not be served, and is closed after that long.
    fn connection_pause(&self, _address: IpAddr) -> Duration {
        Duration::ZERO
    }
}

impl Handler for Broker {
    fn handle(self: &Arc<Self>, connection: &Arc<Connection>, frame: Bytes, followed: bool) -> Reply {
        Broker::handle(self, connection, frame, followed)
    }

    fn write_held(&self, connection: &Connection) {
        Broker::write_held(self, connection);
    }

    fn connection_pause(&self, address: IpAddr) -> Duration {
        self.quotas.connection(address)
    }
}

#[cfg(test)]
mod tests;
