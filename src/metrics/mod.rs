//! Every measurement, defined once.
//!
//! Promises: a name is written in one place only; handles are cheap to clone and to raise; label values come from
//! closed sets (requests, listeners, log directories) or are bounded by a setting (topics and partitions that exist
//! here, clients with quotas), so nothing a client sends can grow memory. Never: reads the state of a room; rooms raise the handles they
//! are given, and whoever shows the figures brings what is only looked up ([`Observed`]). Called by: the rooms that
//! measure, and `admin/`, which shows the figures.

mod broker;
mod cleaner;
mod clients;
mod cluster;
mod definition;
#[cfg(test)]
mod docs;
mod family;
mod groups;
mod log;
mod net;
mod process;
mod quotas;
mod registry;
mod replica;
mod spread;
mod topics;
mod txn;

pub use broker::{Broker, Request, Sessions};
pub use cleaner::Cleaner;
pub use clients::{Clients, Figure};
pub use cluster::Cluster;
pub use definition::{Definition, Kind};
pub use groups::Groups;
pub use log::{Directory, Log};
pub use net::{Listener, Net};
pub use process::Process;
pub use quotas::{Limit, Limited};
pub use registry::{Observed, Registry};
pub use replica::{Led, Partition, Replicas};
pub use spread::Spread;
pub use topics::{Topics, Traffic};
pub use txn::{Loads, Transacting, Transactions};

/// A number that only grows.
pub type Counter = prometheus::IntCounter;
/// A number that goes up and down.
pub type Gauge = prometheus::IntGauge;
