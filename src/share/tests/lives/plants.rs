//! Faults planted around the leader's memory and the share coordinator: each changes what goes in or comes out, as a
//! fault of the code would.

use crate::share::state::batches::State;
use crate::share::state::command::Found;
use crate::share::state::command::Write;

/// A planted fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plant {
    /// An acknowledgement is answered and not written down.
    AnsweredNotKept,
    /// An acknowledgement counts before its record is committed.
    AnsweredEarly,
    /// A write that failed counts as kept.
    FailureIgnored,
    /// Locks never end.
    LocksNeverEnd,
    /// Who leaves takes what others hold with it.
    OthersReleased,
    /// Anyone may acknowledge what another one holds.
    AnyoneAcknowledges,
    /// More records are under way than may be.
    NoRoomEndless,
    /// A new leader does not know how often records were delivered.
    CountsForgotten,
    /// A new leader takes what is dealt with for available.
    DealtWithForgotten,
    /// A new leader takes what was given back for dealt with.
    GivenBackIsDone,
    /// The start is kept as if everything were dealt with.
    StartTooFar,
    /// What is rejected is kept as available.
    RejectedComesAgain,
    /// An older leader may still write.
    OlderLeaderWrites,
    /// Records are given up without their dead letter.
    LetterLost,
}

impl Plant {
    pub(super) const ALL: [Plant; 14] = [
        Plant::AnsweredNotKept,
        Plant::AnsweredEarly,
        Plant::FailureIgnored,
        Plant::LocksNeverEnd,
        Plant::OthersReleased,
        Plant::AnyoneAcknowledges,
        Plant::NoRoomEndless,
        Plant::CountsForgotten,
        Plant::DealtWithForgotten,
        Plant::GivenBackIsDone,
        Plant::StartTooFar,
        Plant::RejectedComesAgain,
        Plant::OlderLeaderWrites,
        Plant::LetterLost,
    ];

    /// Changes what a leader writes; it knows today's leader epoch and the end of what is under way.
    pub(super) fn write(self, write: &mut Write, (leader_epoch, end): (i32, i64)) {
        match self {
            Plant::StartTooFar => write.start = end,
            Plant::RejectedComesAgain => {
                let given_up = |state| matches!(state, State::Archived | State::Archiving);
                for batch in write.batches.iter_mut().filter(|batch| given_up(batch.state)) {
                    batch.state = State::Available;
                }
            }
            Plant::OlderLeaderWrites => write.leader_epoch = leader_epoch,
            _ => {}
        }
    }

    /// Changes what a new leader reads.
    pub(super) fn read(self, found: &mut Found) {
        for batch in &mut found.batches {
            match (self, batch.state) {
                (Plant::CountsForgotten, _) => batch.count = 0,
                (Plant::DealtWithForgotten, State::Acknowledged) => batch.state = State::Available,
                (Plant::GivenBackIsDone, State::Available) => batch.state = State::Acknowledged,
                _ => {}
            }
        }
    }
}
