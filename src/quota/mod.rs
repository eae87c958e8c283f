//! How fast clients may be: which limit holds for whom, and how long one that is beyond it has to pause.
//!
//! Promises: limits are those of the metadata image, with Kafka's precedence (KIP-13, KIP-124, KIP-546, KIP-599,
//! KIP-612); without limits nothing is counted and a request pays one atomic load; the number of clients that are
//! counted is bounded. Never: holds a request back or closes a connection itself: it says how long, `broker/` answers
//! at once and `net/` takes nothing more from the connection until then (KIP-219).
//! Called by: `broker/` (requests), `net/` (new connections), `server/` (builds it and lets it watch the image).

mod bucket;
mod limits;
mod throttle;

pub use limits::Kind;
pub use throttle::Figure;
pub use throttle::Quotas;
pub use throttle::Who;

#[cfg(test)]
mod tests;
