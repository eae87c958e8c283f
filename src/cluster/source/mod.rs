//! Who orders the metadata records.
//!
//! One node orders them itself: its log is the order ([`local`]).

mod batches;
pub mod local;
mod store;
