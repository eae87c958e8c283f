//! Why a broker does not start.

use crate::admin;
use crate::cluster;
use crate::log;
use std::io;

/// A start that failed. Each is told in one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A listener's socket could not be opened.
    #[error("listener {listener} cannot listen on {address}: {source}. Set another address with listeners")]
    Listen {
        /// The listener's name.
        listener: String,
        /// The address it wanted.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The admin port cannot be served.
    #[error(transparent)]
    Admin(#[from] admin::Error),
    /// The log directories cannot be used.
    #[error(transparent)]
    Log(#[from] log::Error),
    /// The metadata log cannot be used.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
}
