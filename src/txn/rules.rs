//! The legal moves of a transaction (`TransactionCoordinator`, `TransactionMetadata`; KIP-98, KIP-360, KIP-890).
//!
//! ```text
//! Empty, CompleteCommit, CompleteAbort  --add-->  Ongoing  --end-->  PrepareCommit, PrepareAbort
//!        ^                                                                     |
//!        +------------- init (from Complete*) ------------- all markers written: CompleteCommit, CompleteAbort
//! ```
//! A producer that begins while a transaction of its id is open fences the old one: the transaction is aborted with
//! the next epoch, and who begins comes again. So does a transaction whose time is up.

use crate::base::ErrorCode;
use crate::base::ProducerId;
use crate::base::Timestamp;
use crate::txn::command::Add;
use crate::txn::command::End;
use crate::txn::command::Init;
use crate::txn::command::Markers;
use crate::txn::command::Producer;
use crate::txn::transaction::EPOCH_GROWS_FROM;
use crate::txn::transaction::NO_EPOCH;
use crate::txn::transaction::Partitions;
use crate::txn::transaction::State;
use crate::txn::transaction::Transaction;
use crate::txn::transaction::after;
use crate::txn::transaction::is_last;

/// What a request leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Move {
    /// Nothing changes, and this is the reason.
    Refuse(ErrorCode),
    /// A fresh producer id is needed first.
    NeedsProducerId,
    /// Nothing changes because it is so already; the producer to go on with.
    Already(Producer),
    /// The id now stands like this; the producer to go on with.
    To(Box<Transaction>, Producer),
    /// The open transaction is aborted first, and the request comes again.
    Fence(Box<Transaction>),
}

/// The producer in use.
pub(crate) fn producer_of(transaction: &Transaction) -> Producer {
    Producer { id: transaction.producer, epoch: transaction.epoch }
}

fn to(next: Transaction) -> Move {
    let producer = producer_of(&next);
    Move::To(Box::new(next), producer)
}

/// A producer begins (`TransactionCoordinator.prepareInitProducerIdTransit`).
pub(crate) fn init(
    current: Option<&Transaction>,
    request: &Init,
    now: Timestamp,
    cluster_version: i16,
) -> Move {
    let Some(current) = current else {
        let Some(fresh) = request.fresh else { return Move::NeedsProducerId };
        return begin(&Transaction::new(fresh, request.timeout_ms, now), request, now);
    };
    let fenced = request.expected.is_some_and(|expected| !may_go_on(current, expected));
    match current.state {
        State::PrepareCommit | State::PrepareAbort => Move::Refuse(ErrorCode::ConcurrentTransactions),
        _ if fenced => Move::Refuse(ErrorCode::ProducerFenced),
        // Whatever epoch is named: it is looked at when the request comes again.
        State::Ongoing => Move::Fence(Box::new(fence(current, now, cluster_version))),
        State::Empty | State::CompleteCommit | State::CompleteAbort => begin(current, request, now),
    }
}

/// Whether a client with this producer may speak for the id at all. Its epoch is looked at later.
fn may_go_on(current: &Transaction, expected: Producer) -> bool {
    current.epoch == NO_EPOCH
        || expected.id == current.producer
        // The answer that named the new producer id was lost.
        || (expected.id == current.previous_producer && is_last(expected.epoch))
}

fn begin(current: &Transaction, request: &Init, now: Timestamp) -> Move {
    let empty = Transaction {
        timeout_ms: request.timeout_ms,
        state: State::Empty,
        partitions: Partitions::new(),
        started: Timestamp::NONE,
        updated: now,
        client_version: 0,
        next_producer: ProducerId::NONE,
        ..following(current)
    };
    let expected = request.expected.map(|expected| expected.epoch);
    if let Some(expected) = expected
        && current.epoch != NO_EPOCH
        && expected != current.epoch
    {
        // The same request once more, or a client that was fenced.
        let repeated = expected == current.last_epoch;
        return if repeated { to(empty) } else { Move::Refuse(ErrorCode::ProducerFenced) };
    }
    let last_epoch = if expected.is_some() { current.epoch } else { NO_EPOCH };
    if current.is_used_up() {
        let Some(fresh) = request.fresh else { return Move::NeedsProducerId };
        let epoch = crate::base::ProducerEpoch(0);
        return to(Transaction { producer: fresh, epoch, last_epoch, ..empty });
    }
    to(Transaction { epoch: after(current.epoch), last_epoch, ..empty })
}

/// The open transaction is aborted with an epoch that its producer does not have, by the rules of the cluster's version
/// of transactions, whichever its client follows (`TransactionCoordinator.abortTimedOutTransactions`). In version 2 its
/// producer may learn the new epoch, as after an end of its own.
pub(crate) fn fence(current: &Transaction, now: Timestamp, cluster_version: i16) -> Transaction {
    // Behind the last epoch there is no producer id to go on with here, so such a client begins anew. Kafka takes one.
    let grows = cluster_version >= EPOCH_GROWS_FROM && !current.is_used_up();
    Transaction {
        state: State::PrepareAbort,
        epoch: after(current.epoch),
        last_epoch: if grows { current.epoch } else { NO_EPOCH },
        updated: now,
        client_version: if grows { EPOCH_GROWS_FROM } else { 0 },
        ..following(current)
    }
}

/// The id as the next record has it: with every record the producer id of now becomes the previous one.
fn following(current: &Transaction) -> Transaction {
    Transaction { previous_producer: current.producer, ..current.clone() }
}

/// Whether this producer takes over as soon as the markers are written, and has to wait for that.
fn is_early(current: &Transaction, producer: Producer) -> bool {
    current.state.is_prepared() && producer == producer_of(&complete(current, current.updated))
}

/// Why this producer may not speak for the id's transaction, if so.
fn refuse(current: &Transaction, producer: Producer) -> Result<(), ErrorCode> {
    if is_early(current, producer) {
        return Err(ErrorCode::ConcurrentTransactions);
    }
    if current.producer != producer.id {
        return Err(ErrorCode::InvalidProducerIdMapping);
    }
    if current.epoch != producer.epoch {
        return Err(ErrorCode::ProducerFenced);
    }
    if current.state.is_prepared() {
        return Err(ErrorCode::ConcurrentTransactions);
    }
    Ok(())
}

/// Partitions join the transaction, which begins if there is none.
pub(crate) fn add(current: Option<&Transaction>, request: &Add, now: Timestamp) -> Move {
    let Some(current) = current else { return Move::Refuse(ErrorCode::InvalidProducerIdMapping) };
    if let Err(error) = refuse(current, request.producer) {
        return Move::Refuse(error);
    }
    let open = current.state == State::Ongoing;
    if open && current.has_all(&request.partitions) {
        return Move::Already(request.producer);
    }
    let mut next = following(current);
    for (topic, partitions) in &request.partitions {
        next.partitions.entry(topic.clone()).or_default().extend(partitions);
    }
    next.state = State::Ongoing;
    next.started = if open { current.started } else { now };
    next.updated = now;
    next.client_version = request.client_version;
    to(next)
}

/// Which of the partitions are not in the transaction.
pub(crate) fn verify(current: Option<&Transaction>, request: &Add) -> Result<Partitions, ErrorCode> {
    let current = current.ok_or(ErrorCode::InvalidProducerIdMapping)?;
    refuse(current, request.producer)?;
    let mut missing = Partitions::new();
    for (topic, partitions) in &request.partitions {
        let not_in: std::collections::BTreeSet<i32> =
            partitions.iter().filter(|partition| !current.has(topic, **partition)).copied().collect();
        if !not_in.is_empty() {
            missing.insert(topic.clone(), not_in);
        }
    }
    Ok(missing)
}

/// The transaction ends by its client's wish.
pub(crate) fn end(current: Option<&Transaction>, request: &End, now: Timestamp) -> Move {
    let Some(current) = current else { return Move::Refuse(ErrorCode::InvalidProducerIdMapping) };
    if request.client_version >= EPOCH_GROWS_FROM {
        end_with_new_epoch(current, request, now)
    } else {
        end_with_same_epoch(current, request, now)
    }
}

fn end_with_same_epoch(current: &Transaction, request: &End, now: Timestamp) -> Move {
    if current.producer != request.producer.id {
        return Move::Refuse(ErrorCode::InvalidProducerIdMapping);
    }
    if current.epoch != request.producer.epoch {
        return Move::Refuse(ErrorCode::ProducerFenced);
    }
    match (current.state, request.commit) {
        (State::Ongoing, _) => {
            let client_version = request.client_version;
            let next =
                Transaction { updated: now, client_version, state: prepared(request), ..following(current) };
            Move::To(Box::new(next), request.producer)
        }
        (State::CompleteCommit, true) | (State::CompleteAbort, false) => Move::Already(request.producer),
        (State::PrepareCommit, true) | (State::PrepareAbort, false) => {
            Move::Refuse(ErrorCode::ConcurrentTransactions)
        }
        (
            State::Empty
            | State::PrepareCommit
            | State::PrepareAbort
            | State::CompleteCommit
            | State::CompleteAbort,
            _,
        ) => Move::Refuse(ErrorCode::InvalidTxnState),
    }
}

/// Each end gives a new epoch, so that a request is told from its repetition by the epoch (KIP-890).
fn end_with_new_epoch(current: &Transaction, request: &End, now: Timestamp) -> Move {
    let Producer { id, epoch } = request.producer;
    let grew = current.epoch_grows() && current.epoch == after(epoch);
    let rotated = current.epoch_grows()
        && current.previous_producer == id
        && is_last(epoch)
        && current.epoch.0 == 0
        && current.producer != id;
    let repeated = grew || rotated;
    if is_early(current, request.producer) {
        return Move::Refuse(ErrorCode::ConcurrentTransactions);
    }
    if current.producer != id && !rotated {
        return Move::Refuse(ErrorCode::InvalidProducerIdMapping);
    }
    let same = current.epoch == epoch;
    let known = match current.state {
        State::Ongoing => same,
        State::PrepareCommit | State::PrepareAbort => grew,
        State::Empty | State::CompleteCommit | State::CompleteAbort => repeated || same,
    };
    if !known {
        return Move::Refuse(ErrorCode::ProducerFenced);
    }
    match (current.state, request.commit) {
        (State::Ongoing, _) => prepare(current, request, now),
        (State::CompleteCommit, true) | (State::CompleteAbort, false) if repeated => {
            Move::Already(producer_of(current))
        }
        // An abort of nothing: the client gets its new epoch all the same.
        (State::Empty | State::CompleteCommit | State::CompleteAbort, false) if !repeated => {
            prepare(&Transaction { started: now, ..current.clone() }, request, now)
        }
        (State::PrepareCommit, true) | (State::PrepareAbort, false) => {
            Move::Refuse(ErrorCode::ConcurrentTransactions)
        }
        (
            State::Empty
            | State::PrepareCommit
            | State::PrepareAbort
            | State::CompleteCommit
            | State::CompleteAbort,
            _,
        ) => Move::Refuse(ErrorCode::InvalidTxnState),
    }
}

fn prepare(current: &Transaction, request: &End, now: Timestamp) -> Move {
    let next_producer = match (current.is_used_up(), request.fresh) {
        (false, _) => ProducerId::NONE,
        (true, Some(fresh)) => fresh,
        (true, None) => return Move::NeedsProducerId,
    };
    let next = Transaction {
        state: prepared(request),
        epoch: after(current.epoch),
        last_epoch: current.epoch,
        next_producer,
        updated: now,
        client_version: request.client_version,
        ..following(current)
    };
    let producer = producer_of(&complete(&next, now));
    Move::To(Box::new(next), producer)
}

fn prepared(request: &End) -> State {
    if request.commit { State::PrepareCommit } else { State::PrepareAbort }
}

/// All markers are written.
pub(crate) fn complete(current: &Transaction, now: Timestamp) -> Transaction {
    let state =
        if current.state == State::PrepareCommit { State::CompleteCommit } else { State::CompleteAbort };
    let mut next = Transaction {
        state,
        partitions: Partitions::new(),
        updated: now,
        next_producer: ProducerId::NONE,
        ..following(current)
    };
    if current.epoch_grows() && current.next_producer != ProducerId::NONE {
        next.producer = current.next_producer;
        next.epoch = crate::base::ProducerEpoch(0);
    }
    next
}

/// The markers that a decided transaction still needs; `None` when it is not decided.
pub(crate) fn markers(current: &Transaction) -> Option<Markers> {
    current.state.is_prepared().then(|| Markers {
        producer: producer_of(current),
        commit: current.state == State::PrepareCommit,
        epoch_grew: current.epoch_grows(),
        partitions: current.partitions.clone(),
    })
}
