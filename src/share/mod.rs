//! Share groups' records (KIP-932): what each group is done with, kept on `__share_group_state`, and who holds what, in
//! the memory of a partition's leader.
//!
//! Promises: an acknowledgement is answered when it is kept; what a lost member held is delivered again; records go out
//! as ranges of files. Never: knows who is a member of a group (that is `groups/share`), or wire types.
//! Called by: `broker/share/` through [`Service`].

mod dead_letter;
mod failure;
mod fetch;
mod jobs;
mod key;
mod lineup;
mod live;
mod load;
pub mod partition;
mod presence;
mod rules;
mod running;
mod scan;
mod service;
pub mod sessions;
mod slots;
pub mod state;

pub use failure::Failure;
pub use fetch::Fetch;
pub use fetch::Fetched;
pub use fetch::Outcomes;
pub use key::Key;
pub use partition::Acknowledgement;
pub use partition::Acquired;
pub use partition::Kind;
pub use presence::Presence;
pub use rules::GroupRules;
pub use running::Running;
pub use service::Service;

#[cfg(test)]
mod tests;
