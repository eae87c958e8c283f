//! The only translation from the errors of the rooms below to Kafka's codes.
//!
//! One `From` for each room's error. A handler puts code and message into the fields its answer has for them.

use crate::base::ErrorCode;
use crate::cluster;
use crate::protocol;
use std::fmt;

/// A refusal in Kafka's terms: the code, and words where an answer has a place for them.
///
/// A handler that returns one instead of an answer closes the connection, as Apache Kafka does with a request that it
/// cannot read; so only errors that no field of the answer can carry end that way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The code.
    pub code: ErrorCode,
    /// What is wrong, as Kafka words it; `None` stands for the code's own words.
    pub message: Option<String>,
}

impl Refused {
    /// A refusal with a message.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Refused {
        Refused { code, message: Some(message.into()) }
    }
}

impl From<ErrorCode> for Refused {
    fn from(code: ErrorCode) -> Refused {
        Refused { code, message: None }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.message {
            Some(message) => write!(f, "{}: {message}", self.code),
            None => self.code.fmt(f),
        }
    }
}

impl From<cluster::Refusal> for Refused {
    fn from(refusal: cluster::Refusal) -> Refused {
        Refused { code: refusal.code, message: refusal.message }
    }
}

impl From<cluster::Error> for Refused {
    fn from(error: cluster::Error) -> Refused {
        match error {
            cluster::Error::Refused(refusal) => refusal.into(),
            cluster::Error::NotActive => Refused::new(ErrorCode::NotController, error.to_string()),
            cluster::Error::Log(_)
            | cluster::Error::Record { .. }
            | cluster::Error::Apply { .. }
            | cluster::Error::Gap { .. }
            | cluster::Error::File { .. } => Refused::new(ErrorCode::UnknownServerError, error.to_string()),
        }
    }
}

impl From<protocol::Error> for Refused {
    fn from(error: protocol::Error) -> Refused {
        let code = match &error {
            protocol::Error::UnknownApi(_) | protocol::Error::UnsupportedVersion { .. } => {
                ErrorCode::UnsupportedVersion
            }
            protocol::Error::Encode(_) => ErrorCode::UnknownServerError,
            protocol::Error::Truncated(_)
            | protocol::Error::Malformed { .. }
            | protocol::Error::TooLarge { .. }
            | protocol::Error::Decode(_) => ErrorCode::InvalidRequest,
        };
        Refused::new(code, error.to_string())
    }
}
