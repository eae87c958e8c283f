//! Why a command was not answered by its machine.

use crate::base::ErrorCode;

/// What a caller of a coordinator must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The partition is not led here, or no longer.
    #[error("this broker does not coordinate that partition")]
    NotCoordinator,
    /// The partition's log is still being read.
    #[error("the coordinator is loading")]
    Loading,
    /// The records could not be committed in time or for want of replicas. They may have been written all the
    /// same; the state is read again before anything else is answered.
    #[error("the coordinator cannot commit")]
    NotAvailable,
    /// A record of this command is larger than a batch may be; nothing was changed.
    #[error("a record is too large")]
    TooLarge,
    /// The producer's epoch is fenced on the partition; nothing was changed.
    #[error("the producer's epoch is fenced")]
    InvalidProducerEpoch,
    /// The producer's transaction is not open; nothing was changed.
    #[error("the producer's transaction is not open")]
    InvalidTransactionState,
    /// A newer transaction coordinator ended the producer's transaction before; nothing was changed.
    #[error("a newer transaction coordinator is known")]
    CoordinatorFenced,
}

impl Error {
    /// Kafka's code for it (`CoordinatorOperationExceptionHelper`).
    pub fn code(self) -> ErrorCode {
        match self {
            Error::NotCoordinator => ErrorCode::NotCoordinator,
            Error::Loading => ErrorCode::CoordinatorLoadInProgress,
            Error::NotAvailable => ErrorCode::CoordinatorNotAvailable,
            Error::TooLarge => ErrorCode::UnknownServerError,
            Error::InvalidProducerEpoch => ErrorCode::InvalidProducerEpoch,
            Error::InvalidTransactionState => ErrorCode::InvalidTxnState,
            Error::CoordinatorFenced => ErrorCode::TransactionCoordinatorFenced,
        }
    }

    /// Whether only one command is refused, and the coordinator goes on as it is.
    pub(super) fn is_of_command(self) -> bool {
        match self {
            Error::TooLarge
            | Error::InvalidProducerEpoch
            | Error::InvalidTransactionState
            | Error::CoordinatorFenced => true,
            Error::NotCoordinator | Error::Loading | Error::NotAvailable => false,
        }
    }
}
