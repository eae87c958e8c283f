//! Produce, Fetch and what belongs to them: the APIs that move records.

pub(super) mod delete_records;
pub(super) mod describe_producers;
pub(super) mod fetch;
mod fetch_answer;
mod fetch_session;
pub(super) mod leader;
pub(super) mod list_offsets;
pub(super) mod offset_for_leader_epoch;
pub(super) mod produce;
mod proofs;
mod refusal;
mod repeats;

pub use fetch_session::FetchSessions;
