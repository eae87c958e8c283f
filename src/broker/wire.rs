//! Small steps between our types and those of the protocol crate.

use crate::base::BrokerId;
use crate::base::TopicId;
use kafka_protocol::messages;
use kafka_protocol::protocol::StrBytes;

/// Text for an answer.
pub(crate) fn text(text: &str) -> StrBytes {
    StrBytes::from_string(text.to_owned())
}

/// Text for an answer, where there is some.
pub(crate) fn some_text(message: Option<&str>) -> Option<StrBytes> {
    message.map(text)
}

/// A topic's name for an answer.
pub(crate) fn topic_name(name: &str) -> messages::TopicName {
    messages::TopicName(text(name))
}

/// A broker's id for an answer.
pub(crate) fn broker_id(id: BrokerId) -> messages::BrokerId {
    messages::BrokerId(id.0)
}

/// Brokers' ids for an answer.
pub(crate) fn broker_ids(ids: &[BrokerId]) -> Vec<messages::BrokerId> {
    ids.iter().copied().map(broker_id).collect()
}

/// A topic's id from a request.
pub(crate) fn topic_id(id: uuid::Uuid) -> TopicId {
    TopicId(id)
}
