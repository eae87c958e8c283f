//! Why the pages cannot be served.

use std::io;

/// A start that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// An address that was set cannot be listened on.
    #[error(
        "dohle.admin.listeners cannot listen on {address}: {source}. Set another address, or an empty value for none"
    )]
    Listen {
        /// The address it wanted.
        address: String,
        /// What the system said.
        source: io::Error,
    },
}
