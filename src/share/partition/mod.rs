//! A share-partition in the memory of its leader: who holds which record, how often it was delivered, what is dealt
//! with (class `SharePartition`).
//!
//! Promises: no record is held by two members at a time; a record that was dealt with is not delivered again; a change
//! that cannot be kept is taken back as a whole. Never: waits, reads a log or a clock: the time and what lies in the log
//! come with the call, and what is to be kept is given back ([`Change`]). Offsets here are plain numbers that are
//! counted with; ends are exclusive.

mod acknowledge;
mod acquire;
mod pieces;
mod settle;

#[cfg(test)]
mod tests;

pub use acknowledge::Acknowledgement;
pub use acknowledge::Kind;
pub use acquire::Acquire;
pub use acquire::Acquired;
pub use acquire::Found;
pub use pieces::Cause;
pub use pieces::Change;
pub use pieces::Dead;
pub use pieces::Partition;
pub use pieces::Rules;
