//! TxnOffsetCommit 0 to 6: store offsets that count when a transaction commits. From version 5 on the group joins the
//! transaction by this (KIP-890).

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::offset_commit::Sorted;
use crate::broker::group::offset_commit::by_topic;
use crate::broker::group::optional_text;
use crate::broker::group::text;
use crate::broker::txn::producer;
use crate::broker::txn::verification;
use crate::broker::txn::verification::Ability;
use crate::broker::txn::verification::Asker;
use crate::coordinator::Transaction;
use crate::groups;
use crate::groups::command::Commit;
use crate::protocol::Response;
use crate::protocol::supplement::txn_offset_commit;
use crate::protocol::supplement::txn_offset_commit::Request;
use crate::protocol::supplement::txn_offset_commit::TOPIC_IDS_FROM;
use crate::replica::Proof;
use bytes::Bytes;
use std::sync::Arc;

/// The first version whose clients know TRANSACTION_ABORTABLE.
const ABORTABLE_FROM: i16 = 4;
/// The first version in which the group joins the transaction by the commit.
const JOINS_FROM: i16 = 5;
/// The first version that learns by a code of its own that a group does not exist (KIP-1319).
const GROUP_ID_NOT_FOUND_FROM: i16 = 6;
/// Clients before this version break when a coordinator is loading (KAFKA-7296).
const LOADING_FROM: i16 = 2;
/// What Kafka's coordinators number their batches by.
const NO_SEQUENCE: i32 = -1;

/// Answers a TxnOffsetCommit request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request = txn_offset_commit::decode(&context.header, body)?;
    let version = context.version();
    let image = broker.publisher.current();
    let by_id = version >= TOPIC_IDS_FROM;
    let sorted: Vec<Sorted<'_>> =
        request.topics.iter().map(|topic| Sorted::of(by_id, &image, topic)).collect();
    let topics: Vec<_> = sorted.iter().filter_map(Sorted::known).collect();
    let codes = if topics.is_empty() {
        Ok(Vec::new())
    } else {
        let commit = Commit {
            group: text(&request.group_id),
            member_id: text(&request.member_id),
            instance_id: optional_text(request.group_instance_id.as_ref()),
            generation: request.generation_id_or_member_epoch,
            retention_ms: None,
            knows_group_id_not_found: version >= GROUP_ID_NOT_FOUND_FROM,
            transaction: None,
            topics,
        };
        commit_in_transaction(broker, &request, version, commit).await
    };
    let codes = codes.map_err(|error| match error {
        ErrorCode::CoordinatorLoadInProgress if version < LOADING_FROM => ErrorCode::CoordinatorNotAvailable,
        other => other,
    });
    Ok(txn_offset_commit::encode(&context.header, &by_topic(&sorted, codes))?)
}

async fn commit_in_transaction(
    broker: &Broker,
    request: &Request,
    version: i16,
    commit: Commit,
) -> Result<Vec<Vec<ErrorCode>>, ErrorCode> {
    if request.group_id.is_empty() {
        return Err(ErrorCode::InvalidGroupId);
    }
    let ability = match version {
        JOINS_FROM.. => Ability::JoinsByWriting,
        ABORTABLE_FROM.. => Ability::KnowsAbortable,
        _ => Ability::Old,
    };
    let producer = producer(request.producer_id, request.producer_epoch);
    let asker = Asker { id: Arc::from(request.transactional_id.as_str()), producer, ability };
    let proof = prove(broker, &asker, &request.group_id).await?;
    let transaction = Some(Transaction { producer: producer.id, epoch: producer.epoch, proof });
    broker.groups.commit(Commit { transaction, ..commit }).await
}

/// Makes sure that the group's partition is in the transaction.
async fn prove(broker: &Broker, asker: &Asker, group: &str) -> Result<Proof, ErrorCode> {
    let index = broker.groups.partition_of(group);
    let partition = broker.replicas.by_name(groups::service::TOPIC, index);
    let partition = partition.map_err(|_| ErrorCode::NotCoordinator)?;
    match verification::begin(broker, asker, partition, NO_SEQUENCE) {
        Err(proof) => Ok(proof),
        Ok(asked) => {
            let answers = verification::ask(broker, asker, vec![asked]).await;
            answers.into_iter().next().unwrap_or(Err(ErrorCode::UnknownServerError))
        }
    }
}
