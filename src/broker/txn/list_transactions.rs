//! ListTransactions 0 to 2: the transactional ids coordinated here, by state, producer, duration (KIP-994) and name
//! (KIP-1152).

use crate::base::ErrorCode;
use crate::base::ProducerId;
use crate::base::pattern;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::wire::text;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::txn::command::List;
use crate::txn::command::Listed;
use crate::txn::transaction::State;
use bytes::Bytes;
use kafka_protocol::messages;
use kafka_protocol::messages::ListTransactionsRequest;
use kafka_protocol::messages::ListTransactionsResponse;
use kafka_protocol::messages::list_transactions_response::TransactionState;
use regex::Regex;

/// States of Apache Kafka that no transactional id is in when it is listed.
const PASSING_STATES: [&str; 2] = ["Dead", "PrepareEpochFence"];

/// Answers a ListTransactions request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: ListTransactionsRequest = codec::decode(&context.header, body)?;
    let state = |name: &str| State::ALL.into_iter().find(|state| state.name() == name);
    let is_unknown = |name: &str| state(name).is_none() && !PASSING_STATES.contains(&name);
    let unknown = request.state_filters.iter().filter(|name| is_unknown(name)).cloned().collect();
    let states: Vec<State> = request.state_filters.iter().filter_map(|name| state(name)).collect();
    // Who asks for unknown states alone gets nothing, not everything.
    let nothing = states.is_empty() && !request.state_filters.is_empty();
    let listed = match pattern(request.transactional_id_pattern.as_deref()) {
        Err(error) => Err(error),
        Ok(_) if nothing => Ok(Vec::new()),
        Ok(pattern) => {
            let filters = List {
                states,
                producers: request.producer_id_filters.iter().map(|id| ProducerId(id.0)).collect(),
                longer_than_ms: Some(request.duration_filter).filter(|limit| *limit >= 0),
                pattern,
            };
            broker.transactions.list(&filters).await
        }
    };
    let mut room = broker.answer_memory.begin();
    let listed = listed.and_then(|listed| {
        let shown: Vec<TransactionState> = listed.iter().map(shown).collect();
        let fits = shown.iter().all(|one| room.take_encoded(one, context.version()));
        if fits { Ok(shown) } else { Err(ErrorCode::CoordinatorNotAvailable) }
    });
    let answer = match listed {
        Ok(shown) => ListTransactionsResponse::default()
            .with_unknown_state_filters(unknown)
            .with_transaction_states(shown),
        Err(error) => ListTransactionsResponse::default().with_error_code(error.code()),
    };
    Ok(room.tie_to(codec::encode(&context.header, &answer)?))
}

/// The pattern, which must match whole ids; null and empty match all.
fn pattern(pattern: Option<&str>) -> Result<Option<Regex>, ErrorCode> {
    let Some(pattern) = pattern.filter(|pattern| !pattern.is_empty()) else { return Ok(None) };
    pattern::whole(pattern).map(Some).map_err(|_| ErrorCode::InvalidRegularExpression)
}

fn shown(listed: &Listed) -> TransactionState {
    TransactionState::default()
        .with_transactional_id(messages::TransactionalId(text(&listed.id)))
        .with_producer_id(messages::ProducerId(listed.producer.0))
        .with_transaction_state(text(listed.state.name()))
}
