//! The protocol against a running broker: every API at its lowest and highest version as the crate speaks it, answers in
//! order, requests at random, and hostile bytes.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "helpers of a test panic as tests do")]

mod conformance;
mod group_answers;
mod hostile;
mod node;
mod requests;
mod transactions;
