//! Request and response bytes to typed values and back.
//!
//! Promises: bytes from outside never panic, hang or make a decoder reserve memory that the bytes do not back
//! (`guard.rs` walks every request before a decoder sees it); records stay slices of the received frame; an answer is
//! a list of parts that may still lie on disk. Never: keeps state, asks for permission, touches storage.
//! Called by: `broker/` (all of it), `net/` (frames and parts), `groups/` (client payloads), `server/`.

pub mod client_payload;
pub mod codec;
pub mod docs;
pub mod error;
pub mod fetch;
pub mod frame;
pub mod guard;
pub mod header;
pub mod otlp;
pub mod produce;
pub mod response;
#[cfg(any(test, feature = "sim"))]
pub mod sample;
mod schema;
pub mod share_fetch;
pub mod supplement;
pub mod versions;
pub mod wire;

pub use error::Error;
pub use header::RequestHeader;
pub use response::Part;
pub use response::Response;
