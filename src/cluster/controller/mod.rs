//! Decides what a command means: pure functions from an image and a command to records and an answer.
//!
//! Nothing here waits, reads a clock or writes. `turn.rs` applies the records to a draft of the image, and the
//! source makes them durable before anybody hears the answer.

mod allowance;
pub mod brokers;
pub mod command;
mod config_rules;
pub mod configs;
mod dynamic_rules;
pub mod elections;
pub mod eligible;
pub mod features;
pub mod partitions;
pub mod placement;
pub mod producer_ids;
pub mod quotas;
pub mod reassign;
pub mod topic_names;
pub mod topics;
pub(crate) mod turn;

pub use self::config_rules::client_pattern;

use self::allowance::Permit;
use super::image::Image;
use super::records::Record;
use crate::base::ErrorCode;
use crate::config::ServerConfig;
use crate::io::random::Random;
use std::fmt;

/// The most records one command may make (Kafka's `MAX_RECORDS_PER_USER_OP`): they become one batch.
pub const RECORDS_PER_COMMAND_MAX: usize = 10_000;

/// Why a command, or one of the things it asks for, was refused: Kafka's code and, where Kafka gives one, its
/// message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Refusal {
    /// What clients act on.
    pub code: ErrorCode,
    /// What people read.
    pub message: Option<String>,
}

impl Refusal {
    /// A refusal with a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Refusal {
        Refusal { code, message: Some(message.into()) }
    }

    /// The topic is not known by its name.
    pub fn unknown_topic() -> Refusal {
        Refusal::new(ErrorCode::UnknownTopicOrPartition, "This server does not host this topic-partition.")
    }

    /// The topic is not known by its id.
    pub fn unknown_topic_id() -> Refusal {
        Refusal::new(ErrorCode::UnknownTopicId, "This server does not host this topic ID.")
    }

    /// One command asks for more than one batch of the metadata log takes.
    pub fn too_many_records() -> Refusal {
        Refusal::new(ErrorCode::PolicyViolation, "Unable to perform excessively large batch operation.")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(message) => write!(f, "{}: {message}", self.code),
            None => self.code.fmt(f),
        }
    }
}

/// What a decision reads besides its command.
pub struct Situation<'a> {
    /// The image with everything decided before.
    pub image: &'a Image,
    /// The settings of this node, as the file and the command line gave them.
    pub config: &'a ServerConfig,
    /// Where new partitions begin their round over the brokers.
    pub random: &'a mut Random,
    /// What changes of topics are paid with; `None` where nothing limits the client.
    pub permit: Option<&'a Permit>,
}

/// A decision: what goes to the log, and what is answered once it is there.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<T> {
    /// The records, to be applied in this order or not at all.
    pub records: Vec<Record>,
    /// The answer.
    pub response: T,
}

/// The records of one command, never more than a batch takes.
#[derive(Default)]
pub(crate) struct Records {
    kept: Vec<Record>,
}

impl Records {
    /// Adds all of them or none.
    pub(crate) fn add(&mut self, records: Vec<Record>) -> Result<(), Refusal> {
        if self.kept.len().saturating_add(records.len()) > RECORDS_PER_COMMAND_MAX {
            return Err(Refusal::too_many_records());
        }
        self.kept.extend(records);
        Ok(())
    }

    /// The outcome; a dry run keeps the answer and drops the records.
    pub(crate) fn into_outcome<T>(self, dry_run: bool, response: T) -> Outcome<T> {
        let records = if dry_run { Vec::new() } else { self.kept };
        Outcome { records, response }
    }
}
