//! Every measurement, defined once.
//!
//! Promises: a name is written in one place only; handles are cheap to clone and to raise; label values come
//! from closed sets (requests, error codes, listeners), so nothing a client sends can grow memory. Never: reads
//! the state of a room; rooms raise the handles they are given. Called by: the rooms that measure, and whoever
//! shows the figures.

mod broker;
mod log;
mod net;
mod registry;

pub use broker::{Broker, Request};
pub use log::Log;
pub use net::Net;
pub use registry::Registry;

/// A number that only grows.
pub type Counter = prometheus::IntCounter;
/// A number that goes up and down.
pub type Gauge = prometheus::IntGauge;
/// A distribution of seconds.
pub type Seconds = prometheus::Histogram;
