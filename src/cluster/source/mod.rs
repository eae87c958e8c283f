//! Who orders the metadata records.
//!
//! One node orders them itself: its log is the order ([`local`]).

mod batches;
mod files;
mod launch;
pub mod local;
#[cfg(feature = "fuzz")]
pub mod probe;
mod replay;
mod snapshot;
mod store;

#[cfg(test)]
mod tests;
