//! A partition on this node: who leads it, what may be written, what a reader sees, and when a promise holds.
//!
//! Promises: an acknowledged append is held as its `acks` says; no reader sees records beyond what it may see; the
//! high watermark never goes back; whoever waits for records is woken when they become visible, and costs nothing
//! until then. Never: wire types, groups, files. Called by: `broker/data` (clients), `coordinator/` (internal
//! topics), `server/` (starts it).

mod append;
mod error;
mod fetch;
mod high_watermark;
mod isr;
mod leadership;
mod move_dir;
mod offsets;
mod partition;
mod read;
mod reconcile;
mod registry;
mod replicas;
mod waiters;

pub use append::Acks;
pub use append::AppendInfo;
pub use append::Entry;
pub use append::FirstBatch;
pub use append::Guard;
pub use append::Origin;
pub use append::PendingAppend;
pub use append::Proof;
pub use append::disk_patience;
pub use error::Error;
pub use fetch::Fetch;
pub use fetch::FetchLimits;
pub use fetch::Outcomes;
pub use fetch::Target;
pub use leadership::Led;
pub use move_dir::Moves;
pub use offsets::Found;
pub use offsets::Spot;
pub use offsets::View;
pub use partition::Partition;
pub use read::ReadAnswer;
pub use read::ReadRequest;
pub use read::Reader;
pub use replicas::Replicas;
pub(crate) use waiters::Wait;
pub(crate) use waiters::Waitable;
pub(crate) use waiters::Waiters;

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
mod tests;
