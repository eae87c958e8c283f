//! Before a producer's first write of a transaction to a partition: is the transaction open? (KIP-890)
//!
//! Without this question a batch that comes late would open a transaction that nobody ends. Producers that leave out
//! AddPartitionsToTxn and AddOffsetsToTxn have their partitions added by the same question.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::replica::FirstBatch;
use crate::replica::Guard;
use crate::replica::Partition;
use crate::replica::Proof;
use crate::txn::command::Add;
use crate::txn::command::Producer;
use crate::txn::transaction::Partitions;
use std::sync::Arc;

/// How often partitions are added for one write; markers come between at most once for each transaction.
const ATTEMPTS: u32 = 3;

/// What a request of a client may ask for, and which errors it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ability {
    /// It adds partitions itself.
    Old,
    /// As before, and it knows TRANSACTION_ABORTABLE.
    KnowsAbortable,
    /// Partitions join by the first write.
    JoinsByWriting,
}

/// A partition's part of the question.
pub(crate) struct Asked {
    partition: Arc<Partition>,
    sequence: i32,
    guard: Guard,
}

impl Asked {
    /// Begins once more: a marker that was written meanwhile has ended what was begun before.
    fn renewed(&self, asker: &Asker) -> Option<Asked> {
        let guard = self.partition.verify(asker.first_batch(self.sequence)).ok()??;
        Some(Asked { partition: Arc::clone(&self.partition), sequence: self.sequence, guard })
    }
}

/// Who asks.
#[derive(Clone, Debug)]
pub(crate) struct Asker {
    /// The transactional id.
    pub(crate) id: Arc<str>,
    /// The producer.
    pub(crate) producer: Producer,
    /// What its request may ask for.
    pub(crate) ability: Ability,
}

impl Asker {
    /// The first batch of its transaction in a partition.
    fn first_batch(&self, sequence: i32) -> FirstBatch {
        FirstBatch {
            id: self.producer.id,
            epoch: self.producer.epoch,
            sequence,
            joins: self.ability == Ability::JoinsByWriting,
        }
    }
}

/// Begins the question for a partition; `Err` with what speaks for the write when there is nothing to ask: the
/// transaction is open here, or the cluster does without the question. That this node does not lead the partition
/// shows when it is written.
pub(crate) fn begin(
    broker: &Broker,
    asker: &Asker,
    partition: Arc<Partition>,
    sequence: i32,
) -> Result<Asked, Proof> {
    if asker.ability != Ability::JoinsByWriting && !is_wanted(broker) {
        return Err(Proof::Waived);
    }
    match partition.verify(asker.first_batch(sequence)) {
        Ok(Some(guard)) => Ok(Asked { partition, sequence, guard }),
        Ok(None) | Err(_) => Err(Proof::None),
    }
}

/// Asks for all partitions at once; what speaks for the write to each, or why it is refused.
pub(crate) async fn ask(broker: &Broker, asker: &Asker, asked: Vec<Asked>) -> Vec<Result<Proof, ErrorCode>> {
    let began = broker.clock.now();
    let answers = ask_now(broker, asker, asked).await;
    let figures = &broker.metrics.transacting;
    figures.verification_times.took(broker.clock.now().since(began));
    let refused = answers.iter().filter(|answer| answer.is_err()).count();
    figures.verification_failures.inc_by(u64::try_from(refused).unwrap_or(u64::MAX));
    answers
}

async fn ask_now(broker: &Broker, asker: &Asker, asked: Vec<Asked>) -> Vec<Result<Proof, ErrorCode>> {
    if asker.id.is_empty() {
        // Nobody has this id, as the coordinator of Kafka finds.
        return vec![Err(ErrorCode::InvalidRequest); asked.len()];
    }
    let mut partitions = Partitions::new();
    for one in &asked {
        let name = one.partition.name();
        partitions.entry(name.topic.clone()).or_default().insert(name.partition.0);
    }
    match asker.ability {
        Ability::JoinsByWriting => join(broker, asker, asked, partitions).await,
        Ability::KnowsAbortable | Ability::Old => {
            let outcome = broker.transactions.verify(question(asker, partitions)).await;
            let missing = if asker.ability == Ability::Old {
                ErrorCode::InvalidTxnState
            } else {
                ErrorCode::TransactionAbortable
            };
            let answer = |one: &Asked| {
                let name = one.partition.name();
                let absent = outcome.as_ref().map_err(|error| known(*error))?;
                let is_absent = absent.get(&name.topic).is_some_and(|of| of.contains(&name.partition.0));
                if is_absent { Err(missing) } else { Ok(Proof::Verified(one.guard)) }
            };
            asked.iter().map(answer).collect()
        }
    }
}

/// What a client can get over by a new epoch is told so.
fn known(error: ErrorCode) -> ErrorCode {
    if error == ErrorCode::ProducerFenced { ErrorCode::InvalidProducerEpoch } else { error }
}

/// Adds partitions, and says what speaks for the write to each. A marker of the transaction before, written
/// meanwhile, has ended the verification that was begun before it: then a new one begins, and the question comes again.
async fn join(
    broker: &Broker,
    asker: &Asker,
    asked: Vec<Asked>,
    partitions: Partitions,
) -> Vec<Result<Proof, ErrorCode>> {
    let mut asked: Vec<Option<Asked>> = asked.into_iter().map(Some).collect();
    let add = question(asker, partitions);
    let mut attempts = ATTEMPTS;
    loop {
        let mut is_first = true;
        let ask = || {
            if !std::mem::take(&mut is_first) {
                renew(&mut asked, asker);
            }
            broker.transactions.add(add.clone())
        };
        let outcome = broker.transactions.patiently(&asker.id, ask).await;
        attempts -= 1;
        if outcome.is_err() || attempts == 0 || !renew(&mut asked, asker) {
            let proof =
                |one: &Option<Asked>| one.as_ref().map_or(Proof::None, |one| Proof::Verified(one.guard));
            return asked.iter().map(|one| outcome.map_err(known).map(|()| proof(one))).collect();
        }
    }
}

/// Begins the verifications again that are over; whether there was one.
fn renew(asked: &mut [Option<Asked>], asker: &Asker) -> bool {
    let mut any = false;
    for one in asked {
        let renewed = one.as_ref().and_then(|one| one.renewed(asker));
        any |= renewed.as_ref().map(|one| one.guard) != one.as_ref().map(|one| one.guard);
        *one = renewed;
    }
    any
}

fn question(asker: &Asker, partitions: Partitions) -> Add {
    let client_version = if asker.ability == Ability::JoinsByWriting { 2 } else { 0 };
    Add { id: Arc::clone(&asker.id), producer: asker.producer, partitions, client_version }
}

/// `transaction.partition.verification.enable`, as it stands now.
fn is_wanted(broker: &Broker) -> bool {
    const KEY: &str = "transaction.partition.verification.enable";
    let image = broker.publisher.current();
    let changed = image.broker_setting(broker.config.node_id, KEY);
    changed
        .map_or(broker.config.transactions.verification, |value| !value.trim().eq_ignore_ascii_case("false"))
}
