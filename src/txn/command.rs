//! What the transaction machine is asked, and what it answers.

use crate::base::ErrorCode;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::metrics;
use crate::txn::transaction::Partitions;
use crate::txn::transaction::State;
use crate::txn::transaction::Transaction;
use regex::Regex;
use std::sync::Arc;

/// A producer: its id and epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Producer {
    /// The id.
    pub id: ProducerId,
    /// The epoch.
    pub epoch: ProducerEpoch,
}

/// What is asked.
#[derive(Clone, Debug)]
pub enum Command {
    /// A producer begins to work with a transactional id (InitProducerId).
    Init(Init),
    /// Partitions are to be part of the transaction (AddPartitionsToTxn, AddOffsetsToTxn).
    Add(Add),
    /// Whether partitions are part of the transaction.
    Verify(Add),
    /// The transaction ends (EndTxn).
    End(End),
    /// Which markers are to be written for this id.
    Markers(Arc<str>),
    /// All markers of this producer's transaction are written.
    Marked(Arc<str>, Producer),
    /// These markers of this producer's transaction are written, others are not yet.
    SomeMarked(Arc<str>, Producer, Partitions),
    /// Shows an id.
    Describe(Arc<str>),
    /// Shows the ids that pass the filters.
    List(List),
    /// How many ids there are.
    Count,
}

/// See [`Command::Init`].
#[derive(Clone, Debug)]
pub struct Init {
    /// The transactional id.
    pub id: Arc<str>,
    /// How long a transaction may take; milliseconds.
    pub timeout_ms: i32,
    /// The producer that the client has and wants to go on with (KIP-360).
    pub expected: Option<Producer>,
    /// A fresh producer id, for when one is needed.
    pub fresh: Option<ProducerId>,
}

/// See [`Command::Add`] and [`Command::Verify`].
#[derive(Clone, Debug)]
pub struct Add {
    /// The transactional id.
    pub id: Arc<str>,
    /// The producer.
    pub producer: Producer,
    /// The partitions.
    pub partitions: Partitions,
    /// The version of transactions that the client follows.
    pub client_version: i16,
}

/// See [`Command::End`].
#[derive(Clone, Debug)]
pub struct End {
    /// The transactional id.
    pub id: Arc<str>,
    /// The producer.
    pub producer: Producer,
    /// Whether the records count.
    pub commit: bool,
    /// The version of transactions that the client follows.
    pub client_version: i16,
    /// A fresh producer id, for when one is needed.
    pub fresh: Option<ProducerId>,
}

/// See [`Command::List`]; empty filters let everything pass.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// Only these states.
    pub states: Vec<State>,
    /// Only these producer ids.
    pub producers: Vec<ProducerId>,
    /// Only transactions that take longer than this; milliseconds.
    pub longer_than_ms: Option<i64>,
    /// Only ids that this matches.
    pub pattern: Option<Regex>,
}

/// The markers that end a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Markers {
    /// The producer in the markers.
    pub producer: Producer,
    /// Whether the records count.
    pub commit: bool,
    /// Whether the epoch is one higher than that of the records.
    pub epoch_grew: bool,
    /// Where they are to be written.
    pub partitions: Partitions,
}

/// An id as ListTransactions shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The transactional id.
    pub id: Arc<str>,
    /// Its producer.
    pub producer: ProducerId,
    /// How far its transaction is.
    pub state: State,
}

/// What is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The producer to go on with.
    Producer(Result<Producer, ErrorCode>),
    /// The same command is to come again with a fresh producer id.
    NeedsProducerId,
    /// Whether it is done.
    Done(Result<(), ErrorCode>),
    /// Partitions that are not in the transaction.
    Verified(Result<Partitions, ErrorCode>),
    /// The markers that are to be written, if any.
    Markers(Option<Markers>),
    /// The id, if there is one.
    Described(Option<Box<Transaction>>),
    /// The ids.
    Listed(Vec<Listed>),
    /// How many there are.
    Counted(metrics::Transactions),
}
