//! Record batches as bytes: their layout, the check of what clients send, their records, and batches of our own making.
//!
//! Promises: what [`check`](check::check) or [`BatchBuilder`] hands out as a [`CheckedBatch`] may be stored as it is; a
//! batch that no rule of its topic touches keeps every byte from the checksum on. Bytes from outside never cause a
//! panic, and memory follows the bytes that are there, not the sizes they claim.
//! Never: knows requests, files or offsets of a partition; allocates per record on the produce path.
//! Called by: `log/`, `cluster/`, `replica/`, the coordinators, and whoever shows records.

pub mod batch;
pub mod builder;
pub mod check;
pub mod checked;
pub mod codec;
pub mod control;
pub mod layout;
pub mod records;
pub mod retain;
mod rewrite;
mod varint;

pub use batch::Header;
pub use batch::WalkError;
pub use batch::is_intact;
pub use batch::walk;
pub use builder::BatchBuilder;
pub use check::Policy;
pub use check::check;
pub use checked::CheckedBatch;
pub use codec::Codec;
pub use codec::compress;
pub use codec::decompress;
pub use layout::HEAD_SIZE;
pub use layout::HEADER_SIZE;
pub use records::Record;
pub use records::records;
pub use records::records_of;
pub use retain::Left;
pub use retain::retain;
