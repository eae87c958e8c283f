//! What can be wrong with bytes from outside.

/// Why a request cannot be understood, or an answer not be written. A connection that sent such a request is
/// closed, as Apache Kafka does; there is no generic error answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The request names an API that this broker does not offer.
    #[error("unknown api key {0}")]
    UnknownApi(i16),
    /// The API is offered, but not at this version. ApiVersions is still answered (KIP-511), hence the fields.
    #[error("version {version} of api key {key} is not served")]
    UnsupportedVersion {
        /// The API's key.
        key: i16,
        /// The version asked for.
        version: i16,
        /// What the answer has to carry.
        correlation_id: i32,
    },
    /// The bytes end before the value does.
    #[error("request ends inside {0}")]
    Truncated(&'static str),
    /// A length or count that no request can have, or a null where none is allowed.
    #[error("{field}: {what}")]
    Malformed {
        /// The field in question.
        field: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Decoding would need far more memory than the bytes received.
    #[error("request of {length} bytes would decode into {decoded} or more")]
    TooLarge {
        /// Bytes received.
        length: usize,
        /// Bytes that its decoded form needs at least.
        decoded: usize,
    },
    /// The decoder refused the bytes.
    #[error("cannot decode: {0}")]
    Decode(String),
    /// An answer that its version cannot carry: a fault of this broker.
    #[error("cannot encode: {0}")]
    Encode(String),
}
