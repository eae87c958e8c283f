//! Puts the house together, and takes it apart again.
//!
//! Promises: the order of starting (folders, addresses, metadata, partitions, coordinators, connections) and of
//! stopping (the same backwards, each step with an end); a start that fails leaves nothing behind; two brokers in
//! one process do not meet. Never: a rule of any room. Called by: `cli/`, and tests that want a whole broker.

mod boot;
mod cordons;
mod error;
mod platform;
mod shutdown;

pub use boot::Listening;
pub use boot::Server;
pub use error::Error;
pub use platform::Platform;
