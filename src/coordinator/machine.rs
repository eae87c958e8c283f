//! What a state machine must offer to be run on an internal partition.

use crate::base::Offset;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::coordinator::outcome::Outcome;
use crate::coordinator::outcome::Ticket;
use bytes::Bytes;
use std::hash::Hash;

/// The wall clock at the moment of a decision. It goes into records and ages; deadlines never use it,
/// they are timers on the monotonic clock. A jump of the clock counts late (see [`crate::io::SteadyWall`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now(pub Timestamp);

/// Where an applied record stands in the log, and who wrote it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The record's offset in the partition.
    pub offset: Offset,
    /// The transactional producer of the batch; [`ProducerId::NONE`] outside transactions.
    pub producer: ProducerId,
}

/// A record of an internal topic as bytes: the key, and the value or a tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Version and fields of the key.
    pub key: Bytes,
    /// Version and fields of the value; `None` deletes the key.
    pub value: Option<Bytes>,
}

/// A deterministic state machine whose durable part is the log it writes.
///
/// `decide` reads and changes nothing; `apply` is the only change of the durable part and is the same when
/// loading and when live; `install` changes what need not outlive this leader (who waits, who is half joined).
pub trait Machine: Send + Sync + Sized + 'static {
    /// What is asked.
    type Command: Send + 'static;
    /// What is answered.
    type Answer: Send + 'static;
    /// A durable fact.
    type Record: Send + Sync + 'static;
    /// A change of the part that is not kept in the log.
    type Change: Send + 'static;
    /// The name of a timer; there is at most one deadline for a name.
    type Timer: Clone + Eq + Ord + Hash + Send + Sync + 'static;

    /// What follows from a command. `ticket` stands for the asker: answer it in this outcome or keep it in a
    /// change and answer it in a later one.
    fn decide(&self, now: Now, ticket: Ticket, command: Self::Command) -> Outcome<Self>;

    /// What follows from a timer that has fired: one more command, which nobody waits for.
    fn expired(&self, now: Now, timer: Self::Timer) -> Outcome<Self>;

    /// What has to be set in motion once the log has been read.
    fn loaded(&self, now: Now) -> Outcome<Self>;

    /// Takes over a durable fact.
    fn apply(&mut self, place: Place, record: &Self::Record);

    /// Takes over a change that is not in the log.
    fn install(&mut self, change: Self::Change);

    /// A control batch ended the transaction of `producer` on this partition.
    fn end_transaction(&mut self, producer: ProducerId, committed: bool);

    /// The bytes of a record.
    fn encode(record: &Self::Record) -> Entry;

    /// The record in these bytes: `None` when its kind is not this machine's business. The error text goes to
    /// the log and the record is passed over.
    fn decode(entry: &Entry) -> Result<Option<Self::Record>, String>;
}
