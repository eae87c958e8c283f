//! FindCoordinator 0 to 6: which broker coordinates a group, a transactional id or a share-partition. Asking creates the
//! topic that keeps them.

use crate::base::BrokerId;
use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::crowd;
use crate::broker::errors::MALFORMED;
use crate::broker::errors::Refused;
use crate::broker::group::wire;
use crate::io::task;
use crate::protocol::Response;
use crate::protocol::codec;
use crate::share::Key;
use bytes::Bytes;
use kafka_protocol::messages::BrokerId as WireBrokerId;
use kafka_protocol::messages::FindCoordinatorRequest;
use kafka_protocol::messages::FindCoordinatorResponse;
use kafka_protocol::messages::find_coordinator_response::Coordinator;
use kafka_protocol::protocol::StrBytes;

/// The first version that tells an error's message.
const MESSAGE_FROM: i16 = 1;
/// The first version that asks for many keys.
const KEYS_FROM: i16 = 4;

/// So many keys are looked up before others have their turn.
const TURN: usize = 256;

/// Key types of the protocol (`FindCoordinatorRequest.CoordinatorType`).
const GROUP: i8 = 0;
const TRANSACTION: i8 = 1;
const SHARE: i8 = 2;
/// The first version that asks for share-partitions (KIP-932).
const SHARE_FROM: i16 = 6;

/// Where a key's coordinator is, or why that cannot be told.
type Found = Result<Node, Refused>;

struct Node {
    id: BrokerId,
    host: String,
    port: u16,
}

/// Answers a FindCoordinator request.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request: FindCoordinatorRequest = codec::decode(&context.header, body)?;
    crowd::check_names(request.coordinator_keys.len())?;
    let response = if context.version() < KEYS_FROM {
        one(context.version(), find(broker, context, request.key_type, &request.key).await)
    } else {
        let mut room = broker.answer_memory.begin();
        let mut coordinators = Vec::with_capacity(request.coordinator_keys.len());
        for (done, key) in request.coordinator_keys.into_iter().enumerate() {
            if done % TURN == TURN - 1 {
                task::yield_now().await;
            }
            let found = match room.is_full() {
                true => Err(ErrorCode::CoordinatorNotAvailable.into()),
                false => find(broker, context, request.key_type, &key).await,
            };
            let mut coordinator = coordinator(key, found);
            if !room.take_encoded(&coordinator, context.version()) {
                // What it takes then is in proportion to the key.
                coordinator = coordinator.with_host(StrBytes::new()).with_error_message(None);
                coordinator = coordinator.with_error_code(ErrorCode::CoordinatorNotAvailable.code());
            }
            coordinators.push(coordinator);
        }
        let response = FindCoordinatorResponse::default().with_coordinators(coordinators);
        return Ok(room.tie_to(codec::encode(&context.header, &response)?));
    };
    Ok(codec::encode(&context.header, &response)?)
}

async fn find(broker: &Broker, context: &Context, key_type: i8, key: &str) -> Found {
    match key_type {
        GROUP => node(broker, context, broker.groups.find(&broker.controller, key).await?),
        TRANSACTION => node(broker, context, broker.transactions.find(&broker.controller, key).await?),
        SHARE if context.version() >= SHARE_FROM => {
            let key = Key::parse(key).ok_or(ErrorCode::InvalidRequest)?;
            node(broker, context, broker.share.states().find(&key).await?)
        }
        SHARE => Err(ErrorCode::InvalidRequest.into()),
        _ => Err(Refused::new(ErrorCode::InvalidRequest, MALFORMED)),
    }
}

/// The broker's address as the listener of this connection advertises it.
fn node(broker: &Broker, context: &Context, id: BrokerId) -> Found {
    let image = broker.publisher.current();
    let endpoint = image.broker(id).and_then(|found| found.endpoint(&context.connection.listener));
    match endpoint {
        Some(endpoint) => Ok(Node { id, host: endpoint.host.clone(), port: endpoint.port }),
        None => Err(ErrorCode::CoordinatorNotAvailable.into()),
    }
}

fn one(version: i16, found: Found) -> FindCoordinatorResponse {
    match found {
        Ok(node) => FindCoordinatorResponse::default()
            .with_error_message((version >= MESSAGE_FROM).then(|| wire("NONE")))
            .with_node_id(WireBrokerId(node.id.0))
            .with_host(wire(&node.host))
            .with_port(i32::from(node.port)),
        Err(refused) => FindCoordinatorResponse::default()
            .with_error_code(refused.code.code())
            .with_error_message((version >= MESSAGE_FROM).then(|| message(&refused)))
            .with_node_id(WireBrokerId(BrokerId::NONE.0))
            .with_port(-1),
    }
}

fn coordinator(key: StrBytes, found: Found) -> Coordinator {
    let coordinator = Coordinator::default().with_key(key);
    match found {
        Ok(node) => coordinator
            .with_error_message(Some(StrBytes::new()))
            .with_node_id(WireBrokerId(node.id.0))
            .with_host(wire(&node.host))
            .with_port(i32::from(node.port)),
        Err(refused) => coordinator
            .with_error_code(refused.code.code())
            // A refusal has no words of its own where several keys are asked for
            // (`KafkaApis.handleFindCoordinatorRequestV4AndAbove`).
            .with_error_message(Some(wire(refused.message.as_deref().unwrap_or_default())))
            .with_node_id(WireBrokerId(BrokerId::NONE.0))
            .with_port(-1),
    }
}

fn message(refused: &Refused) -> StrBytes {
    let own = match refused.code {
        ErrorCode::CoordinatorNotAvailable => "The coordinator is not available.",
        ErrorCode::InvalidRequest => MALFORMED,
        other => other.name(),
    };
    wire(refused.message.as_deref().unwrap_or(own))
}
