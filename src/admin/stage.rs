//! Where the broker stands between its start and its end.

/// A stage, in the order in which they are passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Logs are opened and recovered.
    Starting,
    /// Clients are served.
    Serving,
    /// No more connections; requests in work are finished.
    Draining,
}

impl Stage {
    /// Kafka's number for it (`BrokerState`).
    pub(super) fn number(self) -> u8 {
        match self {
            Stage::Starting => 2,
            Stage::Serving => 3,
            Stage::Draining => 6,
        }
    }

    /// What `/ready` says.
    pub(super) fn text(self) -> &'static str {
        match self {
            Stage::Starting => "starting: logs are recovered\n",
            Stage::Serving => "ready\n",
            Stage::Draining => "draining: the broker stops\n",
        }
    }
}
