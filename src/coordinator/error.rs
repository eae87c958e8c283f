//! Why a command was not answered by its machine.

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
}
