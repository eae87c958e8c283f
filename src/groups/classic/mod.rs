//! Classic consumer groups: the members agree on an assignment among themselves, the coordinator keeps order.
//!
//! `group.rs` is the state of one group, `rebalance.rs` moves it through a generation, `join.rs` and `requests.rs`
//! hold the rules of each request.

pub(crate) mod group;
pub(crate) mod join;
pub(crate) mod member;
pub(crate) mod rebalance;
pub(crate) mod requests;
pub(crate) mod subscription;
