//! DeleteGroups 0 to 3: delete empty groups with their offsets.

use crate::base::ErrorCode;
use crate::broker::Broker;
use crate::broker::context::Context;
use crate::broker::errors::Refused;
use crate::broker::group::text;
use crate::broker::group::wire;
use crate::broker::share;
use crate::protocol::Response;
use crate::protocol::supplement::delete_groups;
use crate::protocol::supplement::delete_groups::Answer;
use crate::protocol::supplement::delete_groups::GroupResult;
use bytes::Bytes;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Answers a DeleteGroups request. A group named twice is answered once, as in Kafka.
pub(crate) async fn handle(broker: &Broker, context: &Context, body: Bytes) -> Result<Response, Refused> {
    let request = delete_groups::decode(&context.header, body)?;
    let mut seen = BTreeSet::new();
    let ids: Vec<Arc<str>> = request.iter().map(text).filter(|id| seen.insert(id.clone())).collect();
    // What is kept of share groups elsewhere goes first.
    let refused = share::coordination::delete_groups(broker, &ids).await;
    let deletable = ids.iter().zip(&refused).filter(|(_, refused)| refused.is_none());
    let deletable: Vec<Arc<str>> = deletable.map(|(id, _)| id.clone()).collect();
    let mut deleted = broker.groups.delete(&deletable).await.into_iter();
    let codes = refused.into_iter().map(|refused| match refused {
        Some(code) => code,
        None => deleted.next().unwrap_or(ErrorCode::UnknownServerError),
    });
    // Kafka leaves the message of version 3 to failures that a code does not name.
    let result =
        |(id, error): (&Arc<str>, ErrorCode)| GroupResult { group_id: wire(id), error, error_message: None };
    let results = ids.iter().zip(codes).map(result);
    let answer = Answer { throttle_time_ms: 0, results: results.collect() };
    Ok(delete_groups::encode(&context.header, &answer)?)
}
