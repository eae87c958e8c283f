//! What can go wrong between this room and its caller, other than a refusal.

use super::controller::Refusal;
use super::image::ApplyError;
use super::records::DecodeError;
use crate::base::Offset;
use std::io;
use std::path::PathBuf;

/// Why the cluster's state cannot be had or changed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The controller has stopped: it was told to, or the metadata log failed.
    #[error("the controller is not active")]
    NotActive,
    /// The command as a whole was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The metadata log could not be read or written.
    #[error("metadata log: {0}")]
    Log(String),
    /// A record cannot be read: damaged, or written by a newer Apache Kafka.
    #[error("metadata record at offset {offset}: {error}")]
    Record {
        /// Where it is.
        offset: Offset,
        /// What is wrong.
        error: DecodeError,
    },
    /// A record does not fit what was applied before it.
    #[error("metadata record at offset {offset}: {error}")]
    Apply {
        /// Where it is.
        offset: Offset,
        /// What is wrong.
        error: ApplyError,
    },
    /// The log ends before what was on disk already.
    #[error(
        "the metadata log ends at {end}, but it had reached {promised}: records of the cluster are lost. Bring the \
         folder __cluster_metadata-0 back from a copy"
    )]
    Lost {
        /// Where it ends.
        end: Offset,
        /// How far it had reached, as the checkpoint beside it says.
        promised: Offset,
    },
    /// No snapshot reaches back to where the log begins.
    #[error("the metadata log begins at {log_start}, but no valid snapshot reaches that far")]
    Gap {
        /// The log's first offset.
        log_start: Offset,
    },
    /// A file beside the log could not be read or written.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// What happened.
        error: io::Error,
    },
}
