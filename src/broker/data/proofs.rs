//! What speaks for the transactional batches of a Produce request (`ReplicaManager.handleProduceAppend`, KIP-890).

use crate::base::ErrorCode;
use crate::base::PartitionIndex;
use crate::base::ProducerEpoch;
use crate::base::ProducerId;
use crate::broker::Broker;
use crate::broker::data::produce::find;
use crate::broker::data::produce::header;
use crate::broker::data::refusal;
use crate::broker::errors::Refused;
use crate::broker::txn::verification;
use crate::broker::txn::verification::Ability;
use crate::broker::txn::verification::Asked;
use crate::broker::txn::verification::Asker;
use crate::protocol::produce::Request;
use crate::record::Header;
use crate::replica::Proof;
use crate::txn::command::Producer;
use std::collections::HashMap;
use std::sync::Arc;

/// The first version whose clients know TRANSACTION_ABORTABLE.
const ABORTABLE_FROM: i16 = 11;
/// The first version in which partitions join the transaction by the first write.
const JOINS_FROM: i16 = 12;

/// A topic's place in the request, and a partition's in the topic.
type Place = (usize, usize);

/// What speaks for each batch, or why it is refused.
#[derive(Debug, Default)]
pub(super) struct Proofs(HashMap<Place, Result<Proof, Refused>>);

impl Proofs {
    /// For one batch; nothing speaks for one that was not asked for.
    pub(super) fn take(&mut self, place: Place) -> Result<Proof, Refused> {
        self.0.remove(&place).unwrap_or(Ok(Proof::None))
    }
}

/// What the transaction coordinator is to be asked.
pub(super) struct Questions {
    asker: Asker,
    asked: Vec<Asked>,
    places: Vec<Place>,
}

/// Whether there are batches of several producers, or of several epochs of one.
pub(super) fn has_many_producers(request: &Request) -> bool {
    let mut producers = transactional(request).map(|(_, header)| (header.producer_id, header.producer_epoch));
    let first = producers.next();
    producers.any(|other| Some(other) != first)
}

/// What speaks for the batches already, and what is to be asked for the others.
pub(super) fn begin(broker: &Broker, request: &Request, version: i16) -> (Proofs, Option<Questions>) {
    let mut proofs = Proofs::default();
    let Some(asker) = asker(request, version) else { return (proofs, None) };
    let (mut asked, mut places) = (Vec::new(), Vec::new());
    for (place, header) in transactional(request) {
        let Some(topic) = request.topics.get(place.0) else { continue };
        let Some(named) = topic.partitions.get(place.1) else { continue };
        let index = PartitionIndex(named.index);
        if refusal::check_form(named.records.as_ref(), version).is_err() {
            // What is no batch is refused, and begins no transaction.
            continue;
        }
        let Ok(partition) = find(broker, topic, index, version) else { continue };
        match verification::begin(broker, &asker, partition, header.base_sequence) {
            Ok(one) => {
                asked.push(one);
                places.push(place);
            }
            Err(proof) => {
                proofs.0.insert(place, Ok(proof));
            }
        }
    }
    let questions = (!asked.is_empty()).then_some(Questions { asker, asked, places });
    (proofs, questions)
}

fn asker(request: &Request, version: i16) -> Option<Asker> {
    let id = request.transactional_id.as_ref()?;
    let (_, first) = transactional(request).next()?;
    let ability = match version {
        JOINS_FROM.. => Ability::JoinsByWriting,
        ABORTABLE_FROM.. => Ability::KnowsAbortable,
        _ => Ability::Old,
    };
    let producer = Producer { id: ProducerId(first.producer_id), epoch: ProducerEpoch(first.producer_epoch) };
    Some(Asker { id: Arc::from(id.as_str()), producer, ability })
}

/// The batches that belong to transactions, with their places.
fn transactional(request: &Request) -> impl Iterator<Item = (Place, Header)> {
    request
        .topics
        .iter()
        .enumerate()
        .flat_map(|(number, topic)| {
            let headers = topic.partitions.iter().enumerate();
            headers.filter_map(move |(place, partition)| Some(((number, place), header(partition)?)))
        })
        .filter(|(_, header)| header.is_transactional() && header.producer_id >= 0)
}

impl Questions {
    /// Asks, and adds what came of it.
    pub(super) async fn answered(self, broker: &Broker, mut proofs: Proofs) -> Proofs {
        let answers = verification::ask(broker, &self.asker, self.asked).await;
        let joins = self.asker.ability == Ability::JoinsByWriting;
        for (place, answer) in self.places.into_iter().zip(answers) {
            proofs.0.insert(place, answer.map_err(|error| known(error, joins)));
        }
        proofs
    }
}

/// Errors of the coordinator that clients of Produce would not get over are told by one that they do: it makes them
/// send again, and nothing else.
fn known(error: ErrorCode, joins: bool) -> Refused {
    let retried = match error {
        ErrorCode::ConcurrentTransactions => !joins,
        ErrorCode::CoordinatorLoadInProgress
        | ErrorCode::CoordinatorNotAvailable
        | ErrorCode::NotCoordinator => true,
        _ => false,
    };
    if retried {
        let message = format!(
            "Unable to verify the partition has been added to the transaction. Underlying error: {}",
            error.name()
        );
        return Refused::new(ErrorCode::NotEnoughReplicas, message);
    }
    match error {
        ErrorCode::InvalidTxnState => Refused::new(error, "Partition was not added to the transaction"),
        other => other.into(),
    }
}
